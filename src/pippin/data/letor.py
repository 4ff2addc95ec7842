"""LETOR text (`label qid:Q 1:value … #docid = D`, SVMlight with queries) and score files: reading and writing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.buffers import Buffer, Readable, built_feature_names, open_buffer
from pippin.data.dataset import Dataset, Lines, check_duplicate_documents, group_rows, version_of_path
from pippin.errors import DataError
from pippin.kernels import text as kernel
from pippin.kernels.strings import StringColumn
from pippin.storage.compression import check_size
from pippin.storage.files import atomic_write
from pippin.system import memory_size

_ROWS_PER_BLOCK = 4096  # rows formatted at once


def read_letor(
    source: Readable,
    *,
    missing_value: str = "zero",
    merge_queries: bool = False,
    dtype: DTypeLike = np.float64,
    features: int | None = None,
) -> Dataset:
    """Read LETOR text (plain, compressed, `-`).

    Features that a line omits are 0, or NaN with `missing_value="null"`, like `NULL` and `nan`. The number of features
    is the largest id, or `features` if the file may not show the last ones.
    """
    check_missing_value(missing_value)
    buffer = open_buffer(source)
    pieces, rows, width = kernel.scan_letor(buffer.data, buffer.name)
    if not rows:
        raise DataError("the file contains no data", buffer.name)
    table = _table(rows, width if features is None else features, np.dtype(dtype), len(buffer.data), buffer.name)
    columns = kernel.parse_letor(
        buffer.data, buffer.name, pieces, table, float("nan") if missing_value == "null" else 0.0
    )
    query_ids, offsets, order = group_rows(buffer, columns.segments, rows, merge_queries)
    documents, comments = _strings(buffer, columns)
    data = _dataset(buffer, columns, (query_ids, offsets, order), documents, comments)
    if data.document_ids is not None:
        check_duplicate_documents(buffer, data.document_ids, data.offsets, data.query_ids)
    return data


def check_missing_value(missing_value: str) -> None:
    """Raise unless the value of omitted features is `zero` or `null`."""
    if missing_value not in {"zero", "null"}:
        raise DataError(f"missing_value must be 'zero' or 'null', got {missing_value!r}")


def parse_queries(
    buffer: Buffer,
    query_ids: tuple[str, ...],
    offsets: NDArray[np.int64],
    *,
    missing_value: str,
    dtype: DTypeLike,
    features: int,
) -> tuple[Dataset, NDArray[np.bool_], NDArray[np.bool_]]:
    """Parse text whose queries are known; return the data, and flags of lines with a document id and with a comment.

    The id of a line without one is empty; the caller decides whether the data set has ids.
    """
    pieces, rows, _ = kernel.scan_letor(buffer.data, buffer.name)
    table = _table(rows, features, np.dtype(dtype), len(buffer.data), buffer.name)
    columns = kernel.parse_letor(
        buffer.data, buffer.name, pieces, table, float("nan") if missing_value == "null" else 0.0
    )
    has_id, has_comment = columns.document_lengths >= 0, columns.comment_lengths >= 0
    documents = StringColumn(buffer.data, columns.document_starts, np.maximum(columns.document_lengths, 0))
    comments = StringColumn(buffer.data, columns.comment_starts, np.maximum(columns.comment_lengths, 0))
    data = Dataset(
        table, columns.labels, offsets, query_ids, documents if has_id.any() else None, (),
        comments if has_comment.any() else None, Path(buffer.name).name,
        Lines(buffer.data, columns.lines[:-1], columns.lines[1:]),
    )  # fmt: skip
    if has_id.all():
        check_duplicate_documents(buffer, documents, offsets, query_ids)
    return data, has_id, has_comment


def _table(rows: int, width: int, dtype: np.dtype[Any], text: int, file: str) -> NDArray[Any]:
    """Allocate a dense table, or raise if it exceeds the limits."""
    if dtype not in (np.float32, np.float64):
        raise DataError(f"features must be float32 or float64, got {dtype}")
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


def _strings(buffer: Buffer, columns: kernel.LetorColumns) -> tuple[StringColumn | None, StringColumn | None]:
    """Return document ids if every line has one, and comments if any line has one."""
    documents = comments = None
    if (columns.document_lengths >= 0).all():
        documents = StringColumn(buffer.data, columns.document_starts, columns.document_lengths)
    if (columns.comment_lengths >= 0).any():
        comments = StringColumn(buffer.data, columns.comment_starts, np.maximum(columns.comment_lengths, 0))
    return documents, comments


def _dataset(
    buffer: Buffer,
    columns: kernel.LetorColumns,
    grouping: tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64] | None],
    documents: StringColumn | None,
    comments: StringColumn | None,
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
    names = built_feature_names(file, table.shape[1])
    version = version_of_path(file)
    return Dataset(table, labels, offsets, query_ids, documents, names, comments, file.name, lines, version)


def write_letor(data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a data set as LETOR text: the lines it was read from, or numbers in their shortest form."""
    with atomic_write(path) as file:
        for block in iter_text(data):
            file.write(block)


def iter_text(data: Dataset) -> Iterator[memoryview | bytes]:
    """Yield the text that `write_letor` writes, in blocks."""
    if data.lines is not None:
        yield from _contiguous_lines(data.lines)
        return
    query_ids, comments = string_columns(data)
    features = np.ascontiguousarray(data.features)
    for start in range(0, len(data), _ROWS_PER_BLOCK):
        stop = min(start + _ROWS_PER_BLOCK, len(data))
        yield kernel.format_letor(features, data.labels, data.offsets, query_ids, comments, start, stop)


def _contiguous_lines(lines: Lines) -> list[memoryview | bytes]:
    """Return the bytes of all lines, joined where contiguous; add a newline where one is missing before the end."""
    if not len(lines.starts):
        return []
    breaks = np.flatnonzero(lines.starts[1:] != lines.ends[:-1]) + 1
    starts = lines.starts[np.concatenate(([0], breaks))]
    stops = lines.ends[np.concatenate((breaks - 1, [len(lines.ends) - 1]))]
    text = lines.buffer.data
    blocks: list[memoryview | bytes] = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if blocks and blocks[-1][-1] != 10:
            blocks.append(b"\n")
        blocks.append(text[start:stop])
    return blocks


def string_columns(data: Dataset) -> tuple[StringColumn, StringColumn]:
    """Return query ids, and the text after `#`: the comment, or `docid = D`, or nothing."""
    for query in data.query_ids:
        if not query or any(c <= " " for c in query):
            raise DataError(f"the query id {query!r} cannot be written as text, because blanks separate columns")
    comments = StringColumn.of(())
    if data.comments is not None:
        comments = data.comments
        for comment in comments:
            if "\n" in comment:
                raise DataError(f"the comment {comment!r} cannot be written as text, because a newline ends a line")
    elif data.document_ids is not None:
        check_ids(data.document_ids)
        comments = StringColumn.of(f"docid = {document}" for document in data.document_ids)
    return StringColumn.of(data.query_ids), comments


def check_ids(ids: StringColumn) -> None:
    """Raise for a document id that is empty or contains blanks."""
    for document in ids:
        if not document or any(c <= " " for c in document):
            raise DataError(f"the document id {document!r} cannot be written as text, because blanks separate columns")


def read_scores(
    source: Readable, rows: int | None = None, lenient: bool = False, allow_infinite: bool = False
) -> NDArray[np.float64]:
    """Read scores from text (plain, compressed, `-`), one for each of `rows` documents unless that is None.

    `lenient` reads like Perl: the number at the start of a line, or 0; lines beyond `rows` are ignored.
    """
    buffer = open_buffer(source)
    scores = kernel.read_scores(buffer.data, buffer.name, lenient=lenient, infinite=allow_infinite)
    if rows is None:
        return scores
    if len(scores) < rows:
        raise DataError(f"the file ends after {len(scores)} scores, but the data have {rows} documents",
                        buffer.name, len(scores))  # fmt: skip
    if len(scores) > rows and not lenient:
        raise DataError(f"the data have {rows} documents, but the file has {len(scores)} scores",
                        buffer.name, rows + 1)  # fmt: skip
    return scores[:rows]


def write_scores(scores: NDArray[np.float64], path: str | os.PathLike[str]) -> None:
    """Write one score per line, in the shortest form that reads back the same double."""
    with atomic_write(path) as file:
        file.write(kernel.format_numbers(np.ascontiguousarray(scores, np.float64)))
