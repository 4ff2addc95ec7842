"""The leaderboard: who stands where, by how much surely, what other tools would say; and the end of a board.

Every account has one row, its best submission that was shown. Rows whose shown values are equal share a rank, the
earlier first. `annotate` is for the scorer: it alone can test rows against the first, and ask other tools, and it does
so with values rounded to the board's step, so that an order that is not shown is not told by another way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import func, select, update

from pippin.boards.board import Hidden
from pippin.boards.ladder import rounded
from pippin.boards.log import sign
from pippin.boards.scoring import Worth, kept
from pippin.boards.sending import state_of
from pippin.boards.site import Site
from pippin.boards.store import Row, now
from pippin.boards.submission import Card, card_of
from pippin.boards.tables import ACCOUNTS, BOARDS, SUBMISSIONS
from pippin.errors import ConventionError
from pippin.evaluation.compare import TestPlan, compare_table
from pippin.evaluation.value_table import ValueTable

TESTED = 100  # rows that are tested against the first, and shown to other tools


@dataclass(frozen=True)
class Standing:
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
    sent: int  # how many submissions the account has sent
    behind: bool | None  # significantly behind the first; None where it was not tested
    places: Mapping[str, int]  # other tool → the rank it would give
    final: float | None  # the value of the final half, once the board is revealed
    final_rank: int | None
    final_p: float | None  # of the test against the first on the final half, corrected

    @property
    def places_words(self) -> str:
        """The ranks that other tools would give: `1`, or `1–3`."""
        if not self.places:
            return ""
        low, high = min(self.places.values()), max(self.places.values())
        return f"{low}" if low == high else f"{low}–{high}"


def size(site: Site, board: str) -> int:
    """How many rows a leaderboard has."""
    with site.store.reading() as connection:
        asked = select(func.count()).where(SUBMISSIONS.c.board == board, SUBMISSIONS.c.standing)
        return int(connection.execute(asked).scalar_one())


def leaderboard(site: Site, board: str, first: int = 0, count: int | None = None) -> list[Standing]:
    """The rows of a leaderboard, best first; of a revealed board in the order of the final half."""
    state = state_of(site, board)
    notes = json.loads(state["notes"] or "{}")
    ended = json.loads(state["revealed"] or "{}")
    better = SUBMISSIONS.alias()
    here = (SUBMISSIONS.c.board == board, SUBMISSIONS.c.standing)
    by = "final" if ended else "value"
    order = [SUBMISSIONS.c[by].desc(), SUBMISSIONS.c.received, SUBMISSIONS.c.number]
    asked = (
        select(SUBMISSIONS, ACCOUNTS.c.name.label("account_name"))
        .join(ACCOUNTS, ACCOUNTS.c.id == SUBMISSIONS.c.account).where(*here).order_by(*order).offset(first).limit(count)
    )  # fmt: skip
    with site.store.reading() as connection:
        rows = connection.execute(asked).mappings().all()
        theirs = (SUBMISSIONS.c.board == board, SUBMISSIONS.c.account.in_([row["account"] for row in rows]))
        counts = select(SUBMISSIONS.c.account, func.count()).where(*theirs).group_by(SUBMISSIONS.c.account)
        sent = {int(account): int(number) for account, number in connection.execute(counts)}
        ahead = {
            value: int(connection.execute(
                select(func.count()).where(better.c.board == board, better.c.standing, better.c.value > value)
            ).scalar_one())
            for value in {row["value"] for row in rows}
        }  # fmt: skip
    return [
        _standing(row, ahead[row["value"]] + 1, sent[row["account"]], notes, ended, first + n)
        for n, row in enumerate(rows, 1)
    ]


def _standing(row: Row, rank: int, sent: int, notes: Mapping[str, Any], ended: Mapping[str, Any], at: int) -> Standing:
    return Standing(
        rank, row["id"], row["account_name"], row["name"], card_of(row["card"]), row["kind"], row["value"], row["low"],
        row["high"], row["received"], sent, notes.get("behind", {}).get(row["id"]),
        notes.get("places", {}).get(row["id"], {}), row["final"], at if ended else None,
        ended.get("p", {}).get(row["id"]),
    )  # fmt: skip


def _rows(site: Site, board: str, *, standing: bool) -> Sequence[Row]:
    """Scored submissions, the highest shown value first, the earlier of equal ones first."""
    asked = select(SUBMISSIONS, ACCOUNTS.c.name.label("account_name")).join(
        ACCOUNTS, ACCOUNTS.c.id == SUBMISSIONS.c.account
    )
    asked = asked.where(SUBMISSIONS.c.board == board, SUBMISSIONS.c.state == "scored")
    if standing:
        asked = asked.where(SUBMISSIONS.c.standing).order_by(SUBMISSIONS.c.value.desc(), SUBMISSIONS.c.received)
    else:
        asked = asked.order_by(SUBMISSIONS.c.number)
    with site.store.reading() as connection:
        return connection.execute(asked.order_by(SUBMISSIONS.c.number)).mappings().all()


def annotate(site: Site, board: str) -> None:
    """Test the rows of a leaderboard against the first, and ask other tools; for the scorer."""
    rows = _rows(site, board, standing=True)[:TESTED]
    if not rows:
        return
    worths = {row["id"]: kept(site, board, row["id"]) for row in rows}
    step = state_of(site, board)["step"]
    places = _places({i: {t: rounded(m, step) for t, m in w.tools["public"].items()} for i, w in worths.items()})
    p = _tested(worths, rows[0]["id"], "public")
    notes = {
        "behind": {one: value <= TestPlan().alpha for one, value in p.items()}, "places": places,
        "sentence": _sentence(places, {row["id"]: row["name"] for row in rows}, rows[0]["id"]),
    }  # fmt: skip
    with site.store.writing() as connection:
        connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(notes=json.dumps(notes)))


def _places(means: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, int]]:
    """Submission → tool → the rank it would give; equal values share the best."""
    tools = list(next(iter(means.values())))
    found: dict[str, dict[str, int]] = {one: {} for one in means}
    for tool in tools:
        values = {one: own[tool] for one, own in means.items() if tool in own}
        ordered = sorted(values.values(), reverse=True)
        for one, value in values.items():
            found[one][tool] = ordered.index(value) + 1
    return found


def _tested(worths: Mapping[str, Worth], first: str, half: str) -> dict[str, float]:
    """The corrected p of the t-test of every other against the first; nothing where there is no other."""
    queries = [str(n) for n in range(len(worths[first].values[half]))]
    table = {one: dict(zip(queries, worth.values[half].tolist(), strict=True)) for one, worth in worths.items()}
    if len(table) < 2:
        return {}
    try:
        values = ValueTable.from_systems(table, undefined="drop")
    except ConventionError:
        return {}
    tested = compare_table(values, "values", TestPlan(baseline=first, power=None, interval="t")).first.tested
    found = {one: float(tested.pair(first, one).p_adjusted) for one in table if one != first}
    return {one: p for one, p in found.items() if not np.isnan(p)}


def _sentence(places: Mapping[str, Mapping[str, int]], names: Mapping[str, str], first: str) -> str:
    """What other tools would say of the winner."""
    tools = list(places[first])
    others = [tool for tool in tools if places[first][tool] > 1]
    if not tools:
        return ""
    if not others:
        return f"All {len(tools)} tools that were asked would put {names[first]} first, or beside the first."
    crowned = sorted({names[one] for tool in others for one in places if places[one].get(tool) == 1})
    named = crowned[0] if len(crowned) == 1 else f"{', '.join(crowned[:-1])} or {crowned[-1]}"
    return f"{len(others)} of {len(tools)} tools would put {named} first: {', '.join(others)}."


def close(site: Site, board: str) -> None:
    """Take no submissions any more; what waits is still scored."""
    with site.store.writing() as connection:
        state = connection.execute(select(BOARDS.c.state).where(BOARDS.c.name == board)).scalar()
        if state != "open":
            site.board(board)  # a name that nobody knows is told as such
            raise ConventionError(f"the board {board} is closed already")
        connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(state="closed", closed=now()))
        site.store.append(connection, board, "closed", {})


def ask_reveal(site: Site, board: str) -> None:
    """Ask the scorer to reveal a closed board."""
    _check_closed(state_of(site, board))
    with site.store.writing() as connection:
        connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(asked="reveal"))


def perform(site: Site, board: str) -> None:
    """Do what was asked for by the page; for the scorer."""
    with site.store.writing() as connection:
        connection.execute(update(BOARDS).where(BOARDS.c.name == board).values(asked=None))
    if state_of(site, board)["state"] == "closed":
        reveal(site, board)


def _check_closed(state: Row) -> None:
    if state["state"] == "open":
        raise ConventionError(f"the board {state['name']} is open; close it first, then its final half can be shown")
    if state["state"] == "revealed":
        raise ConventionError(f"the board {state['name']} is revealed already")


def reveal(site: Site, board: str) -> dict[str, Any]:
    """Show the final half of a closed board: every submission's value, the order, and the tests against the first.

    The statement is signed and in the log, with the salt by which the commitment to the labels can be checked.
    """
    _check_closed(state_of(site, board))
    waiting = SUBMISSIONS.c.state.in_(("queued", "scoring"))
    with site.store.reading() as connection:
        left = connection.execute(select(func.count()).where(SUBMISSIONS.c.board == board, waiting)).scalar_one()
    if left:
        raise ConventionError(f"{left} submissions to {board} wait to be scored; reveal it when they are done")
    finals = {row["id"]: kept(site, board, row["id"]).means["final"] for row in _rows(site, board, standing=False)}
    before = [row["id"] for row in _rows(site, board, standing=True)]
    order = sorted(before, key=lambda one: -finals[one])
    worths = {one: kept(site, board, one) for one in order[:TESTED]}
    hidden = Hidden.open(site.board(board), site.hidden(board))
    names = {row["id"]: row["name"] for row in _rows(site, board, standing=True)}
    found: dict[str, Any] = {
        "order": order, "before": before, "salt": hidden.salt, "at": now(), "p": {}, "sentence": "",
    }  # fmt: skip
    if order:
        places = _places({one: worth.tools["final"] for one, worth in worths.items()})
        found |= {"p": _tested(worths, order[0], "final"), "sentence": _sentence(places, names, order[0])}
    statement = {"board": board, "finals": finals, "order": order, "salt": hidden.salt,
                 "labels": hidden.board.record["commitment"], "data": hidden.board.record["data"]}  # fmt: skip
    key = site.private_key()

    def signed(previous: str) -> dict[str, Any]:
        return sign({**statement, "previous": previous}, key)

    with site.store.writing() as connection:
        for one, value in finals.items():
            connection.execute(update(SUBMISSIONS).where(SUBMISSIONS.c.id == one).values(final=value))
        connection.execute(
            update(BOARDS).where(BOARDS.c.name == board).values(state="revealed", revealed=json.dumps(found))
        )
        site.store.append(
            connection,
            board,
            "revealed",
            {},
            board[:24],
            lambda previous: sign({**statement, "previous": previous}, key),
        )
    return found


def submissions_of(site: Site, board: str, account: int) -> Sequence[Row]:
    """All that an account has sent to a board, the newest first; for itself."""
    asked = select(SUBMISSIONS).where(SUBMISSIONS.c.board == board, SUBMISSIONS.c.account == account)
    with site.store.reading() as connection:
        return connection.execute(asked.order_by(SUBMISSIONS.c.number.desc())).mappings().all()


def submission(site: Site, identity: str) -> Row | None:
    """A submission by its id, with the name of its account; None where there is none."""
    asked = select(SUBMISSIONS, ACCOUNTS.c.name.label("account_name")).join(
        ACCOUNTS, ACCOUNTS.c.id == SUBMISSIONS.c.account
    )
    with site.store.reading() as connection:
        return connection.execute(asked.where(SUBMISSIONS.c.id == identity)).mappings().first()


def is_public(site: Site, row: Row) -> bool:
    """Whether anybody may look at a submission: it is on the leaderboard, or its board is revealed."""
    if row["state"] != "scored":
        return False
    return bool(row["standing"]) or state_of(site, row["board"])["state"] == "revealed"
