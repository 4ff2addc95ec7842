"""Regression equals least squares and reproduces LETOR's published row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.rankers.folds import draw_dataset, five_fold_means, folds, plant_linear

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import models
from pippin.rankers.regression import Regression, map_labels
from pippin.rankers.training import select


def test_ohsumed_row_of_letor(shared: Path, tmp_path: Path) -> None:
    """MAP .4220 and NDCG@1, 3, 5, 10 of LETOR 3.0, to the fourth digit."""
    measures = [(measure, "letor3") for measure in ("MAP", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "P@1", "P@10")]
    data_in = folds(shared, "OHSUMED/QueryLevelNorm", tmp_path)
    means = five_fold_means(data_in, lambda train, valid: Regression().fit(train), measures)
    assert [round(value, 4) for value in means] == [0.4220, 0.4456, 0.4426, 0.4278, 0.4110, 0.5965, 0.4666]


def test_mq2008_anchor(shared: Path, tmp_path: Path) -> None:
    means = five_fold_means(
        folds(shared, "MQ2008", tmp_path), lambda train, valid: Regression().fit(train), [("MAP", "letor4")]
    )
    assert means[0] == pytest.approx(0.4555, abs=1e-4)


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 5.0])
def test_equals_least_squares(ridge: float) -> None:
    data = draw_dataset(1)
    model = Regression(lambda_l2=ridge).fit(data)
    table = np.hstack((data.features, np.ones((len(data), 1))))
    penalty = np.sqrt(ridge) * np.eye(5)[:4]
    truth = np.linalg.lstsq(np.vstack((table, penalty)), np.append(data.labels, np.zeros(4)), rcond=None)[0]
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), truth, atol=1e-10)


def test_columns_that_repeat_or_never_vary_do_no_harm() -> None:
    data = draw_dataset(2)
    extra = np.column_stack((data.features, data.features[:, 0], np.full(len(data), 3.5), np.zeros(len(data))))
    model = Regression().fit(Dataset(extra, data.labels, data.offsets, data.query_ids))
    plain = Regression().fit(data)
    np.testing.assert_allclose(extra @ model.coef_, data.features @ plain.coef_, atol=1e-5)
    assert model.coef_[5:].tolist() == [0, 0]


def test_the_scale_of_a_column_does_not_matter_without_a_penalty() -> None:
    data = draw_dataset(3)
    scales = np.array([1e-9, 1.0, 1e9, 1e3])
    model = Regression(lambda_l2=0).fit(Dataset(data.features * scales, data.labels, data.offsets, data.query_ids))
    np.testing.assert_allclose(model.coef_ * scales, Regression(lambda_l2=0).fit(data).coef_, rtol=1e-8)


def test_mappings() -> None:
    labels = np.array([0, 1, 2], np.int32)
    assert map_labels(labels, "exp2").tolist() == [0, 1, 3]
    assert map_labels(labels, "square").tolist() == [0, 1, 4]
    assert map_labels(labels, 0).tolist() == [0, 0, 1]
    assert map_labels(labels, 1).tolist() == [0, 1, 1]
    assert map_labels(labels, 0.3).tolist() == pytest.approx([0, 0.3, 1])
    assert map_labels(np.array([0, 2, 4], np.int32), 0.3).tolist() == pytest.approx([0, 0.3, 1])


def test_shift_and_scale_of_a_mapping_change_no_ranking() -> None:
    data = draw_dataset(4)
    half, plain = Regression(label_gain=0.5).fit(data), Regression().fit(data)
    np.testing.assert_allclose(2 * half.coef_, plain.coef_, atol=1e-6)


def test_within_queries_ignores_features_constant_in_a_query() -> None:
    data = draw_dataset(5)
    shift = np.repeat(np.random.default_rng(0).normal(size=data.queries) * 10, np.diff(data.offsets))
    moved = Dataset(data.features + shift[:, None], data.labels, data.offsets, data.query_ids)
    model = Regression(within_queries=True)
    np.testing.assert_allclose(model.fit(moved).coef_, model.fit(data).coef_.copy(), atol=1e-9)
    assert not np.allclose(Regression().fit(moved).coef_, Regression().fit(data).coef_, atol=1e-3)


def test_within_queries_gives_constant_features_no_weight() -> None:
    data = draw_dataset(5)
    own = np.repeat(np.random.default_rng(1).normal(size=data.queries), np.diff(data.offsets))
    table = np.column_stack((data.features, own))
    for ridge in (0.0, 1e-6):
        model = Regression(lambda_l2=ridge, within_queries=True)
        assert model.fit(Dataset(table, data.labels, data.offsets, data.query_ids)).coef_[4] == 0


def test_constant_queries_count_unless_dropped() -> None:
    data = draw_dataset(6)
    kept = data.select([q for q in range(data.queries) if len({*data.labels[slice(*data.offsets[q : q + 2])]}) > 1])
    assert kept.queries < data.queries
    dropped = Regression(drop_constant_queries=True).fit(data)
    assert dropped.coef_.tobytes() == Regression().fit(kept).coef_.tobytes()
    assert not np.allclose(dropped.coef_, Regression().fit(data).coef_)


def test_a_set_of_constant_queries_is_refused() -> None:
    with pytest.raises(DataError, match="leaves no query"):
        Regression(drop_constant_queries=True).fit(np.eye(3), [1, 1, 0], qid=[1, 1, 2])


def test_a_known_ranking_is_learned() -> None:
    truth = [1.0, -2.0, 0.0, 0.5]
    coef = Regression().fit(plant_linear(1, truth)).coef_
    assert float(coef @ truth / np.linalg.norm(coef) / np.linalg.norm(truth)) > 0.99


def test_saved_and_loaded_it_scores_the_same(tmp_path: Path) -> None:
    data = draw_dataset(7)
    model = Regression(lambda_l2=0.5, label_gain=0.25).fit(data)
    models.save(model, tmp_path / "model.json")
    again = models.load(tmp_path / "model.json")
    assert again.get_params() == model.get_params()
    assert again.predict(data).tobytes() == model.predict(data).tobytes()


def test_selection_tries_mappings_and_penalties() -> None:
    selection = select(Regression(), plant_linear(2, [1.0, 0.0]), plant_linear(3, [1.0, 0.0]))
    assert len(selection.candidates) == 11 * 6
    assert selection.value > 0.95


@pytest.mark.parametrize(("parameters", "sentence"), [
    ({"lambda_l2": -1.0}, "lambda_l2 must be at least 0, got -1.0"),
    ({"label_gain": "cube"}, "label_gain must be label, exp2, square or a number from 0 to 1"),
    ({"label_gain": 1.5}, "label_gain must be label, exp2, square or a number from 0 to 1"),
])  # fmt: skip
def test_invalid_parameters_are_refused(parameters: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Regression(**parameters).fit(draw_dataset(0))  # type: ignore[arg-type]
