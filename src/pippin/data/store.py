"""Ranking data as a folder of memory-mapped columns that opens at once, however large it is.

A store is a folder with a manifest (see `pippin.manifest`) and one `.npy` file per column (three for a column of texts:
the bytes of all of them, where each begins, and how long it is). The manifest says what the data is, its counts, each
column's dtype and shape, and the digest of the data. Everything but the features is verified when a store is opened,
the features when they are first looked at, block by block.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.blocks import Column
from pippin.data.dataset import Dataset
from pippin.data.packing import Data, digest, kind_of_data, parts
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.errors import DataError
from pippin.manifest import Format, Manifest

FORMAT = Format("pippin store", 2, "store", "write it again with `pippin convert` from what it was made of")
SUFFIX = ".pippin"
# The arrays a column of texts is kept as, with their dtypes.
TEXT_ARRAYS = {"buffer": np.uint8, "starts": np.int64, "lengths": np.int32}


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a store stands at this path."""
    return FORMAT.is_at(path)


def names_store(path: str | os.PathLike[str]) -> bool:
    """Whether a path is meant as a store: it ends in `/` or `.pippin`, or is one already.

    >>> names_store("mq2008/"), names_store("mq2008.pippin"), names_store("mq2008.txt")
    (True, True, False)
    """
    text = os.fspath(path)
    return text.endswith((os.sep, "/", SUFFIX)) or is_store(text)


def write_store(data: Data, path: str | os.PathLike[str]) -> None:
    """Write a data set, judgements or a run as a store; one that stands there is replaced."""
    record: dict[str, Any] = {
        "kind": kind_of_data(data), "name": data.name,
        "counts": {"queries": len(data.query_ids), "documents": int(data.offsets[-1])},
    }  # fmt: skip
    if isinstance(data, Dataset):
        record["counts"]["features"] = data.features.shape[1]
        record["feature_names"] = list(data.feature_names)
    if isinstance(data, Run):
        record["tag"] = data.tag
    with FORMAT.new_folder(path) as folder:
        columns = {name: column for name, column in parts(data).items() if column is not None}
        record["columns"] = {name: write_column(folder, name, column) for name, column in columns.items()}
        record["digest"] = digest(data)
        FORMAT.write(folder, record)


def write_column(folder: Path, name: str, column: NDArray[Any] | Texts) -> dict[str, Any]:
    """Write one column; what the manifest says of it."""
    if isinstance(column, Texts):
        return {key: _write_array(folder, f"{name}.{key}", getattr(column, key)) for key in TEXT_ARRAYS}
    return _write_array(folder, name, column)


def _write_array(folder: Path, name: str, array: NDArray[Any]) -> dict[str, Any]:
    file = folder / f"{name}.npy"
    array = np.asarray(array, order="C")
    np.save(file, array.astype(array.dtype.newbyteorder("<"), copy=False), allow_pickle=False)
    return {"file": file.name, "dtype": array.dtype.name, "shape": list(array.shape)}


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a store says of itself."""
    return FORMAT.read(path).record


def read_store(path: str | os.PathLike[str], *, verify: bool = False) -> Data:
    """Open a store by memory map; the features are verified when they are first looked at, or at once with `verify`."""
    manifest = FORMAT.read(path)
    with FORMAT.described(path):
        if verify:
            manifest.verify()
        lazy = {name: manifest["columns"][name] for name in manifest["columns"] if name == "features"}
        columns = {
            name: read_column(manifest, entry) for name, entry in manifest["columns"].items() if name not in lazy
        }
        return _assemble(manifest.record, columns | {name: _column(manifest, entry) for name, entry in lazy.items()})


def read_column(manifest: Manifest, entry: dict[str, Any]) -> NDArray[Any] | Texts:
    """A column by what the manifest says of it, by memory map, verified."""
    if "file" in entry:
        return _column(manifest, entry).whole()
    arrays = {key: _column(manifest, {**entry[key], "dtype": dtype}).whole() for key, dtype in TEXT_ARRAYS.items()}
    texts = Texts(**arrays)
    if not len(texts.starts) == len(texts.lengths):
        raise DataError("a column of texts has parts of different lengths")
    # The kernels trust these numbers, and a checksum can be forged.
    ends = texts.starts + texts.lengths
    if len(ends) and (texts.starts.min() < 0 or texts.lengths.min() < 0 or ends.max() > len(texts.buffer)):
        raise DataError("a column of texts points outside its bytes")
    return texts


def _column(manifest: Manifest, entry: dict[str, Any]) -> Column:
    return manifest.open(str(entry["file"])).column(entry["shape"], entry["dtype"])


def _assemble(manifest: dict[str, Any], columns: dict[str, Any]) -> Data:
    """The data of a store from its columns."""
    query_ids, offsets = tuple(columns["query_ids"]), np.asarray(columns["offsets"])
    documents = columns.get("document_ids")
    name = str(manifest["name"])
    kind = manifest["kind"]
    if offsets.dtype != np.int64 or offsets.ndim != 1 or not len(offsets):
        raise DataError("its offsets are not 64-bit integers")
    if kind == "dataset":
        names = tuple(map(str, manifest["feature_names"]))
        features, labels = columns["features"], columns["labels"]
        return Dataset(features, labels, offsets, query_ids, documents, names, columns.get("comments"), name)
    if documents is None:
        raise DataError("it names no documents")
    if kind == "judgements":
        if columns["labels"].dtype != np.int32:
            raise DataError("its labels are not 32-bit integers")
        return Judgements(query_ids, offsets, documents, columns["labels"], name)
    if kind == "run":
        if columns["scores"].dtype != np.float64:
            raise DataError("its scores are not doubles")
        return Run(query_ids, offsets, documents, columns["scores"], name, str(manifest["tag"]))
    raise DataError(f"it holds {kind!r}, which is no kind of data known here")


__all__ = ["digest", "is_store", "names_store", "read_manifest", "read_store", "write_store"]
