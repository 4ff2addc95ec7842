"""One of each for Pippin: a measure, a tool, a ranker, a feature, a reader, a drop-in and a data set."""

__version__ = "1.0"
