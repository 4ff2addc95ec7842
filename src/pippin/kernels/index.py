"""The inverted file: counting words of documents, turning counts round, BM25 and counts of candidates.

`Indexer` and `Stream` are native objects: the one gathers documents, the other holds the postings of one stream that is
open, packed as `index/postings.hpp` says. Term numbers are uint32; NOWHERE is that of a word that no document holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.kernels import native, threads

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]

Indexer: TypeAlias = native.Indexer
Numbering: TypeAlias = native.Numbering
Stream: TypeAlias = native.Stream
NOWHERE = 0xFFFFFFFF


@contextmanager
def _whole() -> Iterator[None]:
    """Numbers of a mapped array that lead out of another one, as a `DataError`."""
    try:
        yield
    except RuntimeError as error:
        raise DataError(f"this index is damaged: {error}") from None


@dataclass(frozen=True, eq=False)
class Inverted:
    """Postings of one stream by term: sizes[t] of term t, documents ascending."""

    sizes: U32
    documents: U32
    counts: U32


@dataclass(frozen=True, eq=False)
class Names:
    """StringColumn by number: bytes, where each begins, how long it is, and the numbers in the order of the texts."""

    bytes: U8
    starts: I64
    lengths: I32
    order: U32


def make_indexer(streams: int, unions: list[list[int]], *, joined: bool, limit: int) -> Indexer:
    """An empty indexer of so many streams, and of unions of them."""
    return native.Indexer(streams, unions, joined, limit)


def names_of(numbering: Numbering) -> Names:
    """All texts of a numbering."""
    return Names(*numbering.arrays())


def terms_of(indexer: Indexer) -> Names:
    """All terms met so far."""
    return Names(*indexer.terms())


def read(indexer: Indexer, texts: list[str]) -> list[str]:
    """Find the words of a batch (document after document, a text per stream); those never met before."""
    return native.Indexer.read(indexer, texts, threads())


def count(indexer: Indexer, terms: list[str]) -> None:
    """Count the batch, given what each new word becomes."""
    indexer.count(terms, threads())


def invert(indexer: Indexer, stream: int) -> Inverted:
    """The documents held, by term."""
    return Inverted(*indexer.invert(stream, threads()))


def place(run: Inverted, cursor: I64, documents: U32, counts: U32) -> None:
    """Copy each term's postings to its cursor, which moves on."""
    native.place_postings(run.sizes, run.documents, run.counts, cursor, documents, counts)


def pack(run: Inverted, lengths: U32) -> tuple[U8, I64, U64]:
    """Postings as they are written: the bytes of all terms, how many each has, and how often each occurs."""
    return native.pack_postings(run.sizes, run.documents, run.counts, lengths, threads())


def open_stream(starts: I64, postings: U8, lengths: U32, *, average: float) -> Stream:
    """A stream's postings as one thing to ask; raises ValueError if the arrays do not fit together."""
    return native.Stream(starts, postings, lengths, average)


def open_rest(whole: Stream, others: Sequence[Stream], lengths: U32, *, average: float) -> Stream:
    """The stream that is left of a union without the other members."""
    return native.Stream(whole, list(others), lengths, average)


def frequencies(stream: Stream, terms: U32) -> tuple[F64, F64]:
    """How many documents hold each term, and how often it occurs in all."""
    df, cf = np.empty(len(terms), np.float64), np.empty(len(terms), np.float64)
    with _whole():
        stream.frequencies(terms, df, cf)
    return df, cf


def postings(stream: Stream, term: int) -> tuple[I64, F64]:
    """The documents that hold a term, ascending, and how often."""
    with _whole():
        return native.Stream.postings(stream, term)


def tokens(packed: U8, begins: I64, ends: I64, offsets: I64, common: U32, terms: int) -> I32:
    """The terms of documents, whose bytes are those from their begins to their ends, in order."""
    result = np.empty(int(offsets[-1]), np.int32)
    with _whole():
        native.unpack_tokens(packed, begins, ends, offsets, common, terms, result)
    return result


def bm25(stream: Stream, terms: U32, documents: int, k1: float, b: float) -> F64:
    """BM25 of every document, 0 where it holds none of the terms, which are distinct."""
    scores = np.empty(documents, np.float64)
    with _whole():
        stream.scores(terms, k1, b, scores)
    return scores


def top(stream: Stream, terms: U32, offsets: I64, n: int, k1: float, b: float, ranks: U32) -> list[tuple[I64, F64]]:
    """The best documents of each query, queries on several threads: numbers and scores, best first, ties by rank.

    The terms of query q are terms[offsets[q] : offsets[q + 1]].
    """
    workers = min(threads(), max(1, len(offsets) - 1))
    with _whole():
        numbers, scores, ends = native.Stream.top(stream, terms, offsets, n, k1, b, ranks, workers)
    return [(numbers[first:end], scores[first:end]) for first, end in pairwise((0, *ends.tolist()))]


def count_words(streams: Sequence[Stream], terms: U32, numbers: I64) -> F64:
    """[streams, terms, documents] occurrences in documents whose numbers ascend."""
    counts = np.empty((len(streams), len(terms), len(numbers)), np.float64)
    with _whole():
        native.count_words(list(streams), terms, numbers, counts.reshape(-1))
    return counts


def find(names: Names, texts: Sequence[str]) -> I64:
    """The number of each text, -1 where it is none of the names."""
    numbers = np.empty(len(texts), np.int64)
    with _whole():
        native.find_texts(names.bytes, names.starts, names.lengths, names.order, list(texts), numbers)
    return numbers
