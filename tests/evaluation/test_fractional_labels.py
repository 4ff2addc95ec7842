"""Labels that are not whole numbers: the values of scikit-learn, CatBoost, LightGBM and XGBoost, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.errors import ConventionError, DataError
from pippin.evaluation.evaluate import evaluate

QUERIES, DOCUMENTS = 12, 9


def _data() -> tuple[Any, Any]:
    """Return labels and scores with ties, a query per row; the first query has no positive label."""
    rng = np.random.default_rng(33)
    labels = rng.random((QUERIES, DOCUMENTS)) * 3
    labels[labels < 0.8] = 0
    labels[0] = 0
    return labels, rng.random((QUERIES, DOCUMENTS)).round(1)


def _nested(table: Any) -> dict[str, dict[str, float]]:
    return {f"q{q}": {f"d{d}": float(number) for d, number in enumerate(row)} for q, row in enumerate(table)}


def _columns() -> dict[str, Any]:
    labels, scores = _data()
    query = np.repeat([f"q{q}" for q in range(QUERIES)], DOCUMENTS)
    return {"query_id": query, "label": labels.ravel(), "score": scores.ravel()}


@pytest.mark.parametrize("cutoff", [None, 1, 4, 20])
def test_ndcg_and_dcg_of_scikit_learn(cutoff: int | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels, scores = _data()
    for kind, function in (("NDCG", metrics.ndcg_score), ("DCG", metrics.dcg_score)):
        measure = kind if cutoff is None else f"{kind}@{cutoff}"
        expected = function(labels, scores, k=cutoff)
        assert evaluate(labels, scores, measure, tool="sklearn").mean[measure] == pytest.approx(expected, abs=1e-14)
        exponential = function(np.exp2(labels) - 1, scores, k=cutoff)
        result = evaluate(labels, scores, measure, tool="sklearn", gain="exp2")
        assert result.mean[measure] == pytest.approx(exponential, abs=1e-13)


def test_scikit_learn_refuses_fractions_in_other_measures() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels, scores = _data()
    with pytest.raises(ValueError, match="continuous"):
        metrics.average_precision_score(labels[1], scores[1])
    with pytest.raises(ConventionError, match="sklearn refuses labels that are not whole numbers in AP"):
        evaluate(labels, scores, "AP", tool="sklearn")


@pytest.mark.parametrize("form", ["rows", "group", "y", "columns", "dict", "json", "csv"])
def test_forms_of_fractional_labels(form: str, tmp_path: Path) -> None:
    labels, scores = _data()
    expected = evaluate(labels, scores, "NDCG@4", tool="sklearn").mean
    judgements: Any = labels
    options: dict[str, Any] = {}
    run: Any = scores
    if form == "group":
        judgements, run, options = labels.ravel(), scores.ravel(), {"group": [DOCUMENTS] * QUERIES}
    elif form == "y":
        judgements, run, options = _columns(), None, {"y": "label", "score": "score", "qid": "query_id"}
    elif form in ("columns", "csv"):
        pyarrow = pytest.importorskip("pyarrow")
        columns = _columns()
        run = columns.pop("score")
        judgements = pyarrow.table(columns)
        if form == "csv":
            rows = zip(*columns.values(), strict=True)
            judgements = tmp_path / "labels.csv"
            judgements.write_text("query_id,label\n" + "".join(f"{query},{label!r}\n" for query, label in
                                                               ((q, float(x)) for q, x in rows)))  # fmt: skip
    elif form in ("dict", "json"):
        judgements, run = _nested(labels), _nested(scores)
        if form == "json":
            judgements = tmp_path / "qrels.json"
            judgements.write_text(json.dumps(_nested(labels)))
    assert evaluate(judgements, run, "NDCG@4", tool="sklearn", **options).mean == pytest.approx(expected, abs=1e-14)


def test_definition_with_unjudged_documents() -> None:
    qrels, run = {"q": {"a": 0.5, "b": 1.5}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    low, high = 2**0.5 - 1, 2**1.5 - 1
    expected = (low / np.log2(3) + high / 2) / (high + low / np.log2(3))
    assert evaluate(qrels, run, "NDCG", tool="official").mean["NDCG"] == pytest.approx(expected)


def test_catboost_takes_fractions_in_single_precision() -> None:
    utils = pytest.importorskip("catboost.utils")
    labels, scores = _data()
    group = np.repeat(np.arange(QUERIES), DOCUMENTS)
    pairs = [
        ("NDCG:top=4;type=Base", "NDCG(gain=label)@4"),
        ("NDCG:top=4;type=Exp", "NDCG(gain=exp2)@4"),
        ("DCG:top=4;type=Base", "DCG(gain=label)@4"),
        ("MAP:top=4", "AP@4"),
        ("PrecisionAt:top=4", "P@4"),
        ("RecallAt:top=4", "Recall@4"),
        ("MRR", "RR"),
    ]
    for theirs, ours in pairs:
        expected = utils.eval_metric(labels.ravel().tolist(), scores.ravel().tolist(), theirs, group_id=group)[0]
        assert evaluate(labels, scores, ours, tool="catboost").mean[ours] == pytest.approx(expected, abs=1e-12)


def test_lightgbm_takes_labels_above_a_half_as_relevant_in_map() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    labels, scores = _data()
    labels, rows = labels / 3, QUERIES * DOCUMENTS
    assert ((labels > 0) & (labels <= 0.5)).any()
    group = [DOCUMENTS] * QUERIES
    train = lightgbm.Dataset(np.arange(rows)[:, None], np.zeros(rows), group=group, params={"verbose": -1})
    valid = train.create_valid(np.zeros((rows, 1)), labels.ravel(), group=group, init_score=scores.ravel())
    values: dict[str, dict[str, list[float]]] = {}
    lightgbm.train(
        {"objective": "regression", "metric": "map", "eval_at": [4], "boost_from_average": False, "verbose": -1},
        train, 1, [valid], callbacks=[lightgbm.record_evaluation(values)],
    )  # fmt: skip
    expected = values["valid_0"]["map@4"][0]
    assert evaluate(labels, scores, "AP@4", tool="lightgbm").mean["AP@4"] == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ConventionError, match="lightgbm refuses labels that are not whole numbers in NDCG@4"):
        evaluate(labels, scores, "NDCG@4", tool="lightgbm")


@pytest.mark.parametrize("suffix", ["", "-"])
def test_xgboost_takes_fractions_as_linear_gains(suffix: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    labels, scores = _data()
    data = xgboost.DMatrix(np.zeros((labels.size, 1)), labels.ravel(), group=[DOCUMENTS] * QUERIES)
    data.set_base_margin(scores.ravel())
    options = {"objective": "rank:pairwise", "eval_metric": f"ndcg@4{suffix}", "ndcg_exp_gain": False}
    expected = float(xgboost.Booster(options, [data]).eval(data).rpartition(":")[2])
    result = evaluate(labels, scores, "NDCG@4", tool=f"xgboost{suffix}", gain="label")
    assert result.mean["NDCG@4"] == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ConventionError, match="refuses labels that are not whole numbers"):
        evaluate(labels, scores, "NDCG@4", tool=f"xgboost{suffix}")


def test_a_tool_that_truncates_is_refused_alone() -> None:
    qrels, run = {"q": {"a": 0.5, "b": 2}}, {"q": {"a": 2.0, "b": 1.0}}
    with pytest.raises(ConventionError, match="ranx truncates labels to whole numbers in NDCG: found label"):
        evaluate(qrels, run, "NDCG", tool="ranx")
    several = evaluate(qrels, run, "NDCG", tool=["ranx", "trec_eval9", "sklearn"])
    assert list(several) == ["sklearn"]
    assert set(several.left_out) == {"ranx", "trec_eval9"}


def test_a_relevance_level_needs_whole_numbers() -> None:
    with pytest.raises(ConventionError, match="official takes only whole numbers as labels in NDCG"):
        evaluate(np.array([[0.5, 1.0]]), [[1.0, 2.0]], "NDCG", relevance_threshold=2)


@pytest.mark.parametrize("label", [-0.5, np.inf])
def test_fractions_below_zero_and_infinite_labels_are_errors(label: float) -> None:
    with pytest.raises(DataError, match="must be finite and 0 or more"):
        evaluate(np.array([[label, 0.5]]), [[1.0, 2.0]], "NDCG", tool="sklearn")


def test_labels_beyond_32_bits_stay_an_error() -> None:
    with pytest.raises(DataError, match="labels are whole numbers"):
        evaluate(np.array([[2.0**40, 1.0]]), [[1.0, 2.0]], "NDCG", tool="sklearn")
