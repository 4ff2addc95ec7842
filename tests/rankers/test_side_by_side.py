"""Grid points fitted in parallel: thread-independent models and shared bins."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.rankers.planted import plant_dataset, with_empty

from pippin.errors import DataError
from pippin.kernels import one_thread, threads
from pippin.rankers import boosting
from pippin.rankers.lambdamart import LambdaMART
from pippin.rankers.mart import MART
from pippin.rankers.ranknet import RankNet
from pippin.rankers.training import SelectionResult, select

TRAIN, VALID = with_empty(plant_dataset(1)), plant_dataset(2, 30)
GRID: dict[str, tuple[Any, ...]] = {"num_leaves": (3, 5), "min_data_in_leaf": (1, 9), "max_bin": (20, 255)}


def _summarise(chosen: SelectionResult) -> tuple[Any, ...]:
    tried = [(candidate.parameters, candidate.value) for candidate in chosen.candidates]
    return chosen.parameters, chosen.value, tried, chosen.ranker.boosters_, chosen.ranker.curve_  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "ranker", [LambdaMART(rounds=8, early_stopping_rounds=3), MART(rounds=8, bagging_fraction=0.7, n_bags=2)]
)
def test_any_number_of_threads_selects_the_same(monkeypatch: pytest.MonkeyPatch, ranker: LambdaMART | MART) -> None:
    results = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("PIPPIN_THREADS", count)
        results.append(_summarise(select(ranker, TRAIN, VALID, grid=GRID)))
    assert results[0] == results[1] == results[2]
    alone = ranker.clone().set_params(**results[0][0]).fit(TRAIN, eval_set=VALID)
    assert alone.boosters_ == results[0][3]


def test_bins_are_made_once_for_the_points_that_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    items: list[int] = []

    def count(train: Any, valid: Any, parameters: Any) -> Any:
        items.append(parameters["max_bin"])
        return bin_both(train, valid, parameters)

    bin_both = boosting.make_lightgbm_datasets
    monkeypatch.setattr(boosting, "make_lightgbm_datasets", count)
    selection = select(LambdaMART(rounds=3), TRAIN, VALID, grid=GRID)
    assert sorted(items) == [20, 255]
    assert isinstance(pickle.loads(pickle.dumps(selection.ranker)), LambdaMART)  # no bins are left in it
    assert "_binned" not in vars(selection.ranker)


def test_points_run_in_sequence_if_a_fit_uses_all_cores_or_shared_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranker = LambdaMART(rounds=3)
    assert ranker.is_single_threaded(TRAIN)
    assert not LambdaMART(verbose=True).is_single_threaded(TRAIN)
    assert not RankNet().is_single_threaded(TRAIN)
    monkeypatch.setattr(boosting, "_SINGLE_THREAD_VALUES", TRAIN.features.size)
    assert not ranker.is_single_threaded(TRAIN)


def test_an_error_at_a_grid_point_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", "2")
    with pytest.raises(DataError, match="num_leaves"):
        select(LambdaMART(rounds=3), TRAIN, VALID, grid={"num_leaves": (4, 1, 5)})


def test_seconds_of_the_processor_are_those_of_each_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", "2")
    for candidate in select(LambdaMART(rounds=3), TRAIN, VALID, grid={"num_leaves": (4, 5)}).candidates:
        assert 0 < candidate.processor_seconds <= candidate.seconds + 0.05


def test_one_thread_applies_to_its_context_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", "3")
    with one_thread():
        assert (threads(), threads(2)) == (1, 2)
        with one_thread():
            pass
        assert threads() == 1
    assert threads() == 3
