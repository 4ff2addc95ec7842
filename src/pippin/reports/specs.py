"""Figures of results as Vega-Lite specifications."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.evaluation.measures import MEASURE_DEFINITIONS

if TYPE_CHECKING:
    from pippin.benchmarks.leaderboard import Leaderboard
    from pippin.evaluation.compare import Comparison
    from pippin.evaluation.evaluation import Evaluation
    from pippin.evaluation.reconcile import Reconciliation
    from pippin.evaluation.significance import PairwiseTests

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]
_COLOUR = "#2a7a4b"
_MAX_LABELS = 40  # more systems are not labelled, because their names would be too small to read
_PALETTE = ("#4c78a8", "#e07b39", "#4f9d58", "#d1495b", "#3fa7a3", "#9a6fb0", "#8d6e56", "#c9a227",
            "#e38aa5", "#7d8590", "#5f63c4", "#8fae2e", "#2f7f93", "#b5543a", "#5fa8e0", "#b04a8f")  # fmt: skip
_SLANTED = {"labelAngle": -50, "labelOverlap": False}


def numeric(field: str, title: str | None = None, **options: Any) -> Spec:
    """Encode a number."""
    return {"field": field, "type": "quantitative", "title": title, **options}


def nominal(field: str, title: str | None = None, **options: Any) -> Spec:
    """Encode a name."""
    return {"field": field, "type": "nominal", "title": title, **options}


def _tooltip(*fields: str, **formats: str) -> list[Spec]:
    """Show these fields on hover, and further ones in a format."""
    return [*({"field": field} for field in fields), *({"field": f, "format": x} for f, x in formats.items())]


def _panels(values: Rows, field: str, order: Sequence[str], spec: Spec, *independent: str) -> Spec:
    """Draw one panel per value of a field, in two columns; the scales of some axes are independent."""
    return {
        "data": {"values": list(values)}, "facet": nominal(field, sort=list(order)), "columns": 2, "spec": spec,
        "resolve": {"scale": dict.fromkeys(independent, "independent")},
    }  # fmt: skip


def _is_sum(measure: str) -> bool:
    return MEASURE_DEFINITIONS[measure].aggregate == "sum"


def query_values(evaluation: Evaluation) -> Spec:
    """Draw the value of every query, best first, and the mean as a line; one panel per measure."""
    values = []
    for column in evaluation.columns:
        mean = {} if _is_sum(column.measure.kind) else {"mean": column.mean}
        pairs = [(q, v) for q, v in zip(column.query_ids, column.values.tolist(), strict=True) if not math.isnan(v)]
        for rank, (query, value) in enumerate(sorted(pairs, key=lambda pair: -pair[1]), 1):
            values.append({"measure": column.requested_name, "query": query, "rank": rank, "value": value, **mean})
    x = numeric("rank", "queries, best first", scale={"nice": False})
    bars = {
        "mark": {"type": "bar", "color": _COLOUR, "width": {"band": 1}},
        "encoding": {"x": x, "y": numeric("value"), "tooltip": _tooltip("query", "rank", value=".4f", mean=".4f")},
    }
    mean_line = {
        "transform": [{"filter": "isValid(datum.mean)"}], "mark": {"type": "rule", "color": "#c8553d"},
        "encoding": {"y": numeric("mean", aggregate="max")},
    }  # fmt: skip
    panel = {"width": 360, "height": 160, "layer": [bars, mean_line]}
    return _panels(values, "measure", [c.requested_name for c in evaluation.columns], panel, "x", "y")


def means_by_tool(evaluations: Mapping[str, Evaluation]) -> Spec:
    """Draw the mean under every tool; one panel per averaged measure."""
    values = [
        {"tool": tool, "measure": c.requested_name, "mean": c.mean}
        for tool, evaluation in evaluations.items()
        for c in evaluation.columns
        if not math.isnan(c.mean) and not _is_sum(c.measure.kind)
    ]
    panel = {
        "width": 300, "height": {"step": 18}, "mark": {"type": "bar", "color": _COLOUR, "height": {"band": 0.65}},
        "encoding": {"y": nominal("tool", sort=list(evaluations)), "x": numeric("mean"),
                     "tooltip": _tooltip("tool", "measure", mean=".4f")},
    }  # fmt: skip
    return _panels(values, "measure", list(dict.fromkeys(str(v["measure"]) for v in values)), panel, "x", "y")


def leaderboard(board: Leaderboard) -> Spec:
    """Draw each ranker's mean with its confidence interval, best first."""
    values = [{"name": s.ranker, "mean": s.mean, **_bounds(s.low, s.high)} for s in board.standings]
    return _intervals(values, board.measure, "mean")


def differences(tests: PairwiseTests) -> Spec:
    """Draw the difference of every pair with its confidence interval; significant ones are filled."""
    values = [
        {"name": f"{p.a} − {p.b}", "difference": p.difference, "significant": bool(p.p_adjusted <= tests.alpha),
         **_bounds(p.low, p.high)}
        for p in sorted(tests.pairs, key=lambda pair: -pair.difference)
    ]  # fmt: skip
    spec = _intervals(values, "difference of means", "difference")
    fill = nominal("significant", legend=None, scale={"domain": [False, True], "range": [0, 1]})
    spec["layer"][1]["encoding"]["fillOpacity"] = fill
    zero = {"mark": {"type": "rule", "color": "#888", "strokeDash": [3, 3]},
            "encoding": {"x": {"datum": 0}, "y": None, "tooltip": None}}  # fmt: skip
    return {**spec, "layer": [*spec["layer"], zero]}


def comparison_means(comparison: Comparison) -> Spec:
    """Draw each system's mean with its confidence interval and the range over orders of tied documents."""
    board = comparison.first
    intervals = {i.system: i for i in comparison.intervals}
    values = []
    for system in board.order():
        mean = board.means[system]
        worst, best = board.ties.get(system, (mean, mean))
        bounds = _bounds(intervals[system].low, intervals[system].high)
        values.append({"name": system, "mean": mean, **bounds, "worst": worst, "best": best})
    spec = _intervals(values, comparison.measure, "mean")
    tie_range = {"mark": {"type": "bar", "color": "#d9a441", "opacity": 0.35},
                 "encoding": {"x": numeric("worst"), "x2": {"field": "best"}}}  # fmt: skip
    return {**spec, "layer": [tie_range, *spec["layer"]]}


def _bounds(low: float, high: float) -> dict[str, float]:
    return {} if math.isnan(low) else {"low": low, "high": high}


def _intervals(values: Rows, title: str, field: str) -> Spec:
    """Draw a point and an interval per name, in the order of the values."""
    is_labelled = len(values) <= _MAX_LABELS
    names = nominal(
        "name", sort=[str(value["name"]) for value in values], axis={"labels": is_labelled, "ticks": is_labelled}
    )
    return {
        "width": 440, "height": {"step": 20 if is_labelled else 7}, "data": {"values": list(values)},
        "encoding": {"y": names, "tooltip": _tooltip("name", **{field: ".4f", "low": ".4f", "high": ".4f"})},
        "layer": [
            {"mark": {"type": "rule", "color": _COLOUR, "strokeWidth": 2},
             "encoding": {"x": numeric("low", title, scale={"zero": False}), "x2": {"field": "high"}}},
            {"mark": {"type": "point", "size": 45, "color": _COLOUR, "fill": _COLOUR, "opacity": 1},
             "encoding": {"x": numeric(field)}},
        ],
    }  # fmt: skip


def pairs(comparison: Comparison) -> Spec:
    """Draw the difference of means for every pair, with a dot if it is significant."""
    board = comparison.first
    order = board.order()
    values = []
    for p in board.tests.pairs:
        adjusted = p.p_adjusted if math.isfinite(p.p_adjusted) else None
        significant = adjusted is not None and adjusted <= board.tests.alpha
        for a, b, sign in ((p.a, p.b, 1), (p.b, p.a, -1)):
            values.append({"row": a, "column": b, "difference": sign * p.difference, "p": adjusted,
                           "significant": significant})  # fmt: skip
    is_labelled = len(order) <= _MAX_LABELS
    size = 24 if is_labelled else 6
    axis = {"labels": is_labelled, "ticks": is_labelled}
    colour = numeric("difference", "difference", scale={"scheme": "redblue", "domainMid": 0})
    return {
        "width": {"step": size}, "height": {"step": size}, "data": {"values": values},
        "encoding": {"x": nominal("column", sort=order, axis={**axis, "labelAngle": -60}),
                     "y": nominal("row", sort=order, axis=axis),
                     "tooltip": _tooltip("row", "column", difference="+.4f", p=".3g")},
        "layer": [
            {"mark": "rect", "encoding": {"color": colour}},
            {"transform": [{"filter": "datum.significant"}],
             "mark": {"type": "circle", "size": size * 1.6, "color": "#111", "opacity": 0.75}},
        ],
    }  # fmt: skip


def comparison_by_tool(comparison: Comparison) -> Spec:
    """Draw every system's mean under every tool; two lines that cross are a pair that flips."""
    rows = [{"name": s, "tool": b.name, "mean": b.means[s]} for b in comparison.boards for s in b.means]
    names = list(comparison.first.means)
    spec = lines_by_tool(rows, names, [b.name for b in comparison.boards], "mean", comparison.measure)
    hover = {"name": "hover", "select": {"type": "point", "fields": ["name"], "on": "pointerover",
                                         "clear": "pointerout"}}  # fmt: skip
    spec["encoding"]["opacity"] = {"condition": {"param": "hover", "value": 1}, "value": 0.25}
    if len(names) > _MAX_LABELS:
        spec["encoding"]["color"]["legend"] = None
    return {**spec, "width": 760, "params": [hover]}


def lines_by_tool(rows: Rows, names: Sequence[str], tools: Sequence[str], field: str, title: str) -> Spec:
    """Draw a line per name over the tools: its mean or its rank. Rows: name, tool, mean, rank."""
    y: Spec = {"scale": {"zero": False}}
    if field == "rank":
        y = {"scale": {"reverse": True, "zero": False, "padding": 10}, "axis": {"tickMinStep": 1, "format": "d"}}
    return _lines(rows, nominal("tool", sort=list(tools), axis=_SLANTED), numeric(field, title, **y), names,
                  _tooltip("name", "tool", mean=".4f"))  # fmt: skip


def lines_by_cutoff(rows: Rows, names: Sequence[str], title: str, field: str = "mean") -> Spec:
    """Draw a line per name over the cutoffs. Rows: name, cutoff, and the field."""
    x = numeric("cutoff", "cutoff", scale={"nice": False, "padding": 12},
                axis={"format": "d", "tickMinStep": 1, "grid": False})  # fmt: skip
    return _lines(rows, x, numeric(field, title, scale={"zero": False}), names, _tooltip("name", "cutoff", field))


def _lines(rows: Rows, x: Spec, y: Spec, names: Sequence[str], tooltip: list[Spec]) -> Spec:
    mark = {"type": "line", "point": {"size": 36, "filled": True}, "strokeWidth": 2}
    encoding = {"x": x, "y": y, "color": _colour(names), "tooltip": tooltip}
    return _plot(rows, 320, mark=mark, encoding=encoding)


def _plot(rows: Rows, height: int, **parts: Any) -> Spec:
    return {"width": 440, "height": height, "data": {"values": list(rows)}, **parts}


def _colour(names: Sequence[str], **options: Any) -> Spec:
    """Give a name the same colour in every figure."""
    colours = [_PALETTE[i % len(_PALETTE)] for i in range(len(names))]
    return nominal("name", scale={"domain": list(names), "range": colours}, **options)


def agreement(comparison: Comparison) -> Spec:
    """Draw the rank correlations between the leaderboards of every two tools: one panel per coefficient."""
    names = [b.name for b in comparison.boards]
    coefficients = ("tau_b", "tau_ap_b")
    values = [
        {"coefficient": c, "row": names[i], "column": names[j], "value": None if math.isnan(v) else v}
        for c in coefficients
        for i, row in enumerate(comparison.agreement(c))
        for j, v in enumerate(row)
    ]
    panel = {"width": {"step": 20}, "height": {"step": 20}, **_correlations("value", names)}
    return _panels(values, "coefficient", coefficients, panel)


def agreement_of(rows: Rows, tools: Sequence[str]) -> Spec:
    """Draw the rank correlation between the leaderboards of every two tools. Rows: row, column, tau_b."""
    return _plot(rows, 360, **_correlations("tau_b", tools))


def _correlations(field: str, names: Sequence[str]) -> Spec:
    scale = {"domain": [0.5, 0.75, 1], "range": ["#d98e2b", "#e8d9a8", _COLOUR], "clamp": True}
    colour = numeric(field, "correlation" if field == "value" else field, scale=scale)
    return {
        "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 1},
        "encoding": {"x": nominal("column", sort=list(names), axis=_SLANTED), "y": nominal("row", sort=list(names)),
                     "color": colour, "tooltip": _tooltip("row", "column", **{field: ".3f"})},
    }  # fmt: skip


def time_and_quality(rows: Rows, names: Sequence[str], title: str) -> Spec:
    """Draw the seconds of a fold against the mean. Rows: name, seconds, mean."""
    x = numeric("seconds", "seconds to select and train, per fold (log scale)",
                scale={"type": "log", "nice": False, "padding": 34},
                axis={"grid": False, "tickCount": 5, "format": "~g"})  # fmt: skip
    y = numeric("mean", title, scale={"zero": False, "padding": 16})
    return _plot(
        rows, 405, encoding={"x": x, "y": y, "color": _colour(names, legend=None)},
        layer=[
            {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1}},
            {"mark": {"type": "text", "dy": -11, "fontSize": 11},
             "encoding": {"text": {"field": "name"}, "color": {"value": "#1c2024"}}},
        ],
    )  # fmt: skip


def importance(features: Iterable[tuple[str, float]]) -> Spec:
    """Draw the most important features and their share of the importance."""
    rows = [{"feature": feature, "share": share} for feature, share in features]
    x = numeric("share", "share of the importance", axis={"format": "~%", "tickCount": 5})
    return _plot(rows, 360, mark={"type": "bar", "cornerRadiusEnd": 2, "color": "#4f9d58"},
                 encoding={"y": nominal("feature", sort=None), "x": x})  # fmt: skip


def waterfalls(reconciliations: Sequence[Reconciliation]) -> Spec:
    """Draw the steps from one tool's value to another's; one panel per target tool."""
    from pippin.reports.reconciliation import waterfall

    values = [
        {"tool": r.target.name, "step": name, "order": i, "from": start, "to": end, "change": end - start,
         "kind": "total" if is_total else "up" if end >= start else "down"}
        for r in reconciliations
        for i, (name, start, end, is_total) in enumerate(waterfall(r))
    ]  # fmt: skip
    colour = nominal("kind", legend=None,
                     scale={"domain": ["total", "up", "down"], "range": ["#6b7280", "#2a9d63", "#c8553d"]})  # fmt: skip
    panel = {
        "width": 340,
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {"y": nominal("step", sort={"field": "order"}), "x": numeric("from", reconciliations[0].measure),
                     "x2": {"field": "to"}, "color": colour, "tooltip": _tooltip("step", to=".4f", change="+.4f")},
    }  # fmt: skip
    return _panels(values, "tool", [r.target.name for r in reconciliations], panel, "y")
