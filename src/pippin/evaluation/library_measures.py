"""The measures that machine-learning libraries, recommenders and evaluators of retrieval added to those of the field.

Pairs in their right order (AUC, OPA, ranking loss), ranks of relevant documents (ARP, coverage error, NCRR), users who
give up (PFound), averages over cutoffs, and what an order by chance would give.
"""

from __future__ import annotations

import math

import numpy as np

from pippin.evaluation.convention import Convention
from pippin.evaluation.labels import judged_queries
from pippin.evaluation.measures import (
    COUNT,
    Kind,
    Measure,
    Native,
    Stopping,
    Values,
    going_on,
    reading_weights,
    register,
    sums,
)  # fmt: skip
from pippin.evaluation.ranking import UNJUDGED, Ranking

_GAIN = ("gain", "gain_at")
_LIST = "torchmetrics 1.9"
_RECOMMENDERS = "cornac"

register(Kind(
    "FallOut", "the share of the documents that are not relevant found in the first k", "others@k / others in the list",
    _LIST, Native("fall_out"), ("relevant_at", "empty", "cut"), aliases=("fallout", "fall_out"), better="lower",
))  # fmt: skip
register(Kind(
    "AUC", "pairs of a relevant and another document in their right order", "right pairs / pairs, in the first k",
    "torchmetrics 1.9; pyltr 0.2.6", Native("auc"), ("relevant_at", "empty", "cut"), aliases=("auroc",), better="",
))  # fmt: skip
register(Kind(
    "RankingLoss", "pairs of a relevant and another document in the wrong order", "wrong pairs / pairs",
    "scikit-learn label_ranking_loss", Native("ranking_loss"), ("relevant_at", "empty"), cutoff="never",
    aliases=("label_ranking_loss",), better="lower",
))  # fmt: skip
register(Kind(
    "OPA", "ordered pair accuracy: pairs of documents in the order of their labels", "right pairs / pairs of different "
    "labels", "Rax; TensorFlow Ranking", Native("opa"), ("empty", "average"), cutoff="never",
    weights=Native("graded_pairs"),
))  # fmt: skip
register(Kind(
    "ARP", "average relevance position: the mean rank of a document, counted by its label", "sum of r * label / sum of "
    "labels", "Zhu 2004; TensorFlow Ranking", Native("arp"), ("empty", "average"), cutoff="never", range=COUNT,
    better="lower", weights=Native("label_sum"),
))  # fmt: skip
register(Kind(
    "NCRR", "normalised cumulative reciprocal rank", "sum of 1/r over hits / the same with all relevant first",
    _RECOMMENDERS, Native("ncrr"), ("relevant_at", "ideal_cut", "empty", "cut"),
))  # fmt: skip
register(Kind(
    "HitsRR", "mean reciprocal rank of all hits in the first k", "mean of 1/r over hits", "LlamaIndex (granular MRR)",
    Native("rr_hits"), ("relevant_at", "cut"), better="",
))  # fmt: skip
register(Kind(
    "PFound", "chance that a user finds what is relevant before giving up", "sum of decay^(r-1) * R_r * prod_{i<r} "
    "(1 - R_i)", "Gulin et al. 2009; CatBoost", Stopping("pfound", "decay"), (*_GAIN, "err_top", "cut"),
    parameters={"decay": 0.85},
))  # fmt: skip
register(Kind(
    "CG", "cumulative gain", "sum of gain(label at r), r = 1..k", "Järvelin & Kekäläinen 2000", Native("cg"),
    (*_GAIN, "cut"), range=COUNT,
))  # fmt: skip
register(Kind(
    "AverageGain", "the mean gain of the first k", "CG@k / min(k, n)", "CatBoost", Native("average_gain"),
    (*_GAIN, "cut"), range=COUNT,
))  # fmt: skip
register(Kind(
    "MeanP", "precision averaged over all cutoffs up to k", "mean of P@1 .. P@k", "Elliot (its MAP)", Native("mean_p"),
    ("relevant_at", "cut"),
))  # fmt: skip
register(Kind(
    "MeanRecall", "recall averaged over all cutoffs up to k", "mean of Recall@1 .. Recall@k", "Elliot (its MAR)",
    Native("mean_recall"), ("relevant_at", "empty", "cut"),
))  # fmt: skip
register(Kind(
    "CoverageError", "how far down one must go to have all relevant documents", "rank of the last relevant document",
    "scikit-learn coverage_error", Native("coverage_error"), ("relevant_at",), cutoff="never", range=COUNT,
    aliases=("coverage_error",), better="lower",
))  # fmt: skip
register(Kind(
    "RandomNDCG", "NDCG of a random order of the list", "mean gain * sum of discounts / ideal DCG@k",
    "Yggdrasil Decision Forests", Native("random_ndcg"),
    (*_GAIN, "discount", "ideal", "ideal_cut", "empty", "cut"), aliases=("default_ndcg",), better="",
))  # fmt: skip
register(Kind(
    "RBPnorm", "rank-biased precision over that of the best list of its length", "RBP@k / RBP of all relevant first",
    "LensKit", Native("normalised_rbp", "p"), ("relevant_at", "empty", "cut"), parameters={"p": 0.85},
))  # fmt: skip
register(Kind(
    "num_success", "queries with a relevant document among the first k", "a count, summed over queries", "MTEB",
    Native("success"), ("relevant_at", "cut"), aggregate="sum",
))  # fmt: skip


def _of_batch(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """allRank's mean of a batch: a query without any gain counts 1, for its first document has the largest label,
    unless no query of the batch has any.
    """
    empty = ~ranking.relevant_queries()
    batch = values if empty.all() else np.where(empty, 1.0, values)
    return float(np.mean(batch)) if len(batch) else float("nan")


register(Kind(
    "TopRR", "reciprocal rank of the first document with the query's largest label",
    "1 / rank of the first largest label",
    "allRank (its mrr)", Native("top_rr"), ("cut",), expected=False, whole=_of_batch,
))  # fmt: skip


def _depth(convention: Convention, measure: Measure) -> int | None:
    """The cutoff of a measure, where it has one that cuts."""
    return measure.cutoff if convention.cut else None


def _ranks(ranking: Ranking) -> Values:
    """The rank of every document, from 1 on."""
    return np.arange(1.0, len(ranking.labels) + 1) - np.repeat(ranking.offsets[:-1], ranking.sizes())


def _hole(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Unjudged documents of the first k that nobody judged for any other query either, over k."""
    sizes = ranking.sizes()
    depth = _depth(convention, measure)
    if ranking.judged is None:  # of a data set all is judged
        return np.zeros(len(sizes))
    rows = np.arange(len(ranking.judged.labels))
    if convention.negative == "unjudged":
        rows = np.flatnonzero(ranking.judged.labels >= 0)
    known = {ranking.judged.document_ids.raw(row) for row in rows.tolist()}
    holes = np.zeros(len(sizes))
    for q, first in enumerate(ranking.offsets[:-1].tolist()):
        seen = range(first, first + min(int(sizes[q]), depth or int(sizes[q])))
        holes[q] = sum(ranking.labels[i] == UNJUDGED and ranking.documents.raw(i) not in known for i in seen)
    over = np.full(len(sizes), depth) if depth else np.maximum(sizes, 1)
    return np.asarray(holes / over, np.float64)


register(Kind(
    "Hole", "the share of the first k that was judged for no query at all", "such documents / k", "MTEB; BEIR", _hole,
    ("cut",), expected=False, better="",
))  # fmt: skip
register(Kind(
    "Rgain", "gains of the first R documents over R, the number of relevant ones", "CG@R / R", "trectools (its RPrec)",
    Native("r_gain"), (*_GAIN, "relevant_at", "empty"), cutoff="never", range=COUNT,
))  # fmt: skip


def _own_hole(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Documents of the first k that were not judged for the query, over k."""
    depth = _depth(convention, measure)
    seen = _ranks(ranking) <= (depth or ranking.longest)
    over = np.full(len(ranking.query_ids), depth) if depth else np.maximum(ranking.sizes(), 1)
    return sums(ranking, 1.0 * ((ranking.labels == UNJUDGED) & seen)) / over


def _hole_of_run(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """Holes by the judgements of all queries, over the queries that were judged."""
    holes = _hole(ranking, convention, measure)
    queries = len(holes) if ranking.judged is None else judged_queries(ranking.judged, convention)
    return float(holes.sum() / queries) if queries else float("nan")


register(Kind(
    "OwnHole", "the share of the first k that was not judged for the query; for a run, judged for no query",
    "such documents / k", "BEIR (its Hole)", _own_hole, ("cut",), expected=False, better="", whole=_hole_of_run,
))  # fmt: skip


def _spread_auc(ranking: Ranking, convention: Convention, measure: Measure, documents: Values | int) -> Values:
    """AUC over so many documents, where the relevant ones behind the first k lie evenly among the others.

    A place of the k that no document fills is one that is not relevant, even where there are not as many: with short
    lists the value may leave 0 to 1.
    """
    sizes, ranks = ranking.sizes(), _ranks(ranking)
    depth = np.broadcast_to(_depth(convention, measure) or sizes, sizes.shape)
    seen = ranks <= np.repeat(depth, sizes)
    hit = (seen & (ranking.labels >= convention.relevant_at)).astype(np.float64)
    hits = sums(ranking, hit)
    above: Values = np.cumsum(hit) - np.repeat(np.cumsum(hits) - hits, sizes)
    won = sums(ranking, above * seen * (1 - hit)) + hits * np.maximum(depth - sizes, 0)
    pooled = np.repeat(np.arange(len(sizes)), np.diff(ranking.pool_offsets))
    relevant = np.bincount(pooled, ranking.pool >= convention.relevant_at, len(sizes))
    others = documents - relevant
    right: Values = won + (hits + relevant) / 2 * (others - (depth - hits))
    share: Values = np.divide(right, relevant * others, out=np.full(len(sizes), np.nan), where=relevant * others > 0)
    return share


def _own_spread_auc(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """The query alone: over its judged and retrieved documents."""
    unjudged = sums(ranking, 1.0 * (ranking.labels == UNJUDGED))
    return _spread_auc(ranking, convention, measure, np.diff(ranking.pool_offsets) + unjudged)


def _spread_auc_of_run(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """The mean over the documents of all queries."""
    over_all = _spread_auc(ranking, convention, measure, ranking.all_documents)
    counted = over_all[~np.isnan(over_all)]
    return float(counted.mean()) if len(counted) else float("nan")


register(Kind(
    "SpreadAUC", "pairs in their right order, where relevant documents behind the first k lie evenly among the others; "
    "for a run, with the documents of all queries", "right pairs / pairs", "implicit (its auc)", _own_spread_auc,
    ("relevant_at", "empty", "cut"), cutoff="required", expected=False, better="", range=(-math.inf, math.inf),
    whole=_spread_auc_of_run,
))  # fmt: skip


def _residual(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """What is not known of RBP: the weights of unjudged documents and of those beyond the list."""
    p, worth = going_on(measure), (ranking.labels == UNJUDGED).astype(np.float64)
    if convention.rbp_weight == "label":  # a label above 1 has been counted for more than the document's weight
        worth += np.where(ranking.labels >= convention.relevant_at, 1 - ranking.labels, 0)
    depth = _depth(convention, measure)
    beyond = p ** (ranking.sizes() if depth is None else np.full(len(ranking.query_ids), depth))
    return (1 - p) * sums(ranking, reading_weights(ranking, convention, measure) * worth) + beyond


def _known_residual(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """The same of queries whose list has a relevant document."""
    found = sums(ranking, (ranking.labels >= convention.relevant_at).astype(np.float64)) > 0
    return np.where(found, _residual(ranking, convention, measure), np.nan)


def _residual_of_run(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """The mean over all queries, unless no list has a relevant document."""
    return float("nan") if np.isnan(values).all() else float(_residual(ranking, convention, measure).mean())


register(Kind(
    "RBPresidual", "what unjudged documents could add to RBP, where the list has a relevant one",
    "p^k + (1 - p) * sum of p^(r-1) over unjudged ranks r", "trectools", _known_residual, ("rbp_weight", "relevant_at",
    "empty", "cut"), parameters={"p": 0.8}, better="", whole=_residual_of_run,
))  # fmt: skip


def _found_precision(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Hits within rank R and the cutoff over R; undefined with hits below R alone."""
    relevant, rank = (ranking.labels >= convention.relevant_at).astype(np.float64), _ranks(ranking)
    pooled = np.repeat(np.arange(len(ranking.query_ids)), np.diff(ranking.pool_offsets))
    count = np.bincount(pooled, ranking.pool >= convention.relevant_at, len(ranking.query_ids))
    within = rank <= (_depth(convention, measure) or ranking.longest)
    hits = sums(ranking, relevant * (within & (rank <= np.repeat(count, ranking.sizes()))))
    lost = (hits == 0) & (sums(ranking, relevant * within) > 0)
    return np.where(lost, np.nan, hits / np.maximum(count, 1))


def _found_mean(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """The mean over queries with a hit within rank R; 0 where no query has a hit at all."""
    values = _found_precision(ranking, convention, measure)
    hits = values[values > 0]
    return float(hits.mean()) if len(hits) else float("nan") if np.isnan(values).any() else 0.0


register(Kind(
    "FoundRprec", "R-precision of the queries that have a hit within rank R", "hits@min(R, k) / R",
    "Recommenders (its r_precision_at_k)", _found_precision, ("relevant_at", "empty", "cut"), expected=False,
    whole=_found_mean,
))  # fmt: skip
