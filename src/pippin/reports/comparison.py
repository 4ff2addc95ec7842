"""Tables, records, figures and page of a comparison."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from pippin._version import __version__
from pippin.display.tables import (
    Heading,
    Paragraph,
    Renderable,
    Table,
    format_number,
    latex,
    markdown,
    render_all,
)
from pippin.evaluation.compare import EQUAL, Comparison, Comparisons, ToolLeaderboard, Verdict
from pippin.evaluation.reported import ReportedValue
from pippin.evaluation.significance import PairwiseTests
from pippin.evaluation.tools import TOOLS, ToolSelection, names_only_groups, resolve_tools
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
    better, worse = significance_marks(board)
    letters = system_letters(board.tests, board.order())
    has_ties = any(low != high for low, high in board.ties.values())
    headers = ["", "system", comparison.measure, "better than" if letters else "systems beaten"]
    headers += ["worse than"] if board.tests.baselines else []
    headers += [f"{100 * (1 - board.tests.alpha):g}% interval", *(["tie range"] if has_ties else [])]
    rows = []
    for rank, system in enumerate(board.order(), 1):
        interval = intervals[system]
        row = [str(rank), f"{letters.get(system, ' ')} {system}" if letters else system]
        row += [format_number(board.means[system], 4), better[system]]
        row += [worse[system]] if board.tests.baselines else []
        row.append(f"[{interval.low:.4f}, {interval.high:.4f}]")
        row += ["[{:.4f}, {:.4f}]".format(*board.ties[system])] if has_ties else []
        rows.append(row)
    return Table(headers, rows, text_columns=2, notes=_notes(board), repeated_columns=2, highlighted={(0, 2)})


def _notes(board: ToolLeaderboard) -> list[str]:
    tests = board.tests
    notes = [f"{board.name}: {len(board.table.query_ids)} queries; {tests.test} ({tests.method}){_correction(tests)}, "
             f"alpha {tests.alpha:g}."]  # fmt: skip
    if tests.baselines:
        notes.append("better than, worse than: letters of the baselines with a significant difference")
    elif system_letters(tests, board.order()):
        notes.append("better than: letters of the systems that are significantly worse")
    if len(tests.pairs) > _MAX_PAIRS:  # for fewer pairs, the table of pairs has the remarks
        notes += [f"{pair.a} − {pair.b}: {pair.reason}" for pair in tests.pairs if pair.reason][:_MAX_REMARKS]
    return [*notes, *tests.notes]


def _correction(tests: PairwiseTests) -> str:
    """Return the correction and the number of pairs in words, or an empty string."""
    pairs = f"{len(tests.pairs)} pair{'s' * (len(tests.pairs) != 1)}"
    return "" if tests.correction in ("none", tests.test) else f", {tests.correction} over {pairs}"


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


def system_letters(tests: PairwiseTests, order: Sequence[str]) -> dict[str, str]:
    """Return the letters by which marks name the baselines, or all systems; empty if there are too many."""
    named = tests.baselines or order
    return dict(zip(named, _LETTERS, strict=False)) if len(named) <= len(_LETTERS) else {}


def significance_marks(board: ToolLeaderboard) -> tuple[dict[str, str], dict[str, str]]:
    """Return per system the letters, or the number, of the systems that are significantly worse, and better."""
    letters = system_letters(board.tests, board.order())

    def marks(systems: Sequence[str]) -> str:
        return "".join(sorted(letters[s] for s in systems if s in letters)) if letters else str(len(systems))

    return (
        {system: marks(board.significantly_worse(system)) for system in board.means},
        {system: marks(board.significantly_better(system)) for system in board.means},
    )


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


class PaperTable:
    """A table of systems and measures for a paper: best values in bold, significant differences as superscripts.

    `tools` get a column under each measure; by default the first tool.
    """

    def __init__(self, comparisons: Sequence[Comparison], tools: Sequence[str] = ()) -> None:
        self.comparisons = comparisons
        tools = tools or [comparisons[0].first.name]
        self.columns = [board for c in comparisons for board in c.boards if board.name in tools]
        self.tools = list(dict.fromkeys(board.name for board in self.columns))
        first = comparisons[0].first
        self.tests, order = first.tests, first.order()
        self.systems = [*self.tests.baselines, *(s for s in order if s not in self.tests.baselines)]
        self.letters = system_letters(self.tests, self.systems)

    def render(self, form: str) -> str:
        """Return the table as LaTeX or Markdown."""
        return self._latex() if form == "latex" else self._markdown()

    def _cells(self, board: ToolLeaderboard) -> Iterator[tuple[str, bool, str, str]]:
        """Yield per system the value, whether it is the best, and the letters of worse and of better systems."""
        best = max(board.means.values())
        for system in self.systems:
            mean = board.means[system]
            worse, better = (
                "".join(sorted(self.letters[s] for s in systems if s in self.letters))
                for systems in (board.significantly_worse(system), board.significantly_better(system))
            )
            is_best = mean >= best - EQUAL
            yield format_number(mean, 4), is_best, worse, better if self.tests.baselines else ""

    def _latex(self) -> str:
        columns = []
        for board in self.columns:
            column = []
            for value, is_best, worse, better in self._cells(board):
                marks = f"^{{{worse}}}" * bool(worse) + f"_{{{better}}}" * bool(better)
                column.append((rf"\textbf{{{value}}}" if is_best else value) + (f"${marks}$" if marks else ""))
            columns.append(column)
        first = [[self.letters.get(system, ""), latex(system)] for system in self.systems]
        rows = [[*names, *cells] for names, *cells in zip(first, *columns, strict=True)]
        lines = [" & ".join(row) + r" \\" for row in [*self._latex_headers(), *rows]]
        headers = len(lines) - len(rows)
        if headers == 2:
            width = len(self.tools)
            starts = range(3, 3 + len(self.columns), width)
            lines[0] += "".join(rf" \cmidrule(lr){{{start}-{start + width - 1}}}" for start in starts)
        return "\n".join([
            r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering", rf"\caption{{{latex(self.caption())}}}",
            r"\label{tab:comparison}", rf"\begin{{tabular}}{{{'l' * (2 + len(self.columns))}}}", r"\toprule",
            *lines[:headers], r"\midrule", *lines[headers:], r"\bottomrule", r"\end{tabular}", r"\end{table}",
        ])  # fmt: skip

    def _latex_headers(self) -> list[list[str]]:
        """Return the measures; with several tools, the measures over the tools."""
        if len(self.tools) == 1:
            return [["", "System", *(latex(board.measure) for board in self.columns)]]
        measures = dict.fromkeys(board.measure for board in self.columns)
        spans = [rf"\multicolumn{{{len(self.tools)}}}{{c}}{{{latex(measure)}}}" for measure in measures]
        return [["", "", *spans], ["", "System", *(latex(board.name) for board in self.columns)]]

    def _markdown(self) -> str:
        several = len(self.tools) > 1
        headers = ["", "system", *(f"{b.measure} ({b.name})" if several else b.measure for b in self.columns)]
        rows = [[self.letters.get(system, ""), markdown(system).replace("|", r"\|")] for system in self.systems]
        for board in self.columns:
            for row, (value, is_best, worse, better) in zip(rows, self._cells(board), strict=True):
                marks = f"<sup>{worse}</sup>" * bool(worse) + f"<sub>{better}</sub>" * bool(better)
                row.append((f"**{value}**" if is_best else value) + marks)
        lines = [headers, ["---"] * len(headers), *rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{markdown(self.caption())}"

    def caption(self) -> str:
        """Return what the table shows: measures, queries, tool, test, correction and versions."""
        measures = _join(list(dict.fromkeys(board.measure for board in self.columns)))
        counts = sorted({len(board.table.query_ids) for board in self.columns})
        queries = f"{counts[0]} queries" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} queries"
        named = [f"{name} ({TOOLS[name].full_title})" for name in self.tools if name in TOOLS]
        under = f" under {_join(named)}" if named else ""
        sentences = [f"{measures} of {len(self.systems)} systems on {queries}{under}; the best value is bold."]
        tests = self.tests
        if self.letters:
            worse = "; a subscript names the baselines that are significantly better" if tests.baselines else ""
            kind = "baselines" if tests.baselines else "systems"
            sentences.append(f"A superscript names the {kind} that are significantly worse{worse}.")
        family = f"{_correction(tests)} per measure" if _correction(tests) else ", uncorrected"
        family = "" if tests.correction == tests.test else family
        sentences.append(f"Test: {tests.test} ({tests.method}){family}, α = {tests.alpha:g}.")
        undefined = sum(math.isnan(pair.p) for board in self.columns for pair in board.tests.pairs)
        if undefined:
            sentences.append(f"Pairs with a constant difference, for which the test is undefined: {undefined}.")
        return " ".join([*sentences, f"Computed with Pippin {__version__}."])


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def text(comparison: Comparison, format: str) -> str:
    """Return all tables in a text format."""
    return render_all(parts(comparison), format)


def all_text(
    comparisons: Sequence[Comparison],
    format: str = "table",
    per_query: bool = False,
    tools: ToolSelection | None = None,
) -> str:
    """Return comparisons of several measures in a text format; in Markdown and LaTeX, one table for a paper.

    That table has columns for each of the selected `tools`; of a group, for the first tool only.
    """
    if format == "csv":
        return (per_query_csv if per_query else csv_table)(comparisons).render("csv")
    if format in ("latex", "markdown") and not per_query:
        named = [] if tools is None or names_only_groups(tools) else [tool.name for tool in resolve_tools(tools)]
        return PaperTable(comparisons, named).render(format)
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
    """Return a row per measure, tool and system; see `Comparison.to_dict`."""
    columns = Comparisons(comparisons).to_dict()
    rows = [
        [("" if math.isnan(cell) else repr(cell)) if isinstance(cell, float) else str(cell) for cell in row]
        for row in zip(*columns.values(), strict=True)
    ]
    return Table(list(columns), rows, text_columns=len(columns))


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
        "correction": tests.correction, "alpha": tests.alpha,
        "baselines": tests.baselines, "notes": tests.notes, "means": dict(board.means),
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
    against = f" against {_join(tests.baselines)}" if tests.baselines else " of every pair"
    return f"Tests{against}: {tests.test} ({tests.method}){correction}, alpha {tests.alpha:g}"


def _finding(comparison: Comparison, tool: str) -> str:
    board = next((b for b in comparison.boards if b.name == tool), None)
    if board is None:
        return f"{tool} does not define {comparison.measure}."
    best, *other_systems = board.order()
    measure = f"{comparison.measure} under {tool}"
    if not board.tests.baselines:
        tied = [s for s in other_systems if not board.significant(best, s)]
        sentence = significance_sentence(best, board.means[best], tied, len(other_systems), measure)
    else:
        sentence = " ".join(_against_baseline(board, baseline, measure) for baseline in board.tests.baselines)
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
