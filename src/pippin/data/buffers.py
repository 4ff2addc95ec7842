"""How bytes come in and go out: files as buffers, mapped or unpacked, and writing that never leaves half a file."""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, eq=False)
class Buffer:
    """The bytes of a file and the name errors call it by."""

    data: NDArray[np.uint8]
    name: str

    def __repr__(self) -> str:
        return f"Buffer({self.name!r}: {len(self.data):,} bytes)"


Readable: TypeAlias = str | os.PathLike[str] | Buffer


def open_buffer(source: Readable) -> Buffer:
    """The bytes of a file: mapped if it is plain, unpacked if its first bytes say gzip; `-` is standard input."""
    if isinstance(source, Buffer):
        return source
    name = os.fspath(source)
    try:
        data, name = _read_standard_input() if name == "-" else (_map(name), name)
    except FileNotFoundError:
        raise DataError("there is no such file", name) from None
    except IsADirectoryError:
        raise DataError("this is a folder, not a file", name) from None
    except (OSError, ValueError) as error:
        raise DataError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    if not len(data):
        raise DataError("the file is empty", name)
    if data[:2].tobytes() == GZIP_MAGIC:
        data = _unpack(data, name)
    return Buffer(data, name)


def _read_standard_input() -> tuple[NDArray[np.uint8], str]:
    return np.frombuffer(sys.stdin.buffer.read(), np.uint8), "standard input"


def _map(name: str) -> NDArray[np.uint8]:
    with Path(name).open("rb") as file:
        if os.fstat(file.fileno()).st_size:
            with suppress(OSError, ValueError):  # what cannot be mapped (a pipe, some file systems) is read
                return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        return np.frombuffer(file.read(), np.uint8)  # a pipe has size 0 too


def _unpack(data: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    import gzip
    import zlib

    try:
        plain = gzip.decompress(data.data)
    except EOFError:
        raise DataError("the gzip file is truncated", name) from None
    except (OSError, zlib.error) as error:
        raise DataError(f"the gzip file is damaged: {error}", name) from None
    if not plain:
        raise DataError("the file is empty", name)
    return np.frombuffer(plain, np.uint8)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write to that appears under its name only when all went well.

    Written beside it and renamed. A name that ends in `.gz` is packed; `-` is standard output.
    """
    name = os.fspath(path)
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(name)
    try:
        if target.exists() and not target.is_file():  # /dev/null, a pipe: nothing to rename over
            if target.is_dir():
                raise DataError("this is a folder, not a file to write", name)
            with target.open("wb") as special, _packed(special, name) as sink:
                yield sink
            return
        yield from _replace(target, name)
    except OSError as error:
        raise DataError(f"the file cannot be written: {error.strerror or error}", name) from None


def _replace(target: Path, name: str) -> Iterator[IO[bytes]]:
    target = target.resolve()  # through a link, so that the link stays one
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            with _packed(file, name) as sink:
                yield sink
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


@contextmanager
def _packed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if not name.endswith(".gz"):
        yield file
        return
    import gzip

    # No time and no name inside, so that the same data give the same bytes.
    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        yield cast(IO[bytes], packed)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """A new folder beside `target` that takes its place when all is written, and vanishes when something fails."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent))
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", target) from None
    try:
        yield folder
        folder.chmod(0o777 & ~_umask())  # mkdtemp makes folders that only their owner can open
        old = folder.with_suffix(".old")
        had = target.exists()
        if had:
            target.rename(old)
        try:
            folder.rename(target)
        except BaseException:
            if had:
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", target) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask
