"""Evaluation inside search engines: lists come as the engine returns them, judgements as ratings."""

from __future__ import annotations

from pippin.evaluation.convention import Convention
from pippin.evaluation.tools import Tool, Variant, kinds, register

HITS = Convention(ties="input", precision_denominator="list", err_max_grade=4)

register(Tool(
    "elasticsearch", "Elasticsearch _rank_eval", "9 (main)", "modules/rank-eval",
    HITS.replace(ideal_depth="list"), ("NDCG", "DCG", "P", "Recall", "RR", "ERR"),
    ("the ideal is cut at the hits returned: one hit with the best rating has NDCG 1, whatever else is relevant",
     "dcg is not normalised unless asked for", "unrated documents gain nothing, or unknown_doc_rating",
     "precision with ignore_unlabeled leaves unrated documents out of both counts"),
    group="engines",
    measure_aliases=((r"dcg", r"DCG@10"), (r"precision", r"P@10"), (r"recall", r"Recall@10"), (r"mean_reciprocal_rank",
    r"RR@10"),
               (r"expected_reciprocal_rank", r"ERR@10")),
))  # fmt: skip
_OPENSEARCH = HITS.replace(value_rounding="half-up-2", relevance_rule="percentile")
_GRADED = Variant(kinds("NDCG", "DCG", "Judged"), {"relevance_rule": "fixed"}, "all ratings gain")
_OPENSEARCH_PRINTS = ("NDCG", "DCG", "P", "AP", "Recall", "RR", "Judged")
register(Tool(
    "opensearch", "OpenSearch search-relevance", "main, 0b75cf8", "opensearch-project/search-relevance",
    _OPENSEARCH, _OPENSEARCH_PRINTS,
    ("relevant is what reaches the larger of half the query's best rating and the 90th percentile of its ratings",
     "each query's value is rounded to 2 decimals, halves up, before the mean"),
    (_GRADED,), group="engines", measure_aliases=((r"Coverage@(\d+)", r"Judged@\1"), (r"Precision@(\d+)", r"P@\1")),
))  # fmt: skip
register(Tool(
    "opensearch-3.1", "OpenSearch search-relevance", "3.1 (June 2025)", "opensearch-project/search-relevance",
    HITS.replace(value_rounding="half-up-2", ideal_depth="list"), _OPENSEARCH_PRINTS,
    ("each query's value is rounded to 2 decimals, halves up, before the mean",
     "the ideal is cut at the hits returned"),
    group="engines", measure_aliases=((r"Coverage@(\d+)", r"Judged@\1"), (r"Precision@(\d+)", r"P@\1")),
))  # fmt: skip
register(Tool(
    "quepid", "Quepid", "8.6.0", "o19s/quepid, db/scorers", HITS.replace(ideal_depth="none"),
    ("NDCG", "DCG", "CG", "P", "AP", "RR", "ERR"),
    ("the ideal of NDCG@10 is all rated documents: a perfect list can have less than 1",
     "ERR's top grade is the last value of the scorer's scale"),
    group="engines",
))  # fmt: skip
register(Tool(
    "quepid-cut", "Quepid, ndcg_cut@10.js", "8.6.0", "o19s/quepid, db/scorers/ndcg_cut@10.js", HITS, ("NDCG",),
    group="engines",
))  # fmt: skip
