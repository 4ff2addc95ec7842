"""A model as data: trees, a weighted sum or layers of a network, whoever trained it, and how exactly it is computed."""
