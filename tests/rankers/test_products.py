"""Products and ratios of features, selected on validation data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.rankers import Chain, RankSVM, models
from pippin.rankers.steps.projections import Products, combine_features


def plant_product(queries: int, seed: int) -> Dataset:
    """Relevant is what has two features at once: their product ranks, and no weighted sum does as well."""
    data = plant_sum(queries=queries, size=12, seed=seed)
    table = np.asarray(data.features)
    product = (table[:, 0] - 0.5) * (table[:, 1] - 0.5)
    return replace(data, features=table - 0.5, labels=(product > 0.08).astype(np.int32))


def test_the_decisive_product_is_added() -> None:
    train, valid, test = (plant_product(40, seed) for seed in range(3))
    judge = Objective(test, "NDCG@10", "official")
    model = pippin.train(train, "products(1,n_base_features=6,candidates=4) > ranksvm", valid=valid)
    assert isinstance(model, Chain)
    step = model.step_
    assert isinstance(step, Products)
    assert [(sign, i, j) for sign, i, j, _ in step.pairs_] == [("*", 0, 1)]
    assert step.get_feature_names_out()[-1] == "1 * 2"
    assert "1 * 2" in model.describe()[0]
    plain = judge.mean(pippin.train(train, "ranksvm", valid=valid).predict(test))
    assert judge.mean(model.predict(test)) > plain + 0.1
    wide = replace(train, features=np.hstack((train.features, train.features[:, :1] * train.features[:, 1:2])),
                   feature_names=(*train.feature_names, "1 * 2"), lines=None)  # fmt: skip
    by_hand = RankSVM().fit(wide)
    assert np.array_equal(by_hand.coef_, step.estimators_[0].coef_)  # type: ignore[attr-defined]
    loaded = models.from_bytes(models.to_bytes(model), "model")
    assert np.array_equal(loaded.predict(test), model.predict(test))
    with pytest.raises(DataError, match="engines do not compute products"):
        step._to_model([])


def test_nothing_is_added_that_does_not_help_on_validation() -> None:
    train, valid = plant_sum(queries=20, size=8), plant_sum(queries=10, size=8, seed=1)
    model = pippin.train(train, "products(2,candidates=2) > ranksvm", valid=valid)
    assert isinstance(model, Chain)
    step = model.step_
    assert isinstance(step, Products)
    judge = Objective(valid, "NDCG@10", "official")
    if not step.pairs_:
        assert np.array_equal(model.predict(valid), RankSVM().fit(train).predict(valid))
    else:
        assert judge.mean(model.predict(valid)) > judge.mean(RankSVM().fit(train).predict(valid))
    with pytest.raises(DataError, match="validation set"):
        pippin.train(train, "products > ranksvm")


def test_a_ratio_is_guarded() -> None:
    table = np.array([[1.0, 0.0], [1.0, -3.0]])
    assert combine_features(table, [("/", 0, 1, 0.5)]).ravel().tolist() == [2.0, 1 / 3.5]
