"""What is a submission worth? Computed by the scorer, the only process that opens the labels.

`evaluated` computes the value of both halves, and what other tools would say. `settle` applies the Ladder, signs the
receipt, and makes it known in one transaction: a submission is scored exactly once, whenever a process is killed. Exact
values and those per query go to the hidden part alone; the database gets what is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select, update

from pippin import __version__
from pippin.boards.board import HALVES, Board, Hidden, rules
from pippin.boards.ladder import PLAIN, Decision, board_step, decide, rounded
from pippin.boards.log import sign
from pippin.boards.site import Site
from pippin.boards.store import Row, now
from pippin.boards.tables import ACCOUNTS, BOARDS, SUBMISSIONS
from pippin.data.dataset import Dataset, rows_of
from pippin.data.trec import Run
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.evaluate import Rankings, evaluate_rankings
from pippin.evaluation.tools import chosen
from pippin.files import atomic_write

Scored = NDArray[np.float64] | Run
OTHERS = "classic"  # the tools that are asked what they would say
BASELINE = "baseline"


@dataclass(frozen=True, eq=False)
class Worth:
    """What a submission is worth: half → its mean, its values per query, and its mean under other tools."""

    means: Mapping[str, float]
    values: Mapping[str, NDArray[np.float64]]
    tools: Mapping[str, Mapping[str, float]]

    def to_json(self) -> str:
        """As one process tells another."""
        return json.dumps({"means": dict(self.means), "values": {h: v.tolist() for h, v in self.values.items()},
                           "tools": {half: dict(tools) for half, tools in self.tools.items()}})  # fmt: skip

    @classmethod
    def from_json(cls, text: str | bytes) -> Worth:
        """What another process told."""
        told = json.loads(text)
        return cls(told["means"], {h: np.array(v, np.float64) for h, v in told["values"].items()}, told["tools"])


def evaluated(hidden: Hidden, scored: Scored) -> Worth:
    """The values of both halves under the board's tool, and the means under others."""
    board = hidden.board
    means: dict[str, float] = {}
    values: dict[str, NDArray[np.float64]] = {}
    tools: dict[str, dict[str, float]] = {}
    for half in HALVES:
        rankings = Rankings(hidden.parts[half], _part(hidden, scored, half))
        column = evaluate_rankings(rankings, [board.measure], board.tool, {}, "submission").columns[0]
        by_query = dict(zip(column.query_ids, column.values.tolist(), strict=True))
        means[half] = column.mean
        values[half] = np.array([by_query.get(query, np.nan) for query in hidden.parts[half].query_ids])
        tools[half] = _others(rankings, board.measure)
    return Worth(means, values, tools)


def _others(rankings: Rankings, measure: str) -> dict[str, float]:
    """The mean under every tool that can say something here."""
    found: dict[str, float] = {}
    for tool in chosen(OTHERS):
        with suppress(ConventionError, DataError, UnknownName):
            found[tool.name] = evaluate_rankings(rankings, [measure], tool, {}, "submission").mean[measure]
    return found


def _part(hidden: Hidden, scored: Scored, half: str) -> Scored:
    """The scores of one half."""
    queries = hidden.halves[half]
    if isinstance(scored, Run):
        wanted = set(hidden.parts[half].query_ids)
        at = np.array([n for n, query in enumerate(scored.query_ids) if query in wanted], np.int64)
        rows = rows_of(scored.offsets, at)
        offsets = np.concatenate(([0], np.cumsum(np.diff(scored.offsets)[at]))).astype(np.int64)
        ids = tuple(scored.query_ids[n] for n in at.tolist())
        return Run(ids, offsets, scored.document_ids.take(rows), scored.scores[rows], scored.name, scored.tag)
    return scored[rows_of(hidden.judged.offsets, queries)]


def random_order(hidden: Hidden, number: int = 0) -> Scored:
    """The ranking that everybody begins with: documents by lot."""
    drawn = np.random.default_rng([hidden.seed, 3, number]).random(len(hidden.judged.labels))
    if isinstance(hidden.judged, Dataset):
        return drawn
    judged = hidden.judged
    return Run(judged.query_ids, judged.offsets, judged.document_ids, drawn, "random order", "random")


def baseline(site: Site, board: Board) -> tuple[float, float]:
    """Compute and keep the value of the random order; what is shown of it, and the board's step."""
    hidden = Hidden.open(board, site.hidden(board.name))
    worth = evaluated(hidden, random_order(hidden))
    keep(site, board.name, BASELINE, worth)
    other = evaluated(hidden, random_order(hidden, 1))
    step = board_step(worth.values["public"], other.values["public"]) if board.record["ladder"] else PLAIN
    return rounded(worth.means["public"], step), step


def keep(site: Site, board: str, submission: str, worth: Worth) -> None:
    """Write the exact values to the hidden part: the same bytes each time, so that twice is once."""
    content = BytesIO()
    arrays: dict[str, Any] = {"means": np.array([worth.means[half] for half in HALVES]), **worth.values}
    for half, tools in worth.tools.items():
        arrays[f"{half}_tools"] = np.array(list(tools), "U40")
        arrays[f"{half}_tool_means"] = np.array(list(tools.values()), np.float64)
    np.savez(content, **arrays)
    with atomic_write(_place(site, board, submission), follow=False) as file:
        file.write(content.getvalue())


def kept(site: Site, board: str, submission: str) -> Worth:
    """The exact values of a submission, from the hidden part."""
    with np.load(_place(site, board, submission), allow_pickle=False) as arrays:
        means = dict(zip(HALVES, arrays["means"].tolist(), strict=True))
        tools = {
            half: dict(zip(arrays[f"{half}_tools"].tolist(), arrays[f"{half}_tool_means"].tolist(), strict=True))
            for half in HALVES
        }
        return Worth(means, {half: arrays[half] for half in HALVES}, tools)


def _place(site: Site, board: str, submission: str) -> Path:
    return site.hidden(board) / "values" / f"{submission}.npz"


def settle(site: Site, row: Row, kind: str, worth: Worth) -> Decision | None:
    """Make known what a submission is worth; None where another process did before.

    row  of the table of submissions, in the state `scoring`
    """
    board = site.board(row["board"])
    keep(site, board.name, row["id"], worth)
    with site.store.writing() as connection:
        site.store.lock(connection, f"account {row['account']}")
        mine = (SUBMISSIONS.c.board == board.name, SUBMISSIONS.c.account == row["account"])
        state = connection.execute(select(SUBMISSIONS.c.state).where(SUBMISSIONS.c.id == row["id"])).scalar_one()
        if state != "scoring":
            return None
        before = connection.execute(
            select(SUBMISSIONS.c.id).where(*mine, SUBMISSIONS.c.standing)
        ).scalar()  # fmt: skip
        count = connection.execute(select(func.count()).where(*mine, SUBMISSIONS.c.state == "scored")).scalar_one()
        account = connection.execute(select(ACCOUNTS.c.name).where(ACCOUNTS.c.id == row["account"])).scalar_one()
        step = float(connection.execute(select(BOARDS.c.step).where(BOARDS.c.name == board.name)).scalar_one())
        best = kept(site, board.name, before or BASELINE)
        found = decide(worth.means["public"], worth.values["public"], best.means["public"], best.values["public"],
                       count + 1, step, bool(board.record["ladder"]))  # fmt: skip
        stands = found.released and (before is None or worth.means["public"] > best.means["public"])
        if stands and before:
            connection.execute(update(SUBMISSIONS).where(SUBMISSIONS.c.id == before).values(standing=False))
        statement = _statement(board, row, account, found, step)
        key = site.private_key()
        made = site.store.append(
            connection, board.name, "scored", {"submission": row["id"]}, row["id"],
            lambda previous: sign({**statement, "previous": previous}, key),
        )  # fmt: skip
        connection.execute(
            update(SUBMISSIONS).where(SUBMISSIONS.c.id == row["id"]).values(
                state="scored", kind=kind, scored=now(), released=found.released, value=found.value, low=found.low,
                high=found.high, standing=stands, receipt=json.dumps(made["body"]["receipt"]),
            )
        )  # fmt: skip
    return found


def _statement(board: Board, row: Row, account: str, found: Decision, step: float) -> dict[str, Any]:
    """What a receipt states."""
    record = board.record
    return {
        "board": board.name, "submission": row["id"], "name": row["name"], "account": account, "digest": row["digest"],
        "received": row["received"], "data": record["data"], "labels": record["commitment"], "tool": record["tool"],
        "tool_version": record["tool_version"], "measure": record["measure"], "convention": rules(board),
        "pippin": __version__, "released": found.released, "value": found.value, "step": step,
        "low": found.low, "high": found.high,
    }  # fmt: skip


def refuse(site: Site, row: Row, fault: str) -> None:
    """Make known that a submission cannot be scored; why, is told to its sender alone."""
    with site.store.writing() as connection:
        changed = connection.execute(
            update(SUBMISSIONS).where(SUBMISSIONS.c.id == row["id"], SUBMISSIONS.c.state == "scoring")
            .values(state="refused", fault=fault, scored=now())
        )  # fmt: skip
        if changed.rowcount:
            site.store.append(connection, row["board"], "refused", {"submission": row["id"]}, row["id"])
