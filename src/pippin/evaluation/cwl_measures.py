"""Measures of users who go on or stop: the C/W/L framework, as cwl-eval computes it.

A model says with which chance C_r a user who has seen rank r goes on. From it come the share of attention that each
rank gets, W_r = prod_{j<r} C_j / sum over all ranks, and the chance to stop at it, L_r = prod_{j<r} C_j (1 - C_r). The
axis `expectation` says what is expected: the gain of a document seen (EU), all gain (ETU), cost in the same two ways
(EC, ETC), the depth (ED), or what documents without a judgement could add to gain and depth (ResEU, ResETU, ResED).
Lists are as long as `DEPTH`; ranks beyond a list gain nothing. A gain is at most 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Kind, Measure, Values, register
from pippin.evaluation.ranking import UNJUDGED, Ranking
from pippin.frozen import Frozen

DEPTH = 1000
_DEPTH_OF_AP = 100
_AT_ONCE = 512  # queries whose ranks are held at a time
_SOURCE = "Moffat et al. 2017; cwl-eval 1.0.12"
Matrix = NDArray[np.float64]
# From gains in rank order [q, DEPTH], a measure, and ranks from 1 on: the chance to go on at each rank.
Continuation = Callable[[Matrix, Measure, Matrix], Matrix]


class UserModel(Frozen):
    """The function of a kind whose user goes on as `goes_on` says."""

    goes_on: Continuation
    depth: int = DEPTH

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """A value per query."""
        parts = [np.empty(0)]
        for first in range(0, len(ranking.query_ids), _AT_ONCE):
            queries = np.arange(first, min(first + _AT_ONCE, len(ranking.query_ids)))
            parts.append(self._values(ranking.select(queries), convention, measure))
        return np.concatenate(parts)

    def _values(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        gains, unknown = _gains(ranking, convention, self.depth)
        what = convention.expectation
        if not what.startswith("Res"):
            return self._expected(what, gains, measure)
        return self._expected(what[3:], np.where(unknown, 1.0, gains), measure) - self._expected(
            what[3:], gains, measure
        )

    def _expected(self, what: str, gains: Matrix, measure: Measure) -> Values:
        ranks = np.arange(1, self.depth + 1, dtype=np.float64)
        goes_on = self.goes_on(gains, measure, ranks)
        reached = np.ones_like(gains)
        reached[:, 1:] = np.cumprod(goes_on[:, :-1], axis=1)
        total = reached.sum(axis=1)
        if what == "EU":
            return np.asarray((reached * gains).sum(axis=1) / total)
        if what == "EC":
            return np.asarray(reached.sum(axis=1) / total)
        if what == "ED":
            return np.asarray(total)
        stops = reached * (1 - goes_on)
        return np.asarray((stops * (np.cumsum(gains, axis=1) if what == "ETU" else ranks)).sum(axis=1))


def _gains(ranking: Ranking, convention: Convention, depth: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """Gains in rank order, and where nobody judged what stands there, or nothing does."""
    table = np.minimum(convention.gains(ranking.largest_label, ranking.top), 1.0)
    sizes = ranking.sizes()
    gains, unknown = np.zeros((len(sizes), depth)), np.ones((len(sizes), depth), np.bool_)
    query = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(len(query)) - np.repeat(ranking.offsets[:-1], sizes)
    kept = position < depth
    gains[query[kept], position[kept]] = table[np.maximum(ranking.labels[kept], 0)]
    unknown[query[kept], position[kept]] = ranking.labels[kept] == UNJUDGED
    return gains, unknown


def _to(measure: Measure, ranks: Matrix) -> Matrix:
    """1 before the cutoff, 0 from it on."""
    return (ranks < (measure.cutoff or len(ranks))).astype(np.float64)


def _precision(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return np.broadcast_to(_to(measure, ranks), gains.shape)


def _rbp(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    p = measure.parameter("p")
    if not 0 <= p < 1:
        raise ConventionError(f"{measure}: p is the probability to go on, from 0 to less than 1")
    return np.full(gains.shape, p)


def _scaled_dcg(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return np.broadcast_to(np.log2(ranks + 1) / np.log2(ranks + 2) * _to(measure, ranks), gains.shape)


def _first(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return np.asarray((np.cumsum(gains, axis=1) == 0).astype(np.float64))


def _average_precision(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    below = np.cumsum((gains / ranks)[:, ::-1], axis=1)[:, ::-1]  # from a rank down
    after = np.concatenate((below[:, 1:], np.zeros((len(gains), 1))), axis=1)
    return np.asarray(np.divide(after, below, out=np.zeros_like(below), where=below > 0))


def _insq(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    wanted = 2 * measure.parameter("T")
    return np.broadcast_to(((ranks + wanted - 1) / (ranks + wanted)) ** 2, gains.shape)


def _inst(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    left = ranks + 2 * measure.parameter("T") - np.cumsum(gains, axis=1)
    return np.asarray(((left - 1) / left) ** 2)


def _bpm(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return (np.cumsum(gains, axis=1) < measure.parameter("T")) * _to(measure, ranks)


def _nerr8(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return (1 - gains) * _to(measure, ranks)


def _nerr9(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return (1 - gains) * (ranks / (ranks + 1)) * _to(measure, ranks)


def _nerr10(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return (1 - gains) * measure.parameter("phi")


def _nerr11(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return (1 - gains) * _insq(gains, measure, ranks)


_AXES = ("gain", "gain_at", "expectation")
for _name, _meaning, _formula, _goes_on, _cutoff, _parameters in (
    ("INST", "a user who looks for T units of gain, and less as they are found",
     "C = ((r + 2T - 1 - G_r) / (r + 2T - G_r))^2",
     _inst, "never", {"T": 1.0}),
    ("INSQ", "a user who looks for T units of gain", "C = ((r + 2T - 1) / (r + 2T))^2", _insq, "never", {"T": 1.0}),
    ("BPM", "a user who stops at T units of gain or at rank k", "C = 1 while G_r < T and r < k", _bpm, "optional",
     {"T": 1.0}),
    ("NERR8", "a user who stops at a document by its gain, or at rank k", "C = 1 - g_r for r < k", _nerr8, "optional",
     {}),
    ("NERR9", "the same, who also tires", "C = (1 - g_r) r / (r + 1) for r < k", _nerr9, "optional", {}),
    ("NERR10", "the same, who goes on with probability phi", "C = (1 - g_r) phi", _nerr10, "never", {"phi": 0.9}),
    ("NERR11", "the same, who goes on as INSQ's user", "C = (1 - g_r) ((r + 2T - 1) / (r + 2T))^2", _nerr11, "never",
     {"T": 1.0}),
    ("sDCG", "DCG over that of k documents of gain 1", "C = log2(r + 1) / log2(r + 2) for r < k", _scaled_dcg,
     "optional", {}),
    ("CWL_P", "precision as a user who sees k documents", "C = 1 for r < k", _precision, "optional", {}),
    ("CWL_RBP", "rank-biased precision as a user", "C = p", _rbp, "never", {"p": 0.8}),
    ("CWL_RR", "reciprocal rank as a user who stops at the first gain", "C = 1 while G_r = 0", _first, "never", {}),
    ("CWL_AP", "average precision as a user, over the gain that was found", "C = sum_{j>r} g_j/j / sum_{j>=r} g_j/j",
     _average_precision, "never", {}),
):  # fmt: skip
    register(Kind(
        _name, _meaning, _formula, _SOURCE, UserModel(_goes_on, _DEPTH_OF_AP if _name == "CWL_AP" else DEPTH), _AXES,
        cutoff=_cutoff, parameters=_parameters, expected=False, better="",
    ))  # fmt: skip
