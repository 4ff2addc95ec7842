"""The figures of a comparison as Vega-Lite specifications: plain data, drawn by the page."""

from __future__ import annotations

import math
from typing import Any

from pippin.evaluation.compare import Comparison

Spec = dict[str, Any]
_MANY = 40  # beyond so many systems names are too small to read and only hovering tells them


def means(comparison: Comparison) -> Spec:
    """Each system's mean with its confidence interval and, in light, the range that ties alone allow."""
    board = comparison.first
    intervals = {i.system: i for i in comparison.intervals}
    values = [
        {"system": s, "place": place, "mean": board.means[s], "low": intervals[s].low, "high": intervals[s].high,
         "worst": board.ties.get(s, (board.means[s],) * 2)[0], "best": board.ties.get(s, (board.means[s],) * 2)[1]}
        for place, s in enumerate(board.order(), 1)
    ]  # fmt: skip
    y = {"field": "system", "type": "nominal", "sort": {"field": "place"}, "title": None, "axis": _axis(len(values))}
    tooltip = [
        {"field": "place"},
        {"field": "system"},
        *({"field": f, "format": ".4f"} for f in ("mean", "low", "high")),
    ]
    return {
        "width": 640,
        "height": {"step": 7 if len(values) > _MANY else 22},
        "data": {"values": values},
        "encoding": {"y": y, "tooltip": tooltip},
        "layer": [
            {"mark": {"type": "bar", "color": "#d9a441", "opacity": 0.35},
             "encoding": {"x": {"field": "worst", "type": "quantitative", "scale": {"zero": False},
                                "title": comparison.measure}, "x2": {"field": "best"}}},
            {"mark": {"type": "rule", "color": "#2a7a4b", "strokeWidth": 2},
             "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 45, "color": "#2a7a4b", "opacity": 1},
             "encoding": {"x": {"field": "mean", "type": "quantitative"}}},
        ],
    }  # fmt: skip


def _axis(count: int) -> Spec:
    return {"labels": count <= _MANY, "ticks": count <= _MANY}


def pairs(comparison: Comparison) -> Spec:
    """Difference of means for every pair, with a dot where it is significant."""
    board = comparison.first
    place = {s: i for i, s in enumerate(board.order())}
    values = []
    for p in board.tested.pairs:
        for a, b, sign in ((p.a, p.b, 1), (p.b, p.a, -1)):
            adjusted = p.p_adjusted if math.isfinite(p.p_adjusted) else None
            values.append({
                "row": a, "column": b, "r": place[a], "c": place[b], "difference": sign * p.difference, "p": adjusted,
                "proven": adjusted is not None and adjusted <= board.tested.alpha,
            })  # fmt: skip
    size = 6 if len(place) > _MANY else 24
    axis = _axis(len(place))
    x = {
        "field": "column",
        "type": "nominal",
        "sort": {"field": "c"},
        "title": None,
        "axis": {**axis, "labelAngle": -60},
    }
    y = {"field": "row", "type": "nominal", "sort": {"field": "r"}, "title": None, "axis": axis}
    tooltip = [{"field": "row"}, {"field": "column"}, {"field": "difference", "format": "+.4f"},
               {"field": "p", "format": ".3g", "title": "p, corrected"}]  # fmt: skip
    return {
        "width": {"step": size}, "height": {"step": size}, "data": {"values": values},
        "encoding": {"x": x, "y": y, "tooltip": tooltip},
        "layer": [
            {"mark": "rect", "encoding": {"color": {"field": "difference", "type": "quantitative",
             "scale": {"scheme": "redblue", "domainMid": 0}, "title": "difference"}}},
            {"transform": [{"filter": "datum.proven"}],
             "mark": {"type": "circle", "size": size * 1.6, "color": "#111", "opacity": 0.75}},
        ],
    }  # fmt: skip


def tools(comparison: Comparison) -> Spec:
    """Every system's mean under every tool: a line that crosses another is a pair that flips."""
    values = [
        {"system": s, "tool": b.name, "order": i, "mean": b.means[s]}
        for i, b in enumerate(comparison.boards)
        for s in b.means
    ]
    pick = {
        "name": "pick",
        "select": {"type": "point", "fields": ["system"], "on": "pointerover", "clear": "pointerout"},
    }
    return {
        "width": 760, "height": 340, "data": {"values": values}, "params": [pick],
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "tool", "type": "nominal", "sort": {"field": "order"}, "title": None,
                  "axis": {"labelAngle": -40}},
            "y": {"field": "mean", "type": "quantitative", "title": comparison.measure, "scale": {"zero": False}},
            "color": {"field": "system", "type": "nominal",
                      **({"legend": None} if len(comparison.first.means) > _MANY else {})},
            "opacity": {"condition": {"param": "pick", "value": 1}, "value": 0.25},
            "tooltip": [{"field": "system"}, {"field": "tool"}, {"field": "mean", "format": ".4f"}],
        },
    }  # fmt: skip


def agreement(comparison: Comparison) -> Spec:
    """Rank correlation between the leaderboards of every two tools, both coefficients side by side."""
    names = [b.name for b in comparison.boards]
    values = [
        {"coefficient": c, "row": names[i], "column": names[j], "value": None if math.isnan(v) else v}
        for c in ("tau_b", "tau_ap_b")
        for i, row in enumerate(comparison.agreement(c))
        for j, v in enumerate(row)
    ]
    return {
        "data": {"values": values},
        "facet": {"field": "coefficient", "type": "nominal", "title": None, "sort": ["tau_b", "tau_ap_b"]},
        "columns": 2,
        "spec": {
            "width": {"step": 20}, "height": {"step": 20}, "mark": "rect",
            "encoding": {
                "x": {"field": "column", "type": "nominal", "sort": names, "title": None, "axis": {"labelAngle": -60}},
                "y": {"field": "row", "type": "nominal", "sort": names, "title": None},
                "color": {"field": "value", "type": "quantitative", "scale": {"scheme": "viridis"},
                          "title": "correlation"},
                "tooltip": [{"field": "row"}, {"field": "column"}, {"field": "value", "format": ".3f"}],
            },
        },
    }  # fmt: skip
