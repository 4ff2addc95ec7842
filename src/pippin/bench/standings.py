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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.bench.tables import partitioned
from pippin.kernels.tails import t_point

if TYPE_CHECKING:
    from polars import DataFrame

F64 = NDArray[np.float64]
Spreads = Mapping[tuple[str, str], tuple[float, int]]  # (ranker, fold) → variance over queries, their number
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
    return math.fsum(values) / len(values)


def standard_error(folds: Sequence[tuple[float, int]]) -> float:
    """√(Σ s²/n) / F of F folds with the variance s² over n queries: averaged in quadrature (Busa-Fekete et al. 2012).

    >>> standard_error([(0.5, 2), (0.5, 2)]) == (0.5 / 2 + 0.5 / 2) ** 0.5 / 2
    True
    """
    return math.sqrt(math.fsum(variance / n for variance, n in folds)) / len(folds) if folds else math.nan


class ExpectedCells:
    """The cells that a data set should have, every fold of any ranker with every seed of the ranker, and its values."""

    def __init__(
        self, means: DataFrame, failures: DataFrame, averaged: DataFrame, rankers: Iterable[str], convention: str
    ) -> None:
        columns = ["ranker", "fold", "seed"]
        there = set(means.select(columns).unique().iter_rows())
        self.any_ran = bool(there)  # or else every cell failed
        self.reasons = {row[:3]: row[3] for row in failures.select(*columns, "reason").iter_rows()}
        every = there | set(self.reasons)
        self.folds = tuple(sorted({fold for _, fold, _ in every}))
        self.rankers = tuple(sorted(rankers))
        self.seeds = {r: sorted({seed for name, _, seed in every if name == r}) for r in self.rankers}
        for ranker in self.rankers:
            if not self.seeds[ranker]:
                self.seeds[ranker] = [min(seed for _, _, seed in every)]
                reason = f"not trained under {convention}"
                self.reasons |= {(ranker, fold, seed): reason for fold in self.folds for seed in self.seeds[ranker]}
        self.query_keys, self._values = _numbered(averaged, self.rankers)

    def values(self, tool: str, measure: str) -> F64:
        """The values of every query × ranker; NaN where a query does not count."""
        table = np.full((len(self.query_keys), len(self.rankers)), np.nan)
        if (tool, measure) in self._values:
            part = self._values[tool, measure]
            table[part["query"].to_numpy(), part["ranker"].to_numpy()] = part["value"].to_numpy()
        return table

    def standings(self, means: DataFrame, spreads: Spreads, alpha: float) -> tuple[list[Standing], list[Gap]]:
        """Under one tool and measure: the rankers with all their cells, best first, and the cells that others lack."""
        by_cell = {row[:3]: row[3] for row in means.select("ranker", "fold", "seed", "mean").iter_rows()}
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


def _numbered(
    averaged: DataFrame, rankers: Sequence[str]
) -> tuple[tuple[tuple[str, str], ...], dict[tuple[object, ...], DataFrame]]:
    """Fold and id of every query, fold by fold; and by tool and measure the values with the numbers of both."""
    import polars as pl

    key = ["fold", "query"]
    queries = averaged.select(key).unique(maintain_order=True).sort("fold", maintain_order=True).with_row_index("at")
    ranker = pl.col("ranker").replace_strict(rankers, list(range(len(rankers))), return_dtype=pl.Int64)
    numbered = averaged.join(queries, on=key).select("tool", "measure", query="at", ranker=ranker, value="value")
    return tuple(queries.select(key).iter_rows()), partitioned(numbered, ["tool", "measure"])


def _defined(mean: float | None) -> float:
    return math.nan if mean is None else float(mean)


def averaged_over_seeds(values: DataFrame) -> DataFrame:
    """The values averaged over seeds, without the queries that do not count."""
    import polars as pl

    kept = values.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    if kept["seed"].n_unique() < 2:
        return kept
    keys = [*_BOARD, "ranker", "fold", "query"]
    return kept.sort("seed", maintain_order=True).group_by(keys, maintain_order=True).agg(pl.col("value").mean())


def spreads_of_folds(averaged: DataFrame) -> dict[tuple[str, str, str], dict[tuple[str, str], tuple[float, int]]]:
    """(data, tool, measure) → the variance over the queries of every ranker's folds, and their number."""
    import polars as pl

    keys = [*_BOARD, "ranker", "fold"]
    spreads = averaged.group_by(keys, maintain_order=True).agg(pl.col("value").var().alias("variance"), pl.len())
    by_board: dict[tuple[str, str, str], dict[tuple[str, str], tuple[float, int]]] = {}
    for data, tool, measure, ranker, fold, variance, number in spreads.iter_rows():
        by_board.setdefault((data, tool, measure), {})[ranker, fold] = (_defined(variance), number)
    return by_board


@cache
def _quantile(alpha: float, freedom: int) -> float:
    """Student's t that a share alpha of its absolute values exceeds."""
    return float(t_point(alpha / 2, freedom)) if freedom > 0 else math.nan
