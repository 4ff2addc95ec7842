"""Evaluators of retrieval, worked by hand from their sources where no recording looks."""

from __future__ import annotations

import math

import pippin


def test_torchmetrics_leaves_out_queries_whose_labels_add_up_to_nothing() -> None:
    """`empty_target_action` looks at the sum of labels: -1 alone is something, 1 and -1 together are nothing."""
    judged = {"below": {"a": -1, "b": 0}, "even": {"c": 1, "d": -1}, "good": {"e": 1, "f": 0}}
    run = {query: {document: 2.0 - rank for rank, document in enumerate(of)} for query, of in judged.items()}
    key = "RetrievalNormalizedDCG@10(empty_target_action={})"
    skipped = pippin.evaluate(judged, run, key.format("skip"), tool="torchmetrics")
    assert [q for q, value in skipped.per_query[key.format("skip")].items() if math.isnan(value)] == ["even"]
    counted = pippin.evaluate(judged, run, key.format("neg"), tool="torchmetrics")
    assert counted.per_query[key.format("neg")]["even"] == 0.0
    assert skipped.mean[key.format("skip")] * 2 == counted.mean[key.format("neg")] * 3
