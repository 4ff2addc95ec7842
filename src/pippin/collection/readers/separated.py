"""Tables of text: CSV with a line of headings and quotes, and TSV, whose values have neither quotes nor tabs inside.

A TSV file without headings has two columns, id and text, as MS MARCO's passages.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.files import lines, open_stream
from pippin.collection.readers.base import READERS, Reader, Wanted
from pippin.collection.readers.fields import ID_FIELDS, Row, Table, collect_table
from pippin.collection.readers.jsonl import table_file
from pippin.errors import DataError

CSV, TSV = (".csv", ".csv.gz"), (".tsv", ".tsv.gz")


def _csv_rows(path: Path) -> Iterator[Row]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # documents are longer than the 128 kB Python stops at
    with open_stream(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        number = 1
        try:
            columns = next(reader, [])
            while True:
                number = reader.line_num + 1
                cells = next(reader)
                if cells:
                    yield number, _record(columns, cells, path, number)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"the row cannot be read: {error}", path, number) from None


def _tsv_rows(path: Path) -> Iterator[Row]:
    columns: list[str] = []
    for number, line in lines(path):
        cells = line.split("\t")
        if not columns:
            named = any(cell.strip() in ID_FIELDS for cell in cells)
            columns = [cell.strip() for cell in cells] if named else ["id", "text"]
            if named:
                continue
        yield number, _record(columns, cells, path, number)


def _record(columns: list[str], cells: list[str], path: Path, line: int) -> dict[str, str]:
    if len(cells) != len(columns):
        raise DataError(f"{len(columns)} columns are expected ({', '.join(columns)}), not {len(cells)}", path, line)
    return dict(zip(columns, cells, strict=True))


def _open_csv(wanted: Wanted) -> Collection:
    path = table_file(wanted.path, CSV) or wanted.path
    return collect_table(wanted, Table(lambda: _csv_rows(path), lambda message, line: DataError(message, path, line)))


def _open_tsv(wanted: Wanted) -> Collection:
    path = table_file(wanted.path, TSV) or wanted.path
    return collect_table(wanted, Table(lambda: _tsv_rows(path), lambda message, line: DataError(message, path, line)))


READERS.register(
    "csv", Reader("`.csv` with headings; a folder with `documents.csv`", lambda p: bool(table_file(p, CSV)), _open_csv)
)
READERS.register("tsv", Reader("`.tsv` with headings, or id and text", lambda p: bool(table_file(p, TSV)), _open_tsv))
