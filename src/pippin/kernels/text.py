"""Parse ranking text (LETOR, TREC, score files, HTML) into columns, and format columns as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.kernels import native, threads
from pippin.kernels.strings import StringColumn
from pippin.records import FrozenRecord

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


class Segments(FrozenRecord, eq=False):
    """Runs of consecutive rows with the same query id: first row, and start and length of the id in the text."""

    rows: I64
    starts: I64
    lengths: I64


class TrecColumns(FrozenRecord, eq=False):
    """Rows of a run or of judgements: document ids as positions in the text, scores or labels, and queries."""

    starts: I64
    lengths: I32
    values: NDArray[Any]
    segments: Segments
    first_tag: tuple[int, int]
    last_tag: tuple[int, int]


class LetorColumns(FrozenRecord, eq=False):
    """Rows of LETOR text. A length of -1 means that the line lacks a document id or comment."""

    features: NDArray[Any]
    labels: I32
    lines: I64
    document_starts: I64
    document_lengths: I32
    comment_starts: I64
    comment_lengths: I32
    segments: Segments


class QueryLines(FrozenRecord, eq=False):
    """Runs of consecutive lines with the same query id.

    For each: start of the first line, start and length of the id, number of lines, largest feature id.
    """

    begins: I64
    starts: I64
    lengths: I64
    rows: I64
    widths: I64


@contextmanager
def _errors_of(file: str) -> Iterator[None]:
    """Convert parse errors to `DataError` with the name of the file."""
    try:
        yield
    except native.ParseError as error:
        line, message = error.args
        raise DataError(message, file, line) from None


def line_at(text: U8, offset: int) -> int:
    """Return the number, from 1, of the line that contains the byte at `offset`."""
    return int(native.line_at(text, offset))


def longest_text(page: U8) -> int:
    """Return the largest length of byte strings, each preceded by its length in four bytes, as in a page of Parquet.

    >>> longest_text(np.frombuffer(b"\\x02\\0\\0\\0ab\\x01\\0\\0\\0c", np.uint8))
    2
    """
    return native.longest_text(page)


def read_trec(
    text: U8, file: str, *, run: bool, lenient: bool, comments: bool = True, infinite: bool = False
) -> TrecColumns:
    """Parse a run (six columns, float64 scores) or judgements (four columns, int32 labels).

    `lenient` accepts what trec_eval accepts; its version 10 skips `comments`. `infinite` allows infinite scores.
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
    """Parse one number per line."""
    with _errors_of(file):
        pieces = native.count_lines(text, lenient, threads())
        scores = np.empty(pieces.rows, np.float64)
        rows = native.parse_scores(text, pieces, lenient, infinite, scores, threads())
    return scores[:rows]


def scan_letor(text: U8, file: str) -> tuple[Any, int, int]:
    """Return where to split LETOR text for threads, its number of rows and its largest feature id."""
    with _errors_of(file):
        pieces, width = native.scan_letor(text, threads())
    return pieces, pieces.rows, width


def find_queries(text: U8, file: str) -> QueryLines:
    """Locate the queries of LETOR text without reading labels and features."""
    with _errors_of(file):
        return QueryLines(*native.find_queries(text, threads()))


def parse_letor(text: U8, file: str, pieces: Any, features: NDArray[Any], absent: float) -> LetorColumns:
    """Parse LETOR text into `features` (rows × width, float32 or float64) and the other columns."""
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
    query_ids: StringColumn,
    comments: StringColumn,
    first: int,
    last: int,
) -> bytes:
    """Format rows [first, last) as LETOR text, without comments if that column is empty."""
    return bytes(
        native.format_letor(
            features, labels, offsets, query_ids.buffer, query_ids.starts, query_ids.lengths,
            comments.buffer, comments.starts, comments.lengths, first, last,
        )
    )  # fmt: skip


def format_numbers(numbers: F64) -> bytes:
    """Format each number, one per line, with the fewest digits that give the same double."""
    return bytes(native.format_numbers(numbers))


def parse_number(token: str) -> float | None:
    """Return the number that a token without blanks denotes, or None."""
    return native.whole_number(token)


def parse_leading_number(token: str, *, hexadecimal: bool = True) -> float:
    """Return the number at the start of a token, 0 if none, like C's atof (or, without hexadecimal, like Perl)."""
    return float(native.leading_number(token, hexadecimal))


def format_decimals(
    table: NDArray[np.float64], before: Sequence[str], printed: NDArray[np.bool_]
) -> tuple[bytes, NDArray[np.int64]]:
    """Return the text of all rows, and the end of each row. A column is its prefix and, if `printed`, its number.

    Every number must be exact in six decimals (see `as_printed`); NaN becomes NULL.

    >>> format_decimals(np.array([[0.5, 0.0], [np.nan, 0.0]]), [" 1:", " 2:0"], np.array([True, False]))
    (b' 1:0.500000 2:0 1:NULL 2:0', array([15, 26]))
    """
    ends = np.empty(len(table), np.int64)
    return native.format_decimals(table, list(before), printed, ends), ends


Columns = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]


def flatten_nested(nested: Mapping[Any, Mapping[Any, Any]]) -> Columns | None:
    """Return the inner keys as bytes, starts and lengths, the numbers, and the offsets of the outer keys.

    None unless all are dicts whose inner keys are strings and whose values are floats or integers.

    >>> buffer, starts, lengths, numbers, offsets = flatten_nested({"a": {"x": 1, "yz": 0.5}, "b": {}})
    >>> buffer.tobytes(), starts.tolist(), lengths.tolist(), numbers.tolist(), offsets.tolist()
    (b'xyz', [0, 1], [1, 2], [1.0, 0.5], [0, 2, 2])
    """
    return cast(Columns | None, native.nested_columns(nested)) if type(nested) is dict else None


StyleOf = Callable[[str, str, int], int]


def split_markup(
    html: str, blocks: str, invisible: str, style_attributes: str, style_of: StyleOf
) -> list[tuple[list[str], list[int]]]:
    """Return the non-blank lines of HTML text, each as texts with their styles; adjacent texts of one style are joined.

    `blocks` are the elements that begin and end lines, `invisible` those that are skipped with their content: names
    separated by blanks. `style_of(name, attributes, outer)` returns the style inside an element. It is called once per
    name and outer style, and again if the attributes, passed as written, contain one of `style_attributes` (such as
    `style="`).

    >>> html = "<p>An <i>old</i> pippin</p><p>&lt;2</p>"
    >>> split_markup(html, "p", "", "", lambda name, attributes, outer: int(name == "i"))
    [(['An ', 'old', ' pippin'], [0, 1, 0]), (['<2'], [0])]
    """
    return native.markup_lines(html, blocks, invisible, style_attributes, style_of)
