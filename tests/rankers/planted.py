"""Small data sets with a known true ranking, and checks shared by ranker tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor


def queries(labels: list[list[int]], features: NDArray[np.floating[Any]], names: tuple[str, ...] = ()) -> Dataset:
    """Return a data set with these labels by query."""
    sizes = [len(label) for label in labels]
    flat = np.array([label for item in labels for label in item], np.int32)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Dataset(features, flat, offsets, tuple(f"q{i}" for i in range(len(labels))), None, names)


def plant_dataset(
    seed: int, count: int = 60, size: int = 12, features: int = 5, *, interaction: bool = False
) -> Dataset:
    """Return labels 0, 1, 2 by terciles of a linear score, or of a product of two features."""
    rng = np.random.default_rng(seed)
    table = rng.random((count * size, features))
    truth = (table[:, 0] > 0.5) * (table[:, 1] > 0.5) + 0.0 if interaction else 2 * table[:, 0] - table[:, 1]
    labels = [list(np.argsort(np.argsort(truth[q * size : (q + 1) * size], kind="stable")) * 3 // size)
              for q in range(count)]  # fmt: skip
    if interaction:
        labels = [list(truth[q * size : (q + 1) * size].astype(int)) for q in range(count)]
    return queries(labels, table)


def with_empty(data: Dataset, seed: int = 9) -> Dataset:
    """Prepend a query of irrelevant documents with extreme features."""
    extra = np.random.default_rng(seed).normal(0, 100, (7, data.features.shape[1]))
    return Dataset(
        np.concatenate((extra, data.features)), np.concatenate((np.zeros(7, np.int32), data.labels)),
        np.concatenate(([0], data.offsets + 7)), ("empty", *data.query_ids), None, data.feature_names,
    )  # fmt: skip


def fold(shared: Path, name: str, number: int) -> tuple[Dataset, Dataset, Dataset]:
    """Training, validation and test set of fold `number` of five, of a folder of S1 … S5."""
    parts = [read_letor(shared / "data" / name / f"S{(number - 1 + i) % 5 + 1}.txt") for i in range(5)]
    return join(parts[:3]), parts[3], parts[4]


def join(parts: list[Dataset]) -> Dataset:
    """Several data sets as one."""
    starts = np.cumsum([0] + [len(part) for part in parts])
    offsets = [part.offsets[(i > 0) :] + start for i, (part, start) in enumerate(zip(parts, starts, strict=False))]
    return Dataset(
        np.concatenate([part.features for part in parts]), np.concatenate([part.labels for part in parts]),
        np.concatenate(offsets), tuple(q for part in parts for q in part.query_ids), None, parts[0].feature_names,
    )  # fmt: skip
