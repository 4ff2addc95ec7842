"""Features of term statistics: frequencies, idf, BM25, vector space, language models, and query predictors.

- A word with df = 0 in the field is skipped. LETOR has two forms of inverse document frequency: `probabilistic`
  ln((N − df + ½)/(df + ½)) for “Gov” (equation 1), and `plain` ln(N/df) for OHSUMED.
- BM25 counts a repeated word of the query once, with its multiplicity in the k3 factor. The sign of idf is kept, so the
  value may be 0 or negative if words are in more than half of the documents; it is NULL only without any word.
- Language models give ln p(q|d) = Σ ln p(w|d) over all words of the query that the collection has in the field,
  including words that the document does not have; p(w|C) = c(w,C)/|C| in tokens of the field.
- Minimum, maximum, mean and variance (of the population) are over all words of the query, as in MSLR-WEB.
- Features of the query alone are the same for all its documents. Trees and query-dependent rankers use them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pippin.collections.features.base import constant, feature, total
from pippin.collections.index.statistics import FieldStatistics, Floats, Queries

_LETOR3 = "Qin, Liu, Xu, Li 2010 (LETOR)"


@feature("tf", kind="Q-D", batched=True, formula="Σ c(w,d)", source=f"{_LETOR3}, Tables 2 and 3")
def tf(queries: Queries, field: FieldStatistics) -> Floats:
    """Count the occurrences of the query's words."""
    return total(field.tf)


@feature("log_tf", kind="Q-D", batched=True, formula="Σ ln(c(w,d) + 1)", source=f"{_LETOR3}, Table 3")
def log_tf(queries: Queries, field: FieldStatistics) -> Floats:
    """Sum the logarithms of the occurrences of the query's words."""
    return total(np.log(field.tf + 1))


@feature("tf_share", kind="Q-D", batched=True, formula="Σ c(w,d)/|d|", source=f"{_LETOR3}, Table 3")
def tf_share(queries: Queries, field: FieldStatistics) -> Floats:
    """Sum the occurrences divided by the length of the field."""
    return total(field.shares)


@feature("log_tf_share", kind="Q-D", batched=True, formula="Σ ln(c(w,d)/|d| + 1)", source=f"{_LETOR3}, Table 3")
def log_tf_share(queries: Queries, field: FieldStatistics) -> Floats:
    """Sum the logarithms of the occurrences divided by the length of the field."""
    return total(np.log(field.shares + 1))


@feature("length", kind="D", batched=True, formula="|d|", source=f"{_LETOR3}, Table 2")
def length(queries: Queries, field: FieldStatistics) -> Floats:
    """Return the number of words of the field."""
    return field.length.copy()


@feature("covered", kind="Q-D", batched=True, formula="|{w ∈ q : c(w,d) > 0}|", source="MSLR-WEB, 1–5")
def count_covered(queries: Queries, field: FieldStatistics) -> Floats:
    """Count the words of the query that occur in the field."""
    return total((field.tf > 0).astype(np.float64))


@feature("covered_ratio", kind="Q-D", batched=True, formula="|{w ∈ q : c(w,d) > 0}| / |q|", source="MSLR-WEB, 6–10")
def covered_ratio(queries: Queries, field: FieldStatistics) -> Floats:
    """Return the share of the query's words that occur in the field."""
    return count_covered(queries, field) / max(len(field.tf), 1)


_FORMS = {"form": "probabilistic | plain"}


def idf_of_words(field: FieldStatistics, form: str = "probabilistic") -> Floats:
    """Return the inverse document frequency of each word, [t] or [t, q]; 0 for a word of no document."""
    n, df = field.documents, field.df
    values = np.log((n - df + 0.5) / (df + 0.5)) if form == "probabilistic" else np.log(n / np.maximum(df, 1))
    return np.where(df > 0, values, 0.0)


@feature(
    "idf",
    kind="Q",
    batched=True,
    formula="Σ ln((N−df+½)/(df+½)), df > 0; form=plain: Σ ln(N/df)",
    source=f"{_LETOR3}, equation 1; plain: Table 3, row 5",
    limits=_FORMS,
)
def idf(queries: Queries, field: FieldStatistics, *, form: str = "probabilistic") -> Floats:
    """Sum the inverse document frequencies of the query's words."""
    return constant(queries, total(idf_of_words(field, form)))


@feature("log_idf", kind="Q", batched=True, formula="Σ ln ln(N/df), 0 < df < N", source=f"{_LETOR3}, Table 3, row 6")
def log_idf(queries: Queries, field: FieldStatistics) -> Floats:
    """Sum the logarithms of the inverse document frequencies; a word of every document (ln 0) is skipped."""
    plain = idf_of_words(field, "plain")
    return constant(queries, total(np.log(np.where(plain > 0, plain, 1.0))))


@feature("icf", kind="Q", batched=True, formula="Σ ln(N/c(w,C) + 1), c(w,C) > 0", source=f"{_LETOR3}, Table 3, row 7")
def icf(queries: Queries, field: FieldStatistics) -> Floats:
    """Sum the inverse collection frequencies of the query's words; N is the number of documents."""
    return constant(queries, total(np.log(np.where(field.cf > 0, field.documents / np.maximum(field.cf, 1) + 1, 1.0))))


@feature(
    "tf_idf",
    kind="Q-D",
    batched=True,
    formula="Σ c(w,d)·idf(w)",
    source=f"{_LETOR3}, Table 2; plain: Table 3, row 9",
    limits=_FORMS,
)
def tf_idf(queries: Queries, field: FieldStatistics, *, form: str = "probabilistic") -> Floats:
    """Sum the occurrences weighted by inverse document frequency."""
    return total(field.tf * queries.broadcast(idf_of_words(field, form)))


@feature(
    "log_tf_idf", kind="Q-D", batched=True, formula="Σ ln(c(w,d)/|d| · ln(N/df) + 1)",
    source=f"{_LETOR3}, Table 3, row 8 (row 38 has a misprint)",
)  # fmt: skip
def log_tf_idf(queries: Queries, field: FieldStatistics) -> Floats:
    """Sum the logarithms of relative occurrences weighted by inverse document frequency."""
    return total(np.log(field.shares * queries.broadcast(idf_of_words(field, "plain")) + 1))


@feature(
    "log_tf_icf",
    kind="Q-D",
    batched=True,
    formula="Σ ln(c(w,d)/|d| · N/c(w,C) + 1)",
    source=f"{_LETOR3}, Table 3, row 10",
)
def log_tf_icf(queries: Queries, field: FieldStatistics) -> Floats:
    """Sum the logarithms of relative occurrences weighted by inverse collection frequency; N counts documents."""
    return total(np.log(field.shares * field.documents / queries.broadcast(np.maximum(field.cf, 1)) + 1))


UNMATCHED = "null | value"
_LIMITS = {"b": "[0, 1]", "unmatched": UNMATCHED}
_NULL = "where the field contains no word of the query (unmatched=value: 0)"


def _scores(queries: Queries, field: FieldStatistics, k1: float, b: float, k3: float) -> Floats:
    """Compute BM25; 0 where the field contains no word of the query."""
    query_tf, count = queries.query_tf, field.tf
    weight = idf_of_words(field) * (k3 + 1) * query_tf / (k3 + np.maximum(query_tf, 1))
    norm = k1 * ((1 - b) + b * field.length / (field.average or 1.0))
    # A word that does not occur adds 0, even if k1 = 0, which would give 0/0.
    gain = count * (k1 + 1) / np.where(count > 0, count + norm, 1.0)
    return total(queries.broadcast(weight) * gain)


@feature(
    "bm25", kind="Q-D", batched=True, missing_when=_NULL, fill="zero", limits=_LIMITS,
    formula="Σ idf(w)·c(w,d)(k1+1)/(c(w,d) + k1(1−b + b·|d|/avgdl)) · (k3+1)c(w,q)/(k3+c(w,q)), distinct w",
    source="Robertson 1997; Qin, Liu, Xu, Li 2010 (LETOR), equation 2",
)  # fmt: skip
def bm25(
    queries: Queries, field: FieldStatistics, *, k1: float = 2.5, b: float = 0.8, k3: float = 0.0,
    unmatched: str = "null",
) -> Floats:  # fmt: skip
    """Compute Okapi BM25, by default with LETOR's parameters for “Gov”."""
    values = field.memoize(("bm25", k1, b, k3), lambda: _scores(queries, field, k1, b, k3))
    return values.copy() if unmatched == "value" else np.where(field.hits, values, np.nan)


@feature(
    "log_bm25",
    kind="Q-D",
    batched=True,
    missing_when="where BM25 is NULL or not above 0",
    fill="zero",
    limits={"b": "[0, 1]"},
    formula="ln BM25",
    source="Qin, Liu, Xu, Li 2010 (LETOR), Table 3, row 12",
)
def log_bm25(queries: Queries, field: FieldStatistics, *, k1: float = 2.5, b: float = 0.8, k3: float = 0.0) -> Floats:
    """Compute the logarithm of BM25."""
    values = bm25(queries, field, k1=k1, b=b, k3=k3)
    return np.log(values, out=np.full_like(values, np.nan), where=values > 0)


@feature(
    "boolean", kind="Q-D", batched=True, formula="1 if every w ∈ q has c(w,d) > 0, else 0", source="MSLR-WEB, 96–100"
)
def boolean(queries: Queries, field: FieldStatistics) -> Floats:
    """Return 1 if the field contains all words of the query, else 0; 0 for a query without words."""
    has_all: Floats = np.all(field.tf > 0, axis=0).astype(np.float64)
    return has_all if len(field.tf) else np.zeros(len(queries))


@feature(
    "vector_space",
    kind="Q-D",
    batched=True,
    formula="cos((c(w,d)·idf(w))_w, (c(w,q)·idf(w))_w), distinct w",
    source="MSLR-WEB, 101–105",
)
def vector_space(queries: Queries, field: FieldStatistics) -> Floats:
    """Compute the cosine of document and query over the words of the query; 0 if one of them is the zero vector."""
    query_tf = queries.query_tf
    idf = np.where(query_tf > 0, idf_of_words(field), 0.0)
    query = query_tf * idf
    document = field.tf * queries.broadcast(idf)
    norm = np.sqrt(total(document**2) * queries.broadcast(total(query**2)))
    product = total(document * queries.broadcast(query))
    return np.divide(product, norm, out=np.zeros(len(queries)), where=norm > 0)


_ZHAI = "Zhai, Lafferty 2001"
_SMOOTHED = "where the field contains no word of the query (unmatched=value: the smoothed likelihood)"


def _background(queries: Queries, field: FieldStatistics) -> Floats:
    """Return p(w|C) of the words."""
    return queries.broadcast(field.cf / max(field.total, 1))


def _likelihood(queries: Queries, field: FieldStatistics, model: Floats, unmatched: str) -> Floats:
    """Sum ln p(w|d) over words; a word that the collection does not have in the field adds ln 1 = 0."""
    if not np.all(field.cf > 0):
        model = np.where(queries.broadcast(field.cf) > 0, model, 1.0)
    values = total(np.log(model))
    return values if unmatched == "value" else np.where(field.hits, values, np.nan)


@feature(
    "lmir_abs",
    kind="Q-D",
    batched=True,
    missing_when=_SMOOTHED,
    source=_ZHAI,
    limits={"delta": "(0, 1]", "unmatched": UNMATCHED},
    formula="Σ ln(max(c(w,d)−δ, 0)/|d| + δ·|d|ᵤ/|d|·p(w|C))",
)
def lmir_abs(queries: Queries, field: FieldStatistics, *, delta: float = 0.7, unmatched: str = "null") -> Floats:
    """Compute the likelihood with absolute discounting; |d|ᵤ/|d| (distinct words) of an empty field is 1."""
    count, background = field.tf, _background(queries, field)
    length = np.maximum(field.length, 1)
    unique = np.maximum(field.unique, 1)
    model = np.maximum(count - delta, 0) / length + delta * unique / length * background
    return _likelihood(queries, field, model, unmatched)


@feature(
    "lmir_dir",
    kind="Q-D",
    batched=True,
    missing_when=_SMOOTHED,
    source=_ZHAI,
    limits={"mu": "(0, inf)", "unmatched": UNMATCHED},
    formula="Σ ln((c(w,d) + μ·p(w|C))/(|d| + μ))",
)
def lmir_dir(queries: Queries, field: FieldStatistics, *, mu: float = 2000.0, unmatched: str = "null") -> Floats:
    """Compute the likelihood with a Dirichlet prior."""
    background = _background(queries, field)
    return _likelihood(queries, field, (field.tf + mu * background) / (field.length + mu), unmatched)


@feature(
    "lmir_jm",
    kind="Q-D",
    batched=True,
    missing_when=_SMOOTHED,
    source=_ZHAI,
    limits={"lambda": "(0, 1]", "unmatched": UNMATCHED},
    formula="Σ ln((1−λ)·c(w,d)/|d| + λ·p(w|C))",
)
def lmir_jm(queries: Queries, field: FieldStatistics, *, lambda_: float = 0.1, unmatched: str = "null") -> Floats:
    """Compute the likelihood with Jelinek–Mercer smoothing; λ is the weight of the collection."""
    background = _background(queries, field)
    model = (1 - lambda_) * field.tf / np.maximum(field.length, 1) + lambda_ * background
    return _likelihood(queries, field, model, unmatched)


def _mean(values: Floats) -> Floats:
    return total(values) / len(values)


def _variance(values: Floats) -> Floats:
    return total((values - _mean(values)) ** 2) / len(values)


_MSLR = "MSLR-WEB, 26–95"
_QUANTITIES: dict[str, tuple[str, Callable[[Queries, FieldStatistics], Floats]]] = {
    "tf": ("c(w,d)", lambda queries, field: field.tf),
    "tf_share": ("c(w,d)/|d|", lambda queries, field: field.shares),
    "tf_idf": ("c(w,d)·idf(w)", lambda queries, field: field.tf * queries.broadcast(idf_of_words(field))),
}
_STATISTICS: dict[str, Callable[[Floats], Floats]] = {
    "min": lambda values: np.min(values, axis=0),
    "max": lambda values: np.max(values, axis=0),
    "mean": _mean,
    "variance": _variance,
}


def _register(quantity: str, statistic: str) -> None:
    term, values_of = _QUANTITIES[quantity]
    summarize = _STATISTICS[statistic]

    def compute(queries: Queries, field: FieldStatistics) -> Floats:
        return summarize(values_of(queries, field)) if len(field.tf) else np.zeros(len(queries))

    compute.__doc__ = f"Compute the {statistic} of {term} over the words of the query; 0 for a query without words."
    formula = f"{statistic} over w ∈ q of {term}"
    feature(f"{quantity}_{statistic}", kind="Q-D", batched=True, formula=formula, source=_MSLR)(compute)


for _quantity in _QUANTITIES:
    for _statistic in _STATISTICS:
        _register(_quantity, _statistic)


_HE = "He, Ounis 2004"


def _max_over_words(values: Floats) -> Floats:
    """Return the largest value of each query's words; 0 for a query without words."""
    largest: Floats = values.max(axis=0, initial=0.0)
    return largest


@feature("query_words", kind="Q", batched=True, formula="|q|", source=_HE)
def query_words(queries: Queries, field: FieldStatistics) -> Floats:
    """Count the analysed words of the query, whatever the field."""
    return constant(queries, np.full(field.df.shape[1:], float(len(field.df))))


@feature("idf_max", kind="Q", batched=True, formula="max ln(N/df), df > 0", source=f"{_HE} (MaxIDF)")
def idf_max(queries: Queries, field: FieldStatistics) -> Floats:
    """Return the largest idf of the query's words."""
    return constant(queries, _max_over_words(idf_of_words(field, "plain")))


@feature("idf_mean", kind="Q", batched=True, formula="Σ ln(N/df) / |q|, df > 0", source=f"{_HE} (AvIDF)")
def idf_mean(queries: Queries, field: FieldStatistics) -> Floats:
    """Return the mean idf of the query's words."""
    return constant(queries, idf_of_words(field, "plain").sum(axis=0) / max(1, len(field.df)))


@feature("idf_deviation", kind="Q", batched=True, formula="√(mean of (ln(N/df) − mean)²)", source=f"{_HE} (γ1)")
def idf_deviation(queries: Queries, field: FieldStatistics) -> Floats:
    """Return the standard deviation of the idf of the query's words."""
    values = idf_of_words(field, "plain")
    mean = values.sum(axis=0) / max(1, len(values))
    return constant(queries, np.sqrt(((values - mean) ** 2).sum(axis=0) / max(1, len(values))))


@feature(
    "similarity_max", kind="Q", batched=True, formula="max (1 + ln c(w,C))·ln(1 + N/df), df > 0",
    source="Zhao, Scholer, Tsegay 2008 (MaxSCQ)",
)  # fmt: skip
def similarity_max(queries: Queries, field: FieldStatistics) -> Floats:
    """Return the largest similarity of the collection and a word of the query."""
    occurs = field.df > 0
    cf, df = np.where(occurs, field.cf, 1.0), np.where(occurs, field.df, 1.0)
    return constant(
        queries, _max_over_words(np.where(occurs, (1 + np.log(cf)) * np.log(1 + field.documents / df), 0.0))
    )
