"""How paths look: fewer features, fewer queries, and what a change does to a ranker, as tables and as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pippin.bench.gaps import chance
from pippin.report.page import Drawing, Section, Shown, page
from pippin.tables import Table

if TYPE_CHECKING:
    from pippin.bench.paths import Learning, Overtaking, Selection
    from pippin.bench.versus import Versus

_NAMED = 8  # features that a row names


def selection_table(path: Selection) -> Table:
    """A row per number of features, all of them last."""
    rows = [_row(str(k), point, _names(path, k)) for k, point in path.points]
    rows.append(_row(f"all {path.features}", path.everything, ""))
    smallest = [i for i, (k, _) in enumerate(path.points) if k == path.smallest]
    heads = ["features", path.measure, "95% interval", "against all", "95% interval", "p", "verdict", "seconds"]
    some = any(row[-1] for row in rows)
    rows = rows if some else [row[:-1] for row in rows]
    return Table(
        [*heads, "kept most often"] if some else heads, rows, notes=[selection_sentence(path)], remarks=int(some),
        best={(i, 1) for i in smallest},
    )  # fmt: skip


def selection_sentence(path: Selection) -> str:
    """What the path says, in words."""
    what = f"{path.step} > {path.ranker} on {path.data}"
    if path.smallest is None:
        return f"{what}: every set tried is significantly worse than all {path.features} features (t, Holm)."
    return (
        f"{what}: {path.smallest} of {path.features} features are the smallest set that is not significantly worse "
        "than all (t over queries, Holm)."
    )


def _names(path: Selection, k: int) -> str:
    counted = list(path.kept.get(k, {}).items())[: min(k, _NAMED)]
    more = " …" if len(counted) < min(k, len(path.kept.get(k, {}))) else ""
    return ", ".join(f"{name} ({count}/{path.folds})" for name, count in counted) + more


def _row(name: str, point: Versus, last: str) -> list[str]:
    return [name, f"{point.mean:.4f}", _interval(point.low, point.high, ""), *_gap(point), last]


def _gap(point: Versus) -> list[str]:
    """Difference, its interval, p, verdict and cost."""
    seconds = "" if math.isnan(point.seconds) else f"{point.seconds:.2f}"
    if math.isnan(point.difference):
        return ["", "", "", point.verdict if point.unfinished else "", seconds]
    interval = _interval(point.difference_low, point.difference_high, "+")
    return [f"{point.difference:+.4f}", interval, chance(point.p), point.verdict, seconds]


def _interval(low: float, high: float, sign: str) -> str:
    return "" if math.isnan(low) else f"{low:{sign}.4f} … {high:{sign}.4f}"


def versus_table(rows: Sequence[Versus], measure: str) -> Table:
    """A row per data set and ranker, each baseline before what is held against it; and how often what helped."""
    cells = [
        [
            row.data,
            row.ranker,
            "" if row.unfinished else f"{row.mean:.4f}",
            _interval(row.low, row.high, ""),
            *_gap(row),
        ]
        for row in rows
    ]
    heads = ["data", "ranker", measure, "95% interval", "against the first", "95% interval", "p", "verdict", "seconds"]
    held = [row for row in rows if not math.isnan(row.difference)]
    counts = {verdict: sum(row.verdict == verdict for row in held) for verdict in ("better", "worse", "no difference")}
    told = f"{len(held)} comparisons: {counts['better']} better, {counts['worse']} worse, "
    note = f"{told}{counts['no difference']} without a difference (t over queries, Holm, 0.05)."
    lacking = sum(row.unfinished for row in rows)
    told = f"{lacking} not finished: a fold was refused, and the results say why." if lacking else ""
    return Table(heads, cells, names=2, keys=2, notes=[" ".join(filter(None, (note, told)))])


def smallest_table(paths: Sequence[Selection]) -> Table:
    """A row per data set: the smallest set that is not significantly worse, and the best."""
    rows = []
    for path in paths:
        small = next((point for k, point in path.points if k == path.smallest), None)
        best, top = max(path.points, key=lambda one: one[1].mean)
        rows.append([
            path.data, str(path.features), f"{path.everything.mean:.4f}",
            "none" if small is None else str(path.smallest), "" if small is None else f"{small.mean:.4f}",
            "" if small is None else _interval(small.difference_low, small.difference_high, "+"),
            str(best), f"{top.mean:.4f}",
        ])  # fmt: skip
    heads = ["data", "features", paths[0].measure, "fewest as good", paths[0].measure, "against all, 95% interval",
             "best of the path", paths[0].measure]  # fmt: skip
    note = f"{paths[0].step} > {paths[0].ranker}; as good: not significantly worse than all features (t, Holm, 0.05)."
    return Table(heads, rows, notes=[note])


def curves_table(curves: Sequence[Learning]) -> Table:
    """A row per data set and ranker, a column per number of queries; and who overtakes whom."""
    numbers = sorted({point[0] for found in curves for curve in found.curves.values() for point in curve[:-1]})
    rows = []
    for found in curves:
        for ranker, curve in found.curves.items():
            means = {n: mean for n, mean, *_ in curve[:-1]}
            last = curve[-1] if curve else None
            rows.append([
                found.data, ranker, *(f"{means[n]:.4f}" if n in means else "" for n in numbers),
                "" if last is None else f"{last[1]:.4f} ({last[0]})",
            ])  # fmt: skip
    heads = ["data", "ranker", *(f"{n} queries" for n in numbers), "all (queries)"]
    notes = [_overtaking(one, found) for found in curves for one in found.overtakings]
    return Table(heads, rows, names=2, keys=2, notes=notes)


def selection_record(path: Selection) -> dict[str, Any]:
    """The path as JSON holds it."""
    points = [{"features": k, **versus_record(point), "kept": dict(path.kept.get(k, {}))} for k, point in path.points]
    return {
        "data": path.data, "step": path.step, "ranker": path.ranker, "measure": path.measure,
        "features": path.features, "folds": path.folds, "all": versus_record(path.everything), "points": points,
        "smallest": path.smallest,
    }  # fmt: skip


def versus_record(point: Versus) -> dict[str, Any]:
    """One comparison with a baseline as JSON holds it; what is no number is null."""
    numbers = {
        "mean": point.mean, "low": point.low, "high": point.high, "difference": point.difference,
        "difference_low": point.difference_low, "difference_high": point.difference_high, "p": point.p,
        "seconds": point.seconds,
    }  # fmt: skip
    found = {key: None if math.isnan(value) else value for key, value in numbers.items()}
    return {"ranker": point.ranker, **found, "verdict": point.verdict}


def selection_page(paths: Sequence[Selection]) -> str:
    """The paths with their figures."""
    sections = []
    for path in paths:
        points = [*path.points, (path.features, path.everything)]
        rows = [_point(path.data, k, p.mean, p.low, p.high, path.measure, "features") for k, p in points]
        figure = Drawing(
            "lines", rows, f"{path.measure} by number of features",
            {"yTitle": path.measure, "xTitle": "features (log scale)", "log": True},
            title=f"{path.step} > {path.ranker} on {path.data}", words="Whiskers are 95 % intervals.", wide=True,
        )  # fmt: skip
        notes = [_KEPT] if any(path.kept.values()) else []
        table = Shown(replace(selection_table(path), notes=notes), f"The path on {path.data}", f"path-{path.data}")
        words = [selection_sentence(path)] if len(paths) > 1 else []
        sections.append(Section(f"Fewer features on {path.data}", words, [figure], [table], nav=path.data))
    facts = [paths[0].measure, f"{paths[0].folds} folds"]
    return page("Pippin select", "How many features are enough?", _enough(paths), sections, facts)


_KEPT = "Kept most often: the features, by name or number, and in how many of the folds each was kept."


def _enough(paths: Sequence[Selection]) -> str:
    """What all paths say, in one sentence."""
    if len(paths) == 1:
        return selection_sentence(paths[0])
    told = [f"{path.smallest or 'no set tried'} of {path.features} features on {path.data}" for path in paths]
    return f"{paths[0].step} > {paths[0].ranker} is not significantly worse with fewer: {', '.join(told)}."


def _point(series: str, x: int, mean: float, low: float, high: float, measure: str, unit: str) -> dict[str, Any]:
    bounds = {} if math.isnan(low) else {"low": low, "high": high}
    return {"series": series, "x": x, "y": mean, **bounds, "tip": f"{series}\n{x} {unit}: {measure} {mean:.4f}"}


def learning_table(found: Learning) -> Table:
    """A row per number of queries, a column per ranker."""
    numbers = sorted({point[0] for curve in found.curves.values() for point in curve})
    by_ranker = {ranker: {point[0]: point for point in curve} for ranker, curve in found.curves.items()}
    rows = [[str(n), *(_reached(points.get(n)) for points in by_ranker.values())] for n in numbers]
    best = {
        (i, 1 + max(range(len(by_ranker)), key=lambda r: list(by_ranker.values())[r].get(n, (0, -1.0))[1]))
        for i, n in enumerate(numbers)
    }
    return Table(["queries", *found.curves], rows, notes=learning_sentences(found), best=best)


def _reached(point: tuple[int, float, float, float] | None) -> str:
    return "" if point is None else f"{point[1]:.4f} ({point[2]:.4f} … {point[3]:.4f})"


def learning_sentences(found: Learning) -> list[str]:
    """Who overtakes whom, and when."""
    told = [_overtaking(one, found) for one in found.overtakings]
    return told or [f"{found.measure} on {found.data} by queries learned from; 95 % intervals over queries."]


def _overtaking(one: Overtaking, found: Learning) -> str:
    first = min(point[0] for curve in found.curves.values() for point in curve)

    def number(value: float) -> str:
        return "never" if math.isinf(value) else f"{first} or fewer" if value <= first else f"{value:.0f}"

    if math.isinf(one.queries):
        said = f"{one.ranker} does not overtake {one.other} within {found.whole} queries"
    elif one.queries <= first:
        said = f"{one.ranker} is ahead of {one.other} from {first} queries on"
    else:
        said = f"{one.ranker} overtakes {one.other} at {one.queries:.0f} queries"
    ends = dict.fromkeys((number(one.low), number(one.high)))
    return f"On {found.data} {said} (95% interval: {' … '.join(ends)})."


def learning_record(found: Learning) -> dict[str, Any]:
    """The curves as JSON holds them; an overtaking that never happens is null."""

    def number(value: float) -> float | None:
        return None if math.isinf(value) or math.isnan(value) else value

    return {
        "data": found.data, "measure": found.measure, "queries": found.whole,
        "curves": {
            ranker: [{"queries": p[0], "mean": p[1], "low": number(p[2]), "high": number(p[3])} for p in curve]
            for ranker, curve in found.curves.items()
        },
        "overtakings": [
            {"ranker": one.ranker, "other": one.other, "queries": number(one.queries), "low": number(one.low),
             "high": number(one.high)} for one in found.overtakings
        ],
    }  # fmt: skip


def learning_page(curves: Sequence[Learning]) -> str:
    """The curves with their figures."""
    sections = []
    for found in curves:
        rows = [
            _point(ranker, n, mean, low, high, found.measure, "queries")
            for ranker, curve in found.curves.items()
            for n, mean, low, high in curve
        ]
        figure = Drawing(
            "lines", rows, f"{found.measure} by training queries",
            {"yTitle": found.measure, "xTitle": "training queries (log scale)", "log": True},
            title=f"Learning curves on {found.data}", words="Whiskers are 95 % intervals over queries.", wide=True,
        )  # fmt: skip
        table = replace(learning_table(found), notes=[])
        shown = Shown(table, f"Learning curves on {found.data}", f"curve-{found.data}")
        words = learning_sentences(found) if len(curves) > 1 or len(found.overtakings) > 1 else []
        sections.append(Section(f"Fewer queries on {found.data}", words, [figure], [shown], nav=found.data))
    finding = " ".join(learning_sentences(found)[0] for found in curves)
    return page("Pippin curve", "How many queries are enough?", finding, sections, [curves[0].measure])
