"""Many systems, every tool: who wins, is it more than chance, and would another tool say so?

A `Board` is what one tool says of all systems under one measure, with a significance test over every pair. The boards
of several tools make a `Comparison`: for each pair a verdict over all tools, where a verdict flips the choice that
flips it, and the rank correlation between the tools' leaderboards.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from pippin.data.load import as_judged, as_scored
from pippin.errors import DataError
from pippin.evaluation.convention import AXES, check_axes
from pippin.evaluation.corrections import CORRECTIONS
from pippin.evaluation.correlation import correlate
from pippin.evaluation.evaluate import Rankings, evaluate_rankings
from pippin.evaluation.notation import text_of
from pippin.evaluation.reconcile import Reconciliation, reconcile_rankings
from pippin.evaluation.significance import TESTS, MeanInterval, TestedPairs, compare_systems, system_intervals
from pippin.evaluation.tools import Several, Tool, chosen, is_one, said_by
from pippin.evaluation.value_table import Missing, Undefined, ValueTable
from pippin.shown import Drawn, in_columns

Step = Callable[[str], None]
EQUAL = 1e-12  # means closer than this are one number, up to the order of summation


@dataclass(frozen=True)
class TestPlan:
    """How differences are tested."""

    test: str = "t"
    correction: str = "holm"
    baseline: str | None = None
    alpha: float = 0.05
    samples: int | None = None
    seed: int = 0
    missing: Missing = "error"
    interval: Any = "bca"
    power: float | None = 0.8  # at which the number of queries needed is told; None: not told


@dataclass(frozen=True, eq=False)
class Board:
    """One tool's word on all systems under one measure."""

    name: str  # of the tool, or of the matrix
    measure: str
    table: ValueTable
    tested: TestedPairs
    means: Mapping[str, float]
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # system → (worst, best) order of ties

    def __repr__(self) -> str:
        means = ", ".join(f"{system} {self.means[system]:.4f}" for system in self.order())
        return f"Board({self.name!r}, {self.measure}: {means})"

    def order(self) -> list[str]:
        """Systems, best first; equal means in the order given."""
        return sorted(self.means, key=lambda s: -self.means[s])

    def winner(self, a: str, b: str) -> int:
        """1 where a has the higher mean, −1 where b has, 0 where they are equal."""
        difference = self.means[a] - self.means[b]
        return 0 if abs(difference) <= EQUAL else 1 if difference > 0 else -1

    def significant(self, a: str, b: str) -> bool:
        """Whether the difference is significant after correction (False where the pair was not tested)."""
        return (a, b) in self.tested.differing


@dataclass(frozen=True)
class Verdict:
    """What all tools together say of one pair; `a` is ahead under the first tool."""

    a: str
    b: str
    for_a: tuple[str, ...]  # tools under which a is ahead
    for_b: tuple[str, ...]
    equal: tuple[str, ...]
    significant: tuple[str, ...]  # tools under which the difference is significant
    causes: tuple[tuple[str, str, float], ...] = ()  # (tool, choice, how far it moves a − b) for every tool that flips

    @property
    def flips(self) -> bool:
        """Whether tools disagree about the winner."""
        return bool(self.for_a and self.for_b)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Drawn):
    """Boards of several tools for one measure."""

    measure: str
    boards: tuple[Board, ...]
    intervals: tuple[MeanInterval, ...]  # of the first board
    verdicts: tuple[Verdict, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)  # tools that cannot say anything here, and why

    @property
    def first(self) -> Board:
        """The board that orders the tables."""
        return self.boards[0]

    @cached_property
    def flips(self) -> list[Verdict]:
        """Pairs about which tools disagree."""
        return [v for v in self.verdicts if v.flips]

    def to_dict(self) -> dict[str, Any]:
        """A long table: measure, tool, place, system, mean, and where it is known the interval of the mean."""
        intervals = {i.system: (i.low, i.high) for i in self.intervals}
        rows = []
        for board in self.boards:
            for place, system in enumerate(board.order(), 1):
                bounds = intervals[system] if board is self.first and system in intervals else (math.nan, math.nan)
                rows.append((self.measure, board.name, place, system, board.means[system], *bounds))
        return in_columns(rows, "measure", "tool", "place", "system", "mean", "low", "high")

    def agreement(self, coefficient: str) -> list[list[float]]:
        """Rank correlation between the leaderboards of every two tools."""
        columns = [tuple(b.means[s] for s in self.first.means) for b in self.boards]
        # Many tools agree to the last bit, so that few pairs of columns differ.
        known = {
            (x, y): correlate(np.array(x), np.array(y), coefficient, top="high").value
            for x, y in product(dict.fromkeys(columns), repeat=2)
        }
        return [[known[x, y] for y in columns] for x in columns]

    def sentence(self) -> str:
        """The verdict in plain words."""
        pairs, boards = len(self.verdicts), len(self.boards)
        best = self.first.order()[0]
        if boards == 1:
            proven = sum(bool(v.significant) for v in self.verdicts)
            return (
                f"{best} leads with {self.first.means[best]:.4f}; {proven} of {pairs} differences are significant "
                f"({self.first.tested.method}, {self.first.tested.correction})."
            )
        everywhere = all(b.order()[0] == best for b in self.boards)
        winners = sorted({b.order()[0] for b in self.boards})
        winner = (
            f"All {boards} tools put {best} first"
            if everywhere
            else f"The winner depends on the tool ({', '.join(winners)})"
        )
        firm = sum(not v.flips and len(v.significant) == boards for v in self.verdicts)
        silent = "".join(f" {words}." for words in self.omissions())
        told = (
            f" Of {pairs} pairs, {len(self.flips)} with another winner under another tool, {firm} decided the same way "
            "and significantly by every tool."
        )
        significant = sum(len(v.significant) for v in self.verdicts)
        sure = (
            f" {significant or 'None'} of {boards} tools find{'s' * (significant <= 1)} the difference significant."
            if pairs
            else ""
        )
        return f"{winner}.{told if pairs > 1 else sure}{silent}"

    def omissions(self) -> list[str]:
        """The tools that were left out, and why, a reason each."""
        reasons = {
            why: [tool for tool in self.left_out if self.left_out[tool] == why] for why in self.left_out.values()
        }
        return [f"Left out: {', '.join(tools)} ({why})" for why, tools in reasons.items()]


def compare(
    judged: Any,
    systems: Mapping[str, Any] | Sequence[Any] | None = None,
    measure: Any = "NDCG@10",
    tool: str | Tool | Several = "classic",
    *,
    baseline: str | None = None,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
    samples: int | None = None,
    seed: int = 0,
    missing: Missing = "error",
    qid: Any = None,
    group: Any = None,
    merge_queries: bool = False,
    step: Step = lambda _: None,
    **axes: Any,
) -> Comparison:
    """Compare systems under one measure: who wins, is it more than chance, and would another tool say so?

    judged      as in `evaluate`; or, without systems, their values: system → query → value, or a `ValueTable`
    systems     the scores or run of each system by its name, or a list of them (files are called by their names)
    measure     one, in any notation
    tool        one, several, or all; the first orders the tables
    baseline    test every system against this one only
    test        any of `significance.TESTS`: t, wilcoxon, sign, randomization, bootstrap, tukey …
    correction  any of `corrections.CORRECTIONS`, over the family of all pairs
    missing     a query that some system lacks: an error, "drop", or a value to count
    step        called with a word whenever a part of the work is done

    >>> labels, qid = [1, 0, 1, 0, 1, 0], [1, 1, 2, 2, 3, 3]
    >>> found = compare(labels, {"good": [2, 1, 2, 1, 2, 1], "bad": [1, 2, 1, 2, 2, 1]}, "RR", "official", qid=qid)
    >>> found.first.order(), found.first.means["bad"]
    (['good', 'bad'], 0.6666666666666666)
    """
    check_axes(axes, compare)
    plan = TestPlan(test, correction, baseline, alpha, samples, seed, missing)
    TESTS[test], CORRECTIONS[correction]  # an unknown name is found before anything is read
    if systems is None:
        undefined: Undefined = "drop" if missing == "drop" else "error"
        table = judged
        if not isinstance(table, ValueTable):
            table = ValueTable.from_systems(judged, missing=missing, undefined=undefined)
        return compare_table(table, "values", plan)
    asked, tools = text_of(measure), chosen(tool)
    data = as_judged(judged, qid=qid, group=group, merge_queries=merge_queries)
    rankings = {
        name: Rankings(data, as_scored(scored, data, merge_queries=merge_queries))
        for name, scored in named(systems).items()
    }
    return compare_rankings(
        rankings, asked, tools, plan, axes, step, leave_out=isinstance(tool, str) and not is_one(tool)
    )


def named(systems: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Systems by name: their own, that of their file (with its folder where two are alike), or their number.

    >>> list(named(["a/run.txt", "b/run.txt"])), list(named(["a/x.txt", "b/y.txt"])), list(named([[1.0], [2.0]]))
    (['a/run.txt', 'b/run.txt'], ['x.txt', 'y.txt'], ['1', '2'])
    """
    if isinstance(systems, Mapping):
        return {str(name): scored for name, scored in systems.items()}
    texts = [os.fspath(s) if isinstance(s, (str, os.PathLike)) else None for s in systems]
    short = [
        str(getattr(scored, "name", None) or number) if text is None else Path(text).name
        for number, (text, scored) in enumerate(zip(texts, systems, strict=True), 1)
    ]
    if len(set(short)) != len(short):
        short = [name if text is None else text for name, text in zip(short, texts, strict=True)]
    if len(set(short)) != len(short):
        raise DataError("two systems have one name; give them as a dict, by name")
    return dict(zip(short, systems, strict=True))


def compare_rankings(
    systems: Mapping[str, Rankings], measure: str, tools: Sequence[Tool], plan: TestPlan, overrides: Mapping[str, Any],
    step: Step = lambda _: None, *, leave_out: bool = False,
) -> Comparison:  # fmt: skip
    """Compare systems under one measure as every tool would; `leave_out` those that cannot."""
    if len(systems) < 2:
        raise DataError("a comparison needs at least two systems")
    boards: list[Board] = []

    def say(tool: Tool) -> Tool:
        boards.append(_board(systems, measure, tool, plan, overrides, ties=not boards))
        step(tool.name)
        return tool

    said, left_out = said_by(tools, say, leave_out=leave_out)
    verdicts = _verdicts(boards)
    if any(v.flips for v in verdicts) and not overrides:
        verdicts = _explain(verdicts, boards, systems, measure, list(said.values()), step)
    return Comparison(measure, tuple(boards), _intervals(boards[0].table, plan), tuple(verdicts), left_out)


def compare_table(table: ValueTable, name: str, plan: TestPlan) -> Comparison:
    """Compare systems from a matrix of per-query values, without judgements and so without tools."""
    return compare_boards([board_of(name, name, table, plan)], _intervals(table, plan))


def board_of(
    name: str, measure: str, table: ValueTable, plan: TestPlan, means: Mapping[str, float] | None = None
) -> Board:
    """A board from per-query values; `means` where they are not the plain means over queries."""
    plain = dict(zip(table.systems, table.means.tolist(), strict=True))
    return Board(name, measure, table, tested_by(table, plan), plain if means is None else means)


def compare_boards(boards: Sequence[Board], intervals: Sequence[MeanInterval] = ()) -> Comparison:
    """What boards of the same systems under one measure say together; the first orders the tables."""
    return Comparison(boards[0].measure, tuple(boards), tuple(intervals), tuple(_verdicts(boards)))


def tested_by(table: ValueTable, plan: TestPlan) -> TestedPairs:
    """All pairs of a table of values, tested as a plan says."""
    return compare_systems(
        table, plan.test, baseline=plan.baseline, correction=plan.correction, alpha=plan.alpha, samples=plan.samples,
        seed=plan.seed, power=plan.power,
    )  # fmt: skip


def _intervals(table: ValueTable, plan: TestPlan) -> tuple[MeanInterval, ...]:
    return system_intervals(table, plan.interval, alpha=plan.alpha, seed=plan.seed)


def _board(
    systems: Mapping[str, Rankings], measure: str, tool: Tool, plan: TestPlan, overrides: Mapping[str, Any], ties: bool
) -> Board:
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
    return Board(tool.name, measure, table, tested_by(table, plan), means, ranges)


def _verdicts(boards: Sequence[Board]) -> list[Verdict]:
    """One verdict per pair, the first board's leader first."""
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
    verdicts: Sequence[Verdict], boards: Sequence[Board], systems: Mapping[str, Rankings], measure: str,
    tools: Sequence[Tool], step: Step,
) -> list[Verdict]:  # fmt: skip
    """For every pair that flips, the choice that moves a − b most towards the other side, per dissenting tool."""
    by_name = {tool.name: tool for tool in tools}
    known: dict[tuple[str, str, str], Reconciliation] = {}

    def shares(system: str, source: str, target: str) -> dict[str, float]:
        key = (system, source, target)
        if key not in known:
            known[key] = reconcile_rankings(systems[system], measure, by_name[source], by_name[target])
            step(f"why {target} differs on {system}")
        return {share.axis: share.value for share in known[key].shares}

    explained = []
    for verdict in verdicts:
        if not verdict.flips:
            explained.append(verdict)
            continue
        source = verdict.for_a[0]
        causes = []
        for target in verdict.for_b:
            of_a, of_b = shares(verdict.a, source, target), shares(verdict.b, source, target)
            moves = {axis: of_a.get(axis, 0.0) - of_b.get(axis, 0.0) for axis in {*of_a, *of_b}}
            axis = min(sorted(moves), key=moves.__getitem__)
            causes.append((target, AXES[axis].words, moves[axis]))
        explained.append(replace(verdict, causes=tuple(causes)))
    return explained
