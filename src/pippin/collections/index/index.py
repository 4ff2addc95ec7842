"""The inverted index of a collection: postings, term statistics, tokens and BM25.

An index is a folder (see `storage`) that opens at once, however large it is: all arrays are memory-mapped and verified
when they are first read. Documents and terms have numbers; documents are in the order of the collection.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection, Document, Query, resolve_field
from pippin.collections.index.statistics import (
    K1,
    B,
    Candidates,
    FieldStatistics,
    NumericField,
    Positions,
    Vectors,
)
from pippin.collections.index.storage import FORMAT, Arrays, StoredTexts
from pippin.collections.index.writer import write_index
from pippin.collections.text.analysis import STOP_WORDS, Analyzer
from pippin.errors import DataError, UnknownName
from pippin.kernels import index as kernel
from pippin.kernels.strings import StringColumn
from pippin.system import parse_size

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
U32 = NDArray[np.uint32]
MEMORY = 128 << 20


def build_index(
    collection: Collection,
    path: str | os.PathLike[str],
    *,
    analysis: Analyzer | None = None,
    memory: int | str = MEMORY,
    texts: bool = True,
    verbose: bool = False,
) -> Index:
    """Index a collection into a folder, in one pass and with about `memory` bytes, and open the index.

    The texts of the documents are stored too, compressed, unless `texts` is False.

    >>> import tempfile
    >>> from pippin.collections.collection import Document
    >>> pages = [Document("a", {"text": "red apples"}), Document("b", {"text": "green pears"}), Document("c", {})]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = build_index(Collection("fruit", ("text",), lambda: iter(pages)), folder + "/fruit")
    ...     numbers, scores = index.search_terms(index.analyse("an apple"), 10, field="text")
    ...     print(index, [index.ids.at(number) for number in numbers])
    Index('fruit': 3 documents, 4 terms; text) ['a']
    """
    size = memory if isinstance(memory, int) else parse_size(memory)
    write_index(collection, Path(os.path.normpath(os.fspath(path))), analysis or Analyzer(), size, texts, verbose)
    return open_index(path)


def make_analyzer(
    stem: str = "porter", stop: str | os.PathLike[str] | Sequence[str] = "english", words: str = "unicode"
) -> Analyzer:
    """Return an analyzer; stop words are a named list, a file of words, or the words."""
    if isinstance(stop, str | os.PathLike):
        is_file = os.fspath(stop) not in STOP_WORDS and Path(stop).is_file()
        stop = tuple(Path(stop).read_text(encoding="utf-8").split()) if is_file else os.fspath(stop)
    return Analyzer(words=words, stop=stop if isinstance(stop, str) else tuple(stop), stem=stem)


def open_index(path: str | os.PathLike[str], *, verify: bool = False) -> Index:
    """Open an index by memory map; arrays are verified when they are first read, or all now with `verify`."""
    manifest = FORMAT.read(path)
    with FORMAT.wrap_errors(path):
        if verify:
            manifest.verify()
        texts = Arrays(manifest, "texts") if manifest["texts"] else None
        return Index(manifest.record, Arrays(manifest), os.fspath(path), texts)


class Index:
    """The inverted file of a collection; `words` in all methods are analysed words, as `analyse` returns them."""

    def __init__(self, manifest: dict[str, Any], arrays: Arrays, path: str, texts: Arrays | None = None) -> None:
        self.manifest, self.path = manifest, path
        self.name = str(manifest["name"])
        self.documents = int(manifest["documents"])
        self.analysis = Analyzer.of(manifest["analysis"])
        self.digest = str(manifest["digest"])
        self.fields: tuple[str, ...] = tuple(manifest["streams"])
        self.descriptions: Mapping[str, str] = {
            field: str(record["description"]) for field, record in manifest["streams"].items()
        }
        self.numeric_fields: Mapping[str, str] = manifest.get("numeric_fields", {})
        self._arrays = arrays
        self._number = {field: number for number, field in enumerate(self.fields)}
        self._opened: dict[str, kernel.Stream] = {}
        self._check_sizes()
        stored_fields = [field for field, record in manifest["streams"].items() if record["union"] is None]
        self._stored = None if texts is None else StoredTexts(texts, stored_fields, self.documents, path)

    def _check_sizes(self) -> None:
        """Raise unless every array exists and has the length that the manifest states; reads no array."""
        size = {name: len(self._arrays.column(name)) for name in self.manifest["files"]}
        of_documents = ["ids.lengths", "ids.ranks", "urls.lengths"]
        of_documents += [f"numbers.{number}" for number in range(len(self.numeric_fields))]
        for number, (field, record) in enumerate(self.manifest["streams"].items()):
            of_documents += [f"{number}.lengths", f"{number}.uniques"]
            if record["union"] is None:
                of_documents.append(f"{number}.sizes")
            elif not set(record["union"]) <= set(self.fields):
                raise DataError(f"the field {field!r} combines fields that the index does not have")
            if record["rest_of"] is not None:
                if field not in (self.manifest["streams"][record["rest_of"]]["union"] or ()):
                    raise DataError(f"the field {field!r} is not a member of {record['rest_of']!r}")
            elif size[f"{number}.starts"] != self.manifest["terms"] + 1:
                raise DataError(f"the number of posting lists of the field {field!r} differs from the number of terms")
        if self.documents < 1 or {size[name] for name in of_documents} != {self.documents}:
            raise DataError("the number of documents differs from the manifest")
        if {size["terms.lengths"], size["terms.order"]} != {self.manifest["terms"]}:
            raise DataError("the number of terms differs from the manifest")

    @cached_property
    def ids(self) -> StringColumn:
        """The ids of the documents, by number."""
        return self._strings("ids")

    @cached_property
    def urls(self) -> StringColumn:
        """The URLs of the documents; empty for a document without URL."""
        return self._strings("urls")

    @cached_property
    def vocabulary(self) -> StringColumn:
        """The terms of all fields, by number."""
        return self._strings("terms")

    def _strings(self, name: str) -> StringColumn:
        offsets = self._arrays.offsets(f"{name}.lengths")
        lengths, content = self._arrays.as_type(f"{name}.lengths", np.int32), self._arrays[f"{name}.bytes"]
        if (lengths.min(initial=0) < 0) or offsets[-1] != len(content):
            raise DataError(f"the index is damaged: {name}.lengths does not match {name}.bytes", self.path)
        return StringColumn(content, offsets[:-1], lengths)

    @cached_property
    def _numbers_by_id(self) -> U32:
        """The numbers of the documents in the order of their ids."""
        ranks, order = self.id_ranks, np.full(self.documents, kernel.UNKNOWN_TERM, np.uint32)
        if ranks.max() < self.documents:
            order[ranks] = np.arange(self.documents, dtype=np.uint32)
        if order.max() == kernel.UNKNOWN_TERM:
            raise DataError("the index is damaged: ids.ranks is not a permutation", self.path)
        return order

    def _native(self, field: str, terms: U32) -> kernel.Stream:
        """Return a field for the kernels, with the postings of these terms verified."""
        field = self.resolve_field(field)
        union = self.manifest["streams"][field]["rest_of"]
        if union is not None:
            members = [name for name in self.manifest["streams"][union]["union"] if name != field]
            return self._difference(field, self._native(union, terms), [self._native(name, terms) for name in members])
        starts = self._arrays.as_type(self._file(field, "starts"), np.int64)
        postings = self._arrays.column(self._file(field, "postings"))
        if field not in self._opened:
            with FORMAT.wrap_errors(self.path):
                lengths, average = self.lengths(field), self.average_length(field)
                self._opened[field] = kernel.open_stream(starts, postings.raw, lengths, average=average)
        known_terms = terms[terms != kernel.UNKNOWN_TERM].astype(np.int64)
        postings.check_ranges(starts[known_terms], starts[known_terms + 1])
        return self._opened[field]

    def _difference(self, field: str, union: kernel.Stream, members: list[kernel.Stream]) -> kernel.Stream:
        """Open the field whose postings are those of a combined field less the other members."""
        if field not in self._opened:
            with FORMAT.wrap_errors(self.path):
                lengths, average = self.lengths(field), self.average_length(field)
                self._opened[field] = kernel.open_remainder(union, members, lengths, average=average)
        return self._opened[field]

    def resolve_field(self, name: str) -> str:
        """Return the field that a name means: with only one field, "whole" is that field.

        Parameters
        ----------
        name : str
            Name of a field, or "whole".
        """
        field = resolve_field(name, self.fields)
        if field not in self._number:
            raise UnknownName("field", name, self.fields)
        return field

    def _file(self, field: str, name: str) -> str:
        return f"{self._number[self.resolve_field(field)]}.{name}"

    def __len__(self) -> int:
        return self.documents

    def __repr__(self) -> str:
        terms = self.manifest["terms"]
        return f"Index({self.name!r}: {self.documents:,} documents, {terms:,} terms; {', '.join(self.fields)})"

    @property
    def id_ranks(self) -> NDArray[Any]:
        """The rank of each document when all are sorted by id, which breaks ties between scores."""
        return self._arrays.as_type("ids.ranks", np.uint32)

    def texts(self, number: int) -> dict[str, str] | None:
        """Return the text of each field of a document; None if the index stores no texts.

        Parameters
        ----------
        number : int
            Number of the document.
        """
        self._check_numbers([number])
        return None if self._stored is None else self._stored.of(number)

    def bytes(self) -> tuple[int, int]:
        """Return the size on disk, and the size of the texts stored beside it."""
        sizes = [sum(record["bytes"] for record in self.manifest[part].values()) for part in ("files", "texts")]
        return sizes[0], sizes[1]

    def analyse(self, text: str) -> list[str]:
        """Return the words of a text, analysed like the documents.

        Parameters
        ----------
        text : str
            Text of a query or document.
        """
        return self.analysis.analyse(text)

    def analyse_many(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the words of each of several texts, faster than one by one.

        Parameters
        ----------
        texts : iterable of str
            Texts of queries or documents.
        """
        return self.analysis.analyse_many(texts)

    def numbers(self, ids: Sequence[str]) -> Ints:
        """Return the document numbers of ids, -1 for unknown ids.

        Parameters
        ----------
        ids : sequence of str
            Document ids.
        """
        return self._find(self.ids, self._numbers_by_id, ids)

    def lengths(self, field: str) -> U32:
        """Return the number of tokens of the field in every document.

        Parameters
        ----------
        field : str
            Name of a text field.
        """
        return self._arrays.as_type(self._file(field, "lengths"), np.uint32)

    def uniques(self, field: str) -> U32:
        """Return the number of distinct terms of the field in every document.

        Parameters
        ----------
        field : str
            Name of a text field.
        """
        return self._arrays.as_type(self._file(field, "uniques"), np.uint32)

    def numbers_of(self, field: str) -> Floats:
        """Return the value of a numeric field in every document, NaN where it is missing.

        Parameters
        ----------
        field : str
            Name of a numeric field.
        """
        if field not in self.numeric_fields:
            raise UnknownName("numeric field", field, self.numeric_fields)
        return self._arrays.as_type(f"numbers.{list(self.numeric_fields).index(field)}", np.float64)

    def _numeric_field(self, field: str, values: Floats) -> NumericField:
        largest = float(np.fmax.reduce(self.numbers_of(field)))
        return NumericField(self.numeric_fields[field], values, largest)

    def total_terms(self, field: str) -> int:
        """Return the number of tokens of the field over all documents.

        Parameters
        ----------
        field : str
            Name of a text field.
        """
        return int(self.manifest["streams"][self.resolve_field(field)]["total"])

    def average_length(self, field: str) -> float:
        """Return the mean number of tokens of the field over all documents, empty ones included.

        Parameters
        ----------
        field : str
            Name of a text field.
        """
        return self.total_terms(field) / self.documents

    def vocabulary_size(self, field: str) -> int:
        """Return the number of distinct terms of the field.

        Parameters
        ----------
        field : str
            Name of a text field.
        """
        return int(self.manifest["streams"][self.resolve_field(field)]["terms"])

    def term_numbers(self, words: Sequence[str]) -> U32:
        """Return the numbers of words, `kernels.index.UNKNOWN_TERM` for a word of no document.

        Parameters
        ----------
        words : sequence of str
            Analysed words.
        """
        order = self._arrays.as_type("terms.order", np.uint32)
        return self._find(self.vocabulary, order, words).astype(np.uint32)

    @staticmethod
    def _find(names: StringColumn, order: U32, targets: Sequence[str]) -> Ints:
        return kernel.find_numbers(kernel.Names(names.buffer, names.starts, names.lengths, order), list(targets))

    def postings(self, field: str, word: str) -> tuple[Ints, Floats]:
        """Return the documents whose field contains a word, ascending, and its frequency in each.

        Parameters
        ----------
        field : str
            Name of a text field.
        word : str
            Analysed word.
        """
        terms = self.term_numbers([word])
        return kernel.read_postings(self._native(field, terms), int(terms[0]))

    def term_statistics(self, field: str, words: Sequence[str]) -> tuple[Floats, Floats]:
        """Return document frequency and collection frequency of each word in the field.

        Parameters
        ----------
        field : str
            Name of a text field.
        words : sequence of str
            Analysed words.
        """
        terms = self.term_numbers(words)
        return kernel.count_terms(self._native(field, terms), terms)

    def search_terms(
        self, words: Sequence[str], n: int, *, field: str, k1: float = K1, b: float = B
    ) -> tuple[Ints, Floats]:
        """Return the n documents with the highest BM25 and their scores, best first, ties by id.

        Parameters
        ----------
        words : sequence of str
            Analysed words of the query.
        n : int
            Number of documents.
        field : str
            Name of a text field.
        k1 : float, default 2.5
            Saturation of term frequencies in BM25.
        b : float, default 0.8
            Strength of the length normalisation in BM25, from 0 to 1.
        """
        return self.search_many([words], n, field=field, k1=k1, b=b)[0]

    def search_many(
        self, queries: Sequence[Sequence[str]], n: int, *, field: str, k1: float = K1, b: float = B
    ) -> list[tuple[Ints, Floats]]:
        """Return the results of `search_terms` for several queries, computed on all threads.

        Parameters
        ----------
        queries : Sequence[sequence of str]
            Analysed words of each query.
        n : int
            Number of documents per query.
        field : str
            Name of a text field.
        k1 : float, default 2.5
            Saturation of term frequencies in BM25.
        b : float, default 0.8
            Strength of the length normalisation in BM25, from 0 to 1.
        """
        self._check_parameters(field, k1, b)
        if n < 0:
            raise DataError(f"the number of documents must be at least 0, got {n}")
        distinct = [tuple(dict.fromkeys(words)) for words in queries]
        terms = self.term_numbers([word for words in distinct for word in words])
        offsets = np.cumsum([0, *map(len, distinct)])
        return kernel.search(self._native(field, terms), terms, offsets, n, k1, b, self.id_ranks)

    def bm25(self, words: Sequence[str], *, field: str, k1: float = K1, b: float = B) -> Floats:
        """Return BM25 of every document, Σ over distinct words of idf·c(k1+1)/(c + k1(1−b+b|d|/average)).

        Parameters
        ----------
        words : sequence of str
            Analysed words of the query.
        field : str
            Name of a text field.
        k1 : float, default 2.5
            Saturation of term frequencies.
        b : float, default 0.8
            Strength of the length normalisation, from 0 to 1.
        """
        self._check_parameters(field, k1, b)
        terms = self.term_numbers(tuple(dict.fromkeys(words)))
        return kernel.score_bm25(self._native(field, terms), terms, self.documents, k1, b)

    def _check_parameters(self, field: str, k1: float, b: float) -> None:
        if not (0 <= k1 < float("inf") and 0 <= b <= 1):
            raise DataError(f"BM25 needs k1 of at least 0 and b from 0 to 1, not k1 = {k1:g} and b = {b:g}")
        self.resolve_field(field)

    def tokens(self, field: str, numbers: Sequence[int] | Ints) -> tuple[Ints, NDArray[np.int32]]:
        """Return the terms of some documents in order: offsets of the documents, and term numbers.

        Parameters
        ----------
        field : str
            Name of a text field.
        numbers : sequence of int or ndarray of int64
            Numbers of the documents.
        """
        numbers = self._check_numbers(numbers)
        field = self.resolve_field(field)
        members = self.manifest["streams"][field]["union"]
        parts = [self._read_tokens(member, numbers) for member in (members if members is not None else [field])]
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

    def _read_tokens(self, field: str, numbers: Ints) -> tuple[Ints, NDArray[np.int32]]:
        starts = self._arrays.offsets(self._file(field, "sizes"))
        tokens = self._arrays.column(self._file(field, "tokens"))
        begins, ends = starts[numbers], starts[numbers + 1]
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(self.lengths(field)[numbers], dtype=np.int64, out=offsets[1:])
        tokens.check_ranges(begins, ends)
        common = self._arrays.as_type("terms.common", np.uint32)
        if offsets[-1] > ends.sum() - begins.sum():
            raise DataError("the index is damaged: tokens are missing", self.path)
        return offsets, kernel.unpack_tokens(tokens.raw, begins, ends, offsets, common, self.manifest["terms"])

    def _check_numbers(self, numbers: Sequence[int] | Ints) -> Ints:
        numbers = np.asarray(numbers, np.int64)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.documents:
            raise DataError(f"document numbers of {self.name} are from 0 to {self.documents - 1:,}")
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
        """Return the term statistics of a query in these documents, for every field.

        Parameters
        ----------
        query : Query
            The query.
        numbers : sequence of int or ndarray of int64
            Numbers of the documents.
        labels : sequence of int or ndarray of int32
            One label per document.
        words : sequence of str, optional
            Analysed words; by default those of the query's text.
        web : LinkIndex, optional
            Link index, for features of links.
        dense : Vectors, optional
            Vectors of the documents, for dense features.
        """
        numbers = self._check_numbers(numbers)
        query_terms = tuple(self.analyse(query.text) if words is None else words)
        distinct = {word: row for row, word in enumerate(dict.fromkeys(query_terms))}
        rows = np.array([distinct[word] for word in query_terms], np.int64)
        terms = self.term_numbers(tuple(distinct))
        order = np.argsort(numbers, kind="stable")
        original = np.empty_like(order)
        original[order] = np.arange(len(order))
        native = [self._native(field, terms) for field in self.fields]
        counts = kernel.count_words(native, terms, numbers[order])
        fields = {
            field: self._counts(field, native[s], terms, rows, counts[s][np.ix_(rows, original)], numbers)
            for s, field in enumerate(self.fields)
        }
        numeric_fields = {
            field: self._numeric_field(field, self.numbers_of(field)[numbers]) for field in self.numeric_fields
        }
        return Candidates(
            query, query_terms, self.ids.take(numbers), np.asarray(labels, np.int32), fields, numbers, self, web, dense,
            numeric_fields,
        )  # fmt: skip

    def unindexed_candidates(self, query: Query, documents: Sequence[Document]) -> Candidates:
        """Return the term statistics of a query in documents outside the index; df, cf and mean lengths are its own.

        Parameters
        ----------
        query : Query
            The query.
        documents : sequence of Document
            Documents to describe.
        """
        query_terms = tuple(self.analyse(query.text))
        distinct = {word: row for row, word in enumerate(dict.fromkeys(query_terms))}
        rows = np.array([distinct[word] for word in query_terms], np.int64)
        terms_of: list[dict[str, list[str]]] = []
        for document in documents:
            known_fields = {*self.fields, *self.numeric_fields}
            if unknown := (document.fields.keys() - set(self.fields)) | (document.numbers.keys() - known_fields):
                raise DataError(f"document {document.id} has the field {min(unknown)!r}, {self.name} does not")
            terms_of.append({field: self.analyse(document.fields.get(field, "")) for field in self.fields})
        fields = {}
        for field in self.fields:
            members = self.manifest["streams"][field]["union"] or [field]
            texts = [[term for member in members for term in of_document[member]] for of_document in terms_of]
            counts = [Counter(text) for text in texts]
            tf = [[count[word] for count in counts] for word in query_terms]
            df, cf = self.term_statistics(field, tuple(distinct))
            fields[field] = FieldStatistics(
                documents=self.documents,
                total=self.total_terms(field),
                average=float(f"{self.average_length(field):.6g}"),
                df=df[rows],
                cf=cf[rows],
                tf=np.array(tf, np.float64).reshape(len(query_terms), len(texts)),
                length=np.array([len(text) for text in texts], np.float64),
                unique=np.array([len(count) for count in counts], np.float64),
                positions=partial(_positions_in, texts, distinct),
            )
        numeric_fields = {
            field: self._numeric_field(field, np.array([d.numbers.get(field, np.nan) for d in documents], np.float64))
            for field in self.numeric_fields
        }
        ids = StringColumn.of(document.id for document in documents)
        labels = np.zeros(len(documents), np.int32)
        return Candidates(query, query_terms, ids, labels, fields, numeric_fields=numeric_fields)

    def _counts(
        self, field: str, native: kernel.Stream, terms: U32, rows: Ints, tf: Floats, numbers: Ints
    ) -> FieldStatistics:
        df, cf = kernel.count_terms(native, terms)
        return FieldStatistics(
            documents=self.documents,
            total=self.total_terms(field),
            average=float(f"{self.average_length(field):.6g}"),
            df=df[rows],
            cf=cf[rows],
            tf=tf,
            length=self.lengths(field)[numbers].astype(np.float64),
            unique=self.uniques(field)[numbers].astype(np.float64),
            positions=lambda: self._positions(field, terms, numbers),
        )

    def _positions(self, field: str, terms: U32, numbers: Ints) -> Positions:
        """Return the positions of a query's distinct words in the documents."""
        offsets, tokens = self.tokens(field, numbers)
        known_rows = np.flatnonzero(terms != kernel.UNKNOWN_TERM)
        by_term = known_rows[np.argsort(terms[known_rows])]
        sorted_terms = terms[by_term].astype(np.int32)
        hits = np.flatnonzero(np.isin(tokens, sorted_terms))
        document = np.searchsorted(offsets, hits, "right") - 1
        word = by_term[np.searchsorted(sorted_terms, tokens[hits])]
        begins = np.searchsorted(hits, offsets)
        return Positions(begins.astype(np.int64), hits - offsets[document], word)


def _positions_in(texts: Sequence[Sequence[str]], distinct: Mapping[str, int]) -> Positions:
    """Return the positions of a query's distinct words in analysed texts."""
    entries = [[(i, distinct[term]) for i, term in enumerate(text) if term in distinct] for text in texts]
    offsets = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    flat = np.array([entry for of_text in entries for entry in of_text], np.int64).reshape(-1, 2)
    return Positions(offsets, flat[:, 0], flat[:, 1])


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return the concatenated ranges of `sizes` integers from each start.

    >>> _ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
