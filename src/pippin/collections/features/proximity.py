"""Features of the positions of query words: distances, windows, bigrams, proximity.

Positions come from the index; LETOR's meta-information does not have them. All functions work on the entries (one per
occurrence of a query word, by document and position) of all documents at once.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pippin.collections.features.base import feature
from pippin.collections.features.lexical import idf_of_words
from pippin.collections.index.statistics import Candidates, FieldStatistics, Floats, Ints, Positions
from pippin.errors import ConventionError

_TAO = "Tao, Zhai 2007"
_METZLER = "Metzler, Croft 2005"
_ONE_WORD = "where the field contains fewer than two different words of the query"
_NO_WORD = "where the field contains no word of the query"


def _positions(field: FieldStatistics) -> Positions:
    if field.positions is None:
        raise ConventionError("features of positions need an index; meta-information has no positions")
    return field.positions()


def _owners(positions: Positions) -> Ints:
    """Return the candidate of each entry."""
    return np.repeat(np.arange(len(positions.offsets) - 1), np.diff(positions.offsets))


def _smallest(values: Floats | Ints, owners: Ints, candidates: int) -> Floats:
    """Return the minimum of each candidate's values, NaN without any; `owners` are ascending."""
    out = np.full(candidates, np.nan)
    if len(values):
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        out[owners[starts]] = np.minimum.reduceat(values, starts)
    return out


def _closest(position: Ints, word: Ints, owners: Ints, candidates: int) -> Floats:
    """Return the minimum distance of two different words, which are always adjacent entries."""
    is_pair = (owners[1:] == owners[:-1]) & (word[1:] != word[:-1])
    return _smallest((position[1:] - position[:-1])[is_pair], owners[1:][is_pair], candidates)


@feature("min_distance", kind="Q-D", formula="min over w ≠ v of |pos(w) − pos(v)|", source=_TAO, missing_when=_ONE_WORD)
def min_distance(candidates: Candidates, field: FieldStatistics) -> Floats:
    """Compute the minimum distance between two different words of the query."""
    positions = _positions(field)
    return _closest(positions.position, positions.word, _owners(positions), len(candidates))


@feature(
    "mean_distance",
    kind="Q-D",
    formula="mean over pairs {w, v} of min |pos(w) − pos(v)|",
    source=_TAO,
    missing_when=_ONE_WORD,
)
def mean_distance(candidates: Candidates, field: FieldStatistics) -> Floats:
    """Compute the minimum distance of each pair of words that both occur, averaged over pairs."""
    positions = _positions(field)
    owners = _owners(positions)
    sums, pairs = np.zeros(len(candidates)), np.zeros(len(candidates))
    for first, second in combinations(range(len(candidates.distinct)), 2):
        is_pair = (positions.word == first) | (positions.word == second)
        least = _closest(positions.position[is_pair], positions.word[is_pair], owners[is_pair], len(candidates))
        is_known = ~np.isnan(least)
        sums[is_known] += least[is_known]
        pairs += is_known
    out: Floats = np.divide(sums, pairs, out=np.full(len(candidates), np.nan), where=pairs > 0)
    return out


@feature(
    "smallest_window", kind="Q-D", formula="min length of a window with every w ∈ q ∩ d", source=_TAO,
    missing_when=_NO_WORD,
)  # fmt: skip
def smallest_window(candidates: Candidates, field: FieldStatistics) -> Floats:
    """Compute the length of the shortest window that contains all words of the query that occur."""
    positions = _positions(field)
    owners = _owners(positions)
    entries = np.arange(len(owners))
    begin = positions.position.copy()  # of the shortest window that ends at each entry
    complete = np.ones(len(owners), np.bool_)
    for word in range(len(candidates.distinct)):
        is_word = positions.word == word
        last = np.maximum.accumulate(np.where(is_word, entries, -1))
        occurred = last >= positions.offsets[owners]
        complete &= occurred | ~_occurs(is_word, owners, len(candidates))
        begin[occurred] = np.minimum(begin[occurred], positions.position[last[occurred]])
    return _smallest((positions.position - begin + 1)[complete], owners[complete], len(candidates))


def _occurs(is_word: NDArray[np.bool_], owners: Ints, candidates: int) -> NDArray[np.bool_]:
    """Return whether the word occurs anywhere in the candidate of each entry."""
    occurs = np.zeros(candidates, np.bool_)
    occurs[owners[is_word]] = True
    return occurs[owners]


def _query_bigrams(candidates: Candidates) -> NDArray[np.bool_]:
    """Return whether one distinct word follows the other in the query, [u, u]."""
    row = {candidates.words[first]: i for i, first in enumerate(candidates.distinct)}
    follows = np.zeros((len(row), len(row)), np.bool_)
    for first, second in zip(candidates.words, candidates.words[1:], strict=False):
        follows[row[first], row[second]] = True
    return follows


@feature("ordered_bigrams", kind="Q-D", formula="Σ c(wᵢ wᵢ₊₁, d), next to each other in order", source=_METZLER)
def ordered_bigrams(candidates: Candidates, field: FieldStatistics) -> Floats:
    """Count adjacent words of the query that are adjacent in the field, in the same order."""
    positions = _positions(field)
    owners = _owners(positions)
    follows = _query_bigrams(candidates)[positions.word[:-1], positions.word[1:]]
    hit = follows & (owners[1:] == owners[:-1]) & (np.diff(positions.position) == 1)
    return np.bincount(owners[1:][hit], minlength=len(candidates)).astype(np.float64)


@feature(
    "unordered_bigrams", kind="Q-D", formula="Σ pairs of wᵢ and wᵢ₊₁ within `window` words, in any order",
    source=_METZLER, limits={"window": "[2, 1000]"},
)  # fmt: skip
def unordered_bigrams(candidates: Candidates, field: FieldStatistics, *, window: int = 8) -> Floats:
    """Count adjacent words of the query that occur within a window of the field."""
    positions = _positions(field)
    owners = _owners(positions)
    follows = _query_bigrams(candidates)
    either = follows | follows.T
    counts = np.zeros(len(candidates))
    # Entries that are `window` or more apart in the list are at least as far apart in the document.
    for lag in range(1, min(window, len(owners))):
        is_near = (owners[lag:] == owners[:-lag]) & (positions.position[lag:] - positions.position[:-lag] < window)
        hit = is_near & either[positions.word[:-lag], positions.word[lag:]]
        counts += np.bincount(owners[lag:][hit], minlength=len(candidates))
    return counts


@feature(
    "first_position", kind="Q-D", formula="min over w ∈ q of pos(w), from 0", source="Troy, Zhang 2007",
    missing_when=_NO_WORD,
)  # fmt: skip
def first_position(candidates: Candidates, field: FieldStatistics) -> Floats:
    """Return the position of the first word of the query."""
    positions = _positions(field)
    return _smallest(positions.position, _owners(positions), len(candidates))


@feature(
    "bm25_proximity", kind="Q-D",
    formula="Σ min(1, idf(w))·a(w)(k1+1)/(a(w) + k1(1−b + b·|d|/avgdl)), a(w) = Σ idf(v)/distance² of neighbours v",
    source="Büttcher, Clarke, Lushman 2006", limits={"b": "[0, 1]"},
)  # fmt: skip
def bm25_proximity(candidates: Candidates, field: FieldStatistics, *, k1: float = 1.2, b: float = 0.5) -> Floats:
    """Compute BM25 of accumulated proximities; neighbours are adjacent occurrences of query words."""
    positions = _positions(field)
    owners = _owners(positions)
    idf = idf_of_words(field, "plain")[candidates.distinct]
    accumulated = np.zeros((len(idf), len(candidates)))
    left, right = positions.word[:-1], positions.word[1:]
    is_pair = (owners[1:] == owners[:-1]) & (left != right)
    left, right, owner = left[is_pair], right[is_pair], owners[1:][is_pair]
    squares = ((positions.position[1:] - positions.position[:-1])[is_pair] ** 2).astype(np.float64)
    np.add.at(accumulated, (left, owner), idf[right] / squares)
    np.add.at(accumulated, (right, owner), idf[left] / squares)
    damping = k1 * (1 - b + b * field.length / max(field.average, 1e-12))
    sums = accumulated + damping
    gains = np.divide(accumulated * (k1 + 1), sums, out=np.zeros_like(accumulated), where=sums > 0)
    score: Floats = np.minimum(1.0, idf) @ gains
    return score
