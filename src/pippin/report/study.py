"""A study drawn: its conclusions, curves and figures, for the terminal, Markdown, JSON and a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pippin.bench.conclusions import Conclusion, signed
from pippin.bench.study import CUTOFFS, LAST, Point, Study
from pippin.tables import Heading, Part, Prose, Remarks, Table, number

Spec = dict[str, Any]
# The paper's blue, black and red for YAHOO, RANKLIB/TREC and LETOR, seen on light and dark ground alike.
_COLOURS = {"yahoo": "#2f6fbf", "ranklib": "#808080", "letor4": "#c8402f", "official": "#2a7a4b"}
_OTHERS = ("#a56cc1", "#d9a441", "#3aa6a0", "#8c6d46")


def conclusions_table(study: Study) -> Table:
    """One row per conclusion: the statement, whether it holds, its number and how sure it is."""
    rows = [[str(i), c.statement, c.holds, _value(c), _p(c.p)] for i, c in enumerate(study.conclusions, 1)]
    return Table(["", "conclusion", "holds", "number", "p"], rows, names=3)


def _value(c: Conclusion) -> str:
    if c.name == "order":
        return number(c.value, 0)
    return signed(c.value) if c.name.startswith("training") else number(c.value, 4)


def _p(p: float) -> str:
    return "" if math.isnan(p) else f"{p:.2g}"


def evidence_table(conclusion: Conclusion) -> Table:
    """What each ranker says about a conclusion."""
    rows = [[e.ranker, signed(e.value), f"[{signed(e.low)}, {signed(e.high)}]", _p(e.p), e.words]
            for e in conclusion.evidence]  # fmt: skip
    return Table(["ranker", "difference", "95% interval", "p, corrected", ""], rows, remarks=1)


def tools_table(study: Study) -> Table:
    """NDCG@10: a row per ranker and training convention, a column per group of tools that agree."""
    points = {(p.ranker, p.convention, p.tool): p for p in study.points if p.cutoff == LAST}
    firsts = [group[0] for group in study.alike]
    rows = [
        [ranker, convention, *(_mean(points.get((ranker, convention, tool))) for tool in firsts)]
        for ranker in study.rankers for convention in study.conventions
    ]  # fmt: skip
    errors = [p.error for p in points.values() if not math.isnan(p.error)]
    span = f"{min(errors):.3f} to {max(errors):.3f}" if errors else "unknown"
    notes = [f"Standard errors (over queries, averaged in quadrature over the folds): {span}."]
    same = [f"{g[0]} = {', '.join(g[1:])}" for g in study.alike if len(g) > 1]
    if same:
        notes.append(f"The same within 0.0005 at every cutoff: {'; '.join(same)}.")
    return Table(["ranker", "trained under", *firsts], rows, names=2, notes=notes)


def cutoffs_table(study: Study, ranker: str) -> Table:
    """NDCG@1…10 of one ranker, trained under the base: a row per group of tools that agree."""
    points = {(p.tool, p.cutoff): p for p in study.points if (p.ranker, p.convention) == (ranker, study.base)}
    rows = [[group[0], *(_mean(points.get((group[0], k))) for k in CUTOFFS)] for group in study.alike]
    return Table(["evaluated by", *(f"@{k}" for k in CUTOFFS)], rows)


def _mean(point: Point | None) -> str:
    return number(math.nan if point is None else point.mean, 4)


def parts(study: Study) -> list[Part]:
    """The study in words and tables."""
    words = [Prose(f"{i}. {c.meaning[0].upper()}{c.meaning[1:]}: {_value(c)}. {c.words}", "   ")
             for i, c in enumerate(study.conclusions, 1)]  # fmt: skip
    shown: list[Part] = [Heading(f"The study on {study.data}"), Prose(lead(study)), conclusions_table(study), *words]
    for c in study.conclusions:
        if c.name.startswith("training") and c.evidence:
            shown += [Heading(f"T{c.name[1:]}, by ranker", ""), evidence_table(c)]
    shown += [Heading(f"NDCG@{LAST} under every tool", ""), tools_table(study)]
    if study.rankers:
        best = study.rankers[0]
        shown += [Heading(f"NDCG at every cutoff: {best}, trained under {study.base}", ""), cutoffs_table(study, best)]
    if study.gaps:
        lines = [f"{g.ranker} trained under {c}: {g.fold} has no value ({g.reason})" for c, g in study.gaps]
        shown += [Heading("Missing", ""), Remarks(lines)]
    return shown


def lead(study: Study) -> str:
    """What was trained, and how it was evaluated."""
    board = study.board(study.base, study.tools[0], LAST)
    queries = len(board.by_query(study.rankers[0])) if study.rankers else 0
    return (
        f"{len(study.rankers)} rankers ({', '.join(study.rankers)}), trained for NDCG@{LAST} under "
        f"{', '.join(study.conventions)}, evaluated under {len(study.tools)} tools on {queries} queries in "
        f"{len(board.folds)} folds."
    )


def csv_table(studies: Sequence[Study]) -> Table:
    """A long table of all points."""
    rows = [
        [s.data, p.ranker, p.convention, p.tool, str(p.cutoff), repr(p.mean),
         "" if math.isnan(p.error) else repr(p.error)]
        for s in studies for p in s.points
    ]  # fmt: skip
    return Table(["data", "ranker", "convention", "tool", "cutoff", "mean", "error"], rows, names=4)


def record(study: Study) -> dict[str, Any]:
    """A study as JSON holds it."""
    return {
        "data": study.data, "rankers": list(study.rankers), "conventions": list(study.conventions),
        "tools": list(study.tools), "alike": [list(g) for g in study.alike],
        "conclusions": [
            {"name": c.name, "statement": c.statement, "holds": c.holds, "value": _json(c.value), "meaning": c.meaning,
             "p": _json(c.p), "words": c.words,
             "evidence": [{"ranker": e.ranker, "value": e.value, "p": _json(e.p), "words": e.words,
                           "low": _json(e.low), "high": _json(e.high)} for e in c.evidence]}
            for c in study.conclusions
        ],
        "points": [
            {"ranker": p.ranker, "convention": p.convention, "tool": p.tool, "cutoff": p.cutoff, "mean": p.mean,
             "error": _json(p.error)}
            for p in study.points
        ],
        "missing": [{"convention": c, "ranker": g.ranker, "fold": g.fold, "seed": g.seed, "reason": g.reason}
                    for c, g in study.gaps],
    }  # fmt: skip


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def study_figures(study: Study) -> dict[str, Spec]:
    """The paper's two figures as Vega-Lite: training conventions per ranker and tool, and all rankers per tool."""
    return {"figure1": training_figure(study), "figure2": rankers_figure(study)}


def training_figure(study: Study) -> Spec:
    """Figure 1: a row per ranker, a column per evaluation tool, a colour per training convention."""
    spare = iter(_OTHERS * len(study.conventions))
    colours = [_COLOURS.get(c) or next(spare) for c in study.conventions]
    colour = {"field": "convention", "type": "nominal", "title": "trained under", "sort": list(study.conventions),
              "scale": {"domain": list(study.conventions), "range": colours}}  # fmt: skip
    facet = {
        "row": {"field": "ranker", "type": "nominal", "title": None, "sort": list(study.rankers)},
        "column": {"field": "evaluated", "type": "nominal", "title": "evaluated by", "sort": _columns(study)},
    }
    return {"data": {"values": _values(study)}, "facet": facet, "spec": _curves(colour, 150, 120),
            "resolve": {"scale": {"y": "independent"}}}  # fmt: skip


def rankers_figure(study: Study) -> Spec:
    """Figure 2: all rankers, trained under the base, a plot per evaluation tool."""
    values = [v for v in _values(study) if v["convention"] == study.base]
    colour = {"field": "ranker", "type": "nominal", "title": f"trained under {study.base}", "sort": list(study.rankers)}
    return {"data": {"values": values}, "columns": 3, "spec": _curves(colour, 230, 180),
            "facet": {"field": "evaluated", "type": "nominal", "title": "evaluated by", "sort": _columns(study)},
            "resolve": {"scale": {"y": "independent"}}}  # fmt: skip


def _columns(study: Study) -> list[str]:
    return [_label(group) for group in study.alike]


def _label(group: Sequence[str]) -> str:
    return group[0] if len(group) == 1 else f"{group[0]} (+{len(group) - 1})"


def _values(study: Study) -> list[Spec]:
    """The points of the first tool of every group, with the bounds of one standard error."""
    shown = {group[0]: group for group in study.alike}
    values = []
    for p in study.points:
        if p.tool in shown:
            error = 0.0 if math.isnan(p.error) else p.error
            values.append({
                "ranker": p.ranker, "convention": p.convention, "evaluated": _label(shown[p.tool]),
                "tools": ", ".join(shown[p.tool]), "cutoff": p.cutoff, "NDCG": p.mean, "error": error,
                "low": p.mean - error, "high": p.mean + error,
            })  # fmt: skip
    return values


def _curves(colour: Spec, width: int, height: int) -> Spec:
    tooltip = [*({"field": f} for f in ("ranker", "convention", "tools", "cutoff")),
               *({"field": f, "format": ".4f"} for f in ("NDCG", "error"))]  # fmt: skip
    y = {"field": "NDCG", "type": "quantitative", "scale": {"zero": False}, "title": "NDCG"}
    x = {"field": "cutoff", "type": "quantitative", "title": "cutoff", "axis": {"values": list(CUTOFFS[::3])},
         "scale": {"domain": [CUTOFFS[0] - 0.5, CUTOFFS[-1] + 0.5], "nice": False}}  # fmt: skip
    return {
        "width": width,
        "height": height,
        "encoding": {"x": x, "color": colour},
        "layer": [
            {"mark": {"type": "rule", "opacity": 0.45},
             "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}}},
            {"mark": {"type": "line", "point": {"size": 18}, "strokeWidth": 1.5},
             "encoding": {"y": y, "tooltip": tooltip}},
        ],
    }  # fmt: skip
