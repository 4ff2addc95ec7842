"""A folder of boards: public files, submissions, database, hidden labels.

site.json            format, public key, and kind of database (SQLite or PostgreSQL)
boards/NAME/         public part of each board
uploads/             submissions, one file each; incoming/ while they arrive
database/            boards.sqlite, unless the database is PostgreSQL
hidden/              mode 700: labels, splits, exact values, the key that signs receipts
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pippin.boards.audit_log import new_key, public_key
from pippin.boards.board import Board
from pippin.dependencies import require
from pippin.errors import DataError, UnknownName
from pippin.storage.files import open_lock, remove_path, write_new
from pippin.storage.manifest import FolderFormat, dump_with_checksum
from pippin.system import try_lock

if TYPE_CHECKING:
    from pippin.boards.database import Store

FORMAT = FolderFormat("pippin boards", 1, "folder of boards", "create new boards with `pippin board new`", "site.json")
KEY = "key.bin"
ADDRESS = "PIPPIN_STORE"  # environment variable: address of the database


class Site:
    """A folder of boards; its database and boards are opened when they are first used."""

    def __init__(self, folder: str | os.PathLike[str], address: str | None = None) -> None:
        self.folder = Path(folder)
        self.kind = str(FORMAT.read_record(self.folder)["store"])
        self._address = address or os.environ.get(ADDRESS)
        self._boards: dict[str, Board] = {}

    @classmethod
    def create(cls, folder: str | os.PathLike[str], address: str | None = None) -> Site:
        """Open a folder of boards, or create it; raise an error if the folder has other content."""
        require("boards", "sqlalchemy", "cryptography")
        target = Path(folder)
        address = address or os.environ.get(ADDRESS)
        if FORMAT.is_at(target):
            return cls(target, address)
        if target.exists() and any(target.iterdir()):
            raise DataError("the folder is not empty and is not a folder of boards; choose another folder", target)
        for name, mode in {"boards": 0o755, "uploads": 0o700, "incoming": 0o700, "database": 0o700,
                           "hidden": 0o700}.items():  # fmt: skip
            (target / name).mkdir(parents=True, exist_ok=True)
            (target / name).chmod(mode)
        key = target / "hidden" / KEY
        write_new(key, new_key())
        key.chmod(0o600)
        kind = "postgresql" if (address or "").startswith("postgres") else "sqlite"
        record = {**FORMAT.head, "store": kind, "key": public_key(key.read_bytes())}
        write_new(target / FORMAT.file, dump_with_checksum(record))
        return cls(target, address)

    @property
    def key(self) -> str:
        """Public key that verifies this site's receipts."""
        return str(FORMAT.read_record(self.folder)["key"])

    def private_key(self) -> bytes:
        """Return the key that signs receipts; for the scorer only."""
        return (self.folder / "hidden" / KEY).read_bytes()

    @cached_property
    def store(self) -> Store:
        """The database."""
        require("boards", "sqlalchemy", "cryptography")
        from pippin.boards.database import Store

        if self.kind == "sqlite":
            return Store.at(self.folder.resolve() / "database" / "boards.sqlite")
        if not self._address:
            raise DataError(f"these boards use PostgreSQL: pass the address with --store or {ADDRESS}",
                            self.folder)  # fmt: skip
        return Store(self._address)

    def names(self) -> list[str]:
        """Return the names of the boards; a folder without a row in the database is not a board."""
        from sqlalchemy import select

        from pippin.boards.database import BOARDS

        with self.store.reading() as connection:
            return sorted(connection.execute(select(BOARDS.c.name)).scalars())

    def board(self, name: str) -> Board:
        """Return a board by its name."""
        if name not in self._boards:
            if name not in self.names():
                raise UnknownName("board", name, self.names())
            self._boards[name] = Board.open(self.folder / "boards" / name)
        return self._boards[name]

    def hidden_folder(self, name: str) -> Path:
        """Return the folder with the hidden part of a board."""
        return self.folder / "hidden" / name

    def upload_path(self, submission: str) -> Path:
        """Return the path of a submission's file."""
        return self.folder / "uploads" / submission

    @contextmanager
    def lock(self, role: str, command: str = "pippin serve") -> Iterator[None]:
        """Hold the lock of a role, such as `serve`, that only one process may have in this folder."""
        with open_lock(self.folder / f".{role}.lock") as lock:
            if not try_lock(lock):
                raise DataError(f"another `{command}` uses this folder ({role}); stop it first", self.folder)
            yield

    def marker(self, name: str) -> Path:
        """Return the path of a file that exists while a board is being created."""
        return self.folder / "hidden" / f".creating-{name}"

    def remove_incomplete(self) -> None:
        """Delete what a killed `board new` left behind: folders with a marker but without a row in the database."""
        names = self.names()
        for marker in (self.folder / "hidden").glob(".creating-*"):
            name = marker.name.removeprefix(".creating-")
            if name not in names:
                for folder in (self.folder / "boards", self.folder / "hidden"):
                    for path in (folder / name, *folder.glob(f".{name}.*")):  # the folder, and incomplete copies
                        remove_path(path)
            marker.unlink()
