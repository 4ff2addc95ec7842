"""Open a collection by name or path."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from pippin.collections.collection import ANCHOR, Collection
from pippin.collections.document_stream import with_cache
from pippin.collections.links.graph import add_anchor_texts
from pippin.errors import PippinWarning

STDLIB = "stdlib"


def open_collection(name: str | os.PathLike[str], *, anchors: bool = True, **options: Any) -> Collection:
    """Open a collection and collect its anchor texts.

    Parameters
    ----------
    name : str or path
        "stdlib", or a file or folder of documents.
    anchors : bool, default True
        Whether to collect anchor texts.
    **options
        Options of `read_collection`.

    Returns
    -------
    Collection
    """
    if is_builtin(name):
        from pippin.collections.standard_library import stdlib

        collection = stdlib()
    else:
        from pippin.collections.readers import read_collection

        collection = read_collection(name, **options)
    return add_anchor_texts(with_cache(collection)) if anchors and ANCHOR in collection.fields else collection


def is_builtin(name: str | os.PathLike[str]) -> bool:
    """Return whether Pippin contains this collection; a file or folder of the same name takes precedence."""
    return os.fspath(name) == STDLIB and not Path(name).exists()


def warn_about_notes(collection: Collection) -> None:
    """Issue the reader's messages as warnings of the function that called the caller."""
    for message in collection.diagnostics:
        warnings.warn(message, PippinWarning, stacklevel=3)
