"""Folds on disk: a store of all queries, mapped when it is opened, and the lists of queries of every part.

NAME/folds.json      the lists, the digests of the parts, and the digest of the text that they were read from
NAME/data.pippin/    the store
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import atomic_folder
from pippin.data.dataset import Dataset
from pippin.data.folds import Folds, PartFacts
from pippin.data.store import read_store, write_store
from pippin.errors import DataError

FORMAT, VERSION = "pippin folds", 1
LISTS, DATA = "folds.json", "data.pippin"


def is_fold_store(path: str | os.PathLike[str]) -> bool:
    """Whether a store of folds stands at this path."""
    return (Path(path) / LISTS).is_file()


def write_fold_store(folds: Folds, path: str | os.PathLike[str], text: str = "") -> None:
    """Write folds as a store; `text` is the digest of the text that they were read from, or written as."""
    facts = folds.facts
    record = {
        "format": FORMAT, "version": VERSION, "name": folds.name, "text": text,
        "folds": {fold: {part: at.tolist() for part, at in parts.items()} for fold, parts in folds.queries.items()},
        "digests": {fold: {part: folds.digest(fold, part) for part in parts} for fold, parts in folds.queries.items()},
        "query_ids": {str(at): name for at, name in facts.query_ids.items()},
        "widths": dict(facts.widths),
        "without_ids": sorted(facts.without_ids),
        "without_comments": sorted(facts.without_comments),
    }  # fmt: skip
    with atomic_folder(Path(os.path.normpath(path))) as folder:
        write_store(folds.data, folder / DATA)
        (folder / LISTS).write_text(json.dumps(record) + "\n", encoding="utf-8")


def text_of(path: str | os.PathLike[str]) -> str:
    """The digest of the text that a store of folds was made with."""
    return str(_record(path)["text"])


def open_fold_store(path: str | os.PathLike[str]) -> Folds:
    """The folds of a store, mapped."""
    record = _record(path)
    data = read_store(Path(path) / DATA)
    try:
        queries = {
            fold: {part: np.array(at, np.int64) for part, at in parts.items()}
            for fold, parts in record["folds"].items()
        }
        facts = PartFacts(
            {int(at): str(name) for at, name in record["query_ids"].items()},
            record["widths"], frozenset(record["without_ids"]), frozenset(record["without_comments"]),
        )  # fmt: skip
        if not isinstance(data, Dataset) or not all(
            _fits(at, data) for part in queries.values() for at in part.values()
        ):
            raise DataError("the lists of its parts do not fit its data")
        return Folds(data, queries, str(record["name"]), facts=facts, digests=record["digests"])
    except DataError as error:
        raise DataError(f"these folds are damaged: {error.message}", path) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError("these folds are damaged: their folds.json does not describe them", path) from None


def _fits(queries: NDArray[np.int64], data: Dataset) -> bool:
    return not len(queries) or (queries.min() >= 0 and queries.max() < data.queries)


def _record(path: str | os.PathLike[str]) -> dict[str, Any]:
    file = Path(path) / LISTS
    try:
        record = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise DataError("these folds are damaged: their folds.json cannot be read", path) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("version") != VERSION:
        raise DataError("these folds are damaged, or of another version of Pippin", path)
    return record
