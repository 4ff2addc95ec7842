"""What did the documents say before they were analysed? Their texts beside an index, packed, for those who read.

Documents go one after the other into blocks of about 64 KiB, each packed by zlib on its own, so that one document is
had for the price of one block. A block begins with the length of every stream of its documents. The texts are not part
of an index's identity: with or without them it answers the same.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from pippin.collection.collection import Document
from pippin.collection.index_files import Arrays, ArrayWriter
from pippin.errors import DataError
from pippin.kernels import threads
from pippin.limits import check_size

BLOCK = 1 << 16
LEVEL = 1  # thrice as fast as the usual one, for a tenth more bytes
AHEAD = 8  # blocks that are packed while others are gathered


class TextWriter:
    """Texts on their way into blocks, which other threads pack."""

    def __init__(self, files: ArrayWriter, streams: Sequence[str]) -> None:
        self._files, self._streams = files, streams
        self._pool = ThreadPoolExecutor(threads())
        self._ahead: deque[Future[bytes]] = deque()
        self._lengths: list[int] = []
        self._texts: list[bytes] = []
        self._bytes = 0
        self._blocks: list[tuple[int, int]] = []  # documents, bytes before packing
        self._packed: list[int] = []

    def add(self, documents: Iterable[Document]) -> None:
        """Put documents behind those that are there."""
        for document in documents:
            for stream in self._streams:
                text = document.streams.get(stream, "").encode("utf-8", "replace")
                self._lengths.append(len(text))
                self._texts.append(text)
                self._bytes += len(text)
            if self._bytes >= BLOCK:
                self._close_block()

    def _close_block(self) -> None:
        raw = np.array(self._lengths, "<u4").tobytes() + b"".join(self._texts)
        self._blocks.append((len(self._lengths) // len(self._streams), len(raw)))
        self._ahead.append(self._pool.submit(zlib.compress, raw, LEVEL))
        self._lengths, self._texts, self._bytes = [], [], 0
        if len(self._ahead) > AHEAD:
            self._write()

    def _write(self) -> None:
        packed = self._ahead.popleft().result()
        self._packed.append(len(packed))
        self._files.append("texts.blocks", np.frombuffer(packed, np.uint8))

    def close(self) -> None:
        """Write what is left, and where everything is."""
        if self._lengths:
            self._close_block()
        while self._ahead:
            self._write()
        self._pool.shutdown()
        documents, raw = np.array(self._blocks, np.int64).reshape(-1, 2).T
        self._files.write("texts.documents", documents)
        self._files.write("texts.raw", raw)
        self._files.write("texts.packed", np.array(self._packed, np.int64))


class StoredTexts:
    """The texts beside an index, by document number."""

    def __init__(self, arrays: Arrays, streams: Sequence[str], documents: int, path: str) -> None:
        self._arrays, self._streams, self._path = arrays, streams, path
        sizes = {len(arrays.column(f"texts.{name}")) for name in ("documents", "raw", "packed")}
        if len(sizes) != 1:
            raise DataError("its texts are not in as many blocks as it says")
        self._documents = documents
        self._last: tuple[int, bytes] = (-1, b"")

    @cached_property
    def _starts(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The first document of each block, and its first byte."""
        documents, packed = self._arrays.ends("texts.documents"), self._arrays.ends("texts.packed")
        if documents[-1] != self._documents or packed[-1] != len(self._arrays.column("texts.blocks")):
            raise self._damaged()
        return documents, packed

    def of(self, number: int) -> dict[str, str]:
        """The text of every stream that was read of a document."""
        first = self._starts[0]
        block = int(np.searchsorted(first, number, "right")) - 1
        raw, streams = self._raw(block), len(self._streams)
        count = int(first[block + 1] - first[block]) * streams
        if len(raw) < 4 * count:
            raise self._damaged()
        ends = np.zeros(count + 1, np.int64)
        np.cumsum(np.frombuffer(raw, "<u4", count), dtype=np.int64, out=ends[1:])
        if 4 * count + int(ends[-1]) != len(raw):
            raise self._damaged()
        here = 4 * count + ends[(number - int(first[block])) * streams :][: streams + 1]
        return {
            stream: raw[int(here[s]) : int(here[s + 1])].decode("utf-8", "replace")
            for s, stream in enumerate(self._streams)
        }

    def _raw(self, block: int) -> bytes:
        """A block as it was before it was packed."""
        if self._last[0] == block:
            return self._last[1]
        first, last = (int(end) for end in self._starts[1][block : block + 2])
        packed = self._arrays.column("texts.blocks").rows(first, last).whole()
        size = int(self._arrays["texts.raw"][block])
        check_size(size, last - first, "a block of its texts would take", self._path)
        unpacker = zlib.decompressobj()
        try:
            raw = unpacker.decompress(packed.tobytes(), size + 1)
        except zlib.error:
            raise self._damaged() from None
        if len(raw) != size or not unpacker.eof or unpacker.unused_data:
            raise self._damaged()
        self._last = block, raw
        return raw

    def _damaged(self) -> DataError:
        return DataError("this index is damaged: its texts are not what was written", self._path)
