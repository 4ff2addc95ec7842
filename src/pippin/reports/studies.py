"""Tables, records and pages of feature selection, learning curves and research directions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pippin.benchmarks.studies.baselines import format_p
from pippin.benchmarks.studies.curves import FeatureCurve, LearningCurves
from pippin.benchmarks.studies.directions import MEASURE, Finding, ResearchDirection
from pippin.display.tables import Heading, Paragraph, Renderable, Table, render_all
from pippin.errors import DataError
from pippin.reports.html import CaptionedTable, Chart, Section, page

if TYPE_CHECKING:
    from pippin.benchmarks.studies.baselines import BaselineComparison
    from pippin.benchmarks.studies.curves import Crossover, FeatureCurve, LearningCurves


_MAX_NAMES = 8  # features that a row names


def selection_table(path: FeatureCurve) -> Table:
    """Return a row per number of features, with all features last."""
    rows = [_row(str(k), point, _names(path, k)) for k, point in path.points]
    rows.append(_row(f"all {path.features}", path.all_features, ""))
    smallest = [i for i, (k, _) in enumerate(path.points) if k == path.smallest]
    heads = ["features", path.measure, "95% interval", "difference to all", "95% interval", "p", "verdict", "seconds"]
    has_names = any(row[-1] for row in rows)
    rows = rows if has_names else [row[:-1] for row in rows]
    heads += ["kept most often"] if has_names else []
    return Table(
        heads, rows, notes=[selection_sentence(path)], trailing_text=int(has_names),
        highlighted={(i, 1) for i in smallest},
    )  # fmt: skip


def selection_sentence(path: FeatureCurve) -> str:
    """Return the smallest sufficient set of features in a sentence."""
    subject = f"{path.step} > {path.ranker} on {path.data}"
    if path.smallest is None:
        return f"{subject}: every set tried is significantly worse than all {path.features} features (t, Holm)."
    return (
        f"{subject}: {path.smallest} of {path.features} features are the smallest set that is not significantly worse "
        "than all (t-test over queries, Holm)."
    )


def _names(path: FeatureCurve, k: int) -> str:
    counts = list(path.selected.get(k, {}).items())[: min(k, _MAX_NAMES)]
    more = " …" if len(counts) < min(k, len(path.selected.get(k, {}))) else ""
    return ", ".join(f"{name} ({count}/{path.folds})" for name, count in counts) + more


def _row(name: str, point: BaselineComparison, last: str) -> list[str]:
    return [name, f"{point.mean:.4f}", _interval(point.low, point.high, ""), *_gap(point), last]


def _gap(point: BaselineComparison) -> list[str]:
    """Return difference, interval, p, verdict and seconds."""
    seconds = "" if math.isnan(point.seconds) else f"{point.seconds:.2f}"
    if math.isnan(point.difference):
        return ["", "", "", point.verdict if point.is_incomplete else "", seconds]
    interval = _interval(point.difference_low, point.difference_high, "+")
    return [f"{point.difference:+.4f}", interval, format_p(point.p), point.verdict, seconds]


def _interval(low: float, high: float, sign: str) -> str:
    return "" if math.isnan(low) else f"{low:{sign}.4f} … {high:{sign}.4f}"


def versus_table(rows: Sequence[BaselineComparison], measure: str) -> Table:
    """Return a row per data set and ranker, each baseline before its rivals, and how many rivals are better."""
    cells = [
        [
            row.data,
            row.ranker,
            "" if row.is_incomplete else f"{row.mean:.4f}",
            _interval(row.low, row.high, ""),
            *_gap(row),
        ]
        for row in rows
    ]
    heads = [
        "data",
        "ranker",
        measure,
        "95% interval",
        "difference to the first",
        "95% interval",
        "p",
        "verdict",
        "seconds",
    ]
    verdicts = [row.verdict for row in rows if not math.isnan(row.difference)]
    notes = [
        f"{len(verdicts)} comparisons: {verdicts.count('better')} better, {verdicts.count('worse')} worse, "
        f"{verdicts.count('no difference')} without a significant difference (t-test over queries, Holm, 0.05)."
    ]
    n_unfinished = sum(row.is_incomplete for row in rows)
    if n_unfinished:
        notes[0] += f" {n_unfinished} not finished: a fold failed; the results state the reason."
    return Table(heads, cells, text_columns=2, repeated_columns=2, notes=notes)


def smallest_table(paths: Sequence[FeatureCurve]) -> Table:
    """Return a row per data set: the smallest set that is not significantly worse, and the best."""
    rows = []
    for path in paths:
        small = next((point for k, point in path.points if k == path.smallest), None)
        best, top = max(path.points, key=lambda point: point[1].mean)
        rows.append([
            path.data, str(path.features), f"{path.all_features.mean:.4f}",
            "none" if small is None else str(path.smallest), "" if small is None else f"{small.mean:.4f}",
            "" if small is None else _interval(small.difference_low, small.difference_high, "+"),
            str(best), f"{top.mean:.4f}",
        ])  # fmt: skip
    heads = ["data", "features", paths[0].measure, "smallest set", paths[0].measure, "difference to all, 95% interval",
             "best set", paths[0].measure]  # fmt: skip
    note = f"{paths[0].step} > {paths[0].ranker}; smallest set: not significantly worse than all (t, Holm, 0.05)."
    return Table(heads, rows, notes=[note])


def curves_table(curves: Sequence[LearningCurves]) -> Table:
    """Return a row per data set and ranker, a column per number of queries, and the crossovers as notes."""
    numbers = sorted({point[0] for result in curves for curve in result.curves.values() for point in curve[:-1]})
    rows = []
    for result in curves:
        for ranker, curve in result.curves.items():
            means = {n: mean for n, mean, *_ in curve[:-1]}
            last = curve[-1] if curve else None
            rows.append([
                result.data, ranker, *(f"{means[n]:.4f}" if n in means else "" for n in numbers),
                "" if last is None else f"{last[1]:.4f} ({last[0]})",
            ])  # fmt: skip
    heads = ["data", "ranker", *(f"{n} queries" for n in numbers), "all (queries)"]
    notes = [_describe_crossover(crossover, result) for result in curves for crossover in result.crossovers]
    return Table(heads, rows, text_columns=2, repeated_columns=2, notes=notes)


def selection_record(path: FeatureCurve) -> dict[str, Any]:
    """Return a feature curve as a JSON record."""
    points = [
        {"features": k, **versus_record(point), "kept": dict(path.selected.get(k, {}))} for k, point in path.points
    ]
    return {
        "data": path.data, "step": path.step, "ranker": path.ranker, "measure": path.measure,
        "features": path.features, "folds": path.folds, "all": versus_record(path.all_features), "points": points,
        "smallest": path.smallest,
    }  # fmt: skip


def versus_record(point: BaselineComparison) -> dict[str, Any]:
    """Return a comparison with a baseline as a JSON record, with NaN as None."""
    numbers = {
        "mean": point.mean, "low": point.low, "high": point.high, "difference": point.difference,
        "difference_low": point.difference_low, "difference_high": point.difference_high, "p": point.p,
        "seconds": point.seconds,
    }  # fmt: skip
    values = {key: None if math.isnan(value) else value for key, value in numbers.items()}
    return {"ranker": point.ranker, **values, "verdict": point.verdict}


def selection_page(paths: Sequence[FeatureCurve]) -> str:
    """Return the page of feature curves."""
    sections = []
    for path in paths:
        points = [*path.points, (path.features, path.all_features)]
        rows = [_point(path.data, k, p.mean, p.low, p.high, path.measure, "features") for k, p in points]
        figure = Chart(
            "lines", rows, f"{path.measure} by number of features",
            {"yTitle": path.measure, "xTitle": "features (log scale)", "log": True},
            title=f"{path.step} > {path.ranker} on {path.data}", words="Whiskers are 95% intervals.", wide=True,
        )  # fmt: skip
        notes = [_KEPT] if any(path.selected.values()) else []
        table = CaptionedTable(
            replace(selection_table(path), notes=notes), f"Feature curve on {path.data}", f"path-{path.data}"
        )
        paragraphs = [selection_sentence(path)] if len(paths) > 1 else []
        sections.append(Section(f"Fewer features on {path.data}", paragraphs, [figure], [table], nav=path.data))
    facts = [paths[0].measure, f"{paths[0].folds} folds"]
    return page("Pippin select", "How many features are enough?", _enough(paths), sections, facts)


_KEPT = "Kept most often: features by name or number, and the number of folds that kept each."


def _enough(paths: Sequence[FeatureCurve]) -> str:
    """Return the smallest sufficient sets of all data sets in one sentence."""
    if len(paths) == 1:
        return selection_sentence(paths[0])
    sizes = [f"{path.smallest or 'none'} of {path.features} features on {path.data}" for path in paths]
    return f"{paths[0].step} > {paths[0].ranker} is not significantly worse with fewer features: {', '.join(sizes)}."


def _point(series: str, x: int, mean: float, low: float, high: float, measure: str, unit: str) -> dict[str, Any]:
    bounds = {} if math.isnan(low) else {"low": low, "high": high}
    return {"series": series, "x": x, "y": mean, **bounds, "tip": f"{series}\n{x} {unit}: {measure} {mean:.4f}"}


def learning_table(result: LearningCurves) -> Table:
    """Return a row per number of queries, a column per ranker."""
    numbers = sorted({point[0] for curve in result.curves.values() for point in curve})
    by_ranker = {ranker: {point[0]: point for point in curve} for ranker, curve in result.curves.items()}
    rows = [[str(n), *(_format_point(points.get(n)) for points in by_ranker.values())] for n in numbers]
    best = {
        (i, 1 + max(range(len(by_ranker)), key=lambda r: list(by_ranker.values())[r].get(n, (0, -1.0))[1]))
        for i, n in enumerate(numbers)
    }
    return Table(["queries", *result.curves], rows, notes=learning_sentences(result), highlighted=best)


def _format_point(point: tuple[int, float, float, float] | None) -> str:
    return "" if point is None else f"{point[1]:.4f} ({point[2]:.4f} … {point[3]:.4f})"


def learning_sentences(result: LearningCurves) -> list[str]:
    """Return the crossovers as sentences."""
    sentences = [_describe_crossover(crossover, result) for crossover in result.crossovers]
    return sentences or [f"{result.measure} on {result.data} by number of training queries, with 95% intervals."]


def _describe_crossover(crossover: Crossover, result: LearningCurves) -> str:
    first = min(point[0] for curve in result.curves.values() for point in curve)
    ranker, rival = crossover.ranker, crossover.second

    def number(value: float) -> str:
        return "never" if math.isinf(value) else f"{first} or fewer" if value <= first else f"{value:.0f}"

    if math.isinf(crossover.queries):
        event = f"{ranker} does not overtake {rival} within {result.n_queries} queries"
    elif crossover.queries <= first:
        event = f"{ranker} is better than {rival} from {first} queries"
    else:
        event = f"{ranker} overtakes {rival} at {crossover.queries:.0f} queries"
    ends = dict.fromkeys((number(crossover.low), number(crossover.high)))
    return f"On {result.data} {event} (95% interval: {' … '.join(ends)})."


def learning_record(result: LearningCurves) -> dict[str, Any]:
    """Return learning curves as a JSON record; a crossover that never happens is None."""

    def number(value: float) -> float | None:
        return None if math.isinf(value) or math.isnan(value) else value

    return {
        "data": result.data, "measure": result.measure, "queries": result.n_queries,
        "curves": {
            ranker: [{"queries": p[0], "mean": p[1], "low": number(p[2]), "high": number(p[3])} for p in curve]
            for ranker, curve in result.curves.items()
        },
        "crossovers": [
            {"ranker": crossover.ranker, "other": crossover.second, "queries": number(crossover.queries),
             "low": number(crossover.low), "high": number(crossover.high)} for crossover in result.crossovers
        ],
    }  # fmt: skip


def learning_page(curves: Sequence[LearningCurves]) -> str:
    """Return the page of learning curves."""
    sections = []
    for result in curves:
        rows = [
            _point(ranker, n, mean, low, high, result.measure, "queries")
            for ranker, curve in result.curves.items()
            for n, mean, low, high in curve
        ]
        figure = Chart(
            "lines", rows, f"{result.measure} by training queries",
            {"yTitle": result.measure, "xTitle": "training queries (log scale)", "log": True},
            title=f"Learning curves on {result.data}", words="Whiskers are 95% intervals over queries.", wide=True,
        )  # fmt: skip
        table = CaptionedTable(
            replace(learning_table(result), notes=[]), f"Learning curves on {result.data}", f"curve-{result.data}"
        )
        paragraphs = learning_sentences(result) if len(curves) > 1 or len(result.crossovers) > 1 else []
        sections.append(Section(f"Fewer queries on {result.data}", paragraphs, [figure], [table], nav=result.data))
    finding = " ".join(learning_sentences(result)[0] for result in curves)
    return page("Pippin curve", "How many queries are enough?", finding, sections, [curves[0].measure])


Directions = Sequence[tuple[ResearchDirection, list[Finding]]]
_PLACEHOLDER = re.compile(r"(<!-- research: ([\w-]+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)


def table(finding: Finding) -> Table:
    """Return a finding as a table."""
    if isinstance(finding, Table):
        return finding
    first: Any = finding[0] if finding else None
    if isinstance(first, FeatureCurve):
        return smallest_table(cast(Sequence[FeatureCurve], finding))
    if isinstance(first, LearningCurves):
        return curves_table(cast(Sequence[LearningCurves], finding))
    return versus_table(cast(Any, finding), MEASURE)


def parts(directions: Directions) -> list[Renderable]:
    """Return the title, the question and the tables of each direction."""
    parts: list[Renderable] = []
    for direction, findings in directions:
        parts += [Heading(direction.title), Paragraph(direction.question), *map(table, findings)]
    return parts


def records(directions: Directions) -> list[dict[str, Any]]:
    """Return the tables of directions as JSON records: headers, rows and notes."""
    return [
        {"direction": direction.name, "title": direction.title, "question": direction.question,
         "tables": [{"heads": list(t.headers), "rows": [list(row) for row in t.rows], "notes": list(t.notes)}
                    for t in map(table, findings)]}
        for direction, findings in directions
    ]  # fmt: skip


def fill_placeholders(page: str, directions: Directions, path: str) -> str:
    """Fill `<!-- research: NAME -->` … `<!-- end of NAME -->` in a Markdown page with the tables of directions.

    >>> fill_placeholders("a <!-- research: x -->\\n<!-- end of x --> b", [], "p.md")
    'a <!-- research: x -->\\n<!-- end of x --> b'
    """
    texts = {direction.name: render_all(list(map(table, findings)), "markdown") for direction, findings in directions}
    names = {match[2] for match in _PLACEHOLDER.finditer(page)}
    missing = [name for name in texts if name not in names]
    if missing:
        raise DataError(f"missing placeholder <!-- research: {missing[0]} -->", path)

    def fill(match: re.Match[str]) -> str:
        return match[0] if match[2] not in texts else f"{match[1]}{texts[match[2]].rstrip()}\n{match[3]}"

    return _PLACEHOLDER.sub(fill, page)
