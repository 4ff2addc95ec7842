"""Which numbers does the page of a benchmark hold?

Everything that the page shows is computed here, once, from the leaderboards of `bench`: means, intervals, tests,
agreement between tools, winning numbers, sentences. The page only selects, sorts and draws. Numbers travel as packed
arrays; values per query as ten-thousandths, which is what the page prints, and once for all tools that agree on them.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.bench.ceilings import MEASURE
from pippin.bench.leaderboard import BoardKey, Leaderboard, agreement, leaderboards
from pippin.bench.published import Published, beside
from pippin.bench.winning_numbers import means_of, winning_numbers
from pippin.errors import DataError
from pippin.report.bench_words import finding, overall_finding

if TYPE_CHECKING:
    from polars import DataFrame

    from pippin.bench.store import Results

Boards = Mapping[BoardKey, Leaderboard]
ABSENT = 65_535  # a value per query that is not there
NO_WAY = 255  # a tool that does not compute a measure
SHOWN_FEATURES = 20


@dataclass(frozen=True)
class Names:
    """What there is to choose from, in the order in which it is shown."""

    data: tuple[str, ...]
    tools: tuple[str, ...]
    measures: tuple[str, ...]
    rankers: tuple[str, ...]
    conventions: tuple[str, ...]

    @property
    def tool(self) -> str:
        """The tool that others are held against."""
        return "official" if "official" in self.tools else self.tools[0]


class Gathered:
    """Results with their names and all their leaderboards, each made and tested once."""

    def __init__(self, results: Results) -> None:
        self.results, self.names = results, names_of(results)
        if not self.names.tools:
            raise DataError(nothing_computed(results), results.path)
        self._boards: dict[str, Boards] = {}

    def boards(self, convention: str) -> Boards:
        """Every leaderboard of rankers trained under a convention."""
        if convention not in self._boards:
            names = self.names
            self._boards[convention] = leaderboards(
                self.results, tools=names.tools, measures=names.measures, convention=convention
            )
        return self._boards[convention]


def names_of(results: Results) -> Names:
    """The names in results; tools and measures in their own order, the rest by name."""
    from pippin.evaluation.tools import TOOLS

    means, failures = results.means(), results.failures()
    known = set(means["tool"])
    tools = [t for t in TOOLS if t in known] + sorted(t for t in known if t not in TOOLS)
    measures = sorted(set(means["measure"]), key=measure_order)
    both = {c: tuple(sorted({*means[c], *failures[c]})) for c in ("data", "ranker", "convention")}
    return Names(both["data"], tuple(tools), tuple(measures), both["ranker"], both["convention"])


def nothing_computed(results: Results) -> str:
    """Why there is nothing to show, with the first reason where there is one."""
    failures = results.failures()
    if failures.is_empty():
        return "no cell of these results is computed yet, so there is nothing to report"
    data, fold, ranker, *_, reason = failures.row(0)
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
    gathered: Gathered, published: Sequence[Published] = (), step: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Everything that the page holds, as JSON can hold it."""
    results, names = gathered.results, gathered.names
    boards = {c: gathered.boards(c) for c in names.conventions}
    return {
        "data": names.data,
        "tools": names.tools,
        "tool": names.tool,
        "measures": names.measures,
        "families": families(names.measures),
        "rankers": names.rankers,
        "conventions": names.conventions,
        "absent": ABSENT,
        "panels": {
            c: {d: _panel(results, names, boards[c], c, d, published, step) for d in names.data}
            for c in names.conventions
        },
        "overall": {c: _overall(names, boards[c]) for c in names.conventions} if len(names.data) > 1 else {},
    }


def families(measures: Sequence[str]) -> dict[str, list[int]]:
    """Family → cutoffs; none where the measure has no cutoff.

    >>> families(["NDCG@1", "NDCG@10", "MAP"])
    {'NDCG': [1, 10], 'MAP': []}
    """
    found: dict[str, list[int]] = {}
    for measure in measures:
        family, _, cutoff = measure.partition("@")
        found.setdefault(family, []).extend([int(cutoff)] if cutoff else [])
    return found


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """An array as text: little-endian bytes, deflated, in base 64.

    >>> pack(np.zeros(3, np.uint16))["type"], pack(np.zeros((2, 3)))["shape"]
    ('uint16', [2, 3])
    """
    plain = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    data = base64.b64encode(zlib.compress(plain.tobytes(), 9)).decode()
    return {"type": array.dtype.name, "shape": list(array.shape), "data": data}


def _panel(
    results: Results, names: Names, boards: Boards, convention: str, data: str, published: Sequence[Published],
    step: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    """All there is to say of one data set under one training convention."""
    mine = {place: board for place, board in boards.items() if place.data == data}
    first = next(iter(mine.values()))
    by_measure = [[mine[p] for t in names.tools if (p := BoardKey(data, t, m)) in mine] for m in names.measures]
    gaps = [{"ranker": g.ranker, "fold": g.fold, "seed": g.seed, "reason": g.reason} for g in first.gaps]
    return {
        "folds": first.folds,
        "gaps": gaps,
        **_agreements(names, by_measure, step),
        **_standings(names, mine, first.folds),
        **_query_values(names, mine, first.folds),
        "findings": [finding(tools, names.tool) if tools else "" for tools in by_measure],
        "costs": costs_of(results, data, convention),
        "importance": importance_of(results, data, convention),
        "chosen": _chosen(results, data, convention),
        "published": _published(mine, published, names.tool),
        "ceiling": _ceiling(results, mine, data, names.tool),
    }


def _ceiling(results: Results, boards: Boards, data: str, tool: str) -> dict[str, Any] | None:
    """What the sample of a built data set lost and leaves to be reached, with a `note` of one sentence; else None."""
    ceiling = results.ceilings().get(data)
    return None if ceiling is None else ceiling.record(boards.get(BoardKey(data, tool, MEASURE)))


def _under(frame: DataFrame, data: str, convention: str) -> DataFrame:
    """The rows of a data set under a training convention; a ranker that looks at none has its rows under another."""
    import polars as pl

    here = frame.filter(pl.col("data") == data)
    own = here.filter(pl.col("convention") == convention)
    return pl.concat([own, here.filter(~pl.col("ranker").is_in(own["ranker"].to_list()))])


def _standings(names: Names, boards: Boards, folds: Sequence[str]) -> dict[str, Any]:
    """Means, intervals, values by fold, and the corrected p of each ranker against the best; NaN: not there."""
    shape = (len(names.tools), len(names.measures), len(names.rankers))
    means, low, high, p = (np.full(shape, np.nan) for _ in range(4))
    by_fold = np.full((*shape, len(folds)), np.nan)
    worse = np.zeros(shape, np.uint8)
    for place, board in boards.items():
        for standing in board.standings:
            at = (names.tools.index(place.tool), names.measures.index(place.measure),
                  names.rankers.index(standing.ranker))  # fmt: skip
            means[at], low[at], high[at] = standing.mean, standing.low, standing.high
            by_fold[at] = [standing.by_fold[fold] for fold in folds]
            worse[at] = board.worse_than_best(standing.ranker)
            if board.board is not None and board.best is not None and standing.ranker != board.best:
                p[at] = board.board.tested.pair(board.best, standing.ranker).p_adjusted
    return {"means": pack(means), "low": pack(low), "high": pack(high), "by_fold": pack(by_fold),
            "p": pack(p.astype(np.float32)), "worse": pack(worse)}  # fmt: skip


def _agreements(
    names: Names, by_measure: Sequence[Sequence[Leaderboard]], step: Callable[[str], None]
) -> dict[str, Any]:
    """tau_b and tau_ap_b between the leaderboards of every two tools, for each measure."""
    shape = (len(names.measures), len(names.tools), len(names.tools))
    found = {c: np.full(shape, np.nan, np.float32) for c in ("tau_b", "tau_ap_b")}
    for m, boards in enumerate(by_measure):
        comparison = agreement(boards)
        if comparison is not None:
            at = [names.tools.index(b.name) for b in comparison.boards]
            for coefficient, table in found.items():
                table[m][np.ix_(at, at)] = comparison.agreement(coefficient)
        step(names.measures[m])
    return {coefficient: pack(table) for coefficient, table in found.items()}


def _query_values(names: Names, boards: Boards, folds: Sequence[str]) -> dict[str, Any]:
    """The values of every query: for each measure one table ranker × query per way in which tools count it; `ways`
    says which table is a tool's, `starts` where a measure's tables begin.
    """
    first = next(iter(boards.values()))
    ways = np.full((len(names.measures), len(names.tools)), NO_WAY, np.uint8)
    starts: list[int] = []
    tables: list[NDArray[np.uint16]] = []
    for m, measure in enumerate(names.measures):
        starts.append(len(tables))
        seen: dict[bytes, int] = {}
        exact: dict[bytes, int] = {}  # most tools agree to the last bit: what was rounded once need not be again
        for t, tool in enumerate(names.tools):
            board = boards.get(BoardKey(first.data, tool, measure))
            if board is None or np.isnan(board.values).all():
                continue
            table = _by_ranker(names, board)
            known = exact.get(table.tobytes())
            if known is None:
                rounded = ten_thousandths(table)
                known = exact[table.tobytes()] = seen.setdefault(rounded.tobytes(), len(seen))
                if known == len(tables) - starts[m]:
                    tables.append(rounded)
            ways[m, t] = known
    return {
        "queries": [query for _, query in first.query_keys],
        "fold_of": [folds.index(fold) for fold, _ in first.query_keys], "ways": pack(ways), "starts": starts,
        "values": pack(np.concatenate(tables) if tables else np.zeros(0, np.uint16)),
    }  # fmt: skip


def _by_ranker(names: Names, board: Leaderboard) -> NDArray[np.float64]:
    """The values ranker by ranker, each over all queries; NaN where there is none."""
    table = np.full((len(names.rankers), len(board.query_keys)), np.nan)
    table[[names.rankers.index(ranker) for ranker in board.rankers]] = board.values.T
    return table.ravel()


def ten_thousandths(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Values as four printed decimals hold them, in whole numbers; ABSENT where there is none.

    >>> ten_thousandths(np.array([0.5, 0.12345, np.nan, 1.0])).tolist()
    [5000, 1235, 65535, 10000]
    """
    distinct, at = np.unique(values, return_inverse=True)
    printed = [ABSENT if np.isnan(v) else int(f"{v:.4f}".replace(".", "")) for v in distinct]
    return np.array(printed, np.uint16)[at]


def _overall(names: Names, boards: Boards) -> dict[str, Any]:
    """Over all data sets: the mean of the means, winning numbers and a sentence per measure."""
    shape = (len(names.tools), len(names.measures), len(names.rankers))
    means, wins, pairs = np.full(shape, np.nan), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for t, tool in enumerate(names.tools):
        frame = means_of(boards, tool)
        for found in winning_numbers(frame):
            at = t, names.measures.index(found.measure), names.rankers.index(found.ranker)
            wins[at], pairs[at] = found.wins, found.pairs
        for measure, ranker, value, sets in _means_over_data(frame):
            if sets == len(names.data):
                means[t, names.measures.index(measure), names.rankers.index(ranker)] = value
    first = names.tools.index(names.tool)
    by_measure = [[b for d in names.data if (b := boards.get(BoardKey(d, names.tool, m)))] for m in names.measures]
    sentences = [
        overall_finding(own, names.rankers, wins[first, i], pairs[first, i]) if own else ""
        for i, own in enumerate(by_measure)
    ]
    return {"means": pack(means), "wins": pack(wins), "pairs": pack(pairs), "findings": sentences}


def _means_over_data(frame: DataFrame) -> list[tuple[str, str, float, int]]:
    import polars as pl

    grouped = frame.group_by("measure", "ranker").agg(pl.col("value").mean(), pl.len())
    return [(str(m), str(r), float(v), int(n)) for m, r, v, n in grouped.iter_rows()]


def costs_of(results: Results, data: str, convention: str) -> dict[str, dict[str, float]]:
    """Ranker → seconds of a fold on average, and the most memory."""
    import polars as pl

    seconds = [pl.col(f"{what}_seconds").mean() for what in ("select", "train", "predict")]
    found = _under(results.costs(), data, convention).group_by("ranker").agg(*seconds, pl.col("peak_bytes").max())
    return {row.pop("ranker"): row for row in found.sort("ranker").to_dicts()}


def importance_of(results: Results, data: str, convention: str) -> dict[str, list[tuple[str, float]]]:
    """Ranker → its most important features with their share, the mean over folds and seeds of |importance| / Σ."""
    import polars as pl

    cell, size = ["fold", "ranker", "seed"], pl.col("importance").abs()
    shares = _under(results.importances(), data, convention).with_columns(share=size / size.sum().over(cell))
    shares = shares.filter(pl.col("share").is_finite())
    cells = shares.group_by("ranker").agg(cells=pl.struct("fold", "seed").n_unique())
    found = shares.group_by("ranker", "feature").agg(pl.col("share").sum()).join(cells, on="ranker")
    found = found.with_columns(pl.col("share") / pl.col("cells"))
    found = found.sort("ranker", "share", "feature", descending=[False, True, False])
    tops: dict[str, list[tuple[str, float]]] = {}
    for ranker, feature, share in found.select("ranker", "feature", "share").iter_rows():
        if len(tops.setdefault(ranker, [])) < SHOWN_FEATURES and share > 0:
            tops[ranker].append((feature, round(share, 6)))
    return tops


def _chosen(results: Results, data: str, convention: str) -> dict[str, dict[str, list[str]]]:
    """Ranker → fold → the parameters that validation chose, a text for each seed."""
    cells = [cell.record for cell in results.cells if cell.record["data"] == data]
    looking = {c["ranker"] for c in cells if c["convention"] == convention}
    found: dict[str, dict[str, list[str]]] = {}
    for c in cells:
        if c["convention"] == convention or c["ranker"] not in looking:
            text = parameters_text(c["selected"]["parameters"])
            found.setdefault(c["ranker"], {}).setdefault(c["fold"], []).append(text)
    return found


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Chosen parameters in words.

    >>> parameters_text({"C": 0.1, "depth": 3}), parameters_text({})
    ('C 0.1, depth 3', 'no choice')
    """
    return ", ".join(f"{name} {value}" for name, value in parameters.items()) or "no choice"


def _published(boards: Boards, published: Sequence[Published], tool: str) -> dict[str, list[tuple[str, str, float]]]:
    """Measure → (our ranker, the published algorithm, its value)."""
    found: dict[str, list[tuple[str, str, float]]] = {}
    for one in beside(boards, published, tool):
        if one.published.ranker is not None:
            row = (one.published.ranker, one.published.algorithm, one.published.value)
            found.setdefault(one.published.measure, []).append(row)
    return found
