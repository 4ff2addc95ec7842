"""Where does a ranker stand on a data set: its mean over folds and seeds, its error, and the cells that it lacks?

Means over folds are taken here and nowhere else. A cell that is not there leaves a ranker without a mean: nothing is
averaged over what happens to be there.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from pippin.bench.frame import Frame
from pippin.bench.numbered_values import NumberedValues, Spreads
from pippin.kernels.tails import t_point

_BOARD = ["data", "tool", "measure"]  # what one leaderboard is about


@dataclass(frozen=True)
class Gap:
    """A cell that is not there, and why."""

    ranker: str
    fold: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Standing:
    """A ranker with all its cells."""

    ranker: str
    mean: float  # mean over folds, then over seeds
    error: float  # standard error over queries, averaged in quadrature over the folds
    low: float  # confidence interval of the mean at the plan's level
    high: float
    by_fold: Mapping[str, float]
    seeds: int
    spread: float  # standard deviation of the mean over seeds; NaN with one seed


@dataclass(frozen=True)
class FoldMeans:
    """The means of one ranker's cells; NaN wherever a cell that goes into one has no value."""

    by_fold: Mapping[str, float]  # over seeds
    by_seed: Mapping[int, float]  # over folds
    mean: float  # over folds, then over seeds


def mean_over_folds(cells: Mapping[tuple[str, int], float]) -> FoldMeans:
    """LETOR's mean: of the folds' means, and over seeds where there are several.

    `cells` has a value for every fold and seed that a ranker should have, NaN where there is none.

    >>> mean_over_folds({("Fold1", 1): 0.5, ("Fold2", 1): 0.25}).mean
    0.375
    """
    folds, seeds = (tuple(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    by_fold = {fold: _mean([cells.get((fold, seed), math.nan) for seed in seeds]) for fold in folds}
    by_seed = {seed: _mean([cells.get((fold, seed), math.nan) for fold in folds]) for seed in seeds}
    return FoldMeans(by_fold, by_seed, _mean(list(by_seed.values())))


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else math.fsum(values) / len(values)


def standard_error(folds: Sequence[tuple[float, int]]) -> float:
    """√(Σ s²/n) / F of F folds with the variance s² over n queries: averaged in quadrature (Busa-Fekete et al. 2012).

    >>> standard_error([(0.5, 2), (0.5, 2)]) == (0.5 / 2 + 0.5 / 2) ** 0.5 / 2
    True
    """
    return math.sqrt(math.fsum(variance / n for variance, n in folds)) / len(folds) if folds else math.nan


class ExpectedCells:
    """The cells that a data set should have, every fold of any ranker with every seed of the ranker, and its values."""

    def __init__(self, means: Frame, failures: Frame, averaged: Frame, rankers: Iterable[str], convention: str) -> None:
        columns = ["ranker", "fold", "seed"]
        there = set(means.rows(*columns))
        self.any_ran = bool(there)  # or else every cell failed
        self.reasons = {row[:3]: row[3] for row in failures.rows(*columns, "reason")}
        every = there | set(self.reasons)
        self.folds = tuple(sorted({fold for _, fold, _ in every}))
        self.rankers = tuple(sorted(rankers))
        self.seeds = {r: sorted({seed for name, _, seed in every if name == r}) for r in self.rankers}
        for ranker in self.rankers:
            if not self.seeds[ranker]:
                self.seeds[ranker] = [min(seed for _, _, seed in every)]
                reason = f"not trained under {convention}"
                self.reasons |= {(ranker, fold, seed): reason for fold in self.folds for seed in self.seeds[ranker]}
        self.values = NumberedValues(averaged, self.rankers)

    def standings(self, means: Frame, spreads: Spreads, alpha: float) -> tuple[list[Standing], list[Gap]]:
        """Under one tool and measure: the rankers with all their cells, best first, and the cells that others lack."""
        by_cell = {row[:3]: row[3] for row in means.rows("ranker", "fold", "seed", "mean")}
        standings, gaps = [], []
        for ranker in self.rankers:
            cells = {at: _defined(by_cell.get((ranker, *at))) for at in product(self.folds, self.seeds[ranker])}
            lacking = [at for at, value in cells.items() if math.isnan(value)]
            gaps += [self._gap(ranker, *at, (ranker, *at) in by_cell) for at in lacking]
            if not lacking:
                by_fold = [spreads.get((ranker, fold), (math.nan, 1)) for fold in self.folds]
                standings.append(_standing(ranker, mean_over_folds(cells), by_fold, alpha))
        return sorted(standings, key=lambda s: (-s.mean, s.ranker)), gaps

    def _gap(self, ranker: str, fold: str, seed: int, ran: bool) -> Gap:
        """Why the cell has no value."""
        reason = self.reasons.get((ranker, fold, seed), "no query counts" if ran else "not run")
        return Gap(ranker, fold, seed, reason)


def _standing(ranker: str, means: FoldMeans, spreads: Sequence[tuple[float, int]], alpha: float) -> Standing:
    by_seed = list(means.by_seed.values())
    error = standard_error(spreads)
    half = error * _quantile(alpha, sum(number - 1 for _, number in spreads))
    spread = statistics.stdev(by_seed) if len(by_seed) > 1 else math.nan
    return Standing(
        ranker, means.mean, error, means.mean - half, means.mean + half, means.by_fold, len(by_seed), spread
    )


def _defined(mean: float | None) -> float:
    return math.nan if mean is None else float(mean)


def averaged_over_seeds(values: Frame) -> Frame:
    """The values averaged over seeds, without the queries that do not count."""
    kept = values.take(~np.isnan(values["value"]))
    if len(kept.groups("seed")[0]) < 2:
        return kept
    kept = kept.take(np.argsort(kept["seed"], kind="stable"))
    first, group = kept.groups(*_BOARD, "ranker", "fold", "query")
    return kept.take(first).with_columns(value=np.bincount(group, kept["value"]) / np.bincount(group))


@cache
def _quantile(alpha: float, freedom: int) -> float:
    """Student's t that a share alpha of its absolute values exceeds."""
    return float(t_point(alpha / 2, freedom)) if freedom > 0 else math.nan
