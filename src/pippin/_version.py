"""The version of Pippin."""

__version__ = "0.1.0"
