"""Evaluations as tables and as records: the number, and the convention it was made under."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.evaluation.convention import changes_text
from pippin.evaluation.measures import KINDS
from pippin.tables import Table, number

if TYPE_CHECKING:
    from pippin.evaluation.evaluate import Column, Evaluation

Ranges = dict[int, dict[str, tuple[float, float]]]  # of an evaluation by position: measure → (worst, best)

_TOLD = 8  # of more tools the names alone stand below a table; `pippin tools` tells their versions
_EXTENSION = "* not a measure of that tool: computed by its rules"


def evaluation_table(evaluations: Sequence[Evaluation], ranges: Ranges | None = None, form: str = "table") -> str:
    """One row per scored file and tool, one column per measure; the conventions below."""
    return table(evaluations, ranges, form).render(form)


def table(evaluations: Sequence[Evaluation], ranges: Ranges | None = None, form: str = "table") -> Table:
    """The same as data; in CSV numbers have all their digits."""
    asked = [c.asked for c in evaluations[0].columns]
    several = len({e.name for e in evaluations}) > 1
    extended = False
    rows = []
    for index, evaluation in enumerate(evaluations):
        row = [evaluation.name, evaluation.tool.name] if several else [evaluation.tool.name]
        for column in evaluation.columns:
            cell = _cell(column, evaluation, form)
            extended |= cell.endswith("*")
            if ranges is not None:
                worst, best = ranges[index][column.asked]
                digits = _digits(column, form)
                cell += f" [{number(worst, digits)}, {number(best, digits)}]"
            row.append(cell)
        rows.append(row)
    headers = [*(["scored"] if several else []), "tool", *asked]
    notes = _notes(evaluations)
    if extended:
        notes.append(_EXTENSION)
    if ranges is not None:
        notes.append("[worst, best]: how far the order of tied documents alone can move the number")
    names = 2 if several else 1
    return Table(headers, rows, names=names, notes=notes, keys=names, best=_best(evaluations, names) if several else ())


def _best(evaluations: Sequence[Evaluation], names: int) -> set[tuple[int, int]]:
    """The cells of the scored file that is best under its tool, measure by measure; ties are all best."""
    best = set()
    for i in range(len(evaluations[0].columns)):
        most: dict[str, float] = {}
        for e in evaluations:
            most[e.tool.name] = max(most.get(e.tool.name, -math.inf), e.columns[i].mean)
        best |= {(row, names + i) for row, e in enumerate(evaluations) if e.columns[i].mean == most[e.tool.name]}
    return best


def per_query_table(evaluations: Sequence[Evaluation], form: str = "table") -> str:
    """One row per query (and a mean), one column per scored file, tool and measure."""
    several = len({e.name for e in evaluations}) > 1
    alone = len({e.tool.name for e in evaluations}) == 1  # tools beside each other share a row, whatever they call it
    headers = ["query"]
    columns: list[tuple[Column, dict[str, float]]] = []
    for evaluation in evaluations:
        for column in evaluation.columns:
            parts = [
                *([evaluation.name] if several else []),
                *([evaluation.tool.name] if len(evaluations) > 1 else []),
            ]
            headers.append(" ".join([*parts, column.asked]) + _star(column, evaluation, form))
            queries = column.topics if alone else column.query_ids
            columns.append((column, dict(zip(queries, column.values.tolist(), strict=True))))
    asked = dict.fromkeys(query for _, values in columns for query in values)
    rows = [
        [query, *(number(values.get(query, math.nan), _digits(column, form)) for column, values in columns)]
        for query in asked
    ]
    if form != "csv":
        rows.append(["all", *(number(column.mean, _digits(column, form)) for column, _ in columns)])
    notes = _notes(evaluations)
    if any(header.endswith("*") for header in headers):
        notes.append(_EXTENSION)
    return Table(headers, rows, notes=notes).render(form)


def _cell(column: Column, evaluation: Evaluation, form: str) -> str:
    return number(column.mean, _digits(column, form)) + _star(column, evaluation, form)


def _star(column: Column, evaluation: Evaluation, form: str) -> str:
    """Marks what is not a measure of the tool."""
    return "*" if column.measure.kind not in evaluation.tool.prints and form != "csv" else ""


def _digits(column: Column, form: str) -> int:
    """As many decimals as the tool prints, but no more than a reader wants; all of them in CSV."""
    if KINDS[column.measure.kind].aggregate == "sum":
        return 0
    return 17 if form == "csv" else min(column.convention.digits, 6)


def _notes(evaluations: Sequence[Evaluation]) -> list[str]:
    """Under which conventions, and what the data are under them: what several tools or files share is said once."""
    several = len({e.name for e in evaluations}) > 1
    few = len({e.tool.name for e in evaluations}) <= _TOLD
    tools: dict[tuple[str, str], list[str]] = {}
    for e in evaluations:
        tools.setdefault((_facts(e.counts), e.name), []).append(_under(e) if few else e.tool.name)
    names: dict[tuple[str, ...], list[str]] = {}
    for (facts, name), under in tools.items():
        names.setdefault((facts, *under), []).append(name)
    changes = {} if few else dict.fromkeys(changes_text(e.overrides) for e in evaluations if e.overrides)
    return [
        *(f"{', '.join(who) + ' under ' if several else ''}{', '.join(under)}: {facts}"
          for (facts, *under), who in names.items()),
        *(f"under all of them {changed}" for changed in changes),
    ]  # fmt: skip


def _under(evaluation: Evaluation) -> str:
    """The tool, what it is, and what was changed."""
    tool, changed = evaluation.tool, changes_text(evaluation.overrides)
    return f"{tool.name} ({tool.title} {tool.version}{'; ' + changed if changed else ''})"


def _facts(counts: Mapping[str, int]) -> str:
    facts = [f"{counts['queries']:,} {'query' if counts['queries'] == 1 else 'queries'}", f"{counts['empty']:,} empty"]
    if counts["cutoff"]:
        facts.append(f"{counts['short']:,} shorter than {counts['cutoff']}")
    return ", ".join([*facts, f"{counts['tied']:,} with ties"])


def as_record(evaluation: Evaluation, ranges: dict[str, tuple[float, float]] | None = None) -> dict[str, Any]:
    """The evaluation as JSON holds it: doubles in full, NaN as null."""
    tool, overrides = evaluation.tool, evaluation.overrides
    base = tool.convention.replace(**overrides)
    record: dict[str, Any] = {
        "tool": tool.name,
        "version": tool.version,
        "scored": evaluation.name,
        "overrides": {axis: list(v) if isinstance(v, tuple) else v for axis, v in overrides.items()},
        "convention": base.as_dict(),
        "departures": {
            c.asked: {axis: pair[1] for axis, pair in base.differences(c.convention).items()}
            for c in evaluation.columns
            if c.convention != base
        },
        "counts": evaluation.counts,
        "mean": {c.asked: _json(c.mean) for c in evaluation.columns},
        "per_query": {measure: _all_json(values) for measure, values in evaluation.per_query.items()},
    }
    if ranges is not None:
        record["ties_range"] = {measure: [_json(worst), _json(best)] for measure, (worst, best) in ranges.items()}
    return record


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def _all_json(values: Mapping[str, float]) -> Mapping[str, float | None]:
    """The values of all queries; they are looked at together, and only where one is NaN one by one."""
    return {q: _json(v) for q, v in values.items()} if any(map(math.isnan, values.values())) else values
