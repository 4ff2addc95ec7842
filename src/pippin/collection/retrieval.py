"""From queries to a run: the best documents of an index by BM25 or any feature, re-ranked by a model if there is one.

`search` finds candidates, `Found.dataset` extracts their features as a data set has them, and a model scores those:

    run = (search(index, queries) >> "bm25@title bm25@body" >> model)

A retrieval model is BM25, which a kernel computes, or any feature of a stream (`lmir_dir(mu=500)`), so that a formula
stands in one place; `lm-dirichlet`, `lm-jm` and `tfidf` are other names for three of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import WHOLE, Query
from pippin.collection.features import BoundFeature, check_streams, extract_many, parse_features
from pippin.collection.index import Index, open_index
from pippin.data.dataset import Dataset
from pippin.data.trec import Run
from pippin.data.versions import make_versions
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.kernels import threads

if TYPE_CHECKING:
    from pippin.collection.candidates import Candidates
    from pippin.collection.embeddings import Embeddings
    from pippin.collection.web import Web
    from pippin.rankers.base import Ranker

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
OTHER_NAMES = {"lm-dirichlet": "lmir_dir", "lm-jm": "lmir_jm", "tfidf": "tf_idf"}
VERSION = "QueryLevelNorm"  # what the bench trains on
STRETCH = 1 << 18  # pairs whose counts are held at once


def search(
    index: Index, queries: Iterable[Query], *, model: str = "bm25", top: int = 1000, stream: str = WHOLE
) -> Found:
    """The best documents for each query; ties by id. Queries without a word or a document have none."""
    if top < 1:
        raise DataError(f"at least one document is looked for, not {top}")
    asked = tuple(queries)
    words = [tuple(some) for some in index.analyse_many(query.text for query in asked)]
    name, bound = _model(model, index.stream(stream))
    if bound is None:
        k1, b = _bm25(model)
        tops = index.tops(words, top, stream=stream, k1=k1, b=b)
    else:
        check_streams([bound], index.streams)
        with ThreadPoolExecutor(threads()) as pool:
            tops = list(pool.map(partial(_best, index, bound, top), asked, words))
    return Found(index, asked, tuple(words), tuple(numbers for numbers, _ in tops), tuple(s for _, s in tops), name)


def _model(text: str, stream: str) -> tuple[str, BoundFeature | None]:
    """The name that a run carries, and the feature that ranks; None for BM25, which a kernel computes."""
    name, bracket, rest = text.partition("(")
    if name == "bm25":
        return text, None
    bound = parse_features(f"{OTHER_NAMES.get(name, name)}{bracket}{rest}@{stream}")
    if len(bound) != 1:
        raise ConventionError(f"a retrieval model is one feature, not {len(bound)} ({text})")
    return text, bound[0]


def _bm25(text: str) -> tuple[float, float]:
    """k1 and b as the feature of that name takes them, LETOR's where they are not given."""
    given = dict(parse_features(f"{text}@{WHOLE}")[0].parameters)
    unknown = set(given) - {"k1", "b"}
    if unknown:
        raise UnknownName("parameter of BM25 in a search", min(unknown), ("k1", "b"))
    return float(given.get("k1", 2.5)), float(given.get("b", 0.8))


def _best(index: Index, bound: BoundFeature, top: int, query: Query, words: Sequence[str]) -> tuple[Ints, Floats]:
    """The best documents by a feature among all that hold a word of the query."""
    stream = str(bound.stream)
    holding = [index.postings(stream, word)[0] for word in dict.fromkeys(words)]
    numbers = np.unique(np.concatenate(holding)) if holding else np.empty(0, np.int64)
    if not len(numbers):
        return numbers, np.empty(0)
    found = index.candidates(query, numbers, np.zeros(len(numbers), np.int32), words=words)
    scores = bound.values(found)
    known = ~np.isnan(scores)
    numbers, scores = numbers[known], scores[known]
    order = np.lexsort((index.id_ranks[numbers], -scores))[:top]
    return numbers[order], scores[order]


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates of some queries: document numbers and scores, best first."""

    index: Index
    queries: tuple[Query, ...]
    words: tuple[tuple[str, ...], ...]
    numbers: tuple[Ints, ...]
    scores: tuple[Floats, ...]
    name: str

    def run(self) -> Run:
        """As a run; queries without a document are not in it."""
        there = [i for i, numbers in enumerate(self.numbers) if len(numbers)]
        if not there:
            raise DataError(f"no document of {self.index.name} holds a word of any query")
        sizes = [len(self.numbers[i]) for i in there]
        return Run(
            tuple(self.queries[i].id for i in there),
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            self.index.ids.take(np.concatenate([self.numbers[i] for i in there])),
            np.concatenate([self.scores[i] for i in there]),
            self.index.name,
            "".join(self.name.split()),
        )

    def dataset(
        self, features: str | Sequence[BoundFeature | str], *, version: str = VERSION, web: Web | None = None,
        dense: Embeddings | None = None,
    ) -> Dataset:  # fmt: skip
        """The features of the candidates as a built data set has them in one of its versions; all labels are 0."""
        bound = parse_features(features)
        check_streams(bound, self.index.streams)
        there = [i for i, numbers in enumerate(self.numbers) if len(numbers)]
        if not there:
            raise DataError(f"no document of {self.index.name} holds a word of any query")
        tables = [
            table
            for some in self._stretches(there)
            for table in extract_many([self._candidates(i, web, dense) for i in some], bound)
        ]
        numbers = np.concatenate([self.numbers[i] for i in there])
        raw = Dataset(
            np.concatenate(tables), np.zeros(len(numbers), np.int32),
            np.concatenate(([0], np.cumsum([len(self.numbers[i]) for i in there]))).astype(np.int64),
            tuple(self.queries[i].id for i in there), self.index.ids.take(numbers),
            tuple(one.text for one in bound), name=self.index.name,
        )  # fmt: skip
        versions = make_versions(raw, zero=[one.text for one in bound if one.feature.fill == "zero"])
        if version not in versions:
            raise UnknownName("version", version, versions)
        return versions[version]

    def _stretches(self, there: Sequence[int]) -> Iterator[list[int]]:
        """The queries in stretches of about so many candidates, whose counts are held at once."""
        held = np.cumsum([len(self.numbers[i]) for i in there]) // STRETCH
        for stretch in np.unique(held):
            yield [there[i] for i in np.flatnonzero(held == stretch).tolist()]

    def _candidates(self, i: int, web: Web | None, dense: Embeddings | None) -> Candidates:
        labels = np.zeros(len(self.numbers[i]), np.int32)
        return self.index.candidates(
            self.queries[i], self.numbers[i], labels, words=self.words[i], web=web, dense=dense
        )

    def __rshift__(self, features: str | Sequence[BoundFeature | str]) -> Extracted:
        return Extracted(self.dataset(features))


@dataclass(frozen=True, eq=False)
class Extracted:
    """Candidates with their features, for a model to score."""

    data: Dataset

    def __rshift__(self, model: Ranker) -> Run:
        return score(model, self.data)


def score(model: Ranker, data: Dataset) -> Run:
    """A model's scores of a data set as a run; the data set must know its documents' ids."""
    from pippin.rankers.models import aligned

    return run_of(data, model.predict(aligned(model, data)), model.name)


def run_of(data: Dataset, scores: Floats, tag: str) -> Run:
    """Scores of a data set as a run."""
    if data.document_ids is None:
        raise DataError(f"{data.name} does not know its documents' ids, which a run needs")
    return Run(data.query_ids, data.offsets, data.document_ids, np.asarray(scores, np.float64), data.name, tag)


class Pipeline:
    """Candidates, features, model: from queries to a run, as often as it is called.

    `source` is an index or a folder of one, or a data set that `build` made, whose index and links are used. Features
    are the model's own unless given. `dense` is the folder of the model whose vectors such a data set keeps: then as
    many documents that are nearest by them stand beside the candidates, as when it was built.
    """

    def __init__(
        self,
        source: Index | str | os.PathLike[str],
        model: Ranker,
        features: str | Sequence[BoundFeature | str] | None = None,
        *,
        top: int = 1000,
        candidates: str = "bm25",
        stream: str = WHOLE,
        version: str = VERSION,
        dense: str | os.PathLike[str] | None = None,
    ) -> None:
        self.index: Index
        self.web: Web | None
        self.index, self.web = (source, None) if isinstance(source, Index) else open_source(source)
        self.model, self.top, self.candidates, self.stream, self.version = model, top, candidates, stream, version
        named = features if features is not None else model.feature_names_
        if features is None and all(str(name).isdigit() for name in named):
            raise DataError("the model knows its features by number only; name them (--features)")
        self.features = parse_features(named)
        self.dense = None if dense is None else vectors_of(source, self.index, dense)

    def __call__(self, queries: Iterable[Query]) -> Run:
        """The run of these queries, each query's documents best first."""
        found = search(self.index, queries, model=self.candidates, top=self.top, stream=self.stream)
        if self.dense is not None:
            from pippin.collection.embeddings import fuse

            found = fuse(found, self.dense.search(found.queries, top=self.top), top=2 * self.top)
        run = score(self.model, found.dataset(self.features, version=self.version, web=self.web, dense=self.dense))
        return sorted_run(run)

    def __repr__(self) -> str:
        return f"Pipeline({self.candidates} → {len(self.features)} features → {self.model.name} on {self.index.name!r})"


def sorted_run(run: Run) -> Run:
    """The same run with the documents of each query in the order of their scores, ties as they stand."""
    order = np.lexsort((-run.scores, np.repeat(np.arange(len(run.query_ids)), np.diff(run.offsets))))
    return Run(run.query_ids, run.offsets, run.document_ids.take(order), run.scores[order], run.name, run.tag)


def open_source(path: str | os.PathLike[str]) -> tuple[Index, Web | None]:
    """An index with the links that belong to it: of a folder that `index` wrote, or of a data set that `build` made."""
    from pippin.collection.build import is_built
    from pippin.collection.web import Web

    folder = Path(path)
    if not is_built(folder):
        return open_index(folder), None
    return open_index(folder / "index"), Web.open(folder / "web") if (folder / "web").is_dir() else None


def vectors_of(source: Index | str | os.PathLike[str], index: Index, model: str | os.PathLike[str]) -> Embeddings:
    """The vectors that a built data set keeps beside its index, for queries to be encoded by the same model."""
    from pippin.collection.embeddings import VECTORS, open_embeddings
    from pippin.collection.encoder import Encoder

    if isinstance(source, Index) or not (Path(source) / VECTORS).is_dir():
        raise DataError("no vectors are kept here; a data set that was built with --dense has them", str(source))
    return open_embeddings(Path(source) / VECTORS, index, Encoder(model))
