"""Extremes of a measure over the labels of unjudged documents.

A `Query` holds the judged and unjudged documents of one query in one run or two. It gives the value of a measure, or of
the difference of the runs, under any labels of the unjudged documents; the kernel that evaluates rankings computes it.
`extremes` finds the lowest and the highest value, with one search per measure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.data.qrels import Qrels, Run
from pippin.errors import ConventionError
from pippin.evaluation.convention import AXES, DETERMINISTIC_TIES, Convention
from pippin.evaluation.evaluation import measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.rank import drop_query_document, rank
from pippin.evaluation.ranking import Ranking
from pippin.kernels.measures import UNJUDGED
from pippin.kernels.ranking import order_lists

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

NOT_RETRIEVED = ""  # the id of an extra document that no run has

# Bounds assume that a label, once known, enters the list and the pool unchanged. Axis → supported values, and why
# others are not supported.
_SUPPORTED: dict[str, tuple[tuple[object, ...], str]] = {
    "negative_labels": (("zero",), "a label below 0 would be worth less than no label"),
    "ties": (
        tuple(t for t in AXES["ties"].values if t != "topk-of-all"),
        "documents of other queries fill up the list",
    ),
    "unjudged_documents": (("zero",), "an unjudged document already has a place, or none, of its own"),
    "score_floor": (("none",), "what a label counts hangs on the score"),
    "relevance_rule": (("fixed",), "one label moves the level from which all others are relevant"),
    "unretrieved_relevant": (("leave",), "a label puts documents behind the list"),
    "pool_source": (("judged",), "what is relevant and was not retrieved is not known"),
    "zero_values": (("keep",), "a query counts under some labels and not under others"),
    "max_valid_label": ((None,), "a higher label can count less than a lower one"),
    "query_selection": (("both", "judged", "run"), "a query counts under some labels and not under others"),
    "all_relevant_lists": (("keep",), "a query counts under some labels and not under others"),
    "averaging": (("queries", "or-zero"), "a query's share of the mean hangs on its labels"),
}


@dataclass(frozen=True)
class RankedList:
    """One system's list for a query in rank order."""

    labels: I32  # UNJUDGED for unjudged documents
    ranks: I64  # rank of each unjudged document of the query, from 1; 0: not in this list


@dataclass(frozen=True)
class Query:
    """One query with its unjudged documents: those of the first run in rank order, then those of the second alone."""

    name: str
    lists: tuple[RankedList, ...]
    pool: I32
    unjudged: tuple[str, ...]  # NOT_RETRIEVED for those that no run has
    max_label: int  # highest label of an unjudged document
    measure: Measure
    convention: Convention

    def of_list(self, system: int, labels: I32) -> F64:
        """Return the measure of one system's list under each row of labels of the unjudged documents."""
        ranked, count = self.lists[system], len(labels)
        filled = np.tile(ranked.labels, (count, 1))
        is_listed = ranked.ranks > 0
        filled[:, ranked.ranks[is_listed] - 1] = labels[:, is_listed]
        pools = np.concatenate((np.tile(self.pool, (count, 1)), labels), axis=1)
        if max(self.max_label, int(np.abs(self.pool).max(initial=0))) < np.iinfo(np.int16).max:
            pools = pools.astype(np.int16)  # radix sort, many times as fast
        pools = (-np.sort(-pools, axis=1, kind="stable")).astype(np.int32)
        ranking = Ranking(
            (self.name,) * count, filled.ravel(), np.arange(count + 1) * filled.shape[1],
            np.zeros(filled.size, np.uint8), pools.ravel(), np.arange(count + 1) * pools.shape[1], False,
            max_label=max(self.max_label, int(self.pool.max(initial=0))),
        )  # fmt: skip
        values = measure_values(ranking, self.measure, self.convention)
        if len(self.unjudged) and np.isnan(values).any():
            raise ConventionError(
                f"query {self.name} is evaluated only under some labels of its unjudged documents; "
                "set a value for queries without relevant documents, as in NDCG(empty=0)@10"
            )
        return values

    def value(self, labels: I32) -> F64:
        """Return the measure, or the difference first − second, under each row of labels."""
        first = self.of_list(0, labels)
        return first - self.of_list(1, labels) if len(self.lists) == 2 else first

    @cached_property
    def n_unjudged(self) -> int:
        """Number of unjudged documents in the runs."""
        return sum(document != NOT_RETRIEVED for document in self.unjudged)

    @cached_property
    def all_irrelevant(self) -> I32:
        """One row of labels under which no unjudged document is relevant."""
        return np.zeros((1, len(self.unjudged)), np.int32)


def remove_rounding(convention: Convention, qrels: Qrels) -> Convention:
    """Return the convention without rounding; raise ConventionError if bounds do not support it."""
    if qrels.labels.min(initial=0) >= 0:
        convention = convention.replace(negative_labels="zero")
    for axis, (allowed, reason) in _SUPPORTED.items():
        if getattr(convention, axis) not in allowed:
            raise ConventionError(f"bounds do not support {axis}={getattr(convention, axis)}: {reason}")
    return convention.replace(value_rounding="float64", mean_digits=None)


def queries_of(
    qrels: Qrels,
    runs: Sequence[Run],
    measure: Measure,
    convention: Convention,
    max_label: int,
    depth: int | None,
    extra_relevant: int,
) -> list[Query]:
    """Return the evaluated queries with the unjudged documents among the first `depth` of any run.

    `extra_relevant` adds that many documents per query that no run has.
    """
    convention = remove_rounding(convention, qrels)
    if convention.err_max_grade == "data":
        convention = convention.replace(err_max_grade=max(max_label, int(qrels.labels.max(initial=0))))
    if convention.self_retrieval == "drop":
        runs, convention = [drop_query_document(run) for run in runs], convention.replace(self_retrieval="keep")
    rankings = [rank(qrels, run, convention) for run in runs]
    evaluated = [dict.fromkeys(ranking.query_ids) for ranking in rankings]
    lists = [_documents_in_order(run, ranking, convention) for run, ranking in zip(runs, rankings, strict=True)]
    positions = {query: i for i, query in enumerate(qrels.query_ids)}
    queries = []
    for name in dict.fromkeys(query for names in evaluated for query in names):
        if not all(name in names for names in evaluated):
            raise ConventionError(f"query {name} is evaluated for one run only; a difference needs both")
        labels: dict[str, int] = {}
        if name in positions:
            start, stop = qrels.offsets[positions[name] : positions[name] + 2].tolist()
            labels = dict(zip(qrels.document_ids.slice(start, stop), qrels.labels[start:stop].tolist(), strict=True))
        documents = [by_query.get(name, []) for by_query in lists]
        unjudged = tuple(dict.fromkeys(d for ranked in documents for d in ranked[:depth] if d not in labels))
        unjudged += (NOT_RETRIEVED,) * extra_relevant
        ranked_lists = tuple(_ranked_list(ranked, labels, unjudged) for ranked in documents)
        pool = np.array(sorted(labels.values(), reverse=True), np.int32)
        queries.append(Query(name, ranked_lists, pool, unjudged, max_label, measure, convention))
    return queries


def _ranked_list(documents: list[str], labels: dict[str, int], unjudged: tuple[str, ...]) -> RankedList:
    ranks = {document: r for r, document in enumerate(documents, 1) if document != NOT_RETRIEVED}
    return RankedList(
        np.array([labels.get(d, UNJUDGED) for d in documents], np.int32),
        np.array([ranks.get(d, 0) for d in unjudged], np.int64),
    )


def _documents_in_order(run: Run, ranking: Ranking, convention: Convention) -> dict[str, list[str]]:
    """Return query → documents in rank order."""
    ties = convention.ties
    if convention.list_order == "given":
        rows = np.arange(len(run.scores))
    else:
        if ties not in DETERMINISTIC_TIES:
            _refuse_ties(ranking, run.name, ties)
            ties = "input"
        ids = run.document_ids if ties.startswith("id-") else None
        float32 = convention.score_precision == "float32"
        rows = order_lists(run.scores, np.zeros(len(run.scores), np.int32), run.offsets, ids, ties, float32)
    return {
        query: list(run.document_ids.take(rows[run.offsets[q] : run.offsets[q + 1]]))
        for q, query in enumerate(run.query_ids)
    }


def _refuse_ties(ranking: Ranking, name: str, ties: str) -> None:
    """Raise ConventionError if an unjudged document is tied: without an order its rank is undefined."""
    unjudged = np.diff(np.append(0, np.cumsum(ranking.labels == UNJUDGED))[ranking.offsets])
    both = ranking.tied_queries() & (unjudged > 0)
    if both.any():
        query = ranking.query_ids[int(np.flatnonzero(both)[0])]
        raise ConventionError(
            f"{name} has tied documents in query {query}, and ties={ties} does "
            "not order them, which bounds need; use a tool that does (trec_eval9), or NDCG(ties=input)@10"
        )


MAX_ENUMERATED = 10  # unjudged documents up to which all subsets are enumerated


@dataclass(frozen=True)
class Extremes:
    """Lowest and highest value of a query, with labels that reach them (or, if not exact, come close)."""

    low: float
    high: float
    low_labels: I32
    high_labels: I32
    exact: bool = True


Finder = Callable[[Query], Extremes]


def extremes(query: Query) -> Extremes:
    """Return the lowest and highest value of a query over all labels of its unjudged documents."""
    finder = FINDERS.get(query.measure.kind)
    if finder is None:
        raise ConventionError(f"bounds support only {', '.join(sorted(FINDERS))}, got {query.measure}")
    if query.unjudged:
        return finder(query)
    value = float(query.value(query.all_irrelevant)[0])
    return Extremes(value, value, query.all_irrelevant[0], query.all_irrelevant[0])


def _needs(query: Query, axis: str, *allowed: object) -> None:
    if getattr(query.convention, axis) not in allowed:
        raise ConventionError(f"bounds of {query.measure} do not support {axis}={getattr(query.convention, axis)}")


def _among(query: Query, candidates: I32) -> Extremes:
    """Return the extremes among rows of labels."""
    values = query.value(candidates)
    low, high = int(values.argmin()), int(values.argmax())
    return Extremes(float(values[low]), float(values[high]), candidates[low], candidates[high])


def _cutoff(query: Query) -> float:
    return query.measure.cutoff if query.measure.cutoff and query.convention.apply_cutoff else np.inf


def _weights(query: Query, weigh: Callable[[I64, int], F64]) -> F64:
    """Return the weight of each unjudged document: of its rank in the first list minus that in the second."""
    signs = (1.0, -1.0)
    weights = np.zeros(len(query.unjudged))
    for sign, listed in zip(signs, query.lists, strict=False):
        is_above = (listed.ranks > 0) & (listed.ranks <= _cutoff(query))
        weights[is_above] += sign * weigh(listed.ranks[is_above], len(listed.labels))
    return weights


def _by_weight(query: Query, weights: F64) -> Extremes:
    """Return the extremes of a measure that is a weighted sum over documents."""
    top = np.int32(query.max_label)
    return _among(query, np.stack([np.where(weights < 0, top, 0), np.where(weights > 0, top, 0)]).astype(np.int32))


def _dcg(query: Query) -> Extremes:
    _needs(query, "short_lists", "keep")
    _growing(query)
    return _by_weight(query, _weights(query, lambda ranks, _: _discounts(query)[ranks - 1]))


def _p(query: Query) -> Extremes:
    def share(ranks: I64, size: int) -> F64:
        places = min(_cutoff(query), size) if query.convention.precision_denominator == "list" else _cutoff(query)
        short = query.convention.precision_denominator == "zero" and size < _cutoff(query)
        return np.full(len(ranks), 0.0 if short else 1 / (places if np.isfinite(places) else size))

    return _by_weight(query, _weights(query, share))


def _rbp(query: Query) -> Extremes:
    p = query.measure.parameter("p")
    return _by_weight(query, _weights(query, lambda ranks, _: np.power(p, ranks - 1, dtype=np.float64)))


def _rr(query: Query) -> Extremes:
    top = query.max_label * np.eye(len(query.unjudged), dtype=np.int32)
    return _among(query, np.concatenate((query.all_irrelevant, top)))


def _subsets(count: int, top: int) -> I32:
    """Return all assignments of 0 or the top label to `count` documents, one row each."""
    return (top * ((np.arange(1 << count)[:, None] >> np.arange(count)) & 1)).astype(np.int32)


def _err(query: Query) -> Extremes:
    if query.convention.err_max_grade == "query":
        raise ConventionError("bounds of ERR need a top grade for all queries, as in ERR(err_max_grade=4)")
    inside = [(listed.ranks > 0) & (listed.ranks <= _cutoff(query)) for listed in query.lists]
    top = np.int32(query.max_label)
    if len(inside) == 1:
        return _among(query, np.concatenate((query.all_irrelevant, query.all_irrelevant + top)))
    shared = np.flatnonzero(inside[0] & inside[1])
    high, low = (np.where(here & ~there, top, 0).astype(np.int32) for here, there in (inside, inside[::-1]))
    if len(shared) <= MAX_ENUMERATED:
        subsets = _subsets(len(shared), query.max_label)
        candidates = np.concatenate([np.tile(ends, (len(subsets), 1)) for ends in (low, high)])
        candidates[:, shared] = np.concatenate((subsets, subsets))
        return _among(query, candidates)
    with_shared = high.copy(), low.copy()
    for labels in with_shared:
        labels[shared] = top
    ends = np.stack([high, low, *with_shared])
    first, second = query.of_list(0, ends), query.of_list(1, ends)
    return Extremes(float(first[1] - second[3]), float(first[2] - second[0]), low, high, exact=False)


def _first(ranks: I64, top: int) -> tuple[I32, I32]:
    """Return rows in which the 0, 1, …, u earliest documents are relevant, and rows in which the latest are."""
    position = np.argsort(np.argsort(np.where(ranks > 0, ranks, np.iinfo(np.int64).max), kind="stable"), kind="stable")
    counts = np.arange(len(ranks) + 1)[:, None]
    return tuple((top * which).astype(np.int32) for which in (position < counts, position >= len(ranks) - counts))  # type: ignore[return-value]


def _ap(query: Query) -> Extremes:
    _needs(query, "ap_denominator", "judged", "cutoff", "shortest")
    _needs(query, "ap_undefined", "pool")
    rows = [_first(listed.ranks, query.max_label) for listed in query.lists]
    if len(rows) == 1:
        return _among(query, np.concatenate(rows[0]))
    if len(query.unjudged) <= MAX_ENUMERATED:
        return _among(query, _subsets(len(query.unjudged), query.max_label))
    # With m relevant unjudged documents both lists divide by the same number, so each m can be bounded on its own.
    (early, late), (other_early, other_late) = rows
    high = query.of_list(0, early) - query.of_list(1, other_late)
    low = query.of_list(0, late) - query.of_list(1, other_early)
    ahead = _weights(query, lambda ranks, _: 1.0 / ranks)
    near = _by_weight(query, ahead)
    return Extremes(float(low.min()), float(high.max()), near.low_labels, near.high_labels, exact=False)


def _growing(query: Query) -> F64:
    """Return the gain per label; raise ConventionError unless gains grow from 0."""
    top = max(query.max_label, int(query.pool.max(initial=0)))
    gains = query.convention.gains(top, top)
    if gains[0] != 0 or (np.diff(gains) < 0).any():
        raise ConventionError(f"bounds of {query.measure} need gains that start at 0 and grow with the label")
    return gains


def _discounts(query: Query) -> F64:
    depth = max((len(listed.labels) for listed in query.lists), default=0) + len(query.pool) + len(query.unjudged)
    multipliers, divisors = query.convention.discounts(depth)
    return multipliers / divisors


@dataclass(frozen=True)
class _Ratio:
    """NDCG by layers of grades.

    With n_t unjudged documents of grade t or more, taken in descending order of weight, NDCG is
    (base + Σ_t step_t · weight of the first n_t) / (ideal + Σ_t step_t · S(judged_t + n_t)), where S(n) is the sum of
    the first n discounts and judged_t the number of judged documents of grade t or more.
    """

    base: float
    weights: F64
    steps: F64  # gain of grade t above that of t - 1, t = 1 … G
    ideal_sums: F64  # [t, n] → S(judged_t + n)
    ideal: float  # of the layers above G

    def best_labels(self) -> I32:
        """Return the labels with the highest ratio, by Dinkelbach's method: maximise numerator − ratio · ideal."""
        order = np.argsort(-self.weights, kind="stable")
        sums = np.concatenate(([0.0], np.cumsum(self.weights[order])))
        counts = np.full(len(self.steps), len(order))
        ratio = self._ratio(counts, sums)
        while True:
            gain, better = self._best_counts(ratio, sums)
            if gain <= 1e-13 * max(1.0, abs(self.base)) or self._ratio(better, sums) <= ratio:
                break
            counts, ratio = better, self._ratio(better, sums)
        labels = np.zeros(len(order), np.int32)
        labels[order] = (counts[:, None] > np.arange(len(order))).sum(0)
        return labels

    def _ratio(self, counts: I64, sums: F64) -> float:
        grades = np.arange(len(counts))
        numerator = self.base + self.steps @ sums[counts]
        return float(numerator / (self.ideal + self.steps @ self.ideal_sums[grades, counts]))

    def _best_counts(self, ratio: float, sums: F64) -> tuple[float, I64]:
        """Return the maximum of numerator − ratio · ideal and its counts, which fall from grade to grade."""
        parts = self.steps[:, None] * (sums - ratio * self.ideal_sums)
        for grade in range(len(parts) - 2, -1, -1):
            parts[grade] += np.maximum.accumulate(parts[grade + 1])
        counts, limit = np.empty(len(parts), np.int64), parts.shape[1]
        for grade, row in enumerate(parts):
            counts[grade] = int(row[:limit].argmax())
            limit = counts[grade] + 1
        total = self.base - ratio * self.ideal + float(parts[0].max())
        return total, counts


def _ndcg(query: Query) -> Extremes:
    _needs(query, "ideal_source", "judged")
    _needs(query, "short_lists", "keep")
    _needs(query, "ideal_depth", *(("cutoff", "none") if len(query.lists) == 2 else ("cutoff", "none", "list")))
    steps, discounts = np.diff(_growing(query)), _discounts(query)
    depth = np.inf if query.convention.ideal_depth == "none" else _cutoff(query)
    if query.convention.ideal_depth == "list":
        depth = min(depth, len(query.lists[0].labels))
    sums = np.concatenate(([0.0], np.cumsum(np.where(np.arange(len(discounts)) < depth, discounts, 0.0))))
    counts = np.array([(query.pool >= grade).sum() for grade in range(1, len(steps) + 1)], np.int64)
    top = query.max_label
    base = 0.0
    for sign, listed in zip((1.0, -1.0), query.lists, strict=False):
        labels = listed.labels[: int(min(_cutoff(query), len(listed.labels)))]
        base += sign * float(
            np.concatenate(([0.0], np.cumsum(steps)))[np.maximum(labels, 0)] @ discounts[: len(labels)]
        )
    weights = _weights(query, lambda ranks, _: discounts[ranks - 1])
    ideal_sums = sums[counts[:top, None] + np.arange(len(query.unjudged) + 1)]
    above = float(steps[top:] @ sums[counts[top:]])
    candidates = [_Ratio(s * base, s * weights, steps[:top], ideal_sums, above).best_labels() for s in (-1.0, 1.0)]
    return _among(query, np.concatenate((query.all_irrelevant, np.stack(candidates))))


FINDERS: dict[str, Finder] = {"AP": _ap, "DCG": _dcg, "ERR": _err, "NDCG": _ndcg, "P": _p, "RBP": _rbp, "RR": _rr}
