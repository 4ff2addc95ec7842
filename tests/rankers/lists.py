"""Worked lists, random lists and shared properties of the listwise rankers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.evaluation.objective import Objective
from pippin.rankers import models
from pippin.rankers.networks import NetworkRanker

F64 = NDArray[np.float64]

# One query, worked by hand: its scores and labels.
SCORES = np.array([0.3, -0.1, 0.5, 0.0])
LABELS = np.array([2, 0, 1, 1], np.int32)
ONE = Dataset(np.zeros((4, 1)), LABELS, np.array([0, 4]), ("q",))


def draw_lists(seed: int, sizes: tuple[int, ...] = (5, 1, 0, 8, 3, 12), top: int = 2) -> tuple[Dataset, F64]:
    """Random labels and scores, with a query of one document, an empty one, and one of a single label."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, top + 1, sum(sizes)).astype(np.int32)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    labels[offsets[4] : offsets[5]] = 1
    features = random.normal(size=(len(labels), 3))
    scores = random.normal(size=len(labels)).round(1)  # ties among scores too
    return Dataset(features, labels, offsets, tuple(f"q{i}" for i in range(len(sizes)))), scores


def slopes(loss: Callable[[F64], float], scores: F64, step: float = 1e-6) -> F64:
    """Return the gradient of a loss by finite differences."""
    moves = np.eye(len(scores)) * step
    return np.array([(loss(scores + move) - loss(scores - move)) / (2 * step) for move in moves])


def plant_lists(seed: int, interaction: bool = False, queries: int = 60, size: int = 15) -> Dataset:
    """Return labels by thirds of each query's ranking by x0 − 2 x1 + x2 / 2, or by x0 · x1."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(queries * size, 3))
    truth = table[:, 0] * table[:, 1] if interaction else table @ np.array([1.0, -2.0, 0.5])
    places = truth.reshape(queries, size).argsort(axis=1).argsort(axis=1)
    labels = (places * 3 // size).astype(np.int32).ravel()
    return Dataset(table, labels, np.arange(0, len(labels) + 1, size, dtype=np.int64), tuple(map(str, range(queries))))


def ndcg(model: NetworkRanker, data: Dataset) -> float:
    return Objective(data, "NDCG", "official").mean(model.predict(data))


def with_constant_query(data: Dataset) -> Dataset:
    """Prepend a query with three documents of label 0 and distinct features."""
    table = np.vstack((np.full((3, data.features.shape[1]), 7.0), data.features))
    labels = np.concatenate((np.zeros(3, np.int32), data.labels))
    return Dataset(table, labels, np.concatenate(([0], data.offsets + 3)), ("nothing relevant", *data.query_ids))


def check_laws(model: NetworkRanker, work: Path) -> None:
    """Same seed, same bytes; save and load; input untouched; queries of one label change nothing; any size survives."""
    train, valid = plant_lists(1), plant_lists(2, queries=20)
    before = train.features.copy()
    model.fit(train, eval_set=valid)
    assert np.array_equal(train.features, before)
    scores = model.predict(valid)
    assert Objective(valid, model.measure, model.convention).mean(scores) == max(model.curve_)
    models.save(model, work / "first")
    again = models.load(work / "first")
    assert np.array_equal(again.predict(valid), scores)
    assert again.importance() == model.importance()
    assert set(model.importance()) == {"1", "2", "3"}
    models.save(again, work / "again")
    assert (work / "again").read_bytes() == (work / "first").read_bytes()
    models.save(model, work / "first", sample=False)  # whose documents are others with one query more
    model.fit(with_constant_query(train), eval_set=valid)
    models.save(model, work / "second", sample=False)
    assert (work / "second").read_bytes() == (work / "first").read_bytes()
    odd, _ = draw_lists(3, (5, 1, 0, 8, 3, 12, 600))
    assert np.isfinite(model.fit(odd).predict(odd)).all()


def check_parameters(kind: type[NetworkRanker], **bad: Any) -> None:
    """Check that each invalid value is reported with its parameter."""
    common = {"learning_rate": 0.0, "weight_decay": -1.0, "rounds": 0, "early_stopping_rounds": 0, "batch_size": 0,
              "hidden_layers": -1, "hidden_units": 0,
              "activation": "step", "standardize": "no", "seed": -1}  # fmt: skip
    for name, value in {**common, **bad}.items():
        with pytest.raises(ValueError, match=f"^{kind.name}: {name} must be "):
            kind(**{name: value}).fit(plant_lists(1))


def folds(shared: Path, name: str, work: Path) -> Iterator[tuple[Dataset, Dataset, Dataset]]:
    """Train, validation and test set of each fold: LETOR's rotation of the five parts."""
    parts = [(shared / "data" / name / f"S{i}.txt").read_bytes() for i in range(1, 6)]
    for fold in range(5):
        rotated = parts[fold:] + parts[:fold]
        for part, content in (("train", b"".join(rotated[:3])), ("vali", rotated[3]), ("test", rotated[4])):
            (work / f"{part}.txt").write_bytes(content)
        yield read_letor(work / "train.txt"), read_letor(work / "vali.txt"), read_letor(work / "test.txt")


def five_fold_means(
    shared: Path, name: str, work: Path, model: NetworkRanker, asked: list[tuple[str, str]]
) -> list[float]:
    """Return the mean over the five test sets of each (measure, convention)."""
    rows = []
    for train, valid, test in folds(shared, name, work):
        scores = model.fit(train, eval_set=valid).predict(test)
        rows.append([Objective(test, measure, convention).mean(scores) for measure, convention in asked])
    return [float(value) for value in np.mean(rows, axis=0)]
