"""Define the measures of machine-learning libraries, recommenders and retrieval evaluators.

Pairs in the correct order (AUC, OPA, ranking loss), ranks of relevant documents (ARP, coverage error, NCRR), users who
give up (PFound), averages over cutoffs, random orders, and confidence (nAUC).
"""

from __future__ import annotations

import math

import numpy as np

from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import (
    COUNT,
    MEASURE_DEFINITIONS,
    CascadeMeasure,
    GainMeasure,
    KernelMeasure,
    Measure,
    MeasureDefinition,
    Values,
    persistence,
    rbp_weights,
    register,
    sums,
)  # fmt: skip
from pippin.evaluation.ranking import Ranking, count_judged_queries
from pippin.kernels.measures import UNJUDGED

_GAIN = ("gain", "gain_threshold")
_LIST = "torchmetrics 1.9"
_RECOMMENDERS = "cornac"

register(MeasureDefinition(
    "FallOut", "the share of the documents that are not relevant found in the first k", "others@k / others in the list",
    _LIST, KernelMeasure("fall_out"), ("relevance_threshold", "empty", "apply_cutoff"), aliases=("fallout", "fall_out"),
    better="lower",
))  # fmt: skip
register(MeasureDefinition(
    "AUC", "pairs of a relevant and another document in the correct order", "correct pairs / pairs, in the first k",
    "torchmetrics 1.9; pyltr 0.2.6", KernelMeasure("auc"), ("relevance_threshold", "empty", "apply_cutoff"),
    aliases=("auroc",
    ), better="",
))  # fmt: skip
register(MeasureDefinition(
    "RankingLoss", "pairs of a relevant and another document in the wrong order", "wrong pairs / pairs",
    "scikit-learn label_ranking_loss", KernelMeasure("ranking_loss"), ("relevance_threshold", "empty"), cutoff="never",
    aliases=("label_ranking_loss",), better="lower",
))  # fmt: skip
register(MeasureDefinition(
    "OPA", "ordered pair accuracy: pairs of documents in the order of their labels",
    "correct pairs / pairs of different labels", "Rax; TensorFlow Ranking", GainMeasure("opa"),
    ("empty", "averaging"), cutoff="never",
    weights=KernelMeasure("graded_pairs"),
))  # fmt: skip
register(MeasureDefinition(
    "ARP", "average relevance position: the mean rank of a document, counted by its label", "sum of r * label / sum of "
    "labels", "Zhu 2004; TensorFlow Ranking", KernelMeasure("arp"), ("empty", "averaging"), cutoff="never", range=COUNT,
    better="lower", weights=KernelMeasure("label_sum"),
))  # fmt: skip
register(MeasureDefinition(
    "NCRR", "normalised cumulative reciprocal rank", "sum of 1/r over hits / the same with all relevant first",
    _RECOMMENDERS, KernelMeasure("ncrr"), ("relevance_threshold", "ideal_depth", "empty", "apply_cutoff"),
))  # fmt: skip
register(MeasureDefinition(
    "HitsRR", "mean reciprocal rank of all hits in the first k", "mean of 1/r over hits", "LlamaIndex (granular MRR)",
    KernelMeasure("rr_hits"), ("relevance_threshold", "apply_cutoff"), better="",
))  # fmt: skip
register(MeasureDefinition(
    "PFound", "probability that a user finds a relevant document before giving up",
    "sum of decay^(r-1) * R_r * prod_{i<r} (1 - R_i)", "Gulin et al. 2009; CatBoost",
    CascadeMeasure("pfound", "decay"), (*_GAIN, "err_max_grade", "apply_cutoff"),
    parameters={"decay": 0.85},
))  # fmt: skip
register(MeasureDefinition(
    "CG", "cumulative gain", "sum of gain(label at r), r = 1..k", "Järvelin & Kekäläinen 2000", KernelMeasure("cg"),
    (*_GAIN, "apply_cutoff"), range=COUNT,
))  # fmt: skip
register(MeasureDefinition(
    "AverageGain", "the mean gain of the first k", "CG@k / min(k, n)", "CatBoost", GainMeasure("average_gain"),
    (*_GAIN, "apply_cutoff"), range=COUNT,
))  # fmt: skip
register(MeasureDefinition(
    "MeanP", "precision averaged over all cutoffs up to k", "mean of P@1 .. P@k", "Elliot (its MAP)",
    KernelMeasure("mean_p"),
    ("relevance_threshold", "apply_cutoff"),
))  # fmt: skip
register(MeasureDefinition(
    "MeanRecall", "recall averaged over all cutoffs up to k", "mean of Recall@1 .. Recall@k", "Elliot (its MAR)",
    KernelMeasure("mean_recall"), ("relevance_threshold", "empty", "apply_cutoff"),
))  # fmt: skip
register(MeasureDefinition(
    "CoverageError", "the depth that contains all relevant documents", "rank of the last relevant document",
    "scikit-learn coverage_error", KernelMeasure("coverage_error"), ("relevance_threshold",), cutoff="never",
    range=COUNT,
    aliases=("coverage_error",), better="lower",
))  # fmt: skip
register(MeasureDefinition(
    "RandomNDCG", "NDCG of a random order of the list", "mean gain * sum of discounts / ideal DCG@k",
    "Yggdrasil Decision Forests", KernelMeasure("random_ndcg"),
    (*_GAIN, "discount", "ideal_source", "ideal_depth", "empty", "apply_cutoff"), aliases=("default_ndcg",), better="",
))  # fmt: skip
register(MeasureDefinition(
    "RBPnorm", "rank-biased precision over that of the best list of its length", "RBP@k / RBP of all relevant first",
    "LensKit", KernelMeasure("normalised_rbp", "p"), ("relevance_threshold", "empty", "apply_cutoff"),
    parameters={"p": 0.85},
))  # fmt: skip
register(MeasureDefinition(
    "num_success", "queries with a relevant document among the first k", "a count, summed over queries", "MTEB",
    KernelMeasure("success"), ("relevance_threshold", "apply_cutoff"), aggregate="sum",
))  # fmt: skip


def _batch_mean(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """Return allRank's mean of a batch: a query without gain counts 1, unless no query of the batch has a gain."""
    empty = ~ranking.relevant_queries()
    batch = values if empty.all() else np.where(empty, 1.0, values)
    return float(np.mean(batch)) if len(batch) else float("nan")


register(MeasureDefinition(
    "TopRR", "reciprocal rank of the first document with the query's largest label",
    "1 / rank of the first largest label",
    "allRank (its mrr)", KernelMeasure("top_rr"), ("apply_cutoff",), supports_expected_ties=False,
    run_function=_batch_mean,
))  # fmt: skip


def _depth(convention: Convention, measure: Measure) -> int | None:
    """Return the cutoff of a measure, if it applies."""
    return measure.cutoff if convention.apply_cutoff else None


def _ranks(ranking: Ranking) -> Values:
    """Return the rank of every document, from 1 on."""
    return np.arange(1.0, len(ranking.labels) + 1) - np.repeat(ranking.offsets[:-1], ranking.sizes())


def _hole(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return documents of the first k that are unjudged for every query, over k."""
    sizes = ranking.sizes()
    depth = _depth(convention, measure)
    if ranking.qrels is None:  # all documents of a data set are judged
        return np.zeros(len(sizes))
    rows = np.arange(len(ranking.qrels.labels))
    if convention.negative_labels == "unjudged":
        rows = np.flatnonzero(ranking.qrels.labels >= 0)
    judged_documents = {ranking.qrels.document_ids.raw(row) for row in rows.tolist()}
    holes = np.zeros(len(sizes))
    for q, first in enumerate(ranking.offsets[:-1].tolist()):
        listed = range(first, first + min(int(sizes[q]), depth or int(sizes[q])))
        holes[q] = sum(
            ranking.labels[i] == UNJUDGED and ranking.documents.raw(i) not in judged_documents for i in listed
        )
    over = np.full(len(sizes), depth) if depth else np.maximum(sizes, 1)
    return np.asarray(holes / over, np.float64)


register(MeasureDefinition(
    "Hole", "the share of the first k that is unjudged for every query", "such documents / k", "MTEB; BEIR", _hole,
    ("apply_cutoff",), supports_expected_ties=False, better="",
))  # fmt: skip
register(MeasureDefinition(
    "Rgain", "gains of the first R documents over R, the number of relevant ones", "CG@R / R", "trectools (its RPrec)",
    KernelMeasure("r_gain"), (*_GAIN, "relevance_threshold", "empty"), cutoff="never", range=COUNT,
))  # fmt: skip


def _query_hole(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return documents of the first k that are unjudged for the query, over k."""
    depth = _depth(convention, measure)
    within = _ranks(ranking) <= (depth or ranking.longest)
    over = np.full(len(ranking.query_ids), depth) if depth else np.maximum(ranking.sizes(), 1)
    return sums(ranking, 1.0 * ((ranking.labels == UNJUDGED) & within)) / over


def _hole_of_run(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """Return holes by the judgements of all queries, over the number of judged queries."""
    holes = _hole(ranking, convention, measure)
    queries = len(holes) if ranking.qrels is None else count_judged_queries(ranking.qrels, convention)
    return float(holes.sum() / queries) if queries else float("nan")


register(MeasureDefinition(
    "OwnHole", "the share of the first k that is unjudged for the query; for a run, unjudged for every query",
    "such documents / k", "BEIR (its Hole)", _query_hole, ("apply_cutoff",), supports_expected_ties=False, better="",
    run_function=_hole_of_run,
))  # fmt: skip


def _spread_auc(ranking: Ranking, convention: Convention, measure: Measure, documents: Values | int) -> Values:
    """Return AUC over `documents` documents, if relevant ones below the first k are spread evenly among the others.

    Empty ranks of a short list count as non-relevant documents, so that the value may lie outside 0 to 1.
    """
    sizes, ranks = ranking.sizes(), _ranks(ranking)
    depth = np.broadcast_to(_depth(convention, measure) or sizes, sizes.shape)
    within = ranks <= np.repeat(depth, sizes)
    hit = (within & (ranking.labels >= convention.relevance_threshold)).astype(np.float64)
    hits = sums(ranking, hit)
    above: Values = np.cumsum(hit) - np.repeat(np.cumsum(hits) - hits, sizes)
    won = sums(ranking, above * within * (1 - hit)) + hits * np.maximum(depth - sizes, 0)
    pooled = np.repeat(np.arange(len(sizes)), np.diff(ranking.pool_offsets))
    relevant = np.bincount(pooled, ranking.pool >= convention.relevance_threshold, len(sizes))
    non_relevant = documents - relevant
    right: Values = won + (hits + relevant) / 2 * (non_relevant - (depth - hits))
    share: Values = np.divide(
        right, relevant * non_relevant, out=np.full(len(sizes), np.nan), where=relevant * non_relevant > 0
    )
    return share


def _query_spread_auc(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return SpreadAUC over the judged and retrieved documents of each query."""
    unjudged = sums(ranking, 1.0 * (ranking.labels == UNJUDGED))
    return _spread_auc(ranking, convention, measure, np.diff(ranking.pool_offsets) + unjudged)


def _spread_auc_of_run(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """Return the mean of SpreadAUC over the documents of all queries."""
    aucs = _spread_auc(ranking, convention, measure, ranking.all_documents)
    defined = aucs[~np.isnan(aucs)]
    return float(defined.mean()) if len(defined) else float("nan")


register(MeasureDefinition(
    "SpreadAUC", "pairs in the correct order, with relevant documents below the first k spread evenly among others; "
    "for a run, with the documents of all queries", "correct pairs / pairs", "implicit (its auc)", _query_spread_auc,
    ("relevance_threshold", "empty", "apply_cutoff"), cutoff="required", supports_expected_ties=False, better="",
    range=(-math.inf,
    math.inf),
    run_function=_spread_auc_of_run,
))  # fmt: skip


def _residual(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return RBP's residual: the weights of unjudged documents and of those beyond the list."""
    p, worth = persistence(measure), (ranking.labels == UNJUDGED).astype(np.float64)
    if convention.rbp_gain == "label":  # a label above 1 counts for more than the document's weight
        worth += np.where(ranking.labels >= convention.relevance_threshold, 1 - ranking.labels, 0)
    depth = _depth(convention, measure)
    beyond = p ** (ranking.sizes() if depth is None else np.full(len(ranking.query_ids), depth))
    return (1 - p) * sums(ranking, rbp_weights(ranking, convention, measure) * worth) + beyond


def _relevant_residual(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return the residual of queries whose list has a relevant document."""
    is_relevant = sums(ranking, (ranking.labels >= convention.relevance_threshold).astype(np.float64)) > 0
    return np.where(is_relevant, _residual(ranking, convention, measure), np.nan)


def _residual_of_run(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """Return the mean over all queries; NaN if no list has a relevant document."""
    return float("nan") if np.isnan(values).all() else float(_residual(ranking, convention, measure).mean())


register(MeasureDefinition(
    "RBPresidual", "what unjudged documents could add to RBP, if the list has a relevant document",
    "p^k + (1 - p) * sum of p^(r-1) over unjudged ranks r", "trectools", _relevant_residual, ("rbp_gain",
    "relevance_threshold",
    "empty", "apply_cutoff"), parameters={"p": 0.8}, better="", run_function=_residual_of_run,
))  # fmt: skip


def _r_precision(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return hits within rank R and the cutoff over R; undefined with hits below rank R only."""
    relevant, rank = (ranking.labels >= convention.relevance_threshold).astype(np.float64), _ranks(ranking)
    pooled = np.repeat(np.arange(len(ranking.query_ids)), np.diff(ranking.pool_offsets))
    count = np.bincount(pooled, ranking.pool >= convention.relevance_threshold, len(ranking.query_ids))
    within = rank <= (_depth(convention, measure) or ranking.longest)
    hits = sums(ranking, relevant * (within & (rank <= np.repeat(count, ranking.sizes()))))
    lost = (hits == 0) & (sums(ranking, relevant * within) > 0)
    return np.where(lost, np.nan, hits / np.maximum(count, 1))


def _mean_with_hits(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """Return the mean over queries with a hit within rank R; 0 if no query has a hit."""
    values = _r_precision(ranking, convention, measure)
    hits = values[values > 0]
    return float(hits.mean()) if len(hits) else float("nan") if np.isnan(values).any() else 0.0


register(MeasureDefinition(
    "FoundRprec", "R-precision of the queries that have a hit within rank R", "hits@min(R, k) / R",
    "Recommenders (its r_precision_at_k)", _r_precision, ("relevance_threshold", "empty", "apply_cutoff"),
    supports_expected_ties=False,
    run_function=_mean_with_hits,
))  # fmt: skip


_NAUC_RATES = np.linspace(0, 1, 11)[:-1]  # MTEB's: multiples of a rounded 0.1, so that 0.3 of 15 queries is 5 and not 4


def _confidences(ranking: Ranking, kind: str) -> Values:
    """Return the confidence in each query from its scores; 0 if nothing was retrieved.

    The standard deviation uses the input order: the last digit decides whether queries with the same scores are tied.
    """
    confidences, input_scores = np.zeros(len(ranking.query_ids)), ranking.input_scores()
    for q, (start, stop) in enumerate(zip(ranking.offsets[:-1], ranking.offsets[1:], strict=True)):
        if start == stop:
            continue
        scores = np.sort(input_scores[start:stop])[::-1]
        lead = scores[0] - scores[min(1, len(scores) - 1)]
        confidences[q] = np.std(input_scores[start:stop]) if kind == "std" else lead if kind == "diff1" else scores[0]
    return confidences


def _means_by_rate(values: Values, confidences: Values) -> Values:
    """Return the mean without the least confident queries at each rate; equal confidences share their mean."""
    order = np.argsort(confidences, kind="stable")
    _, first, sizes = np.unique(confidences[order], return_index=True, return_counts=True)
    shared = np.repeat(np.add.reduceat(values[order], first) / sizes, sizes)
    return np.array([shared[min(round(rate * len(values)), len(values) - 1) :].mean() for rate in _NAUC_RATES])


def _nauc(ranking: Ranking, convention: Convention, measure: Measure, values: Values) -> float:
    """Return MTEB's nAUC, (area - flat) / (oracle - flat); NaN if no confidence could help.

    The area is that under the mean as a growing share of the least confident queries is left out. The oracle's
    confidence is the measure itself, and a flat line is the mean over all queries.
    """
    if not len(values) or np.isnan(values).any():
        return math.nan
    confidences = _confidences(ranking, convention.confidence)
    if ranking.run_positions is not None:
        order = np.argsort(ranking.run_positions, kind="stable")
        values, confidences = values[order], confidences[order]
    oracle = _means_by_rate(values, values)
    flat, best = oracle[0] * (_NAUC_RATES[-1] - _NAUC_RATES[0]), np.trapezoid(oracle, _NAUC_RATES)
    if best == flat:
        return math.nan
    return float((np.trapezoid(_means_by_rate(values, confidences), _NAUC_RATES) - flat) / (best - flat))


for _name, _kind in (("ndcg", "NDCG"), ("map", "AP"), ("recall", "Recall"), ("precision", "P"), ("mrr", "RR")):
    _base = MEASURE_DEFINITIONS[_kind]
    register(MeasureDefinition(
        f"nAUC_{_name}", f"how well scores predict the queries of a high {_kind}", "(area - flat) / (oracle - flat)",
        "MTEB 2.26", _base.function, _base.axes, parameters=_base.parameters,
        supports_expected_ties=_base.supports_expected_ties, better="", run_function=_nauc,
    ))  # fmt: skip
