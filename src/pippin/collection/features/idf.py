"""How rare the words of the query are in the collection, alone and weighting their occurrences.

A word that no document has in the stream (df = 0) is skipped. LETOR has two forms of inverse document frequency:
`probabilistic` ln((N − df + ½)/(df + ½)) for “Gov” (equation 1), and `plain` ln(N/df) for OHSUMED.
"""

from __future__ import annotations

import numpy as np

from pippin.collection.candidates import Floats, Queries, StreamCounts
from pippin.collection.features.base import constant, feature, total

_FORMS = {"form": "probabilistic | plain"}
_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR)"


def idf_of_words(stream: StreamCounts, form: str = "probabilistic") -> Floats:
    """[t] or [t, q] the inverse document frequency of each word; 0 for a word that no document has."""
    n, df = stream.documents, stream.df
    values = np.log((n - df + 0.5) / (df + 0.5)) if form == "probabilistic" else np.log(n / np.maximum(df, 1))
    return np.where(df > 0, values, 0.0)


@feature(
    "idf",
    kind="Q",
    many=True,
    formula="Σ ln((N−df+½)/(df+½)), df > 0; form=plain: Σ ln(N/df)",
    source=f"{_LETOR3}, equation 1; plain: Table 3, row 5",
    limits=_FORMS,
)
def idf(queries: Queries, stream: StreamCounts, *, form: str = "probabilistic") -> Floats:
    """How rare the query's words are."""
    return constant(queries, total(idf_of_words(stream, form)))


@feature("log_idf", kind="Q", many=True, formula="Σ ln ln(N/df), 0 < df < N", source=f"{_LETOR3}, Table 3, row 6")
def log_idf(queries: Queries, stream: StreamCounts) -> Floats:
    """How rare the query's words are, damped; a word of every document (ln 0) is skipped."""
    plain = idf_of_words(stream, "plain")
    return constant(queries, total(np.log(np.where(plain > 0, plain, 1.0))))


@feature("icf", kind="Q", many=True, formula="Σ ln(N/c(w,C) + 1), c(w,C) > 0", source=f"{_LETOR3}, Table 3, row 7")
def icf(queries: Queries, stream: StreamCounts) -> Floats:
    """How rare the query's words are by occurrences; N counts documents."""
    return constant(
        queries, total(np.log(np.where(stream.cf > 0, stream.documents / np.maximum(stream.cf, 1) + 1, 1.0)))
    )


@feature(
    "tf_idf",
    kind="Q-D",
    many=True,
    formula="Σ c(w,d)·idf(w)",
    source=f"{_LETOR3}, Table 2; plain: Table 3, row 9",
    limits=_FORMS,
)
def tf_idf(queries: Queries, stream: StreamCounts, *, form: str = "probabilistic") -> Floats:
    """Occurrences, rare words counting more."""
    return total(stream.tf * queries.each(idf_of_words(stream, form)))


@feature(
    "log_tf_idf", kind="Q-D", many=True, formula="Σ ln(c(w,d)/|d| · ln(N/df) + 1)",
    source=f"{_LETOR3}, Table 3, row 8 (row 38 has a misprint)",
)  # fmt: skip
def log_tf_idf(queries: Queries, stream: StreamCounts) -> Floats:
    """Occurrences per word of the stream, rare words counting more, damped."""
    return total(np.log(stream.shares * queries.each(idf_of_words(stream, "plain")) + 1))


@feature(
    "log_tf_icf", kind="Q-D", many=True, formula="Σ ln(c(w,d)/|d| · N/c(w,C) + 1)", source=f"{_LETOR3}, Table 3, row 10"
)
def log_tf_icf(queries: Queries, stream: StreamCounts) -> Floats:
    """Occurrences per word of the stream against those in the collection, damped; N counts documents."""
    return total(np.log(stream.shares * stream.documents / queries.each(np.maximum(stream.cf, 1)) + 1))
