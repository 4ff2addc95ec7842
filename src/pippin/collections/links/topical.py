"""Topical PageRank and topical HITS over the categories of a collection.

A page's topics are a distribution over the categories: certain if the collection has its category, else from naive
Bayes learned on those pages (Nie, Davison, Qi 2006 use a text classifier and twelve categories; any number works). A
collection without topics has one category, with which the topical ranks equal the plain ones.

Our choices: equal prior probabilities; counts smoothed by 1; the log-likelihoods of pages divided by one temperature
that makes their mean entropy min(1, ½ ln K) nats, because long pages would otherwise always be certain; a query's
topics are the classifier's on its words (weight 1 each) and the mean of its ten best pages (weight 1 together).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pippin.collections.index.statistics import Floats, IndexReader, Ints
from pippin.collections.links.graph import Graph, Numbers
from pippin.collections.links.link_analysis import DAMPING, Hits, Pull, Rank, convergence_error
from pippin.errors import DataError
from pippin.kernels.graph import link_sums

CHUNK = 1 << 14  # pages classified at once
SAMPLE = 10_000  # pages, evenly spread, that the temperature is chosen on
BEST_PAGES = 10  # that smooth a query's topics


@dataclass(frozen=True, eq=False)
class TopicDistributions:
    """The topics of all pages, and the counts that classify queries.

    >>> TopicDistributions.none(3)
    Topics(3 pages; all)
    """

    categories: tuple[str, ...]
    pages: Floats  # [n, k], rows sum to 1
    known: Numbers  # [n] the category in the collection, −1 for none
    totals: Floats  # [k] words of the pages with a category
    vocabulary: int = 1
    field: str = "whole"

    @classmethod
    def none(cls, pages: int) -> TopicDistributions:
        """Return one category for all pages."""
        return cls(("all",), np.ones((pages, 1)), np.full(pages, -1, np.int32), np.ones(1))

    @property
    def proxy(self) -> bool:
        """Whether the collection lacks topics, so that topical ranks equal the plain ones."""
        return len(self.categories) == 1

    def of_query(self, index: IndexReader, words: Sequence[str], best: Ints) -> Floats:
        """Return the topics of a query, [k]: its words classified, smoothed with the topics of its `best` pages."""
        if self.proxy:
            return np.ones(1)
        votes = np.zeros(len(self.categories))
        for word in words:
            numbers, times = index.postings(self.field, word)
            categories = self.known[numbers]
            is_known = np.flatnonzero(categories >= 0)
            counts = np.bincount(categories[is_known], times[is_known], len(votes))
            if counts.any():  # words without counts do not discriminate
                votes += np.log((counts + 1.0) / (self.totals + self.vocabulary))
        topics = softmax(votes)
        if len(best):
            topics = (len(words) * topics + self.pages[best[:BEST_PAGES]].mean(axis=0)) / (len(words) + 1)
        return topics

    def __repr__(self) -> str:
        return f"Topics({len(self.pages):,} pages; {', '.join(self.categories)})"


def softmax(votes: Floats) -> Floats:
    """Return distributions proportional to e^votes, along the last axis."""
    powers = np.exp(votes - votes.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def learn_topics(
    topics: Mapping[str, str], ids: Sequence[str], index: IndexReader | None = None, *, field: str = "whole"
) -> TopicDistributions:
    """Return the topics of all pages; those that `topics` (by document id) lacks are classified with the index."""
    if not topics:
        return TopicDistributions.none(len(ids))
    categories = tuple(sorted(set(topics.values())))
    number = {name: i for i, name in enumerate(categories)}
    known = np.array([number[topics[name]] if name in topics else -1 for name in ids], np.int32)
    missing = len(topics) - int(np.count_nonzero(known >= 0))
    if missing:
        raise DataError(f"{missing} of {len(topics)} documents with a topic are not in the collection")
    pages = np.zeros((len(ids), len(categories)))
    labelled, unlabelled = np.flatnonzero(known >= 0), np.flatnonzero(known < 0)
    pages[labelled, known[labelled]] = 1.0
    if index is None:
        if len(unlabelled):
            raise DataError(f"{len(unlabelled)} of {len(ids)} documents have no topic; classifying them needs an index")
        return TopicDistributions(categories, pages, known, np.ones(len(categories)), 1, field)
    counts = _count_words(index, field, labelled, known, len(categories))
    totals, vocabulary = counts.sum(axis=0), index.vocabulary_size(field)
    if len(unlabelled) and len(categories) > 1:
        pages[unlabelled] = _classify(index, field, unlabelled, np.log((counts + 1.0) / (totals + vocabulary)))
    elif len(unlabelled):
        pages[unlabelled] = 1.0
    return TopicDistributions(categories, pages, known, totals, vocabulary, field)


def _count_words(index: IndexReader, field: str, labelled: Ints, categories_of: Numbers, categories: int) -> Floats:
    """Return the occurrences of each word in each category, [words + 1, k]; the last row is for unknown words."""
    counts = np.zeros((1, categories))
    for first in range(0, len(labelled), CHUNK):
        numbers = labelled[first : first + CHUNK]
        offsets, words = index.tokens(field, numbers)
        if not len(words):
            continue
        size = max(len(counts) - 1, int(words.max()) + 1)
        enlarged = np.zeros((size + 1, categories))
        enlarged[: len(counts) - 1] = counts[:-1]
        cell = words.astype(np.int64) * categories + np.repeat(categories_of[numbers], np.diff(offsets))
        enlarged += np.bincount(cell, minlength=enlarged.size).reshape(enlarged.shape)
        counts = enlarged
    return counts


def _classify(index: IndexReader, field: str, numbers: Ints, logs: Floats) -> Floats:
    """Return the topics of pages by naive Bayes."""
    votes = np.empty((len(numbers), logs.shape[1]))
    for first in range(0, len(numbers), CHUNK):
        chunk = numbers[first : first + CHUNK]
        offsets, words = index.tokens(field, chunk)
        columns = np.minimum(words, len(logs) - 1).astype(np.int32)
        votes[first : first + len(chunk)] = link_sums(offsets, columns, logs)
    sample = votes[:: max(1, len(votes) // SAMPLE)]
    return softmax(votes / _temperature(sample))


def _temperature(votes: Floats) -> float:
    """Return the temperature at which the mean entropy is min(1, ½ ln K) nats, by bisection."""
    target = min(1.0, 0.5 * float(np.log(votes.shape[1])))
    low, high = 1e-3, 1e9
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        shares = softmax(votes / middle)
        entropy = -float(np.mean(np.sum(shares * np.log(np.maximum(shares, 1e-300)), axis=1)))
        low, high = (low, middle) if entropy > target else (middle, high)
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
    """Compute topical PageRank (Nie, Davison, Qi 2006): PageRank split by the surfer's topic; [n, k].

    A(u_i) = d·Σ_{v→u} (α·A(v_i) + (1−α)·C(u_i)·A(v))/|Out(v)| + ((1−d) + d·D)/N·C(u_i), with A(v) = Σ_i A(v_i) and D
    the mass on pages without links. A surfer who changes the topic takes one of the next page (our reading). A(v) is
    PageRank, from which the iteration starts, so that topics sum to it.
    """
    if not 0 <= alpha <= 1:
        raise DataError(f"alpha must be between 0 and 1, got {alpha}")
    if not graph.pages:
        return Rank(np.zeros_like(topics), 0, 0.0)
    pull = Pull(graph)
    dangling_mass = float(pagerank[graph.outdegree == 0].sum())
    entering = damping * (1 - alpha) * pull.sums(pagerank) + (1 - damping + damping * dangling_mass) / graph.pages
    ranks, residual = topics * pagerank[:, None], np.inf
    new = np.empty_like(ranks)
    chunks = [slice(first, first + CHUNK) for first in range(0, graph.pages, CHUNK)]
    for done in range(1, rounds + 1):
        pull.sums(ranks, new)
        new *= damping * alpha
        for chunk in chunks:
            new[chunk] += topics[chunk] * entering[chunk, None]
        ranks, new = new, ranks
        new -= ranks
        residual = float(np.abs(new, out=new).sum())
        if residual <= tolerance:
            return Rank(ranks, done, residual)
    raise convergence_error("topical PageRank", rounds, residual, tolerance)


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
    """Compute topical HITS (Nie, Davison, Qi 2006) of the graph of `plain`, without division by degrees.

    A(u_i) = Σ_{v→u} (α·H(v_i) + (1−α)·C(u_i)·H(v)) and H(u_i) = Σ_{u→v} (α·A(v_i) + (1−α)·C(u_i)·A(v)), scaled so that
    A(u) = Σ_i A(u_i) and H(u) have length 1. Summed over topics this is HITS, so `plain` has A(u) and H(u); the
    remaining equations are linear in C and separate for each topic. `topics` [n] is C(u_i) of one topic, or
    Σ_i C(q_i)·C(u_i) for the values of one query.
    """
    authority, hub = topics * plain.authority, topics * plain.hub
    done, residual = plain.links.topical(plain.authority, alpha, authority, hub, tolerance, rounds)
    if residual > tolerance:
        raise convergence_error("topical HITS", rounds, residual, tolerance)
    return TopicalHits(authority, hub, done, residual)
