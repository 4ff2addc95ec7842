"""The figures of a benchmark as Vega-Lite specifications: plain data, drawn by the page or written for a paper.

Each function makes a figure of rows; the page asks for them without rows and puts in what the reader chose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
Rows = Sequence[dict[str, Any]]

COLOURS = ("#4c78a8", "#e07b39", "#4f9d58", "#d1495b", "#3fa7a3", "#9a6fb0", "#8d6e56", "#c9a227",
           "#e38aa5", "#7d8590", "#5f63c4", "#8fae2e", "#2f7f93", "#b5543a", "#5fa8e0", "#b04a8f")  # fmt: skip
_AGREE = ["#d98e2b", "#e8d9a8", "#2a7a4b"]  # from discord to agreement, readable on light and on dark
_TURNED = {"labelAngle": -50, "labelOverlap": False}


def page_figures(rankers: Sequence[str], tools: Sequence[str]) -> dict[str, Spec]:
    """Every figure of the page, without rows."""
    return {
        "curves": curves((), rankers, ""),
        "number": across((), rankers, tools, "mean", ""),
        "place": across((), rankers, tools, "place", "place"),
        "agreement": agreement((), tools),
        "time": time_and_quality((), rankers, ""),
        "importance": importance(()),
        "winning": curves((), rankers, "winning number", "wins"),
        "queries": query_differences((), ""),
    }


def _figure(rows: Rows, height: int, **parts: Any) -> Spec:
    return {"width": "container", "height": height, "data": {"values": list(rows)}, **parts}


def _colour(rankers: Sequence[str], legend: bool = True) -> Spec:
    """The same colour for a ranker in every figure."""
    scale = {"domain": list(rankers), "range": [COLOURS[i % len(COLOURS)] for i in range(len(rankers))]}
    return {"field": "ranker", "type": "nominal", "scale": scale, "title": None, **({} if legend else {"legend": None})}


def _pick(on_marks: str | None = None) -> list[Spec]:
    """Pointing at a ranker, in the figure or in its key, lets the others fade."""
    hover = {"type": "point", "fields": ["ranker"], "on": "pointerover", "clear": "pointerout"}
    key = {"type": "point", "fields": ["ranker"]}
    views = {} if on_marks is None else {"views": [on_marks]}
    return [{"name": "pick", "select": hover, **views}, {"name": "key", "select": key, "bind": "legend", **views}]


def _zoom(*channels: str) -> Spec:
    """Zoom by pinching or Ctrl and the wheel, so that the wheel alone still scrolls the page; drag to move."""
    zoom = "wheel![event.ctrlKey || event.metaKey]"
    return {"name": "grid", "bind": "scales", "select": {"type": "interval", "encodings": list(channels), "zoom": zoom}}


_FADE = {"condition": {"test": {"and": [{"param": "pick"}, {"param": "key"}]}, "value": 1}, "value": 0.12}


def curves(rows: Rows, rankers: Sequence[str], title: str, field: str = "mean") -> Spec:
    """A line per ranker over the cutoffs; rows: ranker, cutoff, and the field drawn."""
    digits = ".4f" if field == "mean" else "d"
    return _figure(
        rows, 320, params=[*_pick(), _zoom("x", "y")],
        mark={"type": "line", "point": {"size": 36, "filled": True}, "strokeWidth": 2, "clip": True},
        encoding={
            "x": {"field": "cutoff", "type": "quantitative", "title": "cutoff", "scale": {"nice": False, "padding": 12},
                  "axis": {"format": "d", "tickMinStep": 1, "grid": False}},
            "y": {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False}},
            "color": _colour(rankers), "opacity": _FADE,
            "tooltip": [{"field": "ranker"}, {"field": "measure"}, {"field": field, "format": digits}],
        },
    )  # fmt: skip


def across(rows: Rows, rankers: Sequence[str], tools: Sequence[str], field: str, title: str) -> Spec:
    """A line per ranker over the tools: its number, or the place it gets; rows: ranker, tool, mean, place."""
    places = {"scale": {"reverse": True, "zero": False, "padding": 10}, "axis": {"tickMinStep": 1, "format": "d"}}
    return _figure(
        rows, 320, params=_pick(), mark={"type": "line", "point": {"size": 36, "filled": True}, "strokeWidth": 2},
        encoding={
            "x": {"field": "tool", "type": "nominal", "sort": list(tools), "title": None, "axis": _TURNED},
            "y": {"field": field, "type": "quantitative", "title": title,
                  **(places if field == "place" else {"scale": {"zero": False}})},
            "color": _colour(rankers), "opacity": _FADE,
            "tooltip": [{"field": "ranker"}, {"field": "tool"}, {"field": "mean", "format": ".4f"}, {"field": "place"}],
        },
    )  # fmt: skip


def agreement(rows: Rows, tools: Sequence[str]) -> Spec:
    """Rank correlation between the leaderboards of every two tools; rows: row, column, tau_b, tau_ap_b."""
    axis = {"type": "nominal", "sort": list(tools), "title": None}
    return _figure(
        rows, 360, mark={"type": "rect", "stroke": "var(--card)", "strokeWidth": 1},
        encoding={
            "x": {"field": "column", **axis, "axis": _TURNED},
            "y": {"field": "row", **axis},
            "color": {"field": "tau_b", "type": "quantitative", "title": "tau_b",
                      "scale": {"domain": [0.5, 0.75, 1], "range": _AGREE, "clamp": True}},
            "tooltip": [{"field": "row"}, {"field": "column"}, {"field": "tau_b", "format": ".3f"},
                        {"field": "tau_ap_b", "format": ".3f"}],
        },
    )  # fmt: skip


def time_and_quality(rows: Rows, rankers: Sequence[str], title: str) -> Spec:
    """Seconds of a fold against the mean; rows: ranker, seconds, mean, low, high."""
    y = {"field": "mean", "type": "quantitative", "title": title, "scale": {"zero": False, "padding": 16}}
    x = {"field": "seconds", "type": "quantitative", "title": "seconds to select and train, a fold (log scale)",
         "scale": {"type": "log", "nice": False, "padding": 34},
         "axis": {"grid": False, "tickCount": 5, "format": "~g"}}  # fmt: skip
    tooltip = [{"field": "ranker"}, {"field": "mean", "format": ".4f"}, {"field": "seconds", "format": ".3~g"},
               {"field": "memory", "format": ".3~s", "title": "peak bytes"}]  # fmt: skip
    return _figure(
        rows, 405,
        encoding={"x": x, "y": y, "color": _colour(rankers, legend=False), "tooltip": tooltip},
        layer=[
            {"params": [_zoom("x", "y")],
             "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "clip": True}},
            {"mark": {"type": "text", "dy": -11, "fontSize": 11, "clip": True},
             "encoding": {"text": {"field": "ranker"}, "color": {"value": "var(--ink)"}}},
        ],
    )  # fmt: skip


def importance(rows: Rows) -> Spec:
    """The features that count most; rows: feature, share."""
    return _figure(
        rows, 360, mark={"type": "bar", "cornerRadiusEnd": 2, "color": "#4f9d58"},
        encoding={
            "y": {"field": "feature", "type": "nominal", "sort": None, "title": None},
            "x": {"field": "share", "type": "quantitative", "title": "share of the importance",
                  "axis": {"format": "~%", "tickCount": 5}},
            "tooltip": [{"field": "feature"}, {"field": "share", "format": ".2%"}],
        },
    )  # fmt: skip


def query_differences(rows: Rows, title: str) -> Spec:
    """A bar per query, sorted by the difference of two rankers; rows: at, to, query, fold, a, b, difference."""
    ahead = {"condition": {"test": "datum.difference > 0", "value": "#2f8f56"}, "value": "#d98e2b"}
    return _figure(
        rows, 240, params=[_zoom("x")], mark={"type": "bar", "clip": True},
        encoding={
            "x": {"field": "at", "type": "quantitative", "title": "queries, from A's greatest gain to B's",
                  "scale": {"nice": False, "zero": False}, "axis": {"grid": False, "labels": False, "ticks": False}},
            "x2": {"field": "to"},
            "y": {"field": "difference", "type": "quantitative", "title": title}, "y2": {"datum": 0}, "color": ahead,
            "tooltip": [{"field": "query"}, {"field": "fold"}, {"field": "a", "format": ".4f", "title": "A"},
                        {"field": "b", "format": ".4f", "title": "B"}, {"field": "difference", "format": "+.4f"}],
        },
    )  # fmt: skip
