"""RankBoost: worked example, brute force over pairs, monotone loss, NULL values and real data."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rankers.planted import fold, plant_dataset, queries, with_empty

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.kernels import optimisers as kernel
from pippin.rankers import models
from pippin.rankers.rankboost import RankBoost, third_alpha
from pippin.rankers.stumps import make_bins, make_pairs

SCORES, LABELS = (0.3, -0.1, 0.5, 0.0), [2, 0, 1, 1]
PAIRS = ((0, 1), (0, 2), (0, 3), (2, 1), (3, 1))


def example() -> tuple[kernel.Levels, list[int]]:
    """The worked query with weight 1 per pair, and the order of its rows."""
    paired = make_pairs(queries([LABELS], np.zeros((4, 1))), "pairs")
    levels = kernel.Levels(paired.levels.cuts, paired.levels.queries, np.ones(1))
    return levels, paired.rows.tolist()


def test_the_worked_example() -> None:
    levels, rows = example()
    mass = kernel.boost_potential(levels, np.array(SCORES)[rows])
    total = sum(math.exp(SCORES[j] - SCORES[i]) for i, j in PAIRS)
    assert mass.total * math.exp(mass.shift) == pytest.approx(total, rel=1e-14)
    assert total == pytest.approx(4.086190, abs=5e-7)
    potential = np.empty(4)
    potential[rows] = mass.potential
    assert potential.round(6).tolist() == [0.644253, -0.519792, -0.164601, 0.040140]
    codes = np.array([[1, 0, 0, 1]], np.uint8)[:, rows]
    counts = np.array([1], np.int32)
    third = kernel.search_potential(codes, counts, mass.potential, False)
    assert third.gain == pytest.approx(0.684393, abs=5e-7)
    assert third_alpha(third.gain) == pytest.approx(0.837332, abs=5e-7)
    exact = kernel.search_exact(levels, codes, counts, kernel.order_codes(levels, codes, counts), mass, False)
    assert [exact.plus, exact.minus] == pytest.approx([0.684393, 0], abs=5e-7)


def random_problem(seed: int) -> tuple[kernel.Levels, np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Levels, labels and scores in their order, and codes of three columns."""
    rng = np.random.default_rng(seed)
    labels = [list(rng.integers(0, 4, rng.integers(1, 9))) for _ in range(7)] + [[1, 1], [0]]
    data = queries(labels, np.zeros((sum(map(len, labels)), 1)))
    paired = make_pairs(data, "queries")
    query = data.qid()[paired.rows]
    scores = rng.normal(0, 2, len(paired.rows))
    codes = rng.integers(0, 6, (3, len(paired.rows))).astype(np.uint8)
    return paired.levels, np.stack((query, data.labels[paired.rows])), scores, codes


def all_pairs(levels: kernel.Levels, rows: Any, scores: Any) -> list[tuple[int, int, float]]:
    """(i, j, weight · e^(H_j − H_i)) of every pair i ≻ j."""
    query, labels = rows
    numbered = {q: k for k, q in enumerate(dict.fromkeys(query.tolist()))}
    return [
        (i, j, float(levels.weights[numbered[query[i]]]) * math.exp(scores[j] - scores[i]))
        for i in range(len(scores))
        for j in range(len(scores))
        if query[i] == query[j] and labels[i] > labels[j]
    ]


@pytest.mark.parametrize("seed", range(5))
def test_potential_and_both_searches_equal_brute_force(seed: int) -> None:
    levels, rows, scores, codes = random_problem(seed)
    pairs = all_pairs(levels, rows, scores)
    total = math.fsum(w for _, _, w in pairs)
    potential = np.zeros(len(scores))
    for i, j, w in pairs:
        potential[i] += w / total
        potential[j] -= w / total
    mass = kernel.boost_potential(levels, scores)
    assert mass.potential == pytest.approx(potential, abs=1e-14)
    counts = np.array([5, 5, 3], np.int32)
    candidates = []
    for c in range(3):
        for t in range(counts[c]):
            h = codes[c] > t
            plus = math.fsum(w / total for i, j, w in pairs if h[i] and not h[j])
            minus = math.fsum(w / total for i, j, w in pairs if h[j] and not h[i])
            candidates.append((c, t, plus, minus))
    third = kernel.search_potential(codes, counts, mass.potential, False)
    assert abs(third.gain) == pytest.approx(max(abs(p - m) for _, _, p, m in candidates), abs=1e-13)
    order = kernel.order_codes(levels, codes, counts)
    exact = kernel.search_exact(levels, codes, counts, order, mass, False)
    best = max(candidates, key=lambda c: abs(math.sqrt(c[2]) - math.sqrt(c[3])))
    assert (exact.column, exact.threshold) == best[:2]
    assert [exact.plus, exact.minus] == pytest.approx(best[2:], abs=1e-13)
    positive = kernel.search_potential(codes, counts, mass.potential, True)
    assert positive.gain == pytest.approx(max(p - m for _, _, p, m in candidates), abs=1e-13)


def test_scores_far_apart_do_not_overflow() -> None:
    levels, rows = example()
    mass = kernel.boost_potential(levels, np.array([-2000.0, 0.0, 500.0, 1.0])[rows])
    assert np.isfinite(mass.potential).all()
    assert abs(mass.potential).max() == pytest.approx(1.0)
    assert math.log(mass.total) + mass.shift == pytest.approx(2500.0)


@pytest.mark.parametrize("method", ["third", "exact"])
@pytest.mark.parametrize("weak", ["threshold", "continuous"])
def test_the_loss_never_rises(method: str, weak: str) -> None:
    model = RankBoost(rounds=60, alpha_method=method, weak_learner=weak, directions="both").fit(
        plant_dataset(1, interaction=True)
    )
    assert model.losses_[0] == pytest.approx(0.0, abs=1e-12)  # all pairs together weigh 1
    assert all(after <= before + 1e-12 for before, after in pairwise(model.losses_))
    assert model.losses_[-1] < -0.1


def test_thresholds_are_equally_spaced_and_codes_count_those_below() -> None:
    table = np.array([[0.0], [1.0], [0.5], [np.nan]])
    bins = make_bins(table, np.arange(4), 255, "equal")
    assert bins.thresholds[0].tolist() == [t / 256 for t in range(255)]
    assert bins.codes(table).tolist() == [[0, 255, 128, 0], [0, 255, 128, 255]]
    assert bins.null_above.tolist() == [False, True]
    few = make_bins(np.array([[1.0], [2.0], [2.0], [4.0]]), np.arange(4), 255, "quantile")
    assert few.thresholds[0].tolist() == [1.0, 2.0]
    constant = make_bins(np.array([[3.0], [3.0]]), np.arange(2), 255, "equal")
    assert constant.codes(np.array([[3.0], [2.0]])).tolist() == [[1, 0]]


def test_null_may_be_the_best_sign() -> None:
    rng = np.random.default_rng(2)
    labels = [list(rng.integers(0, 2, 8)) for _ in range(30)]
    flat = np.concatenate(labels)
    table = np.where(flat[:, None] == 1, np.nan, rng.random((240, 1)))
    table = np.hstack((rng.random((240, 1)), table))
    data = queries(labels, table)
    for weak in ("threshold", "continuous"):
        model = RankBoost(rounds=5, weak_learner=weak).fit(data)
        assert Objective(data, "MAP", "official").mean(model.predict(data)) > 0.99
        assert model.stumps_[0].feature == 1
        assert model.stumps_[0].null


def test_known_rankings_are_learned() -> None:
    for interaction in (False, True):
        train, test = plant_dataset(3, interaction=interaction), plant_dataset(4, interaction=interaction)
        model = RankBoost(rounds=100, directions="both").fit(train)
        assert Objective(test, "NDCG@10", "yahoo").mean(model.predict(test)) > 0.95
        importance = model.importance()
        assert min(importance["1"], importance["2"]) > max(importance["3"], importance["4"], importance["5"])


@pytest.mark.parametrize(("weak", "method"), [("threshold", "third"), ("threshold", "exact"), ("continuous", "third")])
def test_an_empty_query_changes_nothing(weak: str, method: str) -> None:
    data = plant_dataset(5)
    first = RankBoost(rounds=20, weak_learner=weak, alpha_method=method).fit(data)
    other = RankBoost(rounds=20, weak_learner=weak, alpha_method=method).fit(with_empty(data))
    assert first._state() == other._state()


def test_validation_selects_the_rounds_of_the_model() -> None:
    train, valid = plant_dataset(6, interaction=True), plant_dataset(7, interaction=True)
    model = RankBoost(rounds=80, measure="NDCG@5").fit(train, eval_set=valid)
    assert len(model.curve_) == 80
    best = int(np.argmax(model.curve_))
    assert len(model.stumps_) == best + 1
    assert Objective(valid, "NDCG@5", "official").mean(model.predict(valid)) == model.curve_[best]
    assert len(RankBoost(rounds=80, early_stopping_rounds=3).fit(train, eval_set=valid).curve_) < 80


def test_the_model_file_and_the_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = plant_dataset(8, count=400)
    before = data.features.copy()
    states = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        states.append([RankBoost(rounds=15, alpha_method=m).fit(data)._state() for m in ("third", "exact")])
    assert states[0] == states[1] == states[2]
    model = RankBoost(rounds=15, weak_learner="continuous").fit(data)
    models.save(model, tmp_path / "m.json")
    assert models.load(tmp_path / "m.json").predict(data).tobytes() == model.predict(data).tobytes()
    assert data.features.tobytes() == before.tobytes()


def test_odd_queries_survive() -> None:
    rng = np.random.default_rng(1)
    labels = [[1], [0, 0, 0], [2, 2], list(rng.integers(0, 3, 10_000)), [0, 1]]
    data = queries(labels, rng.random((sum(map(len, labels)), 3)))
    model = RankBoost(rounds=5, alpha_method="exact").fit(data)
    assert np.isfinite(model.predict(data)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha_method": "fourth"}, "alpha_method must be third or exact"),
        ({"weak_learner": "tree"}, "weak_learner must be threshold or continuous"),
        ({"pair_weighting": "x"}, "pair_weighting must be query or pair"),
        ({"num_thresholds": 256}, "between 1 and 255"),
        ({"threshold_spacing": "log"}, "threshold_spacing must be equal or quantile"),
        ({"rounds": 0}, "rounds must be at least 1"),
    ],
)
def test_invalid_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        RankBoost(**parameters).fit(plant_dataset(1))


def test_a_set_without_pairs_is_refused() -> None:
    data = queries([[1, 1], [2]], np.random.default_rng(1).random((3, 2)))
    with pytest.raises(DataError, match="no pairs to learn from"):
        RankBoost().fit(data)


def mean_map(shared: Path, name: str, tool: str, folds: int = 5) -> float:
    values = []
    for number in range(1, folds + 1):
        train, valid, test = fold(shared, name, number)
        model = RankBoost(convention="official").fit(train, eval_set=valid)
        values.append(Objective(test, "MAP", tool).mean(model.predict(test)))
    return float(np.mean(values))


def test_real_data(shared: Path) -> None:
    """§0.6: MAP .4396–.4476 on OHSUMED and .475–.4765 on MQ2008, give or take .003."""
    assert 0.4396 - 0.003 <= mean_map(shared, "OHSUMED/QueryLevelNorm", "letor3") <= 0.4476 + 0.003
    assert 0.4750 - 0.003 <= mean_map(shared, "MQ2008", "letor4") <= 0.4765 + 0.003


def test_the_data_set_alone_is_enough() -> None:
    data = plant_dataset(1)
    arrays = RankBoost(rounds=5).fit(data.features, data.labels, qid=data.qid())
    assert arrays._state() == RankBoost(rounds=5).fit(data)._state()
    assert isinstance(data, Dataset)
