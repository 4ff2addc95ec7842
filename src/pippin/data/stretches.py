"""Files larger than memory, read in stretches of whole queries.

Which bytes can be read now and never be missed later? A stretch is a piece of text that ends where a query ends, about
as long as asked for, or as long as its one query; its lines are parsed by the same readers as whole files. What is held
is one stretch, and the ids of the queries seen, because a query that comes back in a later stretch is an error.
"""

from __future__ import annotations

import io
import mmap
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer
from pippin.data.built import check_built
from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.errors import DataError
from pippin.kernels import text as kernel
from pippin.packed import LONGEST, packing_of, unpacked

SIZE = 32 << 20  # bytes of text in a stretch, about; parsed, they take a few times as much
_TAIL = 1 << 17  # bytes at the end of a stretch in which the beginning of a query is looked for first

Path_ = str | os.PathLike[str]
QueryOf = Callable[[bytes], bytes | None]


def letor_query(line: bytes) -> bytes | None:
    """The query that a line of LETOR text belongs to; None where it has no data.

    >>> letor_query(b"2 qid:10 1:0.5"), letor_query(b"# a comment")
    (b'10', None)
    """
    columns = line.split(None, 2)[:2]
    return columns[1][4:] if len(columns) == 2 and columns[1].startswith(b"qid:") else None


def trec_query(line: bytes) -> bytes | None:
    """The query that a line of a run or of judgements belongs to; None where it has no data."""
    columns = line.split(None, 1)
    return None if not columns or line.startswith(b"#") else columns[0]


@dataclass
class Places:
    """How many lines of each file stand before the stretch that is being read, so that errors name the right line."""

    before: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Errors about a stretch as errors about its file."""
        try:
            yield
        except DataError as error:
            lines = self.before.get(error.file or "", 0)
            if error.line is None or not lines:
                raise
            message = re.sub(r"\bin line (\d+)", lambda match: f"in line {int(match[1]) + lines}", error.message)
            raise DataError(message, error.file, error.line + lines) from None


@contextmanager
def _opened(path: Path_) -> Iterator[tuple[IO[bytes], str]]:
    """A file to read from its beginning to its end, and its name; packed ones are unpacked on the way."""
    name = os.fspath(path)
    if name == "-" or (
        Path(name).exists() and not Path(name).is_file()
    ):  # a pipe could not be read twice, to see what it holds
        raise DataError("what is read in stretches is a file on a disk, and this is none", name)
    try:
        check_built(Path(name))
        with Path(name).open("rb") as file:
            packing = packing_of(file.read(LONGEST))
            file.seek(0)
            size = os.fstat(file.fileno()).st_size
            yield (unpacked(file, packing, size, name) if packing else file), name
    except FileNotFoundError:
        raise DataError("there is no such file", name) from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", name) from None


def texts(path: Path_, cut_of: Callable[[bytes], int], places: Places, size: int) -> Iterator[Buffer]:
    """The text of a file in stretches that end where `cut_of` says (0: the text must go on)."""
    held = b""
    with _opened(path) as (file, name):
        places.before[name] = 0
        while block := file.read(max(size, len(held))):
            held += block
            if cut := cut_of(held):
                stretch, held = held[:cut], held[cut:]
                yield Buffer(np.frombuffer(stretch, np.uint8), name)
                places.before[name] += stretch.count(b"\n")
        if held.strip():
            yield Buffer(np.frombuffer(held, np.uint8), name)


def last_query(query_of: QueryOf) -> Callable[[bytes], int]:
    """Cuts text before the first line of its last query.

    >>> last_query(trec_query)(b"a 0 x 1\\nb 0 x 1\\nb 0 y 1\\nb 0")
    8
    """

    def cut(text: bytes) -> int:
        last, end = None, text.rfind(b"\n") + 1
        while end:
            begin = text.rfind(b"\n", 0, end - 1) + 1
            query = query_of(text[begin:end])
            if last is None:
                last = query
            elif query is not None and query != last:
                return end
            end = begin
        return 0

    return cut


def windows(path: Path_, places: Places | None, size: int = SIZE) -> Iterator[Buffer]:
    """The text of a run in stretches of whole queries, each good until the next one is asked for.

    Without `places` lines are not counted, for whoever reads the file once more to say what is wrong with it.

    A plain file is mapped, and the pages of a stretch are given back after it; a packed one is unpacked one stretch
    ahead, while the one before it is worked on.
    """
    with _opened(path) as (file, name):
        before = 0
        mapped = isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO)
        for text in _mapped(file, size) if mapped else _one_ahead(_unpacked_windows(file, size)):
            if places is not None:
                places.before[name] = before
            yield Buffer(text, name)
            if places is not None:
                before += kernel.line_at(text, len(text)) - 1


def _mapped(file: IO[bytes], size: int) -> Iterator[NDArray[np.uint8]]:
    whole = os.fstat(file.fileno()).st_size
    if not whole:
        return
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    text = np.frombuffer(pages, np.uint8)
    begin, back, length = 0, 0, size
    while begin < whole:
        end = min(begin + length, whole)
        cut = end if end == whole else begin + _whole_queries(text[begin:end])
        if cut == begin:  # one query is longer than that
            length *= 2
            continue
        yield text[begin:cut]
        begin, length = cut, size
        if hasattr(mmap, "MADV_DONTNEED"):  # Linux: they count as our memory no more, and the file still has them
            done = cut - cut % mmap.PAGESIZE
            pages.madvise(mmap.MADV_DONTNEED, back, done - back)
            back = done


def _unpacked_windows(file: IO[bytes], size: int) -> Iterator[NDArray[np.uint8]]:
    held = np.empty(0, np.uint8)
    while True:
        text = np.empty(max(size, 2 * len(held)), np.uint8)
        text[: len(held)] = held
        end = len(held) + file.readinto(text.data[len(held) :])  # type: ignore[attr-defined]
        last = end < len(text)
        cut = end if last else _whole_queries(text)
        if cut:
            yield text[:cut]
        if last:
            return
        held = text[cut:end].copy()


def _one_ahead(items: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """The same items, of which the next is made in a thread of its own while the last is looked at."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


def _whole_queries(text: NDArray[np.uint8]) -> int:
    """Where the last query of the text begins; 0 where that may be its only one."""
    cut, length = last_query(trec_query), _TAIL
    while True:
        tail = text[-length:].tobytes()
        first = 0 if length >= len(text) else tail.find(b"\n") + 1  # a line that was cut is no line
        found = cut(tail[first:])
        if found or length >= len(text):
            return found and len(text) - len(tail) + first + found
        length *= 8


def last_line(text: bytes) -> int:
    """Cuts text after the last whole line that is not blank, because blank lines may only end a file of scores."""
    whole = text[: text.rfind(b"\n") + 1].rstrip()
    return len(whole) and text.index(b"\n", len(whole)) + 1


def refuse_seen(query_ids: tuple[str, ...], seen: set[str], name: str) -> None:
    """Raise for a query that an earlier stretch had."""
    again = next((query for query in query_ids if query in seen), None)
    if again is not None:
        raise DataError(
            f"query {again} comes back after others, and what is read in stretches must be grouped by query; "
            "sort it by query first",
            name,
        )
    seen.update(query_ids)


def letor_stretches(path: Path_, places: Places, size: int = SIZE, **options: Any) -> Iterator[Dataset]:
    """LETOR text as data sets of whole queries, in order; `options` are those of `read_letor`."""
    seen: set[str] = set()
    for buffer in texts(path, last_query(letor_query), places, size):
        with places.told():
            data = read_letor(buffer, **options)
        refuse_seen(data.query_ids, seen, buffer.name)
        yield data
    if not seen:
        raise DataError("the file has no line of data", path)


class ScoreLines:
    """A file of scores, one a line, to be taken from its beginning as many at a time as there are documents."""

    def __init__(self, path: Path_, places: Places, size: int = SIZE) -> None:
        self.path, self.taken = path, 0
        self._blocks = self._parsed(path, places, size)
        self._held = np.empty(0)

    @staticmethod
    def _parsed(path: Path_, places: Places, size: int) -> Iterator[NDArray[np.float64]]:
        for buffer in texts(path, last_line, places, size):
            with places.told():
                scores = kernel.read_scores(buffer.data, buffer.name, lenient=False)
            yield scores

    def take(self, count: int) -> NDArray[np.float64]:
        """The next scores."""
        pieces, missing = [self._held], count - len(self._held)
        while missing > 0:
            block = next(self._blocks, None)
            if block is None:
                have = self.taken + count - missing
                raise DataError(f"the file ends after {have} scores, and the data have more documents", self.path, have)
            pieces.append(block)
            missing -= len(block)
        scores = np.concatenate(pieces)
        self.taken += count
        self._held = scores[count:]
        return scores[:count]

    def end(self) -> None:
        """Raise where scores are left."""
        if len(self._held) or next(self._blocks, None) is not None:
            message = f"a score too many: the data have {self.taken} documents, the file has more scores"
            raise DataError(message, self.path, self.taken + 1)


def letor_width(path: Path_, size: int = SIZE) -> int:
    """The largest feature id anywhere in LETOR text."""
    places, width = Places(), 0
    for buffer in texts(path, last_query(letor_query), places, size):
        with places.told():
            width = max(width, kernel.scan_letor(buffer.data, buffer.name)[2])
    return width
