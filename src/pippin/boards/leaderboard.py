"""Leaderboards, their JSON records, and closing and revealing boards.

Every account has one row: its best submission whose value was shown. Rows with equal shown values share a rank, the
earlier one first. `annotate` runs in the scorer, the only process that can test rows against the first and evaluate
them under other tools. It uses values rounded to the board's step, so that it reveals no order that is not shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import func, select, update

from pippin.boards.audit_log import sign
from pippin.boards.board import HiddenLabels
from pippin.boards.database import ACCOUNTS, BOARDS, SUBMISSIONS, Row, now
from pippin.boards.ladder import round_to_step
from pippin.boards.queue import board_state
from pippin.boards.scoring import SubmissionScores, load_scores
from pippin.boards.site import Site
from pippin.boards.submissions import Card, card_from_json, read_submission
from pippin.data.dataset import Dataset, rows_of_queries
from pippin.errors import ConventionError
from pippin.evaluation.compare import TestSettings, compare_table
from pippin.evaluation.value_table import ValueTable

if TYPE_CHECKING:
    from pippin.benchmarks.store import Results

MAX_TESTED = 100  # rows that are tested against the first and ranked under other tools


_WITH_ACCOUNT = select(SUBMISSIONS, ACCOUNTS.c.name.label("account_name")).join(
    ACCOUNTS, ACCOUNTS.c.id == SUBMISSIONS.c.account
)


@dataclass(frozen=True)
class LeaderboardRow:
    """One row of a leaderboard."""

    rank: int
    submission: str
    account: str
    name: str
    card: Card
    kind: str
    value: float
    low: float
    high: float
    received: int
    submissions: int  # number of submissions of the account
    is_worse: bool | None  # significantly worse than the first; None: not tested
    other_tool_ranks: Mapping[str, int]  # tool → rank under it
    final: float | None  # value on the final queries, once the board is revealed
    final_rank: int | None
    final_p: float | None  # corrected p-value of the test against the first on the final queries

    @property
    def other_ranks(self) -> str:
        """Ranks under other tools as text: `1`, or `1–3`."""
        if not self.other_tool_ranks:
            return ""
        low, high = min(self.other_tool_ranks.values()), max(self.other_tool_ranks.values())
        return f"{low}" if low == high else f"{low}–{high}"


def count_rows(site: Site, board: str) -> int:
    """Return the number of rows of a leaderboard."""
    with site.store.reading() as connection:
        query = select(func.count()).where(SUBMISSIONS.c.board == board, SUBMISSIONS.c.is_on_leaderboard)
        return int(connection.execute(query).scalar_one())


def leaderboard_rows(site: Site, board: str, first: int = 0, count: int | None = None) -> list[LeaderboardRow]:
    """Return rows of a leaderboard, best first; rows of a revealed board are ordered by the final queries."""
    state = board_state(site, board)
    notes, revealed = json.loads(state["notes"] or "{}"), json.loads(state["revealed"] or "{}")
    order = SUBMISSIONS.c["final" if revealed else "value"].desc(), SUBMISSIONS.c.received, SUBMISSIONS.c.number
    listed = (SUBMISSIONS.c.board == board, SUBMISSIONS.c.is_on_leaderboard)
    query = _WITH_ACCOUNT.where(*listed).order_by(*order).offset(first).limit(count)
    with site.store.reading() as connection:
        rows = connection.execute(query).mappings().all()
        accounts = {row["account"] for row in rows}
        count_by_account = (
            select(SUBMISSIONS.c.account, func.count())
            .where(SUBMISSIONS.c.board == board, SUBMISSIONS.c.account.in_(accounts)).group_by(SUBMISSIONS.c.account)
        )  # fmt: skip
        submissions = {int(account): int(number) for account, number in connection.execute(count_by_account)}
        ranks = {
            value: 1 + connection.execute(select(func.count()).where(*listed, SUBMISSIONS.c.value > value)).scalar_one()
            for value in {row["value"] for row in rows}
        }
    return [
        LeaderboardRow(
            ranks[row["value"]], row["id"], row["account_name"], row["name"], card_from_json(row["card"]), row["kind"],
            row["value"], row["low"], row["high"], row["received"], submissions[row["account"]],
            notes.get("behind", {}).get(row["id"]), notes.get("ranks", {}).get(row["id"], {}), row["final"],
            position if revealed else None, revealed.get("p", {}).get(row["id"]),
        )
        for position, row in enumerate(rows, first + 1)
    ]  # fmt: skip


def _scored_rows(site: Site, board: str, *, on_leaderboard: bool) -> Sequence[Row]:
    """Return scored submissions: all in their order, or those on the leaderboard, best first."""
    query = _WITH_ACCOUNT.where(SUBMISSIONS.c.board == board, SUBMISSIONS.c.state == "scored")
    if on_leaderboard:
        query = query.where(SUBMISSIONS.c.is_on_leaderboard).order_by(
            SUBMISSIONS.c.value.desc(), SUBMISSIONS.c.received
        )
    with site.store.reading() as connection:
        return connection.execute(query.order_by(SUBMISSIONS.c.number)).mappings().all()


def annotate(site: Site, board: str) -> None:
    """Test the rows of a leaderboard against the first and rank them under other tools; for the scorer."""
    rows = _scored_rows(site, board, on_leaderboard=True)[:MAX_TESTED]
    if not rows:
        return
    scores = {row["id"]: load_scores(site, board, row["id"]) for row in rows}
    step = board_state(site, board)["step"]
    ranks = _rank_by_tool({submission: {tool: round_to_step(mean, step) for tool, mean in row.tools["public"].items()}
                           for submission, row in scores.items()})  # fmt: skip
    p_values = _test_against_first(scores, rows[0]["id"], "public")
    notes = {
        "behind": {submission: p <= TestSettings().alpha for submission, p in p_values.items()}, "ranks": ranks,
        "sentence": _other_tools_sentence(ranks, {row["id"]: row["name"] for row in rows}, rows[0]["id"]),
    }  # fmt: skip
    _update_board(site, board, notes=json.dumps(notes))


def _update_board(site: Site, board: str, **values: Any) -> None:
    with site.store.writing() as connection:
        connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(values))


def _rank_by_tool(means: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, int]]:
    """Return submission → tool → rank; equal values share the best rank."""
    ranks: dict[str, dict[str, int]] = {submission: {} for submission in means}
    for tool in next(iter(means.values())):
        values = {submission: row[tool] for submission, row in means.items() if tool in row}
        descending = sorted(values.values(), reverse=True)
        for submission, value in values.items():
            ranks[submission][tool] = descending.index(value) + 1
    return ranks


def _test_against_first(scores: Mapping[str, SubmissionScores], first: str, split: str) -> dict[str, float]:
    """Return the corrected p-value of the t-test of each submission against the first; empty if there is only one."""
    queries = [str(n) for n in range(len(scores[first].values[split]))]
    by_query = {
        name: dict(zip(queries, row.values[split].tolist(), strict=True)) for name, row in scores.items()
    }  # fmt: skip
    if len(by_query) < 2:
        return {}
    try:
        values = ValueTable.from_systems(by_query, undefined="drop")
    except ConventionError:
        return {}
    tests = compare_table(values, "values", TestSettings(baseline=first, power=None, interval="t")).first.tests
    p_values = {name: float(tests.pair(first, name).p_adjusted) for name in by_query if name != first}
    return {name: p for name, p in p_values.items() if not np.isnan(p)}


def _other_tools_sentence(ranks: Mapping[str, Mapping[str, int]], names: Mapping[str, str], first: str) -> str:
    """Describe under how many tools the first submission also ranks first."""
    tools = list(ranks[first])
    disagreeing = [tool for tool in tools if ranks[first][tool] > 1]
    if not tools:
        return ""
    if not disagreeing:
        return f"{names[first]} ranks first, alone or tied, under all {len(tools)} tools."
    winners = sorted({names[row] for tool in disagreeing for row in ranks if ranks[row].get(tool) == 1})
    winner_text = winners[0] if len(winners) == 1 else f"{', '.join(winners[:-1])} or {winners[-1]}"
    return f"{len(disagreeing)} of {len(tools)} tools rank {winner_text} first: {', '.join(disagreeing)}."


def close(site: Site, board: str) -> None:
    """Close a board to submissions; queued submissions are still scored."""
    site.board(board)
    with site.store.writing() as connection:
        state = connection.execute(select(BOARDS.c.state).where(BOARDS.c.name == board)).scalar()
        if state != "open":
            raise ConventionError(f"board {board!r} is already closed")
        connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(state="closed", closed=now()))
        site.store.append(connection, board, "closed", {})


def request_reveal(site: Site, board: str) -> None:
    """Request that the scorer reveals a closed board."""
    _check_closed(board_state(site, board))
    _update_board(site, board, requested="reveal")


def reveal_requested(site: Site, board: str) -> None:
    """Reveal a board as requested by `request_reveal`; for the scorer."""
    _update_board(site, board, requested=None)
    if board_state(site, board)["state"] == "closed":
        reveal(site, board)


def _check_closed(state: Row) -> None:
    if state["state"] == "open":
        raise ConventionError(f"board {state['name']!r} is open; close it before you reveal it")
    if state["state"] == "revealed":
        raise ConventionError(f"board {state['name']!r} is already revealed")


def reveal(site: Site, board: str) -> None:
    """Publish the final queries of a closed board: values of all submissions, order, and tests against the first.

    The signed statement is in the log, with the salt that verifies the commitment to the labels.
    """
    _check_closed(board_state(site, board))
    is_waiting = SUBMISSIONS.c.state.in_(("queued", "scoring"))
    with site.store.reading() as connection:
        waiting = connection.execute(select(func.count()).where(SUBMISSIONS.c.board == board, is_waiting)).scalar_one()
    if waiting:
        raise ConventionError(f"{waiting} submissions to board {board!r} are not scored yet; try again when they are")
    rows = _scored_rows(site, board, on_leaderboard=True)
    finals = {
        row["id"]: load_scores(site, board, row["id"]).means["final"]
        for row in _scored_rows(site, board, on_leaderboard=False)
    }
    before = [row["id"] for row in rows]
    order = [row["id"] for row in sorted(rows, key=lambda row: (-finals[row["id"]], row["received"], row["number"]))]
    labels = HiddenLabels.open(site.board(board), site.hidden_folder(board))
    revealed: dict[str, Any] = {"order": order, "before": before, "salt": labels.salt, "at": now(), "p": {},
                                "sentence": ""}  # fmt: skip
    if order:
        scores = {submission: load_scores(site, board, submission) for submission in order[:MAX_TESTED]}
        ranks = _rank_by_tool({submission: row.tools["final"] for submission, row in scores.items()})
        revealed["p"] = _test_against_first(scores, order[0], "final")
        revealed["sentence"] = _other_tools_sentence(ranks, {row["id"]: row["name"] for row in rows}, order[0])
    record = labels.board.record
    statement = {"board": board, "finals": finals, "order": order, "salt": labels.salt, "labels": record["commitment"],
                 "data": record["data"]}  # fmt: skip
    key = site.private_key()
    with site.store.writing() as connection:
        for submission, value in finals.items():
            connection.execute(update(SUBMISSIONS).where(SUBMISSIONS.c.id == submission).values(final=value))
        values = {"state": "revealed", "revealed": json.dumps(revealed)}
        connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(values))
        site.store.append(
            connection,
            board,
            "revealed",
            {},
            board[:24],
            lambda previous: sign({**statement, "previous": previous}, key),
        )


def submissions_of(site: Site, board: str, account: int) -> Sequence[Row]:
    """Return the submissions of an account to a board, newest first."""
    query = select(SUBMISSIONS).where(SUBMISSIONS.c.board == board, SUBMISSIONS.c.account == account)
    with site.store.reading() as connection:
        return connection.execute(query.order_by(SUBMISSIONS.c.number.desc())).mappings().all()


def submission(site: Site, identity: str) -> Row | None:
    """Return a submission with the name of its account; None if the id is unknown."""
    with site.store.reading() as connection:
        return connection.execute(_WITH_ACCOUNT.where(SUBMISSIONS.c.id == identity)).mappings().first()


def is_public(site: Site, row: Row) -> bool:
    """Return whether a submission is visible to everyone: on the leaderboard, or on a revealed board."""
    if row["state"] != "scored":
        return False
    return bool(row["is_on_leaderboard"]) or board_state(site, row["board"])["state"] == "revealed"


PUBLIC_FIELDS = ("title", "about", "kind", "tool", "tool_version", "measure", "ladder", "share", "counts", "limits",
                 "data", "commitment", "key")  # fmt: skip


def board_record(site: Site, board: str, first: int = 0, count: int | None = None) -> dict[str, Any]:
    """Return the public record of a board with its leaderboard, for JSON."""
    record, state = site.board(board).record, board_state(site, board)
    notes, revealed = json.loads(state["notes"] or "{}"), json.loads(state["revealed"] or "{}")
    return {
        "name": board, "state": state["state"], "created": state["created"], "closed": state["closed"],
        **{name: record[name] for name in PUBLIC_FIELDS}, "baseline": state["baseline"], "step": state["step"],
        "tools": notes.get("sentence", ""), "head": json.loads(state["head"] or "null"),
        "final": {name: revealed[name] for name in ("order", "before", "salt", "sentence") if name in revealed} or None,
        "leaderboard": [asdict(row) for row in leaderboard_rows(site, board, first, count)],
    }  # fmt: skip


def export_json(site: Site, board: str) -> dict[str, Any]:
    """Return a board, its leaderboard and its audit log, for JSON; `pippin board verify` accepts it."""
    while True:  # until nothing is scored meanwhile
        log = site.store.log(board)
        record = {**board_record(site, board), "log": log}
        if site.store.log_length(board) == len(log):
            return record


def export_results(site: Site, board: str, folder: str | os.PathLike[str]) -> Results:
    """Write the final queries of a revealed board as a folder of results, one cell per row of its leaderboard.

    The folder contains labels and values per query.
    """
    from pippin.benchmarks.runner import results_from_scores

    public = site.board(board)
    if board_state(site, board)["state"] != "revealed":
        raise ConventionError(f"board {board!r} is not revealed; reveal it before you export results")
    labels = HiddenLabels.open(public, site.hidden_folder(board))
    test = labels.parts["final"]
    if not isinstance(test, Dataset):
        raise ConventionError("cannot export results of a board of qrels; export it as JSON")
    positions = rows_of_queries(labels.data.offsets, labels.queries["final"])
    systems = {}
    for row in leaderboard_rows(site, board):
        name = row.name if row.name not in systems else f"{row.name} ({row.account})"
        scores = read_submission(public, site.upload_path(row.submission), row.kind, row.name)
        systems[name] = np.asarray(scores)[positions]
    return results_from_scores(
        folder, board, "final", test, systems, [public.measure], command=f"pippin board export {board}"
    )


def board_summary(site: Site, name: str) -> dict[str, Any]:
    """Return the entry of a board in a list of boards."""
    board = site.board(name)
    return {
        "name": name, "title": board.record["title"], "state": board_state(site, name)["state"],
        "measure": board.measure, "tool": board.tool.name, "rows": count_rows(site, name),
    }  # fmt: skip


def submission_record(row: Row, *, is_owner: bool) -> dict[str, Any]:
    """Return a submission for JSON; only its owner sees the file's name and digest and the reason of a rejection."""
    names = ["id", "board", "name", "kind", "received", "state", "scored", "is_shown", "value", "low", "high", "final"]
    if is_owner:
        names += ["file", "bytes", "digest", "error"]
    record = {name: row[name] for name in names}
    if "account_name" in row:
        record["account"] = row["account_name"]
    return {**record, "card": json.loads(row["card"]), "is_on_leaderboard": bool(row["is_on_leaderboard"])}
