"""How an index lies on disk: a folder of plain little-endian arrays, and `index.json`, which names them all.

Numbers have as many bytes as the largest of an array needs; postings and tokens are packed (`index_blocks.hpp`).

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
from numpy.typing import DTypeLike, NDArray

from pippin.blocks import Column
from pippin.manifest import Format, Manifest

FORMAT = Format("pippin index", 3, "index", "index the collection again", "index.json")


class ArrayWriter:
    """Array files of one folder that grow piece by piece; `named`: their contents count to the index's identity."""

    def __init__(self, folder: Path, *, named: bool = True) -> None:
        self.folder, self.named = folder, named
        self._files: dict[str, IO[bytes]] = {}
        self._hashes: dict[str, Any] = {}
        self._dtypes: dict[str, np.dtype[Any]] = {}

    def write(self, name: str, numbers: NDArray[Any]) -> None:
        """Write numbers that are not negative, each in as few bytes as the largest of them needs."""
        self.append(name, numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))), copy=False))

    def append(self, name: str, array: NDArray[Any]) -> None:
        """Write behind what stands there; the first piece makes the file and says its dtype."""
        if name not in self._files:
            self._files[name] = (self.folder / f"{name}.bin").open("wb")
            self._hashes[name] = hashlib.sha256()
            self._dtypes[name] = array.dtype
        plain = np.ascontiguousarray(array, self._dtypes[name].newbyteorder("<"))
        self._files[name].write(plain.data)
        if self.named:
            self._hashes[name].update(plain.data)

    def close(self) -> dict[str, dict[str, Any]]:
        """Finish all files; what the manifest says of them."""
        records = {}
        for name, file in sorted(self._files.items()):
            records[name] = {"dtype": self._dtypes[name].name, "bytes": file.tell()}
            if self.named:
                records[name]["sha256"] = self._hashes[name].hexdigest()
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


def write_manifest(folder: Path, manifest: dict[str, Any], texts: dict[str, dict[str, Any]]) -> None:
    """Write `index.json` with its digest, to which the files of the texts do not count: from then on it opens."""
    identity = json.dumps(manifest, sort_keys=True, ensure_ascii=False).encode()
    FORMAT.write(folder, {**manifest, "texts": texts, "digest": hashlib.sha256(identity).hexdigest()})


def is_index(path: str | os.PathLike[str]) -> bool:
    """Whether an index stands at this path."""
    return FORMAT.is_at(path)


class Arrays:
    """The arrays of an index by name, mapped."""

    def __init__(self, manifest: Manifest, which: str = "files") -> None:
        self._columns: dict[str, Column] = {
            name: manifest.open(f"{name}.bin").array(record["dtype"]) for name, record in manifest[which].items()
        }
        self._wide: dict[str, NDArray[Any]] = {}
        self._ends: dict[str, NDArray[np.int64]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A whole array, verified."""
        return self._columns[name].whole()

    def wide(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """A whole array, verified, with numbers of this type; made once."""
        if name not in self._wide:
            self._wide[name] = self[name].astype(dtype, copy=False)
        return self._wide[name]

    def ends(self, name: str) -> NDArray[np.int64]:
        """[n + 1] where the things begin whose sizes an array holds, and where the last one ends; made once."""
        if name not in self._ends:
            sizes = self[name]
            self._ends[name] = np.zeros(len(sizes) + 1, np.int64)
            np.cumsum(sizes, dtype=np.int64, out=self._ends[name][1:])
        return self._ends[name]

    def column(self, name: str) -> Column:
        """An array that is to be verified where it is looked at."""
        return self._columns[name]
