"""Correlation kernels equal their definitions and refuse invalid arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pippin.kernels import native
from pippin.kernels import statistics as kernel

F64 = NDArray[np.float64]

VALUES = st.lists(st.sampled_from([0.0, -0.0, 0.5, 0.75, 1.0, 2.0, 4.0]), min_size=2, max_size=20)


def is_clearly_above(values: F64, high: bool, tolerance: float) -> NDArray[np.bool_]:
    """table[i, j]: is i clearly above j?"""
    gap = (values[:, None] - values[None, :]) * (1 if high else -1)
    return (gap > 0) & ~(gap < tolerance)


@given(values=VALUES, high=st.booleans(), tolerance=st.sampled_from([0.0, 0.3, 0.5, 1.0, 9.0]))
def test_rank_equals_twin(values: list[float], high: bool, tolerance: float) -> None:
    array = np.array(values)
    order, above, through = kernel.rank_with_ties(array, high, tolerance)
    table = is_clearly_above(array, high, tolerance)
    assert sorted(order) == list(range(len(values)))
    assert (np.diff(array[order]) * (-1 if high else 1) >= 0).all()
    assert above.tolist() == table.sum(axis=0).tolist()
    assert through.tolist() == (len(values) - table.sum(axis=1)).tolist()


PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=25)


@given(pairs=PAIRS, tolerance=st.sampled_from([0.0, 1.5, 3.0]))
def test_counts_equal_twin(pairs: list[tuple[int, int]], tolerance: float) -> None:
    x, y = np.array(pairs, np.float64).T
    counts = kernel.count_pairs(*(kernel.rank_with_ties(v.copy(), True, tolerance) for v in (x, y)))
    a, b = (is_clearly_above(v, True, tolerance) for v in (x, y))
    tied_a, tied_b = ~a & ~a.T, ~b & ~b.T
    n = len(pairs)
    assert counts.concordant == (a & b).sum()
    assert counts.discordant == (a & b.T).sum()
    assert counts.tied_x == (tied_a.sum() - n) // 2
    assert counts.tied_y == (tied_b.sum() - n) // 2
    assert counts.tied_both == ((tied_a & tied_b).sum() - n) // 2


def table(n: int) -> NDArray[np.int64]:
    return kernel.rank_with_ties(np.arange(n, dtype=np.float64), True)


@pytest.mark.parametrize(
    ("values", "ranking"),
    [
        (np.ones(3, np.float32), np.empty((3, 3), np.int64)),
        (np.ones(3, np.int64), np.empty((3, 3), np.int64)),
        (np.ones((3, 1)), np.empty((3, 3), np.int64)),
        (np.ones(6)[::2], np.empty((3, 3), np.int64)),
        (np.ones(3), np.empty((3, 3), np.int32)),
        (np.ones(3), np.empty((2, 3), np.int64)),
        (np.ones(3), np.empty((3, 3), np.int64, order="F")),
        ([1.0, 2.0, 3.0], np.empty((3, 3), np.int64)),
    ],
)
def test_wrong_arrays_are_refused(values: Any, ranking: Any) -> None:
    with pytest.raises(TypeError):
        native.rank_with_ties(values, True, 0.0, ranking)


@pytest.mark.parametrize(
    ("values", "tolerance", "sentence"),
    [
        ([1.0, np.nan], 0.0, "NaN cannot be ranked"),
        ([1.0, 2.0], -1.0, "a tolerance of 0 or more is needed"),
        ([1.0, 2.0], np.nan, "a tolerance of 0 or more is needed"),
        ([1.0], 0.0, "a ranking as long as the values is needed"),
    ],
)
def test_values_that_cannot_be_ranked(values: list[float], tolerance: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        native.rank_with_ties(np.array(values), True, tolerance, np.empty((3, 2), np.int64))


# Cells of a ranking of four that would lead out of it: row, value.
OUT_OF_RANGE = [(0, -1), (0, 4), (1, -1), (1, 4), (2, 0), (2, 5)]


@pytest.mark.parametrize(
    ("call", "rest"),
    [
        ("count_pairs", ()),
        ("share_above", ()),
        ("share_above_in_orders", (0,)),
        ("rank_biased_overlap", (0.9, 0)),
    ],
)
def test_rankings_are_checked(call: str, rest: tuple[Any, ...]) -> None:
    function = getattr(native, call)
    function(table(4), table(4), *rest)
    with pytest.raises(ValueError, match="different lengths"):
        function(table(4), table(3), *rest)
    with pytest.raises(ValueError, match="two items"):
        function(table(1), table(1), *rest)
    for row, value in OUT_OF_RANGE:
        broken = table(4)
        broken[row, 2] = value
        with pytest.raises(ValueError, match="out of range"):
            function(table(4), broken, *rest)
        with pytest.raises(ValueError, match="out of range"):
            function(broken, table(4), *rest)
    with pytest.raises(TypeError):
        function(table(4).astype(np.int32), table(4), *rest)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 6), min_size=2, max_size=8))
def test_a_nonsense_ranking_does_no_harm(rows: list[tuple[int, ...]]) -> None:
    # Every index in range, but no ranking: the numbers mean nothing, the memory stays whole.
    n = len(rows)
    cells = np.array(rows, np.int64).T
    x, y = (
        np.stack([order % n, above % n, np.minimum(above % n + 1 + size, n)])
        for order, above, size in (cells[:3], cells[3:])
    )
    kernel.count_pairs(x, y)
    kernel.share_above(x, y)
    kernel.share_above_in_orders(x, y, "half")
    kernel.share_above_in_orders(x, y, "agreed")
    kernel.rank_biased_overlap(x, y, 0.5, "b")


def test_unknown_choices() -> None:
    with pytest.raises(ValueError, match="unknown value of tied_pair"):
        native.share_above_in_orders(table(3), table(3), 2)
    with pytest.raises(ValueError, match="unknown value of ties"):
        native.rank_biased_overlap(table(3), table(3), 0.9, 3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        native.rank_biased_overlap(table(3), table(3), 1.0, 0)
