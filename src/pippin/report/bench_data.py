"""Which numbers does the page of a benchmark hold?

Everything that the page shows is computed here, once, from the leaderboards of `bench`: means, intervals, tests,
agreement between tools, winning numbers, sentences, why tools differ, the lists of every query. The page only selects,
sorts and draws. Numbers travel packed; values per query as ten-thousandths, which is what the page prints, and once for
all tools that agree on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.bench.ceilings import MEASURE
from pippin.bench.frame import Frame
from pippin.bench.leaderboard import BoardKey, Leaderboard, agreement, leaderboards
from pippin.bench.published import Published, beside
from pippin.bench.winning_numbers import means_of, winning_numbers
from pippin.errors import DataError
from pippin.report import sheets as made
from pippin.report.bench_words import finding, overall_finding
from pippin.report.explained import explained
from pippin.report.lists import lists_of
from pippin.report.packing import pack, pack_texts
from pippin.report.sheets import Names, Sheet

if TYPE_CHECKING:
    from pippin.bench.store import Results
    from pippin.evaluation.compare import Comparison

Boards = Mapping[BoardKey, Leaderboard]
Step = Callable[[str], None]
SHOWN_FEATURES = 20
_CLUSTERED_BY = ("NDCG@10", "MAP", "P@10")  # the measures whose agreement orders the tools


class Gathered:
    """Results with their names and all their leaderboards, each made and tested once."""

    def __init__(self, results: Results) -> None:
        self.results, self.names = results, names_of(results)
        if not self.names.tools:
            raise DataError(nothing_computed(results), results.path)
        self._boards: dict[str, Boards] = {}
        self._compared: dict[tuple[str, str, str], Comparison | None] = {}

    def boards(self, convention: str) -> Boards:
        """Every leaderboard of rankers trained under a convention."""
        if convention not in self._boards:
            names = self.names
            self._boards[convention] = leaderboards(
                self.results, tools=names.tools, measures=names.measures, convention=convention
            )
        return self._boards[convention]

    def compared(self, convention: str, data: str, measure: str) -> Comparison | None:
        """What all tools say of one data set and measure; None with nothing to compare."""
        key = convention, data, measure
        if key not in self._compared:
            boards = self.boards(convention)
            by_tool = [boards[p] for t in self.names.tools if (p := BoardKey(data, t, measure)) in boards]
            self._compared[key] = agreement(by_tool)
        return self._compared[key]

    def in_order(self) -> Names:
        """The names with the tools so that those whose leaderboards agree stand together."""
        names, tables = self.names, []
        known = [m for m in _CLUSTERED_BY if m in names.measures] or list(names.measures[:1])
        for convention in names.conventions[:1]:
            for data in names.data:
                for measure in known:
                    table = np.full((len(names.tools), len(names.tools)), np.nan)
                    compared = self.compared(convention, data, measure)
                    if compared is not None:
                        at = [names.tools.index(b.name) for b in compared.boards]
                        table[np.ix_(at, at)] = compared.agreement("tau_b")
                    tables.append(table)
        tools = made.clustered(names.tools, tables, names.tool)
        return Names(names.data, tools, names.measures, names.rankers, names.conventions)


def names_of(results: Results) -> Names:
    """The names in results; tools and measures in their own order, the rest by name."""
    from pippin.evaluation.tools import TOOLS

    means, failures = results.means(), results.failures()
    known = set(means.names("tool"))
    tools = [t for t in TOOLS if t in known] + sorted(t for t in known if t not in TOOLS)
    measures = sorted(means.names("measure"), key=measure_order)
    both = {c: tuple(sorted({*means.names(c), *failures.names(c)})) for c in ("data", "ranker", "convention")}
    return Names(both["data"], tuple(tools), tuple(measures), both["ranker"], both["convention"])


def nothing_computed(results: Results) -> str:
    """Why there is nothing to show, with the first reason where there is one."""
    failures = results.failures()
    if not len(failures):
        return "no cell of these results is computed yet, so there is nothing to report"
    data, fold, ranker, *_, reason = failures.rows()[0]
    return (f"all {len(failures)} cells of these results failed, so there is nothing to report; "
            f"{ranker} on {data} {fold}: {reason}")  # fmt: skip


def measure_order(measure: str) -> tuple[int, str, int]:
    """NDCG first, then P, MAP, the rest; by cutoff.

    >>> sorted(["MAP", "P@1", "NDCG@10", "NDCG@5"], key=measure_order)
    ['NDCG@5', 'NDCG@10', 'P@1', 'MAP']
    """
    family, _, cutoff = measure.partition("@")
    order = ("NDCG", "P", "MAP", "MRR", "ERR")
    return (order.index(family) if family in order else len(order), family, int(cutoff or 0))


def bench_data(
    gathered: Gathered, published: Sequence[Published] = (), step: Step = lambda _: None
) -> dict[str, Any]:  # fmt: skip
    """Everything that the page holds, as JSON can hold it."""
    names = gathered.in_order()
    boards = {c: gathered.boards(c) for c in names.conventions}
    first = next(iter(boards[names.conventions[0]].values()))
    return {
        "noun": "ranker",
        **made.common(names),
        "alpha": first.plan.alpha,
        "without_lists": WITHOUT_LISTS,
        "panels": {c: {d: _panel(gathered, names, c, d, published, step) for d in names.data}
                   for c in names.conventions},
        "overall": {c: _overall(names, boards[c]) for c in names.conventions} if len(names.data) > 1 else {},
    }  # fmt: skip


WITHOUT_LISTS = (
    "The lists of a query are not shown, for the data are not where the benchmark found them; the same `pippin bench` "
    "into the same folder finds them again."
)


def _panel(
    gathered: Gathered, names: Names, convention: str, data: str, published: Sequence[Published], step: Step
) -> dict[str, Any]:
    """All there is to say of one data set under one training convention."""
    results = gathered.results
    mine = {place: board for place, board in gathered.boards(convention).items() if place.data == data}
    first = next(iter(mine.values()))
    sheets = {(place.tool, place.measure): sheet_of(board) for place, board in mine.items()}
    by_measure = [[mine[p] for t in names.tools if (p := BoardKey(data, t, m)) in mine] for m in names.measures]
    importance = importance_of(results, data, convention)
    main = sheets.get((names.tool, "NDCG@10")) or sheets.get((names.tool, names.measures[0]))
    leading = [] if main is None else list(main.means)
    compared = []
    for measure in names.measures:
        compared.append(gathered.compared(convention, data, measure))
        step(measure)
    return {
        "folds": first.folds,
        "gaps": [{"ranker": g.ranker, "fold": g.fold, "seed": g.seed, "reason": g.reason} for g in first.gaps],
        **made.agreements(names, compared),
        **made.arrays(names, sheets, len(first.folds)),
        **made.pairs(names, sheets),
        "groups": made.all_groups(names, sheets),
        "queries": [query for _, query in first.query_keys],
        "fold_of": [first.folds.index(fold) for fold, _ in first.query_keys],
        **made.query_values(names, sheets, len(first.query_keys)),
        "findings": pack_texts([[finding(tools, t) if tools else "" for t in names.tools] for tools in by_measure]),
        "costs": costs_of(results, data, convention),
        "importance": importance,
        "chosen": _chosen(results, data, convention),
        "published": _published(mine, published, names.tool),
        "ceiling": _ceiling(results, mine, data, names.tool),
        **explained(results, names, convention, data, first.query_keys, leading),
        **lists_of(results, names, convention, data, first.query_keys, importance),
    }  # fmt: skip


def sheet_of(board: Leaderboard) -> Sheet:
    """A leaderboard as the page takes it."""
    return Sheet(
        board.tool, board.measure, {s.ranker: s.mean for s in board.standings},
        {s.ranker: (s.low, s.high) for s in board.standings}, board.board, board.rankers, board.values,
        {s.ranker: [s.by_fold[fold] for fold in board.folds] for s in board.standings},
    )  # fmt: skip


def _ceiling(results: Results, boards: Boards, data: str, tool: str) -> dict[str, Any] | None:
    """What the sample of a built data set lost and leaves to be reached, with a `note` of one sentence; else None."""
    ceiling = results.ceilings().get(data)
    return None if ceiling is None else ceiling.record(boards.get(BoardKey(data, tool, MEASURE)))


def _under(frame: Frame, data: str, convention: str) -> Frame:
    """The rows of a data set under a training convention; a ranker that looks at none has its rows under another."""
    here = frame.where(data=data)
    trained = here.where(convention=convention)
    return Frame.joined([trained, here.take(~here.has("ranker", trained.names("ranker")))])


def _overall(names: Names, boards: Boards) -> dict[str, Any]:
    """Over all data sets: the mean of the means, winning numbers and a sentence per measure."""
    shape = (len(names.tools), len(names.measures), len(names.rankers))
    means, wins, pairs = np.full(shape, np.nan), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for t, tool in enumerate(names.tools):
        frame = means_of(boards, tool)
        for winning in winning_numbers(frame):
            at = t, names.measures.index(winning.measure), names.rankers.index(winning.ranker)
            wins[at], pairs[at] = winning.wins, winning.pairs
        for measure, ranker, value, sets in _means_over_data(frame):
            if sets == len(names.data):
                means[t, names.measures.index(measure), names.rankers.index(ranker)] = value
    sentences = []
    for i, measure in enumerate(names.measures):
        by_tool = [[b for d in names.data if (b := boards.get(BoardKey(d, t, measure)))] for t in names.tools]
        sentences.append([
            overall_finding(here, names.rankers, wins[t, i], pairs[t, i], means[t, i]) if here else ""
            for t, here in enumerate(by_tool)
        ])  # fmt: skip
    return {"means": pack(means), "wins": pack(wins), "pairs": pack(pairs), "findings": pack_texts(sentences)}


def _means_over_data(frame: Frame) -> list[tuple[str, str, float, int]]:
    return [(m, r, float(part["value"].mean()), len(part)) for (m, r), part in frame.by("measure", "ranker").items()]


def costs_of(results: Results, data: str, convention: str) -> dict[str, dict[str, float]]:
    """Ranker → seconds of a fold on average, and the most memory."""
    seconds = [f"{what}_seconds" for what in ("select", "train", "predict")]
    by_ranker = sorted(_under(results.costs(), data, convention).by("ranker").items())
    return {
        ranker: {**{what: _mean(part[what]) for what in seconds}, "peak_bytes": part["peak_bytes"].max().item()}
        for (ranker,), part in by_ranker
    }


def _mean(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def importance_of(results: Results, data: str, convention: str) -> dict[str, list[tuple[str, float]]]:
    """Ranker → its most important features with their share, the mean over folds and seeds of |importance| / Σ."""
    given = _under(results.importances(), data, convention)
    _, cell = given.groups("fold", "ranker", "seed")
    size = np.abs(given["importance"])
    total = np.bincount(cell, size)[cell]
    known = np.isfinite(total) & (total > 0)
    shares = given.with_columns(share=np.divide(size, total, out=np.zeros(len(size)), where=known)).take(known)
    tops: dict[str, list[tuple[str, float]]] = {}
    for (ranker,), part in sorted(shares.by("ranker").items()):
        cells = len(part.groups("fold", "seed")[0])
        first, feature = part.groups("feature")
        means = np.bincount(feature, part["share"]) / cells
        named = zip((-means).tolist(), part.take(first).names("feature"), strict=True)
        tops[ranker] = [(name, round(-share, 6)) for share, name in sorted(named)[:SHOWN_FEATURES] if share < 0]
    return tops


def _chosen(results: Results, data: str, convention: str) -> dict[str, dict[str, list[str]]]:
    """Ranker → fold → the parameters that validation chose, a text for each seed."""
    cells = [cell.record for cell in results.cells if cell.record["data"] == data]
    looking = {c["ranker"] for c in cells if c["convention"] == convention}
    settings: dict[str, dict[str, list[str]]] = {}
    for c in cells:
        if c["convention"] == convention or c["ranker"] not in looking:
            text = parameters_text(c["selected"]["parameters"])
            settings.setdefault(c["ranker"], {}).setdefault(c["fold"], []).append(text)
    return settings


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Chosen parameters in words.

    >>> parameters_text({"C": 0.1, "depth": 3}), parameters_text({})
    ('C 0.1, depth 3', 'no choice')
    """
    return ", ".join(f"{name} {value}" for name, value in parameters.items()) or "no choice"


def _published(boards: Boards, published: Sequence[Published], tool: str) -> dict[str, list[tuple[str, str, float]]]:
    """Measure → (our ranker, the published algorithm, its value)."""
    by_measure: dict[str, list[tuple[str, str, float]]] = {}
    for one in beside(boards, published, tool):
        if one.published.ranker is not None:
            row = (one.published.ranker, one.published.algorithm, one.published.value)
            by_measure.setdefault(one.published.measure, []).append(row)
    return by_measure
