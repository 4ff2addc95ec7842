"""Sums along links against SciPy's products bit by bit, and columns that lead nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.collection.graph import Graph
from pippin.kernels.links import link_sums, linked_values, links_inside, propagate_once


def _graph(pages: int = 300, links: int = 4000) -> Graph:
    rng = np.random.default_rng(5)
    return Graph.of(pages, rng.integers(0, pages // 2, links), rng.integers(0, pages, links))


@pytest.mark.parametrize("width", [1, 2, 7, 12])
def test_sums_are_scipys_to_the_bit(width: int) -> None:
    graph = _graph()
    values = np.random.default_rng(width).standard_normal((graph.pages, width))
    assert np.array_equal(link_sums(graph.out_offsets, graph.out_targets, values), graph.matrix() @ values)
    one = values[:, 0].copy()
    assert np.array_equal(link_sums(graph.out_offsets, graph.out_targets, one), graph.matrix() @ one)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 9])
def test_a_round_of_propagation_is_what_numpy_makes_of_it(width: int) -> None:
    graph, rng = _graph(), np.random.default_rng(width)
    weights = graph.matrix()
    weights.data[:] = rng.random(graph.links)
    kept, h = rng.random((2, graph.pages, width))
    out = np.empty_like(h)
    changed = propagate_once(graph.out_offsets, graph.out_targets, weights.data, kept, 0.15, h, out)
    wanted = (weights @ h) * 0.15 + kept
    assert np.array_equal(out, wanted)
    assert changed == np.abs(wanted - h).max()


def test_links_inside_some_pages() -> None:
    graph = Graph.of(4, [0, 0, 1, 3], [1, 2, 3, 0])
    slots = np.array([1, 0, 0, 2], np.int32)  # pages 0 and 3
    found = links_inside(graph.out_offsets, graph.out_targets, np.array([0, 3]), slots)
    assert [part.tolist() for part in found] == [[0, 0, 1], [0], [2]]
    values = np.array([5.0, 6.0, 7.0, 8.0])
    assert linked_values(graph.out_offsets, graph.out_targets, np.array([3, 0]), values).tolist() == [5.0, 6.0, 7.0]


@pytest.mark.parametrize("column", [-1, 2])
def test_a_column_that_leads_nowhere_is_an_error(column: int) -> None:
    offsets, columns = np.array([0, 1, 1]), np.array([column], np.int32)
    with pytest.raises(ValueError, match="leads to a page that is not there"):
        link_sums(offsets, columns, np.ones(2))
    with pytest.raises(ValueError, match="leads to a page that is not there"):
        linked_values(offsets, columns, np.array([0]), np.ones(2))
    with pytest.raises(ValueError, match="leads to a page that is not there"):
        links_inside(offsets, columns, np.array([0]), np.zeros(2, np.int32))
