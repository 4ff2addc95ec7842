"""Which pages matter for the topic of a query? Topical PageRank and topical HITS over the categories of a collection.

A page's topics are a distribution over the categories: certain where the collection gives its category, else from
naive Bayes learned on those pages (Nie, Davison, Qi 2006 use a text classifier and twelve categories; any number does).
A collection without topics has one category, with which the topical ranks are the plain ones.

Choices of ours: classes alike beforehand; counts smoothed by 1; the log-likelihoods of pages divided by one temperature
that makes their mean entropy min(1, ½ ln K) nats, because long pages would otherwise always be certain; a query's
topics are the classifier's on its words (each weighing 1) and the mean of its ten best pages (weighing 1 together).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.collection.candidates import Floats, Ints, Postings
from pippin.collection.graph import Graph, Numbers
from pippin.collection.ranks import DAMPING, Hits, Pull, Rank, restless
from pippin.errors import DataError
from pippin.kernels.links import link_sums

CHUNK = 1 << 14  # pages classified at once
SAMPLE = 10_000  # pages, evenly spread, that the temperature is chosen on
BEST = 10  # pages that smooth a query's topics


class Forward(Postings, Protocol):
    """What the classifier asks of an index (`Index` offers it)."""

    @property
    def ids(self) -> Iterable[str]:
        """The documents' ids, in the order of their numbers."""

    def terms(self, stream: str) -> int:
        """Distinct words of the stream."""

    def tokens(self, stream: str, numbers: Ints) -> tuple[Ints, NDArray[np.int32]]:
        """The words of some documents in order, as numbers: offsets and words."""


@dataclass(frozen=True, eq=False)
class Topics:
    """The topics of all pages, and what it takes to find those of a query.

    >>> Topics.none(3)
    Topics(3 pages; all)
    """

    categories: tuple[str, ...]
    pages: Floats  # [n, k], rows sum to 1
    known: Numbers  # [n] the category given with the collection, −1 where none is
    totals: Floats  # [k] words of the known pages
    vocabulary: int = 1
    stream: str = "whole"

    @classmethod
    def none(cls, pages: int) -> Topics:
        """One category for all."""
        return cls(("all",), np.ones((pages, 1)), np.full(pages, -1, np.int32), np.ones(1))

    @property
    def proxy(self) -> bool:
        """Whether there are no topics, so that topical ranks only repeat the plain ones."""
        return len(self.categories) == 1

    def of_query(self, index: Postings, words: Sequence[str], best: Ints) -> Floats:
        """[k] the topics of a query: its words classified, smoothed with the topics of its `best` pages."""
        if self.proxy:
            return np.ones(1)
        votes = np.zeros(len(self.categories))
        for word in words:
            numbers, times = index.postings(self.stream, word)
            said = self.known[numbers]
            told = np.flatnonzero(said >= 0)
            counts = np.bincount(said[told], times[told], len(votes))
            if counts.any():  # a word that no known page has says nothing
                votes += np.log((counts + 1.0) / (self.totals + self.vocabulary))
        topics = softmax(votes)
        if len(best):
            topics = (len(words) * topics + self.pages[best[:BEST]].mean(axis=0)) / (len(words) + 1)
        return topics

    def __repr__(self) -> str:
        return f"Topics({len(self.pages):,} pages; {', '.join(self.categories)})"


def softmax(votes: Floats) -> Floats:
    """Distributions in proportion to e^votes, along the last axis."""
    powers = np.exp(votes - votes.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def learn_topics(
    given: Mapping[str, str], ids: Sequence[str], index: Forward | None = None, *, stream: str = "whole"
) -> Topics:
    """The topics of all pages from those `given` by document id; others are classified, which needs the index."""
    if not given:
        return Topics.none(len(ids))
    categories = tuple(sorted(set(given.values())))
    number = {name: i for i, name in enumerate(categories)}
    known = np.array([number[given[name]] if name in given else -1 for name in ids], np.int32)
    lost = len(given) - int(np.count_nonzero(known >= 0))
    if lost:
        raise DataError(f"{lost} of {len(given)} documents with a topic are not in the collection")
    pages = np.zeros((len(ids), len(categories)))
    labelled, others = np.flatnonzero(known >= 0), np.flatnonzero(known < 0)
    pages[labelled, known[labelled]] = 1.0
    if index is None:
        if len(others):
            raise DataError(
                f"{len(others)} of {len(ids)} documents have no topic, and to classify them takes the index"
            )
        return Topics(categories, pages, known, np.ones(len(categories)), 1, stream)
    counts = _count_words(index, stream, labelled, known, len(categories))
    totals, vocabulary = counts.sum(axis=0), index.terms(stream)
    if len(others) and len(categories) > 1:
        pages[others] = _classify(index, stream, others, np.log((counts + 1.0) / (totals + vocabulary)))
    elif len(others):
        pages[others] = 1.0
    return Topics(categories, pages, known, totals, vocabulary, stream)


def _count_words(index: Forward, stream: str, labelled: Ints, known: Numbers, categories: int) -> Floats:
    """[words + 1, k] occurrences of each word in each category; the last row is for words of no known page."""
    counts = np.zeros((1, categories))
    for first in range(0, len(labelled), CHUNK):
        numbers = labelled[first : first + CHUNK]
        offsets, words = index.tokens(stream, numbers)
        if not len(words):
            continue
        size = max(len(counts) - 1, int(words.max()) + 1)
        grown = np.zeros((size + 1, categories))
        grown[: len(counts) - 1] = counts[:-1]
        cell = words.astype(np.int64) * categories + np.repeat(known[numbers], np.diff(offsets))
        grown += np.bincount(cell, minlength=grown.size).reshape(grown.shape)
        counts = grown
    return counts


def _classify(index: Forward, stream: str, numbers: Ints, logs: Floats) -> Floats:
    """The topics of pages by naive Bayes."""
    votes = np.empty((len(numbers), logs.shape[1]))
    for first in range(0, len(numbers), CHUNK):
        some = numbers[first : first + CHUNK]
        offsets, words = index.tokens(stream, some)
        columns = np.minimum(words, len(logs) - 1).astype(np.int32)
        votes[first : first + len(some)] = link_sums(offsets, columns, logs)
    sample = votes[:: max(1, len(votes) // SAMPLE)]
    return softmax(votes / _temperature(sample))


def _temperature(votes: Floats) -> float:
    """The temperature at which the mean entropy is min(1, ½ ln K) nats."""
    wanted = min(1.0, 0.5 * float(np.log(votes.shape[1])))
    low, high = 1e-3, 1e9
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        shares = softmax(votes / middle)
        entropy = -float(np.mean(np.sum(shares * np.log(np.maximum(shares, 1e-300)), axis=1)))
        low, high = (low, middle) if entropy > wanted else (middle, high)
    return float(np.sqrt(low * high))


def topical_pagerank(
    graph: Graph,
    pagerank: Floats,
    topics: Floats,
    *,
    alpha: float = 0.5,
    damping: float = DAMPING,
    tolerance: float = 1e-12,
    rounds: int = 1000,
) -> Rank:
    """Topical PageRank (Nie, Davison, Qi 2006): PageRank split by the topic the surfer is in; [n, k].

    A(u_i) = d·Σ_{v→u} (α·A(v_i) + (1−α)·C(u_i)·A(v))/|Out(v)| + ((1−d) + d·D)/N·C(u_i), with A(v) = Σ_i A(v_i) and D
    the mass on pages without links. Where the surfer changes the topic he takes one of the page he comes to (our
    reading). A(v) is PageRank, from which the iteration starts, so that topics sum to it.
    """
    if not 0 <= alpha <= 1:
        raise DataError(f"the share of surfers who keep their topic is from 0 to 1, not {alpha}")
    if not graph.pages:
        return Rank(np.zeros_like(topics), 0, 0.0)
    pull = Pull(graph)
    lost = float(pagerank[graph.outdegree == 0].sum())
    entering = damping * (1 - alpha) * pull.sums(pagerank) + (1 - damping + damping * lost) / graph.pages
    ranks, residual = topics * pagerank[:, None], np.inf
    new = np.empty_like(ranks)
    parts = [slice(first, first + CHUNK) for first in range(0, graph.pages, CHUNK)]
    for done in range(1, rounds + 1):
        pull.sums(ranks, new)
        new *= damping * alpha
        for some in parts:
            new[some] += topics[some] * entering[some, None]
        ranks, new = new, ranks
        new -= ranks
        residual = float(np.abs(new, out=new).sum())
        if residual <= tolerance:
            return Rank(ranks, done, residual)
    raise restless("topical PageRank", rounds, residual, tolerance)


@dataclass(frozen=True, eq=False)
class TopicalHits:
    """Authorities and hubs in one topic; their sums over all topics are those of HITS."""

    authority: Floats
    hub: Floats
    rounds: int
    residual: float


def topical_hits(
    plain: Hits, topics: Floats, *, alpha: float = 0.5, tolerance: float = 1e-10, rounds: int = 1000
) -> TopicalHits:
    """Topical HITS (Nie, Davison, Qi 2006) of the graph of `plain`, without division by degrees.

    A(u_i) = Σ_{v→u} (α·H(v_i) + (1−α)·C(u_i)·H(v)) and H(u_i) = Σ_{u→v} (α·A(v_i) + (1−α)·C(u_i)·A(v)), scaled so that
    A(u) = Σ_i A(u_i) and H(u) have length 1. Summed over topics this is HITS, so that `plain` gives A(u) and H(u), and
    what is left is linear in C: each topic is on its own, and `topics` [n] is C(u_i) of one of them. For the values of
    one query it is Σ_i C(q_i)·C(u_i).
    """
    authority, hub = topics * plain.authority, topics * plain.hub
    done, residual = plain.links.topical(plain.authority, alpha, authority, hub, tolerance, rounds)
    if residual > tolerance:
        raise restless("topical HITS", rounds, residual, tolerance)
    return TopicalHits(authority, hub, done, residual)
