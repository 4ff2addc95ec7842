"""On which documents is the model of a cell checked? Cells keep none, but results know where the data were found."""

from __future__ import annotations

import os
from pathlib import Path

from pippin.bench.records import Cell
from pippin.bench.store import Results
from pippin.data.dataset import Dataset
from pippin.data.fold_store import is_fold_store, open_fold_store
from pippin.data.packing import digest
from pippin.rankers.parts.sample import drawn


def training_sample(model: str | os.PathLike[str]) -> Dataset | None:
    """The documents of its training set that a model in a folder of results would have kept.

    None where the file is in no such folder, or the data are not where they were or not what they were.
    """
    folder = Path(model).resolve().parent
    if not (folder / "cell.json").is_file() or not (folder.parent.parent / "places.json").is_file():
        return None
    record = Cell.open(folder).record
    results = Results(folder.parent.parent)
    store = results.path / results.places().get(record["data"], {}).get("store", "")
    if not is_fold_store(store):
        return None
    train = open_fold_store(store)[record["fold"]]["train"]
    return drawn(train) if digest(train) == record["digests"].get("train") else None
