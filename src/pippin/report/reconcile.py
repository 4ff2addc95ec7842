"""A reconciliation drawn: a sentence, a waterfall on the terminal, tables, records, and a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pippin.evaluation.convention import AXES
from pippin.evaluation.reconcile import Reconciliation, Share, signed
from pippin.tables import Prose, Table, number, together
from pippin.terminal import screen, width

_BAR = 34
_SEEN = 5e-7  # smaller parts are the rounding of sums


def terminal(reconciliation: Reconciliation) -> str:
    """The sentence, then the waterfall from one tool's number to the other's, then who carries each part."""
    place = screen()
    rows = waterfall(reconciliation)
    low = min(0.0, *(min(r[1], r[2]) for r in rows))
    high = max(*(max(r[1], r[2]) for r in rows), low + 1e-12)
    label = max(width(r[0]) for r in rows)
    long = _BAR if place.columns is None else max(4, min(_BAR, place.columns - label - 13))
    lines = []
    for name, start, end, total in rows:
        left, right = sorted(round((at - low) / (high - low) * long) for at in (start, end))
        blocks = ("█" if total else "▓" if end >= start else "░") * max(1, right - left)
        shown = number(end, 4) if total else signed(end - start, 4)
        bar = " " * left + blocks
        lines.append(place.text(f"{name}{' ' * (label - width(name))}  {bar:<{long + 1}}  {shown:>8}"))
    carried = [
        Prose(
            f"  {part.words}: " + ", ".join(f"query {q} {signed(v, 4)}" for q, v in reconciliation.carriers(part)),
            "    ",
        )
        for part in reconciliation.shares
        if abs(part.value) >= 5e-5 and reconciliation.carriers(part)
    ]
    drawn = [Prose(reconciliation.sentence()).render(), "\n".join(lines)]
    return "\n\n".join([*drawn, *(["\n".join(["carried most by", *(c.render() for c in carried)])] if carried else [])])


def waterfall(reconciliation: Reconciliation) -> list[tuple[str, float, float, bool]]:
    """(name, from, to, whether a total) for each step from the source's number to the target's."""
    rows = [(reconciliation.source.name, 0.0, reconciliation.before, True)]
    at = reconciliation.before
    for part in reconciliation.shares:
        if abs(part.value) >= _SEEN:
            rows.append((part.words, at, at + part.value, False))
            at += part.value
    rows.append((reconciliation.target.name, 0.0, reconciliation.after, True))
    return rows


def table(reconciliations: Sequence[Reconciliation]) -> Table:
    """One row per tool: its number, the difference, and a column per choice."""
    axes = [a for a in AXES if any(p.axis == a and abs(p.value) >= _SEEN for r in reconciliations for p in r.shares)]
    source = reconciliations[0].source
    rows = []
    for reconciliation in reconciliations:
        parts = {p.axis: p.value for p in reconciliation.shares}
        cells = [signed(parts[a], 4) if abs(parts.get(a, 0.0)) >= _SEEN else "" for a in axes]
        rows.append(
            [reconciliation.target.name, number(reconciliation.after, 4), signed(reconciliation.difference, 4), *cells]
        )
    measure = reconciliations[0].measure
    notes = [f"{source.name} says {number(reconciliations[0].before, 4)}; the parts of a row sum to its difference."]
    return Table(["tool", measure, f"− {source.name}", *(AXES[a].words for a in axes)], rows, notes=notes)


def per_query_table(one: Reconciliation) -> Table:
    """A row per query that any share falls on, a column per choice; the queries with the largest difference first."""
    shares = [s for s in one.shares if np.abs(s.per_query).max(initial=0.0) >= _SEEN]
    total = sum((s.per_query for s in shares), np.zeros(len(one.query_ids)))
    order = [int(i) for i in np.argsort(-np.abs(total), kind="stable") if any(_part(s, i) for s in shares)]
    rows = [[one.query_ids[i], signed(total[i], 4), *(_part(s, i) for s in shares)] for i in order]
    notes = [f"{one.target.name} − {one.source.name}, as it enters the mean; {len(one.query_ids) - len(order)} "
             "other queries are alike under both"]  # fmt: skip
    return Table(["query", "difference", *(s.words for s in shares)], rows, notes=notes)


def _part(share: Share, query: int) -> str:
    value = float(share.per_query[query])
    return signed(value, 4) if abs(value) >= _SEEN else ""


def per_query_text(reconciliation: Reconciliation, form: str) -> str:
    """The sentence, then which queries carry each part."""
    return together([Prose(reconciliation.sentence()), per_query_table(reconciliation)], form)


def per_query_csv(reconciliations: Sequence[Reconciliation]) -> Table:
    """Every share of every query, as a long table with full doubles."""
    rows = [
        [r.measure, r.source.name, r.target.name, s.axis, query, repr(value)]
        for r in reconciliations for s in r.shares
        for query, value in zip(r.query_ids, s.per_query.tolist(), strict=True)
    ]  # fmt: skip
    return Table(["measure", "from", "to", "choice", "query", "value"], rows, names=5)


def record(one: Reconciliation, per_query: bool = False) -> dict[str, Any]:
    """A reconciliation as JSON holds it, doubles in full; of each share the ten largest queries, or all."""
    most = len(one.query_ids) if per_query else 10
    return {
        "measure": one.measure, "from": one.source.name, "to": one.target.name, "before": one.before,
        "after": one.after, "difference": one.difference, "sentence": one.sentence(),
        "parts": [
            {"axis": p.axis, "words": p.words, "before": p.before, "after": p.after, "value": p.value, "fact": p.fact,
             "queries": dict(one.carriers(p, most))}
            for p in one.shares
        ],
    }  # fmt: skip


def csv_table(ones: Sequence[Reconciliation]) -> Table:
    """A long table with full doubles."""
    rows = [[r.measure, r.source.name, r.target.name, p.axis, repr(p.value)] for r in ones for p in r.shares]
    totals = [[r.measure, r.source.name, r.target.name, "difference", repr(r.difference)] for r in ones]
    return Table(["measure", "from", "to", "choice", "value"], [*rows, *totals], names=4)


def figure(ones: Sequence[Reconciliation]) -> dict[str, Any]:
    """Waterfalls as a Vega-Lite specification, one per target tool."""
    values = [
        {"tool": r.target.name, "step": name, "order": i, "from": start, "to": end, "change": end - start,
         "kind": "total" if total else "up" if end >= start else "down"}
        for r in ones
        for i, (name, start, end, total) in enumerate(waterfall(r))
    ]  # fmt: skip
    tooltip = [{"field": "step"}, {"field": "to", "format": ".4f"}, {"field": "change", "format": "+.4f"}]
    return {
        "data": {"values": values},
        "facet": {"field": "tool", "type": "nominal", "columns": 2, "title": None,
                  "sort": [r.target.name for r in ones]},
        "columns": 2,
        "resolve": {"scale": {"y": "independent"}},
        "spec": {
            "width": 340,
            "mark": {"type": "bar", "height": {"band": 0.7}},
            "encoding": {
                "y": {"field": "step", "type": "nominal", "sort": {"field": "order"}, "title": None},
                "x": {"field": "from", "type": "quantitative", "title": ones[0].measure},
                "x2": {"field": "to"},
                "color": {"field": "kind", "type": "nominal", "legend": None,
                          "scale": {"domain": ["total", "up", "down"], "range": ["#6b7280", "#2a9d63", "#c8553d"]}},
                "tooltip": tooltip,
            },
        },
    }  # fmt: skip
