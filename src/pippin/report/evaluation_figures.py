"""The figures of evaluations, leaderboards and tests as Vega-Lite specifications: plain data, drawn elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.evaluation.measures import KINDS

if TYPE_CHECKING:
    from pippin.bench.leaderboard import Leaderboard
    from pippin.evaluation.evaluate import Evaluation
    from pippin.evaluation.significance import TestedPairs

Spec = dict[str, Any]
_COLOUR = "#2a7a4b"


def queries(evaluation: Evaluation) -> Spec:
    """The value of every query, best first, and the mean as a line; one panel per measure."""
    values = []
    for column in evaluation.columns:
        line = {} if KINDS[column.measure.kind].aggregate == "sum" else {"mean": column.mean}
        counted = [(q, v) for q, v in zip(column.query_ids, column.values.tolist(), strict=True) if not math.isnan(v)]
        for place, (query, value) in enumerate(sorted(counted, key=lambda pair: -pair[1]), 1):
            values.append({"measure": column.asked, "query": query, "place": place, "value": value, **line})
    tooltip = [{"field": "query"}, {"field": "place"}, {"field": "value", "format": ".4f"},
               {"field": "mean", "format": ".4f"}]  # fmt: skip
    x = {"field": "place", "type": "quantitative", "title": "queries, best first", "scale": {"nice": False}}
    bars = {
        "mark": {"type": "bar", "color": _COLOUR, "width": {"band": 1}},
        "encoding": {"x": x, "y": {"field": "value", "type": "quantitative", "title": None}, "tooltip": tooltip},
    }
    mean = {"transform": [{"filter": "isValid(datum.mean)"}], "mark": {"type": "rule", "color": "#c8553d"},
            "encoding": {"y": {"field": "mean", "type": "quantitative", "aggregate": "max"}}}  # fmt: skip
    return _panels(values, "measure", [c.asked for c in evaluation.columns],
                   {"width": 360, "height": 160, "layer": [bars, mean]})  # fmt: skip


def tools(evaluations: Mapping[str, Evaluation]) -> Spec:
    """What every tool says of one ranking; one panel per measure, for means over queries alone."""
    values = [
        {"tool": tool, "measure": c.asked, "mean": c.mean}
        for tool, evaluation in evaluations.items()
        for c in evaluation.columns
        if not math.isnan(c.mean) and KINDS[c.measure.kind].aggregate != "sum"
    ]
    names = list(dict.fromkeys(str(value["measure"]) for value in values))
    spec = {
        "width": 300, "height": {"step": 18},
        "encoding": {
            "y": {"field": "tool", "type": "nominal", "sort": list(evaluations), "title": None},
            "x": {"field": "mean", "type": "quantitative", "title": None},
            "tooltip": [{"field": "tool"}, {"field": "measure"}, {"field": "mean", "format": ".4f"}],
        },
        "layer": [{"mark": {"type": "bar", "color": _COLOUR, "height": {"band": 0.65}}}],
    }  # fmt: skip
    return _panels(values, "measure", names, spec)


def _panels(values: Sequence[Mapping[str, Any]], field: str, order: Sequence[str], spec: Spec) -> Spec:
    return {
        "data": {"values": list(values)},
        "facet": {"field": field, "type": "nominal", "title": None, "sort": list(order)},
        "columns": 2,
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
        "spec": spec,
    }


def standings(board: Leaderboard) -> Spec:
    """Each ranker's mean with its confidence interval, best first."""
    values = [
        {"name": s.ranker, "mean": s.mean, **({} if math.isnan(s.low) else {"low": s.low, "high": s.high})}
        for s in board.standings
    ]
    return _intervals(values, [s.ranker for s in board.standings], board.measure, "mean")


def differences(tested: TestedPairs) -> Spec:
    """The difference of every pair with its confidence interval; the filled ones are significant after correction."""
    order = sorted(tested.pairs, key=lambda pair: -pair.difference)
    values = [
        {"name": f"{p.a} − {p.b}", "difference": p.difference, "proven": bool(p.p_adjusted <= tested.alpha),
         **({} if math.isnan(p.low) else {"low": p.low, "high": p.high})}
        for p in order
    ]  # fmt: skip
    spec = _intervals(values, [str(value["name"]) for value in values], "difference of means", "difference")
    spec["layer"][1]["encoding"]["fillOpacity"] = {"field": "proven", "type": "nominal", "legend": None,
                                                   "scale": {"domain": [False, True], "range": [0, 1]}}  # fmt: skip
    zero = {"mark": {"type": "rule", "color": "#888", "strokeDash": [3, 3]},
            "encoding": {"x": {"datum": 0}, "y": None, "tooltip": None}}  # fmt: skip
    return {**spec, "layer": [*spec["layer"], zero]}


def _intervals(values: Sequence[Mapping[str, Any]], order: Sequence[str], title: str, field: str) -> Spec:
    tooltip = [{"field": "name"}, *({"field": f, "format": ".4f"} for f in (field, "low", "high"))]
    return {
        "width": 440, "height": {"step": 20}, "data": {"values": list(values)},
        "encoding": {"y": {"field": "name", "type": "nominal", "sort": list(order), "title": None}, "tooltip": tooltip},
        "layer": [
            {"mark": {"type": "rule", "color": _COLOUR, "strokeWidth": 2},
             "encoding": {"x": {"field": "low", "type": "quantitative", "scale": {"zero": False}, "title": title},
                          "x2": {"field": "high"}}},
            {"mark": {"type": "point", "size": 45, "color": _COLOUR, "fill": _COLOUR, "opacity": 1},
             "encoding": {"x": {"field": field, "type": "quantitative"}}},
        ],
    }  # fmt: skip
