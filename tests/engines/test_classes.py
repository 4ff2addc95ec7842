"""Scoring classes of Vespa, Elasticsearch and RankLib give exported models the scores that the certificate states."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.engines.conftest import HERE, class_path, java
from tests.engines.rankers import LINEAR, NETWORKS, TREES

import pippin
from pippin.data.dataset import Dataset

# Engines add doubles in another order than Pippin, and the constants of a standardisation cancel large terms.
ROUNDING = 2e-9
Confirmation = tuple[NDArray[np.float64], float]  # the engine's scores, and the certificate's largest difference


def write_features(path: Path, data: Dataset, names: list[str]) -> Path:
    """Write the features as an engine holds them, in float32, below a line of names."""
    rows = ["\t".join(map(repr, row)).replace("nan", "NaN") for row in data.features.astype(np.float32).tolist()]
    path.write_text("\n".join(["\t".join(names), *rows]) + "\n")
    return path


def run_java(version: int, engine: str, program: Path, arguments: list[str]) -> list[NDArray[np.float64]]:
    """Return the scores that a Java program prints, one array for each model."""
    result = subprocess.run(
        [java(version), "-cp", class_path(engine), str(program), *arguments],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    return [np.array(block.split(), np.float64) for block in result.stdout.split("\n\n") if block.strip()]


def assert_confirmed(confirmation: Confirmation, model: Any, data: Dataset) -> None:
    """Assert that the engine's largest difference from the model is the certificate's."""
    scores, largest = confirmation
    assert float(np.abs(scores - model.predict(data)).max()) == pytest.approx(largest, rel=1e-9, abs=ROUNDING)


@pytest.fixture(scope="module")
def float32_data(complete: Dataset) -> Dataset:
    """Return complete data that float32 represents exactly: Vespa's expressions compute with doubles."""
    return Dataset.from_arrays(complete.features.astype(np.float32).astype(float), complete.labels, qid=complete.qid())


@pytest.fixture(scope="module")
def vespa(
    models: dict[str, Any], hard_data: Dataset, float32_data: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], Confirmation]:
    """Return what Vespa's importers and expressions make of all models, by ranker and format."""
    folder = tmp_path_factory.mktemp("vespa")
    names = [f"feature_{name}" for name in hard_data.feature_names]
    hard = write_features(folder / "hard.tsv", hard_data, names)
    exact = write_features(folder / "exact.tsv", float32_data, names)
    arguments, certificates = [], {}
    for ranker in (*TREES, *LINEAR, *NETWORKS):
        for form in ("lightgbm", "xgboost") if ranker in TREES else ("profile",):
            out = folder / f"{ranker}.{form}"
            options, data = ({"format": form}, hard_data) if ranker in TREES else ({}, float32_data)
            result = pippin.export(models[ranker], "vespa", out, check=data, options=options, force=True)
            certificates[ranker, form] = result.certificate.largest_difference
            arguments += [form, str(out), str(hard if ranker in TREES else exact)]
    scores = run_java(17, "vespa", HERE / "vespa" / "VespaScores.java", arguments)
    return {key: (values, certificates[key]) for key, values in zip(certificates, scores, strict=True)}


@pytest.mark.parametrize("form", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("ranker", TREES)
def test_vespa_scores_trees(
    ranker: str, form: str, vespa: dict[tuple[str, str], Confirmation], models: dict[str, Any], hard_data: Dataset
) -> None:
    assert_confirmed(vespa[ranker, form], models[ranker], hard_data)


@pytest.mark.parametrize("ranker", [*LINEAR, *NETWORKS])
def test_vespa_scores_expressions(
    ranker: str, vespa: dict[tuple[str, str], Confirmation], models: dict[str, Any], float32_data: Dataset
) -> None:
    assert_confirmed(vespa[ranker, "profile"], models[ranker], float32_data)


@pytest.fixture(scope="module")
def elasticsearch(
    models: dict[str, Any], hard_data: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Confirmation]:
    """Return what Elasticsearch's inference makes of all tree models, by ranker."""
    folder = tmp_path_factory.mktemp("elasticsearch")
    features = write_features(folder / "features.tsv", hard_data, list(hard_data.feature_names))
    arguments, certificates = [], {}
    for ranker in TREES:
        out, definition = folder / f"{ranker}.json", folder / f"{ranker}.definition.json"
        result = pippin.export(models[ranker], "elasticsearch", out, check=hard_data, force=True)
        certificates[ranker] = result.certificate.largest_difference
        definition.write_bytes(gzip.decompress(base64.b64decode(json.loads(out.read_text())["compressed_definition"])))
        arguments += [str(definition), str(features)]
    program = HERE / "elasticsearch" / "ElasticsearchScores.java"
    scores = run_java(21, "elasticsearch", program, arguments)
    return {ranker: (values, certificates[ranker]) for ranker, values in zip(TREES, scores, strict=True)}


@pytest.mark.parametrize("ranker", TREES)
def test_elasticsearch_scores_trees(
    ranker: str, elasticsearch: dict[str, Confirmation], models: dict[str, Any], hard_data: Dataset
) -> None:
    assert_confirmed(elasticsearch[ranker], models[ranker], hard_data)


@pytest.mark.parametrize("ranker", [*TREES, *LINEAR])
def test_ranklib_scores(
    ranker: str, models: dict[str, Any], complete: Dataset, hard_data: Dataset, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    libraries = class_path("ranklib")
    data = hard_data if ranker in TREES else complete
    predicted = pippin.export(
        models[ranker], "ranklib", tmp_path / "interpreter.txt", check=data, force=True
    ).certificate
    monkeypatch.setenv("PIPPIN_RANKLIB", libraries)
    measured = pippin.export(models[ranker], "ranklib", tmp_path / "engine.txt", check=data, force=True).certificate
    assert measured.by_engine
    assert not predicted.by_engine
    assert measured.largest_difference == predicted.largest_difference
    assert measured.reordered_queries == predicted.reordered_queries
