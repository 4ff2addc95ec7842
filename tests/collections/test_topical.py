"""Topical ranks: topics of pages, and ranks that sum to the plain ranks."""

from __future__ import annotations

import numpy as np
import pytest
from tests.collections.six_pages import PlainIndex
from tests.collections.test_ranks import random_graph

from pippin.collections.collection import Collection, Document
from pippin.collections.links.graph import Graph
from pippin.collections.links.link_analysis import hits, pagerank
from pippin.collections.links.topical import TopicDistributions, learn_topics, topical_hits, topical_pagerank
from pippin.errors import DataError

FRUIT = "apple pear orchard tree harvest".split()  # noqa: SIM905
STARS = "mars rover orbit rocket launch".split()  # noqa: SIM905


def pages(count: int = 40) -> Collection:
    rng = np.random.default_rng(0)
    results = []
    for number in range(count):
        words = [*rng.choice(FRUIT if number % 2 else STARS, 12), *rng.choice(FRUIT + STARS, 4)]
        results.append(Document(f"d{number}", {"body": " ".join(words)}))
    return Collection("pages", ("body",), lambda: iter(results))


IDS = [f"d{number}" for number in range(40)]
GIVEN = {name: "fruit" if number % 2 else "space" for number, name in enumerate(IDS[:10])}


def learned() -> tuple[TopicDistributions, PlainIndex]:
    index = PlainIndex(pages())
    return learn_topics(GIVEN, IDS, index), index


def test_pages_that_are_not_known_are_classified() -> None:
    topics, _ = learned()
    assert topics.categories == ("fruit", "space")
    assert topics.pages[:10, 0].tolist() == [0, 1] * 5
    assert (topics.pages[:, 0] > 0.5).tolist() == [False, True] * 20
    entropy = -np.sum(topics.pages[10:] * np.log(topics.pages[10:]), axis=1).mean()
    assert entropy == pytest.approx(0.5 * np.log(2), abs=1e-6)
    assert np.allclose(topics.pages.sum(axis=1), 1)


def test_learning_twice_gives_the_same_bits() -> None:
    assert np.array_equal(learned()[0].pages, learned()[0].pages)


def test_a_querys_topics_by_hand() -> None:
    topics, index = learned()
    counts = np.array([sum(index.counts[n]["apple"] for n in range(10) if n % 2 == kind) for kind in (1, 0)])
    chances = (counts + 1) / (topics.totals + len(FRUIT + STARS))
    plain = chances / chances.sum()
    nothing = np.zeros(0, np.int64)
    assert topics.of_query(index, ["apple"], nothing) == pytest.approx(plain)
    best, best_are = np.array([1, 3]), np.array([1.0, 0.0])
    assert topics.of_query(index, ["apple"], best) == pytest.approx((plain + best_are) / 2)
    assert topics.of_query(index, ["apple", "unheard"], best) == pytest.approx((2 * plain + best_are) / 3)
    assert topics.of_query(index, ["unheard"], nothing) == pytest.approx([0.5, 0.5])


def test_no_topics_are_one_category() -> None:
    topics = learn_topics({}, IDS)
    assert topics.proxy
    assert topics.of_query(PlainIndex(pages()), ["apple"], np.array([1])).tolist() == [1.0]


def test_all_given_need_no_index_and_some_do() -> None:
    known = dict.fromkeys(IDS, "fruit") | {"d0": "space"}
    assert learn_topics(known, IDS).pages.sum(axis=0).tolist() == [39, 1]
    with pytest.raises(DataError, match="30 of 40 documents have no topic"):
        learn_topics(GIVEN, IDS)
    with pytest.raises(DataError, match="1 of 11 documents with a topic are not in the collection"):
        learn_topics(GIVEN | {"x": "fruit"}, IDS)


def test_one_category_given_to_some_is_that_of_all() -> None:
    assert learn_topics({"d0": "fruit"}, IDS, PlainIndex(pages())).pages.tolist() == [[1.0]] * 40


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_topical_ranks_sum_to_pagerank_and_solve_their_equations(seed: int, alpha: float) -> None:
    graph = random_graph(seed)
    n, d = graph.pages, 0.85
    shares = np.random.default_rng(seed).dirichlet(np.ones(12), n)
    plain = pagerank(graph).values
    ranks = topical_pagerank(graph, plain, shares, alpha=alpha)
    assert np.abs(ranks.values.sum(axis=1) - plain).sum() <= 1e-10
    links = graph.matrix().toarray()
    pull = (links / np.maximum(links.sum(axis=1, keepdims=True), 1)).T
    lost = plain[graph.outdegree == 0].sum()
    fixed = shares * (d * (1 - alpha) * pull @ plain + (1 - d + d * lost) / n)[:, None]
    twin = np.linalg.solve(np.eye(n) - d * alpha * pull, fixed)
    assert np.abs(ranks.values - twin).sum() <= 1e-10


def spec_iteration(links: np.ndarray, shares: np.ndarray, alpha: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Topical HITS as the formulas stand, all topics at once, from hubs of 1."""
    hub = shares.copy()
    authority = hub
    for _ in range(rounds):
        authority = alpha * links.T @ hub + (1 - alpha) * shares * (links.T @ hub.sum(axis=1))[:, None]
        authority = authority / np.linalg.norm(authority.sum(axis=1))
        hub = alpha * links @ authority + (1 - alpha) * shares * (links @ authority.sum(axis=1))[:, None]
        hub = hub / np.linalg.norm(hub.sum(axis=1))
    return authority, hub


@pytest.mark.parametrize("seed", range(5))
def test_topical_hits_are_the_limit_of_their_formulas_and_sum_to_hits(seed: int) -> None:
    links = random_graph(seed).matrix()
    shares = np.random.default_rng(seed).dirichlet(np.ones(3), links.size)
    plain = hits(links, tolerance=1e-13, rounds=20_000)
    topics = [topical_hits(plain, column) for column in shares.T]
    found_authority = np.column_stack([topic.authority for topic in topics])
    found_hub = np.column_stack([topic.hub for topic in topics])
    authority, hub = spec_iteration(links.toarray(), shares, 0.5, 5000)
    assert np.abs(found_authority - authority).max() <= 1e-9
    assert np.abs(found_hub - hub).max() <= 1e-9
    assert np.abs(found_authority.sum(axis=1) - plain.authority).max() <= 1e-9
    query = np.array([0.5, 0.3, 0.2])  # the values of one query need one column
    first = topical_hits(plain, shares @ query)
    assert np.abs(first.authority - found_authority @ query).max() <= 1e-9


def test_topical_ranks_of_empty_graphs() -> None:
    empty = Graph.of(0, [], [])
    assert topical_pagerank(empty, np.zeros(0), np.zeros((0, 2))).values.shape == (0, 2)
    apart = Graph.of(2, [], []).matrix()
    assert not topical_hits(hits(apart), np.ones(2)).hub.any()


def test_impossible_alpha_and_rounds() -> None:
    graph = random_graph(0)
    plain = pagerank(graph).values
    with pytest.raises(DataError, match="between 0 and 1, got 2"):
        topical_pagerank(graph, plain, np.ones((40, 1)), alpha=2)
    with pytest.raises(DataError, match="topical PageRank did not converge"):
        topical_pagerank(graph, plain, np.random.default_rng(0).dirichlet(np.ones(2), 40), rounds=1)
    links = graph.matrix()
    with pytest.raises(DataError, match="topical HITS did not converge"):
        topical_hits(hits(links), np.random.default_rng(0).random(40), rounds=1)
