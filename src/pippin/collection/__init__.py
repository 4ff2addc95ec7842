"""From documents to a learning-to-rank data set: readers, analysis, index, sampling, links, features, files.

The names that a script needs are here, and loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.modules import attributes

if TYPE_CHECKING:
    from pippin.collection.analysis import Analysis
    from pippin.collection.collection import Collection, Document, Link, Query
    from pippin.collection.index import Index, build_index, open_index
    from pippin.collection.readers import read_collection
    from pippin.collection.standard_library import stdlib

_HOMES = {
    "Analysis": "analysis",
    "Collection": "collection",
    "Document": "collection",
    "Index": "index",
    "Link": "collection",
    "Query": "collection",
    "build_index": "index",
    "open_index": "index",
    "read_collection": "readers",
    "stdlib": "standard_library",
}

__all__ = [
    "Analysis", "Collection", "Document", "Index", "Link", "Query", "build_index", "open_index", "read_collection",
    "stdlib",
]  # fmt: skip


__getattr__ = attributes(__name__, _HOMES)
