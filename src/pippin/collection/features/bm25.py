"""Okapi BM25 on a stream, and its logarithm.

A word that is said more than once counts once, with its multiplicity in the k3 factor. The sign of idf is kept, so a
value may be 0 or negative where words are in more than half of the documents: that is a value, not NULL.
"""

from __future__ import annotations

import numpy as np

from pippin.collection.candidates import Floats, Queries, StreamCounts
from pippin.collection.features.base import feature, total
from pippin.collection.features.idf import idf_of_words

UNMATCHED = "null | value"
_LIMITS = {"b": "[0, 1]", "unmatched": UNMATCHED}
_NULL = "where the stream holds no word of the query (unmatched=value: 0)"


def _scores(queries: Queries, stream: StreamCounts, k1: float, b: float, k3: float) -> Floats:
    """BM25, 0 where the stream holds no word of the query."""
    said, count = queries.said, stream.tf
    weight = idf_of_words(stream) * (k3 + 1) * said / (k3 + np.maximum(said, 1))
    norm = k1 * ((1 - b) + b * stream.length / (stream.average or 1.0))
    # A word that is not there adds 0, also where k1 = 0 would make that 0/0.
    gain = count * (k1 + 1) / np.where(count > 0, count + norm, 1.0)
    return total(queries.each(weight) * gain)


@feature(
    "bm25", kind="Q-D", many=True, null=_NULL, fill="zero", limits=_LIMITS,
    formula="Σ idf(w)·c(w,d)(k1+1)/(c(w,d) + k1(1−b + b·|d|/avgdl)) · (k3+1)c(w,q)/(k3+c(w,q)), distinct w",
    source="Robertson 1997; Qin, Liu, Xu, Li 2010 (LETOR), equation 2",
)  # fmt: skip
def bm25(
    queries: Queries, stream: StreamCounts, *, k1: float = 2.5, b: float = 0.8, k3: float = 0.0,
    unmatched: str = "null",
) -> Floats:  # fmt: skip
    """Okapi BM25, with LETOR's parameters for “Gov”."""
    values = stream.keep(("bm25", k1, b, k3), lambda: _scores(queries, stream, k1, b, k3))
    return values.copy() if unmatched == "value" else np.where(stream.hits, values, np.nan)


@feature(
    "log_bm25", kind="Q-D", many=True, null="where BM25 is NULL or not above 0", fill="zero", limits={"b": "[0, 1]"},
    formula="ln BM25", source="Qin, Liu, Xu, Li 2010 (LETOR), Table 3, row 12",
)  # fmt: skip
def log_bm25(queries: Queries, stream: StreamCounts, *, k1: float = 2.5, b: float = 0.8, k3: float = 0.0) -> Floats:
    """The logarithm of BM25."""
    values = bm25(queries, stream, k1=k1, b=b, k3=k3)
    return np.log(values, out=np.full_like(values, np.nan), where=values > 0)
