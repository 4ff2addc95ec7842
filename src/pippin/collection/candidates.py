"""One query and the documents to be ranked for it, with every count a feature may ask for.

A feature never sees the index: the counts come from `Index.candidates`, or from LETOR's meta-information, which holds
exactly these. Rows of `tf` are the occurrences of words in the query (a word that is said twice has two rows), columns
are the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import Query

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


@dataclass(frozen=True, eq=False)
class StreamCounts:
    """One stream's counts for one query. Whole numbers are kept as float64: formulas want no other."""

    documents: int  # N, of the whole collection, those with an empty stream included
    total: int  # tokens of the stream over the whole collection
    average: float  # total / documents; LETOR rounds it to six significant digits
    df: Floats  # [t] documents with the word
    cf: Floats  # [t] occurrences of the word in the collection
    tf: Floats  # [t, n] occurrences in each candidate
    length: Floats  # [n] tokens
    unique: Floats  # [n] distinct tokens
    positions: Callable[[], Positions] | None = None  # where the words stand, for proximity; None where unknown

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """[n] whether the stream of the candidate holds any word of the query."""
        found: NDArray[np.bool_] = np.any(self.tf > 0, axis=0)
        return found


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
    document_ids: tuple[str, ...]
    labels: NDArray[np.int32]
    streams: Mapping[str, StreamCounts]
    numbers: Ints | None = None  # document numbers in the index
    index: Postings | None = None  # None where there is no index behind, as with meta-information
    web: Any = None  # links, sitemap and ranks of the collection; None where it has none

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
