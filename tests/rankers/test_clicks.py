"""The step `clicks`: inputs, isolation of test labels and composition."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.clicks.simulation import examination
from pippin.data.dataset import Dataset
from pippin.errors import DataError, UnknownName
from pippin.models.scoring import score_reference
from pippin.rankers import models
from pippin.rankers.steps.clicks import Clicks
from pippin.rankers.training_data import from_clicks

LINES = ("clicks(ips,sessions=20) > ranksvm", "clicks(pairwise,sessions=20) > lambdamart(rounds=5)",
         "pca(3) > clicks(naive,sessions=20) > ranksvm",
         "clicks(ips,sessions=20,propensities=true) > ranksvm")  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Dataset:
    return plant_sum(queries=30, size=10)


@pytest.fixture(scope="module")
def valid() -> Dataset:
    return plant_sum(queries=8, size=10, seed=1)


@pytest.mark.parametrize("text", LINES)
def test_a_line_is_trained_saved_and_comes_again(text: str, data: Dataset, valid: Dataset, tmp_path: Path) -> None:
    model, again = (pippin.train(data, text, valid=valid) for _ in range(2))
    assert models.to_bytes(model) == models.to_bytes(again)
    pippin.save(model, tmp_path / "model")
    loaded = pippin.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(data), model.predict(data))
    assert models.to_bytes(loaded) == models.to_bytes(model)
    assert np.allclose(score_reference(model.to_model(), np.asarray(data.features)), model.predict(data))
    assert any("clicks on" in sentence for sentence in loaded.describe())  # type: ignore[attr-defined]


def test_another_seed_has_other_clicks(data: Dataset) -> None:
    first, second = (pippin.train(data, "clicks(ips,sessions=20) > ranksvm", seed=seed) for seed in (1, 2))
    assert not np.array_equal(first.predict(data), second.predict(data))


def test_the_step_is_its_log_by_hand(data: Dataset) -> None:
    step = Clicks(sessions=20, eta=0.5, propensities=0.7)
    by_hand = pippin.rankers.RankSVM().fit(from_clicks(data, step.log(data), propensities=examination(10, 0.7)))
    model = pippin.train(data, "clicks(sessions=20,eta=0.5,propensities=0.7) > ranksvm")
    assert np.array_equal(model.predict(data), by_hand.predict(data))


@pytest.mark.parametrize("click_model", ["pbm", "trust", "dcm", "cascade"])
def test_more_clicks_never_hurt(click_model: str) -> None:
    """NDCG@10 does not fall with the number of sessions, although only three of twelve documents are shown."""
    train, valid, test = plant_sum(60), plant_sum(20, seed=1), plant_sum(60, seed=2)
    values = []
    for sessions in (10, 100, 1000):
        step = f"clicks(dr,depth=3,swap_rate=0.3,sessions={sessions},click_model={click_model},propensities=true)"
        model = pippin.train(train, f"{step} > lambdamart", valid=valid, lambdamart__rounds=60)
        values.append(pippin.evaluate(test, model.predict(test), "NDCG@10").mean["NDCG@10"])
    assert all(more > fewer - 0.01 for fewer, more in pairwise(values)), values
    assert min(values) > 0.975, values  # inverse propensities alone have 0.917 to 0.973 with ten sessions


def test_clicks_use_training_labels_only(data: Dataset, valid: Dataset) -> None:
    """A ranker without rounds looks at no validation label, and nothing at all at a test label."""
    rng = np.random.default_rng(3)
    mixed = Dataset(valid.features, rng.permutation(valid.labels), valid.offsets, valid.query_ids)
    first, second = (pippin.train(data, LINES[0], valid=part) for part in (valid, mixed))
    assert models.to_bytes(first) == models.to_bytes(second)
    other = Dataset(data.features, rng.permutation(data.labels), data.offsets, data.query_ids)
    assert models.to_bytes(pippin.train(other, LINES[0])) != models.to_bytes(first)


@pytest.mark.parametrize(("text", "words"), [
    ("clicks(magic) > ranksvm", "clicks: debias must be ips or dr or pairwise or naive"),
    ("clicks(propensities=guess) > ranksvm", "clicks: propensities must be em or swaps or regression or true"),
    ("clicks(click_model=pbn) > ranksvm", "did you mean pbm"), ("clicks(noise=1) > ranksvm", "noise must be at least"),
    ("clicks(swap_rate=0,sessions=20) > ranksvm", "shown at the same ranks all the time"),
    ("clicks(swap_rate=2) > ranksvm", "swap_rate must be at most 1"),
    ("clicks > mart(rounds=5)", "mart does not support preference pairs"),
])  # fmt: skip
def test_invalid_arguments_are_refused(data: Dataset, text: str, words: str) -> None:
    with pytest.raises((DataError, UnknownName), match=words):
        pippin.train(data, text)
