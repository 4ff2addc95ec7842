"""Tables and records of leaderboards: LETOR's tables, single boards, other tools, winning numbers, published values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from pippin.benchmarks.leaderboard import (
    MEASURE,
    NDCGS,
    PRECISIONS,
    Ceiling,
    Leaderboard,
    LeaderboardKey,
    WinCount,
    datasets_of,
    tool_means,
    winning_numbers,
)
from pippin.benchmarks.published import Leaderboards, PublishedComparison
from pippin.benchmarks.runner import BenchResult
from pippin.benchmarks.standings import MissingCell
from pippin.display.tables import BulletList, Heading, Paragraph, Renderable, Table, format_number
from pippin.evaluation.compare import Comparison
from pippin.reports.comparison import significance_marks

Boards = Mapping[LeaderboardKey, Leaderboard]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def summary_table(result: BenchResult) -> Table:
    """Return a row per data set, ranker and training convention of what a bench computed."""
    summary = result.to_dict()
    rows = [
        [*(str(row[key]) for key in ("data", "ranker", "convention", "cells")),
         *(format_number(mean, 4) for mean in row["means"].values())]
        for row in summary["rankers"]
    ]  # fmt: skip
    note = (f"{summary['done']} of {summary['cells']} cells are in {summary['results']} "
            f"({summary['computed']} computed now); means over folds under {summary['tool']}")  # fmt: skip
    ceilings = [f"{ceiling['note']}." for ceiling in summary["ceilings"] if ceiling["lost"]]
    headers = ["data", "ranker", "trained under", "cells", *summary["measures"]]
    first_rows = {row[0]: i for i, row in reversed(list(enumerate(rows)))}.values()
    best = {(i, len(headers) - 1) for i in first_rows}
    return Table(headers, rows, text_columns=3, notes=[note, *ceilings], repeated_columns=2, highlighted=best)


def letor_tables(boards: Boards, data: str, tool: str) -> list[Table]:
    """Return the two tables of LETOR for a data set: NDCG, and precision with MAP, as far as they were measured."""
    by_measure = {key.measure: board for key, board in boards.items() if (key.data, key.tool) == (data, tool)}
    groups = [[m for m in measures if m in by_measure] for measures in (NDCGS, PRECISIONS)]
    groups = [g for g in groups if g] or [list(by_measure)]
    order = _order(by_measure[groups[0][-1]])
    notes = _mark_notes(by_measure[groups[0][-1]])
    return [
        Table(["ranker", *measures], [[r, *(_cell(by_measure[m], r) for m in measures)] for r in order],
              notes=notes if measures is groups[-1] else (),
              highlighted={(order.index(best), i) for i, m in enumerate(measures, 1) if (best := by_measure[m].best)})
        for measures in groups
    ]  # fmt: skip


def _order(board: Leaderboard) -> list[str]:
    """Return the rankers, best first, then those without a mean."""
    return [*board.by_ranker, *dict.fromkeys(g.ranker for g in board.gaps if g.ranker not in board.by_ranker)]


def _cell(board: Leaderboard, ranker: str) -> str:
    standing = board.by_ranker.get(ranker)
    if standing is None:
        return "–"
    mark = "*" if ranker == board.best else "†" if board.is_worse_than_best(ranker) else ""
    return format_number(standing.mean, 4) + mark


def _mark_notes(board: Leaderboard) -> list[str]:
    if board.board is None:
        return ["* best of the column; a test needs two rankers and two queries"]
    tested = board.board.tests
    correction = "" if tested.correction in ("none", tested.test) else f", {tested.correction} over all pairs"
    return [
        f"* best of the column; † significantly below it ({tested.test}{correction}, alpha {tested.alpha:g}).",
        f"Means of {len(board.folds)} folds under {board.tool}; trained under {board.convention}.",
    ]


def board_table(board: Leaderboard, per_fold: bool = False) -> Table:
    """Return one leaderboard in full: mean, standard error, interval, significant differences, folds."""
    marks = {} if board.board is None else significance_marks(board.board)[0]
    several = any(s.seeds > 1 for s in board.standings)
    lettered = len(board.standings) <= len(_LETTERS)
    headers = ["", "ranker", board.measure, "±", _level(board), "better than" if lettered else "number worse"]
    headers += ["over seeds"] if several else []
    headers += board.folds if per_fold else []
    rows = []
    for rank, s in enumerate(board.standings, 1):
        name = f"{_LETTERS[rank - 1]} {s.ranker}" if lettered else s.ranker
        interval = f"[{format_number(s.low, 4)}, {format_number(s.high, 4)}]"
        row = [str(rank), name, format_number(s.mean, 4), format_number(s.error, 4), interval, marks.get(s.ranker, "")]
        row += [format_number(s.spread, 4)] if several else []
        row += [format_number(s.by_fold[f], 4) for f in board.folds] if per_fold else []
        rows.append(row)
    for ranker in _order(board)[len(rows) :]:
        rows.append(["", f"  {ranker}" if lettered else ranker, *["–"] * (len(headers) - 2)])
    notes = ["±: standard error over queries, averaged in quadrature over the folds."]
    if lettered and marks:
        notes.append("better than: letters of the rankers that are significantly worse.")
    if several:
        notes.append("over seeds: standard deviation of the mean over the seeds.")
    return Table(headers, rows, text_columns=2, notes=notes, repeated_columns=2, highlighted={(0, 2)})


def ceiling_parts(ceiling: Ceiling, board: Leaderboard | None) -> list[Renderable]:
    """Return what the sample lost, the upper bounds, and MAP over the sample and over all judged documents."""
    sentence = Paragraph(f"{ceiling.sentence()}.")
    if not ceiling.lost or board is None or not board.standings:
        return [sentence]
    over_judged = ceiling.map_over_judged(board)
    rows = [[s.ranker, format_number(s.mean, 4), format_number(over_judged[s.ranker], 4)] for s in board.standings]
    rows.append(
        ["upper bound", *(format_number(ceiling.best[over][board.measure], 4) for over in ("sample", "judged"))]
    )
    notes = [f"{board.measure} over the relevant documents of the sample, as above, and over all relevant documents."]
    return [sentence, Table(["ranker", f"{board.measure}, sample", f"{board.measure}, all judged"], rows, notes=notes)]


def _level(board: Leaderboard) -> str:
    alpha = 0.05 if board.board is None else board.board.tests.alpha
    return f"{100 * (1 - alpha):g}% interval"


def gap_notes(boards: Iterable[Leaderboard]) -> list[str]:
    """Return a line per data set, ranker and reason of missing cells."""
    gaps_by_reason: dict[tuple[str, str, str], dict[MissingCell, int]] = {}
    for board in boards:
        for gap in board.gaps:
            gaps_by_reason.setdefault((board.data, gap.ranker, gap.reason), {})[gap] = len(board.folds)
    return [f"{data}, {ranker}: no mean, because {_describe_cells(gaps)} failed ({reason})"
            for (data, ranker, reason), gaps in gaps_by_reason.items()]  # fmt: skip


def _describe_cells(gaps: Mapping[MissingCell, int]) -> str:
    if len({g.seed for g in gaps}) > 1:
        return ", ".join(f"{g.fold} seed {g.seed}" for g in gaps)
    folds = next(iter(gaps.values()))
    return "all folds" if len(gaps) == folds > 1 else ", ".join(g.fold for g in gaps)


def tools_table(comparison: Comparison) -> Table:
    """Per tool: the ranker it ranks first, its correlation with the first tool, and the pairs it reverses."""
    several = len(comparison.first.means) > 2
    rows = []
    for record in tools_record(comparison):
        row = [record["tool"], record["winner"], format_number(record["mean"], 4), str(record["reversed_pairs"])]
        rows.append([*row, format_number(record["tau_b"], 3), format_number(record["tau_ap_b"], 3)] if several else row)
    headers = ["tool", "ranks first", comparison.measure, "reversed pairs"]
    pairs = len(comparison.verdicts)
    notes = [f"against {comparison.first.name}; {pairs} pair{'s' * (pairs > 1)} of rankers"]
    return Table([*headers, "tau_b", "tau_ap_b"] if several else headers, rows, text_columns=2, notes=notes)


def tools_record(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a record per tool: its winner, and how it differs from the first tool."""
    first = comparison.first
    none = [None] * len(comparison.boards)
    tau, tau_ap = (comparison.agreement(c)[0] if len(first.means) > 2 else none for c in ("tau_b", "tau_ap_b"))
    results = []
    for i, board in enumerate(comparison.boards):
        winner = board.order()[0]
        flips = sum(first.winner(v.a, v.b) * board.winner(v.a, v.b) < 0 for v in comparison.verdicts)
        results.append({"tool": board.name, "winner": winner, "mean": board.means[winner], "reversed_pairs": flips,
                     "tau_b": tau[i], "tau_ap_b": tau_ap[i]})  # fmt: skip
    return results


def winning_table(winnings: Sequence[WinCount]) -> Table:
    """Return S_i(M), LETOR's winning number, per ranker and measure; the ranker with most wins first."""
    measures = list(dict.fromkeys(w.measure for w in winnings))
    by_ranker: dict[str, dict[str, WinCount]] = {}
    for winning in winnings:
        by_ranker.setdefault(winning.ranker, {})[winning.measure] = winning
    order = sorted(by_ranker, key=lambda r: (-sum(w.wins for w in by_ranker[r].values()), r))
    most = max((w.pairs for w in winnings), default=0)
    rows = [[r, *(_wins(by_ranker[r].get(m), most) for m in measures)] for r in order]
    notes = [f"comparisons that a ranker wins over all data sets, of {most} unless stated otherwise"]
    return Table(["winning number", *measures], rows, notes=notes)


def _wins(count: WinCount | None, most: int) -> str:
    if count is None or not count.pairs:
        return "–"
    return str(count.wins) if count.pairs == most else f"{count.wins} of {count.pairs}"


def published_tables(pairs: Sequence[PublishedComparison], tool: str) -> list[tuple[str, Table]]:
    """Return a table per data set: our value, the published value and the difference, a column per measure."""
    tables = []
    for data, of_data in groupby(sorted(pairs, key=lambda b: b.published.data), key=lambda b: b.published.data):
        rows, values = [], list(of_data)
        measures = list(dict.fromkeys(b.published.measure for b in values))
        listed = set()
        for algorithm in dict.fromkeys(b.published.algorithm for b in values):
            by_measure = {b.published.measure: b for b in values if b.published.algorithm == algorithm}
            cells = [by_measure.get(measure) for measure in measures]
            ranker = next(iter(by_measure.values())).published.ranker
            if ranker is not None and ranker not in listed:
                listed.add(ranker)
                rows.append([ranker, *("–" if c is None else format_number(c.ours, 4) for c in cells)])
            rows.append([f"  {algorithm}", *("–" if c is None else format_number(c.published.value, 4) for c in cells)])
            if ranker is not None:
                rows.append(["  difference", *("–" if c is None else _with_sign(c.difference) for c in cells)])
        notes = [f"ours under {tool}, the published value, and the difference"]
        tables.append((data, Table(["ranker", *measures], rows, notes=notes)))
    return tables


def _with_sign(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def published_csv(pairs: Sequence[PublishedComparison]) -> Table:
    """Return a long table: data, algorithm, ranker, measure, ours, published, difference."""
    rows = [
        [b.published.data, b.published.algorithm, b.published.ranker or "", b.published.measure,
         *("" if math.isnan(v) else repr(v) for v in (b.ours, b.published.value, b.difference))]
        for b in pairs
    ]  # fmt: skip
    return Table(["data", "algorithm", "ranker", "measure", "ours", "published", "difference"], rows, text_columns=4)


def csv_table(boards: Boards, per_fold: bool = False) -> Table:
    """Return a long table: every ranker on every leaderboard, with the reason of a missing mean."""
    headers = ["data", "tool", "convention", "measure", "ranker", "rank", "mean", "error", "low", "high", "seeds",
               "spread", "worse_than_best", "missing"]  # fmt: skip
    folds = sorted({f for b in boards.values() for f in b.folds}) if per_fold else []
    rows = []
    for board in boards.values():
        key = [board.data, board.tool, board.convention, board.measure]
        for rank, s in enumerate(board.standings, 1):
            rows.append([
                *key, s.ranker, str(rank), *map(_plain, (s.mean, s.error, s.low, s.high)), str(s.seeds),
                _plain(s.spread), str(int(board.is_worse_than_best(s.ranker))), "",
                *map(_plain, [s.by_fold.get(f, math.nan) for f in folds]),
            ])  # fmt: skip
        for ranker in _order(board)[len(board.standings) :]:
            gaps = [g for g in board.gaps if g.ranker == ranker]
            reasons = "; ".join(f"{g.fold} seed {g.seed}: {g.reason}" for g in gaps)
            rows.append([*key, ranker, *[""] * 8, reasons, *[""] * len(folds)])
    return Table([*headers, *folds], rows, text_columns=5)


def values_table(board: Leaderboard) -> Table:
    """Return the values behind a leaderboard: a row per query, a column per ranker, best first."""
    columns = {s.ranker: board.by_query(s.ranker) for s in board.standings}
    queries = dict.fromkeys(query for column in columns.values() for query in column)
    rows = [[q, *(format_number(column.get(q, math.nan), 4) for column in columns.values())] for q in queries]
    means = ["all", *(format_number(s.mean, 4) for s in board.standings)]
    notes = [
        f"{board.data}: {board.measure} under {board.tool}; trained under {board.convention}; the mean is over folds"
    ]
    return Table(["query", *columns], [*rows, means], notes=notes)


def values_csv(boards: Boards) -> Table:
    """Return the values behind leaderboards as a long table."""
    rows = [
        [b.data, b.tool, b.convention, b.measure, s.ranker, query, repr(value)]
        for b in boards.values() for s in b.standings for query, value in b.by_query(s.ranker).items()
    ]  # fmt: skip
    return Table(["data", "tool", "convention", "measure", "ranker", "query", "value"], rows, text_columns=6)


def _plain(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def record(board: Leaderboard, per_query: bool = False) -> dict[str, Any]:
    """Return a leaderboard as a JSON record, with the values of queries if `per_query`."""
    standings = [
        {"ranker": s.ranker, "mean": s.mean, "error": _json(s.error), "low": _json(s.low), "high": _json(s.high),
         "by_fold": dict(s.by_fold), "seeds": s.seeds, "spread": _json(s.spread),
         "worse_than_best": board.is_worse_than_best(s.ranker)}
        for s in board.standings
    ]  # fmt: skip
    gaps = [{"ranker": g.ranker, "fold": g.fold, "seed": g.seed, "reason": g.reason} for g in board.gaps]
    values = {"per_query": {s.ranker: board.by_query(s.ranker) for s in board.standings}} if per_query else {}
    return {"data": board.data, "tool": board.tool, "measure": board.measure, "convention": board.convention,
            "folds": list(board.folds), "standings": standings, "gaps": gaps,
            **values}  # fmt: skip


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def all_parts(boards: Leaderboards, per_fold: bool = False) -> list[Renderable]:
    """Return all leaderboards as tables and sentences, data set by data set."""
    parts: list[Renderable] = []
    for data in datasets_of(boards.boards):
        parts.append(Heading(data))
        for tool in boards.tools:
            parts += letor_tables(boards.boards, data, tool)
            in_full = (boards.boards.get(LeaderboardKey(data, tool, measure)) for measure in boards.measures)
            parts += [board_table(board, per_fold) for board in in_full if board is not None]
        if data in boards.ceilings:
            board = boards.boards.get(LeaderboardKey(data, boards.tools[0], MEASURE))
            parts += ceiling_parts(boards.ceilings[data], board)
        for comparison in boards.agreements(data):
            parts += [Paragraph(comparison.sentence()), tools_table(comparison)]
    if len({key.data for key in boards.boards}) > 1:
        parts.append(Heading("Over all data sets"))
        parts += [winning_table(winning_numbers(tool_means(boards.boards, tool))) for tool in boards.tools]
    for data, table in published_tables(boards.published, ", ".join(boards.tools)):
        parts += [Heading(f"{data}: published values"), table]
    missing = gap_notes([*boards.boards.values(), *boards.all_tools.values()])
    return [*parts, Heading("Missing"), BulletList(missing)] if missing else parts


def all_records(boards: Leaderboards) -> dict[str, Any]:
    """Return all leaderboards as JSON records."""
    names = list(datasets_of(boards.boards))
    return {
        "boards": [record(board) for board in boards.boards.values()],
        "tools": [
            {"data": name, "measure": comparison.measure, "against": comparison.first.name,
             "verdict": comparison.sentence(), "tools": tools_record(comparison)}
            for name in names for comparison in boards.agreements(name)
        ],
        "winning": [
            {"tool": tool, **asdict(count)}
            for tool in boards.tools for count in winning_numbers(tool_means(boards.boards, tool))
        ] if len(names) > 1 else [],
        "published": [
            {**asdict(pair.published), "ours": pair.ours, "difference": pair.difference} for pair in boards.published
        ],
        "ceilings": [
            ceiling.to_dict(boards.boards.get(LeaderboardKey(name, boards.tools[0], MEASURE)))
            for name, ceiling in boards.ceilings.items() if name in names
        ],
        "missing": gap_notes([*boards.boards.values(), *boards.all_tools.values()]),
    }  # fmt: skip
