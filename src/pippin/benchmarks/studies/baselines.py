"""Comparisons with a baseline: differences, intervals, and the share of a gap that is closed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.standings import MissingCell
from pippin.benchmarks.store import Results
from pippin.benchmarks.tables import select_rows, table_rows
from pippin.errors import DataError
from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable
from pippin.kernels.statistics import bootstrap_means

F64 = NDArray[np.float64]
_RESAMPLES = 2000  # of a bootstrap over queries
ALPHA = 0.05


class Share(NamedTuple):
    """The share of a gap that is closed, with its 95 % interval."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.share:.0%} ({self.low:.0%} … {self.high:.0%})"


def interval(values: F64) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean over queries."""
    means = np.sort(np.asarray(_resample(values[:, None])).ravel())
    return float(means[int(0.025 * _RESAMPLES)]), float(means[int(0.975 * _RESAMPLES)])


def difference(differences: F64) -> str:
    """Return a mean difference with its interval.

    >>> difference(np.array([0.1, 0.1]))
    '+0.1000 (+0.1000 … +0.1000)'
    """
    low, high = interval(differences)
    return f"{differences.mean():+.4f} ({low:+.4f} … {high:+.4f})"


def format_p(p: float) -> str:
    """Return a p-value for a table.

    >>> format_p(0.0123), format_p(0.0001), format_p(float("nan"))
    ('0.012', '<0.001', '')
    """
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _resample(rows: F64) -> F64:
    return bootstrap_means(np.ascontiguousarray(rows), begin=0, end=_RESAMPLES, seed=1)


def closed_share(values: F64, low: F64, high: F64) -> Share:
    """Return (values − low) / (high − low) of the means over queries, with a bootstrap interval over queries.

    Queries without all three values are left out.

    >>> low = np.array([0.5, 0.5])
    >>> str(closed_share(low + 0.05, low, low + 0.1))
    '50% (50% … 50%)'
    """
    rows = np.stack((values - low, high - low), axis=1)
    rows = rows[~np.isnan(rows).any(axis=1)]
    means, mean = _resample(rows), rows.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample without a gap
        lower, upper = np.quantile(means[:, 0] / means[:, 1], (0.025, 0.975))
        return Share(float(mean[0] / mean[1]), float(lower), float(upper))


@dataclass(frozen=True)
class BaselineComparison:
    """A ranker and its difference from the baseline, which is NaN for the baseline itself."""

    data: str
    ranker: str
    mean: float
    low: float  # 95 % interval of the mean
    high: float
    difference: float
    difference_low: float
    difference_high: float
    p: float  # corrected
    seconds: float  # processor seconds to train the selected parameters, mean over folds

    @property
    def is_incomplete(self) -> bool:
        """Whether a cell of the ranker is missing."""
        return math.isnan(self.mean)

    @property
    def verdict(self) -> str:
        """ "better", "worse" or "no difference" after correction, or "not finished"."""
        if self.is_incomplete:
            return "not finished"
        if math.isnan(self.p) or self.p > ALPHA:
            return "no difference"
        return "better" if self.difference > 0 else "worse"


def first_reason(gaps: Sequence[MissingCell], ranker: str = "") -> str:
    """Return the reason of the first missing cell (of this ranker) to be appended to a sentence, or nothing."""
    reason = next((gap.reason for gap in gaps if ranker in ("", gap.ranker)), "")
    return f": {reason}" if reason else ""


def compare_with_baseline(
    results: Results, data: str, baseline: str, rankers: Sequence[str], measure: str = "NDCG@10", tool: str = "official"
) -> list[BaselineComparison]:
    """Compare each ranker with the baseline, which comes first; rankers that lack a cell are left out."""
    board = leaderboard(results, data, measure, tool)
    names = [name for name in dict.fromkeys([baseline, *rankers]) if name in board.by_ranker]
    if baseline not in board.by_ranker:
        raise DataError(f"{baseline} lacks cells on {data}{first_reason(board.gaps, baseline)}")
    costs = training_seconds(results, data)
    pairs = {}
    if len(names) > 1:
        columns = board.values[:, [board.rankers.index(name) for name in names]]
        ids = [f"{fold}/{query}" for fold, query in board.query_keys]
        table = ValueTable.from_arrays(columns, systems=names, query_ids=ids, undefined="drop")
        pairs = {pair.a: pair for pair in compare_systems(table, "t", baseline=baseline, power=None).pairs}
    comparisons = []
    for name in names:
        standing, pair = board.by_ranker[name], pairs.get(name)
        gap, low, high, p = (math.nan,) * 4 if pair is None else (pair.difference, pair.low, pair.high, pair.p_adjusted)
        cost = costs.get(name, math.nan)
        comparisons.append(
            BaselineComparison(data, name, standing.mean, standing.low, standing.high, gap, low, high, p, cost)
        )
    return comparisons


def training_seconds(results: Results, data: str) -> dict[str, float]:
    """Return the processor seconds of the selected training by ranker, mean over the cells of a data set."""
    costs = select_rows(results.costs(), data=data)
    by_ranker: dict[str, list[float]] = {}
    for ranker, seconds in table_rows(costs, "ranker", "train_processor_seconds"):
        if seconds is not None:
            by_ranker.setdefault(ranker, []).append(seconds)
    return {ranker: statistics.fmean(values) for ranker, values in by_ranker.items()}
