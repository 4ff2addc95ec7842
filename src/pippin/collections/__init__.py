"""From documents to a learning-to-rank data set: readers, analysis, index, sampling, links, features, files.

The names that a script needs are here, and loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pippin.registry import lazy_attributes

if TYPE_CHECKING:
    from pippin.collections.collection import Collection, Document, Link, Query
    from pippin.collections.index.index import Index, build_index, open_index
    from pippin.collections.readers import read_collection
    from pippin.collections.standard_library import stdlib
    from pippin.collections.text.analysis import Analyzer

_HOMES = {
    "Analyzer": "text.analysis",
    "Collection": "collection",
    "Document": "collection",
    "Index": "index.index",
    "Link": "collection",
    "Query": "collection",
    "build_index": "index.index",
    "open_index": "index.index",
    "read_collection": "readers",
    "stdlib": "standard_library",
}

__all__ = [
    "Analyzer", "Collection", "Document", "Index", "Link", "Query", "build_index", "open_index", "read_collection",
    "stdlib",
]  # fmt: skip


__getattr__ = lazy_attributes(__name__, _HOMES)
