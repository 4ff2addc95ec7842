"""Evaluate submissions; runs in the scorer, the only process that opens the labels.

`score_submission` evaluates both splits of the test queries, also under other tools. `settle` applies the Ladder, signs
the receipt and publishes the result in one transaction, so that a submission is scored exactly once even if processes
are killed. Exact values are written to the hidden folder only; the database gets what is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import exists, func, insert, select, update

from pippin._version import __version__
from pippin.boards.audit_log import canonical, make_head, sha256, sign
from pippin.boards.board import SPLITS, Board, HiddenLabels, check_name, convention_text, make_board
from pippin.boards.database import ACCOUNTS, BOARDS, LOG, SUBMISSIONS, Row, now
from pippin.boards.ladder import MIN_STEP, Decision, board_step, decide, round_to_step
from pippin.boards.site import Site
from pippin.data.dataset import Dataset, rows_of_queries
from pippin.data.qrels import Run
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation.evaluation import RankingCache, evaluate_rankings
from pippin.evaluation.tools import resolve_tools
from pippin.storage.files import atomic_write

Scores = NDArray[np.float64] | Run
OTHER_TOOLS = "classic"  # group of tools that also evaluate each submission
BASELINE = "baseline"  # name of the scores of the random order
_LOGGED = ("title", "kind", "tool", "tool_version", "measure", "ladder", "share", "data", "commitment", "key", "pippin")


@dataclass(frozen=True, eq=False)
class SubmissionScores:
    """Exact values of a submission: split → mean, values per query, and means under other tools."""

    means: Mapping[str, float]
    values: Mapping[str, NDArray[np.float64]]
    tools: Mapping[str, Mapping[str, float]]

    def to_json(self) -> str:
        """Return the values as JSON."""
        return json.dumps({"means": dict(self.means), "values": {s: v.tolist() for s, v in self.values.items()},
                           "tools": {split: dict(tools) for split, tools in self.tools.items()}})  # fmt: skip

    @classmethod
    def from_json(cls, text: str | bytes) -> SubmissionScores:
        """Read what `to_json` wrote."""
        record = json.loads(text)
        values = {split: np.array(value, np.float64) for split, value in record["values"].items()}
        return cls(record["means"], values, record["tools"])


def score_submission(labels: HiddenLabels, scores: Scores) -> SubmissionScores:
    """Evaluate both splits under the board's tool and the other tools."""
    board = labels.board
    means: dict[str, float] = {}
    values: dict[str, NDArray[np.float64]] = {}
    tools: dict[str, dict[str, float]] = {}
    for split in SPLITS:
        rankings = RankingCache(labels.parts[split], _scores_of_split(labels, scores, split))
        column = evaluate_rankings(rankings, [board.measure], board.tool, {}, "submission").columns[0]
        by_query = dict(zip(column.query_ids, column.values.tolist(), strict=True))
        means[split] = column.mean
        values[split] = np.array([by_query.get(query, np.nan) for query in labels.parts[split].query_ids])
        tools[split] = {}
        for tool in resolve_tools(OTHER_TOOLS):
            with suppress(ConventionError, DataError, UnknownName):  # the tool does not have the measure
                evaluation = evaluate_rankings(rankings, [board.measure], tool, {}, "submission")
                tools[split][tool.name] = evaluation.mean[board.measure]
    return SubmissionScores(means, values, tools)


def _scores_of_split(labels: HiddenLabels, scores: Scores, split: str) -> Scores:
    if not isinstance(scores, Run):
        return scores[rows_of_queries(labels.data.offsets, labels.queries[split])]
    queries = set(labels.parts[split].query_ids)
    positions = np.array([n for n, query in enumerate(scores.query_ids) if query in queries], np.int64)
    rows = rows_of_queries(scores.offsets, positions)
    offsets = np.concatenate(([0], np.cumsum(np.diff(scores.offsets)[positions]))).astype(np.int64)
    ids = tuple(scores.query_ids[n] for n in positions.tolist())
    return Run(ids, offsets, scores.document_ids.take(rows), scores.scores[rows], scores.name, scores.tag)


def random_order(labels: HiddenLabels, number: int = 0) -> Scores:
    """Return random scores, with which every account starts."""
    data = labels.data
    scores = np.random.default_rng([labels.seed, 3, number]).random(len(data.labels))
    if isinstance(data, Dataset):
        return scores
    return Run(data.query_ids, data.offsets, data.document_ids, scores, "random order", "random")


def create_board(site: Site, name: str, data: Any, **options: Any) -> Board:
    """Create a board in a site, open it for submissions and start its audit log.

    `options` are those of `pippin.boards.board.make_board`. The row in the database is written last: if the process is
    killed before, there is no board, and the next call removes the files.
    """
    check_name(name)
    with site.lock("create", "pippin board new"):
        site.remove_incomplete()
        if name in site.names():
            raise DataError("a board with this name exists; choose another name", site.folder / "boards" / name)
        return _create_board(site, name, data, options)


def _create_board(site: Site, name: str, data: Any, options: Mapping[str, Any]) -> Board:
    if (site.folder / "boards" / name).exists() or site.hidden_folder(name).exists():
        raise DataError("a folder with this name exists, but the database has no such board; choose another name, or "
                        "check --store", site.folder / "boards" / name)  # fmt: skip
    marker = site.marker(name)
    marker.touch()
    try:
        board = make_board(site.folder, name, data, key=site.key, **options)
        baseline, step = _save_baseline(site, board)
        values = {"name": name, "state": "open", "created": now(), "baseline": baseline, "step": step}
        with site.store.writing() as connection:
            connection.execute(insert(BOARDS).values(values))
            body = {key: board.record[key] for key in _LOGGED}
            site.store.append(connection, name, "created", {**body, "baseline": baseline, "step": step})
    except BaseException:
        site.remove_incomplete()
        raise
    marker.unlink()
    return board


def _save_baseline(site: Site, board: Board) -> tuple[float, float]:
    """Evaluate two random orders and save the first; return its value as shown, and the board's step."""
    labels = HiddenLabels.open(board, site.hidden_folder(board.name))
    scores = score_submission(labels, random_order(labels))
    save_scores(site, board.name, BASELINE, scores)
    second = score_submission(labels, random_order(labels, 1))
    step = board_step(scores.values["public"], second.values["public"]) if board.record["ladder"] else MIN_STEP
    return round_to_step(scores.means["public"], step), step


def save_scores(site: Site, board: str, submission: str, scores: SubmissionScores) -> None:
    """Write the exact values of a submission to the hidden folder."""
    with atomic_write(_scores_path(site, board, submission), follow=False) as file:
        file.write(scores.to_json().encode())


def load_scores(site: Site, board: str, submission: str) -> SubmissionScores:
    """Read the exact values of a submission from the hidden folder."""
    return SubmissionScores.from_json(_scores_path(site, board, submission).read_bytes())


def _scores_path(site: Site, board: str, submission: str) -> Path:
    return site.hidden_folder(board) / "values" / f"{submission}.json"


def settle(site: Site, row: Row, kind: str, scores: SubmissionScores) -> Decision | None:
    """Publish the result of a submission in state `scoring`; return None if another process did so before."""
    board = site.board(row["board"])
    save_scores(site, board.name, row["id"], scores)
    with site.store.writing() as connection:
        site.store.lock(connection, f"account {row['account']}")
        state = connection.execute(select(SUBMISSIONS.c.state).where(SUBMISSIONS.c.id == row["id"])).scalar_one()
        if state != "scoring":
            return None
        mine = (SUBMISSIONS.c.board == board.name, SUBMISSIONS.c.account == row["account"])
        best_id = connection.execute(select(SUBMISSIONS.c.id).where(*mine, SUBMISSIONS.c.is_on_leaderboard)).scalar()
        count = connection.execute(select(func.count()).where(*mine, SUBMISSIONS.c.state == "scored")).scalar_one()
        account = connection.execute(select(ACCOUNTS.c.name).where(ACCOUNTS.c.id == row["account"])).scalar_one()
        step = float(connection.execute(select(BOARDS.c.step).where(BOARDS.c.name == board.name)).scalar_one())
        best = load_scores(site, board.name, best_id or BASELINE)
        decision = decide(scores.means["public"], scores.values["public"], best.means["public"], best.values["public"],
                          count + 1, step, bool(board.record["ladder"]))  # fmt: skip
        is_best = decision.is_shown and (best_id is None or scores.means["public"] > best.means["public"])
        if is_best and best_id:
            connection.execute(update(SUBMISSIONS).where(SUBMISSIONS.c.id == best_id).values(is_on_leaderboard=False))
        statement = _statement(board, row, account, kind, decision, step, is_best)
        key = site.private_key()
        entry = site.store.append(
            connection, board.name, "scored", {"submission": row["id"]}, row["id"],
            lambda previous: sign({**statement, "previous": previous}, key),
        )  # fmt: skip
        connection.execute(
            update(SUBMISSIONS).where(SUBMISSIONS.c.id == row["id"]).values(
                state="scored", kind=kind, scored=now(), is_shown=decision.is_shown, value=decision.value,
                low=decision.low, high=decision.high, is_on_leaderboard=is_best,
                receipt=json.dumps(entry["body"]["receipt"]),
            )
        )  # fmt: skip
    return decision


def _statement(
    board: Board, row: Row, account: str, kind: str, decision: Decision, step: float, is_best: bool
) -> dict[str, Any]:
    record = board.record
    return {
        "board": board.name, "submission": row["id"], "name": row["name"], "account": account, "digest": row["digest"],
        "received": row["received"], "data": record["data"], "labels": record["commitment"], "tool": record["tool"],
        "tool_version": record["tool_version"], "measure": record["measure"], "convention": convention_text(board),
        "pippin": __version__, "is_shown": decision.is_shown, "value": decision.value, "step": step,
        "low": decision.low, "high": decision.high, "kind": kind, "is_best": is_best,
        "card": sha256(canonical(json.loads(row["card"]))),
    }  # fmt: skip


def reject(site: Site, row: Row, error: str) -> None:
    """Mark a submission as rejected; only its account can see the reason."""
    with site.store.writing() as connection:
        result = connection.execute(
            update(SUBMISSIONS).where(SUBMISSIONS.c.id == row["id"], SUBMISSIONS.c.state == "scoring")
            .values(state="rejected", error=error, scored=now())
        )  # fmt: skip
        if result.rowcount:
            site.store.append(connection, row["board"], "rejected", {"submission": row["id"]}, row["id"])


def sign_heads(site: Site) -> None:
    """Sign the last log entry of each board whose log has grown; for the scorer."""
    has_grown = exists().where(LOG.c.board == BOARDS.c.name, LOG.c.number > BOARDS.c.head_number)
    with site.store.reading() as connection:
        boards = connection.execute(select(BOARDS.c.name).where(has_grown)).scalars().all()
    key = site.private_key() if boards else b""
    for board in boards:
        with site.store.writing() as connection:
            site.store.lock(connection, f"log {board}")
            query = select(LOG.c.number, LOG.c.hash, LOG.c.kind, LOG.c.subject).where(LOG.c.board == board)
            rows = [dict(row) for row in connection.execute(query.order_by(LOG.c.number)).mappings()]
            head = make_head(board, rows, now(), key)
            values = {"head": json.dumps(head), "head_number": rows[-1]["number"]}
            connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(values))
