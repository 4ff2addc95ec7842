"""Small tables of scores: a matrix of per-query values (a column a system), or a leaderboard (a row a system)."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.data.buffers import open_buffer
from pippin.errors import DataError
from pippin.extras import need

_QUERY_NAMES = {"", "query", "query_id", "qid", "topic", "topic_id"}


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows of numbers under column names; NaN is a gap. `rows` names the rows, or is empty."""

    values: NDArray[np.float64]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    file: str


def read_matrix(path: str) -> Matrix:
    """A table of numbers: CSV, tab- or blank-separated text, or Parquet, with or without a first row of names.

    A first column of texts, or one headed query, qid or topic, names the rows. An empty cell is a gap (NaN).
    """
    if Path(path).suffix.lower() == ".parquet":
        names, table = _parquet(path)
        lines = list(range(1, len(table) + 1))
    else:
        names, table, lines = _text(path)
    named = (bool(names) and names[0].strip().lower() in _QUERY_NAMES) or any(not _is_number(row[0]) for row in table)
    rows = tuple(row[0] for row in table) if named else ()
    if named:
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
        raise DataError(f"{text!r} is no number", path, line) from None


def _parquet(path: str) -> tuple[list[str], list[list[str]]]:
    need("a Parquet file", "polars")
    import polars

    try:
        frame = polars.read_parquet(path)
    except FileNotFoundError:
        raise DataError("there is no such file", path) from None
    except (polars.exceptions.PolarsError, OSError) as error:
        raise DataError(f"not a Parquet file ({error})", path) from None
    return frame.columns, [["" if cell is None else str(cell) for cell in row] for row in frame.rows()]


def _text(path: str) -> tuple[list[str], list[list[str]], list[int]]:
    """(header or nothing, rows, their line numbers)."""
    data = open_buffer(path).data.tobytes()
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("not UTF-8 text", path, data.count(b"\n", 0, error.start) + 1) from None
    numbered = [(n, line) for n, line in enumerate(content.splitlines(), 1) if line.strip()]
    if not numbered:
        raise DataError("the file is empty", path)
    mark = "," if "," in numbered[0][1] else "\t" if "\t" in numbered[0][1] else None
    cells = [next(csv.reader([line], delimiter=mark)) if mark else line.split() for _, line in numbered]
    width = len(cells[0])
    for (number, _), row in zip(numbered, cells, strict=True):
        if len(row) != width:
            raise DataError(f"{len(row)} columns, where the first line has {width}", path, number)
    lines = [number for number, _ in numbered]
    header = all(not _is_number(cell) or not cell.strip() for cell in cells[0]) and (width > 1 or len(cells) > 1)
    if header and len(cells) == 1:
        raise DataError("there is a row of names and nothing below it", path, lines[0])
    return (cells[0], cells[1:], lines[1:]) if header else ([], cells, lines)
