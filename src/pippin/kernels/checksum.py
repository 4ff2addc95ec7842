"""Are these the bytes that were written? XXH3 of a stretch of bytes, and of the blocks of one.

XXH3 because it is the same on every machine, about as fast as memory is read, and 64 bits wide: a damaged block passes
once in 2⁶⁴ times. It finds damage, not forgery; SHA-256 names things.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads_for

BLOCK = 1 << 16  # bytes: small enough that one posting list is cheap to check, large enough that sums are no weight

Bytes = NDArray[np.uint8]


def xxh3(content: bytes | memoryview | Bytes) -> int:
    """The checksum of some bytes.

    >>> f"{xxh3(b''):016x} {xxh3(b'pippin'):016x}"
    '2d06800538d394c2 0a9eb619e363069d'
    """
    return native.xxh3(np.frombuffer(content, np.uint8))


def block_checksums(content: Bytes, block: int = BLOCK) -> NDArray[np.uint64]:
    """The checksum of every block of some bytes; the last block may be short."""
    sums = np.empty(-(-len(content) // block), np.uint64)
    native.block_checksums(content, block, sums, threads_for(len(content), "bytes"))
    return sums


def first_damaged(
    content: Bytes, sums: NDArray[np.uint64], checked: Bytes, first: int, last: int, block: int = BLOCK
) -> int:
    """The first block from `first` up to `last` that is not what its sum says, or -1; `checked` keeps the others."""
    return native.first_damaged(
        content, block, sums, checked, first, last, threads_for((last - first) * block, "bytes")
    )
