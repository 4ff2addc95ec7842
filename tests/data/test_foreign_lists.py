"""Qrels and rankings in the formats of evaluators for language models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import pippin
from pippin.errors import DataError
from pippin.evaluation.reported import check_reported


@dataclass
class Document:
    """As Haystack has them."""

    id: str
    score: float | None = None
    content: str | None = None


@dataclass
class Result:
    """As LlamaIndex has them."""

    expected_ids: list[str]
    retrieved_ids: list[str]


REQUESTS = {"requests": [{"id": "q", "ratings": [{"_index": "i", "_id": "a", "rating": 3}, {"_id": "c", "rating": 0}]}]}
ANSWER = {"details": {"q": {"hits": [{"hit": {"_id": "c"}, "rating": 0}, {"hit": {"_id": "a"}, "rating": 3}]}}}


def test_lists_of_ids_by_query() -> None:
    evaluation = pippin.evaluate(
        [["a", "b"], ["c"]], [["a", "x"], ["y", "c"]], ["mrr", "precision"], tool="llama-index"
    )
    assert evaluation.mean == {"mrr": (1 + 1 / 2) / 2, "precision": 1 / 2}
    assert list(evaluation.per_query["mrr"]) == ["1", "2"]
    results = [Result(["a", "b"], ["a", "x"]), Result(["c"], ["y", "c"])]
    assert pippin.evaluate(results, results, ["mrr", "precision"], tool="llama-index").mean == evaluation.mean
    assert pippin.evaluate({"q": {"a"}}, {"q": ["b", "a", "b"]}, "RR").mean == {"RR": 1 / 2}


def test_lists_of_documents() -> None:
    truth, listed = (
        [[Document("a"), Document("b", 3.0)]],
        [[Document("b", 0.9), Document("z", 0.5), Document("a", 0.1)]],
    )
    assert (
        pippin.evaluate(truth, listed, "DocumentMAPEvaluator", tool="haystack").mean["DocumentMAPEvaluator"]
        == (1 + 2 / 3) / 2
    )


def test_documents_are_known_by_their_text() -> None:
    """Haystack compares `content`: the id of a document with other metadata is another one."""
    truth, listed = (
        [[Document("1", content="Paris")]],
        [[Document("7", content="Rome"), Document("8", content="Paris")]],
    )
    assert pippin.evaluate(truth, listed, "DocumentMRREvaluator", tool="haystack").mean == {"DocumentMRREvaluator": 0.5}
    records = [[vars(document) for document in documents] for documents in listed]
    assert pippin.evaluate(truth, records, "DocumentMRREvaluator", tool="haystack").mean == {
        "DocumentMRREvaluator": 0.5
    }


def test_missing_user_column_lists_the_accepted_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": [1], "item": [10], "rating": [5]})
    with pytest.raises(DataError, match=r"no query column \(known names: query_id, .*, user, .*'who'"):
        pippin.evaluate(frame, frame, "NDCG@10")


def test_rank_eval_from_dicts_and_files(tmp_path: Path) -> None:
    (tmp_path / "requests.json").write_text(json.dumps(REQUESTS))
    (tmp_path / "answer.json").write_text(json.dumps(ANSWER))
    for qrels, scored in ((REQUESTS, ANSWER), (tmp_path / "requests.json", tmp_path / "answer.json")):
        assert pippin.evaluate(qrels, scored, "mean_reciprocal_rank", tool="elasticsearch").mean == {
            "mean_reciprocal_rank": 1 / 2
        }


def test_predictions_of_mteb(tmp_path: Path) -> None:
    run = {"q": {"a": 0.5, "c": 0.9}}
    path = tmp_path / "T_predictions.json"
    path.write_text(json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"test": run}}))
    assert pippin.evaluate({"q": {"a": 1}}, path, "mrr_at_10", tool="mteb").mean == {"mrr_at_10": 1 / 2}


def test_frames_of_users_items_and_ratings() -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.DataFrame({"userID": [1, 1, 2], "itemID": [10, 11, 12], "rating": [5, 3, 4]})
    listed = pandas.DataFrame({"userID": [1, 1, 2], "itemID": [13, 10, 12], "prediction": [0.9, 0.8, 0.7]})
    assert pippin.evaluate(truth, listed, "precision_at_k(k=1)", tool="ms-recommenders").mean == {
        "precision_at_k(k=1)": 1 / 2
    }


def test_reported_numbers_are_computed_again(tmp_path: Path) -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.5}}
    results = {"task_name": "T", "scores": {"test": [{"ndcg_at_10": 0.63093, "mrr_at_10": 1.0, "main_score": 0.63093}]}}
    (tmp_path / "T.json").write_text(json.dumps(results))
    checks = {item.name: item for item in check_reported(qrels, run, tmp_path)}
    assert checks["ndcg_at_10"].same
    assert not checks["mrr_at_10"].same  # a constant scorer has 0.5 today
    assert {"mteb-2.26.23", "beir"} <= set(checks["mrr_at_10"].tools)
    assert checks["mrr_at_10"].sentence().startswith("mrr_at_10: reported 1.00000, recomputed 0.50000: not the same")


def test_unmatched_number_is_reported(tmp_path: Path) -> None:
    (tmp_path / "T.json").write_text(json.dumps({"scores": {"test": [{"ndcg_at_10": 0.123}]}}))
    (checks,) = check_reported({"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.6}}, tmp_path)
    assert checks.sentence().endswith("recomputed 0.63093: not the same; no other tool gives it, either.")


def test_undefined_values_are_reported(tmp_path: Path) -> None:
    """MTEB's nAUC of a run that finds all."""
    qrels, run = {"q": {"a": 1}, "p": {"b": 1}}, {"q": {"a": 2.0}, "p": {"b": 1.0}}
    (tmp_path / "T.json").write_text('{"scores": {"test": [{"nauc_ndcg_at_10_max": NaN, "ndcg_at_10": NaN}]}}')
    (nauc, ndcg) = check_reported(qrels, run, tmp_path)
    assert nauc.same
    assert not ndcg.same


@pytest.mark.parametrize("scores", [{"ndcg_at_10": 1.0}, ["default"], 1.0])
def test_scores_of_another_shape_are_reported(scores: object, tmp_path: Path) -> None:
    (tmp_path / "T.json").write_text(json.dumps({"scores": {"test": scores}}))
    with pytest.raises(DataError, match="scores of split 'test' must be a list"):
        check_reported({"q": {"a": 1}}, {"q": {"a": 1.0}}, tmp_path)


def test_splits_of_mteb_go_with_those_of_its_predictions(tmp_path: Path) -> None:
    qrels = {"q": {"a": 1, "b": 0}, "p": {"c": 1}}
    runs = {"test": {"q": {"a": 0.1, "b": 0.5}}, "dev": {"p": {"c": 1.0}}}
    (tmp_path / "T_predictions.json").write_text(json.dumps({"mteb_model_meta": {}, "default": runs}))
    scores = {"test": [{"hf_subset": "default", "mrr_at_10": 0.5}], "dev": [{"hf_subset": "default", "mrr_at_10": 1.0}]}
    (tmp_path / "T.json").write_text(json.dumps({"scores": scores}))
    checks = check_reported(qrels, tmp_path / "T_predictions.json", tmp_path)
    assert [(item.name, item.same) for item in checks] == [
        ("test, default: mrr_at_10", True), ("dev, default: mrr_at_10", True),
    ]  # fmt: skip
    with pytest.raises(DataError, match="the run does not say which is its own"):
        check_reported(qrels, runs["test"], tmp_path / "T.json")
    with pytest.raises(DataError, match="this JSON holds 2 parts"):
        pippin.evaluate(qrels, tmp_path / "T_predictions.json", "RR")


@pytest.mark.parametrize(("metric", "score"), [
    ({"dcg": {"k": 10, "normalize": True}}, 0.658073), ({"dcg": {"k": 10}}, 8.5),
    ({"dcg": {"normalize": True, "unknown_doc_rating": 1}}, 0.706919),
    ({"precision": {"k": 4, "relevant_rating_threshold": 2}}, 0.5),
    ({"precision": {"ignore_unlabeled": True}}, 2 / 3), ({"recall": {}}, 2 / 3), ({"mean_reciprocal_rank": {}}, 1.0),
    ({"expected_reciprocal_rank": {"maximum_relevance": 3}}, 0.875 + 0.125 * 0.375 / 3),
], ids=str)  # fmt: skip
def test_an_answer_of_rank_eval_is_computed_again(
    tmp_path: Path, metric: dict[str, dict[str, object]], score: float
) -> None:
    ratings = [{"_id": document, "rating": rating} for document, rating in {"a": 3, "c": 2, "d": 0, "x": 3}.items()]
    request = {"requests": [{"id": "q", "ratings": ratings}], "metric": metric}
    detail = {"metric_score": score, "hits": [{"hit": {"_id": document}} for document in "abcd"]}
    answer = {"metric_score": score, "details": {"q": detail}, "failures": {}}
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    total, of_query = check_reported(request, answer, tmp_path / "answer.json")
    assert total.same, total.sentence()
    assert of_query.same
    (tmp_path / "answer.json").write_text(json.dumps(answer | {"metric_score": score / 2}))
    assert not check_reported(request, answer, tmp_path / "answer.json")[0].same


@pytest.mark.parametrize("text", ["no json", '["a"]', '{"a": 1}'])
def test_other_json_is_refused_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataError, match=r"x\.json"):
        pippin.evaluate({"q": {"a": 1}}, tmp_path / "x.json", "RR")
    with pytest.raises(DataError, match="lacks an id, or ratings"):
        pippin.evaluate({"requests": [{"ratings": []}]}, ANSWER, "RR")


def test_a_bad_request_is_reported_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"requests": [{"id": "q", "ratings": [{"_id": "a"}]}]}))
    with pytest.raises(DataError, match=r"r\.json: request 1 of _rank_eval lacks an id"):
        pippin.evaluate(tmp_path / "r.json", ANSWER, "RR")


def test_lists_without_query_ids_are_as_many_as_queries() -> None:
    with pytest.raises(DataError, match="1 lists of documents for 2 queries"):
        pippin.evaluate([["a"], ["b"]], [["a"]], "mrr", tool="llama-index")


@dataclass
class Node:
    """As LlamaIndex gives what it retrieved: the score beside an id of its own name."""

    node_id: str
    score: float


def test_nodes_of_llama_index_stand_in_their_order() -> None:
    evaluation = pippin.evaluate(
        [["a"], ["b"]], [[Node("c", 0.1), Node("a", 0.9)], [Node("b", 0.5)]], "RR", "llama-index"
    )
    assert evaluation.mean == {"RR": 0.75}


def test_the_lists_of_one_query_need_no_list_around_them() -> None:
    assert pippin.evaluate(["a", "b"], ["x", "b"], "RR", "llama-index").mean == {"RR": 0.5}
    assert pippin.evaluate(["a"], [["x", "a"]], "RR", "llama-index").mean == {"RR": 0.5}


def test_requests_and_responses_in_any_order() -> None:
    request = {"requests": [{"id": "q", "ratings": [{"_id": "a", "rating": 1}]}]}
    answer = {"details": {"q": {"hits": [{"hit": {"_id": "a"}}]}}}
    with pytest.raises(DataError, match="a _rank_eval response holds hits; pass the request with its rat"):
        pippin.evaluate(answer, request)
