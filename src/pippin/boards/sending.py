"""How is a submission accepted: is the board open, is there room, is it within the limits; then it waits in the queue.

What was accepted is on the disk and in the log before the sender hears of it. The file is put in its place first, and
then one transaction makes it known: killed in between, it is a file that nobody knows, and `sweep` takes it away.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select

from pippin.boards.accounts import DAY, Account
from pippin.boards.board import Limits
from pippin.boards.site import Site
from pippin.boards.store import Row, now
from pippin.boards.submission import KINDS, Card
from pippin.boards.tables import BOARDS, SUBMISSIONS
from pippin.errors import DataError, PippinError
from pippin.limits import in_words
from pippin.terminal import visible

WAITING = 2000  # submissions in the queue at most


class BoardClosed(PippinError):
    """The board takes no submissions any more."""


class TooMany(PippinError):
    """A limit of this account or of the board is reached."""


class TooLarge(PippinError):
    """More bytes than the board takes."""


class DiskFull(DataError):
    """Nothing more can be stored."""


def state_of(site: Site, board: str) -> Row:
    """What the database says of a board: state, baseline, notes, revealed."""
    site.board(board)
    with site.store.reading() as connection:
        return connection.execute(select(BOARDS).where(BOARDS.c.name == board)).mappings().one()


def check_open(site: Site, account: Account, board: str) -> None:
    """Raise where this account may not send to this board now: asked before a file is received."""
    with site.store.reading() as connection:
        _check(connection, account, board, site.board(board).limits)


def _check(connection: Connection, account: Account, board: str, limits: Limits) -> None:
    """The same inside a transaction."""
    mine = SUBMISSIONS.c.board == board, SUBMISSIONS.c.account == account.id
    state = connection.execute(select(BOARDS.c.state).where(BOARDS.c.name == board)).scalar_one()
    total = connection.execute(select(func.count()).where(*mine)).scalar_one()
    today = connection.execute(select(func.count()).where(*mine, SUBMISSIONS.c.received > now() - DAY)).scalar_one()
    waiting = connection.execute(select(func.count()).where(SUBMISSIONS.c.state == "queued")).scalar_one()
    if state != "open":
        raise BoardClosed(f"the board {board} is closed and takes no submissions any more")
    if total >= limits.per_account:
        raise TooMany(f"an account may send {limits.per_account} submissions to this board, and you have")
    if today >= limits.per_day:
        raise TooMany(f"an account may send {limits.per_day} submissions to this board in 24 hours; come back later")
    if waiting >= WAITING:
        raise TooMany("too many submissions wait to be scored; try again in a few minutes")


def accept(site: Site, account: Account, board: str, received: Path, file: str, card: Card, kind: str = "auto") -> str:
    """Put a file that was received whole into the queue; the submission's id. The file is moved away.

    file  what the sender calls it, for sentences about it
    """
    if kind not in (*KINDS, "auto"):
        raise DataError(f"a submission is one of {', '.join(KINDS)}, not {kind!r}")
    size, limit = received.stat().st_size, site.board(board).limits.bytes
    if size > limit:
        raise TooLarge(f"a submission to this board has at most {in_words(limit)}")
    if not size:
        raise DataError("this file is empty", file)
    identity = secrets.token_hex(8)
    digest = hashlib.sha256(received.read_bytes()).hexdigest()
    row: dict[str, Any] = {
        "id": identity, "board": board, "account": account.id, "name": card.name, "card": json.dumps(card.record()),
        "kind": kind, "file": visible(Path(file).name)[:120] or "submission", "digest": digest, "bytes": size,
        "received": now(), "state": "queued", "standing": False,
    }  # fmt: skip
    place = site.upload(identity)
    try:
        _put(received, place)
        told = {"submission": identity, "digest": digest, "bytes": size, "account": account.name, "name": card.name}
        with site.store.writing() as connection:
            site.store.lock(connection, f"account {account.id}")  # many at once are counted, too
            _check(connection, account, board, site.board(board).limits)
            connection.execute(insert(SUBMISSIONS).values(row))
            site.store.append(connection, board, "accepted", told, identity)
    except BaseException as error:
        place.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise full_disk(error) from None
        raise
    return identity


def _put(received: Path, place: Path) -> None:
    """Move a file to its place, on the disk."""
    with received.open("rb") as file:
        os.fsync(file.fileno())
    received.replace(place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def full_disk(error: OSError) -> DataError:
    """What the system refused, as one sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("the disk of the server is full; nothing was stored; tell the organiser and try again")
    return DataError(f"the submission cannot be stored: {(error.strerror or str(error)).lower()}")


def sweep(site: Site) -> None:
    """Take away what processes that were killed left behind: files half received, and files that no row knows."""
    with site.store.reading() as connection:
        known = set(connection.execute(select(SUBMISSIONS.c.id)).scalars())
    hour_ago = now() - 3600
    for folder, keep in (("incoming", set()), ("uploads", known)):
        for file in (site.folder / folder).iterdir():
            if file.name not in keep and file.stat().st_mtime < hour_ago:
                file.unlink(missing_ok=True)
