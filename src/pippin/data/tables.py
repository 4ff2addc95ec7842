"""Files of columns and data frames as Arrow tables, with the place of every row kept for error messages.

What stands in this file, and in which line? `read_sheet` opens Parquet, CSV and Arrow IPC, `sheet_of` takes anything
that speaks Arrow (pandas, Polars, PyArrow, a dict of columns); `write_table` is the way back. What the columns mean is
decided in `columns.py`. A CSV sheet holds texts only: numbers are read from it column by column, so that one that is no
number can be named with its line.
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

from pippin.data.buffers import Buffer, Readable, open_buffer
from pippin.data.packing import CHUNK, pack
from pippin.data.table_files import read_arrow, read_parquet, write_sealed
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.extras import need
from pippin.files import atomic_write

# file name ending -> form
ENDINGS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".csv": "csv", ".tsv": "csv",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
NULLS = ("", "null", "nan", "na", "n/a", "none")


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table and where it came from; `line` tells the line of a row where the file has lines."""

    table: Any  # pyarrow.Table
    name: str
    file: str | None = None
    text: memoryview | None = None  # the bytes of a CSV file

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    def error(self, message: str, row: int | None = None) -> DataError:
        """An error about this sheet, or about one of its rows (counted from 0 here, from 1 in the message)."""
        if row is not None and self.text is not None:
            return DataError(message, self.file, line_of_row(self.text, row))
        return DataError(message if row is None else f"row {row + 1}: {message}", self.file)

    def place(self, row: int) -> str:
        """A row in words."""
        return f"row {row + 1}" if self.text is None else f"line {line_of_row(self.text, row)}"

    def column(self, name: str) -> Any:
        """One column as a single Arrow array."""
        column = self.table.column(self.columns.index(name)).combine_chunks()
        return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column

    def texts(self, name: str) -> Any:
        """A column of ids as an Arrow array of texts without gaps; whole numbers count as texts."""
        import pyarrow

        return self._ids(name).cast(pyarrow.large_string())

    def distinct(self, name: str) -> tuple[list[str], NDArray[np.int32]]:
        """The different ids of a column as texts, in the order in which they appear, and which of them each row has."""
        import pyarrow

        encoded = self._ids(name).dictionary_encode()  # numbers by their value: only the different ones become texts
        ids: list[str] = encoded.dictionary.cast(pyarrow.large_string()).to_pylist()
        return ids, encoded.indices.to_numpy(zero_copy_only=False)

    def _ids(self, name: str) -> Any:
        """A column of ids without gaps: texts, whole numbers, and whatever else has a text of its own."""
        import pyarrow
        from pyarrow import types

        column = self.column(name)
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise self.error(f"there is no {name}", row)
        if types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            if not (values == np.floor(values)).all():
                raise self.error(f"the column {name!r} must hold texts or whole numbers")
            column = column.cast(pyarrow.int64(), safe=False)
        if types.is_boolean(column.type) or types.is_nested(column.type) or types.is_null(column.type):
            raise self.error(f"the column {name!r} must hold texts or whole numbers, not {column.type}")
        return column

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers; in CSV its first value that is not missing decides."""
        from pyarrow import types

        if self.text is not None:
            column = self.column(name)
            for begin in range(0, len(column), 1024):
                values = _clean(column[begin : begin + 1024]).drop_null()
                if len(values):
                    return _cast_to_float(values[:1]) is not None
            return True
        kind = self.column(name).type
        tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
        return any(test(kind) for test in tests)

    def numbers(self, name: str, what: str) -> Any:
        """A column as an Arrow array of numbers, missing values as null; `what` is its word in an error."""
        import pyarrow

        column = self.column(name)
        if self.text is None:
            if not self.is_numeric(name):
                raise self.error(f"the column {name!r} holds {column.type}, and a {what} is a number")
            return column.cast(pyarrow.uint8()) if pyarrow.types.is_boolean(column.type) else column
        numbers = _cast_to_float(column)  # most columns need no cleaning
        if numbers is None:
            cleaned = _clean(column)
            numbers = _cast_to_float(cleaned)
        if numbers is None:
            row = _first_bad(cleaned)
            raise self.error(f"the {what} {column[row].as_py()!r} is not a number", row)
        return numbers


def _clean(column: Any) -> Any:
    """CSV values without blanks around them, and null where one is missing."""
    import pyarrow
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column)
    missing = compute.is_in(compute.utf8_lower(trimmed), value_set=pyarrow.array(NULLS, trimmed.type))
    return compute.if_else(missing, pyarrow.scalar(None, trimmed.type), trimmed)


def _cast_to_float(texts: Any) -> Any | None:
    """Texts as float64, or None where one is no number."""
    import pyarrow

    try:
        return texts.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return None


def _first_bad(texts: Any) -> int:
    """The position of the first text that is no number (there is one)."""
    begin, end = 0, len(texts)
    while end - begin > 1:
        middle = (begin + end) // 2
        if _cast_to_float(texts[begin:middle]) is None:
            end = middle
        else:
            begin = middle
    return begin


def float_array(numbers: Any, dtype: Any = np.float64) -> NDArray[Any]:
    """An Arrow array of numbers as floats, null as NaN."""
    import pyarrow

    target = {np.dtype(np.float32): pyarrow.float32(), np.dtype(np.float64): pyarrow.float64()}[np.dtype(dtype)]
    return np.asarray(numbers.cast(target, safe=False).to_numpy(zero_copy_only=False), dtype)


def to_texts(strings: Any) -> Texts:
    """An Arrow array of large strings as a text column over the same memory."""
    _, offsets, buffer = strings.buffers()
    if not len(strings):
        return Texts.of([])
    ends = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    held = np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)
    return Texts(held, ends[:-1], np.diff(ends).astype(np.int32))


def from_texts(texts: Texts) -> Any:
    """A text column as an Arrow array of large strings."""
    import pyarrow

    packed = pack(texts)
    offsets = np.append(packed.starts, len(packed.buffer)).astype(np.int64)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(np.ascontiguousarray(packed.buffer))]
    array = pyarrow.Array.from_buffers(pyarrow.large_string(), len(texts), buffers)
    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        raise DataError("an id or comment is not UTF-8, and a table holds nothing else") from None
    return array


def form_of(path: str | os.PathLike[str]) -> str | None:
    """parquet, csv or arrow, by the ending of the name (`.gz` after it is allowed); None for anything else.

    >>> form_of("a/b.csv.gz"), form_of("b.pq"), form_of("b.txt")
    ('csv', 'parquet', None)
    """
    return ENDINGS.get(Path(os.fspath(path).lower().removesuffix(".gz")).suffix)


def read_sheet(path: Readable, form: str | None = None) -> Sheet:
    """The table in a Parquet, CSV or Arrow file; `form` overrides the ending of the name."""
    need("a table of columns (Parquet, CSV, Arrow)", "pyarrow")
    import pyarrow

    name = path.name if isinstance(path, Buffer) else os.fspath(path)
    form = form or form_of(name)
    if form is None:
        raise DataError(f"not a table by its name; tables end in {', '.join(ENDINGS)}", name)
    opened = open_buffer(path)
    file = opened.name
    try:
        table = {"parquet": read_parquet, "csv": _read_csv, "arrow": read_arrow}[form](opened.data, file)
        table.validate(full=True)
        rows = len(table.column_names) and table.num_rows  # looks at the names, which may be no UTF-8
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, MemoryError) as error:
        raise DataError(f"not a readable {form} file ({first_line(error)})", file) from None
    if not rows:
        raise DataError("there are columns but no rows", file)
    return Sheet(table, Path(file).name, file, opened.data.data if form == "csv" else None)


def first_line(error: BaseException) -> str:
    """What a library says of an error, without what it adds for programmers."""
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
        if body >= len(text):  # Arrow takes no empty input
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
    """Whether there may be a newline inside a value, which costs Arrow its speed to look for."""
    data = np.frombuffer(text, np.uint8)
    return any((data[begin : begin + CHUNK] == ord('"')).any() for begin in range(0, len(data), CHUNK))


def _csv_error(text: memoryview, width: int, file: str, error: Exception) -> DataError:
    """The first line that is to blame when Arrow cannot read a CSV file."""
    try:
        for row, line, _ in csv_records(text):
            if len(row) != width:
                return DataError(f"{len(row)} values for {width} columns", file, line)
    except UnicodeDecodeError:
        return _bad_bytes(text, file)
    except csv.Error:
        pass
    return DataError(f"not a readable csv file ({first_line(error)})", file)


def _bad_bytes(text: memoryview, file: str) -> DataError:
    try:
        str(text, "utf-8")
    except UnicodeDecodeError as error:
        return DataError("bytes that are not UTF-8", file, 1 + bytes(text[: error.start]).count(b"\n"))
    return DataError("not a readable csv file", file)


def _delimiter(text: memoryview) -> str:
    """Comma, tab or semicolon: whichever the first line has most of."""
    first = bytes(text[: 1 << 16]).split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(",\t;", key=first.count)


def csv_records(text: memoryview) -> Iterator[tuple[list[str], int, int]]:
    """Records of a CSV file that are not blank, each with its first line and the byte after its end."""
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
    """The line in which row `row` (from 0, after the header) of a CSV file begins."""
    with suppress(csv.Error):  # of a carriage return within a value, which Arrow takes for the end of a line
        for position, (_, line, _) in enumerate(csv_records(text)):
            if position == row + 1:
                return line
    return row + 2


def sheet_of(frame: Any, name: str = "table") -> Sheet:
    """A data frame as a sheet: pandas, Polars, PyArrow, a dict of columns, or anything that exports Arrow."""
    need("a table of columns", "pyarrow")
    import pyarrow

    try:
        if isinstance(frame, pyarrow.Table):
            table = frame
        elif type(frame).__module__.split(".")[0] == "pandas":
            named = frame.reset_index() if any(n is not None for n in frame.index.names) else frame
            table = pyarrow.Table.from_pandas(named, preserve_index=False)
        elif isinstance(frame, Mapping):
            table = pyarrow.table({str(key): np.asarray(values) for key, values in frame.items()})
        elif type(frame).__name__ == "LazyFrame":
            table = frame.collect().to_arrow()
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pyarrow.table(frame)
        else:
            raise DataError(f"a {type(frame).__name__} is not a table of columns")
    except DataError:
        raise
    except (pyarrow.ArrowException, ValueError) as error:
        raise DataError(f"this table does not turn into columns ({first_line(error)})") from None
    if not table.num_rows:
        raise DataError("there are columns but no rows")
    return Sheet(table, name)


def write_table(table: Any, path: str | os.PathLike[str], form: str | None = None) -> None:
    """Write an Arrow table as Parquet, CSV or Arrow IPC; nothing is left half-written."""
    file = os.fspath(path)
    form = form or form_of(path)
    if form is None:
        raise DataError(f"not a table by its name; tables end in {', '.join(ENDINGS)}", file)
    need(f"writing {form} files", "polars", "pyarrow")
    with atomic_write(path) as out:
        if form in ("parquet", "arrow"):
            write_sealed(table, out, form)
        else:
            import polars

            tab = file.lower().removesuffix(".gz").endswith(".tsv")
            polars.DataFrame(table).write_csv(out, separator="\t" if tab else ",")
