"""Which collection does a user mean? One that Pippin carries, by its name, or documents on disk, by their path."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from pippin.collection.anchors import with_anchors
from pippin.collection.collection import ANCHOR, Collection
from pippin.collection.spool import spooled

STDLIB = "stdlib"


def open_collection(name: str | os.PathLike[str], *, anchors: bool = True, **options: Any) -> Collection:
    """The collection of that name or path, with its anchor texts gathered; options are those of `read_collection`.

    Without `anchors` that is left to whoever builds from it: a cluster gathers them shard by shard.
    """
    if is_named(name):
        from pippin.collection.standard_library import stdlib

        collection = stdlib()
    else:
        from pippin.collection.readers import read_collection

        collection = read_collection(name, **options)
    if ANCHOR not in collection.streams:
        return collection
    return with_anchors(spooled(collection)) if anchors else replace(collection, anchored=False)


def is_named(name: str | os.PathLike[str]) -> bool:
    """Whether Pippin carries this collection; a file or folder of the same name comes first."""
    return os.fspath(name) == STDLIB and not Path(name).exists()
