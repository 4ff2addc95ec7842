"""Read the files of a collection: decompression, encodings, lines, records, and listings of folders.

A collection may be larger than memory, so no function here holds a whole file. UTF-16 and UTF-32 with a byte order mark
become UTF-8, and carriage returns that end lines become newlines. Errors while reading become a `DataError`.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from pippin.errors import DataError
from pippin.storage.compression import MAX_MAGIC_LENGTH, detect_compression, open_decompressed

CHUNK = 1 << 20
MAX_PROBED = 100  # files of a folder that are opened to detect its format
HEAD = 4096  # bytes that are enough to distinguish formats
MAX_TEXT = 60  # characters of a text in a message
MAX_EXAMPLES = 3  # items of a list in a message
BOM = b"\xef\xbb\xbf"
WIDE = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip


class _TranscodedFile(io.RawIOBase):
    """A file that is transcoded chunk by chunk."""

    def __init__(self, file: BinaryIO, transcode: Callable[[bytes], bytes]) -> None:
        self._file, self._transcode, self._pending = file, transcode, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer)  # type: ignore[arg-type]
        while not self._pending and (chunk := self._file.read(CHUNK)):
            self._pending = self._transcode(chunk)
        data, self._pending = self._pending[: len(target)], self._pending[len(target) :]
        target[: len(data)] = data
        return len(data)


def _find_transcoder(start: bytes) -> Callable[[bytes], bytes] | None:
    """Return the function that makes UTF-8 with newlines of a text that begins with `start`; None if none is needed."""
    encoding = next((name for mark, name in WIDE.items() if start.startswith(mark)), None)
    if encoding is not None:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        return lambda data: decoder.decode(data).encode()
    if b"\r" in start[: HEAD - 1] and b"\n" not in start and b"\0" not in start:  # the last may be half of CRLF
        return lambda data: data.replace(b"\r", b"\n")
    return None


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressed if its first bytes say that it is compressed; an `OSError` becomes a `DataError`."""
    try:
        with path.open("rb") as plain:
            packing = detect_compression(plain.read(MAX_MAGIC_LENGTH))
            plain.seek(0)
            size = os.fstat(plain.fileno()).st_size
            file = open_decompressed(plain, packing, size, os.fspath(path)) if packing else plain
            transcode = _find_transcoder(cast(io.BufferedReader, file).peek(HEAD)[:HEAD])
            yield io.BufferedReader(_TranscodedFile(file, transcode), CHUNK) if transcode else file
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}", path) from None


def read_head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed, without leading blanks and mark; raise if it is empty."""
    with open_file(path) as file:
        start = file.read(HEAD).removeprefix(BOM).lstrip()
    if not start:
        raise DataError("the file is empty", path)
    return start


def refuse_yaml(path: Path) -> None:
    """Raise for a YAML file, with a command that converts it to JSON."""
    if path.suffix.lower() in (".yaml", ".yml"):
        line = f"json.dump(yaml.safe_load(open('{path.name}')), open('{path.stem}.json', 'w'), default=str)"
        raise DataError(f'YAML is not supported; convert it to JSON: python -c "import json, yaml; {line}"', path)


def encoding_of(path: Path) -> str:
    """Return the encoding of a file: UTF-8 (with or without mark) if it decodes, else windows-1252."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open_file(path) as file:
        try:
            while chunk := file.read(CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and text of every line that is not blank."""
    with open_file(path) as file:
        for number, line in enumerate(file, 1):
            stripped = (line.removeprefix(BOM) if number == 1 else line).rstrip(b"\r\n")
            if stripped and not stripped.isspace():
                yield number, decode_text(stripped, path, number)


def decode_text(data: bytes, path: Path, line: int | None = None) -> str:
    """Decode a line or a file as UTF-8, else as windows-1252."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        with suppress(UnicodeDecodeError):
            return data.decode("cp1252")
        unit = "file" if line is None else "line"
        raise DataError(f"byte {error.start + 1} of the {unit} is neither UTF-8 nor windows-1252", path, line) from None


def split_records(path: Path, mark: bytes, before: re.Pattern[bytes] | None = None) -> Iterator[tuple[int, bytes]]:
    r"""Yield the line number and content of each record; records begin with `mark`, which begins with a newline.

    Before the first mark only blanks, or what `before` matches, may occur.
    """
    line, pending, has_started = 0, b"\n", False
    with open_file(path) as file:
        while chunk := file.read(CHUNK):
            sections = (pending + (chunk if line or has_started else chunk.removeprefix(BOM))).split(mark)
            pending = sections.pop()
            for piece in sections:
                if has_started:
                    yield line, piece
                elif piece.strip() and (before is None or not before.fullmatch(piece)):
                    raise _no_start(path, mark)
                line, has_started = line + piece.count(b"\n") + 1, True
    if has_started:
        yield line, pending
    elif pending.strip():
        raise _no_start(path, mark)
    else:
        raise DataError("the file is empty", path)


def _no_start(path: Path, mark: bytes) -> DataError:
    return DataError(f"the file does not begin with {mark.strip().decode()}", path, 1)


def is_visible(name: str) -> bool:
    """Return whether a file name is neither hidden nor macOS metadata."""
    return not name.startswith(".") and name != "__MACOSX"


def files_under(path: Path) -> Iterator[Path]:
    """Yield the file itself, or the files of a folder sorted by name, then those of its subfolders.

    Hidden files, macOS metadata and broken links are skipped. Links to folders are followed, each folder once, so that
    a link to a parent folder does not cause an endless loop.
    """
    if path.is_file():
        yield path
    visited: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        real = os.path.realpath(folder)
        if real in visited:
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(filter(is_visible, folders))
        visible = filter(is_visible, sorted(names))
        yield from (Path(folder, name) for name in visible if os.path.exists(f"{folder}/{name}"))  # noqa: PTH110 - many


def sample_files(path: Path) -> Iterator[Path]:
    """Yield the first non-empty files under a path, enough to detect a format."""
    return (file for file in islice(files_under(path), MAX_PROBED) if file.stat().st_size)


def plain_text(data: bytes) -> str:
    """Decode UTF-8 or windows-1252 and collapse blanks."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return " ".join(text.split())


def truncate(text: str, length: int = MAX_TEXT) -> str:
    """Return the beginning of a text in one line.

    >>> truncate("a\\n b"), truncate("a" * 70)[-3:]
    ('a b', 'aa…')
    """
    text = " ".join(text.split())
    return text if len(text) <= length else text[:length].rstrip() + "…"


def format_examples(items: Sequence[str] | Sequence[Path]) -> str:
    """Return the first items of a list, for a message; of paths the names.

    >>> format_examples(["1", "2"]), format_examples(["a", "b", "c", "d"])
    ('1, 2', 'a, b, c …')
    """
    names = [truncate(item.name if isinstance(item, Path) else item) for item in items[:MAX_EXAMPLES]]
    return ", ".join(names) + (" …" if len(items) > MAX_EXAMPLES else "")


@lru_cache(1 << 17)  # the sampling of candidates sorts the same document ids for many queries
def natural_sort_key(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key that orders numbers inside of names by value.

    >>> sorted(["d10", "d9", "d"], key=natural_sort_key)
    ['d', 'd9', 'd10']
    """
    parts = re.findall(r"\d+|\D+", text)
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]
