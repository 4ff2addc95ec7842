"""Folds as text: each line is read once, though five folds of one data set hold every line five times.

The first pass finds the queries of every file without reading their numbers, and knows a query that came before by its
id and its lines, compared byte by byte. The second pass reads the lines of every distinct query once, and the parts of
the folds are lists of queries: what comes out is what reading each file by itself gives, to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.buffers import Buffer, open_buffer
from pippin.data.built import built_names
from pippin.data.dataset import Dataset, Lines
from pippin.data.folds import Folds, PartFacts
from pippin.data.letor import check_absent, parse_queries, read_letor
from pippin.data.sources import Count
from pippin.errors import DataError
from pippin.kernels.rank import find_duplicate
from pippin.kernels.text import find_queries

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Files = Mapping[str, Mapping[str, Path]]  # fold → part → file
VERSION = 1  # of what the numbers of a text are; a store of folds made by another is not used
_IN_MEMORY = 1 << 28  # bytes of text that are brought together in memory, and no longer in a file


class _NotPlain(Exception):
    """A file that cannot be taken apart; reading it by itself says why."""


@dataclass(frozen=True, eq=False)
class _Query:
    """One distinct query: where its lines stand."""

    id: str
    lines: Sequence[U8]
    rows: int
    width: int

    @property
    def sizes(self) -> tuple[str, tuple[int, ...]]:
        """What two queries have in common before their lines need to be compared."""
        return self.id, tuple(map(len, self.lines))

    def same_lines(self, other: _Query) -> bool:
        """Whether the lines are the same, byte by byte; for queries of the same sizes."""
        return all(np.array_equal(a, b) for a, b in zip(self.lines, other.lines, strict=True))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the lines."""
        hashed = hashlib.sha256()
        for piece in self.lines:
            hashed.update(piece.data)
        return hashed.digest()


@dataclass(eq=False)
class FoldTexts:
    """The files of folds after the first pass."""

    files: Files
    merge_queries: bool = False
    distinct: list[_Query] = field(default_factory=list)
    parts: dict[str, dict[str, I64]] = field(default_factory=dict)  # fold → part → numbers of distinct queries

    def number_of(self, query: _Query, alike: list[int]) -> int:
        """The number of a query: that of an equal one, among those of its sizes, or a new one."""
        for at in alike:
            if query.same_lines(self.distinct[at]):
                return at
        alike.append(len(self.distinct))
        self.distinct.append(query)
        return alike[-1]

    def count(self, fold: str, part: str) -> Count:
        """How many queries and documents a file has."""
        queries = self.parts[fold][part]
        return Count(len(queries), sum(self.distinct[at].rows for at in queries.tolist()))

    def width(self, fold: str, part: str) -> int:
        """The largest feature id of a file."""
        return max((self.distinct[at].width for at in self.parts[fold][part].tolist()), default=0)

    def digest(self, **options: Any) -> str:
        """SHA-256 of what the files say: the lines of every query of every part, in order, and how they are read."""
        hashed = hashlib.sha256(json.dumps([VERSION, self.merge_queries, options], sort_keys=True).encode())
        for fold, parts in self.parts.items():
            for part, queries in parts.items():
                hashed.update(json.dumps([fold, part, len(queries)]).encode())
                for at in queries.tolist():
                    hashed.update(self.distinct[at].digest)
        return hashed.hexdigest()

    def parse(self, *, absent: str = "zero", dtype: DTypeLike = np.float64, features: int | None = None) -> Folds:
        """Read every distinct query; `features` is the least number of features that every part has."""
        check_absent(absent)
        widths = {
            fold: max(features or 0, *(self.width(fold, part) for part in parts)) for fold, parts in self.parts.items()
        }
        try:
            return self._parse(absent, dtype, widths)
        except DataError:
            _read_apart(self.files, self.merge_queries, dtype)
            raise

    def _parse(self, absent: str, dtype: DTypeLike, widths: Mapping[str, int]) -> Folds:
        first = next(file for parts in self.files.values() for file in parts.values())
        width = max(widths.values())
        buffer = Buffer(_joined([piece for query in self.distinct for piece in query.lines]), str(first))
        offsets = np.concatenate(([0], np.cumsum([query.rows for query in self.distinct]))).astype(np.int64)
        names = _distinct_names([query.id for query in self.distinct])
        data, named, commented = parse_queries(buffer, names, offsets, absent=absent, dtype=dtype, features=width)
        facts = PartFacts(
            {at: query.id for at, query in enumerate(self.distinct) if names[at] != query.id},
            {fold: least for fold, least in widths.items() if least < width},
            _queries_with(~named, offsets),
            frozenset(range(len(names))) - _queries_with(commented, offsets),
        )
        data = replace(data, feature_names=built_names(first, width), lines=self._lines(data))
        folds = Folds(data, self.parts, facts=facts)
        if not named.all():
            _refuse_duplicates(folds)
        return folds

    def _lines(self, data: Dataset) -> Lines | None:
        """The lines of every document, but not what stands between the queries, which are in other places now."""
        if data.lines is None:
            return None
        starts = data.lines.starts.copy()
        sizes = [sum(map(len, query.lines)) for query in self.distinct]
        starts[data.offsets[:-1]] = np.concatenate(([0], np.cumsum(sizes[:-1])))
        return Lines(data.lines.buffer, starts, data.lines.ends)


def index_texts(files: Files, *, merge_queries: bool = False) -> FoldTexts:
    """The first pass over the files of folds; a file that cannot be read raises as it does by itself."""
    texts = FoldTexts(files, merge_queries)
    known: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    try:
        for fold, parts in files.items():
            texts.parts[fold] = {}
            for part, file in parts.items():
                queries = _queries_of(open_buffer(file), merge_queries)
                numbers = [texts.number_of(query, known.setdefault(query.sizes, [])) for query in queries]
                texts.parts[fold][part] = np.array(numbers, np.int64)
    except (DataError, _NotPlain):
        _read_apart(files, merge_queries)
        raise
    return texts


def _queries_of(buffer: Buffer, merge_queries: bool) -> list[_Query]:
    """The queries of one file, in order of their first lines."""
    stretches = find_queries(buffer.data, buffer.name)
    ends = np.append(stretches.begins[1:], len(buffer.data))
    by_id: dict[bytes, list[int]] = {}
    for i, (start, length) in enumerate(zip(stretches.starts.tolist(), stretches.lengths.tolist(), strict=True)):
        by_id.setdefault(buffer.data[start : start + length].tobytes(), []).append(i)
    if not by_id or (len(by_id) < len(stretches.starts) and not merge_queries):
        raise _NotPlain
    queries = []
    for name, held in by_id.items():
        lines = [_ended(buffer.data[stretches.begins[i] : ends[i]]) for i in held]
        rows, width = int(stretches.rows[held].sum()), int(stretches.widths[held].max())
        queries.append(_Query(name.decode(), lines, rows, width))
    return queries


def _ended(lines: U8) -> U8:
    """Lines with a newline at their end, which the last one of a file may lack."""
    return lines if lines[-1] == 10 else np.append(lines, np.uint8(10))


def _joined(pieces: Sequence[U8]) -> U8:
    """All lines one after the other: in memory, or mapped from a file without a name where they are many."""
    if sum(map(len, pieces)) <= _IN_MEMORY:
        return np.concatenate(pieces)
    with tempfile.TemporaryFile() as file:
        for piece in pieces:
            file.write(piece.data)
        file.flush()
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _distinct_names(ids: Sequence[str]) -> tuple[str, ...]:
    """Ids that are all different: one that comes again, with other documents in another fold, is numbered.

    >>> _distinct_names(["1", "2", "1", "1 (2)"])
    ('1', '2', '1 (3)', '1 (2)')
    """
    taken, names = set(ids), dict[str, None]()
    for query in ids:
        name, number = query, 2
        while name in names or (name != query and name in taken):
            name, number = f"{query} ({number})", number + 1
        names[name] = None
    return tuple(names)


def _queries_with(rows: NDArray[np.bool_], offsets: I64) -> frozenset[int]:
    """The queries that have a row for which this is true."""
    return frozenset((np.searchsorted(offsets, np.flatnonzero(rows), side="right") - 1).tolist())


def _refuse_duplicates(folds: Folds) -> None:
    """Raise where a document stands twice in a query of a part all of whose lines name documents."""
    for fold in folds:
        for part in fold.parts:
            data = fold[part]
            if data.document_ids is not None and find_duplicate(data.document_ids, data.offsets)[1] >= 0:
                raise DataError(f"a document stands twice in a query of {fold.name} {part}")


def _read_apart(files: Files, merge_queries: bool, dtype: DTypeLike = np.float64) -> None:
    """Read each file by itself, so that what is wrong is said of the right line of the right file."""
    for parts in files.values():
        for file in parts.values():
            read_letor(file, merge_queries=merge_queries, dtype=dtype)
