"""What kind of query is it? Features of the query alone: its length, and how rare its words are, as predictors say.

They are the same for all of a query's documents and so cannot rank them; they tell queries apart, which trees use and
which rankers that choose by the query ask for (`knn`, `clusters`, `classes`, `choose`).
"""

from __future__ import annotations

import numpy as np

from pippin.collection.candidates import Floats, Queries, StreamCounts
from pippin.collection.features.base import constant, feature
from pippin.collection.features.idf import idf_of_words

_HE = "He, Ounis 2004"


def _rarest(values: Floats) -> Floats:
    """The largest value of each query's words; 0 where a query has no word."""
    top: Floats = values.max(axis=0, initial=0.0)
    return top


@feature("query_words", kind="Q", many=True, formula="|q|", source=_HE)
def query_words(queries: Queries, stream: StreamCounts) -> Floats:
    """How many words the query has after analysis; the stream decides nothing."""
    return constant(queries, np.full(stream.df.shape[1:], float(len(stream.df))))


@feature("idf_max", kind="Q", many=True, formula="max ln(N/df), df > 0", source=f"{_HE} (MaxIDF)")
def idf_max(queries: Queries, stream: StreamCounts) -> Floats:
    """How rare the rarest word is."""
    return constant(queries, _rarest(idf_of_words(stream, "plain")))


@feature("idf_mean", kind="Q", many=True, formula="Σ ln(N/df) / |q|, df > 0", source=f"{_HE} (AvIDF)")
def idf_mean(queries: Queries, stream: StreamCounts) -> Floats:
    """How rare the query's words are on average."""
    return constant(queries, idf_of_words(stream, "plain").sum(axis=0) / max(1, len(stream.df)))


@feature("idf_deviation", kind="Q", many=True, formula="√(mean of (ln(N/df) − mean)²)", source=f"{_HE} (γ1)")
def idf_deviation(queries: Queries, stream: StreamCounts) -> Floats:
    """How unlike in rarity the query's words are."""
    values = idf_of_words(stream, "plain")
    mean = values.sum(axis=0) / max(1, len(values))
    return constant(queries, np.sqrt(((values - mean) ** 2).sum(axis=0) / max(1, len(values))))


@feature(
    "similarity_max", kind="Q", many=True, formula="max (1 + ln c(w,C))·ln(1 + N/df), df > 0",
    source="Zhao, Scholer, Tsegay 2008 (MaxSCQ)",
)  # fmt: skip
def similarity_max(queries: Queries, stream: StreamCounts) -> Floats:
    """How alike the collection and the query's best word are."""
    known = stream.df > 0
    cf, df = np.where(known, stream.cf, 1.0), np.where(known, stream.df, 1.0)
    return constant(queries, _rarest(np.where(known, (1 + np.log(cf)) * np.log(1 + stream.documents / df), 0.0)))
