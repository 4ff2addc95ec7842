"""Definitions of the measures of libraries and recommenders."""

from __future__ import annotations

from itertools import combinations

from tests.definitions.field import best_dcg, discount, ideal_depth, stops
from tests.definitions.query import UNDEFINED, Query, twin


def _grades(query: Query) -> list[int]:
    return [max(label or 0, 0) for label in query.ranked]


@twin("FallOut")
def fall_out(query: Query) -> float:
    """Return the share of all non-relevant documents of the list that are above the cutoff."""
    others = query.n - query.found_relevant
    return (query.depth - query.hits()) / others if others else UNDEFINED


@twin("AUC")
def auc(query: Query) -> float:
    """Pairs of a relevant and another document in their right order, above the cutoff."""
    if query.found_relevant in (0, query.n):
        return UNDEFINED
    seen = [query.relevant(label) for label in query.ranked[: query.depth]]
    pairs = [(first, second) for first, second in combinations(seen, 2) if first != second]
    return sum(first for first, _ in pairs) / len(pairs) if pairs else 0.0


@twin("Accuracy")
def accuracy(query: Query) -> float:
    """The same pairs; undefined if all or none above the cutoff are relevant."""
    flags = [query.relevant(label) for label in query.ranked[: query.depth]]
    return UNDEFINED if len({*flags}) < 2 else auc(query)


@twin("RankingLoss")
def ranking_loss(query: Query) -> float:
    """Pairs in the wrong order."""
    flags = [query.relevant(label) for label in query.ranked]
    pairs = [(first, second) for first, second in combinations(flags, 2) if first != second]
    return sum(second for _, second in pairs) / len(pairs) if pairs else UNDEFINED


@twin("OPA")
def opa(query: Query) -> float:
    """Pairs of different labels in their order."""
    grades = _grades(query)
    if query.convention.negative_labels == "gain":
        grades = [label or 0 for label in query.ranked]
    pairs = [(first, second) for first, second in combinations(grades, 2) if first != second]
    return sum(first > second for first, second in pairs) / len(pairs) if pairs else UNDEFINED


@twin("ARP")
def arp(query: Query) -> float:
    """Return the mean rank weighted by label."""
    grades = _grades(query)
    return sum(r * grade for r, grade in enumerate(grades, 1)) / sum(grades) if sum(grades) else UNDEFINED


@twin("NCRR")
def ncrr(query: Query) -> float:
    """Reciprocal ranks of hits over those of the ideal."""
    if not query.all_relevant:
        return UNDEFINED
    ideal = query.all_relevant
    depth = ideal_depth(query)
    if depth is not None:
        ideal = min(ideal, depth)
    best = sum(1 / r for r in range(1, ideal + 1))
    return sum(1 / r for r in query.relevant_ranks if r <= query.depth) / best if best else 0.0


@twin("HitsRR")
def hits_rr(query: Query) -> float:
    """Return the mean reciprocal rank of hits."""
    ranks = [r for r in query.relevant_ranks if r <= query.depth]
    return sum(1 / r for r in ranks) / len(ranks) if ranks else 0.0


@twin("PFound", {"decay": 0.5}, {"decay": 1.0})
def pfound(query: Query, decay: float = 0.85) -> float:
    """Return the probability of success of a user who may give up."""
    return sum(chance * decay**i for i, chance in enumerate(stops(query)))


@twin("CG")
def cg(query: Query) -> float:
    """Return the sum of gains."""
    return sum(query.gains[: query.depth])


@twin("AverageGain")
def average_gain(query: Query) -> float:
    """Their mean."""
    if query.convention.negative_labels == "gain":
        return sum(map(query.signed_gain, query.ranked[: query.depth])) / query.depth if query.depth else 0.0
    return cg(query) / query.depth if query.depth else 0.0


@twin("MeanP")
def mean_p(query: Query) -> float:
    """Precision at every cutoff up to k."""
    last = query.cutoff or query.n
    return sum(query.hits(min(r, query.n)) / r for r in range(1, last + 1)) / last if last else 0.0


@twin("MeanRecall")
def mean_recall(query: Query) -> float:
    """Recall at every cutoff up to k."""
    if not query.all_relevant:
        return UNDEFINED
    last = query.cutoff or query.n
    return sum(query.hits(min(r, query.n)) for r in range(1, last + 1)) / query.all_relevant / last if last else 0.0


@twin("CoverageError")
def coverage_error(query: Query) -> float:
    """Return the rank of the last relevant document."""
    return float(max([0, *query.relevant_ranks]))


@twin("RandomNDCG")
def random_ndcg(query: Query) -> float:
    """Return the mean gain at every rank, divided by the ideal."""
    ideal = best_dcg(query, ideal_depth(query))
    if ideal <= 0:
        return UNDEFINED
    if not query.n:
        return 0.0
    return sum(query.gains) / query.n * sum(discount(query, r) for r in range(1, query.depth + 1)) / ideal


@twin("RBPnorm", {"p": 0.5})
def normalised_rbp(query: Query, p: float = 0.85) -> float:
    """RBP over that of the best list of its length."""
    if not query.all_relevant:
        return UNDEFINED
    best = sum(p**i for i in range(min(query.depth, query.all_relevant)))
    return sum(p ** (r - 1) for r in query.relevant_ranks if r <= query.depth) / best if best else 0.0


@twin("num_success")
def num_success(query: Query) -> float:
    """1 where the first k hold a relevant document."""
    return float(query.hits() > 0)


@twin("TopRR")
def top_rr(query: Query) -> float:
    """Return the reciprocal rank of the first document with the largest label."""
    largest = max([0, *_grades(query)])
    at = [r for r, label in enumerate(query.ranked[: query.depth], 1) if label == largest]
    return 1 / at[0] if largest and at else 0.0


@twin("OwnHole")
@twin("Hole")
def hole(query: Query) -> float:
    """Unjudged documents over k; here no two queries share a document."""
    over = query.cutoff or max(query.n, 1)
    return sum(label is None for label in query.ranked[: query.depth]) / over


@twin("SpreadAUC")
def spread_auc(query: Query) -> float:
    """Pairs won where the relevant documents behind the first k are spread evenly over what is left."""
    unjudged = sum(label is None for label in query.ranked)
    others = len(query.judged) + unjudged - query.all_relevant
    if not query.all_relevant or not others:
        return UNDEFINED
    places = [query.relevant(label) for label in query.ranked[: query.depth]]
    places += [False] * ((query.cutoff or query.n) - len(places))
    won = sum(sum(places[:i]) for i, hit in enumerate(places) if not hit)
    left = others - places.count(False)
    return (won + left * (sum(places) + query.all_relevant) / 2) / (query.all_relevant * others)


@twin("Rgain")
def r_gain(query: Query) -> float:
    """Gains of the first R over R."""
    return sum(query.gains[: query.all_relevant]) / query.all_relevant if query.all_relevant else UNDEFINED


@twin("RBPresidual", {"p": 0.5})
def rbp_residual(query: Query, p: float = 0.8) -> float:
    """Weights of unjudged documents and of all beyond the cutoff; labels above 1 take from it what RBP counts twice."""
    if not query.found_relevant:
        return UNDEFINED
    worth = [1.0 if label is None else 0.0 for label in query.ranked]
    if query.convention.rbp_gain == "label":
        worth = [
            1.0 - (label or 0) if query.relevant(label) else w for label, w in zip(query.ranked, worth, strict=True)
        ]
    open_part = sum(w * p**i for i, w in enumerate(worth[: query.depth]))
    return float((1 - p) * open_part + p ** (query.cutoff or query.n))


@twin("FoundRprec")
def retrieved_r_precision(query: Query) -> float:
    """Hits within rank R over R; no value with hits below rank R alone, and 0 without any."""
    if not query.hits():
        return 0.0
    hits = sum(r <= min(query.all_relevant, query.depth) for r in query.relevant_ranks)
    return hits / query.all_relevant if hits else UNDEFINED
