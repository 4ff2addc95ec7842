"""How an index lies on disk: a folder of plain little-endian arrays, and `index.json`, which names them all.

Files are appended to while the index is built, and hashed on the way. `index.json` is written last (see
`pippin.manifest`): a folder without it does not open. Opening maps the files; an array is verified when it is first
looked at, and of the long ones, postings and tokens, only the blocks that are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pippin.manifest import Column, Format, Manifest

FORMAT = Format("pippin index", 2, "index", "index the collection again", "index.json")


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
    identity = json.dumps(manifest, sort_keys=True, ensure_ascii=False).encode()
    FORMAT.write(folder, {**manifest, "digest": hashlib.sha256(identity).hexdigest()})


def is_index(path: str | os.PathLike[str]) -> bool:
    """Whether an index stands at this path."""
    return FORMAT.is_at(path)


class Arrays:
    """The arrays of an index by name, mapped."""

    def __init__(self, manifest: Manifest) -> None:
        self._columns: dict[str, Column] = {
            name: manifest.open(f"{name}.bin").array(record["dtype"]) for name, record in manifest["files"].items()
        }

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A whole array, verified."""
        return self._columns[name].whole()

    def column(self, name: str) -> Column:
        """An array that is to be verified where it is looked at."""
        return self._columns[name]
