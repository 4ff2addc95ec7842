"""The synthetic data set: stated properties and reproducibility by seed."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.data import synthetic
from pippin.data.digest import digest
from pippin.errors import DataError


def test_same_seed_same_bytes_on_every_machine() -> None:
    data = synthetic.make_dataset(queries=40, documents=20, features=8, seed=3)
    assert digest(data) == digest(synthetic.make_dataset(queries=40, documents=20, features=8, seed=3))
    assert digest(data) == "c542fd43dc6578766f52dd2f61fea3d3d4b6328adadde40933f0c7f11f230699"
    assert digest(data) != digest(synthetic.make_dataset(queries=40, documents=20, features=8, seed=4))
    scores = synthetic.make_scores(data, seed=3)
    assert (
        hashlib.sha256(scores["fine"].tobytes() + scores["coarse"].tobytes()).hexdigest()
        == "edac4796c0604890e15425dd055542920f47ceabae691669910f979b007caa7f"
    )
    assert not np.array_equal(scores["fine"], synthetic.make_scores(data, seed=4)["fine"])


def test_demo_contains_all_disagreements() -> None:
    data = synthetic.make_dataset(queries=200, seed=1)
    sizes = np.diff(data.offsets)
    best = np.maximum.reduceat(data.labels, data.offsets[:-1])
    assert (sizes == 1).sum() == 20
    assert ((sizes > 1) & (sizes < 10)).sum() >= 40
    assert 20 <= (best == 0).sum() < 60
    assert set(data.labels) == {0, 1, 2, 3, 4}
    assert set(synthetic.make_dataset(labels=3).labels) == {0, 1, 2}
    assert np.isnan(data.features).any(axis=0).tolist() == [False] * 4 + [True] + [False] * 7
    assert data.document_ids is not None
    ids = list(data.document_ids)
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"GX\d{3}-\d{2}-\d{7}", document) for document in ids)
    assert ids[: sizes[0]] != sorted(ids[: sizes[0]]), "the order of ids says nothing"


def correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def test_relevance_is_planted_where_no_linear_model_sees_it() -> None:
    data = synthetic.make_dataset(queries=2000, documents=20, seed=5)
    labels = data.labels.astype(float)
    a, b, c = data.features[:, :3].T
    assert abs(correlation(a, labels)) < 0.03
    assert abs(correlation(b, labels)) < 0.03
    assert correlation((2 * a - 1) * (2 * b - 1), labels) > 0.6
    assert 0.1 < correlation(c, labels) < 0.3
    best = np.linalg.lstsq(np.column_stack((a, b, np.ones_like(a))), labels, rcond=None)[0]
    explained = 1 - np.var(labels - np.column_stack((a, b, np.ones_like(a))) @ best) / np.var(labels)
    assert explained < 0.002


def test_feature_four_is_of_the_query() -> None:
    data = synthetic.make_dataset(queries=30)
    for first, last in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        assert len(set(data.features[first:last, 3])) == 1


def test_scorers_are_tied_and_some_in_float32_alone() -> None:
    data = synthetic.make_dataset()
    scores = synthetic.make_scores(data)
    assert list(scores) == ["fine", "coarse"]
    for values in scores.values():
        assert values.dtype == np.float64
        assert np.isfinite(values).all()

    def ties(values: NDArray[Any]) -> int:
        cut = np.split(values, data.offsets[1:-1])
        return sum(len(q) - len(set(q.tolist())) for q in cut)

    assert ties(scores["fine"]) == 0
    coarse = scores["coarse"]
    assert len(data) / 3 < ties(coarse) < ties(coarse.astype(np.float32))
    ideal = synthetic.true_relevance(data.features.astype(float))
    assert all(correlation(values, ideal) > 0.5 for values in scores.values())


@pytest.mark.parametrize("wrong", [{"queries": 0}, {"documents": 0}, {"features": 4}, {"labels": 4}])
def test_impossible_sets_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="a synthetic data set needs"):
        synthetic.make_dataset(**wrong)


def test_a_seed_is_not_negative() -> None:
    with pytest.raises(DataError, match="the seed must not be negative: -1"):
        synthetic.make_dataset(seed=-1)


def test_smallest_sets() -> None:
    assert len(synthetic.make_dataset(queries=1, documents=1, features=5)) == 1
    assert synthetic.make_dataset(dtype=np.float32).features.dtype == np.float32
