"""Names and definitions of engine features: templates, mappings and feature sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.models.kinds import documents, train_ranker

from pippin.cli.main import main
from pippin.collections.engine_features import ENGINES, make_templates
from pippin.collections.features import parse_features
from pippin.errors import DataError, UnknownName
from pippin.rankers.export import export

TEXT = "bm25@title bm25@body length@title length@body pagerank inlinks"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("features", ["ohsumed", "letor4", "mslr", "gov", TEXT])
def test_every_feature_has_a_template_or_a_reason(engine: str, features: str) -> None:
    result = make_templates(features, engine)
    assert {*result.mapping, *result.unsupported} == {bound.text for bound in parse_features(features)}
    assert all(result.unsupported.values())
    names = [entry["name"] for entry in result.mapping.values()]
    assert len(set(names)) == len(names)
    assert all(entry["differs"] for entry in result.mapping.values())


def test_unknown_engine() -> None:
    with pytest.raises(UnknownName, match="no engine is called 'lucene'"):
        make_templates("bm25@title", "lucene")


def test_command_lists_unsupported_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "features", "bm25@title hub", "--for", "solr", "-o", str(tmp_path / "mapping.json")]) == 0
    assert "solr cannot compute hub: it depends on links" in capsys.readouterr().err
    mapping = json.loads((tmp_path / "mapping.json").read_text())
    assert mapping["bm25@title"]["params"] == {"q": "{!dismax qf=title}${text}", "defaultValue": "NaN"}
    assert main(["engine", "features", "--for", "solr"]) == 2


def export_with_mapping(target: str, engine: str, folder: Path, kind: str = "lambdamart") -> dict[str, Any]:
    """Return the files of an export whose numbered features are those of TEXT."""
    mapping = make_templates(TEXT, engine).mapping
    result = export(train_ranker(kind), target, folder / "model.json", check=documents(), features=mapping, name="mine")
    assert result.certificate.branch_changes == 0
    return {Path(file).name: Path(file).read_text() for file in result.files}


@pytest.mark.parametrize("kind", ["lambdamart", "ranksvm"])
@pytest.mark.parametrize("target", ["elasticsearch-ltr", "opensearch-ltr"])
def test_plugin_feature_set(target: str, kind: str, tmp_path: Path) -> None:
    files = export_with_mapping(target, "es", tmp_path, kind)
    features = json.loads(files["model.json.featureset.json"])["featureset"]["features"]
    assert [feature["name"] for feature in features] == [
        "bm25_title", "bm25_body", "length_title", "length_body", "pagerank", "inlinks",
    ]  # fmt: skip
    assert features[0] == {"name": "bm25_title", "params": ["keywords"], "template_language": "mustache",
                           "template": {"match": {"title": "{{keywords}}"}}}  # fmt: skip
    model = json.loads(files["model.json"])["model"]
    assert model["name"] == "mine"
    assert "bm25_title" in model["model"]["definition"]


def test_elasticsearch_feature_extractors(tmp_path: Path) -> None:
    body = json.loads(export_with_mapping("elasticsearch", "es", tmp_path)["model.json"])
    extractors = body["inference_config"]["learning_to_rank"]["feature_extractors"]
    assert extractors[0] == {"query_extractor": {"feature_name": "bm25_title", "default_score": 0.0,
                                                 "query": {"match": {"title": "{{keywords}}"}}}}  # fmt: skip


def test_solr_feature_store(tmp_path: Path) -> None:
    files = export_with_mapping("solr", "solr", tmp_path)
    used = {feature["name"] for feature in json.loads(files["model.json"])["features"]}
    store = json.loads(files["model.json.features.json"])
    assert {feature["name"] for feature in store} == used
    assert all(feature["class"].startswith("org.apache.solr.ltr.feature.") for feature in store)


@pytest.mark.parametrize("kind", ["lambdamart", "ranksvm", "ranknet"])
def test_vespa_profile(kind: str, tmp_path: Path) -> None:
    files = export_with_mapping("vespa", "vespa", tmp_path, kind)
    profile = files["model.json.profile"] if kind == "lambdamart" else files["model.json"]
    assert "function bm25_title() {\n        expression: bm25(title)" in profile
    assert profile.startswith("rank-profile mine {")
    assert "second-phase" in profile
    if kind == "lambdamart":
        assert 'lightgbm("model.json")' in profile
        assert json.loads(files["model.json"])["feature_names"][0] == "bm25_title"


def test_feature_without_a_definition_is_an_error(tmp_path: Path) -> None:
    mapping = {key: {"name": f"f{key}", "template": {"match_all": {}}} for key in "12345"}
    with pytest.raises(DataError, match=r"does not define 6: 'template' is missing"):
        export(train_ranker("lambdamart"), "elasticsearch-ltr", tmp_path / "m", check=documents(), features=mapping)
    assert not list(tmp_path.iterdir())


def test_mapping_of_other_features_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="names no feature of the model: mapping bm25@title, model 1"):
        export(train_ranker("ranksvm"), "solr", tmp_path / "m", check=documents(), features={"bm25@title": "x"})


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"name": 1}}'])
def test_invalid_mapping_is_an_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "mapping.json").write_text(content)
    with pytest.raises(DataError, match=r"mapping\.json: "):
        export(train_ranker("ranksvm"), "solr", tmp_path / "m", check=documents(), features=tmp_path / "mapping.json")
