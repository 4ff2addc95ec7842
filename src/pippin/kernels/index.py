"""PostingLists index: count the terms of documents, invert the counts, score with BM25.

`Indexer` and `Stream` are native objects: an indexer counts documents; a stream holds the open postings of one field,
packed in the format of `index/postings.hpp`. Term numbers are uint32; UNKNOWN_TERM stands for a word of no document.
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
UNKNOWN_TERM = 0xFFFFFFFF


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Raise `DataError` if a mapped array refers to a place outside another array."""
    try:
        yield
    except RuntimeError as error:
        raise DataError(f"this index is damaged: {error}") from None


@dataclass(frozen=True, eq=False)
class PostingLists:
    """Posting lists of one stream: sizes[t] postings of term t, documents ascending."""

    sizes: U32
    documents: U32
    counts: U32


@dataclass(frozen=True, eq=False)
class Names:
    """Numbered strings: all bytes, start and length of each string, and the numbers in the order of the strings."""

    bytes: U8
    starts: I64
    lengths: I32
    order: U32


def make_indexer(streams: int, unions: list[list[int]], *, joined: bool, limit: int) -> Indexer:
    """Return an empty indexer for `streams` streams and for unions of them."""
    return native.Indexer(streams, unions, joined, limit)


def names_of(numbering: Numbering) -> Names:
    """Return all strings of a numbering."""
    return Names(*numbering.arrays())


def terms_of(indexer: Indexer) -> Names:
    """Return all terms read so far."""
    return Names(*indexer.terms())


def read(indexer: Indexer, texts: list[str]) -> list[str]:
    """Tokenize a batch (document after document, one text per stream) and return its new words."""
    return native.Indexer.read(indexer, texts, threads())


def count(indexer: Indexer, terms: list[str]) -> None:
    """Count the terms of the batch; `terms` are the terms of the new words."""
    indexer.count(terms, threads())


def invert(indexer: Indexer, stream: int) -> PostingLists:
    """Return the posting lists of the documents in memory."""
    return PostingLists(*indexer.invert(stream, threads()))


def place(run: PostingLists, cursor: I64, documents: U32, counts: U32) -> None:
    """Copy each term's postings to its cursor and advance the cursors."""
    native.place_postings(run.sizes, run.documents, run.counts, cursor, documents, counts)


def pack(run: PostingLists, lengths: U32) -> tuple[U8, I64, U64]:
    """Return packed postings: the bytes of all terms, and for each term their number and its number of occurrences."""
    return native.pack_postings(run.sizes, run.documents, run.counts, lengths, threads())


def open_stream(starts: I64, postings: U8, lengths: U32, *, average: float) -> Stream:
    """Open the postings of a stream; raise ValueError if the arrays are inconsistent."""
    return native.Stream(starts, postings, lengths, average)


def open_remainder(union: Stream, members: Sequence[Stream], lengths: U32, *, average: float) -> Stream:
    """Open the stream that remains of a union without the given members."""
    return native.Stream(union, list(members), lengths, average)


def count_terms(stream: Stream, terms: U32) -> tuple[F64, F64]:
    """Return the document frequency and the collection frequency of each term."""
    df, cf = np.empty(len(terms), np.float64), np.empty(len(terms), np.float64)
    with _convert_errors():
        stream.frequencies(terms, df, cf)
    return df, cf


def read_postings(stream: Stream, term: int) -> tuple[I64, F64]:
    """Return the documents that contain a term, ascending, and its counts."""
    with _convert_errors():
        return native.Stream.postings(stream, term)


def unpack_tokens(packed: U8, begins: I64, ends: I64, offsets: I64, common: U32, terms: int) -> I32:
    """Return the terms of documents in text order; document i is packed in bytes begins[i] to ends[i]."""
    result = np.empty(int(offsets[-1]), np.int32)
    with _convert_errors():
        native.unpack_tokens(packed, begins, ends, offsets, common, terms, result)
    return result


def score_bm25(stream: Stream, terms: U32, documents: int, k1: float, b: float) -> F64:
    """Return the BM25 score of each document for distinct terms; 0 if it contains none of them."""
    scores = np.empty(documents, np.float64)
    with _convert_errors():
        stream.scores(terms, k1, b, scores)
    return scores


def search(stream: Stream, terms: U32, offsets: I64, n: int, k1: float, b: float, ranks: U32) -> list[tuple[I64, F64]]:
    """Return the numbers and scores of the `n` best documents of each query, best first, ties by `ranks`.

    The terms of query q are terms[offsets[q] : offsets[q + 1]]. Queries run on several threads.
    """
    workers = min(threads(), max(1, len(offsets) - 1))
    with _convert_errors():
        numbers, scores, ends = native.Stream.top(stream, terms, offsets, n, k1, b, ranks, workers)
    return [(numbers[first:end], scores[first:end]) for first, end in pairwise((0, *ends.tolist()))]


def count_words(streams: Sequence[Stream], terms: U32, numbers: I64) -> F64:
    """Return the counts [streams, terms, documents] in documents, whose numbers must ascend."""
    counts = np.empty((len(streams), len(terms), len(numbers)), np.float64)
    with _convert_errors():
        native.count_words(list(streams), terms, numbers, counts.reshape(-1))
    return counts


def find_numbers(names: Names, texts: Sequence[str]) -> I64:
    """Return the number of each text, -1 if it is not among the names."""
    numbers = np.empty(len(texts), np.int64)
    with _convert_errors():
        native.find_texts(names.bytes, names.starts, names.lengths, names.order, list(texts), numbers)
    return numbers
