"""Files whose bytes are verified when they are first needed: mapped blocks, and the arrays that lie in them.

`manifest.py` says what the sums of the blocks are; here nothing is known of folders and their formats.
"""

from __future__ import annotations

import mmap
import os
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.errors import DataError
from pippin.kernels.checksum import BLOCK, first_damaged

if TYPE_CHECKING:
    from pippin.manifest import Manifest

_HEADER = 1 << 12  # bytes in which the header of an array of ours ends


def map_bytes(file: IO[bytes]) -> NDArray[np.uint8]:
    """The bytes of an open file, mapped."""
    if not os.fstat(file.fileno()).st_size:  # nothing can be mapped
        return np.empty(0, np.uint8)
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


class Blocks:
    """A mapped file whose blocks are verified once, when they are first asked for."""

    def __init__(
        self,
        name: str,
        data: NDArray[np.uint8],
        sums: NDArray[np.uint64],
        checked: NDArray[np.uint8],
        manifest: Manifest,
    ) -> None:
        self.name, self.data, self._sums, self._checked, self._manifest = name, data, sums, checked, manifest

    def check(self, first: int = 0, last: int | None = None) -> None:
        """Verify the bytes from `first` up to `last`."""
        last = len(self.data) if last is None else last
        blocks = (first // BLOCK, -(-last // BLOCK))
        if first < last:
            self._check_blocks(*blocks)

    def check_all(self, firsts: NDArray[np.int64], lasts: NDArray[np.int64]) -> None:
        """Verify the blocks from each first up to its last."""
        low, high = int(firsts.min()), int(lasts.max())
        begun = np.bincount(firsts - low, minlength=high - low + 1) - np.bincount(lasts - low, minlength=high - low + 1)
        wanted = (np.cumsum(begun[:-1]) > 0) & (self._checked[low:high] == 0)
        edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False)) + low
        for first, last in edges.reshape(-1, 2).tolist():
            self._check_blocks(first, last)

    def _check_blocks(self, first: int, last: int) -> None:
        damaged = first_damaged(self.data, self._sums, self._checked, first, last)
        if damaged >= 0:
            end = min(len(self.data), (damaged + 1) * BLOCK)
            raise self.error(f"it is not what was written between its bytes {damaged * BLOCK:,} and {end:,}")

    def error(self, words: str) -> DataError:
        """What is wrong with this file."""
        manifest = self._manifest
        return DataError(f"this {manifest.format.noun} is damaged: {self.name}: {words}", manifest.path)

    def whole(self) -> NDArray[np.uint8]:
        """All bytes, verified."""
        self.check()
        return self.data

    def column(self, shape: list[int], dtype: DTypeLike) -> Column:
        """The array of an `.npy` file of this shape and dtype, not yet verified but for its header."""
        self.check(0, min(len(self.data), _HEADER))
        header = BytesIO(self.data[:_HEADER].tobytes())
        version = np.lib.format.read_magic(header)
        if version != (1, 0):
            raise DataError(f"{self.name} is no column")
        found_shape, fortran, held = np.lib.format.read_array_header_1_0(header)
        if list(found_shape) != shape or held != np.dtype(dtype).newbyteorder("<") or fortran:
            raise DataError(f"{self.name} holds {held}{list(found_shape)} where the manifest says {dtype}{shape}")
        body = self.data[header.tell() :]
        if len(body) != held.itemsize * int(np.prod(found_shape, dtype=object)):
            raise DataError(f"{self.name} is cut short")
        return Column(body.view(held).reshape(found_shape), self, header.tell())

    def array(self, dtype: DTypeLike) -> Column:
        """The numbers of a file that holds nothing else, not yet verified."""
        kind = np.dtype(dtype).newbyteorder("<")
        if len(self.data) % kind.itemsize:
            raise DataError(f"{self.name} holds no whole number of {dtype}")
        return Column(self.data.view(kind), self, 0)


class Column:
    """An array in a mapped file: its shape is known, its numbers are verified when they are asked for."""

    def __init__(self, raw: NDArray[Any], blocks: Blocks, place: int) -> None:
        self.raw, self._blocks, self._place = raw, blocks, place
        self.shape, self.dtype, self.ndim = raw.shape, raw.dtype, raw.ndim

    def __len__(self) -> int:
        return len(self.raw)

    def whole(self) -> NDArray[Any]:
        """The array, verified."""
        self._blocks.check(self._place, self._place + self.raw.nbytes)
        return self.raw

    def rows(self, first: int, last: int) -> Column:
        """A stretch of it, not yet verified."""
        return Column(self.raw[first:last], self._blocks, self._place + first * self.raw[:1].nbytes)

    def check_stretches(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Verify the stretches of rows from each begin up to its end; one that leads outside is an error."""
        some = ends != begins
        if not some.any():
            return
        begins, ends = begins[some], ends[some]
        if begins.min() < 0 or (ends < begins).any() or ends.max() > len(self):
            raise self._blocks.error("numbers elsewhere point outside it")
        size = self.raw[:1].nbytes
        self._blocks.check_all((self._place + begins * size) // BLOCK, (self._place + ends * size - 1) // BLOCK + 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (np.array(self.whole()),)
