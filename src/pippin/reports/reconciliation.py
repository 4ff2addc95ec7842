"""Tables, record, figure and page of a reconciliation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from pippin.display.tables import BulletList, Paragraph, Renderable, Table, format_number, render_all
from pippin.display.terminal import current_terminal, display_width
from pippin.evaluation.convention import AXES
from pippin.evaluation.reconcile import AxisContribution, Reconciliation, signed
from pippin.evaluation.tools import TOOLS
from pippin.reports.benchmark_page import count, numbers_page
from pippin.reports.comparison import EMPTY_PANEL, NO_CONVENTION
from pippin.reports.html import html_table
from pippin.reports.page_arrays import Names, encode_array, encode_json, page_names
from pippin.reports.stored_rankings import MAX_QUERIES

_BAR_WIDTH = 34
_NO_CHANGE = 5e-7  # smaller parts are rounding errors of sums


def text(reconciliations: Sequence[Reconciliation], format: str = "table", per_query: bool = False) -> str:
    """Return reconciliations in a text format: a waterfall for one on a terminal, else a table per measure."""
    if format == "csv":
        return (per_query_csv if per_query else csv_table)(reconciliations).render("csv")
    if per_query:
        return "\n\n\n".join(render_all([Paragraph(r.sentence()), per_query_table(r)], format) for r in reconciliations)
    if format == "table" and len(reconciliations) == 1:
        return terminal(reconciliations[0])
    parts: list[Renderable] = []
    for measure in dict.fromkeys(r.measure for r in reconciliations):
        group = [r for r in reconciliations if r.measure == measure]
        parts += [table(group), BulletList([r.sentence() for r in group])]
    return render_all(parts, format)


def terminal(reconciliation: Reconciliation) -> str:
    """Return the sentence, the waterfall from one tool's value to the other's, and the queries behind each part."""
    screen = current_terminal()
    rows = waterfall(reconciliation)
    low = min(0.0, *(min(r[1], r[2]) for r in rows))
    high = max(*(max(r[1], r[2]) for r in rows), low + 1e-12)
    name_width = max(display_width(r[0]) for r in rows)
    width = _BAR_WIDTH if screen.columns is None else max(4, min(_BAR_WIDTH, screen.columns - name_width - 13))
    lines = []
    for name, start, end, is_total in rows:
        left, right = sorted(round((value - low) / (high - low) * width) for value in (start, end))
        bar = " " * left + ("█" if is_total else "▓" if end >= start else "░") * max(1, right - left)
        number = format_number(end, 4) if is_total else signed(end - start, 4)
        padding = " " * (name_width - display_width(name))
        lines.append(screen.text(f"{name}{padding}  {bar:<{width + 1}}  {number:>8}"))
    queries = [
        Paragraph(
            f"  {part.label}: " + ", ".join(f"query {q} {signed(v, 4)}" for q, v in reconciliation.top_queries(part)),
            "    ",
        )
        for part in reconciliation.contributions
        if abs(part.value) >= 5e-5 and reconciliation.top_queries(part)
    ]
    paragraphs = [Paragraph(reconciliation.sentence()).render(), "\n".join(lines)]
    if queries:
        paragraphs.append("\n".join(["largest contributions by query", *(line.render() for line in queries)]))
    return "\n\n".join(paragraphs)


def waterfall(reconciliation: Reconciliation) -> list[tuple[str, float, float, bool]]:
    """Return (name, start, end, is a total) of each step from the source's value to the target's."""
    rows = [(reconciliation.source.name, 0.0, reconciliation.before, True)]
    value = reconciliation.before
    for part in reconciliation.contributions:
        if abs(part.value) >= _NO_CHANGE:
            rows.append((part.label, value, value + part.value, False))
            value += part.value
    rows.append((reconciliation.target.name, 0.0, reconciliation.after, True))
    return rows


def table(reconciliations: Sequence[Reconciliation]) -> Table:
    """Return a row per tool: its value, the difference, and a column per axis."""
    axes = [
        a
        for a in AXES
        if any(p.axis == a and abs(p.value) >= _NO_CHANGE for r in reconciliations for p in r.contributions)
    ]
    source = reconciliations[0].source
    rows = []
    for reconciliation in reconciliations:
        parts = {p.axis: p.value for p in reconciliation.contributions}
        cells = [signed(parts[a], 4) if abs(parts.get(a, 0.0)) >= _NO_CHANGE else "" for a in axes]
        after, difference = format_number(reconciliation.after, 4), signed(reconciliation.difference, 4)
        rows.append([reconciliation.target.name, after, difference, *cells])
    measure = reconciliations[0].measure
    before = format_number(reconciliations[0].before, 4)
    notes = [f"value under {source.name}: {before}; the parts of a row sum to its difference."]
    return Table(["tool", measure, f"− {source.name}", *(AXES[a].label for a in axes)], rows, notes=notes)


def per_query_table(reconciliation: Reconciliation) -> Table:
    """Return a row per query with a difference and a column per axis, the largest differences first."""
    queries = reconciliation.query_ids
    parts = [p for p in reconciliation.contributions if np.abs(p.per_query).max(initial=0.0) >= _NO_CHANGE]
    total = sum((p.per_query for p in parts), np.zeros(len(queries)))
    order = [int(i) for i in np.argsort(-np.abs(total), kind="stable") if any(_cell(p, i) for p in parts)]
    rows = [[queries[i], signed(total[i], 4), *(_cell(p, i) for p in parts)] for i in order]
    notes = [f"{reconciliation.target.name} − {reconciliation.source.name}, divided by the number of queries; "
             f"{len(queries) - len(order)} other queries do not differ"]  # fmt: skip
    return Table(["query", "difference", *(p.label for p in parts)], rows, notes=notes)


def _cell(part: AxisContribution, query: int) -> str:
    value = float(part.per_query[query])
    return signed(value, 4) if abs(value) >= _NO_CHANGE else ""


def per_query_csv(reconciliations: Sequence[Reconciliation]) -> Table:
    """Return every part of every query as a long table with unrounded values."""
    rows = [
        [r.measure, r.source.name, r.target.name, s.axis, query, repr(value)]
        for r in reconciliations for s in r.contributions
        for query, value in zip(r.query_ids, s.per_query.tolist(), strict=True)
    ]  # fmt: skip
    return Table(["measure", "from", "to", "choice", "query", "value"], rows, text_columns=5)


def record(r: Reconciliation, per_query: bool = False) -> dict[str, Any]:
    """Return a reconciliation as a JSON record, with the ten largest queries of each part, or all."""
    limit = len(r.query_ids) if per_query else 10
    return {
        "measure": r.measure, "from": r.source.name, "to": r.target.name, "before": r.before, "after": r.after,
        "difference": r.difference, "sentence": r.sentence(),
        "parts": [
            {"axis": p.axis, "words": p.label, "before": p.before, "after": p.after, "value": p.value,
             "evidence": p.evidence, "queries": dict(r.top_queries(p, limit))}
            for p in r.contributions
        ],
    }  # fmt: skip


def csv_table(reconciliations: Sequence[Reconciliation]) -> Table:
    """Return a long table with unrounded values."""
    sides = [[r.measure, r.source.name, r.target.name] for r in reconciliations]
    rows = [[*s, p.axis, repr(p.value)] for r, s in zip(reconciliations, sides, strict=True) for p in r.contributions]
    totals = [[*s, "difference", repr(r.difference)] for r, s in zip(reconciliations, sides, strict=True)]
    return Table(["measure", "from", "to", "choice", "value"], [*rows, *totals], text_columns=4)


_RUN = "this ranking"


def reconcile_page(reconciliations: Sequence[Reconciliation], facts: Sequence[str]) -> str:
    """Return the page of reconciliations with one source."""
    measures = tuple(dict.fromkeys(r.measure for r in reconciliations))
    source = reconciliations[0].source.name
    targets = sorted(
        {r.target.name for r in reconciliations}, key=lambda name: list(TOOLS).index(name) if name in TOOLS else 0
    )
    opening = "NDCG@10" if "NDCG@10" in measures else measures[0]
    largest = max((r for r in reconciliations if r.measure == opening), key=lambda r: abs(r.difference))
    names = Names(("",), (source, *targets), measures, (_RUN,), (NO_CONVENTION,))
    data = {
        "noun": "ranking", **page_names(names), "tool": source, "explain": largest.target.name,
        "data": ["the data"], "alpha": 0.05, "overall": {},
        "notes": [], "without_lists": "", "panels": {NO_CONVENTION: {"the data": _panel(names, reconciliations)}},
    }  # fmt: skip
    tables = [[r for r in reconciliations if r.measure == measure] for measure in measures]
    all_parts = "".join(f"<h3>All parts of {Markup.escape(group[0].measure)}</h3>"
                        f"{html_table(table(group), f'All parts of {group[0].measure}')}"
                        for group in tables)  # fmt: skip
    return numbers_page(
        "Pippin reconciliation", f"Differences between tools in {' and '.join(measures)}", data,
        [count(len(names.tools), "evaluation tool"), *facts], ("reconcile",), finding=largest.sentence(),
        extra=Markup(all_parts),
    )  # fmt: skip


def _panel(names: Names, reconciliations: Sequence[Reconciliation]) -> dict[str, Any]:
    means = np.full((len(names.tools), len(names.measures), 1), np.nan)
    explanations: dict[str, Any] = {
        m: {_RUN: {"explanation_of": [-1] * len(names.tools), "explanations": []}} for m in names.measures
    }
    number = {query: i for i, query in enumerate(reconciliations[0].query_ids)}
    findings = [
        [f"{tool} does not define {measure} on these data." for tool in names.tools] for measure in names.measures
    ]
    for r in reconciliations:
        m, t = names.measures.index(r.measure), names.tools.index(r.target.name)
        means[0, m, 0], means[t, m, 0] = r.before, r.after
        findings[m][t] = r.sentence()
        by_tool = explanations[r.measure][_RUN]
        by_tool["explanation_of"][t] = len(by_tool["explanations"])
        by_tool["explanations"].append([
            (s.axis, s.value, s.evidence, [(number[q], v) for q, v in r.top_queries(s, MAX_QUERIES)])
            for s in r.contributions
        ])  # fmt: skip
    axes = {name: axis.label for name, axis in AXES.items()}
    return {**EMPTY_PANEL, "queries": list(reconciliations[0].query_ids), "means": encode_array(means),
            "findings": findings, "reconcile": encode_json({"axes": axes, "measures": explanations})}  # fmt: skip
