"""What people were shown and what they clicked: a click log as frozen columns.

A session is one list of documents that was shown for a query. Documents are told by query and document id together;
each such pair is an item of the log. Checked once at birth, read-only after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, check_offsets, read_only, rows_of
from pippin.errors import DataError

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
TEAMS = ("", "A", "B")  # whose document it was in an interleaved list; "": nobody's


class Counts(NamedTuple):
    """How often each item was shown and clicked at each rank: all that a position-based model can see of a log."""

    items: I64
    ranks: I32
    shown: NDArray[np.float64]
    clicked: NDArray[np.float64]

    @property
    def depth(self) -> int:
        """The deepest rank that was shown."""
        return int(self.ranks.max())

    def times(self, factors: NDArray[np.float64]) -> Counts:
        """The counts as if each had come so many times; those that never came are left out."""
        kept = factors > 0
        several = factors[kept]
        return Counts(self.items[kept], self.ranks[kept], several * self.shown[kept], several * self.clicked[kept])


@dataclass(frozen=True, eq=False)
class ClickLog:
    """Sessions with the documents shown, in rank order, and whether each was clicked.

    >>> log = ClickLog.of([("q", ["a", "b"], [False, True]), ("q", ["b", "a"], [True, False])])
    >>> log
    ClickLog(2 sessions of 1 query, 4 documents shown, 2 clicks)
    >>> log.counts().clicked.tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    query_ids: tuple[str, ...]
    item_queries: I64  # of each item: the position of its query
    item_documents: tuple[str, ...]  # and its document id
    offsets: I64  # where each session begins in the three columns below
    items: I64
    ranks: I32  # from 1, ascending within a session
    clicks: NDArray[np.bool_]
    teams: NDArray[np.int8] | None = None  # of interleaved lists: see TEAMS

    def __post_init__(self) -> None:
        shown = len(self.items)
        check_offsets(self.offsets, shown, len(self.offsets) - 1)
        if not len(self.offsets) > 1 or (np.diff(self.offsets) < 1).any():
            raise DataError("a click log has sessions, and a session shows a document at least")
        if self.ranks.shape != (shown,) or self.clicks.shape != (shown,):
            raise DataError(f"{shown} documents shown need as many ranks and clicks")
        inside = np.ones(shown, bool)
        inside[self.offsets[:-1]] = False
        if (self.ranks < 1).any() or (np.diff(self.ranks)[inside[1:]] < 1).any():
            raise DataError("ranks begin at 1 and go up within a session")
        queries = self.item_queries[self.items]
        if (queries != np.repeat(queries[self.offsets[:-1]], np.diff(self.offsets))).any():
            raise DataError("a session shows documents of two queries")
        for name in ("item_queries", "offsets", "items", "ranks", "clicks"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def of(cls, sessions: Sequence[tuple[str, Sequence[str], Sequence[bool]]]) -> ClickLog:
        """A log of sessions given one by one: query, documents from rank 1 on, and whether each was clicked."""
        builder = LogBuilder()
        for query, documents, clicks in sessions:
            if len(documents) != len(clicks):
                raise DataError(f"{len(documents)} documents of query {query} with {len(clicks)} clicks")
            for rank, (document, click) in enumerate(zip(documents, clicks, strict=True), 1):
                builder.show(query, document, rank, bool(click))
            builder.end()
        return builder.log()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    def session_of(self) -> I64:
        """The session of each document shown."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def query_of(self) -> I64:
        """The query of each session, by position."""
        return self.item_queries[self.items[self.offsets[:-1]]]

    def counts(self) -> Counts:
        """How often each item was shown and clicked at each rank, by item and rank."""
        deepest = int(self.ranks.max())
        cells, inverse = np.unique(self.items * (deepest + 1) + self.ranks, return_inverse=True)
        shown = np.bincount(inverse).astype(np.float64)
        clicked = summed(inverse, self.clicks)
        return Counts(cells // (deepest + 1), (cells % (deepest + 1)).astype(np.int32), shown, clicked)

    def select(self, sessions: I64) -> ClickLog:
        """The log of these sessions; the items stay."""
        rows = rows_of(self.offsets, sessions)
        offsets = np.concatenate(([0], np.cumsum(np.diff(self.offsets)[sessions]))).astype(np.int64)
        teams = None if self.teams is None else self.teams[rows]
        return ClickLog(self.query_ids, self.item_queries, self.item_documents, offsets, self.items[rows],
                        self.ranks[rows], self.clicks[rows], teams)  # fmt: skip

    def rows_in(self, data: Dataset) -> I64:
        """The row of each item in a data set; -1 where it has none."""
        rows = {
            (data.query_ids[query], document): row
            for row, (query, document) in enumerate(zip(data.qid().tolist(), names_of(data), strict=True))
        }
        queries = self.item_queries.tolist()
        return np.array([
            rows.get((self.query_ids[query], document), -1)
            for query, document in zip(queries, self.item_documents, strict=True)
        ], np.int64)  # fmt: skip

    def __repr__(self) -> str:
        queries = f"{self.queries:,} {'query' if self.queries == 1 else 'queries'}"
        return (
            f"ClickLog({len(self):,} sessions of {queries}, {len(self.items):,} documents shown, "
            f"{int(self.clicks.sum()):,} clicks)"
        )


def summed(places: NDArray[np.integer[Any]], values: NDArray[Any], size: int = 0) -> NDArray[np.float64]:
    """The sum of the values at each place, from 0 on."""
    sums: NDArray[np.float64] = np.bincount(places, values, size).astype(np.float64)
    return sums


def names_of(data: Dataset) -> list[str]:
    """What a log calls each document of a data set: its id or, where there are none, its place in its query from 1."""
    if data.document_ids is not None:
        return list(data.document_ids)
    return [str(place) for size in np.diff(data.offsets) for place in range(1, size + 1)]


class LogBuilder:
    """Puts a log together, one document shown after the other."""

    def __init__(self) -> None:
        self._queries: dict[str, int] = {}
        self._items: dict[tuple[int, str], int] = {}
        self._shown: list[tuple[int, int, bool, int]] = []
        self._ends: list[int] = [0]

    def show(self, query: str, document: str, rank: int, click: bool, team: int = 0) -> None:
        """One document of the session at hand."""
        known = self._queries.setdefault(query, len(self._queries))
        item = self._items.setdefault((known, document), len(self._items))
        self._shown.append((item, rank, click, team))

    def end(self) -> None:
        """The session is over."""
        self._ends.append(len(self._shown))

    def log(self) -> ClickLog:
        """All of it."""
        items, ranks, clicks, teams = (np.array(column) for column in zip(*self._shown, strict=True)) if (
            self._shown) else (np.empty(0),) * 4  # fmt: skip
        return ClickLog(
            tuple(self._queries), np.array([query for query, _ in self._items], np.int64),
            tuple(document for _, document in self._items), np.array(self._ends, np.int64), items.astype(np.int64),
            ranks.astype(np.int32), clicks.astype(bool), teams.astype(np.int8) if teams.any() else None,
        )  # fmt: skip
