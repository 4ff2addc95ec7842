"""Tables and records of evaluations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.display.tables import Table, format_number
from pippin.evaluation.convention import changes_text
from pippin.evaluation.measures import MEASURE_DEFINITIONS

if TYPE_CHECKING:
    from pippin.evaluation.evaluation import Evaluation, MeasureResult


_MAX_DESCRIBED = 8  # tools that the notes describe; of more, the notes list the names
_EXTENSION = "* not a measure of the tool: computed under its convention"


def evaluation_table(evaluations: Sequence[Evaluation], format: str = "table") -> str:
    """Return the table of evaluations in a format."""
    return table(evaluations, format).render(format)


def table(evaluations: Sequence[Evaluation], format: str = "table") -> Table:
    """Return a row per scored file and tool, a column per measure, and the conventions as notes.

    In CSV, values have all digits.
    """
    measures = [c.requested_name for c in evaluations[0].columns]
    several = len({e.name for e in evaluations}) > 1
    extended = False
    rows = []
    for evaluation in evaluations:
        row = [evaluation.name, evaluation.tool.name] if several else [evaluation.tool.name]
        for column in evaluation.columns:
            cell = _cell(column, evaluation, format)
            extended |= cell.endswith("*")
            if evaluation.ties is not None:
                worst, best = evaluation.ties[column.requested_name]
                digits = _digits(column, format)
                cell += f" [{format_number(worst, digits)}, {format_number(best, digits)}]"
            row.append(cell)
        rows.append(row)
    headers = [*(["run"] if several else []), "tool", *measures]
    notes = _notes(evaluations)
    notes += [*_top_grades(evaluations), *_unknown_orders(evaluations)]
    if extended:
        notes.append(_EXTENSION)
    if evaluations[0].ties is not None:
        notes.append("[worst, best]: range over all orders of tied documents")
    names = 2 if several else 1
    return Table(
        headers,
        rows,
        text_columns=names,
        notes=notes,
        repeated_columns=names,
        highlighted=_best(evaluations, names) if several else (),
    )


def _best(evaluations: Sequence[Evaluation], names: int) -> set[tuple[int, int]]:
    """Return the cells of the best scored file under each tool and measure; ties are all best."""
    best = set()
    for i in range(len(evaluations[0].columns)):
        best_means: dict[str, float] = {}
        for e in evaluations:
            best_means[e.tool.name] = max(best_means.get(e.tool.name, -math.inf), e.columns[i].mean)
        best |= {(row, names + i) for row, e in enumerate(evaluations) if e.columns[i].mean == best_means[e.tool.name]}
    return best


def per_query_table(evaluations: Sequence[Evaluation], format: str = "table") -> str:
    """Return a row per query and one of means, a column per scored file, tool and measure."""
    several = len({e.name for e in evaluations}) > 1
    # Tools name queries in their own ways; with several tools, rows use the ids of the data.
    one_tool = len({e.tool.name for e in evaluations}) == 1
    headers = ["query"]
    columns: list[tuple[MeasureResult, dict[str, float]]] = []
    for evaluation in evaluations:
        for column in evaluation.columns:
            parts = [
                *([evaluation.name] if several else []),
                *([evaluation.tool.name] if len(evaluations) > 1 else []),
            ]
            headers.append(" ".join([*parts, column.requested_name]) + _star(column, evaluation, format))
            queries = column.topics if one_tool else column.query_ids
            columns.append((column, dict(zip(queries, column.values.tolist(), strict=True))))
    query_ids = dict.fromkeys(query for _, values in columns for query in values)
    rows = [
        [query, *(format_number(values.get(query, math.nan), _digits(column, format)) for column, values in columns)]
        for query in query_ids
    ]
    if format != "csv":
        rows.append(["all", *(format_number(column.mean, _digits(column, format)) for column, _ in columns)])
    notes = [*_notes(evaluations), *_top_grades(evaluations), *_unknown_orders(evaluations)]
    if any(header.endswith("*") for header in headers):
        notes.append(_EXTENSION)
    return Table(headers, rows, notes=notes).render(format)


def _cell(column: MeasureResult, evaluation: Evaluation, format: str) -> str:
    return format_number(column.mean, _digits(column, format)) + _star(column, evaluation, format)


def _star(column: MeasureResult, evaluation: Evaluation, format: str) -> str:
    """Return the mark of a measure that the tool does not have."""
    return "*" if column.measure.kind not in evaluation.tool.measures and format != "csv" else ""


def _digits(column: MeasureResult, format: str) -> int:
    """Return the decimals that the tool prints, at most 6; all in CSV."""
    if MEASURE_DEFINITIONS[column.measure.kind].aggregate == "sum":
        return 0
    return 17 if format == "csv" else min(column.convention.printed_digits, 6)


def _notes(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the conventions and the counts of queries under them; tools and files with the same note share it."""
    several = len({e.name for e in evaluations}) > 1
    few = len({e.tool.name for e in evaluations}) <= _MAX_DESCRIBED
    tools: dict[tuple[str, str], list[str]] = {}
    for e in evaluations:
        tools.setdefault((_facts(e.counts), e.name), []).append(_under(e) if few else e.tool.name)
    names: dict[tuple[str, ...], list[str]] = {}
    for (facts, name), under in tools.items():
        names.setdefault((facts, *under), []).append(name)
    changes = {} if few else dict.fromkeys(changes_text(e.overrides) for e in evaluations if e.overrides)
    return [
        *(f"{', '.join(files) + ' under ' if several else ''}{', '.join(under)}: {facts}"
          for (facts, *under), files in names.items()),
        *(f"all with {changed}" for changed in changes),
    ]  # fmt: skip


def _top_grades(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return a note per measure that depends on the axis `err_max_grade`: the top grade under each tool."""
    notes = []
    for i, first in enumerate(evaluations[0].columns):
        if not MEASURE_DEFINITIONS[first.measure.kind].depends_on("err_max_grade"):
            continue
        tools: dict[str, dict[str, None]] = {}
        for evaluation in evaluations:
            column = evaluation.columns[i]
            grade = column.convention.err_max_grade
            text = {
                "data": f"{column.max_label}, the largest label of the data", "query": "the query's largest label",
                "probability": "none, labels are probabilities", "gain": "none, gains are probabilities",
            }.get(str(grade), f"{grade}, fixed")  # fmt: skip
            tools.setdefault(text, {})[evaluation.tool.name] = None
        names = {
            text: f" ({', '.join(names) if len(names) <= _MAX_DESCRIBED else f'{len(names)} tools'})"
            for text, names in tools.items()
        }
        texts = "; ".join(f"{text}{names[text] if len(tools) > 1 else ''}" for text in tools)
        notes.append(f"top grade of {first.requested_name}: {texts}")
    return notes


def _unknown_orders(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return a note per tool whose sort leaves tied documents in an order that Pippin does not know."""
    counts: dict[str, int] = {}
    for e in evaluations:
        counts[e.tool.name] = max(counts.get(e.tool.name, 0), e.unknown_order)
    return [
        f"{tool} sorts the tied documents of {count:,} {'query' if count == 1 else 'queries'} in an order that Pippin "
        "does not know: its own value may differ (--ties-range shows by how much)"
        for tool, count in counts.items()
        if count
    ]


def _under(evaluation: Evaluation) -> str:
    """Return the tool, its title and version, and the changed axes."""
    tool, changed = evaluation.tool, changes_text(evaluation.overrides)
    default = ", the default for qrels" if evaluation.is_default_tool and tool.name != "official" else ""
    return f"{tool.name} ({tool.full_title}{default}{'; ' + changed if changed else ''})"


def _facts(counts: Mapping[str, int]) -> str:
    facts = [f"{counts['queries']:,} {'query' if counts['queries'] == 1 else 'queries'}", f"{counts['empty']:,} empty"]
    if counts["cutoff"]:
        facts.append(f"{counts['short']:,} shorter than {counts['cutoff']}")
    return ", ".join([*facts, f"{counts['tied']:,} with ties"])


def evaluation_record(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as a JSON record: values in full, NaN as None."""
    tool, overrides = evaluation.tool, evaluation.overrides
    base = tool.convention.replace(**overrides)
    record: dict[str, Any] = {
        "tool": tool.name,
        "version": tool.version,
        "run": evaluation.name,
        "overrides": {axis: list(v) if isinstance(v, tuple) else v for axis, v in overrides.items()},
        "convention": base.as_dict(),
        "departures": {
            c.requested_name: {axis: pair[1] for axis, pair in base.differences(c.convention).items()}
            for c in evaluation.columns
            if c.convention != base
        },
        "counts": evaluation.counts,
        "mean": {c.requested_name: _json(c.mean) for c in evaluation.columns},
        "per_query": {measure: _all_json(values) for measure, values in evaluation.per_query.items()},
    }
    max_labels = {c.requested_name: c.max_label for c in evaluation.columns if c.max_label is not None}
    if evaluation.unknown_order:
        record["unknown_order"] = evaluation.unknown_order
    if max_labels:
        record["max_label"] = max_labels
    if evaluation.ties is not None:
        bounds = evaluation.ties.items()
        record["ties_range"] = {measure: [_json(worst), _json(best)] for measure, (worst, best) in bounds}
    return record


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def _all_json(values: Mapping[str, float]) -> Mapping[str, float | None]:
    """Return values with NaN as None; without NaN, the same mapping."""
    return {q: _json(v) for q, v in values.items()} if any(map(math.isnan, values.values())) else values
