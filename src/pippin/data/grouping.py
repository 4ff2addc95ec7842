"""Which rows belong to which query: stretches of text lines, query ids by row, or the sizes of groups.

A query that comes back after another is refused or, for text, joined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.kernels.rank import find_duplicate
from pippin.kernels.text import Segments, line_at

I64 = NDArray[np.int64]


def group(
    buffer: Buffer, segments: Segments, rows: int, merge_queries: bool, errors: str = "replace"
) -> tuple[tuple[str, ...], I64, I64 | None]:
    """Query ids, offsets, and the order that brings a query's rows together (None: as they stand).

    Rows keep the order of the file within a query, queries that of their first appearance. `errors` says what becomes
    of bytes that are no UTF-8.
    """
    whole = buffer.data.data
    ids = [
        str(whole[start : start + length], "utf-8", errors)
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


def offsets_of(rows: int, *, qid: Any = None, group: Any = None) -> tuple[I64, tuple[str, ...]]:
    """Offsets and ids of the queries of `rows` rows: from one query id per row, or from the sizes of the groups.

    A query's rows stand together. Groups, as LightGBM and XGBoost take them, have no ids and are counted from 1.

    >>> offsets_of(3, qid=[7, 7, 3])
    (array([0, 2, 3]), ('7', '3'))
    >>> offsets_of(3, group=[2, 1])
    (array([0, 2, 3]), ('1', '2'))
    """
    if qid is not None and group is not None:
        raise DataError("qid and group both say which documents belong to which query; give one of them")
    if group is not None:
        return _offsets_of_sizes(rows, np.asarray(group))
    if qid is None:
        raise DataError(
            "qid is missing: give each document's query as qid, or the sizes of the queries as group, "
            "so that it is known which documents belong together"
        )
    ids = np.asarray(qid)
    if ids.shape != (rows,):
        raise DataError(f"{rows} query ids are needed, one per document, and qid has the shape {ids.shape}")
    starts = np.flatnonzero(np.concatenate(([rows > 0], ids[1:] != ids[:-1])))
    names = tuple(map(str, ids[starts].tolist()))
    if len(set(names)) != len(names):
        seen: set[str] = set()
        again = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(f"qid is not grouped: query {again} comes back after another one; sort the rows by query")
    return np.append(starts, rows).astype(np.int64), names


def _offsets_of_sizes(rows: int, sizes: NDArray[Any]) -> tuple[I64, tuple[str, ...]]:
    whole = sizes.ndim == 1 and sizes.dtype.kind in "iuf" and bool((sizes == np.floor(sizes)).all())
    if not whole or not (sizes >= 0).all():
        raise DataError("group is a list of sizes, one whole number of documents per query")
    if float(sizes.sum(dtype=np.float64)) != rows:
        raise DataError(f"the sizes of the groups add up to {sizes.sum():,.0f} documents, and there are {rows:,}")
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), tuple(str(i + 1) for i in range(len(sizes)))
