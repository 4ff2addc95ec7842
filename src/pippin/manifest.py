"""What Pippin wrote, and whether it is still that: one class for the format, version and checksums of a folder.

A folder that Pippin writes has a manifest, a JSON file whose last line is the checksum of all that comes before it
(`seal`), and `checksums.bin`, the checksum of every block of 64 KiB of every file. `Format.read` verifies the manifest
and the sizes of the files; `Manifest.open` maps a file, whose blocks are verified when they are first needed; `verify`
reads everything. So damage anywhere is an error, and what is never looked at costs nothing.
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

from pippin import __version__
from pippin.blocks import Blocks, map_bytes
from pippin.errors import DataError
from pippin.files import atomic_folder, recover, remove, write_new
from pippin.kernels.checksum import BLOCK, block_checksums, xxh3

CHECKSUMS = "checksums.bin"
_SEAL = re.compile(rb',\n "checksum": "([0-9a-f]{16})"\n}\n')
_SEAL_BYTES = len(b',\n "checksum": "0123456789abcdef"\n}\n')
_PIECE = 128 * BLOCK  # bytes read at once


def checksum(content: bytes | memoryview | NDArray[np.uint8]) -> str:
    """The checksum of some bytes as text.

    >>> checksum(b"pippin")
    '0a9eb619e363069d'
    """
    return f"{xxh3(content):016x}"


def seal(record: dict[str, Any]) -> bytes:
    r"""A record as JSON for reading that ends with its own checksum.

    >>> print(seal({"queries": 2}).decode(), end="")
    {
     "queries": 2,
     "checksum": "e432e9e69155cab7"
    }
    """
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    body = text.removesuffix(b"\n}")
    return body + f',\n "checksum": "{checksum(body)}"\n}}\n'.encode()


def is_sealed(content: bytes) -> bool:
    """Whether some bytes end with a checksum, and are what it says."""
    seal = _SEAL.fullmatch(content[-_SEAL_BYTES:])
    return seal is not None and seal[1].decode() == checksum(content[:-_SEAL_BYTES])


def unseal(content: bytes, path: Path) -> dict[str, Any]:
    """The record of a sealed file; where it is not what was written, an error."""
    if not is_sealed(content):
        raise DataError("damaged: this file is not what was written (its checksum differs)", path)
    record: dict[str, Any] = json.loads(content.decode("utf-8", "surrogatepass"))
    del record["checksum"]
    return record


def _plain_types(shape: Any) -> set[type]:
    """Types whose values fit a shape, whatever they are."""
    alternatives = shape if isinstance(shape, tuple) else (shape,)
    return {type(None) if one is None else one for one in alternatives if one is None or isinstance(one, type)}


def fits(value: Any, shape: Any) -> bool:
    """Whether a value read from JSON has a shape: a type, alternatives, [of each], {of any key} or {of these keys}.

    >>> fits({"name": "a", "means": {"MAP": None}}, {"name": str, "means": {str: (float, None)}})
    True
    >>> fits([{"name": "a"}, {}], [{"name": str}]), fits(True, int)
    (False, False)
    """
    if isinstance(shape, tuple):
        return any(fits(value, one) for one in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        if str in shape and isinstance(value, dict) and {*map(type, value.values())} <= _plain_types(shape[str]):
            return True  # results hold thousands of numbers by name, and are looked at together
        pairs = [(key, shape[str]) for key in value] if str in shape and isinstance(value, dict) else shape.items()
        return isinstance(value, dict) and all(key in value and fits(value[key], one) for key, one in pairs)
    if shape is None:
        return value is None
    return isinstance(value, shape) and not (shape is int and isinstance(value, bool))


def read_sealed(path: Path) -> dict[str, Any]:
    """The record of a sealed file on disk."""
    try:
        return unseal(path.read_bytes(), path)
    except FileNotFoundError:
        raise DataError("this file is missing", path) from None
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror})", path) from None


def seal_bytes(content: bytes) -> bytes:
    """Bytes with their checksum behind them."""
    return content + checksum(content).encode()


def unseal_bytes(content: bytes) -> bytes | None:
    """The bytes of `seal_bytes`; None where they are not what was written.

    >>> unseal_bytes(seal_bytes(b"pippin")), unseal_bytes(b"P" + seal_bytes(b"pippin")[1:])
    (b'pippin', None)
    """
    return content[:-16] if content[-16:] == checksum(content[:-16]).encode() else None


@dataclass(frozen=True)
class Format:
    """A kind of folder that Pippin writes."""

    name: str  # what the manifest says it is
    version: int
    noun: str  # what errors call it
    again: str  # how to make one again, for those of earlier versions
    file: str = "manifest.json"

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether a folder of this kind stands at a path, of whatever version."""
        recover(path)
        try:
            with (Path(path) / self.file).open("rb") as file:
                return f'"format": "{self.name}"'.encode() in file.read(200)
        except OSError:
            return False

    @contextmanager
    def new_folder(self, path: str | os.PathLike[str]) -> Iterator[Path]:
        """A folder to write to that takes its place at the end; only another of the same kind is replaced."""
        target = Path(os.path.normpath(os.fspath(path)))
        recover(target)
        self.check_target(target)
        with atomic_folder(target) as folder:
            yield folder

    def check_target(self, target: Path) -> None:
        """Raise where something stands that is not of this kind."""
        if target.exists() and not self.is_at(target) and not (target.is_dir() and not any(target.iterdir())):
            raise DataError(f"something that is no {self.noun} of Pippin's stands here, and is not replaced", target)

    def write(self, folder: Path, record: dict[str, Any]) -> None:
        """Write the manifest of a folder whose files are all written: from then on it opens."""
        for name in (CHECKSUMS, self.file):  # of an attempt that was killed
            remove(folder / name)
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        files = {name: path for name, path in files.items() if not name.startswith(".") and "/." not in name}
        sums = [_sums_of(path) for path in files.values()]
        packed = np.concatenate([np.empty(0, np.uint64), *sums]).astype("<u8").tobytes()
        write_new(folder / CHECKSUMS, packed)
        sizes = {name: path.stat().st_size for name, path in files.items()}
        checksums = {"block": BLOCK, "xxh3": checksum(packed), "bytes": sizes}
        write_new(folder / self.file, seal({**self.head, **record, "checksums": checksums}))

    @property
    def head(self) -> dict[str, Any]:
        """What a manifest begins with."""
        return {"format": self.name, "version": self.version, "pippin": __version__}

    def read(self, path: str | os.PathLike[str]) -> Manifest:
        """What a folder says of itself, verified; its files can be opened."""
        record = self.read_record(Path(path))
        if not fits(record.get("checksums"), {"block": int, "xxh3": str, "bytes": {str: int}}):
            raise DataError(f"this {self.noun} is damaged: its {self.file} does not describe it", path)
        return Manifest(Path(path), record, self)

    def read_record(self, path: Path) -> dict[str, Any]:
        """What a manifest says, verified and of this version."""
        recover(path)
        try:
            content = (path / self.file).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            if not path.exists():
                raise DataError(f"no {self.noun}: there is no such folder", path) from None
            raise DataError(f"no {self.noun}: there is no {self.file} in this folder", path) from None
        except OSError as error:
            raise DataError(f"this {self.noun} cannot be read ({self.file}: {error.strerror})", path) from None
        sealed = is_sealed(content)
        try:
            record = json.loads(content)
        except (ValueError, RecursionError):
            raise DataError(f"this {self.noun} is damaged: its {self.file} cannot be read", path) from None
        if not isinstance(record, dict) or record.get("format") != self.name:
            raise DataError(f"no {self.noun}: the {self.file} in this folder is of something else", path)
        self._check_version(record, path)
        if not sealed:
            raise DataError(f"this {self.noun} is damaged: its {self.file} is not what was written", path)
        return record

    def _check_version(self, record: dict[str, Any], path: Path) -> None:
        version, writer = record.get("version"), record.get("pippin")
        if version == self.version:
            return
        if isinstance(version, int) and version > self.version:
            raise DataError(
                f"this {self.noun} is of version {version}, written by pippin {writer}; "
                f"this is pippin {__version__}, which reads version {self.version}", path,
            )  # fmt: skip
        raise DataError(f"this {self.noun} is of an earlier version, which cannot be verified: {self.again}", path)

    @contextmanager
    def described(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Whatever is wrong with what a manifest says, as one sentence about the folder."""
        try:
            yield
        except DataError as error:
            if error.file is not None:
                raise
            raise DataError(f"this {self.noun} is damaged: {error.message}", path) from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            raise DataError(f"this {self.noun} is damaged: its {self.file} does not describe it", path) from None


@dataclass(frozen=True, eq=False)
class Manifest:
    """The verified manifest of a folder, and the files it speaks of."""

    path: Path
    record: dict[str, Any]
    format: Format
    # Name → which file it was, and which of its blocks were verified: a file that is opened again is not read again.
    _checked: dict[str, tuple[tuple[int, ...], NDArray[np.uint8]]] = field(default_factory=dict, repr=False)

    def __getitem__(self, key: str) -> Any:
        return self.record[key]

    @cached_property
    def _sums(self) -> dict[str, tuple[int, NDArray[np.uint64]]]:
        """Name → bytes, and the checksum of each block."""
        said = self.record["checksums"]
        if said["block"] != BLOCK:
            raise DataError(f"its blocks have {said['block']} bytes, which no version has written")
        try:
            packed = (self.path / CHECKSUMS).read_bytes()
        except OSError:
            raise DataError(f"{CHECKSUMS} is missing or cannot be read") from None
        if checksum(packed) != said["xxh3"]:
            raise DataError(f"{CHECKSUMS} is not what was written")
        sums = np.frombuffer(packed, "<u8").astype(np.uint64, copy=False)
        by_file, first = {}, 0
        for name, size in said["bytes"].items():
            last = first + -(-size // BLOCK)
            by_file[name] = size, sums[first:last]
            first = last
        return by_file

    @property
    def files(self) -> list[str]:
        """The names of all files, as paths from the folder."""
        return list(self.record["checksums"]["bytes"])

    def open(self, name: str) -> Blocks:
        """The bytes of a file, mapped, to be verified as they are needed."""
        if name not in self._sums or Path(name).is_absolute() or ".." in Path(name).parts:
            raise DataError(f"it has no file {name}")
        size, sums = self._sums[name]
        try:
            with (self.path / name).open("rb") as file:
                data, state = map_bytes(file), os.fstat(file.fileno())
        except FileNotFoundError:
            raise DataError(f"{name} is missing") from None
        except OSError as error:
            raise DataError(f"{name} cannot be read ({error.strerror})") from None
        if len(data) != size or len(sums) != -(-size // BLOCK):
            raise DataError(f"{name} has {len(data):,} bytes where {self.format.file} says {size}")
        which = (state.st_dev, state.st_ino, state.st_mtime_ns)
        if self._checked.get(name, (None,))[0] != which:
            self._checked[name] = which, np.zeros(len(sums), np.uint8)
        return Blocks(name, data, sums, self._checked[name][1], self)

    def verify(self) -> int:
        """Read every byte of every file and compare; how many bytes there were."""
        with self.format.described(self.path):
            for name in self.files:
                self.open(name).check()
            return sum(size for size, _ in self._sums.values())


def _sums_of(path: Path) -> NDArray[np.uint64]:
    """The checksum of every block of a file, which is not mapped: its pages would count as memory of the writer."""
    sums = [np.empty(0, np.uint64)]
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            sums.append(block_checksums(np.frombuffer(piece, np.uint8)))
    return np.concatenate(sums)
