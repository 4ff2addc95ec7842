"""HITS and topical HITS against NumPy, round by round."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.collections.links.graph import Graph
from pippin.kernels.graph import HubLinks


def _links(seed: int, pages: int = 60, links: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Offsets, columns and the matrix of a graph some of whose pages have no links out, in, or at all."""
    rng = np.random.default_rng(seed)
    graph = Graph.of(pages, rng.integers(0, pages - 10, links), 5 + (rng.random(links) ** 2 * (pages - 8)).astype(int))
    return graph.out_offsets, graph.out_targets, graph.matrix().toarray()


def _unit(vector: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = vector / np.linalg.norm(vector)
    return scaled


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_rounds_of_hits(seed: int, rounds: int) -> None:
    offsets, columns, matrix = _links(seed)
    pages = len(matrix)
    start = np.random.default_rng(seed).random(pages)
    authority, hub = np.zeros(pages), start.copy()
    done, residual = HubLinks(offsets, columns).hits(authority, hub, 0.0, rounds)
    a, h, before = np.zeros(pages), start, (np.zeros(pages), start)
    for _ in range(rounds):
        before = a, h
        a = _unit(matrix.T @ h)
        h = _unit(matrix @ a)
    assert done == rounds
    assert np.abs(authority - a).max() <= 1e-14
    assert np.abs(hub - h).max() <= 1e-14
    if rounds > 1:  # the first round also takes away what pages without links were given
        assert residual == pytest.approx(np.abs(a - before[0]).sum() + np.abs(h - before[1]).sum(), abs=1e-13)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 0.9])
def test_rounds_of_topical_hits(alpha: float) -> None:
    offsets, columns, matrix = _links(3)
    links, pages = HubLinks(offsets, columns), len(matrix)
    plain, plain_hub = np.zeros(pages), np.ones(pages)
    links.hits(plain, plain_hub, 1e-13, 10_000)
    topics = np.random.default_rng(1).random(pages)
    authority, hub = topics * plain, topics * plain_hub
    done, residual = links.topical(plain, alpha, authority, hub, 0.0, 4)
    a, h, change = topics * plain, topics * plain_hub, 0.0
    for _ in range(done):
        new_a = alpha * matrix.T @ h / np.linalg.norm(matrix.T @ plain_hub) + (1 - alpha) * topics * plain
        new_h = alpha * matrix @ new_a / np.linalg.norm(matrix @ plain) + (1 - alpha) * topics * plain_hub
        change = np.abs(new_a - a).sum() + np.abs(new_h - h).sum()
        a, h = new_a, new_h
    assert np.abs(authority - a).max() <= 1e-14
    assert np.abs(hub - h).max() <= 1e-14
    assert residual == pytest.approx(change, abs=1e-13)


def test_training_stops_at_convergence() -> None:
    links = HubLinks(np.array([0, 2, 2, 2]), np.array([1, 2], np.int32))  # one hub, two authorities alike
    authority, hub = np.zeros(3), np.ones(3)
    done, residual = links.hits(authority, hub, 1e-12, 100)
    assert done == 2
    assert residual <= 1e-15
    assert authority == pytest.approx([0, 0.5**0.5, 0.5**0.5])
    assert hub == pytest.approx([1, 0, 0])


@pytest.mark.parametrize("pages", [0, 1, 4])
def test_without_links_all_values_are_0(pages: int) -> None:
    links = HubLinks(np.zeros(pages + 1, np.int64), np.zeros(0, np.int32))
    authority, hub = np.ones(pages), np.ones(pages)
    assert links.hits(authority, hub, 1e-10, 10) == (0, 0.0)
    assert not authority.any()
    assert not hub.any()
    assert links.topical(authority, 0.5, authority, hub, 1e-10, 10) == (0, 0.0)


def test_links_to_oneself_and_repeated_links_count_as_they_stand() -> None:
    links = HubLinks(np.array([0, 3, 4]), np.array([0, 1, 1, 0], np.int32))
    matrix = np.array([[1.0, 2.0], [1.0, 0.0]])
    authority, hub = np.zeros(2), np.ones(2)
    links.hits(authority, hub, 1e-14, 1000)
    left, _, right = np.linalg.svd(matrix)
    assert authority == pytest.approx(np.abs(right[0]))
    assert hub == pytest.approx(np.abs(left[:, 0]))


def test_damaged_links_and_values_of_other_pages_are_errors() -> None:
    for column in (-1, 2):
        with pytest.raises(ValueError, match="leads to a page that is not there"):
            HubLinks(np.array([0, 1, 1]), np.array([column], np.int32))
    with pytest.raises(ValueError, match="offsets that ascend"):
        HubLinks(np.array([0, 2, 1]), np.array([1], np.int32))
    links = HubLinks(np.array([0, 1, 1]), np.array([1], np.int32))
    with pytest.raises(ValueError, match="a value for every page"):
        links.hits(np.zeros(3), np.ones(2), 0.0, 1)
    with pytest.raises(ValueError, match="a value for every page"):
        links.topical(np.zeros(1), 0.5, np.zeros(2), np.ones(2), 0.0, 1)
