"""Folds on disk: a store of all queries, mapped when it is opened, and the lists of queries of every part.

    NAME/folds.json      the lists, the digests of the parts, and the digest of the text that they were read from
    NAME/data.pippin/    the store

Both are verified as everything that Pippin writes (`pippin.manifest`): the lists when folds are opened, the features
when they are first looked at.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.folds import Folds, PartFacts
from pippin.data.store import read_store, write_store
from pippin.errors import DataError
from pippin.manifest import Format, Manifest, fits

FORMAT = Format("pippin folds", 1, "store of folds", "make it again from the text", "folds.json")
DATA = "data.pippin"
_SHAPE = {
    "name": str, "text": str, "folds": {str: {str: [int]}}, "digests": {str: {str: str}}, "query_ids": {str: str},
    "widths": {str: int}, "without_ids": [int], "without_comments": [int],
}  # fmt: skip


def is_fold_store(path: str | os.PathLike[str]) -> bool:
    """Whether a store of folds stands at this path."""
    return FORMAT.is_at(path)


def write_fold_store(folds: Folds, path: str | os.PathLike[str], text: str = "") -> None:
    """Write folds as a store; `text` is the digest of the text that they were read from, or written as."""
    facts = folds.facts
    record = {
        "name": folds.name, "text": text,
        "folds": {fold: {part: at.tolist() for part, at in parts.items()} for fold, parts in folds.queries.items()},
        "digests": {fold: {part: folds.digest(fold, part) for part in parts} for fold, parts in folds.queries.items()},
        "query_ids": {str(at): name for at, name in facts.query_ids.items()},
        "widths": dict(facts.widths),
        "without_ids": sorted(facts.without_ids),
        "without_comments": sorted(facts.without_comments),
    }  # fmt: skip
    with FORMAT.new_folder(path) as folder:
        write_store(folds.data, folder / DATA)
        FORMAT.write(folder, record)


def text_of(path: str | os.PathLike[str]) -> str:
    """The digest of the text that a store of folds was made with."""
    return str(_read(path)["text"])


def open_fold_store(path: str | os.PathLike[str], *, verify: bool = False) -> Folds:
    """The folds of a store, mapped; with `verify` every byte is compared with what was written at once."""
    record = _read(path)
    if verify:
        record.verify()
    data = read_store(Path(path) / DATA)
    with FORMAT.described(path):
        queries = {
            fold: {part: np.array(at, np.int64) for part, at in parts.items()}
            for fold, parts in record["folds"].items()
        }
        facts = PartFacts(
            {int(at): str(name) for at, name in record["query_ids"].items()},
            record["widths"], frozenset(record["without_ids"]), frozenset(record["without_comments"]),
        )  # fmt: skip
        lists = [at for parts in queries.values() for at in parts.values()]
        if not isinstance(data, Dataset) or not all(_fits(at, data) for at in lists):
            raise DataError("the lists of its parts do not fit its data")
        return Folds(data, queries, str(record["name"]), facts=facts, digests=record["digests"])


def _read(path: str | os.PathLike[str]) -> Manifest:
    """The verified manifest, held to the shape that is relied on, because a checksum can be forged."""
    manifest = FORMAT.read(path)
    with FORMAT.described(path):
        if not fits(manifest.record, _SHAPE):
            raise DataError("its folds.json does not say what folds are")
    return manifest


def _fits(queries: NDArray[np.int64], data: Dataset) -> bool:
    return queries.ndim == 1 and (not len(queries) or bool(queries.min() >= 0 and queries.max() < data.queries))
