"""Evaluators of embeddings, of retrieval and of language models with retrieval."""

from __future__ import annotations

from pippin.evaluation.convention import Convention
from pippin.evaluation.tools import OrderLimit, Tool, Variant, kinds, register

_FIXED = Convention(err_max_grade=4)
TREC = _FIXED.replace(gain="label", query_selection="both", ties="id-descending", score_precision="float32")
BINARY = _FIXED.replace(gain="binary", ties="input")

_PYTREC = ("NDCG", "AP", "Recall", "P", "Success", "RR")
_MTEB = (
    (r"(ndcg|map|recall|precision|hit_rate|mrr)_at_(\d+)", r"\1@\2"), (r"MRR@(\d+)", r"RR@\1"),
    (r"success_(\d+)", r"Success@\1"), (r"accuracy", r"Recall@1"), (r"n_scored_by_pytrec_eval", r"NumQ"),
)  # fmt: skip
register(Tool(
    "mteb", "MTEB", "2.26.24", "mteb/_evaluators/retrieval_metrics.py",
    TREC.replace(mean_digits=5, printed_digits=5), (*_PYTREC, "Hole", "num_success", "NumQ", "nAUC_ndcg", "nAUC_map",
    "nAUC_recall", "nAUC_precision", "nAUC_mrr"),
    ("NDCG sorts by scores in single precision, MRR in double: near-ties give two rankings in one table",
     "a topic of the run without judgements is a KeyError", "accuracy is recall@1",
     "top_k_accuracy has an entry per success and none per failure: its mean is always 1"),
    (Variant(kinds("RR", "num_success", "Hole", "nAUC_mrr"), {"score_precision": "float64", "mean_digits": None},
     "sorted by (score, id) itself"),
     Variant(lambda m: m.kind.startswith("nAUC"), {"mean_digits": None}, "not rounded"),
     Variant(lambda m: dict(m.overrides).get("recall_denominator") == "cutoff",
             {"score_precision": "float64", "mean_digits": None, "empty": None},
             "its own count; None without a relevant one")),
    group="retrieval",
    measure_aliases=(*_MTEB, (r"R_cap_at_(\d+)", r"Recall(recall_denominator=cutoff)@\1"),
               (r"len\(Accuracy@(\d+)\)", r"num_success@\1"), (r"Hole_at_(\d+)", r"Hole@\1"),
               (r"nauc_(ndcg|map|recall|precision|mrr)_at_(\d+)_(max|std|diff1)", r"nAUC_\1(confidence=\3)@\2")),
))  # fmt: skip
register(Tool(
    "mteb-2.26.23", "MTEB before #5136", "until August 2026", "mteb/_evaluators/retrieval_metrics.py",
    TREC.replace(mean_digits=5, printed_digits=5), _PYTREC,
    ("MRR left ties in input order: a constant scorer with the positive listed first had MRR 1 and NDCG 0",),
    (Variant(kinds("RR"), {"score_precision": "float64", "ties": "input", "mean_digits": None},
    "a stable sort by score"),),
    group="retrieval", measure_aliases=_MTEB,
))  # fmt: skip
_BEIR_OWN = {"score_precision": "float64", "ties": "input", "query_selection": "judged", "self_retrieval": "keep"}
register(Tool(
    "beir", "BEIR", "2.2.0", "beir/retrieval/evaluation.py and custom_metrics.py",
    TREC.replace(mean_digits=5, printed_digits=5, self_retrieval="drop"), (*_PYTREC, "OwnHole"),
    ("MRR, R_cap, Hole and Accuracy sort stably by score: a constant scorer can have MRR 1",
     "these divide by all judged topics, NDCG and the others by those that were retrieved, too",
     "documents with the id of their query are removed first", "R_cap divides by 0 where nothing is relevant"),
    (Variant(kinds("RR"), {**_BEIR_OWN}, "evaluate_custom has its own sort and its own denominator"),
     Variant(kinds("OwnHole"), {**_BEIR_OWN, "query_selection": "run"},
     "sums over the run, divides by the judged topics"),
     Variant(lambda m: m.kind == "Success" or dict(m.overrides).get("recall_denominator") == "cutoff",
             {**_BEIR_OWN}, "evaluate_custom has its own sort and its own denominator")),
    group="retrieval",
    measure_aliases=((r"Accuracy@(\d+)", r"Success@\1"), (r"MRR@(\d+)", r"RR@\1"), (r"MAP@(\d+)", r"AP@\1"),
               (r"R_cap@(\d+)", r"Recall(recall_denominator=cutoff)@\1"), (r"Hole@(\d+)", r"OwnHole@\1")),
))  # fmt: skip
_SETS = (
    (r"accuracy@(\d+)", r"Success@\1"), (r"precision@(\d+)", r"P@\1"), (r"mrr@(\d+)", r"RR@\1"), (r"map@(\d+)",
     r"AP@\1"),
)  # fmt: skip
register(Tool(
    "sentence-transformers", "sentence-transformers InformationRetrievalEvaluator", "6.2.0",
    "sentence_transformers/evaluation/InformationRetrievalEvaluator.py",
    BINARY.replace(ties="id-ascending", query_selection="relevant", empty=None, ap_denominator="cutoff"),
    ("NDCG", "AP", "Recall", "P", "Success", "RR"),
    ("everything is binary", "map@k divides by min(k, R)", "queries without a relevant document are left out"),
    group="retrieval", measure_aliases=_SETS,
))  # fmt: skip
_RERANK = BINARY.replace(
    ideal_source="list",
    pool_source="list",
    query_selection="both",
    score_precision="float32",
    ties="expected",
    ap_denominator="list",
)
register(Tool(
    "sentence-transformers-rerank", "sentence-transformers RerankingEvaluator", "6.2.0",
    "sentence_transformers/evaluation/RerankingEvaluator.py",
    _RERANK.replace(empty=None, all_relevant_lists="drop"), ("NDCG", "AP", "RR"),
    ("queries without a positive or without a negative among the candidates are left out",
     "candidates stand positives first, so that ties favour MRR: a constant scorer has MRR 1",
     "map is scikit-learn's average_precision_score: tied documents stand at the last rank of their group"),
    (Variant(kinds("AP"), {"ties": "shared-rank"}, "scikit-learn"),
     Variant(kinds("RR"), {"ties": "introsort-relevant-first"}, "torch.argsort")),
    group="retrieval", measure_aliases=((r"bi:(ndcg@\d+)", r"\1"), (r"bi:mrr@(\d+)", r"RR@\1"), (r"bi:map", r"AP")),
))  # fmt: skip
register(Tool(
    "sentence-transformers-ce", "sentence-transformers CrossEncoderRerankingEvaluator", "6.2.0",
    "sentence_transformers/cross_encoder/evaluation/reranking.py",
    _RERANK, ("NDCG", "AP", "RR"),
    ("scores are sorted upwards and reversed: ties put the positives last in MRR, a constant scorer has the least",
     "one candidate ends the whole evaluation with a ValueError",
     "always_rerank_positives (the default) adds positives that were not retrieved"),
    (Variant(kinds("AP"), {"ties": "shared-rank"}, "scikit-learn"),
     Variant(kinds("RR"), {"ties": "argsort-relevant-first"}, "np.argsort, reversed")),
    group="retrieval", measure_aliases=((r"ce.negative:(ndcg@\d+)", r"\1"), (r"ce.negative:mrr@(\d+)", r"RR@\1"),
                                  (r"ce.negative:map", r"AP")),
    unsupported=("tied scores of more than 256 candidates in MRR: NumPy sorts these otherwise",),
    order_limit=OrderLimit(256),
))  # fmt: skip
_TORCH_HITS = {"score_floor": "zero", "ap_denominator": "found", "ties": "topk"}
register(Tool(
    "torchmetrics", "torchmetrics (retrieval)", "1.9.0", "torchmetrics/functional/retrieval",
    _FIXED.replace(gain="label", negative_labels="label", pool_source="list", ideal_source="list",
                   query_selection="both", score_precision="float32", value_rounding="float32", averaging="or-zero"),
    ("NDCG", "AP", "RR", "P", "Recall", "Success", "FallOut", "Rprec", "AUC"),
    ("a document with a score of 0 or less is never relevant in MAP, MRR, Precision and Recall",
     "labels below 0 enter NDCG as they are, which leaves 0 to 1", "MAP divides by the hits above the cutoff",
     "AUROC passes scores through a sigmoid unless all are in 0 to 1, and large ones saturate into ties"),
    (Variant(kinds("AP", "RR", "P"), _TORCH_HITS, "scores of 0 or less are masked; topk"),
     Variant(kinds("Recall"), {**_TORCH_HITS, "ties": "introsort-twice"}, "scores of 0 or less are masked; argsort"),
     Variant(kinds("Success", "FallOut", "Rprec"), {"ties": "introsort-twice"}, "argsort"),
     Variant(kinds("FallOut"), {"empty": 1.0}, "empty_target_action is pos here")),
    group="retrieval",
    measure_aliases=((r"RetrievalNormalizedDCG(@\d+)?", r"NDCG\1"), (r"RetrievalMAP(@\d+)?", r"AP\1"),
               (r"RetrievalMRR(@\d+)?", r"RR\1"), (r"RetrievalPrecision(@\d+)?", r"P\1"),
               (r"RetrievalPrecision(@\d+)?\(adaptive_k=True\)", r"P(precision_denominator=list)\1"),
               (r"RetrievalRecall(@\d+)?", r"Recall\1"), (r"RetrievalHitRate(@\d+)?", r"Success\1"),
               (r"RetrievalFallOut(@\d+)?", r"FallOut\1"), (r"RetrievalRPrecision", r"Rprec"),
               (r"RetrievalAUROC(@\d+)?", r"AUC\1"),
               (r"RetrievalNormalizedDCG(@\d+)?\(empty_target_action=neg\)", r"NDCG(empty=0)\1"),
               (r"RetrievalNormalizedDCG(@\d+)?\(empty_target_action=pos\)", r"NDCG(empty=1)\1"),
               (r"RetrievalNormalizedDCG(@\d+)?\(empty_target_action=skip\)", r"NDCG(empty=skip)\1"),
               (r"RetrievalMAP(@\d+)?\(empty_target_action=neg\)", r"AP(empty=0)\1"),
               (r"RetrievalMAP(@\d+)?\(empty_target_action=pos\)", r"AP(empty=1)\1"),
               (r"RetrievalMAP(@\d+)?\(empty_target_action=skip\)", r"AP(empty=skip)\1"),
               (r"RetrievalFallOut(@\d+)?\(empty_target_action=neg\)", r"FallOut(empty=0)\1"),
               (r"RetrievalFallOut(@\d+)?\(empty_target_action=pos\)", r"FallOut(empty=1)\1"),
               (r"RetrievalFallOut(@\d+)?\(empty_target_action=skip\)", r"FallOut(all_relevant_lists=drop)\1")),
    unsupported=("tied scores of more than 16 documents among other queries: all are sorted by query, not stably",),
    order_limit=OrderLimit(16, "run"),
))  # fmt: skip
_TRECTOOLS = TREC.replace(
    score_precision="float64",
    query_selection="run",
    negative_labels="unjudged",
    empty=None,
    averaging="counted",
    query_id_format="numbers",
)
register(Tool(
    "trectools", "trectools", "0.0.50", "joaopalotti/trectools, trec_eval.py", _TRECTOOLS.replace(ties="id-ascending"),
    ("NDCG", "P", "Recall", "AP", "RR", "Bpref", "Rgain", "RBP", "unj", "gm_map", "RBPresidual", "NumQ"),
    ("NDCG and RBP settle ties by document id upwards, all else downwards",
     "means divide by the topics of the run, judged or not", "negative judgements are deleted",
     "ids of topics that are numbers lose their leading zeros",
     "RBP averages ties, and a group of ties runs on into the next topic: RBP can exceed 1"),
    (Variant(kinds("P", "Recall", "AP", "RR", "Bpref", "Rprec", "unj", "gm_map"), {"ties": "id-descending"},
     "sorted again"),
     Variant(kinds("Bpref"), {"bpref_no_nonrelevant": "zero"}, "0 without a judged non-relevant document"),
     Variant(kinds("RBP", "RBPresidual"), {"ties": "expected", "tie_scope": "run"},
     "ties are averaged, across topics"),
     Variant(kinds("RBP"), {"averaging": "counted-or-none"}, "no value without a hit in any topic"),
     Variant(kinds("gm_map"), {"averaging": "judged-or-none"},
     "no value where a topic has nothing relevant, or was lost"),
     Variant(kinds("NumQ", "unj"), {"empty": 0.0}, "all topics of the run"),
     Variant(kinds("unj"), {"averaging": "judged"}, "UNJ divides by all judged topics"),
     Variant(kinds("Rgain", "NDCG"), {"zero_values": "drop"}, "a topic without a hit has no value, and counts 0"),
     Variant(kinds("P", "RR", "RBP"), {"empty": 0.0}, "0 where nothing is relevant")),
    group="retrieval",
    measure_aliases=((r"MAP@(\d+)", r"AP@\1"), (r"R@(\d+)", r"Recall@\1"), (r"recip_rank@(\d+)", r"RR@\1"),
               (r"UNJ@(\d+)", r"unj@\1"), (r"RPrec@(\d+)", r"Rgain"), (r"RBP\((0\.\d+)\)@(\d+)", r"RBP(p=\1)@\2"),
               (r"RBP\((0\.\d+)\)@(\d+)\.residual", r"RBPresidual(p=\1)@\2"), (r"Bpref@(\d+)", r"Bpref"), (r"num_q",
                r"NumQ"),
               (r"gm_map@1000", r"gm_map")),
    unsupported=("tied documents whose ids are numbers with leading zeros: they are sorted without these",),
))  # fmt: skip
register(Tool(
    "hf-evaluate", "Hugging Face evaluate, trec_eval", "0.4.6", "evaluate/metrics/trec_eval/trec_eval.py",
    TREC, ("NDCG", "P", "AP", "RR", "Bpref", "Rprec", "gm_map", "num_ret", "num_rel", "num_rel_ret", "NumQ"),
    ("NDCG is computed in the order of the rows: the scores are not looked at", "scores become single precision",
     "a topic of the run without judgements is a KeyError"),
    (Variant(kinds("NDCG"), {"list_order": "given"}, "rows are never sorted"),
     Variant(kinds("Bpref"), {"bpref_no_nonrelevant": "zero", "bpref_negative_labels": "hit"},
             "0 without a judged non-relevant document; whatever is not 0 in the list is a hit"),
     Variant(kinds("gm_map"), {"empty": None, "averaging": "judged-or-none"},
     "no value where a topic has nothing relevant, or was lost"),
     Variant(kinds("num_rel"), {"query_selection": "judged"}, "counted in the judgements alone")),
    group="retrieval", measure_aliases=((r"num_q", r"NumQ"),),
))  # fmt: skip
_HAYSTACK = tuple(
    spelling for own, ours in (("MAPEvaluator", "AP"), ("MRREvaluator", "RR"), ("NDCGEvaluator", "NDCG"),
                               (r"NDCGEvaluator\(score=label\)", "NDCG(gain=label)"),
                               (r"RecallEvaluator\(multi_hit\)", "Recall"),
                               (r"RecallEvaluator\(single_hit\)", "Success"))
    for spelling in ((f"Document{own}", ours), (rf"Document{own}\[:(\d+)\]", rf"{ours}@\1"))
)  # fmt: skip
register(Tool(
    "haystack", "Haystack", "3.4.0", "haystack/components/evaluators",
    BINARY.replace(ideal_depth="none"), ("NDCG", "AP", "RR", "Recall", "Success"),
    ("the ideal of NDCG is all of the ground truth, however short the list: a perfect top 10 can have less than 1",
     "Recall counts a query with any hit as 1 unless multi_hit is asked for", "documents are compared by content"),
    group="retrieval", measure_aliases=_HAYSTACK,
))  # fmt: skip
register(Tool(
    "haystack-3.3", "Haystack before #12255", "until August 2026", "haystack/components/evaluators",
    BINARY.replace(ideal_depth="none", ap_denominator="found"), ("NDCG", "AP", "RR", "Recall", "Success"),
    ("MAP divides by the hits found, so that documents that were missed cost nothing",), group="retrieval",
    measure_aliases=_HAYSTACK,
))  # fmt: skip
register(Tool(
    "llama-index", "LlamaIndex", "0.14.25", "llama_index/core/evaluation/retrieval/metrics.py",
    BINARY.replace(ideal_depth="none", precision_denominator="list", query_selection="both", empty=None,
    min_retrieved=1),
    ("NDCG", "AP", "RR", "Recall", "P", "Success", "HitsRR"),
    ("the ideal of NDCG is all expected ids, whatever the length of the list",
     "no expected or no retrieved id is a ValueError"),
    group="retrieval",
    measure_aliases=tuple(
        spelling for own, ours in (("ap", "AP"), ("hit_rate", "Success"), (r"hit_rate\(granular\)", "Recall"), ("mrr",
        "RR"),
                                   (r"mrr\(granular\)", "HitsRR"), ("ndcg", "NDCG"), ("precision", "P"), ("recall",
                                    "Recall"))
        for spelling in ((own, ours), (rf"{own}\[:(\d+)\]", rf"{ours}@\1"))
    ),
))  # fmt: skip
register(Tool(
    "ragas", "ragas (without a language model)", "0.4.3", "ragas/metrics/_context_precision.py, _context_recall.py",
    BINARY.replace(ap_denominator="found", precision_denominator="list", empty=None), ("AP", "P", "Recall"),
    ("context precision divides by the hits found plus 1e-10: it is never exactly 1",
     "a text is relevant where its similarity to a reference is 0.5 or more, in recall more than 0.5"),
    (Variant(kinds("P"), {"empty": 0.0, "min_retrieved": 1}, "not a number without a retrieved document"),
     Variant(kinds("AP"), {"empty": 0.0, "query_selection": "relevant-or-lost"},
     "an error without a reference, unless nothing was "
             "retrieved either")),
    group="retrieval",
    measure_aliases=((r"non_llm_context_precision_with_reference", r"AP"),
    (r"non_llm_context_precision_with_reference\[:(\d+)\]", r"AP@\1"),
               (r"id_based_context_recall", r"Recall"), (r"id_based_context_recall\[:(\d+)\]", r"Recall@\1"),
               (r"non_llm_context_recall", r"Recall(min_retrieved=1)"), (r"non_llm_context_recall\[:(\d+)\]",
                r"Recall(min_retrieved=1)@\1"),
               (r"id_based_context_precision", r"P"), (r"id_based_context_precision\[:(\d+)\]", r"P@\1")),
))  # fmt: skip
register(Tool(
    "pyvespa", "pyvespa VespaEvaluator", "1.2.9", "vespa/evaluation.py",
    BINARY.replace(query_selection="relevant", empty=None, ap_denominator="cutoff"),
    ("NDCG", "AP", "Recall", "P", "Success", "RR"),
    ("with graded judgements (0 to 1) only NDCG is returned, and queries with nothing relevant stay, as 0",),
    (Variant(lambda m: m.kind == "NDCG" and dict(m.overrides).get("gain") == "share", {"query_selection": "judged",
     "empty": 0.0}, "graded"),),
    group="retrieval", measure_aliases=(*_SETS, (r"graded:ndcg@(\d+)", r"NDCG(gain=share)@\1")),
))  # fmt: skip

_MODELS = (
    (r"P@(\d+)", r"CWL_P(%s)@\2"), (r"NDCG-k@(\d+)", r"sDCG(%s)@\2"), (r"NERR-EQ8@k=(\d+)", r"NERR8(%s)@\2"),
    (r"NERR-EQ9@k=(\d+)", r"NERR9(%s)@\2"), (r"RBP@(0\.\d+)", r"CWL_RBP(p=\2,%s)"),
    (r"NERR-EQ10@phi=(0\.\d+)", r"NERR10(phi=\2,%s)"), (r"NERR-EQ11@T=([\d.]+)", r"NERR11(T=\2,%s)"),
    (r"INST-T=([\d.]+)", r"INST(T=\2,%s)"), (r"INSQ-T=([\d.]+)", r"INSQ(T=\2,%s)"), (r"(RR)", r"CWL_RR(%s)"),
    (r"(AP)", r"CWL_AP(%s)"),
)  # fmt: skip
register(Tool(
    "cwl", "cwl-eval", "1.0.12", "ireval/cwl", BINARY.replace(query_selection="run"),
    ("INST", "INSQ", "BPM", "NERR8", "NERR9", "NERR10", "NERR11", "sDCG", "CWL_P", "CWL_RBP", "CWL_RR", "CWL_AP"),
    ("its NDCG divides by k documents of gain 1: a scaled DCG", "its AP divides by the gain that was found, not by R",
     "the run is taken in the order of the file, whatever its scores", "gains lie in 0 to 1"),
    group="retrieval",
    measure_aliases=(
        *((rf"(bin:|grad:|){own}/(\w+)", ours % f"of=\\{3}") for own, ours in _MODELS),
        (r"(bin:|grad:|)BPM-Static-T=([\d.]+)-K=(\d+)/(\w+)", r"BPM(T=\2,of=\4)@\3"),
    ),
))  # fmt: skip
_NDEVAL = ("alpha-DCG", "alpha-nDCG", "ERR-IA", "nERR-IA", "NRBP", "nNRBP", "P-IA", "MAP-IA", "strec")
_DIVERSE = TREC.replace(score_precision="float64", printed_digits=6)
register(Tool(
    "ndeval", "ndeval -traditional", "4.5", "trec-web, src/eval/ndeval.c", _DIVERSE, _NDEVAL,
    ("without -traditional the rank column orders a list, which a run here does not keep: pippin as ndeval does",
     "nNRBP of a topic with nothing relevant is not a number, and so is its mean", "a negative judgement is an error"),
    (Variant(kinds("nNRBP"), {"empty": 0.0}, "0 / 0 there"),), group="retrieval",
))  # fmt: skip
register(Tool(
    "pyndeval", "pyndeval", "0.0.8", "seanmacavaney/pyndeval", _DIVERSE.replace(ties="id-ascending"), _NDEVAL,
    ("sorts ties by document id upwards, where ndeval takes the rank column, or with -traditional the id downwards",
     "nNRBP of a topic with nothing relevant is not a number, and so is its mean"),
    (Variant(kinds("nNRBP"), {"empty": None, "averaging": "all-or-none"}, "0 / 0 there"),), group="retrieval",
))  # fmt: skip
