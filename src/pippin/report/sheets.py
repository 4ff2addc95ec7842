"""What one tool says of all rankers under one measure, as the page takes it: from a leaderboard or from a comparison.

The page holds arrays over tools × measures × rankers. This module makes them of sheets, so that the page of a benchmark
and that of a comparison are one and the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.evaluation.compare import Board, Comparison
from pippin.evaluation.tool import GROUPS
from pippin.evaluation.tools import TOOLS
from pippin.report.packing import ABSENT, distinct, pack, pack_texts, significant_digits, ten_thousandths

F64 = NDArray[np.float64]
NO_WAY = 255  # a tool that does not compute a measure
REST = "other tools"


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

    @cached_property
    def at(self) -> dict[str, int]:
        """Ranker → its place in the arrays."""
        return {ranker: i for i, ranker in enumerate(self.rankers)}


def common(names: Names) -> dict[str, Any]:
    """What there is to choose from, as every page of numbers holds it."""
    return {
        "data": names.data, "tools": names.tools, "tool": names.tool, "groups": tool_groups(names.tools),
        "measures": names.measures, "families": families(names.measures), "rankers": names.rankers,
        "conventions": names.conventions, "absent": ABSENT,
    }  # fmt: skip


def families(measures: Sequence[str]) -> dict[str, list[int]]:
    """Family → cutoffs; none where the measure has no cutoff.

    >>> families(["NDCG@1", "NDCG@10", "MAP"])
    {'NDCG': [1, 10], 'MAP': []}
    """
    cutoffs: dict[str, list[int]] = {}
    for measure in measures:
        family, _, cutoff = measure.partition("@")
        cutoffs.setdefault(family, []).extend([int(cutoff)] if cutoff else [])
    return cutoffs


@dataclass(frozen=True, eq=False)
class Sheet:
    """One tool and one measure."""

    tool: str
    measure: str
    means: Mapping[str, float]  # best first
    bounds: Mapping[str, tuple[float, float]]  # of the interval
    board: Board | None  # the tests
    columns: Sequence[str]  # the rankers of the values
    values: F64  # queries × columns, NaN where a query does not count
    folds: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def worse(self, ranker: str) -> bool:
        """Whether the ranker is significantly behind the best."""
        best = next(iter(self.means))
        return ranker != best and self.board is not None and self.differs(best, ranker)

    def differs(self, a: str, b: str) -> bool:
        """Whether a is significantly ahead of b."""
        return self.board is not None and self.board.significant(a, b) and self.board.winner(a, b) > 0


Sheets = Mapping[tuple[str, str], Sheet]  # by tool and measure


def arrays(names: Names, sheets: Sheets, folds: int) -> dict[str, Any]:
    """Means, intervals, values by fold, and the corrected p of each ranker against the best; NaN: not there."""
    shape = (len(names.tools), len(names.measures), len(names.rankers))
    means, low, high, p = (np.full(shape, np.nan) for _ in range(4))
    by_fold = np.full((*shape, folds), np.nan)
    worse = np.zeros(shape, np.uint8)
    for (tool, measure), sheet in sheets.items():
        best = next(iter(sheet.means), None)
        place = names.tools.index(tool), names.measures.index(measure)
        for ranker, mean in sheet.means.items():
            at = *place, names.at[ranker]
            means[at], worse[at] = mean, sheet.worse(ranker)
            low[at], high[at] = sheet.bounds.get(ranker, (np.nan, np.nan))
            if folds:
                by_fold[at] = sheet.folds[ranker]
            if sheet.board is not None and best is not None and ranker != best:
                p[at] = _pair(sheet.board, best, ranker)[0]
    printed = ten_thousandths(by_fold.ravel()).reshape(by_fold.shape)
    return {"means": pack(means), "low": pack(low), "high": pack(high), "by_fold": pack(printed),
            "p": pack(significant_digits(p)), "worse": pack(worse)}  # fmt: skip


def _pair(board: Board, a: str, b: str) -> tuple[float, float]:
    """The corrected p and the effect of a pair, a less b; NaN where it was not tested."""
    pair = board.tested._by_names.get((a, b))
    if pair is not None:
        return pair.p_adjusted, pair.effect
    pair = board.tested._by_names.get((b, a))
    return (np.nan, np.nan) if pair is None else (pair.p_adjusted, -pair.effect)


def pairs(names: Names, sheets: Sheets) -> dict[str, Any]:
    """The corrected p and the effect of every pair, once for all tools and measures that agree on them."""
    first, second = np.triu_indices(len(names.rankers), 1)
    asked = [(names.rankers[i], names.rankers[j]) for i, j in zip(first, second, strict=True)]
    tables: list[NDArray[Any] | None] = []
    by_tests: dict[int, NDArray[Any]] = {}  # leaderboards that agree on every value share their tests
    for measure in names.measures:
        for tool in names.tools:
            sheet = sheets.get((tool, measure))
            if sheet is None or sheet.board is None:
                tables.append(None)
                continue
            tests = id(sheet.board.tested)
            if tests not in by_tests:
                p, effect = np.array([_pair(sheet.board, a, b) for a, b in asked]).reshape(-1, 2).T
                by_tests[tests] = np.array([significant_digits(p), np.round(effect, 2)], np.float32)
            tables.append(by_tests[tests])
    unlike, which = distinct(tables)
    stacked = np.array(unlike, np.float32).reshape(len(unlike), 2, len(first))
    return {"pair_ways": pack(which.reshape(len(names.measures), len(names.tools))),
            "pairs_p": pack(stacked[:, 0]), "pairs_effect": pack(stacked[:, 1])}  # fmt: skip


def groups(sheet: Sheet) -> list[tuple[int, int]]:
    """Stretches of places within which no ranker is significantly ahead of another, each as long as it can be."""
    if sheet.board is None or sheet.board.tested.baseline is not None:
        return []
    return stretches(list(sheet.means), sheet.differs)


def stretches(order: Sequence[str], differs: Callable[[str, str], bool]) -> list[tuple[int, int]]:
    """The longest stretches of places, from 1 on, in which no pair differs; those within another are left out.

    >>> stretches("abcd", lambda a, b: (a, b) in (("a", "c"), ("a", "d"), ("b", "d")))
    [(1, 2), (2, 3), (3, 4)]
    """
    nearest = [next((i for i in range(j - 1, -1, -1) if differs(order[i], order[j])), -1) for j in range(len(order))]
    groups: list[tuple[int, int]] = []
    end = last = 0
    for start in range(len(order)):
        last = max(last, start)
        while last + 1 < len(order) and nearest[last + 1] < start:
            last += 1
        if last >= end:
            groups.append((start + 1, last + 1))
            end = last + 1
    return groups


def all_groups(names: Names, sheets: Sheets) -> dict[str, Any]:
    """Tool → measure → stretches."""
    groups_by_tool = [[groups(sheets[t, m]) if (t, m) in sheets else [] for m in names.measures] for t in names.tools]
    return pack_texts(groups_by_tool)


def agreements(names: Names, compared: Sequence[Comparison | None]) -> dict[str, Any]:
    """tau_b and tau_ap_b between the leaderboards of every two tools, for each measure."""
    shape = (len(names.measures), len(names.tools), len(names.tools))
    by_coefficient = {c: np.full(shape, np.nan, np.float32) for c in ("tau_b", "tau_ap_b")}
    for m, comparison in enumerate(compared):
        if comparison is not None:
            at = [names.tools.index(b.name) for b in comparison.boards]
            for coefficient, table in by_coefficient.items():
                table[m][np.ix_(at, at)] = comparison.agreement(coefficient)
    return {coefficient: pack(table) for coefficient, table in by_coefficient.items()}


def query_values(names: Names, sheets: Sheets, queries: int) -> dict[str, Any]:
    """The values of every query: for each measure one table ranker × query per way in which tools count it; `ways`
    says which table is a tool's, `starts` where a measure's tables begin.
    """
    ways = np.full((len(names.measures), len(names.tools)), NO_WAY, np.uint8)
    starts: list[int] = []
    tables: list[NDArray[np.uint16]] = []
    for m, measure in enumerate(names.measures):
        exact: list[NDArray[Any] | None] = []
        for tool in names.tools:
            sheet = sheets.get((tool, measure))
            exact.append(None if sheet is None or np.isnan(sheet.values).all() else _by_ranker(names, sheet, queries))
        # Most tools agree to the last bit: what was rounded once need not be again.
        unlike, which = distinct(exact)
        rounded, again = distinct([ten_thousandths(table) for table in unlike])
        starts.append(len(tables))
        tables += rounded
        there = which < len(unlike)
        ways[m, there] = again[which[there]]
    return {"ways": pack(ways), "starts": starts,
            "values": pack(np.concatenate(tables) if tables else np.zeros(0, np.uint16))}  # fmt: skip


def _by_ranker(names: Names, sheet: Sheet, queries: int) -> F64:
    """The values ranker by ranker, each over all queries; NaN where there is none."""
    table = np.full((len(names.rankers), queries), np.nan)
    table[[names.at[ranker] for ranker in sheet.columns]] = sheet.values.T
    return table.ravel()


def clustered(tools: Sequence[str], correlations: Sequence[NDArray[np.float64]], first: str) -> tuple[str, ...]:
    """The tools so that those whose leaderboards agree stand together, beginning with `first`.

    Correlations are matrices over the tools; of each pair the mean of what is known counts.
    """
    if len(tools) < 3 or not correlations:
        return (first, *(t for t in tools if t != first))
    stacked = np.array(correlations, np.float64)
    known = ~np.isnan(stacked)
    mean = np.where(known, stacked, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    distance = np.where(known.any(axis=0), np.clip(1 - mean, 0, None), 1.0)
    order = [tools[i] for i in joined((distance + distance.T) / 2)]
    at = order.index(first)
    near, far = order[at + 1 :], order[:at][::-1]
    # The order is a ring cut open: what stood on the shorter side of the first goes to the end.
    return (first, *near, *far[::-1]) if len(near) >= len(far) else (first, *far, *near[::-1])


def joined(distance: F64) -> list[int]:
    """The rows of a matrix of distances in the order of an average-linkage tree, with like ends turned to each other.

    >>> joined(np.array([[0, 9, 1, 8], [9, 0, 8, 1], [1, 8, 0, 9], [8, 1, 9, 0.0]]))
    [0, 2, 1, 3]
    """
    chains = [[i] for i in range(len(distance))]
    while len(chains) > 1:
        pairs = [(float(distance[np.ix_(a, b)].mean()), i, j)
                 for i, a in enumerate(chains) for j, b in enumerate(chains[:i])]  # fmt: skip
        _, i, j = min(pairs)
        a, b = chains[j], chains[i]
        turns = [(x, y) for x in (a, a[::-1]) for y in (b, b[::-1])]
        left, right = min(turns, key=lambda turn: distance[turn[0][-1], turn[1][0]])
        chains[j] = left + right
        del chains[i]
    return chains[0]


def tool_groups(tools: Sequence[str]) -> list[dict[str, Any]]:
    """The tools by their group, in the order of the shelf, with a line on each group."""
    members: dict[str, list[str]] = {}
    for name in tools:
        members.setdefault(TOOLS[name].group if name in TOOLS else REST, []).append(name)
    about = {**GROUPS, REST: "values as they were given"}
    return [{"name": name, "about": about[name], "tools": members[name]} for name in about if name in members]
