"""Evaluators of retrieval, worked by hand from their sources where recordings are missing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pippin
from pippin.compat.ranklib_metrics import Lists, Metric, values
from pippin.errors import ConventionError
from pippin.evaluation.streaming import join
from pippin.reports.evaluation import per_query_table


def test_torchmetrics_skips_queries_whose_labels_sum_to_zero() -> None:
    """`empty_target_action` looks at the sum of labels: -1 alone is something, 1 and -1 together are nothing."""
    qrels = {"below": {"a": -1, "b": 0}, "even": {"c": 1, "d": -1}, "good": {"e": 1, "f": 0}}
    run = {query: {document: 2.0 - rank for rank, document in enumerate(of)} for query, of in qrels.items()}
    key = "RetrievalNormalizedDCG@10(empty_target_action={})"
    skipped = pippin.evaluate(qrels, run, key.format("skip"), tool="torchmetrics")
    assert [q for q, value in skipped.per_query[key.format("skip")].items() if math.isnan(value)] == ["even"]
    counts = pippin.evaluate(qrels, run, key.format("neg"), tool="torchmetrics")
    assert counts.per_query[key.format("neg")]["even"] == 0.0
    assert skipped.mean[key.format("skip")] * 2 == counts.mean[key.format("neg")] * 3


def test_queries_without_negatives_are_skipped_like_the_original() -> None:
    """Queries of which all, or none, of what was retrieved is relevant, and one that has both."""
    qrels = {"all": {"a": 1, "b": 1}, "missed": {"c": 0, "x": 1}, "both": {"d": 0, "e": 1, "f": 0}}
    run = {query: {d: -float(i) for i, d in enumerate(of) if d != "x"} for query, of in qrels.items()}
    evaluation = pippin.evaluate(qrels, run, ["bi:map", "bi:mrr@10"], tool="sentence-transformers-rerank")
    assert [query for query, value in evaluation.per_query["bi:map"].items() if not math.isnan(value)] == ["both"]
    assert evaluation.mean == {"bi:map": 0.5, "bi:mrr@10": 0.5}
    fallout = pippin.evaluate(qrels, run, "RetrievalFallOut@1(empty_target_action=skip)", tool="torchmetrics")
    assert list(fallout.mean.values()) == [0.75]
    parted = pippin.reconcile(qrels, run, "AP", "sentence-transformers-ce", "sentence-transformers-rerank").sentence()
    assert "relevant documents only −0.250 (1 of 3 lists have only relevant documents)" in parted


def test_reranked_candidates_are_sorted_as_numpy_does() -> None:
    """np.argsort of 1 1 1 0 1, the positive first, is 3 0 1 2 4, which is turned round: the positive stands fourth."""
    qrels = {"q": {"a": 0, "b": 0, "c": 0, "d": 0, "e": 1}}
    run = {"q": {"a": 1.0, "b": 1.0, "c": 0.0, "d": 1.0, "e": 1.0}}
    evaluation = pippin.evaluate(qrels, run, "ce.negative:mrr@10", tool="sentence-transformers-ce")
    assert list(evaluation.mean.values()) == [0.25]


def test_trectools_drops_the_zeros_before_a_topic() -> None:
    """Ties run on into the next topic of the run by the text of its id: 10 comes before 2, though 002 comes first."""
    qrels = {"002": {"a": 1, "b": 0}, "010": {"c": 1, "d": 0}}
    run = {"002": {"a": 5.0, "b": 1.0}, "010": {"c": 6.0, "d": 5.0}}
    evaluation = pippin.evaluate(qrels, run, ["P@5", "RBP(p=0.5)"], tool="trectools").per_query
    assert evaluation["P@5"] == {"2": 0.2, "10": 0.2}
    assert evaluation["RBP(p=0.5)"] == {"2": 0.375, "10": 0.5}  # d and a share the mean of a quarter and a half
    kept = pippin.evaluate(qrels, run, ["P@5", "RBP(p=0.5)"], tool="trectools", query_id_format="given").per_query
    assert kept["RBP(p=0.5)"] == {"002": 0.5, "010": 0.5}
    words = {"q02": qrels["002"]}
    assert list(pippin.evaluate(words, {"q02": run["002"]}, "P@5", tool="trectools").per_query["P@5"]) == ["q02"]


def test_tools_that_drop_zeros_align_by_query() -> None:
    qrels = {"002": {"a": 1, "b": 0}, "010": {"c": 1, "d": 0}}
    run, other = ({"002": {"a": a, "b": 1.0}, "010": {"c": 6.0, "d": 5.0}} for a in (5.0, 0.5))
    both = pippin.evaluate(qrels, run, "RR", tool=["official", "trectools"])
    assert set(both.to_dict()["query"]) == set(qrels)
    rows = [line.split(",") for line in per_query_table([*both.values()], "csv").splitlines()]
    assert [(query, float(a), float(b)) for query, a, b in rows[1:]] == [("002", 1.0, 1.0), ("010", 1.0, 1.0)]
    assert per_query_table([both["trectools"]], "csv").splitlines()[1].startswith("2,")
    compared = pippin.compare(qrels, {"run": run, "other": other}, "RR", ["official", "trectools"])
    assert {board.table.query_ids for board in compared.boards} == {("002", "010")}


def test_recpack_sorts_documents_as_they_first_come_in_the_data() -> None:
    """NumPy's argpartition of three equal scores for the last place leaves the last one there; c came first, before."""
    qrels, tied = {"1": {"c": 1}, "2": {"a": 1, "b": 1, "c": 0}}, {"a": 1.0, "b": 1.0, "c": 1.0}
    alone = pippin.evaluate({"2": qrels["2"]}, {"2": tied}, "NDCGK(1)", tool="recpack")
    assert alone.per_query["NDCGK(1)"] == {"2": 0.0}
    after = pippin.evaluate(qrels, {"1": {"c": 1.0}, "2": tied}, "NDCGK(1)", tool="recpack")
    assert after.per_query["NDCGK(1)"] == {"1": 1.0, "2": 1.0}


def test_capped_recall_is_understood_under_every_tool() -> None:
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "x": 1.0}}
    for tool in ("official", "trec_eval9", "beir"):
        means = pippin.evaluate(qrels, run, ["R_cap@2", "Recall@2"], tool=tool).mean
        assert means["R_cap@2"] == 1.0 > means["Recall@2"]


def test_allrank_moves_ties_once_more_where_a_batch_fills_up_a_list() -> None:
    """torch.sort of ten equal scores keeps their order; with ten of minus infinity behind them the first comes last."""
    qrels = {query: {f"{query}{i}": int(i == 0) for i in range(size)} for query, size in (("long", 20), ("tied", 10))}
    run = {"long": {f"long{i}": -float(i) for i in range(20)}, "tied": {f"tied{i}": 0.0 for i in range(10)}}
    evaluation = pippin.evaluate(qrels, run, ["ndcg@1", "mrr"], tool="allrank")
    assert evaluation.per_query["mrr"] == {"long": 1.0, "tied": 1.0}
    assert evaluation.mean == {"ndcg@1": 0.5, "mrr": pytest.approx((1 + 1 / 10) / 2)}
    assert pippin.evaluate({"tied": qrels["tied"]}, {"tied": run["tied"]}, "mrr", tool="allrank").mean["mrr"] == 1.0
    shares = {
        share.axis: share.value for share in pippin.reconcile(qrels, run, "NDCG@1", "rax", "allrank").contributions
    }
    assert shares["averaging"] + shares["ties"] == pytest.approx(-0.5)
    halves = [pippin.evaluate({q: qrels[q]}, {q: run[q]}, "ndcg@1", tool="allrank") for q in qrels]
    with pytest.raises(ConventionError, match="averaging=batch need the documents of all queries"):
        join(halves)


def test_earlier_versions_know_the_names_of_later_ones() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0}}
    means = pippin.evaluate(qrels, run, ["ndcg_at_10", "success_5", "accuracy"], tool="mteb-2.26.23").mean
    assert means == {"ndcg_at_10": 0.38685, "success_5": 1.0, "accuracy": 0.0}
    names = ["DocumentMAPEvaluator[:10]", "DocumentMRREvaluator", "DocumentRecallEvaluator(single_hit)"]
    assert [*pippin.evaluate(qrels, run, names, tool="haystack-3.3").mean.values()] == [0.5, 0.5, 1.0]
    assert [*pippin.evaluate(qrels, run, names, tool="haystack").mean.values()] == [0.25, 0.5, 1.0]


def test_the_share_that_was_judged_is_expected_over_ties() -> None:
    """One of three tied documents was judged, and two of them stand among the first three."""
    qrels, run = {"q": {"a": 0, "b": 1}}, {"q": {"a": 2.0, "b": 1.0, "x": 1.0, "y": 1.0}}
    means = pippin.evaluate(qrels, run, ["Judged@3", "Judged"], tool="official").mean
    assert [*means.values()] == pytest.approx([(1 + 2 / 3) / 3, 0.5])


NEGATIVE = {"q": {"d0": 2, "d1": -1, "d2": 0, "d3": 1, "d4": -2}}
FALLING = {"q": {f"d{i}": 5.0 - i for i in range(5)}}


@pytest.mark.parametrize(
    ("tool", "measure", "value"),
    [  # what the tools themselves give
        ("sklearn", "DCG", 1.0260411900328523), ("sklearn", "DCG@3", 1.3690702464285426),
        ("pyltr", "DCG@3", 2.684535123214271), ("pyltr", "NDCG@3", 0.7393519856928399),
        ("pyltr", "NDCG@10", 0.9038923631440393), ("pyltr", "NDCG(gain=label)@3", 0.520375066863737),
        ("pyltr", "AP@10", 0.75), ("pyltr", "ERR@10", 0.2001953125),
        ("catboost", "NDCG", 0.7192477865286203), ("catboost", "NDCG(gain=exp2)", 0.9038923631440396),
        ("catboost", "DCG(gain=exp2)", 2.8250720758617582), ("catboost", "AP", 0.75), ("catboost", "Recall@3", 0.5),
        ("catboost", "AverageGain@3", 1 / 3), ("catboost", "OPA", 0.7),
        ("xgboost", "NDCG(gain=label)@3", 0.52037506686373702),
        ("ir_measures", "Judged@3", 1.0), ("ir_measures", "nDCG@3", 0.7601875334318685),
        ("ir_measures", "infAP", 0.8125),
        ("ranx", "ndcg_burges@3", 0.8262346571285599), ("ranx", "bpref", 0.5), ("ranx", "rbp.80", 0.5023999999999998),
    ],
)  # fmt: skip
def test_labels_below_0_count_as_in_the_tool(tool: str, measure: str, value: float) -> None:
    assert pippin.evaluate(NEGATIVE, FALLING, measure, tool).mean[measure] == pytest.approx(value, rel=1e-12)


def test_ndcg_without_a_positive_ideal_is_that_of_an_empty_query() -> None:
    below = {"q": {"d0": -1, "d1": 0}}
    run = {"q": {"d0": 2.0, "d1": 1.0}}
    assert pippin.evaluate(below, run, ["NDCG", "DCG", "NDCG@1"], "catboost").mean == {
        "NDCG": 1,
        "DCG": -1,
        "NDCG@1": 1,
    }
    worse = pippin.evaluate({"q": {"d0": -2, "d1": 1}}, run, ["NDCG(gain=exp2)", "NDCG@1"], "catboost").mean
    assert [*worse.values()] == [pytest.approx(-0.22602437280460894), -2]


@pytest.mark.parametrize(
    ("tool", "measure", "label", "message"),
    [
        ("sklearn", "NDCG", -1, "sklearn refuses labels below 0 in NDCG: found label -1"),
        ("lightgbm", "NDCG@5", -1, "lightgbm refuses labels below 0"),
        ("lightgbm", "NDCG@5", 31, "lightgbm refuses labels above 30"),
        ("xgboost", "NDCG@5", -1, "xgboost refuses labels below 0"),
        ("xgboost-", "NDCG@5", 32, "xgboost- refuses labels above 31"),
        ("catboost", "PFound", -1, "catboost refuses labels below 0"),
        ("gdeval", "NDCG@5", 5, "gdeval refuses labels above 4"),
    ],
)
def test_labels_that_a_tool_refuses(tool: str, measure: str, label: int, message: str) -> None:
    qrels, run = {"q": {"a": label, "b": 1}}, {"q": {"a": 1.0, "b": 2.0}}
    with pytest.raises(ConventionError, match=message):
        pippin.evaluate(qrels, run, measure, tool)


def test_gains_of_ranklib_are_32_bit_integers() -> None:
    """The emulator of the program, which RankLib's own outputs confirm, and the tool give the same values."""
    scores = -np.arange(4.0)
    for labels in ([2, 31, 0, 1], [2, 32, 0, 1], [2, 40, 33, 1]):
        for measure in ("NDCG@3", "DCG@3"):
            lists = Lists(np.array(labels, np.float64), np.array([len(labels)]), ["1"])
            original = values(lists, scores, Metric(measure[:-2], 3, measure), 16.0, None)
            mean = pippin.evaluate(labels, scores, measure, "ranklib", qid=[1] * len(labels)).mean[measure]
            assert mean == pytest.approx(original[0], rel=1e-12)


def test_a_tool_that_cannot_is_left_out_alone() -> None:
    qrels, run = {"q": {"a": 2000, "b": 1}}, {"q": {"a": 1.0, "b": 2.0}}
    result = pippin.evaluate(qrels, run, "NDCG", ["official", "trec_eval9", "ranx"])
    assert [*result] == ["trec_eval9", "ranx"]
    assert "2^2000 is too large" in result.left_out["official"]
    with pytest.raises(ConventionError, match="2\\^2000 is too large"):
        pippin.evaluate(qrels, run, "NDCG", "official")


def test_grades_that_are_no_whole_numbers_are_a_table_of_gains() -> None:
    """Labels 2, 0.5, 0, 1 as positions in a table: XGBoost without ndcg_exp_gain gives this NDCG@3."""
    qrels, run = {"q": {"a": 3, "b": 1, "c": 0, "d": 2}}, {"q": {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0}}
    mean = pippin.evaluate(qrels, run, "NDCG@3", "xgboost", gain=(0, 0.5, 1, 2)).mean["NDCG@3"]
    assert mean == pytest.approx(0.80372139373244766, rel=1e-12)
    with pytest.raises(ConventionError, match=r"gain=0,0\.5,1"):
        pippin.evaluate({"q": {"a": 0.5, "b": 1}}, run, "NDCG@3", "xgboost")


def test_bpref_of_ranx_is_undefined_without_a_judged_nonrelevant_document() -> None:
    qrels = {"q": {"a": 1, "b": 1}, "r": {"a": 1, "b": 0}}
    run = {"q": {"a": 2.0, "x": 1.5}, "r": {"b": 2.0, "a": 1.0}}
    evaluation = pippin.evaluate(qrels, run, "bpref", "ranx")
    assert math.isnan(evaluation.mean["bpref"])
    assert math.isnan(evaluation.per_query["bpref"]["q"])
    assert evaluation.per_query["bpref"]["r"] == 0.0
    missed = pippin.evaluate({"q": {"a": 1, "y": 0}}, {"q": {"y": 2.0}}, "bpref", "ranx")
    assert missed.mean["bpref"] == 0.0
    negative = pippin.evaluate({"q": {"a": 2, "b": -1}}, {"q": {"b": 3.0, "a": 2.0}}, "bpref", "ranx")
    assert negative.mean["bpref"] == 0.0  # a label below 0 is non-relevant


IR_QRELS = {"1": {"d0": 2, "d1": 1, "d2": 0, "d3": 1, "d4": 3}, "2": {"a": 1}, "3": {"b": 1, "c": 0}}
IR_RUN = {
    "1": {"d0": 3.0, "d1": 4.0, "d2": 4.0, "d3": 1.0, "d4": 2.0, "x": 5.0}, "2": {"u": 1.0}, "3": {"b": 1.0, "c": 1.0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "mean"),
    [  # what ir_measures gives
        ("nDCG(gains={1:5,2:3})@3", 0.29662412289666734), ("nDCG(gains={1:5,2:3})", 0.4153530600027744),
        ("Accuracy", 0.5625), ("Accuracy@2", 0.5), ("Accuracy@3", 0.75), ("Accuracy(rel=2)", 0.25),
    ],
)  # fmt: skip
def test_gains_and_accuracy_of_ir_measures(measure: str, mean: float) -> None:
    assert pippin.evaluate(IR_QRELS, IR_RUN, measure, "ir_measures").mean[measure] == pytest.approx(mean, rel=1e-12)


def test_rank_eval_reverses_tied_documents() -> None:
    """Means of rank_eval 0.1.3."""
    qrels = {"q": {"a": 0, "b": 1, "c": 2}}
    run = {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    means = [pippin.evaluate(qrels, run, "mrr", tool).mean["mrr"] for tool in ("rank_eval", "ranx")]
    assert means == [1.0, 0.5]
