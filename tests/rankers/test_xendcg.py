"""XE-NDCG: golden example, finite differences, planted data and determinism."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.rankers import models
from pippin.rankers.xendcg import XENDCG, CrossEntropy

GOLDEN = Dataset(np.zeros((4, 1)), np.array([2, 0, 1, 1], np.int32), np.array([0, 4]), ("q",))
SCORES = np.array([0.3, -0.1, 0.5, 0.0])


def plant_product(queries: int, seed: int) -> Dataset:
    """Return documents whose label follows the product of features 1 and 2."""
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(10 * queries, 4))
    labels = np.digitize(table[:, 0] * table[:, 1], [0.0, 0.7]).astype(np.int32)
    return Dataset(table, labels, np.arange(0, 10 * queries + 1, 10), tuple(map(str, range(queries))))


def test_golden_gradients() -> None:
    half = np.full(4, 0.5)
    first, hessian = CrossEntropy(GOLDEN, 1)(SCORES, half)
    assert first == pytest.approx([-0.224711, 0.113103, 0.121954, -0.010346], abs=1e-6)
    rho = np.exp(SCORES) / np.exp(SCORES).sum()
    assert hessian == pytest.approx(rho * (1 - rho))
    assert CrossEntropy(GOLDEN)(SCORES, half)[0] == pytest.approx([-0.173046, 0.092432, 0.089946, -0.009332], abs=1e-6)


def test_first_order_equals_finite_differences() -> None:
    labels = np.array([2, 0, 1, 3, 3, 0, 1], np.int32)
    data = Dataset(np.zeros((7, 1)), labels, np.array([0, 4, 7]), ("a", "b"))
    generator = np.random.default_rng(0)
    scores, draws, step = generator.normal(size=7), generator.random(7), 1e-6

    def cost(s: np.ndarray) -> float:
        total = 0.0
        for begin, end in ((0, 4), (4, 7)):
            phi = np.exp2(labels[begin:end]) - draws[begin:end]
            total -= (phi / phi.sum() * (s[begin:end] - np.log(np.exp(s[begin:end]).sum()))).sum()
        return total

    gradient, _ = CrossEntropy(data, 1)(scores, draws)
    for i in range(7):
        move = np.eye(7)[i] * step
        assert gradient[i] == pytest.approx((cost(scores + move) - cost(scores - move)) / (2 * step), abs=1e-8)


def test_one_document_and_sure_scores() -> None:
    data = Dataset(np.zeros((3, 1)), np.array([1, 1, 0], np.int32), np.array([0, 1, 1, 3]), ("one", "none", "two"))
    gradient, hessian = CrossEntropy(data)(np.array([5.0, 900.0, -900.0]), np.full(3, 0.5))
    assert gradient[0] == hessian[0] == 0
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


def test_planted_interaction() -> None:
    train, valid, test = plant_product(200, 1), plant_product(50, 2), plant_product(100, 3)
    model = XENDCG(rounds=200, early_stopping_rounds=30).fit(train, eval_set=valid)
    judge = Objective(test, "NDCG@10", "official")
    assert judge.mean(model.predict(test)) > judge.mean(np.zeros(len(test))) + 0.2
    assert judge.mean(model.predict(test)) > 0.9


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    data = plant_product(20, 4)
    first, again, other = (XENDCG(rounds=8, seed=seed, n_bags=2).fit(data) for seed in (1, 1, 2))
    assert first._state() == again._state()
    assert first._state() != other._state()
    models.save(first, tmp_path / "model.json")
    assert models.load(tmp_path / "model.json").predict(data).tobytes() == first.predict(data).tobytes()


def test_constant_queries_take_part_unless_dropped() -> None:
    data = plant_product(20, 5)
    flat = np.concatenate((data.labels[:-10], np.zeros(10, np.int32))).astype(np.int32)
    last = Dataset(data.features, flat, data.offsets, data.query_ids)
    first = last.select(slice(0, 19))
    assert XENDCG(rounds=5).fit(last)._state() != XENDCG(rounds=5).fit(first)._state()
    assert XENDCG(rounds=5, drop_constant_queries=True).fit(last)._state() == XENDCG(rounds=5).fit(first)._state()


def test_bad_order() -> None:
    with pytest.raises(DataError, match="gradient_terms must be 1, 2 or 3"):
        XENDCG(gradient_terms=4).fit(plant_product(3, 6))
