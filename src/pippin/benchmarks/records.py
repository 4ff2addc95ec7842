"""Records and cells of a results folder, verified when they are read.

Every JSON file ends with its own checksum, and `cell.json` holds the checksums of the other files of its cell (see
`pippin.storage.manifest`). Records are also validated against a schema, because a checksum can be forged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.storage.manifest import FolderFormat, checksum, dump_with_checksum, matches_schema, read_with_checksum

if TYPE_CHECKING:
    from pyarrow import Table

FORMAT = FolderFormat(
    "pippin results", 3, "folder of results", "run the same `pippin bench` into a new folder", "results.json"
)
KEY = ("data", "fold", "ranker", "convention", "seed")
NUMBER = (float, int, None)
COSTS = (
    *(f"{work}_{kind}" for work in ("select", "train", "predict", "evaluate")
      for kind in ("seconds", "processor_seconds")), "peak_bytes",
)  # fmt: skip
_NAMED = {"data": str, "fold": str, "ranker": str, "convention": str, "seed": int}
_COUNTS = {"queries": int, "documents": int, "relevant": int}
SCHEMAS: Mapping[str, Any] = {
    "cell": {
        **_NAMED, "means": {str: {str: NUMBER}}, "versions": {str: str}, "importance": ({str: NUMBER}, None),
        "selected": {"parameters": dict, "value": NUMBER}, "digests": {"test": str}, "files": {str: str},
    },
    "cost": dict.fromkeys(COSTS, NUMBER),
    "failure": {"reason": str},
    "locations": {"locations": {str: {str: str}}},
    "data": {
        "data": str, "fold": str, "digest": str, "features": int, "feature_names": [str], "parts": {str: _COUNTS},
        "digests": {str: str}, "audit": dict,
    },
    "sampled": {
        "relevant": int, "lost": int, "partial": {str: [int]},
        "ceilings": {"sample": {str: NUMBER}, "judged": {str: NUMBER}},
    },
    "plan": {
        "runs": [{"command": str, "plan": {"tools": object, "measures": object, "select": object}}],
        "cells": [{**_NAMED, "address": str, "digest": str}],
    },
}  # fmt: skip


def read_record(path: Path, kind: str) -> dict[str, Any]:
    """Read and verify a record of the results."""
    record = read_with_checksum(path)
    is_valid = matches_schema(record, SCHEMAS[kind])
    if is_valid and kind == "data" and "sampled" in record:
        is_valid = matches_schema(record["sampled"], SCHEMAS["sampled"]) and all(
            len(pair) == 2 and 0 <= pair[0] < pair[1] for pair in record["sampled"]["partial"].values()
        )
    if is_valid and kind == "plan":  # addresses and digests name files and must not lead out of the folder
        is_valid = all(entry["address"].isalnum() and entry["digest"].isalnum() for entry in record["cells"])
    if not is_valid:
        raise DataError(f"damaged: this file does not match the schema of a {kind} record", path)
    return record


def cell_files(record: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a cell with `cell.json`, which holds the checksums of the others."""
    sums = {name: checksum(content) for name, content in files.items()}
    return {"cell.json": dump_with_checksum({**record, "files": sums}), **files}


@dataclass(frozen=True)
class Cell:
    """One finished cell."""

    path: Path
    record: Mapping[str, Any]  # cell.json

    @classmethod
    def open(cls, path: Path) -> Cell:
        """Open the cell of a folder and verify its record; the files are verified when they are read."""
        return cls(path, read_record(path / "cell.json", "cell"))

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """Data, fold, ranker, convention and seed."""
        return tuple(self.record[name] for name in KEY)

    @property
    def address(self) -> str:
        """The name of the cell's folder."""
        return self.path.name

    @property
    def model(self) -> Path:
        """The path of the verified model file."""
        names = [str(name) for name in self.record["files"] if name.startswith("model.") and "/" not in name]
        if not names:
            raise DataError("damaged: the cell lacks its model", self.path)
        self.read(names[0])
        return self.path / names[0]

    def read(self, name: str) -> bytes:
        """Read and verify one file of the cell."""
        file = self.path / name
        try:
            content = file.read_bytes()
        except OSError:
            raise DataError("damaged: this file of a cell is missing or cannot be read", file) from None
        if checksum(content) != self.record["files"].get(name):
            raise DataError("damaged: the checksum of this file differs from the recorded one", file)
        return content

    def verify(self) -> None:
        """Read and verify every file of the cell."""
        for name in self.record["files"]:
            self.read(name)

    def values(self) -> Table:
        """Return tool, measure, query and value (null if the query does not count)."""
        return self._table("values.parquet", ("tool", "measure", "query"), ("value",))

    def scores(self) -> Table:
        """Return query, document (null if the data have no ids), label and score, in the order of the test part."""
        return self._table("scores.parquet", ("query", "document"), ("label", "score"))

    def _table(self, name: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
        """Return these columns of a Parquet file of the cell."""
        import pyarrow
        from pyarrow import parquet, types

        content = self.read(name)
        try:
            table = parquet.read_table(pyarrow.BufferReader(content)).select([*texts, *numbers])
        except (pyarrow.ArrowException, OSError, ValueError, LookupError) as error:
            raise DataError(f"damaged: not a table of a cell ({error})", self.path / name) from None
        kinds = [*((column, types.is_dictionary) for column in texts), *((column, _is_number) for column in numbers)]
        for column, is_kind in kinds:
            if not is_kind(table.schema.field(column).type):
                raise DataError(f"damaged: column {column} of a cell has the wrong type", self.path / name)
        return table


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def write_table(columns: Mapping[str, Sequence[str | None] | NDArray[Any]]) -> bytes:
    """Return columns as the bytes of a Parquet file: texts as dictionaries, NaN as null.

    Equal columns give equal bytes under one version of pyarrow, which is part of a cell's identity.
    """
    import pyarrow
    from pyarrow import parquet

    arrays = {
        name: pyarrow.array(values, from_pandas=True)
        if isinstance(values, np.ndarray)
        else pyarrow.array(values, pyarrow.string()).dictionary_encode()
        for name, values in columns.items()
    }
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(arrays), sink, compression="zstd")
    return bytes(sink.getvalue())


def is_intact(path: Path) -> bool:
    """Return whether a cell exists and all its checksums match."""
    try:
        Cell.open(path).verify()
    except DataError:
        return False
    return True
