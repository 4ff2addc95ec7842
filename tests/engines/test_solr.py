"""Solr with its LTR module gives exported models the scores that the certificate states, document by document."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines.rankers import LINEAR, NETWORKS, TREES
from tests.engines.solr_client import SolrClient

import pippin
from pippin.data.dataset import Dataset


def mapping(data: Dataset) -> dict[str, Any]:
    """Return the engine's definition of every feature: the value of a field."""
    return {
        name: {"name": f"f{name}", "class": "org.apache.solr.ltr.feature.FieldValueFeature",
               "params": {"field": f"value_{i}"}}
        for i, name in enumerate(data.feature_names)
    }  # fmt: skip


@pytest.fixture(scope="module")
def indexed_data(solr: SolrClient, hard_data: Dataset) -> Dataset:
    """Return a data set whose rows Solr has as documents."""
    solr.index_dataset(hard_data)
    return hard_data


@pytest.mark.parametrize("ranker", [*TREES, *LINEAR, *NETWORKS])
def test_engine_scores_equal_the_certificate(
    ranker: str, indexed_data: Dataset, models: dict[str, Any], solr: SolrClient, tmp_path: Path
) -> None:
    data = indexed_data
    if np.isnan(data.features).any() and ranker not in TREES:
        pytest.skip("only trees score missing values")
    name = f"{ranker}-{time.monotonic_ns()}"
    out = tmp_path / "model.json"
    certificate = pippin.export(
        models[ranker], "solr", out, check=data, features=mapping(data), name=name, options={"store": name}, force=True,
    ).certificate  # fmt: skip
    try:
        solr.put_features(json.loads((tmp_path / "model.json.features.json").read_text()))
        solr.put_model(json.loads(out.read_text()))
        scores, features = solr.rerank(name, data)
    finally:
        solr.delete(name, name)
    for column, feature in enumerate(data.feature_names):
        if f"f{feature}" in features[0]:
            submitted = np.nan_to_num(data.features[:, column].astype(np.float32), nan=0.0)
            assert [np.float32(row[f"f{feature}"]) for row in features] == list(submitted)
    assert np.abs(scores - models[ranker].predict(data)).max() == certificate.largest_difference


@pytest.mark.parametrize(("ranker", "parameters"), [
    ("regression", {}), ("listnet", {"hidden_layers": 1, "hidden_units": 5, "standardize": True, "rounds": 5}),
])  # fmt: skip
def test_normalisers_keep_the_order_where_float32_sums_cancel(
    ranker: str, parameters: dict[str, Any], complete: Dataset, solr: SolrClient, tmp_path: Path
) -> None:
    features = (1e5 + 8 * np.random.default_rng(3).random((len(complete), 4))).astype(np.float32).astype(np.float64)
    labels = np.digitize(features[:, 0] - features[:, 1], [-2.0, 2.0]).astype(np.int32)
    data = Dataset.from_arrays(features, labels, qid=complete.qid())
    model = pippin.train(data, ranker, **parameters)
    name = f"{ranker}-{time.monotonic_ns()}"
    export = pippin.export(model, "solr", tmp_path / "m.json", check=data, features=mapping(data), name=name)
    solr.index_dataset(data)
    try:
        solr.put_features(json.loads((tmp_path / "m.json.features.json").read_text()))
        body = json.loads((tmp_path / "m.json").read_text())
        solr.put_model(body)
        scores, _ = solr.rerank(name, data)
    finally:
        solr.delete(name, name)
    assert all("norm" in feature for feature in body["features"])
    differences = np.abs(scores - model.predict(data))
    assert differences.max() == export.certificate.largest_difference
    assert export.certificate.n_reordered_beyond_ties == 0
