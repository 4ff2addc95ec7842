"""Definitions of the classic measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from tests.definitions.query import UNDEFINED, Label, Query, twin


def discount(query: Query, rank: int) -> float:
    """Return the discount factor of a rank (from 1)."""
    if query.convention.discount == "log2":
        return 1 / math.log2(1 + rank)
    if query.convention.discount == "log10":
        return 1 / math.log10(1 + rank)
    if query.convention.discount == "letor":
        return 1 / max(1.0, math.log2(rank))
    return 1 / rank


def _discount_gains(query: Query, gains: Iterable[float]) -> float:
    return sum(gain * discount(query, r) for r, gain in enumerate(gains, 1))


def best_dcg(query: Query, depth: int | None, gain: Callable[[Label], float] | None = None) -> float:
    labels = query.ranked if query.convention.ideal_source == "list" else query.judged
    gains = sorted(map(gain or query.gain, labels), reverse=True)
    return _discount_gains(query, gains[:depth])


def ideal_depth(query: Query) -> int | None:
    """Return the number of documents of the ideal ranking in NDCG@k."""
    if query.convention.ideal_depth == "none":
        return None
    if query.convention.ideal_depth == "list":
        return query.depth
    return query.cutoff


@twin("DCG")
def dcg(query: Query) -> float:
    """Sum of gain times discount over the first k."""
    if query.short and query.convention.short_lists == "zero":
        return 0.0
    return _discount_gains(query, map(query.signed_gain, query.ranked[: query.depth]))


@twin("NDCG")
@twin("nAUC_ndcg")
def ndcg(query: Query) -> float:
    """DCG over the ideal DCG; nothing to gain: undefined. A rule that zeroes short lists never looks inside them."""
    if query.short and query.convention.short_lists == "zero":
        return 0.0
    ideal = best_dcg(query, ideal_depth(query), query.signed_gain)
    if query.convention.negative_labels == "gain":
        return dcg(query) / ideal if ideal > 0 else UNDEFINED
    if query.convention.negative_labels == "label":
        labels = query.ranked if query.convention.ideal_source == "list" else query.judged
        rounding = 1e-12 * sum(abs(query.signed_gain(label)) for label in labels)
        if abs(sum(map(query.signed_gain, labels))) <= rounding:
            return UNDEFINED
        return dcg(query) / ideal if abs(ideal) > rounding else 0.0
    return dcg(query) / ideal if ideal > 0 else UNDEFINED


@twin("MeanNDCG")
def mean_ndcg(query: Query) -> float:
    """Return the mean of NDCG@1 … NDCG@n."""
    if best_dcg(query, None) == 0:
        return UNDEFINED
    at = [_discount_gains(query, query.gains[:k]) / best_dcg(query, k) for k in range(1, query.n + 1)]
    return sum(at) / query.n if query.n else 0.0


@twin("AP")
@twin("nAUC_map")
@twin("gm_map")
def ap(query: Query) -> float:
    """Precision at every relevant rank, over the number of relevant documents; undefined where there are none."""
    convention = query.convention
    if convention.ap_undefined == "cutoff" and query.hits() == 0:
        return UNDEFINED
    total = sum(query.hits(r) / r for r in query.relevant_ranks if r <= query.depth)
    over = query.all_relevant
    if convention.ap_denominator == "list":
        over = query.found_relevant
    elif convention.ap_denominator == "cutoff" and query.cutoff is not None:
        over = min(over, query.cutoff)
    elif convention.ap_denominator == "found":
        over = query.hits() or min(over, 1)
    elif convention.ap_denominator == "shortest":
        over = min([over, *([query.cutoff] if query.cutoff else []), *([query.n] if query.n else [])])
    return total / over if over else UNDEFINED


@twin("P")
@twin("nAUC_precision")
def precision(query: Query) -> float:
    """Hits over the cutoff, with the convention's word on short lists."""
    rule = query.convention.precision_denominator
    if query.n == 0 or (query.short and rule == "zero"):
        return 0.0
    return query.hits() / (query.depth if rule == "list" or query.cutoff is None else query.cutoff)


@twin("Recall")
@twin("nAUC_recall")
def recall(query: Query) -> float:
    """Hits over all relevant."""
    over = query.all_relevant
    if query.convention.recall_denominator == "cutoff" and query.cutoff is not None:
        over = min(over, query.cutoff)
    return query.hits() / over if over else UNDEFINED


@twin("Rprec")
def r_precision(query: Query) -> float:
    """Hits among the first R over R."""
    return query.hits(query.all_relevant) / query.all_relevant if query.all_relevant else UNDEFINED


@twin("RR")
@twin("nAUC_mrr")
def rr(query: Query) -> float:
    """Return 1 / rank of the first relevant document."""
    ranks = [r for r in query.relevant_ranks if r <= query.depth]
    return 1 / ranks[0] if ranks else 0.0


@twin("ERR")
def err(query: Query) -> float:
    """Expected reciprocal rank: the user stops at a document with probability (2^label - 1) / 2^top."""
    return sum(chance / r for r, chance in enumerate(stops(query), 1))


def stops(query: Query) -> list[float]:
    """Return the probability that a user stops at each document."""
    top = query.convention.err_max_grade
    if top == "data":
        top = max(query.top, *(label or 0 for label in query.ranked), 0)
    if top == "query":
        top = max([0, *query.judged])
    persistence, chances = 1.0, []
    for label in query.ranked[: query.depth]:
        grade = max(0, label or 0)
        if top == "gain":
            stop = query.gain(label)
        else:
            stop = float(grade) if top == "probability" else (2**grade - 1) / 2 ** int(top)
        chances.append(persistence * stop)
        persistence *= 1 - stop
    return chances


@twin("RBP", {"p": 0.5}, {"p": 1.0}, {"p": 0.0})
def rbp(query: Query, p: float = 0.8) -> float:
    """Rank-biased precision; a relevant document counts as 1, or as its label."""
    counts = [r for r in query.relevant_ranks if r <= query.depth]
    worth = [query.ranked[r - 1] or 0 if query.convention.rbp_gain == "label" else 1 for r in counts]
    return (1 - p) * sum(w * p ** (r - 1) for w, r in zip(worth, counts, strict=True))


@twin("Bpref")
def bpref(query: Query) -> float:
    """Return bpref as trec_eval, or 0 without judged non-relevant documents (trectools)."""
    rule, negative = query.convention.bpref_no_nonrelevant, query.convention.bpref_negative_labels
    if negative != "ignore":
        listed = query.convention.relevance_threshold if negative == "hit" else 0
        query.ranked = [listed if label is not None and label < 0 else label for label in query.ranked]
        query.judged = [max(label, 0) for label in query.judged]
    if rule == "undefined" and not query.all_relevant:
        return 0.0
    if rule != "one" and query.all_relevant and not any(map(query.nonrelevant, query.judged)):
        return UNDEFINED if rule == "undefined" and query.found_relevant else 0.0
    return trec_bpref(query)


@twin("gm_bpref")
def trec_bpref(query: Query) -> float:
    """1/R Σ over retrieved relevant documents of 1 - min(judged non-relevant above, R) / min(R, N).

    A judgement below 0 is no judgement (trec_eval 9). Without a judged non-relevant document above, the term is 1.
    """
    relevant = query.all_relevant
    if relevant == 0:
        return UNDEFINED
    others = sum(map(query.nonrelevant, query.judged))
    above, total = 0, 0.0
    for label in query.ranked:
        if query.relevant(label):
            total += 1 - min(above, relevant) / min(relevant, others) if above else 1.0
        above += query.nonrelevant(label)
    return total / relevant


@twin("Success")
def success(query: Query) -> float:
    """1 where the first k hold a relevant document."""
    return float(query.hits() > 0)


@twin("Hits")
def relevant_in_top_k(query: Query) -> float:
    """Relevant documents among the first k."""
    return float(query.hits())


@twin("F1", {"beta": 2.0})
def f_measure(query: Query, beta: float = 1.0) -> float:
    """Return the weighted harmonic mean of precision and recall."""
    p, r = precision(query), query.hits() / query.all_relevant if query.all_relevant else UNDEFINED
    if math.isnan(r):
        return UNDEFINED
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p and r else 0.0


@twin("num_ret")
def num_ret(query: Query) -> float:
    """Return the length of the list."""
    return float(query.n)


@twin("num_rel")
def num_rel(query: Query) -> float:
    """Relevant documents among all judged."""
    return float(query.all_relevant)


@twin("num_rel_ret")
def num_rel_ret(query: Query) -> float:
    """Relevant documents in the list."""
    return float(query.found_relevant)
