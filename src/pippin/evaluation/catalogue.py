"""What stands first for a query if every document of the data takes part, with or without a score for it?

Recommenders score all items of a catalogue for every user. RecBole asks PyTorch's topk for the first k of such a row,
in which an item that a user has no score for stands last: it fills up short lists, where it may be a hit, and its place
moves the order of tied items. The catalogue has the documents of all queries with a relevant one, as they come: by
query those of its list, then those that were judged alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import rows_of
from pippin.data.texts import Texts
from pippin.errors import ConventionError
from pippin.evaluation.labels import offsets_of
from pippin.frozen import Frozen
from pippin.kernels.measures import UNJUDGED
from pippin.kernels.rank import order_lists

if TYPE_CHECKING:
    from pippin.evaluation.ranked_lists import Ranking

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_PARTIAL = 64  # topk sorts only in part where a row has this many items for each of the first k
_CELLS = 1 << 22  # that are ranked at once
_MOST_CELLS = 1 << 30


class Lists(Frozen):
    """Documents by query with a number for each: scores, or labels."""

    query_ids: tuple[str, ...]
    offsets: I64
    documents: Texts | None  # None: all differ, and those of scores and of labels are the same
    numbers: F64 | I32

    def rows(self, position: dict[str, int]) -> tuple[I64, I64]:
        """Rows of the queries that have a position, and the position of each."""
        kept = np.array([q for q, query in enumerate(self.query_ids) if query in position], np.int64)
        at = np.array([position[self.query_ids[q]] for q in kept], np.int64)
        return rows_of(self.offsets, kept), np.repeat(at, np.diff(self.offsets)[kept])


class _Cells(Frozen):
    """What is known of a user's row, by query and column: a score (-inf: none) and a label."""

    query: I64
    column: I64
    scores: F64
    labels: I32
    width: int  # the size of the catalogue
    documents: Texts | None  # by column


def first_of_all(ranking: Ranking, scored: Lists, judged: Lists, depth: int, float32: bool) -> Ranking:
    """The ranking whose queries with a relevant document begin with the first `depth` of the catalogue (0: all); what
    else a query has scores for stands behind.
    """
    relevant = ranking.relevant_queries(1)
    if depth and not _hangs_on_all(ranking, relevant, depth):
        return ranking
    wanted = {ranking.query_ids[q]: int(q) for q in np.flatnonzero(relevant)}
    listed = [query for query in scored.query_ids if query in wanted]
    if not listed:
        return ranking
    cells = _cells(scored, judged, {query: i for i, query in enumerate(listed)})
    rows = _Rows(cells, len(listed), min(depth or cells.width, cells.width), float32)
    if len(listed) * rows.width > _MOST_CELLS:
        raise ConventionError(
            f"ties=topk-of-all would rank {cells.width} documents for each of {len(listed)} queries; say with "
            "ties_depth how many come first"
        )
    at_once = max(1, _CELLS // rows.width)
    parts = [rows.ranked(begin, min(begin + at_once, len(listed))) for begin in range(0, len(listed), at_once)]
    lists = _Ranked(rows.sizes, *(np.concatenate(part) for part in zip(*parts, strict=True)))
    return _replaced(ranking, np.array([wanted[query] for query in listed]), lists, cells, float32)


def _hangs_on_all(ranking: Ranking, relevant: NDArray[np.bool_], depth: int) -> bool:
    """Whether a list is too short, or has ties down to the depth, so that other documents move what comes first."""
    place = np.arange(len(ranking.labels)) - np.repeat(ranking.offsets[:-1], ranking.sizes())
    tied = (ranking.tied == 1) & (place <= depth) & np.repeat(relevant, ranking.sizes())
    return bool((ranking.sizes()[relevant] < depth).any() or tied.any())


def _cells(scored: Lists, judged: Lists, position: dict[str, int]) -> _Cells:
    (scored_rows, scored_query), (judged_rows, judged_query) = scored.rows(position), judged.rows(position)
    query = np.concatenate((scored_query, judged_query))
    documents, codes = _codes(scored.documents, scored_rows, judged.documents, judged_rows)
    order = np.argsort(query, kind="stable")  # a query's list, then what was judged
    _, first, inverse = np.unique(codes[order], return_index=True, return_inverse=True)
    column = np.empty(len(query), np.int64)
    column[order] = np.argsort(np.argsort(first))[inverse]
    width = len(first)
    key = query * width + column
    known, unknown = key[: len(scored_rows)], key[len(scored_rows) :]
    sorted_keys = np.argsort(unknown, kind="stable")
    labels = judged.numbers[judged_rows[sorted_keys]].astype(np.int32)
    unknown = unknown[sorted_keys]
    at = np.minimum(np.searchsorted(unknown, known), len(unknown) - 1)
    label = np.where(unknown[at] == known, labels[at], UNJUDGED).astype(np.int32)
    alone = ~np.isin(unknown, known)
    keys = np.concatenate((known, unknown[alone]))
    scores = np.concatenate((scored.numbers[scored_rows].astype(np.float64), np.full(int(alone.sum()), -np.inf)))
    rows = np.argsort(keys, kind="stable")
    query, column = np.divmod(keys[rows], width)
    named = None if documents is None else documents.take(order[np.sort(first)])
    return _Cells(query, column, scores[rows], np.concatenate((label, labels[alone]))[rows], width, named)


def _codes(scored: Texts | None, scored_rows: I64, judged: Texts | None, judged_rows: I64) -> tuple[Texts | None, I64]:
    """The ids of rows of both, if there are any, and a number for each that equal ids share."""
    if scored is None or judged is None:
        return None, np.concatenate((scored_rows, judged_rows))
    ids = [*scored.take(scored_rows), *judged.take(judged_rows)]
    numbers: dict[str, int] = {}
    return Texts.of(ids), np.array([numbers.setdefault(id_, len(numbers)) for id_ in ids], np.int64)


class _Rows:
    """Rows of the catalogue by query, as far as topk looks at them.

    Where it sorts in part, an item that is not among the first k can enter them only with a score above that of one
    there: of the others without a score it is enough to know that there are many.
    """

    def __init__(self, cells: _Cells, queries: int, first: int, float32: bool) -> None:
        self.cells, self.first, self.float32 = cells, first, float32
        has_score = cells.scores > -np.inf
        self.sizes = np.maximum(np.bincount(cells.query[has_score], minlength=queries), first)
        self.begins = np.searchsorted(cells.query, np.arange(queries + 1))
        self.width, self.place, self.kept = cells.width, cells.column, np.ones(len(cells.query), np.bool_)
        if first * _PARTIAL <= cells.width:
            later = cells.column >= first
            self.kept = ~later | has_score
            before = np.concatenate(([0], np.cumsum(later & has_score)))
            self.place = np.where(later, first + before[:-1] - before[self.begins[cells.query]], cells.column)
            self.width = max(first * _PARTIAL, int(self.place[self.kept].max()) + 1)

    def ranked(self, begin: int, end: int) -> tuple[I32, F64, I64]:
        """Labels, scores and columns of the lists of these queries, one after the other."""
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


class _Ranked(Frozen):
    """Lists in rank order."""

    sizes: I64
    labels: I32
    scores: F64
    columns: I64

    def tied(self, float32: bool) -> NDArray[np.uint8]:
        """1 where a score equals the one before in its list."""
        scores = self.scores.astype(np.float32) if float32 else self.scores
        same = np.concatenate(([False], (scores[1:] == scores[:-1]) & (scores[1:] > -np.inf)))
        same[offsets_of(self.sizes)[:-1]] = False
        return same.astype(np.uint8)


def _replaced(ranking: Ranking, queries: I64, lists: _Ranked, cells: _Cells, float32: bool) -> Ranking:
    """The ranking with these lists for these queries; the others stay as they are."""
    sizes = ranking.sizes()
    sizes[queries] = lists.sizes
    offsets = offsets_of(sizes)
    others = np.setdiff1d(np.arange(len(sizes)), queries)
    here, there, before = rows_of(offsets, queries), rows_of(offsets, others), rows_of(ranking.offsets, others)

    def joined(new: NDArray[Any], old: NDArray[Any]) -> NDArray[Any]:
        whole = np.empty(int(offsets[-1]), new.dtype)
        whole[here], whole[there] = new, old
        return whole

    def document() -> Texts:
        names = Texts.of([*(cells.documents or ()), *ranking.documents.take(before)])
        return names.take(joined(lists.columns, cells.width + np.arange(len(before))))

    return replace(
        ranking, labels=joined(lists.labels, ranking.labels[before]), offsets=offsets,
        tied=joined(lists.tied(float32), ranking.tied[before]),
        score=lambda: joined(lists.scores, ranking.scores[before]), given=None,
        document=None if ranking.document is None else document,
    )  # fmt: skip
