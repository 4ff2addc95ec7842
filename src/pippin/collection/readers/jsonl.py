"""JSON lines: one object per line (`.jsonl`, `.ndjson`, also packed), a file or `documents.jsonl` in a folder."""

from __future__ import annotations

from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.files import lines
from pippin.collection.readers.base import READERS, Reader, Wanted
from pippin.collection.readers.fields import Table, collect_table
from pippin.collection.topics import parse_object
from pippin.errors import DataError

ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def table_file(path: Path, endings: tuple[str, ...]) -> Path | None:
    """The file itself, or the `documents.…` or `docs.…` of a folder, if its name has one of these endings."""
    if path.is_dir():
        named = (path / f"{stem}{ending}" for stem in ("documents", "docs") for ending in endings)
        return next((file for file in named if file.is_file()), None)
    return path if path.name.lower().endswith(endings) else None


def json_table(path: Path) -> Table:
    """The objects of a file of JSON lines."""
    return Table(
        lambda: ((number, parse_object(text, path, number)) for number, text in lines(path)),
        lambda message, number: DataError(message, path, number),
    )


def _open(wanted: Wanted) -> Collection:
    return collect_table(wanted, json_table(table_file(wanted.path, ENDINGS) or wanted.path))


LOOKS = "`.jsonl`, one object per line; a folder with `documents.jsonl`"
READERS.register("jsonl", Reader(LOOKS, lambda path: table_file(path, ENDINGS) is not None, _open))
