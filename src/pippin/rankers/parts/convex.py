"""Minimising ½‖w‖² + C · loss(Xw) for a convex loss of scores: line search, and cutting planes where it has kinks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.rankers.parts.estimator import unfinished_warning
from pippin.rankers.parts.quadratic import maximise_capped
from pippin.rankers.parts.watch import Watch

F64 = NDArray[np.float64]
Loss = Callable[[F64], tuple[float, F64]]  # of scores: value, and derivative by each score


@dataclass(frozen=True)
class Solution:
    """The weights found, the objective there, a bound on what is missing to the optimum, and the rounds it took."""

    weights: F64
    objective: float
    gap: float
    rounds: int

    def missing(self, start: float) -> float:
        """The part of what could be gained over `start`, the objective at w = 0, that may still be missing."""
        if self.gap <= 1e-14 * start:  # rounding alone
            return 0.0
        return self.gap / (start - self.objective + self.gap)


def one_blas_thread() -> AbstractContextManager[object]:
    """Dense products on one thread, because more would add in another order and change the last digits."""
    limits: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    """The libraries of this process that have threads: NumPy's is among them since it was imported.

    To look for them reads the whole map of the process, which takes longer than to score a few documents.
    """
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def plain_watch(rounds: int, title: str, verbose: bool) -> Watch:
    """A watch without validation: the progress bar, and a stop by Ctrl-C that keeps what was reached."""
    return Watch(None, "", "", rounds, None, verbose=verbose, title=title)


def with_pairs(data: Dataset, relevant_at: int | None = None) -> Dataset:
    """The queries that have something to order: two labels, or (with relevant_at) relevant and other documents."""
    labels = data.labels if relevant_at is None else (data.labels >= relevant_at).astype(np.int32)
    starts, ends = data.offsets[:-1], data.offsets[1:]
    same = np.concatenate(([0], np.cumsum(labels[1:] == labels[:-1])))  # how often a label repeats the one before
    last = np.maximum(ends - 1, starts)
    mixed = np.zeros(data.queries, bool)
    some = ends > starts
    mixed[some] = (same[last[some]] - same[starts[some]]) < (last[some] - starts[some])
    return data if mixed.all() else data.select(np.flatnonzero(mixed))


def line_search(slope: Callable[[float], float], first: float, precision: float, width: float = 1e-12) -> float:
    """t > 0 with |slope(t)| ≤ precision · |first|, for the rising slope of a convex function with slope(0) = first < 0.

    Doubling until the slope is positive, then regula falsi after Illinois; at a kink, a point before it, nearer
    to it than width · t.
    """
    low, low_slope, high, high_slope = 0.0, first, np.inf, np.inf
    trial, side = 1.0, 0
    for _ in range(100):
        value = slope(trial)
        if abs(value) <= precision * -first:
            return trial
        if value < 0:
            low, low_slope = trial, value
            high_slope, side = (high_slope / 2, -1) if side < 0 else (high_slope, -1)
        else:
            high, high_slope = trial, value
            low_slope, side = (low_slope / 2, 1) if side > 0 else (low_slope, 1)
        if not np.isfinite(high):
            trial *= 2
            side = 0
            continue
        if high - low <= width * high:
            break
        trial = low + (high - low) * min(0.99, max(0.01, -low_slope / (high_slope - low_slope)))
    return low if low > 0 else trial


def cutting_planes(
    features: F64, loss: Loss, C: float, tolerance: float, rounds: int, watch: Watch, ahead: float = 0.1
) -> Solution:
    """One-slack cutting planes: loss(Xw) ≥ a·w + b for every plane seen; the dual of the planes bounds the objective.

    Joachims 2006; after Franc & Sonnenburg 2009 the best point moves by exact line search towards the master's optimum
    and the next plane is taken a little ahead of it. Stops when objective − dual ≤ tolerance · (objective at 0 − dual).
    """
    width = features.shape[1]
    best, best_scores = np.zeros(width), np.zeros(len(features))
    cut_scores = best_scores
    planes, constants, gram, shares = np.empty((0, width)), np.empty(0), np.empty((0, 0)), np.empty(0)
    start = C * loss(best_scores)[0]
    solution = Solution(best, start, start, 0)
    with watch:
        for count in range(1, rounds + 1):
            value, gradient = loss(cut_scores)
            planes = np.vstack((planes, gradient @ features))
            constants = np.append(constants, value - gradient @ cut_scores)
            last = planes @ planes[-1]
            gram = np.block([[gram, last[:-1, None]], [last[None, :-1], last[-1:, None]]])
            shares = maximise_capped(gram, constants, C, shares)
            target = -shares @ planes
            dual = float(constants @ shares - 0.5 * target @ target)
            step = target - best
            step_scores = features @ step
            length = _best_step(loss, C, best, best_scores, step, step_scores)
            cut_scores = best_scores + (length + ahead * (1 - length)) * step_scores
            best, best_scores = best + length * step, best_scores + length * step_scores
            objective = 0.5 * float(best @ best) + C * loss(best_scores)[0]
            solution = Solution(best, objective, objective - dual, count)
            if watch.after(best_scores.copy) or solution.missing(start) <= tolerance:
                return solution
    if not watch.interrupted:
        warn_unfinished(rounds, solution.missing(start), tolerance)
    return solution


def _best_step(loss: Loss, C: float, start: F64, scores: F64, step: F64, step_scores: F64) -> float:
    """The length along `step` with the least objective."""

    def slope(t: float) -> float:
        return float(step @ start + t * (step @ step) + C * (loss(scores + t * step_scores)[1] @ step_scores))

    first = slope(0.0)
    return line_search(slope, first, 1e-1, width=1e-2) if first < 0 else 0.0


def warn_unfinished(rounds: int, reached: float, tolerance: float) -> None:
    """Say that the optimum was not reached."""
    warnings.warn(
        f"stopped after {rounds} rounds at a precision of {reached:.2g}, not {tolerance:.2g}; "
        "more rounds, a smaller C or features normalised by query help",
        unfinished_warning(),
        stacklevel=2,
    )
