"""SVM-MAP: both solvers reach the same optimum and the quality of the original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.rankers.folds import draw_dataset, five_fold_means, folds, plant_linear, twice, with_constant_query

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import models
from pippin.rankers.base import Ranker
from pippin.rankers.linear import drop_constant_queries, inverse_deviations
from pippin.rankers.svmmap import SVMMAP, MeanHinge
from pippin.rankers.training import select


@pytest.mark.parametrize("C", [0.1, 3.0, 30.0])
def test_two_solvers_meet(C: float) -> None:
    data = draw_dataset(1, queries=12)
    planes = SVMMAP(C=C, tol=1e-7).fit(data)
    blocks = SVMMAP(C=C, tol=2e-3, max_iter=20_000, solver="frank-wolfe").fit(data)
    assert blocks.objective_ == pytest.approx(planes.objective_, rel=2e-3)
    np.testing.assert_allclose(blocks.coef_, planes.coef_, atol=0.1)


def test_no_step_from_the_optimum_improves_it() -> None:
    data = draw_dataset(2, queries=12)
    model = SVMMAP(C=2.0, tol=1e-9, standardize=False).fit(data)
    kept = drop_constant_queries(data, 1)
    hinge = MeanHinge((kept.labels >= 1).astype(np.uint8), kept.offsets)

    def objective(weights: np.ndarray) -> float:
        return float(weights @ weights / 2 + 2.0 * hinge(kept.features @ weights)[0])

    best = objective(model.coef_)
    assert model.objective_ == pytest.approx(best, rel=1e-12)
    random = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            assert objective(model.coef_ + size * random.normal(size=4)) > best - 1e-8


def test_the_hinge_of_no_weights_is_the_worst_ranking() -> None:
    """At w = 0 nothing speaks against the reverse of the ideal ranking."""
    value, _ = MeanHinge(np.array([0, 1, 1], np.uint8), np.array([0, 3]))(np.zeros(3))
    assert value == pytest.approx(1 - (1 / 2 + 2 / 3) / 2)


def test_every_query_twice_changes_nothing() -> None:
    data = draw_dataset(3)
    first, second = (SVMMAP(tol=1e-8).fit(each) for each in (data, twice(data)))
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-7)
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-2)


@pytest.mark.parametrize("solver", ["cutting-planes", "frank-wolfe"])
def test_a_query_without_relevant_documents_changes_no_bit(solver: str) -> None:
    data = draw_dataset(4)
    plain, more = (SVMMAP(C=1.0, solver=solver).fit(each).coef_ for each in (data, with_constant_query(data)))
    assert plain.tobytes() == more.tobytes()


@pytest.mark.parametrize("solver", ["cutting-planes", "frank-wolfe"])
def test_a_known_ranking_is_learned(solver: str) -> None:
    truth = [1.0, -2.0, 0.0, 0.5]
    coef = SVMMAP(C=1.0, solver=solver).fit(plant_linear(1, truth)).coef_
    assert float(coef @ truth / np.linalg.norm(coef) / np.linalg.norm(truth)) > 0.99


def test_relevant_from_two_on() -> None:
    data = draw_dataset(5)
    two = Dataset(data.features, (data.labels >= 2).astype(np.int32), data.offsets, data.query_ids)
    assert SVMMAP(relevance_threshold=2).fit(data).coef_.tobytes() == SVMMAP().fit(two).coef_.tobytes()
    with pytest.raises(DataError, match="reaches the relevance threshold 9"):
        SVMMAP(relevance_threshold=9).fit(data)


def test_only_relevant_documents_give_no_weights() -> None:
    assert SVMMAP().fit(np.eye(3), [1, 1, 2], qid=[1, 1, 2]).coef_.tolist() == [0, 0, 0]


def test_input_is_untouched_and_bytes_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    data = plant_linear(6, [1.0, 0.5, -0.2], queries=1500)
    before, results = data.features.tobytes(), set()
    for count in ("1", "2", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", count)
        results.add(SVMMAP(C=1.0).fit(data).coef_.tobytes())
    assert len(results) == 1
    assert data.features.tobytes() == before


def test_a_seed_is_an_order() -> None:
    data = draw_dataset(9)
    first, again, other = (
        SVMMAP(C=1.0, solver="frank-wolfe", tol=1e-2, seed=seed).fit(data).coef_ for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_saved_and_loaded_it_scores_the_same(tmp_path: Path) -> None:
    data = draw_dataset(7)
    model = SVMMAP(C=0.3).fit(data)
    models.save(model, tmp_path / "model.json")
    again = models.load(tmp_path / "model.json")
    assert again.get_params() == model.get_params()
    assert again.predict(data).tobytes() == model.predict(data).tobytes()


def test_missing_convergence_is_a_warning() -> None:
    with pytest.warns(ConvergenceWarning, match="stopped after 2 rounds"):
        SVMMAP(C=1e4, solver="frank-wolfe", max_iter=2).fit(draw_dataset(8))


@pytest.mark.parametrize(("parameters", "sentence"), [
    ({"C": -1.0}, "C must be above 0"),
    ({"max_iter": 0}, "max_iter must be above 0"),
    ({"tol": 0.0}, "tol must be above 0"),
    ({"solver": "sgd"}, "solver must be frank-wolfe or cutting-planes, got 'sgd'"),
])  # fmt: skip
def test_invalid_parameters_are_refused(parameters: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        SVMMAP(**parameters).fit(draw_dataset(0))  # type: ignore[arg-type]


@pytest.mark.parametrize(("folder", "convention", "least"), [
    ("OHSUMED/QueryLevelNorm", "letor3", (0.4461 - 0.003, 0.4329 - 0.002)),  # the prototype's MAP, svm_map's NDCG@10
    ("MQ2008", "letor4", (0.4718 - 0.002, 0.4987 - 0.002)),  # svm_map
])  # fmt: skip
def test_as_good_as_the_original(
    shared: Path, tmp_path: Path, folder: str, convention: str, least: tuple[float, float]
) -> None:
    def fit_checked(train: Dataset, valid: Dataset) -> Ranker:
        return select(SVMMAP(), train, valid, convention=convention).ranker

    measures = [("MAP", convention), ("NDCG@10", "official")]
    means = five_fold_means(folds(shared, folder, tmp_path), fit_checked, measures)
    assert means[0] >= least[0]
    assert means[1] >= least[1]


def test_scales_of_features_do_not_matter_beyond_one() -> None:
    """Where a feature is outside [-1, 1], each is divided by its deviation; the weights are those of the features."""
    data = draw_dataset(6)
    table = data.features * np.logspace(-6, 9, data.features.shape[1])
    table = np.column_stack((table, np.full(len(table), 1e7)))
    far = drop_constant_queries(Dataset(table, data.labels, data.offsets, data.query_ids), 1)
    first, second = (SVMMAP().fit(replace(far, features=far.features * scale)).coef_ for scale in (1.0, 1024.0))
    np.testing.assert_array_equal(second, first / 1024.0)
    assert first[-1] == 0.0
    factors = inverse_deviations(far)
    by_hand = SVMMAP(standardize=False).fit(replace(far, features=far.features * factors)).coef_
    np.testing.assert_array_equal(first, by_hand * factors)


def test_features_within_one_are_not_standardised() -> None:
    data = draw_dataset(7)
    small = replace(data, features=data.features / np.abs(data.features).max())
    auto, plain, other = (SVMMAP(standardize=way).fit(small).coef_ for way in ("auto", False, True))
    np.testing.assert_array_equal(auto, plain)
    assert (auto != other).any()
    with pytest.raises(DataError, match="standardize must be True, False or auto, got 'yes'"):
        SVMMAP(standardize="yes").fit(small)


def test_weighed_queries_are_scaled_as_copies_of_them() -> None:
    data = draw_dataset(8)
    doubled = SVMMAP(tol=1e-8).fit(data, sample_weight=np.full(data.queries, 2.0)).coef_
    np.testing.assert_allclose(doubled, SVMMAP(tol=1e-8).fit(twice(data)).coef_, atol=1e-3)
