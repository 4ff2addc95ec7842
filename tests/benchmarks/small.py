"""Small data sets in folds, and a bench that runs within the test process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin.benchmarks.cell import CellFiles, Job
from pippin.benchmarks.inputs import Parts
from pippin.benchmarks.plan import Experiment
from pippin.benchmarks.runner import BenchResult, run
from pippin.data.dataset import Dataset
from pippin.data.folds import PARTS, make_folds
from pippin.data.letor import write_letor
from pippin.data.synthetic import make_dataset

CHEAP = ("best-feature", "regression")


def whole(queries: int = 30, *, seed: int = 1, null: bool = False) -> Dataset:
    """Return a synthetic data set, without NULLs by default."""
    data = make_dataset(queries, documents=8, features=5, seed=seed)
    return data if null else replace(data, features=np.nan_to_num(data.features))


def split_into_folds(data: Dataset, folds: int) -> list[Parts]:
    """Folds of a data set."""
    return [Parts(*(fold[part] for part in PARTS)) for fold in make_folds(data, folds)]


def write_fold(folder: Path, train: Dataset, vali: Dataset, test: Dataset) -> None:
    folder.mkdir(parents=True)
    for name, part in (("train", train), ("vali", vali), ("test", test)):
        write_letor(part, folder / f"{name}.txt")


def write_folds(folder: Path, data: Dataset | None = None, folds: int = 5) -> Path:
    """Fold1 … below a folder."""
    for i, parts in enumerate(split_into_folds(whole() if data is None else data, folds)):
        write_fold(folder / f"Fold{i + 1}", *parts)
    return folder


class SerialExecutor:
    """Compute in this process, one after the other."""

    def as_completed(
        self, function: Callable[[Job], CellFiles], items: Iterable[Job]
    ) -> Iterator[tuple[Job, CellFiles | Exception]]:
        for item in items:
            try:
                yield item, function(item)
            except Exception as error:
                yield item, error


here = SerialExecutor()


def bench(data: Path | str, output: Path, *, executor: Any = here, **options: Any) -> BenchResult:
    """Run a small quiet bench of cheap rankers."""
    plan = {key: options.pop(key) for key in list(options) if key in Experiment.__dataclass_fields__}
    plan = {"rankers": CHEAP, "quick": True, **plan}
    return run(Experiment((str(data),), **plan), output, executor=executor, verbose=False, **options)
