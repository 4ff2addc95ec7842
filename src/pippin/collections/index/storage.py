"""Files of an index: a folder of little-endian arrays, described by `index.json`.

Each array has the smallest integer type that fits; postings and tokens are packed (`index/postings.hpp`). Files are
appended to and hashed while the index is built. `index.json` is written last (see `pippin.storage.manifest`), so that
an incomplete folder does not open. Arrays are memory-mapped and verified when they are first read; of postings and
tokens only the blocks that are read.

The texts of the documents are stored beside the index in zlib blocks of about 64 KiB, so that reading one document
costs one block. A block begins with the length of every field of its documents. Texts are not part of the identity of
an index.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.collections.collection import Document
from pippin.errors import DataError
from pippin.kernels import threads
from pippin.storage.blocks import VerifiedArray
from pippin.storage.compression import check_size
from pippin.storage.manifest import FolderFormat, Manifest

FORMAT = FolderFormat("pippin index", 3, "index", "index the collection again", "index.json")


class ArrayWriter:
    """Array files of one folder that are appended to; with `hashed` their contents are part of the index's digest."""

    def __init__(self, folder: Path, *, hashed: bool = True) -> None:
        self.folder, self.hashed = folder, hashed
        self._files: dict[str, IO[bytes]] = {}
        self._hashes: dict[str, Any] = {}
        self._dtypes: dict[str, np.dtype[Any]] = {}

    def write(self, name: str, numbers: NDArray[Any]) -> None:
        """Append numbers of at least 0, in the smallest type that holds the largest of them."""
        self.append(name, numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))), copy=False))

    def append(self, name: str, array: NDArray[Any]) -> None:
        """Append an array to its file; the first one creates the file and decides the dtype."""
        if name not in self._files:
            self._files[name] = (self.folder / f"{name}.bin").open("wb")
            self._hashes[name] = hashlib.sha256()
            self._dtypes[name] = array.dtype
        plain = np.ascontiguousarray(array, self._dtypes[name].newbyteorder("<"))
        self._files[name].write(plain.data)
        if self.hashed:
            self._hashes[name].update(plain.data)

    def close(self) -> dict[str, dict[str, Any]]:
        """Close all files; return their records for the manifest."""
        records = {}
        for name, file in sorted(self._files.items()):
            records[name] = {"dtype": self._dtypes[name].name, "bytes": file.tell()}
            if self.hashed:
                records[name]["sha256"] = self._hashes[name].hexdigest()
            file.close()
        return records

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        for file in self._files.values():
            with contextlib.suppress(OSError):  # a full disk must not hide the first error
                file.close()


def write_manifest(folder: Path, manifest: dict[str, Any], texts: dict[str, dict[str, Any]]) -> None:
    """Write `index.json` with the digest of the index, which does not include the texts; then the index is complete."""
    identity = json.dumps(manifest, sort_keys=True, ensure_ascii=False).encode()
    FORMAT.write(folder, {**manifest, "texts": texts, "digest": hashlib.sha256(identity).hexdigest()})


def is_index(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is an index."""
    return FORMAT.is_at(path)


class Arrays:
    """The memory-mapped arrays of an index, by name."""

    def __init__(self, manifest: Manifest, which: str = "files") -> None:
        self._columns: dict[str, VerifiedArray] = {
            name: manifest.open(f"{name}.bin").array(record["dtype"]) for name, record in manifest[which].items()
        }
        self._converted: dict[str, NDArray[Any]] = {}
        self._offsets: dict[str, NDArray[np.int64]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a whole array, verified."""
        return self._columns[name].read_verified()

    def as_type(self, name: str, dtype: DTypeLike) -> NDArray[Any]:
        """Return a whole array, verified, converted once to a type."""
        if name not in self._converted:
            self._converted[name] = self[name].astype(dtype, copy=False)
        return self._converted[name]

    def offsets(self, name: str) -> NDArray[np.int64]:
        """Return the offsets [n + 1] of the items whose sizes an array contains, computed once."""
        if name not in self._offsets:
            sizes = self[name]
            self._offsets[name] = np.zeros(len(sizes) + 1, np.int64)
            np.cumsum(sizes, dtype=np.int64, out=self._offsets[name][1:])
        return self._offsets[name]

    def column(self, name: str) -> VerifiedArray:
        """Return an array of which only the blocks that are read are verified."""
        return self._columns[name]


BLOCK_BYTES = 1 << 16
COMPRESSION_LEVEL = 1  # three times as fast as zlib's default, for 10 % more bytes
MAX_PENDING_BLOCKS = 8  # blocks that are compressed while others are filled


class TextWriter:
    """Writes the texts of documents in blocks that other threads compress."""

    def __init__(self, files: ArrayWriter, fields: Sequence[str]) -> None:
        self._files, self._fields = files, fields
        self._pool = ThreadPoolExecutor(threads())
        self._pending: deque[Future[bytes]] = deque()
        self._lengths: list[int] = []
        self._texts: list[bytes] = []
        self._bytes = 0
        self._blocks: list[tuple[int, int]] = []  # documents, bytes before compression
        self._compressed_sizes: list[int] = []

    def add(self, documents: Iterable[Document]) -> None:
        """Append documents."""
        for document in documents:
            for field in self._fields:
                text = document.fields.get(field, "").encode("utf-8", "replace")
                self._lengths.append(len(text))
                self._texts.append(text)
                self._bytes += len(text)
            if self._bytes >= BLOCK_BYTES:
                self._close_block()

    def _close_block(self) -> None:
        raw = np.array(self._lengths, "<u4").tobytes() + b"".join(self._texts)
        self._blocks.append((len(self._lengths) // len(self._fields), len(raw)))
        self._pending.append(self._pool.submit(zlib.compress, raw, COMPRESSION_LEVEL))
        self._lengths, self._texts, self._bytes = [], [], 0
        if len(self._pending) > MAX_PENDING_BLOCKS:
            self._write()

    def _write(self) -> None:
        block = self._pending.popleft().result()
        self._compressed_sizes.append(len(block))
        self._files.append("texts.blocks", np.frombuffer(block, np.uint8))

    def close(self) -> None:
        """Write the remaining blocks, and the sizes of all."""
        if self._lengths:
            self._close_block()
        while self._pending:
            self._write()
        self._pool.shutdown()
        documents, raw = np.array(self._blocks, np.int64).reshape(-1, 2).T
        self._files.write("texts.documents", documents)
        self._files.write("texts.raw", raw)
        self._files.write("texts.packed", np.array(self._compressed_sizes, np.int64))


class StoredTexts:
    """The texts stored beside an index, by document number."""

    def __init__(self, arrays: Arrays, fields: Sequence[str], documents: int, path: str) -> None:
        self._arrays, self._fields, self._path = arrays, fields, path
        sizes = {len(arrays.column(f"texts.{name}")) for name in ("documents", "raw", "packed")}
        if len(sizes) != 1:
            raise DataError("the arrays of the text blocks differ in length")
        self._documents = documents
        self._last: tuple[int, bytes] = (-1, b"")  # number and content of the block that was read last

    @cached_property
    def _starts(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The offsets of the blocks in documents, and in bytes."""
        documents, starts = self._arrays.offsets("texts.documents"), self._arrays.offsets("texts.packed")
        if documents[-1] != self._documents or starts[-1] != len(self._arrays.column("texts.blocks")):
            raise self._damage_error()
        return documents, starts

    def of(self, number: int) -> dict[str, str]:
        """Return the text of every field of a document."""
        first = self._starts[0]
        block = int(np.searchsorted(first, number, "right")) - 1
        raw, fields = self._read_block(block), len(self._fields)
        count = int(first[block + 1] - first[block]) * fields
        if len(raw) < 4 * count:
            raise self._damage_error()
        ends = np.zeros(count + 1, np.int64)
        np.cumsum(np.frombuffer(raw, "<u4", count), dtype=np.int64, out=ends[1:])
        if 4 * count + int(ends[-1]) != len(raw):
            raise self._damage_error()
        offsets = 4 * count + ends[(number - int(first[block])) * fields :][: fields + 1]
        return {
            field: raw[int(offsets[s]) : int(offsets[s + 1])].decode("utf-8", "replace")
            for s, field in enumerate(self._fields)
        }

    def _read_block(self, block: int) -> bytes:
        """Return a block, decompressed."""
        if self._last[0] == block:
            return self._last[1]
        first, last = (int(end) for end in self._starts[1][block : block + 2])
        compressed = self._arrays.column("texts.blocks").rows(first, last).read_verified()
        size = int(self._arrays["texts.raw"][block])
        check_size(size, last - first, "a block of texts decompresses to", self._path)
        decompressor = zlib.decompressobj()
        try:
            raw = decompressor.decompress(compressed.tobytes(), size + 1)
        except zlib.error:
            raise self._damage_error() from None
        if len(raw) != size or not decompressor.eof or decompressor.unused_data:
            raise self._damage_error()
        self._last = block, raw
        return raw

    def _damage_error(self) -> DataError:
        return DataError("the index is damaged: a block of texts does not match its size", self._path)
