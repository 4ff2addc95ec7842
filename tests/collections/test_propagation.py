"""Propagation: the recursion and its neighbourhood."""

from __future__ import annotations

import numpy as np
import pytest
from tests.collections.test_ranks import random_graph

from pippin.collections.links.graph import Graph
from pippin.collections.links.link_analysis import Neighborhood, Scored, propagate, sitemap_weights
from pippin.collections.links.sitemap import Sitemap
from pippin.errors import DataError
from pippin.kernels.graph import PageSet

GRAPH = Graph.of(5, [0, 0, 1, 3], [1, 2, 2, 0])
SCORES = np.array([0.0, 3.0, 1.0, 0.0, 2.0])
ALL = np.arange(5)


def make_scored(scores: np.ndarray) -> Scored:
    """Return the scores of all pages."""
    pages = PageSet(len(scores))
    pages.add(np.arange(len(scores)))
    pages.number()
    return pages, np.ascontiguousarray(scores, np.float64)


AROUND = Neighborhood(GRAPH, ALL, make_scored(SCORES))


def test_weights_by_hand() -> None:
    around = AROUND
    assert around.uniform().toarray()[[0, 1, 3]].tolist() == [[0, 0.5, 0.5, 0, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]
    weighted = around.weighted_links().toarray()
    assert weighted.tolist() == [[0, 0.75, 0.25, 0, 0], [0, 0, 1, 0, 0], [0] * 5, [0] * 5, [0] * 5]  # S(0) = 0
    assert around.links().toarray().sum() == 4


def test_negative_scores_weigh_nothing() -> None:
    weighted = Neighborhood(GRAPH, ALL, make_scored(np.array([-1.0, -3.0, 1.0, 0.0, 2.0]))).weighted_links()
    assert weighted.toarray()[[0, 3]].tolist() == [[0, 0, 1, 0, 0], [0] * 5]


def test_a_neighbourhood_is_candidates_and_one_step_around_them() -> None:
    graph = Graph.of(7, [0, 1, 2, 3, 4, 1], [1, 2, 3, 4, 5, 5])
    around = Neighborhood(graph, np.array([2]), make_scored(np.array([0, 0, 1, 0, 0, 3.0, 0])))
    assert around.pages.tolist() == [1, 2, 3]
    assert around.slots.tolist() == [1]
    # page 1 points to 2 and to 5, which is outside: its weights count all its links
    assert around.uniform().toarray().tolist() == [[0, 0.5, 0], [0, 0, 1], [0, 0, 0]]
    assert around.weighted_links().toarray()[0].tolist() == [0, 0.25, 0]


def test_first_in_links_are_used() -> None:
    graph = Graph.of(100, range(1, 100), np.zeros(99, int))
    assert Neighborhood(graph, np.array([0]), make_scored(np.zeros(100))).pages.tolist() == list(range(51))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [0.85, 0.5, 0.15])
def test_the_recursion_is_solved(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(seed)
    table = rng.normal(size=(40, 3))
    around = Neighborhood(graph, np.arange(40), make_scored(table[:, 0]))
    out = around.weighted_links()
    for weights in (out, out.transpose(), around.uniform()):
        twin = np.linalg.solve(np.eye(40) - (1 - alpha) * weights.toarray(), alpha * table)
        assert np.abs(propagate(weights, table, alpha) - twin).max() <= 1e-8
        swapped = propagate(weights, table, 1 - alpha, alpha_is_self=False)
        assert np.abs(swapped - twin).max() <= 1e-8


def test_the_whole_weight_on_itself_gives_back_the_score() -> None:
    weights = AROUND.uniform()
    assert np.array_equal(propagate(weights, SCORES, 1.0), SCORES)
    assert np.array_equal(propagate(weights, SCORES, 0.0, alpha_is_self=False), SCORES)


def test_levels_count_rounds() -> None:
    tree = Sitemap.of_parents([-1, 0, 1])
    weights = sitemap_weights(tree, np.arange(3))
    scores = np.array([0.0, 0.0, 1.0])
    assert propagate(weights, scores, 0.9, levels=0).tolist() == [0, 0, 1]
    assert propagate(weights, scores, 0.9, levels=1) == pytest.approx([0, 0.1, 0.9])
    assert propagate(weights, scores, 0.9) == pytest.approx([0.1 * 0.1 * 0.9, 0.1 * 0.9, 0.9])


def test_no_pages_and_bad_weights() -> None:
    weights = Neighborhood(GRAPH, np.zeros(0, np.int64), make_scored(SCORES)).uniform()
    assert propagate(weights, np.zeros(0), 0.85).shape == (0,)
    with pytest.raises(DataError, match=r"alpha must be between 0 and 1, got 1\.5"):
        propagate(weights, SCORES, 1.5)
    two = Neighborhood(Graph.of(2, [0, 1], [1, 0]), np.arange(2), make_scored(np.ones(2)))
    with pytest.raises(DataError, match=r"propagation did not converge in 2 rounds: change 1\.28"):
        propagate(two.uniform(), np.array([3.0, 1]), 0.2, rounds=2)
