"""Encode benchmark values as compact arrays for the page.

`encode_array` writes an array as ``{type, shape, data}``, where data is the base64 text of deflated little-endian
bytes; `decode` in ``assets/app_state.js`` is its counterpart. T, M, R, Q, F and P count tools, measures, rankers,
queries, folds and pairs of rankers.

========================= =============== ==========================================================================
key                       shape           values
========================= =============== ==========================================================================
means, low, high          T × M × R       float64; NaN: no mean, or no interval
by_fold                   T × M × R × F   uint16 fixed point with 4 decimals; MISSING_CODE: no value
p                         T × M × R       float32: corrected p against the best ranker; NaN: not tested
worse                     T × M × R       uint8: 1 where the ranker is significantly below the best
pairs_p, pairs_effect     tables × P      float32, one row per distinct table of tests
pair_tables               M × T           uint16: row of pairs_p and pairs_effect; MISSING_CODE: none
values                    tables × R × Q  uint16 fixed point, all tables of all measures one after the other
value_tables              M × T           uint8: number of the tool's table within its measure; NOT_COMPUTED: none
first_tables              M               number of the first table of each measure (a plain list)
tau_b, tau_ap_b           M × T × T       float32: rank correlation of two tools' leaderboards
========================= =============== ==========================================================================

Values per query have four decimals because tables show four. Most tools agree on most values, so that equal tables
are stored once.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.evaluation.compare import Comparison, ToolLeaderboard
from pippin.evaluation.tools import GROUPS, TOOLS

F64 = NDArray[np.float64]
NOT_COMPUTED = 255  # in value_tables: the tool does not compute the measure
MISSING_CODE = 65_535  # in uint16 arrays: no value, or no table
OTHER_TOOLS = "other tools"  # group of tools that are not registered


@dataclass(frozen=True)
class Names:
    """Names of everything that a page lets its reader choose, in display order."""

    data: tuple[str, ...]
    tools: tuple[str, ...]
    measures: tuple[str, ...]
    rankers: tuple[str, ...]
    conventions: tuple[str, ...]

    @property
    def tool(self) -> str:
        """The tool that others are compared with."""
        return "official" if "official" in self.tools else self.tools[0]

    @cached_property
    def ranker_index(self) -> dict[str, int]:
        """Index of each ranker in the arrays."""
        return {ranker: i for i, ranker in enumerate(self.rankers)}


def page_names(names: Names) -> dict[str, Any]:
    """Return the names as the page's JSON holds them."""
    return {
        "data": names.data, "tools": names.tools, "tool": names.tool, "groups": tool_groups(names.tools),
        "measures": names.measures, "families": families(names.measures), "rankers": names.rankers,
        "conventions": names.conventions, "missing_code": MISSING_CODE,
        "not_computed": NOT_COMPUTED,
    }  # fmt: skip


def families(measures: Sequence[str]) -> dict[str, list[int]]:
    """Group measures into families with their cutoffs; a measure without cutoff has none.

    >>> families(["NDCG@1", "NDCG@10", "MAP"])
    {'NDCG': [1, 10], 'MAP': []}
    """
    cutoffs: dict[str, list[int]] = {}
    for measure in measures:
        family, _, cutoff = measure.partition("@")
        cutoffs.setdefault(family, []).extend([int(cutoff)] if cutoff else [])
    return cutoffs


def tool_groups(tools: Sequence[str]) -> list[dict[str, Any]]:
    """Group tools as the registry does, with a line about each group."""
    members: dict[str, list[str]] = {}
    for name in tools:
        members.setdefault(TOOLS[name].group if name in TOOLS else OTHER_TOOLS, []).append(name)
    about = {**GROUPS, OTHER_TOOLS: "values supplied by the user"}
    return [{"name": name, "about": about[name], "tools": members[name]} for name in about if name in members]


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Means, tests and values per query under one tool and measure."""

    tool: str
    measure: str
    means: Mapping[str, float]  # best first
    bounds: Mapping[str, tuple[float, float]]  # confidence intervals
    board: ToolLeaderboard | None  # pairwise tests
    columns: Sequence[str]  # the rankers of `values`
    values: F64  # queries × columns; NaN where a query does not count
    folds: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def is_worse(self, ranker: str) -> bool:
        """Tell whether the ranker is significantly below the best one."""
        best = next(iter(self.means))
        return ranker != best and self.is_better(best, ranker)

    def is_better(self, a: str, b: str) -> bool:
        """Tell whether a is significantly better than b."""
        return self.board is not None and self.board.significant(a, b) and self.board.winner(a, b) > 0


ScoreTables = Mapping[tuple[str, str], ScoreTable]  # by tool and measure


def encode_panel(
    names: Names, tables: ScoreTables, comparisons: Sequence[Comparison | None], n_queries: int, n_folds: int = 0
) -> dict[str, Any]:
    """Encode all arrays of one data set and training convention."""
    return {
        **encode_means(names, tables, n_folds),
        **encode_pairs(names, tables),
        **encode_agreement(names, comparisons),
        **encode_query_values(names, tables, n_queries),
        "groups": encode_groups(names, tables),
    }


def encode_means(names: Names, tables: ScoreTables, n_folds: int) -> dict[str, Any]:
    """Encode means, intervals, values per fold, and the test of each ranker against the best."""
    shape = (len(names.tools), len(names.measures), len(names.rankers))
    means, low, high, p = (np.full(shape, np.nan) for _ in range(4))
    by_fold = np.full((*shape, n_folds), np.nan)
    worse = np.zeros(shape, np.uint8)
    for (tool, measure), table in tables.items():
        best = next(iter(table.means), None)
        t, m = names.tools.index(tool), names.measures.index(measure)
        for ranker, mean in table.means.items():
            index = t, m, names.ranker_index[ranker]
            means[index], worse[index] = mean, table.is_worse(ranker)
            low[index], high[index] = table.bounds.get(ranker, (np.nan, np.nan))
            if n_folds:
                by_fold[index] = table.folds[ranker]
            if table.board is not None and best is not None and ranker != best:
                p[index] = _pair(table.board, best, ranker)[0]
    arrays = {
        "means": means, "low": low, "high": high, "p": significant_digits(p), "worse": worse,
        "by_fold": to_fixed_point(by_fold.ravel()).reshape(by_fold.shape),
    }  # fmt: skip
    return {name: encode_array(array) for name, array in arrays.items()}


def _pair(board: ToolLeaderboard, a: str, b: str) -> tuple[float, float]:
    """Return the corrected p and the effect a − b of a pair; NaN where it was not tested."""
    pair = board.tests._by_names.get((a, b))
    if pair is not None:
        return pair.p_adjusted, pair.effect
    pair = board.tests._by_names.get((b, a))
    return (np.nan, np.nan) if pair is None else (pair.p_adjusted, -pair.effect)


def encode_pairs(names: Names, tables: ScoreTables) -> dict[str, Any]:
    """Encode the corrected p and the effect of every pair of rankers."""
    first, second = np.triu_indices(len(names.rankers), 1)
    pairs = [(names.rankers[i], names.rankers[j]) for i, j in zip(first, second, strict=True)]
    tests: list[NDArray[Any] | None] = []
    by_identity: dict[int, NDArray[Any]] = {}  # leaderboards that agree on every value share their tests
    for measure in names.measures:
        for tool in names.tools:
            table = tables.get((tool, measure))
            if table is None or table.board is None:
                tests.append(None)
                continue
            identity = id(table.board.tests)
            if identity not in by_identity:
                p, effect = np.array([_pair(table.board, a, b) for a, b in pairs]).reshape(-1, 2).T
                by_identity[identity] = np.array([significant_digits(p), np.round(effect, 2)], np.float32)
            tests.append(by_identity[identity])
    unique, number = deduplicate(tests)
    stacked = np.array(unique, np.float32).reshape(len(unique), 2, len(first))
    return {"pair_tables": encode_array(number.reshape(len(names.measures), len(names.tools))),
            "pairs_p": encode_array(stacked[:, 0]), "pairs_effect": encode_array(stacked[:, 1])}  # fmt: skip


def encode_groups(names: Names, tables: ScoreTables) -> dict[str, Any]:
    """Encode, by tool and measure, the ranges of ranks that no test separates."""

    def groups(table: ScoreTable | None) -> list[tuple[int, int]]:
        if table is None or table.board is None or table.board.tests.baselines:
            return []
        return tied_groups(list(table.means), table.is_better)

    return encode_json([[groups(tables.get((tool, measure))) for measure in names.measures] for tool in names.tools])


def tied_groups(order: Sequence[str], differs: Callable[[str, str], bool]) -> list[tuple[int, int]]:
    """Return the longest ranges of ranks, from 1, in which no pair differs; ranges inside another are left out.

    >>> tied_groups("abcd", lambda a, b: (a, b) in (("a", "c"), ("a", "d"), ("b", "d")))
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


def encode_agreement(names: Names, comparisons: Sequence[Comparison | None]) -> dict[str, Any]:
    """Encode tau_b and tau_ap_b between the leaderboards of every two tools, for each measure."""
    shape = (len(names.measures), len(names.tools), len(names.tools))
    by_coefficient = {c: np.full(shape, np.nan, np.float32) for c in ("tau_b", "tau_ap_b")}
    for m, comparison in enumerate(comparisons):
        if comparison is not None:
            index = [names.tools.index(board.name) for board in comparison.boards]
            for coefficient, table in by_coefficient.items():
                table[m][np.ix_(index, index)] = comparison.agreement(coefficient)
    return {coefficient: encode_array(table) for coefficient, table in by_coefficient.items()}


def encode_query_values(names: Names, tables: ScoreTables, n_queries: int) -> dict[str, Any]:
    """Encode the values of every query, each distinct table once."""
    value_tables = np.full((len(names.measures), len(names.tools)), NOT_COMPUTED, np.uint8)
    first_tables: list[int] = []
    encoded: list[NDArray[np.uint16]] = []
    for m, measure in enumerate(names.measures):
        exact: list[NDArray[Any] | None] = []
        for tool in names.tools:
            table = tables.get((tool, measure))
            has_values = table is not None and not np.isnan(table.values).all()
            exact.append(_by_ranker(names, table, n_queries) if table is not None and has_values else None)
        # Deduplicate exact values first: most tools agree to the last bit, and rounding is the slow step.
        unique, number = deduplicate(exact)
        rounded, rounded_number = deduplicate([to_fixed_point(table) for table in unique])
        first_tables.append(len(encoded))
        encoded += rounded
        is_computed = number < len(unique)
        value_tables[m, is_computed] = rounded_number[number[is_computed]]
    return {"value_tables": encode_array(value_tables), "first_tables": first_tables,
            "values": encode_array(np.concatenate(encoded) if encoded else np.zeros(0, np.uint16))}  # fmt: skip


def _by_ranker(names: Names, table: ScoreTable, n_queries: int) -> F64:
    """Return the values ranker by ranker, each over all queries; NaN where there is none."""
    values = np.full((len(names.rankers), n_queries), np.nan)
    values[[names.ranker_index[ranker] for ranker in table.columns]] = table.values.T
    return values.ravel()


def cluster_tools(tools: Sequence[str], correlations: Sequence[F64], first: str) -> tuple[str, ...]:
    """Order tools so that those whose leaderboards agree are adjacent, beginning with `first`.

    `correlations` are matrices over the tools; the distance of a pair is 1 minus the mean of its known correlations.
    """
    if len(tools) < 3 or not correlations:
        return (first, *(t for t in tools if t != first))
    stacked = np.array(correlations, np.float64)
    is_known = ~np.isnan(stacked)
    mean = np.where(is_known, stacked, 0.0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
    distance = np.where(is_known.any(axis=0), np.clip(1 - mean, 0, None), 1.0)
    order = [tools[i] for i in linkage_order((distance + distance.T) / 2)]
    position = order.index(first)
    after, before = order[position + 1 :], order[:position][::-1]
    # Treat the order as a ring that starts at `first`: the shorter side moves to the end.
    return (first, *after, *before[::-1]) if len(after) >= len(before) else (first, *before, *after[::-1])


def linkage_order(distance: F64) -> list[int]:
    """Return the leaves of the average-linkage tree of a distance matrix, similar neighbours adjacent.

    >>> linkage_order(np.array([[0, 9, 1, 8], [9, 0, 8, 1], [1, 8, 0, 9], [8, 1, 9, 0.0]]))
    [0, 2, 1, 3]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    condensed = squareform(distance, checks=False)
    return [int(i) for i in leaves_list(linkage(condensed, "average", optimal_ordering=True))]


def encode_array(array: NDArray[Any]) -> dict[str, Any]:
    """Encode an array as text.

    >>> encode_array(np.zeros(3, np.uint16))["type"], encode_array(np.zeros((2, 3)))["shape"]
    ('uint16', [2, 3])
    """
    little_endian = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return {"type": array.dtype.name, "shape": list(array.shape), "data": _deflate(little_endian.tobytes())}


def encode_json(record: Any) -> dict[str, Any]:
    """Encode a JSON value as text.

    >>> encode_json(["a", None])["type"]
    'json'
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return {"type": "json", "data": _deflate(text.encode())}


def _deflate(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def deduplicate(tables: Sequence[NDArray[Any] | None]) -> tuple[list[NDArray[Any]], NDArray[np.uint16]]:
    """Return the distinct tables, and the number of each; MISSING_CODE for None.

    >>> unique, number = deduplicate([np.ones(2), None, np.zeros(2), np.ones(2)])
    >>> len(unique), number.tolist()
    (2, [0, 65535, 1, 0])
    """
    numbers: dict[bytes, int] = {}
    unique: list[NDArray[Any]] = []
    number = np.full(len(tables), MISSING_CODE, np.uint16)
    for i, table in enumerate(tables):
        if table is None:
            continue
        number[i] = numbers.setdefault(table.tobytes(), len(unique))
        if number[i] == len(unique):
            unique.append(table)
    return unique, number


def to_fixed_point(values: F64) -> NDArray[np.uint16]:
    """Return values in units of 0.0001, rounded as Python prints four decimals; MISSING_CODE for NaN.

    >>> to_fixed_point(np.array([0.5, 0.12345, np.nan, 1.0])).tolist()
    [5000, 1235, 65535, 10000]
    """
    is_known = ~np.isnan(values)
    scaled = np.where(is_known, values, 0.0) * 1e4
    printed = np.rint(scaled)
    # Near the middle of two values the product above may round the wrong way; format those.
    for i in np.flatnonzero(np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6):
        printed[i] = int(f"{values[i]:.4f}".replace(".", ""))
    if not ((printed >= 0) & (printed < MISSING_CODE)).all():
        raise OverflowError("fixed-point values must lie between 0 and 6.5534")
    return np.where(is_known, printed, MISSING_CODE).astype(np.uint16)


def significant_digits(values: F64, digits: int = 3) -> NDArray[np.float32]:
    """Round to significant digits, as printed; rounded values compress better.

    >>> significant_digits(np.array([0.123456, 0.0, 1e-9])).round(12).tolist()[1]
    0.0
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        power = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values))))
        rounded = np.round(values * power) / power
    return np.where(np.isfinite(rounded), rounded, values).astype(np.float32)
