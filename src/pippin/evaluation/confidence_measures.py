"""Does a system know when it is right? MTEB's nAUC: how the mean of a measure grows as unsure queries are left out.

The confidence in a query is the largest of its scores, their standard deviation, or how far the first is ahead of the
second. For rates 0, 0.1 … 0.9 that share of the least confident queries is left out; the area under the means, above
that of a flat line, is taken over the area that the measure itself as confidence would give.

Steps are MTEB's, one by one: its rates are multiples of a rounded 0.1, so that of 15 queries it leaves out 5 and not 4
at 0.3, and sums whose last digit differs tell whether the oracle is any better than the flat line.
"""

from __future__ import annotations

import math

import numpy as np

from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import KINDS, Kind, Measure, Values, register
from pippin.evaluation.ranking import Ranking

_RATES = np.linspace(0, 1, 11)[:-1]


def _confidences(ranking: Ranking, how: str) -> Values:
    """By query, from its scores; 0 where nothing was retrieved.

    A deviation adds them as they were given: the last digit tells whether queries of the same scores are tied.
    """
    found, given = np.zeros(len(ranking.query_ids)), ranking.scores_as_given()
    for q, (first, last) in enumerate(zip(ranking.offsets[:-1], ranking.offsets[1:], strict=True)):
        if first == last:
            continue
        scores = np.sort(given[first:last])[::-1]
        ahead = scores[0] - scores[min(1, len(scores) - 1)]
        found[q] = np.std(given[first:last]) if how == "std" else ahead if how == "diff1" else scores[0]
    return found


def _means(values: Values, confidences: Values) -> Values:
    """The mean of what is left at each rate, least confident queries first to go; tied ones share their mean."""
    order = np.argsort(confidences, kind="stable")
    _, first, sizes = np.unique(confidences[order], return_index=True, return_counts=True)
    shared = np.repeat(np.add.reduceat(values[order], first) / sizes, sizes)
    return np.array([shared[min(round(rate * len(values)), len(values) - 1) :].mean() for rate in _RATES])


def _normalised(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """(A - flat) / (oracle - flat); NaN where no confidence could help."""
    if not len(values) or np.isnan(values).any():
        return math.nan
    confidences = _confidences(ranking, convention.confidence)
    if ranking.place is not None:
        order = np.argsort(ranking.place, kind="stable")
        values, confidences = values[order], confidences[order]
    oracle = _means(values, values)
    flat, best = oracle[0] * (_RATES[-1] - _RATES[0]), np.trapezoid(oracle, _RATES)
    if best == flat:
        return math.nan
    return float((np.trapezoid(_means(values, confidences), _RATES) - flat) / (best - flat))


for _own, _kind in (("ndcg", "NDCG"), ("map", "AP"), ("recall", "Recall"), ("precision", "P"), ("mrr", "RR")):
    _base = KINDS[_kind]
    register(Kind(
        f"nAUC_{_own}", f"how well scores tell the queries of a high {_kind}", "(area - flat) / (oracle - flat)",
        "MTEB 2.26", _base.function, _base.axes, parameters=_base.parameters, aliases=(), expected=_base.expected,
        better="", whole=_normalised,
    ))  # fmt: skip
