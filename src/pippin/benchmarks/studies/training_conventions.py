"""Study the effect of the training and evaluation convention (Busa-Fekete et al. 2012)."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pippin.benchmarks.leaderboard import Leaderboard, LeaderboardKey, leaderboards
from pippin.benchmarks.plan import Experiment, first_seeds, merge_parameters
from pippin.benchmarks.standings import MissingCell
from pippin.benchmarks.studies.conclusions import CUTOFFS, LAST, MEASURE, NEEDED, Conclusion, conclusions
from pippin.benchmarks.tables import ResultTables, distinct, missing_cells
from pippin.errors import DataError, UnknownName
from pippin.evaluation.tools import TOOLS, resolve_tools
from pippin.rankers import ranker as find_ranker
from pippin.rankers.chains import canonical, parse_parameters, uses_convention

if TYPE_CHECKING:
    from pippin.benchmarks.runner import BenchResult


# Two conventions stand for the paper's RANKLIB/TREC: `official` takes ties in expectation, `ranklib` in input order.
# `yahoo` differs from `ranklib` in the value of empty queries only.
CONVENTIONS = ("official", "ranklib", "yahoo", "letor4")
# The six algorithms of the paper, section 4, with its hyper-parameters. RankNet stops early by its own loss, because
# the controls (RankNet and RankSVM) must not evaluate the measure.
RANKERS = ("adarank", "ranknet(measure=loss)", "rankboost", "ranksvm", "coordinate-ascent", "lambdamart")
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "ranksvm": {"tol": 0.001},
    "coordinate-ascent": {"n_restarts": 30, "max_iter": 100},
    "lambdamart": {"num_leaves": 10, "learning_rate": 0.1},
}
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "adarank": {},  # early stopping selects the number of rounds of the boosting algorithms
    "ranknet": {"hidden_layers": (1, 2, 3), "hidden_units": (10, 50, 100, 500)},
    "rankboost": {},
    "ranksvm": {"C": tuple(10.0**k for k in range(-6, 5))},
    "coordinate-ascent": {},
    "lambdamart": {},
}
LENGTHS = (1, LAST, 20, 100)  # shortest list of each group of queries; the first group is shorter than the cutoff


class StudyTables(ResultTables, Protocol):
    """Tables of results, with cells whose scores are compared."""

    @property
    def cells(self) -> Sequence[Any]:
        """The finished cells, with `key` (data, fold, ranker, convention, seed) and `scores()`."""


@dataclass(frozen=True)
class Point:
    """The mean of one ranker, trained under one convention and evaluated by one tool, at one cutoff."""

    ranker: str
    convention: str
    tool: str
    cutoff: int
    mean: float
    error: float


@dataclass(frozen=True)
class LengthGroup:
    """Queries with lists of similar length, and the mean of every ranker over them."""

    documents: str  # per query, such as "1 to 9"
    queries: int
    means: Mapping[str, float]  # by ranker


@dataclass(frozen=True, eq=False)
class Study:
    """The study of one data set."""

    data: str
    conventions: tuple[str, ...]  # training conventions; the others are compared with the first, the base
    tools: tuple[str, ...]  # evaluation tools
    boards: Mapping[str, Mapping[LeaderboardKey, Leaderboard]]  # by training convention
    lengths: Mapping[str, int]  # number of documents by "fold/query"
    conclusions: tuple[Conclusion, ...]

    @property
    def base(self) -> str:
        """The training convention with which the others are compared."""
        return self.conventions[0]

    @cached_property
    def rankers(self) -> tuple[str, ...]:
        """The rankers with all their cells under some convention, best first under the base."""
        ranked = [r for c in self.conventions for r in self.board(c, self.tools[0], LAST).by_ranker]
        return tuple(dict.fromkeys(ranked))

    def board(self, convention: str, tool: str, cutoff: int) -> Leaderboard:
        """Return one leaderboard of the study."""
        return self.boards[convention][LeaderboardKey(self.data, tool, f"NDCG@{cutoff}")]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The points of all curves."""
        return tuple(
            Point(ranker, convention, tool, cutoff, board.by_ranker[ranker].mean, board.by_ranker[ranker].error)
            for ranker in self.rankers
            for convention in self.conventions
            for tool in self.tools
            for cutoff in CUTOFFS
            if ranker in (board := self.board(convention, tool, cutoff)).by_ranker
        )

    @cached_property
    def by_length(self) -> tuple[LengthGroup, ...]:
        """NDCG@10 by the definition of the rankers trained under the base, for queries grouped by list length."""
        board = self.boards[self.base][LeaderboardKey(self.data, "official", MEASURE)]
        values = {ranker: board.by_query(ranker) for ranker in board.by_ranker}
        groups = []
        for low, high in zip(LENGTHS, (*LENGTHS[1:], math.inf), strict=True):
            queries = [query for query, length in self.lengths.items() if low <= length < high]
            if queries:
                means = {r: math.fsum(of[q] for q in queries) / len(queries) for r, of in values.items()}
                name = f"{low} or more" if high == math.inf else f"{low} to {high - 1:.0f}"
                groups.append(LengthGroup(name, len(queries), means))
        return tuple(groups)

    @cached_property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """The tools in groups whose curves look the same in a figure: all points within 0.0005."""
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
        # The name of a group is its first tool, one of the study's own if there is one.
        return tuple(tuple(sorted(group, key=lambda tool: tool not in CONVENTIONS)) for group in groups)

    @cached_property
    def gaps(self) -> tuple[tuple[str, MissingCell], ...]:
        """The training conventions with their missing cells."""
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
    memory: int | str | None = None,
    **run_options: Any,
) -> BenchResult:
    """Compute the missing cells of the study, evaluated under `tools` and under the tools of the conclusions.

    `run_options` are further arguments of `pippin.benchmarks.runner.run`.
    """
    from pippin.benchmarks.runner import run
    from pippin.system import parse_size

    plan = plan_study(data, rankers, conventions, tools, seeds, quick)
    return run(plan, output, memory=parse_size(memory) if isinstance(memory, str) else memory, **run_options)


def plan_study(
    data: Sequence[str], rankers: Sequence[str] | None, conventions: Sequence[str], tools: Sequence[str], seeds: int,
    quick: bool,
) -> Experiment:  # fmt: skip
    """Return the experiment of the study, by default with the algorithms and hyper-parameters of the paper."""
    names = [canonical(name) for name in (RANKERS if rankers is None else rankers)]
    parameters: Mapping[str, Mapping[str, Any]] = {
        name: {"measure": MEASURE}
        for name in names if uses_convention(find_ranker(name)().get_params() | parse_parameters(name))
    }  # fmt: skip
    if not quick:
        parameters = merge_parameters(parameters, {name: PARAMETERS[name] for name in names if name in PARAMETERS})
    evaluated = tuple(dict.fromkeys([*(tool.name for tool in resolve_tools(tuple(tools))), *NEEDED]))
    return Experiment(
        tuple(data), rankers=tuple(names), conventions=tuple(conventions), tools=evaluated, select=MEASURE,
        seeds=first_seeds(seeds), quick=quick, parameters=parameters, grids={} if quick else GRIDS,
    )  # fmt: skip


def compare_conventions(
    data: Sequence[str],
    output: str | os.PathLike[str],
    *,
    conventions: Sequence[str] = CONVENTIONS,
    tools: Sequence[str] = ("classic",),
    **options: Any,
) -> tuple[list[Study], Mapping[str, str]]:
    """Train rankers under several conventions and evaluate them under several tools.

    Parameters
    ----------
    data : sequence of str
        DATA arguments as of `pippin.bench`.
    output : path
        Folder of the results.
    conventions : sequence of str
        Tools whose conventions training uses.
    tools : sequence of str, default ("classic",)
        Evaluation tools, or groups of them.
    **options
        Further arguments of `run_study`.

    Returns
    -------
    studies : list of Study
        One per data set.
    failed : dict
        Reasons of failed cells by address.

    Examples
    --------
    >>> studies, failed = compare_conventions(["MQ2008"], "results", quick=True)  # doctest: +SKIP
    """
    convention_names = [tool.name for tool in resolve_tools(tuple(conventions))]
    tool_names = [tool.name for tool in resolve_tools(tuple(tools))]
    outcome = run_study(data, output, conventions=convention_names, tools=tool_names, **options)
    names = dict.fromkeys(task.data for task in outcome.tasks)
    return [
        study(outcome.results, name, conventions=convention_names, tools=tool_names) for name in names
    ], outcome.failed


def study(
    tables: StudyTables, data: str, *, conventions: Sequence[str] | None = None, tools: Sequence[str] | None = None
) -> Study:
    """Return the study of one data set from results; by default with all their training conventions and tools."""
    means = tables.means()
    known_conventions = {*distinct(means, "convention"), *distinct(missing_cells(tables), "convention")}
    known_tools = set(distinct(means, "tool"))
    if not known_tools and len(failed := tables.failures()):
        raise DataError(f"every cell failed; the first: {failed['reason'][0].as_py()}")
    for tool in (*NEEDED, *(tools or ())):
        if tool not in known_tools:
            raise UnknownName("tool of the results", tool, known_tools)
    for convention in conventions or ():
        if convention not in known_conventions:
            raise UnknownName("training convention of the results", convention, known_conventions)
    conventions = tuple(conventions or (c for c in TOOLS if c in known_conventions))
    if len(conventions) < 2:
        raise DataError(f"the study needs at least two training conventions, found {len(conventions)}")
    measures = [*(f"NDCG@{k}" for k in CUTOFFS), "MAP"]
    requested = tuple(tools or (t for t in TOOLS if t in known_tools))
    needed = list(dict.fromkeys([*requested, *NEEDED]))
    boards = {c: leaderboards(tables, data=[data], tools=needed, measures=measures, convention=c) for c in conventions}
    # A tool that cannot take the labels of the data set has no leaderboard.
    complete = tuple(
        tool for tool in requested
        if all(LeaderboardKey(data, tool, f"NDCG@{k}") in of for of in boards.values() for k in CUTOFFS)
    )  # fmt: skip
    if not complete:
        raise DataError(f"none of the requested tools computes NDCG on {data}")
    draft = Study(data, conventions, complete, boards, _list_lengths(data, tables.cells), ())
    return replace(draft, conclusions=conclusions(draft, tables.cells))


def _list_lengths(data: str, cells: Sequence[Any]) -> dict[str, int]:
    """Return the number of documents by "fold/query", from one cell per fold."""
    by_fold = {cell.key[1]: cell for cell in cells if cell.key[0] == data}
    return {
        f"{fold}/{query}": length
        for fold, cell in by_fold.items()
        for query, length in Counter(cell.scores()["query"].to_pylist()).items()
    }
