"""Auto: candidates, isolation of the test data, result and report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rankers.test_estimators import plant_sum

import pippin
from pippin.data.dataset import Dataset
from pippin.errors import DataError, PippinError, PippinWarning
from pippin.evaluation.objective import Objective
from pippin.rankers import Auto, RankSVM, auto, auto_search, boosting, models
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


def test_included_candidates_are_evaluated_without_halving() -> None:
    names = [str(setting) for setting in SETTINGS if ">" not in setting.text][:4]
    model = quick(include="; ".join(names)).fit(TRAIN)
    assert [item[0] for item in model.tried_] == names
    assert model.dropped_ == []


def test_a_tiny_budget_evaluates_the_first_candidate() -> None:
    timed = quick(budget=1e-9).fit(TRAIN)
    assert [item[0] for item in timed.tried_] == ["ranksvm"]
    again = quick(include="ranksvm", evaluated_folds=1).fit(TRAIN)
    np.testing.assert_array_equal(timed.predict(TEST), again.predict(TEST))
    assert 'The same model without a budget: evaluated_folds=1, include="ranksvm".' in timed.reasons_


def test_a_long_budget_changes_nothing() -> None:
    np.testing.assert_array_equal(quick(budget=1e6).fit(TRAIN).predict(TEST), quick().fit(TRAIN).predict(TEST))


def test_evaluated_folds_are_not_used_for_training() -> None:
    """The labels of the queries that are judged decide the weights, and nothing but the parts sees the others."""
    model = quick(evaluated_folds=2).fit(TRAIN)
    assert "Evaluated 5 of 5 candidates, the best 3 of them on 2 of 5 inner folds of 30 queries." in model.reasons_
    every = quick().fit(TRAIN)
    assert [item[0] for item in model.tried_] == [item[0] for item in every.tried_]
    assert [item[1] for item in model.tried_] != [item[1] for item in every.tried_]
    np.testing.assert_array_equal(quick(evaluated_folds=5).fit(TRAIN).predict(TEST), every.predict(TEST))


def test_folds_are_evaluated_until_the_queries_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "ENOUGH_QUERIES", 13)  # folds have 6 queries
    model = quick().fit(TRAIN)
    assert "on 3 of 5 inner folds of 30 queries" in model.reasons_
    np.testing.assert_array_equal(model.predict(TEST), quick(evaluated_folds=3).fit(TRAIN).predict(TEST))


def test_each_fold_halves_linear_rankers_and_trees() -> None:
    """The better half, at least two, of each family is kept for the next fold, by the mean of the folds so far."""
    many = plant_sum(60)
    model = Auto(rounds=5, evaluated_folds=1).fit(many)
    families: dict[bool, dict[str, float]] = {False: {}, True: {}}
    kinds = {str(setting): setting.kind == "trees" for setting in SETTINGS}
    for name, value, *_ in model.tried_:
        families[kinds[name]][name] = value
    assert model.dropped_ == []
    kept = {
        name
        for values in families.values()
        for name in sorted(values, key=lambda name: -values[name])[: max(2, -(-len(values) // 2))]
    }
    two = Auto(rounds=5, evaluated_folds=2).fit(many)
    assert {name for name, *_ in two.tried_} == kept
    assert {name for name, _, folds in two.dropped_ if folds == 1} == kinds.keys() & (
        {name for values in families.values() for name in values} - kept
    )


def test_large_data_are_screened_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """No candidate that the sample drops is trained on all queries of a fold."""
    trained: list[tuple[str, int]] = []
    fit = Trials._fit

    def record(trials: Trials, model: Any, train_queries: Any, stop_queries: Any) -> None:
        fit(trials, model, train_queries, stop_queries)
        trained.append((model.name, len(train_queries)))

    monkeypatch.setattr(Trials, "_fit", record)
    monkeypatch.setattr(auto_search, "_SCREENED_DOCUMENTS", 50)
    model = quick(max_candidates=9).fit(TRAIN)
    largest = max(count for _, count in trained)
    assert sum(count <= largest // 3 for _, count in trained) == 9
    assert {folds for _, _, folds in model.dropped_} == {0, 1}
    dropped = {name.partition("(")[0] for name, _, folds in model.dropped_ if folds == 0}
    kept = {name.partition("(")[0] for name, *_ in model.tried_}
    assert not (dropped - kept) & {name for name, count in trained if count > largest // 2}


def test_candidates_with_a_cost_per_pair_are_skipped_on_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = plant_sum(30, features=14)
    monkeypatch.setattr(auto_search, "_MAX_PAIRS", 1000)
    model = Auto(rounds=5).fit(wide)
    assert "time grows with the pairs of documents: gas(10) > ranksvm; approxndcg." in model.reasons_
    assert "approxndcg" not in {name for name, *_ in (*model.tried_, *model.dropped_)}
    assert [name for name, *_ in Auto(rounds=5, include="approxndcg").fit(wide).tried_] == ["approxndcg"]


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
    ("budget", "screened", "expected"),
    [
        (12.0, 50, "Too slow for the budget: lambdamart."),
        (12.0, 10_000, "on 5 of 5 inner folds"),
        (2.8, 10_000, "on 2 of 5 inner folds"),
        (1.0, 10_000, "Not reached before the budget was used up: "),
    ],
)
def test_a_budget_reports_how_to_repeat_the_model(
    budget: float, screened: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow candidates by a sample, then folds, then candidates are left out; the same bits without a budget."""
    monkeypatch.setattr(auto_search, "_SCREENED_DOCUMENTS", screened)
    with monkeypatch.context() as patched:
        hours = _Hours(patched, lambdamart=1.0 if screened == 50 else 0.01)
        model = quick(budget=budget).fit(TRAIN)
    assert hours.now <= budget
    assert expected in model.reasons_
    repeat = re.search(r'without a budget: evaluated_folds=(\d), include="(.*)"', model.reasons_)
    assert repeat is not None
    again = quick(evaluated_folds=int(repeat[1]), include=repeat[2]).fit(TRAIN)
    np.testing.assert_array_equal(model.predict(TEST), again.predict(TEST))


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
    assert {"gas(10) > ranksvm", "lambdarank"} <= {item[0] for item in (*model.tried_, *model.dropped_)}
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
    assert "Evaluated 5 of 5 candidates, the best 3 of them on 5 of 5 inner folds of 40 queries." in model.reasons_
    assert "The model is " in model.reasons_
    rows = [row[0] for row in model.table().rows]
    names = [*(item[0] for item in model.tried_), *(item[0] for item in model.dropped_)]
    assert len(names) == 5
    assert rows == [*names, "weighed by RankSVM", "the mean of all 3", "the best alone"]


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
    np.testing.assert_array_equal(
        model.predict(TEST), quick(include="ranksvm", evaluated_folds=1).fit(TRAIN).predict(TEST)
    )


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
    evaluated = {item[0] for item in (*model.tried_, *model.dropped_)}
    assert evaluated == {str(setting) for setting in SETTINGS if setting.kind == kinds}
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
