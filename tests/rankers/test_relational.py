from __future__ import annotations

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.synthetic import make_dataset
from pippin.errors import DataError
from pippin.rankers import LambdaMART
from pippin.rankers.relational import Relational, Relations, propagate_scores


def dataset(sizes: list[int]) -> Dataset:
    rows = sum(sizes)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Dataset(np.zeros((rows, 1)), np.zeros(rows, np.int32), offsets, tuple(map(str, range(len(sizes)))))


def relations(data: Dataset, entries: list[tuple[int, int, float]]) -> Relations:
    rows, columns, weights = (np.array(part) for part in zip(*entries, strict=True))
    return Relations(data, rows, columns, weights.astype(np.float64))


def test_spreading_solves_the_equation() -> None:
    random = np.random.default_rng(3)
    data = dataset([6, 5])
    entries = [
        (int(a), int(b), float(random.random()))
        for start, end in ((0, 6), (6, 11))
        for a in range(start, end)
        for b in range(start, end)
        if a != b and random.random() < 0.5
    ]
    scores, weight = random.normal(size=11), 0.7
    dense = np.zeros((11, 11))
    for a, b, value in entries:
        dense[a, b] += value
    sums = dense.sum(1)
    for i in np.flatnonzero(sums == 0):
        dense[i, i], sums[i] = 1, 1
    exact = np.linalg.solve(np.eye(11) - weight * dense / sums[:, None], (1 - weight) * scores)
    np.testing.assert_allclose(propagate_scores(scores, relations(data, entries), weight), exact, atol=1e-8)


def test_no_weight_gives_the_plain_scores_and_equal_scores_stay_equal() -> None:
    data = dataset([4])
    related = relations(data, [(0, 1, 1.0), (1, 2, 2.0), (2, 2, 5.0)])
    scores = np.array([3.0, -1.0, 2.0, 0.5])
    assert propagate_scores(scores, related, 0.0) is scores
    np.testing.assert_allclose(propagate_scores(np.full(4, -7.0), related, 0.9), -7.0)
    assert propagate_scores(scores, related, 0.5)[2] == pytest.approx(2.0)  # related to itself alone: keeps its score
    assert propagate_scores(scores, related, 0.5)[3] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([(0, 2, 1.0)], "documents of the same query"),
        ([(0, 1, -1.0)], "finite and 0 or more"),
        ([(0, 1, np.nan)], "finite and 0 or more"),
        ([(0, 9, 1.0)], "unknown document"),
    ],
)
def test_bad_relations(entries: list[tuple[int, int, float]], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        relations(dataset([2, 2]), entries)


def test_a_weight_of_one_is_refused() -> None:
    with pytest.raises(DataError, match="at least 0 and below 1"):
        propagate_scores(np.zeros(2), relations(dataset([2]), [(0, 1, 1.0)]), 1.0)


def test_informative_relations_are_used_and_noise_is_not() -> None:
    train, valid = make_dataset(40, 20, 6, seed=1), make_dataset(40, 20, 6, seed=2)
    query, labels = valid.qid(), valid.labels
    rows, columns = np.nonzero(
        (query[:, None] == query) & (labels[:, None] == labels) & ~np.eye(len(valid), dtype=bool)
    )
    telling = Relations(valid, rows, columns, np.ones(len(rows)))
    model = Relational(LambdaMART(rounds=5)).fit(train, eval_set=valid, relations=telling)
    values = dict(model.candidates_)
    assert model.weight_ > 0
    assert values[model.weight_] > values[0.0]
    none = Relations(valid, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    assert model.choose(valid, none).weight_ == 0.0
    np.testing.assert_array_equal(model.predict(valid, none), model.ranker_.predict(valid))
