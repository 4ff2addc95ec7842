"""Files larger than memory, read in chunks of whole queries.

A chunk is text that ends where a query ends, about as long as requested, or as long as its only query; the same parsers
read its lines as read whole files. In memory are one chunk and the ids of all queries so far, because a query that
comes back in a later chunk is an error.
"""

from __future__ import annotations

import io
import mmap
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer, Readable, has_query_file, verify_built_file
from pippin.data.dataset import Dataset, offsets_from_sizes
from pippin.data.letor import read_letor
from pippin.data.qrels import Qrels, Run, parse_run
from pippin.errors import DataError
from pippin.kernels import ranking
from pippin.kernels import text as kernel
from pippin.kernels.strings import StringColumn
from pippin.records import FrozenRecord
from pippin.storage.compression import MAX_MAGIC_LENGTH, detect_compression, open_decompressed

CHUNK_BYTES = 32 << 20  # approximate bytes of text per chunk; parsed, they take a few times as much memory
MIN_LAZY_BYTES = 4 << 20  # smaller files are read at once
_TAIL_BYTES = 1 << 17  # bytes at the end of a chunk in which the start of the last query is looked for first
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

PathLike = str | os.PathLike[str]
Labels = NDArray[np.int32]


def letor_query(line: bytes) -> bytes | None:
    """Return the query of a line of LETOR text, or None for a line without data.

    >>> letor_query(b"2 qid:10 1:0.5"), letor_query(b"# a comment")
    (b'10', None)
    """
    columns = line.split(None, 2)[:2]
    return columns[1][4:] if len(columns) == 2 and columns[1].startswith(b"qid:") else None


def trec_query(line: bytes) -> bytes | None:
    """Return the query of a line of a run or qrels, or None for a line without data."""
    columns = line.split(None, 1)
    return None if not columns or line.startswith(b"#") else columns[0]


@dataclass
class LineOffsets:
    """The number of lines before the current chunk, by file, so that errors name the right line."""

    before: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def relocate_errors(self) -> Iterator[None]:
        """Convert line numbers in errors from the chunk to the file."""
        try:
            yield
        except DataError as error:
            lines = self.before.get(error.file or "", 0)
            if error.line is None or not lines:
                raise
            message = re.sub(r"\bin line (\d+)", lambda match: f"in line {int(match[1]) + lines}", error.message)
            raise DataError(message, error.file, error.line + lines) from None


@contextmanager
def _open(path: PathLike) -> Iterator[tuple[IO[bytes], str]]:
    """Open a file for sequential reading, decompressed; yield it with its name."""
    name = os.fspath(path)
    if name == "-" or (Path(name).exists() and not Path(name).is_file()):  # a pipe cannot be read twice
        raise DataError("only a regular file can be read in chunks", name)
    try:
        verify_built_file(Path(name))
        with Path(name).open("rb") as file:
            compression = detect_compression(file.read(MAX_MAGIC_LENGTH))
            file.seek(0)
            size = os.fstat(file.fileno()).st_size
            yield (open_decompressed(file, compression, size, name) if compression else file), name
    except FileNotFoundError:
        raise DataError("there is no such file", name) from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", name) from None


def iter_text_chunks(
    path: PathLike, find_end: Callable[[bytes], int], lines: LineOffsets, size: int
) -> Iterator[Buffer]:
    """Yield the text of a file in chunks that end where `find_end` says; 0 means that more text is needed."""
    text = b""
    with _open(path) as (file, name):
        lines.before[name] = 0
        while block := file.read(max(size, len(text))):
            text += block
            if end := find_end(text):
                chunk, text = text[:end], text[end:]
                yield Buffer(np.frombuffer(chunk, np.uint8), name)
                lines.before[name] += chunk.count(b"\n")
        if text.strip():
            yield Buffer(np.frombuffer(text, np.uint8), name)


def cut_before_last_query(query_of_line: Callable[[bytes], bytes | None]) -> Callable[[bytes], int]:
    """Return a function that finds the first line of the last query in a text.

    >>> cut_before_last_query(trec_query)(b"a 0 x 1\\nb 0 x 1\\nb 0 y 1\\nb 0")
    8
    """

    def find_end(text: bytes) -> int:
        last, end = None, text.rfind(b"\n") + 1
        while end:
            start = text.rfind(b"\n", 0, end - 1) + 1
            query = query_of_line(text[start:end])
            if last is None:
                last = query
            elif query is not None and query != last:
                return end
            end = start
        return 0

    return find_end


def cut_after_last_line(text: bytes) -> int:
    """Return the end of the last complete line that is not blank; blank lines may only end a file of scores."""
    lines = text[: text.rfind(b"\n") + 1].rstrip()
    return len(lines) and text.index(b"\n", len(lines)) + 1


def iter_run_chunks(path: PathLike, lines: LineOffsets | None, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
    """Yield the text of a run in chunks of whole queries, each valid until the next one is requested.

    Lines are counted only if `lines` is given. A plain file is mapped and the pages of a chunk are released after it; a
    compressed file is decompressed one chunk ahead, in a thread.
    """
    with _open(path) as (file, name):
        before = 0
        is_plain = isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO)
        for text in _iter_mapped(file, size) if is_plain else _prefetch(_iter_decompressed(file, size)):
            if lines is not None:
                lines.before[name] = before
            yield Buffer(text, name)
            if lines is not None:
                before += kernel.line_at(text, len(text)) - 1


def _iter_mapped(file: IO[bytes], size: int) -> Iterator[NDArray[np.uint8]]:
    total = os.fstat(file.fileno()).st_size
    if not total:
        return
    pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    text = np.frombuffer(pages, np.uint8)
    start, released, length = 0, 0, size
    while start < total:
        stop = min(start + length, total)
        end = stop if stop == total else start + _end_of_complete_queries(text[start:stop])
        if end == start:  # the query is longer than the chunk
            length *= 2
            continue
        yield text[start:end]
        start, length = end, size
        if hasattr(mmap, "MADV_DONTNEED"):  # Linux: release the pages, which the file still has
            complete = end - end % mmap.PAGESIZE
            pages.madvise(mmap.MADV_DONTNEED, released, complete - released)
            released = complete


def _iter_decompressed(file: IO[bytes], size: int) -> Iterator[NDArray[np.uint8]]:
    remainder = np.empty(0, np.uint8)
    while True:
        text = np.empty(max(size, 2 * len(remainder)), np.uint8)
        text[: len(remainder)] = remainder
        stop = len(remainder) + file.readinto(text.data[len(remainder) :])  # type: ignore[attr-defined]
        is_last = stop < len(text)
        end = stop if is_last else _end_of_complete_queries(text)
        if end:
            yield text[:end]
        if is_last:
            return
        remainder = text[end:stop].copy()


def _prefetch(items: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    """Yield the items; a thread computes the next one meanwhile."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(next, items, None)
        while (item := future.result()) is not None:
            future = pool.submit(next, items, None)
            yield item


def _end_of_complete_queries(text: NDArray[np.uint8]) -> int:
    """Return the start of the last query, or 0 if the text may have only one."""
    find_end, length = cut_before_last_query(trec_query), _TAIL_BYTES
    while True:
        tail = text[-length:].tobytes()
        line_start = 0 if length >= len(text) else tail.find(b"\n") + 1  # skip an incomplete line
        end = find_end(tail[line_start:])
        if end or length >= len(text):
            return end and len(text) - len(tail) + line_start + end
        length *= 8


def check_not_repeated(query_ids: tuple[str, ...], previous_ids: set[str], name: str) -> None:
    """Raise DataError for a query of an earlier chunk."""
    repeated = next((query for query in query_ids if query in previous_ids), None)
    if repeated is not None:
        raise DataError(
            f"the rows of query {repeated} are not contiguous; a file read in chunks must be sorted by query", name
        )
    previous_ids.update(query_ids)


def iter_letor_chunks(path: PathLike, lines: LineOffsets, size: int = CHUNK_BYTES, **options: Any) -> Iterator[Dataset]:
    """Yield LETOR text as data sets of whole queries; `options` are those of `read_letor`."""
    previous_ids: set[str] = set()
    for buffer in iter_text_chunks(path, cut_before_last_query(letor_query), lines, size):
        with lines.relocate_errors():
            data = read_letor(buffer, **options)
        check_not_repeated(data.query_ids, previous_ids, buffer.name)
        yield data
    if not previous_ids:
        raise DataError("the file contains no data", path)


class ScoreReader:
    """Reads a file of scores from beginning to end, as many at a time as there are documents."""

    def __init__(self, path: PathLike, lines: LineOffsets, size: int = CHUNK_BYTES) -> None:
        self.path, self.count = path, 0
        self._blocks = self._iter_scores(path, lines, size)
        self._remainder = np.empty(0)

    @staticmethod
    def _iter_scores(path: PathLike, lines: LineOffsets, size: int) -> Iterator[NDArray[np.float64]]:
        for buffer in iter_text_chunks(path, cut_after_last_line, lines, size):
            with lines.relocate_errors():
                scores = kernel.read_scores(buffer.data, buffer.name, lenient=False)
            yield scores

    def take(self, count: int) -> NDArray[np.float64]:
        """Return the next scores."""
        blocks, missing = [self._remainder], count - len(self._remainder)
        while missing > 0:
            block = next(self._blocks, None)
            if block is None:
                n = self.count + count - missing
                raise DataError(f"the file ends after {n} scores, but the data have more documents", self.path, n)
            blocks.append(block)
            missing -= len(block)
        scores = np.concatenate(blocks)
        self.count += count
        self._remainder = scores[count:]
        return scores[:count]

    def end(self) -> None:
        """Raise DataError if scores are left."""
        if len(self._remainder) or next(self._blocks, None) is not None:
            raise DataError(
                f"the data have {self.count} documents, but the file has more scores", self.path, self.count + 1
            )


def letor_width(path: PathLike, size: int = CHUNK_BYTES) -> int:
    """Return the largest feature id in LETOR text."""
    lines, width = LineOffsets(), 0
    for buffer in iter_text_chunks(path, cut_before_last_query(letor_query), lines, size):
        with lines.relocate_errors():
            width = max(width, kernel.scan_letor(buffer.data, buffer.name)[2])
    return width


class SortRule(FrozenRecord):
    """How a run is sorted: the rule for ties, and whether scores are compared as float32."""

    ties: str
    float32: bool


class RankedRun(FrozenRecord, eq=False):
    """The queries of a run in file order, with labels in rank order under one sort rule."""

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    order: SortRule
    tag: str
    source: LazyRun
    parts: Sequence[ranking.RankedText] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.source.name

    def load(self) -> Run:
        """Return the run with its columns."""
        return self.source.run

    def lists(self, run_of: NDArray[np.int64], offsets: NDArray[np.int64]) -> tuple[Labels, NDArray[np.uint8]]:
        """Return labels in rank order and flags of ties; list q is query ``run_of[q]`` of the run (-1: none)."""
        labels, ties = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.uint8)
        targets = np.full(len(self.query_ids), -1, np.int64)
        in_run = run_of >= 0
        targets[run_of[in_run]] = offsets[:-1][in_run]
        start = 0
        for part in self.parts:
            count = len(part.queries[0])
            ranking.copy_ranked(part, targets[start : start + count], labels, ties)
            start += count
        return labels, ties


class LazyRun(FrozenRecord, eq=False):
    """A file, or a chunk of one, that holds a run; the options are those of `parse_run`."""

    source: Readable
    lenient: bool = False
    comments: bool = True
    allow_infinite: bool = False

    @property
    def name(self) -> str:
        """The name of the run."""
        return Path(self.source.name if isinstance(self.source, Buffer) else self.source).name

    @cached_property
    def run(self) -> Run:
        """The run with its columns, parsed on first use."""
        return parse_run(self.source, lenient=self.lenient, comments=self.comments, allow_infinite=self.allow_infinite)

    def rank(self, qrels: Qrels, labels: Labels, order: SortRule) -> RankedRun | None:
        """Rank the run while parsing, with these labels of the qrels; None if only `run` can handle the file."""
        errors = "surrogateescape" if self.lenient else "replace"
        queries = StringColumn.of(qrels.query_ids, "surrogateescape" if self.lenient else "strict")
        parts: list[ranking.RankedText] = []
        ids, sizes, tags = [], [], []
        for chunk in [self.source] if isinstance(self.source, Buffer) else iter_run_chunks(self.source, None):
            part = ranking.rank_run(
                chunk.data, (qrels.document_ids, labels, qrels.offsets), queries, order.ties, order.float32,
                lenient=self.lenient, comments=self.comments, infinite=self.allow_infinite,
            )  # fmt: skip
            if part.irregular or (parts and chunk.data[:3].tobytes() == _BYTE_ORDER_MARK):
                return None
            text = chunk.data.data
            starts, lengths, documents = part.queries
            ids += [
                str(text[s : s + n], "utf-8", errors) for s, n in zip(starts.tolist(), lengths.tolist(), strict=True)
            ]
            parts.append(part)
            sizes.append(documents)
            start, length = part.last_tag if self.lenient else part.first_tag
            tags += [str(text[start : start + length], "utf-8", errors)] if start >= 0 else []
        if not ids or len(set(ids)) < len(ids):  # the parser refuses or joins repeated queries
            return None
        offsets = offsets_from_sizes(np.concatenate(sizes))
        return RankedRun(tuple(ids), offsets, order, tags[-1 if self.lenient else 0], self, parts)


def iter_ranked_chunks(
    path: PathLike, qrels: Qrels, order: SortRule, lines: LineOffsets, size: int = CHUNK_BYTES
) -> Iterator[Run | RankedRun]:
    """Yield a run as runs of whole queries in file order, ranked while parsing where possible."""
    previous_ids: set[str] = set()
    for chunk in iter_run_chunks(path, lines, size):
        with lines.relocate_errors():
            lazy = LazyRun(chunk)
            run = lazy.rank(qrels, qrels.labels, order) or lazy.run
        check_not_repeated(run.query_ids, previous_ids, chunk.name)
        yield run
    if not previous_ids:
        raise DataError("the file contains no data", path)


def is_large(path: Readable) -> bool:
    """Return whether a path is a regular file that is large enough to be read in chunks."""
    if isinstance(path, Buffer) or not Path(path).is_file() or has_query_file(os.fspath(path)):
        return False
    return Path(path).stat().st_size >= MIN_LAZY_BYTES
