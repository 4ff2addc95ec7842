"""One query and the documents to be ranked for it, with every count a feature may ask for.

A feature never sees the index: the counts come from `Index.candidates`, or from LETOR's meta-information, which holds
exactly these. Rows of `tf` are the occurrences of words in the query (a word that is said twice has two rows), columns
are the candidates.

`Batch` is the same for several queries with as many words each: their candidates stand in a row, so that a formula is
worked out for all of them in one go. Then df, cf and `said` have a column per query, which `each` gives to every
candidate of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import Query
from pippin.data.texts import Texts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Postings(Protocol):
    """What features that look beyond the candidates ask of an index (`Index` offers it)."""

    @property
    def documents(self) -> int:
        """How many documents there are."""

    def postings(self, stream: str, word: str) -> tuple[Ints, Floats]:
        """The numbers of the documents whose stream holds an analysed word, ascending, and how often."""

    def lengths(self, stream: str) -> NDArray[np.uint32]:
        """Tokens of the stream per document."""

    def average(self, stream: str) -> float:
        """Mean tokens of the stream over all documents."""


class Vectors(Protocol):
    """What dense features ask of stored vectors (`Embeddings` offers it)."""

    def table(self, query: Query, words: Sequence[str], numbers: Ints) -> Floats:
        """[n, 4] cosine, dot product, best passage and fused score of documents."""


@dataclass(frozen=True, eq=False)
class StreamCounts:
    """One stream's counts for one query, or for a batch of q. Whole numbers are float64: formulas want no other."""

    documents: int  # N, of the whole collection, those with an empty stream included
    total: int  # tokens of the stream over the whole collection
    average: float  # total / documents; LETOR rounds it to six significant digits
    df: Floats  # [t] or [t, q] documents with the word
    cf: Floats  # [t] or [t, q] occurrences of the word in the collection
    tf: Floats  # [t, n] occurrences in each candidate
    length: Floats  # [n] tokens
    unique: Floats  # [n] distinct tokens
    positions: Callable[[], Positions] | None = None  # where the words stand, for proximity; None where unknown
    _kept: dict[tuple[Any, ...], Floats] = field(default_factory=dict, init=False, repr=False)

    def keep(self, key: tuple[Any, ...], make: Callable[[], Floats]) -> Floats:
        """What `make` gives, made once: for what several formulas share."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @cached_property
    def shares(self) -> Floats:
        """[t, n] c(w, d)/|d|; 0 in an empty stream, which holds no word."""
        return self.tf / np.maximum(self.length, 1)

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """[n] whether the stream of the candidate holds any word of the query."""
        hit: NDArray[np.bool_] = np.any(self.tf > 0, axis=0)
        return hit


@dataclass(frozen=True, eq=False)
class Positions:
    """Where distinct query words stand in the candidates: entries sorted by candidate, then by position (from 0)."""

    offsets: Ints  # [n + 1] the entries of each candidate
    position: Ints
    word: Ints  # row of `Candidates.distinct`


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates of one query."""

    query: Query
    words: tuple[str, ...]  # after analysis, one per occurrence
    document_ids: tuple[str, ...] | Texts
    labels: NDArray[np.int32]
    streams: Mapping[str, StreamCounts]
    numbers: Ints | None = None  # document numbers in the index
    index: Postings | None = None  # None where there is no index behind, as with meta-information
    web: Any = None  # links, sitemap and ranks of the collection; None where it has none
    dense: Vectors | None = None  # vectors of the documents; None where there are none

    def __len__(self) -> int:
        return len(self.document_ids)

    @cached_property
    def distinct(self) -> Ints:
        """[u] the first row of each distinct word."""
        return np.array(sorted({word: i for i, word in reversed(list(enumerate(self.words)))}.values()), np.int64)

    @cached_property
    def multiplicity(self) -> Floats:
        """[u] how often each distinct word stands in the query."""
        return np.array([self.words.count(self.words[i]) for i in self.distinct], np.float64)

    @cached_property
    def said(self) -> Floats:
        """[t] how often the word of a row stands in the query; 0 in its later rows, so that it counts once."""
        found = np.zeros(len(self.words))
        found[self.distinct] = self.multiplicity
        return found

    def each(self, values: Floats) -> Floats:
        """Values of words [t], or one of the query, so that every candidate has them."""
        return np.asarray(values)[..., None]


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries with as many words each, and all their candidates in a row."""

    queries: tuple[Candidates, ...]

    @cached_property
    def sizes(self) -> Ints:
        """[q] how many candidates each query has."""
        return np.array([len(query) for query in self.queries], np.int64)

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @cached_property
    def said(self) -> Floats:
        """[t, q] that of every query."""
        return np.stack([query.said for query in self.queries], axis=1)

    def each(self, values: Floats) -> Floats:
        """Values of words [t, q], or of queries [q], for every candidate."""
        return np.repeat(values, self.sizes, axis=-1)

    def stream(self, name: str) -> StreamCounts:
        """The counts of one stream; nobody asks a batch for positions."""
        parts = [query.streams[name] for query in self.queries]
        first = parts[0]
        return StreamCounts(
            first.documents, first.total, first.average,
            np.stack([part.df for part in parts], axis=1), np.stack([part.cf for part in parts], axis=1),
            np.concatenate([part.tf for part in parts], axis=1),
            np.concatenate([part.length for part in parts]), np.concatenate([part.unique for part in parts]),
        )  # fmt: skip


Queries = Candidates | Batch  # what a formula that takes many queries is given


def batches(queries: Sequence[Candidates], streams: Iterable[str], pairs: int) -> Iterator[tuple[list[int], Batch]]:
    """The queries in batches of about so many candidates, each with the places of its queries.

    A batch has queries of one number of words and of one collection.
    """
    alike: dict[tuple[Any, ...], list[int]] = {}
    names = tuple(streams)
    for place, query in enumerate(queries):
        of = [query.streams[name] for name in names]
        key = (len(query.words), *((one.documents, one.total, one.average) for one in of))
        alike.setdefault(key, []).append(place)
    for places in alike.values():
        chosen: list[int] = []
        held = 0
        for place in places:
            chosen.append(place)
            held += len(queries[place])
            if held >= pairs or place == places[-1]:
                yield chosen, Batch(tuple(queries[i] for i in chosen))
                chosen, held = [], 0
