"""From documents to a learning-to-rank data set: readers, analysis, index, sampling, links, features, files."""
