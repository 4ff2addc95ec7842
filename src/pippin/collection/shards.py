"""Several indexes as one: the documents of a collection in shards, each with an index of its own.

What is asked of an index while a data set is built is asked of the shards, and what they say is put together: counts of
the collection are sums, the documents of a shard are numbered on from those before it. BM25 is worked out with the
counts of the whole collection, word by word as the kernels do it, so that every score, every order and every feature
has the same bits as with one index of all documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.collection.candidates import Candidates, Floats, Ints, Positions, StreamCounts, Vectors
from pippin.collection.collection import Query, only_stream
from pippin.collection.index import K1, B, Index, open_index
from pippin.data.texts import Texts
from pippin.kernels import index as kernel
from pippin.manifest import read_sealed, seal

FILE = "shards.json"


class Word(NamedTuple):
    """A word that the collection has: its documents and counts in every shard, its weight, and what it adds at most."""

    postings: list[tuple[Ints, Floats]]
    weight: float
    bound: float


class Shards:
    """The indexes of all shards, in the order of the documents."""

    def __init__(self, parts: Sequence[Index], terms: Mapping[str, int]) -> None:
        first = parts[0]
        self.parts, self._terms = tuple(parts), dict(terms)
        self.name, self.streams, self.descriptions = first.name, first.streams, first.descriptions
        self.starts: Ints = np.concatenate(([0], np.cumsum([part.documents for part in parts]))).astype(np.int64)
        self.documents = int(self.starts[-1])
        self._lengths: dict[str, NDArray[np.uint32]] = {}

    @classmethod
    def open(cls, folder: Path) -> Shards:
        """The shards of a folder that `save_shards` finished."""
        record = read_sealed(folder / FILE)
        return cls([open_index(folder / name) for name in record["shards"]], record["terms"])

    @cached_property
    def ids(self) -> Texts:
        """The names of all documents."""
        return Texts.of(name for part in self.parts for name in part.ids)

    @cached_property
    def id_ranks(self) -> NDArray[np.uint32]:
        """The place of each document when all are sorted by id, which decides between equal scores."""
        numbering = kernel.Numbering()
        for part in self.parts:
            numbering.add(list(part.ids))
        order = kernel.names_of(numbering).order
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order), dtype=order.dtype)
        return ranks

    def analyse(self, text: str) -> list[str]:
        """The words of a text, as the documents were analysed."""
        return self.parts[0].analyse(text)

    def stream(self, name: str) -> str:
        """The stream that a name means."""
        return self.parts[0].stream(only_stream(name, self.streams))

    def numbers(self, ids: Sequence[str]) -> Ints:
        """The document numbers of ids, -1 where there is no such document."""
        found = np.full(len(ids), -1, np.int64)
        for part, start in zip(self.parts, self.starts.tolist(), strict=False):
            here = part.numbers(ids)
            found[here >= 0] = here[here >= 0] + start
        return found

    def lengths(self, stream: str) -> NDArray[np.uint32]:
        """Tokens of the stream per document."""
        if stream not in self._lengths:
            self._lengths[stream] = np.concatenate([part.lengths(stream) for part in self.parts])
        return self._lengths[stream]

    def total(self, stream: str) -> int:
        """Tokens of the stream over all documents."""
        return sum(part.total(stream) for part in self.parts)

    def average(self, stream: str) -> float:
        """Mean tokens of the stream over all documents."""
        return self.total(stream) / self.documents

    def terms(self, stream: str) -> int:
        """How many distinct terms the stream has."""
        return self._terms[self.stream(stream)]

    def frequencies(self, stream: str, words: Sequence[str]) -> tuple[Floats, Floats]:
        """How many documents hold each word in the stream, and how often it occurs there in all."""
        parts = [part.frequencies(stream, words) for part in self.parts]
        return np.sum([df for df, _ in parts], axis=0), np.sum([cf for _, cf in parts], axis=0)

    def postings(self, stream: str, word: str) -> tuple[Ints, Floats]:
        """The numbers of the documents whose stream holds a word, ascending, and how often."""
        found = [part.postings(stream, word) for part in self.parts]
        numbers = [here + start for (here, _), start in zip(found, self.starts.tolist(), strict=False)]
        return np.concatenate(numbers), np.concatenate([counts for _, counts in found])

    def top(self, words: Sequence[str], n: int, *, stream: str, k1: float = K1, b: float = B) -> tuple[Ints, Floats]:
        """The n documents with the highest BM25 over all shards: numbers and scores, ties by id."""
        stream = self.stream(stream)
        average = self.average(stream)
        fixed, slope = k1 * (1 - b), k1 * b / average if average > 0 else 0.0
        known = self._words(stream, words, k1, fixed, slope)
        best = [
            _best(part, stream, [(word.weight, *word.postings[s]) for word in known], n, fixed, slope)
            for s, part in enumerate(self.parts)
        ]
        numbers = np.concatenate([here + start for (here, _), start in zip(best, self.starts.tolist(), strict=False)])
        scores = np.concatenate([of for _, of in best])
        order = np.lexsort((self.id_ranks[numbers], -scores))[:n]
        return numbers[order], scores[order]

    def _words(self, stream: str, words: Sequence[str], k1: float, fixed: float, slope: float) -> list[Word]:
        """The words that the collection has, those first that can add most: the order in which kernels add."""
        found = []
        for text in dict.fromkeys(words):
            postings = [part.postings(stream, text) for part in self.parts]
            df = float(sum(len(numbers) for numbers, _ in postings))
            if df:
                weight = math.log((self.documents - df + 0.5) / (df + 0.5)) * (k1 + 1)
                there = [s for s, (numbers, _) in enumerate(postings) if len(numbers)]
                most = max(float(postings[s][1].max()) for s in there)
                shortest = min(float(self.parts[s].lengths(stream)[postings[s][0]].min()) for s in there)
                bound = max(0.0, weight * most / (most + (fixed + slope * shortest)))
                found.append(Word(postings, weight, bound))
        return sorted(found, key=lambda word: -word.bound)

    def candidates(
        self, query: Query, numbers: Sequence[int] | Ints, labels: Sequence[int] | NDArray[np.int32], *,
        words: Sequence[str] | None = None, web: object = None, dense: Vectors | None = None,
    ) -> Candidates:  # fmt: skip
        """The counts of a query's words in these documents, for every stream."""
        rows = np.asarray(numbers, np.int64)
        said = tuple(self.analyse(query.text) if words is None else words)
        shard = np.searchsorted(self.starts, rows, "right") - 1
        places = [np.flatnonzero(shard == s) for s in range(len(self.parts))]
        found = [
            part.candidates(query, rows[place] - start, np.zeros(len(place), np.int32), words=said)
            for part, start, place in zip(self.parts, self.starts.tolist(), places, strict=False)
        ]
        streams = {
            stream: self._counts(stream, [one.streams[stream] for one in found], places) for stream in self.streams
        }
        ids = tuple(self.ids.take(rows))
        return Candidates(query, said, ids, np.asarray(labels, np.int32), streams, rows, self, web, dense)

    def _counts(self, stream: str, parts: Sequence[StreamCounts], places: Sequence[Ints]) -> StreamCounts:
        """The counts of all shards; those of the collection are sums."""
        order = np.argsort(np.concatenate(places), kind="stable")
        return StreamCounts(
            documents=self.documents,
            total=self.total(stream),
            average=float(f"{self.average(stream):.6g}"),
            df=np.sum([part.df for part in parts], axis=0),
            cf=np.sum([part.cf for part in parts], axis=0),
            tf=np.ascontiguousarray(np.concatenate([part.tf for part in parts], axis=1)[:, order]),
            length=np.concatenate([part.length for part in parts])[order],
            unique=np.concatenate([part.unique for part in parts])[order],
            positions=_positions([part.positions for part in parts if part.positions is not None], order),
        )


def _positions(parts: Sequence[Callable[[], Positions]], order: Ints) -> Callable[[], Positions]:
    """Where words stand in the candidates of all shards, in the candidates' own order."""

    def joined() -> Positions:
        found = [part() for part in parts]
        sizes = np.concatenate([np.diff(one.offsets) for one in found])[order]
        ends = np.cumsum([0, *(len(one.position) for one in found)])
        begins = np.concatenate([one.offsets[:-1] + end for one, end in zip(found, ends.tolist(), strict=False)])[order]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        entries = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], sizes)
        position, word = (np.concatenate(column) for column in zip(*((p.position, p.word) for p in found), strict=True))
        return Positions(offsets, position[entries], word[entries])

    return joined


def _best(
    part: Index, stream: str, words: Sequence[tuple[float, Ints, Floats]], n: int, fixed: float, slope: float
) -> tuple[Ints, Floats]:  # fmt: skip
    """The n best documents of a shard, with the weights of the whole collection."""
    scores, hit = np.zeros(part.documents), np.zeros(part.documents, np.bool_)
    lengths = part.lengths(stream)
    for weight, numbers, counts in words:
        scores[numbers] += weight * counts / (counts + (fixed + slope * lengths[numbers]))
        hit[numbers] = True
    there = np.flatnonzero(hit)
    if len(there) > n > 0:
        least = np.partition(scores[there], len(there) - n)[len(there) - n]
        there = there[scores[there] >= least]
    order = np.lexsort((part.id_ranks[there], -scores[there]))[:n]
    return there[order], scores[there[order]]


def save_shards(folder: Path, names: Sequence[str]) -> Shards:
    """Finish a folder of shards: count what only all of them together can tell."""
    parts = [open_index(folder / name) for name in names]
    terms = {stream: len(set().union(*(_said(part, stream) for part in parts))) for stream in parts[0].streams}
    (folder / FILE).write_bytes(seal({"shards": list(names), "terms": terms}))
    return Shards.open(folder)


def _said(part: Index, stream: str) -> set[str]:
    """The terms that a stream of a shard has."""
    vocabulary = list(part.vocabulary)
    df, _ = part.frequencies(stream, vocabulary)
    return {term for term, documents in zip(vocabulary, df.tolist(), strict=True) if documents}
