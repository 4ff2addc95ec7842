"""Evaluators of recommenders: users are queries, items are documents, and most of them know no grades."""

from __future__ import annotations

from pippin.evaluation.convention import Convention
from pippin.evaluation.tools import OrderLimit, Tool, Variant, kinds, register

BINARY = Convention(gain="binary", ties="input", query_selection="both", err_max_grade=4, printed_digits=6)
USERS = BINARY.replace(empty=None)

register(Tool(
    "spark", "Spark MLlib (PySpark)", "4.3.0", "mllib/evaluation/RankingMetrics.scala and its Python bridge",
    BINARY.replace(query_selection="run"), ("NDCG", "AP", "P", "Recall"),
    ("PySpark takes a column of relevance and drops it in silence: NDCG is binary; Scala computes 2^label - 1",
     "with a column of relevance Scala takes the ideal in the order given, unsorted, so that NDCG can exceed 1",
     "the caller ranks: ties are his"),
    (Variant(lambda m: m.kind == "AP" and m.cutoff is not None, {"ap_denominator": "cutoff"},
     "At(k) divides by min(R, k)"),),
    group="recommenders",
    measure_aliases=((r"ndcgAt\((\d+)\)", r"NDCG@\1"), (r"precisionAt\((\d+)\)", r"P@\1"), (r"recallAt\((\d+)\)",
    r"Recall@\1"),
               (r"meanAveragePrecision", r"AP"), (r"meanAveragePrecisionAt\((\d+)\)", r"AP@\1")),
))  # fmt: skip
register(Tool(
    "spark-scala", "Spark MLlib (Scala, with relevance)", "4.3.0", "mllib/evaluation/RankingMetrics.scala",
    BINARY.replace(query_selection="run", gain="exp2"), ("NDCG",),
    ("the ideal is the ground truth in the order given: only a sorted one gives NDCG",), group="recommenders",
    measure_aliases=((r"ndcgAt\((\d+)\)", r"NDCG@\1"),),
))  # fmt: skip
register(Tool(
    "ms-recommenders", "Recommenders (Microsoft)", "1.2.1", "recommenders/evaluation/python_evaluation.py",
    BINARY.replace(empty=None, averaging="or-zero"), ("NDCG", "AP", "P", "Recall", "FoundRprec"),
    ("NDCG divides by all users with a true item, the others by users in both frames",
     "any row of rating_true is relevant, whatever its rating",
     "r_precision_at_k averages only users with a hit within rank R",
     "gain is binary unless score_type says otherwise"),
    (Variant(kinds("NDCG"), {"query_selection": "relevant"}, "an outer merge: a user without predictions counts 0"),
     Variant(lambda m: m.kind == "AP" and m.cutoff is not None, {"ap_denominator": "cutoff"}, "map_at_k: min(R, k)")),
    group="recommenders",
    measure_aliases=((r"ndcg_at_k\(k=(\d+)\)", r"NDCG@\1"), (r"precision_at_k\(k=(\d+)\)", r"P@\1"),
               (r"recall_at_k\(k=(\d+)\)", r"Recall@\1"), (r"map_at_k\(k=(\d+)\)", r"AP@\1"),
               (r"map\(k=(\d+)\)", r"AP(ap_denominator=judged)@\1"), (r"r_precision_at_k\(k=(\d+)\)", r"FoundRprec@\1"),
               (r"ndcg_at_k\(k=(\d+),score_type='exp'\)", r"NDCG(gain=exp2)@\1"),
               (r"ndcg_at_k\(k=(\d+),score_type='raw'\)", r"NDCG(gain=label)@\1")),
))  # fmt: skip
register(Tool(
    "lenskit", "LensKit", "2025.8.1", "lenskit.metrics", BINARY.replace(
        discount="letor", score_precision="float32", precision_denominator="list", query_selection="run",
        recall_denominator="cutoff",
        ap_denominator="shortest", ties="ipnsort"),
    ("NDCG", "DCG", "P", "Recall", "AP", "RR", "RBP", "RBPnorm", "Success"),
    ("the discount of NDCG is LETOR's: ranks 1 and 2 count the same", "recall divides by min(R, k)",
     "AveragePrecision raises ZeroDivisionError on a user without test items, which ends the analysis"),
    group="recommenders",
    measure_aliases=((r"AveragePrecision(@\d+)?( users with test items)?", r"AP\1"), (r"Hit(@\d+)?", r"Success\1"),
               (r"(NDCG|DCG)(@\d+)? gain=rating( users with test items)?", r"\1(gain=label)\2"),
               (r"(NDCG)(@\d+)? weight=LogRankWeight\(offset=1\)", r"\1(discount=log2)\2"),
               (r"RBP(@\d+)?", r"RBP(p=0.85)\1"), (r"RBP(@\d+)? patience=(0\.\d+)", r"RBP(p=\2)\1"),
               (r"RBP(@\d+)? normalize=True", r"RBPnorm(p=0.85)\1"), (r"RecipRank(@\d+)?", r"RR\1"),
               (r"Precision(@\d+)?", r"P\1")),
    unsupported=("tied scores in lists of 10,000 documents and more: several threads sort those",),
    order_limit=OrderLimit(9_999),
))  # fmt: skip
register(Tool(
    "implicit", "implicit", "0.7.3", "implicit/evaluation.pyx", USERS.replace(query_selection="relevant",
        ap_denominator="cutoff", recall_denominator="cutoff", averaging="weighted"),
    ("NDCG", "AP", "Recall", "SpreadAUC"),
    ("what it calls precision is all hits over the sum of min(K, R) of all users: a quotient of sums, like recall",
     "AUC supposes that positives beyond the cutoff are spread evenly"),
    group="recommenders", measure_aliases=((r"precision@(\d+)", r"Recall@\1"), (r"auc@(\d+)", r"SpreadAUC@\1")),
))  # fmt: skip
register(Tool(
    "recbole", "RecBole", "1.2.1", "recbole/evaluator/metrics.py",
    USERS.replace(score_precision="float32", ap_denominator="cutoff", mean_digits=4, mean_rounding="scaled",
        ties="topk-of-all", partial_sort_depth=10),
    ("NDCG", "AP", "P", "Recall", "RR", "Success"),
    ("the mean is rounded to 4 digits by NumPy, which makes 0.0062 of 1/160",
     "items without a score still fill the top k, and may be hits there",
     "tied items come in an order that hangs on the size of the catalogue"),
    group="recommenders", measure_aliases=((r"hit(@\d+)?", r"Success\1"), (r"mrr(@\d+)?", r"RR\1"),
    (r"precision(@\d+)?",
    r"P\1")),
))  # fmt: skip
register(Tool(
    "cornac", "cornac", "4db147d", "cornac/metrics/ranking.py", USERS.replace(ties="argsort"),
    ("NDCG", "NCRR", "P", "Recall", "F1", "Success", "RR", "AUC", "AP"),
    ("MAP counts tied items at the last rank of their group, the others as NumPy's argsort leaves them, backwards",
     "AUC: a pair of equal scores is wrong", "MRR stops where nothing relevant is in the list"),
    (Variant(kinds("AP", "AUC"), {"query_selection": "relevant", "min_retrieved": 1, "averaging": "all-or-none"},
     "a user without a value leaves the mean without one"),
     Variant(kinds("AP"), {"ties": "shared-rank", "apply_cutoff": False, "ap_denominator": "list"},
     "scikit-learn's LRAP"),
     Variant(kinds("AUC"), {"ties": "worst"}, "a pair of equal scores is wrong"),
     Variant(kinds("NCRR"), {"ideal_depth": "list"}, "the ideal is no longer than the list")),
    group="recommenders",
    measure_aliases=((r"HitRatio@(\d+)", r"Success@\1"), (r"(NDCG|NCRR)@-1", r"\1"), (r"MRR", r"RR"), (r"MAP", r"AP"),
               (r"Precision@(\d+)", r"P@\1")),
    unsupported=("tied scores of more than 256 items in all measures but MAP and AUC: NumPy sorts these otherwise",),
    order_limit=OrderLimit(256),
))  # fmt: skip
register(Tool(
    "recpack", "RecPack", "0.3.6", "recpack/metrics", USERS.replace(ties="argpartition-of-all"),
    ("NDCG", "DCG", "P", "Recall", "RR", "Hits"),
    ("HitK is the number of hits", "CalibratedRecallK divides by min(R, k)"),
    group="recommenders",
    measure_aliases=((r"CalibratedRecallK\((\d+)\)", r"Recall(recall_denominator=cutoff)@\1"), (r"(NDCG|DCG)K\((\d+)\)",
    r"\1@\2"),
               (r"HitK\((\d+)\)", r"Hits@\1"), (r"PrecisionK\((\d+)\)", r"P@\1"), (r"RecallK\((\d+)\)", r"Recall@\1"),
               (r"ReciprocalRankK\((\d+)\)", r"RR@\1")),
    unsupported=("tied scores of more than 256 items at a cutoff of 1: NumPy changes its argpartition there",),
    order_limit=OrderLimit(256, cutoff=1),
))  # fmt: skip
register(Tool(
    "elliot", "Elliot", "0.3.1", "sisinflab/elliot, elliot/evaluation/metrics/accuracy, fc27efe",
    USERS.replace(gain="exp2-from"),
    ("NDCG", "P", "Recall", "F1", "RR", "Success", "MeanP", "MeanRecall"),
    ("its MAP is the mean of P@1 … P@k, relevant or not", "a threshold of relevance t shifts the gain to 2^(l-t+1) - 1",
     "the default threshold is 0: every judged item is relevant"),
    group="recommenders",
    measure_aliases=((r"HR@(\d+)", r"Success@\1"), (r"MAP@(\d+)", r"MeanP@\1"), (r"MAR@(\d+)", r"MeanRecall@\1"),
               (r"nDCG@(\d+)", r"NDCG@\1"), (r"nDCGRendle2020@(\d+)", r"NDCG(gain=binary)@\1"),
               (r"MRR@(\d+)", r"RR@\1"), (r"Precision@(\d+)", r"P@\1")),
))  # fmt: skip
