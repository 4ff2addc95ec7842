"""Rankings whose documents do not say the same twice: MMR by similarity, xQuAD where subtopics are known.

Both take documents one by one, the next being the one worth most beside those that were taken; a score afterwards is
minus the rank, so that any measure can judge it (α-nDCG, ERR-IA, NRBP and subtopic recall are made for it).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError

F64 = NDArray[np.float64]


def mmr(scores: F64, similarity: F64, trade: float = 0.7, depth: int | None = None) -> F64:
    """Maximal marginal relevance of one query's documents: trade · relevance − (1 − trade) · greatest similarity.

    Relevance is the score, brought to [0, 1] within the query; similarity [n, n] is between documents, from 0 to 1.
    Beyond `depth` documents stand in the order of their scores. Carbonell & Goldstein 1998.

    >>> alike = np.array([[1, 0.9, 0.0], [0.9, 1, 0.0], [0.0, 0.0, 1]])
    >>> mmr(np.array([3.0, 2.9, 2.0]), alike, 0.5).tolist()
    [0.0, -2.0, -1.0]
    """
    if similarity.shape != (len(scores), len(scores)):
        raise DataError(f"the similarity of {len(scores)} documents is a table of {len(scores)} by {len(scores)}")
    relevance, closest = to_unit(scores), np.zeros(len(scores))

    def worth(taken: int | None) -> F64:
        if taken is not None:
            np.maximum(closest, similarity[taken], out=closest)
        gain: F64 = trade * relevance - (1 - trade) * closest
        return gain

    return one_by_one(scores, worth, trade, depth)


def xquad(scores: F64, coverage: F64, trade: float = 0.5, weights: F64 | None = None, depth: int | None = None) -> F64:
    """xQuAD of one query's documents: (1 − trade) · P(d|q) + trade · Σ_s w_s P(d|s) Π_taken (1 − P(taken|s)).

    P(d|q) is the score's share of all, brought to [0, 1] first; coverage [n, s] is P(d|s), from 0 to 1; subtopics weigh
    the same unless weights are given. Santos, Macdonald & Ounis 2010.

    >>> covers = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> xquad(np.array([3.0, 2.9, 2.0]), covers, 0.9).tolist()
    [0.0, -2.0, -1.0]
    """
    if coverage.ndim != 2 or len(coverage) != len(scores) or not ((coverage >= 0) & (coverage <= 1)).all():
        raise DataError(f"coverage is a table of {len(scores)} documents by subtopics, of chances")
    count = coverage.shape[1]
    shares = np.full(count, 1 / max(1, count)) if weights is None else np.asarray(weights, np.float64)
    if shares.shape != (count,):
        raise DataError(f"{count} subtopics have as many weights")
    relevance, left = to_unit(scores), np.ones(count)
    relevance = relevance / max(float(relevance.sum()), 1e-12)

    def worth(taken: int | None) -> F64:
        if taken is not None:
            np.multiply(left, 1 - coverage[taken], out=left)
        gain: F64 = (1 - trade) * relevance + trade * (coverage @ (shares * left))
        return gain

    return one_by_one(scores, worth, trade, depth)


def one_by_one(scores: F64, worth: Callable[[int | None], F64], trade: float, depth: int | None) -> F64:
    """Minus the rank of each document, taken one by one: the one worth most, the higher score of two alike."""
    if not 0 <= trade <= 1 or not np.isfinite(scores).all():
        raise DataError("a trade-off is a number from 0 to 1, and scores are finite")
    ranks, order = np.zeros(len(scores)), np.argsort(-scores, kind="stable")
    free, taken = np.ones(len(scores), np.bool_), None
    for rank in range(len(scores) if depth is None else min(depth, len(scores))):
        gain = worth(taken)[order]
        gain[~free[order]] = -np.inf
        taken = int(order[gain.argmax()])
        free[taken], ranks[taken] = False, 0.0 - rank
    rest = order[free[order]]
    ranks[rest] = 0.0 - np.arange(len(scores) - len(rest), len(scores))
    return ranks


def to_unit(scores: F64) -> F64:
    """Scores as parts of the way from the least to the greatest; 0 where all are alike."""
    if not len(scores):
        return scores
    span = float(scores.max() - scores.min())
    placed: F64 = (scores - scores.min()) / span if span > 0 else np.zeros(len(scores))
    return placed
