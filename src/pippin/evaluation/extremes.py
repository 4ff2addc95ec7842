"""Which labels of the unjudged documents make a measure, or a difference of two systems, least and greatest?

All labels of u documents on a scale of G + 1 grades are (G + 1)^u; the measures have structure that leaves few:

- P, DCG, RBP add up over documents: each takes the end of the scale that its weight asks for.
- RR is the best of its documents': one relevant document, or none, reaches the extremes of a difference.
- ERR grows with every label. A difference is linear in each document's chance to stop the user, so that its extremes
  lie where every label is 0 or the top; those of documents in one list alone are clear, the others are tried.
- AP with a given number of relevant documents is greatest with the earliest and least with the latest of them.
- NDCG is Σ w·gain over the ideal, in which the documents count, too. Written by layers of grades, the ideal depends
  only on how many documents reach each grade, so that for each grade the first documents by weight are taken; how many
  is found exactly by Dinkelbach's iteration with a dynamic programme over the grades. Differences share the ideal.

Where a difference of AP or ERR has more open documents than can be tried, the bound is an outer one: it holds, and
`exact` is False.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pippin.errors import ConventionError
from pippin.evaluation.holes import F64, I32, I64, Query

TRIED = 10  # open documents of which all subsets are tried


@dataclass(frozen=True)
class Extremes:
    """The least and the greatest value of a query, with labels that reach them (or, if not exact, come near)."""

    low: float
    high: float
    least: I32
    most: I32
    exact: bool = True


Finder = Callable[[Query], Extremes]


def extremes(query: Query) -> Extremes:
    """The least and the greatest value of one query over all labels of its open documents."""
    finder = FINDERS.get(query.measure.kind)
    if finder is None:
        raise ConventionError(f"bounds are known for {', '.join(sorted(FINDERS))}, not for {query.measure}")
    if query.open:
        return finder(query)
    value = float(query.value(query.none)[0])
    return Extremes(value, value, query.none[0], query.none[0])


def _needs(query: Query, axis: str, *allowed: object) -> None:
    if getattr(query.convention, axis) not in allowed:
        raise ConventionError(f"bounds of {query.measure} are not known for {axis}={getattr(query.convention, axis)}")


def _among(query: Query, candidates: I32) -> Extremes:
    """The extremes among rows of labels."""
    values = query.value(candidates)
    low, high = int(values.argmin()), int(values.argmax())
    return Extremes(float(values[low]), float(values[high]), candidates[low], candidates[high])


def _cutoff(query: Query) -> float:
    return query.measure.cutoff if query.measure.cutoff and query.convention.cut else np.inf


def _signed(query: Query, weigh: Callable[[I64, int], F64]) -> F64:
    """The weight of each open document: by its rank in the first list, less that in the second."""
    signs = (1.0, -1.0)
    weights = np.zeros(len(query.open))
    for sign, listed in zip(signs, query.lists, strict=False):
        here = (listed.ranks > 0) & (listed.ranks <= _cutoff(query))
        weights[here] += sign * weigh(listed.ranks[here], len(listed.labels))
    return weights


def _by_weight(query: Query, weights: F64) -> Extremes:
    """Of a measure that adds up over documents."""
    top = np.int32(query.largest)
    return _among(query, np.stack([np.where(weights < 0, top, 0), np.where(weights > 0, top, 0)]).astype(np.int32))


def _dcg(query: Query) -> Extremes:
    _needs(query, "short", "keep")
    _growing(query)
    return _by_weight(query, _signed(query, lambda ranks, _: _discounts(query)[ranks - 1]))


def _p(query: Query) -> Extremes:
    def share(ranks: I64, size: int) -> F64:
        places = min(_cutoff(query), size) if query.convention.short_precision == "list" else _cutoff(query)
        short = query.convention.short_precision == "zero" and size < _cutoff(query)
        return np.full(len(ranks), 0.0 if short else 1 / (places if np.isfinite(places) else size))

    return _by_weight(query, _signed(query, share))


def _rbp(query: Query) -> Extremes:
    p = query.measure.parameter("p")
    return _by_weight(query, _signed(query, lambda ranks, _: np.power(p, ranks - 1, dtype=np.float64)))


def _rr(query: Query) -> Extremes:
    top = query.largest * np.eye(len(query.open), dtype=np.int32)
    return _among(query, np.concatenate((query.none, top)))


def _subsets(count: int, top: int) -> I32:
    """Every choice of 0 or the top label for each of some documents, a row each."""
    return (top * ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1)).astype(np.int32)


def _err(query: Query) -> Extremes:
    if query.convention.err_top == "query":
        raise ConventionError("bounds of ERR need a top grade for all queries, as in ERR(err_top=4)")
    inside = [(listed.ranks > 0) & (listed.ranks <= _cutoff(query)) for listed in query.lists]
    top = np.int32(query.largest)
    if len(inside) == 1:
        return _among(query, np.concatenate((query.none, query.none + top)))
    shared = np.flatnonzero(inside[0] & inside[1])
    high, low = (np.where(mine & ~other, top, 0).astype(np.int32) for mine, other in (inside, inside[::-1]))
    if len(shared) <= TRIED:
        tried = _subsets(len(shared), query.largest)
        candidates = np.concatenate([np.tile(ends, (len(tried), 1)) for ends in (low, high)])
        candidates[:, shared] = np.concatenate((tried, tried))
        return _among(query, candidates)
    with_shared = high.copy(), low.copy()
    for labels in with_shared:
        labels[shared] = top
    ends = np.stack([high, low, *with_shared])
    first, second = query.of_list(0, ends), query.of_list(1, ends)
    return Extremes(float(first[1] - second[3]), float(first[2] - second[0]), low, high, exact=False)


def _first(ranks: I64, top: int) -> tuple[I32, I32]:
    """Rows in which the 0, 1, …, u earliest documents are relevant, and rows in which the latest are."""
    place = np.argsort(np.argsort(np.where(ranks > 0, ranks, np.iinfo(np.int64).max), kind="stable"), kind="stable")
    counts = np.arange(len(ranks) + 1)[:, None]
    return tuple((top * which).astype(np.int32) for which in (place < counts, place >= len(ranks) - counts))  # type: ignore[return-value]


def _ap(query: Query) -> Extremes:
    _needs(query, "ap_denominator", "judged", "cutoff", "shortest")
    _needs(query, "ap_undefined", "pool")
    rows = [_first(listed.ranks, query.largest) for listed in query.lists]
    if len(rows) == 1:
        return _among(query, np.concatenate(rows[0]))
    if len(query.open) <= TRIED:
        return _among(query, _subsets(len(query.open), query.largest))
    # With m relevant among the open documents both lists divide by the same number, so that each m can be held alone.
    (early, late), (other_early, other_late) = rows
    high = query.of_list(0, early) - query.of_list(1, other_late)
    low = query.of_list(0, late) - query.of_list(1, other_early)
    ahead = _signed(query, lambda ranks, _: 1.0 / ranks)
    near = _by_weight(query, ahead)
    return Extremes(float(low.min()), float(high.max()), near.least, near.most, exact=False)


def _growing(query: Query) -> F64:
    """Gain by label, which must grow from 0."""
    top = max(query.largest, int(query.pool.max(initial=0)))
    gains = query.convention.gains(top, top)
    if gains[0] != 0 or (np.diff(gains) < 0).any():
        raise ConventionError(f"bounds of {query.measure} need gains that grow from 0 with the label")
    return gains


def _discounts(query: Query) -> F64:
    depth = max((len(listed.labels) for listed in query.lists), default=0) + len(query.pool) + len(query.open)
    multipliers, divisors = query.convention.discounts(depth)
    return multipliers / divisors


@dataclass(frozen=True)
class _Ratio:
    """NDCG by layers of grades: with n_t open documents of grade t or more, chosen first by weight, it is
    (base + Σ_t step_t · weight of the first n_t) / (ideal + Σ_t step_t · S(have_t + n_t)), S(n) the discounts to n.
    """

    base: float
    weights: F64
    steps: F64  # gain of grade t above that of t - 1, t = 1 … G
    held: F64  # [t, n] → S(have_t + n)
    ideal: float  # of the layers above G

    def greatest(self) -> I32:
        """Labels under which the ratio is greatest, of those that have an ideal above 0."""
        order = np.argsort(-self.weights, kind="stable")
        sums = np.concatenate(([0.0], np.cumsum(self.weights[order])))
        counts = np.full(len(self.steps), len(order))
        ratio = self._ratio(counts, sums)
        while True:
            gain, better = self._improved(ratio, sums)
            if gain <= 1e-13 * max(1.0, abs(self.base)) or self._ratio(better, sums) <= ratio:
                break
            counts, ratio = better, self._ratio(better, sums)
        labels = np.zeros(len(order), np.int32)
        labels[order] = (counts[:, None] > np.arange(len(order))).sum(0)
        return labels

    def _ratio(self, counts: I64, sums: F64) -> float:
        grades = np.arange(len(counts))
        return float((self.base + self.steps @ sums[counts]) / (self.ideal + self.steps @ self.held[grades, counts]))

    def _improved(self, ratio: float, sums: F64) -> tuple[float, I64]:
        """The counts, falling from grade to grade, under which numerator − ratio · ideal is greatest, and that."""
        parts = self.steps[:, None] * (sums - ratio * self.held)
        for grade in range(len(parts) - 2, -1, -1):
            parts[grade] += np.maximum.accumulate(parts[grade + 1])
        counts, most = np.empty(len(parts), np.int64), parts.shape[1]
        for grade, row in enumerate(parts):
            counts[grade] = int(row[:most].argmax())
            most = counts[grade] + 1
        total = self.base - ratio * self.ideal + float(parts[0].max())
        return total, counts


def _ndcg(query: Query) -> Extremes:
    _needs(query, "ideal", "judged")
    _needs(query, "short", "keep")
    _needs(query, "ideal_cut", *(("cutoff", "none") if len(query.lists) == 2 else ("cutoff", "none", "list")))
    steps, discounts = np.diff(_growing(query)), _discounts(query)
    depth = np.inf if query.convention.ideal_cut == "none" else _cutoff(query)
    if query.convention.ideal_cut == "list":
        depth = min(depth, len(query.lists[0].labels))
    sums = np.concatenate(([0.0], np.cumsum(np.where(np.arange(len(discounts)) < depth, discounts, 0.0))))
    have = np.array([(query.pool >= grade).sum() for grade in range(1, len(steps) + 1)], np.int64)
    top = query.largest
    base = 0.0
    for sign, listed in zip((1.0, -1.0), query.lists, strict=False):
        seen = listed.labels[: int(min(_cutoff(query), len(listed.labels)))]
        base += sign * float(np.concatenate(([0.0], np.cumsum(steps)))[np.maximum(seen, 0)] @ discounts[: len(seen)])
    weights = _signed(query, lambda ranks, _: discounts[ranks - 1])
    held = sums[have[:top, None] + np.arange(len(query.open) + 1)]
    above = float(steps[top:] @ sums[have[top:]])
    found = [_Ratio(s * base, s * weights, steps[:top], held, above).greatest() for s in (-1.0, 1.0)]
    return _among(query, np.concatenate((query.none, np.stack(found))))


FINDERS: dict[str, Finder] = {"AP": _ap, "DCG": _dcg, "ERR": _err, "NDCG": _ndcg, "P": _p, "RBP": _rbp, "RR": _rr}
