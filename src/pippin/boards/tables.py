"""The tables of the database, and the steps by which an older database becomes a newer one.

Times are whole seconds since 1970 in UTC; records are JSON as text. Values are those that are shown: exact ones, and
those per query, are never in the database. A migration is a list of statements that both SQLite and PostgreSQL take.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
)

from pippin.errors import DataError

METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts upwards by itself only in an INTEGER

SETTINGS = Table("settings", METADATA, Column("name", String(40), primary_key=True), Column("value", Text))
ACCOUNTS = Table(
    "accounts", METADATA,
    Column("id", _NUMBER, primary_key=True), Column("name", String(60), unique=True, nullable=False),
    Column("role", String(20), nullable=False), Column("made", BigInteger, nullable=False),
)  # fmt: skip
TOKENS = Table(
    "tokens", METADATA,
    Column("id", String(16), primary_key=True), Column("account", _NUMBER, nullable=False, index=True),
    Column("hash", String(64), nullable=False), Column("made", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)  # fmt: skip
INVITATIONS = Table(
    "invitations", METADATA,
    Column("id", String(16), primary_key=True), Column("hash", String(64), nullable=False),
    Column("role", String(20), nullable=False), Column("left", Integer, nullable=False),
    Column("made", BigInteger, nullable=False), Column("expires", BigInteger, nullable=False),
)  # fmt: skip
SESSIONS = Table(
    "sessions", METADATA,
    Column("hash", String(64), primary_key=True), Column("account", _NUMBER, nullable=False),
    Column("expires", BigInteger, nullable=False),
)  # fmt: skip
BOARDS = Table(
    "boards", METADATA,
    Column("name", String(40), primary_key=True), Column("state", String(10), nullable=False),
    Column("made", BigInteger, nullable=False), Column("closed", BigInteger), Column("baseline", Float),
    Column("step", Float),
    Column("notes", Text), Column("revealed", Text), Column("asked", String(10)),
)  # fmt: skip
SUBMISSIONS = Table(
    "submissions", METADATA,
    Column("number", _NUMBER, primary_key=True), Column("id", String(24), unique=True, nullable=False),
    Column("board", String(40), nullable=False), Column("account", _NUMBER, nullable=False),
    Column("name", String(80), nullable=False), Column("card", Text, nullable=False),
    Column("kind", String(10), nullable=False), Column("file", String(120), nullable=False),
    Column("digest", String(64), nullable=False), Column("bytes", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False), Column("state", String(10), nullable=False),
    Column("fault", Text), Column("scored", BigInteger), Column("released", Boolean),
    Column("value", Float), Column("low", Float), Column("high", Float),
    Column("receipt", Text), Column("final", Float), Column("standing", Boolean, nullable=False, default=False),
    Index("submissions_queue", "state", "number"), Index("submissions_of", "board", "account", "number"),
    Index("submissions_standing", "board", "standing", "value"),
)  # fmt: skip
LOG = Table(
    "log", METADATA,
    Column("board", String(40), primary_key=True), Column("number", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False), Column("kind", String(20), nullable=False),
    Column("subject", String(24)), Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False), Column("hash", String(64), nullable=False),
    UniqueConstraint("board", "kind", "subject", name="log_once"),
)  # fmt: skip

# version → the statements that lead to it from the one before; version 1 is what `create_all` makes of nothing.
MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: ("CREATE INDEX IF NOT EXISTS submissions_received ON submissions (board, received)",),
}
VERSION = max(MIGRATIONS)


def migrate(connection: Connection) -> None:
    """Bring the database to this version, in the transaction of the connection."""
    if not inspect(connection).has_table(SETTINGS.name):
        METADATA.create_all(connection)
        connection.execute(SETTINGS.insert().values(name="version", value="1"))
    version = int(connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == "version")).scalar_one())
    if version > VERSION:
        raise DataError(f"this database is of version {version}, and this Pippin knows {VERSION}; use a newer one")
    for number in range(version + 1, VERSION + 1):
        for statement in MIGRATIONS[number]:
            connection.execute(text(statement))
        connection.execute(SETTINGS.update().where(SETTINGS.c.name == "version").values(value=str(number)))
