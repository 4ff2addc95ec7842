"""Definitions of the measures that only trec_eval 9 and 10 print."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.definitions.query import UNDEFINED, Query, twin


def over(a: float, b: float, otherwise: float = UNDEFINED) -> float:
    return a / b if b else otherwise


def precision(query: Query, rank: int) -> float:
    return over(query.hits(rank), rank, 0.0)


@twin("iprec_at_recall", {"recall": 0.3}, {"recall": 1.0})
def interpolated_precision(query: Query, recall: float = 0.0) -> float:
    """Return the best precision at or below the rank that reaches a recall level, 0 if none does."""
    share = recall * query.all_relevant
    needed = math.floor(share + 0.5) if query.convention.recall_level_rounding == "nearest" else int(share + 0.9)
    return max((precision(query, r) for r in range(1, query.n + 1) if query.hits(r) >= needed), default=0.0)


@twin("11pt_avg")
def eleven_points(query: Query) -> float:
    """Interpolated precision averaged over eleven recall levels."""
    return sum(interpolated_precision(query, i / 10) for i in range(11)) / 11


@twin("Rprec_mult", {"multiple": 0.4}, {"multiple": 2.0})
def r_precision_multiple(query: Query, multiple: float = 1.0) -> float:
    """Precision at a multiple of R, rounded up."""
    return precision(query, int(multiple * query.all_relevant + 0.9))


@twin("relative_P")
def relative_precision(query: Query) -> float:
    """Hits over the most there could be."""
    depth = query.n if query.cutoff is None else query.cutoff
    if not query.all_relevant:
        return UNDEFINED
    return over(query.hits(), min(depth, query.all_relevant), 0.0)


@twin("set_map")
def set_map(query: Query) -> float:
    """Precision times recall of the set."""
    if not query.all_relevant:
        return UNDEFINED
    return over(query.found_relevant**2, query.n * query.all_relevant, 0.0)


@twin("set_F", {"weight": 3.0}, {"weight": 0.0})
def set_f(query: Query, weight: float = 1.0) -> float:
    """Return the weighted harmonic mean of set precision and set recall."""
    if not query.all_relevant:
        return UNDEFINED
    return (
        (weight + 1) * query.found_relevant / (weight * query.all_relevant + query.n) if query.found_relevant else 0.0
    )


@twin("utility", {"a": 3.0, "b": -2.0, "c": -1.0, "d": 0.5, "collection": 100.0})
def utility(
    query: Query, a: float = 1.0, b: float = -1.0, c: float = 0.0, d: float = 0.0, collection: float = 0.0
) -> float:
    """Return the weighted sum of relevant and non-relevant documents, retrieved or not."""
    result, missed = query.found_relevant, query.all_relevant - query.found_relevant
    in_vain = query.n - result
    return a * result + b * in_vain + c * missed + d * (int(collection) - result - in_vain - missed)


@twin("binG")
def binary_g(query: Query) -> float:
    """Mean over relevant documents of 1 / log2(2 + documents above that are not relevant)."""
    total = sum(1 / math.log2(2 + r - query.hits(r)) for r in query.relevant_ranks)
    return over(total, query.all_relevant)


def dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(r + 1) for r, gain in enumerate(gains, 1))


def ndcg(query: Query, rank: int) -> float:
    return dcg(query.gains[:rank]) / dcg(query.best_gains[:rank])


@twin("G")
def normalised_gain(query: Query) -> float:
    """Return the sum of gains over log(2 + remaining ideal gain); each rank reduces that gain by at least 1."""
    ideal, total = query.best_gains, 0.0
    for i, gain in enumerate(query.gains):
        cost = sum(max(1.0, ideal[j]) if j < len(ideal) else 1.0 for j in range(i + 1))
        if gain:
            total += gain / math.log2(2 + cost - sum(query.gains[: i + 1]))
    return over(total, sum(ideal))


@twin("ndcg_rel")
def ndcg_at_relevant(query: Query) -> float:
    """NDCG at each document that gains, and at the end for each that was missed."""
    if not query.best_gains:
        return UNDEFINED
    ranks = [r for r, gain in enumerate(query.gains, 1) if gain > 0]
    missed = len(query.best_gains) - len(ranks)
    end = max(query.n, len(query.best_gains))
    return (sum(ndcg(query, r) for r in ranks) + missed * ndcg(query, end)) / len(query.best_gains)


@twin("Rndcg")
def ndcg_at_levels(query: Query) -> float:
    """NDCG at each rank where the ideal list comes to a smaller gain, and at the end of a longer list."""
    ideal = query.best_gains
    if not query.all_relevant or not ideal:
        return UNDEFINED
    ranks = [r for r in range(1, len(ideal)) if ideal[r] != ideal[r - 1]] + [len(ideal)]
    if query.n > len(ideal) + 1:
        ranks.append(query.n)  # a list that goes on for more than one document has a point at its end too
    return sum(ndcg(query, r) for r in ranks) / len(ranks)


@twin("ideal_dcg")
def ideal_dcg(query: Query) -> float:
    """DCG of the ideal list of all judged documents."""
    return dcg(query.best_gains)


@twin("infAP")
def inferred_ap(query: Query) -> float:
    """AP where documents of the pool without a judgement are expected to be as those with one above them."""
    total = 0.0
    for rank in query.relevant_ranks:
        above = query.ranked[: rank - 1]
        hits, qrels = query.hits(rank - 1), sum(label is not None and label >= 0 for label in above)
        pooled = sum(label is not None for label in above)
        total += (1 + pooled * (hits + 1e-5) / (qrels + 2e-5)) / rank if above else 1.0
    return over(total, query.all_relevant)


@twin("yaap")
def yet_another_ap(query: Query) -> float:
    """Return the log odds of AP's sum."""
    total = sum(precision(query, r) for r in query.relevant_ranks)
    return math.log((1 + total) / (1 + query.all_relevant - total))


@twin("rbp_graded", {"p": 0.5})
def graded_rbp(query: Query, p: float = 0.9) -> float:
    """RBP of gains, brought into [0, 1] by the query's largest where that is above 1."""
    top = max([1.0, *query.best_gains])
    return (1 - p) * sum(gain / top * p**i for i, gain in enumerate(query.gains))


def _unjudged_ranks(query: Query) -> list[int]:
    return [r for r, label in enumerate(query.ranked, 1) if label is None or label < 0]


@twin("rbp_resid", {"p": 0.7})
def residual(query: Query, p: float = 0.9) -> float:
    """Return the increase of RBP if all unjudged documents were relevant; 0 if all are judged."""
    ranks = _unjudged_ranks(query)
    return p**query.n + (1 - p) * sum(p ** (r - 1) for r in ranks) if ranks else 0.0


@twin("unj")
def unjudged_share(query: Query) -> float:
    """Unjudged documents among the first k, over k."""
    inside = sum(r <= query.depth for r in _unjudged_ranks(query))
    return over(inside, query.n if query.cutoff is None else query.cutoff, 0.0)


@twin("Judged")
def share_of_judged(query: Query) -> float:
    """Judged documents among the first k, over as many as there are."""
    depth = min(query.n, query.depth)
    return over(sum(label is not None for label in query.ranked[:depth]), depth, 0.0)


@twin("NumQ")
def one(query: Query) -> float:
    """Return 1 per query."""
    return 1.0


@twin("num_nonrel_judged_ret")
def nonrelevant_retrieved(query: Query) -> float:
    """Judged documents in the list that are not relevant."""
    return float(sum(map(query.nonrelevant, query.ranked)))
