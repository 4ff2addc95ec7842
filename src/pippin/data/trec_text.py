"""TREC text: judgements (`query 0 document label`) and runs (`query Q0 document rank score tag`), read and written.

Columns are separated by any white space. Blank lines, and lines whose first character is `#`, are skipped. `lenient`
reads as trec_eval does, for printers that must print what it prints: text that is no number counts as `atof` and `atol`
have it, queries that come back are joined, bytes that are no UTF-8 are kept, a document may stand twice, and the tag is
that of the last line; `comments` are left out by version 10 only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import Buffer, Readable, open_buffer
from pippin.data.grouping import group, refuse_duplicates
from pippin.data.letor import check_ids
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.errors import DataError
from pippin.files import atomic_write
from pippin.kernels import rank
from pippin.kernels import text as kernel

Grouped = tuple[tuple[str, ...], NDArray[np.int64], Texts, NDArray[np.float64] | NDArray[np.int32]]


def read_judgements(
    source: Readable, *, merge_queries: bool = False, lenient: bool = False, comments: bool = True
) -> Judgements:
    """Judgements (qrels) from text (plain, gzip, `-`). Negative labels are kept."""
    buffer = open_buffer(source)
    columns = kernel.read_trec(buffer.data, buffer.name, run=False, lenient=lenient, comments=comments)
    query_ids, offsets, documents, labels = _grouped(buffer, columns, merge_queries, lenient)
    if not lenient:
        refuse_duplicates(buffer, documents, offsets, query_ids)
    name = Path(buffer.name).name
    return Judgements(query_ids, offsets, documents, labels.astype(np.int32, copy=False), name, buffer.name)


def read_run(
    source: Readable,
    *,
    merge_queries: bool = False,
    lenient: bool = False,
    comments: bool = True,
    allow_infinite: bool = False,
) -> Run:
    """A run from text (plain, gzip, `-`). That no document stands twice in a query is seen when it is ranked."""
    buffer = open_buffer(source)
    columns = kernel.read_trec(
        buffer.data, buffer.name, run=True, lenient=lenient, comments=comments, infinite=allow_infinite
    )
    query_ids, offsets, documents, scores = _grouped(buffer, columns, merge_queries, lenient)
    start, length = columns.last_tag if lenient else columns.first_tag
    tag = buffer.data[start : start + length].tobytes().decode("utf-8", "surrogateescape" if lenient else "replace")
    name = Path(buffer.name).name
    return Run(query_ids, offsets, documents, scores.astype(np.float64, copy=False), name, tag, buffer.name)


def _grouped(buffer: Buffer, columns: kernel.TrecColumns, merge_queries: bool, lenient: bool) -> Grouped:
    rows = len(columns.starts)
    if not rows and not lenient:
        raise DataError("the file has no line of data", buffer.name)
    errors = "surrogateescape" if lenient else "replace"
    query_ids, offsets, order = group(buffer, columns.segments, rows, merge_queries or lenient, errors)
    documents, values = Texts(buffer.data, columns.starts, columns.lengths), columns.values
    if order is not None:
        documents, values = documents.take(order), values[order]
    return query_ids, offsets, documents, values


def write_judgements(judged: Judgements, path: str | os.PathLike[str]) -> None:
    """Write judgements as four columns."""
    _check(judged.query_ids, judged.document_ids)
    labels = judged.labels.tolist()
    with atomic_write(path) as file:
        for query, rows, documents in _queries(judged):
            file.write("".join(f"{query} 0 {d} {labels[r]}\n" for r, d in zip(rows, documents, strict=True)).encode())


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run as six columns in its own order; the rank column is the rank by score, ties as they stand."""
    _check((*run.query_ids, run.tag), run.document_ids)
    no_labels = np.zeros(len(run.scores), np.int32)
    order = rank.order_lists(run.scores, no_labels, run.offsets, None, "input", float32=False)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1) - np.repeat(run.offsets[:-1], np.diff(run.offsets))
    with atomic_write(path) as file:
        for query, rows, documents in _queries(run):
            scores = kernel.format_numbers(run.scores[rows.start : rows.stop]).decode().split()
            lines = zip(documents, ranks[rows.start : rows.stop].tolist(), scores, strict=True)
            file.write("".join(f"{query} Q0 {d} {r} {s} {run.tag}\n" for d, r, s in lines).encode())


def _queries(data: Judgements | Run) -> Iterator[tuple[str, range, Texts]]:
    for q, query in enumerate(data.query_ids):
        rows = range(int(data.offsets[q]), int(data.offsets[q + 1]))
        yield query, rows, data.document_ids.slice(rows.start, rows.stop)


def _check(texts: tuple[str, ...], documents: Texts) -> None:
    for text in texts:
        if not text or any(c <= " " for c in text):
            raise DataError(f"{text!r} cannot be written as a column of text, which blanks separate")
    check_ids(documents)
