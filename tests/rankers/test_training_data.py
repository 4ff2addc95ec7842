"""Columns of a training set: query weights, initial scores and preference pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.rankers.planted import plant_dataset

from pippin.clicks.propensity import Preferences
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import ApproxNDCG, FRank, ListNet, RankSVM
from pippin.rankers.training_data import (
    TrainingSet,
    make_training_set,
    sample_documents,
    with_preferences,
    with_query_weights,
)

DATA = plant_dataset(3, 12)
SCORES = np.linspace(0.0, 3.0, len(DATA)) * DATA.features[:, 0]
WEIGHTS = np.arange(1.0, DATA.queries + 1)


def test_weights_keep_initial_scores() -> None:
    both = with_query_weights(make_training_set(DATA, init_score=SCORES), WEIGHTS)
    assert isinstance(both, TrainingSet)
    assert both.init_score is SCORES
    part = both.select([5, 2])
    assert part.query_weights is not None
    assert part.query_weights.tolist() == [6.0, 3.0]
    assert part.init_score is not None
    first = slice(DATA.offsets[5], DATA.offsets[6])
    assert part.init_score[: first.stop - first.start].tolist() == SCORES[first].tolist()


def test_a_fit_uses_weights_and_initial_scores_together() -> None:
    start = make_training_set(DATA, init_score=SCORES)
    both = RankSVM(C=0.1).fit(start, sample_weight=WEIGHTS).coef_
    assert not np.allclose(both, RankSVM(C=0.1).fit(start).coef_)
    assert not np.allclose(both, RankSVM(C=0.1).fit(DATA, sample_weight=WEIGHTS).coef_)
    inside = RankSVM(C=0.1).fit(make_training_set(start, query_weights=WEIGHTS)).coef_
    assert inside.tolist() == both.tolist()


def test_pairs_are_not_weighted_by_query() -> None:
    pairs = Preferences(np.array([0]), np.array([1]), np.ones(1))
    with pytest.raises(DataError, match="their own weights"):
        RankSVM().fit(with_preferences(DATA, pairs), sample_weight=WEIGHTS)
    with pytest.raises(DataError, match="does not support preference pairs"):
        ListNet().fit(with_preferences(DATA, pairs))


def test_long_queries_are_sampled_equally_by_label() -> None:
    labels = np.concatenate((np.repeat([2, 1, 0], [3, 40, 957]), [0, 1], [0] * 50)).astype(np.int32)
    data = Dataset.from_arrays(np.arange(1052.0)[:, None], labels, qid=np.repeat([5, 3, 9], [1000, 2, 50]))
    start = make_training_set(data, init_score=np.arange(1052.0), query_weights=np.array([1.0, 2.0, 3.0]))
    few = sample_documents(start, 1000)
    assert isinstance(few, TrainingSet)
    counts = [np.bincount(few.labels[a:b], minlength=3).tolist() for a, b in pairwise(few.offsets)]
    limit = counts[0][0]
    assert counts == [[limit, limit, 3], [1, 1, 0], [limit, 0, 0]]
    sizes = np.diff(few.offsets)
    larger = sizes + np.array([2, 0, 1])
    assert (sizes * (sizes - 1) // 2).sum() <= 1000 < (larger * (larger - 1) // 2).sum()
    assert few.features[:, 0].tolist() == few.init_score.tolist()  # type: ignore[union-attr]
    assert (np.diff(few.features[:, 0]) > 0).all()  # documents keep their order
    assert few.query_weights is start.query_weights
    np.testing.assert_array_equal(sample_documents(start, 1000).features, few.features)  # the same documents each time
    assert sample_documents(data, None) is data
    assert sample_documents(data, 600_000) is data


@pytest.mark.parametrize("cls", [FRank, ApproxNDCG])
def test_rankers_with_a_cost_per_pair_learn_from_a_sample(cls: type[FRank | ApproxNDCG]) -> None:
    """A fit on few pairs equals one on the sampled documents, and is nearly as good as one on all."""
    data = plant_dataset(1, count=12, size=60)
    model = cls(rounds=60, max_pairs=1500).fit(data)
    sampled = cls(rounds=60, max_pairs=None).fit(sample_documents(data, 1500))
    np.testing.assert_array_equal(model.predict(data), sampled.predict(data))
    assert (
        model.reasons_
        == f"learned from {len(sample_documents(data, 1500))} of 720 documents, to limit the pairs (max_pairs)"
    )
    full = cls(rounds=60).fit(data)
    assert full.reasons_ == ""
    assert (full.predict(data) != model.predict(data)).any()
    assert model.score(plant_dataset(2)) > full.score(plant_dataset(2)) - 0.03
