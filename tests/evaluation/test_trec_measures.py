"""Measures that only trec_eval prints, worked by hand, and their names."""

from __future__ import annotations

import math

import pytest

from pippin.errors import ConventionError
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.measures import MEASURE_DEFINITIONS
from pippin.evaluation.measures.notation import parse


def test_preferences_of_version_8() -> None:
    # Relevant documents at ranks 2 and 4 with 1 and 2 of the 3 non-relevant ones above them; a third is not found.
    qrels = {"q": {"a": 0, "b": 1, "c": 0, "d": 2, "e": 1, "f": 0}}
    run = {"q": {d: 10.0 - i for i, d in enumerate("abcd")}}
    got = evaluate(qrels, run, ["bpref_allnonrel", "bpref_retnonrel", "bpref_5", "bpref_num_all", "bpref_num_ret",
                                 "bpref_num_correct", "old_bpref", "bpref_retall"], tool="trec_eval8").mean  # fmt: skip
    assert got["bpref_allnonrel"] == pytest.approx(((1 - 1 / 3) + (1 - 2 / 3)) / 3, abs=1e-6)
    assert got["bpref_retnonrel"] == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 3, abs=1e-6)
    assert got["bpref_5"] == pytest.approx(((1 - 1 / 3) + (1 - 2 / 3)) / 2, abs=1e-6)
    assert got["bpref_num_all"] == (3 - 1) + (3 - 2)
    assert got["bpref_num_ret"] == (2 - 1) + (2 - 2)
    assert got["bpref_num_correct"] == (3 - 1) + (3 - 2)
    assert got["old_bpref"] == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 3, abs=1e-6)
    assert got["bpref_retall"] == pytest.approx(((1 - 1 / 2) + (1 - 2 / 2)) / 2, abs=1e-6)


def test_fallout_stops_where_a_list_holds_exactly_that_many() -> None:
    qrels = {"q": {f"d{i}": int(i in (0, 20)) for i in range(40)}}
    for size, expected in ((16, 0.0), (17, 0.5), (30, 0.5)):
        # 14.2 non-relevant documents are 15; a list with exactly 15 of them gets no value.
        run = {"q": {f"d{i}": 100.0 - i for i in range(size)}}
        assert evaluate(qrels, run, "fallout_recall_14", tool="trec_eval8").mean["fallout_recall_14"] == expected


def test_geometric_mean_is_positive_with_one_empty_topic() -> None:
    qrels = {"a": {"x": 1}, "b": {"x": 1, "y": 0}}
    run = {"a": {"x": 1.0}, "b": {"y": 1.0}}
    got = evaluate(qrels, run, ["gm_map", "gm_bpref"], tool="trec_eval9").mean
    assert got["gm_map"] == pytest.approx(math.sqrt(1.0 * 0.00001))
    assert got["gm_bpref"] == got["gm_map"]


def test_gain_of_a_convention_reaches_the_measures_that_have_one() -> None:
    qrels, run = {"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    got = evaluate(qrels, run, ["ideal_dcg", "ideal_dcg(gain=exp2)"], tool="trec_eval9").mean
    assert got["ideal_dcg"] == pytest.approx(3 + 1 / math.log2(3))
    assert got["ideal_dcg(gain=exp2)"] == pytest.approx(7 + 1 / math.log2(3))


def test_version_10_rounds_recall_levels_to_the_nearest() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 0}}
    run = {"q": {"a": 3.0, "d": 2.0, "b": 1.0}}
    text = "iprec_at_recall_0.40"  # of 3 relevant documents: 1.2, rounded up 2, to the nearest 1
    assert evaluate(qrels, run, text, tool="trec_eval9").mean[text] == 2 / 3
    assert evaluate(qrels, run, text, tool="trec_eval10").mean[text] == 1.0


def test_measures_without_a_closed_form_refuse_open_ties() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    with pytest.raises(ConventionError, match="lacks a closed form"):
        evaluate(qrels, run, "infAP", tool="official")


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("P5", "P@5"), ("P_5", "P@5"), ("recall5", "Recall@5"), ("recall_10", "Recall@10"), ("R-prec", "Rprec"),
        ("map_cut_10", "AP@10"), ("ndcg_cut_10", "NDCG@10"), ("success_1", "Success@1"), ("exact_prec", "P"),
        ("set_P", "P"), ("exact_recall", "Recall"), ("set_recall", "Recall"), ("11-pt_avg", "11pt_avg"),
        ("gm_ap", "gm_map"), ("relative_P_5", "relative_P@5"), ("relative_prec5", "relative_P@5"),
        ("exact_relative_prec", "relative_P"), ("exact_unranked_avg_prec", "set_map"),
        ("iprec_at_recall_0.10", "iprec_at_recall(recall=0.1)"), ("ircl_prn.0.10", "iprec_at_recall(recall=0.1)"),
        ("Rprec_mult_0.20", "Rprec_mult(multiple=0.2)"), ("0.20R-prec", "Rprec_mult(multiple=0.2)"),
        ("int_0.20R-prec", "int_Rprec_mult(multiple=0.2)"), ("fallout_recall_14", "fallout_recall(nonrelevant=14)"),
        ("unranked_avg_prec15", "unranked_avg_prec@15"), ("unj_5", "unj@5"), ("bpref_5", "bpref_5"),
        ("relative_unranked_avg_prec30", "relative_unranked_avg_prec@30"), ("infAP", "infAP"), ("Rndcg", "Rndcg"),
        ("utility_1.0_-1.0_0.0_0.0", "utility(a=1,b=-1,c=0,d=0)"), ("utility_2,-1,0,0", "utility(a=2,b=-1,c=0,d=0)"),
        ("set_F_2.0", "set_F(weight=2)"), ("11pt_avg(rel=2)", "11pt_avg(rel=2)"),
    ],
)  # fmt: skip
def test_printed_names_are_parsed(printed: str, text: str) -> None:
    assert parse(printed).text == text
    assert parse(text) == parse(printed)


def test_every_kind_parses_back_from_its_name() -> None:
    for kind in MEASURE_DEFINITIONS.values():
        name = f"{kind.name}@10" if kind.cutoff == "required" else kind.name
        assert parse(name).kind == kind.name
