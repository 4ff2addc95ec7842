"""Does a system know when it is right? MTEB's nAUC: how the mean of a measure grows as unsure queries are left out.

The confidence in a query is the largest of its scores, their standard deviation, or how far the first is ahead of the
second. For rates 0, 0.1 … 0.9 that share of the least confident queries is left out; the area under the means, above
that of a flat line, is taken over the area that the measure itself as confidence would give.
"""

from __future__ import annotations

import math

import numpy as np

from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import KINDS, Kind, Measure, Values, register
from pippin.evaluation.ranking import Ranking

_RATES = [step / 10 for step in range(10)]


def _confidences(ranking: Ranking, how: str) -> Values:
    """By query, from its scores in rank order; 0 where nothing was retrieved."""
    found = np.zeros(len(ranking.query_ids))
    for q, (first, last) in enumerate(zip(ranking.offsets[:-1], ranking.offsets[1:], strict=True)):
        scores = np.sort(ranking.scores[first:last])[::-1]
        if how == "std":
            found[q] = np.std(scores) if len(scores) else 0.0
        elif len(scores):
            found[q] = (scores[0] - scores[min(1, len(scores) - 1)]) if how == "diff1" else scores[0]
    return found


def _area(values: Values, confidences: Values) -> float:
    """The area under the means of what is left, least confident queries first to go; tied ones share their mean."""
    order = np.argsort(confidences, kind="stable")
    ordered = values[order]
    _, group = np.unique(confidences[order], return_inverse=True)
    shared = (np.bincount(group, ordered) / np.bincount(group))[group]
    left = [shared[min(round(rate * len(values)), len(values) - 1) :].mean() for rate in _RATES]
    return float(np.trapezoid(left, _RATES))


def _normalised(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """(A - flat) / (oracle - flat); NaN where no confidence could help."""
    if not len(values) or np.isnan(values).any():
        return math.nan
    flat = float(values.mean()) * (_RATES[-1] - _RATES[0])
    best = _area(values, values)
    if best == flat:
        return math.nan
    return (_area(values, _confidences(ranking, convention.confidence)) - flat) / (best - flat)


for _own, _kind in (("ndcg", "NDCG"), ("map", "AP"), ("recall", "Recall"), ("precision", "P"), ("mrr", "RR")):
    _base = KINDS[_kind]
    register(Kind(
        f"nAUC_{_own}", f"how well scores tell the queries of a high {_kind}", "(area - flat) / (oracle - flat)",
        "MTEB 2.26", _base.function, _base.axes, parameters=_base.parameters, aliases=(), expected=_base.expected,
        better="", whole=_normalised,
    ))  # fmt: skip
