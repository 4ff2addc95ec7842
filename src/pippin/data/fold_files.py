"""Published data sets by their folder: which one it is, and its folds, of which every line is parsed once.

`read_folds` finds out which published data set a folder holds: by `source`, by the names of the folders above the
files, or by the number of features and the counts of the smallest file. A folder of unknown origin with the same file
names is read without checks. The first pass (`index_texts`) finds the distinct queries of all files, the second one
(`FoldTexts.parse`) parses them.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.buffers import Buffer, built_feature_names, open_buffer
from pippin.data.dataset import Dataset, Lines, offsets_from_sizes, version_of_path
from pippin.data.folds import Folds, PartStatistics
from pippin.data.letor import check_missing_value, parse_queries, read_letor
from pippin.data.published import PUBLISHED_DATASETS, Count, PublishedDataset
from pippin.data.store import fold_store_text, is_fold_store, open_fold_store
from pippin.errors import DataError
from pippin.kernels.ranking import find_duplicate
from pippin.kernels.text import find_queries

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Files = Mapping[str, Mapping[str, Path]]  # fold → part → file
VERSION = 1  # of the conversion from text to numbers; stores made with another version are not used
STORE = "folds.pippin"  # the folds of a folder as a store, beside their text
_MAX_BYTES_IN_MEMORY = 1 << 28  # more text than this is joined in a temporary file
_NO_CHECK = " (check=False skips this check)"

# Layouts of no published data set: files named as in LightGBM's examples, with `rank.train.query` beside them.
_RANK_FILES = {"train": ("rank.train",), "vali": ("rank.vali", "rank.valid"), "test": ("rank.test",)}
_GENERIC_LAYOUTS = tuple(
    PublishedDataset("folder", "LightGBM's layout", None, (), "", ("",), {part: _RANK_FILES[part] for part in parts})
    for parts in (("train", "vali", "test"), ("train", "test"))
)


class _UnreadableText(Exception):
    """A file cannot be divided into queries; reading it alone raises the error with its line."""


@dataclass(frozen=True, eq=False)
class _Query:
    """The lines of one distinct query."""

    id: str
    lines: Sequence[U8]
    rows: int
    width: int

    @property
    def sizes(self) -> tuple[str, tuple[int, ...]]:
        """A cheap key that equal queries share."""
        return self.id, tuple(map(len, self.lines))

    def has_same_lines(self, query: _Query) -> bool:
        """Return whether a query of the same sizes has the same bytes."""
        return all(np.array_equal(a, b) for a, b in zip(self.lines, query.lines, strict=True))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the lines."""
        sha256 = hashlib.sha256()
        for block in self.lines:
            sha256.update(block.data)
        return sha256.digest()


@dataclass(eq=False)
class FoldTexts:
    """The text files of folds after the first pass."""

    files: Files
    merge_queries: bool = False
    distinct: list[_Query] = field(default_factory=list)
    parts: dict[str, dict[str, I64]] = field(default_factory=dict)  # fold → part → numbers of distinct queries

    def add(self, query: _Query, candidates: list[int]) -> int:
        """Return the number of the equal query among `candidates`, or add the query."""
        for number in candidates:
            if query.has_same_lines(self.distinct[number]):
                return number
        candidates.append(len(self.distinct))
        self.distinct.append(query)
        return candidates[-1]

    def count(self, fold: str, part: str) -> Count:
        """Return the numbers of queries and documents of a file."""
        numbers = self.parts[fold][part]
        return Count(len(numbers), sum(self.distinct[number].rows for number in numbers.tolist()))

    def width(self, fold: str, part: str) -> int:
        """Return the largest feature id of a file."""
        return max((self.distinct[number].width for number in self.parts[fold][part].tolist()), default=0)

    def digest(self, **options: Any) -> str:
        """Return the SHA-256 of the lines of every query of every part, in order, and of how they are read."""
        sha256 = hashlib.sha256(json.dumps([VERSION, self.merge_queries, options], sort_keys=True).encode())
        for fold, parts in self.parts.items():
            for part, numbers in parts.items():
                sha256.update(json.dumps([fold, part, len(numbers)]).encode())
                for number in numbers.tolist():
                    sha256.update(self.distinct[number].digest)
        return sha256.hexdigest()

    def parse(
        self, *, missing_value: str = "zero", dtype: DTypeLike = np.float64, features: int | None = None
    ) -> Folds:
        """Parse every distinct query; `features` is the minimum number of features of every part."""
        check_missing_value(missing_value)
        widths = {
            fold: max(features or 0, *(self.width(fold, part) for part in parts)) for fold, parts in self.parts.items()
        }
        try:
            return self._parse(missing_value, dtype, widths)
        except DataError:
            _read_separately(self.files, self.merge_queries, dtype)
            raise

    def _parse(self, missing_value: str, dtype: DTypeLike, widths: Mapping[str, int]) -> Folds:
        first_file = next(file for parts in self.files.values() for file in parts.values())
        width = max(widths.values())
        buffer = Buffer(_join([block for query in self.distinct for block in query.lines]), str(first_file))
        offsets = offsets_from_sizes([query.rows for query in self.distinct])
        names = _distinct_names([query.id for query in self.distinct])
        data, has_id, has_comment = parse_queries(
            buffer, names, offsets, missing_value=missing_value, dtype=dtype, features=width
        )
        statistics = PartStatistics(
            {number: query.id for number, query in enumerate(self.distinct) if names[number] != query.id},
            {fold: fold_width for fold, fold_width in widths.items() if fold_width < width},
            _queries_with(~has_id, offsets),
            frozenset(range(len(names))) - _queries_with(has_comment, offsets),
        )
        data = replace(data, feature_names=built_feature_names(first_file, width), lines=self._lines(data))
        folds = Folds(data, self.parts, statistics=statistics)
        if not has_id.all():
            _check_duplicates(folds)
        return folds

    def _lines(self, data: Dataset) -> Lines | None:
        """Return the lines of the documents, without text between queries, which are in other places now."""
        if data.lines is None:
            return None
        starts = data.lines.starts.copy()
        starts[data.offsets[:-1]] = offsets_from_sizes([sum(map(len, query.lines)) for query in self.distinct])[:-1]
        return Lines(data.lines.buffer, starts, data.lines.ends)


def index_texts(files: Files, *, merge_queries: bool = False) -> FoldTexts:
    """Run the first pass over the files of folds; an unreadable file raises the same error as if read alone."""
    texts = FoldTexts(files, merge_queries)
    by_sizes: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    try:
        for fold, parts in files.items():
            texts.parts[fold] = {}
            for part, file in parts.items():
                queries = _divide_into_queries(open_buffer(file), merge_queries)
                numbers = [texts.add(query, by_sizes.setdefault(query.sizes, [])) for query in queries]
                texts.parts[fold][part] = np.array(numbers, np.int64)
    except (DataError, _UnreadableText):
        _read_separately(files, merge_queries)
        raise
    return texts


def _divide_into_queries(buffer: Buffer, merge_queries: bool) -> list[_Query]:
    """Return the queries of one file, in order of their first lines."""
    segments = find_queries(buffer.data, buffer.name)
    ends = np.append(segments.begins[1:], len(buffer.data))
    by_id: dict[bytes, list[int]] = {}
    for i, (start, length) in enumerate(zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True)):
        by_id.setdefault(buffer.data[start : start + length].tobytes(), []).append(i)
    if not by_id or (len(by_id) < len(segments.starts) and not merge_queries):
        raise _UnreadableText
    queries = []
    for name, numbers in by_id.items():
        lines = [buffer.data[segments.begins[i] : ends[i]] for i in numbers]
        if lines[-1][-1] != 10:  # the last line of a file may lack its newline
            lines[-1] = np.append(lines[-1], np.uint8(10))
        rows, width = int(segments.rows[numbers].sum()), int(segments.widths[numbers].max())
        queries.append(_Query(name.decode(), lines, rows, width))
    return queries


def _join(blocks: Sequence[U8]) -> U8:
    """Concatenate in memory, or in a temporary file if the text is large."""
    if sum(map(len, blocks)) <= _MAX_BYTES_IN_MEMORY:
        return np.concatenate(blocks)
    with tempfile.TemporaryFile() as file:
        for block in blocks:
            file.write(block.data)
        file.flush()
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _distinct_names(ids: Sequence[str]) -> tuple[str, ...]:
    """Return unique ids: a query with other documents in another fold gets a number.

    >>> _distinct_names(["1", "2", "1", "1 (2)"])
    ('1', '2', '1 (3)', '1 (2)')
    """
    original, names = set(ids), dict[str, None]()
    for query in ids:
        name, number = query, 2
        while name in names or (name != query and name in original):
            name, number = f"{query} ({number})", number + 1
        names[name] = None
    return tuple(names)


def _queries_with(flags: NDArray[np.bool_], offsets: I64) -> frozenset[int]:
    """Return the queries with a flagged row."""
    return frozenset((np.searchsorted(offsets, np.flatnonzero(flags), side="right") - 1).tolist())


def _check_duplicates(folds: Folds) -> None:
    """Raise if a document is repeated in a query of a part with document ids."""
    for fold in folds:
        for part in fold.parts:
            data = fold[part]
            if data.document_ids is not None and find_duplicate(data.document_ids, data.offsets)[1] >= 0:
                raise DataError(f"a document is repeated in a query of {fold.name} {part}")


def _read_separately(files: Files, merge_queries: bool, dtype: DTypeLike = np.float64) -> None:
    """Read each file alone, so that an error names the right line of the right file."""
    for parts in files.values():
        for file in parts.values():
            read_letor(file, merge_queries=merge_queries, dtype=dtype)


def check_counts(texts: FoldTexts, source: PublishedDataset, folder: Path) -> None:
    """Raise DataError if a declared count or width differs from the files."""
    for fold, files in texts.files.items():
        total = Count(0, 0)
        for part, file in files.items():
            count = texts.count(fold, part)
            _check_count(count, source.count(fold, part), source, file)
            total += count
            width = texts.width(fold, part)
            if source.features is not None and width > source.features:
                raise DataError(f"{width} features, but {source.title} has {source.features}{_NO_CHECK}", file)
        _check_count(total, source.total, source, folder / fold)


def _check_count(actual: Count, declared: Count, source: PublishedDataset, path: Path) -> None:
    for unit, number, expected in zip(("queries", "documents"), actual, declared, strict=True):
        if expected is not None and number != expected:
            raise DataError(f"{number:,} {unit}, but {source.title} has {expected:,}{_NO_CHECK}", path)


def read_folds(
    path: str | os.PathLike[str],
    *,
    source: str | PublishedDataset | None = None,
    check: bool = True,
    missing_value: Literal["zero", "null"] = "zero",
    dtype: DTypeLike = np.float64,
    merge_queries: bool = False,
) -> Folds:
    """Read the folds of a data set.

    Parameters
    ----------
    path : path
        A folder with Fold1 … or with train, vali and test files; a folder that `pippin build` wrote; a store of folds.
    source : str or PublishedDataset, optional
        The published data set; by default it is detected. `pippin datasets` lists them.
    check : bool, default True
        Compare the numbers of queries, documents and features with the published ones.
    missing_value : {"zero", "null"}, default "zero"
        The value of features that a line of LETOR text omits: 0 or NaN.
    dtype : dtype, default float64
        float32 or float64.
    merge_queries : bool, default False
        Join the rows of a query that are not contiguous.

    Returns
    -------
    Folds
        Each line is parsed once. The store that `pippin build` wrote is used if it matches the text.

    Raises
    ------
    DataError
        If the files are incomplete, invalid or differ from the published counts.

    Examples
    --------
    >>> import pippin, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for part in ("train", "vali", "test"):
    ...     _ = (folder / f"{part}.txt").write_text("1 qid:1 1:0.5\\n0 qid:1 1:0.1\\n")
    >>> pippin.read_folds(folder)[0].train.queries
    1
    """
    if is_fold_store(path):
        return open_fold_store(path)
    texts, dataset = index_folder(path, source=source, check=check, merge_queries=merge_queries)
    store = Path(path) / STORE
    if is_fold_store(store) and fold_store_text(store) == text_digest(texts, dataset, missing_value, dtype):
        folds = replace(open_fold_store(store), name=dataset.name, source=dataset)
    else:
        folds = parse_texts(texts, dataset, missing_value=missing_value, dtype=dtype)
    return replace(folds, version=version_of_path(Path(path)))


def index_folder(
    path: str | os.PathLike[str],
    *,
    source: str | PublishedDataset | None = None,
    check: bool = True,
    merge_queries: bool = False,
) -> tuple[FoldTexts, PublishedDataset]:
    """Run the first pass over the text of a folder; return it with the data set."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError("there is no such folder", folder)
    if source is not None:
        dataset = PUBLISHED_DATASETS[source] if isinstance(source, str) else source
        files = find_files(folder, dataset)
        if files is None:
            raise DataError(f"no files of {dataset.title} in this folder; expected {_file_names(dataset)}", folder)
    else:
        dataset, files = detect_source(folder)
    texts = index_texts(files, merge_queries=merge_queries)
    if check:
        check_counts(texts, dataset, folder)
    return texts, dataset


def text_digest(
    texts: FoldTexts,
    source: PublishedDataset,
    missing_value: str = "zero",
    dtype: DTypeLike = np.float64,
    names: Sequence[str] = (),
) -> str:
    """Return the digest of text and reading options; `names` are by default those of the built data set."""
    first_file = next(file for files in texts.files.values() for file in files.values())
    width = max(texts.width(fold, part) for fold, files in texts.files.items() for part in files)
    return texts.digest(
        absent=missing_value, dtype=np.dtype(dtype).name, features=source.features,
        names=list(names or built_feature_names(first_file, max(width, source.features or 0))),
    )  # fmt: skip


def parse_texts(
    texts: FoldTexts, source: PublishedDataset, *, missing_value: str = "zero", dtype: DTypeLike = np.float64
) -> Folds:
    """Run the second pass."""
    folds = texts.parse(missing_value=missing_value, dtype=dtype, features=source.features)
    return replace(folds, name=source.name, source=source)


def _file_names(source: PublishedDataset) -> str:
    folds = f"{source.folds[0]} … {source.folds[-1]}, each with " if len(source.folds) > 1 else ""
    return folds + ", ".join(" or ".join(names) for names in source.parts.values())


def find_files(folder: Path, source: PublishedDataset) -> dict[str, dict[str, Path]] | None:
    """Return fold → part → file (also `.gz`), or None unless every part of at least one fold exists."""
    folds: dict[str, dict[str, Path]] = {}
    for fold in source.folds:
        files = {part: _find_file(folder / fold, names) for part, names in source.parts.items()}
        existing = {part: file for part, file in files.items() if file is not None}
        if len(existing) == len(source.parts):
            folds[fold] = existing
        elif existing and len(source.folds) > 1:
            missing = next(names for part, names in source.parts.items() if part not in existing)
            raise DataError(f"this fold has no {' or '.join(missing)}", folder / fold)
    return folds or None


def _find_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    candidates = (folder / f"{name}{suffix}" for name in names for suffix in ("", ".gz"))
    return next((file for file in candidates if file.is_file()), None)


def is_fold_folder(folder: Path) -> bool:
    """Return whether a folder has the files of a known layout."""
    return any(find_files(folder, source) for source in (*PUBLISHED_DATASETS.values(), *_GENERIC_LAYOUTS))


def list_fold_files(folder: Path) -> list[Path]:
    """Return the parts of the first fold in a folder of a known layout."""
    layouts = (find_files(folder, source) for source in (*PUBLISHED_DATASETS.values(), *_GENERIC_LAYOUTS))
    return next((list(next(iter(folds.values())).values()) for folds in layouts if folds), [])


def detect_source(folder: Path) -> tuple[PublishedDataset, dict[str, dict[str, Path]]]:
    """Return the published data set that a folder holds, and its files."""
    matches = {
        name: files
        for name in PUBLISHED_DATASETS
        if (files := find_files(folder, PUBLISHED_DATASETS[name])) is not None
    }
    # A folder with train, vali and test also matches layouts of train and test.
    parts = max((len(next(iter(files.values()))) for files in matches.values()), default=0)
    matches = {name: files for name, files in matches.items() if len(next(iter(files.values()))) == parts}
    if not matches:
        for generic in _GENERIC_LAYOUTS:
            if (files := find_files(folder, generic)) is not None:
                return replace(generic, title=folder.resolve().name), files
        inner = [path.name for path in sorted(folder.iterdir()) if path.is_dir() and is_fold_folder(path)]
        if inner:
            raise DataError(f"this folder holds several data sets; read one of them: {', '.join(inner)}", folder)
        layouts = dict.fromkeys(_file_names(source) for source in (*PUBLISHED_DATASETS.values(), *_GENERIC_LAYOUTS))
        raise DataError(f"unknown file names in this folder; expected one of: {'; '.join(layouts)}", folder)
    names = [name for name in matches if _has_name(folder, PUBLISHED_DATASETS[name])]
    if not names:
        names = [name for name, files in matches.items() if _has_counts(PUBLISHED_DATASETS[name], files)]
    if len(names) == 1:
        return PUBLISHED_DATASETS[names[0]], matches[names[0]]
    example = PUBLISHED_DATASETS[next(iter(matches))]
    unknown = PublishedDataset("folder", folder.resolve().name, None, (), "", example.folds, example.parts)
    return unknown, next(iter(matches.values()))


def _normalize_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _has_name(folder: Path, source: PublishedDataset) -> bool:
    """Return whether the folder, or one of the two above it, has the name of the data set."""
    parts = {_normalize_name(part) for part in folder.resolve().parts[-3:]}
    return any(_normalize_name(name) in parts for name in (source.name, *source.aliases))


def _has_counts(source: PublishedDataset, files: Files) -> bool:
    """Return whether the smallest file has the width and the counts that the data set declares for it."""
    sizes = [(file.stat().st_size, fold, part) for fold, parts in files.items() for part, file in parts.items()]
    _, fold, part = min(sizes)
    declared = source.count(fold, part)
    if declared.queries is None:
        return False
    buffer = open_buffer(files[fold][part])
    try:
        segments = find_queries(buffer.data, buffer.name)
    except DataError:  # the second pass reports the error
        return False
    ids = {
        buffer.data[start : start + length].tobytes()
        for start, length in zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True)
    }
    return len(ids) == declared.queries and int(segments.widths.max(initial=0)) == source.features
