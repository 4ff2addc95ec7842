"""The documents to rank for a stretch of queries, their features, and their meta-information.

A stretch is what is kept together while a build goes on: it is sampled, extracted and written here, by the process that
builds or by a worker of a cluster, and read again by a build that is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.collection.collection import Query
from pippin.collection.features import extract_many, parse_features
from pippin.collection.meta import CollectionInfo, query_file, write_query
from pippin.collection.recipe import Recipe
from pippin.collection.sampling import Sample, sample
from pippin.files import atomic_write
from pippin.manifest import seal_bytes, unseal_bytes

if TYPE_CHECKING:
    from pippin.collection.embeddings import Embeddings
    from pippin.collection.index import Index
    from pippin.collection.shards import Shards
    from pippin.collection.web import Web


@dataclass(frozen=True, eq=False)
class Sampled:
    """The samples of one query set, and their features in one table."""

    samples: tuple[Sample, ...]
    features: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some queries, what is judged of them, and where their features and meta-information are kept."""

    queries: tuple[Query, ...]
    judged: tuple[dict[str, int], ...]
    recipe: Recipe
    features: tuple[str, ...]
    kept: Path
    meta: Path | None  # None where none is written


@dataclass(frozen=True, eq=False)
class Extracted:
    """The samples of a stretch, and their features."""

    samples: tuple[Sample, ...]
    table: NDArray[np.float64]


def extract_stretch(
    index: Index | Shards, web: Web | None, stretch: Stretch, dense: Embeddings | None = None
) -> Extracted:
    """Sample and extract the queries of a stretch; features that are there are read."""
    recipe = stretch.recipe
    samples = tuple(
        sample(index, query, judged, recipe.how, recipe.size, recipe.stream, recipe.query_field, dense)
        for query, judged in zip(stretch.queries, stretch.judged, strict=True)
    )
    if stretch.kept.is_file() and (content := unseal_bytes(stretch.kept.read_bytes())) is not None:
        return Extracted(samples, np.load(BytesIO(content), allow_pickle=False))
    features = parse_features(stretch.features)
    queries = [
        index.candidates(one.query, one.numbers, one.labels, words=one.words, web=web, dense=dense) for one in samples
    ]
    table = np.concatenate([np.empty((0, len(features))), *extract_many(queries, features)])
    if stretch.meta is not None:
        info = CollectionInfo.of(index)
        for found in filter(len, queries):
            write_query(found, info, query_file(stretch.meta, found.query.id))
    with atomic_write(stretch.kept) as file:  # after the meta-information, so that a stretch that is there is whole
        np.save(packed := BytesIO(), table, allow_pickle=False)
        file.write(seal_bytes(packed.getvalue()))
    return Extracted(samples, table)
