"""Compare systems under every tool, with significance tests.

A `ToolLeaderboard` holds one tool's values of all systems under one measure, with a significance test of every pair.
The leaderboards of several tools make a `Comparison`: a verdict per pair over all tools, the axis that causes each
flip, and the rank correlation between the tools' leaderboards.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any, Unpack, overload

from pippin.data.inputs import align_rows, coerce_judgements, coerce_scores
from pippin.data.matrix import read_matrix
from pippin.display import Displayable, Plottable, rows_to_columns
from pippin.display.terminal import progress
from pippin.errors import DataError, UnknownName
from pippin.evaluation.convention import AXES, Axes, check_axes
from pippin.evaluation.correlation import correlate_vectors
from pippin.evaluation.evaluate import check_measures, default_tool, name_systems
from pippin.evaluation.evaluation import RankingCache, evaluate_rankings
from pippin.evaluation.measures.notation import text_of, texts_of
from pippin.evaluation.paired_tests import CORRECTIONS, TESTS
from pippin.evaluation.reconcile import Reconciliation, reconcile_rankings
from pippin.evaluation.significance import MeanInterval, PairwiseTests, compare_systems, system_intervals
from pippin.evaluation.tools import Tool, ToolSelection, names_only_groups, resolve_tools, run_tools
from pippin.evaluation.value_table import Missing, Undefined, ValueTable

Step = Callable[[str], None]
EQUAL = 1e-12  # means closer than this are equal, up to the order of summation
_COLUMNS = ("measure", "tool", "system", "rank", "mean", "low", "high", "better_than", "worse_than")


@dataclass(frozen=True)
class TestSettings:
    """How differences are tested."""

    test: str = "t"
    correction: str = "holm"
    baseline: str | Sequence[str] | None = None
    alpha: float = 0.05
    resamples: int | None = None
    seed: int = 0
    missing: Missing = "error"
    interval: Any = "bca"
    power: float | None = 0.8  # for the number of queries needed; None: not computed


@dataclass(frozen=True, eq=False)
class ToolLeaderboard:
    """One tool's means and significance tests of all systems under one measure."""

    name: str  # of the tool, or of the matrix
    measure: str
    table: ValueTable
    tests: PairwiseTests
    means: Mapping[str, float]
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # system → (worst, best) order of ties

    def __repr__(self) -> str:
        means = ", ".join(f"{system} {self.means[system]:.4f}" for system in self.order())
        return f"ToolLeaderboard({self.name!r}, {self.measure}: {means})"

    def order(self) -> list[str]:
        """Return the systems, best first; equal means in the order of the input."""
        return sorted(self.means, key=lambda s: -self.means[s])

    def winner(self, a: str, b: str) -> int:
        """Return 1 if a has the higher mean, −1 if b has, 0 if they are equal."""
        difference = self.means[a] - self.means[b]
        return 0 if abs(difference) <= EQUAL else 1 if difference > 0 else -1

    def significant(self, a: str, b: str) -> bool:
        """Return whether the difference is significant after correction; False if the pair was not tested."""
        return (a, b) in self.tests.significant_names

    def significantly_worse(self, system: str) -> list[str]:
        """Return the systems that a system is significantly better than, best first."""
        return [s for s in self.order() if self.winner(system, s) > 0 and self.significant(system, s)]

    def significantly_better(self, system: str) -> list[str]:
        """Return the systems that are significantly better than a system, best first."""
        return [s for s in self.order() if self.winner(s, system) > 0 and self.significant(system, s)]


@dataclass(frozen=True)
class Verdict:
    """The winner of a pair under every tool; `a` is ahead under the first tool."""

    a: str
    b: str
    tools_preferring_a: tuple[str, ...]  # tools under which a is ahead
    tools_preferring_b: tuple[str, ...]
    equal: tuple[str, ...]
    significant: tuple[str, ...]  # tools under which the difference is significant
    causes: tuple[tuple[str, str, float], ...] = ()  # (tool, choice, change of a − b) for every tool that flips

    @property
    def flips(self) -> bool:
        """Whether tools disagree about the winner."""
        return bool(self.tools_preferring_a and self.tools_preferring_b)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Plottable):
    """The leaderboards of several tools under one measure."""

    measure: str
    boards: tuple[ToolLeaderboard, ...]
    intervals: tuple[MeanInterval, ...]  # of the first board
    verdicts: tuple[Verdict, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)  # tools that cannot evaluate the data → reason

    @property
    def first(self) -> ToolLeaderboard:
        """The leaderboard that orders the tables."""
        return self.boards[0]

    @cached_property
    def flips(self) -> list[Verdict]:
        """Pairs about which tools disagree."""
        return [v for v in self.verdicts if v.flips]

    def to_dict(self) -> dict[str, Any]:
        """Return a row per tool and system.

        The interval of the mean is that under the first tool. The last columns name the systems that are significantly
        worse and better.
        """
        intervals = {i.system: (i.low, i.high) for i in self.intervals}
        rows = []
        for board in self.boards:
            for rank, system in enumerate(board.order(), 1):
                bounds = intervals[system] if board is self.first and system in intervals else (math.nan, math.nan)
                tested = [", ".join(s) for s in (board.significantly_worse(system), board.significantly_better(system))]
                rows.append((self.measure, board.name, system, rank, board.means[system], *bounds, *tested))
        return rows_to_columns(rows, *_COLUMNS)

    def agreement(self, coefficient: str) -> list[list[float]]:
        """Return the rank correlation between the leaderboards of every two tools.

        Parameters
        ----------
        coefficient : str
            Name of a rank correlation coefficient, such as "tau-b"; see `pippin.correlation`.
        """
        columns = [tuple(b.means[s] for s in self.first.means) for b in self.boards]
        # Many tools agree to the last bit, so that few pairs of columns differ.
        values = {
            (x, y): correlate_vectors(x, y, coefficient).value for x, y in product(dict.fromkeys(columns), repeat=2)
        }
        return [[values[x, y] for y in columns] for x in columns]

    def sentence(self) -> str:
        """Return the result in a sentence."""
        pairs, boards = len(self.verdicts), len(self.boards)
        best = self.first.order()[0]
        if boards == 1:
            if self.verdicts and all(v.equal for v in self.verdicts):
                return f"No difference: every system has the mean {self.first.means[best]:.4f}."
            tests = self.first.tests
            undefined = [pair for pair in tests.pairs if pair.reason and pair.difference]
            remark = f" {undefined[0].a} − {undefined[0].b}: {undefined[0].reason}." if undefined else ""
            return (
                f"{best} leads with {self.first.means[best]:.4f}; {len(tests.significant())} of {len(tests.pairs)} "
                f"differences are significant ({tests.method}, {tests.correction}).{remark}"
            )
        everywhere = all(b.order()[0] == best for b in self.boards)
        winners = sorted({b.order()[0] for b in self.boards})
        winner = (
            f"All {boards} tools put {best} first"
            if everywhere
            else f"The winner depends on the tool ({', '.join(winners)})"
        )
        if pairs > 1:
            agreed = sum(not v.flips and len(v.significant) == boards for v in self.verdicts)
            counts = (
                f" Of {pairs} pairs, {len(self.flips)} have another winner under another tool and {agreed} have the "
                "same significant winner under every tool."
            )
        else:
            significant = sum(len(v.significant) for v in self.verdicts)
            finds = "find" if significant > 1 else "finds"
            counts = f" {significant or 'None'} of {boards} tools {finds} the difference significant." * bool(pairs)
        return f"{winner}.{counts}{''.join(f' {omission}.' for omission in self.omissions())}"

    def omissions(self) -> list[str]:
        """Return the tools that were left out by reason."""
        reasons = {
            why: [tool for tool in self.left_out if self.left_out[tool] == why] for why in self.left_out.values()
        }
        return [f"Left out: {', '.join(tools)} ({why})" for why, tools in reasons.items()]


class Comparisons(Displayable, Mapping[str, Comparison]):
    """Comparisons of the same systems under several measures: `Comparison` by measure.

    `to_latex` and `to_markdown` give one table of systems and measures for a paper.
    """

    def __init__(self, comparisons: Iterable[Comparison]) -> None:
        self._comparisons = {comparison.measure: comparison for comparison in comparisons}

    def __getitem__(self, measure: Any) -> Comparison:
        text = text_of(measure)
        if text not in self._comparisons:
            raise UnknownName("measure of this comparison", text, self._comparisons)
        return self._comparisons[text]

    def __iter__(self) -> Iterator[str]:
        return iter(self._comparisons)

    def __len__(self) -> int:
        return len(self._comparisons)

    def to_dict(self) -> dict[str, Any]:
        """Return a row per measure, tool and system; see `Comparison.to_dict`."""
        parts = [comparison.to_dict() for comparison in self.values()]
        return {name: [value for part in parts for value in part[name]] for name in _COLUMNS}


class CompareOptions(Axes, total=False):
    """Keyword arguments of `compare`, for type checkers."""

    baseline: str | Sequence[str] | None
    test: str
    correction: str
    alpha: float
    resamples: int | None
    seed: int
    missing: Missing
    qid: Any
    group: Any
    merge_queries: bool
    verbose: bool


@overload
def compare(
    qrels: Any, systems: Any, measure: list[str] | tuple[str, ...], tool: str | Tool | ToolSelection | None = ...,
    **settings: Unpack[CompareOptions],
) -> Comparisons: ...  # fmt: skip
@overload
def compare(
    qrels: Any, systems: Any = ..., *, measure: list[str] | tuple[str, ...],
    tool: str | Tool | ToolSelection | None = ..., **settings: Unpack[CompareOptions],
) -> Comparisons: ...  # fmt: skip
@overload
def compare(
    qrels: Any, systems: Any = ..., measure: Any = ..., tool: str | Tool | ToolSelection | None = ...,
    **settings: Unpack[CompareOptions],
) -> Comparison: ...  # fmt: skip
def compare(
    qrels: Any,
    systems: Any = None,
    measure: Any = "NDCG@10",
    tool: str | Tool | ToolSelection | None = None,
    *,
    baseline: str | Sequence[str] | None = None,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    missing: Missing = "error",
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    verbose: bool = False,
    **axes: Unpack[Axes],
) -> Comparison | Comparisons:
    """Compare systems: find the better one, test the difference for significance, and compare the verdicts of tools.

    Parameters
    ----------
    qrels : as in `evaluate`, or the values of the systems
        Qrels; or, without `systems`, a dict system → query → value, a `ValueTable`, or a file (CSV, Parquet)
        with a column per system and a row per query.
    systems : dict or list, optional
        Scores, run or model of each system by name, or a list. Runs are named by their tags, or by their files if two
        tags are equal. Models have a method `predict` (Pippin, scikit-learn, LightGBM, XGBoost, CatBoost) and may come
        before the data.
    measure : str or list, default "NDCG@10"
        One measure, or a list, which gives a comparison per measure.
    tool : str, Tool or list, optional
        The first tool orders the tables; by default ``"trec_eval9"`` for qrels and ``"official"`` for data sets,
        followed by all classic tools. Of a group, tools that cannot evaluate are left out.
    baseline : str or list, optional
        Test every system against these only.
    test : str, default "t"
        A significance test: t, wilcoxon, sign, randomization, bootstrap, tukey and others.
    correction : str, default "holm"
        Correction for multiple tests.
    alpha : float, default 0.05
        Significance level.
    resamples : int, optional
        Number of samples of tests that resample.
    seed : int, default 0
        Random seed.
    missing : "error", "drop" or float, default "error"
        What to do with a query that some system lacks: raise, drop it for all, or count this value.
    qid, group, merge_queries
        As in `evaluate`.
    verbose : bool, default False
        Show progress.
    **axes
        Axes of the convention that replace the tool's.

    Returns
    -------
    Comparison or Comparisons
        `Comparisons` by measure if `measure` is a list. Both have `to_latex`, `to_markdown` and `to_pandas`.

    Examples
    --------
    >>> labels, qid = [1, 0, 1, 0, 1, 0], [1, 1, 2, 2, 3, 3]
    >>> systems = {"good": [2, 1, 2, 1, 2, 1], "bad": [1, 2, 1, 2, 2, 1]}
    >>> comparison = compare(labels, systems, "RR", "official", qid=qid)
    >>> comparison.first.order(), comparison.first.means["bad"]
    (['good', 'bad'], 0.6666666666666666)
    """
    check_axes(axes, compare)
    plan = TestSettings(test, correction, baseline, alpha, resamples, seed, missing)
    TESTS[test], CORRECTIONS[correction]  # report an unknown name before anything is read
    if systems is None:
        return _compare_values(qrels, plan, verbose)
    measures, tools = texts_of(measure), resolve_tools("classic" if tool is None else tool)
    check_measures(measures, tools)
    qrels, systems, qid = align_rows(qrels, systems, qid)
    data = coerce_judgements(qrels, qid=qid, group=group, merge_queries=merge_queries)
    rankings = {
        name: RankingCache(data, coerce_scores(scored, data, merge_queries=merge_queries))
        for name, scored in name_systems(systems, by_tag=True).items()
    }
    if tool is None:
        tools = resolve_tools((default_tool(data), "classic"))
    leave_out = tool is None or names_only_groups(tool)
    with progress(len(measures) * len(tools), "comparing", enabled=verbose) as bar:
        comparisons = [
            compare_rankings(rankings, text, tools, plan, axes, bar.step, leave_out=leave_out) for text in measures
        ]
    return Comparisons(comparisons) if isinstance(measure, (list, tuple)) else comparisons[0]


def _compare_values(values: Any, plan: TestSettings, verbose: bool) -> Comparison:
    """Compare systems by their values per query, from a file, a dict or a `ValueTable`."""
    undefined: Undefined = "drop" if plan.missing == "drop" else "error"
    name = "values"
    if isinstance(values, (str, os.PathLike)):
        matrix, name = read_matrix(os.fspath(values)), Path(values).stem
        values = ValueTable.from_arrays(
            matrix.values, systems=matrix.columns, query_ids=matrix.rows or None, undefined=undefined
        )
    elif not isinstance(values, ValueTable):
        values = ValueTable.from_systems(values, missing=plan.missing, undefined=undefined)
    with progress(1, "testing", enabled=verbose) as bar:
        comparison = compare_table(values, name, plan)
        bar.step()
    return comparison


def compare_rankings(
    systems: Mapping[str, RankingCache], measure: str, tools: Sequence[Tool], plan: TestSettings,
    overrides: Mapping[str, Any], step: Step = lambda _: None, *, leave_out: bool = False,
) -> Comparison:  # fmt: skip
    """Compare systems under one measure as every tool would; `leave_out` tools that cannot."""
    if len(systems) < 2:
        raise DataError("a comparison needs at least two systems")
    boards: list[ToolLeaderboard] = []

    def add_board(tool: Tool) -> Tool:
        boards.append(_board(systems, measure, tool, plan, overrides, ties=not boards))
        step(tool.name)
        return tool

    evaluated, left_out = run_tools(tools, add_board, leave_out=leave_out)
    verdicts = _verdicts(boards)
    if any(v.flips for v in verdicts) and not overrides:
        verdicts = _explain(verdicts, boards, systems, measure, list(evaluated.values()), step)
    return Comparison(measure, tuple(boards), _intervals(boards[0].table, plan), tuple(verdicts), left_out)


def compare_table(table: ValueTable, name: str, plan: TestSettings) -> Comparison:
    """Compare systems by a matrix of per-query values, without judgements and tools."""
    return compare_leaderboards([make_leaderboard(name, name, table, plan)], _intervals(table, plan))


def make_leaderboard(
    name: str, measure: str, table: ValueTable, plan: TestSettings, means: Mapping[str, float] | None = None
) -> ToolLeaderboard:
    """Return a leaderboard from per-query values; `means` replace the plain means over queries."""
    plain = dict(zip(table.systems, table.means.tolist(), strict=True))
    return ToolLeaderboard(name, measure, table, test_pairs(table, plan), plain if means is None else means)


def compare_leaderboards(boards: Sequence[ToolLeaderboard], intervals: Sequence[MeanInterval] = ()) -> Comparison:
    """Compare leaderboards of the same systems under one measure; the first orders the tables."""
    return Comparison(boards[0].measure, tuple(boards), tuple(intervals), tuple(_verdicts(boards)))


def test_pairs(table: ValueTable, plan: TestSettings) -> PairwiseTests:
    """Test the pairs of systems of a table of values."""
    return compare_systems(
        table, plan.test, baseline=plan.baseline, correction=plan.correction, alpha=plan.alpha,
        resamples=plan.resamples, seed=plan.seed, power=plan.power,
    )  # fmt: skip


def _intervals(table: ValueTable, plan: TestSettings) -> tuple[MeanInterval, ...]:
    return system_intervals(table, plan.interval, alpha=plan.alpha, seed=plan.seed)


def _board(
    systems: Mapping[str, RankingCache],
    measure: str,
    tool: Tool,
    plan: TestSettings,
    overrides: Mapping[str, Any],
    ties: bool,
) -> ToolLeaderboard:
    values, means, ranges = {}, {}, {}
    for name, rankings in systems.items():
        (column,) = evaluate_rankings(rankings, [measure], tool, overrides, name).columns
        values[name], means[name] = dict(zip(column.query_ids, column.values.tolist(), strict=True)), column.mean
        if ties:
            worst, best = (
                evaluate_rankings(rankings, [measure], tool, {**overrides, "ties": bound}, name).mean[measure]
                for bound in ("worst", "best")
            )
            ranges[name] = (worst, best)
    try:
        table = ValueTable.from_systems(values, missing=plan.missing, undefined="drop")
    except DataError as error:
        raise DataError(f"under {tool.name} the systems have different queries: {error}") from None
    return ToolLeaderboard(tool.name, measure, table, test_pairs(table, plan), means, ranges)


def _verdicts(boards: Sequence[ToolLeaderboard]) -> list[Verdict]:
    """Return a verdict per pair, the leader of the first leaderboard first."""
    order = boards[0].order()
    verdicts = []
    for a, b in combinations(order, 2):
        winners = {board.name: board.winner(a, b) for board in boards}
        verdicts.append(
            Verdict(
                a, b,
                tuple(n for n, w in winners.items() if w > 0),
                tuple(n for n, w in winners.items() if w < 0),
                tuple(n for n, w in winners.items() if w == 0),
                tuple(board.name for board in boards if board.significant(a, b)),
            )
        )  # fmt: skip
    return verdicts


def _explain(
    verdicts: Sequence[Verdict], boards: Sequence[ToolLeaderboard], systems: Mapping[str, RankingCache], measure: str,
    tools: Sequence[Tool], step: Step,
) -> list[Verdict]:  # fmt: skip
    """Add, for every pair that flips, the choice of each dissenting tool that changes a − b most in favour of b."""
    by_name = {tool.name: tool for tool in tools}
    reconciliations: dict[tuple[str, str, str], Reconciliation] = {}

    def shares(system: str, source: str, target: str) -> dict[str, float]:
        key = (system, source, target)
        if key not in reconciliations:
            reconciliations[key] = reconcile_rankings(systems[system], measure, by_name[source], by_name[target])
            step(f"why {target} differs on {system}")
        return {share.axis: share.value for share in reconciliations[key].contributions}

    explained = []
    for verdict in verdicts:
        if not verdict.flips:
            explained.append(verdict)
            continue
        source = verdict.tools_preferring_a[0]
        causes = []
        for target in verdict.tools_preferring_b:
            of_a, of_b = shares(verdict.a, source, target), shares(verdict.b, source, target)
            moves = {axis: of_a.get(axis, 0.0) - of_b.get(axis, 0.0) for axis in {*of_a, *of_b}}
            axis = min(sorted(moves), key=moves.__getitem__)
            causes.append((target, AXES[axis].label, moves[axis]))
        explained.append(replace(verdict, causes=tuple(causes)))
    return explained
