"""Define the measures of the C/W/L framework, as cwl-eval computes them.

A user model gives the probability C_r that a user who has seen rank r continues. The weight of a rank is
W_r = prod_{j<r} C_j / sum over all ranks, the probability to stop at it L_r = prod_{j<r} C_j (1 - C_r). The axis
`cwl_quantity` selects the value: gain per document (EU), total gain (ETU), cost per document and in total (EC, ETC),
depth (ED), or the residual of unjudged documents (ResEU, ResETU, ResED). Lists have `DEPTH` ranks; ranks beyond a list
have gain 0. A gain is at most 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Measure, MeasureDefinition, Values, register
from pippin.evaluation.ranking import Ranking
from pippin.kernels.measures import UNJUDGED
from pippin.records import FrozenRecord

DEPTH = 1000
_DEPTH_OF_AP = 100
_QUERY_BATCH = 512
_SOURCE = "Moffat et al. 2017; cwl-eval 1.0.12"
Matrix = NDArray[np.float64]
# (gains in rank order [q, DEPTH], measure, ranks from 1 on) → the probability to continue at each rank.
Continuation = Callable[[Matrix, Measure, Matrix], Matrix]


class UserModel(FrozenRecord):
    """The function of a measure with a user model."""

    continuation: Continuation
    depth: int = DEPTH

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """Return a value per query."""
        parts = [np.empty(0)]
        for first in range(0, len(ranking.query_ids), _QUERY_BATCH):
            queries = np.arange(first, min(first + _QUERY_BATCH, len(ranking.query_ids)))
            parts.append(self._values(ranking.select(queries), convention, measure))
        return np.concatenate(parts)

    def _values(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        gains, unknown = _gains(ranking, convention, self.depth)
        quantity = convention.cwl_quantity.removeprefix("Res")
        lowest = self._expectation(quantity, gains, measure)
        if quantity == convention.cwl_quantity:
            return lowest
        return self._expectation(quantity, np.where(unknown, 1.0, gains), measure) - lowest

    def _expectation(self, quantity: str, gains: Matrix, measure: Measure) -> Values:
        ranks = np.arange(1, self.depth + 1, dtype=np.float64)
        continues = self.continuation(gains, measure, ranks)
        reached = np.ones_like(gains)
        reached[:, 1:] = np.cumprod(continues[:, :-1], axis=1)
        total = reached.sum(axis=1)
        if quantity == "EU":
            return np.asarray((reached * gains).sum(axis=1) / total)
        if quantity == "EC":
            return np.asarray(reached.sum(axis=1) / total)
        if quantity == "ED":
            return np.asarray(total)
        stops = reached * (1 - continues)
        return np.asarray((stops * (np.cumsum(gains, axis=1) if quantity == "ETU" else ranks)).sum(axis=1))


def _gains(ranking: Ranking, convention: Convention, depth: int) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return gains in rank order, and flags of ranks that are unjudged or beyond the list."""
    table = np.minimum(convention.gains(ranking.largest_label, ranking.max_label), 1.0)
    sizes = ranking.sizes()
    gains, unknown = np.zeros((len(sizes), depth)), np.ones((len(sizes), depth), np.bool_)
    query = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(len(query)) - np.repeat(ranking.offsets[:-1], sizes)
    within = position < depth
    gains[query[within], position[within]] = table[np.maximum(ranking.labels[within], 0)]
    unknown[query[within], position[within]] = ranking.labels[within] == UNJUDGED
    return gains, unknown


def _to(measure: Measure, ranks: Matrix) -> Matrix:
    """Return 1 above the cutoff and 0 from it on."""
    return (ranks < (measure.cutoff or len(ranks))).astype(np.float64)


def _precision(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return np.broadcast_to(_to(measure, ranks), gains.shape)


def _rbp(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    p = measure.parameter("p")
    if not 0 <= p < 1:
        raise ConventionError(f"{measure}: p is the probability to continue, from 0 to less than 1")
    return np.full(gains.shape, p)


def _scaled_dcg(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return np.broadcast_to(np.log2(ranks + 1) / np.log2(ranks + 2) * _to(measure, ranks), gains.shape)


def _first(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    return np.asarray((np.cumsum(gains, axis=1) == 0).astype(np.float64))


def _average_precision(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    below = np.cumsum((gains / ranks)[:, ::-1], axis=1)[:, ::-1]  # from each rank on
    after = np.concatenate((below[:, 1:], np.zeros((len(gains), 1))), axis=1)
    return np.asarray(np.divide(after, below, out=np.zeros_like(below), where=below > 0))


def _insq(gains: Matrix, measure: Measure, ranks: Matrix) -> Matrix:
    target = 2 * measure.parameter("T")
    return np.broadcast_to(((ranks + target - 1) / (ranks + target)) ** 2, gains.shape)


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


_AXES = ("gain", "gain_threshold", "cwl_quantity")
for _name, _meaning, _formula, _continuation, _cutoff, _parameters in (
    ("INST", "a user who looks for T units of gain, less as gain is found",
     "C = ((r + 2T - 1 - G_r) / (r + 2T - G_r))^2",
     _inst, "never", {"T": 1.0}),
    ("INSQ", "a user who looks for T units of gain", "C = ((r + 2T - 1) / (r + 2T))^2", _insq, "never", {"T": 1.0}),
    ("BPM", "a user who stops at T units of gain or at rank k", "C = 1 while G_r < T and r < k", _bpm, "optional",
     {"T": 1.0}),
    ("NERR8", "a user who stops at a document by its gain, or at rank k", "C = 1 - g_r for r < k", _nerr8, "optional",
     {}),
    ("NERR9", "as NERR8, continuing less with the rank", "C = (1 - g_r) r / (r + 1) for r < k", _nerr9, "optional", {}),
    ("NERR10", "as NERR8, continuing with probability phi", "C = (1 - g_r) phi", _nerr10, "never", {"phi": 0.9}),
    ("NERR11", "as NERR8, continuing as INSQ's user", "C = (1 - g_r) ((r + 2T - 1) / (r + 2T))^2", _nerr11, "never",
     {"T": 1.0}),
    ("sDCG", "DCG over that of k documents of gain 1", "C = log2(r + 1) / log2(r + 2) for r < k", _scaled_dcg,
     "optional", {}),
    ("CWL_P", "precision as a user model: k documents", "C = 1 for r < k", _precision, "optional", {}),
    ("CWL_RBP", "rank-biased precision as a user model", "C = p", _rbp, "never", {"p": 0.8}),
    ("CWL_RR", "reciprocal rank as a user model: stop at the first gain", "C = 1 while G_r = 0", _first, "never", {}),
    ("CWL_AP", "average precision as a user model, over the retrieved gain", "C = sum_{j>r} g_j/j / sum_{j>=r} g_j/j",
     _average_precision, "never", {}),
):  # fmt: skip
    register(MeasureDefinition(
        _name, _meaning, _formula, _SOURCE, UserModel(_continuation, _DEPTH_OF_AP if _name == "CWL_AP" else DEPTH),
        _AXES, cutoff=_cutoff, parameters=_parameters, supports_expected_ties=False, better="",
    ))  # fmt: skip
