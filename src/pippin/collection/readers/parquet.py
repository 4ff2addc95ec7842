"""Parquet files with named columns, read a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.readers.base import READERS, Reader, Wanted
from pippin.collection.readers.fields import Row, Table, collect_table
from pippin.collection.readers.jsonl import table_file
from pippin.errors import DataError

ENDINGS = (".parquet", ".pq")
BATCH = 1024


def _rows(path: Path) -> Iterator[Row]:
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path, memory_map=True) as file:
            for batch in file.iter_batches(BATCH):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"the Parquet file cannot be read after row {number:,}: {error}", path) from None


def _open(wanted: Wanted) -> Collection:
    path = table_file(wanted.path, ENDINGS) or wanted.path

    def error(message: str, row: int | None) -> DataError:
        return DataError(message if row is None else f"row {row}: {message}", path)

    return collect_table(wanted, Table(lambda: _rows(path), error))


READERS.register(
    "parquet",
    Reader("`.parquet`; a folder with `documents.parquet`", lambda path: bool(table_file(path, ENDINGS)), _open),
)
