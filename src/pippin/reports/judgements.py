"""Tables and records of bounds over unjudged documents and of the agreement between assessors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pippin.display.tables import Paragraph, Renderable, Table, format_number
from pippin.evaluation.agreement import AssessorAgreement
from pippin.evaluation.bounds import Bounds


def sentence(bounds: Bounds) -> str:
    """Return the verdict of the bounds, whether they are exact, and RBP's residual."""
    text = bounds.verdict
    if not bounds.exact:
        text += " The bounds may be too wide: some queries have too many unjudged documents for an exact search."
    if bounds.residuals is not None:
        text += f" RBP's residual, which includes deeper ranks, is {bounds.residuals.mean():.4f}."
    return text


def means(all_bounds: Sequence[Bounds]) -> Table:
    """Return a row per measure."""
    rows = [
        [b.measure, str(b.n_unjudged), *(format_number(x, 4) for x in (b.low, b.value, b.high)), _kind(b.exact)]
        for b in all_bounds
    ]
    return Table(["measure", "unjudged", "low", _quantity(all_bounds), "high", "bounds"], rows, trailing_text=1)


def per_query(all_bounds: Sequence[Bounds]) -> Table:
    """Return a row per query and measure."""
    rows = [
        [query, b.measure, str(unjudged), *(format_number(x, 4) for x in (low, value, high)), _kind(exact)]
        for b in all_bounds
        for query, unjudged, value, low, high, exact in zip(*b.to_dict().values(), strict=True)
    ]
    headers = ["query", "measure", "unjudged", "low", _quantity(all_bounds), "high", "bounds"]
    return Table(headers, rows, text_columns=2, trailing_text=1)


def _quantity(all_bounds: Sequence[Bounds]) -> str:
    return "value" if len(all_bounds[0].names) == 1 else "difference"


def _kind(exact: bool) -> str:
    return "exact" if exact else "outer"


def bounds_parts(all_bounds: Sequence[Bounds], by_query: bool = False, judge_next: int = 0) -> list[Renderable]:
    """Return a table, a sentence per measure, and the documents to judge next."""
    parts: list[Renderable] = [per_query(all_bounds) if by_query else means(all_bounds)]
    for b in all_bounds:
        parts.append(Paragraph(f"{b.measure}: {sentence(b)}" if len(all_bounds) > 1 else sentence(b)))
    for b in all_bounds:
        rows = [[c.query, c.document, format_number(c.width, 4)] for c in b.judge_next(judge_next)]
        if rows:
            note = f"{b.measure}: judging these documents first narrows the bounds of their queries most, by `width`"
            parts.append(Table(["query", "judge next", "width"], rows, text_columns=2, notes=[note]))
    return parts


def bounds_record(bounds: Bounds, judge_next: int = 0) -> dict[str, Any]:
    """Return bounds as JSON holds them."""
    residuals = bounds.residuals
    return {
        "measure": bounds.measure, "tool": bounds.tool, "runs": list(bounds.names), "unjudged": bounds.n_unjudged,
        "value": bounds.value, "low": bounds.low, "high": bounds.high, "exact": bounds.exact,
        "verdict": bounds.verdict, "residual": None if residuals is None else float(residuals.mean()),
        "per_query": _rows(bounds.to_dict()),
        "judge_next": [vars(candidate) for candidate in bounds.judge_next(judge_next)],
    }  # fmt: skip


def _rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns as a list of rows."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def agreement_record(result: AssessorAgreement) -> dict[str, Any]:
    """Return the agreement of two assessors as JSON holds it."""
    labels = result.agreement
    grades, counts = labels.table
    return {
        "labels": labels.names, "documents": len(labels.a), "alone": labels.alone, "grades": grades.tolist(),
        "confusion": counts.tolist(), "kappa": labels.kappa, "alpha": labels.alpha,
        "by_grade": _rows(labels.by_grade()), "per_query": _rows(labels.to_dict()),
        "measure": result.measure, "queries": len(result.queries),
        "correlations": {c.name: {"value": c.value, "low": c.low, "high": c.high} for c in result.correlations},
        "systems": [vars(system) for system in result.systems],
        "estimates": {name: [vars(e) for e in estimates] for name, estimates in result.estimates.items()},
    }  # fmt: skip


def agreement_parts(result: AssessorAgreement, per_query: bool = False) -> list[Renderable]:
    """Return the agreement in a sentence and tables; with a row per query if `per_query`."""
    labels = result.agreement
    (first, second), (only_first, only_second) = labels.names, labels.alone
    parts: list[Renderable] = [
        Paragraph(f"Documents judged by both: {len(labels.a):,}; only by {first}: {only_first:,}; only by {second}: "
                  f"{only_second:,}."),
        confusion_table(result),
        coefficients(result),
    ]  # fmt: skip
    if per_query:
        parts.append(by_query(result))
    if result.correlations:
        rows = [
            [c.name, format_number(c.value, 4), f"[{format_number(c.low, 4)}, {format_number(c.high, 4)}]"]
            for c in result.correlations
        ]
        note = f"{result.measure} of {len(result.systems)} systems under both labels, {len(result.queries)} queries"
        parts.append(Table(["leaderboards", "value", "95% interval"], rows, notes=[note]))
        parts.append(systems_table(result))
    if result.estimates:
        parts.append(estimates_table(result))
    return parts


def confusion_table(result: AssessorAgreement) -> Table:
    """Return the confusion matrix of labels, and κ of each label."""
    grades, counts = result.agreement.table
    kappas = result.agreement.by_grade()["kappa"]
    rows = [
        [f"label {grade}", *map(str, counts[i].tolist()), format_number(kappas[i], 4)]
        for i, grade in enumerate(grades.tolist())
    ]
    first, second = result.agreement.names
    return Table(["", *map(str, grades.tolist()), "κ of the label"], rows, notes=[f"rows: {first}; columns: {second}"])


def coefficients(result: AssessorAgreement) -> Table:
    """Return Cohen's κ and Krippendorff's α over all labels."""
    labels = result.agreement
    rows = [[f"Cohen's κ, {name}", format_number(value, 6)] for name, value in labels.kappa.items()]
    rows += [[f"Krippendorff's α, {name}", format_number(value, 6)] for name, value in labels.alpha.items()]
    return Table(["agreement", "value"], rows)


def by_query(result: AssessorAgreement) -> Table:
    """Return a row per query."""
    rows = [
        [query, str(size), *(format_number(x, 4) for x in values)]
        for query, size, *values in zip(*result.agreement.to_dict().values(), strict=True)
    ]
    return Table(["query", "documents", "equal", "κ quadratic", "α ordinal"], rows)


def systems_table(result: AssessorAgreement) -> Table:
    """Return a row per system: its means under both labels, and whether the second assessor favours it."""
    first, second = result.agreement.names
    rows = [
        [s.system, format_number(s.first, 4), format_number(s.second, 4), f"{s.lift:+.4f}", format_number(s.p, 4),
         format_number(s.p_adjusted, 4)]
        for s in result.systems
    ]  # fmt: skip
    note = f"bias: gain of a system from {first} to {second}, minus the mean gain of the others; t-test over queries"
    return Table(["system", first, second, "bias", "p", "p corrected"], rows, notes=[note])


def estimates_table(result: AssessorAgreement) -> Table:
    """Return a row per system or pair, and method of estimation."""
    rows = [
        [name, e.method, format_number(e.value, 4), f"[{e.low:.4f}, {e.high:.4f}]", format_number(e.weight, 2)]
        for name, estimates in result.estimates.items()
        for e in estimates
    ]
    estimate = next(iter(result.estimates.values()))[0]
    note = (
        f"{result.measure} over all queries: {estimate.human} labelled by {result.agreement.names[0]} and "
        f"{estimate.model} more by {result.agreement.names[1]}; valid only if the {estimate.human} are a random sample"
    )
    return Table(["estimate", "method", "mean", "95% interval", "λ"], rows, text_columns=2, notes=[note])
