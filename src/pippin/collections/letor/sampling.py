"""Options of a build, sampling of the documents to rank, and extraction of their features.

LETOR samples in two ways: “Gov” takes the best 1,000 documents by BM25 over the whole document and treats unjudged ones
as not relevant; OHSUMED takes the judged documents only. `both` is the union: it keeps relevant documents that BM25
misses, at the price of a selection bias, because documents outside the top are present only if judged (Minka and
Robertson 2008). What each method loses or adds is counted per query.

A batch of queries is the unit of work: the building process or a worker of a cluster samples, extracts and stores it,
and a resumed build reads it. Equal documents and options give equal bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection, Query
from pippin.collections.engine_features import text_features
from pippin.collections.features import SETS, BoundFeature, extract_many, parse_features
from pippin.collections.index.embeddings import Embeddings, Encoder, load_encoder
from pippin.collections.index.index import Index, open_index
from pippin.collections.letor.metadata import CollectionInfo, query_file, write_query
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.readers.base import EXTRACTED
from pippin.collections.readers.files import natural_sort_key
from pippin.collections.text.analysis import Analyzer
from pippin.data.qrels import Qrels
from pippin.errors import DataError
from pippin.storage.files import atomic_write
from pippin.storage.manifest import append_checksum, strip_checksum

SamplingMethod = Literal["top", "judged", "both"]
SAMPLING_METHODS: Mapping[str, str] = {
    "top": "the best documents by BM25 over the whole document; unjudged ones are not relevant",
    "judged": "the judged documents, and no others",
    "both": "the best by BM25, and all judged documents",
}
DENSE = SETS["dense"].texts


@dataclass(frozen=True)
class BuildOptions:
    """All options of a build; see `pippin.build`."""

    features: str = "auto"
    sampling: SamplingMethod = "top"
    sample: int = 1000  # documents that BM25 retrieves per query
    folds: int = 5
    seed: int | None = None  # None: queries keep their order
    field: str = "whole"  # the field that sampling searches
    query_field: str | None = None  # the topic field that is the query; None: the query's own text
    unjudged: Literal["drop", "keep"] = "drop"
    drop_uninformative: bool = False
    min_rule: Literal["letor", "min"] = "letor"
    analysis: Analyzer = Analyzer()  # noqa: RUF009 - frozen
    meta: bool = True
    similarity: bool = False
    dense: Encoder | str | os.PathLike[str] | None = None  # the manifest has its digest
    engine: str | None = None  # whose features are kept, as raw values

    def record(self) -> dict[str, Any]:
        """Return the options as JSON values."""
        omitted = {"dense"} if self.engine else {"dense", "engine"}
        record = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in omitted}
        record |= {"analysis": self.analysis.record()}
        record |= {"sampling_description": f"{SAMPLING_METHODS[self.sampling]} (N = {self.sample})"}
        if self.dense is not None and self.sampling != "judged":
            record["sampling_description"] += ", and as many that are nearest by their vectors"
        return record


def choose_features(
    text: str, collection: Collection, *, dense: bool = False, engine: str | None = None
) -> tuple[BoundFeature, ...]:
    """Parse the features of a build.

    "auto", perhaps followed by more features, stands for those that fit the collection, or that the engine can compute.
    With `dense`, the features of the set "dense" are appended unless the text has them.
    """
    first, *more = re.split(r"[\s,]+", text.strip(), maxsplit=1)
    appended = [bound for text_of_more in more for bound in parse_features(text_of_more)]
    requested = [*_default_features(collection, engine), *appended] if first == "auto" else parse_features(text)
    resolved = tuple(replace(b, field=collection.resolve_field(b.field)) if b.field else b for b in requested)
    present = {bound.text for bound in resolved}
    return parse_features([*resolved, *(name for name in DENSE if dense and name not in present)])


def _default_features(collection: Collection, engine: str | None) -> tuple[BoundFeature, ...]:
    """Return the features of “Gov” for web pages, else OHSUMED's fifteen on every field and the numeric fields."""
    numeric = [f"{'age' if kind == 'date' else 'value'}@{name}" for name, kind in collection.numeric_fields.items()]
    if engine is not None:  # which has no combined fields
        return parse_features([*(f"{name}@{f}" for f in collection.fields for name in text_features(engine)), *numeric])
    if {"body", "anchor", "title", "url"} <= set(collection.fields):
        return parse_features("gov")
    fifteen = [bound.text.partition("@")[0] for bound in parse_features("ohsumed") if bound.field == "title"]
    return parse_features([*(f"{name}@{field}" for field in collection.all_fields for name in fifteen), *numeric])


def encoder_of(recipe: BuildOptions, features: Sequence[BoundFeature], *, distributed: bool) -> Encoder | None:
    """Load the encoder of a build, if it has one; raise if dense features have none."""
    if recipe.dense is None:
        dense_features = [bound.text for bound in features if bound.text in DENSE]
        if dense_features:
            raise DataError(f"{dense_features[0]} needs the model of the vectors; name its folder with --dense FOLDER")
        return None
    if distributed:
        raise DataError("vectors cannot be computed on a cluster; build without --dask")
    return load_encoder(recipe.dense)


def with_extracted_title(collection: Collection, features: Sequence[BoundFeature]) -> Collection:
    """Return the collection with its titles as extracted titles, if features need those and the reader has none."""
    is_requested = any(bound.field == EXTRACTED for bound in features)
    if not is_requested or EXTRACTED in collection.all_fields or "title" not in collection.fields:
        return collection
    descriptions = {**collection.descriptions, EXTRACTED: "the title, used instead of one extracted from markup"}
    return replace(
        collection, combined_fields={**collection.combined_fields, EXTRACTED: ("title",)}, descriptions=descriptions
    )


@dataclass(frozen=True, eq=False)
class Sample:
    """The sampled documents of one query, in the order of their ids, and counts of the sampling."""

    query: Query
    words: tuple[str, ...]
    numbers: NDArray[np.int64]
    labels: NDArray[np.int32]
    added: NDArray[np.bool_]  # sampled only because they are judged
    relevant: int  # relevant documents in the collection
    lost: int  # of those, not sampled
    unknown: tuple[str, ...]  # judged ids that the collection does not have


def labels_by_query(qrels: Qrels | None) -> dict[str, dict[str, int]]:
    """Return the labels as query → document → label; labels below 0 become 0."""
    if qrels is None:
        return {}
    return replace(qrels, labels=np.maximum(qrels.labels, 0)).by_query()


def sample(
    index: Index,
    query: Query,
    label_of: Mapping[str, int],
    method: SamplingMethod,
    size: int,
    field: str,
    query_field: str | None = None,
    dense: Embeddings | None = None,
) -> Sample:
    """Sample the documents of one query; `label_of` maps document ids to labels, `dense` adds the nearest documents."""
    if query_field is not None:
        query = replace(query, text=query.fields.get(query_field, ""))
    words = tuple(index.analyse(query.text))
    ids = list(label_of)
    known_numbers = index.numbers(ids)
    labels = {int(number): label_of[name] for number, name in zip(known_numbers, ids, strict=True) if number >= 0}
    unknown = tuple(name for number, name in zip(known_numbers, ids, strict=True) if number < 0)
    top = np.empty(0, np.int64) if method == "judged" else index.search_terms(words, size, field=field)[0]
    if dense is not None and words and method != "judged":
        top = np.union1d(top, dense.nearest([query], top=size)[0][0])
    sampled = set(top.tolist()) | (set() if method == "top" else labels.keys())
    numbers = np.array(sorted(sampled, key=lambda number: natural_sort_key(index.ids.at(number))), np.int64)
    relevant = {number for number, label in labels.items() if label > 0}
    return Sample(
        query, words, numbers,
        np.array([labels.get(number, 0) for number in numbers.tolist()], np.int32),
        ~np.isin(numbers, top) if method == "both" else np.zeros(len(numbers), bool),
        len(relevant), len(relevant - sampled), unknown,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SampledQueries:
    """The samples of a task, and their features in one table."""

    samples: tuple[Sample, ...]
    features: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """Some queries with their labels, and the files of their features and meta-information."""

    queries: tuple[Query, ...]
    judged: tuple[dict[str, int], ...]
    recipe: BuildOptions
    features: tuple[str, ...]
    file: Path
    meta: Path | None  # None: no meta-information


@dataclass(frozen=True, eq=False)
class ExtractedBatch:
    """The samples of a batch, and their features."""

    samples: tuple[Sample, ...]
    table: NDArray[np.float64]


def extract_batch(
    index: Index, links: LinkIndex | None, batch: QueryBatch, dense: Embeddings | None = None
) -> ExtractedBatch:
    """Sample and extract the queries of a batch; features that are stored already are read."""
    recipe = batch.recipe
    samples = tuple(
        sample(index, query, judged, recipe.sampling, recipe.sample, recipe.field, recipe.query_field, dense)
        for query, judged in zip(batch.queries, batch.judged, strict=True)
    )
    if batch.file.is_file() and (content := strip_checksum(batch.file.read_bytes())) is not None:
        return ExtractedBatch(samples, np.load(BytesIO(content), allow_pickle=False))
    features = parse_features(batch.features)
    queries = [
        index.candidates(sampled.query, sampled.numbers, sampled.labels, words=sampled.words, web=links, dense=dense)
        for sampled in samples
    ]
    table = np.concatenate([np.empty((0, len(features))), *extract_many(queries, features)])
    if batch.meta is not None:
        info = CollectionInfo.of(index)
        for candidates in filter(len, queries):
            write_query(candidates, info, query_file(batch.meta, candidates.query.id))
    with atomic_write(batch.file) as file:  # after the meta-information, so that a stored batch is complete
        np.save(packed := BytesIO(), table, allow_pickle=False)
        file.write(append_checksum(packed.getvalue()))
    return ExtractedBatch(samples, table)


def extract_batch_from(work: Path, digest: str, has_links: bool, batch: QueryBatch) -> ExtractedBatch:
    """Extract a batch on a worker, from the index with this digest and the links in the folder of a build."""
    index, links = _open_indexes(work, digest, has_links)
    return extract_batch(index, links, batch)


@lru_cache(maxsize=1)
def _open_indexes(work: Path, digest: str, has_links: bool) -> tuple[Index, LinkIndex | None]:
    """Open index and links once per worker; the digest tells two builds in one folder apart."""
    return open_index(work / "index"), LinkIndex.open(work / "web") if has_links else None
