"""Special rules of each tool, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.errors import UnknownName
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import evaluate_tool
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.tools import TOOLS, Tool
from pippin.kernels.strings import StringColumn
from pippin.reports.evaluation import evaluation_record, evaluation_table, per_query_table, table

LOG3 = math.log2(3)


def score(tool: str, measure: str, labels: list[int], scores: list[float] | None = None, **overrides: Any) -> float:
    """Return the value of one query; without scores the labels are in rank order."""
    inputs = np.array(scores if scores is not None else range(len(labels), 0, -1), np.float64)
    ids = StringColumn.of(f"d{i}" for i in range(len(labels)))
    offsets = np.array([0, len(labels)])
    data = Dataset(np.zeros((len(labels), 1)), np.array(labels, np.int32), offsets, ("q",), ids)
    return evaluate_tool(data, inputs, [measure], TOOLS[tool], overrides, "worked").per_query[measure]["q"]


def values_and_mean(
    tool: str, measure: str, judged: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> tuple[dict[str, float], float]:
    """Return the values by query and their mean."""
    column = evaluate_tool(Qrels.from_dict(judged), Run.from_dict(run), [measure], TOOLS[tool], {}, "worked")
    return column.per_query[measure], column.mean[measure]


@pytest.mark.parametrize("tool", ["letor3", "letor4", "mslr"])
@pytest.mark.parametrize(("rank", "value"), [(1, 3), (2, 3), (3, 3 / LOG3), (4, 1.5)])
def test_letor_discounts_from_rank_three_on(tool: str, rank: int, value: float) -> None:
    labels = [0] * 4
    labels[rank - 1] = 2
    assert score(tool, "DCG@4", labels) == pytest.approx(value, rel=1e-15)
    assert score(tool, "NDCG@4", labels) == pytest.approx(value / 3, rel=1e-15)


@pytest.mark.parametrize(
    ("tool", "gains"),
    [
        ("letor3", [0, 1, 3, 0, 0]),
        ("letor4", [0, 1, 3, 0, 0]),
        ("mslr", [0, 1, 3, 7, 15]),
        ("yahoo", [0, 1, 3, 7, 15]),
        ("ranklib", [0, 1, 3, 7, 15]),
        ("gdeval", [0, 1, 3, 7, 15]),
        ("lightgbm", [0, 1, 3, 7, 15]),
        ("xgboost", [0, 1, 3, 7, 15]),
        ("rankeval", [0, 1, 3, 7, 15]),
        ("official", [0, 1, 3, 7, 15]),
        ("trec_eval9", [0, 1, 2, 3, 4]),
        ("trec_eval9.0.8", [0, 1, 2, 3, 4]),
        ("trec_eval10", [0, 1, 2, 3, 4]),
        ("ir_measures", [0, 1, 2, 3, 4]),
        ("ranx", [0, 1, 2, 3, 4]),
        ("sklearn", [0, 1, 2, 3, 4]),
        ("catboost", [0, 1, 2, 3, 4]),
    ],
)
def test_gains(tool: str, gains: list[float]) -> None:
    for label, gain in enumerate(gains):
        value = score(tool, "DCG@1", [label])
        assert (0.0 if math.isnan(value) else value) == gain


@pytest.mark.parametrize(
    ("tool", "value"),
    [("letor3", 0), ("letor4", 0), ("mslr", 0), ("gdeval", None), ("ranklib", 0), ("yahoo", 1), ("trec_eval8", 0),
     ("trec_eval9", 0), ("trec_eval9.0.8", 0), ("trec_eval10", 0), ("ir_measures", 0), ("ranx", 0), ("sklearn", 0),
     ("lightgbm", 1), ("xgboost", 1), ("xgboost-", 0), ("catboost", 1), ("rankeval", 1), ("official", 0)],
)  # fmt: skip
def test_a_query_with_nothing_relevant(tool: str, value: float | None) -> None:
    expected = math.nan if value is None else value
    assert score(tool, "NDCG@2", [0, 0]) == pytest.approx(expected, nan_ok=True)


def test_catboost_counts_an_empty_query_one_in_ndcg_and_zero_in_map() -> None:
    assert score("catboost", "NDCG@10", [0, 0]) == 1
    assert score("catboost", "AP@10", [0, 0]) == 0


@pytest.mark.parametrize("tool", ["letor3", "letor4", "mslr"])
def test_letor_zeroes_ndcg_of_a_short_list(tool: str) -> None:
    assert score(tool, "NDCG@2", [2, 0]) == 1
    assert score(tool, "NDCG@3", [2, 0]) == 0


@pytest.mark.parametrize(
    ("tool", "value"),
    [("letor3", 0), ("letor4", 1 / 5), ("mslr", 1 / 5), ("trec_eval9", 1 / 5), ("ranx", 1 / 5), ("ir_measures", 1 / 5),
     ("ranklib", 1 / 2), ("xgboost", 1 / 2), ("catboost", 1 / 2)],
)  # fmt: skip
def test_precision_of_a_short_list(tool: str, value: float) -> None:
    assert score(tool, "P@5", [2, 0]) == value
    assert score("rankeval", "P@5", [2, 0]) == pytest.approx(1 / 2)


def test_relevance_threshold() -> None:
    labels = [1, 2, 3, 4]
    assert score("letor4", "P@4", labels) == 2 / 4  # 3 and 4 are none
    assert score("mslr", "P@4", labels) == 3 / 4  # from 2 on
    assert score("ranklib", "P@4", labels) == 4 / 4
    assert score("mslr", "NDCG@1", [1, 0]) == 1  # but a label of 1 gains


def test_mslr_finds_no_average_precision_where_ndcg_finds_gain() -> None:
    assert score("mslr", "AP", [1, 1, 0]) == 0
    assert score("mslr", "AP", [1, 2, 0]) == 1 / 2


def test_letor_mean_ndcg() -> None:
    # gains 0, 1, 3 in this order; ideal 3, 1, 0
    at = [0 / 3, 1 / (3 + 1), (1 + 3 / LOG3) / (3 + 1)]
    assert score("letor4", "MeanNDCG", [0, 1, 2]) == pytest.approx(sum(at) / 3)


def test_yahoo_computes_err_over_all_documents() -> None:
    stop = [0, 0, (2**4 - 1) / 16]
    assert score("yahoo", "ERR@1", [0, 0, 4]) == score("yahoo", "ERR", [0, 0, 4]) == stop[2] / 3
    assert score("gdeval", "ERR@1", [0, 0, 4]) == 0
    assert score("ranklib", "ERR@1", [0, 0, 4]) == 0


def test_err_by_hand() -> None:
    first, second = 3 / 16, 7 / 16  # labels 2 and 3
    assert score("ranklib", "ERR@10", [2, 3]) == pytest.approx(first + (1 - first) * second / 2)


def test_the_top_grade_of_err() -> None:
    assert score("official", "ERR", [2, 1, 0]) == 0.78125  # (2^2 - 1) / 2^2 + (1 / 2) (1 / 4) (1 / 4)
    assert score("official", "ERR(err_max_grade=4)", [2]) == 3 / 2**4
    assert score("yahoo", "ERR", [2]) == 3 / 2**4
    assert score("rankeval", "ERR", [2]) == 3 / 2**2  # the query's own top
    assert score("catboost", "ERR", [0, 1]) == 1 / 2  # the label is the probability


def test_ranklib_ignores_the_cutoff_of_map() -> None:
    assert score("ranklib", "AP@1", [0, 1]) == 1 / 2
    assert score("letor4", "AP@1", [0, 1]) == 0


def test_ranklib_holds_reciprocal_ranks_in_single_precision() -> None:
    assert score("ranklib", "RR@10", [0, 0, 1]) == 0.3333333432674408
    assert score("ranklib", "RR@2", [0, 0, 1]) == 0


def test_denominator_of_average_precision() -> None:
    labels = [1, 0, 1, 1]  # three relevant, precisions 1, 2/3, 3/4
    for tool in ("lightgbm", "xgboost", "catboost"):
        assert score(tool, "AP@2", labels) == 1 / min(3, 2)
        assert score(tool, "AP@10", labels) == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    for tool in ("trec_eval9", "ranx"):
        assert score(tool, "AP@2", labels) == 1 / 3


def test_average_precision_of_what_was_not_retrieved() -> None:
    qrels, run = {"1": {"a": 1, "b": 1, "c": 0}}, {"1": {"a": 2.0, "c": 1.0}}
    assert values_and_mean("trec_eval9", "AP", qrels, run)[1] == 1 / 2
    assert values_and_mean("letor4", "AP", qrels, run)[1] == 1


def test_rankeval_leaves_map_undefined_below_the_cutoff() -> None:
    assert score("rankeval", "AP@2", [0, 0, 1]) == 1.0
    assert score("rankeval", "AP@3", [0, 0, 1]) == pytest.approx(1 / 3, rel=1e-7)
    assert score("lightgbm", "AP@2", [0, 0, 1]) == 0


@pytest.mark.parametrize(
    ("tool", "label_first"),
    [("letor3", 0), ("letor4", 0), ("mslr", 0), ("yahoo", 0), ("ranklib", 0), ("lightgbm", 0), ("xgboost", 0),
     ("ranx", 0), ("rankeval", 2), ("catboost", 0), ("trec_eval8", 2), ("trec_eval9", 2), ("trec_eval10", 2),
     ("gdeval", 2), ("ir_measures", 2)],
)  # fmt: skip
def test_the_order_of_ties(tool: str, label_first: int) -> None:
    """Labels 0, 1, 2 of documents d0, d1, d2 with one score: input order, its reverse, or the id descending."""
    labels = [0, 1, 2]
    gained = score(tool, "DCG@1", labels, [1.0, 1.0, 1.0])
    assert gained == TOOLS[tool].convention.gains(2)[label_first]


def test_catboost_is_pessimistic_about_ties() -> None:
    assert score("catboost", "NDCG@1", [2, 0, 1], [1.0, 1.0, 1.0]) == 0
    assert score("catboost", "RR@10", [1, 0], [1.0, 1.0]) == 1 / 2


def test_sklearn_averages_gains_inside_ties() -> None:
    assert score("sklearn", "NDCG@1", [2, 0, 1], [1.0, 1.0, 1.0]) == pytest.approx((2 + 0 + 1) / 3 / 2)


def test_ir_measures_settles_ties_of_rr_both_ways() -> None:
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 1.0}}
    assert values_and_mean("ir_measures", "RR", qrels, run)[1] == 1 / 2
    assert values_and_mean("ir_measures", "RR@10", qrels, run)[1] == 1


@pytest.mark.parametrize(
    ("tool", "single"),
    [("trec_eval8", True), ("trec_eval9", True), ("xgboost", True), ("trec_eval10", False), ("lightgbm", False),
     ("ranklib", False), ("letor4", False), ("gdeval", False), ("ranx", False)],
)  # fmt: skip
def test_the_precision_of_scores(tool: str, single: bool) -> None:
    """The second document is better by 2^-30, which single precision cannot see."""
    labels, scores = ([1, 0], [1.0, 1.0 + 2**-30])
    if TOOLS[tool].convention.ties == "id-descending":
        labels, scores = labels[::-1], scores[::-1]  # so that the tie goes to the relevant document
    assert (score(tool, "P@1", labels, scores) == 1) == single


@pytest.mark.parametrize(
    ("tool", "mean"),
    [("trec_eval9", (1 + 0) / 2), ("ranx", (1 + 0 + 0) / 3), ("ir_measures", (1 + 0 + 0) / 3), ("gdeval", 1 / 1),
     ("official", (1 + 0 + 0) / 3), ("lightgbm", (1 + 1) / 2)],
)  # fmt: skip
def test_which_queries_stand_in_the_mean(tool: str, mean: float) -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 0}, "3": {"c": 1}}  # 2 has nothing relevant, 3 is not in the run
    run = {"1": {"a": 1.0}, "2": {"b": 1.0}, "4": {"x": 1.0}}
    assert values_and_mean(tool, "NDCG@10", qrels, run)[1] == mean


def test_the_ideal_knows_all_judged_or_only_the_list() -> None:
    qrels, run = {"1": {"a": 1, "b": 1}}, {"1": {"a": 1.0}}
    assert values_and_mean("trec_eval9", "NDCG@10", qrels, run)[1] == pytest.approx(1 / (1 + 1 / LOG3))
    assert values_and_mean("ranklib", "NDCG@10", qrels, run)[1] == 1


def test_xgboosts_suffix() -> None:
    assert score("xgboost", "ndcg@10-", [0, 0]) == 0
    assert score("xgboost", "ndcg@10", [0, 0]) == 1


def test_ranx_levels() -> None:
    assert score("ranx", "ndcg@10-l2", [1, 2]) == pytest.approx(1 / LOG3)
    assert score("ranx", "precision@2-l2", [1, 2]) == 1 / 2


def test_yahoo_lightgbm_and_ranklib_differ_by_empty_queries_alone() -> None:
    qrels = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"d": 0}, "3": {"e": 0, "f": 3}}
    run = {"1": {"a": 1.0, "b": 2.0, "c": 3.0}, "2": {"d": 1.0}, "3": {"e": 2.0, "f": 1.0}}
    yahoo, lightgbm, ranklib = (values_and_mean(t, "NDCG@10", qrels, run)[1] for t in ("yahoo", "lightgbm", "ranklib"))
    assert yahoo == lightgbm == pytest.approx(ranklib + 1 / 3)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_every_tool_can_be_read_up(tool: Tool) -> None:
    assert tool.name == tool.name.lower()
    assert tool.title
    assert bool(tool.version) == (tool.name != "official")  # the definition has no releases
    assert tool.full_title == (f"{tool.title} {tool.version}" if tool.version else tool.title)
    assert tool.source
    assert set(tool.measures) <= set(MEASURE_DEFINITIONS)
    assert all(variant.reason and variant.changes for variant in tool.variants)


def test_overrides_are_checked() -> None:
    with pytest.raises(UnknownName, match="no axis is called 'tie'"):
        score("letor4", "NDCG@1", [1], tie="best")
    assert score("letor4", "NDCG@3", [2, 0], short_lists="keep") == 1


def test_there_are_two_9_0_8() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 2.00000002, "b": 2.00000001}}
    assert [evaluate(qrels, run, "RR", tool=t).mean["RR"] for t in ("trec_eval9", "trec_eval9.0.8")] == [1 / 2, 1]
    assert [TOOLS[t].version for t in ("trec_eval9", "trec_eval9.0.8")] == ["9.0.7", "9.0.8"]


def test_ranx_weighs_rbp_by_label_and_counts_hits() -> None:
    qrels, run = {"q": {"a": 2, "b": 0, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    measures = ["rbp.8", "rbp.8-l2", "hits", "hits@1", "hits@3-l2"]
    means = evaluate(qrels, run, measures, tool="ranx").mean
    expected = [(1 - 0.8) * (2 + 0.8**2), (1 - 0.8) * 2, 2, 1, 1]
    assert list(means.values()) == pytest.approx(expected, abs=1e-15)
    assert evaluate(qrels, run, "rbp.8", tool="trec_eval9").mean["rbp.8"] == pytest.approx((1 - 0.8) * (1 + 0.8**2))


def test_unsupported_measures_are_starred_in_both_tables() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 2.0}}
    for tool, star in (("ranx", ""), ("gdeval", "*")):
        evaluation = evaluate(qrels, run, "bpref", tool=tool)
        note = "* not a measure of the tool: computed under its convention"
        assert (note in evaluation_table([evaluation])) == bool(star)
        assert f"bpref{star}\n" in per_query_table([evaluation])
        assert (note in per_query_table([evaluation])) == bool(star)
        assert "*" not in per_query_table([evaluation], "csv")


def test_the_output_names_the_top_grade_of_err() -> None:
    data, scores = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    evaluations = evaluate(data, scores, ["ERR", "NDCG"], ["official", "gdeval", "rankeval"])
    (note,) = (note for note in table([*evaluations.values()]).notes if note.startswith("top grade"))
    assert note == (
        "top grade of ERR: 2, the largest label of the data (official); 4, fixed (gdeval); "
        "the query's largest label (rankeval)"
    )
    assert evaluation_record(evaluations["official"])["max_label"] == {"ERR": 2}


def test_a_note_names_the_tool_whose_order_of_ties_is_unknown() -> None:
    qrels = {query: {f"{query}{i}": int(i == 0) for i in range(10)} for query in ("q", "r")}
    run = {query: dict.fromkeys(documents, 1.0) for query, documents in qrels.items()}
    evaluations = evaluate(qrels, run, "AP@5", ["torchmetrics", "trec_eval9"])
    (note,) = (note for note in table([*evaluations.values()]).notes if "does not know" in note)
    assert note.startswith("torchmetrics sorts the tied documents of 2 queries in an order that Pippin does not know")
    assert evaluation_record(evaluations["torchmetrics"])["unknown_order"] == 2
    alone = evaluate({"q": qrels["q"]}, {"q": run["q"]}, "AP@5", "torchmetrics")  # one query: no sort by query
    assert alone.unknown_order == 0
    distinct = {query: {d: -float(i) for i, d in enumerate(documents)} for query, documents in qrels.items()}
    assert evaluate(qrels, distinct, "AP@5", "torchmetrics").unknown_order == 0
    labels, qid = [1, *[0] * 299], [1] * 300
    assert evaluate(labels, [1.0] * 300, "P@1", "recpack", qid=qid).unknown_order == 1
    assert evaluate(labels, [1.0] * 300, "P@5", "recpack", qid=qid).unknown_order == 0
