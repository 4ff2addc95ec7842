"""ListNet: worked example, gradient, planted data and published quality on real data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from tests.rankers.lists import (
    LABELS,
    ONE,
    SCORES,
    check_laws,
    check_parameters,
    draw_lists,
    five_fold_means,
    ndcg,
    plant_lists,
    slopes,
)

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.objective import Objective
from pippin.kernels.losses import cross_entropy
from pippin.rankers import models
from pippin.rankers.listnet import ListNet, top_one_probabilities


def test_the_worked_example() -> None:
    targets = top_one_probabilities(LABELS, ONE.offsets)
    assert targets.round(6).tolist() == [0.534447, 0.072329, 0.196612, 0.196612]
    losses, gradient = cross_entropy(SCORES, ONE.offsets, targets)
    assert losses.round(6).tolist() == [1.338525]
    assert gradient.round(6).tolist() == [-0.259157, 0.112203, 0.139627, 0.007327]


@pytest.mark.parametrize("mapping", ["label", "exp2"])
def test_targets_are_a_softmax_of_the_stretched_labels(mapping: str) -> None:
    data, _ = draw_lists(1)
    result = top_one_probabilities(data.labels, data.offsets, mapping, 1.5)
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        labels = data.labels[begin:end].astype(float)
        expected = softmax(1.5 * (labels if mapping == "label" else 2.0**labels - 1)) if end > begin else labels
        assert result[begin:end] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_the_loss(seed: int) -> None:
    data, scores = draw_lists(seed)
    targets = top_one_probabilities(data.labels, data.offsets)
    losses, gradient = cross_entropy(scores, data.offsets, targets)
    pieces = list(zip(data.offsets[:-1], data.offsets[1:], strict=True))
    twin = [-float(targets[b:e] @ log_softmax(scores[b:e])) if e > b else 0.0 for b, e in pieces]
    assert losses == pytest.approx(twin)
    expected = slopes(lambda s: float(cross_entropy(s, data.offsets, targets)[0].sum()), scores)
    assert gradient == pytest.approx(expected, abs=1e-8)


def test_scores_far_apart_overflow_nothing() -> None:
    losses, gradient = cross_entropy(np.array([2000.0, -2000.0]), np.array([0, 2]), np.array([0.25, 0.75]))
    assert losses.tolist() == [0.75 * 4000]
    assert gradient.tolist() == [1 - 0.25, 0 - 0.75]


def test_values_that_do_not_go_with_the_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="4 scores, but 3 values"):
        cross_entropy(SCORES, ONE.offsets, np.ones(3))


@pytest.mark.parametrize("layers", [0, 2])
def test_laws(layers: int, tmp_path: Path) -> None:
    check_laws(ListNet(hidden_layers=layers, rounds=30), tmp_path)


def test_invalid_parameters_are_refused() -> None:
    check_parameters(ListNet, label_gain="square", scale=0.0)


def test_a_known_ranking_is_learned() -> None:
    model = ListNet(scale=4.0, rounds=300).fit(plant_lists(1, queries=300), eval_set=plant_lists(2))
    weights = np.array(list(model.weights().values()))
    assert weights / weights[0] == pytest.approx([1.0, -2.0, 0.5], rel=0.1)
    assert ndcg(model, plant_lists(3)) > 0.99


def test_an_interaction_takes_a_hidden_layer() -> None:
    train, valid, test = (plant_lists(seed, interaction=True, queries=100) for seed in (1, 2, 3))
    linear = ListNet(rounds=100).fit(train, eval_set=valid)
    network = ListNet(hidden_layers=1, scale=2.0, batch_size=20, rounds=100).fit(train, eval_set=valid)
    assert ndcg(linear, test) < 0.86  # the mean of a random order is 0.83
    assert ndcg(network, test) > 0.95


def test_weights_are_of_raw_features_though_training_standardised_them() -> None:
    data = plant_lists(1)
    moved = Dataset(data.features * 1000.0 + 5000.0, data.labels, data.offsets, data.query_ids)
    plain, scaled = (ListNet(rounds=50).fit(each) for each in (data, moved))
    assert scaled.coef_ * 1000.0 == pytest.approx(plain.coef_)
    assert scaled.predict(moved) - scaled.predict(moved)[0] == pytest.approx(
        plain.predict(data) - plain.predict(data)[0]
    )


def test_normalised_features_are_not_standardised_by_default() -> None:
    data = plant_lists(1)
    small = Dataset(data.features / 10.0, data.labels, data.offsets, data.query_ids)
    left = ListNet(rounds=5).fit(small)
    assert np.array_equal(left.coef_, ListNet(rounds=5, standardize=False).fit(small).coef_)
    assert not np.array_equal(left.coef_, ListNet(rounds=5, standardize=True).fit(small).coef_)


def test_a_constant_feature_stays_out() -> None:
    data = plant_lists(1)
    features = data.features.copy()
    features[:, 2] = 0.5
    constant = Dataset(features, data.labels, data.offsets, data.query_ids)
    for layers in (0, 1):
        model = ListNet(hidden_layers=layers, rounds=5).fit(constant)
        assert model.importance()["3"] == 0
        other = features.copy()
        other[:, 2] = 99.0
        assert np.array_equal(model.predict(features), model.predict(other))


def test_queries_of_one_label_can_be_kept() -> None:
    data, _ = draw_lists(1)
    model = ListNet(rounds=5, drop_constant_queries=False).fit(data)
    assert not np.array_equal(model.coef_, ListNet(rounds=5).fit(data).coef_)


def test_only_linear_models_have_weights(tmp_path: Path) -> None:
    linear, network = ListNet(rounds=2).fit(plant_lists(1)), ListNet(hidden_layers=1, rounds=2).fit(plant_lists(1))
    assert linear.weights().keys() == {"1", "2", "3"}
    with pytest.raises(DataError, match="with hidden layers is not linear"):
        network.weights()
    models.save(linear, tmp_path / "model")
    assert b'"weights"' in (tmp_path / "model").read_bytes()


def test_no_query_with_two_labels_is_an_error() -> None:
    data = Dataset(np.zeros((3, 1)), np.ones(3, np.int32), np.array([0, 2, 3]), ("a", "b"))
    with pytest.raises(DataError, match="labels of only one class"):
        ListNet().fit(data)


def test_a_rate_that_leaves_the_numbers_is_an_error() -> None:
    with pytest.raises(DataError, match=r"listnet: .* is not finite in round 1; the likely cause is a step"):
        ListNet(learning_rate=1e308, hidden_layers=0, rounds=20).fit(plant_lists(1))


def test_as_good_as_it_was_on_ohsumed(shared: Path, tmp_path: Path) -> None:
    map_, ndcg10 = five_fold_means(
        shared,
        "OHSUMED/QueryLevelNorm",
        tmp_path,
        ListNet(convention="letor3"),
        [("MAP", "letor3"), ("NDCG@10", "official")],
    )
    assert map_ >= 0.4420 - 0.003
    assert ndcg10 >= 0.4240  # RankLib's


def test_as_good_as_it_was_on_mq2008(shared: Path, tmp_path: Path) -> None:
    map_, ndcg10 = five_fold_means(
        shared, "MQ2008", tmp_path, ListNet(convention="letor4"), [("MAP", "letor4"), ("NDCG@10", "official")]
    )
    assert map_ >= 0.4742 - 0.003
    assert ndcg10 >= 0.4807  # RankLib's


def test_the_validation_set_chooses_the_round() -> None:
    train, valid = plant_lists(1), plant_lists(2, interaction=True)  # nothing to be learned here for there
    model = ListNet(rounds=50, early_stopping_rounds=10).fit(train, eval_set=valid)
    assert len(model.curve_) == int(np.argmax(model.curve_)) + 11
    assert Objective(valid, "MAP", "official").mean(model.predict(valid)) == max(model.curve_)
