"""A run that is still in its file: judged and put in rank order while it is read, without its columns.

Ten million rows as columns take a third more memory than their text, and four measures of one tool look at five bytes
of a row: a label, and whether its score is that of the row before. `RunFile.ranked` makes those in one pass over
windows of the text; whatever needs ids or scores, another order, or a word about what is wrong in the file, reads the
columns after all (`whole`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer, Readable
from pippin.data.grouped import has_queries_beside
from pippin.data.stretches import SIZE, Places, refuse_seen, windows
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.data.trec_text import read_run
from pippin.errors import DataError
from pippin.frozen import Frozen
from pippin.kernels import run_ranks as kernel

Labels = NDArray[np.int32]
_MARK = b"\xef\xbb\xbf"  # left out where a text begins, and only there
LARGE = 4 << 20  # bytes of a file from which on its columns are worth not having


class Order(Frozen):
    """By what a run is put in order: the rule for ties, and whether scores count in single precision."""

    ties: str
    float32: bool


class RankedRun(Frozen, eq=False):
    """The queries of a run in the order of its file, judged and ranked under one rule."""

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    order: Order
    tag: str
    source: RunFile
    parts: Sequence[kernel.RankedText] = field(repr=False)

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.source.name

    def whole(self) -> Run:
        """The run with its columns."""
        return self.source.whole

    def lists(self, run_of: NDArray[np.int64], offsets: NDArray[np.int64]) -> tuple[Labels, NDArray[np.uint8]]:
        """Labels in rank order and ties: query run_of[q] of the run (-1: none) from offsets[q] on."""
        labels, tied = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.uint8)
        to = np.full(len(self.query_ids), -1, np.int64)
        there = run_of >= 0
        to[run_of[there]] = offsets[:-1][there]
        first = 0
        for part in self.parts:
            count = len(part.queries[0])
            kernel.copy_ranked(part, to[first : first + count], labels, tied)
            first += count
        return labels, tied


class RunFile(Frozen, eq=False):
    """A file that holds a run, or a stretch of one; how it is read is what `read_run` takes."""

    source: Readable
    lenient: bool = False
    comments: bool = True
    allow_infinite: bool = False

    @property
    def name(self) -> str:
        """What the run is called."""
        return Path(self.source.name if isinstance(self.source, Buffer) else self.source).name

    @cached_property
    def whole(self) -> Run:
        """The run with its columns."""
        return read_run(self.source, lenient=self.lenient, comments=self.comments, allow_infinite=self.allow_infinite)

    def ranked(self, judged: Judgements, labels: Labels, order: Order) -> RankedRun | None:
        """The run judged by these labels of the judgements; None where the file has what only `whole` can tell."""
        errors = "surrogateescape" if self.lenient else "replace"
        queries = Texts.of(judged.query_ids, "surrogateescape" if self.lenient else "strict")
        parts: list[kernel.RankedText] = []
        ids, sizes, tags = [], [], []
        for window in [self.source] if isinstance(self.source, Buffer) else windows(self.source, None):
            part = kernel.rank_run(
                window.data, (judged.document_ids, labels, judged.offsets), queries, order.ties, order.float32,
                lenient=self.lenient, comments=self.comments, infinite=self.allow_infinite,
            )  # fmt: skip
            if part.irregular or (parts and window.data[:3].tobytes() == _MARK):
                return None
            text = window.data.data
            starts, lengths, documents = part.queries
            ids += [
                str(text[s : s + n], "utf-8", errors) for s, n in zip(starts.tolist(), lengths.tolist(), strict=True)
            ]
            parts.append(part)
            sizes.append(documents)
            start, length = part.last_tag if self.lenient else part.first_tag
            tags += [str(text[start : start + length], "utf-8", errors)] if start >= 0 else []
        if not ids or len(set(ids)) < len(ids):  # a query that comes back is refused, or joined
            return None
        offsets = np.concatenate(([0], *sizes)).cumsum().astype(np.int64)
        return RankedRun(tuple(ids), offsets, order, tags[-1 if self.lenient else 0], self, parts)


def ranked_stretches(
    path: str | os.PathLike[str], judged: Judgements, order: Order, places: Places, size: int = SIZE
) -> Iterator[Run | RankedRun]:
    """A run as runs of whole queries, in the order of the file; each is ranked where it can be."""
    seen: set[str] = set()
    for window in windows(path, places, size):
        with places.told():
            file = RunFile(window)
            run = file.ranked(judged, judged.labels, order) or file.whole
        refuse_seen(run.query_ids, seen, window.name)
        yield run
    if not seen:
        raise DataError("the file has no line of data", path)


def is_large(path: Readable) -> bool:
    """Whether this is a file on a disk that is worth reading in windows."""
    if isinstance(path, Buffer) or not Path(path).is_file() or has_queries_beside(os.fspath(path)):
        return False
    return Path(path).stat().st_size >= LARGE
