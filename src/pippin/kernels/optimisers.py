"""Run the inner loops of RankBoost, FRank, coordinate ascent and SVM-MAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads, threads_for
from pippin.kernels.measures import NativeObjective

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

_NONE = np.empty(0, np.float64)


@dataclass(frozen=True, eq=False)
class Levels:
    """Rows in blocks of one label, per query from the highest label down; `weights` is a pair's first weight."""

    cuts: I64  # starts of the blocks, and the number of rows
    queries: I64  # the first block of each query, and the number of blocks
    weights: F64  # by query

    @property
    def rows(self) -> int:
        """The number of documents."""
        return int(self.cuts[-1])


class Stump(NamedTuple):
    """A column and the threshold that its codes must exceed; column -1 if no stump separates any pair."""

    column: int
    threshold: int
    gain: float
    plus: float = 0.0
    minus: float = 0.0


class Potential(NamedTuple):
    """RankBoost's distribution over pairs as two numbers per row: D(i, j) = weight * down[i] * up[j] / total."""

    potential: F64
    up: F64
    down: F64
    total: float
    shift: float  # the sum of all weights is total * exp(shift)


def boost_potential(levels: Levels, scores: F64) -> Potential:
    """Sum D(i, j) - D(j, i) over j for each row i, with D proportional to weight * exp(score j - score i)."""
    potential, up, down = (np.empty(levels.rows, np.float64) for _ in range(3))
    total, shift = native.boost_potential(
        levels.cuts, levels.queries, levels.weights, scores, potential, up, down, threads()
    )
    return Potential(potential, up, down, total, shift)


def search_potential(codes: U8, counts: I32, potential: F64, positive_only: bool) -> Stump:
    """Return the first stump with the largest |sum of potential over rows with code > threshold|."""
    return Stump(*native.search_potential(codes, counts, potential, positive_only, threads()))


def order_codes(levels: Levels, codes: U8, counts: I32) -> I32:
    """Return the rows of each query by descending code, per column."""
    order = np.empty(codes.shape, np.int32)
    native.order_codes(levels.cuts, levels.queries, levels.weights, codes, counts, order, threads())
    return order


def search_exact(levels: Levels, codes: U8, counts: I32, order: I32, mass: Potential, positive_only: bool) -> Stump:
    """Return the first stump with the least W0 + 2 sqrt(W+ W-), and its W+ and W-."""
    best = native.search_exact(
        levels.cuts, levels.queries, levels.weights, codes, counts, order, mass.up, mass.down, mass.total,
        positive_only, threads(),
    )  # fmt: skip
    return Stump(*best)


def fidelity(levels: Levels, scores: F64) -> tuple[float, F64]:
    """Return FRank's loss, and for each row the weight of pairs it should win minus that of pairs it should lose."""
    potential = np.empty(levels.rows, np.float64)
    loss = native.fidelity(levels.cuts, levels.queries, levels.weights, scores, potential, threads())
    return loss, potential


def fidelity_loss(levels: Levels, scores: F64) -> float:
    """Return FRank's loss without the potentials."""
    loss: float = native.fidelity(levels.cuts, levels.queries, levels.weights, scores, _NONE, threads())
    return loss


def fidelity_split(levels: Levels, scores: F64, h: U8, step: float = 0.0) -> tuple[float, float, float]:
    """Return the weights of pairs that h orders correctly and wrongly at scores + step * h, and the curvature."""
    split: tuple[float, float, float] = native.fidelity_split(
        levels.cuts, levels.queries, levels.weights, scores, h, step, threads()
    )
    return split


def fidelity_search(levels: Levels, codes: U8, counts: I32, scores: F64) -> tuple[I64, F64]:
    """Return per column the threshold with the largest |sqrt W+ - sqrt W-|, and that difference."""
    thresholds, gains = np.empty(len(counts), np.int64), np.empty(len(counts), np.float64)
    native.fidelity_search(
        levels.cuts, levels.queries, levels.weights, codes, counts, scores, thresholds, gains, threads()
    )
    return thresholds, gains


def weighted_sums(table: F64, weights: F64) -> F64:
    """Return the product of `table` and `weights`, each row summed from left to right."""
    sums = np.empty(len(table), np.float64)
    native.weighted_sums(table, weights, sums, threads())
    return sums


def rescore(objective: NativeObjective, active: I64, columns: F64, weights: F64) -> tuple[F64, F64]:
    """Return scores [start, document] of weights [start, feature], and the measure's sum over active queries per start.

    `columns` is [feature, document].
    """
    scores, totals = np.empty((len(weights), columns.shape[1]), np.float64), np.empty(len(weights), np.float64)
    native.rescore(objective.handle, active, columns, weights, scores, totals, threads())
    return scores, totals


def ascend(
    objective: NativeObjective,
    active: I64,
    columns: F64,
    features: I32,
    weights: F64,
    scores: F64,
    *,
    steps: int,
    exact: bool,
    nonneg: bool,
) -> F64:
    """Search along features [start, k] in turn, updating weights and scores; return the measure's sum per start."""
    totals = np.empty(len(weights), np.float64)
    native.ascend(objective.handle, active, columns, features, weights, scores, totals, steps, exact, nonneg, threads())
    return totals


def most_violated(relevant: U8, offsets: I64, scores: F64) -> tuple[F64, F64]:
    """Return per query Δ = 1 − AP of the most violated ranking, and per document its weight in Ψ* − Ψ.

    The most violated ranking has the largest Δ − w·(Ψ* − Ψ). Every query has documents of both labels, 1 and 0.
    """
    losses, coefficients = np.empty(len(offsets) - 1), np.empty(len(scores))
    native.most_violated(relevant, offsets, scores, coefficients, losses, threads_for(len(scores)))
    return losses, coefficients


def frank_wolfe_pass(
    relevant: U8, offsets: I64, features: F64, order: I64, regularisation: float, weights: F64, blocks: F64, losses: F64
) -> None:
    """Do one Frank-Wolfe step per query in `order`; update `weights` (the sum of `blocks`), `blocks` and `losses`."""
    native.frank_wolfe_pass(relevant, offsets, features, order, regularisation, weights, blocks, losses)
