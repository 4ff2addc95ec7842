"""Rank correlation equals its definitions over all pairs and orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pippin import correlation as c

F64 = NDArray[np.float64]


# Slow truths: every pair of items, as the paper writes it.


def signs(values: F64, tolerance: float = 0.0) -> NDArray[np.int64]:
    """s[i, j] = 1 if i is clearly above j (high values on top), −1 if below, 0 if tied."""
    difference = values[:, None] - values[None, :]
    tied = (difference == 0) | (np.abs(difference) < tolerance)
    return np.where(tied, 0, np.sign(difference)).astype(np.int64)


def slow_tau_a(x: F64, y: F64, tolerance: float = 0.0) -> float:
    n = len(x)
    return float((signs(x) * signs(y, tolerance)).sum() / (n * (n - 1)))


def slow_tau_b(x: F64, y: F64, tolerance: float = 0.0) -> float:
    sx, sy = signs(x, tolerance), signs(y, tolerance)
    untied = (sx != 0).sum() * (sy != 0).sum()
    return float((sx * sy).sum() / math.sqrt(untied)) if untied else math.nan


def slow_tau_truth_ties(x: F64, y: F64, tolerance: float = 0.0) -> float:
    n = len(x)
    agreed = (signs(x, tolerance) == signs(y, tolerance)).sum() - n
    return float(2 * agreed / (n * (n - 1)) - 1)


def slow_tau_ap_ties(x: F64, y: F64, tolerance: float = 0.0) -> float:
    sx, sy = signs(x, tolerance), signs(y, tolerance)
    if not sx.any():
        return math.nan
    shares = [(sx[above, i] == 1).mean() for i in range(len(x)) if (above := sy[:, i] == 1).any()]
    return float(2 * np.mean(shares) - 1) if shares else math.nan


def slow_tau_ap_b(x: F64, y: F64, tolerance: float = 0.0) -> float:
    return (slow_tau_ap_ties(x, y, tolerance) + slow_tau_ap_ties(y, x, tolerance)) / 2


def slow_tau_ap_a(x: F64, y: F64) -> float:
    """Equation 8, term by term; on ranks, 1 = top."""
    n = len(x)
    first = (signs(y) == -1).sum(axis=1) + 1
    size = (signs(y) == 0).sum(axis=1)
    total = 0.0
    for i in range(n):
        p, t = int(first[i]), int(size[i])
        if p > 1:
            concordant = sum(x[j] > x[i] for j in range(n) if y[j] > y[i])
            total += concordant * sum(1 / (t * (p + k - 2)) for k in range(1, t + 1))
        total += sum(k / (p + k - 1) for k in range(1, t)) / (2 * t)
    return 2 / (n - 1) * total - 1


def orders_of_ties(y: F64) -> list[list[int]]:
    """Yield every order of the items that is compatible with y, from the top."""
    groups = [[i for i in range(len(y)) if y[i] == v] for v in sorted(set(y.tolist()), reverse=True)]
    choices = itertools.product(*(itertools.permutations(g) for g in groups))
    return [list(itertools.chain(*choice)) for choice in choices]


def mean_over_orders(y: F64, concordant: Callable[[int, int], bool]) -> float:
    """Return the mean of equation 3 over all orders of y's ties."""
    values = []
    for order in orders_of_ties(y):
        shares = [np.mean([concordant(j, order[i]) for j in order[:i]]) for i in range(1, len(order))]
        values.append(2 * np.mean(shares) - 1)
    return float(np.mean(values))


def slow_rbo(x: F64, y: F64, p: float, ties: str) -> float:
    n = len(x)
    total = 0.0
    for d in range(1, n + 1):
        cx, cy = (chances(v, d, whole=ties == "w") for v in (x, y))
        if ties == "w":
            agreement = 2 * (cx * cy).sum() / (cx.sum() + cy.sum())
        elif ties == "a":
            agreement = (cx * cy).sum() / d
        else:
            agreement = (cx * cy).sum() / math.sqrt((cx**2).sum() * (cy**2).sum())
        total += (1 - p) * p ** (d - 1) * agreement
    return float(total + p**n)


def chances(values: F64, d: int, whole: bool) -> F64:
    """Return each item's probability to be among the first d, or 1 if its group begins there."""
    above = (signs(values) == -1).sum(axis=1)
    size = (signs(values) == 0).sum(axis=1)
    share = np.clip((d - above) / size, 0, 1)
    chance: F64 = np.ceil(share) if whole else share
    return chance


# Rankings to try: few distinct values (many ties), many, and special doubles.
LEVELS = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, 0.1 + 0.2, 0.3, -1.5])
SCORES = st.one_of(LEVELS, st.floats(-1e6, 1e6))


@st.composite
def rankings(draw: st.DrawFn, most: int = 12) -> tuple[F64, F64]:
    n = draw(st.integers(2, most))
    kind = draw(st.sampled_from([LEVELS, SCORES]))
    values = st.lists(kind, min_size=n, max_size=n)
    return np.array(draw(values)), np.array(draw(values))


@st.composite
def truth_and_observer(draw: st.DrawFn, most: int = 12) -> tuple[F64, F64]:
    _, y = draw(rankings(most))
    return np.array(draw(st.permutations(range(len(y)))), np.float64), y


def same(value: float, expected: float) -> bool:
    return (math.isnan(value) and math.isnan(expected)) or abs(value - expected) <= 1e-12


# Equal to the definitions.

PAIRWISE = {
    "tau_b": slow_tau_b,
    "tau_ap_ties": slow_tau_ap_ties,
    "tau_ap_b": slow_tau_ap_b,
    "tau_truth_ties": slow_tau_truth_ties,
}


@pytest.mark.parametrize("name", PAIRWISE)
@given(pair=rankings(), tolerance=st.sampled_from([0.0, 1e-12, 0.5, 1.0, 2.5, 1e5]), low=st.booleans())
def test_equals_definition_pair_by_pair(name: str, pair: tuple[F64, F64], tolerance: float, low: bool) -> None:
    x, y = pair
    sign, top = (-1.0, "low") if low else (1.0, "high")
    expected = PAIRWISE[name](sign * x, sign * y, tolerance)
    assert same(getattr(c, name)(x, y, best=top, tolerance=tolerance), expected)


@given(pair=truth_and_observer(), tolerance=st.sampled_from([0.0, 0.5, 1.0]))
def test_accuracy_equals_definition(pair: tuple[F64, F64], tolerance: float) -> None:
    x, y = pair
    assert same(c.tau_a(x, y, tolerance=tolerance), slow_tau_a(x, y, tolerance))
    assert same(c.tau_ap_a(x, y), slow_tau_ap_a(x, y))
    assert same(c.tau_ap_a(x, y, best="low"), slow_tau_ap_a(-x, -y))


@settings(deadline=None, max_examples=40)
@given(pair=truth_and_observer(most=6))
def test_ap_accuracy_is_the_mean_over_orders(pair: tuple[F64, F64]) -> None:
    x, y = pair
    assert same(c.tau_ap_a(x, y), mean_over_orders(y, lambda above, pivot: bool(x[above] > x[pivot])))


@settings(deadline=None, max_examples=40)
@given(pair=rankings(most=6))
def test_truth_ties_is_the_mean_over_orders(pair: tuple[F64, F64]) -> None:
    x, y = pair
    sx, sy = signs(x), signs(y)
    expected = mean_over_orders(y, lambda above, pivot: bool(sx[above, pivot] == sy[above, pivot]))
    assert same(c.tau_ap_truth_ties(x, y), expected)


@given(pair=rankings())
def test_spearman_equals_product_moment_of_mid_ranks(pair: tuple[F64, F64]) -> None:
    ranks = [scipy.stats.rankdata(v) for v in pair]
    constant = any(len(set(r)) == 1 for r in ranks)
    assert same(c.spearman(*pair), math.nan if constant else np.corrcoef(*ranks)[0, 1])


@given(pair=rankings(), p=st.floats(0.01, 0.99), ties=st.sampled_from(["w", "a", "b"]))
def test_rbo_equals_definition(pair: tuple[F64, F64], p: float, ties: Any) -> None:
    assert same(c.rbo(*pair, p=p, ties=ties), slow_rbo(*pair, p, ties))


@settings(deadline=None, max_examples=40)
@given(pair=rankings(most=6))
def test_rbo_a_is_the_mean_over_orders(pair: tuple[F64, F64]) -> None:
    def ranks(order: list[int]) -> list[int]:
        return [order.index(i) for i in range(len(order))]

    orders = itertools.islice(itertools.product(*(orders_of_ties(v) for v in pair)), 5000)
    values = [c.rbo(ranks(a), ranks(b), p=0.8, best="low") for a, b in orders]
    if len(values) < 5000:
        assert c.rbo(*pair, p=0.8, ties="a") == pytest.approx(np.mean(values), abs=1e-12)


def test_large_equals_definition_and_scipy() -> None:
    generator = np.random.default_rng(7)
    x, y = generator.integers(0, 300, 1500) / 7, generator.integers(0, 40, 1500) / 3
    for name, slow in PAIRWISE.items():
        for tolerance in (0.0, 1.0):
            assert same(getattr(c, name)(x, y, tolerance=tolerance), slow(x, y, tolerance))
    assert c.tau_b(x, y) == pytest.approx(scipy.stats.kendalltau(x, y).statistic, abs=1e-12)
    assert c.spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)


# Laws.

NAMES = list(c.COEFFICIENTS)


@pytest.mark.parametrize("name", NAMES)
@given(n=st.integers(2, 30), seed=st.integers(0, 1000))
def test_without_ties(name: str, n: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = (generator.permutation(n).astype(np.float64) for _ in "xy")
    value = getattr(c, name)
    assert value(x, x) == 1.0
    assert value(x, y) == value(-x, -y, best="low") == value(np.exp(x / 9), 3 * y + 1)
    shuffled = generator.permutation(n)
    assert value(x[shuffled], y[shuffled]) == pytest.approx(value(x, y), abs=1e-14)
    if name != "rbo":
        assert value(x, -x) == -1.0
        assert -1.0 <= value(x, y) <= 1.0
    if name.startswith("tau_ap") and name != "tau_ap_b":
        assert value(x, y) == pytest.approx(c.tau_ap(x, y), abs=1e-14)
    elif name.startswith("tau") and name != "tau_ap_b":
        assert value(x, y) == c.tau(x, y)


@pytest.mark.parametrize("name", ["tau_b", "tau_ap_b", "tau_truth_ties", "spearman", "rbo"])
@given(pair=rankings())
def test_symmetric(name: str, pair: tuple[F64, F64]) -> None:
    x, y = pair
    assert same(getattr(c, name)(x, y), getattr(c, name)(y, x))


@given(pair=rankings())
def test_a_ranking_agrees_with_itself(pair: tuple[F64, F64]) -> None:
    x, _ = pair
    assert c.tau_truth_ties(x, x) == c.tau_ap_truth_ties(x, x) == 1.0
    assert c.rbo(x, x, ties="w") == c.rbo(x, x, ties="b") == 1.0
    if len(set(x.tolist())) > 1:
        assert c.tau_b(x, x) == 1.0
        assert c.spearman(x, x) == 1.0
