"""Leaderboards of benchmark results: means, significance, upper bounds, winning numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pippin.benchmarks.inputs import Input
from pippin.benchmarks.standings import F64, ExpectedCells, MissingCell, Standing, average_over_seeds
from pippin.benchmarks.tables import (
    NO_CELLS,
    ResultTables,
    check_names,
    convention_free_rankers,
    distinct,
    make_table,
    missing_cells,
    rows_with,
    select_rows,
    split_rows,
    table_rows,
    training_convention,
)
from pippin.data.buffers import built_format, find_build_root
from pippin.display import Plottable, rows_to_columns
from pippin.errors import DataError
from pippin.evaluation.compare import EQUAL, Comparison, TestSettings, ToolLeaderboard, compare_leaderboards, test_pairs
from pippin.evaluation.significance import MeanInterval, PairwiseTests
from pippin.evaluation.value_table import ValueTable

if TYPE_CHECKING:
    from pyarrow import Table

MEASURE = "MAP"  # its value over all judged documents follows from that over the sample


def read_sample_losses(source: Input) -> dict[str, Any] | None:
    """Return the losses of the sample from the manifest of a built data set; None for other data."""
    path = Path(source.path)
    folder = find_build_root(path / "Fold1")
    if folder is None:
        return None
    tasks = built_format().read_record(folder).get("tasks", {})
    task = path.relative_to(folder).parts[0] if len(tasks) > 1 else next(iter(tasks), None)
    manifest = tasks.get(task, {})
    sampling = manifest.get("sampling", {})
    if "partial" not in sampling or not manifest.get("upper_bounds"):  # built by an earlier version
        return None
    return {**{name: sampling[name] for name in ("relevant", "lost", "partial")}, "ceilings": manifest["upper_bounds"]}


@dataclass(frozen=True)
class Ceiling:
    """The relevant documents that the sample of a data set lacks, and the upper bounds of measures that follow."""

    data: str
    relevant: int  # documents judged relevant
    lost: int  # relevant documents that are not in the sample
    partial: Mapping[str, tuple[int, int]]  # queries that lack some: numbers of relevant documents sampled and judged
    best: Mapping[str, Mapping[str, float]]  # sample | judged → measure → value of the best re-ranking

    @classmethod
    def from_dict(cls, data: str, record: Mapping[str, Any]) -> Ceiling:
        """Return the upper bounds of a JSON record."""
        partial = {query: (int(sampled), int(relevant)) for query, (sampled, relevant) in record["partial"].items()}
        return cls(data, record["relevant"], record["lost"], partial, record["ceilings"])

    def map_over_judged(self, board: Leaderboard) -> dict[str, float]:
        """Return MAP over all judged documents by ranker: AP divides by all relevant documents of a query."""
        share = np.array(
            [
                sampled / relevant
                for sampled, relevant in (self.partial.get(query, (1, 1)) for _, query in board.query_keys)
            ]
        )
        folds = np.array([fold for fold, _ in board.query_keys])
        means = {}
        for ranker in board.by_ranker:
            values = share * board.values[:, board.rankers.index(ranker)]
            means[ranker] = float(np.mean([np.nanmean(values[folds == fold]) for fold in board.folds]))
        return means

    def sentence(self) -> str:
        """Return the number of lost documents and the upper bounds as one sentence."""
        if not self.lost:
            return f"{self.data}: the sample holds all {self.relevant:,} relevant documents"
        bounds = ", ".join(f"{measure} {value:.3f}" for measure, value in self.best["judged"].items())
        return (f"{self.data}: the sample lacks {self.lost:,} of {self.relevant:,} relevant documents; over all judged "
                f"documents no re-ranking of the sample exceeds {bounds}")  # fmt: skip

    def to_dict(self, board: Leaderboard | None = None) -> dict[str, Any]:
        """Return a JSON record, with the MAP of the leaderboard's rankers over sampled and over judged documents."""
        over_judged = {} if board is None else self.map_over_judged(board)
        rows = [] if board is None else [
            {"tool": board.tool, "ranker": s.ranker, "sample": s.mean, "judged": over_judged[s.ranker]}
            for s in board.standings
        ]  # fmt: skip
        return {"data": self.data, "relevant": self.relevant, "lost": self.lost, "note": self.sentence(),
                "best": {pool: dict(values) for pool, values in self.best.items()}, MEASURE: rows}  # fmt: skip


NDCGS = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
PRECISIONS = ("P@1", "P@3", "P@5", "P@10", "MAP")
LETOR_MEASURES = (*NDCGS, *PRECISIONS)  # the measures of LETOR 3.0's tables (Qin et al. 2010, Tables 5-18)

Tests = dict[tuple[object, ...], tuple[ValueTable, PairwiseTests | None]]  # by data set, rankers and values
QueryValues = Mapping[str, Mapping[str, Mapping[str, float]]]  # ranker → fold → query → value, averaged over seeds


class LeaderboardKey(NamedTuple):
    """The key of a leaderboard."""

    data: str
    tool: str
    measure: str


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Plottable):
    """One data set under one measure and one tool."""

    data: str
    tool: str
    measure: str
    convention: str  # the training convention
    folds: tuple[str, ...]
    standings: tuple[Standing, ...]  # best first
    gaps: tuple[MissingCell, ...]
    rankers: tuple[str, ...]  # with and without a standing
    query_keys: tuple[tuple[str, str], ...]  # fold and id of every query that counts under some tool, fold by fold
    values: F64  # queries × rankers, averaged over seeds; NaN where a query does not count
    plan: TestSettings
    tests: Tests = field(default_factory=dict)  # shared by the leaderboards of one call

    @cached_property
    def queries(self) -> QueryValues:
        """The values per query of the rankers with a standing."""
        by_ranker: dict[str, dict[str, dict[str, float]]] = {s.ranker: {} for s in self.standings}
        for ranker, folds in by_ranker.items():
            column = self.values[:, self.rankers.index(ranker)].tolist()
            for (fold, query), value in zip(self.query_keys, column, strict=True):
                if not math.isnan(value):
                    folds.setdefault(fold, {})[query] = value
        return by_ranker

    def to_dict(self) -> dict[str, Any]:
        """Return columns with a row per ranker with a standing, best first."""
        rows = [
            (self.data, self.tool, self.measure, place, s.ranker, s.mean, s.error, s.low, s.high, s.seeds, s.spread)
            for place, s in enumerate(self.standings, 1)
        ]
        names = ("data", "tool", "measure", "place", "ranker", "mean", "error", "low", "high", "seeds", "spread")
        return rows_to_columns(rows, *names)

    @cached_property
    def board(self) -> ToolLeaderboard | None:
        """The tests of all pairs; None with fewer than two rankers or two queries."""
        if len(self.standings) < 2:
            return None
        means = {s.ranker: s.mean for s in self.standings}
        table = self.values[:, [self.rankers.index(ranker) for ranker in means]]
        key = (self.data, *means, blake2b(table.tobytes()).digest())
        if key not in self.tests:  # most tools agree to the last bit and are tested once
            ids = [f"{fold}/{query}" for fold, query in self.query_keys]
            scores = ValueTable.from_arrays(table, systems=list(means), query_ids=ids, undefined="drop")
            self.tests[key] = scores, test_pairs(scores, self.plan) if len(scores.query_ids) > 1 else None
        scores, tested = self.tests[key]
        return None if tested is None else ToolLeaderboard(self.tool, self.measure, scores, tested, means)

    def by_query(self, ranker: str) -> dict[str, float]:
        """Return the ranker's values by "fold/query": a query of several folds is scored by several models.

        Parameters
        ----------
        ranker : str
            Name of a ranker of the leaderboard.
        """
        return {f"{fold}/{q}": v for fold, values in self.queries[ranker].items() for q, v in values.items()}

    @cached_property
    def by_ranker(self) -> dict[str, Standing]:
        """The standings by name, best first."""
        return {s.ranker: s for s in self.standings}

    @property
    def best(self) -> str | None:
        """The ranker with the highest mean; None if no ranker has all its cells."""
        return self.standings[0].ranker if self.standings else None

    def is_worse_than_best(self, ranker: str) -> bool:
        """Return whether the ranker is significantly worse than the best, after correction over all pairs.

        Parameters
        ----------
        ranker : str
            Name of a ranker of the leaderboard.
        """
        if self.board is None or self.best is None or ranker == self.best:
            return False
        return self.board.winner(self.best, ranker) > 0 and self.board.significant(self.best, ranker)


def leaderboards(
    tables: ResultTables,
    *,
    data: Sequence[str] | None = None,
    tools: Sequence[str] = ("official",),
    measures: Sequence[str] = LETOR_MEASURES,
    convention: str | None = None,
    plan: TestSettings | None = None,
) -> dict[LeaderboardKey, Leaderboard]:
    """Return the requested leaderboards by key, except for measures that a tool cannot compute."""
    plan = replace(plan or TestSettings(), power=None)
    means, failures = tables.means(), missing_cells(tables)
    if not len(means) and not len(failures):
        raise DataError(NO_CELLS)
    trained = training_convention(means, failures, convention)
    names = check_names("data set", data, [*distinct(means, "data"), *distinct(failures, "data")])
    if len(means):  # no tools and measures are known if every cell failed
        check_names("tool of the results", tools, distinct(means, "tool"))
        check_names("measure of the results", measures, distinct(means, "measure"))
    unaffected = convention_free_rankers(means, failures, trained)

    def with_convention(table: Table) -> Table:
        fits = rows_with(table, "convention", [trained]) | rows_with(table, "ranker", unaffected)
        return select_rows(table.filter(fits), data=names)

    requested = {"tool": tools, "measure": measures}
    averaged = average_over_seeds(with_convention(select_rows(tables.values(list(tools), list(measures)), **requested)))
    by_board = split_rows(with_convention(select_rows(means, **requested)), *LeaderboardKey._fields)
    cells = {}
    for name in names:
        ran, failed = (select_rows(table, data=name) for table in (means, failures))
        rankers = {*distinct(ran, "ranker"), *distinct(failed, "ranker")}
        cells[name] = ExpectedCells(
            with_convention(ran), with_convention(failed), select_rows(averaged, data=name), rankers, trained
        )
    boards = {}
    tests: Tests = {}
    for key in (LeaderboardKey(*names) for names in product(names, tools, measures)):
        expected = cells[key.data]
        if key in by_board or not expected.any_ran:
            values = expected.values
            variances = values.variances(key.tool, key.measure)
            standings, gaps = expected.standings(by_board.get(key, means.slice(0, 0)), variances, plan.alpha)
            boards[key] = Leaderboard(
                *key, trained, expected.folds, tuple(standings), tuple(gaps), expected.rankers, values.query_keys,
                values.table(key.tool, key.measure), plan, tests,
            )  # fmt: skip
    return boards


def leaderboard(
    tables: ResultTables,
    data: str,
    measure: str = "NDCG@10",
    tool: str = "official",
    *,
    convention: str | None = None,
    plan: TestSettings | None = None,
) -> Leaderboard:
    """Return the leaderboard of one data set under one measure and one tool."""
    key = LeaderboardKey(data, tool, measure)
    boards = leaderboards(tables, data=[data], tools=[tool], measures=[measure], convention=convention, plan=plan)
    if key not in boards:
        raise DataError(f"{tool} does not compute {measure} on {data}")
    return boards[key]


def agreement(boards: Iterable[Leaderboard]) -> Comparison | None:
    """Compare the leaderboards of several tools on one data set and measure: verdicts, tau_b and tau_ap_b.

    Only rankers with a standing under all tools are compared; None if there are fewer than two.
    """
    tested = [b for b in boards if b.board is not None]
    if not tested:
        return None
    common = [r for r in tested[0].by_ranker if all(r in b.by_ranker for b in tested)]
    if len(common) < 2:
        return None
    intervals = [MeanInterval(s.ranker, s.mean, s.low, s.high) for s in tested[0].standings if s.ranker in common]
    return compare_leaderboards([_restrict_board(b, common) for b in tested], intervals)


def _restrict_board(leaderboard: Leaderboard, rankers: Sequence[str]) -> ToolLeaderboard:
    """Restrict the means to these rankers; the tests stay corrected over all, so that marks mean the same."""
    board = leaderboard.board
    if board is None:
        raise ValueError("leaderboard without tests")
    means = {r: board.means[r] for r in rankers}
    return ToolLeaderboard(board.name, board.measure, board.table, board.tests, means)


def datasets_of(boards: Mapping[LeaderboardKey, Leaderboard]) -> Iterator[str]:
    """Iterate over the data sets of leaderboards in their order."""
    return iter(dict.fromkeys(key.data for key in boards))


@dataclass(frozen=True)
class WinCount:
    """The number of wins of one ranker under one measure."""

    measure: str
    ranker: str
    wins: int
    pairs: int  # (other ranker, data set) pairs in which both have a value


def winning_numbers(means: Table) -> list[WinCount]:
    """Return the winning numbers S_i(M) of LETOR 3.0 (Qin et al. 2010) from columns data, ranker, measure and value.

    >>> rows = [("D", "a", "MAP", 0.5), ("D", "b", "MAP", 0.4), ("E", "a", "MAP", 0.3), ("E", "b", "MAP", 0.3)]
    >>> winning_numbers(make_table(rows, data=str, ranker=str, measure=str, value=float))
    [WinCount(measure='MAP', ranker='a', wins=1, pairs=2), WinCount(measure='MAP', ranker='b', wins=0, pairs=2)]
    """
    table: dict[str, dict[str, dict[str, float]]] = {}  # measure → data → ranker → value
    for data, ranker, measure, value in table_rows(means, "data", "ranker", "measure", "value"):
        row = table.setdefault(measure, {}).setdefault(data, {})
        if ranker in row:
            raise DataError(f"{ranker} has two values of {measure} on {data}")
        row[ranker] = value
    rankers = distinct(means, "ranker")
    rows_by_measure = {
        measure: [{name: v for name, v in row.items() if v is not None} for row in by_data.values()]
        for measure, by_data in table.items()
    }
    return [_count_wins(measure, ranker, rows) for measure, rows in rows_by_measure.items() for ranker in rankers]


def _count_wins(measure: str, ranker: str, rows: Iterable[Mapping[str, float]]) -> WinCount:
    """Count the wins of a ranker in rows of values by ranker, one per data set."""
    wins = pairs = 0
    for values in rows:
        if ranker in values:
            pairs += len(values) - 1
            wins += sum(values[ranker] - value > EQUAL for value in values.values())
    return WinCount(measure, ranker, wins, pairs)


def tool_means(boards: Mapping[LeaderboardKey, Leaderboard], tool: str) -> Table:
    """Return the means of leaderboards under one tool, to be given to `winning_numbers`."""
    rows = [
        (key.data, standing.ranker, key.measure, standing.mean)
        for key, board in boards.items()
        if key.tool == tool
        for standing in board.standings
    ]
    return make_table(rows, data=str, ranker=str, measure=str, value=float)
