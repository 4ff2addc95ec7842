"""Files that engines accept, certificates that engines confirm, and refused exports."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.kinds import documents, train_ranker

import pippin
from pippin.cli.main import main
from pippin.collections.engine_features import make_templates
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor
from pippin.data.normalisation import detect_version, to_query_level_norm
from pippin.errors import ConventionError, DataError, RequirementNotMet
from pippin.models.exporters.base import EXPORTERS
from pippin.models.model import LinearModel, TreeEnsemble, make_tree
from pippin.models.scoring import make_scorer, rounding_bound, score_reference
from pippin.rankers import models
from pippin.rankers.export import export
from pippin.rankers.models import ImportedModel

SEARCH_ENGINES = ["elasticsearch-ltr", "opensearch-ltr", "elasticsearch", "solr", "vespa"]


def raw_documents(missing: bool = False) -> Dataset:
    """Return documents with features between 0 and 100, optionally with missing values."""
    data = documents(missing)
    return replace(data, features=np.asarray(data.features) * 100)


def train(data: Dataset) -> Any:
    return pippin.train(data, "lambdamart", rounds=5, num_leaves=5, min_data_in_leaf=1)


# Models of features that are normalised within queries


def test_version_of_features_is_detected() -> None:
    data = raw_documents()
    assert detect_version(data) == "Feature-min"
    assert detect_version(raw_documents(missing=True)) == "Feature-null"
    assert detect_version(to_query_level_norm(data)) == "QueryLevelNorm"
    binary = replace(data, features=np.asarray(data.features > 50, np.float64))
    assert detect_version(binary) == "Feature-min"


def test_model_file_keeps_the_version_of_its_features(tmp_path: Path) -> None:
    model = train(to_query_level_norm(raw_documents()))
    model.save(tmp_path / "model.json")
    assert pippin.load(tmp_path / "model.json").feature_version_ == "QueryLevelNorm"
    content = json.loads((tmp_path / "model.json").read_text())
    del content["sha256"]
    content["feature_version"] = "other"
    with pytest.raises(DataError, match="unknown version of the features"):
        models.from_bytes(models.seal(content, {}), "model")


@pytest.mark.parametrize("target", SEARCH_ENGINES)
def test_search_engines_refuse_models_of_normalised_features(target: str, tmp_path: Path) -> None:
    raw = raw_documents()
    model = train(to_query_level_norm(raw))
    for check in (None, raw):
        with pytest.raises(ConventionError, match=r"normalise .* within a query.*Train on raw features"):
            export(model, target, tmp_path / "model", check=check)
    assert not list(tmp_path.iterdir())
    certificate = export(model, target, tmp_path / "model", check=raw, force=True).certificate
    assert any("QueryLevelNorm" in note for note in certificate.notes)


def test_imported_model_is_refused_by_its_check_data(tmp_path: Path) -> None:
    model = ImportedModel.of(train(raw_documents()).to_model(), "test")
    with pytest.raises(ConventionError, match="Train on raw features"):
        export(model, "solr", tmp_path / "model", check=to_query_level_norm(raw_documents()))


def test_targets_that_receive_features_state_that_they_are_normalised(tmp_path: Path) -> None:
    certificate = export(train(to_query_level_norm(raw_documents())), "c", tmp_path / "model.h").certificate
    assert "the model expects features that are normalised within each query (QueryLevelNorm)" in certificate.notes


# Versions of OpenSearch's plugin


def missing_model() -> tuple[ImportedModel, Dataset]:
    """Return a tree that sends missing values left, where 0 and the right branch score otherwise, and documents."""
    tree = make_tree([0, 0], [0.5, -0.5], [1, -1], [-3, -2], [True, True], [3.0, 2.0, 1.0])
    data = Dataset.from_arrays([[0.0], [np.nan], [0.7]], [0, 1, 0], group=[3])
    return ImportedModel.of(TreeEnsemble(("1",), ((tree,),)), "test"), data


@pytest.mark.parametrize(("version", "score"), [
    ("2.19", 2.0), ("3.1.0", 2.0), ("3.2", 1.0), ("3.6.0", 1.0), ("3.7", 1.0), ("3.8", 3.0), ("3.8.0", 3.0),
    ("4.0", 3.0),
])  # fmt: skip
def test_missing_values_follow_the_version_of_opensearch(version: str, score: float, tmp_path: Path) -> None:
    model, data = missing_model()
    certificate = export(
        model, "opensearch-ltr", tmp_path / "m.json", check=data, options={"version": version}, force=True
    ).certificate
    assert certificate.largest_difference == 3.0 - score
    assert certificate.branch_changes == (score != 3.0)
    assert bool(certificate.n_reordered_beyond_ties) == (score != 3.0)


@pytest.mark.parametrize("target", ["elasticsearch-ltr", "opensearch-ltr"])
def test_plugins_get_no_fields_that_a_release_rejects(target: str, tmp_path: Path) -> None:
    export(train_ranker("lambdamart"), target, tmp_path / "m.json", check=documents())
    definition = json.loads(json.loads((tmp_path / "m.json").read_text())["model"]["model"]["definition"])
    assert set(definition) == {"objective", "splits"}
    assert definition["objective"] == "rank:pairwise"


def test_missing_as_zero_needs_an_unreleased_version(tmp_path: Path) -> None:
    model, data = missing_model()
    options = {"missing": "as-zero"}
    with pytest.raises(ConventionError, match=r"plugin 3\.8 rejects the field missing_as_zero"):
        export(model, "opensearch-ltr", tmp_path / "m.json", check=data, options=options)
    export(model, "opensearch-ltr", tmp_path / "m.json", check=data, options={**options, "version": "main"}, force=True)
    definition = json.loads(json.loads((tmp_path / "m.json").read_text())["model"]["model"]["definition"])
    assert definition["missing_as_zero"] is True
    with pytest.raises(ConventionError, match=r"a release such as 3\.8, or main"):
        export(model, "opensearch-ltr", tmp_path / "m.json", check=data, options={"version": "new"})


def test_kernels_send_missing_values_right() -> None:
    ranker, data = missing_model()
    model = replace(ranker.model_, scoring=replace(ranker.model_.scoring, missing="right"))
    expected = score_reference(model, data.features)
    assert expected.tolist() == [2.0, 1.0, 1.0]
    np.testing.assert_array_equal(make_scorer(model)(np.asarray(data.features)), expected)


# Solr, Elasticsearch and RankLib


def test_features_of_solr_default_to_missing_if_trees_keep_the_direction(tmp_path: Path) -> None:
    mapping = make_templates("bm25@title length@title pagerank bm25@body inlinks length@body", "solr").mapping
    assert all(entry["params"]["defaultValue"] == "NaN" for entry in mapping.values())
    for missing, expected in (("direction", "NaN"), ("zero", None)):
        export(
            train_ranker("lambdamart"), "solr", tmp_path / "m.json", check=documents(), features=mapping,
            options={"missing": missing},
        )  # fmt: skip
        store = json.loads((tmp_path / "m.json.features.json").read_text())
        assert {feature["params"].get("defaultValue") for feature in store} == {expected}


def test_every_model_of_solr_has_its_own_feature_store(tmp_path: Path) -> None:
    mapping = {str(i): {"name": f"f{i}", "class": "C"} for i in range(1, 7)}
    export(train_ranker("ranksvm"), "solr", tmp_path / "m.json", check=documents(), features=mapping, name="mine")
    assert json.loads((tmp_path / "m.json").read_text())["store"] == "mine"
    assert {feature["store"] for feature in json.loads((tmp_path / "m.json.features.json").read_text())} == {"mine"}


def test_elasticsearch_gets_no_input_fields(tmp_path: Path) -> None:
    mapping = {str(i): {"name": f"f{i}", "template": {"match_all": {}}} for i in range(1, 7)}
    export(train_ranker("lambdamart"), "elasticsearch", tmp_path / "m.json", check=documents(), features=mapping)
    body = json.loads((tmp_path / "m.json").read_text())
    assert "input" not in body
    definition = json.loads(gzip.decompress(base64.b64decode(body["compressed_definition"])))
    assert definition["trained_model"]["ensemble"]["feature_names"][0] == "f1"


@pytest.mark.parametrize(("target", "options"), [
    ("ranklib", {}), ("elasticsearch-ltr", {"type": "ranklib"}), ("opensearch-ltr", {"type": "ranklib"}),
])  # fmt: skip
def test_renamed_features_do_not_change_certificates_of_ranklib(
    target: str, options: dict[str, str], tmp_path: Path
) -> None:
    model, data = train_ranker("lambdamart"), documents()
    names = {str(i): f"engine_{i}" for i in range(1, 7)}
    plain, renamed = (
        export(model, target, tmp_path / "m", check=data, options=options, features=features).certificate
        for features in (None, names)
    )
    assert renamed.largest_difference == plain.largest_difference < 1e-5
    assert renamed.n_reordered_queries == 0


def test_wrong_path_of_ranklib_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_RANKLIB", str(tmp_path / "RankLib.jar"))
    with pytest.raises(DataError, match=r"RankLib\.jar: PIPPIN_RANKLIB names a file that does not exist"):
        export(train_ranker("lambdamart"), "ranklib", tmp_path / "m", check=documents())


def test_term_statistics_have_the_names_of_the_plugin() -> None:
    mapping = make_templates("tf@title tf_mean@title tf_min@title", "es").mapping
    types = [entry["template"]["match_explorer"]["type"] for entry in mapping.values()]
    assert types == ["sum_raw_tf", "mean_raw_tf", "min_raw_tf"]
    assert all("missing where no word matches" in entry["differs"] for entry in mapping.values())


def test_profile_of_vespa_names_the_file(tmp_path: Path) -> None:
    export(train_ranker("lambdamart"), "vespa", tmp_path / "mine.json", check=documents(), name="other")
    profile = (tmp_path / "mine.json.profile").read_text()
    assert 'lightgbm("mine.json")' in profile
    assert profile.startswith("rank-profile other {")


# Bounds


@pytest.mark.parametrize("kind", ["lambdamart", "ranknet", "ranksvm"])
def test_scores_that_no_engine_computed_are_not_called_identical(kind: str, tmp_path: Path) -> None:
    certificate = export(train_ranker(kind), "vespa", tmp_path / "m", check=documents()).certificate
    assert 0 < certificate.rounding_bound < 1e-12
    assert not certificate.has_equal_scores
    assert "identical" not in certificate.sentence()


def test_rounding_bound_covers_every_order_of_a_sum() -> None:
    random = np.random.default_rng(4)
    weights = random.normal(size=40) * 10.0 ** random.integers(-6, 6, 40)
    table = random.normal(size=(50, 40))
    model = LinearModel(tuple(map(str, range(40))), weights, bias=0.1)
    scores = score_reference(model, table)
    bound = rounding_bound(model, table)
    for _ in range(50):
        order = random.permutation(40)
        other_scores = np.add.accumulate(table[:, order] * weights[order], axis=1)[:, -1] + 0.1
        assert np.abs(other_scores - scores).max() <= bound


def test_onnx_is_scored_in_a_default_session(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = pippin.train(raw_documents(), "lambdamart", rounds=200, num_leaves=8, min_data_in_leaf=1)
    data = raw_documents()
    certificate = export(model, "onnx", tmp_path / "m.onnx", check=data).certificate
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    scores = session.run(["score"], {"features": np.asarray(data.features, np.float64)})[0].ravel()
    assert certificate.largest_difference == np.abs(scores - model.predict(data)).max()
    assert certificate.has_equal_scores == bool((scores == model.predict(data)).all())


# Requirements


def cancelling_model() -> tuple[ImportedModel, Dataset]:
    """Return a linear model whose terms are large and cancel, and documents that only small differences order."""
    random = np.random.default_rng(6)
    features = 1e6 + 8 * random.random((200, 2))
    data = Dataset.from_arrays(features, random.integers(0, 3, 200), group=[20] * 10)
    return ImportedModel.of(LinearModel(("1", "2"), np.array([3e3, -3e3]), bias=0.5), "test"), data


@pytest.mark.parametrize("target", ["solr", "elasticsearch-ltr", "opensearch-ltr"])
def test_linear_models_use_normalisers_of_the_engine_if_float32_sums_cancel(target: str, tmp_path: Path) -> None:
    model, data = cancelling_model()
    rounded = replace(data, features=np.asarray(data.features).astype(np.float32).astype(np.float64))
    exporter = EXPORTERS[target]
    plain = exporter.adapt(model.model_, exporter.resolve_options({})).model
    assert any(np.diff(score_reference(plain, rounded.features)[np.argsort(model.predict(rounded))]) < 0)
    certificate = export(model, target, tmp_path / "m.json", check=rounded).certificate
    assert certificate.n_reordered_beyond_ties == 0
    assert "norm" in (tmp_path / "m.json").read_text()


def test_networks_use_normalisers_of_solr(tmp_path: Path) -> None:
    model, data = train_ranker("relu"), documents()
    certificate = export(model, "solr", tmp_path / "m.json", check=data).certificate
    features = json.loads((tmp_path / "m.json").read_text())["features"]
    assert all(feature["norm"]["class"].endswith("StandardNormalizer") for feature in features)
    assert certificate.largest_difference < 2e-6


def test_an_export_that_changes_the_order_fails_unless_forced(tmp_path: Path) -> None:
    model, data = missing_model()
    options = {"version": "3.6"}
    with pytest.raises(RequirementNotMet, match="does not meet --require order") as caught:
        export(model, "opensearch-ltr", tmp_path / "m", check=data, options=options)
    assert caught.value.certificate.n_reordered_beyond_ties == 1
    assert not list(tmp_path.iterdir())
    certificate = export(model, "opensearch-ltr", tmp_path / "m", check=data, options=options, force=True).certificate
    assert "the export does not meet the requirement order" in certificate.notes
    assert json.loads((tmp_path / "m.parity.json").read_text())["notes"] == certificate.notes


@pytest.mark.parametrize(("require", "is_met"), [
    ("bits", False), ("order", True), ("ndcg=0", True), ("ndcg=0.001", True), ("ndcg=1e-3", True),
])  # fmt: skip
def test_requirements(require: str, is_met: bool, tmp_path: Path) -> None:
    model, data = train_ranker("lambdamart"), documents()
    if is_met:
        export(model, "solr", tmp_path / "m", check=data, require=require)
    else:
        with pytest.raises(RequirementNotMet):
            export(model, "solr", tmp_path / "m", check=data, require=require)


@pytest.mark.parametrize("require", ["", "order=1", "ndcg", "ndcg=x", "ndcg=-1"])
def test_unknown_requirement_is_an_error(require: str, tmp_path: Path) -> None:
    with pytest.raises(ConventionError, match=r"write bits, order or ndcg=0\.001"):
        export(train_ranker("lambdamart"), "c", tmp_path / "m", check=documents(), require=require)


def test_command_ends_with_status_1_if_the_requirement_is_not_met(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    train_ranker("lambdamart", null=True).save("model.json")
    write_letor(documents(null=True), "check.txt")
    command = ["export", "model.json", "--to", "solr", "-o", "solr.json", "--check", "check.txt"]
    assert main(command) == 1
    assert "does not meet --require order" in capsys.readouterr().err
    assert not (tmp_path / "solr.json").exists()
    assert main([*command, "--force"]) == 0
    assert main([*command, "--option", "missing=direction"]) == 0
    assert main([*command, "--require", "ndcg=1"]) == 0
