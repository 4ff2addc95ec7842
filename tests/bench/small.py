"""Small data sets in folds, and a way to run a bench within this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin.bench.inputs import Parts
from pippin.bench.plan import Experiment
from pippin.bench.runner import Job, Outcome, RunJobs, run
from pippin.bench.store import Results
from pippin.bench.worker import answer
from pippin.data.dataset import Dataset
from pippin.data.folds import PARTS, make_folds
from pippin.data.letor import write_letor
from pippin.data.synthetic import make

CHEAP = ("best-feature", "regression")


def whole(queries: int = 30, *, seed: int = 1, null: bool = False) -> Dataset:
    """A synthetic data set, without its NULLs unless they are asked for."""
    data = make(queries, documents=8, features=5, seed=seed)
    return data if null else replace(data, features=np.nan_to_num(data.features))


def made(data: Dataset, folds: int) -> list[Parts]:
    """Folds of a data set."""
    return [Parts(*(fold[part] for part in PARTS)) for fold in make_folds(data, folds)]


def write_fold(folder: Path, train: Dataset, vali: Dataset, test: Dataset) -> None:
    folder.mkdir(parents=True)
    for name, part in (("train", train), ("vali", vali), ("test", test)):
        write_letor(part, folder / f"{name}.txt")


def write_folds(folder: Path, data: Dataset | None = None, folds: int = 5) -> Path:
    """Fold1 … below a folder."""
    for i, parts in enumerate(made(whole() if data is None else data, folds)):
        write_fold(folder / f"Fold{i + 1}", *parts)
    return folder


def here(results: Results, experiment: Experiment) -> RunJobs:
    """Compute in this process, one after the other: no crash is tested, and no time lost."""

    def running(todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        for job in todo:
            yield job, answer(results, job.record()).get("reason")

    return running


def bench(data: Path | str, output: Path, *, executor: Any = here, **options: Any) -> Outcome:
    """A small run of cheap rankers, quiet."""
    plan = {key: options.pop(key) for key in list(options) if key in Experiment.__dataclass_fields__}
    plan = {"rankers": CHEAP, "quick": True, **plan}
    return run(Experiment((str(data),), **plan), output, executor=executor, verbose=False, **options)
