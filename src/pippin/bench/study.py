"""What does it do to a ranker to be trained, or evaluated, under another tool's convention?

The study of Busa-Fekete et al. (2012), §5, on any data: rankers that look at a measure while they learn, and one that
does not as a control, are trained for NDCG@10 under several conventions and evaluated under all. What comes out are
NDCG@1…10 with standard errors over queries, averaged in quadrature over the folds, and the paper's conclusions with
the number and the significance that they have here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pippin.bench.leaderboard import BoardKey, Leaderboard, leaderboards
from pippin.bench.standings import Gap
from pippin.bench.tables import CellTables, LoadedTables, absent
from pippin.errors import DataError, UnknownName
from pippin.evaluation.tools import TOOLS, chosen

if TYPE_CHECKING:
    from pippin.bench.conclusions import Conclusion
    from pippin.bench.runner import Outcome

# The paper's RANKLIB/TREC is twice here: `official` takes ties in expectation, `ranklib` in the order of the input, as
# `yahoo` does. Between `ranklib` and `yahoo` nothing differs but the value of empty queries.
CONVENTIONS = ("official", "ranklib", "yahoo", "letor4")
LAST = 10
MEASURE = f"NDCG@{LAST}"  # what is optimised, and what the conclusions speak of
CUTOFFS = tuple(range(1, LAST + 1))


class StudyTables(CellTables, Protocol):
    """Results with their cells, whose scores can be held against each other."""

    @property
    def cells(self) -> Sequence[Any]:
        """Finished cells with `key` (data, fold, ranker, convention, seed) and `scores()`."""


@dataclass(frozen=True)
class Point:
    """One ranker, trained under one convention and evaluated by one tool, at one cutoff."""

    ranker: str
    convention: str
    tool: str
    cutoff: int
    mean: float
    error: float


@dataclass(frozen=True, eq=False)
class Study:
    """One data set, studied."""

    data: str
    conventions: tuple[str, ...]  # of training; the first is the base that others are held against
    tools: tuple[str, ...]  # of evaluation
    boards: Mapping[str, Mapping[BoardKey, Leaderboard]]  # by training convention
    conclusions: tuple[Conclusion, ...]

    @property
    def base(self) -> str:
        """The training convention that others are held against."""
        return self.conventions[0]

    @cached_property
    def rankers(self) -> tuple[str, ...]:
        """Rankers with all their cells under some convention, best first under the base."""
        ranked = [r for c in self.conventions for r in self.board(c, self.tools[0], LAST).by_ranker]
        return tuple(dict.fromkeys(ranked))

    def board(self, convention: str, tool: str, cutoff: int) -> Leaderboard:
        """One leaderboard of the study."""
        return self.boards[convention][BoardKey(self.data, tool, f"NDCG@{cutoff}")]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The curves."""
        return tuple(
            Point(ranker, convention, tool, cutoff, board.by_ranker[ranker].mean, board.by_ranker[ranker].error)
            for ranker in self.rankers
            for convention in self.conventions
            for tool in self.tools
            for cutoff in CUTOFFS
            if ranker in (board := self.board(convention, tool, cutoff)).by_ranker
        )

    @cached_property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """The tools in groups whose curves nobody could tell apart in a figure: all points within 0.0005."""
        curves: dict[str, dict[tuple[str, str, int], float]] = {tool: {} for tool in self.tools}
        for p in self.points:
            curves[p.tool][p.ranker, p.convention, p.cutoff] = p.mean
        groups: list[list[str]] = []
        for tool, curve in curves.items():
            for group in groups:
                first = curves[group[0]]
                if first.keys() == curve.keys() and all(abs(first[at] - curve[at]) < 0.0005 for at in curve):
                    group.append(tool)
                    break
            else:
                groups.append([tool])
        # A group is called after the tool that the study is about.
        return tuple(tuple(sorted(group, key=lambda tool: tool not in CONVENTIONS)) for group in groups)

    @cached_property
    def gaps(self) -> tuple[tuple[str, Gap], ...]:
        """Training conventions and the cells that are missing under them."""
        return tuple((c, gap) for c in self.conventions for gap in self.board(c, self.tools[0], LAST).gaps)


def run_study(
    data: Sequence[str],
    output: str | os.PathLike[str],
    *,
    rankers: Sequence[str] | None = None,
    conventions: Sequence[str] = CONVENTIONS,
    tools: Sequence[str] = ("classic",),
    seeds: int = 1,
    quick: bool = False,
    **how: Any,
) -> Outcome:
    """Compute the cells of the study that are not there yet; `how` goes to `bench.runner.run`.

    They are evaluated under `tools`, and under those that the conclusions are about.
    """
    from pippin.bench.conclusions import NEEDED
    from pippin.bench.plan import Experiment, first_seeds
    from pippin.bench.runner import run
    from pippin.rankers import names, ranker

    rankers = [name for name in names() if ranker(name).in_study] if rankers is None else rankers
    optimised = {name: {"measure": MEASURE} for name in rankers if "measure" in ranker(name)().get_params()}
    evaluated = tuple(dict.fromkeys([*(tool.name for tool in chosen(tuple(tools))), *NEEDED]))
    plan = Experiment(
        tuple(data), rankers=tuple(rankers), conventions=tuple(conventions), tools=evaluated, select=MEASURE,
        seeds=first_seeds(seeds), quick=quick, parameters=optimised,
    )  # fmt: skip
    return run(plan, output, **how)


def study(
    tables: StudyTables, data: str, *, conventions: Sequence[str] | None = None, tools: Sequence[str] | None = None
) -> Study:
    """The study of one data set from results; conventions and tools are all that the results have unless given."""
    from pippin.bench.conclusions import NEEDED, conclusions

    means = tables.means()
    trained, stored = {*means.names("convention"), *absent(tables).names("convention")}, set(means.names("tool"))
    missing = [tool for tool in (*NEEDED, *(tools or ())) if tool not in stored]
    if not stored and len(failed := tables.failures()):
        raise DataError(f"every cell failed; the first: {failed['reason'][0]}")
    if missing:
        raise UnknownName("tool that the results were evaluated under", missing[0], stored)
    for convention in conventions or ():
        if convention not in trained:
            raise UnknownName("training convention of the results", convention, trained)
    bases = tuple(conventions or (c for c in TOOLS if c in trained))
    if len(bases) < 2:
        raise DataError(f"a study needs at least two training conventions, not {len(bases)}")
    measures = [*(f"NDCG@{k}" for k in CUTOFFS), "MAP"]
    shown = tuple(tools or (t for t in TOOLS if t in stored))
    needed = list(dict.fromkeys([*shown, *NEEDED]))
    loaded = LoadedTables(tables, needed, measures)
    boards = {c: leaderboards(loaded, data=[data], tools=needed, measures=measures, convention=c) for c in bases}
    drawn = Study(data, bases, tuple(t for t in shown if _complete(boards, data, t)), boards, ())
    if not drawn.tools:
        raise DataError(f"none of the tools asked for gives NDCG on {data}")
    return Study(data, bases, drawn.tools, boards, conclusions(drawn, tables.cells))


def _complete(boards: Mapping[str, Mapping[BoardKey, Leaderboard]], data: str, tool: str) -> bool:
    """Whether the tool gives NDCG at every cutoff; one that cannot take the labels does not."""
    return all(BoardKey(data, tool, f"NDCG@{k}") in of for of in boards.values() for k in CUTOFFS)
