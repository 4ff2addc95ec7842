"""Ranking data as a folder of memory-mapped columns that opens at once, however large it is.

A store is a folder with `manifest.json` and one `.npy` file per column (three for a column of texts: the bytes of all
of them, where each begins, and how long it is). The manifest names the version of the form, what the data is, its
counts, each file's dtype, shape and SHA-256, and the digest of the data. Opening maps the files and looks at the
manifest; only `verify=True` reads everything and compares the digests. Writing goes to a folder beside the target that
takes its name at the end, so that nobody ever sees half a store.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin import __version__
from pippin.data.buffers import atomic_folder
from pippin.data.dataset import Dataset
from pippin.data.packing import Data, digest, kind_of_data, parts
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.errors import DataError

VERSION = 1
MANIFEST = "manifest.json"
FORMAT = "pippin store"
SUFFIX = ".pippin"
# The arrays a column of texts is kept as, with their dtypes.
TEXT_ARRAYS = {"buffer": np.uint8, "starts": np.int64, "lengths": np.int32}


def is_store(path: str | os.PathLike[str]) -> bool:
    """Whether a store stands at this path."""
    return (Path(path) / MANIFEST).is_file()


def names_store(path: str | os.PathLike[str]) -> bool:
    """Whether a path is meant as a store: it ends in `/` or `.pippin`, or is one already.

    >>> names_store("mq2008/"), names_store("mq2008.pippin"), names_store("mq2008.txt")
    (True, True, False)
    """
    text = os.fspath(path)
    return text.endswith((os.sep, "/", SUFFIX)) or is_store(text)


def write_store(data: Data, path: str | os.PathLike[str]) -> None:
    """Write a data set, judgements or a run as a store; one that stands there is replaced."""
    target = Path(os.path.normpath(os.fspath(path)))
    if target.exists() and not is_store(target) and not _is_empty_folder(target):
        raise DataError("something that is not a store stands here, and is not replaced", target)
    manifest: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "pippin": __version__, "kind": kind_of_data(data), "name": data.name,
        "counts": {"queries": len(data.query_ids), "documents": int(data.offsets[-1])},
    }  # fmt: skip
    if isinstance(data, Dataset):
        manifest["counts"]["features"] = data.features.shape[1]
        manifest["feature_names"] = list(data.feature_names)
    if isinstance(data, Run):
        manifest["tag"] = data.tag
    with atomic_folder(target) as folder:
        manifest["columns"] = {
            name: write_column(folder, name, column) for name, column in parts(data).items() if column is not None
        }
        manifest["digest"] = digest(data)
        text = json.dumps(manifest, indent=1, ensure_ascii=False)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def write_column(folder: Path, name: str, column: NDArray[Any] | Texts) -> dict[str, Any]:
    """Write one column; what the manifest says of it."""
    if isinstance(column, Texts):
        return {key: _write_array(folder, f"{name}.{key}", getattr(column, key)) for key in TEXT_ARRAYS}
    return _write_array(folder, name, column)


def _write_array(folder: Path, name: str, array: NDArray[Any]) -> dict[str, Any]:
    file = folder / f"{name}.npy"
    array = np.asarray(array, order="C")
    np.save(file, array.astype(array.dtype.newbyteorder("<"), copy=False), allow_pickle=False)
    with file.open("rb") as written:
        sha256 = hashlib.file_digest(written, "sha256").hexdigest()
    return {"file": file.name, "dtype": array.dtype.name, "shape": list(array.shape), "sha256": sha256}


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a store says of itself."""
    file = Path(path) / MANIFEST
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("no store: there is no manifest.json in this folder", path) from None
    except (OSError, ValueError):
        raise DataError("this store is damaged: its manifest.json cannot be read", path) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError("no store: the manifest.json in this folder is not one of Pippin's", path)
    version = manifest.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise DataError(
            f"this store is of version {version}, written by pippin {manifest.get('pippin')}; "
            f"this is pippin {__version__}, which reads up to version {VERSION}", path,
        )  # fmt: skip
    return manifest


def read_store(path: str | os.PathLike[str], *, verify: bool = False) -> Data:
    """Open a store by memory map; `verify` reads it all and compares the digests."""
    manifest = read_manifest(path)
    folder = Path(path)
    try:
        columns = {name: read_column(folder, entry, verify) for name, entry in manifest["columns"].items()}
        return _assemble(manifest, columns)
    except DataError as error:
        raise DataError(f"this store is damaged: {error.message}", path) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError("this store is damaged: its manifest.json does not describe it", path) from None


def read_column(folder: Path, entry: dict[str, Any], verify: bool) -> NDArray[Any] | Texts:
    """A column by what the manifest says of it, by memory map."""
    if "file" in entry:
        return _read_array(folder, entry, verify)
    arrays = {key: _read_array(folder, entry[key], verify, dtype) for key, dtype in TEXT_ARRAYS.items()}
    texts = Texts(**arrays)
    if not len(texts.starts) == len(texts.lengths):
        raise DataError("a column of texts has parts of different lengths")
    # The kernels trust these numbers, so a flipped bit must not lead them out of the buffer.
    ends = texts.starts + texts.lengths
    if len(ends) and (texts.starts.min() < 0 or texts.lengths.min() < 0 or ends.max() > len(texts.buffer)):
        raise DataError("a column of texts points outside its bytes")
    return texts


def _read_array(folder: Path, entry: dict[str, Any], verify: bool, dtype: Any = None) -> NDArray[Any]:
    file = folder / Path(entry["file"]).name
    try:
        # A file cannot be mapped where it has nothing after its header.
        array = np.load(file, mmap_mode="r" if 0 not in entry["shape"] else None, allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{file.name} is missing") from None
    except Exception:  # NumPy evaluates the header, so that damage there can raise nearly anything
        raise DataError(f"{file.name} is cut short or is not a column") from None
    expected = np.dtype(entry["dtype"] if dtype is None else dtype)
    if list(array.shape) != entry["shape"] or array.dtype != expected:
        raise DataError(
            f"{file.name} holds {array.dtype}{list(array.shape)} where the manifest says {expected}{entry['shape']}"
        )
    if verify:
        with file.open("rb") as opened:
            if hashlib.file_digest(opened, "sha256").hexdigest() != entry["sha256"]:
                raise DataError(f"{file.name} is not what was written (its SHA-256 differs)")
    return array  # type: ignore[no-any-return]


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
