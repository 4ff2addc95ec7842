"""FRank: worked example, brute force, finite differences, monotone loss and real data."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rankers.planted import fold, plant_dataset, queries, with_empty
from tests.rankers.test_rankboost import LABELS, PAIRS, SCORES, random_problem

from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.kernels import optimisers as kernel
from pippin.rankers import models
from pippin.rankers.frank import FRank, closed_alpha, exact_alpha
from pippin.rankers.stumps import make_pairs


def loss_of(difference: float) -> float:
    return 1 - 1 / math.sqrt(1 + math.exp(-difference))


def weight_of(difference: float) -> float:
    return float(math.exp(-difference) / (1 + math.exp(-difference)) ** 1.5)


def test_the_worked_example() -> None:
    paired = make_pairs(queries([LABELS], np.zeros((4, 1))), "queries")
    assert paired.levels.weights.tolist() == [1 / 5]
    rows = paired.rows.tolist()
    scores = np.array(SCORES)[rows]
    loss, potential = kernel.fidelity(paired.levels, scores)
    differences = [SCORES[i] - SCORES[j] for i, j in PAIRS]
    assert loss == pytest.approx(0.253861, abs=5e-7)
    assert loss == pytest.approx(sum(map(loss_of, differences)) / 5, abs=1e-15)
    weights = [weight_of(d) / 5 for d in differences]
    assert np.round(weights, 6).tolist() == [0.062103, 0.073782, 0.064508, 0.056945, 0.068836]
    expected = np.zeros(4)
    for (i, j), w in zip(PAIRS, weights, strict=True):
        expected[i] += w
        expected[j] -= w
    assert potential == pytest.approx(expected[rows], abs=1e-15)
    h = np.array([1, 1, 0, 0], np.uint8)[rows]
    plus, minus, _ = kernel.fidelity_split(paired.levels, scores, h)
    # Pairs (0, 2) and (0, 3) are put right, (2, 1) and (3, 1) wrong.
    assert plus == pytest.approx(weights[1] + weights[2], abs=1e-15)
    assert minus == pytest.approx(weights[3] + weights[4], abs=1e-15)
    assert closed_alpha(plus, minus) == pytest.approx(0.047404, abs=2e-6)  # smoothed by 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_slopes_and_curvature_equal_finite_differences(seed: int) -> None:
    levels, _, scores, codes = random_problem(seed)
    h = (codes[0] > 2).astype(np.uint8)
    step = 1e-4

    def loss(t: float) -> float:
        return kernel.fidelity_loss(levels, scores + t * h)

    plus, minus, curvature = kernel.fidelity_split(levels, scores, h)
    assert (minus - plus) / 2 == pytest.approx((loss(step) - loss(-step)) / (2 * step), abs=1e-8)
    assert curvature == pytest.approx((loss(step) - 2 * loss(0) + loss(-step)) / step**2, abs=1e-6)
    _, potential = kernel.fidelity(levels, scores)
    assert potential @ h == pytest.approx(plus - minus, abs=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_the_search_over_weights_equals_trying_every_stump(seed: int) -> None:
    levels, _, scores, codes = random_problem(seed)
    counts = np.array([5, 5, 3], np.int32)
    thresholds, gains = kernel.fidelity_search(levels, codes, counts, scores)
    for c in range(3):
        tried = []
        for t in range(counts[c]):
            plus, minus, _ = kernel.fidelity_split(levels, scores, (codes[c] > t).astype(np.uint8))
            tried.append(abs(math.sqrt(plus) - math.sqrt(minus)))
        assert abs(gains[c]) == pytest.approx(max(tried), abs=1e-8)
        assert tried[thresholds[c]] == pytest.approx(max(tried), abs=1e-8)


def test_scores_far_apart_stay_numbers() -> None:
    paired = make_pairs(queries([LABELS], np.zeros((4, 1))), "queries")
    loss, potential = kernel.fidelity(paired.levels, np.array([-3000.0, 0.0, 700.0, 1.0]))
    assert 0 < loss < 1
    assert np.isfinite(potential).all()


@pytest.mark.parametrize("alpha", ["paper", "newton", "exact"])
@pytest.mark.parametrize("select", ["gradient", "loss"])
def test_the_loss_never_rises(alpha: str, select: str) -> None:
    model = FRank(rounds=25, alpha_method=alpha, stump_selection=select).fit(
        plant_dataset(1, count=20, interaction=True)
    )
    assert model.losses_[0] == pytest.approx(1 - math.sqrt(0.5))
    assert all(after < before for before, after in pairwise(model.losses_))
    assert model.losses_[-1] < 0.27


def test_an_exact_step_is_the_least_along_its_stump() -> None:
    data = plant_dataset(2, count=20)
    paper, exact = (FRank(rounds=1, alpha_method=alpha).fit(data) for alpha in ("paper", "exact"))
    assert exact.losses_[1] < paper.losses_[1]
    levels, _, scores, codes = random_problem(1)
    h = (codes[1] > 1).astype(np.uint8)
    plus, minus, _ = kernel.fidelity_split(levels, scores, h)
    alpha = exact_alpha(lambda step: kernel.fidelity_split(levels, scores, h, step), closed_alpha(plus, minus))
    here = kernel.fidelity_loss(levels, scores + alpha * h)
    assert abs(alpha) < 4
    assert all(here <= kernel.fidelity_loss(levels, scores + (alpha + d) * h) for d in (-1e-3, 1e-3))


def test_known_rankings_are_learned() -> None:
    for interaction in (False, True):
        train, test = plant_dataset(3, interaction=interaction), plant_dataset(4, interaction=interaction)
        model = FRank(rounds=150).fit(train)
        assert Objective(test, "NDCG@10", "yahoo").mean(model.predict(test)) > 0.95


def test_an_empty_query_changes_nothing() -> None:
    data = plant_dataset(5, count=20)
    for select in ("gradient", "loss"):
        first, second = (FRank(rounds=10, stump_selection=select).fit(d) for d in (data, with_empty(data)))
        assert first._state() == second._state()


def test_the_model_file_and_the_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = plant_dataset(8, count=300)
    states = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        states.append([FRank(rounds=6, stump_selection=select).fit(data)._state() for select in ("gradient", "loss")])
    assert states[0] == states[1] == states[2]
    model = FRank(rounds=5).fit(data)
    models.save(model, tmp_path / "m.json")
    assert models.load(tmp_path / "m.json").predict(data).tobytes() == model.predict(data).tobytes()


def test_null_and_odd_queries_survive() -> None:
    rng = np.random.default_rng(1)
    labels = [[1], [0, 0, 0], [2, 2], list(rng.integers(0, 3, 2_000)), [0, 1]]
    table = rng.random((sum(map(len, labels)), 3))
    table[rng.random(table.shape) < 0.2] = np.nan
    data = queries(labels, table)
    for select in ("gradient", "loss"):
        assert np.isfinite(FRank(rounds=2, stump_selection=select).fit(data).predict(data)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stump_selection": "x"}, "stump_selection must be gradient or loss"),
        ({"alpha_method": "x"}, "alpha_method must be paper or newton or exact"),
    ],
)
def test_invalid_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        FRank(**parameters).fit(plant_dataset(1))


def test_real_data(shared: Path) -> None:
    """§0.6: MAP .4431 on OHSUMED by the steepest stump, give or take .003."""
    values = []
    for number in range(1, 6):
        train, valid, test = fold(shared, "OHSUMED/QueryLevelNorm", number)
        model = FRank(rounds=200, stump_selection="gradient", early_stopping_rounds=100, convention="letor3").fit(
            train, eval_set=valid
        )
        values.append(Objective(test, "MAP", "letor3").mean(model.predict(test)))
    assert np.mean(values) == pytest.approx(0.4431, abs=0.003)
