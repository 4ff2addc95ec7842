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

from pippin.blocks import Column
from pippin.collection.analysis import Analysis
from pippin.collection.candidates import Candidates, Positions, StreamCounts, Vectors
from pippin.collection.collection import Collection, Query, only_stream
from pippin.collection.index_build import write_index
from pippin.collection.index_files import FORMAT, Arrays
from pippin.collection.index_texts import StoredTexts
from pippin.data.texts import Texts
from pippin.errors import DataError, UnknownName
from pippin.kernels import index as kernel

if TYPE_CHECKING:
    from pippin.collection.retrieval import Found

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
U32 = NDArray[np.uint32]
MEMORY = 128 << 20
# The sampler of LETOR's Gov collection.
K1, B = 2.5, 0.8


def build_index(
    collection: Collection,
    path: str | os.PathLike[str],
    *,
    analysis: Analysis | None = None,
    memory: int = MEMORY,
    texts: bool = True,
    verbose: bool = False,
) -> Index:
    """Index a collection into a folder, in one pass and with about `memory` bytes, and open it.

    The documents' own texts are kept beside it, packed, unless `texts` is False.

    >>> import tempfile
    >>> from pippin.collection.collection import Document
    >>> pages = [Document("a", {"text": "red apples"}), Document("b", {"text": "green pears"}), Document("c", {})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = build_index(Collection("fruit", ("text",), lambda: iter(pages)), folder + "/fruit")
    ...     numbers, scores = index.top(index.analyse("an apple"), 10, stream="text")
    ...     print(index, [index.ids.at(number) for number in numbers])
    Index('fruit': 3 documents, 4 terms; text) ['a']
    """
    write_index(collection, Path(os.path.normpath(os.fspath(path))), analysis or Analysis(), memory, texts, verbose)
    return open_index(path)


def open_index(path: str | os.PathLike[str], *, verify: bool = False) -> Index:
    """Open an index by memory map; what is looked at is verified, everything at once with `verify`."""
    manifest = FORMAT.read(path)
    with FORMAT.described(path):
        if verify:
            manifest.verify()
        texts = Arrays(manifest, "texts") if manifest["texts"] else None
        return Index(manifest.record, Arrays(manifest), os.fspath(path), texts)


class Index:
    """The inverted file of a collection. Words are given as analysed; `analyse` makes them from text."""

    def __init__(self, manifest: dict[str, Any], arrays: Arrays, path: str, texts: Arrays | None = None) -> None:
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
        read = [stream for stream, record in manifest["streams"].items() if record["union"] is None]
        self._stored = None if texts is None else StoredTexts(texts, read, self.documents, path)

    def _check_sizes(self) -> None:
        """Raise unless every array is there and as long as the counts say; looks at no number."""
        size = {name: len(self._arrays.column(name)) for name in self.manifest["files"]}
        of_documents = ["ids.lengths", "ids.ranks", "urls.lengths"]
        for number, (stream, record) in enumerate(self.manifest["streams"].items()):
            of_documents += [f"{number}.lengths", f"{number}.uniques"]
            if record["union"] is None:
                of_documents.append(f"{number}.sizes")
            elif not set(record["union"]) <= set(self.streams):
                raise DataError(f"the stream {stream!r} is made of others that it lacks")
            if record["rest_of"] is not None:
                if stream not in (self.manifest["streams"][record["rest_of"]]["union"] or ()):
                    raise DataError(f"the stream {stream!r} is no part of what it is the rest of")
            elif size[f"{number}.starts"] != self.manifest["terms"] + 1:
                raise DataError(f"the stream {stream!r} has no start for every term")
        if self.documents < 1 or {size[name] for name in of_documents} != {self.documents}:
            raise DataError("it does not hold as many documents as it says")
        if {size["terms.lengths"], size["terms.order"]} != {self.manifest["terms"]}:
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
        ends = self._arrays.ends(f"{what}.lengths")
        lengths, content = self._arrays.wide(f"{what}.lengths", np.int32), self._arrays[f"{what}.bytes"]
        if (lengths.min(initial=0) < 0) or ends[-1] != len(content):
            raise DataError(f"this index is damaged: its {what} point outside their bytes", self.path)
        return Texts(content, ends[:-1], lengths)

    @cached_property
    def _ids_in_order(self) -> U32:
        """The numbers of the documents in the order of their ids."""
        ranks, order = self.id_ranks, np.full(self.documents, kernel.NOWHERE, np.uint32)
        if ranks.max() < self.documents:
            order[ranks] = np.arange(self.documents, dtype=np.uint32)
        if order.max() == kernel.NOWHERE:
            raise DataError("this index is damaged: its ids have no order", self.path)
        return order

    def _native(self, stream: str, terms: U32) -> kernel.Stream:
        """A stream to ask about these terms, whose postings are verified."""
        stream = self.stream(stream)
        whole = self.manifest["streams"][stream]["rest_of"]
        if whole is not None:
            parts = [name for name in self.manifest["streams"][whole]["union"] if name != stream]
            return self._rest(stream, self._native(whole, terms), [self._native(name, terms) for name in parts])
        starts, postings = self._arrays.wide(self._place(stream, "starts"), np.int64), self._mapped(stream, "postings")
        if stream not in self._opened:
            with FORMAT.described(self.path):
                lengths, average = self.lengths(stream), self.average(stream)
                self._opened[stream] = kernel.open_stream(starts, postings.raw, lengths, average=average)
        known = terms[terms != kernel.NOWHERE].astype(np.int64)
        postings.check_stretches(starts[known], starts[known + 1])
        return self._opened[stream]

    def _rest(self, stream: str, whole: kernel.Stream, others: list[kernel.Stream]) -> kernel.Stream:
        if stream not in self._opened:
            with FORMAT.described(self.path):
                lengths, average = self.lengths(stream), self.average(stream)
                self._opened[stream] = kernel.open_rest(whole, others, lengths, average=average)
        return self._opened[stream]

    def stream(self, name: str) -> str:
        """The stream that a name means: where there is only one, it is the whole."""
        meant = only_stream(name, self.streams)
        if meant not in self._number:
            raise UnknownName("stream", name, self.streams)
        return meant

    def _place(self, stream: str, name: str) -> str:
        return f"{self._number[self.stream(stream)]}.{name}"

    def _mapped(self, stream: str, name: str) -> Column:
        return self._arrays.column(self._place(stream, name))

    def __len__(self) -> int:
        return self.documents

    def __repr__(self) -> str:
        terms = self.manifest["terms"]
        return f"Index({self.name!r}: {self.documents:,} documents, {terms:,} terms; {', '.join(self.streams)})"

    @property
    def id_ranks(self) -> NDArray[Any]:
        """The place of each document when all are sorted by id, which decides between equal scores."""
        return self._arrays.wide("ids.ranks", np.uint32)

    def search(self, queries: Iterable[Query], **how: Any) -> Found:
        """The best documents of queries; `how` is that of `retrieval.search` (model, top, stream)."""
        from pippin.collection.retrieval import search

        return search(self, queries, **how)

    def texts(self, number: int) -> dict[str, str] | None:
        """What each stream of a document says in its own words; None where the index keeps no texts."""
        self._checked([number])
        return None if self._stored is None else self._stored.of(number)

    def bytes(self) -> tuple[int, int]:
        """How large it is on disk, and how large the texts beside it are."""
        sizes = [sum(record["bytes"] for record in self.manifest[part].values()) for part in ("files", "texts")]
        return sizes[0], sizes[1]

    def analyse(self, text: str) -> list[str]:
        """The words of a text, as the documents were analysed."""
        return self.analysis.analyse(text)

    def analyse_many(self, texts: Iterable[str]) -> list[list[str]]:
        """`analyse` for each of several texts, faster than one by one."""
        return self.analysis.analyse_many(texts)

    def numbers(self, ids: Sequence[str]) -> Ints:
        """The document numbers of ids, -1 where there is no such document."""
        return kernel.find(kernel.Names(*self._in_bytes(self.ids), self._ids_in_order), list(ids))

    def lengths(self, stream: str) -> U32:
        """Tokens of the stream per document."""
        return self._arrays.wide(self._place(stream, "lengths"), np.uint32)

    def uniques(self, stream: str) -> U32:
        """Distinct terms of the stream per document."""
        return self._arrays.wide(self._place(stream, "uniques"), np.uint32)

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
        order = self._arrays.wide("terms.order", np.uint32)
        return kernel.find(kernel.Names(*self._in_bytes(self.vocabulary), order), list(words)).astype(np.uint32)

    @staticmethod
    def _in_bytes(texts: Texts) -> tuple[NDArray[np.uint8], Ints, NDArray[np.int32]]:
        return texts.buffer, texts.starts, texts.lengths

    def postings(self, stream: str, word: str) -> tuple[Ints, Floats]:
        """The numbers of the documents whose stream holds a word, ascending, and how often."""
        terms = self.term_numbers([word])
        return kernel.postings(self._native(stream, terms), int(terms[0]))

    def frequencies(self, stream: str, words: Sequence[str]) -> tuple[Floats, Floats]:
        """How many documents hold each word in the stream, and how often it occurs there in all."""
        terms = self.term_numbers(words)
        return kernel.frequencies(self._native(stream, terms), terms)

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
        distinct = [tuple(dict.fromkeys(words)) for words in queries]
        terms = self.term_numbers([word for words in distinct for word in words])
        offsets = np.cumsum([0, *map(len, distinct)])
        return kernel.top(self._native(stream, terms), terms, offsets, n, k1, b, self.id_ranks)

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
        starts, tokens = self._arrays.ends(self._place(stream, "sizes")), self._mapped(stream, "tokens")
        begins, ends = starts[numbers], starts[numbers + 1]
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(self.lengths(stream)[numbers], dtype=np.int64, out=offsets[1:])
        tokens.check_stretches(begins, ends)
        common = self._arrays.wide("terms.common", np.uint32)
        if offsets[-1] > ends.sum() - begins.sum():
            raise DataError("this index is damaged: its tokens are fewer than it says", self.path)
        return offsets, kernel.tokens(tokens.raw, begins, ends, offsets, common, self.manifest["terms"])

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
        dense: Vectors | None = None,
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
            stream: self._counts(stream, native[s], terms, rows, counts[s][np.ix_(rows, back)], numbers)
            for s, stream in enumerate(self.streams)
        }
        return Candidates(
            query, found, self.ids.take(numbers), np.asarray(labels, np.int32), streams, numbers, self, web, dense
        )

    def _counts(
        self, stream: str, native: kernel.Stream, terms: U32, rows: Ints, tf: Floats, numbers: Ints
    ) -> StreamCounts:
        df, cf = kernel.frequencies(native, terms)
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
