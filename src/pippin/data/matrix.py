"""Small tables of numbers: per-query values (a column per system), or a leaderboard (a row per system)."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import open_buffer
from pippin.dependencies import require
from pippin.errors import DataError

_QUERY_NAMES = {"", "query", "query_id", "qid", "topic", "topic_id"}


@dataclass(frozen=True, eq=False)
class Matrix:
    """Numbers under column names; NaN is a missing value. `rows` has the names of the rows, or is empty."""

    values: NDArray[np.float64]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    file: str


def read_matrix(path: str) -> Matrix:
    """Read CSV, tab- or blank-separated text, or Parquet, with or without a header.

    A first column of strings, or one with the header query, qid or topic, names the rows. An empty cell is NaN.
    """
    if Path(path).suffix.lower() == ".parquet":
        names, table = _read_parquet(path)
        lines = list(range(1, len(table) + 1))
    else:
        names, table, lines = _read_text(path)
    has_row_names = bool(names) and names[0].strip().lower() in _QUERY_NAMES
    has_row_names = has_row_names or any(not _is_number(row[0]) for row in table)
    rows = tuple(row[0] for row in table) if has_row_names else ()
    if has_row_names:
        names, table = names[1:], [row[1:] for row in table]
    values = np.array(
        [[_number(cell, path, line) for cell in row] for row, line in zip(table, lines, strict=True)], np.float64
    ).reshape(len(table), -1)
    columns = tuple(names) if names else tuple(str(i + 1) for i in range(values.shape[1]))
    return Matrix(values, columns, rows, path)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def _number(text: str, path: str, line: int) -> float:
    if not text.strip():
        return math.nan
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{text!r} is not a number", path, line) from None


def _read_parquet(path: str) -> tuple[list[str], list[list[str]]]:
    require("a Parquet file", "polars")
    import polars

    try:
        frame = polars.read_parquet(path)
    except FileNotFoundError:
        raise DataError("there is no such file", path) from None
    except (polars.exceptions.PolarsError, OSError) as error:
        raise DataError(f"invalid Parquet file ({error})", path) from None
    return frame.columns, [["" if cell is None else str(cell) for cell in row] for row in frame.rows()]


def _read_text(path: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the header or an empty list, the rows, and their line numbers."""
    data = open_buffer(path).data.tobytes()
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("invalid UTF-8", path, data.count(b"\n", 0, error.start) + 1) from None
    numbered = [(n, line) for n, line in enumerate(content.splitlines(), 1) if line.strip()]
    if not numbered:
        raise DataError("the file is empty", path)
    delimiter = "," if "," in numbered[0][1] else "\t" if "\t" in numbered[0][1] else None
    cells = [next(csv.reader([line], delimiter=delimiter)) if delimiter else line.split() for _, line in numbered]
    width = len(cells[0])
    for (number, _), row in zip(numbered, cells, strict=True):
        if len(row) != width:
            raise DataError(f"{len(row)} columns, but the first line has {width}", path, number)
    lines = [number for number, _ in numbered]
    header = all(not _is_number(cell) or not cell.strip() for cell in cells[0]) and (width > 1 or len(cells) > 1)
    if header and len(cells) == 1:
        raise DataError("the file has a header but no rows", path, lines[0])
    return (cells[0], cells[1:], lines[1:]) if header else ([], cells, lines)
