"""Auto: candidates, isolation of the test data, result and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.data.dataset import Dataset
from pippin.errors import DataError, PippinError, PippinWarning
from pippin.evaluation.objective import Objective
from pippin.rankers import Auto, RankSVM, auto_search, boosting, models
from pippin.rankers.auto import SETTINGS
from pippin.rankers.auto_search import (
    BLENDERS,
    Blender,
    Trial,
    Trials,
    cross_validate_blend,
    score_deviation,
    select_blender,
    split_folds,
)

TRAIN, VALID, TEST = plant_sum(30), plant_sum(10, seed=1), plant_sum(30, seed=2)


def quick(**changes: Any) -> Auto:
    return Auto(**{"rounds": 5, "max_candidates": 5, **changes})


def test_a_model_is_a_weighted_sum_of_ordinary_models() -> None:
    model = quick().fit(TRAIN, eval_set=VALID)
    total = sum(part.weight * part.ranker.predict(TEST.features[:, part.columns]) for part in model.parts_)
    np.testing.assert_array_equal(model.predict(TEST), total)
    assert len(model.parts_) == sum(share > 0 for *_, share, _ in model.tried_)


def test_more_candidates_extend_fewer() -> None:
    few, more = quick(max_candidates=2).fit(TRAIN), quick(max_candidates=4).fit(TRAIN)
    assert [item[:2] for item in few.tried_] == [entry[:2] for entry in more.tried_[:2]]
    assert [item[0] for item in more.tried_] == [str(setting) for setting in SETTINGS if ">" not in setting.text][:4]


def test_a_tiny_budget_evaluates_the_first_candidate() -> None:
    timed = quick(budget=1e-9).fit(TRAIN)
    assert [item[0] for item in timed.tried_] == ["ranksvm"]
    np.testing.assert_array_equal(timed.predict(TEST), quick(max_candidates=1).fit(TRAIN).predict(TEST))


def test_a_long_budget_changes_nothing() -> None:
    np.testing.assert_array_equal(quick(budget=1e6).fit(TRAIN).predict(TEST), quick().fit(TRAIN).predict(TEST))


def test_evaluated_folds_are_not_used_for_training() -> None:
    """The labels of the queries that are judged decide the weights, and nothing but the parts sees the others."""
    model = quick(evaluated_folds=2).fit(TRAIN)
    assert "Evaluated 5 of 5 candidates on 2 of 5 inner folds of 30 queries." in model.reasons_
    every = quick().fit(TRAIN)
    assert [item[0] for item in model.tried_] == [entry[0] for entry in every.tried_]
    assert [item[1] for item in model.tried_] != [entry[1] for entry in every.tried_]
    np.testing.assert_array_equal(quick(evaluated_folds=5).fit(TRAIN).predict(TEST), every.predict(TEST))


def test_a_fold_of_one_query_is_refused() -> None:
    with pytest.raises(DataError, match="evaluated_folds=1 has fewer than 3 queries: use more folds"):
        quick(evaluated_folds=1).fit(plant_sum(4))


class _Hours:
    """A clock that only training moves on: by the seconds a ranker takes for a query."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        self.now, fit = 0.0, Trials._fit

        def run_timed_trial(trials: Trials, model: Any, learned: Any, stop: Any) -> None:
            fit(trials, model, learned, stop)
            self.now += len(learned) * seconds.get(model.name.replace("-", "_"), 0.01)

        monkeypatch.setattr(Trials, "_fit", run_timed_trial)
        monkeypatch.setattr("pippin.rankers.auto_search.time.perf_counter", lambda: self.now)


@pytest.mark.parametrize(
    ("budget", "same", "said"),
    [
        (
            8.5,
            {"evaluated_folds": 5, "max_candidates": 4},
            "Too slow for the budget: lambdamart.",
        ),
        (
            4.5,
            {"evaluated_folds": 2, "max_candidates": 4},
            'evaluated_folds=2, exclude="lambdamart", max_candidates=4.',
        ),
        (2.3, {"evaluated_folds": 1, "max_candidates": 2}, 'evaluated_folds=1, exclude="lambdamart; '),
    ],
)
def test_a_budget_reports_how_to_repeat_the_model(
    budget: float, same: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that a sample says is slow, then folds, then further settings; the same bits without a budget."""
    again = quick(exclude="lambdamart", **same).fit(TRAIN).predict(TEST)
    monkeypatch.setattr(auto_search, "_MIN_EVALUATED_QUERIES", 6)
    monkeypatch.setattr(auto_search, "_MIN_TIMED_DOCUMENTS", 10)
    hours = _Hours(monkeypatch, lambdamart=0.3)
    model = quick(budget=budget).fit(TRAIN)
    assert hours.now <= budget
    assert said in model.reasons_
    np.testing.assert_array_equal(model.predict(TEST), again)


def test_excluded_candidates_must_exist() -> None:
    with pytest.raises(PippinError, match="listnett"):
        Auto(exclude="ranksvm; listnett").fit(TRAIN)
    with pytest.raises(DataError, match="every candidate is excluded"):
        Auto(
            model_family="trees", exclude="; ".join(str(setting) for setting in SETTINGS if setting.kind == "trees")
        ).fit(TRAIN)


def test_networks_and_feature_subsets_are_saved(tmp_path: Path) -> None:
    wide = plant_sum(30, features=14)
    model = Auto(rounds=5).fit(wide, eval_set=plant_sum(10, features=14, seed=1))
    assert {"gas(10) > ranksvm", "lambdarank"} <= {item[0] for item in model.tried_}
    settings = [setting for setting in SETTINGS if str(setting) in ("lambdarank", "gas(10) > ranksvm")]
    model.parts_ = [model._train_part(Trial(item, np.empty(0)), 0.5, wide) for item in settings]
    model.tried_ = [(str(item), 0.5, None, 0.5, 0.0) for item in settings]
    model.save(tmp_path / "model")
    again = pippin.load(tmp_path / "model")
    assert isinstance(again, Auto)
    np.testing.assert_array_equal(again.predict(wide), model.predict(wide))
    assert again.reasons_ == model.reasons_


def test_it_reports_candidates_and_the_decision() -> None:
    model = quick().fit(TRAIN, eval_set=VALID)
    assert "Evaluated 5 of 5 candidates on 5 inner folds of 40 queries." in model.reasons_
    assert "The model is " in model.reasons_
    rows = [row[0] for row in model.table().rows]
    assert rows == [*(item[0] for item in model.tried_), "weighed by RankSVM", "the mean of all 5", "the best alone"]


def test_a_budget_for_one_candidate_is_reported() -> None:
    model = quick(budget=1e-9).fit(TRAIN)
    assert "Evaluated 1 of 5 candidates" in model.reasons_
    assert "within a budget of 1e-09 s of clock time" in model.reasons_
    assert "Not reached before the budget was used up: lambdamart; best-feature; " in model.reasons_
    assert "There was no comparison: ranksvm is the only candidate that was evaluated." in model.reasons_


def test_ctrl_c_ends_the_search_and_keeps_complete_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C arrives in the boosting of the second candidate, which is neither kept nor counted as evaluated."""

    def interrupt(self: Any, gradient: Any, round_: int) -> bool:
        if round_ == 3:
            raise KeyboardInterrupt
        return grow(self, gradient, round_)

    grow = boosting._Growth.step
    monkeypatch.setattr(boosting._Growth, "step", interrupt)
    with pytest.warns(PippinWarning, match="interrupted after 1 candidates"):
        model = quick().fit(TRAIN)
    assert [entry[0] for entry in model.tried_] == ["ranksvm"]
    assert "Not reached before Ctrl-C: lambdamart; best-feature; " in model.reasons_
    np.testing.assert_array_equal(model.predict(TEST), quick(max_candidates=1).fit(TRAIN).predict(TEST))


def test_ctrl_c_before_the_first_candidate_is_complete_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RankSVM, "_fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        quick().fit(TRAIN)


def test_too_few_queries_for_a_comparison_are_reported() -> None:
    model = quick().fit(plant_sum(2))
    assert model.reasons_.startswith("Only 2 queries have documents with different labels")
    assert [part.ranker.name for part in model.parts_] == ["ranksvm"]


def test_null_restricts_the_candidates() -> None:
    features = TRAIN.features.copy()
    features[::7, 2] = np.nan
    data = Dataset(features, TRAIN.labels, TRAIN.offsets, TRAIN.query_ids)
    tried = [item[0] for item in quick(max_candidates=3).fit(data).tried_]
    assert tried[0] == "lambdamart"
    assert all(item.startswith(("best-feature", "lambdamart", "xendcg", "rankboost")) for item in tried)


def test_both_sets_are_used_and_query_ids_may_overlap() -> None:
    alone, both = quick(max_candidates=1).fit(TRAIN), quick(max_candidates=1).fit(TRAIN, eval_set=VALID)
    assert (alone.predict(TEST) != both.predict(TEST)).any()
    assert "of 40 queries" in both.reasons_


def test_a_failing_candidate_is_reported_and_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.rankers import BestFeature

    def fail(*_: Any) -> None:
        raise DataError("it rains")

    monkeypatch.setattr(BestFeature, "_fit", fail)
    model = quick(max_candidates=3).fit(TRAIN)
    assert "Failed: best-feature (it rains)." in model.reasons_
    assert [item[0] for item in model.tried_] == ["ranksvm", "lambdamart"]


def test_weights_are_evaluated_on_held_out_queries() -> None:
    """Labels of a part do not reach the weights that it is judged with."""
    pool = plant_sum(12)
    parts = split_folds(pool, np.arange(12), 4, 1)
    scores = [np.random.default_rng(i).random(len(pool)) for i in range(4)]
    labels = pool.labels.copy()
    rows = np.isin(pool.qid(), parts[0])
    labels[rows] = np.random.default_rng(9).permutation(labels[rows])
    other = Dataset(pool.features, labels, pool.offsets, pool.query_ids)
    selected = ~np.isin(np.arange(12), parts[0])
    for way in BLENDERS:
        blenders = [Blender(data, scores, Objective(data, "NDCG@10", "official")) for data in (pool, other)]
        first, again = (BLENDERS[way](blender, selected) for blender in blenders)
        np.testing.assert_array_equal(first, again)
        assert np.isfinite(cross_validate_blend(blenders[0], parts, way)).all()


def test_parts_are_even_in_queries_that_teach() -> None:
    pool = plant_sum(23)
    parts = split_folds(pool, np.arange(11), 5, 3)
    assert sorted(np.concatenate(parts).tolist()) == list(range(23))
    assert {int((part < 11).sum()) for part in parts} == {2, 3}
    assert len(split_folds(pool, np.arange(2), 5, 3)) == 2


def test_the_spread_is_that_within_queries() -> None:
    scores, offsets = np.array([1.0, 2.0, 101.0, 105.0, 7.0]), np.array([0, 2, 2, 4, 5])
    assert score_deviation(scores, offsets) == pytest.approx(np.sqrt((0.25 + 4) / 2))
    assert score_deviation(np.ones(5), offsets) == 1.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda state: state["parts"].clear(), "the blend is empty"),
        (lambda state: state["parts"][0].update(model={}), "inner model 1 is invalid"),
        (lambda state: state["parts"][0].update(weight="much"), "not a finite number"),
    ],
)
def test_a_forged_blend_is_reported(change: Any, sentence: str) -> None:
    content, arrays = models.to_record(quick(max_candidates=2).fit(TRAIN))
    change(content["state"])
    with pytest.raises(DataError, match=sentence):
        models.from_bytes(models.seal(content, arrays), "forged")


def test_bad_parameters_get_a_sentence() -> None:
    with pytest.raises(DataError, match="budget must be above 0 seconds"):
        Auto(budget=0.0).fit(TRAIN)
    with pytest.raises(DataError, match="n_folds must be at least 3"):
        Auto(n_folds=2).fit(TRAIN)


@pytest.mark.parametrize("kinds", ["linear", "trees"])
def test_a_blend_of_one_kind_can_be_exported(kinds: str) -> None:
    from pippin.models.scoring import score_reference

    wide = plant_sum(30, features=14)
    model = Auto(model_family=kinds, rounds=5).fit(wide)
    settings = [setting for setting in SETTINGS if setting.kind == kinds]
    model.parts_ = [model._train_part(Trial(item, np.empty(0)), 1.0, wide) for item in settings]
    assert {item[0] for item in model.tried_} == {str(setting) for setting in SETTINGS if setting.kind == kinds}
    form = model.to_model()
    assert form.kind == kinds
    np.testing.assert_allclose(score_reference(form, wide.features), model.predict(wide), rtol=1e-9, atol=1e-12)


def test_a_blend_of_several_kinds_cannot_be_exported() -> None:

    model = quick(max_candidates=1).fit(TRAIN)
    trees = next(setting for setting in SETTINGS if setting.kind == "trees")
    model.parts_.append(model._train_part(Trial(trees, np.empty(0)), 1.0, TRAIN))
    with pytest.raises(
        DataError, match=r"blend of linear and trees cannot be exported.*model_family=linear or model_family=trees"
    ):
        model.to_model()


def test_another_blend_needs_one_standard_error() -> None:
    usual, level = np.array([0.5, 0.4, 0.6, np.nan]), np.array([0.9, 0.1, 0.6, np.nan])
    assert select_blender({"usual": usual, "noisy": level, "worse": usual - 0.1}) == "usual"
    assert select_blender({"usual": usual, "noisy": level, "better": usual + 0.01}) == "better"
