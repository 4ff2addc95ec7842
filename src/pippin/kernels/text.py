"""Ranking text in bytes to columns: LETOR, TREC judgements and runs, score files; and columns back to text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.frozen import Frozen
from pippin.kernels import native, threads

if TYPE_CHECKING:
    from pippin.data.texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
F64 = NDArray[np.float64]


class Segments(Frozen, eq=False):
    """Stretches of rows with one query id: first row, and where the id stands in the text."""

    rows: I64
    starts: I64
    lengths: I64


class TrecColumns(Frozen, eq=False):
    """Rows of a run or of judgements: document ids as places in the text, scores or labels, stretches of queries."""

    starts: I64
    lengths: I32
    values: NDArray[Any]
    segments: Segments
    first_tag: tuple[int, int]
    last_tag: tuple[int, int]


class LetorColumns(Frozen, eq=False):
    """Rows of LETOR text. A length of -1: the line has no document id, no comment."""

    features: NDArray[Any]
    labels: I32
    lines: I64
    document_starts: I64
    document_lengths: I32
    comment_starts: I64
    comment_lengths: I32
    segments: Segments


class QueryLines(Frozen, eq=False):
    """Stretches of lines with one query id: where the first line begins, where the id stands, lines, largest id."""

    begins: I64
    starts: I64
    lengths: I64
    rows: I64
    widths: I64


@contextmanager
def _errors_of(file: str) -> Iterator[None]:
    """Parsing errors as `DataError` with the name of the file."""
    try:
        yield
    except native.ParseError as error:
        line, message = error.args
        raise DataError(message, file, line) from None


def line_at(text: U8, offset: int) -> int:
    """The number, from 1, of the line that holds the byte at `offset`."""
    return int(native.line_at(text, offset))


def longest_text(page: U8) -> int:
    """The longest of texts that each stand behind their length in four bytes, as in a page of Parquet.

    >>> longest_text(np.frombuffer(b"\\x02\\0\\0\\0ab\\x01\\0\\0\\0c", np.uint8))
    2
    """
    return native.longest_text(page)


def read_trec(
    text: U8, file: str, *, run: bool, lenient: bool, comments: bool = True, infinite: bool = False
) -> TrecColumns:
    """A run (six columns, float64 scores) or judgements (four columns, int32 labels).

    `lenient` reads as trec_eval does, which leaves out `comments` from version 10 on; `infinite` takes infinite scores.
    """
    with _errors_of(file):
        pieces = native.count_lines(text, lenient, threads())
        starts, lengths = np.empty(pieces.rows, np.int64), np.empty(pieces.rows, np.int32)
        values: NDArray[Any] = np.empty(pieces.rows, np.float64 if run else np.int32)
        columns = (starts, lengths, values, threads())
        if run:
            rows, segments, first, last = native.parse_run(text, pieces, lenient, comments, infinite, *columns)
        else:
            rows, segments, first, last = native.parse_judgements(text, pieces, lenient, comments, *columns)
    return TrecColumns(starts[:rows], lengths[:rows], values[:rows], Segments(*segments), first, last)


def read_scores(text: U8, file: str, *, lenient: bool, infinite: bool = False) -> F64:
    """One number a line."""
    with _errors_of(file):
        pieces = native.count_lines(text, lenient, threads())
        scores = np.empty(pieces.rows, np.float64)
        rows = native.parse_scores(text, pieces, lenient, infinite, scores, threads())
    return scores[:rows]


def scan_letor(text: U8, file: str) -> tuple[Any, int, int]:
    """Where to cut LETOR text, the number of its rows, and its largest feature id."""
    with _errors_of(file):
        pieces, width = native.scan_letor(text, threads())
    return pieces, pieces.rows, width


def find_queries(text: U8, file: str) -> QueryLines:
    """Where the queries of LETOR text stand; neither labels nor features are read."""
    with _errors_of(file):
        return QueryLines(*native.find_queries(text, threads()))


def parse_letor(text: U8, file: str, pieces: Any, features: NDArray[Any], absent: float) -> LetorColumns:
    """LETOR text into `features` (rows × width, float32 or float64) and the columns beside it."""
    rows = len(features)
    labels, lines = np.empty(rows, np.int32), np.empty(rows + 1, np.int64)
    document_starts, document_lengths = np.empty(rows, np.int64), np.empty(rows, np.int32)
    comment_starts, comment_lengths = np.empty(rows, np.int64), np.empty(rows, np.int32)
    columns = (labels, lines, document_starts, document_lengths, comment_starts, comment_lengths)
    with _errors_of(file):
        segments = native.parse_letor(text, pieces, absent, features, *columns, threads())
    return LetorColumns(features, *columns, Segments(*segments))


def format_letor(
    features: NDArray[Any],
    labels: I32,
    offsets: I64,
    query_ids: Texts,
    comments: Texts,
    first: int,
    last: int,
) -> bytes:
    """Rows [first, last) as LETOR text; an empty column of comments means none."""
    return bytes(
        native.format_letor(
            features, labels, offsets, query_ids.buffer, query_ids.starts, query_ids.lengths,
            comments.buffer, comments.starts, comments.lengths, first, last,
        )
    )  # fmt: skip


def format_numbers(numbers: F64) -> bytes:
    """The shortest text that reads back the same double, one a line."""
    return bytes(native.format_numbers(numbers))


def whole_number(token: str) -> float | None:
    """The number that a token without blanks is, or None."""
    return native.whole_number(token)


def leading_number(token: str, *, hexadecimal: bool = True) -> float:
    """The number a token begins with, 0 if none, as C's atof reads it (or, without hexadecimal, Perl)."""
    return float(native.leading_number(token, hexadecimal))
