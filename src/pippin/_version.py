"""The version of Pippin."""

__version__ = "0.2.0"
