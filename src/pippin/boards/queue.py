"""Accept submissions: check limits, store the file, add it to the queue.

An accepted submission is on disk and in the log before the sender gets a response. The file is moved into place first,
then one transaction records it; if the process is killed in between, `remove_leftovers` deletes the file.
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
from pippin.boards.database import BOARDS, SUBMISSIONS, Row, now
from pippin.boards.site import Site
from pippin.boards.submissions import KINDS, Card
from pippin.display.terminal import escape_control
from pippin.errors import DataError, PippinError
from pippin.system import format_bytes

MAX_QUEUED = 2000  # submissions


class ClosedBoard(PippinError):
    """The board is closed; it accepts no submissions."""


class TooMany(PippinError):
    """A limit of this account or of the board is reached."""


class TooLarge(PippinError):
    """The submission exceeds the size limit."""


class DiskFull(DataError):
    """The server's disk is full."""


def board_state(site: Site, board: str) -> Row:
    """Return a board's row of the database: state, baseline, notes, revealed."""
    site.board(board)
    with site.store.reading() as connection:
        return connection.execute(select(BOARDS).where(BOARDS.c.name == board)).mappings().one()


def check_open(site: Site, account: Account, board: str) -> None:
    """Raise an error if the account cannot submit to the board now; called before a file is copied."""
    with site.store.reading() as connection:
        _check_limits(connection, account, board, site.board(board).limits)


def _check_limits(connection: Connection, account: Account, board: str, limits: Limits) -> None:
    mine = SUBMISSIONS.c.board == board, SUBMISSIONS.c.account == account.id
    state = connection.execute(select(BOARDS.c.state).where(BOARDS.c.name == board)).scalar_one()
    total = connection.execute(select(func.count()).where(*mine)).scalar_one()
    today = connection.execute(select(func.count()).where(*mine, SUBMISSIONS.c.received > now() - DAY)).scalar_one()
    queued = connection.execute(select(func.count()).where(SUBMISSIONS.c.state == "queued")).scalar_one()
    if state != "open":
        raise ClosedBoard(f"board {board!r} is closed: submissions are no longer accepted")
    if total >= limits.per_account:
        raise TooMany(f"submission limit reached ({limits.per_account} per account)")
    if today >= limits.per_day:
        raise TooMany(f"submission limit reached ({limits.per_day} in 24 hours); try again later")
    if queued >= MAX_QUEUED:
        raise TooMany("the queue is full; try again in a few minutes")


def accept(site: Site, account: Account, board: str, received: Path, file: str, card: Card, kind: str = "auto") -> str:
    """Move a received file into the queue; return the submission's id. `file` is its name in error messages."""
    if kind not in (*KINDS, "auto"):
        raise DataError(f"unknown kind of submission {kind!r}: use {', '.join(KINDS)}")
    size, limit = received.stat().st_size, site.board(board).limits.bytes
    if size > limit:
        raise TooLarge(f"the submission is too large: this board accepts at most {format_bytes(limit)}")
    if not size:
        raise DataError("the file is empty", file)
    identity = secrets.token_hex(8)
    digest = hashlib.sha256(received.read_bytes()).hexdigest()
    row: dict[str, Any] = {
        "id": identity, "board": board, "account": account.id, "name": card.name, "card": json.dumps(card.record()),
        "kind": kind, "file": escape_control(Path(file).name)[:120] or "submission", "digest": digest, "bytes": size,
        "received": now(), "state": "queued", "is_on_leaderboard": False,
    }  # fmt: skip
    path = site.upload_path(identity)
    entry = {"submission": identity, "digest": digest, "bytes": size, "account": account.name, "name": card.name}
    try:
        _move_durably(received, path)
        with site.store.writing() as connection:
            site.store.lock(connection, f"account {account.id}")  # concurrent submissions count, too
            _check_limits(connection, account, board, site.board(board).limits)
            connection.execute(insert(SUBMISSIONS).values(row))
            site.store.append(connection, board, "accepted", entry, identity)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage_error(error) from None
        raise
    return identity


def _move_durably(source: Path, target: Path) -> None:
    with source.open("rb") as file:
        os.fsync(file.fileno())
    source.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def storage_error(error: OSError) -> DataError:
    """Return the error to report when a submission cannot be stored."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("the server's disk is full; the submission was not stored. Contact the organiser")
    return DataError(f"cannot store the submission: {(error.strerror or str(error)).lower()}")


def remove_leftovers(site: Site) -> None:
    """Delete what killed processes left behind: incomplete uploads, and files without a row in the database."""
    with site.store.reading() as connection:
        recorded = set(connection.execute(select(SUBMISSIONS.c.id)).scalars())
    hour_ago = now() - 3600
    for folder, keep in (("incoming", set()), ("uploads", recorded)):
        for file in (site.folder / folder).iterdir():
            if file.name not in keep and file.stat().st_mtime < hour_ago:
                file.unlink(missing_ok=True)
