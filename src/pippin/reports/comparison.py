"""Tables, records, figures and page of a comparison."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from pippin.display.tables import Heading, Paragraph, Renderable, Table, format_number, render_all
from pippin.evaluation.compare import Comparison, ToolLeaderboard, Verdict
from pippin.evaluation.reported import ReportedValue
from pippin.evaluation.significance import PairwiseTests
from pippin.reports.benchmark_data import disagreement, significance_sentence
from pippin.reports.benchmark_page import count, numbers_page
from pippin.reports.html import html_table
from pippin.reports.page_arrays import Names, ScoreTable, cluster_tools, encode_json, encode_panel, page_names

_MAX_PAIRS = 3  # pairs whose tests are printed; for more, letters mark significance
_MAX_REMARKS = 5  # pairs whose test is undefined that the notes name
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def leaderboard(comparison: Comparison) -> Table:
    """Return the systems, best first: mean, significant differences, interval, and the range over orders of ties."""
    board = comparison.first
    intervals = {i.system: i for i in comparison.intervals}
    marks = significance_marks(board)
    order = board.order()
    letters = len(order) <= len(_LETTERS) and board.tests.baseline is None
    tied = any(worst != best for worst, best in board.ties.values())
    rows = []
    for rank, system in enumerate(order, 1):
        interval, ties = intervals[system], board.ties.get(system) if tied else None
        rows.append([
            str(rank), f"{_LETTERS[rank - 1]} {system}" if letters else system,
            format_number(board.means[system], 4), marks[system], f"[{interval.low:.4f}, {interval.high:.4f}]",
            *([f"[{ties[0]:.4f}, {ties[1]:.4f}]"] if ties else []),
        ])  # fmt: skip
    better = "better than" if letters else "number worse"
    marks_header = better if board.tests.baseline is None else f"vs {board.tests.baseline}"
    headers = ["", "system", comparison.measure, marks_header, f"{100 * (1 - board.tests.alpha):g}% interval"]
    headers += ["tie range"] if tied else []
    return Table(headers, rows, text_columns=2, notes=_notes(board, letters), repeated_columns=2, highlighted={(0, 2)})


def _notes(board: ToolLeaderboard, letters: bool) -> list[str]:
    tests = board.tests
    n_pairs = f"{len(tests.pairs)} pair{'s' * (len(tests.pairs) != 1)}"
    correction = "" if tests.correction in ("none", tests.test) else f", {tests.correction} over {n_pairs}"
    notes = [f"{board.name}: {len(board.table.query_ids)} queries; {tests.test} ({tests.method}){correction}, "
             f"alpha {tests.alpha:g}."]  # fmt: skip
    if tests.baseline is not None:
        notes.append("† significantly better than the baseline, ‡ significantly worse")
    elif letters:
        notes.append("better than: letters of the systems that are significantly worse")
    if len(tests.pairs) > _MAX_PAIRS:  # for fewer pairs, the table of pairs has the remarks
        notes += [f"{pair.a} − {pair.b}: {pair.reason}" for pair in tests.pairs if pair.reason][:_MAX_REMARKS]
    return [*notes, *tests.notes]


def pairs_table(tests: PairwiseTests, notes: Sequence[str] = ()) -> Table:
    """Return a row per pair: difference, interval, p, effect size, and the queries needed to detect the difference."""
    has_remarks = any(pair.reason for pair in tests.pairs)
    rows = [
        [
            p.a,
            p.b,
            f"{p.difference:+.4f}".replace("-", "−"),
            f"[{format_number(p.low, 4)}, {format_number(p.high, 4)}]".replace("-", "−"),
            format_number(p.p, 4),
            format_number(p.p_adjusted, 4),
            format_number(p.effect, 3),
            "–" if p.queries_needed is None else f"{p.queries_needed:,}",
            *([p.reason] if has_remarks else []),
        ]
        for p in tests.pairs
    ]
    headers = ["a", "b", "a − b", f"{100 * (1 - tests.alpha):g}% interval", "p", "p, corrected", "effect",
               "queries needed", *(["remark"] if has_remarks else [])]  # fmt: skip
    return Table(headers, rows, text_columns=2, trailing_text=int(has_remarks), notes=notes, repeated_columns=2)


def significance_marks(board: ToolLeaderboard) -> dict[str, str]:
    """Return per system the letters, or the number, of systems it is significantly better than, or a dagger."""
    order, baseline = board.order(), board.tests.baseline
    marks = {}
    for system in order:
        if baseline is not None:
            is_significant = system != baseline and board.significant(system, baseline)
            marks[system] = ("†" if board.winner(system, baseline) > 0 else "‡") if is_significant else ""
            continue
        worse = [i for i, s in enumerate(order) if board.winner(system, s) > 0 and board.significant(system, s)]
        marks[system] = "".join(_LETTERS[i] for i in worse) if len(order) <= len(_LETTERS) else str(len(worse))
    return marks


def by_tool(comparison: Comparison) -> tuple[Table, list[tuple[int, int]]]:
    """Return every tool's mean and rank of every system, the longer side down; and the cells of the winners."""
    order, boards = comparison.first.order(), comparison.boards
    ranks = [{s: i for i, s in enumerate(board.order(), 1)} for board in boards]
    cells = [[f"{format_number(b.means[s], 4)} ({r[s]})" for s in order] for b, r in zip(boards, ranks, strict=True)]
    best = [(t, order.index(board.order()[0])) for t, board in enumerate(boards)]
    notes = ["in brackets: the rank under the tool"]
    if len(boards) >= len(order):
        rows = [[board.name, *row] for board, row in zip(boards, cells, strict=True)]
        winners = [(t, s + 1) for t, s in best]
        return Table(["tool", *order], rows, notes=notes, highlighted=winners), winners
    rows = [[system, *(row[i] for row in cells)] for i, system in enumerate(order)]
    winners = [(s, t + 1) for t, s in best]
    return Table(["system", *(b.name for b in boards)], rows, notes=notes, highlighted=winners), winners


def verdict_table(comparison: Comparison, only_flips: bool = False) -> Table:
    """Return a row per pair: who is ahead under how many tools, how often significantly, and what flips it."""
    total = len(comparison.boards)
    rows = []
    for v in comparison.verdicts:
        if only_flips and not v.flips:
            continue
        rows.append([v.a, v.b, _ahead(v, total), f"{len(v.significant)} of {total}", _cause(v)])
    return Table(
        ["better", "worse", "tools that agree", "significant", "flipped by"], rows, text_columns=5, repeated_columns=2
    )


def _ahead(verdict: Verdict, total: int) -> str:
    equal = f", {len(verdict.equal)} equal" if verdict.equal else ""
    ahead = len(verdict.tools_preferring_a)
    return f"all {total}" if ahead == total else f"{ahead} of {total}{equal}"


def _cause(verdict: Verdict) -> str:
    grouped: dict[str, list[str]] = {}
    for tool, choice, _ in verdict.causes:
        grouped.setdefault(choice, []).append(tool)
    return "; ".join(f"{choice} ({', '.join(tools)})" for choice, tools in grouped.items())


def agreement_table(comparison: Comparison, coefficient: str) -> Table:
    """Return the rank correlation between the leaderboards of every two tools."""
    names = [b.name for b in comparison.boards]
    matrix = comparison.agreement(coefficient)
    rows = [[name, *(format_number(v, 3) for v in row)] for name, row in zip(names, matrix, strict=True)]
    return Table([coefficient, *names], rows, notes=["the highest score is rank 1"])


def parts(comparison: Comparison) -> list[Heading | Paragraph | Table]:
    """Return the measure, the verdict in a sentence, and the tables."""
    blocks: list[Heading | Paragraph | Table] = [
        Heading(comparison.measure), Paragraph(comparison.sentence()), leaderboard(comparison)
    ]  # fmt: skip
    if len(comparison.first.tests.pairs) <= _MAX_PAIRS:
        blocks.append(pairs_table(comparison.first.tests))
    if len(comparison.boards) > 1:
        blocks.append(by_tool(comparison)[0])
        if comparison.flips:
            blocks += [Heading("Pairs that flip", ""), verdict_table(comparison, only_flips=True)]
        if len(comparison.first.means) > 2:
            blocks += [agreement_table(comparison, c) for c in ("tau_b", "tau_ap_b")]
    return blocks


def text(comparison: Comparison, format: str) -> str:
    """Return all tables, for the terminal, Markdown or LaTeX."""
    return render_all(parts(comparison), format)


def all_text(comparisons: Sequence[Comparison], format: str = "table", per_query: bool = False) -> str:
    """Return comparisons of several measures in a text format."""
    if format == "csv":
        return (per_query_csv if per_query else csv_table)(comparisons).render("csv")
    return "\n\n\n".join((per_query_text if per_query else text)(c, format) for c in comparisons)


def reported_text(values: Sequence[ReportedValue], format: str = "table") -> str:
    """Return reported values with the recomputed ones, one per line, or as JSON."""
    if format == "json":
        return json.dumps([{**vars(value), "same": value.same} for value in values], indent=1)
    return "\n".join(value.sentence() for value in values)


def per_query_text(comparison: Comparison, format: str) -> str:
    """Return the compared values under each tool: a row per query, a column per system."""
    parts: list[Renderable] = [Heading(comparison.measure)]
    for board in comparison.boards:
        values = zip(board.table.query_ids, board.table.values.tolist(), strict=True)
        rows = [[query, *(format_number(value, 4) for value in row)] for query, row in values]
        means = ["all", *(format_number(board.means[system], 4) for system in board.table.systems)]
        parts.append(Table(["query", *board.table.systems], [*rows, means], notes=[f"under {board.name}"]))
    return render_all(parts, format)


def per_query_csv(comparisons: Sequence[Comparison]) -> Table:
    """Return the compared values as a long table: measure, tool, system, query, value."""
    rows = [
        [comparison.measure, board.name, system, query, repr(value)]
        for comparison in comparisons for board in comparison.boards
        for query, values in zip(board.table.query_ids, board.table.values.tolist(), strict=True)
        for system, value in zip(board.table.systems, values, strict=True)
    ]  # fmt: skip
    return Table(["measure", "tool", "system", "query", "value"], rows, text_columns=4)


def csv_table(comparisons: Sequence[Comparison]) -> Table:
    """Return a long table: measure, tool, system, rank, mean, and the interval under the first tool."""
    rows = []
    for comparison in comparisons:
        intervals = {i.system: i for i in comparison.intervals}
        for board in comparison.boards:
            for rank, system in enumerate(board.order(), 1):
                interval = intervals[system] if board is comparison.first else None
                bounds = [repr(interval.low), repr(interval.high)] if interval else ["", ""]
                rows.append([comparison.measure, board.name, system, str(rank), repr(board.means[system]), *bounds])
    return Table(["measure", "tool", "system", "rank", "mean", "low", "high"], rows, text_columns=3)


def record(comparison: Comparison, per_query: bool = False) -> dict[str, Any]:
    """Return a comparison as a JSON record, with the compared values if `per_query`."""
    several = len(comparison.boards) > 1 and len(comparison.first.means) > 1
    return {
        "measure": comparison.measure,
        "verdict": comparison.sentence(),
        "boards": [_board_record(b) | (_values_record(b) if per_query else {}) for b in comparison.boards],
        "intervals": {i.system: [i.low, i.high] for i in comparison.intervals},
        "pairs": [
            {"a": v.a, "b": v.b, "tools_preferring_a": v.tools_preferring_a,
             "tools_preferring_b": v.tools_preferring_b, "equal": v.equal, "significant": v.significant,
             "flips": v.flips, "causes": [{"tool": t, "choice": c, "moves": m} for t, c, m in v.causes]}
            for v in comparison.verdicts
        ],
        "agreement": {c: comparison.agreement(c) for c in ("tau_b", "tau_ap_b")} if several else {},
    }  # fmt: skip


def _board_record(board: ToolLeaderboard) -> dict[str, Any]:
    tests = board.tests
    return {
        "tool": board.name, "queries": len(board.table.query_ids), "test": tests.test, "method": tests.method,
        "correction": tests.correction, "alpha": tests.alpha, "notes": tests.notes, "means": dict(board.means),
        "ties": {s: list(r) for s, r in board.ties.items()},
        "tests": [
            {"a": p.a, "b": p.b, "difference": p.difference, "statistic": _json(p.statistic), "p": _json(p.p),
             "p_error": p.p_error, "p_adjusted": _json(p.p_adjusted), "low": _json(p.low), "high": _json(p.high),
             "effect": _json(p.effect), "queries_needed": p.queries_needed, "reason": p.reason}
            for p in tests.pairs
        ],
    }  # fmt: skip


def _values_record(board: ToolLeaderboard) -> dict[str, Any]:
    """Return system → query → value."""
    columns = zip(board.table.systems, board.table.values.T.tolist(), strict=True)
    return {"per_query": {s: dict(zip(board.table.query_ids, column, strict=True)) for s, column in columns}}


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None


NO_CONVENTION = "given"  # the only training convention of pages where nothing is trained
EMPTY_PANEL: dict[str, Any] = {
    "folds": [], "gaps": [], "fold_of": [], "costs": {}, "importance": {}, "chosen": {}, "published": {},
    "reconcile": None, "query_texts": None, "detail_ranks": None,
}  # fmt: skip


def compare_page(comparisons: Sequence[Comparison], data_name: str, facts: Sequence[str]) -> str:
    """Return the page of comparisons by several measures."""
    first = comparisons[0].first
    names = _names(comparisons, data_name)
    omissions = dict.fromkeys(sentence for c in comparisons for sentence in c.omissions())
    data = {
        "noun": "system", **page_names(names), "alpha": first.tests.alpha, "overall": {}, "without_lists": "",
        "notes": [note.rstrip(".") for note in (_describe_tests(first), *first.tests.notes, *omissions)],
        "panels": {NO_CONVENTION: {data_name: _panel(names, comparisons)}},
    }  # fmt: skip
    counts = [count(len(names.rankers), "system"), count(len(first.table.query_ids), "query", "queries"),
              count(len(names.tools), "evaluation tool")]  # fmt: skip
    return numbers_page(
        "Pippin comparison", "Comparison of systems", data, [*counts, *facts], ("board", "tools", "figures", "queries"),
        extra=Markup("".join(_flips(c) for c in comparisons)),
    )  # fmt: skip


def _names(comparisons: Sequence[Comparison], data_name: str) -> Names:
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
    ordered = cluster_tools(tools, agreements, "official" if "official" in tools else first)
    return Names((data_name,), ordered, tuple(c.measure for c in comparisons), systems, (NO_CONVENTION,))


def _panel(names: Names, comparisons: Sequence[Comparison]) -> dict[str, Any]:
    queries = list(dict.fromkeys(q for c in comparisons for b in c.boards for q in b.table.query_ids))
    number = {query: i for i, query in enumerate(queries)}
    tables = {(b.name, c.measure): _score_table(c, b, number) for c in comparisons for b in c.boards}
    several = len(names.rankers) > 1
    findings = [[_finding(c, tool) for tool in names.tools] for c in comparisons]
    return {
        **EMPTY_PANEL, "queries": queries, "findings": encode_json(findings),
        **encode_panel(names, tables, [c if several else None for c in comparisons], len(queries)),
    }  # fmt: skip


def _score_table(comparison: Comparison, board: ToolLeaderboard, number: dict[str, int]) -> ScoreTable:
    values = np.full((len(number), len(board.table.systems)), np.nan)
    values[[number[query] for query in board.table.query_ids]] = board.table.values
    intervals = comparison.intervals if board is comparison.first else ()
    return ScoreTable(
        board.name, comparison.measure, {s: board.means[s] for s in board.order()},
        {i.system: (i.low, i.high) for i in intervals}, board, board.table.systems, values,
    )  # fmt: skip


def _describe_tests(board: ToolLeaderboard) -> str:
    tests = board.tests
    correction = "" if tests.correction in ("none", tests.test) else f", corrected by {tests.correction}"
    against = f" against {tests.baseline}" if tests.baseline is not None else " of every pair"
    return f"Tests{against}: {tests.test} ({tests.method}){correction}, alpha {tests.alpha:g}"


def _finding(comparison: Comparison, tool: str) -> str:
    board = next((b for b in comparison.boards if b.name == tool), None)
    if board is None:
        return f"{tool} does not define {comparison.measure}."
    best, *other_systems = board.order()
    measure = f"{comparison.measure} under {tool}"
    if board.tests.baseline is None:
        tied = [s for s in other_systems if not board.significant(best, s)]
        sentence = significance_sentence(best, board.means[best], tied, len(other_systems), measure)
    else:
        sentence = _against_baseline(board, board.tests.baseline, measure)
    sentence = sentence[0].upper() + sentence[1:] if sentence.startswith("no ") else sentence
    if not other_systems or len(comparison.boards) < 2:
        return sentence
    return f"{sentence} {disagreement(best, {b.name: b.order()[0] for b in comparison.boards if b is not board})}"


def _against_baseline(board: ToolLeaderboard, baseline: str, measure: str) -> str:
    """Return how many systems are significantly better or worse than the baseline."""
    significant = [s for s in board.means if s != baseline and board.significant(s, baseline)]
    better = sum(board.winner(s, baseline) > 0 for s in significant)
    return (f"{better} of {len(board.means) - 1} systems are significantly better than {baseline} by {measure}, "
            f"{len(significant) - better} significantly worse.")  # fmt: skip


def _flips(comparison: Comparison) -> str:
    """Return the pairs whose winner depends on the tool, and the axis that causes it."""
    if not comparison.flips:
        return ""
    table = html_table(verdict_table(comparison, only_flips=True), f"Pairs that flip by {comparison.measure}")
    summary = f"{count(len(comparison.flips), 'pair')} whose winner depends on the tool, by {comparison.measure}"
    return str(Markup("<details><summary>{}</summary>{}</details>").format(summary, Markup(table)))
