"""Results in a notebook: a sentence, a figure, and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.display.tables import Table, format_number
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.reports.html import Block, Chart
from pippin.reports.page_arrays import tied_groups

if TYPE_CHECKING:
    from pippin.benchmarks.leaderboard import Leaderboard
    from pippin.evaluation.compare import Comparison, ToolLeaderboard
    from pippin.evaluation.evaluation import Evaluation
    from pippin.evaluation.reconcile import Reconciliation

_MAX_BARS = 400  # more queries are not drawn


def leaderboard(board: Leaderboard) -> list[Block]:
    """Return the winner in a sentence, means with intervals, and the table."""
    from pippin.reports.benchmark_data import finding
    from pippin.reports.leaderboard import board_table, gap_notes

    rows = [_interval(s.ranker, s.mean, s.low, s.high, board.is_worse_than_best(s.ranker)) for s in board.standings]
    chart = Chart("intervals", rows, f"{board.measure} with confidence intervals", {"xTitle": board.measure})
    ranks = [] if board.board is None else [describe_tied_ranks(list(board.by_ranker), board.board)]
    return [finding([board], board.tool), *ranks, chart, board_table(board), *gap_notes([board])]


def comparison(result: Comparison) -> list[Block]:
    """Return the verdict, means with intervals and the range over orders of ties, and the tables."""
    from pippin.reports import comparison as report

    board = result.first
    intervals = {i.system: i for i in result.intervals}
    order = board.order()
    rows = []
    for system in order:
        interval = intervals[system]
        is_worse = system != order[0] and board.significant(order[0], system)
        rows.append(_interval(system, board.means[system], interval.low, interval.high, is_worse))
        if system in board.ties:
            rows[-1] |= {"worst": board.ties[system][0], "best": board.ties[system][1]}
    chart = Chart("intervals", rows, f"{result.measure} with confidence intervals", {"xTitle": result.measure})
    tables = [part for part in report.parts(result) if isinstance(part, Table)]
    return [f"{result.measure}: {result.sentence()}", describe_tied_ranks(order, board), chart, *tables]


def describe_tied_ranks(order: Sequence[str], board: ToolLeaderboard) -> str:
    """Return which ranks do not differ significantly."""
    if board.tests.baselines:
        return f"Every system was tested against {' and '.join(board.tests.baselines)} only."
    groups = tied_groups(order, lambda a, b: board.winner(a, b) > 0 and board.significant(a, b))
    ranges = [f"{a}–{b}" for a, b in groups if b > a]
    if not ranges:
        return "All ranks differ significantly from each other."
    return f"Ranks that do not differ significantly: {', '.join(ranges)}."


def _interval(name: str, value: float, low: float, high: float, is_worse: bool) -> dict[str, Any]:
    bounds = {} if math.isnan(low) else {"low": low, "high": high}
    interval = f" [{format_number(low, 4)}, {format_number(high, 4)}]" if bounds else ""
    tip = f"{name}: {format_number(value, 4)}{interval}"
    return {"name": name, "value": value, **bounds, "tip": tip, "kind": "behind" if is_worse else ""}


def waterfall(reconciliation: Reconciliation) -> Chart:
    """Return the chart from one tool's value to the other's."""
    from pippin.evaluation.reconcile import signed
    from pippin.reports.reconciliation import waterfall as steps

    evidence = {part.label: part.evidence for part in reconciliation.contributions}
    rows = []
    for name, start, end, is_total in steps(reconciliation):
        number = format_number(end, 4) if is_total else signed(end - start, 4)
        fact = f"\n{evidence[name]}" if evidence.get(name) else ""
        rows.append({"name": name, "from": start, "to": end, "total": is_total, "words": number,
                     "tip": f"{name}: {number}{fact}"})  # fmt: skip
    label = f"From {reconciliation.source.name}'s {reconciliation.measure} to {reconciliation.target.name}'s"
    return Chart("waterfall", rows, label, {"xTitle": reconciliation.measure})


def evaluation(result: Evaluation) -> list[Block]:
    """Return the means in a sentence, the table, and the values of all queries under the first averaged measure."""
    from pippin.reports.evaluation import table

    means = ", ".join(f"{c.requested_name} {format_number(c.mean, 4)}" for c in result.columns[:4])
    sentence = f"{result.tool.name}: {means}{', …' if len(result.columns) > 4 else ''}."
    charts = []
    for column in result.columns:
        values = [(q, v) for q, v in zip(column.query_ids, column.values.tolist(), strict=True) if not math.isnan(v)]
        if MEASURE_DEFINITIONS[column.measure.kind].aggregate == "sum" or not values or len(values) > _MAX_BARS:
            continue
        values.sort(key=lambda pair: -pair[1])
        rows = [{"query": q, "difference": v, "tip": f"query {q}: {v:.4f}"} for q, v in values]
        options = {"yTitle": column.requested_name, "xTitle": "queries, best first", "height": 180}
        charts.append(Chart("differences", rows, f"{column.requested_name} of every query, best first", options))
        break
    return [sentence, table([result]), *charts]


def by_tool(evaluations: Mapping[str, Evaluation]) -> list[Block]:
    """Return how far tools are apart under the first averaged measure: a sentence and a chart."""
    first = next(iter(evaluations.values()))
    for i, column in enumerate(first.columns):
        if MEASURE_DEFINITIONS[column.measure.kind].aggregate == "sum":
            continue
        name = column.requested_name
        means = {tool: e.columns[i].mean for tool, e in evaluations.items() if not math.isnan(e.columns[i].mean)}
        rows = [{"name": tool, "value": mean, "words": format_number(mean, 4)} for tool, mean in means.items()]
        return [_range(name, means), Chart("bars", rows, f"{name} under every tool", {"xTitle": name})]
    return []


def _range(measure: str, means: Mapping[str, float]) -> str:
    """Return the range of a measure over tools in a sentence."""
    if not means:
        return f"No tool defines {measure} on these data."
    lowest, highest = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    low, high = format_number(means[lowest], 4), format_number(means[highest], 4)
    tools = f"{len(means)} tool{'s' * (len(means) != 1)}"
    values = f"always {high}" if means[lowest] == means[highest] else f"from {low} ({lowest}) to {high} ({highest})"
    return f"{measure} under {tools}: {values}."
