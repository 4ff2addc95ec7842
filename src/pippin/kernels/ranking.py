"""Rank documents by score under a rule for ties, and join runs with judgements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads, threads_for
from pippin.kernels.strings import StringColumn

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

TIES = {
    "input": 0, "reversed": 1, "id-descending": 2, "id-ascending": 3, "best": 4, "worst": 5, "introsort": 6,
    "introsort-by-label": 7, "introsort-relevant-first": 8, "introsort-twice": 9, "topk": 10, "topk-given": 11,
    "argsort": 12, "argsort-relevant-first": 13, "argpartition": 14, "ipnsort": 15,
}  # fmt: skip


def ties_code(ties: str) -> int:
    """Return the native code of a rule for ties; `topk:10` has the depth of the partial sort above the lowest byte."""
    name, _, depth = ties.partition(":")
    return TIES[name] | int(depth or 0) << 8


_NO_ROWS = np.empty(0, np.int64)
_NO_TEXTS = (np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int32))


def _columns(ids: StringColumn | None) -> tuple[U8, I64, I32]:
    return _NO_TEXTS if ids is None else (ids.buffer, ids.starts, ids.lengths)


def order_lists(scores: F64, labels: I32, offsets: I64, ids: StringColumn | None, ties: str, float32: bool) -> I64:
    """Return the rows in rank order, query by query."""
    order = np.empty(len(scores), np.int64)
    rule = ties_code(ties)
    native.order_lists(scores, labels, offsets, *_columns(ids), rule, float32, order, threads_for(len(scores)))
    return order


def rank_lists(
    scores: F64, labels: I32, offsets: I64, ids: StringColumn | None, ties: str, float32: bool
) -> tuple[I32, U8, U8]:
    """Return ranked labels, flags of rows tied with the row before, and flags of queries with tied scores.

    The flag of a query is 1 if two of its scores are equal in single precision. For all other queries, every rule for
    ties gives the same order.
    """
    ranked, tied = np.empty(len(scores), np.int32), np.empty(len(scores), np.uint8)
    has_ties = np.empty(len(offsets) - 1, np.uint8)
    native.rank_lists(
        scores, labels, offsets, *_columns(ids), ties_code(ties), float32, _NO_ROWS, ranked, tied, has_ties,
        threads_for(len(scores)),
    )  # fmt: skip
    return ranked, tied, has_ties


def rank_again(
    ranking: tuple[I32, U8, U8],
    scores: F64,
    labels: I32,
    offsets: I64,
    ids: StringColumn | None,
    ties: str,
    float32: bool,
) -> tuple[I32, U8, U8]:
    """Return the same as `rank_lists`, given the `ranking` under another rule; sort only queries with tied scores."""
    queries = np.flatnonzero(ranking[2])
    if not len(queries):
        return ranking
    ranked, tied, has_ties = ranking[0].copy(), ranking[1].copy(), ranking[2].copy()
    documents = int(np.diff(offsets)[queries].sum())
    native.rank_lists(
        scores, labels, offsets, *_columns(ids), ties_code(ties), float32, queries, ranked, tied, has_ties,
        threads_for(documents),
    )  # fmt: skip
    return ranked, tied, has_ties


def judge_and_rank(
    run: tuple[StringColumn, F64, I64],
    judgements: tuple[StringColumn, I32, I64],
    run_of: I64,
    judgements_of: I64,
    offsets: I64,
    ties: str,
    float32: bool,
) -> tuple[I32, U8, tuple[int, int]]:
    """Join a run with judgements and return ranked labels, tie flags and the first duplicate.

    Query q is query run_of[q] of the run with the judgements of query judgements_of[q] (-1: none). The duplicate is
    the first two rows of the run with the same document in the same query, or (-1, -1).
    """
    ranked, tied = np.empty(int(offsets[-1]), np.int32), np.empty(int(offsets[-1]), np.uint8)
    duplicate = native.judge_and_rank(
        *_columns(run[0]), run[1], run[2], *_columns(judgements[0]), judgements[1], judgements[2],
        run_of, judgements_of, offsets, ties_code(ties), float32, ranked, tied, threads(),
    )  # fmt: skip
    return ranked, tied, duplicate


def find_duplicate(ids: StringColumn, offsets: I64) -> tuple[int, int]:
    """Return the first two rows with the same document in the same query, or (-1, -1)."""
    places: tuple[int, int] = native.find_duplicate(*_columns(ids), offsets, threads())
    return places


def sort_pools(labels: I32, label_offsets: I64, queries: I64, offsets: I64) -> I32:
    """Return the labels of the listed queries (-1: none), highest first, at offsets[q]."""
    pool = np.empty(int(offsets[-1]), np.int32)
    native.sort_pools(labels, label_offsets, queries, offsets, pool, threads_for(len(pool)))
    return pool


RankedText = native.RankedText


def rank_run(
    text: U8,
    judgements: tuple[StringColumn, I32, I64],
    queries: StringColumn,
    ties: str,
    float32: bool,
    *,
    lenient: bool,
    comments: bool,
    infinite: bool,
) -> RankedText:
    """Parse a run and return ranked labels and ties of each query.

    `text` must not end within a query. `judgements` are document ids, labels and offsets of the queries whose ids are
    `queries`. Errors in the run (an invalid line, a duplicate document, NaN) only set `irregular` in the result.
    """
    ids, labels, offsets = judgements
    return native.rank_run(
        text, ids.buffer, ids.starts, ids.lengths, labels, offsets, queries.buffer, queries.starts, queries.lengths,
        ties_code(ties), float32, lenient, comments, infinite, threads(),
    )  # fmt: skip


def copy_ranked(text: RankedText, to: I64, labels: I32, tied: U8) -> None:
    """Copy the ranked labels and ties of query q to `to[q]` and after; -1 leaves a query out."""
    native.copy_ranked(text, to, labels, tied, threads())
