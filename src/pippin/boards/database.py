"""Accounts, boards, submissions and the audit log in SQLite or PostgreSQL.

`reading` and `writing` open a transaction. A writing transaction locks SQLite from its beginning, so that the values it
has read still hold when it commits. Times are seconds since 1970 (UTC), records are JSON. The database holds only
published values: exact values and values per query stay in the hidden folder.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError

from pippin.boards.audit_log import FIRST_PREVIOUS, make_entry
from pippin.dependencies import require
from pippin.errors import DataError

METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts upwards by itself only in an INTEGER

SETTINGS = Table("settings", METADATA, Column("name", String(40), primary_key=True), Column("value", Text))
ACCOUNTS = Table(
    "accounts", METADATA,
    Column("id", _NUMBER, primary_key=True), Column("name", String(60), unique=True, nullable=False),
    Column("role", String(20), nullable=False), Column("created", BigInteger, nullable=False),
)  # fmt: skip
TOKENS = Table(
    "tokens", METADATA,
    Column("id", String(16), primary_key=True), Column("account", _NUMBER, nullable=False, index=True),
    Column("hash", String(64), nullable=False), Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)  # fmt: skip
INVITATIONS = Table(
    "invitations", METADATA,
    Column("id", String(16), primary_key=True), Column("hash", String(64), nullable=False),
    Column("role", String(20), nullable=False), Column("remaining", Integer, nullable=False),
    Column("created", BigInteger, nullable=False), Column("expires", BigInteger, nullable=False),
)  # fmt: skip
SESSIONS = Table(
    "sessions", METADATA,
    Column("hash", String(64), primary_key=True), Column("account", _NUMBER, nullable=False),
    Column("expires", BigInteger, nullable=False),
)  # fmt: skip
BOARDS = Table(
    "boards", METADATA,
    Column("name", String(40), primary_key=True), Column("state", String(10), nullable=False),
    Column("created", BigInteger, nullable=False), Column("closed", BigInteger), Column("baseline", Float),
    Column("step", Float),
    Column("notes", Text), Column("revealed", Text), Column("requested", String(10)),
    Column("head", Text), Column("head_number", Integer, nullable=False, default=0),
)  # fmt: skip
SUBMISSIONS = Table(
    "submissions", METADATA,
    Column("number", _NUMBER, primary_key=True), Column("id", String(24), unique=True, nullable=False),
    Column("board", String(40), nullable=False), Column("account", _NUMBER, nullable=False),
    Column("name", String(80), nullable=False), Column("card", Text, nullable=False),
    Column("kind", String(10), nullable=False), Column("file", String(120), nullable=False),
    Column("digest", String(64), nullable=False), Column("bytes", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False), Column("state", String(10), nullable=False),
    Column("error", Text), Column("scored", BigInteger), Column("is_shown", Boolean),
    Column("value", Float), Column("low", Float), Column("high", Float),
    Column("receipt", Text), Column("final", Float),
    Column("is_on_leaderboard", Boolean, nullable=False, default=False),
    Index("submissions_received", "board", "received"), Index("submissions_queue", "state", "number"),
    Index("submissions_of", "board", "account", "number"),
    Index("submissions_leaderboard", "board", "is_on_leaderboard", "value"),
)  # fmt: skip
LOG = Table(
    "log", METADATA,
    Column("board", String(40), primary_key=True), Column("number", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False), Column("kind", String(20), nullable=False),
    Column("subject", String(24)), Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False), Column("hash", String(64), nullable=False),
    UniqueConstraint("board", "kind", "subject", name="log_once"),
)  # fmt: skip

SCHEMA_VERSION = 4
WAIT = 30  # seconds to wait for a lock
Row: TypeAlias = RowMapping


def now() -> int:
    """Seconds since 1970, in UTC."""
    return int(time.time())


class DatabaseUnavailable(DataError):
    """The database cannot be reached, or its disk is full."""


def create_schema(connection: Connection) -> None:
    """Create the tables of a new database; reject a database with another schema."""
    if not inspect(connection).has_table(SETTINGS.name):
        METADATA.create_all(connection)
        connection.execute(SETTINGS.insert().values(name="version", value=str(SCHEMA_VERSION)))
    version = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == "version")).scalar_one()
    if version != str(SCHEMA_VERSION):
        raise DataError(
            f"the database has schema version {version}, but this Pippin uses version {SCHEMA_VERSION}; "
            "use the Pippin that created it, or create a new folder of boards"
        )


class Store:
    """A database with the tables of boards."""

    def __init__(self, address: str) -> None:
        try:
            url = make_url(address)
        except ArgumentError:
            raise DataError("invalid database address: expected postgresql://user@host/name") from None
        if url.get_backend_name() == "postgresql":
            require("a store in PostgreSQL", "psycopg")
            url = url.set(drivername="postgresql+psycopg")
        elif url.get_backend_name() != "sqlite":
            raise DataError(f"unsupported database {url.get_backend_name()}: use SQLite or PostgreSQL")
        self.kind = url.get_backend_name()
        self.name = url.render_as_string(hide_password=True)
        try:
            options = {"connect_args": {"timeout": WAIT}} if self.kind == "sqlite" else {"pool_pre_ping": True}
            self.engine = create_engine(url, **options)
        except (NoSuchModuleError, ImportError) as error:
            raise DataError(f"cannot open the database: {error}") from None
        weakref.finalize(self, self.engine.dispose).atexit = False  # close connections with their owner
        if self.kind == "sqlite":
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)
        with self.writing() as connection:
            self.lock(connection, "schema")
            create_schema(connection)

    @classmethod
    def at(cls, file: Path) -> Store:
        """Open or create a SQLite file."""
        return cls(f"sqlite:///{file}")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read transaction."""
        with _translate_errors(self.name), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a write transaction: everything is committed, or nothing."""
        with _translate_errors(self.name), self.engine.connect() as plain:
            connection = plain.execution_options(writes=True)
            with connection.begin():
                yield connection

    def lock(self, connection: Connection, name: str) -> None:
        """Lock `name` until the transaction ends; on SQLite a write transaction locks everything."""
        if self.kind == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": f"pippin {name}"})

    def append(self, connection: Connection, board: str, kind: str, body: Mapping[str, Any],
               subject: str | None = None, sign: Any = None) -> dict[str, Any]:  # fmt: skip
        """Append an entry to a board's log; `sign(previous)` returns the receipt for its body.

        There is at most one entry of a kind per subject.
        """
        self.lock(connection, f"log {board}")
        last = connection.execute(
            select(LOG.c.number, LOG.c.hash).where(LOG.c.board == board).order_by(LOG.c.number.desc()).limit(1)
        ).first()
        number, previous = (last.number + 1, last.hash) if last else (1, FIRST_PREVIOUS)
        full = dict(body) if sign is None else {**body, "receipt": sign(previous)}
        entry = make_entry(board, number, now(), kind, full, previous)
        connection.execute(insert(LOG).values({**entry, "body": json.dumps(full), "subject": subject}))
        return entry

    def log(self, board: str, first: int = 1, count: int | None = None) -> list[dict[str, Any]]:
        """Return entries of a board's log, starting at number `first`."""
        query = select(LOG).where(LOG.c.board == board, LOG.c.number >= first).order_by(LOG.c.number).limit(count)
        with self.reading() as connection:
            rows = connection.execute(query).mappings().all()
        names = ("board", "number", "at", "kind", "previous", "hash")
        return [{**{name: row[name] for name in names}, "body": json.loads(row["body"])} for row in rows]

    def log_length(self, board: str) -> int:
        """Return the number of entries in a board's log."""
        with self.reading() as connection:
            return int(connection.execute(select(func.count()).where(LOG.c.board == board)).scalar_one())

    def setting(self, name: str, default: str | None = None) -> str | None:
        """Return a setting of the site."""
        with self.reading() as connection:
            value = connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar()
        return default if value is None else str(value)

    def set(self, name: str, value: str) -> None:
        """Change a setting of the site."""
        with self.writing() as connection:
            self.lock(connection, "settings")
            connection.execute(SETTINGS.delete().where(SETTINGS.c.name == name))
            connection.execute(insert(SETTINGS).values(name=name, value=value))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _prepare(connection: Any, _: Any) -> None:
    """Configure a SQLite connection: explicit transactions, durable commits."""
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={WAIT * 1000}", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Raise database errors as one sentence."""
    try:
        yield
    except OperationalError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        if "disk is full" in reason or "No space" in reason:
            raise DatabaseUnavailable("the disk is full; free some space and try again", name) from None
        raise DatabaseUnavailable(f"cannot connect to the database: {reason}", name) from None
    except DBAPIError as error:
        if error.connection_invalidated:
            raise DatabaseUnavailable("lost the connection to the database", name) from None
        raise
