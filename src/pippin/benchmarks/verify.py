"""Verify the checksums of everything that Pippin wrote below a folder.

Indexes, stores, folds, results, models and tables with checksums are read in full. Folders inside a verified folder are
visited as well: the store in a built data set is verified with the data set and on its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pippin.benchmarks import records
from pippin.collections.index import storage as index_files
from pippin.collections.links import link_index
from pippin.data import arrow_files, buffers, partitions, store
from pippin.data.arrow_table import read_table
from pippin.data.buffers import table_format
from pippin.errors import DataError, PippinError
from pippin.storage.manifest import FolderFormat, has_valid_checksum

FORMATS = (
    buffers.built_format(), store.FOLDS_FORMAT, store.FORMAT, partitions.FORMAT, index_files.FORMAT, link_index.FORMAT,
)  # fmt: skip
_MODEL_SUFFIXES = (".json", ".safetensors")
_RECORDS = {"plan.json": "plan", "locations.json": "locations", "data/*.json": "data", "costs/*.json": "cost",
            "failures/*.json": "failure"}  # fmt: skip


@dataclass(frozen=True)
class Verification:
    """One verified file or folder."""

    path: str
    kind: str  # index, store, results, model …
    files: int
    bytes: int
    damage: str = ""  # a sentence if checksums differ
    unverified: bool = False  # the file has no checksum

    @property
    def state(self) -> str:
        """ "whole", "damaged" or "unverified"."""
        return "damaged" if self.damage else "unverified" if self.unverified else "whole"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON record."""
        return {"path": self.path, "kind": self.kind, "files": self.files, "bytes": self.bytes, "state": self.state,
                "damage": self.damage or None}  # fmt: skip


def verify(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Verification]:
    """Verify everything that Pippin wrote at a path and below it.

    Every byte is read and compared with the checksums that were written with it.

    Parameters
    ----------
    path : path or sequence of paths
        Files and folders: indexes, stores, partitions, built data sets, results, models, Parquet and Arrow files.

    Returns
    -------
    list of Verification
        Each file or folder with its state: "whole", "damaged" or "unverified".

    Raises
    ------
    DataError
        If a path does not exist, or contains nothing that can be verified.

    Examples
    --------
    >>> import pippin, tempfile
    >>> data = pippin.Dataset.from_arrays([[0.0], [1.0]], [0, 1], [1, 1])
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> pippin.save(pippin.train(data, "regression"), file)
    >>> [verification.state for verification in pippin.verify(file)]
    ['whole']
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    return [verification for name in paths for verification in _verify_path(Path(name))]


def _verify_path(path: Path) -> list[Verification]:
    if not os.path.lexists(path):
        raise DataError("no such file or folder", path)
    verifications = list(_verify_folder(path)) if path.is_dir() else [_verify_file(path)]
    if not verifications:
        raise DataError("found nothing that Pippin wrote with checksums", path)
    return verifications


def _verify_folder(folder: Path) -> Iterator[Verification]:
    """Verify a folder, then the files and folders in it."""
    format = next((candidate for candidate in FORMATS if candidate.is_at(folder)), None)
    is_results = records.FORMAT.is_at(folder)
    internal = {"cells", "data", "costs", "failures", ".new"} if is_results else set()
    if format is not None:
        yield _check(folder, format.label, partial(_check_manifest, folder, format))
    elif is_results:
        yield from _verify_results(folder)
    with os.scandir(folder) as entries:
        names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in names:
        path = folder / name
        if is_folder and name not in internal:
            yield from _verify_folder(path)
        elif not is_folder and format is None and not is_results and (_is_table(path) or _is_model(path)):
            yield _verify_file(path)


def _check(path: Path, kind: str, check: Callable[[], tuple[int, int]]) -> Verification:
    """Run a check that returns the numbers of files and bytes, or raises if the path is damaged."""
    try:
        return Verification(os.fspath(path), kind, *check())
    except PippinError as error:
        sentence = error.message if isinstance(error, DataError) else str(error)
        return Verification(os.fspath(path), kind, 0, 0, sentence)


def _check_manifest(folder: Path, format: FolderFormat) -> tuple[int, int]:
    manifest = format.read(folder)
    return len(manifest.files), manifest.verify()


def _verify_results(folder: Path) -> Iterator[Verification]:
    """Verify a folder of results as a whole, then yield each damaged record and cell."""

    def check_head() -> tuple[int, int]:
        records.FORMAT.read_record(folder)
        return 1, (folder / records.FORMAT.file).stat().st_size

    parts = [
        _check(file, f"record of a {kind}", partial(_check_record, file, kind))
        for pattern, kind in _RECORDS.items() for file in sorted(folder.glob(pattern))
    ]  # fmt: skip
    cells = sorted(path for path in (folder / "cells").glob("*") if path.is_dir())
    parts += [_check(cell, "cell", partial(_check_cell, cell)) for cell in cells]
    head = _check(folder, records.FORMAT.label, check_head)
    files, size = (sum(getattr(part, name) for part in [head, *parts]) for name in ("files", "bytes"))
    yield replace(head, files=files, bytes=size)
    yield from (part for part in parts if part.damage)


def _check_record(file: Path, kind: str) -> tuple[int, int]:
    records.read_record(file, kind)
    return 1, file.stat().st_size


def _check_cell(folder: Path) -> tuple[int, int]:
    cell = records.Cell.open(folder)
    cell.verify()
    files = [folder / "cell.json", *(folder / name for name in cell.record["files"])]
    return len(files), sum(file.stat().st_size for file in files)


def _is_table(path: Path) -> bool:
    return table_format(path) in ("parquet", "arrow")


def _is_model(path: Path, suffixes: Sequence[str] = _MODEL_SUFFIXES) -> bool:
    if not path.name.endswith(tuple(suffixes)):
        return False
    try:
        with path.open("rb") as file:
            return b"pippin-model" in file.read(4096)
    except OSError:
        return False


def _verify_file(path: Path) -> Verification:
    from pippin.rankers import models

    size = path.stat().st_size if path.exists() else 0

    def check_model() -> tuple[int, int]:
        models.load(path)
        return 1, size

    def check_built_file() -> tuple[int, int]:
        buffers.verify_built_file(path)
        return 1, size

    if _is_table(path):
        return _verify_table(path, table_format(path) or "", size)
    if _is_model(path, suffixes=("",)):
        return _check(path, "model", check_model)
    try:
        content = path.read_bytes() if size < 1 << 24 else b""
        folder = buffers.find_build_root(path)
    except OSError as error:
        raise DataError(f"cannot read the file ({error.strerror or error})", path) from None
    if content and has_valid_checksum(content):
        return Verification(os.fspath(path), "record", 1, size)
    if folder is None:
        raise DataError("Pippin did not write this file with a checksum", path)
    return _check(path, "file of a data set", check_built_file)


def _verify_table(path: Path, format: str, size: int) -> Verification:
    """Verify a Parquet or Arrow file by its own checksum, or by the checksums of its pages if it has any."""
    has_checksum = False

    def check() -> tuple[int, int]:
        nonlocal has_checksum
        buffer = buffers.open_buffer(path)
        try:
            has_checksum = arrow_files.verify(np.asarray(buffer.data), format)
        except ValueError as error:
            raise DataError(str(error), path) from None
        read_table(buffer, format)
        return 1, size

    verification = _check(path, f"{format} table", check)
    return replace(verification, unverified=not has_checksum)
