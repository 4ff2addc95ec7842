"""Link sums equal SciPy's products bit by bit, and invalid columns are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pippin.collections.links.graph import Graph, Sparse
from pippin.kernels.graph import link_sums, propagate, transpose, weigh_rows


def _graph(pages: int = 300, links: int = 4000) -> Graph:
    rng = np.random.default_rng(5)
    return Graph.of(pages, rng.integers(0, pages // 2, links), rng.integers(0, pages, links))


def _scipys(matrix: Sparse) -> Any:
    from scipy.sparse import csr_array

    return csr_array((matrix.weights, matrix.columns, matrix.offsets), shape=(matrix.size, matrix.size))


@pytest.mark.parametrize("width", [1, 2, 7, 12])
def test_sums_are_scipys_to_the_bit(width: int) -> None:
    graph = _graph()
    values = np.random.default_rng(width).standard_normal((graph.pages, width))
    matrix = _scipys(graph.matrix())
    assert np.array_equal(link_sums(graph.out_offsets, graph.out_targets, values), matrix @ values)
    first = values[:, 0].copy()
    assert np.array_equal(link_sums(graph.out_offsets, graph.out_targets, first), matrix @ first)
    assert np.array_equal(graph.matrix() @ first, matrix @ first)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 9])
@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_propagation_equals_scipy(width: int, rounds: int) -> None:
    graph, rng = _graph(), np.random.default_rng(width)  # half of its pages have no links
    weights = _scipys(graph.matrix())
    weights.data[:] = rng.random(graph.links) / 30
    values = rng.standard_normal((graph.pages, width))
    current, expected, last = values.copy(), values, values
    for _ in range(rounds):
        last, expected = expected, 0.4 * (weights @ expected) + 0.6 * values
    values_after, changed = propagate(graph.out_offsets, graph.out_targets, weights.data, values, 0.6, -1.0, rounds)
    assert np.abs(values_after - expected).max() <= 1e-14
    assert changed == (pytest.approx(np.abs(expected - last)[graph.outdegree > 0].max()) if rounds > 1 else changed)
    assert np.isinf(changed) == (rounds == 0)
    assert np.array_equal(values, current)


def test_propagation_stops_at_convergence() -> None:
    graph = Graph.of(3, [0, 1], [1, 2])  # a chain stands still after two rounds, which the third one sees
    values, weights = np.array([[0.0], [0.0], [1.0]]), np.ones(2)
    values_after, changed = propagate(graph.out_offsets, graph.out_targets, weights, values, 0.5, 0.0, 100)
    assert values_after[:, 0].tolist() == [0.5 * 0.5 * 0.5, 0.5 * 0.5, 0.5]
    assert changed == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_transpose_equals_sorting(seed: int) -> None:
    rng, pages = np.random.default_rng(seed), 40
    rows, columns = np.sort(rng.integers(0, 30, 200)), rng.integers(5, pages, 200)  # with repeats and empty rows
    matrix = Sparse.of(rows, columns, rng.random(200), pages)
    twin = Sparse.of(matrix.columns.astype(np.int64), matrix.rows, matrix.weights, pages)
    result = matrix.transpose()
    for name in ("offsets", "columns", "weights"):
        assert np.array_equal(getattr(result, name), getattr(twin, name))
        assert getattr(result, name).dtype == getattr(twin, name).dtype
    assert [part.tolist() for part in transpose(np.zeros(1, np.int64), columns[:0].astype(np.int32), np.ones(0))] == [
        [0], [], [],
    ]  # fmt: skip


@pytest.mark.parametrize("width", [1, 3, 12, 20])
def test_rows_weighed(width: int) -> None:
    rng = np.random.default_rng(width)
    table, weights, pages = rng.random((500, width)), rng.random(width), rng.integers(0, 500, 90)
    assert weigh_rows(table, pages, weights) == pytest.approx(table[pages] @ weights, rel=1e-14)
    assert weigh_rows(table, pages[:0], weights).shape == (0,)


@pytest.mark.parametrize("column", [-1, 2])
def test_a_column_that_leads_nowhere_is_an_error(column: int) -> None:
    offsets, columns = np.array([0, 1, 1]), np.array([column], np.int32)
    with pytest.raises(ValueError, match="leads to a page that is not there"):
        link_sums(offsets, columns, np.ones(2))
    with pytest.raises(ValueError, match="leads to a page that is not there"):
        propagate(offsets, columns, np.ones(1), np.ones((2, 1)), 0.5, 0.0, 3)
    with pytest.raises(ValueError, match="leads to a page that is not there"):
        transpose(offsets, columns, np.ones(1))
    with pytest.raises(ValueError, match="a page that is not there"):
        weigh_rows(np.ones((2, 1)), np.array([column]), np.ones(1))


def test_arrays_that_do_not_fit_together_are_an_error() -> None:
    offsets, columns = np.array([0, 1, 1]), np.array([1], np.int32)
    with pytest.raises(ValueError, match="a weight for every link and a row for every page"):
        propagate(offsets, columns, np.ones(2), np.ones((2, 1)), 0.5, 0.0, 3)
    with pytest.raises(ValueError, match="a weight for every link and a row for every page"):
        propagate(offsets, columns, np.ones(1), np.ones((3, 1)), 0.5, 0.0, 3)
    with pytest.raises(ValueError, match="a weight for every link is needed"):
        transpose(offsets, columns, np.ones(2))
    with pytest.raises(ValueError, match="a weight for every column"):
        weigh_rows(np.ones((2, 1)), np.array([0]), np.ones(2))
