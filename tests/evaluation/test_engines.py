"""Evaluation inside search engines, worked by hand from their sources."""

from __future__ import annotations

import math
from typing import Any

import pytest

import pippin

JUDGED = {"q": {"a": 3, "c": 2, "d": 0, "e": 3}}
HITS = {"q": {"a": 4.0, "u": 3.0, "c": 2.0, "d": 1.0}}  # u is unrated, e was not retrieved
LOG3 = math.log2(3)


Judged = dict[str, dict[str, int]]


def of(tool: str, measure: str, judged: Judged, run: dict[str, dict[str, float]], **axes: Any) -> float:
    return pippin.evaluate(judged, run, measure, tool=tool, **axes).mean[measure]


def test_elasticsearch_cuts_the_ideal_at_the_hits_returned() -> None:
    ideal = 7 + 7 / LOG3 + 3 / 2
    assert of("elasticsearch", "NDCG@10", JUDGED, HITS) == pytest.approx((7 + 3 / 2) / ideal)
    assert of("elasticsearch", "NDCG@10", JUDGED, HITS, unjudged_documents=1) == pytest.approx(
        (7 + 1 / LOG3 + 3 / 2) / ideal
    )
    five = {"q": {f"d{i}": 3 for i in range(5)}}
    assert of("elasticsearch", "NDCG@10", five, {"q": {"d0": 1.0}}) == 1.0
    assert of("quepid-cut", "NDCG@10", five, {"q": {"d0": 1.0}}) == pytest.approx(
        1 / sum(1 / math.log2(r + 1) for r in range(1, 6))
    )


def test_elasticsearch_precision_with_and_without_unrated_documents() -> None:
    qrels, hits = {"q": {"a": 1, "c": 0, "d": 2}}, {"q": {"a": 4.0, "u": 3.0, "c": 2.0, "d": 1.0}}
    assert of("elasticsearch", "precision", qrels, hits) == 2 / 4
    assert of("elasticsearch", "precision", qrels, hits, unjudged_documents="drop") == 2 / 3
    err = {"q": {"a": 2, "c": 3}}
    assert of("elasticsearch", "ERR(err_max_grade=3)@10", err, {"q": {"a": 3.0, "u": 2.0, "c": 1.0}}) == pytest.approx(
        3 / 8 + 5 / 8 * 7 / 8 / 3
    )


def test_opensearch_moves_the_level_and_rounds_each_query() -> None:
    qrels, hits = {"q": {"a": 0, "b": 0, "c": 1, "d": 2, "e": 3}}, {"q": {"d": 3.0, "e": 2.0, "x": 1.0}}
    assert of("opensearch", "P@10", qrels, hits) == 0.33
    assert of("opensearch", "MAP@10", qrels, hits) == 0.5
    assert of("opensearch-3.1", "P@10", qrels, hits) == 0.67
    assert of("opensearch-3.1", "MAP@10", qrels, hits) == 0.67
    assert of("opensearch", "NDCG@10", qrels, hits) == 0.79
    assert of("opensearch", "Coverage@10", qrels, hits) == 0.67
    for rank, value in ((3, 0.33), (7, 0.14), (200, 0.01)):
        run = {"q": {f"n{i}": 1000.0 - i for i in range(rank - 1)} | {"e": 0.5}}
        assert of("opensearch", "RR", qrels, run) == value
    eight = {"q": {"e": 9.0} | {f"n{i}": 8.0 - i for i in range(7)}}
    assert of("opensearch", "P@8", qrels, eight) == 0.13  # 1/8, half up


def test_quepid_takes_all_ratings_as_the_ideal() -> None:
    qrels = {"q": {f"d{i:02}": 1 for i in range(12)}}
    run = {"q": {f"d{i:02}": 20.0 - i for i in range(10)}}
    assert of("quepid", "NDCG@10", qrels, run) == pytest.approx(4.543559 / 5.092740, abs=1e-6)
    four = {"q": {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1, "f": 1}}
    hits = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    assert of("quepid", "AP@10", four, hits) == pytest.approx((1 + 2 / 3) / 4)
    assert of("quepid", "P@10", four, hits) == 2 / 4
    graded = {"q": {"a": 3, "b": 0, "c": 1}}
    assert of("quepid", "ERR(err_max_grade=3)@10", graded, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}) == pytest.approx(
        7 / 8 + 1 / 8 * 1 / 8 / 3
    )
