"""Chains: notation, ranker interface and stages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.benchmarks.plan import Experiment
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.models.scoring import score_reference
from pippin.rankers import Chain, LambdaMART, RankSVM, chain, models, ranker
from pippin.rankers.chains import canonical, estimate_cost, parse_parameters, split_stages
from pippin.rankers.steps import PCA, STEPS, Bag, Selector, names, register
from pippin.rankers.steps.resampling import draw_samples, select_with_repeats
from pippin.rankers.training import select

WRITTEN = ("pca(3) > ranksvm", "pca(6) > listnet(hidden_layers=1,rounds=3)", "bag(2) > lambdamart(rounds=3)",
           "pca(4) > bag(2) > ranksvm", "bag(2) > pca(5) > mart(rounds=3)")  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Dataset:
    return plant_sum(queries=20, size=10)


@pytest.fixture(scope="module")
def valid() -> Dataset:
    return plant_sum(queries=8, size=10, seed=1)


@pytest.fixture(scope="module")
def trained_models(data: Dataset, valid: Dataset) -> dict[str, Any]:
    return {text: pippin.train(data, text, valid=valid) for text in WRITTEN}


def test_the_text_determines_the_chain() -> None:
    assert split_stages("a(x=[1>2]) > b>c(y=(3>1))") == ["a(x=[1>2])", "b", "c(y=(3>1))"]
    assert canonical("pca( 10 )>ranksvm( C = 1 )") == "pca(10) > ranksvm(C=1)"
    assert parse_parameters("pca(10, within=all) > pca(n_components=5) > ranksvm(C=0.5)") == {
        "pca__n_components": 10, "pca__within": "all", "pca2__n_components": 5, "ranksvm__C": 0.5,
    }  # fmt: skip
    cls = ranker("pca(10) > ranksvm")
    assert cls is ranker("pca > ranksvm(C=1)")
    assert issubclass(cls, Chain)
    assert set(cls.grid) == {"pca__n_components", "ranksvm__C", "ranksvm__pair_weighting"}
    pipeline = chain(PCA(n_components=3), Bag(n_bags=2), RankSVM(C=0.5))
    assert pipeline.name == "pca > bag > ranksvm"
    assert pipeline.get_params()["ranksvm__C"] == 0.5
    assert repr(pipeline) == "chain(PCA(n_components=3), Bag(n_bags=2), RankSVM(C=0.5))"
    assert chain("pca(3)", "ranksvm").pca__n_components == 3  # type: ignore[attr-defined]
    assert repr(chain(PCA(n_components=3), chain(Bag(n_bags=2), RankSVM(C=0.5)))) == repr(pipeline)
    assert chain(Bag(seed=3), LambdaMART()).get_params()["seed"] == 3
    with pytest.raises(ConventionError, match="seed must be the same for all stages"):
        chain(Bag(seed=3), LambdaMART(seed=2))


@pytest.mark.parametrize(("text", "words"), [
    ("pca", "pca > ranksvm"), ("ranksvm > pca", "end of a chain"), ("pca > > mart", "step > step > ranker"),
    ("pcaa > mart", "did you mean pca"), ("pca(10, 5) > mart", "name.parameter=value."), ("pca >", "step > step"),
])  # fmt: skip
def test_invalid_chains_are_refused_with_a_reason(text: str, words: str) -> None:
    with pytest.raises((ConventionError, UnknownName), match=words):
        ranker(text)(**parse_parameters(text))


def test_invalid_parameters_of_a_stage_are_refused(data: Dataset) -> None:
    with pytest.raises(DataError, match="pca: n_components must be at least 1"):
        pippin.train(data, "pca(0) > ranksvm")
    with pytest.raises(DataError, match="pca__n_components must be a whole number"):
        pippin.train(data, "pca(many) > ranksvm")
    with pytest.raises(UnknownName, match="pca__q"):
        pippin.train(data, "pca(q=3) > ranksvm")


def test_a_chain_is_its_stages_by_hand(data: Dataset, trained_models: dict[str, Any]) -> None:
    step = PCA(n_components=3).fit(data)
    by_hand = RankSVM().fit(step.transform(data))
    assert np.array_equal(trained_models["pca(3) > ranksvm"].predict(data), by_hand.predict(step.transform(data)))
    bags = [RankSVM().fit(select_with_repeats(data, sample)) for sample in draw_samples(data, 3, 1)]
    mean = np.sum([bag.predict(data) for bag in bags], axis=0) / 3
    assert np.allclose(pippin.train(data, "bag(3) > ranksvm").predict(data), mean, rtol=1e-14)


def test_pca_is_the_eigenvectors_of_the_covariance(data: Dataset) -> None:
    """Two features that only tell queries apart are variance over all documents, and none within queries."""
    table = np.asarray(data.features).copy()
    table[:, 4:] = np.repeat(np.random.default_rng(0).random((data.queries, 2)) * 100, 10, axis=0)
    shifted = Dataset(table, data.labels, data.offsets, data.query_ids)
    within, over_all = PCA(n_components=6).fit(shifted), PCA(n_components=6, within="all").fit(shifted)
    assert np.allclose(within.directions_[4:, :4], 0)
    deviations = table - table.mean(axis=0)
    correlations = np.corrcoef(deviations.T)
    made = over_all.directions_.T @ correlations @ over_all.directions_
    assert np.allclose(made, np.diag(np.diag(made)), atol=1e-9)
    assert (np.diff(np.diag(made)) <= 1e-12).all()


@pytest.mark.parametrize("text", WRITTEN)
def test_a_chain_is_saved_sealed_and_loaded(
    text: str, trained_models: dict[str, Any], data: Dataset, tmp_path: Path
) -> None:
    model, file = trained_models[text], tmp_path / "model"
    pippin.save(model, file)
    loaded = pippin.load(file)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert np.array_equal(loaded.predict(data), model.predict(data))
    assert loaded.importance() == model.importance()
    again = pippin.train(data, text, valid=plant_sum(queries=8, size=10, seed=1))
    assert models.to_bytes(again) == models.to_bytes(model)
    damaged = file.read_bytes().replace(b'"ranksvm__C": 0.001', b'"ranksvm__C": 0.002')
    damaged = damaged if damaged != file.read_bytes() else damaged[:-9] + b"\0" + damaged[-8:]
    file.write_bytes(damaged)
    with pytest.raises(DataError, match=r"damaged|no model"):
        pippin.load(file)


def test_a_file_with_inconsistent_parts_is_refused(trained_models: dict[str, Any], tmp_path: Path) -> None:
    content, arrays = models.to_record(trained_models["pca(3) > ranksvm"])
    changes: list[Any] = [
        lambda c: c["state"]["models"].clear(),
        lambda c: c["state"]["models"][0].update(ranker="listnet", parameters={}),
        lambda c: c["state"]["models"][0].update(features=["pca.1", "pca.2", "x"]),
    ]
    for change in changes:
        forged = json.loads(json.dumps(content))
        change(forged)
        file = tmp_path / "forged"
        file.write_bytes(models.seal(forged, arrays))
        with pytest.raises(DataError, match="damaged"):
            pippin.load(file)


@pytest.mark.parametrize("text", WRITTEN)
def test_a_chain_has_the_form_of_its_parts_or_none(text: str, trained_models: dict[str, Any], data: Dataset) -> None:
    model = trained_models[text]
    if "pca" in text and "mart" in text:
        with pytest.raises(DataError, match="weighted sums of features"):
            model.to_model()
        return
    features = np.asarray(data.features, np.float64)
    assert np.allclose(score_reference(model.to_model(), features), model.predict(data), rtol=1e-9, atol=1e-12)


def test_a_chain_has_scikit_learns_manners(data: Dataset) -> None:
    pipeline = chain(PCA(n_components=3), RankSVM())
    copy = clone(pipeline).set_params(pca__n_components=2, ranksvm__C=0.1)
    assert (pipeline.pca__n_components, copy.pca__n_components) == (3, 2)  # type: ignore[attr-defined]
    with pytest.raises(ConventionError, match="Pipeline"):
        chain(object(), RankSVM())  # type: ignore[arg-type]
    selection = select(pipeline, data, data, grid={"pca__n_components": (1, 6), "ranksvm__C": (0.01,)})
    assert selection.parameters == {"pca__n_components": 6, "ranksvm__C": 0.01}
    X, y = np.asarray(data.features), data.labels
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        piped = make_pipeline(PCA(n_components=3).set_fit_request(qid=True), RankSVM()).fit(X, y, qid=data.qid())
    assert np.array_equal(piped.predict(X), pipeline.fit(data).predict(data))


def test_a_plugin_step_is_named_in_the_model_file(data: Dataset) -> None:
    @register("strange")
    class Strange(Selector):
        """Keeps the first feature."""

        def _choose(self, train: Dataset, valid: Dataset | None, remaining: Any) -> list[int]:
            return [0]

    model = pippin.train(data, "strange > ranksvm")
    assert "test_composing" in models.record(model)["plugin"]
    task = next(Experiment(("d",), rankers=("strange > ranksvm",)).tasks([("d", "Fold1", {})]))
    assert "step strange" in task.versions


def test_every_step_has_a_summary() -> None:
    for name in (name for name in names() if STEPS.origin(name) is None):
        cls = STEPS[name]
        assert cls.source
        assert cls.summary.partition("\n")[0].endswith(".")
        assert set(cls.grid) <= set(cls.parameters)
        assert set(cls.small_limits) <= set(cls.parameters)
        assert all(parameter.meaning for parameter in cls.parameters.values())


@pytest.mark.parametrize(
    ("text", "parameter"), [("clusters > ranksvm", "clusters__n_clusters"), ("choose > ranksvm", "choose__n_clusters")]
)
def test_the_estimate_of_cost_counts_a_training_per_cluster(text: str, parameter: str) -> None:
    usual = ranker(text)().get_params()
    once = estimate_cost(text, {**usual, parameter: 1}, {})
    assert estimate_cost(text, {**usual, parameter: 11}, {}) - once == pytest.approx(10 * RankSVM.cost_ms * 1)
