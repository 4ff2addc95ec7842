"""How files and folders come to stand: whole or not at all, and never through a link that lies in Pippin's own folders.

A file or folder is written beside its place under a hidden name and then renamed. Where a process was killed between
the two renames that let a new folder take an old one's place, `recover` finishes the work the next time. What lies in
a folder of results, an index or a data set may come from a stranger: nothing there is opened, emptied or deleted
through a symbolic link.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from pippin.errors import DataError
from pippin.machine import AT_ONCE, PLAIN, hold_folder

NEW, OLD = ".new", ".old"


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[IO[bytes]]:
    """A binary file to write to that appears under its name only when all went well.

    Written beside it and renamed. A name that ends in `.gz` is packed; `-` is standard output. A link is followed where
    a user named it, and refused (`follow=False`) where it lies in a folder that Pippin fills.
    """
    name = os.fspath(path)
    if not follow and Path(name).is_symlink():
        raise link_error(Path(name))
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
    import tempfile

    target = target.resolve()  # through a link that the user named, so that the link stays one
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
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


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """A new folder beside `target` that takes its place when all is written, and vanishes when something fails."""
    target = target.resolve() if target.is_symlink() else target
    recover(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        folder, held = _new_folder(target)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", target) from None
    try:
        yield folder
        folder.chmod(0o777 & ~_umask())  # mkdtemp makes folders that only their owner can open
        take_place(folder, target)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", target) from None
    finally:
        remove(folder)
        os.close(held)


def temporary_folder(name: str) -> tuple[Path, int]:
    """A folder of our own among the system's temporary ones, and its lock; whoever asked removes and closes them.

    Those that killed processes left under this name are removed.
    """
    import tempfile

    target = Path(tempfile.gettempdir(), name)
    _sweep(target)
    return _new_folder(target)


def _new_folder(target: Path) -> tuple[Path, int]:
    """A folder that nobody else has, and the lock that says somebody is at work there."""
    import tempfile

    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=NEW, dir=target.parent))
        held = hold_folder(folder, wait=True)
        if held is not None and folder.is_dir():
            return folder, held
        if held is not None:  # somebody swept it away before it was locked
            os.close(held)


def take_place(new: Path, target: Path) -> None:
    """Let a finished folder take the target's name; what stood there is removed."""
    old = new.with_name(f".{target.name}.{_token(new)}{OLD}")
    had = target.exists()
    if had:
        os.rename(target, old)  # noqa: PTH104 - the tests stop between the two by replacing `os.rename`
    try:
        os.rename(new, target)  # noqa: PTH104
    except BaseException:
        if had:
            os.rename(old, target)  # noqa: PTH104
        raise
    remove(old)


def _token(new: Path) -> str:
    return new.name.removesuffix(NEW).rpartition(".")[2]


def _traces(target: Path, ending: str) -> list[Path]:
    """Folders that writing to this target left under a hidden name."""
    hidden = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(ending)}")
    try:
        names = sorted(entry.name for entry in os.scandir(target.parent) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [target.parent / name for name in names if hidden.fullmatch(name)]


def recover(path: str | os.PathLike[str]) -> None:
    """Bring back a folder whose writer was killed between its two renames: the new one if it is there, else the old."""
    target = Path(os.path.normpath(os.fspath(path)))
    if os.path.lexists(target):
        return
    for old in _traces(target, OLD):
        new = old.with_suffix(NEW)
        held = hold_folder(new if new.is_dir() else old)
        if held is None:  # its writer is alive
            continue
        with suppress(OSError):
            if not os.path.lexists(target):
                os.rename(new if new.is_dir() else old, target)  # noqa: PTH104
                remove(old)
        os.close(held)


def _sweep(target: Path) -> None:
    """Remove what writers that were killed have left beside a target that stands."""
    for left in [*_traces(target, NEW), *(_traces(target, OLD) if target.exists() else [])]:
        if (held := hold_folder(left)) is not None:
            remove(left)
            os.close(held)


def remove(path: Path) -> None:
    """Remove a file, a folder with all that is in it, or a link, never what a link points to; nothing there is fine."""
    try:
        kind = path.lstat().st_mode
    except OSError:
        return
    if stat.S_ISDIR(kind):
        import shutil

        shutil.rmtree(path, ignore_errors=True)  # does not follow links
    else:
        with suppress(FileNotFoundError):
            path.unlink()


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet, to the disk; a link of that name is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def open_lock(path: Path) -> IO[bytes]:
    """The file whose lock says that somebody is at work: made if it is not there, never emptied, never a link."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | PLAIN | AT_ONCE, 0o666)
    except OSError as error:
        if path.is_symlink():
            raise link_error(path) from None
        raise DataError(f"cannot be written ({error.strerror})", path) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DataError("no file to lock, but something else, stands here", path)
    return os.fdopen(handle, "r+b")


def make_folder(folder: Path, *names: str) -> Path:
    """A folder inside another one, made where it is missing; where a link stands instead, an error."""
    for name in names:
        folder = folder / name
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise link_error(folder)
    return folder


def refuse_links(folder: Path) -> None:
    """Raise where a symbolic link lies anywhere in a folder that is about to be written to."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise link_error(Path(entry.path))
            if entry.is_dir(follow_symlinks=False):
                refuse_links(Path(entry.path))


def link_error(path: Path) -> DataError:
    """The sentence about a link where none may be."""
    return DataError("this is a symbolic link, and nothing is written through one in a folder of Pippin's", path)
