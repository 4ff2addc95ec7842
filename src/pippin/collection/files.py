"""How the bytes of a collection are read: in order, a piece at a time, unpacked on the way, with the line kept.

A collection may be larger than memory, so nothing here holds a whole file. Whatever goes wrong with a file while it is
read, a gzip that ends too early for one, is an error that names the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from pippin.errors import DataError
from pippin.packed import LONGEST, packing_of, unpacked

CHUNK = 1 << 20
LOOK = 100  # files of a folder that are looked at to tell its format
HEAD = 4096  # bytes that are enough to tell formats apart
BOM = b"\xef\xbb\xbf"


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """A file to read from, unpacked if its first bytes say that it is packed; trouble with it becomes a `DataError`."""
    try:
        with path.open("rb") as plain:
            packing = packing_of(plain.read(LONGEST))
            plain.seek(0)
            size = os.fstat(plain.fileno()).st_size
            yield unpacked(plain, packing, size, os.fspath(path)) if packing else plain
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}", path) from None


def head(path: Path) -> bytes:
    """The first bytes of a file, unpacked, without byte order mark and leading blanks; an empty file is an error."""
    with open_stream(path) as file:
        start = file.read(HEAD).removeprefix(BOM).lstrip()
    if not start:
        raise DataError("the file is empty", path)
    return start


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, without their ends; lines of blanks alone are left out."""
    with open_stream(path) as file:
        for number, line in enumerate(file, 1):
            stripped = (line.removeprefix(BOM) if number == 1 else line).rstrip(b"\r\n")
            if stripped and not stripped.isspace():
                try:
                    yield number, stripped.decode()
                except UnicodeDecodeError as error:
                    raise DataError(f"byte {error.start + 1} of the line is not UTF-8", path, number) from None


def split_records(path: Path, mark: bytes) -> Iterator[tuple[int, bytes]]:
    r"""What follows each line start `mark` (which begins with a newline) up to the next, with its line number.

    Anything but blanks before the first mark is an error.
    """
    line, pending, seen = 0, b"\n", False
    with open_stream(path) as file:
        while chunk := file.read(CHUNK):
            pieces = (pending + (chunk if line or seen else chunk.removeprefix(BOM))).split(mark)
            pending = pieces.pop()
            for piece in pieces:
                if seen:
                    yield line, piece
                elif piece.strip():
                    raise _no_start(path, mark)
                line, seen = line + piece.count(b"\n") + 1, True
    if seen:
        yield line, pending
    elif pending.strip():
        raise _no_start(path, mark)
    else:
        raise DataError("the file is empty", path)


def _no_start(path: Path, mark: bytes) -> DataError:
    return DataError(f"the file does not begin with {mark.strip().decode()}", path, 1)


def files_under(path: Path) -> Iterator[Path]:
    """The file itself, or the files of a folder by name, then those of the folders in it; hidden ones are left out.

    Links to folders are followed, each folder once, so that a link to a folder above does not go round for ever.
    """
    if path.is_file():
        yield path
    seen: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def first_files(path: Path) -> Iterator[Path]:
    """As many files under a path as are worth a look to tell a format; empty ones tell nothing."""
    return (file for file in islice(files_under(path), LOOK) if file.stat().st_size)


def plain_text(data: bytes) -> str:
    """The text of a file from before encodings were declared: UTF-8 or windows-1252; runs of blanks are one blank."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return " ".join(text.split())
