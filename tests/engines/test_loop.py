"""The full relevance workflow: index, log features, train, deploy, re-rank, verify and compare."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.docs.consoles import ROOT, commands, run_command
from tests.engines.solr_client import SolrClient

import pippin
from pippin.cli.main import main
from pippin.collections.collection import Query
from pippin.collections.engine_features import make_templates
from pippin.collections.features import extract
from pippin.collections.sources import open_collection
from pippin.engines import Solr
from pippin.errors import DataError, PippinWarning

PAGE = ROOT / "docs" / "solr.md"
SEARCH = {"defType": "edismax", "qf": "title body"}
MAPPING = make_templates("bm25@title bm25@body length@title length@body", "solr").mapping


@pytest.fixture(scope="module")
def collection(solr: SolrClient) -> Any:
    """Return the documentation of Python's standard library, whose titles and bodies Solr has indexed."""
    result = open_collection("stdlib")
    solr.replace_documents(
        {"id": document.id, "title": document.fields.get("title", ""), "body": document.fields.get("body", "")}
        for document in result.iter_documents()
    )
    return result


@pytest.fixture(scope="module")
def halves(collection: Any) -> tuple[list[Query], list[Query]]:
    """Return queries to train on, and queries to compare on."""
    queries = [query for query in collection.queries if query.task == "TD"]
    return queries[::2], queries[1::2]


@pytest.fixture(scope="module")
def engine(solr: SolrClient, collection: Any) -> Any:
    with Solr(solr.address) as client:
        yield client


@pytest.fixture(scope="module")
def qrels(collection: Any) -> Callable[[list[Query]], dict[str, dict[str, int]]]:
    """Return the judgements of some queries."""
    documents = list(collection.qrels.document_ids)
    offsets = collection.qrels.offsets.tolist()
    every = {
        query: dict(zip(documents[start:stop], collection.qrels.labels[start:stop].tolist(), strict=True))
        for query, start, stop in zip(collection.qrels.query_ids, offsets[:-1], offsets[1:], strict=True)
    }
    return lambda queries: {query.id: every[query.id] for query in queries}


@pytest.fixture(scope="module")
def logged_features(engine: Solr, halves: Any, qrels: Any) -> Any:
    return engine.log_features(halves[0], qrels(halves[0]), MAPPING, depth=50, parameters=SEARCH)


def test_logged_features_are_those_of_the_engine(logged_features: Any, halves: Any) -> None:
    data = logged_features.dataset
    assert data.feature_names == tuple(MAPPING)
    assert data.queries == len(halves[0])
    assert data.labels.max() >= 1
    assert (data.features[:, 0] > 0).any()
    assert (data.features[:, 3] >= 1).any()
    assert logged_features.not_indexed == []


def test_the_deployed_model_scores_as_certified_and_ranks_better(
    engine: Solr, logged_features: Any, halves: Any, qrels: Any
) -> None:
    model = pippin.train(logged_features.dataset, "lambdamart", rounds=50)
    for _ in range(2):  # the second deployment replaces the first
        deployment = engine.deploy(model, MAPPING, check=logged_features.dataset)
    assert deployment.n_features == len(MAPPING)
    queries = halves[1]
    verification = engine.verify(model, MAPPING, queries, depth=50, parameters=SEARCH)
    assert verification.passed, verification.differing[:3]
    assert verification.n_documents > 500
    before = engine.run(queries, depth=50, parameters=SEARCH)
    after = engine.run(queries, depth=50, parameters=SEARCH, model="pippin")
    assert before.latency(99) >= before.latency(50) > 0
    judgements = qrels(queries)
    means = [pippin.evaluate(judgements, r.run, "NDCG@10", tool="trec_eval9").mean["NDCG@10"] for r in (before, after)]
    assert means[1] > means[0] + 0.02
    comparison = pippin.compare(judgements, {"before": before.run, "after": after.run}, "NDCG@10", "trec_eval9")
    assert "after" in str(comparison)


def test_verify_finds_another_model_in_the_engine(engine: Solr, logged_features: Any, halves: Any) -> None:
    engine.deploy(pippin.train(logged_features.dataset, "lambdamart", rounds=5), MAPPING, check=logged_features.dataset)
    other = pippin.train(logged_features.dataset, "lambdamart", rounds=6)
    verification = engine.verify(other, MAPPING, halves[1][:5], depth=20, parameters=SEARCH)
    assert not verification.passed
    assert verification.largest_difference > 0


def test_the_command_line_does_the_same(
    solr: SolrClient, collection: Any, halves: Any, qrels: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mapping.json").write_text(json.dumps(MAPPING))
    (tmp_path / "topics.tsv").write_text("".join(f"{query.id}\t{query.text}\n" for query in halves[0]))
    lines = [
        f"{query} 0 {d} {label}\n" for query, judgements in qrels(halves[0]).items() for d, label in judgements.items()
    ]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    train, model = str(tmp_path / "train.txt"), str(tmp_path / "model.json")
    mapping, topics = ["--mapping", str(tmp_path / "mapping.json")], ["--queries", str(tmp_path / "topics.tsv")]
    search = [*topics, "--parameter", "defType=edismax", "--parameter", "qf=title body", "--depth", "30"]
    log = ["engine", "log", solr.address, *mapping, "--qrels", str(tmp_path / "qrels.txt"), *search, "--out", train]
    assert main(log) == 0
    assert main(["train", train, "--ranker", "ranksvm", "--out", model, "--quiet"]) == 0
    assert main(["engine", "deploy", model, solr.address, *mapping, "--name", "linear"]) == 0
    assert main(["engine", "verify", model, solr.address, *mapping, "--name", "linear", *search]) == 0
    run = ["engine", "run", solr.address, "--model", "linear", *search, "--out", str(tmp_path / "run.txt")]
    assert main(run) == 0
    assert "equal the certificate's" in capsys.readouterr().out
    assert len((tmp_path / "run.txt").read_text().splitlines()) > 100


def test_every_command_of_the_page_works_as_printed(
    solr: SolrClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOLR", solr.address)
    monkeypatch.chdir(tmp_path)
    solr.replace_documents([])
    blocks = re.findall(r"^```(python|console)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    output = ""
    for language, block in blocks:
        if language == "python":
            exec(block, {})
        else:
            output += "".join(run_command(command, tmp_path, 120) for command, _ in commands(block))
    assert "better: the engine's scores of" in output
    assert "after" in output


def test_numeric_fields_dates_and_functions_have_the_values_of_pippin(solr: SolrClient, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "title": "red apples", "price": 2.5, "published": "2024-05-01T00:00:00Z"},
        {"id": "b", "title": "green pears", "published": "2024-05-03T12:00:00Z"},
        {"id": "c", "title": "red pears", "price": 4.0},
    ]
    solr.replace_documents(rows)
    (tmp_path / "fruit.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.warns(PippinWarning, match="numeric fields: price"):
        index = pippin.index(tmp_path / "fruit.jsonl", tmp_path / "index", stop="none")
    features = "boolean@title length@title value@price age(on=2024-06-01)@published"
    templates = make_templates(features, "solr", {"double_price": "product(price,2)"})
    query = Query("q", "red apples")
    with Solr(solr.address) as engine:
        logged = engine.log_features([query], {"q": {"a": 2, "b": 0, "c": 1}}, templates.mapping, missing="direction")
        zero = engine.log_features([query], {"q": {"a": 2, "b": 0, "c": 1}}, templates.mapping)
    expected = extract(index.candidates(query, [0, 1, 2], [2, 0, 1]), features)
    np.testing.assert_array_equal(zero.dataset.features[:, :4], np.nan_to_num(expected))
    expected[expected[:, 0] == 0, 0] = np.nan  # what does not match is absent
    np.testing.assert_array_equal(logged.dataset.features[:, :4], expected)
    assert logged.dataset.features[:, 4].tolist() == [5, 0, 8]


def test_a_feature_set_is_written_as_a_feature_store(solr: SolrClient, tmp_path: Path) -> None:
    features = ["engine", "features", "bm25@title value@price", "--for", "solr", "--out", str(tmp_path / "m.json")]
    for _ in range(2):
        assert main([*features, "--url", solr.address, "--name", "shop"]) == 0
    with Solr(solr.address) as engine:
        stored = engine._send("GET", "/schema/feature-store/shop")["features"]
    assert [feature["name"] for feature in stored] == ["bm25_title", "value_price"]


def test_the_score_of_the_first_phase_cannot_be_logged(engine: Solr, halves: Any, qrels: Any) -> None:
    mapping = {"score": {"class": "org.apache.solr.ltr.feature.OriginalScoreFeature", "params": {}}}
    with pytest.raises(DataError, match="first phase"):
        engine.log_features(halves[0], qrels(halves[0]), mapping)


def test_errors_are_reported(solr: SolrClient, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("1\tzip files\n")
    search = ["--queries", str(tmp_path / "topics.tsv"), "--out", str(tmp_path / "run.txt")]
    assert main(["engine", "run", "http://127.0.0.1:9/solr/none", *search]) == 2
    assert "cannot reach Solr" in capsys.readouterr().err
    assert main(["engine", "run", solr.address, "--model", "missing", *search, "--parameter", "df=title"]) == 2
    assert "missing" in capsys.readouterr().err
