"""Stretches of rows to queries: ids as strings, a query that comes back refused or joined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.kernels.rank import find_duplicate
from pippin.kernels.text import Segments, line_at

I64 = NDArray[np.int64]


def group(
    buffer: Buffer, segments: Segments, rows: int, merge_queries: bool
) -> tuple[tuple[str, ...], I64, I64 | None]:
    """Query ids, offsets, and the order that brings a query's rows together (None: as they stand).

    Rows keep the order of the file within a query, queries that of their first appearance.
    """
    whole = buffer.data.data
    ids = [
        str(whole[start : start + length], "utf-8", "replace")
        for start, length in zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True)
    ]
    first: dict[str, int] = {}
    for i, query in enumerate(ids):
        if first.setdefault(query, i) != i and not merge_queries:
            began, back = (line_at(buffer.data, int(segments.starts[j])) for j in (first[query], i))
            raise DataError(
                f"query {query} comes back here after others; it began in line {began} "
                "(--merge-queries, in Python merge_queries=True, joins it)",
                buffer.name,
                back,
            )
    sizes = np.diff(np.append(segments.rows, rows))
    if len(first) == len(ids):
        return tuple(ids), np.append(segments.rows, rows), None
    position = {query: i for i, query in enumerate(first)}
    query_of = np.array([position[query] for query in ids], np.int64)
    order = np.argsort(np.repeat(query_of, sizes), kind="stable")
    counts = np.bincount(query_of, weights=sizes, minlength=len(first)).astype(np.int64)
    return tuple(first), np.concatenate(([0], np.cumsum(counts))).astype(np.int64), order


def refuse_duplicates(buffer: Buffer, ids: Texts, offsets: I64, query_ids: tuple[str, ...]) -> None:
    """Raise if a document stands twice in a query, naming both lines."""
    earlier, later = find_duplicate(ids, offsets)
    if later < 0:
        return
    query = query_ids[int(np.searchsorted(offsets, later, side="right")) - 1]
    lines = [line_at(buffer.data, int(ids.starts[row])) for row in (earlier, later)]
    raise DataError(
        f"document {ids.at(later)} stands twice in query {query}; the first time in line {lines[0]}",
        buffer.name,
        lines[1],
    )
