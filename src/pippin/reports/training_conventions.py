"""Tables, figures and page of a study of training conventions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pippin.benchmarks.studies.conclusions import CUTOFFS, LAST, Conclusion, format_signed
from pippin.benchmarks.studies.training_conventions import Point, Study
from pippin.display.tables import BulletList, Heading, Paragraph, Renderable, Table, format_number
from pippin.reports.html import CaptionedTable, Chart, Section, page

Spec = dict[str, Any]
# The colours of the paper (YAHOO, RANKLIB/TREC, LETOR), adapted to light and dark backgrounds.
_COLOURS = {"yahoo": "#2f6fbf", "ranklib": "#808080", "letor4": "#c8402f", "official": "#2a7a4b"}
_MORE_COLOURS = ("#a56cc1", "#d9a441", "#3aa6a0", "#8c6d46")


def conclusions_table(study: Study) -> Table:
    """Return a row per conclusion: the statement, whether it holds, its value and p."""
    rows = [
        [str(i), c.statement, c.holds, _value(c), _interval(c), _p(c.p)] for i, c in enumerate(study.conclusions, 1)
    ]
    return Table(["", "conclusion", "holds", "value", "95% interval", "p"], rows, text_columns=3)


_DIFFERENCES = ("training under letor4", "training under yahoo", "best training", "best ranker", "short lists")


def _value(c: Conclusion) -> str:
    return _in_unit(c, c.value)


def _in_unit(c: Conclusion, value: float) -> str:
    if c.name.startswith("order"):
        return format_number(value, 0)
    return format_signed(value) if c.name in _DIFFERENCES else format_number(value, 4).replace("-", "−")


def _interval(c: Conclusion) -> str:
    return "" if math.isnan(c.low) else f"[{_in_unit(c, c.low)}, {_in_unit(c, c.high)}]"


def _p(p: float) -> str:
    return "" if math.isnan(p) else f"{p:.2g}"


def _explain(c: Conclusion) -> str:
    """Return what the value of a conclusion means, the value with its interval, and the explanation."""
    value = " ".join(part for part in (_value(c), _interval(c)) if part)
    return f"{c.meaning[0].upper()}{c.meaning[1:]}: {value}. {c.explanation}"


def evidence_table(conclusion: Conclusion) -> Table:
    """Return the evidence of each ranker for a conclusion."""
    rows = [[e.ranker, format_signed(e.value), f"[{format_signed(e.low)}, {format_signed(e.high)}]", _p(e.p), e.note]
            for e in conclusion.evidence]  # fmt: skip
    return Table(["ranker", "difference", "95% interval", "p, corrected", ""], rows, trailing_text=1)


def lengths_table(study: Study) -> Table:
    """Return NDCG@10 by the definition: a row per ranker trained under the base, a column per group of list lengths."""
    rows = [[ranker, *(format_number(g.means[ranker], 4) for g in study.by_length)]
            for ranker in study.rankers if all(ranker in g.means for g in study.by_length)]  # fmt: skip
    return Table(["ranker", *(f"{g.documents} documents ({g.queries} queries)" for g in study.by_length)], rows)


def tools_table(study: Study) -> Table:
    """Return NDCG@10: a row per ranker and training convention, a column per group of tools that agree."""
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
    return Table(["ranker", "trained under", *firsts], rows, text_columns=2, notes=notes)


def cutoffs_table(study: Study, ranker: str) -> Table:
    """Return NDCG@1…10 of a ranker trained under the base: a row per group of tools that agree."""
    points = {(p.tool, p.cutoff): p for p in study.points if (p.ranker, p.convention) == (ranker, study.base)}
    rows = [[group[0], *(_mean(points.get((group[0], k))) for k in CUTOFFS)] for group in study.alike]
    return Table(["evaluated by", *(f"@{k}" for k in CUTOFFS)], rows)


def _mean(point: Point | None) -> str:
    return format_number(math.nan if point is None else point.mean, 4)


def parts(study: Study) -> list[Renderable]:
    """Return the study as paragraphs and tables."""
    paragraphs = [Paragraph(f"{i}. {_explain(c)}", "   ") for i, c in enumerate(study.conclusions, 1)]
    parts: list[Renderable] = [
        Heading(f"The study on {study.data}"),
        Paragraph(lead(study)),
        conclusions_table(study),
        *paragraphs,
    ]
    for c in study.conclusions:
        if c.name in _DIFFERENCES and c.evidence:
            parts += [Heading(f"{c.name.capitalize()}, by ranker", ""), evidence_table(c)]
    if study.by_length:
        parts += [Heading(f"NDCG@{LAST} by the length of the list", ""), lengths_table(study)]
    parts += [Heading(f"NDCG@{LAST} under every tool", ""), tools_table(study)]
    if study.rankers:
        best = study.rankers[0]
        parts += [Heading(f"NDCG at every cutoff: {best}, trained under {study.base}", ""), cutoffs_table(study, best)]
    if study.gaps:
        lines = [f"{g.ranker} trained under {c}, {g.fold}: {g.reason}" for c, g in study.gaps]
        parts += [Heading("Missing", ""), BulletList(lines)]
    return parts


def lead(study: Study) -> str:
    """Return what was trained and how it was evaluated."""
    board = study.board(study.base, study.tools[0], LAST)
    queries = len(board.by_query(study.rankers[0])) if study.rankers else 0
    return (
        f"{len(study.rankers)} rankers ({', '.join(study.rankers)}), trained for NDCG@{LAST} under "
        f"{', '.join(study.conventions)}, evaluated under {len(study.tools)} tools on {queries} queries in "
        f"{len(board.folds)} folds."
    )


def csv_table(studies: Sequence[Study]) -> Table:
    """Return a long table of all points."""
    rows = [
        [s.data, p.ranker, p.convention, p.tool, str(p.cutoff), repr(p.mean),
         "" if math.isnan(p.error) else repr(p.error)]
        for s in studies for p in s.points
    ]  # fmt: skip
    return Table(["data", "ranker", "convention", "tool", "cutoff", "mean", "error"], rows, text_columns=4)


def record(study: Study) -> dict[str, Any]:
    """Return a study as a JSON record."""
    return {
        "data": study.data, "rankers": list(study.rankers), "conventions": list(study.conventions),
        "tools": list(study.tools), "alike": [list(g) for g in study.alike],
        "conclusions": [
            {"name": c.name, "statement": c.statement, "holds": c.holds, "value": _json(c.value), "meaning": c.meaning,
             "low": _json(c.low), "high": _json(c.high), "p": _json(c.p), "explanation": c.explanation,
             "evidence": [{"ranker": e.ranker, "value": e.value, "p": _json(e.p), "note": e.note,
                           "low": _json(e.low), "high": _json(e.high)} for e in c.evidence]}
            for c in study.conclusions
        ],
        "points": [
            {"ranker": p.ranker, "convention": p.convention, "tool": p.tool, "cutoff": p.cutoff, "mean": p.mean,
             "error": _json(p.error)}
            for p in study.points
        ],
        "lengths": [{"documents": g.documents, "queries": g.queries, "means": dict(g.means)} for g in study.by_length],
        "missing": [{"convention": c, "ranker": g.ranker, "fold": g.fold, "seed": g.seed, "reason": g.reason}
                    for c, g in study.gaps],
    }  # fmt: skip


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def study_figures(study: Study) -> dict[str, Spec]:
    """Return the two figures of the paper: training conventions per ranker and tool, and all rankers per tool."""
    return {"figure1": training_figure(study), "figure2": rankers_figure(study)}


def training_figure(study: Study) -> Spec:
    """Draw figure 1: a row per ranker, a column per evaluation tool, a colour per training convention."""
    spare = iter(_MORE_COLOURS * len(study.conventions))
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
    """Draw figure 2: all rankers, trained under the base, a plot per evaluation tool."""
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
    """Return the points of the first tool of every group, with bounds of one standard error."""
    groups = {group[0]: group for group in study.alike}
    values = []
    for p in study.points:
        if p.tool in groups:
            error = 0.0 if math.isnan(p.error) else p.error
            values.append({
                "ranker": p.ranker, "convention": p.convention, "evaluated": _label(groups[p.tool]),
                "tools": ", ".join(groups[p.tool]), "cutoff": p.cutoff, "NDCG": p.mean, "error": error,
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


_MAX_FIGURES = 6  # rankers with a figure each


def study_page(studies: Sequence[Study], facts: Sequence[str] = ()) -> str:
    """Return the page of studies."""
    answers = [c.holds for study in studies for c in study.conclusions]
    counts = ", ".join(f"{answers.count(a)} {plural}" for a, (_, plural) in _ANSWERS.items() if a in answers)
    names = " and ".join(study.data for study in studies)
    finding = f"Of {len(answers)} conclusions of Busa-Fekete et al. (2012), {counts}."
    sections = [_conclusions(studies), *(section for study in studies for section in _behind(study))]
    return page("Pippin study", f"Do published conclusions hold on {names}?", finding, sections, facts)


_ANSWERS = {  # singular and plural
    "yes": ("holds", "hold"), "partly": ("holds partly", "hold partly"), "no": ("does not hold", "do not hold"),
    "unknown": ("cannot be decided", "cannot be decided"),
}  # fmt: skip


def _conclusions(studies: Sequence[Study]) -> Section:
    """Return each conclusion with the answer of every data set."""
    several = len(studies) > 1
    answers: dict[str, list[dict[str, str]]] = {}
    for study in studies:
        for c in study.conclusions:
            answer = {"holds": c.holds, "words": _ANSWERS[c.holds][0], "where": study.data if several else ""}
            answers.setdefault(c.statement, []).append({**answer, "why": _explain(c)})
    claims = [{"statement": statement, "answers": rows} for statement, rows in answers.items()]
    paragraphs = [f"{study.data}: {lead(study)}" if several else lead(study) for study in studies]
    return Section("Conclusions", paragraphs, claims=claims)


def _behind(study: Study) -> list[Section]:
    """Return the tables and figures behind the conclusions for one data set."""
    name = study.data.replace(" ", "-")
    tables = [
        CaptionedTable(conclusions_table(study), f"Conclusions on {study.data}", f"conclusions-{name}"),
        CaptionedTable(lengths_table(study), f"NDCG@{LAST} by the length of the list", f"lengths-{name}"),
        CaptionedTable(tools_table(study), f"NDCG@{LAST} under every tool", f"tools-{name}"),
        *(CaptionedTable(evidence_table(c), f"{c.name[0].upper()}{c.name[1:]}, by ranker", f"evidence-{name}-{i}")
          for i, c in enumerate(study.conclusions) if c.name in _DIFFERENCES and c.evidence),
    ]  # fmt: skip
    training = [
        figure for figure in (_training(study, ranker) for ranker in study.rankers[:_MAX_FIGURES]) if figure.rows
    ]
    by_tool = [figure for group in study.alike if (figure := _rankers(study, group)).rows]
    whisker = "A whisker is one standard error."
    hint = f"{whisker} Point at a line to fade the others."
    numbers = Section(
        f"Tables and figures of {study.data}", [hint] if training else (), training, tables, nav=study.data
    )
    if not by_tool:
        return [numbers]
    folded = f"{len(by_tool)} figures, one for each group of tools that agree"
    title = f"All rankers under each tool on {study.data}"
    return [numbers, Section(title, [whisker], by_tool, folded=folded, nav=None)]


def _training(study: Study, ranker: str) -> Chart:
    """Draw one ranker under official: a line per training convention."""
    tool = study.alike[0][0]
    points = [p for p in study.points if (p.ranker, p.tool) == (ranker, tool)]
    rows = [_row(p.convention, p.cutoff, p.mean, p.error) for p in points]
    return Chart("lines", rows, f"NDCG of {ranker} by cutoff, evaluated by {tool}, by training convention",
                   {"yTitle": "NDCG"}, title=f"{ranker}, evaluated by {tool}",
                   words="A line per training convention.")  # fmt: skip


def _rankers(study: Study, group: Sequence[str]) -> Chart:
    """Draw all rankers, trained under the base and evaluated by a group of tools that agree."""
    points = [p for p in study.points if (p.convention, p.tool) == (study.base, group[0])]
    rows = [_row(p.ranker, p.cutoff, p.mean, p.error) for p in points]
    same = f" The same as {', '.join(group[1:])}." if len(group) > 1 else ""
    return Chart("lines", rows, f"NDCG of all rankers by cutoff, evaluated by {group[0]}", {"yTitle": "NDCG"},
                   title=f"All rankers, evaluated by {group[0]}",
                   words=f"Trained under {study.base}.{same}")  # fmt: skip


def _row(series: str, cutoff: int, mean: float, error: float) -> dict[str, object]:
    bounds = {} if math.isnan(error) else {"low": mean - error, "high": mean + error}
    return {"series": series, "x": cutoff, "y": mean, **bounds, "tip": f"{series}\nNDCG@{cutoff} {mean:.4f}"}
