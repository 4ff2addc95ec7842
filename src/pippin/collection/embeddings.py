"""Vectors of a collection's passages, stored once: dense features, nearest documents, and runs fused with BM25's.

A document is cut into passages of so many words; its own vector is the mean of theirs. Queries are found exact
neighbours: all documents are looked at. What is stored is mapped, sealed, and bound to its index and its model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import Query
from pippin.collection.encoder import F32, Encoder
from pippin.collection.index import Index
from pippin.collection.retrieval import Found
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.files import write_new
from pippin.manifest import Format, Manifest
from pippin.progress import Bar

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]
FORMAT = Format("pippin embeddings", 1, "folder of embeddings", "make it again with `embed`", "embeddings.json")
NAMES = ("dense_cosine", "dense_dot", "dense_passage")
RRF = 60  # Cormack's constant
_DOCUMENTS = 256  # encoded at a time


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The stored vectors of an index's documents."""

    index: Index
    encoder: Encoder
    manifest: Manifest

    @cached_property
    def passages(self) -> F32:
        """[p, size] the vectors of all passages, mapped."""
        return np.ndarray((int(self.starts[-1]), self.encoder.size), "<f4", self.manifest.open("passages.bin").whole())

    @cached_property
    def starts(self) -> Ints:
        """[n + 1] where the passages of each document begin."""
        return np.frombuffer(self.manifest.open("starts.bin").whole(), "<i8")

    @cached_property
    def documents(self) -> F64:
        """[n, size] the mean of each document's passages; 0 where it has no text."""
        sizes, found = np.diff(self.starts), np.zeros((len(self.starts) - 1, self.encoder.size))
        some = sizes > 0
        if some.any():
            sums = np.add.reduceat(np.asarray(self.passages, np.float64), self.starts[:-1][some], axis=0)
            found[some] = sums / sizes[some, None]
        return found

    def queries(self, queries: Sequence[Query]) -> F64:
        """[q, size] the vectors of queries."""
        return self.encoder.encode([query.text for query in queries]).astype(np.float64)

    def features(self, query: F64, numbers: Ints) -> F64:
        """[d, 3] of some documents: cosine and dot product with the query, and the best cosine of a passage."""
        found = np.zeros((len(numbers), len(NAMES)))
        length = np.sqrt(query @ query)
        for row, number in enumerate(numbers.tolist()):
            document = self.documents[number]
            passages = np.asarray(self.passages[self.starts[number] : self.starts[number + 1]], np.float64)
            if len(passages):
                dot = float(document @ query)
                cosines = passages @ query / np.maximum(np.sqrt((passages**2).sum(axis=1)) * length, 1e-12)
                own = max(float(np.sqrt(document @ document) * length), 1e-12)
                found[row] = dot / own, dot, cosines.max()
        return found

    def search(self, queries: Sequence[Query], *, top: int = 1000) -> Found:
        """The documents whose best passage is nearest to each query by cosine, all looked at; ties by id."""
        if top < 1:
            raise DataError(f"at least one document is looked for, not {top}")
        lengths = np.maximum(np.sqrt((np.asarray(self.passages, np.float64) ** 2).sum(axis=1)), 1e-12)
        there = np.flatnonzero(np.diff(self.starts) > 0)
        numbers, scores = [], []
        for vector in self.queries(queries):
            cosines = self.passages @ vector / lengths / max(float(np.sqrt(vector @ vector)), 1e-12)
            best = np.maximum.reduceat(cosines, self.starts[:-1][there]) if len(there) else np.empty(0)
            order = np.lexsort((self.index.id_ranks[there], -best))[:top]
            numbers.append(there[order])
            scores.append(best[order])
        words = tuple(tuple(self.index.analyse(query.text)) for query in queries)
        return Found(self.index, tuple(queries), words, tuple(numbers), tuple(scores), "dense")


def embed(
    index: Index, encoder: Encoder, path: str | os.PathLike[str], *, words: int = 150, most: int = 8,
    streams: Sequence[str] | None = None, verbose: bool = False,
) -> Embeddings:  # fmt: skip
    """Store the vectors of an index's documents in a folder: passages of so many words, at most so many of each.

    What is there already for the same index, model and passages is opened and not made again.
    """
    if words < 1 or most < 1:
        raise DataError("a passage has one word at least, and a document one passage")
    record = {"index": index.digest, "model": encoder.digest, "size": encoder.size, "words": words, "most": most,
              "streams": None if streams is None else list(streams)}  # fmt: skip
    if FORMAT.is_at(path):
        manifest = FORMAT.read(path)
        if all(manifest.record.get(key) == value for key, value in record.items()):
            return open_embeddings(path, index, encoder)
    starts, bar = [0], Bar(index.documents, "embedding") if verbose else None
    with FORMAT.new_folder(path) as folder:
        with (folder / "passages.bin").open("xb") as file:
            for part in _batches(index, words, most, streams):
                flat = [passage for passages in part for passage in passages]
                if flat:
                    file.write(encoder.encode(flat).astype("<f4").tobytes())
                starts += (starts[-1] + np.cumsum([len(passages) for passages in part])).tolist()
                if bar is not None:
                    for _ in part:
                        bar.step()
        write_new(folder / "starts.bin", np.array(starts, "<i8").tobytes())
        FORMAT.write(folder, record)
    if bar is not None:
        bar.close()
    return open_embeddings(path, index, encoder)


def open_embeddings(path: str | os.PathLike[str], index: Index, encoder: Encoder) -> Embeddings:
    """Open stored vectors; those of another index or another model are refused."""
    manifest = FORMAT.read(path)
    with FORMAT.described(path):
        for key, wanted, noun in (("index", index.digest, "index"), ("model", encoder.digest, "model")):
            if manifest[key] != wanted:
                raise DataError(f"these embeddings are of another {noun}", path)
        opened = Embeddings(index, encoder, manifest)
        if len(opened.starts) != index.documents + 1 or opened.passages.shape[1] != manifest["size"]:
            raise DataError("they are of other documents", path)
        return opened


def _batches(index: Index, words: int, most: int, streams: Sequence[str] | None) -> Iterator[list[list[str]]]:
    """The passages of documents, some documents at a time."""
    for first in range(0, index.documents, _DOCUMENTS):
        part = []
        for number in range(first, min(index.documents, first + _DOCUMENTS)):
            texts = index.texts(number)
            if texts is None:
                raise DataError(f"{index.name} was indexed without its documents' texts, which are to be embedded")
            chosen = texts if streams is None else {name: texts.get(name, "") for name in streams}
            part.append(passages_of(" ".join(chosen.values()), words, most))
        yield part


def passages_of(text: str, words: int, most: int) -> list[str]:
    """A text in pieces of so many words, at most so many; none where there is no word.

    >>> passages_of("a b c d e", 2, 2)
    ['a b', 'c d']
    """
    found = text.split()
    return [" ".join(found[i : i + words]) for i in range(0, len(found), words)][:most]


def fuse(*founds: Found, k: int = RRF, top: int = 1000) -> Found:
    """Reciprocal-rank fusion of what several searches found for the same queries: Σ 1 / (k + rank); ties by id.

    Cormack, Clarke & Büttcher 2009. With all documents of each it is their union, too.
    """
    if not founds or any(one.queries != founds[0].queries or one.index is not founds[0].index for one in founds):
        raise DataError("searches of the same queries in the same index are fused")
    index, numbers, scores = founds[0].index, [], []
    for query in range(len(founds[0].queries)):
        worth: dict[int, float] = {}
        for one in founds:
            for rank, number in enumerate(one.numbers[query].tolist(), 1):
                worth[number] = worth.get(number, 0.0) + 1 / (k + rank)
        found, values = np.array(list(worth), np.int64), np.array(list(worth.values()))
        order = np.lexsort((index.id_ranks[found], -values))[:top]
        numbers.append(found[order])
        scores.append(values[order])
    return replace(founds[0], numbers=tuple(numbers), scores=tuple(scores), name="rrf")


def with_dense(data: Dataset, embeddings: Embeddings, queries: Sequence[Query], fused: Found | None = None) -> Dataset:
    """A data set of an index's documents with the dense features behind its own, and a fused score where one is given.

    The data set knows its documents by their ids; a document that was not found by the fused searches has 0 there.
    """
    if data.document_ids is None:
        raise DataError(f"{data.name} does not know its documents' ids, by which vectors are found")
    known = {query.id: query for query in queries}
    lacking = [name for name in data.query_ids if name not in known]
    if lacking:
        raise DataError(f"the text of query {lacking[0]} of {data.name} is not given")
    asked = [known[name] for name in data.query_ids]
    numbers = embeddings.index.numbers(list(data.document_ids))
    if (numbers < 0).any():
        raise DataError(f"a document of {data.name} is not in {embeddings.index.name}")
    places = {} if fused is None else {query.id: i for i, query in enumerate(fused.queries)}
    columns = np.zeros((len(data), len(NAMES) + (fused is not None)))
    for i, vector in enumerate(embeddings.queries(asked)):
        rows = slice(int(data.offsets[i]), int(data.offsets[i + 1]))
        columns[rows, : len(NAMES)] = embeddings.features(vector, numbers[rows])
        if fused is not None:
            at = places[asked[i].id]
            worth = dict(zip(fused.numbers[at].tolist(), fused.scores[at].tolist(), strict=True))
            columns[rows, -1] = [worth.get(number, 0.0) for number in numbers[rows].tolist()]
    names = (*data.feature_names, *NAMES, *(() if fused is None else ("rrf",)))
    table: Any = np.concatenate((np.asarray(data.features, np.float64), columns), axis=1)
    return replace(data, features=table, feature_names=names, lines=None)
