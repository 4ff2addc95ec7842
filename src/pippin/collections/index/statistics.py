"""Term statistics of one query and its candidates: the input of every feature.

The statistics come from `Index.candidates` or from LETOR's meta-information, which holds exactly these, so that a
feature needs no index. Rows of `tf` are the occurrences of words in the query (a repeated word has one row per
occurrence), columns are the candidates.

`Batch` joins several queries with equal numbers of words: their candidates are concatenated, so that a formula is
computed for all of them at once. df, cf and `query_tf` then have one column per query; `broadcast` repeats it for
every candidate of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Query
from pippin.kernels.strings import StringColumn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
K1, B = 2.5, 0.8  # BM25 parameters of LETOR's “Gov” collection


class IndexReader(Protocol):
    """The part of `Index` that features, similarity and the topic classifier read."""

    @property
    def documents(self) -> int:
        """Number of documents."""

    @property
    def ids(self) -> Iterable[str]:
        """Ids of the documents, by number."""

    @property
    def vocabulary(self) -> StringColumn:
        """Terms by number."""

    def postings(self, field: str, word: str) -> tuple[Ints, Floats]:
        """Return the documents whose field contains an analysed word, ascending, and its frequency in each."""

    def lengths(self, field: str) -> NDArray[np.uint32]:
        """Return the number of tokens of the field in every document."""

    def average_length(self, field: str) -> float:
        """Return the mean number of tokens of the field over all documents."""

    def vocabulary_size(self, field: str) -> int:
        """Return the number of distinct terms of the field."""

    def term_statistics(self, field: str, words: Sequence[str]) -> tuple[Floats, Floats]:
        """Return document frequency and collection frequency of each word in the field."""

    def tokens(self, field: str, numbers: Ints) -> tuple[Ints, NDArray[np.int32]]:
        """Return the terms of some documents in order: offsets and term numbers."""


class Vectors(Protocol):
    """The part of `Embeddings` that dense features read."""

    def table(self, query: Query, words: Sequence[str], numbers: Ints) -> Floats:
        """Return cosine, dot product, best passage and fused score of documents, [n, 4]."""


@dataclass(frozen=True, eq=False)
class FieldStatistics:
    """The counts of one field for one query, or for a batch of q queries; all arrays are float64."""

    documents: int  # N, of the whole collection, documents with an empty field included
    total: int  # tokens of the field over the whole collection
    average: float  # total / documents; LETOR rounds it to six significant digits
    df: Floats  # [t] or [t, q] documents with the word
    cf: Floats  # [t] or [t, q] occurrences of the word in the collection
    tf: Floats  # [t, n] occurrences in each candidate
    length: Floats  # [n] tokens
    unique: Floats  # [n] distinct tokens
    positions: Callable[[], Positions] | None = None  # of the words, for proximity; None if unknown
    _memo: dict[tuple[Any, ...], Floats] = dataclass_field(default_factory=dict, init=False, repr=False)

    def memoize(self, key: tuple[Any, ...], make: Callable[[], Floats]) -> Floats:
        """Return the result of `make`, computed once, because several formulas share it."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    @cached_property
    def shares(self) -> Floats:
        """c(w, d)/|d|, [t, n]; 0 in an empty field."""
        return self.tf / np.maximum(self.length, 1)

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """Whether the field of each candidate contains any word of the query, [n]."""
        has_word: NDArray[np.bool_] = np.any(self.tf > 0, axis=0)
        return has_word


@dataclass(frozen=True, eq=False)
class NumericField:
    """The values of a numeric field in the candidates."""

    kind: str  # "number" or "date"
    values: Floats  # [n], NaN for missing values
    largest: float  # of the whole collection, NaN if all are missing


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions (from 0) of distinct query words in the candidates: entries sorted by candidate and position."""

    offsets: Ints  # [n + 1] the entries of each candidate
    position: Ints
    word: Ints  # row of `Candidates.distinct`


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of one query."""

    query: Query
    words: tuple[str, ...]  # after analysis, one per occurrence
    document_ids: tuple[str, ...] | StringColumn
    labels: NDArray[np.int32]
    fields: Mapping[str, FieldStatistics]
    numbers: Ints | None = None  # document numbers in the index
    index: IndexReader | None = None  # None if the statistics come from meta-information
    web: Any = None  # links, sitemap and ranks of the collection, if any
    dense: Vectors | None = None  # vectors of the documents, if any
    numeric_fields: Mapping[str, NumericField] = dataclass_field(default_factory=dict)
    cache: dict[Any, Any] = dataclass_field(init=False, default_factory=dict, repr=False)  # shared by features

    def __len__(self) -> int:
        return len(self.document_ids)

    @cached_property
    def distinct(self) -> Ints:
        """The first row of each distinct word, [u]."""
        return np.array(sorted({word: i for i, word in reversed(list(enumerate(self.words)))}.values()), np.int64)

    @cached_property
    def multiplicity(self) -> Floats:
        """The frequency of each distinct word in the query, [u]."""
        return np.array([self.words.count(self.words[i]) for i in self.distinct], np.float64)

    @cached_property
    def query_tf(self) -> Floats:
        """The frequency in the query of each row's word, [t]; 0 in the later rows of a word, so that it counts once."""
        counts = np.zeros(len(self.words))
        counts[self.distinct] = self.multiplicity
        return counts

    def broadcast(self, values: Floats) -> Floats:
        """Broadcast values of words [t], or one value of the query, to all candidates."""
        return np.asarray(values)[..., None]


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries with equal numbers of words, and all their candidates concatenated."""

    queries: tuple[Candidates, ...]

    @cached_property
    def sizes(self) -> Ints:
        """The number of candidates of each query, [q]."""
        return np.array([len(query) for query in self.queries], np.int64)

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @cached_property
    def query_tf(self) -> Floats:
        """The `query_tf` of every query, [t, q]."""
        return np.stack([query.query_tf for query in self.queries], axis=1)

    def broadcast(self, values: Floats) -> Floats:
        """Broadcast values of words [t, q], or of queries [q], to all candidates."""
        return np.repeat(values, self.sizes, axis=-1)

    def field(self, name: str) -> FieldStatistics:
        """Return the statistics of one field, without positions."""
        parts = [query.fields[name] for query in self.queries]
        first = parts[0]
        return FieldStatistics(
            first.documents, first.total, first.average,
            np.stack([part.df for part in parts], axis=1), np.stack([part.cf for part in parts], axis=1),
            np.concatenate([part.tf for part in parts], axis=1),
            np.concatenate([part.length for part in parts]), np.concatenate([part.unique for part in parts]),
        )  # fmt: skip


Queries = Candidates | Batch  # the argument of a feature that accepts several queries


def batches(queries: Sequence[Candidates], fields: Iterable[str], pairs: int) -> Iterator[tuple[list[int], Batch]]:
    """Yield batches of about `pairs` candidates with the positions of their queries.

    The queries of a batch have the same number of words and the same collection.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    names = tuple(fields)
    for position, query in enumerate(queries):
        fields_of_query = [query.fields[name] for name in names]
        key = (
            len(query.words),
            *((statistics.documents, statistics.total, statistics.average) for statistics in fields_of_query),
        )
        groups.setdefault(key, []).append(position)
    for members in groups.values():
        batch: list[int] = []
        size = 0
        for position in members:
            batch.append(position)
            size += len(queries[position])
            if size >= pairs or position == members[-1]:
                yield batch, Batch(tuple(queries[i] for i in batch))
                batch, size = [], 0
