"""Simulated clicks: frequencies of the click models and reproducibility by seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pippin.clicks.simulation import MODELS, ClickModelParameters, attraction, simulate
from pippin.data.dataset import Dataset
from pippin.errors import DataError, UnknownName

ATTRACTION = np.array([0.2, 1.0, 0.5])
MANY = np.tile(ATTRACTION, (40_000, 1))


def rates(model: str, **parameters: float) -> list[float]:
    clicks = MODELS[model](MANY, ClickModelParameters(**parameters), np.random.default_rng(1))
    return clicks.mean(axis=0).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("model", "parameters", "expected"),
    [
        ("pbm", {"eta": 1.0}, [0.2, 1.0 / 2, 0.5 / 3]),
        ("pbm", {"eta": 0.0}, [0.2, 1.0, 0.5]),
        ("pbm", {"eta": 2.0}, [0.2, 1.0 / 4, 0.5 / 9]),
        ("cascade", {}, [0.2, 0.8 * 1.0, 0.8 * 0.0 * 0.5]),
        # the second is reached without a click, or after one that was not the last; so is the third
        ("dcm", {"persistence": 0.5}, [0.2, 0.8 + 0.2 * 0.5, (0.8 + 0.2 * 0.5) * 0.5 * 0.5]),
        ("dcm", {"persistence": 1.0}, [0.2, 1.0, 0.5]),
        ("dcm", {"persistence": 0.0}, [0.2, 0.8, 0.0]),
        ("trust", {"eta": 1.0, "trust": 0.3}, [0.2 + 0.8 * 0.3, 1.0 / 2, (0.5 + 0.5 * 0.1) / 3]),
    ],
)
def test_click_rates_follow_the_model(model: str, parameters: dict[str, float], expected: list[float]) -> None:
    assert rates(model, **parameters) == pytest.approx(expected, abs=0.01)


def test_cascades_click_once_at_most() -> None:
    clicks = MODELS["cascade"](MANY, ClickModelParameters(), np.random.default_rng(1))
    assert clicks.sum(axis=1).max() == 1


def test_attraction_by_hand() -> None:
    labels = np.array([0, 1, 2, 3, 4], np.int32)
    assert attraction(labels, 0.1, 4) == pytest.approx([0.1, 0.1 + 0.9 / 15, 0.1 + 2.7 / 15, 0.1 + 6.3 / 15, 1.0])


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(2)
    sizes = [4, 1, 12, 7]
    return Dataset.from_arrays(
        rng.random((24, 2)), rng.integers(0, 3, 24), np.repeat(["a", "b", "c", "d"], sizes), name="toy"
    )


def test_lists_are_the_best_by_score(data: Dataset) -> None:
    scores = np.random.default_rng(3).random(24)
    log = simulate(data, scores, sessions=2, depth=5)
    assert np.diff(log.offsets).tolist() == [4, 4, 1, 1, 5, 5, 5, 5]
    for session, query in enumerate(log.query_of().tolist()):
        begin, end = data.offsets[query], data.offsets[query + 1]
        best = begin + np.argsort(-scores[begin:end])[:5]
        assert log.items[log.offsets[session] : log.offsets[session + 1]].tolist() == best.tolist()


def test_the_seed_determines_the_clicks(data: Dataset) -> None:
    scores = np.zeros(24)
    first, second, other = (simulate(data, scores, sessions=50, swap_rate=0.5, seed=seed) for seed in (1, 1, 2))
    assert first.items.tobytes() == second.items.tobytes()
    assert first.clicks.tobytes() == second.clicks.tobytes()
    assert first.clicks.tobytes() != other.clicks.tobytes()


def test_a_part_has_the_same_clicks_as_in_the_whole(data: Dataset) -> None:
    scores = np.random.default_rng(3).random(24)
    full = simulate(data, scores, sessions=20, swap_rate=0.3, top=2)
    part = simulate(data.select([2, 3]), scores[5:], sessions=20, swap_rate=0.3, top=2)
    assert full.clicks[full.offsets[40] :].tobytes() == part.clicks.tobytes()


def test_swaps_exchange_the_first_document_with_another(data: Dataset) -> None:
    log = simulate(data.select([2]), -np.arange(12.0), sessions=400, depth=4, swap_rate=0.5)
    lists = log.items.reshape(400, 4)
    swapped = lists[:, 0] != 0
    assert swapped.mean() == pytest.approx(0.5, abs=0.08)
    for order in lists[swapped]:
        place = order[0]
        expected = np.arange(4)
        expected[[0, place]] = expected[[place, 0]]
        assert order.tolist() == expected.tolist()


def test_of_several_rankings_each_session_draws_one(data: Dataset) -> None:
    log = simulate(data.select([2]), [np.arange(12.0), -np.arange(12.0)], sessions=300, depth=1)
    assert set(log.items.tolist()) == {0, 11}
    assert (log.items == 0).mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sessions": 0}, "must be at least 1"),
        ({"swap_rate": 1.5}, "swap_rate must be between"),
        ({"noise": 1.0}, "noise must be at least 0"),
        ({"scores": np.zeros(3)}, "scores must be 24 finite numbers"),
        ({"scores": np.full(24, np.nan)}, "scores must be"),
        ({"scores": []}, "at least one ranking is needed"),
    ],
)
def test_invalid_arguments_are_refused(data: Dataset, changes: dict[str, object], sentence: str) -> None:
    arguments: dict[str, Any] = {"scores": np.zeros(24), **changes}
    with pytest.raises(DataError, match=sentence):
        simulate(data, **arguments)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [({"eta": -1.0}, "eta must be at least 0"), ({"trust": 2.0}, "trust must be between 0 and 1")],
)
def test_parameters_are_probabilities(parameters: dict[str, float], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        ClickModelParameters(**parameters)


def test_an_unknown_click_model_is_refused(data: Dataset) -> None:
    with pytest.raises(UnknownName, match="did you mean cascade"):
        simulate(data, np.zeros(24), click_model="cascad")


def test_data_without_relevant_documents_is_refused() -> None:
    with pytest.raises(DataError, match="no document of data is relevant"):
        simulate(Dataset.from_arrays(np.zeros((2, 1)), [0, 0], [1, 1]), np.zeros(2))
