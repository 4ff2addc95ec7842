"""Features of the vectors of query and document (`index.embeddings`), for collections that store vectors."""

from __future__ import annotations

from pippin.collections.features.base import feature
from pippin.collections.index.statistics import Candidates, Floats
from pippin.errors import ConventionError

_REIMERS = "Reimers, Gurevych 2019"


def _table(candidates: Candidates) -> Floats:
    """Return all dense features of a query's candidates, [n, 4], computed once."""
    if "dense" not in candidates.cache:
        if candidates.dense is None or candidates.numbers is None:
            raise ConventionError("dense features need vectors of the documents; name their model with --dense FOLDER")
        candidates.cache["dense"] = candidates.dense.table(candidates.query, candidates.words, candidates.numbers)
    table: Floats = candidates.cache["dense"]
    return table


@feature("dense_cosine", kind="Q-D", formula="cos(v(q), mean of v(p) over passages p of d)", source=_REIMERS)
def dense_cosine(candidates: Candidates) -> Floats:
    """Compute the cosine of query and document; 0 for a document without text, as in all dense features."""
    return _table(candidates)[:, 0]


@feature("dense_dot", kind="Q-D", formula="v(q) · mean of v(p) over passages p of d", source=_REIMERS)
def dense_dot(candidates: Candidates) -> Floats:
    """Compute the dot product of query and document."""
    return _table(candidates)[:, 1]


@feature("dense_passage", kind="Q-D", formula="max over passages p of d of cos(v(q), v(p))", source=_REIMERS)
def dense_passage(candidates: Candidates) -> Floats:
    """Compute the cosine of the query and the document's nearest passage."""
    return _table(candidates)[:, 2]


@feature(
    "dense_fused", kind="Q-D", formula="1/(60 + rank by BM25) + 1/(60 + rank by dense_passage), of the best 1,000 each",
    source="Cormack, Clarke, Büttcher 2009",
)  # fmt: skip
def dense_fused(candidates: Candidates) -> Floats:
    """Compute the reciprocal rank fusion with BM25 over the whole collection."""
    return _table(candidates)[:, 3]
