"""A reconciliation drawn: a sentence, a waterfall on the terminal, tables, records, and a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pippin.evaluation.convention import AXES
from pippin.evaluation.reconcile import Reconciliation, signed
from pippin.report.page import Section, html_table, page
from pippin.tables import Table, number
from pippin.terminal import width

_BAR = 34


def terminal(found: Reconciliation) -> str:
    """The sentence, then the waterfall from one tool's number to the other's, then who carries each part."""
    rows = waterfall(found)
    low = min(0.0, *(min(r[1], r[2]) for r in rows))
    high = max(*(max(r[1], r[2]) for r in rows), low + 1e-12)
    label = max(width(r[0]) for r in rows)
    lines = [found.sentence(), ""]
    for name, start, end, total in rows:
        left, right = sorted((_column(start, low, high), _column(end, low, high)))
        blocks = ("█" if total else "▓" if end >= start else "░") * max(1, right - left)
        shown = number(end, 4) if total else signed(end - start, 4)
        bar = " " * left + blocks
        lines.append(f"{name}{' ' * (label - width(name))}  {bar:<{_BAR + 1}}  {shown:>8}")
    carried = [
        f"  {part.words}: " + ", ".join(f"query {q} {signed(v, 4)}" for q, v in found.carriers(part))
        for part in found.shares
        if abs(part.value) >= 5e-5 and found.carriers(part)
    ]
    return "\n".join([*lines, *(["", "carried most by", *carried] if carried else [])])


def _column(value: float, low: float, high: float) -> int:
    return round((value - low) / (high - low) * _BAR)


def waterfall(found: Reconciliation) -> list[tuple[str, float, float, bool]]:
    """(name, from, to, whether a total) for each step from the source's number to the target's."""
    rows = [(found.source.name, 0.0, found.before, True)]
    at = found.before
    for part in found.shares:
        if abs(part.value) >= 5e-7:
            rows.append((part.words, at, at + part.value, False))
            at += part.value
    rows.append((found.target.name, 0.0, found.after, True))
    return rows


def table(reconciliations: Sequence[Reconciliation]) -> Table:
    """One row per tool: its number, the difference, and a column per choice."""
    axes = [a for a in AXES if any(p.axis == a and abs(p.value) >= 5e-7 for r in reconciliations for p in r.shares)]
    source = reconciliations[0].source
    rows = []
    for found in reconciliations:
        parts = {p.axis: p.value for p in found.shares}
        cells = [signed(parts[a], 4) if abs(parts.get(a, 0.0)) >= 5e-7 else "" for a in axes]
        rows.append([found.target.name, number(found.after, 4), signed(found.difference, 4), *cells])
    measure = reconciliations[0].measure
    notes = [f"{source.name} says {number(reconciliations[0].before, 4)}; the parts of a row sum to its difference."]
    return Table(["tool", measure, f"− {source.name}", *(AXES[a].words for a in axes)], rows, notes=notes)


def record(found: Reconciliation) -> dict[str, Any]:
    """A reconciliation as JSON holds it, doubles in full."""
    return {
        "measure": found.measure, "from": found.source.name, "to": found.target.name, "before": found.before,
        "after": found.after, "difference": found.difference, "sentence": found.sentence(),
        "parts": [
            {"axis": p.axis, "words": p.words, "before": p.before, "after": p.after, "value": p.value, "fact": p.fact,
             "queries": dict(found.carriers(p, 10))}
            for p in found.shares
        ],
    }  # fmt: skip


def csv_table(reconciliations: Sequence[Reconciliation]) -> Table:
    """A long table with full doubles."""
    rows = [[r.measure, r.source.name, r.target.name, p.axis, repr(p.value)] for r in reconciliations for p in r.shares]
    totals = [[r.measure, r.source.name, r.target.name, "difference", repr(r.difference)] for r in reconciliations]
    return Table(["measure", "from", "to", "choice", "value"], [*rows, *totals], names=4)


def figure(reconciliations: Sequence[Reconciliation]) -> dict[str, Any]:
    """Waterfalls as a Vega-Lite specification, one per target tool."""
    values = [
        {"tool": r.target.name, "step": name, "order": i, "from": start, "to": end, "change": end - start,
         "kind": "total" if total else "up" if end >= start else "down"}
        for r in reconciliations
        for i, (name, start, end, total) in enumerate(waterfall(r))
    ]  # fmt: skip
    tooltip = [{"field": "step"}, {"field": "to", "format": ".4f"}, {"field": "change", "format": "+.4f"}]
    return {
        "data": {"values": values},
        "facet": {"field": "tool", "type": "nominal", "columns": 2, "title": None,
                  "sort": [r.target.name for r in reconciliations]},
        "columns": 2,
        "resolve": {"scale": {"y": "independent"}},
        "spec": {
            "width": 340,
            "mark": {"type": "bar", "height": {"band": 0.7}},
            "encoding": {
                "y": {"field": "step", "type": "nominal", "sort": {"field": "order"}, "title": None},
                "x": {"field": "from", "type": "quantitative", "title": reconciliations[0].measure},
                "x2": {"field": "to"},
                "color": {"field": "kind", "type": "nominal", "legend": None,
                          "scale": {"domain": ["total", "up", "down"], "range": ["#6b7280", "#2a9d63", "#c8553d"]}},
                "tooltip": tooltip,
            },
        },
    }  # fmt: skip


def html(reconciliations: Sequence[Reconciliation], provenance: Sequence[str]) -> str:
    """One self-contained page."""
    source, measure = reconciliations[0].source, reconciliations[0].measure
    said = number(reconciliations[0].before, 4)
    lead = f"The same ranking, {len(reconciliations) + 1} tools. {source.name} says {said}."
    sentences = "\n\n".join(r.sentence() for r in reconciliations)
    sections = [
        Section("In words", sentences),
        Section("From one number to the other", figure=figure(reconciliations),
                label=f"Waterfall of {measure} from {source.name} to each tool"),
        Section("All parts", table=html_table(table(reconciliations))),
    ]  # fmt: skip
    return page(f"Why do the tools disagree about {measure}?", lead, sections, provenance)
