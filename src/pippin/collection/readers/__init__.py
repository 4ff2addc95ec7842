"""Readers of collections."""

from pippin.collection.readers import jsonl, smart  # noqa: F401  (each puts itself on the shelf)
from pippin.collection.readers.base import READERS, read_collection

__all__ = ["READERS", "read_collection"]
