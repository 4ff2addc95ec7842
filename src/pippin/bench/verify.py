"""Is everything that Pippin wrote here still what it wrote? Finds every index, store, set of folds, folder of results,
model and sealed table at a path, and below it, and reads every byte of them.

What lies inside something that was found is part of it, and its folders are looked at as well: the store in a built
data set is verified with the data set, and for itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pippin.bench import records
from pippin.collection import index_files, web
from pippin.data import built, fold_store, partitions, store, table_files
from pippin.data.tables import form_of
from pippin.errors import DataError, PippinError
from pippin.manifest import Format, is_sealed

FORMATS = (
    built.built_format(), fold_store.FORMAT, store.FORMAT, partitions.FORMAT, index_files.FORMAT, web.FORMAT,
)  # fmt: skip
_MODELS = (".json", ".safetensors")


@dataclass(frozen=True)
class Verified:
    """One thing that was looked at."""

    path: str
    what: str  # index, store, results, model …
    files: int
    bytes: int
    damage: str = ""  # a sentence where it is not what was written
    unverified: bool = False  # there is nothing to compare it with

    @property
    def state(self) -> str:
        """In one word."""
        return "damaged" if self.damage else "unverified" if self.unverified else "whole"


def verify(path: str | os.PathLike[str]) -> list[Verified]:
    """Everything of Pippin's at a path and below it, each with what is wrong with it."""
    place = Path(path)
    if not os.path.lexists(place):
        raise DataError("there is nothing here", path)
    verified = list(_found(place)) if place.is_dir() else [_file(place)]
    if not verified:
        raise DataError("nothing here was written by Pippin in a form that can be verified", path)
    return verified


def _found(folder: Path) -> Iterator[Verified]:
    """The things in a folder, itself first."""
    known = next((kind for kind in FORMATS if kind.is_at(folder)), None)
    inside = {"cells", "data", "costs", "failures", ".new"} if records.FORMAT.is_at(folder) else set()
    if known is not None:
        yield _one(folder, known.noun, lambda: _manifest(folder, known))
    elif inside:
        yield from _results(folder)
    with os.scandir(folder) as entries:
        names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_folder in names:
        if is_folder and name not in inside:
            yield from _found(folder / name)
        elif not is_folder and known is None and not inside and _is_ours(folder / name):
            yield _file(folder / name)


def _one(path: Path, what: str, look: Callable[[], tuple[int, int]]) -> Verified:
    try:
        return Verified(os.fspath(path), what, *look())
    except PippinError as error:
        sentence = error.message if isinstance(error, DataError) else str(error)
        return Verified(os.fspath(path), what, 0, 0, sentence)


def _manifest(folder: Path, kind: Format) -> tuple[int, int]:
    manifest = kind.read(folder)
    return len(manifest.files), manifest.verify()


def _results(folder: Path) -> Iterator[Verified]:
    """The folder of results, then its cells that are damaged, each for itself."""
    sealed = [file for name in ("plan.json", "places.json") if (file := folder / name).exists()]
    sealed += [file for name in ("data", "costs", "failures") for file in sorted((folder / name).glob("*.json"))]
    cells = sorted(path for path in (folder / "cells").glob("*") if path.is_dir())
    kinds = {"plan.json": "plan", "places.json": "places", "data": "data", "costs": "cost", "failures": "failure"}
    problems = []
    for file in sealed:
        kind = kinds.get(file.name) or kinds[file.parent.name]
        problems.append(_one(file, f"record of a {kind}", lambda f=file, k=kind: _record(f, k)))  # type: ignore[misc]
    problems += [_one(cell, "cell", lambda c=cell: _cell(c)) for cell in cells]  # type: ignore[misc]
    head = _one(folder, records.FORMAT.noun, lambda: _head(folder))
    files, size = (sum(getattr(one, name) for one in [head, *problems]) for name in ("files", "bytes"))
    yield Verified(head.path, head.what, files, size, head.damage)
    yield from (one for one in problems if one.damage)


def _head(folder: Path) -> tuple[int, int]:
    records.FORMAT.read_record(folder)
    return 1, (folder / records.FORMAT.file).stat().st_size


def _record(file: Path, kind: str) -> tuple[int, int]:
    records.read_record(file, kind)
    return 1, file.stat().st_size


def _cell(folder: Path) -> tuple[int, int]:
    cell = records.Cell.open(folder)
    cell.verify()
    files = [folder / "cell.json", *(folder / name for name in cell.record["files"])]
    return len(files), sum(file.stat().st_size for file in files)


def _is_ours(path: Path) -> bool:
    """Whether a file may be a model or a sealed table of ours."""
    if form_of(path) in ("parquet", "arrow"):
        return True
    return path.suffix in _MODELS and _looks_like_a_model(path)


def _looks_like_a_model(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"pippin-model" in file.read(4096)
    except OSError:
        return False


def _file(path: Path) -> Verified:
    size = path.stat().st_size if path.exists() else 0
    form = form_of(path)
    if form in ("parquet", "arrow"):
        return _table(path, form, size)
    if _looks_like_a_model(path):
        return _one(path, "model", lambda: _model(path, size))
    try:
        content = path.read_bytes() if size < 1 << 24 else b""
        folder = built.built_folder(path)
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}", path) from None
    if content and is_sealed(content):
        return Verified(os.fspath(path), "sealed record", 1, size)
    if folder is None:
        raise DataError("this was not written by Pippin in a form that can be verified", path)
    return _one(path, "file of a data set", lambda: _part(path, size))


def _part(path: Path, size: int) -> tuple[int, int]:
    built.check_built(path)
    return 1, size


def _model(path: Path, size: int) -> tuple[int, int]:
    from pippin.rankers import models

    models.load(path)
    return 1, size


def _table(path: Path, form: str, size: int) -> Verified:
    """A Parquet or Arrow file: by its own checksum, else by those of its pages as far as there are any."""
    from pippin.data.buffers import open_buffer
    from pippin.data.tables import read_sheet

    sealed: list[bool] = []

    def look() -> tuple[int, int]:
        buffer = open_buffer(path)
        try:
            sealed.append(table_files.verify(np.asarray(buffer.data), form))
        except ValueError as error:
            raise DataError(str(error), path) from None
        read_sheet(buffer, form)
        return 1, size

    table = _one(path, f"{form} table", look)
    return Verified(table.path, table.what, table.files, table.bytes, table.damage, unverified=not any(sealed))
