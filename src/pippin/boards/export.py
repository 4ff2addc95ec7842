"""A board for others to keep: as one JSON file, and as a folder of results that `pippin report` draws."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.boards.board import Hidden
from pippin.boards.sending import state_of
from pippin.boards.site import Site
from pippin.boards.standing import Standing, leaderboard
from pippin.boards.store import Row
from pippin.boards.submission import read_submission
from pippin.data.dataset import Dataset, rows_of
from pippin.errors import ConventionError

if TYPE_CHECKING:
    from pippin.bench.store import Results

TOLD = ("title", "about", "kind", "tool", "tool_version", "measure", "ladder", "share", "counts", "limits", "data",
        "commitment", "key")  # fmt: skip


def row_record(row: Standing) -> dict[str, Any]:
    """A row of a leaderboard as JSON holds it."""
    return {
        "rank": row.rank, "submission": row.submission, "account": row.account, "name": row.name,
        "card": row.card.record(), "kind": row.kind, "value": row.value, "low": row.low, "high": row.high,
        "received": row.received, "sent": row.sent, "behind_the_first": row.behind, "places": dict(row.places),
        "final": row.final, "final_rank": row.final_rank, "final_p": row.final_p,
    }  # fmt: skip


def board_record(site: Site, board: str, first: int = 0, count: int | None = None) -> dict[str, Any]:
    """A board with its leaderboard, as JSON holds it: what anybody may know."""
    opened, state = site.board(board), state_of(site, board)
    notes, ended = json.loads(state["notes"] or "{}"), json.loads(state["revealed"] or "{}")
    return {
        "name": board, "state": state["state"], "made": state["made"], "closed": state["closed"],
        **{name: opened.record[name] for name in TOLD}, "baseline": state["baseline"], "step": state["step"],
        "tools": notes.get("sentence", ""), "final": {name: ended[name] for name in ("order", "before", "salt",
                                                                                  "sentence") if name in ended} or None,
        "leaderboard": [row_record(row) for row in leaderboard(site, board, first, count)],
    }  # fmt: skip


def export_json(site: Site, board: str) -> dict[str, Any]:
    """A board, its leaderboard and its whole log: `pippin board verify` takes it as it is."""
    return {**board_record(site, board), "log": site.store.log(board)}


def export_results(site: Site, board: str, folder: str | os.PathLike[str]) -> Results:
    """The final half of a revealed board as a folder of results: a cell for each row of its leaderboard.

    It holds labels and values per query, so it is for organisers, when all is over.
    """
    from pippin.bench.outside import write_outside

    opened = site.board(board)
    if state_of(site, board)["state"] != "revealed":
        raise ConventionError(f"the board {board} is not revealed; results hold values per query, which stay hidden")
    hidden = Hidden.open(opened, site.hidden(board))
    test = hidden.parts["final"]
    if not isinstance(test, Dataset):
        raise ConventionError("a board of judgements can be exported as JSON only: results have a score per document")
    rows = rows_of(hidden.judged.offsets, hidden.halves["final"])
    systems = {}
    for standing in leaderboard(site, board):
        name = standing.name if standing.name not in systems else f"{standing.name} ({standing.account})"
        scores = read_submission(opened, site.upload(standing.submission), standing.kind, standing.name)
        systems[name] = np.asarray(scores)[rows]
    return write_outside(
        folder, board, "final", test, systems, [opened.measure], command=f"pippin board export {board}"
    )


def submission_record(row: Row, *, mine: bool) -> dict[str, Any]:
    """A submission as JSON holds it; why it was refused, its file's name and its digest are for its own account."""
    names = ("id", "board", "name", "kind", "received", "state", "scored", "released", "value", "low", "high", "final")
    told = {**{name: row[name] for name in names}, "card": json.loads(row["card"]), "standing": bool(row["standing"])}
    if "account_name" in row:
        told["account"] = row["account_name"]
    return (
        {**told, "file": row["file"], "bytes": row["bytes"], "digest": row["digest"], "fault": row["fault"]}
        if mine
        else told
    )
