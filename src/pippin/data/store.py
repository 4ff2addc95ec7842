"""Ranking data as a folder of memory-mapped columns that opens at once, whatever its size.

A store is a folder with a manifest (see `pippin.storage.manifest`) and one `.npy` file per column; a column of strings
has three files: all bytes, the start of each string, and its length. The manifest has the counts, the dtype and shape
of each column, and the digest of the data. Everything but the features is verified when a store is opened; features are
verified in blocks when they are first read. A store of folds adds the queries of each part to a store of the data.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.digest import columns_of, digest, type_name
from pippin.data.folds import Folds, PartStatistics
from pippin.data.qrels import Data, Qrels, Run
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn
from pippin.storage.blocks import VerifiedArray
from pippin.storage.manifest import FolderFormat, Manifest, matches_schema

FORMAT = FolderFormat("pippin store", 2, "store", "write it again with `pippin convert` from its source")
FOLDS_FORMAT = FolderFormat("pippin folds", 1, "store of folds", "make it again from the text", "folds.json")
SUFFIX = ".pippin"
DATA = "data.pippin"
# The files of a string column, with their dtypes.
STRING_ARRAYS = {"buffer": np.uint8, "starts": np.int64, "lengths": np.int32}
_FOLDS_SCHEMA = {
    "name": str, "text": str, "folds": {str: {str: [int]}}, "digests": {str: {str: str}}, "query_ids": {str: str},
    "widths": {str: int}, "without_ids": [int], "without_comments": [int],
}  # fmt: skip


def is_store(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a store."""
    return FORMAT.is_at(path)


def names_store(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names a store: it ends in `/` or `.pippin`, or a store is there.

    >>> names_store("mq2008/"), names_store("mq2008.pippin"), names_store("mq2008.txt")
    (True, True, False)
    """
    text = os.fspath(path)
    return text.endswith((os.sep, "/", SUFFIX)) or is_store(text)


def write_store(data: Data, path: str | os.PathLike[str]) -> None:
    """Write a data set, qrels or a run as a store; an existing store is replaced."""
    record: dict[str, Any] = {
        "kind": type_name(data), "name": data.name,
        "counts": {"queries": len(data.query_ids), "documents": int(data.offsets[-1])},
    }  # fmt: skip
    if isinstance(data, Dataset):
        record["counts"]["features"] = data.features.shape[1]
        record["feature_names"] = list(data.feature_names)
    if isinstance(data, Run):
        record["tag"] = data.tag
    with FORMAT.new_folder(path) as folder:
        columns = {name: column for name, column in columns_of(data).items() if column is not None}
        record["columns"] = {name: write_column(folder, name, column) for name, column in columns.items()}
        record["digest"] = digest(data)
        FORMAT.write(folder, record)


def write_column(folder: Path, name: str, column: NDArray[Any] | StringColumn) -> dict[str, Any]:
    """Write a column and return its entry in the manifest."""
    if isinstance(column, StringColumn):
        return {key: _write_array(folder, f"{name}.{key}", getattr(column, key)) for key in STRING_ARRAYS}
    return _write_array(folder, name, column)


def _write_array(folder: Path, name: str, array: NDArray[Any]) -> dict[str, Any]:
    file = folder / f"{name}.npy"
    array = np.asarray(array, order="C")
    np.save(file, array.astype(array.dtype.newbyteorder("<"), copy=False), allow_pickle=False)
    return {"file": file.name, "dtype": array.dtype.name, "shape": list(array.shape)}


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a store."""
    return FORMAT.read(path).record


def read_store(path: str | os.PathLike[str], *, verify: bool = False) -> Data:
    """Open a store as memory maps; features are verified when they are first read, or at once with `verify`."""
    manifest = FORMAT.read(path)
    with FORMAT.wrap_errors(path):
        if verify:
            manifest.verify()
        columns = {
            name: _array(manifest, entry) if name == "features" else read_column(manifest, entry)
            for name, entry in manifest["columns"].items()
        }
        return _from_columns(manifest.record, columns)


def read_column(manifest: Manifest, entry: dict[str, Any]) -> NDArray[Any] | StringColumn:
    """Map and verify a column by its entry in the manifest."""
    if "file" in entry:
        return _array(manifest, entry).read_verified()
    arrays = {
        key: _array(manifest, {**entry[key], "dtype": dtype}).read_verified() for key, dtype in STRING_ARRAYS.items()
    }
    strings = StringColumn(**arrays)
    if not len(strings.starts) == len(strings.lengths):
        raise DataError("the files of a string column have different lengths")
    # The kernels trust these numbers, and a checksum can be forged.
    ends = strings.starts + strings.lengths
    if len(ends) and (strings.starts.min() < 0 or strings.lengths.min() < 0 or ends.max() > len(strings.buffer)):
        raise DataError("a string column points outside its bytes")
    return strings


def _array(manifest: Manifest, entry: dict[str, Any]) -> VerifiedArray:
    return manifest.open(str(entry["file"])).column(entry["shape"], entry["dtype"])


def _from_columns(manifest: dict[str, Any], columns: dict[str, Any]) -> Data:
    query_ids, offsets = tuple(columns["query_ids"]), np.asarray(columns["offsets"])
    documents, name, kind = columns.get("document_ids"), str(manifest["name"]), manifest["kind"]
    if offsets.dtype != np.int64 or offsets.ndim != 1 or not len(offsets):
        raise DataError("its offsets are not 64-bit integers")
    if kind == "dataset":
        names = tuple(map(str, manifest["feature_names"]))
        features, labels = columns["features"], columns["labels"]
        return Dataset(features, labels, offsets, query_ids, documents, names, columns.get("comments"), name)
    if documents is None:
        raise DataError("document ids are missing")
    if kind == "judgements":
        if columns["labels"].dtype != np.int32:
            raise DataError("its labels are not 32-bit integers")
        return Qrels(query_ids, offsets, documents, columns["labels"], name)
    if kind == "run":
        if columns["scores"].dtype != np.float64:
            raise DataError("its scores are not doubles")
        return Run(query_ids, offsets, documents, columns["scores"], name, str(manifest["tag"]))
    raise DataError(f"it holds unknown data: {kind!r}")


def is_fold_store(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a store of folds."""
    return FOLDS_FORMAT.is_at(path)


def write_fold_store(folds: Folds, path: str | os.PathLike[str], text: str = "") -> None:
    """Write folds as a store; `text` is the digest of the text that holds the same folds."""
    statistics = folds.statistics
    record = {
        "name": folds.name, "text": text,
        "folds": {fold: {part: rows.tolist() for part, rows in parts.items()} for fold, parts in folds.queries.items()},
        "digests": {fold: {part: folds.digest(fold, part) for part in parts} for fold, parts in folds.queries.items()},
        "query_ids": {str(query): name for query, name in statistics.query_ids.items()},
        "widths": dict(statistics.widths),
        "without_ids": sorted(statistics.without_ids),
        "without_comments": sorted(statistics.without_comments),
    }  # fmt: skip
    with FOLDS_FORMAT.new_folder(path) as folder:
        write_store(folds.data, folder / DATA)
        FOLDS_FORMAT.write(folder, record)


def fold_store_text(path: str | os.PathLike[str]) -> str:
    """Return the digest of the text that a store of folds was made from."""
    return str(_read_fold_manifest(path)["text"])


def open_fold_store(path: str | os.PathLike[str], *, verify: bool = False) -> Folds:
    """Open a store of folds as memory maps; with `verify` every byte is verified at once."""
    record = _read_fold_manifest(path)
    if verify:
        record.verify()
    data = read_store(Path(path) / DATA)
    with FOLDS_FORMAT.wrap_errors(path):
        queries = {
            fold: {part: np.array(rows, np.int64) for part, rows in parts.items()}
            for fold, parts in record["folds"].items()
        }
        statistics = PartStatistics(
            {int(query): str(name) for query, name in record["query_ids"].items()},
            record["widths"], frozenset(record["without_ids"]), frozenset(record["without_comments"]),
        )  # fmt: skip
        lists = [rows for parts in queries.values() for rows in parts.values()]
        if not isinstance(data, Dataset) or not all(_are_positions(rows, data) for rows in lists):
            raise DataError("its parts do not match its data")
        return Folds(data, queries, str(record["name"]), statistics=statistics, digests=record["digests"])


def _read_fold_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Read the manifest and check its schema, because a checksum can be forged."""
    manifest = FOLDS_FORMAT.read(path)
    with FOLDS_FORMAT.wrap_errors(path):
        if not matches_schema(manifest.record, _FOLDS_SCHEMA):
            raise DataError("folds.json does not describe folds")
    return manifest


def _are_positions(queries: NDArray[np.int64], data: Dataset) -> bool:
    return queries.ndim == 1 and (not len(queries) or bool(queries.min() >= 0 and queries.max() < data.queries))
