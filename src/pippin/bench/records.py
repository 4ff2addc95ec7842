"""What the files of a results folder say, verified as they are read: sealed records, and cells with their files.

Every JSON file here ends with its own checksum, and `cell.json` holds those of the other files of its cell (see
`pippin.manifest`). A record is also held to the shape that readers rely on, because a checksum can be forged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.bench.frame import Frame
from pippin.bench.parquet import read_table
from pippin.errors import DataError
from pippin.manifest import Format, checksum, fits, read_sealed, seal

FORMAT = Format(
    "pippin results", 2, "folder of results", "run the same `pippin bench` into a new folder", "results.json"
)
KEY = ("data", "fold", "ranker", "convention", "seed")
NUMBER = (float, int, None)
COSTS = (
    *(f"{work}_{kind}" for work in ("select", "train", "predict", "evaluate")
      for kind in ("seconds", "processor_seconds")), "peak_bytes",
)  # fmt: skip
_NAMED = {"data": str, "fold": str, "ranker": str, "convention": str, "seed": int}
_COUNTS = {"queries": int, "documents": int, "relevant": int}
SHAPES: Mapping[str, Any] = {
    "cell": {
        **_NAMED, "means": {str: {str: NUMBER}}, "versions": {str: str}, "importance": ({str: NUMBER}, None),
        "selected": {"parameters": dict, "value": NUMBER}, "digests": {"test": str}, "files": {str: str},
    },
    "cost": dict.fromkeys(COSTS, NUMBER),
    "failure": {"reason": str},
    "places": {"places": {str: {str: str}}},
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
    """A record of the results, verified."""
    record = read_sealed(path)
    if not fits(record, SHAPES[kind]):
        raise DataError(f"damaged: this file does not say what a {kind} is", path)
    if kind == "data" and "sampled" in record and not _is_sampled(record["sampled"]):
        raise DataError("damaged: this file does not say what a sample lost", path)
    if kind == "plan":
        for entry in record["cells"]:
            # They name files, and must not lead out of the folder.
            if not (entry["address"].isalnum() and entry["digest"].isalnum()):
                raise DataError("damaged: a cell of this plan has no address", path)
    return record


def _is_sampled(record: Any) -> bool:
    """Whether this is what results keep of a built data set's sample."""
    return fits(record, SHAPES["sampled"]) and all(
        len(pair) == 2 and 0 <= pair[0] < pair[1] for pair in record["partial"].values()
    )


def cell_files(record: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a cell: `cell.json`, which seals them all, and the others."""
    sums = {name: checksum(content) for name, content in files.items()}
    return {"cell.json": seal({**record, "files": sums}), **files}


@dataclass(frozen=True)
class Cell:
    """One finished cell."""

    path: Path
    record: Mapping[str, Any]  # cell.json

    @classmethod
    def open(cls, path: Path) -> Cell:
        """The cell of a folder; its record is verified, its files when they are read."""
        return cls(path, read_record(path / "cell.json", "cell"))

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """Data, fold, ranker, convention, seed."""
        return tuple(self.record[name] for name in KEY)

    @property
    def address(self) -> str:
        """The name of its folder."""
        return self.path.name

    @property
    def model(self) -> Path:
        """The file of the model, verified."""
        names = [str(name) for name in self.record["files"] if name.startswith("model.") and "/" not in name]
        if not names:
            raise DataError("damaged: this cell has no model", self.path)
        self.read(names[0])
        return self.path / names[0]

    def read(self, name: str) -> bytes:
        """The bytes of one of its files, verified."""
        file = self.path / name
        try:
            content = file.read_bytes()
        except OSError:
            raise DataError("damaged: this file of a cell is missing or cannot be read", file) from None
        if checksum(content) != self.record["files"].get(name):
            raise DataError("damaged: this file is not what was written (its checksum differs)", file)
        return content

    def verify(self) -> None:
        """Read every file and compare."""
        for name in self.record["files"]:
            self.read(name)

    def values(self) -> Frame:
        """Tool, measure, query, value; NaN where a query does not count."""
        return self._table("values.parquet", ("tool", "measure", "query"), ("value",))

    def scores(self) -> Frame:
        """Query, document, label, score, in the order of the test part."""
        return self._table("scores.parquet", ("query",), ("label", "score"), optional=("document",))

    def _table(self, name: str, texts: Sequence[str], numbers: Sequence[str], *, optional: Sequence[str] = ()) -> Frame:
        return read_table(self.read(name), self.path / name, texts, numbers, optional=optional)


def is_whole(path: Path) -> bool:
    """Whether a cell is there and everything in it is what was written."""
    try:
        Cell.open(path).verify()
    except DataError:
        return False
    return True
