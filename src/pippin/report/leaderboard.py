"""Leaderboards drawn: LETOR's tables, one board in full, what other tools say, winning numbers, published values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from pippin.bench.ceilings import Ceiling
from pippin.bench.leaderboard import NDCGS, PRECISIONS, BoardKey, Leaderboard
from pippin.bench.published import Beside
from pippin.bench.standings import Gap
from pippin.bench.winning_numbers import Winning
from pippin.evaluation.compare import Comparison
from pippin.report.compare import significance_marks
from pippin.tables import Part, Prose, Table, number

Boards = Mapping[BoardKey, Leaderboard]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def letor_tables(boards: Boards, data: str, tool: str) -> list[Table]:
    """The two tables that LETOR prints for a data set: NDCG, and precision with MAP; as far as they were measured."""
    here = {place.measure: board for place, board in boards.items() if (place.data, place.tool) == (data, tool)}
    groups = [[m for m in shelf if m in here] for shelf in (NDCGS, PRECISIONS)]
    groups = [g for g in groups if g] or [list(here)]
    order = _order(here[groups[0][-1]])
    notes = _mark_notes(here[groups[0][-1]])
    return [
        Table(["ranker", *measures], [[r, *(_cell(here[m], r) for m in measures)] for r in order],
              notes=notes if measures is groups[-1] else (),
              best={(order.index(best), i) for i, m in enumerate(measures, 1) if (best := here[m].best) is not None})
        for measures in groups
    ]  # fmt: skip


def _order(board: Leaderboard) -> list[str]:
    """Rankers, best first, then those without a mean."""
    return [*board.by_ranker, *dict.fromkeys(g.ranker for g in board.gaps if g.ranker not in board.by_ranker)]


def _cell(board: Leaderboard, ranker: str) -> str:
    standing = board.by_ranker.get(ranker)
    if standing is None:
        return "–"
    mark = "*" if ranker == board.best else "†" if board.worse_than_best(ranker) else ""
    return number(standing.mean, 4) + mark


def _mark_notes(board: Leaderboard) -> list[str]:
    if board.board is None:
        return ["* the best of the column; nothing was tested, as that takes two rankers and two queries"]
    tested = board.board.tested
    correction = "" if tested.correction in ("none", tested.test) else f", {tested.correction} over all pairs"
    return [
        f"* the best of the column; † significantly below it ({tested.test}{correction}, alpha {tested.alpha:g}).",
        f"Means of {len(board.folds)} folds under {board.tool}; trained under {board.convention}.",
    ]


def board_table(board: Leaderboard, per_fold: bool = False) -> Table:
    """One leaderboard in full: mean, standard error, interval, whom each beats, and the folds if asked for."""
    marks = {} if board.board is None else significance_marks(board.board)
    several = any(s.seeds > 1 for s in board.standings)
    lettered = len(board.standings) <= len(_LETTERS)
    headers = ["", "ranker", board.measure, "±", _level(board), "beats" if lettered else "beats (number)"]
    headers += ["over seeds"] if several else []
    headers += board.folds if per_fold else []
    rows = []
    for place, s in enumerate(board.standings, 1):
        name = f"{_LETTERS[place - 1]} {s.ranker}" if lettered else s.ranker
        interval = f"[{number(s.low, 4)}, {number(s.high, 4)}]"
        row = [str(place), name, number(s.mean, 4), number(s.error, 4), interval, marks.get(s.ranker, "")]
        row += [number(s.spread, 4)] if several else []
        row += [number(s.by_fold[f], 4) for f in board.folds] if per_fold else []
        rows.append(row)
    for ranker in _order(board)[len(rows) :]:
        rows.append(["", f"  {ranker}" if lettered else ranker, *["–"] * (len(headers) - 2)])
    notes = ["±: standard error over queries, averaged in quadrature over the folds."]
    if lettered and marks:
        notes.append("beats: letters of the rankers it is significantly better than.")
    if several:
        notes.append("over seeds: standard deviation of the mean over the seeds.")
    return Table(headers, rows, names=2, notes=notes, keys=2, best={(0, 2)})


def ceiling_parts(ceiling: Ceiling, board: Leaderboard | None) -> list[Part]:
    """What the sample lost and what can be reached; the rankers' MAP over the sample and over all judged."""
    told = Prose(f"{ceiling.sentence()}.")
    if not ceiling.lost or board is None or not board.standings:
        return [told]
    judged = ceiling.over_judged(board)
    rows = [[s.ranker, number(s.mean, 4), number(judged[s.ranker], 4)] for s in board.standings]
    rows.append(["any, at best", *(number(ceiling.best[over][board.measure], 4) for over in ("sample", "judged"))])
    notes = [f"{board.measure} over the sample's relevant documents, as above, and over all that were judged relevant."]
    return [told, Table(["ranker", f"{board.measure}, sample", f"{board.measure}, all judged"], rows, notes=notes)]


def _level(board: Leaderboard) -> str:
    alpha = 0.05 if board.board is None else board.board.tested.alpha
    return f"{100 * (1 - alpha):g}% interval"


def gap_notes(boards: Iterable[Leaderboard]) -> list[str]:
    """One line per ranker and reason for every cell without a value; data set by data set."""
    gaps_by_reason: dict[tuple[str, str, str], dict[Gap, int]] = {}
    for board in boards:
        for gap in board.gaps:
            gaps_by_reason.setdefault((board.data, gap.ranker, gap.reason), {})[gap] = len(board.folds)
    return [f"{data}, {ranker}: no mean, for it has no value in {_places(gaps)} ({reason})"
            for (data, ranker, reason), gaps in gaps_by_reason.items()]  # fmt: skip


def _places(gaps: Mapping[Gap, int]) -> str:
    if len({g.seed for g in gaps}) > 1:
        return ", ".join(f"{g.fold} seed {g.seed}" for g in gaps)
    folds = next(iter(gaps.values()))
    return "any fold" if len(gaps) == folds > 1 else ", ".join(g.fold for g in gaps)


def tools_table(comparison: Comparison) -> Table:
    """Per tool: whom it puts first, how its leaderboard agrees with the first's, and how many pairs it turns round."""
    several = len(comparison.first.means) > 2
    rows = []
    for told in tools_record(comparison):
        row = [told["tool"], told["crowns"], number(told["mean"], 4), str(told["turned_round"])]
        rows.append([*row, number(told["tau_b"], 3), number(told["tau_ap_b"], 3)] if several else row)
    headers = ["tool", "puts first", comparison.measure, "pairs turned round"]
    pairs = len(comparison.verdicts)
    notes = [f"against {comparison.first.name}; {pairs} pair{'s' * (pairs > 1)} of rankers"]
    return Table([*headers, "tau_b", "tau_ap_b"] if several else headers, rows, names=2, notes=notes)


def tools_record(comparison: Comparison) -> list[dict[str, Any]]:
    """What each tool says against the first one; correlations take three rankers."""
    first = comparison.first
    none = [None] * len(comparison.boards)
    tau, tau_ap = (comparison.agreement(c)[0] if len(first.means) > 2 else none for c in ("tau_b", "tau_ap_b"))
    told = []
    for i, board in enumerate(comparison.boards):
        winner = board.order()[0]
        flips = sum(first.winner(v.a, v.b) * board.winner(v.a, v.b) < 0 for v in comparison.verdicts)
        told.append({"tool": board.name, "crowns": winner, "mean": board.means[winner], "turned_round": flips,
                     "tau_b": tau[i], "tau_ap_b": tau_ap[i]})  # fmt: skip
    return told


def winning_table(winnings: Sequence[Winning]) -> Table:
    """S_i(M) per ranker and measure, the ranker with most wins first."""
    measures = list(dict.fromkeys(w.measure for w in winnings))
    by_ranker: dict[str, dict[str, Winning]] = {}
    for one in winnings:
        by_ranker.setdefault(one.ranker, {})[one.measure] = one
    order = sorted(by_ranker, key=lambda r: (-sum(w.wins for w in by_ranker[r].values()), r))
    most = max((w.pairs for w in winnings), default=0)
    rows = [[r, *(_wins(by_ranker[r].get(m), most) for m in measures)] for r in order]
    notes = [f"how often a ranker is ahead of another on a data set, of {most} times unless another number is given"]
    return Table(["winning number", *measures], rows, notes=notes)


def _wins(one: Winning | None, most: int) -> str:
    if one is None or not one.pairs:
        return "–"
    return str(one.wins) if one.pairs == most else f"{one.wins} of {one.pairs}"


def published_tables(pairs: Sequence[Beside], tool: str) -> list[tuple[str, Table]]:
    """Per data set ours, the published value and the difference, one above the other, a column per measure."""
    tables = []
    for data, of_data in groupby(sorted(pairs, key=lambda b: b.published.data), key=lambda b: b.published.data):
        rows, values = [], list(of_data)
        measures = list(dict.fromkeys(b.published.measure for b in values))
        shown = set()
        for algorithm in dict.fromkeys(b.published.algorithm for b in values):
            one = {b.published.measure: b for b in values if b.published.algorithm == algorithm}
            ranker = next(iter(one.values())).published.ranker
            if ranker is not None and ranker not in shown:
                shown.add(ranker)
                rows.append([ranker, *(number(one[m].ours, 4) if m in one else "–" for m in measures)])
            rows.append([f"  {algorithm}", *(number(one[m].published.value, 4) if m in one else "–" for m in measures)])
            if ranker is not None:
                rows.append(["  difference", *(_signed(one[m].difference) if m in one else "–" for m in measures)])
        notes = [f"ours under {tool}, the published value below it, and ours less the published one"]
        tables.append((data, Table(["ranker", *measures], rows, notes=notes)))
    return tables


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def published_csv(pairs: Sequence[Beside]) -> Table:
    """A long table: data, algorithm, ranker, measure, ours, published, difference."""
    rows = [
        [b.published.data, b.published.algorithm, b.published.ranker or "", b.published.measure,
         *("" if math.isnan(v) else repr(v) for v in (b.ours, b.published.value, b.difference))]
        for b in pairs
    ]  # fmt: skip
    return Table(["data", "algorithm", "ranker", "measure", "ours", "published", "difference"], rows, names=4)


def csv_table(boards: Boards, per_fold: bool = False) -> Table:
    """A long table: every ranker on every leaderboard; one without a mean has its reason instead."""
    headers = ["data", "tool", "convention", "measure", "ranker", "place", "mean", "error", "low", "high", "seeds",
               "spread", "worse_than_best", "missing"]  # fmt: skip
    folds = sorted({f for b in boards.values() for f in b.folds}) if per_fold else []
    rows = []
    for board in boards.values():
        known = [board.data, board.tool, board.convention, board.measure]
        for place, s in enumerate(board.standings, 1):
            rows.append([
                *known, s.ranker, str(place), *map(_plain, (s.mean, s.error, s.low, s.high)), str(s.seeds),
                _plain(s.spread), str(int(board.worse_than_best(s.ranker))), "",
                *map(_plain, [s.by_fold.get(f, math.nan) for f in folds]),
            ])  # fmt: skip
        for ranker in _order(board)[len(board.standings) :]:
            gaps = [g for g in board.gaps if g.ranker == ranker]
            reasons = "; ".join(f"{g.fold} seed {g.seed}: {g.reason}" for g in gaps)
            rows.append([*known, ranker, *[""] * 8, reasons, *[""] * len(folds)])
    return Table([*headers, *folds], rows, names=5)


def values_table(board: Leaderboard) -> Table:
    """The values behind a leaderboard: a row per query, a column per ranker, best first."""
    columns = {s.ranker: board.by_query(s.ranker) for s in board.standings}
    queries = dict.fromkeys(query for column in columns.values() for query in column)
    rows = [[q, *(number(column.get(q, math.nan), 4) for column in columns.values())] for q in queries]
    means = ["all", *(number(s.mean, 4) for s in board.standings)]
    notes = [
        f"{board.data}: {board.measure} under {board.tool}; trained under {board.convention}; the mean is over folds"
    ]
    return Table(["query", *columns], [*rows, means], notes=notes)


def values_csv(boards: Boards) -> Table:
    """The values behind leaderboards, as a long table."""
    rows = [
        [b.data, b.tool, b.convention, b.measure, s.ranker, query, repr(value)]
        for b in boards.values() for s in b.standings for query, value in b.by_query(s.ranker).items()
    ]  # fmt: skip
    return Table(["data", "tool", "convention", "measure", "ranker", "query", "value"], rows, names=6)


def _plain(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def record(board: Leaderboard, per_query: bool = False) -> dict[str, Any]:
    """A leaderboard as JSON holds it; with the values behind it where they are asked for."""
    standings = [
        {"ranker": s.ranker, "mean": s.mean, "error": _json(s.error), "low": _json(s.low), "high": _json(s.high),
         "by_fold": dict(s.by_fold), "seeds": s.seeds, "spread": _json(s.spread),
         "worse_than_best": board.worse_than_best(s.ranker)}
        for s in board.standings
    ]  # fmt: skip
    gaps = [{"ranker": g.ranker, "fold": g.fold, "seed": g.seed, "reason": g.reason} for g in board.gaps]
    values = {"per_query": {s.ranker: board.by_query(s.ranker) for s in board.standings}} if per_query else {}
    return {"data": board.data, "tool": board.tool, "measure": board.measure, "convention": board.convention,
            "folds": list(board.folds), "standings": standings, "gaps": gaps,
            **values}  # fmt: skip


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value
