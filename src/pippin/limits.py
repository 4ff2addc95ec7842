"""How much may a file claim to hold? Less than would fill the memory, and said before anything is allocated.

A packed file of a few megabytes can unpack to gigabytes, and a header can claim anything. What a file becomes in memory
may be 64 times its size on disk, at least 256 MiB and at most 16 GiB, on every machine alike; `--max-bytes` (here:
`set_max_bytes`) states another limit in place of all three. Files that are mapped as they lie need no limit.
"""

from __future__ import annotations

import os

from pippin.errors import DataError

TIMES, LEAST, MOST = 64, 256 << 20, 16 << 30
_asked: list[int] = []  # at most one


def set_max_bytes(limit: int | None) -> None:
    """State the limit for all files that this process reads; None: the usual one."""
    _asked[:] = [] if limit is None else [limit]


def max_bytes() -> int | None:
    """The limit that was asked for."""
    return _asked[0] if _asked else None


def allowed(size: int) -> int:
    """The bytes that a file of this size may become.

    >>> allowed(10), allowed(10 << 20) >> 20, allowed(10 << 30) >> 30
    (268435456, 640, 16)
    """
    return _asked[0] if _asked else min(MOST, max(LEAST, TIMES * size))


def check_size(claimed: int, size: int, what: str, file: str | os.PathLike[str] | None) -> None:
    """Raise where a file of `size` bytes claims more than it may; `what` is the beginning of the sentence."""
    if claimed > allowed(size):
        raise DataError(
            f"{what} {in_words(claimed)}, and a file of {in_words(size)} may take {in_words(allowed(size))}; "
            "if it is what it should be, allow more with --max-bytes", file,
        )  # fmt: skip


def in_words(size: int) -> str:
    """A number of bytes for reading.

    >>> in_words(900), in_words(3 << 20), in_words(43 << 40)
    ('900 bytes', '3.1 MB', '47.3 TB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:,.1f} {unit}"
    return f"{size} bytes"
