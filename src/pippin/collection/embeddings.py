"""Vectors of a collection's passages, stored once: dense features, nearest documents, and runs fused with BM25's.

A document is cut into passages of so many words; its own vector is the mean of theirs. Queries are found exact
neighbours: all documents are looked at. What is stored is mapped, sealed, and bound to its index and its model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import WHOLE, Query
from pippin.collection.encoder import F32, Encoder
from pippin.collection.index import Index
from pippin.collection.retrieval import Found
from pippin.errors import DataError
from pippin.files import write_new
from pippin.manifest import Format, Manifest
from pippin.progress import Bar

F64 = NDArray[np.float64]
Ints = NDArray[np.int64]
FORMAT = Format("pippin embeddings", 1, "folder of embeddings", "make it again with `embed`", "embeddings.json")
VECTORS = "dense"  # the folder of vectors beside the index that `build` keeps
RRF = 60  # Cormack's constant
DEPTH = 1000  # ranks that count in the fused score of a document
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

    def about(self) -> dict[str, object]:
        """What a manifest tells of them: the model's digest, and how documents were cut."""
        return {key: self.manifest.record[key] for key in ("model", "size", "words", "most", "streams")}

    def queries(self, queries: Sequence[Query]) -> F64:
        """[q, size] the vectors of queries."""
        return self.encoder.encode([query.text for query in queries]).astype(np.float64)

    def table(self, query: Query, words: Sequence[str], numbers: Ints) -> F64:
        """[d, 4] the features of the set `dense` for some documents; `words` is the query as BM25 sees it.

        Cosine and dot product with the query, the best cosine of a passage, and the fused score of BM25's best and of
        the nearest documents of the whole collection.
        """
        vector = self.queries([query])[0]
        nearest = self._nearest(vector, DEPTH)[0]
        best = self.index.top(words, DEPTH, stream=self.index.stream(WHOLE))[0]
        worth = reciprocal_ranks(best.tolist(), nearest.tolist())
        fused = [worth.get(number, 0.0) for number in numbers.tolist()]
        return np.column_stack((self.features(vector, numbers), fused))

    def features(self, query: F64, numbers: Ints) -> F64:
        """[d, 3] of some documents: cosine and dot product with a vector, and the best cosine of a passage."""
        found = np.zeros((len(numbers), 3))
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

    @cached_property
    def _lengths(self) -> F64:
        """[p] of all passages' vectors."""
        lengths: F64 = np.maximum(np.sqrt((np.asarray(self.passages, np.float64) ** 2).sum(axis=1)), 1e-12)
        return lengths

    def _nearest(self, vector: F64, top: int) -> tuple[Ints, F64]:
        """The documents whose best passage is nearest to a vector by cosine, all looked at; ties by id."""
        there = np.flatnonzero(np.diff(self.starts) > 0)
        cosines = self.passages @ vector / self._lengths / max(float(np.sqrt(vector @ vector)), 1e-12)
        best = np.maximum.reduceat(cosines, self.starts[:-1][there]) if len(there) else np.empty(0)
        order = np.lexsort((self.index.id_ranks[there], -best))[:top]
        return there[order], best[order]

    def search(self, queries: Sequence[Query], *, top: int = 1000) -> Found:
        """The nearest documents of each query as a search gives them."""
        if top < 1:
            raise DataError(f"at least one document is looked for, not {top}")
        nearest = [self._nearest(vector, top) for vector in self.queries(queries)]
        words = tuple(tuple(self.index.analyse(query.text)) for query in queries)
        numbers, scores = tuple(one[0] for one in nearest), tuple(one[1] for one in nearest)
        return Found(self.index, tuple(queries), words, numbers, scores, "dense")


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
        worth = reciprocal_ranks(*(one.numbers[query].tolist() for one in founds), k=k)
        found, values = np.array(list(worth), np.int64), np.array(list(worth.values()))
        order = np.lexsort((index.id_ranks[found], -values))[:top]
        numbers.append(found[order])
        scores.append(values[order])
    return replace(founds[0], numbers=tuple(numbers), scores=tuple(scores), name="rrf")


def reciprocal_ranks(*lists: Sequence[int], k: int = RRF) -> dict[int, float]:
    """Σ 1 / (k + rank) of each document over the lists that have it.

    >>> reciprocal_ranks([7, 8], [8], k=1)
    {7: 0.5, 8: 0.8333333333333333}
    """
    worth: dict[int, float] = {}
    for one in lists:
        for rank, number in enumerate(one, 1):
            worth[number] = worth.get(number, 0.0) + 1 / (k + rank)
    return worth


def meant(streams: Sequence[str]) -> list[str]:
    """The streams that say what a document means, its title first; urls, anchors and copies do not.

    >>> meant(["body", "anchor", "title", "url", "whole", "extracted_title"])
    ['title', 'body']
    """
    apart = {"title", "anchor", "url", "headings", "extracted_title", WHOLE}
    return [*(["title"] if "title" in streams else []), *(name for name in streams if name not in apart)]
