"""Files as buffers of bytes, with the files that accompany them.

`open_buffer` maps a plain file and decompresses a compressed one. `FILE.query` and `FILE.weight` are LightGBM's sizes
of queries and weights of documents; `dataset.json` holds the feature names and checksums of a built data set.
"""

from __future__ import annotations

import itertools
import mmap
import os
import sys
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.records import FrozenRecord
from pippin.storage.compression import MAX_MAGIC_LENGTH, decompress, detect_compression

if TYPE_CHECKING:
    from pippin.storage.manifest import FolderFormat, Manifest


# File extension → format; `.gz` may follow it.
FORMATS_BY_SUFFIX = {
    ".parquet": "parquet", ".pq": "parquet",
    ".csv": "csv", ".tsv": "csv",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".json": "json",
    ".letor": "letor", ".svmlight": "letor", ".libsvm": "letor", ".svm": "letor",
    ".qrels": "qrels", ".qrel": "qrels",
    ".run": "run", ".trec": "run",
    ".scores": "scores", ".score": "scores",
}  # fmt: skip
TABLE_FORMATS = ("parquet", "csv", "arrow")
TABLE_SUFFIXES = tuple(suffix for suffix, format in FORMATS_BY_SUFFIX.items() if format in TABLE_FORMATS)
QUERY, WEIGHT = ".query", ".weight"
_MANIFEST = "dataset.json"
_MAX_DEPTH = 4  # folders between a file and the root of its built data set


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the file extension in lower case, without `.gz`."""
    return Path(os.fspath(path).lower().removesuffix(".gz")).suffix


def table_format(path: str | os.PathLike[str]) -> str | None:
    """Return `parquet`, `csv` or `arrow` by the file extension, or None.

    >>> table_format("a/b.csv.gz"), table_format("b.pq"), table_format("b.txt")
    ('csv', 'parquet', None)
    """
    suffix = suffix_of(path)
    return FORMATS_BY_SUFFIX[suffix] if suffix in TABLE_SUFFIXES else None


@cache
def built_format() -> FolderFormat:
    """Return the format of built data sets; created on first use, because most readers need no manifests."""
    from pippin.storage.manifest import FolderFormat

    return FolderFormat("pippin data set", 2, "data set", "build it again with `pippin build`", _MANIFEST)


def find_build_root(file: Path) -> Path | None:
    """Return the folder of the built data set that a file belongs to, or None."""
    folders = (folder for path in (file, _absolute(file)) for folder in path.parents[:_MAX_DEPTH])
    return next((folder for folder in folders if _may_be_built(folder) and built_format().is_at(folder)), None)


def _absolute(path: Path) -> Path:
    """Return the absolute path with `..` resolved and symbolic links kept."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _may_be_built(folder: Path) -> bool:
    """Quick check. A missing folder counts, because an interrupted write of it may have to be recovered."""
    return os.path.lexists(folder / _MANIFEST) or not os.path.lexists(folder)


def built_feature_names(file: Path, width: int) -> tuple[str, ...]:
    """Return the feature names of a file in a built data set; an empty tuple for other files."""
    folder = find_build_root(file)
    names = [] if folder is None else _manifest(folder).record.get("features", [])
    return tuple(map(str, names)) if len(names) == width else ()


def verify_built_file(file: Path) -> None:
    """Raise DataError if a file of a built data set has changed; other files are not read."""
    folder = find_build_root(file)
    if folder is None:
        return
    manifest = _manifest(folder)
    name = _absolute(file).relative_to(_absolute(folder)).as_posix()
    if name in manifest.files:
        with built_format().wrap_errors(folder):
            manifest.open(name).check()


def _manifest(folder: Path) -> Manifest:
    state = (folder / _MANIFEST).stat()
    return _read_manifest(folder.resolve(), (state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=4)
def _read_manifest(folder: Path, _state: tuple[int, ...]) -> Manifest:
    return built_format().read(folder)


def has_query_file(name: str | os.PathLike[str]) -> bool:
    """Return whether `FILE.query` with the sizes of the queries exists."""
    return Path(os.fspath(name) + QUERY).is_file()


def insert_query_ids(data: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    """Return LETOR text with a `qid:` in each line, from the sizes in `FILE.query`; unchanged if it has them."""
    lines = data.tobytes().split(b"\n")
    rows = [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#")]
    if not rows or b" qid:" in lines[rows[0]].replace(b"\t", b" "):
        return data
    sizes = _read_numbers(name + QUERY, "the size of a query")
    invalid = (sizes < 1) | (sizes != np.floor(sizes))
    if invalid.any():
        row = int(np.flatnonzero(invalid)[0])
        raise DataError(f"the size of a query must be a positive integer, got {sizes[row]:g}", name + QUERY, row + 1)
    if int(sizes.sum()) != len(rows):
        raise DataError(f"the queries have {int(sizes.sum()):,} documents, and {name} has {len(rows):,}", name + QUERY)
    stem = "-".join(Path(name).name.split())
    queries = itertools.chain.from_iterable(itertools.repeat(i, int(n)) for i, n in enumerate(sizes.tolist(), 1))
    for row, query in zip(rows, queries, strict=True):
        label, *values = lines[row].split(None, 1)
        lines[row] = b"%b qid:%b-%d %b" % (label, stem.encode(), query, values[0] if values else b"")
    return np.frombuffer(b"\n".join(lines), np.uint8)


def read_weights(name: str | os.PathLike[str]) -> NDArray[np.float64] | None:
    """Return the weights of the documents from `FILE.weight`, or None if there is no such file."""
    file = os.fspath(name) + WEIGHT
    return _read_numbers(file, "a weight") if Path(file).is_file() else None


def _read_numbers(file: str, quantity: str) -> NDArray[np.float64]:
    """Read a file with one number per line."""
    numbers: list[float] = []
    for number, line in enumerate(Path(file).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
        if line.strip():
            try:
                numbers.append(float(line))
            except ValueError:
                raise DataError(f"{quantity} must be a number, got {line.strip()!r}", file, number) from None
    return np.array(numbers, np.float64)


class Buffer(FrozenRecord, eq=False):
    """The bytes of a file and the name that errors use for it."""

    data: NDArray[np.uint8]
    name: str

    def __repr__(self) -> str:
        return f"Buffer({self.name!r}: {len(self.data):,} bytes)"


Readable: TypeAlias = str | os.PathLike[str] | Buffer


def open_buffer(source: Readable) -> Buffer:
    """Return the bytes of a file; `-` is standard input.

    A plain file is mapped, a compressed one is decompressed. A file of a built data set is verified. A LETOR file with
    a `FILE.query` beside it gets its query ids.
    """
    if isinstance(source, Buffer):
        return source
    name = os.fspath(source)
    try:
        verify_built_file(Path(name))
        data, name = _read_standard_input() if name == "-" else (_map(name), name)
    except FileNotFoundError:
        raise DataError("there is no such file", name) from None
    except IsADirectoryError:
        raise DataError("this is a folder, not a file", name) from None
    except (OSError, ValueError) as error:
        raise DataError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    if compression := detect_compression(data[:MAX_MAGIC_LENGTH].tobytes()):
        data = np.frombuffer(decompress(data.data, compression, name), np.uint8)
    if not len(data):
        raise DataError("the file is empty", name)
    return Buffer(insert_query_ids(data, name) if has_query_file(name) else data, name)


def _read_standard_input() -> tuple[NDArray[np.uint8], str]:
    return np.frombuffer(sys.stdin.buffer.read(), np.uint8), "standard input"


def _map(name: str) -> NDArray[np.uint8]:
    with Path(name).open("rb") as file:
        if os.fstat(file.fileno()).st_size:
            with suppress(OSError, ValueError):  # pipes and some file systems cannot be mapped
                return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        return np.frombuffer(file.read(), np.uint8)  # a pipe has size 0 too
