"""Evaluators of retrieval, worked by hand from their sources where recordings are missing."""

from __future__ import annotations

import math

import pytest

import pippin
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
