"""Minimum, maximum, mean and variance over the words of the query, as MSLR-WEB has them beside the sum.

All words of the query count, those that the document lacks with 0; the variance is that of the population.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pippin.collection.candidates import Floats, Queries, StreamCounts
from pippin.collection.features.base import feature, total
from pippin.collection.features.idf import idf_of_words


def _mean(values: Floats) -> Floats:
    return total(values) / len(values)


def _variance(values: Floats) -> Floats:
    return total((values - _mean(values)) ** 2) / len(values)


_SOURCE = "MSLR-WEB, 26–95"
_QUANTITIES: dict[str, tuple[str, Callable[[Queries, StreamCounts], Floats]]] = {
    "tf": ("c(w,d)", lambda queries, stream: stream.tf),
    "tf_share": ("c(w,d)/|d|", lambda queries, stream: stream.shares),
    "tf_idf": ("c(w,d)·idf(w)", lambda queries, stream: stream.tf * queries.each(idf_of_words(stream))),
}
_STATISTICS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "min": ("min", lambda values: np.min(values, axis=0)),
    "max": ("max", lambda values: np.max(values, axis=0)),
    "mean": ("mean", _mean),
    "variance": ("variance", _variance),
}


def _register(quantity: str, statistic: str) -> None:
    what, words = _QUANTITIES[quantity]
    how, summary = _STATISTICS[statistic]

    def compute(queries: Queries, stream: StreamCounts) -> Floats:
        return summary(words(queries, stream)) if len(stream.tf) else np.zeros(len(queries))

    compute.__doc__ = f"The {how} of {what} over the words of the query; 0 for a query without words."
    feature(f"{quantity}_{statistic}", kind="Q-D", many=True, formula=f"{how} over w ∈ q of {what}", source=_SOURCE)(
        compute
    )


for _quantity in _QUANTITIES:
    for _statistic in _STATISTICS:
        _register(_quantity, _statistic)
