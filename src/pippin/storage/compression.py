"""Decompression of gzip, zstd, bzip2 and xz files, and limits on the memory that a file may claim.

A compressed file of a few megabytes can expand to gigabytes, and a header can claim any size. In memory a file may take
`MAX_RATIO` times its size on disk, but at least `MIN_LIMIT` and at most `MAX_LIMIT` bytes. `--max-bytes` (in Python
`set_max_bytes`) replaces all three. Memory-mapped files need no limit.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable
from typing import BinaryIO, cast

from pippin.errors import DataError
from pippin.system import format_bytes

MAX_RATIO, MIN_LIMIT, MAX_LIMIT = 64, 256 << 20, 16 << 30
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
MAX_MAGIC_LENGTH = max(map(len, MAGIC))
CHUNK = 1 << 18
_limit: int | None = None  # set by `--max-bytes`


def set_max_bytes(limit: int | None) -> None:
    """Set the limit for every file that this process reads; None restores the default rule."""
    global _limit  # noqa: PLW0603 - one setting of the whole process, threads included
    _limit = limit


def max_bytes() -> int | None:
    """Return the limit that was set, or None."""
    return _limit


def max_decompressed_size(size: int) -> int:
    """Return the number of bytes to which a file of this size may expand.

    >>> max_decompressed_size(10), max_decompressed_size(10 << 20) >> 20, max_decompressed_size(10 << 30) >> 30
    (268435456, 640, 16)
    """
    return min(MAX_LIMIT, max(MIN_LIMIT, MAX_RATIO * size)) if _limit is None else _limit


def check_size(declared_size: int, size: int, start: str, file: str | os.PathLike[str] | None) -> None:
    """Raise DataError if a file of `size` bytes claims too much memory; the message begins with `start`."""
    limit = max_decompressed_size(size)
    if declared_size > limit:
        raise DataError(
            f"{start} {format_bytes(declared_size)}, but a file of {format_bytes(size)} may take at most "
            f"{format_bytes(limit)}; raise the limit with --max-bytes",
            file,
        )


def detect_compression(start: bytes) -> str | None:
    """Return the compression of a file by its first bytes, or None.

    >>> detect_compression(b"BZh91AY&SY"), detect_compression(b"0 qid:1")
    ('bzip2', None)
    """
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), None)


def _gzip(file: BinaryIO) -> BinaryIO:
    import gzip

    return cast(BinaryIO, gzip.GzipFile(fileobj=file))


def _bzip2(file: BinaryIO) -> BinaryIO:
    import bz2

    return cast(BinaryIO, bz2.BZ2File(file))


def _xz(file: BinaryIO) -> BinaryIO:
    import lzma

    return cast(BinaryIO, lzma.LZMAFile(file))


def _zstd(file: BinaryIO) -> BinaryIO:
    from pyarrow import CompressedInputStream

    return cast(BinaryIO, CompressedInputStream(file, "zstd"))


_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {"gzip": _gzip, "zstd": _zstd, "bzip2": _bzip2, "xz": _xz}


class _DecompressingReader(io.RawIOBase):
    """The decompressed content of a file; errors of all libraries become DataError with the position."""

    def __init__(self, file: BinaryIO, compression: str, size: int, name: str) -> None:
        self._compression, self._size, self._name, self._position = compression, size, name, 0
        self._inner = _OPENERS[compression](file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer)  # type: ignore[arg-type]
        try:
            data = self._inner.read(min(len(target), CHUNK))
        except EOFError:
            raise self._error("is truncated") from None
        except (OSError, zlib.error, ValueError) as error:  # LZMAError is not among these
            raise self._error("is damaged", error) from None
        except Exception as error:
            if type(error).__name__ != "LZMAError":
                raise
            raise self._error("is damaged", error) from None
        self._position += len(data)
        check_size(self._position, self._size, "it unpacks to more than", self._name)
        target[: len(data)] = data
        return len(data)

    def _error(self, problem: str, error: BaseException | None = None) -> DataError:
        reason = f": {str(error).strip()}" if error else ""
        return DataError(
            f"the {self._compression} file {problem} after {self._position:,} unpacked bytes{reason}", self._name
        )


def open_decompressed(file: BinaryIO, compression: str, size: int, name: str) -> BinaryIO:
    """Return the decompressed content of a file of `size` bytes as a sequential stream."""
    return io.BufferedReader(_DecompressingReader(file, compression, size, name), CHUNK)


def decompress(data: memoryview, compression: str, name: str) -> bytes:
    """Return the decompressed bytes."""
    source = _DecompressingReader(cast(BinaryIO, io.BytesIO(data)), compression, len(data), name)
    return b"".join(iter(lambda: source.read(CHUNK), b""))
