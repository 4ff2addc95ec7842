"""Who leads on a data set, by how much, how surely, and what is missing?

A leaderboard is one data set under one measure and one evaluation tool. A ranker's mean is LETOR's: the mean of the
folds' means, and over seeds where there are several. Its standard error comes from the queries of every fold, averaged
in quadrature over the folds. Every pair of rankers is tested on their queries as `compare` does. A ranker that lacks a
cell has no mean: it is named with the reason, and never averaged over what happens to be there.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError, UnknownName
from pippin.evaluation.compare import Board, Comparison, TestPlan, board_of, compare_boards
from pippin.evaluation.scores import Scores
from pippin.evaluation.significance import MeanInterval

if TYPE_CHECKING:
    from polars import DataFrame

NDCGS = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10")
PRECISIONS = ("P@1", "P@3", "P@5", "P@10", "MAP")
LETOR_MEASURES = (*NDCGS, *PRECISIONS)  # what LETOR 3.0 prints for a data set (Qin et al. 2010, Tables 5-18)


F64 = NDArray[np.float64]
QueryValues = Mapping[str, Mapping[str, Mapping[str, float]]]  # ranker → fold → query → value, averaged over seeds


class Grid(Protocol):
    """What a leaderboard asks of results, as `bench.store.Results` gives it."""

    def means(self) -> DataFrame:
        """Data, fold, ranker, convention, seed, tool, measure, mean."""

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> DataFrame:
        """The same columns with query and value instead of mean; null where a query does not count."""

    def failures(self) -> DataFrame:
        """Data, fold, ranker, convention, seed, reason."""

    def missing(self) -> list[dict[str, Any]]:
        """Cells that were asked for and are not there, failed or not."""


class Frames:
    """What some tools say under some measures, read from results once, for several leaderboards."""

    def __init__(self, grid: Grid, tools: Sequence[str], measures: Sequence[str]) -> None:
        self._means, self._failures, self._missing = grid.means(), grid.failures(), grid.missing()
        self._values = grid.values(tools, measures)

    def means(self) -> DataFrame:
        """All means."""
        return self._means

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> DataFrame:
        """The values of the tools and measures that were read; asking for fewer is up to the reader."""
        return self._values

    def failures(self) -> DataFrame:
        """The failures."""
        return self._failures

    def missing(self) -> list[dict[str, Any]]:
        """The cells that are not there."""
        return self._missing


class Place(NamedTuple):
    """Which leaderboard."""

    data: str
    tool: str
    measure: str


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


@dataclass(frozen=True, eq=False)
class Leaderboard:
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

    @cached_property
    def queries(self) -> QueryValues:
        """The values of the rankers with a standing."""
        found: dict[str, dict[str, dict[str, float]]] = {s.ranker: {} for s in self.standings}
        for ranker, folds in found.items():
            column = self.values[:, self.rankers.index(ranker)].tolist()
            for (fold, query), value in zip(self.query_keys, column, strict=True):
                if not math.isnan(value):
                    folds.setdefault(fold, {})[query] = value
        return found

    @cached_property
    def board(self) -> Board | None:
        """The tests of every pair; None where there are not two rankers and two queries to test."""
        if len(self.standings) < 2:
            return None
        means = {s.ranker: s.mean for s in self.standings}
        ids = [f"{fold}/{query}" for fold, query in self.query_keys]
        table = self.values[:, [self.rankers.index(ranker) for ranker in means]]
        scores = Scores.from_arrays(table, systems=list(means), query_ids=ids, undefined="drop")
        return board_of(self.tool, self.measure, scores, self.plan, means) if len(scores.query_ids) > 1 else None

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
    grid: Grid,
    *,
    data: Sequence[str] | None = None,
    tools: Sequence[str] = ("official",),
    measures: Sequence[str] = LETOR_MEASURES,
    convention: str | None = None,
    plan: TestPlan | None = None,
) -> dict[Place, Leaderboard]:
    """Every leaderboard asked for that the results can give; a tool that cannot compute a measure has none for it."""
    import polars as pl

    plan = replace(plan or TestPlan(), power=None)
    means, failures = grid.means(), absent(grid)
    if means.is_empty() and failures.is_empty():
        raise DataError("the results hold no cell yet")
    trained = training_convention(means, failures, convention)
    names = _known("data set", data, [*means["data"], *failures["data"]])
    _known("tool of the results", tools, means["tool"])
    _known("measure of the results", measures, means["measure"])
    blind = _blind(means, failures, trained)
    cells = ((pl.col("convention") == trained) | pl.col("ranker").is_in(blind)) & pl.col("data").is_in(names)
    asked = pl.col("tool").is_in(list(tools)) & pl.col("measure").is_in(list(measures))
    averaged = _averaged(grid.values(list(tools), list(measures)).filter(cells & asked))
    errors = _fold_spreads(averaged)
    parts = _parts(means.filter(cells & asked), list(Place._fields))
    grids = {}
    for name in names:
        known, failed = (frame.filter(pl.col("data") == name) for frame in (means, failures))
        rankers = {*known["ranker"], *failed["ranker"]}
        own = averaged.filter(pl.col("data") == name)
        grids[name] = _Cells(known.filter(cells), failed.filter(cells), own, rankers, trained)
    found = {}
    for place in (Place(*p) for p in product(names, tools, measures)):
        if place in parts or not grids[place.data].some:
            there = parts.get(place, means.clear())
            found[place] = _leaderboard(place, trained, there, grids[place.data], errors.get(place, {}), plan)
    return found


def leaderboard(
    grid: Grid,
    data: str,
    measure: str = "NDCG@10",
    tool: str = "official",
    *,
    convention: str | None = None,
    plan: TestPlan | None = None,
) -> Leaderboard:
    """The leaderboard of one data set under one measure and one tool."""
    place = Place(data, tool, measure)
    found = leaderboards(grid, data=[data], tools=[tool], measures=[measure], convention=convention, plan=plan)
    if place not in found:
        raise DataError(f"{tool} gives no {measure} on {data}")
    return found[place]


def absent(grid: Grid) -> DataFrame:
    """The failures, and with the reason “not run” the cells that are still to come."""
    import polars as pl

    failures = grid.failures()
    key = failures.columns[:5]
    failed = set(failures.select(key).iter_rows())
    waiting = [tuple(entry[name] for name in key) for entry in grid.missing()]
    rows = [(*entry, "not run") for entry in waiting if entry not in failed]
    return pl.concat([failures, pl.DataFrame(rows, failures.schema, orient="row")])


def training_convention(means: DataFrame, failures: DataFrame, wanted: str | None = None) -> str:
    """The training convention to show: the one wanted, else official, else the only one there is."""
    known: list[str] = sorted({*means["convention"], *failures["convention"]})
    if wanted is not None:
        if wanted not in known:
            raise UnknownName("training convention of the results", wanted, known)
        return wanted
    if "official" in known:
        return "official"
    if len(known) > 1:
        raise DataError(f"the results hold several training conventions; choose one of {', '.join(known)}")
    return known[0]


def _blind(means: DataFrame, failures: DataFrame, convention: str) -> list[str]:
    """Rankers without a cell under the convention because their training looks at no measure: it is the same anyway."""
    import polars as pl

    under = pl.col("convention") == convention
    there = {*means.filter(under)["ranker"], *failures.filter(under)["ranker"]}
    absent = sorted({*means["ranker"], *failures["ranker"]} - there)
    if not absent:
        return []
    from pippin.rankers import names, ranker

    known = names()
    return [name for name in absent if name in known and "convention" not in ranker(name)().get_params()]


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


def _restricted(found: Leaderboard, rankers: Sequence[str]) -> Board:
    """The board of these rankers alone; the tests stay those of all, so that a mark means the same everywhere."""
    board = found.board
    if board is None:
        raise ValueError("a leaderboard without tests has no board")
    means = {r: board.means[r] for r in rankers}
    return Board(board.name, board.measure, board.scores, board.tested, means)


def standard_error(folds: Sequence[tuple[float, int]]) -> float:
    """√(Σ s²/n) / F of F folds with the variance s² over n queries: averaged in quadrature (Busa-Fekete et al. 2012).

    >>> standard_error([(0.5, 2), (0.5, 2)]) == (0.5 / 2 + 0.5 / 2) ** 0.5 / 2
    True
    """
    return math.sqrt(math.fsum(variance / n for variance, n in folds)) / len(folds) if folds else math.nan


class _Cells:
    """The cells that a data set should have, every fold of any ranker with every seed of the ranker, and its values."""

    def __init__(
        self, means: DataFrame, failures: DataFrame, averaged: DataFrame, rankers: Iterable[str], convention: str
    ) -> None:
        columns = ["ranker", "fold", "seed"]
        there = set(means.select(columns).unique().iter_rows())
        self.some = bool(there)  # or else every cell failed
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

    def expected(self, ranker: str) -> list[tuple[str, int]]:
        """Folds and seeds of the ranker."""
        return list(product(self.folds, self.seeds[ranker]))

    def gap(self, ranker: str, fold: str, seed: int, ran: bool) -> Gap:
        """Why the cell has no value."""
        reason = self.reasons.get((ranker, fold, seed), "no query counts" if ran else "not run")
        return Gap(ranker, fold, seed, reason)


Spreads = Mapping[tuple[str, str], tuple[float, int]]  # (ranker, fold) → variance over queries, their number


def _numbered(
    averaged: DataFrame, rankers: Sequence[str]
) -> tuple[tuple[tuple[str, str], ...], dict[tuple[object, ...], DataFrame]]:
    """Fold and id of every query, fold by fold; and by tool and measure the values with the numbers of both."""
    import polars as pl

    key = ["fold", "query"]
    queries = averaged.select(key).unique(maintain_order=True).sort("fold", maintain_order=True).with_row_index("at")
    ranker = pl.col("ranker").replace_strict(rankers, list(range(len(rankers))), return_dtype=pl.Int64)
    numbered = averaged.join(queries, on=key).select("tool", "measure", query="at", ranker=ranker, value="value")
    return tuple(queries.select(key).iter_rows()), _parts(numbered, ["tool", "measure"])


def _leaderboard(
    place: Place, convention: str, means: DataFrame, cells: _Cells, spreads: Spreads, plan: TestPlan
) -> Leaderboard:
    by_cell = {row[:3]: row[3] for row in means.select("ranker", "fold", "seed", "mean").iter_rows()}
    gaps, standings = [], []
    for ranker in cells.rankers:
        found = {at: _defined(by_cell.get((ranker, *at))) for at in cells.expected(ranker)}
        gaps += [cells.gap(ranker, *at, (ranker, *at) in by_cell) for at, v in found.items() if math.isnan(v)]
        if not any(map(math.isnan, found.values())):
            own = [spreads.get((ranker, fold), (math.nan, 1)) for fold in cells.folds]
            standings.append(_standing(ranker, found, cells, own, plan.alpha))
    standings.sort(key=lambda s: (-s.mean, s.ranker))
    values = cells.values(place.tool, place.measure)
    return Leaderboard(
        *place, convention, cells.folds, tuple(standings), tuple(gaps), cells.rankers, cells.query_keys, values, plan
    )


def _defined(mean: float | None) -> float:
    return math.nan if mean is None else float(mean)


def _averaged(values: DataFrame) -> DataFrame:
    """The values averaged over seeds, without the queries that do not count."""
    import polars as pl

    kept = values.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
    if kept["seed"].n_unique() < 2:
        return kept
    keys = [*Place._fields, "ranker", "fold", "query"]
    return kept.sort("seed", maintain_order=True).group_by(keys, maintain_order=True).agg(pl.col("value").mean())


def _fold_spreads(averaged: DataFrame) -> dict[Place, dict[tuple[str, str], tuple[float, int]]]:
    """The variance over the queries of every fold, and their number."""
    import polars as pl

    keys = [*Place._fields, "ranker", "fold"]
    spreads = averaged.group_by(keys, maintain_order=True).agg(pl.col("value").var().alias("variance"), pl.len())
    found: dict[Place, dict[tuple[str, str], tuple[float, int]]] = {}
    for data, tool, measure, ranker, fold, variance, number in spreads.iter_rows():
        found.setdefault(Place(data, tool, measure), {})[ranker, fold] = (_defined(variance), number)
    return found


def _standing(
    ranker: str, found: Mapping[tuple[str, int], float], cells: _Cells, spreads: Sequence[tuple[float, int]],
    alpha: float,
) -> Standing:  # fmt: skip
    seeds = cells.seeds[ranker]
    by_fold = {f: math.fsum(found[f, s] for s in seeds) / len(seeds) for f in cells.folds}
    by_seed = [math.fsum(found[f, s] for f in cells.folds) / len(cells.folds) for s in seeds]
    mean = math.fsum(by_seed) / len(by_seed)
    error = standard_error(spreads)
    half = error * _quantile(alpha, sum(number - 1 for _, number in spreads))
    spread = statistics.stdev(by_seed) if len(by_seed) > 1 else math.nan
    return Standing(ranker, mean, error, mean - half, mean + half, by_fold, len(seeds), spread)


@cache
def _quantile(alpha: float, freedom: int) -> float:
    """Student's t that a share alpha of its absolute values exceeds."""
    from scipy import stats

    return float(stats.t.isf(alpha / 2, freedom)) if freedom > 0 else math.nan


def _parts(frame: DataFrame, by: list[str]) -> dict[tuple[object, ...], DataFrame]:
    return frame.partition_by(by, as_dict=True, maintain_order=True) if len(frame) else {}


def _known(kind: str, wanted: Sequence[str] | None, there: Iterable[str]) -> list[str]:
    """The names wanted, each checked; all of them where none is given."""
    known = sorted(set(there))
    for name in wanted or ():
        if name not in known:
            raise UnknownName(kind, name, known)
    return list(wanted) if wanted is not None else known


def datasets_of(boards: Mapping[Place, Leaderboard]) -> Iterator[str]:
    """The data sets of leaderboards, each once, in their order."""
    return iter(dict.fromkeys(place.data for place in boards))
