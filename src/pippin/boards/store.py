"""Where accounts, boards, submissions and the log are kept: SQLite in the site's folder, or PostgreSQL by its address.

`reading` and `writing` give a connection inside a transaction; a writing one is alone on SQLite from its beginning, so
that what it has read is still so when it commits. What is committed is on the disk.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import Connection, RowMapping, create_engine, event, func, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from pippin.boards.log import BEGINNING, entry
from pippin.boards.tables import LOG, SETTINGS, migrate
from pippin.errors import DataError
from pippin.extras import need

WAIT = 30  # seconds for a lock
Row: TypeAlias = RowMapping


def now() -> int:
    """Seconds since 1970, in UTC."""
    return int(time.time())


class StoreDown(DataError):
    """The database does not answer."""


class Store:
    """A database, opened and brought to this version."""

    def __init__(self, address: str) -> None:
        try:
            url = make_url(address)
        except ArgumentError:
            raise DataError("a store is an address such as postgresql://user@host/name") from None
        if url.get_backend_name() == "postgresql":
            need("a store in PostgreSQL", "psycopg")
            url = url.set(drivername="postgresql+psycopg")
        elif url.get_backend_name() != "sqlite":
            raise DataError(f"a store is SQLite or PostgreSQL, not {url.get_backend_name()}")
        self.kind = url.get_backend_name()
        self.name = url.render_as_string(hide_password=True)
        try:
            options = {"connect_args": {"timeout": WAIT}} if self.kind == "sqlite" else {"pool_pre_ping": True}
            self.engine = create_engine(url, **options)
        except (NoSuchModuleError, ImportError) as error:
            raise DataError(f"this store cannot be opened: {error}") from None
        weakref.finalize(self, self.engine.dispose).atexit = False  # connections end with whom they were opened for
        if self.kind == "sqlite":
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)
        with self.writing() as connection:
            self.lock(connection, "migration")
            migrate(connection)

    @classmethod
    def at(cls, file: Path) -> Store:
        """The SQLite database of a file."""
        return cls(f"sqlite:///{file}")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only looks."""
        with _explained(self.name), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: all of it or nothing."""
        with _explained(self.name), self.engine.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                yield connection

    def lock(self, connection: Connection, what: str) -> None:
        """Be alone with something until the transaction ends; on SQLite a writing one is alone with everything."""
        if self.kind == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:what))"), {"what": f"pippin {what}"})

    def append(self, connection: Connection, board: str, kind: str, body: Mapping[str, Any],
               subject: str | None = None, sign: Any = None) -> dict[str, Any]:  # fmt: skip
        """Put an entry at the end of a board's log; `sign(previous)` gives the receipt that belongs in its body.

        There is at most one entry of a kind about a subject.
        """
        self.lock(connection, f"log {board}")
        last = connection.execute(
            select(LOG.c.number, LOG.c.hash).where(LOG.c.board == board).order_by(LOG.c.number.desc()).limit(1)
        ).first()
        number, previous = (last.number + 1, last.hash) if last else (1, BEGINNING)
        full = dict(body) if sign is None else {**body, "receipt": sign(previous)}
        made = entry(board, number, now(), kind, full, previous)
        row = {**made, "body": json.dumps(full), "subject": subject}
        connection.execute(insert(LOG).values(row))
        return made

    def log(self, board: str, first: int = 1, count: int | None = None) -> list[dict[str, Any]]:
        """The entries of a board's log, from a number on."""
        asked = select(LOG).where(LOG.c.board == board, LOG.c.number >= first).order_by(LOG.c.number).limit(count)
        with self.reading() as connection:
            rows = connection.execute(asked).mappings().all()
        names = ("board", "number", "at", "kind", "previous", "hash")
        return [{**{name: row[name] for name in names}, "body": json.loads(row["body"])} for row in rows]

    def log_length(self, board: str) -> int:
        """How many entries a board's log has."""
        with self.reading() as connection:
            return int(connection.execute(select(func.count()).where(LOG.c.board == board)).scalar_one())

    def setting(self, name: str, default: str | None = None) -> str | None:
        """A setting of the site."""
        with self.reading() as connection:
            found = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar()
        return default if found is None else str(found)

    def set(self, name: str, value: str) -> None:
        """Change a setting of the site."""
        with self.writing() as connection:
            self.lock(connection, "settings")
            connection.execute(SETTINGS.delete().where(SETTINGS.c.name == name))
            connection.execute(insert(SETTINGS).values(name=name, value=value))

    def close(self) -> None:
        """Let all connections go."""
        self.engine.dispose()


def _prepare(connection: Any, _: Any) -> None:
    """A SQLite connection: transactions begin where we say so, and a commit is on the disk."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={WAIT * 1000}", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """What the database refuses, as one sentence."""
    try:
        yield
    except OperationalError as error:
        words = str(error.orig).strip().partition("\n")[0]
        if "disk is full" in words or "No space" in words:
            raise StoreDown("the disk is full; nothing was stored; make room and try again", name) from None
        raise StoreDown(f"the store does not answer: {words}", name) from None
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StoreDown("the store does not answer: the connection was lost", name) from None
        raise
