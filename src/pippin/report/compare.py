"""A comparison drawn: leaderboards, verdicts and agreement, for the terminal, papers, programs and a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pippin.evaluation.compare import Board, Comparison, Verdict
from pippin.evaluation.significance import TestedPairs
from pippin.tables import Heading, Part, Prose, Table, number, together

_FEW = 3  # pairs whose tests stand on the terminal; of more, the letters tell
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def leaderboard(comparison: Comparison) -> Table:
    """Systems, best first: mean, confidence interval, what each beats, and the range that ties alone allow."""
    board = comparison.first
    intervals = {i.system: i for i in comparison.intervals}
    marks = significance_marks(board)
    order = board.order()
    letters = len(order) <= len(_LETTERS) and board.tested.baseline is None
    tied = any(worst != best for worst, best in board.ties.values())
    rows = []
    for rank, system in enumerate(order, 1):
        interval, ties = intervals[system], board.ties.get(system) if tied else None
        rows.append([
            str(rank), f"{_LETTERS[rank - 1]} {system}" if letters else system,
            number(board.means[system], 4), marks[system], f"[{interval.low:.4f}, {interval.high:.4f}]",
            *([f"[{ties[0]:.4f}, {ties[1]:.4f}]"] if ties else []),
        ])  # fmt: skip
    headers = [
        "",
        "system",
        comparison.measure,
        *_mark_header(board, letters),
        "95% interval".replace("95", _level(board)),
    ]
    headers += ["ties alone"] if tied else []
    return Table(headers, rows, names=2, notes=_notes(board, letters), keys=2, best={(0, 2)})


def _level(board: Board) -> str:
    return f"{100 * (1 - board.tested.alpha):g}"


def _mark_header(board: Board, letters: bool) -> list[str]:
    if board.tested.baseline is not None:
        return [f"vs {board.tested.baseline}"]
    return ["beats" if letters else "beats (number)"]


def _notes(board: Board, letters: bool) -> list[str]:
    tested = board.tested
    correction = (
        ""
        if tested.correction in ("none", tested.test)
        else f", {tested.correction} over {len(tested.pairs)} pair{'s' * (len(tested.pairs) != 1)}"
    )
    notes = [f"{board.name}: {len(board.table.query_ids)} queries; {tested.test} ({tested.method}){correction}, "
             f"alpha {tested.alpha:g}."]  # fmt: skip
    if tested.baseline is not None:
        notes.append("† significantly better than the baseline, ‡ significantly worse")
    elif letters:
        notes.append("beats: letters of the systems it is significantly better than")
    return [*notes, *tested.notes]


def pairs_table(tested: TestedPairs, notes: Sequence[str] = ()) -> Table:
    """A row a pair: the difference, its interval, p and effect, and how many queries would settle it."""
    remarked = any(pair.reason for pair in tested.pairs)
    rows = [
        [p.a, p.b, f"{p.difference:+.4f}".replace("-", "−"),
         f"[{number(p.low, 4)}, {number(p.high, 4)}]".replace("-", "−"), number(p.p, 4), number(p.p_adjusted, 4),
         number(p.effect, 3),
         "–" if p.queries_needed is None else f"{p.queries_needed:,}", *([p.reason] if remarked else [])]
        for p in tested.pairs
    ]  # fmt: skip
    headers = ["a", "b", "a − b", f"{100 * (1 - tested.alpha):g}% interval", "p", "p, corrected", "effect",
               "queries needed", *(["remark"] if remarked else [])]  # fmt: skip
    return Table(headers, rows, names=2, remarks=int(remarked), notes=notes, keys=2)


def significance_marks(board: Board) -> dict[str, str]:
    """Per system: letters (or the number) of systems it beats significantly, or daggers against the baseline."""
    order, baseline = board.order(), board.tested.baseline
    marks = {}
    for system in order:
        if baseline is not None:
            proven = system != baseline and board.significant(system, baseline)
            marks[system] = ("†" if board.winner(system, baseline) > 0 else "‡") if proven else ""
            continue
        beaten = [
            i for i, other in enumerate(order) if board.winner(system, other) > 0 and board.significant(system, other)
        ]
        marks[system] = "".join(_LETTERS[i] for i in beaten) if len(order) <= len(_LETTERS) else str(len(beaten))
    return marks


def by_tool(comparison: Comparison) -> tuple[Table, list[tuple[int, int]]]:
    """Every tool's mean of every system and the place it gives, the longer side down; and the cells of the winners."""
    order, boards = comparison.first.order(), comparison.boards
    places = [{s: i for i, s in enumerate(board.order(), 1)} for board in boards]
    cells = [[f"{number(b.means[s], 4)} ({p[s]})" for s in order] for b, p in zip(boards, places, strict=True)]
    best = [(t, order.index(board.order()[0])) for t, board in enumerate(boards)]
    notes = ["in brackets: the place that the tool gives"]
    if len(boards) >= len(order):
        rows = [[board.name, *row] for board, row in zip(boards, cells, strict=True)]
        winners = [(t, s + 1) for t, s in best]
        return Table(["tool", *order], rows, notes=notes, best=winners), winners
    rows = [[system, *(row[i] for row in cells)] for i, system in enumerate(order)]
    winners = [(s, t + 1) for t, s in best]
    return Table(["system", *(b.name for b in boards)], rows, notes=notes, best=winners), winners


def verdict_table(comparison: Comparison, only_flips: bool = False) -> Table:
    """One row per pair: who is ahead under which tools, how often significantly, and what flips it."""
    total = len(comparison.boards)
    rows = []
    for v in comparison.verdicts:
        if only_flips and not v.flips:
            continue
        rows.append([v.a, v.b, _ahead(v, total), f"{len(v.significant)} of {total}", _cause(v)])
    return Table(["ahead", "behind", "tools that agree", "significant", "flipped by"], rows, names=5, keys=2)


def _ahead(verdict: Verdict, total: int) -> str:
    equal = f", {len(verdict.equal)} equal" if verdict.equal else ""
    return f"all {total}" if len(verdict.for_a) == total else f"{len(verdict.for_a)} of {total}{equal}"


def _cause(verdict: Verdict) -> str:
    grouped: dict[str, list[str]] = {}
    for tool, choice, _ in verdict.causes:
        grouped.setdefault(choice, []).append(tool)
    return "; ".join(f"{choice} ({', '.join(tools)})" for choice, tools in grouped.items())


def agreement_table(comparison: Comparison, coefficient: str) -> Table:
    """Rank correlation between the leaderboards of every two tools."""
    names = [b.name for b in comparison.boards]
    matrix = comparison.agreement(coefficient)
    rows = [[name, *(number(v, 3) for v in row)] for name, row in zip(names, matrix, strict=True)]
    return Table([coefficient, *names], rows, notes=["top: high scores"])


def parts(comparison: Comparison) -> list[Heading | Prose | Table]:
    """The measure, the verdict in words, and the tables."""
    blocks: list[Heading | Prose | Table] = [
        Heading(comparison.measure), Prose(comparison.sentence()), leaderboard(comparison)
    ]  # fmt: skip
    if len(comparison.first.tested.pairs) <= _FEW:
        blocks.append(pairs_table(comparison.first.tested))
    if len(comparison.boards) > 1:
        blocks.append(by_tool(comparison)[0])
        if comparison.flips:
            blocks += [Heading("Pairs that flip", ""), verdict_table(comparison, only_flips=True)]
        if len(comparison.first.means) > 2:
            blocks += [agreement_table(comparison, c) for c in ("tau_b", "tau_ap_b")]
    return blocks


def blocks(comparison: Comparison) -> list[str | Table]:
    """The same as paragraphs and tables."""
    return [part if isinstance(part, Table) else part.text for part in parts(comparison)]


def text(comparison: Comparison, form: str) -> str:
    """Everything, for the terminal, Markdown or LaTeX."""
    return together(parts(comparison), form)


def per_query_text(comparison: Comparison, form: str) -> str:
    """What was compared: a row per query, a column per system, under each tool."""
    parts: list[Part] = [Heading(comparison.measure)]
    for board in comparison.boards:
        values = zip(board.table.query_ids, board.table.values.tolist(), strict=True)
        rows = [[query, *(number(value, 4) for value in row)] for query, row in values]
        means = ["all", *(number(board.means[system], 4) for system in board.table.systems)]
        parts.append(Table(["query", *board.table.systems], [*rows, means], notes=[f"under {board.name}"]))
    return together(parts, form)


def per_query_csv(comparisons: Sequence[Comparison]) -> Table:
    """What was compared, as a long table: measure, tool, system, query, value."""
    rows = [
        [comparison.measure, board.name, system, query, repr(value)]
        for comparison in comparisons for board in comparison.boards
        for query, values in zip(board.table.query_ids, board.table.values.tolist(), strict=True)
        for system, value in zip(board.table.systems, values, strict=True)
    ]  # fmt: skip
    return Table(["measure", "tool", "system", "query", "value"], rows, names=4)


def csv_table(comparisons: Sequence[Comparison]) -> Table:
    """A long table: measure, tool, system, mean, place, with the interval where it is known."""
    rows = []
    for comparison in comparisons:
        intervals = {i.system: i for i in comparison.intervals}
        for board in comparison.boards:
            for place, system in enumerate(board.order(), 1):
                known = intervals[system] if board is comparison.first else None
                bounds = [repr(known.low), repr(known.high)] if known else ["", ""]
                rows.append([comparison.measure, board.name, system, str(place), repr(board.means[system]), *bounds])
    return Table(["measure", "tool", "system", "place", "mean", "low", "high"], rows, names=3)


def record(comparison: Comparison, per_query: bool = False) -> dict[str, Any]:
    """A comparison as JSON holds it; with the values that were compared where they are asked for."""
    several = len(comparison.boards) > 1 and len(comparison.first.means) > 1
    return {
        "measure": comparison.measure,
        "verdict": comparison.sentence(),
        "boards": [_board_record(b) | (_values_record(b) if per_query else {}) for b in comparison.boards],
        "intervals": {i.system: [i.low, i.high] for i in comparison.intervals},
        "pairs": [
            {"a": v.a, "b": v.b, "for_a": v.for_a, "for_b": v.for_b, "equal": v.equal, "significant": v.significant,
             "flips": v.flips, "causes": [{"tool": t, "choice": c, "moves": m} for t, c, m in v.causes]}
            for v in comparison.verdicts
        ],
        "agreement": {c: comparison.agreement(c) for c in ("tau_b", "tau_ap_b")} if several else {},
    }  # fmt: skip


def _board_record(board: Board) -> dict[str, Any]:
    tested = board.tested
    return {
        "tool": board.name, "queries": len(board.table.query_ids), "test": tested.test, "method": tested.method,
        "correction": tested.correction, "alpha": tested.alpha, "notes": tested.notes, "means": dict(board.means),
        "ties": {s: list(r) for s, r in board.ties.items()},
        "tests": [
            {"a": p.a, "b": p.b, "difference": p.difference, "statistic": _json(p.statistic), "p": _json(p.p),
             "p_error": p.p_error, "p_adjusted": _json(p.p_adjusted), "low": _json(p.low), "high": _json(p.high),
             "effect": _json(p.effect), "queries_needed": p.queries_needed, "reason": p.reason}
            for p in tested.pairs
        ],
    }  # fmt: skip


def _values_record(board: Board) -> dict[str, Any]:
    """System → query → value."""
    columns = zip(board.table.systems, board.table.values.T.tolist(), strict=True)
    return {"per_query": {s: dict(zip(board.table.query_ids, column, strict=True)) for s, column in columns}}


def _json(value: float) -> float | None:
    return value if math.isfinite(value) else None
