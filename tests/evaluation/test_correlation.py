"""Rank correlation: the paper's worked examples, output of ircor, errors and the bootstrap."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin import correlation as c
from pippin.errors import ConventionError, DataError, UnknownName

F64 = NDArray[np.float64]

TRUTH = [1, 2, 3, 4, 5, 6]
OBSERVED = [2, 3, 1, 4, 6, 5]
TIED = [2, 4, 1, 4, 6, 4]
TRUTH_TIED = [1, 2, 3.5, 3.5, 5, 6]


def same(value: float, expected: float) -> bool:
    return (math.isnan(value) and math.isnan(expected)) or abs(value - expected) <= 1e-12


# The paper's worked examples; its numbers are ranks.


def test_paper_without_ties() -> None:
    # Discordant: (A, C), (B, C), (E, F) of 15 pairs. Y = C A B D F E.
    assert c.tau(TRUTH, OBSERVED, best="low") == pytest.approx((12 - 3) / 15, abs=1e-15) == 0.6
    expected = 2 / 5 * (0 / 1 + 1 / 2 + 3 / 3 + 4 / 4 + 4 / 5) - 1
    assert c.tau_ap(TRUTH, OBSERVED, best="low") == pytest.approx(expected, abs=1e-15)
    assert round(expected, 2) == 0.32


def test_paper_accuracy() -> None:
    # B, D, F are tied: 3 of 15 pairs; (A, C), (B, C) and (E, F) are discordant.
    assert c.tau_a(TRUTH, TIED, best="low") == pytest.approx((9 - 3) / 15, abs=1e-15) == 0.4
    permuted = [0.6, 7 / 15, 7 / 15, 1 / 3, 1 / 3, 0.2]
    assert c.tau_a(TRUTH, TIED, best="low") == pytest.approx(np.mean(permuted), abs=1e-15)
    orders = ([2, 3, 1, 4, 6, 5], [2, 3, 1, 5, 6, 4], [2, 4, 1, 3, 6, 5],
              [2, 4, 1, 5, 6, 3], [2, 5, 1, 3, 6, 4], [2, 5, 1, 4, 6, 3])  # fmt: skip
    each = [c.tau_ap(TRUTH, order, best="low") for order in orders]
    assert [round(value, 3) for value in each] == [0.32, 0.22, 0.253, 0.153, 0.22, 0.087]
    assert c.tau_ap_a(TRUTH, TIED, best="low") == pytest.approx(np.mean(each), abs=1e-15)
    assert round(c.tau_ap_a(TRUTH, TIED, best="low"), 3) == 0.209


def test_paper_agreement() -> None:
    expected = (8 - 3) / math.sqrt((15 - 1) * (15 - 3))
    assert c.tau_b(TRUTH_TIED, TIED, best="low") == pytest.approx(expected, abs=1e-15)
    assert round(expected, 3) == 0.386
    # Y = C A (B D F) E: above A none of 1; above B 1 of 2, D 1 of 2, F 2 of 2; above E 4 of 5.
    forth = 2 / 5 * (0 / 1 + 1 / 2 + 1 / 2 + 2 / 2 + 4 / 5) - 1
    assert c.tau_ap_ties(TRUTH_TIED, TIED, best="low") == pytest.approx(forth, abs=1e-15)
    # X = A B (C D) E F: above B 1 of 1; C 0 of 2, D 1 of 2; E 4 of 4; F 2 of 5.
    back = 2 / 5 * (1 / 1 + 0 / 2 + 1 / 2 + 4 / 4 + 2 / 5) - 1
    assert c.tau_ap_ties(TIED, TRUTH_TIED, best="low") == pytest.approx(back, abs=1e-15)
    assert (round(forth, 2), round(back, 2)) == (0.12, 0.16)
    assert c.tau_ap_b(TRUTH_TIED, TIED, best="low") == pytest.approx((forth + back) / 2, abs=1e-15)
    assert round((forth + back) / 2, 2) == 0.14


def test_symmetrised_differs_without_ties() -> None:
    x, y = [0.1, 0.4, 0.2, 0.9, 0.7], [0.3, 0.2, 0.1, 0.8, 0.9]
    assert c.tau_ap(x, y) == pytest.approx(2 / 4 * (0 / 1 + 2 / 2 + 2 / 3 + 3 / 4) - 1)
    assert c.tau_ap_b(x, y) == pytest.approx((c.tau_ap(x, y) + c.tau_ap(y, x)) / 2)
    assert round(c.tau_ap_b(x, y), 6) == 0.229167


# What ircor prints.

COLUMNS: dict[str, tuple[str, dict[str, Any]]] = {
    "tau": ("tau", {}),
    "tau_a": ("tau_a", {}),
    "tau_b": ("tau_b", {}),
    **{
        f"{theirs}.decreasing={flag}": (ours, {"best": best})
        for theirs, ours in (("tauAP", "tau_ap"), ("tauAP_a", "tau_ap_a"), ("tauAP_b", "tau_ap_b"))
        for flag, best in (("TRUE", "high"), ("FALSE", "low"))
    },
}


def test_golden(golden_folder: Path) -> None:
    with (golden_folder / "outputs" / "ircor" / "pairs.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 100
    wrong = []
    for row in rows:
        x, y = ([float(v) for v in row[side].split(",")] for side in "xy")
        for column, (name, options) in COLUMNS.items():
            try:
                value = getattr(c, name)(x, y, **options)
            except ConventionError as error:
                value = f"ERROR: '{str(error)[0]}' contains ties."
            expected = row[column]
            if not (value == expected if "ERROR" in f"{value}{expected}" else same(value, float(expected))):
                wrong.append((row["id"], column, value, expected))
    assert wrong == []


NAMES = list(c.COEFFICIENTS)


def test_truth_ties_wants_the_tie() -> None:
    assert c.tau_truth_ties([2, 1, 1], [3, 2, 1]) == (2 - 1) / 3  # the pair that only x ties is discordant
    assert c.tau_truth_ties([3, 2, 1], [2, 1, 1]) == (2 - 1) / 3  # and so is the one that only y ties
    assert c.tau_truth_ties([1, 1], [1, 1]) == 1.0
    assert c.tau_ap_truth_ties([3, 2, 1], [1, 1, 1]) == -1.0


def test_infinite_scores_are_ranked() -> None:
    assert c.tau([-math.inf, 0, math.inf], [1, 2, 3]) == 1.0
    assert c.tau_b([-math.inf, -math.inf, 1], [1, 1, 2], tolerance=0.5) == 1.0


# Tolerance.


def test_tolerance_ties_pairs_not_chains() -> None:
    # 0.00, 0.04, 0.08: neighbours tie at 0.05, the ends do not.
    x, y = [0.08, 0.04, 0.0], [3, 2, 1]
    assert c.correlate(x, y, "tau_b", tolerance=0.05).ties_x == 2
    assert c.tau_a(y, x, tolerance=0.05) == pytest.approx(1 / 3)
    assert c.clusters(x, 0.05).tolist() == [1, 1, 1]


def test_tolerance_is_closer_than() -> None:
    assert c.correlate([1.0, 1.5], [1, 2], "tau_b", tolerance=0.5).ties_x == 0
    assert c.correlate([1.0, 1.25], [1, 2], "tau_b", tolerance=0.5).ties_x == 1
    assert c.clusters([1.0, 1.5, 1.75], 0.5).tolist() == [2, 1, 1]
    assert c.clusters([1.0, 1.5, 1.75], 0.5, best="low").tolist() == [1, 2, 2]
    assert c.clusters([1.0, 1.0, math.inf, math.inf], 0.0).tolist() == [2, 2, 1, 1]


# What is refused, and what is undefined.


@pytest.mark.parametrize(
    ("name", "x", "y", "sentence"),
    [
        ("tau", [1, 1, 2], [1, 2, 3], r"x contains ties \(1.0\), which tau does not allow; tau_a allows ties in y"),
        ("tau", [1, 2, 3], [1, 2, 2], r"y contains ties \(2.0\), which tau does not allow; tau_a allows ties in y"),
        ("tau_ap", [1, 2, 3], [1, 2, 2], "tau_ap_a allows ties in y, tau_ap_b in both"),
        ("tau_a", [1, 1, 2], [1, 2, 3], "tau_b allows ties in both"),
        ("tau_ap_a", [1, 1, 2], [1, 2, 3], "tau_ap_b allows ties in both"),
        ("tau", [0.3, 0.1 + 0.2], [1, 2], "0.30000000000000004 and 0.3 alike at 15 digits"),
        ("tau", [0.0, -0.0], [1, 2], "x contains ties"),
        ("tau", [math.inf, math.inf], [1, 2], "x contains ties"),
    ],
)
def test_ties_refused(name: str, x: list[float], y: list[float], sentence: str) -> None:
    with pytest.raises(ConventionError, match=sentence):
        getattr(c, name)(x, y)


def test_ties_are_exact_where_allowed() -> None:
    assert c.tau_b([0.3, 0.1 + 0.2], [1, 2]) == 1.0
    assert c.tau([1.0, 1.00000000000001], [1, 2]) == 1.0  # differs at the 15th digit


@pytest.mark.parametrize("name", ["tau_b", "tau_ap_ties", "tau_ap_b", "spearman"])
def test_undefined_with_its_reason(name: str) -> None:
    assert math.isnan(getattr(c, name)([1, 2, 3], [5, 5, 5]))
    assert math.isnan(getattr(c, name)([5, 5, 5], [1, 2, 3]))
    assert c.correlate([1, 2, 3], [5, 5, 5], name).reason == "y ties all items"
    assert c.correlate([5, 5, 5], [1, 2, 3], name).reason == "x ties all items"
    assert c.correlate([5, 5], [1, 1], name).reason == "x and y tie all items"
    text = str(c.correlate([1, 2, 3], [5, 5, 5], name))
    assert f"{name} = NaN, because y ties all items (3 items, best = high" in text


def test_an_observer_who_ties_all_is_no_better_than_chance() -> None:
    assert c.tau_a([1, 2, 3], [5, 5, 5]) == 0.0
    assert c.tau_ap_a([1, 2, 3], [5, 5, 5]) == 0.0
    assert c.correlate([1, 2, 3], [5, 5, 5], "tau_a").reason == ""


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        ([1, 2, 3], [1, 2], "x has 3 items and y has 2"),
        ([1], [1], "at least 2 items, got 1"),
        ([], [], "at least 2 items, got 0"),
        ([1, math.nan], [1, 2], "x is NaN for item 2 of 2"),
        ([1, 2], [None, 2], "y is NaN for item 1 of 2"),
        (["a", "b"], [1, 2], "x must be numbers"),
        ([1j, 2], [1, 2], "x must be numbers"),
        ([[1, 2]], [1, 2], "x must have one dimension, got 2"),
        (3, [1, 2], "x must have one dimension, got 0"),
        ([[1], [1, 2]], [1, 2], "x must be numbers"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_bad_input(name: str, x: Any, y: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        getattr(c, name)(x, y)


def test_bad_choices() -> None:
    with pytest.raises(ConventionError, match="best must be 'high'"):
        c.tau([1, 2], [1, 2], best="up")  # type: ignore[arg-type]
    with pytest.raises(ConventionError, match="tau_ap_a takes no tolerance"):
        c.correlate([1, 2], [1, 2], "tau_ap_a", tolerance=0.1)
    with pytest.raises(ConventionError, match="tau_b takes no p"):
        c.correlate([1, 2], [1, 2], "tau_b", p=0.5)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ConventionError, match="tolerance must be"):
            c.tau_b([1, 2], [1, 2], tolerance=bad)
        with pytest.raises(ConventionError, match="p must be between"):
            c.rbo([1, 2], [1, 2], p=bad)
    with pytest.raises(ConventionError, match="ties must be"):
        c.rbo([1, 2], [1, 2], ties="c")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean tau_b"):
        c.correlate([1, 2], [1, 2], "taub")


def test_inputs_of_other_kinds() -> None:
    for kind in (np.int32, np.uint8, np.float32, np.float64):
        assert c.tau_b(np.array([1, 2, 3], kind)[::-1], np.array([3, 2, 1], kind)) == 1.0


# Bootstrap over queries.


def scores(seed: int, queries: int = 20, systems: int = 8) -> F64:
    generator = np.random.default_rng(seed)
    return generator.random((queries, systems)) + np.arange(systems) / 10


def test_bootstrap_is_a_function_of_its_seed() -> None:
    a, b = scores(1), scores(2)
    first = c.bootstrap(a, b, "tau_ap_b", resamples=100, seed=5)
    assert first == c.bootstrap(a, b, "tau_ap_b", resamples=100, seed=5)
    assert first != c.bootstrap(a, b, "tau_ap_b", resamples=100, seed=6)
    assert first.value == c.tau_ap_b(a.mean(0), b.mean(0))
    assert -1 <= first.low <= first.high <= 1
    assert "tau_ap_b = " in str(first)
    assert "95% interval" in str(first)
    assert "best = high, 100 samples, seed 5" in str(first)


def test_bootstrap_equals_its_definition() -> None:
    a, b = scores(3), scores(4)
    generator = np.random.default_rng(9)
    draws = [generator.integers(0, 20, 20) for _ in range(60)]
    values = [c.tau_b(a[d].mean(0), b[d].mean(0)) for d in draws]
    interval = c.bootstrap(a, b, "tau_b", resamples=60, seed=9, level=0.9)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(values, [0.05, 0.95])), abs=1e-12)


def test_bootstrap_keeps_equal_columns_tied_and_counts_the_undefined() -> None:
    a = scores(5)
    a[:, 1] = a[:, 0]
    for queries in np.random.default_rng(0).integers(0, 20, (9, 20)):
        means = a[queries].mean(0)
        assert c.correlate(means, means, "tau_b").ties_x == 1
    # The two systems differ on one query only: without it a resample ties them.
    lone = np.array([[0.5, 0.1], [0.3, 0.3], [0.2, 0.2]])
    interval = c.bootstrap(lone, lone, "tau_b", resamples=200, seed=1)
    assert 0 < interval.undefined < 200
    assert (interval.low, interval.high) == (1.0, 1.0)
    assert f"{interval.undefined} undefined" in str(interval)
    with pytest.raises(ConventionError, match=r"resample .* contains ties"):
        c.bootstrap(lone, lone, "tau", resamples=200, seed=1)
    never = c.bootstrap(np.ones((3, 2)), lone, "tau_b", resamples=10)
    assert math.isnan(never.low)
    assert never.undefined == 10
    assert never.reason == "x ties all items"


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0]], "a must have at least 2 queries and 2 systems"),
        ([1.0, 2.0], [1.0, 2.0], "a must have at least 2 queries and 2 systems"),
        (np.ones((3, 2)), np.ones((2, 3)), "same queries and systems"),
        ([[1.0, math.nan], [1.0, 2.0]], np.ones((2, 2)), "a is not finite for query 1, system 2"),
        ([["a", "b"], ["c", "d"]], np.ones((2, 2)), "matrix of numbers"),
    ],
)
def test_bootstrap_refuses(a: Any, b: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        c.bootstrap(a, b, "tau_b")


def test_bootstrap_refuses_choices() -> None:
    with pytest.raises(ConventionError, match="samples"):
        c.bootstrap(scores(1), scores(2), "tau_b", resamples=0)
    with pytest.raises(ConventionError, match="level"):
        c.bootstrap(scores(1), scores(2), "tau_b", level=1.0)
