"""Audit findings and their effects against hand computation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor
from pippin.data.qrels import Qrels, Run
from pippin.data.quality import AuditedFile
from pippin.display.tables import render_all
from pippin.errors import DataError
from pippin.evaluation.audit import audit
from pippin.evaluation.audit.base import AXIS_BEHAVIOUR, SEVERITIES, Effect, Finding
from pippin.evaluation.audit.scores import JudgedOnly
from pippin.evaluation.convention import AXES, Convention
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.rank import rank
from pippin.evaluation.tools import TOOLS, tools_in_group
from pippin.kernels.measures import UNJUDGED
from pippin.kernels.strings import StringColumn
from pippin.reports.audit import audit_csv, audit_parts, audit_record, audit_text


def dataset(queries: list[list[int]], features: object = None, ids: bool = True) -> Dataset:
    """Return a data set with these labels by query; the default feature is the row number."""
    labels = [label for query in queries for label in query]
    table = np.arange(len(labels), dtype=np.float64)[:, None] if features is None else np.array(features, np.float64)
    offsets = np.concatenate(([0], np.cumsum([len(q) for q in queries]))).astype(np.int64)
    names = StringColumn.of(f"d{i:03d}" for i in range(len(labels))) if ids else None
    return Dataset(table, np.array(labels, np.int32), offsets, tuple(f"q{i}" for i in range(len(queries))), names)


def effect(finding: Finding, measure: str, tool: str) -> Effect:
    """Return the effect of one tool on one measure."""
    return next(e for e in finding.effects if e.measure == measure and tool in e.tools)


def test_empty_queries_count_0_1_or_nothing_by_the_tools_convention() -> None:
    finding = audit(dataset([[1, 0], [0, 0], [0, 2], [2, 1]]), measure=["NDCG@2"])["empty"]
    assert (finding.severity, finding.number, finding.total, finding.share) == ("warning", 1, 4, 1 / 4)
    assert finding.examples == ("q1",)
    assert effect(finding, "NDCG@2", "yahoo").amount == pytest.approx(1 / 4)
    assert effect(finding, "NDCG@2", "yahoo").does == "counts 1 for each"
    assert effect(finding, "NDCG@2", "gdeval").amount == pytest.approx(3 / 3 - 3 / 4)
    assert effect(finding, "NDCG@2", "letor4").amount == 0
    assert "Busa-Fekete" in finding.recommendation


def test_every_tool_that_has_the_measure_is_in_exactly_one_group() -> None:
    finding = audit(dataset([[1, 0], [0, 0]]), measure=["NDCG@2", "AP"])["empty"]
    for measure, kind in (("NDCG@2", "NDCG"), ("AP", "AP")):
        names = [tool for e in finding.effects if e.measure == measure for tool in e.tools]
        assert sorted(names) == sorted(tool.name for tool in tools_in_group("classic") if kind in tool.measures)


@pytest.mark.parametrize("axis", AXIS_BEHAVIOUR)
def test_every_value_of_an_axis_has_words(axis: str) -> None:
    words = [AXIS_BEHAVIOUR[axis](value) for value in AXES[axis].values.values()]
    assert len(set(words)) == len(words)


def test_a_data_set_without_any_relevant_document_is_an_error() -> None:
    finding = audit(dataset([[0, 0], [0]]), measure=["NDCG@2"])["empty"]
    assert (finding.severity, finding.number) == ("error", 2)
    assert effect(finding, "NDCG@2", "gdeval").amount is None
    json.dumps(audit_record(audit(dataset([[0, 0], [0]]))), allow_nan=False)


def test_short_lists_are_counted_at_each_cutoff_and_zeroed_by_some_tools() -> None:
    data = dataset([[1, 0, 0], [1], [2, 0]])
    finding = audit(data, measure=["NDCG@3", "P@3"], cutoffs=[1, 2, 3])["short"]
    assert (finding.number, finding.total) == (2, 3)
    assert finding.parts == (("< 1", 0), ("< 2", 1), ("< 3", 2))
    assert effect(finding, "NDCG@3", "letor4").amount == pytest.approx(-2 / 3)
    assert effect(finding, "NDCG@3", "ranklib").amount == 0
    assert effect(finding, "P@3", "letor3").amount == pytest.approx(-(1 / 3 + 1 / 3) / 3)
    assert effect(finding, "P@3", "ranklib").amount == pytest.approx((1 / 1 - 1 / 3 + 1 / 2 - 1 / 3) / 3)
    assert effect(finding, "P@3", "letor4").amount == 0


def test_amounts_are_taken_on_the_scores_where_there_are_some() -> None:
    data = dataset([[0, 1], [0, 0]])
    findings = audit(data, np.array([2.0, 1.0, 2.0, 1.0]), measure=["NDCG@2"])
    value = 1 / math.log2(3)  # the relevant document stands second
    assert findings.basis == "the scores given"
    assert effect(findings["empty"], "NDCG@2", "gdeval").amount == pytest.approx(value - value / 2)


def test_queries_that_every_system_ranks_alike() -> None:
    findings = audit(dataset([[1], [2, 2], [1, 0], [0, 0]]), measure=["NDCG@2"])
    assert findings["single"].examples == ("q0",)
    constant = findings["constant_labels"]
    assert (constant.number, constant.examples) == (2, ("q0", "q1"))
    assert effect(constant, "NDCG@2", "official").amount == pytest.approx(2 / 4)
    assert effect(constant, "NDCG@2", "gdeval").amount == pytest.approx(2 / 3)
    assert effect(constant, "NDCG@2", "letor4").amount == pytest.approx(1 / 4)  # the single document is short


def test_labels_histogram_and_labels_beyond_a_tool() -> None:
    findings = audit(dataset([[4, 0], [3, 1], [5, 0]]), measure=["NDCG@1", "AP", "ERR@2"])
    assert findings["labels"].parts == (("label 0", 2), ("label 1", 1), ("label 3", 1), ("label 4", 1), ("label 5", 1))
    high = findings["high_labels"]
    assert (high.number, high.total) == (3, 6)
    assert effect(high, "NDCG@1", "letor4").amount == pytest.approx(-1.0)
    assert effect(high, "NDCG@1", "letor4").does == "counts labels above 2 as 0"
    assert effect(high, "NDCG@1", "mslr").amount == pytest.approx(-1 / 3)
    refused = effect(high, "ERR@2", "yahoo")
    assert refused.amount is None
    assert "label 5 is above ERR's top grade 4" in refused.does


def test_label_1_is_not_relevant_to_every_tool() -> None:
    finding = audit(dataset([[1, 0], [2, 0]]), measure=["P@1"])["weak_labels"]
    assert effect(finding, "P@1", "mslr").amount == pytest.approx(1 / 2 - 1)
    assert "weak_labels" not in audit(dataset([[2, 0]]), measure=["P@1"])
    assert "weak_labels" not in audit(dataset([[1, 0]]), measure=["NDCG@1"])


def test_gain_matters_once_labels_are_graded_and_something_is_scored() -> None:
    data = dataset([[1, 2]])
    finding = audit(data, np.array([2.0, 1.0]), measure=["NDCG@1"])["labels"]
    assert effect(finding, "NDCG@1", "trec_eval9").amount == pytest.approx(1 / 2 - 1 / 3)


def test_repeated_documents_are_an_error() -> None:
    data = dataset([[1, 0, 0], [1, 0]])
    twice = Dataset(
        data.features, data.labels, data.offsets, data.query_ids, StringColumn.of(["a", "b", "a", "a", "b"])
    )
    finding = audit(twice, measure=["NDCG@2"])["repeated"]
    assert (finding.severity, finding.number, finding.examples) == ("error", 1, ("query q0, a",))
    assert "repeated" not in audit(data, measure=["NDCG@2"])


def test_identical_features_with_different_labels_lower_the_ceiling_of_every_model() -> None:
    data = dataset([[1, 0, 0], [1, 0]], features=[[1.0], [1.0], [0.0], [1.0], [0.0]])
    finding = audit(data, measure=["NDCG@1"])["twins"]
    assert (finding.number, finding.total) == (2, 5)
    assert effect(finding, "NDCG@1", "official").amount == pytest.approx((1 / 2 - 1) / 2)
    assert effect(finding, "NDCG@1", "ranklib").amount == 0  # the file has the relevant one first
    assert effect(finding, "NDCG@1", "rankeval").amount == pytest.approx(-1 / 2)
    assert finding.examples == ("query q0, d001 = d000",)


@pytest.mark.parametrize("tool", ["official", "sklearn"])  # gains 2^label − 1, and the label
def test_the_ceiling_is_what_the_best_order_of_vectors_reaches(tool: str) -> None:
    """No score by vector does better, over all orders of the three distinct vectors."""
    from itertools import permutations

    from pippin.evaluation.evaluation import evaluate_tool

    rows = np.array([0, 0, 1, 1, 1, 2, 2])
    data = dataset([[2, 0, 1, 1, 0, 2, 1]], features=rows[:, None])
    best = max(
        evaluate_tool(data, np.array(order, np.float64)[rows], ["NDCG@3"], TOOLS[tool], {}, "").mean["NDCG@3"]
        for order in permutations(range(3))
    )
    finding = audit(data, measure=["NDCG@3"])["twins"]
    assert effect(finding, "NDCG@3", tool).amount == pytest.approx(best - 1)


def test_features_and_nulls() -> None:
    null = float("nan")
    table = [[1.0, 5.0, 0.0, null], [1.0, 5.0, 1.0, 2.0], [1.0, 6.0, 0.0, null], [1.0, 6.0, 2.0, 3.0]]
    findings = audit(dataset([[1, 0], [1, 0]], features=table), measure=["NDCG@1"])
    assert findings["constant_features"].examples == ("1",)
    assert findings["query_features"].examples == ("2",)
    assert "linear model" in findings["query_features"].sentence
    assert (findings["nulls"].number, findings["nulls"].total) == (2, 16)
    assert findings["nulls"].parts == (("feature 4", 0.5),)


def test_features_that_copy_others() -> None:
    nan = float("nan")
    table = [[1.0, 1.0, 5.0, 2.0], [2.0, 2.0, 5.0, nan], [nan, nan, 5.0, 1.0], [0.0, -0.0, 5.0, 0.0]]
    findings = audit(dataset([[1, 0], [0, 1]], table), measure=["NDCG@2"])
    assert findings["copied_features"].examples == ("2 = 1",)
    assert findings["constant_features"].examples == ("3",)


def test_ties_by_each_tools_rule_and_the_range_they_allow() -> None:
    data = dataset([[1, 0], [1, 0], [0, 0]])
    finding = audit(data, np.array([1.0, 1.0, 2.0, 1.0, 1.0, 1.0]), measure=["P@1"])["tied"]
    assert (finding.severity, finding.number, finding.examples) == ("warning", 2, ("q0",))
    assert dict(finding.parts)["queries where labels differ"] == 1
    assert dict(finding.parts)["P@1 with the worst order"] == pytest.approx(1 / 3)
    assert dict(finding.parts)["P@1 with the best order"] == pytest.approx(2 / 3)
    assert effect(finding, "P@1", "official").amount == 0
    assert effect(finding, "P@1", "letor4").amount == pytest.approx((1 - 1 / 2) / 3)
    assert effect(finding, "P@1", "catboost").amount == pytest.approx((0 - 1 / 2) / 3)
    assert effect(finding, "P@1", "trec_eval9").amount == pytest.approx((0 - 1 / 2) / 3)  # d001 before d000


def test_ties_of_equal_labels_are_only_told() -> None:
    finding = audit(dataset([[1, 0, 0]]), np.array([2.0, 1.0, 1.0]), measure=["P@1"])["tied"]
    assert (finding.severity, finding.effects) == ("info", ())


def test_scores_tied_in_single_precision_only() -> None:
    scores = np.array([1.0, 1.0 + 1e-9, 2.0, 1.0])
    assert np.float32(scores[0]) == np.float32(scores[1])
    finding = audit(dataset([[0, 1], [1, 0]]), scores, measure=["P@1"])["tied_float32"]
    assert (finding.number, finding.examples) == (1, ("q0",))
    assert effect(finding, "P@1", "xgboost").amount == pytest.approx(-1 / 2)  # input order puts d000 first
    assert effect(finding, "P@1", "trec_eval9").amount == 0  # d001 is first by id as well as by score
    assert effect(finding, "P@1", "trec_eval10").does == "keeps them apart"


def test_ties_that_need_ids_are_refused_where_there_are_none() -> None:
    findings = audit(dataset([[1, 0]], ids=False), np.array([1.0, 1.0]), measure=["P@1"])
    assert "needs document ids" in effect(findings["tied"], "P@1", "trec_eval9").does
    assert "repeated" not in findings
    assert audit(dataset([[1, 0]], ids=False), measure=["P@1"])["labels"].number == 1


QRELS = Qrels.from_dict({"q1": {"a": 1, "b": 1, "c": 0}, "q2": {"d": 1}, "q3": {"e": 1}})
RUN = Run.from_dict({"q1": {"x": 3.0, "a": 2.0}, "q2": {"d": 2.0, "y": 1.0}, "q9": {"z": 1.0}})


def test_unjudged_documents_against_the_run_without_them() -> None:
    finding = audit(QRELS, RUN, measure=["P@1", "RR"], cutoffs=[1, 2])["unjudged"]
    assert (finding.number, finding.total) == (1, 2)  # the first of q1 and q2
    assert finding.parts == (("of the first 1", 1 / 2), ("of the first 2", 2 / 4))
    assert effect(finding, "RR", "trec_eval9").amount == pytest.approx((1 / 2 - 1) / 2)
    assert effect(finding, "RR", "official").amount == pytest.approx((1 / 2 - 1) / 3)


def test_tools_that_ignore_unretrieved_relevant_documents() -> None:
    finding = audit(QRELS, RUN, measure=["AP", "NDCG@2"])["unretrieved"]
    assert (finding.number, finding.total, finding.examples) == (1, 3, ("q1",))
    assert effect(finding, "AP", "ranklib").amount == pytest.approx((1 / 2 - 1 / 4) / 2)
    assert effect(finding, "AP", "trec_eval9").amount == 0
    ideal, listed = 1 + 1 / math.log2(3), 1.0
    gain = (1 / math.log2(3)) * (1 / listed - 1 / ideal) / 2
    assert effect(finding, "NDCG@2", "ranklib").amount == pytest.approx(gain)


def test_queries_missing_on_either_side() -> None:
    findings = audit(QRELS, RUN, measure=["RR"])
    assert (findings["missing"].examples, findings["surplus"].examples) == (("q3",), ("q9",))
    both, judged = (1 / 2 + 1) / 2, (1 / 2 + 1) / 3
    assert findings.tool == "trec_eval9"  # the default for qrels
    assert effect(findings["missing"], "RR", "trec_eval9").amount == 0
    assert effect(findings["missing"], "RR", "ir_measures").amount == pytest.approx(judged - both)
    findings = audit(QRELS, RUN, measure=["RR"], tool="official")
    assert effect(findings["missing"], "RR", "trec_eval9").amount == pytest.approx(both - judged)
    assert effect(findings["missing"], "RR", "ir_measures").amount == 0


def test_a_run_without_a_common_query_is_refused() -> None:
    with pytest.raises(DataError, match="no query in common"):
        audit(QRELS, Run.from_dict({"q7": {"a": 1.0}}))


def test_severity_and_order_follow_the_measured_effect() -> None:
    # Label 1 halves P@2 under mslr; one tie in many queries hardly moves it.
    queries = [[1, 0]] * 2000
    scores = np.tile([2.0, 1.0], 2000)
    scores[1] = 2.0
    findings = audit(dataset(queries), scores, measure=["P@1", "AP"])
    weak, tied = findings["weak_labels"], findings["tied"]
    assert weak.largest_effect is not None
    assert weak.severity == "warning"
    assert weak.largest_effect.amount == pytest.approx(-1, abs=1e-3)
    assert tied.largest_effect is not None
    assert tied.severity == "info"
    assert abs(tied.largest_effect.amount or 0) == pytest.approx(1 / 2 / 2000)
    keys = [f.key for f in findings.findings]
    assert keys.index("weak_labels") < keys.index("tied")
    amounts = [
        abs(f.largest_effect.amount or 0) for f in findings.findings if f.severity == "warning" and f.largest_effect
    ]
    assert amounts == sorted(amounts, reverse=True)
    assert findings.to_dict()["effect"][0] == amounts[0] * np.sign(weak.largest_effect.amount or 0)
    assert audit_record(findings)["findings"][0]["effect"] == weak.largest_effect.amount
    assert "AP changes by up to" in audit_text(findings) or "P@1 changes by up to" in audit_text(findings)


@pytest.mark.parametrize("name", ["MQ2008/S5.txt", "OHSUMED/QueryLevelNorm/S1.txt"])
def test_no_measured_effect_is_below_a_smaller_one(shared: Path, name: str) -> None:
    data = read_letor(shared / "data" / name)
    for scores in (None, np.ascontiguousarray(data.features[:, 20])):
        for severity in ("warning", "info"):
            findings = [f for f in audit(data, scores).findings if f.severity == severity]
            sizes = [abs(f.largest_effect.amount or 0) for f in findings if f.largest_effect]
            assert sizes == sorted(sizes, reverse=True)
            assert all((size >= 0.001) == (severity == "warning") for size in sizes)


def limited() -> tuple[Qrels, Run]:
    """Seed 004: relevant documents plus irrelevant ones, and [3, 3, 3] where four documents have label 3."""
    qrels = {
        "plain": {"a": 3, "b": 3, "x": 0},
        "extra": {"a": 3, "b": 3, "x": 0, "y": 0},
        "missing": {"a": 3, "b": 3, "c": 3, "d": 3},
        "nothing": {"a": 1},
    }
    run = {
        "plain": {"a": 3.0, "b": 2.0},
        "extra": {"a": 5.0, "b": 4.0, "x": 3.0, "y": 2.0, "z": 1.0},
        "missing": {"a": 3.0, "b": 2.0, "c": 1.0},
        "nothing": {"x": 1.0},
    }
    return Qrels.from_dict(qrels), Run.from_dict(run)


def test_the_two_limitations_of_ndcg_name_the_queries() -> None:
    qrels, run = limited()
    findings = audit(qrels, run, measure=["NDCG@3", "AP"])
    assert findings["ndcg_extra"].queries == ("extra",)
    assert dict(findings["ndcg_extra"].parts)["precision of these lists"] == pytest.approx(2 / 3)
    assert dict(findings["ndcg_extra"].parts)["precision without the ignored documents"] == 1
    assert (findings["ndcg_missing"].queries, findings["ndcg_missing"].total) == (("missing",), 2)
    assert dict(findings["ndcg_missing"].parts)["Recall of these queries"] == pytest.approx(3 / 4)
    assert effect(findings["ndcg_missing"], "NDCG@3", "trec_eval9").does == "ignores them in 1 of 2 queries"
    deeper = audit(qrels, run, measure=["NDCG@10"])
    assert deeper["ndcg_missing"].queries == ()  # with ten places, trec_eval sees the fourth document
    # The ideal list of these tools has the retrieved documents only; LightGBM also counts 1 for an empty one.
    assert effect(deeper["ndcg_missing"], "NDCG@10", "ranklib").does == "ignores them in 1 of 2 queries"
    assert effect(deeper["ndcg_missing"], "NDCG@10", "lightgbm").does == "ignores them in 2 of 2 queries"
    assert "ndcg_extra" not in audit(qrels, run, measure=["AP"])
    assert "ndcg_missing" not in audit(dataset([[1, 0]]), np.array([1.0, 2.0]), measure=["NDCG@3"])
    record = json.loads(json.dumps(audit_record(findings)))
    assert {f["key"]: f["queries"] for f in record["findings"]}["ndcg_extra"] == ["extra"]


def test_the_limitations_hold_by_intervention() -> None:
    """NDCG stays the same if the named documents are removed, and changes elsewhere if relevant ones are judged."""
    rng = np.random.default_rng(4)
    names = [f"d{i}" for i in range(12)]
    judged = {f"q{q}": {name: int(rng.integers(0, 3)) for name in names} for q in range(40)}
    scored = {q: {name: float(rng.integers(0, 30)) for name in rng.choice(names, 6, False)} for q in judged}
    findings = audit(judged, scored, measure=["NDCG@5"])
    before = evaluate(judged, scored, "NDCG@5", "trec_eval9").per_query["NDCG@5"]
    for query in findings["ndcg_extra"].queries:
        order = sorted(scored[query], key=lambda name: (-scored[query][name], name))[:5]
        last = min(scored[query][name] for name in order if judged[query][name] > 0)
        cut = {name: score for name, score in scored[query].items() if score >= last}
        assert len(cut) < len(scored[query])
        after = evaluate({query: judged[query]}, {query: cut}, "NDCG@5", "trec_eval9").mean["NDCG@5"]
        assert after == pytest.approx(before[query])
    changed = set()
    for query, labels in judged.items():
        retrieved = {name: label for name, label in labels.items() if name in scored[query]}
        after = evaluate({query: retrieved}, {query: scored[query]}, "NDCG@5", "trec_eval9").mean["NDCG@5"]
        changed |= {query} if abs(after - before[query]) > 1e-12 else set()
    assert 0 < len(findings["ndcg_missing"].queries) < 40
    assert not changed & set(findings["ndcg_missing"].queries)


def test_ties_stay_across_a_removed_document() -> None:
    qrels = Qrels.from_dict({"q": {"a": 1, "c": 0, "d": 0}, "r": {"a": 1}})
    run = Run.from_dict({"q": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5}, "r": {"b": 1.0, "a": 1.0}})
    whole = rank(qrels, run, Convention(ties="input"))
    assert (whole.labels == UNJUDGED).sum() == 2
    short = JudgedOnly(qrels, run).for_convention(Convention(ties="input"))
    assert short.labels.tolist() == [1, 0, 0, 1]
    assert short.offsets.tolist() == [0, 3, 4]
    assert short.tied.tolist() == [0, 1, 0, 0]


def layout(train: list[str], vali: list[str], test: list[str], features: int = 3) -> dict[str, AuditedFile]:
    return {
        "train": AuditedFile(tuple(train), features),
        "vali": AuditedFile(tuple(vali), features),
        "test": AuditedFile(tuple(test), features),
    }


def rotated_parts() -> dict[str, dict[str, AuditedFile]]:
    """LETOR's Table 4 over five parts of one query."""
    s = [f"q{i}" for i in range(5)]
    return {
        f"Fold{i + 1}": layout([s[(i + j) % 5] for j in range(3)], [s[(i + 3) % 5]], [s[(i + 4) % 5]]) for i in range(5)
    }


FIVE = dataset([[1, 0]] * 5)


def test_letors_rotation_is_clean() -> None:
    findings = audit(FIVE, layout=rotated_parts(), measure=["P@1"])
    assert not {"leak", "rotation", "feature_numbers"} & {f.key for f in findings.findings}


def test_a_query_in_training_and_test_is_a_leak() -> None:
    folds = rotated_parts()
    folds["Fold2"]["train"] = AuditedFile((*folds["Fold2"]["train"].query_ids, "q0"), 3)  # fold 2 tests on q0
    findings = audit(FIVE, layout=folds, measure=["P@1"])
    assert (findings["leak"].severity, findings["leak"].number, findings["leak"].examples) == ("error", 1, ("q0",))
    assert findings["leak"].parts == (("Fold2 train and test", 1),)
    assert "Fold2 does not train on all the other parts" in findings["rotation"].sentence
    assert findings.findings[0].key == "leak"  # the worst comes first


def test_folds_in_another_order_are_not_a_rotation() -> None:
    folds = rotated_parts()
    swapped = folds | {"Fold1": folds["Fold2"], "Fold2": folds["Fold1"]}
    finding = audit(FIVE, layout=swapped, measure=["P@1"])["rotation"]
    assert "Fold1 does not validate on the test part of Fold5" in finding.sentence
    same = audit(FIVE, layout=folds | {"Fold2": folds["Fold1"]}, measure=["P@1"])["rotation"]
    assert "Fold1 and Fold2 test on 1 common queries" in same.sentence
    assert "1 queries are never tested" in same.sentence


def test_parts_of_different_width() -> None:
    folds = rotated_parts()
    folds["Fold3"]["vali"] = AuditedFile(folds["Fold3"]["vali"].query_ids, 2)
    finding = audit(FIVE, layout=folds, measure=["P@1"])["feature_numbers"]
    assert (finding.number, finding.total, finding.examples) == (1, 15, ("Fold3 vali",))


def test_drawings_hold_every_finding() -> None:
    findings = audit(QRELS, RUN, measure=["NDCG@2", "AP"])
    assert [f.severity for f in findings.findings] == sorted(
        (f.severity for f in findings.findings), key=SEVERITIES.index
    )
    text, markdown = audit_text(findings), render_all(audit_parts(findings), "markdown")
    assert max(map(len, text.splitlines())) <= 110
    assert repr(findings) == text
    for finding in findings.findings:
        assert finding.sentence.split(":")[0] in " ".join(text.split())
        assert finding.sentence in markdown
    rows = audit_csv(findings).splitlines()
    assert len(rows) == 1 + sum(max(1, len(f.effects)) for f in findings.findings)
    record = json.loads(json.dumps(audit_record(findings), allow_nan=False))
    assert [f["key"] for f in record["findings"]] == [f.key for f in findings.findings]


@pytest.mark.parametrize(("name", "queries", "empty", "short"),
                         [("MQ2008", 784, 220, 403), ("OHSUMED/QueryLevelNorm", 106, 1, 0)])  # fmt: skip
def test_real_data(shared: Path, name: str, queries: int, empty: int, short: int) -> None:
    from pippin.data.quality import read_for_audit

    data, parts = read_for_audit([str(shared / "data" / name)])
    findings = audit(data, layout=parts)
    assert (findings["empty"].number, findings["empty"].total) == (empty, queries)
    assert (findings["short"].number if "short" in findings else 0) == short
    assert effect(findings["empty"], "NDCG@10", "yahoo").amount == pytest.approx(empty / queries)
    assert "leak" not in findings


def test_nulls_of_ohsumed(shared: Path) -> None:
    data = read_letor(shared / "data" / "OHSUMED" / "Feature-null" / "S1.txt")
    findings = audit(data)
    assert findings["nulls"].number == int(np.isnan(data.features).sum()) > 0
    assert {"5", "6", "7"} <= set(findings["query_features"].examples)  # idf of title words


def test_labels_of_mslr_are_beyond_letor(shared: Path) -> None:
    files = sorted((shared / "data" / "mslr-5k").glob("*.txt"))
    data = read_letor(files[0])
    finding = audit(data)["high_labels"]
    assert finding.number == int((data.labels > 2).sum()) > 0
    assert (effect(finding, "NDCG@10", "letor4").amount or 0) < 0
    assert effect(finding, "NDCG@10", "mslr").amount == 0


def test_a_run_of_exactly_the_judged_documents_is_clean_of_what_runs_lack() -> None:
    qrels, run = Qrels.from_dict({"q": {"a": 1, "b": 0}}), Run.from_dict({"q": {"a": 2.0, "b": 1.0}})
    audited = audit(qrels, run, measure=["NDCG@2"])
    for key in ("unjudged", "unretrieved", "missing", "surplus"):
        assert key not in audited
        with pytest.raises(KeyError, match=key):
            audited[key]


def test_unjudged_documents_that_could_turn_two_runs_round() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    first, second = {"q": {"a": 3.0, "b": 2.0}}, {"q": {"x": 3.0, "y": 2.0, "b": 1.0}}
    finding = audit(qrels, first, measure=["P@2", "RR", "Bpref"], second_run=second)["undecided"]
    assert (finding.number, finding.total, finding.severity) == (2, 2, "warning")
    assert dict(finding.parts)["P@2, least"] == -0.5  # both x and y relevant: 1 of 2 against 2 of 2
    assert set(finding.examples) == {"q x", "q y"}
    sure = audit(qrels, first, measure=["P@2"], second_run={"q": {"b": 3.0, "x": 2.0, "y": 1.0, "z": 0.0}})
    assert sure["undecided"].sentence.endswith("P@2 (+0.0000 to +0.5000)")  # y and z stand below the cutoff
    assert "undecided" not in audit(qrels, first, measure=["RR"], second_run={"q": {"b": 2.0, "x": 1.0}})
    assert "undecided" not in audit(qrels, first, measure=["P@2"])
    with pytest.raises(DataError, match="needs two runs"):
        audit(dataset([[1, 0]]), np.array([1.0, 2.0]), second_run=np.array([2.0, 1.0]))


def test_judgements_without_a_document_are_an_error() -> None:
    finding = audit(Qrels.from_dict({"q": {}}), measure=["NDCG@2"])["labels"]
    assert (finding.severity, finding.sentence) == ("error", "no document is judged")


def test_tools_that_refuse_labels_are_left_out_of_what_is_fixed() -> None:
    data = dataset([[5, 5], [0, 1]])
    findings = audit(data, np.array([1.0, 1.0, 2.0, 2.0]), measure=["ERR(err_max_grade=4)@2"])
    assert "tied" in findings  # without a range: ERR refuses label 5 in every order
    assert not any(name.startswith("ERR") for name, _ in findings["tied"].parts)
    fixed = audit(data, measure=["ERR@2"])["constant_labels"]
    names = {tool for effect in fixed.effects for tool in effect.tools}
    assert "gdeval" not in names
    assert "rankeval" in names
