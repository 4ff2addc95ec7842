"""Files of columns and data frames as Arrow tables, with row positions for error messages.

`read_table` opens Parquet, CSV and Arrow IPC, `table_from_frame` accepts anything that exports Arrow (pandas, Polars,
PyArrow, a dict of columns), and `write_table` writes. `frames.py` interprets the columns. The columns of a CSV file are
strings; numbers are parsed column by column, so that an error names the value and its line.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.arrow_files import read_arrow, read_parquet, write_with_checksum
from pippin.data.buffers import TABLE_SUFFIXES, Buffer, Readable, open_buffer, suffix_of, table_format
from pippin.dependencies import require
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn
from pippin.storage.files import atomic_write

_BLOCK = 1 << 18  # bytes compared at once
NULLS = ("", "null", "nan", "na", "n/a", "none")


@dataclass(frozen=True, eq=False)
class SourceTable:
    """A table and its origin."""

    table: Any  # pyarrow.Table
    name: str
    file: str | None = None
    text: memoryview | None = None  # the bytes of a CSV file

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    def error(self, message: str, row: int | None = None, kind: type[DataError] = DataError) -> DataError:
        """Return an error about the table, or about one of its rows (counted from 0)."""
        if row is not None and self.text is not None:
            return kind(message, self.file, line_of_row(self.text, row))
        return kind(message if row is None else f"row {row + 1}: {message}", self.file)

    def describe_row(self, row: int) -> str:
        """Return the line of a row in a CSV file, or its number."""
        return f"row {row + 1}" if self.text is None else f"line {line_of_row(self.text, row)}"

    def column(self, name: str) -> Any:
        """Return a column as one Arrow array."""
        column = self.table.column(self.columns.index(name)).combine_chunks()
        return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column

    def strings(self, name: str) -> Any:
        """Return a column of ids as Arrow strings; whole numbers are converted, missing ids are an error."""
        import pyarrow

        return self._ids(name).cast(pyarrow.large_string())

    def distinct(self, name: str) -> tuple[list[str], NDArray[np.int32]]:
        """Return the distinct ids of a column in order of appearance, and the index of each row's id."""
        import pyarrow

        encoded = self._ids(name).dictionary_encode()  # before the cast, so that only distinct numbers are formatted
        ids: list[str] = encoded.dictionary.cast(pyarrow.large_string()).to_pylist()
        return ids, encoded.indices.to_numpy(zero_copy_only=False)

    def _ids(self, name: str) -> Any:
        """Return a column of ids: strings, whole numbers, or another type that casts to strings."""
        import pyarrow
        from pyarrow import types

        column = self.column(name)
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise self.error(f"the {name} is missing", row)
        if types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            if not (values == np.floor(values)).all():
                raise self.error(f"the column {name!r} must hold strings or whole numbers")
            column = column.cast(pyarrow.int64(), safe=False)
        if types.is_boolean(column.type) or types.is_nested(column.type) or types.is_null(column.type):
            raise self.error(f"the column {name!r} must hold strings or whole numbers, got {column.type}")
        return column

    def is_numeric(self, name: str) -> bool:
        """Return whether a column holds numbers; in CSV the first value that is not missing decides."""
        from pyarrow import types

        if self.text is not None:
            column = self.column(name)
            for start in range(0, len(column), 1024):
                values = _clean(column[start : start + 1024]).drop_null()
                if len(values):
                    return _cast_to_float(values[:1]) is not None
            return True
        column_type = self.column(name).type
        tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
        return any(test(column_type) for test in tests)

    def numbers(self, name: str, quantity: str) -> Any:
        """Return a column as Arrow numbers with null for missing values; errors call a value `quantity`."""
        import pyarrow

        column = self.column(name)
        if self.text is None:
            if not self.is_numeric(name):
                raise self.error(f"the column {name!r} holds {column.type}; expected numbers")
            return column.cast(pyarrow.uint8()) if pyarrow.types.is_boolean(column.type) else column
        numbers = _cast_to_float(column)  # most columns need no cleaning
        if numbers is None:
            cleaned = _clean(column)
            numbers = _cast_to_float(cleaned)
        if numbers is None:
            row = _first_invalid(cleaned)
            raise self.error(f"the {quantity} {column[row].as_py()!r} is not a number", row)
        return numbers


def _clean(column: Any) -> Any:
    """Strip CSV values and replace missing ones by null."""
    import pyarrow
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column)
    missing = compute.is_in(compute.utf8_lower(trimmed), value_set=pyarrow.array(NULLS, trimmed.type))
    return compute.if_else(missing, pyarrow.scalar(None, trimmed.type), trimmed)


def _cast_to_float(strings: Any) -> Any | None:
    """Return strings as float64, or None if one is not a number."""
    import pyarrow

    try:
        return strings.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None


def _first_invalid(strings: Any) -> int:
    """Return the position of the first string that is not a number, by bisection."""
    start, stop = 0, len(strings)
    while stop - start > 1:
        middle = (start + stop) // 2
        if _cast_to_float(strings[start:middle]) is None:
            stop = middle
        else:
            start = middle
    return start


def float_array(numbers: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """Return Arrow numbers as floats, null as NaN."""
    import pyarrow

    target = {np.dtype(np.float32): pyarrow.float32(), np.dtype(np.float64): pyarrow.float64()}[np.dtype(dtype)]
    return np.asarray(numbers.cast(target, safe=False).to_numpy(zero_copy_only=False), dtype)


def to_string_column(strings: Any) -> StringColumn:
    """Return Arrow large strings as a string column over the same memory."""
    _, offsets, buffer = strings.buffers()
    if not len(strings):
        return StringColumn.of([])
    ends = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    data = np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
    return StringColumn(data, ends[:-1], np.diff(ends).astype(np.int32))


def from_string_column(strings: StringColumn) -> Any:
    """Return a string column as Arrow large strings."""
    import pyarrow

    packed = strings.pack()
    offsets = np.append(packed.starts, len(packed.buffer)).astype(np.int64)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(np.ascontiguousarray(packed.buffer))]
    array = pyarrow.Array.from_buffers(pyarrow.large_string(), len(strings), buffers)
    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        raise DataError("an id or comment is not UTF-8, which tables require") from None
    return array


def read_table(path: Readable, format: str | None = None) -> SourceTable:
    """Read a Parquet, CSV or Arrow file; the format is by default that of the file extension."""
    import pyarrow

    name = path.name if isinstance(path, Buffer) else os.fspath(path)
    format = format or table_format(name)
    if format is None:
        raise DataError(f"unknown table format; the file extensions are {', '.join(TABLE_SUFFIXES)}", name)
    opened = open_buffer(path)
    file = opened.name
    try:
        table = {"parquet": read_parquet, "csv": _read_csv, "arrow": read_arrow}[format](opened.data, file)
        table.validate(full=True)
        rows = len(table.column_names) and table.num_rows  # decodes the names, which may not be UTF-8
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, MemoryError) as error:
        raise DataError(f"invalid {format} file ({first_line(error)})", file) from None
    if not rows:
        raise DataError("the table has no rows", file)
    return SourceTable(table, Path(file).name, file, opened.data.data if format == "csv" else None)


def first_line(error: BaseException) -> str:
    """Return the first line of a library's error message."""
    return str(error).strip().split("\n")[0].rstrip(".")


def _read_csv(content: NDArray[np.uint8], file: str) -> Any:
    import pyarrow
    import pyarrow.csv

    buffer, text = pyarrow.py_buffer(content), content.data
    try:
        records = csv_records(text)
        header, _, body = next(records)
    except (StopIteration, csv.Error):
        raise DataError("the first line must name the columns", file, 1) from None
    except UnicodeDecodeError:
        raise _bad_bytes(text, file) from None
    names = [name.strip() for name in header]
    positions = [str(i) for i in range(len(names))]
    try:
        if body >= len(text):  # Arrow rejects empty input
            return pyarrow.table([pyarrow.array([], pyarrow.string())] * len(names), names)
        table = pyarrow.csv.read_csv(
            pyarrow.BufferReader(buffer.slice(body)),
            pyarrow.csv.ReadOptions(column_names=positions, block_size=1 << 22),
            pyarrow.csv.ParseOptions(delimiter=_delimiter(text), newlines_in_values=_has_quotes(text)),
            pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(positions, pyarrow.string())),
        )
    except pyarrow.ArrowInvalid as error:
        raise _csv_error(text, len(names), file, error) from None
    return table.rename_columns(names)


def _has_quotes(text: memoryview) -> bool:
    """Return whether a value may contain a newline; Arrow parses faster if none does."""
    data = np.frombuffer(text, np.uint8)
    return any((data[start : start + _BLOCK] == ord('"')).any() for start in range(0, len(data), _BLOCK))


def _csv_error(text: memoryview, width: int, file: str, error: Exception) -> DataError:
    """Return an error with the line that Arrow cannot read."""
    try:
        for row, line, _ in csv_records(text):
            if len(row) != width:
                return DataError(f"{len(row)} values for {width} columns", file, line)
    except UnicodeDecodeError:
        return _bad_bytes(text, file)
    except csv.Error:
        pass
    return DataError(f"invalid csv file ({first_line(error)})", file)


def _bad_bytes(text: memoryview, file: str) -> DataError:
    try:
        str(text, "utf-8")
    except UnicodeDecodeError as error:
        return DataError("invalid UTF-8", file, 1 + bytes(text[: error.start]).count(b"\n"))
    return DataError("invalid csv file", file)


def _delimiter(text: memoryview) -> str:
    """Return the most frequent of comma, tab and semicolon in the first line."""
    first = bytes(text[: 1 << 16]).split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(",\t;", key=first.count)


def csv_records(text: memoryview) -> Iterator[tuple[list[str], int, int]]:
    """Yield the records of a CSV file that are not blank, each with its first line and the byte after its end."""
    consumed = 0

    def lines() -> Iterator[str]:
        nonlocal consumed
        for line in io.BytesIO(text):
            consumed += len(line)
            yield line.decode()

    source = lines()
    reader = csv.reader(source, delimiter=_delimiter(text))
    before = 0
    for record in reader:
        line, before = before + 1, reader.line_num
        if record:
            if line == 1:
                record[0] = record[0].removeprefix("\ufeff")
            yield record, line, consumed


def line_of_row(text: memoryview, row: int) -> int:
    """Return the line in which a row (from 0, after the header) of a CSV file begins."""
    with suppress(csv.Error):  # a carriage return within a value, which Arrow takes for the end of a line
        for position, (_, line, _) in enumerate(csv_records(text)):
            if position == row + 1:
                return line
    return row + 2


def table_from_frame(frame: Any, name: str = "table") -> SourceTable:
    """Return a frame of pandas, Polars or PyArrow, a dict of columns, or any exporter of Arrow as a table."""
    import pyarrow

    try:
        if isinstance(frame, pyarrow.Table):
            table = frame
        elif type(frame).__module__.split(".")[0] == "pandas":
            has_named_index = any(name is not None for name in frame.index.names)
            table = pyarrow.Table.from_pandas(frame.reset_index() if has_named_index else frame, preserve_index=False)
        elif isinstance(frame, Mapping):
            table = pyarrow.table({str(key): np.asarray(values) for key, values in frame.items()})
        elif type(frame).__name__ == "LazyFrame":
            table = frame.collect().to_arrow()
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pyarrow.table(frame)
        else:
            raise DataError(f"{type(frame).__name__} is not a table of columns")
    except DataError:
        raise
    except (pyarrow.ArrowException, ValueError) as error:
        raise DataError(f"cannot convert the table to columns ({first_line(error)})") from None
    if not table.num_rows:
        raise DataError("the table has no rows")
    return SourceTable(table, name)


def write_table(table: Any, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write an Arrow table atomically as Parquet, CSV or Arrow IPC."""
    format = format or table_format(path)
    if format is None:
        raise DataError(f"unknown table format; the file extensions are {', '.join(TABLE_SUFFIXES)}", os.fspath(path))
    if format == "csv":
        require("writing csv files", "polars")
    with atomic_write(path) as out:
        if format == "csv":
            import polars

            polars.DataFrame(table).write_csv(out, separator="\t" if suffix_of(path) == ".tsv" else ",")
        else:
            write_with_checksum(table, out, format)
