"""Define the measures of trec_eval under its own names.

Versions 9 and 10 print `infAP`, `G`, `Rprec_mult_0.20` and others; 8.1 printed many more (`map_at_R`, `bpref_5`,
`fallout_recall_14`), in single precision. Names that differ between versions are aliases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import (
    COUNT,
    MEASURE_DEFINITIONS,
    Function,
    KernelMeasure,
    Measure,
    MeasureDefinition,
    Values,
    register,
)

if TYPE_CHECKING:
    from pippin.evaluation.ranking import Ranking

RECALL_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SOURCE = "trec_eval 9.0.8"
_SOURCE_10 = "trec_eval 10.0"
_SOURCE_8 = "trec_eval 8.1"
_GAINS = ("gain", "gain_threshold")


# 0 / 0 without a relevant document; only the emulator of trec_eval prints NaN.
interpolated_precision = KernelMeasure("iprec_at_recall", "recall")


def average_interpolated(ranking: Ranking, convention: Convention, levels: tuple[float, ...]) -> Values:
    """Return the mean of interpolated precision over recall levels, added from the highest level down."""
    total = np.zeros(len(ranking.query_ids))
    for level in reversed(levels):
        measure = Measure("iprec_at_recall", parameters=(("recall", level),))
        total = total + interpolated_precision(ranking, convention, measure)
    return total / len(levels)


def _eleven_points(ranking: Ranking, convention: Convention, _: Measure) -> Values:
    return np.nan_to_num(average_interpolated(ranking, convention, RECALL_LEVELS), nan=0.0)


def _register(
    name: str, description: str, formula: str, source: str, function: Function, axes: tuple[str, ...], **more: object
) -> None:
    more = {"cutoff": "never", "supports_expected_ties": False, **more}
    register(MeasureDefinition(name, description, formula, source, function, axes, **more))  # type: ignore[arg-type]


_register(
    "iprec_at_recall", "interpolated precision at a recall level", "max of P@r for all r with recall >= level", _SOURCE,
    replace(interpolated_precision, undefined=0.0), ("relevance_threshold", "recall_level_rounding"),
    parameters={"recall": 0.0},
    aliases=("ircl_prn",),
)  # fmt: skip
_register(
    "11pt_avg", "interpolated precision averaged over 11 recall levels", "mean of iprec_at_recall at 0, 0.1 .. 1",
    _SOURCE, _eleven_points, ("relevance_threshold", "recall_level_rounding"), aliases=("11-pt_avg",),
)  # fmt: skip
_register(
    "Rprec_mult", "precision at a multiple of the number of relevant documents", "P@(multiple * R)", _SOURCE,
    KernelMeasure("Rprec_mult", "multiple"), ("relevance_threshold",), parameters={"multiple": 1.0},
)  # fmt: skip
_register(
    "relative_P", "precision at k over the best possible precision at k", "hits@k / min(k, R)", _SOURCE,
    KernelMeasure("relative_P"), ("relevance_threshold", "empty", "apply_cutoff"), cutoff="optional",
    aliases=("relative_prec", "set_relative_P", "exact_relative_prec", "SetRelP"),
)  # fmt: skip
_register(
    "set_map", "precision times recall of the retrieved set", "hits^2 / (n R)", _SOURCE, KernelMeasure("set_map"),
    ("relevance_threshold", "empty"), supports_expected_ties=True, aliases=("exact_unranked_avg_prec", "SetAP"),
)  # fmt: skip
_register(
    "set_F", "weighted harmonic mean of precision and recall of the retrieved set", "(x + 1) P R / (x P + R)", _SOURCE,
    KernelMeasure("set_F", "weight"), ("relevance_threshold", "empty"), parameters={"weight": 1.0},
    supports_expected_ties=True,
    aliases=("SetF",),
)  # fmt: skip
_register(
    "utility", "utility of the retrieved set, a weighted count of its documents",
    "a * hits + b * other retrieved + c * missed relevant + d * rest of the collection", _SOURCE,
    KernelMeasure("utility", numbers=("a", "b", "c", "d", "collection")), ("relevance_threshold",),
    parameters={"a": 1.0, "b": -1.0, "c": 0.0, "d": 0.0, "collection": 0.0}, supports_expected_ties=True,
    range=(-math.inf, math.inf),
)  # fmt: skip
_register(
    "binG", "gain of relevant documents by how few others are above them", "mean of 1 / log2(2 + non-relevant above)",
    _SOURCE, KernelMeasure("binG"), ("relevance_threshold", "empty"),
)  # fmt: skip
_register(
    "G", "gain by how far the ranking falls behind the ideal one",
    "sum of gain / log2(2 + ideal gain so far - gain so far) / sum of ideal gains", _SOURCE, KernelMeasure("G"),
    (*_GAINS, "empty"),
)  # fmt: skip
_register(
    "ndcg_rel", "NDCG averaged over the ranks of the documents with a gain", "mean of NDCG@r over those ranks r",
    _SOURCE, KernelMeasure("ndcg_rel"), (*_GAINS, "empty"),
)  # fmt: skip
_register(
    "Rndcg", "NDCG averaged over the ranks at which the ideal gain drops", "mean of NDCG@r over those ranks r", _SOURCE,
    KernelMeasure("Rndcg"), (*_GAINS, "relevance_threshold", "empty"),
)  # fmt: skip
_register(
    "ideal_dcg", "DCG of the ideal ranking of all judged documents",
    "sum of gain / log2(1 + r) from the highest gain down", _SOURCE_10, KernelMeasure("ideal_dcg"), _GAINS,
    supports_expected_ties=True,
    range=COUNT,
)  # fmt: skip
_register(
    "infAP", "average precision inferred from judgements that are a sample of the pool",
    "1/R * sum over relevant r of the expected precision at r", "Yilmaz & Aslam 2006; trec_eval 9.0.8",
    KernelMeasure("infAP"),
    ("relevance_threshold", "empty"),
)  # fmt: skip
_register(
    "yaap", "average precision on a scale that averages well", "log((1 + S) / (1 + R - S)), S = R * AP",
    "Robertson 2012; trec_eval 9.0.8", KernelMeasure("yaap"), ("relevance_threshold",), range=(-math.inf, math.inf),
)  # fmt: skip
_register(
    "rbp_graded", "rank-biased precision with gains in [0, 1]", "(1 - p) * sum of p^(r-1) * gain / largest gain",
    "Moffat & Zobel 2008; rbp of trec_eval 10.0", KernelMeasure("rbp_graded", "p"), _GAINS, parameters={"p": 0.9},
)  # fmt: skip
_register(
    "rbp_resid", "what rank-biased precision could gain from unjudged documents",
    "p^n + (1 - p) * sum of p^(r-1) over unjudged ranks r", "Moffat & Zobel 2008; trec_eval 10.0",
    KernelMeasure("rbp_resid", "p"), (), parameters={"p": 0.9},
)  # fmt: skip
_register(
    "unj", "the share of unjudged documents in the first k", "unjudged@k / k", _SOURCE_10, KernelMeasure("unj"),
    ("apply_cutoff",),
    cutoff="optional",
)  # fmt: skip
_register(
    "num_nonrel_judged_ret", "judged non-relevant documents retrieved", "a count, summed over queries", _SOURCE,
    KernelMeasure("num_nonrel_judged_ret"), ("relevance_threshold",), aggregate="sum", supports_expected_ties=True,
    range=COUNT,
)  # fmt: skip
_register(
    "gm_map", "average precision, averaged geometrically", "exp(mean of log(max(AP, 0.00001)))", _SOURCE,
    KernelMeasure("ap"),
    ("relevance_threshold", "ap_denominator", "ap_undefined", "empty"), aggregate="geometric",
    supports_expected_ties=True,
    aliases=("gm_ap",),
)  # fmt: skip
_register(
    "gm_bpref", "Bpref, averaged geometrically", "exp(mean of log(max(Bpref, 0.00001)))", _SOURCE,
    KernelMeasure("bpref"),
    ("relevance_threshold", "empty"), aggregate="geometric", supports_expected_ties=True,
)  # fmt: skip

# What only 8.1 printed: name, meaning, formula, and whether it is a count, summed over queries.
_LEGACY = (
    ("3-pt_avg", "interpolated precision averaged over 3 recall levels", "mean at recall 0.2, 0.5, 0.8", False),
    ("avg_doc_prec", "precision summed over relevant documents, not divided by R", "R * AP", False),
    ("avg_relative_prec", "relative precision averaged over all ranks", "mean of relative_P@r", False),
    ("exact_relative_unranked_avg_prec", "squared precision of the retrieved set", "(hits / n)^2", False),
    ("map_at_R", "precision averaged over the ranks above R", "1/R * sum of P@r, r < R", False),
    ("int_map", "average of interpolated precision", "AP with the best P at or below each rank", False),
    ("exact_int_R_rcl_prec", "interpolated precision at rank R", "max of P@r, r >= R", False),
    ("int_map_at_R", "interpolated precision averaged over the ranks above R", "as map_at_R, interpolated", False),
    ("bpref_allnonrel", "Bpref against all judged non-relevant documents", "1 - N above / N", False),
    ("bpref_retnonrel", "Bpref against the retrieved non-relevant documents", "1 - N above / N retrieved", False),
    ("bpref_topnonrel", "Bpref against 100 non-relevant documents", "bound 100 instead of R", False),
    ("bpref_top5Rnonrel", "Bpref against 5 R non-relevant documents", "bound 5 R instead of R", False),
    ("bpref_top10Rnonrel", "Bpref against 10 R non-relevant documents", "bound 10 R instead of R", False),
    ("bpref_top10pRnonrel", "Bpref against R + 10 non-relevant documents", "bound R + 10 instead of R", False),
    ("bpref_top25pRnonrel", "Bpref against R + 25 non-relevant documents", "bound R + 25 instead of R", False),
    ("bpref_top50pRnonrel", "Bpref against R + 50 non-relevant documents", "bound R + 50 instead of R", False),
    ("bpref_top25p2Rnonrel", "Bpref against 2 R + 25 non-relevant documents", "bound 2 R + 25 instead of R", False),
    ("bpref_retall", "Bpref over retrieved documents only", "mean over retrieved relevant documents", False),
    ("bpref_5", "Bpref of the first 5 relevant against the first 5 non-relevant documents", "bounds 5, 5", False),
    ("bpref_10", "Bpref of the first 10 relevant against the first 10 non-relevant documents", "bounds 10, 10", False),
    ("bpref_num_all", "preferences kept against all judged documents", "sum of N - N above", False),
    ("bpref_num_ret", "preferences kept against retrieved documents", "sum of N retrieved - N above", False),
    ("bpref_num_correct", "preferences kept, where one was broken before", "sum of min(N, R) - min(N above, R)", True),
    ("bpref_num_possible", "number of preferences", "R min(N, R)", True),
    ("old_bpref", "Bpref as version 7.3 had it", "bound min(R, N retrieved)", False),
    ("old_bpref_top10pRnonrel", "Bpref with R + 10 as version 7.3 had it", "bound min(R + 10, N retrieved)", False),
    ("rcl_at_142_nonrel", "recall averaged over the first 142 non-relevant documents", "mean recall at each", False),
    ("rank_first_rel", "rank of the first relevant document, 0 without one", "1 / RR", True),
)  # fmt: skip
_UNBOUNDED = ("avg_doc_prec", "bpref_num_all", "bpref_num_ret")  # sums that 8.1 averages over queries
for _name, _meaning, _formula, _count in _LEGACY:
    _register(
        _name, _meaning, _formula, _SOURCE_8, KernelMeasure(f"v8_{_name}", undefined=0.0), ("relevance_threshold",),
        aggregate="sum" if _count else "mean", range=COUNT if _count or _name in _UNBOUNDED else (0.0, 1.0),
    )  # fmt: skip
for _name, _meaning, _formula in (
    ("unranked_avg_prec", "precision times recall at k", "P@k * Recall@k"),
    ("relative_unranked_avg_prec", "squared relative precision at k", "relative_P@k ^ 2"),
):
    _register(
        _name,
        _meaning,
        _formula,
        _SOURCE_8,
        KernelMeasure(f"v8_{_name}"),
        ("relevance_threshold", "apply_cutoff"),
        cutoff="required",
    )
_register(
    "int_Rprec_mult", "interpolated precision at a multiple of R", "max of P@r, r >= multiple * R", _SOURCE_8,
    KernelMeasure("v8_int_Rprec_mult", "multiple"), ("relevance_threshold",), parameters={"multiple": 1.0},
)  # fmt: skip
_register(
    "fallout_recall", "recall when a number of non-relevant documents, in tenths of 142, have been seen",
    "hits / R at that rank", _SOURCE_8, KernelMeasure("v8_fallout_recall", "nonrelevant"), ("relevance_threshold",),
    parameters={"nonrelevant": 0.0},
)  # fmt: skip

LEGACY = tuple(kind.name for kind in MEASURE_DEFINITIONS.loaded_items.values() if kind.source == _SOURCE_8)

_NUMBER = r"(\d*\.?\d+)"
_SIGNED = r"(-?\d*\.?\d+)"


def _parameter(kind: str, *names: str) -> Callable[[tuple[str, ...]], Measure]:
    return lambda numbers: Measure(kind, parameters=tuple(zip(names, map(float, numbers), strict=True)))


def _cut(kind: str) -> Callable[[tuple[str, ...]], Measure]:
    return lambda numbers: Measure(kind, int(numbers[0]))


# Printed names with parameters: prefix, pattern, and the measure.
_PATTERNS: tuple[tuple[str, str, Callable[[tuple[str, ...]], Measure]], ...] = (
    ("iprec_at_recall", rf"iprec_at_recall[_.]{_NUMBER}", _parameter("iprec_at_recall", "recall")),
    ("ircl_prn", rf"ircl_prn[_.]{_NUMBER}", _parameter("iprec_at_recall", "recall")),
    ("rprec_mult", rf"rprec_mult[_.]{_NUMBER}", _parameter("Rprec_mult", "multiple")),
    ("0.", r"(0\.\d+)r-prec", _parameter("Rprec_mult", "multiple")),
    ("1.", r"(1\.\d+)r-prec", _parameter("Rprec_mult", "multiple")),
    ("2.", r"(2\.\d+)r-prec", _parameter("Rprec_mult", "multiple")),
    ("int_", r"int_(\d\.\d+)r-prec", _parameter("int_Rprec_mult", "multiple")),
    ("fallout_recall_", r"fallout_recall_(\d+)", _parameter("fallout_recall", "nonrelevant")),
    ("set_f", rf"set_f[_.]{_NUMBER}", _parameter("set_F", "weight")),
    ("utility", rf"utility[_.]{'[_,]'.join([_SIGNED] * 4)}", _parameter("utility", "a", "b", "c", "d")),
    ("p", r"p([1-9]\d*)", _cut("P")),
    ("recall", r"recall([1-9]\d*)", _cut("Recall")),
    ("relative_prec", r"relative_prec([1-9]\d*)", _cut("relative_P")),
    ("unranked_avg_prec", r"unranked_avg_prec([1-9]\d*)", _cut("unranked_avg_prec")),
    ("relative_unranked_avg_prec", r"relative_unranked_avg_prec([1-9]\d*)", _cut("relative_unranked_avg_prec")),
    ("exact_prec", r"exact_prec", lambda _: Measure("P")),
    ("exact_recall", r"exact_recall", lambda _: Measure("Recall")),
)


def read(text: str) -> Measure | None:
    """Parse a name printed by trec_eval that contains parameters; return None for other names.

    >>> [str(read(t)) for t in ("iprec_at_recall_0.10", "0.20R-prec", "P5", "utility_1.0_-1.0_0.0_0.0")]
    ['iprec_at_recall(recall=0.1)', 'Rprec_mult(multiple=0.2)', 'P@5', 'utility(a=1,b=-1,c=0,d=0)']
    """
    lowered = text.lower()
    for prefix, pattern, measure in _PATTERNS:
        # Patterns are compiled only for names with their prefix, to start fast.
        if lowered.startswith(prefix) and (match := re.fullmatch(pattern, lowered)):
            return measure(match.groups())
    return None
