"""Rank the full catalogue: all documents of the data for every query, as RecBole does.

Recommenders score all items of a catalogue for every user. RecBole selects the first k of such a row by PyTorch's topk.
Items without a score come last: they pad short lists, where they may be hits, and their positions change the order of
tied items. The catalogue has the documents of all queries with a relevant document in the order of their first
occurrence: per query those of its list, then those that were judged only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import rows_of_queries
from pippin.errors import ConventionError
from pippin.evaluation.ranking import offsets_of
from pippin.kernels.measures import UNJUDGED
from pippin.kernels.ranking import order_lists
from pippin.kernels.strings import StringColumn
from pippin.records import FrozenRecord

if TYPE_CHECKING:
    from pippin.evaluation.ranking import Ranking

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_PARTIAL_SORT_RATIO = 64  # topk uses a partial sort if a row has this many items for each of the first k
_CHUNK_CELLS = 1 << 22  # ranked at a time
_MAX_CELLS = 1 << 30


class Lists(FrozenRecord):
    """Documents by query with a number for each: a score or a label."""

    query_ids: tuple[str, ...]
    offsets: I64
    documents: StringColumn | None  # None: all are distinct, and scores and labels have the same documents
    numbers: F64 | I32

    def rows(self, position: dict[str, int]) -> tuple[I64, I64]:
        """Return the rows of the queries that have a position, and the position of each row."""
        queries = np.array([q for q, query in enumerate(self.query_ids) if query in position], np.int64)
        at = np.array([position[self.query_ids[q]] for q in queries], np.int64)
        return rows_of_queries(self.offsets, queries), np.repeat(at, np.diff(self.offsets)[queries])


class _Cells(FrozenRecord):
    """The known cells of the queries × catalogue matrix: a score (-inf: none) and a label each."""

    query: I64
    column: I64
    scores: F64
    labels: I32
    width: int  # the size of the catalogue
    documents: StringColumn | None  # by column


def rank_full_catalogue(ranking: Ranking, scored: Lists, labels: Lists, depth: int, float32: bool) -> Ranking:
    """Rank the first `depth` documents of the catalogue (0: all) for each query with a relevant document.

    Further documents with scores follow behind.
    """
    relevant = ranking.relevant_queries(1)
    if depth and not _depends_on_catalogue(ranking, relevant, depth):
        return ranking
    positions = {ranking.query_ids[q]: int(q) for q in np.flatnonzero(relevant)}
    listed = [query for query in scored.query_ids if query in positions]
    if not listed:
        return ranking
    cells = _cells(scored, labels, {query: i for i, query in enumerate(listed)})
    rows = _Rows(cells, len(listed), min(depth or cells.width, cells.width), float32)
    if len(listed) * rows.width > _MAX_CELLS:
        raise ConventionError(
            f"ties=topk-of-all would rank {cells.width} documents for each of {len(listed)} queries; limit the depth "
            "with partial_sort_depth"
        )
    at_once = max(1, _CHUNK_CELLS // rows.width)
    parts = [rows.rank(begin, min(begin + at_once, len(listed))) for begin in range(0, len(listed), at_once)]
    lists = _RankedLists(rows.sizes, *(np.concatenate(part) for part in zip(*parts, strict=True)))
    return _replace_lists(ranking, np.array([positions[query] for query in listed]), lists, cells, float32)


def _depends_on_catalogue(ranking: Ranking, relevant: NDArray[np.bool_], depth: int) -> bool:
    """Return whether a list is shorter than the depth or has ties above it, so that other documents matter."""
    place = np.arange(len(ranking.labels)) - np.repeat(ranking.offsets[:-1], ranking.sizes())
    tied = (ranking.tied == 1) & (place <= depth) & np.repeat(relevant, ranking.sizes())
    return bool((ranking.sizes()[relevant] < depth).any() or tied.any())


def _cells(scored: Lists, judged_lists: Lists, position: dict[str, int]) -> _Cells:
    (scored_rows, scored_query), (judged_rows, judged_query) = scored.rows(position), judged_lists.rows(position)
    query = np.concatenate((scored_query, judged_query))
    documents, codes = _codes(scored.documents, scored_rows, judged_lists.documents, judged_rows)
    order = np.argsort(query, kind="stable")  # a query's list, then its judgements
    _, first, inverse = np.unique(codes[order], return_index=True, return_inverse=True)
    column = np.empty(len(query), np.int64)
    column[order] = np.argsort(np.argsort(first))[inverse]
    width = len(first)
    key = query * width + column
    scored_keys, judged_keys = key[: len(scored_rows)], key[len(scored_rows) :]
    sorted_keys = np.argsort(judged_keys, kind="stable")
    labels = judged_lists.numbers[judged_rows[sorted_keys]].astype(np.int32)
    judged_keys = judged_keys[sorted_keys]
    at = np.minimum(np.searchsorted(judged_keys, scored_keys), len(judged_keys) - 1)
    label = np.where(judged_keys[at] == scored_keys, labels[at], UNJUDGED).astype(np.int32)
    unscored = ~np.isin(judged_keys, scored_keys)
    keys = np.concatenate((scored_keys, judged_keys[unscored]))
    scores = np.concatenate((scored.numbers[scored_rows].astype(np.float64), np.full(int(unscored.sum()), -np.inf)))
    rows = np.argsort(keys, kind="stable")
    query, column = np.divmod(keys[rows], width)
    column_documents = None if documents is None else documents.take(order[np.sort(first)])
    return _Cells(query, column, scores[rows], np.concatenate((label, labels[unscored]))[rows], width, column_documents)


def _codes(
    scored: StringColumn | None, scored_rows: I64, judged: StringColumn | None, judged_rows: I64
) -> tuple[StringColumn | None, I64]:
    """Return the ids of both rows, if any, and a number for each row that equal ids share."""
    if scored is None or judged is None:
        return None, np.concatenate((scored_rows, judged_rows))
    ids = [*scored.take(scored_rows), *judged.take(judged_rows)]
    numbers: dict[str, int] = {}
    return StringColumn.of(ids), np.array([numbers.setdefault(id_, len(numbers)) for id_ in ids], np.int64)


class _Rows:
    """Rows of the catalogue by query, reduced to the columns that topk depends on.

    A partial sort replaces one of the first k items only by an item with a higher score, so that of the later items
    without a score only the number matters.
    """

    def __init__(self, cells: _Cells, queries: int, first: int, float32: bool) -> None:
        self.cells, self.first, self.float32 = cells, first, float32
        has_score = cells.scores > -np.inf
        self.sizes = np.maximum(np.bincount(cells.query[has_score], minlength=queries), first)
        self.begins = np.searchsorted(cells.query, np.arange(queries + 1))
        self.width, self.place, self.kept = cells.width, cells.column, np.ones(len(cells.query), np.bool_)
        if first * _PARTIAL_SORT_RATIO <= cells.width:
            later = cells.column >= first
            self.kept = ~later | has_score
            before = np.concatenate(([0], np.cumsum(later & has_score)))
            self.place = np.where(later, first + before[:-1] - before[self.begins[cells.query]], cells.column)
            self.width = max(first * _PARTIAL_SORT_RATIO, int(self.place[self.kept].max()) + 1)

    def rank(self, begin: int, end: int) -> tuple[I32, F64, I64]:
        """Return labels, scores and columns of the lists of these queries, concatenated."""
        cells, shape = self.cells, (end - begin, self.width)
        of = np.arange(self.begins[begin], self.begins[end])
        of = of[self.kept[of]]
        at = (cells.query[of] - begin, self.place[of])
        scores, labels = np.full(shape, -np.inf), np.full(shape, UNJUDGED, np.int32)
        columns = np.tile(np.arange(self.width), (shape[0], 1))
        scores[at], labels[at], columns[at] = cells.scores[of], cells.labels[of], cells.column[of]
        offsets = np.arange(shape[0] + 1) * self.width
        rule = f"topk-given:{self.first}"
        order = order_lists(scores.ravel(), labels.ravel(), offsets, None, rule, self.float32).reshape(shape)
        listed = order[np.arange(self.width) < self.sizes[begin:end, None]]
        return labels.ravel()[listed], scores.ravel()[listed], columns.ravel()[listed]


class _RankedLists(FrozenRecord):
    """Lists in rank order."""

    sizes: I64
    labels: I32
    scores: F64
    columns: I64

    def tied(self, float32: bool) -> NDArray[np.uint8]:
        """Return 1 where a score equals the one before in its list."""
        scores = self.scores.astype(np.float32) if float32 else self.scores
        same = np.concatenate(([False], (scores[1:] == scores[:-1]) & (scores[1:] > -np.inf)))
        same[offsets_of(self.sizes)[:-1]] = False
        return same.astype(np.uint8)


def _replace_lists(ranking: Ranking, queries: I64, lists: _RankedLists, cells: _Cells, float32: bool) -> Ranking:
    """Return the ranking with new lists for these queries."""
    sizes = ranking.sizes()
    sizes[queries] = lists.sizes
    offsets = offsets_of(sizes)
    unchanged = np.setdiff1d(np.arange(len(sizes)), queries)
    new_rows, old_rows = rows_of_queries(offsets, queries), rows_of_queries(offsets, unchanged)
    source_rows = rows_of_queries(ranking.offsets, unchanged)

    def merge(new: NDArray[Any], old: NDArray[Any]) -> NDArray[Any]:
        merged = np.empty(int(offsets[-1]), new.dtype)
        merged[new_rows], merged[old_rows] = new, old
        return merged

    def document() -> StringColumn:
        names = StringColumn.of([*(cells.documents or ()), *ranking.documents.take(source_rows)])
        return names.take(merge(lists.columns, cells.width + np.arange(len(source_rows))))

    return replace(
        ranking, labels=merge(lists.labels, ranking.labels[source_rows]), offsets=offsets,
        tied=merge(lists.tied(float32), ranking.tied[source_rows]),
        score=lambda: merge(lists.scores, ranking.scores[source_rows]), input_score=None,
        document=None if ranking.document is None else document,
    )  # fmt: skip
