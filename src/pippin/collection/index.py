"""Which documents of a collection hold which words, how often, and which of them answer a query best by BM25?

An index is a folder (see `index_files`) that opens at once, however large it is: everything is mapped, and verified
where it is looked at. Documents and terms go by numbers, documents in the order the collection was read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.analysis import Analysis
from pippin.collection.candidates import Candidates, Positions, StreamCounts
from pippin.collection.collection import Collection, Query, only_stream
from pippin.collection.index_build import write_index
from pippin.collection.index_files import FORMAT, Arrays
from pippin.data.texts import Texts
from pippin.errors import DataError, UnknownName
from pippin.kernels import index as kernel
from pippin.manifest import Column

if TYPE_CHECKING:
    from pippin.collection.retrieval import Found

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
    """Open an index by memory map; what is looked at is verified, everything at once with `verify`."""
    manifest = FORMAT.read(path)
    with FORMAT.described(path):
        if verify:
            manifest.verify()
        return Index(manifest.record, Arrays(manifest), os.fspath(path))


class Index:
    """The inverted file of a collection. Words are given as analysed; `analyse` makes them from text."""

    def __init__(self, manifest: dict[str, Any], arrays: Arrays, path: str) -> None:
        self.manifest, self.path = manifest, path
        self.name = str(manifest["name"])
        self.documents = int(manifest["documents"])
        self.analysis = Analysis.of(manifest["analysis"])
        self.digest = str(manifest["digest"])
        self.streams: tuple[str, ...] = tuple(manifest["streams"])
        self.descriptions: Mapping[str, str] = {
            stream: str(record["description"]) for stream, record in manifest["streams"].items()
        }
        self._arrays = arrays
        self._number = {stream: number for number, stream in enumerate(self.streams)}
        self._opened: dict[str, kernel.Stream] = {}
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Raise unless every array is there and as long as the counts say; looks at no number."""
        size = {name: len(self._arrays.column(name)) for name in self.manifest["files"]}
        of_documents = ["ids.starts", "ids.lengths", "ids.order", "ids.ranks", "urls.starts", "urls.lengths"]
        of_terms = ["terms.starts", "terms.lengths", "terms.order"]
        for number, (stream, record) in enumerate(self.manifest["streams"].items()):
            of_documents += [f"{number}.lengths", f"{number}.uniques"]
            of_terms += [f"{number}.{name}" for name in ("occurrences", "most", "shortest")]
            if size[f"{number}.offsets"] != size["terms.starts"] + 1:
                raise DataError(f"the stream {stream!r} has no offset for every term")
            if record["union"] is None and size[f"{number}.starts"] != size["ids.starts"] + 1:
                raise DataError(f"the stream {stream!r} has no start for every document")
        if self.documents < 1 or {size[name] for name in of_documents} != {self.documents}:
            raise DataError("it does not hold as many documents as it says")
        if {size[name] for name in of_terms} != {self.manifest["terms"]}:
            raise DataError("it does not hold as many terms as it says")

    @cached_property
    def ids(self) -> Texts:
        """The names of the documents."""
        return self._texts("ids")

    @cached_property
    def urls(self) -> Texts:
        """The addresses of the documents, empty where there is none."""
        return self._texts("urls")

    @cached_property
    def vocabulary(self) -> Texts:
        """The terms of all streams, by number."""
        return self._texts("terms")

    def _texts(self, what: str) -> Texts:
        texts = Texts(*(self._arrays[f"{what}.{part}"] for part in ("bytes", "starts", "lengths")))
        if len(texts) and (texts.lengths.min() < 0 or texts.starts.min() < 0
                           or (texts.starts + texts.lengths).max() > len(texts.buffer)):  # fmt: skip
            raise DataError(f"this index is damaged: its {what} point outside their bytes", self.path)
        return texts

    def _names(self, what: str) -> kernel.Names:
        return kernel.Names(*(self._arrays[f"{what}.{part}"] for part in ("bytes", "starts", "lengths", "order")))

    def _native(self, stream: str, terms: U32) -> kernel.Stream:
        """A stream to ask about these terms, whose postings are verified."""
        stream = self.stream(stream)
        if stream not in self._opened:
            raw = [self._mapped(stream, name).raw for name in ("documents", "counts")]
            other = [self._column(stream, name) for name in ("offsets", "lengths", "most", "shortest")]
            with FORMAT.described(self.path):
                self._opened[stream] = kernel.open_stream(other[0], *raw, *other[1:], average=self.average(stream))
        offsets = self._column(stream, "offsets")
        known = terms[terms != kernel.NOWHERE].astype(np.int64)
        for name in ("documents", "counts"):
            self._mapped(stream, name).check_stretches(offsets[known], offsets[known + 1])
        return self._opened[stream]

    def stream(self, name: str) -> str:
        """The stream that a name means: where there is only one, it is the whole."""
        meant = only_stream(name, self.streams)
        if meant not in self._number:
            raise UnknownName("stream", name, self.streams)
        return meant

    def _mapped(self, stream: str, name: str) -> Column:
        return self._arrays.column(f"{self._number[self.stream(stream)]}.{name}")

    def _column(self, stream: str, name: str) -> NDArray[Any]:
        return self._mapped(stream, name).whole()

    def __len__(self) -> int:
        return self.documents

    def __repr__(self) -> str:
        terms = self.manifest["terms"]
        return f"Index({self.name!r}: {self.documents:,} documents, {terms:,} terms; {', '.join(self.streams)})"

    @property
    def id_ranks(self) -> NDArray[Any]:
        """The place of each document when all are sorted by id, which decides between equal scores."""
        return self._arrays["ids.ranks"]

    def search(self, queries: Iterable[Query], **how: Any) -> Found:
        """The best documents of queries; `how` is that of `retrieval.search` (model, top, stream)."""
        from pippin.collection.retrieval import search

        return search(self, queries, **how)

    def analyse(self, text: str) -> list[str]:
        """The words of a text, as the documents were analysed."""
        return self.analysis.analyse(text)

    def numbers(self, ids: Sequence[str]) -> Ints:
        """The document numbers of ids, -1 where there is no such document."""
        return kernel.find(self._names("ids"), list(ids))

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
        return kernel.find(self._names("terms"), list(words)).astype(np.uint32)

    def postings(self, stream: str, word: str) -> tuple[Ints, Floats]:
        """The numbers of the documents whose stream holds a word, ascending, and how often."""
        offsets = self._column(stream, "offsets")
        term = int(self.term_numbers([word])[0])
        if term == kernel.NOWHERE:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        here = int(offsets[term]), int(offsets[term + 1])
        documents, counts = (self._mapped(stream, name).rows(*here).whole() for name in ("documents", "counts"))
        return documents.astype(np.int64), counts.astype(np.float64)

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
        self._check_parameters(stream, k1, b)
        if n < 0:
            raise DataError(f"the best {n} documents cannot be counted")
        terms = [self.term_numbers(tuple(dict.fromkeys(words))) for words in queries]
        native = self._native(stream, np.concatenate([np.empty(0, np.uint32), *terms]))
        return kernel.top(native, terms, n, k1, b, self.id_ranks)

    def bm25(self, words: Sequence[str], *, stream: str, k1: float = K1, b: float = B) -> Floats:
        """BM25 of every document, Σ over distinct words of idf·c(k1+1)/(c + k1(1−b+b|d|/average)); 0 without a word."""
        self._check_parameters(stream, k1, b)
        terms = self.term_numbers(tuple(dict.fromkeys(words)))
        return kernel.bm25(self._native(stream, terms), terms, self.documents, k1, b)

    def _check_parameters(self, stream: str, k1: float, b: float) -> None:
        if not (0 <= k1 < float("inf") and 0 <= b <= 1):
            raise DataError(f"BM25 needs k1 from 0 on and b between 0 and 1, not k1 = {k1:g} and b = {b:g}")
        self.stream(stream)

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
        tokens = self._mapped(stream, "tokens")
        tokens.check_stretches(begins, begins + sizes)
        return offsets, tokens.raw[_ranges(begins, sizes)].astype(np.int32)

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
        native = [self._native(stream, terms) for stream in self.streams]
        counts = kernel.count_words(native, terms, numbers[order])
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
