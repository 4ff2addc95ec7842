"""Files that are packed by gzip, zstd, bzip2 or xz, unpacked on the way, and never to more than the limit allows.

Which packing it is, the first bytes say. Whatever is wrong with a packed file is one sentence that names it.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import BinaryIO, cast

from pippin.errors import DataError
from pippin.extras import need
from pippin.limits import check_size

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
LONGEST = max(map(len, MAGIC))
CHUNK = 1 << 18


def packing_of(start: bytes) -> str | None:
    """How a file that begins so is packed; None where it is plain.

    >>> packing_of(b"BZh91AY&SY"), packing_of(b"0 qid:1")
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
    need("a file packed by zstd", "pyarrow")
    from pyarrow import CompressedInputStream

    return cast(BinaryIO, CompressedInputStream(file, "zstd"))


_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {"gzip": _gzip, "zstd": _zstd, "bzip2": _bzip2, "xz": _xz}


class _Unpacking(io.RawIOBase):
    """What a packed file holds; errors of whatever library are a `DataError` with the place."""

    def __init__(self, file: BinaryIO, packing: str, size: int, name: str) -> None:
        self._packing, self._size, self._name, self._position = packing, size, name, 0
        self._inner = _OPENERS[packing](file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        room = memoryview(buffer)  # type: ignore[arg-type]
        try:
            data = self._inner.read(min(len(room), CHUNK))
        except EOFError:
            raise self._error("is truncated") from None
        except (OSError, zlib.error, ValueError) as error:  # lzma's own error is none of these
            raise self._error("is damaged", error) from None
        except Exception as error:
            if type(error).__name__ != "LZMAError":
                raise
            raise self._error("is damaged", error) from None
        self._position += len(data)
        check_size(self._position, self._size, "it unpacks to more than", self._name)
        room[: len(data)] = data
        return len(data)

    def _error(self, words: str, error: BaseException | None = None) -> DataError:
        said = f": {str(error).strip()}" if error else ""
        return DataError(f"the {self._packing} file {words} after {self._position:,} unpacked bytes{said}", self._name)


def unpacked(file: BinaryIO, packing: str, size: int, name: str) -> BinaryIO:
    """What a packed file of `size` bytes holds, to be read from its beginning to its end."""
    return io.BufferedReader(_Unpacking(file, packing, size, name), CHUNK)


def unpack(data: memoryview, packing: str, name: str) -> bytes:
    """All that some packed bytes hold."""
    source = _Unpacking(cast(BinaryIO, io.BytesIO(data)), packing, len(data), name)
    return b"".join(iter(lambda: source.read(CHUNK), b""))
