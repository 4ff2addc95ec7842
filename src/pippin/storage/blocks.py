"""Memory-mapped files whose bytes are verified when they are first needed, and the arrays inside them.

`manifest.py` supplies the checksums of the blocks.
"""

from __future__ import annotations

import mmap
import os
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.errors import DataError
from pippin.kernels.checksum import BLOCK, find_damaged_block

if TYPE_CHECKING:
    from pippin.storage.manifest import Manifest

_HEADER_BYTES = 1 << 12  # the header of an .npy file ends within these bytes


def map_bytes(file: IO[bytes]) -> NDArray[np.uint8]:
    """Return the bytes of an open file as a memory map."""
    if not os.fstat(file.fileno()).st_size:  # an empty file cannot be mapped
        return np.empty(0, np.uint8)
    return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


class VerifiedFile:
    """A mapped file whose blocks are verified once, on first access."""

    def __init__(
        self,
        name: str,
        data: NDArray[np.uint8],
        sums: NDArray[np.uint64],
        checked: NDArray[np.uint8],
        manifest: Manifest,
    ) -> None:
        self.name, self.data, self._sums, self._checked, self._manifest = name, data, sums, checked, manifest

    def check(self, start: int = 0, stop: int | None = None) -> None:
        """Verify the bytes from `start` to `stop`."""
        stop = len(self.data) if stop is None else stop
        if start < stop:
            self._check_blocks(start // BLOCK, -(-stop // BLOCK))

    def check_blocks(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        """Verify ranges of blocks."""
        low, high = int(starts.min()), int(stops.max())
        length = high - low + 1
        depth = np.cumsum(np.bincount(starts - low, minlength=length) - np.bincount(stops - low, minlength=length))
        needs_check = (depth[:-1] > 0) & (self._checked[low:high] == 0)
        edges = np.flatnonzero(np.diff(needs_check, prepend=False, append=False)) + low
        for start, stop in edges.reshape(-1, 2).tolist():
            self._check_blocks(start, stop)

    def _check_blocks(self, start: int, stop: int) -> None:
        damaged = find_damaged_block(self.data, self._sums, self._checked, start, stop)
        if damaged >= 0:
            end = min(len(self.data), (damaged + 1) * BLOCK)
            raise self.error(f"bytes {damaged * BLOCK:,} to {end:,} differ from what was written")

    def error(self, message: str) -> DataError:
        """Return an error about this file."""
        manifest = self._manifest
        return DataError(f"this {manifest.format.label} is damaged: {self.name}: {message}", manifest.path)

    def read_verified(self) -> NDArray[np.uint8]:
        """Verify and return all bytes."""
        self.check()
        return self.data

    def column(self, shape: list[int], dtype: DTypeLike) -> VerifiedArray:
        """Return the array of an `.npy` file; only its header is verified yet."""
        self.check(0, min(len(self.data), _HEADER_BYTES))
        header = BytesIO(self.data[:_HEADER_BYTES].tobytes())
        if np.lib.format.read_magic(header) != (1, 0):
            raise DataError(f"{self.name} is not a column")
        file_shape, is_fortran, file_dtype = np.lib.format.read_array_header_1_0(header)
        if list(file_shape) != shape or file_dtype != np.dtype(dtype).newbyteorder("<") or is_fortran:
            raise DataError(f"{self.name} holds {file_dtype}{list(file_shape)}, but the manifest states {dtype}{shape}")
        body = self.data[header.tell() :]
        if len(body) != file_dtype.itemsize * int(np.prod(file_shape, dtype=object)):
            raise DataError(f"{self.name} is truncated")
        return VerifiedArray(body.view(file_dtype).reshape(file_shape), self, header.tell())

    def array(self, dtype: DTypeLike) -> VerifiedArray:
        """Return the numbers of a file without header, not verified yet."""
        little_endian = np.dtype(dtype).newbyteorder("<")
        if len(self.data) % little_endian.itemsize:
            raise DataError(f"the size of {self.name} is not a multiple of {little_endian.itemsize} bytes")
        return VerifiedArray(self.data.view(little_endian), self, 0)


class VerifiedArray:
    """An array in a mapped file: its shape is known, its numbers are verified on access."""

    def __init__(self, raw: NDArray[Any], file: VerifiedFile, position: int) -> None:
        self.raw, self._file, self._position = raw, file, position
        self.shape, self.dtype, self.ndim = raw.shape, raw.dtype, raw.ndim

    def __len__(self) -> int:
        return len(self.raw)

    def read_verified(self) -> NDArray[Any]:
        """Verify and return the array."""
        self._file.check(self._position, self._position + self.raw.nbytes)
        return self.raw

    def rows(self, start: int, stop: int) -> VerifiedArray:
        """Return a slice, not verified yet."""
        return VerifiedArray(self.raw[start:stop], self._file, self._position + start * self.raw[:1].nbytes)

    def check_ranges(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        """Verify ranges of rows; a range outside the array is an error."""
        is_filled = stops != starts
        if not is_filled.any():
            return
        starts, stops = starts[is_filled], stops[is_filled]
        if starts.min() < 0 or (stops < starts).any() or stops.max() > len(self):
            raise self._file.error("another file points outside this one")
        size = self.raw[:1].nbytes
        self._file.check_blocks(
            (self._position + starts * size) // BLOCK, (self._position + stops * size - 1) // BLOCK + 1
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (np.array(self.read_verified()),)
