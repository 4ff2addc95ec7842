"""The page of a comparison: that of a benchmark, with systems in place of rankers and without what was not computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from pippin.report import sheets as made
from pippin.report.bench_words import disagreement
from pippin.report.numbers import count, numbers_page
from pippin.report.packing import pack_texts
from pippin.report.page import html_table
from pippin.report.sheets import Names, Sheet

if TYPE_CHECKING:
    from pippin.evaluation.compare import Board, Comparison

GIVEN = "given"  # nothing was trained, so there is one convention, of which nothing is said
NOTHING: dict[str, Any] = {
    "folds": [], "gaps": [], "fold_of": [], "costs": {}, "importance": {}, "chosen": {}, "published": {},
    "reconcile": None, "query_texts": None, "detail_ranks": None,
}  # fmt: skip


def compare_page(comparisons: Sequence[Comparison], what: str, facts: Sequence[str]) -> str:
    """The whole page as one text; a comparison for each measure."""
    first = comparisons[0].first
    names = _names(comparisons, what)
    omitted = dict.fromkeys(words for c in comparisons for words in c.omissions())
    data = {
        "noun": "system", **made.common(names), "alpha": first.tested.alpha, "overall": {}, "without_lists": "",
        "notes": [note.rstrip(".") for note in (_tested(first), *first.tested.notes, *omitted)],
        "panels": {GIVEN: {what: _panel(names, comparisons)}},
    }  # fmt: skip
    counts = [count(len(names.rankers), "system"), count(len(first.table.query_ids), "query", "queries"),
              count(len(names.tools), "evaluation tool")]  # fmt: skip
    return numbers_page(
        "Pippin comparison", "Comparison of systems", data, [*counts, *facts], ("board", "tools", "figures", "queries"),
        extra=Markup("".join(_flips(c) for c in comparisons)),
    )  # fmt: skip


def _names(comparisons: Sequence[Comparison], what: str) -> Names:
    tools = list(dict.fromkeys(board.name for c in comparisons for board in c.boards))
    systems = tuple(dict.fromkeys(s for c in comparisons for s in c.first.order()))
    agreements = []
    for comparison in comparisons:
        table = np.full((len(tools), len(tools)), np.nan)
        at = [tools.index(b.name) for b in comparison.boards]
        if len(systems) > 1:
            table[np.ix_(at, at)] = comparison.agreement("tau_b")
        agreements.append(table)
    first = comparisons[0].first.name
    ordered = made.clustered(tools, agreements, "official" if "official" in tools else first)
    return Names((what,), ordered, tuple(c.measure for c in comparisons), systems, (GIVEN,))


def _panel(names: Names, comparisons: Sequence[Comparison]) -> dict[str, Any]:
    queries = list(dict.fromkeys(q for c in comparisons for b in c.boards for q in b.table.query_ids))
    number = {query: i for i, query in enumerate(queries)}
    sheets = {(b.name, c.measure): _sheet(c, b, number) for c in comparisons for b in c.boards}
    several = len(names.rankers) > 1
    findings = [[_finding(c, tool) for tool in names.tools] for c in comparisons]
    return {
        **NOTHING, "queries": queries, **made.agreements(names, [c if several else None for c in comparisons]),
        **made.arrays(names, sheets, 0), **made.pairs(names, sheets), "groups": made.all_groups(names, sheets),
        **made.query_values(names, sheets, len(queries)), "findings": pack_texts(findings),
    }  # fmt: skip


def _sheet(comparison: Comparison, board: Board, number: dict[str, int]) -> Sheet:
    values = np.full((len(number), len(board.table.systems)), np.nan)
    values[[number[query] for query in board.table.query_ids]] = board.table.values
    intervals = comparison.intervals if board is comparison.first else ()
    return Sheet(
        board.name, comparison.measure, {s: board.means[s] for s in board.order()},
        {i.system: (i.low, i.high) for i in intervals}, board, board.table.systems, values,
    )  # fmt: skip


def _tested(board: Board) -> str:
    tested = board.tested
    corrected = "" if tested.correction in ("none", tested.test) else f", corrected by {tested.correction}"
    against = f" against {tested.baseline}" if tested.baseline is not None else " of every pair"
    return f"Tests{against}: {tested.test} ({tested.method}){corrected}, alpha {tested.alpha:g}"


def _finding(comparison: Comparison, tool: str) -> str:
    board = next((b for b in comparison.boards if b.name == tool), None)
    if board is None:
        return f"{tool} gives no {comparison.measure}."
    best = board.order()[0]
    value = board.means[best]
    lead = f"Under {tool}, {best} has the best {comparison.measure}" + (
        f": {value:.4f}." if math.isfinite(value) else "."
    )
    if len(board.means) < 2:
        return lead
    if len(comparison.boards) < 2:
        return f"{lead} {comparison.sentence()}"
    return f"{lead} {disagreement(best, {b.name: b.order()[0] for b in comparison.boards if b is not board})}"


def _flips(comparison: Comparison) -> str:
    """The pairs that change their winner with the tool, and which choice does it."""
    from pippin.report.compare import verdict_table

    if not comparison.flips:
        return ""
    table = html_table(verdict_table(comparison, only_flips=True), f"Pairs that flip by {comparison.measure}")
    words = f"{count(len(comparison.flips), 'pair')} with another winner under another tool, by {comparison.measure}"
    return str(Markup("<details><summary>{}</summary>{}</details>").format(words, Markup(table)))
