"""How an index lies on disk: a folder of plain little-endian arrays, and `index.json`, which names them all.

Files are appended to while the index is built, and hashed on the way. `index.json` is written last, with the size and
the SHA-256 of each file: a folder without it does not open. Opening maps the files and compares sizes; only `verify`
reads them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pippin import __version__
from pippin.errors import DataError

FORMAT = "pippin index"
VERSION = 1
MANIFEST = "index.json"


class ArrayWriter:
    """Array files of one folder that grow piece by piece."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, IO[bytes]] = {}
        self._hashes: dict[str, Any] = {}
        self._dtypes: dict[str, np.dtype[Any]] = {}

    def append(self, name: str, array: NDArray[Any]) -> None:
        """Write behind what stands there; the first piece makes the file and says its dtype."""
        if name not in self._files:
            self._files[name] = (self.folder / f"{name}.bin").open("wb")
            self._hashes[name] = hashlib.sha256()
            self._dtypes[name] = array.dtype
        plain = np.ascontiguousarray(array, self._dtypes[name].newbyteorder("<"))
        self._files[name].write(plain.data)
        self._hashes[name].update(plain.data)

    def flushed(self, name: str) -> Path:
        """The file of that name, with all that was appended so far."""
        self._files[name].flush()
        return self.folder / f"{name}.bin"

    def close(self) -> dict[str, dict[str, Any]]:
        """Finish all files; what the manifest says of them."""
        records = {}
        for name, file in sorted(self._files.items()):
            records[name] = {
                "dtype": self._dtypes[name].name, "bytes": file.tell(), "sha256": self._hashes[name].hexdigest(),
            }  # fmt: skip
            file.close()
        return records

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        for file in self._files.values():
            if not file.closed:
                _abandon(file)


def _abandon(file: IO[bytes]) -> None:
    """Close a file whose rest nobody wants: a disk that is full must not hide what went wrong first."""
    with contextlib.suppress(OSError):
        file.close()


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write `index.json` with its digest: from then on the folder opens."""
    whole = {"format": FORMAT, "version": VERSION, "pippin": __version__, **manifest}
    identity = json.dumps(manifest, sort_keys=True, ensure_ascii=False).encode()
    whole["digest"] = hashlib.sha256(identity).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def is_index(path: str | os.PathLike[str]) -> bool:
    """Whether an index stands at this path."""
    return (Path(path) / MANIFEST).is_file()


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What an index says of itself."""
    try:
        manifest = json.loads((Path(path) / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError("no index: there is no index.json in this folder", path) from None
    except (OSError, ValueError):
        raise DataError("this index is damaged: its index.json cannot be read", path) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError("no index: the index.json in this folder is not one of Pippin's", path)
    if manifest.get("version") != VERSION:
        raise DataError(
            f"this index is of version {manifest.get('version')}, written by pippin {manifest.get('pippin')}; "
            f"this pippin reads version {VERSION}: index the collection again", path,
        )  # fmt: skip
    return manifest


def read_arrays(path: str | os.PathLike[str], records: dict[str, dict[str, Any]], verify: bool) -> dict[str, Any]:
    """All arrays of an index, mapped."""
    return {name: _read_array(Path(path) / f"{name}.bin", record, verify) for name, record in records.items()}


def _read_array(file: Path, record: dict[str, Any], verify: bool) -> NDArray[Any]:
    dtype = np.dtype(record["dtype"]).newbyteorder("<")
    try:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            if size != record["bytes"] or size % dtype.itemsize:
                raise DataError(f"{file.name} has {size:,} bytes where index.json says {record['bytes']:,}")
            if verify and hashlib.file_digest(opened, "sha256").hexdigest() != record["sha256"]:
                raise DataError(f"{file.name} is not what was written (its SHA-256 differs)")
            if not size:  # nothing can be mapped
                return np.empty(0, dtype)
            return np.frombuffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ), dtype)
    except FileNotFoundError:
        raise DataError(f"{file.name} is missing") from None
    except OSError as error:
        raise DataError(f"{file.name} cannot be read ({error.strerror})") from None
