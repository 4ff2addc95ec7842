"""PageRank, HostRank and HITS against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.collections.links.graph import Graph
from pippin.collections.links.link_analysis import Hits, hits, hostrank, pagerank
from pippin.errors import DataError

Floats = NDArray[np.float64]


def random_graph(seed: int, pages: int = 40) -> Graph:
    """Two parts without a link between them, pages without links, self-links, repeats."""
    rng = np.random.default_rng(seed)
    half = pages // 2
    sources = rng.integers(0, half - 4, 4 * pages)
    targets = rng.integers(0, half, 4 * pages)
    there = rng.random(4 * pages) < 0.5
    return Graph.of(pages, sources + half * there, targets + half * there)


def solved_pagerank(graph: Graph, damping: float) -> Floats:
    """x = (1−d)/N + d·Gᵀx, with the rows of pages without links uniform, as a linear system."""
    n = graph.pages
    links = graph.matrix().toarray()
    out = links.sum(axis=1, keepdims=True)
    walk = np.where(out > 0, links / np.maximum(out, 1), 1 / n)
    return np.linalg.solve(np.eye(n) - damping * walk.T, np.full(n, (1 - damping) / n))


def projected_hits(links: Floats) -> tuple[Floats, Floats]:
    """Project the start Aᵀ1 on the eigenspace of the largest eigenvalue of AᵀA."""
    values, vectors = np.linalg.eigh(links.T @ links)
    space = vectors[:, values > values.max() * (1 - 1e-9)]
    authority = space @ (space.T @ (links.T @ np.ones(len(links))))
    hub = links @ authority
    return authority / np.linalg.norm(authority), hub / np.linalg.norm(hub)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("damping", [0.85, 0.5, 0.0])
def test_pagerank_solves_its_equations(seed: int, damping: float) -> None:
    graph = random_graph(seed)
    assert graph.self_links > 0
    assert (graph.outdegree == 0).sum() >= 4
    ranks = pagerank(graph, damping=damping)
    assert np.abs(ranks.values - solved_pagerank(graph, damping)).sum() <= 1e-10
    assert abs(ranks.values.sum() - 1) <= 1e-14
    assert ranks.residual <= 1e-12
    assert ranks.rounds >= 1


def test_pagerank_of_two_pages_by_hand() -> None:
    # 0 → 1, and 1 has no links: x1 = .15/2 + .85(x0 + x1/2), x0 = .15/2 + .85·x1/2, x0 + x1 = 1
    x0 = (0.075 + 0.425) / (1 + 0.425)
    assert pagerank(Graph.of(2, [0], [1])).values == pytest.approx([x0, 1 - x0], abs=1e-12)


@pytest.mark.parametrize("pages", [0, 1, 5])
def test_ranks_of_an_empty_graph(pages: int) -> None:
    graph = Graph.of(pages, [], [])
    assert pagerank(graph).values.tolist() == pytest.approx([1 / pages] * pages if pages else [])
    assert hostrank(graph, np.zeros(pages, np.int32)).values.tolist() == pytest.approx([1.0] * pages)
    result = hits(graph.matrix())
    assert not result.authority.any()
    assert not result.hub.any()


def test_no_convergence_is_an_error_with_the_residual() -> None:
    graph = random_graph(0)
    with pytest.raises(DataError, match=r"PageRank did not converge in 3 rounds: change 0\.\d+, tolerance 1e-12"):
        pagerank(graph, rounds=3)
    with pytest.raises(DataError, match="damping of PageRank must be at least 0 and below 1, got 1"):
        pagerank(graph, damping=1.0)
    with pytest.raises(DataError, match="HITS did not converge"):
        hits(graph.matrix(), tolerance=0.0, rounds=3)


@pytest.mark.parametrize("seed", range(10))
def test_hits_are_the_dominant_singular_vectors(seed: int) -> None:
    links = random_graph(seed).matrix()
    result = hits(links, tolerance=1e-13, rounds=20_000)
    for ours, twin in zip((result.authority, result.hub), projected_hits(links.toarray()), strict=True):
        assert np.abs(ours - twin).sum() <= 1e-10


def near_ties(extra: int) -> Graph:
    """Two communities alike, each of ten pages pointing to ten, and a few links more in the second."""
    block = np.array([(i, 10 + j) for i in range(10) for j in range(10)])
    more = np.array([(40 + i, 30 + i) for i in range(extra)]).reshape(-1, 2)
    both = np.concatenate((block, block + 20, more))
    return Graph.of(45, both[:, 0], both[:, 1])


@pytest.mark.parametrize("extra", [0, 1])
def test_hits_where_two_communities_are_nearly_alike(extra: int) -> None:
    links = near_ties(extra).matrix()
    result = hits(links)
    for ours, twin in zip((result.authority, result.hub), projected_hits(links.toarray()), strict=True):
        assert np.abs(ours - twin).sum() <= 1e-7
    assert isinstance(result, Hits)
    assert (result.rounds > 200) == (extra == 1)


def test_hostrank_counts_links_between_hosts() -> None:
    # hosts 0, 1, 2; two links 0 → 1 (from different pages), one 0 → 2, one 1 → 0, links inside 0 do not count
    graph = Graph.of(5, [0, 1, 0, 2, 0, 1], [2, 2, 4, 0, 1, 0])
    result = hostrank(graph, np.array([0, 0, 1, 1, 2]))
    d, weights = 0.85, np.array([[0, 2 / 3, 1 / 3], [1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    twin = np.linalg.solve(np.eye(3) - d * weights.T, np.full(3, 0.05))
    assert result.values == pytest.approx(twin[[0, 0, 1, 1, 2]], abs=1e-12)
