"""The inverted index, its statistics and embeddings."""
