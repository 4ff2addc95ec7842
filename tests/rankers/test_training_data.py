"""Columns of a training set: query weights, initial scores and preference pairs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.rankers.planted import planted

from pippin.clicks.propensity import Preferences
from pippin.errors import DataError
from pippin.rankers import ListNet, RankSVM
from pippin.rankers.training_data import TrainingSet, make_training_set, with_preferences, with_query_weights

DATA = planted(3, 12)
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
