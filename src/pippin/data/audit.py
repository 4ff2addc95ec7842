"""What is odd about a data set, counted: repeated documents, identical feature vectors, constant features, NULLs.

Here are only counts over columns, without a loop over documents; `pippin.evaluation.audit` says what they do to which
measure under which tool. A hash only proposes which rows are equal; the rows themselves are compared before it counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.texts import Texts

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_BLOCK = 4096  # rows: a block of a hundred features stays within the processor's cache
_ODD = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0x100000001B3)


def count_per_query(flags: Flags, offsets: Ints) -> Ints:
    """How many rows of each query are flagged.

    >>> count_per_query(np.array([True, False, True]), np.array([0, 2, 2, 3])).tolist()
    [1, 0, 1]
    """
    counts = np.concatenate(([0], np.cumsum(flags, dtype=np.int64)))
    return counts[offsets[1:]] - counts[offsets[:-1]]


def query_of_rows(offsets: Ints) -> Ints:
    """The position of each row's query."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def first_equal(keys: Hashes, equal: Callable[[Ints, Ints], Flags]) -> Ints:
    """For each row the first row that equals it (itself where none does), from hashes and an exact comparison."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    fresh = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(keys) else np.empty(0, np.bool_)
    heads = order[np.flatnonzero(fresh)[np.cumsum(fresh) - 1]]
    later = np.flatnonzero(heads != order)
    collided = later[~equal(order[later], heads[later])]
    heads[collided] = order[collided]
    first = np.empty(len(keys), np.int64)
    first[order] = heads
    return first


def _within(keys: Hashes, queries: Ints) -> Hashes:
    """Keys that differ between queries."""
    mixed = keys ^ ((queries.astype(np.uint64) + np.uint64(1)) * _ODD)
    return mixed * _PRIME


def hash_texts(texts: Texts) -> Hashes:
    """FNV-1a of each text; the loop is over byte positions."""
    hashes = np.full(len(texts), 0xCBF29CE484222325, np.uint64)
    live = np.arange(len(texts))
    for position in range(int(texts.lengths.max(initial=0))):
        live = live[texts.lengths[live] > position]
        hashes[live] = (hashes[live] ^ texts.buffer[texts.starts[live] + position]) * _PRIME
    return hashes


def equal_texts(texts: Texts, a: Ints, b: Ints) -> Flags:
    """Whether the texts at `a` are those at `b`, byte by byte."""
    same: Flags = texts.lengths[a] == texts.lengths[b]
    for position in range(int(texts.lengths[a].max(initial=0))):
        live = np.flatnonzero(same & (texts.lengths[a] > position))
        same[live] = texts.buffer[texts.starts[a[live]] + position] == texts.buffer[texts.starts[b[live]] + position]
    return same


def repeated_documents(ids: Texts, offsets: Ints) -> Flags:
    """Rows that name a document which an earlier row of their query has named.

    >>> repeated_documents(Texts.of(["a", "b", "a", "a"]), np.array([0, 3, 4])).tolist()
    [False, False, True, False]
    """
    queries = query_of_rows(offsets)
    keys = _within(hash_texts(ids), queries)
    first = first_equal(keys, lambda a, b: (queries[a] == queries[b]) & equal_texts(ids, a, b))
    later: Flags = first != np.arange(len(ids))
    return later


def hash_rows(features: NDArray[np.floating[Any]]) -> Hashes:
    """A hash of each feature vector: sum over columns of mixed bits × an odd number; −0 is 0, and every NaN is one."""
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


def equal_rows(features: NDArray[np.floating[Any]], a: Ints, b: Ints) -> Flags:
    """Whether the feature vectors at `a` are those at `b`; NULL equals NULL."""
    same = np.empty(len(a), np.bool_)
    for start in range(0, len(a), _BLOCK):
        chunk = slice(start, start + _BLOCK)
        same[chunk] = ~_differ(features[a[chunk]], features[b[chunk]]).any(axis=1)
    return same


def _differ(a: NDArray[np.floating[Any]], b: NDArray[np.floating[Any]]) -> Flags:
    different: Flags = a != b
    if different.any():
        different &= ~(np.isnan(a) & np.isnan(b))
    return different


@dataclass(frozen=True, eq=False)
class Twins:
    """Documents with identical feature vectors: for each row the first that equals it, in its query and anywhere."""

    within: Ints
    anywhere: Ints

    @staticmethod
    def conflicting(first: Ints, labels: NDArray[np.int32]) -> Flags:
        """Rows whose group of equals has more than one label."""
        split = np.zeros(len(first), np.bool_)
        split[first[labels != labels[first]]] = True
        return split[first]

    @staticmethod
    def repeated(first: Ints) -> Flags:
        """Rows that have an equal."""
        return np.bincount(first, minlength=len(first))[first] > 1


def find_twins(data: Dataset) -> Twins:
    """Documents of a data set with identical feature vectors."""
    hashes, queries = hash_rows(data.features), query_of_rows(data.offsets)
    anywhere = first_equal(hashes, lambda a, b: equal_rows(data.features, a, b))
    # Equal rows now share one number, so that those of a query are found without comparing vectors again.
    within = first_equal(
        _within(anywhere.astype(np.uint64) * _ODD, queries),
        lambda a, b: (queries[a] == queries[b]) & (anywhere[a] == anywhere[b]),
    )
    return Twins(within, anywhere)


def first_equal_columns(features: NDArray[np.floating[Any]]) -> Ints:
    """For each feature the first with the same value in every row (itself where none has); NULL equals NULL.

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
    """By feature: how many values are NULL, whether any differ at all, and whether any differ within a query."""

    nulls: Ints
    varies: Flags
    varies_within: Flags


def count_features(data: Dataset) -> FeatureCounts:
    """Look at every feature; neighbouring rows are compared, so that one pass is enough."""
    features, columns = data.features, data.features.shape[1]
    nulls = np.zeros(columns, np.int64)
    varies, varies_within = np.zeros(columns, np.bool_), np.zeros(columns, np.bool_)
    begins_query = np.zeros(len(data) + 1, np.bool_)
    begins_query[data.offsets] = True
    for start in range(0, len(data), _BLOCK):
        block = features[start : start + _BLOCK + 1]  # one more row: the neighbour of the last
        rows = block[:_BLOCK]
        nulls += np.isnan(rows).sum(axis=0)
        open_columns = np.flatnonzero(~varies_within)
        if len(open_columns) and len(block) > 1:
            different = _differ(block[1:, open_columns], block[:-1, open_columns])
            varies[open_columns] |= different.any(axis=0)
            inside = ~begins_query[start + 1 : start + len(block)]
            varies_within[open_columns] |= different[inside].any(axis=0)
    return FeatureCounts(nulls, varies, varies_within)
