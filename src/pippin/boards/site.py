"""The folder that is served: boards, submissions and the database; and the hidden part, kept apart.

site.json            what this folder is, and in what kind of store its accounts and submissions are
boards/NAME/         the public part of each board
uploads/             what was sent in, one file a submission; incoming/ while it arrives
database/            boards.sqlite, unless the store is PostgreSQL
hidden/              mode 700: labels, splits, exact values, the key that signs receipts
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.boards.board import Board, make_board
from pippin.boards.log import new_key, public_key
from pippin.errors import DataError, UnknownName
from pippin.extras import need
from pippin.files import open_lock, remove, write_new
from pippin.machine import try_lock
from pippin.manifest import Format, seal

if TYPE_CHECKING:
    from pippin.boards.store import Store

FORMAT = Format("pippin boards", 1, "folder of boards", "make new boards with `pippin board new`", "site.json")
KEY = "key.bin"
ADDRESS = "PIPPIN_STORE"  # the environment variable with the address of the store


class Site:
    """A folder of boards. `store` is opened when it is first asked for, boards are opened once."""

    def __init__(self, folder: str | os.PathLike[str], address: str | None = None) -> None:
        self.folder = Path(folder)
        self.kind = str(FORMAT.read_record(self.folder)["store"])
        self._address = address or os.environ.get(ADDRESS)
        self._boards: dict[str, Board] = {}

    @classmethod
    def create(cls, folder: str | os.PathLike[str], address: str | None = None) -> Site:
        """A folder that is there, or a new one; a folder with anything else in it is refused."""
        need("boards", "sqlalchemy", "cryptography")
        target = Path(folder)
        address = address or os.environ.get(ADDRESS)
        if FORMAT.is_at(target):
            return cls(target, address)
        if target.exists() and any(target.iterdir()):
            raise DataError("this folder holds something else than boards; name another", target)
        for name, mode in {"boards": 0o755, "uploads": 0o700, "incoming": 0o700, "database": 0o700,
                           "hidden": 0o700}.items():  # fmt: skip
            (target / name).mkdir(parents=True, exist_ok=True)
            (target / name).chmod(mode)
        key = target / "hidden" / KEY
        write_new(key, new_key())
        key.chmod(0o600)
        kind = "postgresql" if (address or "").startswith("postgres") else "sqlite"
        record = {**FORMAT.head, "store": kind, "key": public_key(key.read_bytes())}
        write_new(target / FORMAT.file, seal(record))
        return cls(target, address)

    @property
    def key(self) -> str:
        """The public key that checks this site's receipts."""
        return str(FORMAT.read_record(self.folder)["key"])

    def private_key(self) -> bytes:
        """The key that signs receipts; for the scorer alone."""
        return (self.folder / "hidden" / KEY).read_bytes()

    @cached_property
    def store(self) -> Store:
        """The database."""
        need("boards", "sqlalchemy", "cryptography")
        from pippin.boards.store import Store

        if self.kind == "sqlite":
            return Store.at(self.folder.resolve() / "database" / "boards.sqlite")
        if not self._address:
            raise DataError(f"the store of these boards is PostgreSQL; give its address with --store or {ADDRESS}",
                            self.folder)  # fmt: skip
        return Store(self._address)

    def names(self) -> list[str]:
        """The boards, by name."""
        folder = self.folder / "boards"
        return sorted(one.name for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))

    def board(self, name: str) -> Board:
        """A board by its name, opened once."""
        if name not in self._boards:
            if name not in self.names():
                raise UnknownName("board", name, self.names())
            self._boards[name] = Board.open(self.folder / "boards" / name)
        return self._boards[name]

    def new_board(self, name: str, data: Any, **asked: Any) -> Board:
        """Make a board (see `board.make_board`), open it for submissions, and begin its log."""
        from sqlalchemy import insert

        from pippin.boards.scoring import baseline
        from pippin.boards.store import now
        from pippin.boards.tables import BOARDS

        store = self.store
        board = make_board(self.folder, name, data, key=self.key, **asked)
        try:
            shown, step = baseline(self, board)
            with store.writing() as connection:
                connection.execute(
                    insert(BOARDS).values(name=name, state="open", made=now(), baseline=shown, step=step)
                )
                told = ("title", "kind", "tool", "tool_version", "measure", "ladder", "share", "data", "commitment",
                        "key", "pippin")  # fmt: skip
                body = {what: board.record[what] for what in told}
                store.append(connection, name, "made", {**body, "baseline": shown, "step": step})
        except BaseException:
            remove(board.folder)
            remove(self.hidden(name))
            raise
        return board

    def hidden(self, name: str) -> Path:
        """The hidden part of a board."""
        return self.folder / "hidden" / name

    def upload(self, submission: str) -> Path:
        """Where the file of a submission lies."""
        return self.folder / "uploads" / submission

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Be the only process that does this in this folder, such as `serve`."""
        with open_lock(self.folder / f".{what}.lock") as lock:
            if not try_lock(lock):
                raise DataError(f"another `pippin serve` has this folder ({what}); end it first, or serve another "
                                "folder", self.folder)  # fmt: skip
            yield
