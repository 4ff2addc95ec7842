"""Names and queries of features in an engine: templates, mappings, and the feature sets that stand beside models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.kinds import documents, trained

from pippin.cli.main import main
from pippin.collection.features import parse_features
from pippin.deploy.exporting import export
from pippin.deploy.templates import ENGINES, templates
from pippin.errors import DataError, UnknownName

TEXT = "bm25@title bm25@body length@title length@body pagerank inlinks"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("features", ["ohsumed", "letor4", "mslr", "gov", TEXT])
def test_every_feature_has_a_template_or_a_reason(engine: str, features: str) -> None:
    found = templates(features, engine)
    assert {*found.mapping, *found.refused} == {bound.text for bound in parse_features(features)}
    assert all(found.refused.values())
    names = [entry["name"] for entry in found.mapping.values()]
    assert len(set(names)) == len(names)
    assert all(entry["differs"] for entry in found.mapping.values())


def test_an_unknown_engine() -> None:
    with pytest.raises(UnknownName, match="no engine is called 'lucene'"):
        templates("bm25@title", "lucene")


def test_the_command_names_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["features", "bm25@title hub", "--to", "solr", "-o", str(tmp_path / "mapping.json")]) == 0
    assert "solr cannot compute hub: it looks at links" in capsys.readouterr().err
    mapping = json.loads((tmp_path / "mapping.json").read_text())
    assert mapping["bm25@title"]["params"] == {"q": "{!dismax qf=title}${text}"}
    assert main(["features", "--to", "solr"]) == 2


def exported(target: str, engine: str, folder: Path, kind: str = "lambdamart") -> dict[str, Any]:
    """The files of an export whose features, numbered from 1 on, are those of TEXT."""
    mapping = templates(TEXT, engine).mapping
    found = export(trained(kind), target, folder / "model.json", check=documents(), features=mapping, name="mine")
    assert found.certificate.sides == 0
    return {Path(file).name: Path(file).read_text() for file in found.files}


@pytest.mark.parametrize("kind", ["lambdamart", "ranksvm"])
@pytest.mark.parametrize("target", ["elasticsearch-ltr", "opensearch-ltr"])
def test_the_plugin_gets_its_feature_set(target: str, kind: str, tmp_path: Path) -> None:
    files = exported(target, "es", tmp_path, kind)
    features = json.loads(files["model.json.featureset.json"])["featureset"]["features"]
    assert [one["name"] for one in features] == ["bm25_title", "bm25_body", "length_title", "length_body", "pagerank",
                                                 "inlinks"]  # fmt: skip
    assert features[0] == {"name": "bm25_title", "params": ["keywords"], "template_language": "mustache",
                           "template": {"match": {"title": "{{keywords}}"}}}  # fmt: skip
    model = json.loads(files["model.json"])["model"]
    assert model["name"] == "mine"
    assert "bm25_title" in model["model"]["definition"]


def test_elasticsearchs_own_model_has_its_extractors(tmp_path: Path) -> None:
    body = json.loads(exported("elasticsearch", "es", tmp_path)["model.json"])
    extractors = body["inference_config"]["learning_to_rank"]["feature_extractors"]
    assert extractors[0] == {"query_extractor": {"feature_name": "bm25_title", "default_score": 0.0,
                                                 "query": {"match": {"title": "{{keywords}}"}}}}  # fmt: skip


def test_solr_gets_its_feature_store(tmp_path: Path) -> None:
    files = exported("solr", "solr", tmp_path)
    used = {one["name"] for one in json.loads(files["model.json"])["features"]}
    store = json.loads(files["model.json.features.json"])
    assert {one["name"] for one in store} == used
    assert all(one["class"].startswith("org.apache.solr.ltr.feature.") for one in store)


@pytest.mark.parametrize("kind", ["lambdamart", "ranksvm", "ranknet"])
def test_vespa_gets_a_profile(kind: str, tmp_path: Path) -> None:
    files = exported("vespa", "vespa", tmp_path, kind)
    profile = files["model.json.profile"] if kind == "lambdamart" else files["model.json"]
    assert "function bm25_title() {\n        expression: bm25(title)" in profile
    assert profile.startswith("rank-profile mine {")
    assert "second-phase" in profile
    if kind == "lambdamart":
        assert 'lightgbm("mine.json")' in profile
        assert json.loads(files["model.json"])["feature_names"][0] == "bm25_title"


def test_a_feature_without_a_query_is_named(tmp_path: Path) -> None:
    mapping = {key: {"name": f"f{key}", "template": {"match_all": {}}} for key in "12345"}
    with pytest.raises(DataError, match=r"does not say how the engine computes 6 \('template' is missing\)"):
        export(trained("lambdamart"), "elasticsearch-ltr", tmp_path / "m", check=documents(), features=mapping)
    assert not list(tmp_path.iterdir())


def test_a_mapping_of_other_features_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the mapping names no feature of the model: it has bm25@title, the model 1"):
        export(trained("ranksvm"), "solr", tmp_path / "m", check=documents(), features={"bm25@title": "x"})


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"name": 1}}'])
def test_a_bad_mapping_is_a_sentence(content: str, tmp_path: Path) -> None:
    (tmp_path / "mapping.json").write_text(content)
    with pytest.raises(DataError, match=r"mapping\.json: "):
        export(trained("ranksvm"), "solr", tmp_path / "m", check=documents(), features=tmp_path / "mapping.json")
