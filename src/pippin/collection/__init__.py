"""From documents to a learning-to-rank data set: readers, analysis, index, sampling, links, features, files.

The names that a script needs are here, and loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pippin.collection.collection import Collection, Document, Link, Query
    from pippin.collection.readers import read_collection
    from pippin.collection.standard_library import stdlib

_HOMES = {
    "Collection": "collection",
    "Document": "collection",
    "Link": "collection",
    "Query": "collection",
    "read_collection": "readers",
    "stdlib": "standard_library",
}

__all__ = ["Collection", "Document", "Link", "Query", "read_collection", "stdlib"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
