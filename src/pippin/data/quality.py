"""Counts of irregularities in a data set: repeated documents, identical feature vectors, constant features, NULLs.

`pippin.evaluation.audit` computes their effect on measures and tools. Equal rows are found by hash and then compared.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, concatenate
from pippin.data.qrels import Qrels
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_BLOCK = 4096  # rows compared at once, so that a block of a hundred features stays in the cache
_ODD = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0x100000001B3)


def count_per_query(flags: BoolArray, offsets: IntArray) -> IntArray:
    """Return the number of flagged rows of each query.

    >>> count_per_query(np.array([True, False, True]), np.array([0, 2, 2, 3])).tolist()
    [1, 0, 1]
    """
    counts = np.concatenate(([0], np.cumsum(flags, dtype=np.int64)))
    return counts[offsets[1:]] - counts[offsets[:-1]]


def query_of_rows(offsets: IntArray) -> IntArray:
    """Return the position of each row's query."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def first_equal(keys: Hashes, equal: Callable[[IntArray, IntArray], BoolArray]) -> IntArray:
    """Return the first equal row of each row (or itself), from hashes and an exact comparison."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_new = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(keys) else np.empty(0, np.bool_)
    heads = order[np.flatnonzero(is_new)[np.cumsum(is_new) - 1]]
    later = np.flatnonzero(heads != order)
    collisions = later[~equal(order[later], heads[later])]
    heads[collisions] = order[collisions]
    first = np.empty(len(keys), np.int64)
    first[order] = heads
    return first


def _salt_by_query(keys: Hashes, queries: IntArray) -> Hashes:
    """Return keys that differ between queries."""
    mixed = keys ^ ((queries.astype(np.uint64) + np.uint64(1)) * _ODD)
    return mixed * _PRIME


def hash_strings(strings: StringColumn) -> Hashes:
    """Return the FNV-1a hash of each string; the loop is over byte positions."""
    hashes = np.full(len(strings), 0xCBF29CE484222325, np.uint64)
    live = np.arange(len(strings))
    for position in range(int(strings.lengths.max(initial=0))):
        live = live[strings.lengths[live] > position]
        hashes[live] = (hashes[live] ^ strings.buffer[strings.starts[live] + position]) * _PRIME
    return hashes


def equal_strings(strings: StringColumn, a: IntArray, b: IntArray) -> BoolArray:
    """Return whether the strings at `a` equal those at `b`."""
    same: BoolArray = strings.lengths[a] == strings.lengths[b]
    for position in range(int(strings.lengths[a].max(initial=0))):
        live = np.flatnonzero(same & (strings.lengths[a] > position))
        same[live] = (
            strings.buffer[strings.starts[a[live]] + position] == strings.buffer[strings.starts[b[live]] + position]
        )
    return same


def repeated_documents(ids: StringColumn, offsets: IntArray) -> BoolArray:
    """Flag rows whose document occurs in an earlier row of the query.

    >>> repeated_documents(StringColumn.of(["a", "b", "a", "a"]), np.array([0, 3, 4])).tolist()
    [False, False, True, False]
    """
    queries = query_of_rows(offsets)
    keys = _salt_by_query(hash_strings(ids), queries)
    first = first_equal(keys, lambda a, b: (queries[a] == queries[b]) & equal_strings(ids, a, b))
    later: BoolArray = first != np.arange(len(ids))
    return later


def hash_rows(features: NDArray[np.floating[Any]]) -> Hashes:
    """Hash each feature vector: sum over columns of mixed bits × an odd number. −0 equals 0; all NaN are equal."""
    columns = features.shape[1]
    odds = np.random.default_rng(0).integers(1 << 62, size=columns, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    bits = np.dtype(f"u{features.itemsize}")
    hashes = np.empty(len(features), np.uint64)
    for start in range(0, len(features), _BLOCK):
        block = features[start : start + _BLOCK] + features.dtype.type(0)
        block[np.isnan(block)] = np.nan
        words = block.view(bits).astype(np.uint64)
        words *= _ODD
        words ^= words >> np.uint64(29)
        hashes[start : start + _BLOCK] = words @ odds
    return hashes


def equal_rows(features: NDArray[np.floating[Any]], a: IntArray, b: IntArray) -> BoolArray:
    """Return whether the feature vectors at `a` equal those at `b`; NULL equals NULL."""
    same = np.empty(len(a), np.bool_)
    for start in range(0, len(a), _BLOCK):
        chunk = slice(start, start + _BLOCK)
        same[chunk] = ~_differ(features[a[chunk]], features[b[chunk]]).any(axis=1)
    return same


def _differ(a: NDArray[np.floating[Any]], b: NDArray[np.floating[Any]]) -> BoolArray:
    different: BoolArray = a != b
    if different.any():
        different &= ~(np.isnan(a) & np.isnan(b))
    return different


@dataclass(frozen=True, eq=False)
class IdenticalDocuments:
    """The first row with the same feature vector, for each row: within its query and anywhere."""

    within: IntArray
    anywhere: IntArray

    @staticmethod
    def with_conflicting_labels(first: IntArray, labels: NDArray[np.int32]) -> BoolArray:
        """Flag rows whose duplicates have more than one label."""
        split = np.zeros(len(first), np.bool_)
        split[first[labels != labels[first]]] = True
        return split[first]

    @staticmethod
    def with_duplicates(first: IntArray) -> BoolArray:
        """Flag rows with a duplicate."""
        return np.bincount(first, minlength=len(first))[first] > 1


def find_identical_documents(data: Dataset) -> IdenticalDocuments:
    """Find documents with identical feature vectors."""
    hashes, queries = hash_rows(data.features), query_of_rows(data.offsets)
    anywhere = first_equal(hashes, lambda a, b: equal_rows(data.features, a, b))
    # Equal rows now share a number, so that no vectors are compared again within a query.
    within = first_equal(
        _salt_by_query(anywhere.astype(np.uint64) * _ODD, queries),
        lambda a, b: (queries[a] == queries[b]) & (anywhere[a] == anywhere[b]),
    )
    return IdenticalDocuments(within, anywhere)


def first_equal_columns(features: NDArray[np.floating[Any]]) -> IntArray:
    """Return the first feature with the same values, for each feature (or itself); NULL equals NULL.

    >>> first_equal_columns(np.array([[1.0, 2.0, 1.0], [3.0, 3.0, 3.0]])).tolist()
    [0, 1, 0]
    """
    first = np.arange(features.shape[1])
    heads: dict[bytes, int] = {}
    for number in range(features.shape[1]):
        column = features[:, number] + features.dtype.type(0)  # -0 is 0
        column[np.isnan(column)] = np.nan
        first[number] = heads.setdefault(hashlib.blake2b(column.tobytes()).digest(), number)
    return first


@dataclass(frozen=True, eq=False)
class FeatureCounts:
    """By feature: the number of NULLs, whether values differ, and whether they differ within a query."""

    nulls: IntArray
    varies: BoolArray
    varies_within: BoolArray


def count_features(data: Dataset) -> FeatureCounts:
    """Count by feature in one pass that compares neighbouring rows."""
    features, columns = data.features, data.features.shape[1]
    nulls = np.zeros(columns, np.int64)
    varies, varies_within = np.zeros(columns, np.bool_), np.zeros(columns, np.bool_)
    starts_query = np.zeros(len(data) + 1, np.bool_)
    starts_query[data.offsets] = True
    for start in range(0, len(data), _BLOCK):
        block = features[start : start + _BLOCK + 1]  # one more row: the neighbour of the last
        rows = block[:_BLOCK]
        nulls += np.isnan(rows).sum(axis=0)
        open_columns = np.flatnonzero(~varies_within)
        if len(open_columns) and len(block) > 1:
            different = _differ(block[1:, open_columns], block[:-1, open_columns])
            varies[open_columns] |= different.any(axis=0)
            inside = ~starts_query[start + 1 : start + len(block)]
            varies_within[open_columns] |= different[inside].any(axis=0)
    return FeatureCounts(nulls, varies, varies_within)


LEARNING_VERSION = "QueryLevelNorm"  # the version of a built data set that rankers learn from


@dataclass(frozen=True)
class AuditedFile:
    """One file of a fold: its queries and number of features."""

    query_ids: tuple[str, ...]
    features: int


# fold → train, vali, test → file; several files without folds are one fold without a name
Layout = Mapping[str, Mapping[str, AuditedFile]]


def read_for_audit(paths: Sequence[str], *, merge_queries: bool = False) -> tuple[Dataset | Qrels, Layout | None]:
    """Read files or a folder as one data set with each query once; return it with its parts if there are several."""
    from pippin.data.inputs import coerce_judgements

    files: dict[tuple[str, str], str] = {}
    for path in paths:
        files |= _list_files(path)
    if len(files) == 1:
        return coerce_judgements(next(iter(files.values())), merge_queries=merge_queries), None
    layout: dict[str, dict[str, AuditedFile]] = {}
    names_by_digest: dict[str, dict[bytes, str]] = {}

    def parts() -> Iterator[Dataset]:
        for (fold, name), file in files.items():
            part = coerce_judgements(file, merge_queries=merge_queries)
            if not isinstance(part, Dataset):
                raise DataError("several files are audited as one data set, but this one holds judgements", file)
            layout.setdefault(fold, {})[name] = AuditedFile(part.query_ids, part.features.shape[1])
            yield replace(part, query_ids=_unique_query_ids(part, names_by_digest))

    folders = {path if len(paths) == 1 else path.parent for path in map(Path, paths)}
    name = folders.pop().resolve().name if len(folders) == 1 else f"{len(files)} files"
    return replace(concatenate(parts()), name=name), layout


def _unique_query_ids(part: Dataset, names_by_digest: dict[str, dict[bytes, str]]) -> tuple[str, ...]:
    """Return the query ids of a part; an id that an earlier part has with other documents is numbered.

    `names_by_digest` maps every id and digest of its documents to a name. The same query in another fold keeps its id.
    """
    names = []
    for query, (start, stop) in zip(part.query_ids, itertools.pairwise(part.offsets.tolist()), strict=True):
        features = part.features[start:stop]
        row, column = np.nonzero(features)  # files may differ in their number of features
        contents = (part.labels[start:stop], row, column, features[row, column].astype(np.float64))
        digest = hashlib.sha256(b"".join(array.tobytes() for array in contents)).digest()
        of_query = names_by_digest.setdefault(query, {})
        names.append(of_query.setdefault(digest, f"{query} ({len(of_query) + 1})" if of_query else query))
    return tuple(names)


def _list_files(path: str) -> dict[tuple[str, str], str]:
    """Return (fold, part) → file of a folder of folds or of S1.txt, S2.txt …, or the path itself."""
    folder = Path(path)
    if path == "-" or not folder.is_dir():
        return {("", path): path}
    from pippin.data.store import is_store

    if is_store(folder):
        return {("", path): path}
    folder = _find_learning_version(folder)
    fifths = sorted(folder.glob("S[0-9].txt"))
    if fifths:
        return {("", file.name): str(file) for file in fifths}
    from pippin.data.fold_files import detect_source

    _, folds = detect_source(folder)
    return {(fold, part): str(file) for fold, files in folds.items() for part, file in files.items()}


def _find_learning_version(folder: Path) -> Path:
    """Return the version of a built data set that rankers learn from; other folders unchanged."""
    is_built = (folder / "dataset.json").is_file() or (folder / LEARNING_VERSION).is_dir()
    versions = sorted(folder.glob(f"**/{LEARNING_VERSION}")) if is_built else []
    if len(versions) > 1:
        names = ", ".join(str(version.relative_to(folder)) for version in versions)
        raise DataError(f"this data set has several query sets; name one of {names}", folder)
    return versions[0] if versions else folder
