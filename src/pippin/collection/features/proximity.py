"""How close together the words of the query stand in the document, which LETOR's own features do not say.

Positions come from the index; meta-information does not hold them. All work is on the entries (one per occurrence of
a query word, by document and position), never document by document.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pippin.collection.candidates import Candidates, Floats, Ints, Positions, StreamCounts
from pippin.collection.features.base import feature
from pippin.collection.features.idf import idf_of_words
from pippin.errors import ConventionError

_TAO = "Tao, Zhai 2007"
_METZLER = "Metzler, Croft 2005"
_TWO = "where the stream holds fewer than two different words of the query"


def _positions(stream: StreamCounts) -> Positions:
    if stream.positions is None:
        raise ConventionError("features of proximity need the positions of words, which only an index knows")
    return stream.positions()


def _owners(found: Positions) -> Ints:
    """The candidate of each entry."""
    return np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets))


def _smallest(values: Floats | Ints, owners: Ints, candidates: int) -> Floats:
    """The least value of each candidate; NaN where it has none. Owners ascend."""
    out = np.full(candidates, np.nan)
    if len(values):
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        out[owners[starts]] = np.minimum.reduceat(values, starts)
    return out


def _closest(position: Ints, word: Ints, owners: Ints, candidates: int) -> Floats:
    """The least distance of two different words: it is always between neighbours among the entries."""
    near = (owners[1:] == owners[:-1]) & (word[1:] != word[:-1])
    return _smallest((position[1:] - position[:-1])[near], owners[1:][near], candidates)


@feature("min_distance", kind="Q-D", formula="min over w ≠ v of |pos(w) − pos(v)|", source=_TAO, null=_TWO)
def min_distance(candidates: Candidates, stream: StreamCounts) -> Floats:
    """The least distance between two different words of the query."""
    found = _positions(stream)
    return _closest(found.position, found.word, _owners(found), len(candidates))


@feature("mean_distance", kind="Q-D", formula="mean over pairs {w, v} of min |pos(w) − pos(v)|", source=_TAO, null=_TWO)
def mean_distance(candidates: Candidates, stream: StreamCounts) -> Floats:
    """The least distance of each pair of words that both occur, on average over pairs."""
    found = _positions(stream)
    owners = _owners(found)
    sums, pairs = np.zeros(len(candidates)), np.zeros(len(candidates))
    for first, second in combinations(range(len(candidates.distinct)), 2):
        kept = (found.word == first) | (found.word == second)
        least = _closest(found.position[kept], found.word[kept], owners[kept], len(candidates))
        there = ~np.isnan(least)
        sums[there] += least[there]
        pairs += there
    out: Floats = np.divide(sums, pairs, out=np.full(len(candidates), np.nan), where=pairs > 0)
    return out


@feature(
    "smallest_window", kind="Q-D", formula="min length of a stretch with every w ∈ q ∩ d", source=_TAO,
    null="where the stream holds no word of the query",
)  # fmt: skip
def smallest_window(candidates: Candidates, stream: StreamCounts) -> Floats:
    """The fewest words in a row that hold all words of the query that occur."""
    found = _positions(stream)
    owners = _owners(found)
    entries = np.arange(len(owners))
    begin = found.position.copy()  # of the shortest stretch that ends at each entry
    complete = np.ones(len(owners), np.bool_)
    for word in range(len(candidates.distinct)):
        here = found.word == word
        last = np.maximum.accumulate(np.where(here, entries, -1))
        seen = last >= found.offsets[owners]
        complete &= seen | ~_occurs(here, owners, len(candidates))
        begin[seen] = np.minimum(begin[seen], found.position[last[seen]])
    return _smallest((found.position - begin + 1)[complete], owners[complete], len(candidates))


def _occurs(here: NDArray[np.bool_], owners: Ints, candidates: int) -> NDArray[np.bool_]:
    """Whether the word occurs anywhere in the candidate of each entry."""
    anywhere = np.zeros(candidates, np.bool_)
    anywhere[owners[here]] = True
    return anywhere[owners]


def _query_bigrams(candidates: Candidates) -> NDArray[np.bool_]:
    """[u, u] whether one distinct word follows the other in the query."""
    row = {candidates.words[first]: i for i, first in enumerate(candidates.distinct)}
    follows = np.zeros((len(row), len(row)), np.bool_)
    for first, second in zip(candidates.words, candidates.words[1:], strict=False):
        follows[row[first], row[second]] = True
    return follows


@feature("ordered_bigrams", kind="Q-D", formula="Σ c(wᵢ wᵢ₊₁, d), next to each other in order", source=_METZLER)
def ordered_bigrams(candidates: Candidates, stream: StreamCounts) -> Floats:
    """How often two words that follow each other in the query do so in the stream."""
    found = _positions(stream)
    owners = _owners(found)
    after = _query_bigrams(candidates)[found.word[:-1], found.word[1:]]
    hit = after & (owners[1:] == owners[:-1]) & (np.diff(found.position) == 1)
    return np.bincount(owners[1:][hit], minlength=len(candidates)).astype(np.float64)


@feature(
    "unordered_bigrams", kind="Q-D", formula="Σ pairs of wᵢ and wᵢ₊₁ within `window` words, in any order",
    source=_METZLER, limits={"window": "[2, 1000]"},
)  # fmt: skip
def unordered_bigrams(candidates: Candidates, stream: StreamCounts, *, window: int = 8) -> Floats:
    """How often two words that follow each other in the query stand near each other in the stream."""
    found = _positions(stream)
    owners = _owners(found)
    follows = _query_bigrams(candidates)
    either = follows | follows.T
    counts = np.zeros(len(candidates))
    # Entries that are `window` or more apart in the list are at least as far apart in the document.
    for lag in range(1, min(window, len(owners))):
        near = (owners[lag:] == owners[:-lag]) & (found.position[lag:] - found.position[:-lag] < window)
        hit = near & either[found.word[:-lag], found.word[lag:]]
        counts += np.bincount(owners[lag:][hit], minlength=len(candidates))
    return counts


@feature(
    "first_position", kind="Q-D", formula="min over w ∈ q of pos(w), from 0", source="Troy, Zhang 2007",
    null="where the stream holds no word of the query",
)  # fmt: skip
def first_position(candidates: Candidates, stream: StreamCounts) -> Floats:
    """How many words stand before the first word of the query."""
    found = _positions(stream)
    return _smallest(found.position, _owners(found), len(candidates))


@feature(
    "bm25_proximity", kind="Q-D",
    formula="Σ min(1, idf(w))·a(w)(k1+1)/(a(w) + k1(1−b + b·|d|/avgdl)), a(w) = Σ idf(v)/distance² of neighbours v",
    source="Büttcher, Clarke, Lushman 2006", limits={"b": "[0, 1]"},
)  # fmt: skip
def bm25_proximity(candidates: Candidates, stream: StreamCounts, *, k1: float = 1.2, b: float = 0.5) -> Floats:
    """BM25 of how near to others each word of the query stands; neighbours are next to each other among its words."""
    found = _positions(stream)
    owners = _owners(found)
    idf = idf_of_words(stream, "plain")[candidates.distinct]
    gathered = np.zeros((len(idf), len(candidates)))
    left, right = found.word[:-1], found.word[1:]
    near = (owners[1:] == owners[:-1]) & (left != right)
    left, right, owner = left[near], right[near], owners[1:][near]
    squares = ((found.position[1:] - found.position[:-1])[near] ** 2).astype(np.float64)
    np.add.at(gathered, (left, owner), idf[right] / squares)
    np.add.at(gathered, (right, owner), idf[left] / squares)
    damping = k1 * (1 - b + b * stream.length / max(stream.average, 1e-12))
    sums = gathered + damping
    held = np.divide(gathered * (k1 + 1), sums, out=np.zeros_like(gathered), where=sums > 0)
    weighed: Floats = np.minimum(1.0, idf) @ held
    return weighed
