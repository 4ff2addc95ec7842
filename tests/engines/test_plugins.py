"""OpenSearch and Elasticsearch with their plugins give deployed models the scores that the certificate states.

PIPPIN_TEST_OPENSEARCH and PIPPIN_TEST_ELASTICSEARCH hold the address of an engine, such as http://localhost:9200.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engines.plugin_index import PluginIndex
from tests.engines.rankers import LINEAR, PARAMETERS, TREES

import pippin
from pippin.collections.collection import Query
from pippin.collections.engine_features import make_templates
from pippin.collections.sources import open_collection
from pippin.data.dataset import Dataset
from pippin.engines import SearchEngine, connect

SEARCH = {"fields": "title body"}
FEATURES = (
    "bm25@title bm25@body boolean@body length@title length@body tf@body tf_max@title value@price "
    "age(on=2030-01-01)@published"
)


@pytest.fixture(scope="module")
def engine(plugin_index: PluginIndex) -> Any:
    with connect(plugin_index.address, plugin_index.engine) as client:
        yield client


def feature_values(data: Dataset) -> Dataset:
    """Return a data set with values of at least 0, because the plugin's features cannot be negative."""
    return Dataset.from_arrays(
        np.abs(data.features), data.labels, qid=[f"q{query}" for query in data.qid()],
        document_ids=[str(row) for row in range(len(data))],
        feature_names=[f"value@value_{i}" for i in range(data.features.shape[1])],
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(complete: Dataset) -> dict[str, Any]:
    """Return one trained model for each ranker, by name."""
    data = feature_values(complete)
    return {ranker: pippin.train(data, ranker, **PARAMETERS.get(ranker, {})) for ranker in (*TREES, *LINEAR)}


@pytest.fixture(scope="module")
def indexed(plugin_index: PluginIndex, hard_data: Dataset) -> Dataset:
    """Return a data set whose rows the engine has as documents."""
    data = feature_values(hard_data)
    queries = [f"q{query}" for query in hard_data.qid()]
    plugin_index.replace_documents(
        {"id": str(row), "query": query}
        | {f"value_{i}": float(np.float32(v)) for i, v in enumerate(values) if not np.isnan(v)}
        for row, (query, values) in enumerate(zip(queries, data.features, strict=True))
    )
    return data


@pytest.mark.parametrize("ranker", [*TREES, *LINEAR])
def test_engine_scores_equal_the_certificate(
    ranker: str, indexed: Dataset, engine: SearchEngine, trained: dict[str, Any]
) -> None:
    if np.isnan(indexed.features).any() and ranker not in TREES:
        pytest.skip("only trees score missing values")
    mapping = make_templates(" ".join(indexed.feature_names), "elasticsearch").mapping
    queries = [Query(query, query) for query in indexed.query_ids]
    engine.deploy(trained[ranker], mapping, name="certified", check=indexed, force=True)
    search = {"fields": "query"}
    verification = engine.verify(trained[ranker], mapping, queries, name="certified", depth=50, parameters=search)
    assert verification.n_documents == len(indexed)
    assert verification.passed, verification.differing[:3]


def test_logged_values_are_those_of_the_documents(indexed: Dataset, engine: SearchEngine) -> None:
    mapping = make_templates(" ".join(indexed.feature_names), "elasticsearch").mapping
    ends = zip(indexed.query_ids, indexed.offsets.tolist(), indexed.offsets[1:].tolist(), strict=False)
    labels = {query: {str(row): int(indexed.labels[row]) for row in range(i, j)} for query, i, j in ends}
    queries = [Query(query, query) for query in indexed.query_ids]
    for missing, expected in {
        "direction": indexed.features, "zero": np.nan_to_num(indexed.features),
    }.items():  # fmt: skip
        logged = engine.log_features(queries, labels, mapping, missing=missing).dataset
        order = np.argsort([int(name) for name in logged.document_ids or ()])
        np.testing.assert_array_equal(logged.features[order], expected.astype(np.float32))


def test_the_loop_improves_the_ranking(plugin_index: PluginIndex, engine: SearchEngine) -> None:
    collection = open_collection("stdlib")
    plugin_index.replace_documents(
        {"id": d.id, "title": d.fields.get("title", ""), "body": d.fields.get("body", "")}
        | ({"price": i / 7} if i % 3 else {})
        | ({"published": f"20{10 + i % 20}-01-01"} if i % 4 else {})
        for i, d in enumerate(collection.iter_documents())
    )
    queries = [query for query in collection.queries if query.task == "TD"]
    mapping = make_templates(FEATURES, plugin_index.engine).mapping
    logged = engine.log_features(queries[::2], collection.qrels, mapping, depth=50, parameters=SEARCH)
    assert logged.dataset.queries == len(queries[::2])
    assert logged.not_indexed == []
    model = pippin.train(logged.dataset, "lambdamart", rounds=50)
    for _ in range(2):  # the second deployment replaces the first
        deployment = engine.deploy(model, mapping, check=logged.dataset)
    assert deployment.n_features == len(mapping)
    verification = engine.verify(model, mapping, queries[1::2], depth=50, parameters=SEARCH)
    assert verification.passed, verification.differing[:3]
    assert verification.n_documents > 1000
    before = engine.run(queries[1::2], depth=50, parameters=SEARCH)
    after = engine.run(queries[1::2], depth=50, parameters=SEARCH, model="pippin")
    means = [pippin.evaluate(collection.qrels, r.run, "NDCG@10").mean["NDCG@10"] for r in (before, after)]
    assert means[1] > means[0]
    other = pippin.train(logged.dataset, "lambdamart", rounds=6)
    assert not engine.verify(other, mapping, queries[1:9:2], depth=20, parameters=SEARCH).passed
