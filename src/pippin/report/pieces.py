"""How a result looks in a notebook: the pieces of the page, a sentence, a figure and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pippin.evaluation.measures import KINDS
from pippin.report.page import Drawing
from pippin.report.sheets import stretches
from pippin.tables import Table, number

if TYPE_CHECKING:
    from pippin.bench.leaderboard import Leaderboard
    from pippin.evaluation.compare import Board, Comparison
    from pippin.evaluation.evaluate import Evaluation
    from pippin.evaluation.reconcile import Reconciliation

Piece = str | Table | Drawing
_QUERIES = 400  # bars that can still be told apart


def leaderboard(board: Leaderboard) -> list[Piece]:
    """Who leads, how surely; means with their intervals; the table."""
    from pippin.report.bench_words import finding
    from pippin.report.leaderboard import board_table, gap_notes

    rows = [_interval(s.ranker, s.mean, s.low, s.high, board.worse_than_best(s.ranker)) for s in board.standings]
    figure = Drawing("intervals", rows, f"{board.measure} with its intervals", {"xTitle": board.measure})
    tested = [] if board.board is None else [told_apart(list(board.by_ranker), board.board)]
    return [finding([board], board.tool), *tested, figure, board_table(board), *gap_notes([board])]


def comparison(compared: Comparison) -> list[Piece]:
    """The verdict; means with their intervals and what ties alone allow; the tables."""
    from pippin.report import compare as report

    board = compared.first
    intervals = {i.system: i for i in compared.intervals}
    rows = []
    best = board.order()[0]
    for system in board.order():
        bounds = intervals[system]
        behind = system != best and board.significant(best, system)
        rows.append(_interval(system, board.means[system], bounds.low, bounds.high, behind))
        if system in board.ties:
            rows[-1] |= {"worst": board.ties[system][0], "best": board.ties[system][1]}
    figure = Drawing("intervals", rows, f"{compared.measure} with its intervals", {"xTitle": compared.measure})
    tables = [report.leaderboard(compared)]
    if len(compared.boards) > 1:
        tables.append(report.by_tool(compared)[0])
    if compared.flips:
        tables.append(report.verdict_table(compared, only_flips=True))
    return [f"{compared.measure}: {compared.sentence()}", told_apart(board.order(), board), figure, *tables]


def told_apart(order: Sequence[str], board: Board) -> str:
    """Which places no test separates."""
    if board.tested.baseline is not None:
        return f"Every system was tested against {board.tested.baseline} alone."
    groups = stretches(order, lambda a, b: board.winner(a, b) > 0 and board.significant(a, b))
    joined = [f"{a}–{b}" for a, b in groups if b > a]
    if not joined:
        return "Every place is sure: each differs significantly from all others."
    return f"Places that cannot be told apart: {', '.join(joined)}."


def _interval(name: str, value: float, low: float, high: float, behind: bool) -> dict[str, Any]:
    bounds = {} if math.isnan(low) else {"low": low, "high": high}
    told = f"{name}: {number(value, 4)}" + (f" [{number(low, 4)}, {number(high, 4)}]" if bounds else "")
    return {"name": name, "value": value, **bounds, "tip": told, "kind": "behind" if behind else ""}


def waterfall(reconciliation: Reconciliation) -> Drawing:
    """From one tool's number to the other's."""
    from pippin.evaluation.reconcile import signed
    from pippin.report.reconcile import waterfall as steps

    facts = {share.words: share.fact for share in reconciliation.shares}
    rows = []
    for name, start, end, total in steps(reconciliation):
        words = number(end, 4) if total else signed(end - start, 4)
        fact = f"\n{facts[name]}" if facts.get(name) else ""
        rows.append({"name": name, "from": start, "to": end, "total": total, "words": words,
                     "tip": f"{name}: {words}{fact}"})  # fmt: skip
    label = f"From {reconciliation.source.name}'s {reconciliation.measure} to that of {reconciliation.target.name}"
    return Drawing("waterfall", rows, label, {"xTitle": reconciliation.measure})


def evaluation_words(evaluation: Evaluation) -> str:
    """The numbers in a sentence."""
    told = ", ".join(f"{c.asked} {number(c.mean, 4)}" for c in evaluation.columns[:4])
    return f"{evaluation.tool.name} says: {told}{', …' if len(evaluation.columns) > 4 else ''}."


def query_values(evaluation: Evaluation) -> list[Drawing]:
    """The value of every query under the first measure that is a mean, best first."""
    for column in evaluation.columns:
        values = [(q, v) for q, v in zip(column.query_ids, column.values.tolist(), strict=True) if not math.isnan(v)]
        if KINDS[column.measure.kind].aggregate == "sum" or not values or len(values) > _QUERIES:
            continue
        values.sort(key=lambda pair: -pair[1])
        rows = [{"query": q, "difference": v, "tip": f"query {q}: {v:.4f}"} for q, v in values]
        options = {"yTitle": column.asked, "xTitle": "queries, best first", "height": 180}
        return [Drawing("differences", rows, f"{column.asked} of every query, best first", options)]
    return []


def by_tool(evaluations: Mapping[str, Evaluation]) -> list[Piece]:
    """What every tool says of one ranking, under the first measure that is a mean."""
    first = next(iter(evaluations.values()))
    for at, column in enumerate(first.columns):
        if KINDS[column.measure.kind].aggregate == "sum":
            continue
        means = {tool: evaluation.columns[at].mean for tool, evaluation in evaluations.items()}
        rows = [{"name": tool, "value": mean, "words": number(mean, 4)} for tool, mean in means.items()
                if not math.isnan(mean)]  # fmt: skip
        figure = Drawing("bars", rows, f"{column.asked} under every tool", {"xTitle": column.asked})
        return [_range(column.asked, means), figure]
    return []


def _range(measure: str, means: Mapping[str, float]) -> str:
    """How far apart tools are, in a sentence."""
    known = {tool: mean for tool, mean in means.items() if not math.isnan(mean)}
    if not known:
        return f"No tool gives a {measure}."
    least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    told = f"from {number(known[least], 4)} ({least}) to {number(known[most], 4)} ({most})"
    same = f"the same: {number(known[most], 4)}"
    tools = f"{len(known)} tool{'s' * (len(known) != 1)}"
    return f"{measure} under {tools}: {same if known[least] == known[most] else told}."
