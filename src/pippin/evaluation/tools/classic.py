"""The classic evaluation tools as named conventions.

A tool is a convention, the version and source it was read in, and its traps. To add a tool, register it here or in
the module of its family.
"""

from __future__ import annotations

from pippin.evaluation.convention import Convention
from pippin.evaluation.measures.trec_eval import LEGACY
from pippin.evaluation.tools import (
    TOOLS,
    FractionRule,
    LabelLimit,
    Tool,
    Variant,
    exponential_ndcg,
    kinds,
    register,
)

OFFICIAL = Convention()
_REFUSES = "refuses labels that are not whole numbers"  # in a `FractionRule`
_TRUNCATES = FractionRule(otherwise="truncates labels to whole numbers")
_FIXED = OFFICIAL.replace(err_max_grade=4)  # of MSLR's and Yahoo's labels
_LIST = _FIXED.replace(ideal_source="list", query_selection="both", ties="input", ap_denominator="list")
_TREC = _FIXED.replace(gain="label", query_selection="both", ties="id-descending", score_precision="float32")
_LETOR4 = _LIST.replace(discount="letor", short_lists="zero", max_valid_label=2)
_TREC_PRINTS = (
    "NDCG",
    "AP",
    "P",
    "Recall",
    "Rprec",
    "RR",
    "Bpref",
    "Success",
    "F1",
    "num_ret",
    "num_rel",
    "num_rel_ret",
)
_TREC_ALONE = ("iprec_at_recall", "11pt_avg", "Rprec_mult", "relative_P", "set_map", "utility", "infAP", "gm_map",
               "gm_bpref", "num_nonrel_judged_ret")  # fmt: skip
_TREC_9_ALONE = (*_TREC_ALONE, "set_F", "binG", "G", "ndcg_rel", "Rndcg", "yaap")

register(Tool(
    "official", "the definition", "",
    "Järvelin & Kekäläinen 2002, as Busa-Fekete et al. 2012 recommend for final results; ties in expectation",
    OFFICIAL,
    ("NDCG", "DCG", "AP", "P", "Recall", "Rprec", "RR", "ERR", "RBP", "Bpref", "Success", "F1"),
    ("no original tool computes ties this way: expect a difference wherever scores are tied",),
    fractions=FractionRule(("NDCG", "DCG")),
))  # fmt: skip
register(Tool(
    "letor3", "LETOR 3.0 evaluation script", "3.0 (16 positions)", "Eval-Score-3.0.pl",
    _LETOR4.replace(precision_denominator="zero", printed_digits=15),
    ("NDCG", "P", "AP"),
    ("NDCG@k and P@k of a list shorter than k count 0 and stay in the mean",
     "labels 3 and 4 silently count as 0 and are not relevant",
     "a document id repeated in a query overwrites the earlier line"),
))  # fmt: skip
register(Tool(
    "letor4", "LETOR 4.0 evaluation script", "4.0", "Eval-Score-4.0.pl", _LETOR4,
    ("NDCG", "MeanNDCG", "P", "AP"),
    ("NDCG@k of a list shorter than k is 0, although P@k of it is not",
     "labels 3 and 4 silently count as 0 and are not relevant",
     "rank 2 is not discounted: 1, 1, 1/log2(3), …"),
))  # fmt: skip
register(Tool(
    "mslr", "MSLR-WEB evaluation script", "2010", "eval-score-mslr.pl",
    _LETOR4.replace(max_valid_label=4, relevance_threshold=2),
    ("NDCG", "MeanNDCG", "P", "AP"),
    ("a label of 1 gains in NDCG but is not relevant in P and MAP", "NDCG@k of a list shorter than k is 0"),
))  # fmt: skip
register(Tool(
    "yahoo", "Yahoo! Learning to Rank Challenge script", "2010", "evaluate.py",
    _LIST.replace(empty=1.0, printed_digits=6),
    ("NDCG", "ERR"),
    ("a query without a relevant document counts 1.0, so the mean rises by their share", "k does not cut ERR"),
    (Variant(kinds("ERR"), {"apply_cutoff": False}, "ERR is taken over the whole list"),),
))  # fmt: skip
register(Tool(
    "ranklib", "RankLib", "2.10 (and Lemur 2.3 - 2.8)", "ciir.umass.edu.eval.Evaluator",
    _LIST.replace(precision_denominator="list", gain="exp2-int32"),
    ("NDCG", "DCG", "AP", "P", "RR", "ERR"),
    ("MAP@k ignores k", "P@k of a short list divides by its length", "a gain is a 32-bit integer: label 32 gains 0",
     "the printed mean is rounded to 4 decimals without trailing zeros"),
    (Variant(kinds("AP"), {"apply_cutoff": False}, "k is ignored"),
     Variant(kinds("RR"), {"value_rounding": "float32"}, "1/rank is computed in single precision")),
))  # fmt: skip
register(Tool(
    "trec_eval8", "trec_eval with the NDCG branch", "8.1", "tag ian-ndcg-final",
    _TREC.replace(value_rounding="float32"),
    (*_TREC_PRINTS, *_TREC_ALONE, *LEGACY),
    ("the release has no NDCG; its branch has one without a cutoff", "values are held in single precision"),
    fractions=_TRUNCATES,
))  # fmt: skip
register(Tool(
    "trec_eval9", "trec_eval", "9.0.7", "github.com/usnistgov/trec_eval, tags v9.0.7 and v9.0.8 (2020)", _TREC,
    (*_TREC_PRINTS, *_TREC_9_ALONE),
    ("scores are read in single precision: near-ties become ties, settled by document id, descending",
     "the rank column is ignored", "gain is the label itself", "-l changes neither NDCG nor -c's num_rel"),
    fractions=_TRUNCATES,
))  # fmt: skip
register(Tool(
    "trec_eval9.0.8", "trec_eval", "9.0.8", "github.com/usnistgov/trec_eval, tag trec_eval-9.0.8 (2023)",
    _TREC.replace(score_precision="float64"), (*_TREC_PRINTS, *_TREC_9_ALONE),
    ("scores in double precision, so near-ties differ from trec_eval9", "the tag v9.0.8 (2020) is trec_eval9"),
    fractions=_TRUNCATES,
))  # fmt: skip
register(Tool(
    "trec_eval10", "trec_eval", "10.0", "github.com/usnistgov/trec_eval",
    _TREC.replace(score_precision="float64", recall_level_rounding="nearest"),
    (*_TREC_PRINTS, *_TREC_9_ALONE, "DCG", "ideal_dcg", "rbp_graded", "rbp_resid", "unj"),
    ("scores in double precision, so near-ties differ from 9.x",
     "without -c a judged topic that is missing from the run stops it with status 4"),
    fractions=_TRUNCATES,
))  # fmt: skip
register(Tool(
    "gdeval", "gdeval", "1.3", "gdeval.pl of trec-web 2013/2014",
    _TREC.replace(gain="exp2", empty=None, score_precision="float64", printed_digits=5),
    ("NDCG", "ERR"),
    ("topics without a relevant document are left out of the mean", "a label above 4 is an error"),
    label_limits=(LabelLimit(lambda measure, convention: True, highest=4),),
))  # fmt: skip
register(Tool(
    "ir_measures", "ir_measures", "0.4.3", "github.com/terrierteam/ir_measures",
    _TREC.replace(query_selection="judged"),
    (*_TREC_PRINTS, "ERR", "RBP", "iprec_at_recall", "relative_P", "set_map", "set_F", "infAP", "Judged", "NumQ",
     "Accuracy"),
    ("nDCG and nDCG(dcg='exp-log2') are computed by two different tools",
     "RR and RR@k settle ties in opposite directions", "every judged topic counts, found or not",
     "NumQ and NumRel count retrieved topics alone"),
    (Variant(lambda m: m.kind == "ERR" or (m.kind == "NDCG" and dict(m.overrides).get("gain") == "exp2"),
             {"score_precision": "float64", "value_rounding": 5},
             "from gdeval, rounded to 5 digits; empty topics are added as 0"),
     Variant(lambda m: m.kind == "RR" and m.cutoff is not None,
             {"ties": "id-ascending", "score_precision": "float64"}, "from the MS MARCO script"),
     Variant(kinds("Judged"), {"ties": "id-ascending", "score_precision": "float64"}, "its own count"),
     Variant(kinds("Accuracy"), {"query_selection": "both", "empty": None, "ties": "input",
                                 "score_precision": "float64"}, "only topics with a retrieved relevant document"),
     Variant(kinds("NumQ", "num_rel"), {"query_selection": "both"}, "a judged topic that is not in the run counts 0")),
))  # fmt: skip
register(Tool(
    "ranx", "ranx", "0.3.21", "github.com/AmenRa/ranx",
    _FIXED.replace(gain="label", query_selection="judged", ties="input", rbp_gain="label"),
    ("NDCG", "DCG", "AP", "P", "Recall", "Rprec", "RR", "RBP", "Bpref", "F1", "Success", "Hits"),
    ("ties in lists of 16 or more documents come in an arbitrary order", "ndcg_burges is NDCG with gain 2^label - 1",
     "rbp weighs a document by its label; rbp.95 is p = 0.95", "bpref is NaN without a judged non-relevant document",
     "labels that are not whole numbers are truncated"),
    (Variant(kinds("Bpref"), {"empty": None, "averaging": "all-or-none", "bpref_no_nonrelevant": "undefined",
                              "bpref_negative_labels": "nonrelevant"}, "divided by min(R, N); all below 1 are in N"),),
    fractions=_TRUNCATES,
))  # fmt: skip
register(Tool(
    "rank_eval", "rank_eval", "0.1.3", "github.com/AmenRa/rank_eval, before it became ranx",
    TOOLS["ranx"].convention.replace(ties="reversed"), ("NDCG", "AP", "P", "Recall", "Rprec", "RR", "Hits"),
    ("ties are in reverse input order, in lists of 16 or more documents in an arbitrary one",
     "ndcg_burges is NDCG with gain 2^label - 1"),
    group="retrieval",
))  # fmt: skip
register(Tool(
    "sklearn", "scikit-learn ndcg_score", "1.9.1", "sklearn.metrics",
    _LIST.replace(gain="label", ties="expected", negative_labels="gain"),
    ("NDCG", "DCG", "AP", "CoverageError", "RankingLoss"),
    ("gain is what you pass: labels, unless you exponentiate them", "a query of one document raises an error there",
     "average_precision_score and LRAP count tied documents at the last rank of their group"),
    (Variant(kinds("AP"), {"ties": "shared-rank"}, "ties are one threshold"),
     Variant(kinds("CoverageError", "RankingLoss"), {"ties": "worst"}, "ties count against the ranking")),
    label_limits=(LabelLimit(lambda measure, convention: measure.kind == "NDCG", lowest=0),),
    fractions=FractionRule(("NDCG", "DCG"), otherwise=_REFUSES),
))  # fmt: skip
register(Tool(
    "lightgbm", "LightGBM", "4.7.0", "rank_metric.hpp, map_metric.hpp",
    _LIST.replace(empty=1.0, ap_denominator="cutoff"), ("NDCG", "AP"),
    ("an empty query counts 1.0, and query weights do not apply to it",
     "NDCG refuses labels that are not whole numbers from 0 to 30, unless label_gain lists more gains"),
    label_limits=(LabelLimit(exponential_ndcg, 0, 30),),
    fractions=FractionRule(precision="float32", binary=("AP",), otherwise=_REFUSES),
))  # fmt: skip
_XGBOOST = _LIST.replace(empty=1.0, score_precision="float32", ap_denominator="cutoff", precision_denominator="list",
                         negative_labels="gain")  # fmt: skip
_XGBOOST_FRACTIONS = FractionRule(("NDCG",), ("label",), "float32", otherwise=_REFUSES)
_XGBOOST_LABELS = (LabelLimit(exponential_ndcg, 0, 31),)
register(Tool(
    "xgboost", "XGBoost", "3.2.0", "rank_metric.cc", _XGBOOST, ("NDCG", "AP", "P"),
    ("an empty query counts 1.0, with the suffix “-” (or the tool xgboost-) 0", "map and pre take binary labels only",
     "NDCG refuses labels that are not whole numbers from 0 to 31, unless ndcg_exp_gain is off"),
    label_limits=_XGBOOST_LABELS,
    fractions=_XGBOOST_FRACTIONS,
))  # fmt: skip
register(Tool(
    "xgboost-", "XGBoost, measures with the suffix “-”", "3.2.0", "rank_metric.cc", _XGBOOST.replace(empty=0.0),
    ("NDCG", "AP", "P"), label_limits=_XGBOOST_LABELS, fractions=_XGBOOST_FRACTIONS,
))  # fmt: skip
register(Tool(
    "catboost", "CatBoost", "1.2.10", "NDCG, MAP, PrecisionAt, MRR, ERR",
    _LIST.replace(gain="label", empty=1.0, ties="worst", ap_denominator="cutoff", precision_denominator="list",
                  negative_labels="gain", err_max_grade="probability"),
    ("NDCG", "DCG", "AP", "P", "Recall", "RR", "ERR", "PFound", "AUC", "OPA", "AverageGain"),
    ("ties are settled pessimistically, lowest label first", "type=Base takes the label as gain, type=Exp 2^label - 1",
     "an empty query counts 1 in NDCG and RecallAt, 0 in MAP, MRR and QueryAUC",
     "ERR and PFound take labels above 1 as probabilities, and give numbers far below 0 (--err-max-grade gain)"),
    (Variant(kinds("AP"), {"empty": 0.0}, "MAP of an empty query is 0, NDCG 1"),
     Variant(kinds("AUC", "OPA"), {"empty": 0.0, "ties": "expected"}, "a tied pair is half right; one class counts 0")),
    label_limits=(LabelLimit(lambda measure, convention: measure.kind in ("ERR", "PFound"), lowest=0),),
    fractions=FractionRule(("NDCG", "DCG"), precision="float32", binary=("AP", "P", "Recall", "RR")),
))  # fmt: skip
register(Tool(
    "rankeval", "rankeval", "0.8.2", "rankeval.metrics",
    _LIST.replace(empty=1.0, ties="reversed", value_rounding="float32", ap_denominator="cutoff", ap_undefined="cutoff",
                  precision_denominator="list", err_max_grade="query"),
    ("NDCG", "DCG", "AP", "P", "Recall", "RR", "ERR"),
    ("ties in reverse input order up to 16 documents, arbitrary above",
     "MAP@k is 1.0 where all relevant documents stand below the cutoff", "ERR's top grade is the query's own"),
))  # fmt: skip
