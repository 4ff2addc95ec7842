"""XXH3 checksums of byte strings and of their blocks.

XXH3 gives the same value on every machine, is about as fast as reading memory, and has 64 bits: the chance that damage
stays undetected is 2⁻⁶⁴. It detects damage, not forgery; content that is identified by its digest uses SHA-256.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads_for

BLOCK = (
    1 << 16
)  # bytes: small enough that one posting list is cheap to check, large enough that checksums take little space

Bytes = NDArray[np.uint8]


def xxh3(content: bytes | memoryview | Bytes) -> int:
    """Return the checksum of a byte string.

    >>> f"{xxh3(b''):016x} {xxh3(b'pippin'):016x}"
    '2d06800538d394c2 0a9eb619e363069d'
    """
    return native.xxh3(np.frombuffer(content, np.uint8))


def block_checksums(content: Bytes, block: int = BLOCK) -> NDArray[np.uint64]:
    """Return the checksum of each block; the last block may be short."""
    sums = np.empty(-(-len(content) // block), np.uint64)
    native.block_checksums(content, block, sums, threads_for(len(content), "bytes"))
    return sums


def find_damaged_block(
    content: Bytes, sums: NDArray[np.uint64], checked: Bytes, first: int, last: int, block: int = BLOCK
) -> int:
    """Return the first block in [first, last) whose checksum does not match, or -1; set `checked` for valid blocks."""
    return native.first_damaged(
        content, block, sums, checked, first, last, threads_for((last - first) * block, "bytes")
    )
