"""Propensity estimators: exact on expected counts, close on simulated clicks, and errors if not identifiable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.clicks.logs import ClickLog, Counts
from pippin.clicks.propensity import (
    Propensities,
    by_em,
    by_regression,
    by_swaps,
    estimate_relevance,
    preferences,
    propensities,
)
from pippin.clicks.simulation import ClickModelParameters, attraction, examination, simulate
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName

TRUE = examination(5, 1.0)


def expected_counts(attraction: NDArray[np.float64], orders: list[list[int]]) -> Counts:
    """Return the expected counts of the position-based model for orders of five items per row of attractions."""
    cells: dict[tuple[int, int], float] = {}
    for query in range(len(attraction)):
        for order in orders:
            for rank, place in enumerate(order):
                key = (query * 5 + place, rank + 1)
                cells[key] = cells.get(key, 0.0) + 1000.0
    items, ranks = (np.array(column) for column in zip(*sorted(cells), strict=True))
    values = np.array([cells[key] for key in sorted(cells)])
    clicked = values * TRUE[ranks - 1] * attraction.ravel()[items]
    return Counts(items, ranks.astype(np.int32), values, clicked)


ATTRACTION = np.random.default_rng(4).uniform(0.05, 0.9, (30, 5))
SWAPPED = [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [2, 1, 0, 3, 4], [3, 1, 2, 0, 4], [4, 1, 2, 3, 0]]


def test_swaps_are_exact_on_exact_counts() -> None:
    assert by_swaps(expected_counts(ATTRACTION, SWAPPED)) == pytest.approx(TRUE, rel=1e-9)


def test_em_is_exact_on_exact_counts() -> None:
    assert by_em(expected_counts(ATTRACTION, SWAPPED), tolerance=1e-9) == pytest.approx(TRUE, rel=0.01)


def test_regression_finds_the_truth_of_logistic_attraction_though_nothing_moved() -> None:
    features = np.random.default_rng(5).normal(size=(400, 2))
    chances = 1.0 / (1.0 + np.exp(-(features @ [1.0, -0.5] - 0.3)))
    counts = expected_counts(chances.reshape(80, 5), SWAPPED[:1])
    assert by_regression(counts, features, ridge=1e-6, tolerance=1e-10, rounds=3000) == pytest.approx(TRUE, rel=0.01)


def test_a_round_of_em_is_that_of_a_loop() -> None:
    counts = expected_counts(ATTRACTION[:3], SWAPPED[:2])
    rates = np.array([
        sum(c for r, c in zip(counts.ranks, counts.clicks, strict=True) if r == rank)
        / sum(n for r, n in zip(counts.ranks, counts.views, strict=True) if r == rank)
        for rank in range(1, 6)
    ])  # fmt: skip
    seen, looked, impressions = np.sqrt(rates), np.zeros(5), np.zeros(5)
    for rank, n, c in zip(counts.ranks.tolist(), counts.views, counts.clicks, strict=True):
        a, b = seen[rank - 1], 0.5
        looked[rank - 1] += c + (n - c) * a * (1 - b) / (1 - a * b)
        impressions[rank - 1] += n
    once = looked / impressions
    assert by_em(counts, rounds=1) == pytest.approx(once / once[0])


def test_pooled_ratios_by_hand() -> None:
    # two documents that stood at both ranks: (clicked, shown) = (30, 40) and (5, 10); (8, 20) and (6, 30)
    counts = Counts(np.array([0, 0, 1, 1]), np.array([1, 2, 1, 2], np.int32), np.array([40.0, 10.0, 20.0, 30.0]),
                    np.array([30.0, 5.0, 8.0, 6.0]))  # fmt: skip
    first, second = 30 * 10 / 50 + 8 * 30 / 50, 5 * 40 / 50 + 6 * 20 / 50
    assert by_swaps(counts) == pytest.approx([1.0, second / first])


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 3, 2000)
    return Dataset.from_arrays(labels[:, None] + rng.normal(size=(2000, 1)), labels, np.repeat(range(250), 8))


def by_feature(data: Dataset) -> NDArray[np.float64]:
    return np.asarray(data.features[:, 0], np.float64)


@pytest.mark.parametrize("method", ["em", "swaps"])
def test_estimates_of_simulated_clicks_are_within_five_percent(data: Dataset, method: str) -> None:
    log = simulate(data, by_feature(data), sessions=400, depth=5, swap_rate=1.0, seed=3)
    estimate = propensities(log, method)
    assert np.abs(estimate.values / TRUE - 1).max() < 0.05


def test_intervals_hold_the_truth_and_come_again_with_the_seed(data: Dataset) -> None:
    log = simulate(data, by_feature(data), sessions=50, depth=3, swap_rate=0.5, seed=3)
    first, second = (propensities(log, "swaps", resamples=40, seed=7) for _ in range(2))
    assert first.low is not None
    assert first.high is not None
    assert first.low.tobytes() == second.low.tobytes()  # type: ignore[union-attr]
    assert (first.low <= TRUE[:3] + 1e-9).all()
    assert (first.high >= TRUE[:3] - 1e-9).all()
    assert (first.high[1:] > first.low[1:]).all()


def test_unidentified_propensities_are_refused(data: Dataset) -> None:
    log = simulate(data, by_feature(data), sessions=5, depth=3)
    for method in ("em", "swaps"):
        with pytest.raises(DataError, match="documents are shown at the same ranks all the time"):
            propensities(log, method)
    apart = [("q", list(order), [True] * 4) for order in ("abcd", "badc")]  # nothing leads from ranks 1, 2 to 3, 4
    with pytest.raises(DataError, match="documents are shown at the same ranks"):
        propensities(ClickLog.of(apart), "em")
    with pytest.raises(ConventionError, match="regression needs data"):
        propensities(log, "regression")
    with pytest.raises(UnknownName, match="did you mean swaps"):
        propensities(log, "swap")
    with pytest.raises(DataError, match="no click at rank 2"):
        propensities(ClickLog.of([("q", ["a", "b"], [True, False])]), "em")
    items = [("q", "abc"), ("q", "bac"), ("r", "abc"), ("r", "cba"), *((str(i), "abc") for i in range(9))]
    few = [(query, list(order), [True, query == "q", query == "r"]) for query, order in items]
    with pytest.raises(DataError, match="too few clicks for intervals"):
        propensities(ClickLog.of(few), "em", resamples=30)


def test_regression_needs_no_swaps(data: Dataset) -> None:
    rng = np.random.default_rng(8)
    log = simulate(data, rng.random(2000), sessions=100, depth=5)
    estimate = propensities(log, "regression", data=data)
    assert np.abs(estimate.values / TRUE - 1).max() < 0.1


def test_preferences_are_those_of_a_loop(data: Dataset) -> None:
    part = data.select(range(4))
    log = simulate(part, by_feature(part), sessions=9, depth=4, swap_rate=0.5)
    propensities = Propensities(np.array([1.0, 0.6, 0.3, 0.005]), "given")
    for debias in ("naive", "ips", "pairwise"):
        weights: dict[tuple[int, ...], float] = {}
        for begin, end in zip(log.offsets[:-1], log.offsets[1:], strict=True):
            for item in range(begin, end):
                for other in range(begin, end):
                    if not log.clicks[item] or item == other or (debias == "pairwise" and log.clicks[other]):
                        continue
                    ranks = (int(log.ranks[item]), int(log.ranks[other])) if debias == "pairwise" else ()
                    key = (int(log.items[item]), int(log.items[other]), *ranks)
                    trust = max(propensities.values[log.ranks[item] - 1], 0.01) if debias == "ips" else 1.0
                    weights[key] = weights.get(key, 0.0) + 1.0 / trust / 9
        result = preferences(log, part, debias, propensities if debias == "ips" else None)
        items = [()] * len(result) if result.ranks is None else result.ranks.tolist()
        keys = [(int(a), int(b), *at) for a, b, at in zip(result.better, result.worse, items, strict=True)]
        assert dict(zip(keys, result.weights, strict=True)) == pytest.approx(weights)


def test_doubly_robust_estimates_are_those_of_a_loop(data: Dataset) -> None:
    """The correction of the regression follows the formula; documents that were never shown keep its prediction."""
    part = data.select(range(4))
    log = simulate(part, by_feature(part), sessions=200, depth=4, swap_rate=0.5)
    propensities = Propensities(np.array([1.0, 0.6, 0.3, 0.005]), "given")
    relevance, exposure = estimate_relevance(log, part, propensities)
    seen, clicked = np.zeros(len(part)), np.zeros(len(part))
    for item, rank, click in zip(log.items, log.ranks, log.clicks, strict=True):
        seen[item] += max(propensities.values[rank - 1], 0.01)
        clicked[item] += click
    assert exposure == pytest.approx(seen)
    displayed = np.flatnonzero(seen)
    assert 0 < len(displayed) < len(part)
    # Without any information of the features, the regression is the mean click rate of the shown documents.
    flat = replace(part, features=np.zeros((len(part), 1)))
    relevance, _ = estimate_relevance(log, flat, propensities)
    unseen = np.setdiff1d(np.arange(len(part)), displayed)
    predicted = relevance[unseen[0]]
    assert relevance[unseen] == pytest.approx(np.full(len(unseen), predicted))
    least = 10 / np.sqrt(800) * 200
    for row in displayed:
        expected = predicted + (clicked[row] - seen[row] * predicted) / max(seen[row], least)
        assert relevance[row] == pytest.approx(expected)


def test_doubly_robust_estimates_approach_the_truth_with_sessions(data: Dataset) -> None:
    part = data.select(range(20))
    true = attraction(part.labels, 0.1, int(part.labels.max()))
    errors = []
    for sessions in (10, 100, 1000, 10_000):
        log = simulate(part, by_feature(part), sessions=sessions, depth=5, swap_rate=0.3)
        relevance, exposure = estimate_relevance(log, part, Propensities(examination(5, 1.0), "true"))
        is_displayed = exposure > 0
        errors.append(float(np.abs(relevance - true)[is_displayed].mean()))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.02


def test_doubly_robust_pairs_have_a_shown_document(data: Dataset) -> None:
    part = data.select(range(4))
    log = simulate(part, by_feature(part), sessions=50, depth=3, swap_rate=0.5)
    propensities = Propensities(examination(3, 1.0), "true")
    relevance, exposure = estimate_relevance(log, part, propensities)
    pairs = preferences(log, part, "dr", propensities)
    query = part.qid()
    expected = {
        (i, j): relevance[i] - relevance[j]
        for i in range(len(part))
        for j in range(len(part))
        if query[i] == query[j] and relevance[i] > relevance[j] and (exposure[i] > 0 or exposure[j] > 0)
    }
    keys = zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)
    assert dict(zip(keys, pairs.weights, strict=True)) == pytest.approx(expected)
    with pytest.raises(ConventionError, match="dr needs propensities"):
        preferences(log, part, "dr")


def test_invalid_preferences_are_refused(data: Dataset) -> None:
    log = ClickLog.of([("elsewhere", ["1", "2"], [True, False])])
    with pytest.raises(DataError, match="check that the ids are the same"):
        preferences(log, data, "naive")
    with pytest.raises(ConventionError, match="debias must be ips, dr, pairwise, naive"):
        preferences(log, data, "magic")
    with pytest.raises(DataError, match="numbers above 0"):
        Propensities(np.array([1.0, 0.0]), "given")


def test_logs_of_depth_one() -> None:
    data = Dataset.from_arrays(np.zeros((2, 1)), [1, 0], ["a", "b"])
    log = simulate(data, np.zeros(2), sessions=50, parameters=ClickModelParameters(eta=0.5))
    assert propensities(log, "swaps").values.tolist() == [1.0]
