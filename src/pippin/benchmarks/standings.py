"""Standings of rankers: means over folds and seeds, standard errors, and missing cells.

Only this module averages over folds. A ranker that lacks a cell has no mean; the remaining folds are not averaged.
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

from pippin.benchmarks.tables import encode, group_rows, table_rows, to_numbers

if TYPE_CHECKING:
    from pyarrow import Table

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Variances = Mapping[tuple[str, str], tuple[float, int]]  # (ranker, fold) → variance over queries, number of queries
_BOARD_COLUMNS = ["data", "tool", "measure"]


@dataclass(frozen=True)
class MissingCell:
    """A cell without a value, and the reason."""

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
    low: float  # confidence interval of the mean at the level of the test settings
    high: float
    by_fold: Mapping[str, float]
    seeds: int
    spread: float  # standard deviation of the mean over seeds; NaN with one seed


@dataclass(frozen=True)
class FoldMeans:
    """The means of one ranker's cells; NaN if a cell of the mean lacks a value."""

    by_fold: Mapping[str, float]  # over seeds
    by_seed: Mapping[int, float]  # over folds
    mean: float  # over folds, then over seeds


def mean_over_folds(cells: Mapping[tuple[str, int], float]) -> FoldMeans:
    """Return LETOR's mean: the mean of the folds' means, averaged over seeds.

    `cells` has a value for every fold and seed of a ranker, NaN for a missing cell.

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
    """Return √(Σ s²/n) / F for F folds with variance s² over n queries (quadrature; Busa-Fekete et al. 2012).

    >>> standard_error([(0.5, 2), (0.5, 2)]) == (0.5 / 2 + 0.5 / 2) ** 0.5 / 2
    True
    """
    return math.sqrt(math.fsum(variance / n for variance, n in folds)) / len(folds) if folds else math.nan


class ExpectedCells:
    """The expected cells of a data set (all folds, and all seeds of each ranker) and the values per query."""

    def __init__(self, means: Table, failures: Table, averaged: Table, rankers: Iterable[str], convention: str) -> None:
        columns = ["ranker", "fold", "seed"]
        finished = set(table_rows(means, *columns))
        self.any_ran = bool(finished)  # otherwise every cell failed
        self.reasons = {row[:3]: row[3] for row in table_rows(failures, *columns, "reason")}
        expected = finished | set(self.reasons)
        self.folds = tuple(sorted({fold for _, fold, _ in expected}))
        self.rankers = tuple(sorted(rankers))
        self.seeds = {r: sorted({seed for name, _, seed in expected if name == r}) for r in self.rankers}
        for ranker in self.rankers:
            if not self.seeds[ranker]:
                self.seeds[ranker] = [min(seed for _, _, seed in expected)]
                reason = f"not trained under {convention}"
                self.reasons |= {(ranker, fold, seed): reason for fold in self.folds for seed in self.seeds[ranker]}
        self.values = QueryValueTable(averaged, self.rankers)

    def standings(self, means: Table, variances: Variances, alpha: float) -> tuple[list[Standing], list[MissingCell]]:
        """Return the standings under one tool and measure, best first, and the missing cells of other rankers."""
        by_cell = {row[:3]: row[3] for row in table_rows(means, "ranker", "fold", "seed", "mean")}
        standings, missing_cells = [], []
        for ranker in self.rankers:
            cells = {cell: _to_float(by_cell.get((ranker, *cell))) for cell in product(self.folds, self.seeds[ranker])}
            missing = [cell for cell, value in cells.items() if math.isnan(value)]
            missing_cells += [self._missing_cell(ranker, *cell, (ranker, *cell) in by_cell) for cell in missing]
            if not missing:
                by_fold = [variances.get((ranker, fold), (math.nan, 1)) for fold in self.folds]
                standings.append(_standing(ranker, mean_over_folds(cells), by_fold, alpha))
        return sorted(standings, key=lambda s: (-s.mean, s.ranker)), missing_cells

    def _missing_cell(self, ranker: str, fold: str, seed: int, ran: bool) -> MissingCell:
        reason = self.reasons.get((ranker, fold, seed), "no query counts" if ran else "not run")
        return MissingCell(ranker, fold, seed, reason)


def _standing(ranker: str, means: FoldMeans, variances: Sequence[tuple[float, int]], alpha: float) -> Standing:
    by_seed = list(means.by_seed.values())
    error = standard_error(variances)
    half = error * _quantile(alpha, sum(number - 1 for _, number in variances))
    spread = statistics.stdev(by_seed) if len(by_seed) > 1 else math.nan
    return Standing(
        ranker, means.mean, error, means.mean - half, means.mean + half, means.by_fold, len(by_seed), spread
    )


def _to_float(mean: float | None) -> float:
    return math.nan if mean is None else float(mean)


def average_over_seeds(values: Table) -> Table:
    """Return the values averaged over seeds, without the queries that do not count."""
    import pyarrow

    finished = values.filter(values["value"].is_valid())
    if len(encode(finished, "seed")[0]) < 2:
        return finished
    finished = finished.take(np.argsort(to_numbers(finished, "seed"), kind="stable"))
    first, group = group_rows(finished, *_BOARD_COLUMNS, "ranker", "fold", "query")
    means = np.bincount(group, to_numbers(finished, "value")) / np.bincount(group)
    averaged = finished.take(first)
    return averaged.set_column(averaged.column_names.index("value"), "value", pyarrow.array(means))


@cache
def _quantile(alpha: float, freedom: int) -> float:
    """Return the two-sided critical value of Student's t at level alpha."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, alpha / 2)) if freedom > 0 else math.nan


class QueryValueTable:
    """The values of a data set, averaged over seeds, from columns tool, measure, ranker, fold, query and value."""

    def __init__(self, averaged: Table, rankers: Sequence[str]) -> None:
        self.rankers = tuple(rankers)
        tools, tool = encode(averaged, "tool")
        measures, measure = encode(averaged, "measure")
        names, ranker = encode(averaged, "ranker")
        folds, fold = encode(averaged, "fold")
        self.query_keys, query = _queries(averaged, folds, fold)
        values: F64 = to_numbers(averaged, "value")
        board = tool * len(measures) + measure
        self._boards = {(t, m): i * len(measures) + j for i, t in enumerate(tools) for j, m in enumerate(measures)}
        self._variances = _variances(values, (board * len(names) + ranker) * len(folds) + fold, names, folds)
        by_board = np.argsort(board.astype(np.uint32), kind="stable")
        self._ends = np.concatenate(([0], np.cumsum(np.bincount(board, minlength=len(self._boards))))).astype(np.int64)
        place = {name: i for i, name in enumerate(self.rankers)}
        columns = np.array([place[name] for name in names], np.int64)
        self._rows, self._columns = query[by_board], columns[ranker[by_board]]
        self._values = values[by_board]

    def table(self, tool: str, measure: str) -> F64:
        """Return the values as queries × rankers; NaN where a query does not count."""
        table = np.full((len(self.query_keys), len(self.rankers)), np.nan)
        board = self._boards.get((tool, measure))
        if board is not None:
            part = slice(self._ends[board], self._ends[board + 1])
            table[self._rows[part], self._columns[part]] = self._values[part]
        return table

    def variances(self, tool: str, measure: str) -> Variances:
        """Return the variance over queries and the number of queries by (ranker, fold)."""
        return self._variances.get(self._boards.get((tool, measure), -1), {})


def _queries(table: Table, folds: Sequence[str], fold: I64) -> tuple[tuple[tuple[str, str], ...], I64]:
    """Return fold and id of the queries, by fold and first appearance, and the query number of every row."""
    ids, query = encode(table, "query")
    key = fold * len(ids) + query
    first = np.full(len(folds) * len(ids), len(key))
    first[key[::-1]] = np.arange(len(key))[::-1]
    there = np.flatnonzero(first < len(key))
    by_text = np.argsort(np.argsort(np.array(folds, np.str_)))
    order = there[np.lexsort((first[there], by_text[there // max(1, len(ids))]))]
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(order))
    return tuple((folds[k // len(ids)], ids[k % len(ids)]) for k in order.tolist()), number[key]


def _variances(
    values: F64, group: I64, rankers: Sequence[str], folds: Sequence[str]
) -> dict[int, dict[tuple[str, str], tuple[float, int]]]:
    """Return board → (ranker, fold) → variance of the values, and their number."""
    groups, index = np.unique(group, return_inverse=True)
    counts = np.bincount(index)
    deviations = values - (np.bincount(index, values) / counts)[index]
    variances = np.divide(
        np.bincount(index, deviations * deviations), counts - 1, out=np.full(len(counts), np.nan), where=counts > 1
    )
    by_board: dict[int, dict[tuple[str, str], tuple[float, int]]] = {}
    for group_number, variance, count in zip(groups.tolist(), variances.tolist(), counts.tolist(), strict=True):
        remainder, fold = divmod(group_number, len(folds))
        board, ranker = divmod(remainder, len(rankers))
        by_board.setdefault(board, {})[rankers[ranker], folds[fold]] = (variance, count)
    return by_board
