"""How C's qsort orders what cannot be ordered.

trec_eval hands qsort comparisons that are no order: a NaN is neither above nor below any score, and gains are compared
by a difference cut down to a whole number. What comes out then depends on the algorithm. The one of the GNU C library
is a merge sort: both halves are sorted, and the first one's item goes ahead unless the comparison says it is greater.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from pippin.data.trec import Run

T = TypeVar("T")


def merge_sort(items: list[T], compare: Callable[[T, T], int]) -> list[T]:
    """The items as the GNU C library's qsort leaves them.

    >>> merge_sort([3, 1, 2], lambda a, b: a - b), merge_sort([3, 1, 2], lambda a, b: 0)
    ([1, 2, 3], [3, 1, 2])
    """
    if len(items) < 2:
        return list(items)
    half = len(items) // 2
    first, second = merge_sort(items[:half], compare), merge_sort(items[half:], compare)
    merged: list[T] = []
    i = j = 0
    while i < len(first) and j < len(second):
        if compare(first[i], second[j]) <= 0:
            merged.append(first[i])
            i += 1
        else:
            merged.append(second[j])
            j += 1
    return merged + first[i:] + second[j:]


def compare_numbers(a: float, b: float) -> int:
    """-1, 0 or 1; a NaN equals everything."""
    return (a > b) - (a < b)


def without_nan(run: Run, float32: bool, ids_ascending: bool = False, from_file: bool = False) -> Run:
    """The run with other scores in the topics that have a NaN: scores that rank as qsort ranks those. It gets them in
    the order of the file, or of the documents' ids.
    """
    if not np.isnan(run.scores).any():
        return run
    scores = run.scores.copy()
    sign = 1 if ids_ascending else -1

    def compare(a: tuple[float, bytes, int], b: tuple[float, bytes, int]) -> int:
        return compare_numbers(b[0], a[0]) or sign * ((a[1] > b[1]) - (a[1] < b[1]))

    for first, last in zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True):
        here = run.scores[first:last]
        if np.isnan(here).any():
            with np.errstate(over="ignore", invalid="ignore"):
                values = (here.astype(np.float32) if float32 else here).tolist()
            ids = [run.document_ids.raw(row) for row in range(first, last)]
            rows = list(zip(values, ids, range(first, last), strict=True))
            if not from_file:
                rows.sort(key=lambda row: row[1])
            for place, (_, _, row) in enumerate(merge_sort(rows, compare)):
                scores[row] = -place
    return replace(run, scores=scores)
