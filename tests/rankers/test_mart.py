"""MART: least squares by trees, a first tree by hand, planted data and determinism."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.rankers import models
from pippin.rankers.mart import MART


def plant_product(queries: int, seed: int) -> Dataset:
    """Return documents whose label follows the product of features 1 and 2."""
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(10 * queries, 4))
    labels = np.digitize(table[:, 0] * table[:, 1], [0.0, 0.7]).astype(np.int32)
    return Dataset(table, labels, np.arange(0, 10 * queries + 1, 10), tuple(map(str, range(queries))))


def test_first_tree_is_the_mean_residual() -> None:
    """Labels 0, 0, 2 split between 2 and 3: leaves 0 and 2; half a step from the mean 2/3 towards each."""
    data = Dataset(np.array([[1.0], [2.0], [3.0]]), np.array([0, 0, 2], np.int32), np.array([0, 3]), ("q",))
    model = MART(rounds=1, num_leaves=2, min_data_in_leaf=1, learning_rate=0.5).fit(data)
    assert model.predict(data) == pytest.approx([2 / 3 + (0 - 2 / 3) / 2] * 2 + [2 / 3 + (2 - 2 / 3) / 2])


def test_many_trees_reach_the_targets() -> None:
    data = plant_product(3, 0)
    for targets, expected in (("label", [0, 1, 2]), ("exp2", [0, 1, 3]), ((0.0, 5.0, 6.0), [0, 5, 6])):
        model = MART(rounds=300, min_data_in_leaf=1, label_gain=targets).fit(data)
        assert model.predict(data) == pytest.approx(np.array(expected, float)[data.labels], abs=0.01)


def test_planted_interaction() -> None:
    train, valid, test = plant_product(200, 1), plant_product(50, 2), plant_product(100, 3)
    model = MART(rounds=200, early_stopping_rounds=30).fit(train, eval_set=valid)
    judge = Objective(test, "NDCG@10", "official")
    assert judge.mean(model.predict(test)) > 0.9
    assert judge.mean(model.predict(test)) > judge.mean(np.zeros(len(test))) + 0.2
    assert model.curve_[model.rounds_ - 1] == max(model.curve_)


def test_convention_changes_validation_only() -> None:
    data = plant_product(20, 4)
    states = {
        json.dumps(MART(rounds=5, convention=tool).fit(data)._state()) for tool in ("yahoo", "letor4", "official")
    }
    assert len(states) == 1


def test_round_trip(tmp_path: Path) -> None:
    data = plant_product(20, 5)
    model = MART(rounds=5, n_bags=2, bagging_fraction=0.5).fit(data)
    models.save(model, tmp_path / "model.json")
    assert models.load(tmp_path / "model.json").predict(data).tobytes() == model.predict(data).tobytes()
    again = MART(rounds=5, n_bags=2, bagging_fraction=0.5).fit(data)
    assert again._state() == model._state()


def test_bad_targets() -> None:
    data = plant_product(3, 6)
    with pytest.raises(DataError, match="none for label 2"):
        MART(label_gain=(0.0, 1.0)).fit(data)
    with pytest.raises(DataError, match="label_gain must be label or exp2, got 'labels'"):
        MART(label_gain="labels").fit(data)
