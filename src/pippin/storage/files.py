"""Atomic writes of files and folders, never through a symbolic link inside Pippin's own folders.

A file or folder is written under a hidden name beside its target and then renamed. If a process is killed between the
two renames that replace a folder, `recover_interrupted` completes the work later. A folder of results, an index or a
data set may come from someone else: nothing in it is opened, emptied or deleted through a symbolic link.
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
from pippin.system import OPEN_NOFOLLOW, OPEN_NONBLOCK, lock_folder

NEW, OLD = ".new", ".old"


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[IO[bytes]]:
    """Open a binary file for writing that appears under its name only if no error occurs.

    A name that ends in `.gz` is compressed; `-` is standard output. A symbolic link is followed if a user named it, and
    refused with `follow=False`, inside folders that Pippin fills.
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
        if target.exists() and not target.is_file():  # /dev/null or a pipe cannot be replaced
            if target.is_dir():
                raise DataError("this is a folder, not a file to write", name)
            with target.open("wb") as special, _open_compressed(special, name) as sink:
                yield sink
            return
        yield from _replace(target, name)
    except OSError as error:
        raise DataError(f"the file cannot be written: {error.strerror or error}", name) from None


def _replace(target: Path, name: str) -> Iterator[IO[bytes]]:
    import tempfile

    target = target.resolve()  # keeps a link that the user named
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            with _open_compressed(file, name) as sink:
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
def _open_compressed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if not name.endswith(".gz"):
        yield file
        return
    import gzip

    # Without time and name, so that the same data give the same bytes.
    with gzip.GzipFile("", "wb", 6, file, mtime=0) as compressed:
        yield cast(IO[bytes], compressed)


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder that replaces `target` at the end, or is removed after an error."""
    target = target.resolve() if target.is_symlink() else target
    recover_interrupted(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target)
        folder, lock = _new_folder(target)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", target) from None
    try:
        yield folder
        folder.chmod(0o777 & ~_umask())  # mkdtemp makes folders that only their owner can open
        replace_folder(folder, target)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", target) from None
    finally:
        remove_path(folder)
        os.close(lock)


def temporary_folder(name: str) -> tuple[Path, int]:
    """Create a temporary folder; return it and its lock, which the caller removes and closes.

    Folders that killed processes left under this name are removed.
    """
    import tempfile

    target = Path(tempfile.gettempdir(), name)
    _remove_stale(target)
    return _new_folder(target)


def _new_folder(target: Path) -> tuple[Path, int]:
    """Create a unique folder beside `target` and lock it."""
    import tempfile

    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=NEW, dir=target.parent))
        lock = lock_folder(folder, wait=True)
        if lock is not None and folder.is_dir():
            return folder, lock
        if lock is not None:  # another process removed it before it was locked
            os.close(lock)


def replace_folder(new: Path, target: Path) -> None:
    """Rename a finished folder to `target`; an existing folder is removed."""
    old = new.with_name(f".{target.name}.{_token(new)}{OLD}")
    exists = target.exists()
    if exists:
        os.rename(target, old)  # noqa: PTH104 - the tests stop between the two by replacing `os.rename`
    try:
        os.rename(new, target)  # noqa: PTH104
    except BaseException:
        if exists:
            os.rename(old, target)  # noqa: PTH104
        raise
    remove_path(old)


def _token(new: Path) -> str:
    return new.name.removesuffix(NEW).rpartition(".")[2]


def _find_temporary(target: Path, ending: str) -> list[Path]:
    """Return the hidden folders that writing to this target left."""
    temporary_name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(ending)}")
    try:
        names = sorted(entry.name for entry in os.scandir(target.parent) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [target.parent / name for name in names if temporary_name.fullmatch(name)]


def recover_interrupted(path: str | os.PathLike[str]) -> None:
    """Restore a folder whose writer was killed between its two renames: the new version if it exists, else the old."""
    target = Path(os.path.normpath(os.fspath(path)))
    if os.path.lexists(target):
        return
    for old in _find_temporary(target, OLD):
        new = old.with_suffix(NEW)
        lock = lock_folder(new if new.is_dir() else old)
        if lock is None:  # its writer is alive
            continue
        with suppress(OSError):
            if not os.path.lexists(target):
                os.rename(new if new.is_dir() else old, target)  # noqa: PTH104
                remove_path(old)
        os.close(lock)


def _remove_stale(target: Path) -> None:
    """Remove what killed writers left beside a target."""
    for folder in [*_find_temporary(target, NEW), *(_find_temporary(target, OLD) if target.exists() else [])]:
        if (lock := lock_folder(folder)) is not None:
            remove_path(folder)
            os.close(lock)


def remove_path(path: Path) -> None:
    """Remove a file, a folder with its contents, or a link but not its target; a missing path is ignored."""
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
    """Write a new file and flush it to disk; a link of that name is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def open_lock(path: Path) -> IO[bytes]:
    """Open or create a lock file; it is never emptied and never a link."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | OPEN_NOFOLLOW | OPEN_NONBLOCK, 0o666)
    except OSError as error:
        if path.is_symlink():
            raise link_error(path) from None
        raise DataError(f"cannot be written ({error.strerror})", path) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DataError("this is not a regular file and cannot be locked", path)
    return os.fdopen(handle, "r+b")


def make_folder(folder: Path, *names: str) -> Path:
    """Create nested folders if they are missing; a link is an error."""
    for name in names:
        folder = folder / name
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise link_error(folder)
    return folder


def check_no_links(folder: Path) -> None:
    """Raise DataError if a folder contains a symbolic link anywhere."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                raise link_error(Path(entry.path))
            if entry.is_dir(follow_symlinks=False):
                check_no_links(Path(entry.path))


def link_error(path: Path) -> DataError:
    """Return the error about a symbolic link."""
    return DataError("this is a symbolic link; Pippin does not write through links in its folders", path)
