"""From values to an evaluation: empty queries, precision, mean and counts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.data import streaming
from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements
from pippin.data.qrels import Qrels, Run
from pippin.errors import ConventionError, PippinError, UnknownName
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import Evaluation, aggregate, evaluate_tool
from pippin.evaluation.objective import Objective
from pippin.evaluation.tools import TOOLS
from pippin.kernels.measures import ValueRules, finish_values

JUDGED = Qrels.from_dict({"1": {"a": 1, "b": 0}, "2": {"c": 0}, "3": {"d": 2}})
RUN = Run.from_dict({"1": {"a": 1.0, "b": 2.0}, "2": {"c": 1.0}})


def run(*measures: str, tool: str = "official", **overrides: Any) -> Evaluation:
    return evaluate_tool(JUDGED, RUN, measures, TOOLS[tool], overrides, "test")


def test_the_mean_takes_every_query_that_counts() -> None:
    assert run("RR").per_query == {"RR": {"1": 1 / 2, "2": 0.0, "3": 0.0}}
    assert run("RR").mean["RR"] == (1 / 2 + 0 + 0) / 3
    assert run("RR", query_selection="both").mean["RR"] == (1 / 2 + 0) / 2
    assert run("RR", query_selection="relevant").mean["RR"] == (1 / 2 + 0) / 2
    assert list(run("RR", query_selection="relevant").per_query["RR"]) == ["1", "3"]


@pytest.mark.parametrize(("empty", "mean"), [(0.0, 1 / 6), (1.0, 1 / 2), (0.5, 1 / 3), (None, 1 / 4)])
def test_empty_queries(empty: float | None, mean: float) -> None:
    result = run("AP", empty=empty)
    assert result.mean["AP"] == pytest.approx(mean)
    assert result.per_query["AP"]["2"] == (empty if empty is not None else pytest.approx(math.nan, nan_ok=True))


def test_left_out_queries_are_left_out_of_every_measure() -> None:
    result = run("RR", "P@1", empty=None)
    assert all(math.isnan(result.per_query[m]["2"]) for m in ("RR", "P@1"))
    assert result.mean["RR"] == (1 / 2 + 0) / 2


def test_nothing_counts() -> None:
    lone = Qrels.from_dict({"2": {"c": 0}})
    assert math.isnan(evaluate_tool(lone, RUN, ["AP"], TOOLS["official"], {"empty": None}, "x").mean["AP"])


def test_keys_are_as_typed_and_in_order() -> None:
    measures = ["map", "NDCG@1", "ndcg_cut_1", "P(rel=2)@1"]
    result = run(*measures)
    assert list(result.mean) == list(result.per_query) == measures
    assert result.mean["NDCG@1"] == result.mean["ndcg_cut_1"]


def test_counts_are_summed() -> None:
    result = run("num_ret", "num_rel", "num_rel_ret")
    assert result.mean == {"num_ret": 3, "num_rel": 2, "num_rel_ret": 1}


def test_overrides_win_over_the_tool_and_arguments_over_both() -> None:
    assert run("NDCG@10", tool="trec_eval9").columns[0].convention.gain == "label"
    assert run("NDCG@10", tool="trec_eval9", gain="exp2").columns[0].convention.gain == "exp2"
    assert run("NDCG(gain=label)@10", gain="exp2").columns[0].convention.gain == "label"
    assert run("RR", gain="label").overrides == {"gain": "label"}


def test_the_summary_counts_queries() -> None:
    qrels = Qrels.from_dict({"1": {"a": 1}, "2": {"a": 0, "b": 0}, "3": {"a": 1}})
    scored = Run.from_dict({"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0, "b": 2.0}, "3": {"a": 1.0}})
    counts = evaluate_tool(qrels, scored, ["RR", "P@2", "P@1"], TOOLS["official"], {}, "x").counts
    assert counts == {"queries": 3, "empty": 1, "short": 1, "tied": 1, "cutoff": 2}


def test_sums_run_from_the_first_query_to_the_last() -> None:
    values = np.array([1.0] + [2**-53] * 1000)  # each too small to move a running sum, together they would
    assert aggregate(values, "sum") == 1.0
    assert aggregate(values[::-1].copy(), "sum") == 1.0 + 1000 * 2**-53


def test_aggregates() -> None:
    assert aggregate(np.array([1.0, np.nan, 0.5]), "mean") == 0.75
    assert aggregate(np.array([1.0, np.nan, 0.5]), "sum") == 1.5
    assert aggregate(np.array([0.25, 1.0]), "geometric") == pytest.approx(0.5)
    assert aggregate(np.array([0.0, 0.1]), "geometric") == pytest.approx(math.sqrt(1e-5 * 0.1))
    assert math.isnan(aggregate(np.array([np.nan]), "mean"))


def finish(values: list[float], held: str | int, empty: float = math.nan) -> list[float]:
    """Return the finished values of queries that each have a relevant document."""
    pool, offsets = np.ones(len(values), np.int32), np.arange(len(values) + 1, dtype=np.int64)
    return list(finish_values(np.array(values), pool, offsets, 1, ValueRules(empty, True, held)))


def test_precision_of_values() -> None:
    values = [1 / 3, 0.123456, np.nan]
    assert finish(values, "float64") == [1 / 3, 0.123456, pytest.approx(np.nan, nan_ok=True)]
    assert finish(values, "float32")[0] == 0.3333333432674408
    assert finish(values, 5) == [0.33333, 0.12346, pytest.approx(np.nan, nan_ok=True)]
    assert finish(values, 1, empty=0.25) == [0.3, 0.1, 0.2]
    assert finish([math.inf, -math.inf], 3) == [math.inf, -math.inf]


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0, 1, 5, 17, 60, 400, 2000]))
def test_digits_are_rounded_as_python_prints_them(value: float, digits: int) -> None:
    result = finish([value], digits)[0]
    assert np.float64(result).tobytes() == np.float64(float(f"{value:.{digits}f}")).tobytes()


def test_queries_with_nothing_relevant_are_left_out_of_every_measure() -> None:
    pool, offsets = np.array([2, 0, 1, 0], np.int32), np.array([0, 2, 3, 4, 4])
    values = finish_values(np.array([0.5, 0.25, 1.0, np.nan]), pool, offsets, 2, ValueRules(0.0, True, "float64"))
    assert np.isnan(values).tolist() == [False, True, True, True]
    values = finish_values(np.array([0.5, 0.25, 1.0, np.nan]), pool, offsets, 2, ValueRules(0.0, False, "float64"))
    assert values.tolist() == [0.5, 0.25, 1.0, 0.0]
    with pytest.raises(ValueError, match="3 values for 4 queries"):
        finish_values(np.zeros(3), pool, offsets, 1, ValueRules(0.0, False, "float64"))


def test_conventions_are_stamped_on_the_columns() -> None:
    column = run("NDCG@10", tool="letor4", empty=1.0).columns[0]
    assert column.convention == TOOLS["letor4"].convention.replace(empty=1.0)


def test_measures_of_one_call_may_rank_by_different_rules() -> None:
    qrels, scored = Qrels.from_dict({"1": {"a": 1, "b": 0}}), Run.from_dict({"1": {"a": 1.0, "b": 1.0}})
    means = evaluate_tool(qrels, scored, ["RR", "RR@10", "RR(ties=worst)"], TOOLS["ir_measures"], {}, "x").mean
    assert means == {"RR": 1 / 2, "RR@10": 1.0, "RR(ties=worst)": 1 / 2}


def test_no_measure_is_reported() -> None:
    with pytest.raises(PippinError, match="no measure"):
        run()


def test_the_persistence_of_rbp_is_a_probability() -> None:
    assert run("RBP(p=1)").mean["RBP(p=1)"] == 0
    with pytest.raises(ConventionError, match=r"^RBP\(p=5\): p is the probability to continue, from 0 to 1$"):
        run("RBP(p=5)")


def test_unknown_axes_and_measures() -> None:
    with pytest.raises(UnknownName, match="no axis is called 'gains'"):
        run("NDCG", gains="label")
    with pytest.raises(UnknownName, match="no measure is called 'NDGC'"):
        run("NDGC")


def test_a_table_of_values() -> None:
    table = run("RR", "P@1").to_polars()
    assert table.columns == ["query", "measure", "value"]
    assert table.height == 3 * 2


def test_public_function_accepts_common_inputs() -> None:
    qrels, scored = {"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0, "b": 2.0}}
    assert evaluate(qrels, scored, "RR").mean == {"RR": 1 / 2}
    assert evaluate(Qrels.from_dict(qrels), Run.from_dict(scored), ["RR"], TOOLS["yahoo"]).tool.name == "yahoo"
    data = Dataset(np.zeros((2, 1)), np.array([1, 0], np.int32), np.array([0, 2]), ("1",))
    assert evaluate(data, np.array([1.0, 2.0]), "RR", tool="ranklib", ties="worst").mean == {"RR": 1 / 2}
    with pytest.raises(UnknownName, match="no tool is called 'trec_evil'; did you mean trec_eval"):
        evaluate(qrels, scored, tool="trec_evil")


def test_the_default_is_the_official_convention() -> None:
    assert TOOLS["official"].convention == Convention()


@pytest.mark.parametrize("averaging", AXES["averaging"].values)
def test_a_judge_takes_the_mean_that_evaluation_takes(averaging: str) -> None:
    data = coerce_judgements([1, 0, 2, 0, 0, 0, 0, 1], qid=[1, 1, 1, 1, 2, 2, 3, 3])
    assert isinstance(data, Dataset)
    scores = np.array([0.1, 0.4, 0.3, 0.2, 0.1, 0.2, 0.2, 0.1])
    axes: dict[str, Any] = {"averaging": averaging, "empty": None, "ties": "input"}
    judge = Objective(data, "Recall@2", Convention(**axes))
    evaluation = evaluate(data, scores, "Recall@2", tool="official", **axes).mean["Recall@2"]
    assert judge.mean(scores) == pytest.approx(evaluation, nan_ok=True)


def test_a_query_without_a_value_leaves_the_mean_without_one_where_a_tool_says_so() -> None:
    assert math.isnan(run("AP", empty=None, averaging="all-or-none").mean["AP"])
    assert run("AP", empty=None, averaging="all-or-none", query_selection="relevant").mean["AP"] == 1 / 4
    assert math.isnan(
        run("AP", averaging="judged-or-none", query_selection="both").mean["AP"]
    )  # query 3 was not retrieved
    assert run("RR", averaging="counted-or-none", empty=None).mean["RR"] == (1 / 2 + 0 + 0) / 3
    assert math.isnan(run("P@1", averaging="counted-or-none").mean["P@1"])  # no query has a hit there


def test_judged_or_missed_documents_can_count() -> None:
    assert run("P@1", query_selection="both", relevance_rule="judged").per_query["P@1"] == {"1": 1.0, "2": 1.0}
    qrels, listed = Qrels.from_dict({"1": {"a": 1, "x": 2, "y": 1}, "2": {"x": 1, "b": 0}}), {"1": {"b": 2, "a": 1}}
    evaluation = evaluate_tool(
        qrels,
        Run.from_dict(listed | {"2": {"b": 1}}),
        ["AP"],
        TOOLS["official"],
        {"unretrieved_relevant": "append"},
        "test",
    )
    assert evaluation.per_query["AP"] == {"1": (1 / 2 + 2 / 3 + 3 / 4) / 3, "2": 0.0}  # 2 has no hit to append to


def test_documents_below_the_floor_of_scores_can_be_dropped() -> None:
    listed = Run.from_dict({"1": {"b": 1.0, "a": -1.0}, "2": {"c": 0.0}})
    evaluation = evaluate_tool(JUDGED, listed, ["num_ret"], TOOLS["official"], {"score_floor": "drop"}, "test")
    assert evaluation.per_query["num_ret"] == {"1": 1, "2": 1, "3": 0}


def test_a_large_run_is_parsed_once_for_any_number_of_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MIN_LAZY_BYTES", 1)
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    run.write_text("1 Q0 a 1 2.0 r\n1 Q0 b 2 2.0 r\n")
    parsed = []

    def rank_and_count(file: streaming.LazyRun, *remaining: Any) -> None:
        parsed.append(file.name)

    monkeypatch.setattr(streaming.LazyRun, "rank", rank_and_count)
    evaluate(qrels, run, "RR", tool=["trec_eval9", "official"])
    assert not parsed
    evaluate(qrels, run, ["RR", "AP"], tool="trec_eval9")
    assert parsed == ["run"]
