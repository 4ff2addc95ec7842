"""LETOR text (`label qid:Q 1:value 2:value … #docid = D`), also known as SVMlight with queries: reading and writing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.buffers import Buffer, Readable, open_buffer
from pippin.data.built import built_names
from pippin.data.dataset import Dataset, Lines
from pippin.data.grouping import group, refuse_duplicates
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.files import atomic_write
from pippin.kernels import text as kernel
from pippin.limits import check_size
from pippin.machine import memory_size

ROWS_AT_ONCE = 4096


def read_letor(
    source: Readable,
    *,
    absent: str = "zero",
    merge_queries: bool = False,
    dtype: DTypeLike = np.float64,
    features: int | None = None,
) -> Dataset:
    """A data set from LETOR text (plain, gzip, `-`).

    Features a line leaves out are 0, or with `absent="null"` NaN, as `NULL` and `nan` are. `features` sets the number
    of features where the file may not show the last ones; otherwise it is the largest id.
    """
    check_absent(absent)
    buffer = open_buffer(source)
    pieces, rows, width = kernel.scan_letor(buffer.data, buffer.name)
    if not rows:
        raise DataError("the file has no line of data", buffer.name)
    table = _table(rows, width if features is None else features, np.dtype(dtype), len(buffer.data), buffer.name)
    columns = kernel.parse_letor(buffer.data, buffer.name, pieces, table, float("nan") if absent == "null" else 0.0)
    query_ids, offsets, order = group(buffer, columns.segments, rows, merge_queries)
    documents, comments = _texts(buffer, columns)
    data = _dataset(buffer, columns, (query_ids, offsets, order), documents, comments)
    if data.document_ids is not None:
        refuse_duplicates(buffer, data.document_ids, data.offsets, data.query_ids)
    return data


def check_absent(absent: str) -> None:
    """Raise unless this says what features are that a line leaves out."""
    if absent not in {"zero", "null"}:
        raise DataError(f"absent must be 'zero' or 'null', not {absent!r}")


def parse_queries(
    buffer: Buffer,
    query_ids: tuple[str, ...],
    offsets: NDArray[np.int64],
    *,
    absent: str,
    dtype: DTypeLike,
    features: int,
) -> tuple[Dataset, NDArray[np.bool_], NDArray[np.bool_]]:
    """The data set of text whose queries are known; and which of its lines name a document, and which have a comment.

    Where some line names no document, its id is empty, and whether there are ids at all is for the caller to say.
    """
    pieces, rows, _ = kernel.scan_letor(buffer.data, buffer.name)
    table = _table(rows, features, np.dtype(dtype), len(buffer.data), buffer.name)
    columns = kernel.parse_letor(buffer.data, buffer.name, pieces, table, float("nan") if absent == "null" else 0.0)
    named, commented = columns.document_lengths >= 0, columns.comment_lengths >= 0
    documents = Texts(buffer.data, columns.document_starts, np.maximum(columns.document_lengths, 0))
    comments = Texts(buffer.data, columns.comment_starts, np.maximum(columns.comment_lengths, 0))
    data = Dataset(
        table, columns.labels, offsets, query_ids, documents if named.any() else None, (),
        comments if commented.any() else None, Path(buffer.name).name,
        Lines(buffer.data, columns.lines[:-1], columns.lines[1:]),
    )  # fmt: skip
    if named.all():
        refuse_duplicates(buffer, documents, offsets, query_ids)
    return data, named, commented


def _table(rows: int, width: int, dtype: np.dtype[Any], text: int, file: str) -> NDArray[Any]:
    """Room for a dense table, if this machine can have it."""
    if dtype not in (np.float32, np.float64):
        raise DataError(f"features are float32 or float64, not {dtype}")
    size = rows * width * dtype.itemsize
    check_size(size, text, f"{rows:,} documents × {width:,} features take", file)
    memory = memory_size()
    if 0 < memory < size:
        raise DataError(
            f"{rows:,} documents × {width:,} features need {size / 1e9:,.0f} GB, and this machine has "
            f"{memory / 1e9:,.0f} GB; number the features without gaps, or read in parts",
            file,
        )
    return np.empty((rows, width), dtype)


def _texts(buffer: Buffer, columns: kernel.LetorColumns) -> tuple[Texts | None, Texts | None]:
    """Document ids, if every line names one, and comments, if any line has one."""
    documents = comments = None
    if (columns.document_lengths >= 0).all():
        documents = Texts(buffer.data, columns.document_starts, columns.document_lengths)
    if (columns.comment_lengths >= 0).any():
        comments = Texts(buffer.data, columns.comment_starts, np.maximum(columns.comment_lengths, 0))
    return documents, comments


def _dataset(
    buffer: Buffer,
    columns: kernel.LetorColumns,
    grouping: tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64] | None],
    documents: Texts | None,
    comments: Texts | None,
) -> Dataset:
    query_ids, offsets, order = grouping
    table, labels = columns.features, columns.labels
    starts, ends = columns.lines[:-1], columns.lines[1:]
    if order is not None:
        table, labels, starts, ends = table[order], labels[order], starts[order], ends[order]
        documents = None if documents is None else documents.take(order)
        comments = None if comments is None else comments.take(order)
    lines = Lines(buffer.data, starts, ends)
    file = Path(buffer.name)
    names = built_names(file, table.shape[1])
    return Dataset(table, labels, offsets, query_ids, documents, names, comments, file.name, lines)


def write_letor(data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a data set as LETOR text: the very lines it was read from, or numbers in their shortest text."""
    with atomic_write(path) as file:
        for piece in text_of(data):
            file.write(piece)


def text_of(data: Dataset) -> Iterator[memoryview | bytes]:
    """What `write_letor` writes, piece by piece."""
    if data.lines is not None:
        yield from _stretches(data.lines)
        return
    query_ids, comments = text_ids(data)
    features = np.ascontiguousarray(data.features)
    for first in range(0, len(data), ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, len(data))
        yield kernel.format_letor(features, data.labels, data.offsets, query_ids, comments, first, last)


def _stretches(lines: Lines) -> list[memoryview | bytes]:
    """The bytes of all lines, neighbours in one piece; a line without newline gets one unless it is the last."""
    breaks = np.flatnonzero(lines.starts[1:] != lines.ends[:-1]) + 1
    firsts = lines.starts[np.concatenate(([0], breaks))] if len(lines.starts) else np.empty(0, np.int64)
    lasts = lines.ends[np.concatenate((breaks - 1, [len(lines.ends) - 1]))] if len(lines.ends) else firsts
    whole = lines.buffer.data
    pieces: list[memoryview | bytes] = []
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if pieces and pieces[-1][-1] != 10:
            pieces.append(b"\n")
        pieces.append(whole[first:last])
    return pieces


def text_ids(data: Dataset) -> tuple[Texts, Texts]:
    """Query ids, and what stands after `#`: the comment, or `docid = D`, or nothing."""
    for query in data.query_ids:
        if not query or any(c <= " " for c in query):
            raise DataError(f"the query id {query!r} cannot be written as text, where blanks separate columns")
    comments = Texts.of(())
    if data.comments is not None:
        comments = data.comments
        for comment in comments:
            if "\n" in comment:
                raise DataError(f"the comment {comment!r} cannot be written as text, where a newline ends a line")
    elif data.document_ids is not None:
        check_ids(data.document_ids)
        comments = Texts.of(f"docid = {document}" for document in data.document_ids)
    return Texts.of(data.query_ids), comments


def check_ids(ids: Texts) -> None:
    """Raise for a document id that blanks or emptiness keep from being a column of text."""
    for document in ids:
        if not document or any(c <= " " for c in document):
            raise DataError(f"the document id {document!r} cannot be written as text, where blanks separate columns")
