"""Machine-learning libraries that train rankers and evaluate them: what they compute for lists of labels and scores."""

from __future__ import annotations

from pippin.evaluation.convention import Convention
from pippin.evaluation.tools import Tool, Variant, kinds, register

LIST = Convention(ideal_source="list", query_selection="both", ties="input", ap_denominator="list", err_max_grade=4)
SINGLE = LIST.replace(score_precision="float32", value_rounding="float32", precision_denominator="list")

register(Tool(
    "rax", "Rax", "0.4.0", "google/rax, rax/_src/metrics.py", SINGLE,
    ("NDCG", "DCG", "AP", "P", "Recall", "RR", "OPA"),
    ("equal scores are a wrong pair in OPA, and stand in input order elsewhere", "all is single precision"),
    (Variant(kinds("OPA"), {"ties": "worst"}, "a pair of equal scores is wrong"),),
    group="libraries",
    measure_aliases=((r"mrr(@\d+)?", r"RR\1"), (r"ap(@\d+)?", r"AP\1")),
    unsupported=("all measures with key=: ties in a random order",),
))  # fmt: skip
register(Tool(
    "allrank", "allRank", "1.4.3", "allegro/allRank, allrank/models/metrics.py, c884756",
    SINGLE.replace(empty=1.0, ties="introsort", averaging="batch"), ("NDCG", "DCG", "TopRR"),
    ("MRR looks for the first document with the query's largest label, not for the first relevant one",
     "MRR of a query with nothing relevant is 1 where another query of the batch has something, and else 0",
     "a list stands alone here, and in the mean as in a batch: filled up to the longest, where torch.sort leaves tied "
     "documents in another order"),
    group="libraries", measure_aliases=((r"mrr(@\d+)?", r"TopRR\1"),),
    unsupported=("MRR of an empty query in a batch: alone it is 0, and 1 beside others, which the mean has",),
))  # fmt: skip
register(Tool(
    "tf-ranking", "TensorFlow Ranking", "0.5.5", "tensorflow_ranking/python/metrics_impl.py",
    SINGLE.replace(ties="expected", averaging="weighted"),
    ("NDCG", "DCG", "AP", "P", "Recall", "RR", "Success", "ARP", "OPA"),
    ("tied documents are shuffled on every call: here their expectation stands",
     "the means of ARP and OPA weigh a query by its labels and by its pairs", "labels below 0 are padding"),
    (Variant(kinds("OPA"), {"ties": "worst"}, "a pair of equal scores is wrong"),
     Variant(kinds("Recall"), {"averaging": "queries"}, "all means but those of ARP and OPA are plain")),
    group="libraries",
    measure_aliases=((r"(NDCG|DCG|ARP|OPA)Metric(@\d+)?", r"\1\2"), (r"MRRMetric(@\d+)?", r"RR\1"),
               (r"MeanAveragePrecisionMetric(@\d+)?", r"AP\1"), (r"PrecisionMetric(@\d+)?", r"P\1"),
               (r"RecallMetric(@\d+)?", r"Recall\1"), (r"HitsMetric(@\d+)?", r"Success\1")),
    unsupported=("one draw of shuffled ties: the expectation over all draws is given",),
))  # fmt: skip
register(Tool(
    "pyltr", "pyltr", "0.2.6", "pyltr/metrics", LIST.replace(ties="worst", negative_labels="gain"),
    ("NDCG", "DCG", "AP", "ERR", "AUC"),
    ("NDCG keeps the ideal of a query in the metric object, and uses it again for another data set with the same ids",
     "ERR wants the top grade, and stops at a label above it", "AUCROC of a query with one class is 0"),
    group="libraries",
    measure_aliases=((r"(NDCG|DCG|AP)\(k=(\d+)\)", r"\1@\2"), (r"NDCG\(k=(\d+),gain_type='identity'\)",
    r"NDCG(gain=label)@\1"),
               (r"AP\(k=(\d+),cutoff=1.5\)", r"AP(rel=2)@\1"), (r"ERR\((\d),k=(\d+)\)", r"ERR(err_max_grade=\1)@\2"),
               (r"AUCROC\(\)", r"AUC")),
    unsupported=("KendallTau: a correlation, see pippin correlate",),
))  # fmt: skip
register(Tool(
    "fastrank", "fastrank", "0.8.0", "jjfiv/fastrank, src/evaluators.rs", LIST.replace(ties="worst",
    score_precision="float32"),
    ("NDCG", "AP", "RR"),
    ("map@5 and mrr@5 are taken, and not cut", "scores are features, which are single precision"),
    (Variant(kinds("AP", "RR"), {"apply_cutoff": False}, "k is ignored"),),
    group="libraries", measure_aliases=((r"mrr(@\d+)?|rr", r"RR"),),
))  # fmt: skip
register(Tool(
    "ydf", "Yggdrasil Decision Forests", "0.16.1", "google/yggdrasil-decision-forests, metric/ranking_*.cc, fb9c52b",
    LIST.replace(ties="expected", score_precision="float32"),
    ("NDCG", "AP", "RR", "RandomNDCG"),
    ("MAP divides by the hits above the cutoff: one hit at rank 1 gives 1, whatever else is relevant",
     "ties are averaged in NDCG; in MRR and MAP they come out best first up to 16 documents, beyond as std::sort does",
     "all truncations are 5 by default"),
    (Variant(kinds("AP", "RR"), {"ties": "introsort-by-label", "ap_denominator": "found"}, "sorted by label before"),),
    group="libraries",
    measure_aliases=((r"mrr(@\d+)?", r"RR\1"), (r"default_ndcg(@\d+)?", r"RandomNDCG\1")),
    unsupported=("precision_at_1: hangs on the order in which the top labels were given",),
))  # fmt: skip
