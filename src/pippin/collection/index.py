"""Which documents of a collection hold which words, how often, and which of them answer a query best by BM25?

An index is a folder (see `index_files`) that opens at once, however large it is: everything is mapped. Documents and
terms go by numbers, documents in the order the collection was read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.analysis import Analysis
from pippin.collection.candidates import Candidates, Positions, StreamCounts
from pippin.collection.collection import Collection, Query, only_stream
from pippin.collection.index_build import write_index
from pippin.collection.index_files import read_arrays, read_manifest
from pippin.data.texts import Texts
from pippin.errors import DataError, UnknownName
from pippin.kernels import index as kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
U32 = NDArray[np.uint32]
MEMORY = 512 << 20
# The sampler of LETOR's Gov collection.
K1, B = 2.5, 0.8


def build_index(
    collection: Collection,
    path: str | os.PathLike[str],
    *,
    analysis: Analysis | None = None,
    memory: int = MEMORY,
    verbose: bool = False,
) -> Index:
    """Index a collection into a folder, in one pass and with about `memory` bytes, and open it.

    >>> import tempfile
    >>> from pippin.collection.collection import Document
    >>> pages = [Document("a", {"text": "red apples"}), Document("b", {"text": "green pears"}), Document("c", {})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = build_index(Collection("fruit", ("text",), lambda: iter(pages)), folder + "/fruit")
    ...     numbers, scores = index.top(index.analyse("an apple"), 10, stream="text")
    ...     print(index, [index.ids.at(number) for number in numbers])
    Index('fruit': 3 documents, 4 terms; text) ['a']
    """
    write_index(collection, Path(os.path.normpath(os.fspath(path))), analysis or Analysis(), memory, verbose)
    return open_index(path)


def open_index(path: str | os.PathLike[str], *, verify: bool = False) -> Index:
    """Open an index by memory map; `verify` reads it all and compares the digests."""
    manifest = read_manifest(path)
    try:
        return Index(manifest, read_arrays(path, manifest["files"], verify), os.fspath(path))
    except DataError as error:
        raise DataError(f"this index is damaged: {error.message}", path) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DataError("this index is damaged: its index.json does not describe it", path) from None


class Index:
    """The inverted file of a collection. Words are given as analysed; `analyse` makes them from text."""

    def __init__(self, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], path: str) -> None:
        self.manifest, self.path = manifest, path
        self.name = str(manifest["name"])
        self.documents = int(manifest["documents"])
        self.analysis = Analysis.of(manifest["analysis"])
        self.digest = str(manifest["digest"])
        self.streams: tuple[str, ...] = tuple(manifest["streams"])
        self.descriptions: Mapping[str, str] = {
            stream: str(record["description"]) for stream, record in manifest["streams"].items()
        }
        self.ids = Texts(arrays["ids.bytes"], arrays["ids.starts"], arrays["ids.lengths"])
        self.urls = Texts(arrays["urls.bytes"], arrays["urls.starts"], arrays["urls.lengths"])
        self._arrays = arrays
        self._number = {stream: number for number, stream in enumerate(self.streams)}
        self._ids, self._terms = (
            kernel.Names(*(arrays[f"{what}.{part}"] for part in ("bytes", "starts", "lengths", "order")))
            for what in ("ids", "terms")
        )
        if not len(self.ids) == len(self.urls) == len(arrays["ids.ranks"]) == self.documents:
            raise DataError("it does not hold as many documents as it says")
        self._native = [self._open_stream(stream) for stream in self.streams]

    def _open_stream(self, stream: str) -> kernel.Stream:
        if len(self.lengths(stream)) != self.documents:
            raise DataError(f"the stream {stream!r} has lengths for {len(self.lengths(stream)):,} documents")
        names = ("offsets", "documents", "counts", "lengths", "most", "shortest")
        return kernel.open_stream(*(self._column(stream, name) for name in names), average=self.average(stream))

    def stream(self, name: str) -> str:
        """The stream that a name means: where there is only one, it is the whole."""
        meant = only_stream(name, self.streams)
        if meant not in self._number:
            raise UnknownName("stream", name, self.streams)
        return meant

    def _column(self, stream: str, name: str) -> NDArray[Any]:
        return self._arrays[f"{self._number[self.stream(stream)]}.{name}"]

    def __len__(self) -> int:
        return self.documents

    def __repr__(self) -> str:
        terms = self.manifest["terms"]
        return f"Index({self.name!r}: {self.documents:,} documents, {terms:,} terms; {', '.join(self.streams)})"

    def analyse(self, text: str) -> list[str]:
        """The words of a text, as the documents were analysed."""
        return self.analysis.analyse(text)

    def numbers(self, ids: Sequence[str]) -> Ints:
        """The document numbers of ids, -1 where there is no such document."""
        return kernel.find(self._ids, list(ids))

    def lengths(self, stream: str) -> U32:
        """Tokens of the stream per document."""
        return self._column(stream, "lengths")

    def uniques(self, stream: str) -> U32:
        """Distinct terms of the stream per document."""
        return self._column(stream, "uniques")

    def total(self, stream: str) -> int:
        """Tokens of the stream over all documents."""
        return int(self.manifest["streams"][self.stream(stream)]["total"])

    def average(self, stream: str) -> float:
        """Mean tokens of the stream over all documents, those without any included."""
        return self.total(stream) / self.documents

    def terms(self, stream: str) -> int:
        """How many distinct terms the stream has."""
        return int(self.manifest["streams"][self.stream(stream)]["terms"])

    def term_numbers(self, words: Sequence[str]) -> U32:
        """The numbers of words, `kernels.index.NOWHERE` where no document holds one."""
        return kernel.find(self._terms, list(words)).astype(np.uint32)

    @cached_property
    def vocabulary(self) -> Texts:
        """The terms of all streams, by number."""
        return Texts(self._terms.bytes, self._terms.starts, self._terms.lengths)

    def postings(self, stream: str, word: str) -> tuple[Ints, Floats]:
        """The numbers of the documents whose stream holds a word, ascending, and how often."""
        offsets = self._column(stream, "offsets")
        term = int(self.term_numbers([word])[0])
        if term == kernel.NOWHERE:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        here = slice(int(offsets[term]), int(offsets[term + 1]))
        return (
            self._column(stream, "documents")[here].astype(np.int64),
            self._column(stream, "counts")[here].astype(np.float64),
        )

    def frequencies(self, stream: str, words: Sequence[str]) -> tuple[Floats, Floats]:
        """How many documents hold each word in the stream, and how often it occurs there in all."""
        offsets, occurrences = self._column(stream, "offsets"), self._column(stream, "occurrences")
        return self._frequencies(offsets, occurrences, self.term_numbers(words))

    @staticmethod
    def _frequencies(offsets: Ints, occurrences: NDArray[np.uint64], terms: U32) -> tuple[Floats, Floats]:
        df, cf = np.zeros(len(terms)), np.zeros(len(terms))
        known = terms != kernel.NOWHERE
        df[known] = offsets[terms[known] + 1] - offsets[terms[known]]
        cf[known] = occurrences[terms[known]]
        return df, cf

    def top(self, words: Sequence[str], n: int, *, stream: str, k1: float = K1, b: float = B) -> tuple[Ints, Floats]:
        """The n documents with the highest BM25 among those that hold a word: numbers and scores, ties by id."""
        return self.tops([words], n, stream=stream, k1=k1, b=b)[0]

    def tops(
        self, queries: Sequence[Sequence[str]], n: int, *, stream: str, k1: float = K1, b: float = B
    ) -> list[tuple[Ints, Floats]]:
        """`top` for each of several queries, on all threads."""
        native = self._stream(stream, k1, b)
        if n < 0:
            raise DataError(f"the best {n} documents cannot be counted")
        terms = [self.term_numbers(tuple(dict.fromkeys(words))) for words in queries]
        return kernel.top(native, terms, n, k1, b, self._arrays["ids.ranks"])

    def bm25(self, words: Sequence[str], *, stream: str, k1: float = K1, b: float = B) -> Floats:
        """BM25 of every document, Σ over distinct words of idf·c(k1+1)/(c + k1(1−b+b|d|/average)); 0 without a word."""
        native = self._stream(stream, k1, b)
        return kernel.bm25(native, self.term_numbers(tuple(dict.fromkeys(words))), self.documents, k1, b)

    def _stream(self, stream: str, k1: float, b: float) -> kernel.Stream:
        if not (0 <= k1 < float("inf") and 0 <= b <= 1):
            raise DataError(f"BM25 needs k1 from 0 on and b between 0 and 1, not k1 = {k1:g} and b = {b:g}")
        return self._native[self._number[self.stream(stream)]]

    def tokens(self, stream: str, numbers: Sequence[int] | Ints) -> tuple[Ints, NDArray[np.int32]]:
        """The documents' terms in order: where each document begins, and term numbers."""
        numbers = self._checked(numbers)
        stream = self.stream(stream)
        members = self.manifest["streams"][stream]["union"]
        parts = [self._gather(member, numbers) for member in (members if members is not None else [stream])]
        if len(parts) == 1:
            return parts[0]
        sizes = np.stack([np.diff(offsets) for offsets, _ in parts])
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(sizes.sum(axis=0), out=offsets[1:])
        tokens = np.empty(offsets[-1], np.int32)
        begins = offsets[:-1].copy()
        for size, (_, values) in zip(sizes, parts, strict=True):
            tokens[_ranges(begins, size)] = values
            begins += size
        return offsets, tokens

    def _gather(self, stream: str, numbers: Ints) -> tuple[Ints, NDArray[np.int32]]:
        starts = self._column(stream, "starts")
        begins = starts[numbers]
        sizes = starts[numbers + 1] - begins
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        return offsets, self._column(stream, "tokens")[_ranges(begins, sizes)].astype(np.int32)

    def _checked(self, numbers: Sequence[int] | Ints) -> Ints:
        numbers = np.asarray(numbers, np.int64)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.documents:
            raise DataError(f"document numbers of {self.name} go from 0 to {self.documents - 1:,}")
        return numbers

    def candidates(
        self,
        query: Query,
        numbers: Sequence[int] | Ints,
        labels: Sequence[int] | NDArray[np.int32],
        *,
        words: Sequence[str] | None = None,
        web: Any = None,
    ) -> Candidates:
        """The counts of a query's words in these documents, for every stream."""
        numbers = self._checked(numbers)
        found = tuple(self.analyse(query.text) if words is None else words)
        distinct = {word: row for row, word in enumerate(dict.fromkeys(found))}
        rows = np.array([distinct[word] for word in found], np.int64)
        terms = self.term_numbers(tuple(distinct))
        order = np.argsort(numbers, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        counts = kernel.count_words(self._native, terms, numbers[order])
        streams = {
            stream: self._counts(stream, terms, rows, counts[s][np.ix_(rows, back)], numbers)
            for s, stream in enumerate(self.streams)
        }
        return Candidates(
            query, found, tuple(self.ids.take(numbers)), np.asarray(labels, np.int32), streams, numbers, self, web
        )

    def _counts(self, stream: str, terms: U32, rows: Ints, tf: Floats, numbers: Ints) -> StreamCounts:
        df, cf = self._frequencies(self._column(stream, "offsets"), self._column(stream, "occurrences"), terms)
        return StreamCounts(
            documents=self.documents,
            total=self.total(stream),
            average=float(f"{self.average(stream):.6g}"),
            df=df[rows],
            cf=cf[rows],
            tf=tf,
            length=self.lengths(stream)[numbers].astype(np.float64),
            unique=self.uniques(stream)[numbers].astype(np.float64),
            positions=lambda: self._positions(stream, terms, numbers),
        )

    def _positions(self, stream: str, terms: U32, numbers: Ints) -> Positions:
        """Where the distinct words of a query stand in the documents."""
        offsets, tokens = self.tokens(stream, numbers)
        known = np.flatnonzero(terms != kernel.NOWHERE)
        by_term = known[np.argsort(terms[known])]
        sorted_terms = terms[by_term].astype(np.int32)
        places = np.flatnonzero(np.isin(tokens, sorted_terms))
        document = np.searchsorted(offsets, places, "right") - 1
        word = by_term[np.searchsorted(sorted_terms, tokens[places])]
        begins = np.searchsorted(places, offsets)
        return Positions(begins.astype(np.int64), places - offsets[document], word)


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """The whole numbers from each start on, as many as its size says.

    >>> _ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
