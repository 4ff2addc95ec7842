"""The likelihood of the query under the document's smoothed language model: ln p(q|d) = Σ ln p(w|d).

The sum runs over all words of the query that the collection has in the stream, those that the document lacks included,
and nothing that is constant within a query is dropped. p(w|C) = c(w,C)/|C| in tokens of the stream.
"""

from __future__ import annotations

import numpy as np

from pippin.collection.candidates import Floats, Queries, StreamCounts
from pippin.collection.features.base import feature, total
from pippin.collection.features.bm25 import UNMATCHED

_SOURCE = "Zhai, Lafferty 2001"
_NULL = "where the stream holds no word of the query (unmatched=value: what the smoothing gives)"


def _chance(queries: Queries, stream: StreamCounts) -> Floats:
    """p(w|C) of the words."""
    return queries.each(stream.cf / max(stream.total, 1))


def _likelihood(queries: Queries, stream: StreamCounts, model: Floats, unmatched: str) -> Floats:
    """Σ ln p(w|d) over words; one that the collection does not have in the stream adds ln 1 = 0."""
    if not np.all(stream.cf > 0):
        model = np.where(queries.each(stream.cf) > 0, model, 1.0)
    values = total(np.log(model))
    return values if unmatched == "value" else np.where(stream.hits, values, np.nan)


@feature(
    "lmir_abs", kind="Q-D", many=True, null=_NULL, source=_SOURCE, limits={"delta": "(0, 1]", "unmatched": UNMATCHED},
    formula="Σ ln(max(c(w,d)−δ, 0)/|d| + δ·|d|ᵤ/|d|·p(w|C))",
)  # fmt: skip
def lmir_abs(queries: Queries, stream: StreamCounts, *, delta: float = 0.7, unmatched: str = "null") -> Floats:
    """Absolute discounting; |d|ᵤ counts distinct words, and |d|ᵤ/|d| of an empty stream is 1."""
    count, chance = stream.tf, _chance(queries, stream)
    length = np.maximum(stream.length, 1)
    unique = np.maximum(stream.unique, 1)
    model = np.maximum(count - delta, 0) / length + delta * unique / length * chance
    return _likelihood(queries, stream, model, unmatched)


@feature(
    "lmir_dir", kind="Q-D", many=True, null=_NULL, source=_SOURCE, limits={"mu": "(0, inf)", "unmatched": UNMATCHED},
    formula="Σ ln((c(w,d) + μ·p(w|C))/(|d| + μ))",
)  # fmt: skip
def lmir_dir(queries: Queries, stream: StreamCounts, *, mu: float = 2000.0, unmatched: str = "null") -> Floats:
    """Dirichlet prior."""
    chance = _chance(queries, stream)
    return _likelihood(queries, stream, (stream.tf + mu * chance) / (stream.length + mu), unmatched)


@feature(
    "lmir_jm", kind="Q-D", many=True, null=_NULL, source=_SOURCE, limits={"lambda": "(0, 1]", "unmatched": UNMATCHED},
    formula="Σ ln((1−λ)·c(w,d)/|d| + λ·p(w|C))",
)  # fmt: skip
def lmir_jm(queries: Queries, stream: StreamCounts, *, lambda_: float = 0.1, unmatched: str = "null") -> Floats:
    """Jelinek–Mercer; λ is the collection's weight."""
    chance = _chance(queries, stream)
    model = (1 - lambda_) * stream.tf / np.maximum(stream.length, 1) + lambda_ * chance
    return _likelihood(queries, stream, model, unmatched)
