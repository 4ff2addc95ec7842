"""What does a change do to a ranker: is it better than without, by how much, how surely, and what does it cost?

Every contender is held against one baseline, query by query, on the same folds; the tests of one data set are corrected
together (Holm). A mean is LETOR's, over folds; a difference is over queries.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pippin.bench.leaderboard import leaderboard
from pippin.bench.standings import Gap
from pippin.bench.store import Results
from pippin.errors import DataError
from pippin.evaluation.significance import compare_systems
from pippin.evaluation.value_table import ValueTable


@dataclass(frozen=True)
class Versus:
    """A ranker and what it has over the baseline; of the baseline itself the differences are NaN."""

    data: str
    ranker: str
    mean: float
    low: float  # 95 % interval of the mean
    high: float
    difference: float
    difference_low: float
    difference_high: float
    p: float  # corrected
    seconds: float  # of the processor, to train what was chosen, in the mean over folds

    @property
    def unfinished(self) -> bool:
        """Whether a fold of it failed, so that there is nothing to compare."""
        return math.isnan(self.mean)

    @property
    def verdict(self) -> str:
        """ "better", "worse", or "no difference" at the level of the interval, after correction; or "not finished"."""
        if self.unfinished:
            return "not finished"
        if math.isnan(self.p) or self.p > ALPHA:
            return "no difference"
        return "better" if self.difference > 0 else "worse"


ALPHA = 0.05


def first_reason(gaps: Sequence[Gap], ranker: str = "") -> str:
    """Why a cell (of this ranker) is not there, to follow a sentence; nothing where that is not known."""
    reason = next((gap.reason for gap in gaps if ranker in ("", gap.ranker)), "")
    return f": {reason}" if reason else ""


def versus(
    results: Results, data: str, baseline: str, rankers: Sequence[str], measure: str = "NDCG@10", tool: str = "official"
) -> list[Versus]:
    """The baseline and each ranker against it, in the order given; one without all its cells is left out."""
    board = leaderboard(results, data, measure, tool)
    names = [name for name in dict.fromkeys([baseline, *rankers]) if name in board.by_ranker]
    if baseline not in board.by_ranker:
        raise DataError(f"{baseline} has not all its cells on {data}{first_reason(board.gaps, baseline)}")
    costs = training_seconds(results, data)
    tested = {}
    if len(names) > 1:
        columns = board.values[:, [board.rankers.index(name) for name in names]]
        ids = [f"{fold}/{query}" for fold, query in board.query_keys]
        table = ValueTable.from_arrays(columns, systems=names, query_ids=ids, undefined="drop")
        tested = {pair.a: pair for pair in compare_systems(table, "t", baseline=baseline, power=None).pairs}
    found = []
    for name in names:
        standing, pair = board.by_ranker[name], tested.get(name)
        gap, low, high, p = (math.nan,) * 4 if pair is None else (pair.difference, pair.low, pair.high, pair.p_adjusted)
        cost = costs.get(name, math.nan)
        found.append(Versus(data, name, standing.mean, standing.low, standing.high, gap, low, high, p, cost))
    return found


def training_seconds(results: Results, data: str) -> dict[str, float]:
    """The processor's seconds of the chosen training by ranker, in the mean over the cells of a data set."""
    costs = results.costs().where(data=data)
    by_ranker: dict[str, list[float]] = {}
    for ranker, seconds in costs.rows("ranker", "train_processor_seconds"):
        if not math.isnan(seconds):
            by_ranker.setdefault(ranker, []).append(seconds)
    return {ranker: statistics.fmean(values) for ranker, values in by_ranker.items()}
