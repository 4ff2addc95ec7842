"""Who leads on a data set, by how much, how surely, and what is missing?

A leaderboard is one data set under one measure and one evaluation tool. A ranker's mean is LETOR's: the mean of the
folds' means, and over seeds where there are several. Its standard error comes from the queries of every fold, averaged
in quadrature over the folds. Every pair of rankers is tested on their queries as `compare` does. A ranker that lacks a
cell has no mean: it is named with the reason, and never averaged over what happens to be there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import product
from typing import Any, NamedTuple

from pippin.bench.frame import Frame
from pippin.bench.numbered_values import F64
from pippin.bench.standings import ExpectedCells, Gap, Standing, averaged_over_seeds
from pippin.bench.tables import (
    CellTables,
    absent,
    checked_names,
    convention_free_rankers,
    training_convention,
)
from pippin.errors import DataError
from pippin.evaluation.compare import Board, Comparison, TestPlan, compare_boards, tested_by
from pippin.evaluation.significance import MeanInterval, TestedPairs
from pippin.evaluation.value_table import ValueTable
from pippin.shown import Drawn, in_columns

NDCGS = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
PRECISIONS = ("P@1", "P@3", "P@5", "P@10", "MAP")
LETOR_MEASURES = (*NDCGS, *PRECISIONS)  # what LETOR 3.0 prints for a data set (Qin et al. 2010, Tables 5-18)

Tests = dict[tuple[object, ...], tuple[ValueTable, TestedPairs | None]]  # by data set, rankers and values
QueryValues = Mapping[str, Mapping[str, Mapping[str, float]]]  # ranker → fold → query → value, averaged over seeds


class BoardKey(NamedTuple):
    """Which leaderboard."""

    data: str
    tool: str
    measure: str


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Drawn):
    """One data set under one measure and one tool."""

    data: str
    tool: str
    measure: str
    convention: str  # the training convention
    folds: tuple[str, ...]
    standings: tuple[Standing, ...]  # best first
    gaps: tuple[Gap, ...]
    rankers: tuple[str, ...]  # all that were tried, with a standing or not
    query_keys: tuple[tuple[str, str], ...]  # fold and id of every query that counts under some tool, fold by fold
    values: F64  # of these queries × rankers, averaged over seeds; NaN where a query does not count
    plan: TestPlan
    tests: Tests = field(default_factory=dict)  # of all leaderboards that were made together

    @cached_property
    def queries(self) -> QueryValues:
        """The values of the rankers with a standing."""
        by_ranker: dict[str, dict[str, dict[str, float]]] = {s.ranker: {} for s in self.standings}
        for ranker, folds in by_ranker.items():
            column = self.values[:, self.rankers.index(ranker)].tolist()
            for (fold, query), value in zip(self.query_keys, column, strict=True):
                if not math.isnan(value):
                    folds.setdefault(fold, {})[query] = value
        return by_ranker

    def to_dict(self) -> dict[str, Any]:
        """A row per ranker with a standing, best first."""
        rows = [
            (self.data, self.tool, self.measure, place, s.ranker, s.mean, s.error, s.low, s.high, s.seeds, s.spread)
            for place, s in enumerate(self.standings, 1)
        ]
        names = ("data", "tool", "measure", "place", "ranker", "mean", "error", "low", "high", "seeds", "spread")
        return in_columns(rows, *names)

    @cached_property
    def board(self) -> Board | None:
        """The tests of every pair; None where there are not two rankers and two queries to test."""
        if len(self.standings) < 2:
            return None
        means = {s.ranker: s.mean for s in self.standings}
        table = self.values[:, [self.rankers.index(ranker) for ranker in means]]
        key = (self.data, *means, blake2b(table.tobytes()).digest())
        if key not in self.tests:  # most tools agree to the last bit, and are tested once
            ids = [f"{fold}/{query}" for fold, query in self.query_keys]
            scores = ValueTable.from_arrays(table, systems=list(means), query_ids=ids, undefined="drop")
            self.tests[key] = scores, tested_by(scores, self.plan) if len(scores.query_ids) > 1 else None
        scores, tested = self.tests[key]
        return None if tested is None else Board(self.tool, self.measure, scores, tested, means)

    def by_query(self, ranker: str) -> dict[str, float]:
        """The ranker's values by fold and query: a query that several folds test is judged by several models."""
        return {f"{fold}/{q}": v for fold, values in self.queries[ranker].items() for q, v in values.items()}

    @cached_property
    def by_ranker(self) -> dict[str, Standing]:
        """The standings by name, best first."""
        return {s.ranker: s for s in self.standings}

    @property
    def best(self) -> str | None:
        """The ranker with the highest mean; None where no ranker has all its cells."""
        return self.standings[0].ranker if self.standings else None

    def worse_than_best(self, ranker: str) -> bool:
        """Whether the ranker is significantly below the best, after correction over all pairs."""
        if self.board is None or self.best is None or ranker == self.best:
            return False
        return self.board.winner(self.best, ranker) > 0 and self.board.significant(self.best, ranker)


def leaderboards(
    tables: CellTables,
    *,
    data: Sequence[str] | None = None,
    tools: Sequence[str] = ("official",),
    measures: Sequence[str] = LETOR_MEASURES,
    convention: str | None = None,
    plan: TestPlan | None = None,
) -> dict[BoardKey, Leaderboard]:
    """Every leaderboard asked for that the results can give; a tool that cannot compute a measure has none for it."""
    plan = replace(plan or TestPlan(), power=None)
    means, failures = tables.means(), absent(tables)
    if not len(means) and not len(failures):
        raise DataError("the results hold no cell yet")
    trained = training_convention(means, failures, convention)
    names = checked_names("data set", data, [*means.names("data"), *failures.names("data")])
    if len(means):  # where every cell failed, no tool and no measure is known
        checked_names("tool of the results", tools, means.names("tool"))
        checked_names("measure of the results", measures, means.names("measure"))
    unaffected = convention_free_rankers(means, failures, trained)

    def shown(frame: Frame) -> Frame:
        return frame.take(frame.has("convention", trained) | frame.has("ranker", unaffected)).where(data=names)

    asked = {"tool": tools, "measure": measures}
    averaged = averaged_over_seeds(shown(tables.values(list(tools), list(measures)).where(**asked)))
    by_board = shown(means.where(**asked)).by(*BoardKey._fields)
    cells = {}
    for name in names:
        ran, failed = (frame.where(data=name) for frame in (means, failures))
        rankers = {*ran.names("ranker"), *failed.names("ranker")}
        cells[name] = ExpectedCells(shown(ran), shown(failed), averaged.where(data=name), rankers, trained)
    boards = {}
    tests: Tests = {}
    for key in (BoardKey(*names) for names in product(names, tools, measures)):
        expected = cells[key.data]
        if key in by_board or not expected.any_ran:
            values = expected.values
            spreads = values.spreads(key.tool, key.measure)
            standings, gaps = expected.standings(by_board.get(key, means.where(data=())), spreads, plan.alpha)
            boards[key] = Leaderboard(
                *key, trained, expected.folds, tuple(standings), tuple(gaps), expected.rankers, values.query_keys,
                values.table(key.tool, key.measure), plan, tests,
            )  # fmt: skip
    return boards


def leaderboard(
    tables: CellTables,
    data: str,
    measure: str = "NDCG@10",
    tool: str = "official",
    *,
    convention: str | None = None,
    plan: TestPlan | None = None,
) -> Leaderboard:
    """The leaderboard of one data set under one measure and one tool."""
    key = BoardKey(data, tool, measure)
    boards = leaderboards(tables, data=[data], tools=[tool], measures=[measure], convention=convention, plan=plan)
    if key not in boards:
        raise DataError(f"{tool} gives no {measure} on {data}")
    return boards[key]


def agreement(boards: Iterable[Leaderboard]) -> Comparison | None:
    """What several tools say of one data set and measure: verdicts, tau_b and tau_ap_b; None with nothing to compare.

    Rankers without a place under some tool are left out under all, as correlation needs the same rankers everywhere.
    """
    tested = [b for b in boards if b.board is not None]
    if not tested:
        return None
    common = [r for r in tested[0].by_ranker if all(r in b.by_ranker for b in tested)]
    if len(common) < 2:
        return None
    intervals = [MeanInterval(s.ranker, s.mean, s.low, s.high) for s in tested[0].standings if s.ranker in common]
    return compare_boards([_restricted(b, common) for b in tested], intervals)


def _restricted(whole: Leaderboard, rankers: Sequence[str]) -> Board:
    """The board of these rankers alone; the tests stay those of all, so that a mark means the same everywhere."""
    board = whole.board
    if board is None:
        raise ValueError("a leaderboard without tests has no board")
    means = {r: board.means[r] for r in rankers}
    return Board(board.name, board.measure, board.table, board.tested, means)


def datasets_of(boards: Mapping[BoardKey, Leaderboard]) -> Iterator[str]:
    """The data sets of leaderboards, each once, in their order."""
    return iter(dict.fromkeys(key.data for key in boards))
