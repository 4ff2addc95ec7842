"""How the bytes of a collection are read: in order, a piece at a time, unpacked on the way, with the line kept.

A collection may be larger than memory, so nothing here holds a whole file. UTF-16 with its mark becomes UTF-8 on the
way, and lines that end in a carriage return alone, as spreadsheets on a Mac still write them, become lines. Whatever
goes wrong with a file while it is read, a gzip that ends too early for one, is an error that names the file.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from pippin.errors import DataError
from pippin.packed import LONGEST, packing_of, unpacked

CHUNK = 1 << 20
LOOK = 100  # files of a folder that are looked at to tell its format
HEAD = 4096  # bytes that are enough to tell formats apart
BOM = b"\xef\xbb\xbf"
WIDE = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip


class _Recoded(io.RawIOBase):
    """A file of other bytes than readers expect, changed a piece at a time."""

    def __init__(self, file: BinaryIO, change: Callable[[bytes], bytes]) -> None:
        self._file, self._change, self._rest = file, change, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        room = memoryview(buffer)  # type: ignore[arg-type]
        while not self._rest and (chunk := self._file.read(CHUNK)):
            self._rest = self._change(chunk)
        data, self._rest = self._rest[: len(room)], self._rest[len(room) :]
        room[: len(data)] = data
        return len(data)


def _change_of(start: bytes) -> Callable[[bytes], bytes] | None:
    """What makes UTF-8 in lines of a text that begins so; None where it is that already."""
    wide = next((name for mark, name in WIDE.items() if start.startswith(mark)), None)
    if wide is not None:
        decoder = codecs.getincrementaldecoder(wide)("replace")
        return lambda data: decoder.decode(data).encode()
    if b"\r" in start[: HEAD - 1] and b"\n" not in start and b"\0" not in start:  # the last may be half of CRLF
        return lambda data: data.replace(b"\r", b"\n")
    return None


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """A file to read from, unpacked if its first bytes say that it is packed; trouble with it becomes a `DataError`."""
    try:
        with path.open("rb") as plain:
            packing = packing_of(plain.read(LONGEST))
            plain.seek(0)
            size = os.fstat(plain.fileno()).st_size
            file = unpacked(plain, packing, size, os.fspath(path)) if packing else plain
            change = _change_of(cast(io.BufferedReader, file).peek(HEAD)[:HEAD])
            yield io.BufferedReader(_Recoded(file, change), CHUNK) if change else file
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}", path) from None


def head(path: Path) -> bytes:
    """The first bytes of a file, unpacked, without byte order mark and leading blanks; an empty file is an error."""
    with open_stream(path) as file:
        start = file.read(HEAD).removeprefix(BOM).lstrip()
    if not start:
        raise DataError("the file is empty", path)
    return start


def refuse_yaml(path: Path) -> None:
    """Raise with a line that helps where a file is YAML, which is not read."""
    if path.suffix.lower() in (".yaml", ".yml"):
        line = f"json.dump(yaml.safe_load(open('{path.name}')), open('{path.stem}.json', 'w'), default=str)"
        raise DataError(f'YAML is not read; make it JSON: python -c "import json, yaml; {line}"', path)


def encoding_of(path: Path) -> str:
    """UTF-8 (with or without mark), or windows-1252 for a file that is not, as older tables are."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_stream(path) as file:
        try:
            while chunk := file.read(CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers, without their ends; lines of blanks alone are left out."""
    with open_stream(path) as file:
        for number, line in enumerate(file, 1):
            stripped = (line.removeprefix(BOM) if number == 1 else line).rstrip(b"\r\n")
            if stripped and not stripped.isspace():
                yield number, decode_text(stripped, path, number)


def decode_text(data: bytes, path: Path, line: int | None = None) -> str:
    """The text of a line, or of a file, in UTF-8, else in windows-1252, as older tables are."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        with suppress(UnicodeDecodeError):
            return data.decode("cp1252")
        what = "file" if line is None else "line"
        raise DataError(f"byte {error.start + 1} of the {what} is neither UTF-8 nor windows-1252", path, line) from None


def split_records(path: Path, mark: bytes, before: re.Pattern[bytes] | None = None) -> Iterator[tuple[int, bytes]]:
    r"""What follows each line start `mark` (which begins with a newline) up to the next, with its line number.

    Anything but blanks, or what `before` matches, before the first mark is an error.
    """
    line, pending, seen = 0, b"\n", False
    with open_stream(path) as file:
        while chunk := file.read(CHUNK):
            pieces = (pending + (chunk if line or seen else chunk.removeprefix(BOM))).split(mark)
            pending = pieces.pop()
            for piece in pieces:
                if seen:
                    yield line, piece
                elif piece.strip() and (before is None or not before.fullmatch(piece)):
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


def is_shown(name: str) -> bool:
    """Whether a name in a folder is one to look at: not hidden, and not what a Mac leaves in archives."""
    return not name.startswith(".") and name != "__MACOSX"


def files_under(path: Path) -> Iterator[Path]:
    """The file itself, or the files of a folder by name, then those of the folders in it.

    Hidden ones, what a Mac leaves in archives, and links to nothing are left out.

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
        folders[:] = sorted(filter(is_shown, folders))
        shown = filter(is_shown, sorted(names))
        yield from (Path(folder, name) for name in shown if os.path.exists(f"{folder}/{name}"))  # noqa: PTH110 - many


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
