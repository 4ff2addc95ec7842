"""The five folds of the real collections, and random data for ranker tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.evaluation.objective import Objective
from pippin.rankers.base import Ranker

Fold = tuple[Dataset, Dataset, Dataset]


def folds(shared: Path, name: str, work: Path) -> Iterator[Fold]:
    """Train, validation and test set of each fold: LETOR's rotation of the five parts."""
    parts = [(shared / "data" / name / f"S{i}.txt").read_bytes() for i in range(1, 6)]
    for fold in range(5):
        rotated = parts[fold:] + parts[:fold]
        files = {"train": b"".join(rotated[:3]), "vali": rotated[3], "test": rotated[4]}
        for part, content in files.items():
            (work / f"{part}.txt").write_bytes(content)
        yield read_letor(work / "train.txt"), read_letor(work / "vali.txt"), read_letor(work / "test.txt")


def five_fold_means(
    given: Iterator[Fold], fit_checked: Callable[[Dataset, Dataset], Ranker], asked: list[tuple[str, str]]
) -> list[float]:
    """Return the mean over the test sets of all folds for each (measure, convention)."""
    rows = []
    for train, valid, test in given:
        scores = fit_checked(train, valid).predict(test)
        rows.append([Objective(test, measure, convention).mean(scores) for measure, convention in asked])
    return [float(value) for value in np.mean(rows, axis=0)]


def draw_dataset(seed: int, queries: int = 8, features: int = 4, top: int = 2, most: int = 12) -> Dataset:
    """Draw a data set that includes a query of one document, one with a single label, and an empty one."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, most, queries)
    sizes[:2] = 1, 0
    labels = random.integers(0, top + 1, sizes.sum()).astype(np.int32)
    labels[1 : 1 + sizes[2]] = 1
    table = random.normal(size=(len(labels), features))
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Dataset(table, labels, offsets, tuple(f"q{i}" for i in range(queries)))


def plant_linear(seed: int, weights: list[float], queries: int = 60, size: int = 15) -> Dataset:
    """Return labels 0, 1, 2 by thirds of each query's ranking by `weights`."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(queries * size, len(weights)))
    truth = (table @ np.array(weights)).reshape(queries, size)
    labels = (truth.argsort(axis=1).argsort(axis=1) * 3 // size).astype(np.int32).ravel()
    offsets = np.arange(0, len(labels) + 1, size, dtype=np.int64)
    return Dataset(table, labels, offsets, tuple(map(str, range(queries))))


def twice(data: Dataset) -> Dataset:
    """Return every query twice."""
    offsets = np.concatenate((data.offsets, data.offsets[1:] + data.offsets[-1]))
    ids = data.query_ids + tuple(f"{q} again" for q in data.query_ids)
    return Dataset(np.vstack((data.features, data.features)), np.tile(data.labels, 2), offsets, ids)


def with_constant_query(data: Dataset) -> Dataset:
    """Prepend a query with three documents of label 0."""
    table = np.vstack((np.full((3, data.features.shape[1]), 7.0), data.features))
    labels = np.concatenate((np.zeros(3, np.int32), data.labels))
    offsets = np.concatenate(([0], data.offsets + 3))
    return Dataset(table, labels, offsets, ("nothing relevant", *data.query_ids))
