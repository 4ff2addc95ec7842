"""How is the table of a cell kept? As Parquet, which others read, too, and which is written here with NumPy alone.

One group of rows, one page a column, packed by gzip: numbers as they are, texts as numbers into their dictionary. The
same table is the same bytes. Read is what is written here; what another wrote (results of an earlier version) is read
by Polars. https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.bench.frame import Column, Frame, Names
from pippin.bench.thrift import Long, read, read_varint, varint, write
from pippin.errors import DataError
from pippin.extras import need

MAGIC, WRITER = b"PAR1", b"pippin"
_TEXT = 6
# Parquet's number of a type → the type of a column of numbers.
_TYPES: Mapping[int, np.dtype[Any]] = {1: np.dtype("<i4"), 2: np.dtype("<i8"), 5: np.dtype("<f8")}
_PLAIN, _RUNS, _DICTIONARY = 0, 3, 8  # encodings
_GZIP = 2
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2


def write_table(columns: Mapping[str, Sequence[str | None] | NDArray[Any]]) -> bytes:
    """A table as Parquet; NaN and None are null."""
    out, schema, chunks, rows = bytearray(MAGIC), [{4: b"schema", 5: len(columns)}], [], 0
    for name, values in columns.items():
        rows = len(values)
        kind, present, pages = _pages(values)
        start, plain = len(out), 0
        for header, body in pages:
            packed = gzip.compress(body, 1, mtime=0)
            head = write({1: _DATA_PAGE if 5 in header else _DICTIONARY_PAGE, 2: len(body), 3: len(packed), **header})
            plain += len(head) + len(body)
            data = len(out)
            out += head + packed
        text: dict[int, Any] = {6: 0, 10: {1: {}}} if kind == _TEXT else {}
        schema.append({1: kind, 3: int(present is not None), 4: name.encode(), **text})
        chunk = {
            1: kind, 2: [_PLAIN, _RUNS, _DICTIONARY], 3: [name.encode()], 4: _GZIP, 5: Long(rows), 6: Long(plain),
            7: Long(len(out) - start), 9: Long(data),
        }  # fmt: skip
        chunks.append({2: Long(start), 3: chunk | ({11: Long(start)} if kind == _TEXT else {})})
    size = Long(len(out) - len(MAGIC))
    footer = write({1: 2, 2: schema, 3: Long(rows), 4: [{1: chunks, 2: size, 3: Long(rows)}], 6: WRITER})
    return bytes(out) + footer + len(footer).to_bytes(4, "little") + MAGIC


def _pages(
    values: Sequence[str | None] | NDArray[Any],
) -> tuple[int, NDArray[np.bool_] | None, list[tuple[dict[int, Any], bytes]]]:
    """Type, which rows hold a value (None: all), and the pages, each with its own part of the header."""
    if isinstance(values, np.ndarray):
        present = ~np.isnan(values)
        kind = next(number for number, dtype in _TYPES.items() if dtype == values.dtype)
        body, encoding, first = values[present].astype(_TYPES[kind]).tobytes(), _PLAIN, []
    else:
        present = np.array([value is not None for value in values], bool)
        names = Names.of(value for value in values if value is not None)
        words = b"".join(len(text).to_bytes(4, "little") + text for text in map(str.encode, names.names))
        width = max(1, (len(names.names) - 1).bit_length())
        body, encoding, kind = bytes([width]) + _bits(names.codes, width), _DICTIONARY, _TEXT
        first = [({7: {1: len(names.names), 2: _PLAIN}}, words)]
    if present.all():
        levels, shown = b"", None
    else:
        packed = _bits(present.astype(np.int64), 1)
        levels, shown = len(packed).to_bytes(4, "little") + packed, present
    header = {5: {1: len(values), 2: encoding, 3: _RUNS, 4: _RUNS}}
    return kind, shown, [*first, (header, levels + body)]


def _bits(codes: NDArray[np.int64], width: int) -> bytes:
    """One run of numbers of so many bits, the last filled up to eight."""
    groups = -(-len(codes) // 8)
    bits = np.zeros((groups * 8, width), np.uint8)
    bits[: len(codes)] = codes[:, None] >> np.arange(width) & 1
    return varint(groups << 1 | 1) + np.packbits(bits, bitorder="little").tobytes()


def read_table(
    content: bytes, path: Path, texts: Sequence[str], numbers: Sequence[str], *, optional: Sequence[str] = ()
) -> Frame:
    """These columns of a table in Parquet, the content of `path`; null is NaN, or None in an optional text."""
    names = [*texts, *optional, *numbers]
    try:
        footer = _footer(content)
        if footer.get(6) != WRITER:
            columns = _read_foreign(content, names)
        else:
            (group,), (_, *schema) = footer[4], footer[2]
            found = {element[4].decode(): (element, chunk[3]) for element, chunk in zip(schema, group[1], strict=True)}
            columns = {name: _column(content, *found[name], footer[3]) for name in names}
        for name, column in columns.items():
            words = isinstance(column, Names) or (column.dtype == object and name in optional)
            if words != (name not in numbers):
                raise ValueError(f"{name} holds something else")
        return Frame(columns)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError, zlib.error) as error:
        raise DataError(f"damaged: this is no table of a cell ({error})", path) from None


def _footer(content: bytes) -> dict[int, Any]:
    size = int.from_bytes(content[-8:-4], "little")
    if content[:4] != MAGIC or content[-4:] != MAGIC or size > len(content) - 12:
        raise ValueError("no Parquet")
    return read(content, len(content) - 8 - size)[0]


def _column(content: bytes, element: dict[int, Any], chunk: dict[int, Any], rows: int) -> Column:
    """One column: its dictionary, if it has one, and its page."""
    header, body = _page(content, chunk[9])
    if header[5][1] != rows or rows < 0:
        raise ValueError("a column of another length")
    present = None
    if element[3]:
        size = int.from_bytes(body[:4], "little")
        present, body = _numbers(body[4 : 4 + size], 1, rows).astype(bool), body[4 + size :]
    many = rows if present is None else int(present.sum())
    if chunk[1] != _TEXT:
        values = np.frombuffer(body, _TYPES[chunk[1]])
        if len(values) != many:
            raise ValueError("a column of another length")
        return values if present is None else _spread(values, present, np.full(rows, np.nan))
    codes = _numbers(body[1:], body[0], many)
    known = _words(_page(content, chunk[11])[1])
    if len(codes) and int(codes.max()) >= len(known):
        raise ValueError("a text that is not there")
    if present is None:
        return Names(codes, tuple(known))
    return _spread(np.array([*known, None], object)[codes], present, np.full(rows, None, object))


def _spread(values: NDArray[Any], present: NDArray[np.bool_], out: NDArray[Any]) -> NDArray[Any]:
    out[present] = values
    return out


def _page(content: bytes, at: int) -> tuple[dict[int, Any], bytes]:
    """The header of a page, and what it holds."""
    if at < 0:
        raise ValueError("a page before the file")
    header, at = read(content, at)
    if header[2] < 0:
        raise ValueError("a page of less than nothing")
    unpacked = zlib.decompressobj(wbits=31).decompress(content[at : at + header[3]], header[2] + 1)
    if len(unpacked) != header[2]:
        raise ValueError("a page of another size")
    return header, unpacked


def _numbers(data: bytes, width: int, many: int) -> NDArray[np.int64]:
    """The numbers of one run."""
    head, at = read_varint(data, 0)
    groups = head >> 1
    if not head & 1 or not 0 < width <= 32 or groups != -(-many // 8) or len(data) < at + groups * width:
        raise ValueError("another run of numbers")
    bits = np.unpackbits(np.frombuffer(data, np.uint8, groups * width, at), bitorder="little").reshape(-1, width)
    numbers = np.zeros(len(bits), np.int64)
    for place in range(width):
        numbers |= bits[:, place].astype(np.int64) << place
    return numbers[:many]


def _words(data: bytes) -> list[str]:
    words, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        words.append(data[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return words


def _read_foreign(content: bytes, names: Sequence[str]) -> dict[str, Column]:
    """A table that another program wrote."""
    need("reading results of an earlier version", "polars")
    import polars

    try:
        frame = polars.read_parquet(BytesIO(content)).select(names)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise ValueError(str(error).partition("\n")[0]) from None
    columns: dict[str, Column] = {}
    for name in names:
        column = frame[name]
        texts = column.dtype == polars.String
        columns[name] = (np.array(column.to_list(), object) if column.null_count() else Names.of(column.to_list())
                         ) if texts else column.to_numpy()  # fmt: skip
    return columns
