"""LETOR data sets: sampling, writing, Meta files, link files and data cards."""
