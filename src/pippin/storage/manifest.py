"""Format, version and checksums of the folders that Pippin writes.

Such a folder has a manifest, a JSON file that ends with its own checksum, and `checksums.bin` with the checksum of
every block of 64 KiB of every file. `FolderFormat.read` verifies the manifest; `Manifest.open` maps a file, whose
blocks are verified when they are first needed; `Manifest.verify` reads everything. Damage anywhere is an error, and
files that are not used cost nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin._version import __version__
from pippin.errors import DataError
from pippin.kernels.checksum import BLOCK, block_checksums, xxh3
from pippin.storage.blocks import VerifiedFile, map_bytes
from pippin.storage.files import atomic_folder, recover_interrupted, remove_path, write_new

CHECKSUMS = "checksums.bin"
_CHECKSUM = re.compile(rb',\n "checksum": "([0-9a-f]{16})"\n}\n')
_CHECKSUM_BYTES = len(b',\n "checksum": "0123456789abcdef"\n}\n')
_READ_BYTES = 128 * BLOCK  # bytes read at once


def checksum(content: bytes | memoryview | NDArray[np.uint8]) -> str:
    """Return the checksum of bytes as text.

    >>> checksum(b"pippin")
    '0a9eb619e363069d'
    """
    return f"{xxh3(content):016x}"


def dump_with_checksum(record: dict[str, Any]) -> bytes:
    r"""Return a record as indented JSON that ends with its own checksum.

    >>> print(dump_with_checksum({"queries": 2}).decode(), end="")
    {
     "queries": 2,
     "checksum": "e432e9e69155cab7"
    }
    """
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    body = text.removesuffix(b"\n}")
    return body + f',\n "checksum": "{checksum(body)}"\n}}\n'.encode()


def has_valid_checksum(content: bytes) -> bool:
    """Return whether bytes end with their checksum."""
    match = _CHECKSUM.fullmatch(content[-_CHECKSUM_BYTES:])
    return match is not None and match[1].decode() == checksum(content[:-_CHECKSUM_BYTES])


def load_with_checksum(content: bytes, path: Path) -> dict[str, Any]:
    """Return the record of JSON with a checksum, or raise DataError if it does not match."""
    if not has_valid_checksum(content):
        raise DataError("damaged: the checksum of this file does not match", path)
    record: dict[str, Any] = json.loads(content.decode("utf-8", "surrogatepass"))
    del record["checksum"]
    return record


def _plain_types(shape: Any) -> set[type]:
    """Return the types that match a shape with any value."""
    alternatives = shape if isinstance(shape, tuple) else (shape,)
    return {
        type(None) if alternative is None else alternative
        for alternative in alternatives
        if alternative is None or isinstance(alternative, type)
    }


def matches_schema(value: Any, shape: Any) -> bool:
    """Return whether JSON has a shape: a type, a tuple of alternatives, [items], {str: values} or {key: value, …}.

    >>> matches_schema({"name": "a", "means": {"MAP": None}}, {"name": str, "means": {str: (float, None)}})
    True
    >>> matches_schema([{"name": "a"}, {}], [{"name": str}]), matches_schema(True, int)
    (False, False)
    """
    if isinstance(shape, tuple):
        return any(matches_schema(value, alternative) for alternative in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(matches_schema(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        if str in shape and isinstance(value, dict) and {*map(type, value.values())} <= _plain_types(shape[str]):
            return True  # fast path for thousands of numbers by name
        pairs = [(key, shape[str]) for key in value] if str in shape and isinstance(value, dict) else shape.items()
        return isinstance(value, dict) and all(key in value and matches_schema(value[key], item) for key, item in pairs)
    if shape is None:
        return value is None
    return isinstance(value, shape) and not (shape is int and isinstance(value, bool))


def read_with_checksum(path: Path) -> dict[str, Any]:
    """Read a JSON file with a checksum."""
    try:
        return load_with_checksum(path.read_bytes(), path)
    except FileNotFoundError:
        raise DataError("this file is missing", path) from None
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror})", path) from None


def append_checksum(content: bytes) -> bytes:
    """Return bytes with their checksum appended."""
    return content + checksum(content).encode()


def strip_checksum(content: bytes) -> bytes | None:
    """Return the bytes before a checksum, or None if it does not match.

    >>> strip_checksum(append_checksum(b"pippin")), strip_checksum(b"P" + append_checksum(b"pippin")[1:])
    (b'pippin', None)
    """
    return content[:-16] if content[-16:] == checksum(content[:-16]).encode() else None


@dataclass(frozen=True)
class FolderFormat:
    """A format of folders."""

    name: str  # in the manifest
    version: int
    label: str  # in error messages
    rebuild_hint: str  # how to replace a folder of an earlier version
    file: str = "manifest.json"

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a path is a folder of this format, of any version."""
        recover_interrupted(path)
        try:
            with (Path(path) / self.file).open("rb") as file:
                return f'"format": "{self.name}"'.encode() in file.read(200)
        except OSError:
            return False

    @contextmanager
    def new_folder(self, path: str | os.PathLike[str]) -> Iterator[Path]:
        """Yield a folder that replaces `path` at the end; only a folder of the same format is replaced."""
        target = Path(os.path.normpath(os.fspath(path)))
        recover_interrupted(target)
        self.check_target(target)
        with atomic_folder(target) as folder:
            yield folder

    def check_target(self, target: Path) -> None:
        """Raise DataError if the target exists and has another format."""
        if target.exists() and not self.is_at(target) and not (target.is_dir() and not any(target.iterdir())):
            raise DataError(f"this exists and is not a {self.label} of Pippin; choose another name", target)

    def write(self, folder: Path, record: dict[str, Any]) -> None:
        """Write the checksums and the manifest of a folder whose files are complete."""
        for name in (CHECKSUMS, self.file):  # left by a killed writer
            remove_path(folder / name)
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        files = {name: path for name, path in files.items() if not name.startswith(".") and "/." not in name}
        sums = [_block_sums(path) for path in files.values()]
        packed = np.concatenate([np.empty(0, np.uint64), *sums]).astype("<u8").tobytes()
        write_new(folder / CHECKSUMS, packed)
        sizes = {name: path.stat().st_size for name, path in files.items()}
        checksums = {"block": BLOCK, "xxh3": checksum(packed), "bytes": sizes}
        write_new(folder / self.file, dump_with_checksum({**self.head, **record, "checksums": checksums}))

    @property
    def head(self) -> dict[str, Any]:
        """The first fields of a manifest."""
        return {"format": self.name, "version": self.version, "pippin": __version__}

    def read(self, path: str | os.PathLike[str]) -> Manifest:
        """Read and verify the manifest of a folder."""
        record = self.read_record(Path(path))
        if not matches_schema(record.get("checksums"), {"block": int, "xxh3": str, "bytes": {str: int}}):
            raise DataError(f"this {self.label} is damaged: its {self.file} does not describe it", path)
        return Manifest(Path(path), record, self)

    def read_record(self, path: Path) -> dict[str, Any]:
        """Return the record of a manifest, verified and of this version."""
        recover_interrupted(path)
        try:
            content = (path / self.file).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            if not path.exists():
                raise DataError(f"no {self.label}: there is no such folder", path) from None
            raise DataError(f"no {self.label}: there is no {self.file} in this folder", path) from None
        except OSError as error:
            raise DataError(f"this {self.label} cannot be read ({self.file}: {error.strerror})", path) from None
        is_valid = has_valid_checksum(content)
        try:
            record = json.loads(content)
        except (ValueError, RecursionError):
            raise DataError(f"this {self.label} is damaged: its {self.file} cannot be read", path) from None
        if not isinstance(record, dict) or record.get("format") != self.name:
            raise DataError(f"no {self.label}: the {self.file} in this folder has another format", path)
        self._check_version(record, path)
        if not is_valid:
            raise DataError(f"this {self.label} is damaged: the checksum of {self.file} does not match", path)
        return record

    def _check_version(self, record: dict[str, Any], path: Path) -> None:
        version, writer = record.get("version"), record.get("pippin")
        if version == self.version:
            return
        if isinstance(version, int) and version > self.version:
            raise DataError(
                f"this {self.label} is of version {version}, written by pippin {writer}; "
                f"this is pippin {__version__}, which reads version {self.version}", path,
            )  # fmt: skip
        raise DataError(
            f"this {self.label} is of an earlier version, which cannot be verified: {self.rebuild_hint}", path
        )

    @contextmanager
    def wrap_errors(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Convert errors about the contents of a manifest to errors about the folder."""
        try:
            yield
        except DataError as error:
            if error.file is not None:
                raise
            raise DataError(f"this {self.label} is damaged: {error.message}", path) from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            raise DataError(f"this {self.label} is damaged: its {self.file} does not describe it", path) from None


@dataclass(frozen=True, eq=False)
class Manifest:
    """The verified manifest of a folder and access to its files."""

    path: Path
    record: dict[str, Any]
    format: FolderFormat
    # Name → identity of the file and its verified blocks, so that a file that is opened again is not read again.
    _checked: dict[str, tuple[tuple[int, ...], NDArray[np.uint8]]] = field(default_factory=dict, repr=False)

    def __getitem__(self, key: str) -> Any:
        return self.record[key]

    @cached_property
    def _sums(self) -> dict[str, tuple[int, NDArray[np.uint64]]]:
        """Name → size and the checksum of each block."""
        checksums = self.record["checksums"]
        if checksums["block"] != BLOCK:
            raise DataError(f"the block size {checksums['block']} is unknown")
        try:
            packed = (self.path / CHECKSUMS).read_bytes()
        except OSError:
            raise DataError(f"{CHECKSUMS} is missing or cannot be read") from None
        if checksum(packed) != checksums["xxh3"]:
            raise DataError(f"the checksum of {CHECKSUMS} does not match")
        sums = np.frombuffer(packed, "<u8").astype(np.uint64, copy=False)
        by_file, start = {}, 0
        for name, size in checksums["bytes"].items():
            stop = start + -(-size // BLOCK)
            by_file[name] = size, sums[start:stop]
            start = stop
        return by_file

    @property
    def files(self) -> list[str]:
        """The paths of all files, relative to the folder."""
        return list(self.record["checksums"]["bytes"])

    def open(self, name: str) -> VerifiedFile:
        """Map a file, whose blocks are verified when they are needed."""
        if name not in self._sums or Path(name).is_absolute() or ".." in Path(name).parts:
            raise DataError(f"file {name} is missing")
        size, sums = self._sums[name]
        try:
            with (self.path / name).open("rb") as file:
                data, state = map_bytes(file), os.fstat(file.fileno())
        except FileNotFoundError:
            raise DataError(f"{name} is missing") from None
        except OSError as error:
            raise DataError(f"{name} cannot be read ({error.strerror})") from None
        if len(data) != size or len(sums) != -(-size // BLOCK):
            raise DataError(f"{name} has {len(data):,} bytes, but {self.format.file} states {size}")
        identity = (state.st_dev, state.st_ino, state.st_mtime_ns)
        if self._checked.get(name, (None,))[0] != identity:
            self._checked[name] = identity, np.zeros(len(sums), np.uint8)
        return VerifiedFile(name, data, sums, self._checked[name][1], self)

    def verify(self) -> int:
        """Verify every byte of every file; return the number of bytes."""
        with self.format.wrap_errors(self.path):
            for name in self.files:
                self.open(name).check()
            return sum(size for size, _ in self._sums.values())


def _block_sums(path: Path) -> NDArray[np.uint64]:
    """Return the checksum of every block of a file, which is not mapped, because its pages would count as memory."""
    sums = [np.empty(0, np.uint64)]
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            sums.append(block_checksums(np.frombuffer(chunk, np.uint8)))
    return np.concatenate(sums)
