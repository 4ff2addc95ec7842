"""Auto: what it tries, that it never looks where it must not, what it keeps, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.rankers.test_estimators import planted

import pippin
from pippin.data.dataset import Dataset
from pippin.errors import DataError, PippinError
from pippin.evaluation.objective import Judge
from pippin.rankers import Auto, models
from pippin.rankers.auto import SETTINGS
from pippin.rankers.parts import trying
from pippin.rankers.parts.blending import WAYS, Blender, nested, spread, surest
from pippin.rankers.parts.trying import Trial, Trials, deal

TRAIN, VALID, TEST = planted(30), planted(10, seed=1), planted(30, seed=2)


def quick(**changes: Any) -> Auto:
    return Auto(**{"rounds": 5, "trials": 5, **changes})


def test_a_model_is_a_weighted_sum_of_ordinary_models() -> None:
    model = quick().fit(TRAIN, eval_set=VALID)
    total = sum(part.weight * part.ranker.predict(TEST.features[:, part.columns]) for part in model.parts_)
    np.testing.assert_array_equal(model.predict(TEST), total)
    assert len(model.parts_) == sum(share > 0 for *_, share, _ in model.tried_)


def test_more_trials_are_those_before_and_others() -> None:
    few, more = quick(trials=2).fit(TRAIN), quick(trials=4).fit(TRAIN)
    assert [one[:2] for one in few.tried_] == [one[:2] for one in more.tried_[:2]]
    assert [one[0] for one in more.tried_] == [str(setting) for setting in SETTINGS if ">" not in setting.written][:4]


def test_a_budget_that_is_spent_at_once_still_gives_the_first_setting() -> None:
    timed = quick(budget=1e-9).fit(TRAIN)
    assert [one[0] for one in timed.tried_] == ["ranksvm"]
    np.testing.assert_array_equal(timed.predict(TEST), quick(trials=1).fit(TRAIN).predict(TEST))


def test_a_long_budget_changes_nothing() -> None:
    np.testing.assert_array_equal(quick(budget=1e6).fit(TRAIN).predict(TEST), quick().fit(TRAIN).predict(TEST))


def test_fewer_folds_judge_with_models_that_have_not_seen_them() -> None:
    """The labels of the queries that are judged decide the weights, and nothing but the parts sees the others."""
    model = quick(judged=2).fit(TRAIN)
    assert "5 of 5 settings were tried on 2 of 5 inner folds of 30 queries." in model.reasons_
    every = quick().fit(TRAIN)
    assert [one[0] for one in model.tried_] == [one[0] for one in every.tried_]
    assert [one[1] for one in model.tried_] != [one[1] for one in every.tried_]
    np.testing.assert_array_equal(quick(judged=5).fit(TRAIN).predict(TEST), every.predict(TEST))


def test_a_fold_of_one_query_is_too_little_to_judge_by() -> None:
    with pytest.raises(DataError, match="judged=1 leaves fewer than 3 queries to judge by; take more"):
        quick(judged=1).fit(planted(4))


class _Hours:
    """A clock that only training moves on: by the seconds a ranker takes for a query."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
        self.now, fit = 0.0, Trials._fit

        def timed(trials: Trials, model: Any, learned: Any, stop: Any) -> None:
            fit(trials, model, learned, stop)
            self.now += len(learned) * seconds.get(model.name.replace("-", "_"), 0.01)

        monkeypatch.setattr(Trials, "_fit", timed)
        monkeypatch.setattr("pippin.rankers.parts.trying.time.perf_counter", lambda: self.now)


@pytest.mark.parametrize(
    ("budget", "same", "said"),
    [
        (8.5, {"judged": 5, "trials": 4}, "too long: lambdamart. The same model without a budget: judged=5, "),
        (4.5, {"judged": 2, "trials": 4}, 'judged=2, without="lambdamart", trials=4.'),
        (2.3, {"judged": 1, "trials": 2}, 'judged=1, without="lambdamart; '),
    ],
)
def test_what_a_budget_left_out_is_said_and_can_be_had_again(
    budget: float, same: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that a sample says is slow, then folds, then further settings; the same bits without a budget."""
    again = quick(without="lambdamart", **same).fit(TRAIN).predict(TEST)
    monkeypatch.setattr(trying, "_JUDGED", 6)
    monkeypatch.setattr(trying, "_LARGE", 10)
    hours = _Hours(monkeypatch, lambdamart=0.3)
    model = quick(budget=budget).fit(TRAIN)
    assert hours.now <= budget
    assert said in model.reasons_
    np.testing.assert_array_equal(model.predict(TEST), again)


def test_settings_that_are_left_out_are_settings() -> None:
    with pytest.raises(PippinError, match="listnett"):
        Auto(without="ranksvm; listnett").fit(TRAIN)
    with pytest.raises(DataError, match="leave less out by without"):
        Auto(kinds="trees", without="; ".join(str(one) for one in SETTINGS if one.kind == "trees")).fit(TRAIN)


def test_networks_and_few_features_are_kept_in_the_file(tmp_path: Path) -> None:
    wide = planted(30, features=14)
    model = Auto(rounds=5).fit(wide, eval_set=planted(10, features=14, seed=1))
    assert {"gas(10) > ranksvm", "lambdarank"} <= {one[0] for one in model.tried_}
    asked = [one for one in SETTINGS if str(one) in ("lambdarank", "gas(10) > ranksvm")]
    model.parts_ = [model._trained(Trial(one, np.empty(0)), 0.5, wide) for one in asked]
    model.tried_ = [(str(one), 0.5, None, 0.5, 0.0) for one in asked]
    model.save(tmp_path / "model")
    again = pippin.load(tmp_path / "model")
    assert isinstance(again, Auto)
    np.testing.assert_array_equal(again.predict(wide), model.predict(wide))
    assert again.reasons_ == model.reasons_


def test_it_tells_what_it_tried_and_why() -> None:
    model = quick().fit(TRAIN, eval_set=VALID)
    assert "5 of 5 settings were tried on 5 inner folds of 40 queries." in model.reasons_
    assert "The model is " in model.reasons_
    rows = [row[0] for row in model.table().rows]
    assert rows == [*(one[0] for one in model.tried_), *WAYS]


def test_too_few_queries_to_judge_by_are_said() -> None:
    model = quick().fit(planted(2))
    assert model.reasons_.startswith("Only 2 queries have documents of different labels")
    assert [part.ranker.name for part in model.parts_] == ["ranksvm"]


def test_null_leaves_those_who_take_it() -> None:
    features = TRAIN.features.copy()
    features[::7, 2] = np.nan
    data = Dataset(features, TRAIN.labels, TRAIN.offsets, TRAIN.query_ids)
    tried = [one[0] for one in quick(trials=3).fit(data).tried_]
    assert tried[0] == "lambdamart"
    assert all(one.startswith(("best-feature", "lambdamart", "xendcg", "rankboost")) for one in tried)


def test_both_sets_take_part_and_alike_names_of_queries_do_not_matter() -> None:
    alone, both = quick(trials=1).fit(TRAIN), quick(trials=1).fit(TRAIN, eval_set=VALID)
    assert (alone.predict(TEST) != both.predict(TEST)).any()
    assert "of 40 queries" in both.reasons_


def test_a_setting_that_fails_is_told_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from pippin.rankers import BestFeature

    def fail(*_: Any) -> None:
        raise DataError("it rains")

    monkeypatch.setattr(BestFeature, "_fit", fail)
    model = quick(trials=3).fit(TRAIN)
    assert "Could not be trained: best-feature(measure=NDCG@10) (it rains)." in model.reasons_
    assert [one[0] for one in model.tried_] == ["ranksvm", "lambdamart"]


def test_weights_are_judged_on_queries_that_they_were_not_found_by() -> None:
    """Labels of a part do not reach the weights that it is judged with."""
    pool = planted(12)
    parts = deal(pool, np.arange(12), 4, 1)
    scores = [np.random.default_rng(i).random(len(pool)) for i in range(4)]
    labels = pool.labels.copy()
    rows = np.isin(pool.qid(), parts[0])
    labels[rows] = np.random.default_rng(9).permutation(labels[rows])
    other = Dataset(pool.features, labels, pool.offsets, pool.query_ids)
    taken = ~np.isin(np.arange(12), parts[0])
    for way in WAYS:
        blenders = [Blender(data, scores, Judge(data, "NDCG@10", "official")) for data in (pool, other)]
        first, again = (WAYS[way](blender, taken) for blender in blenders)
        np.testing.assert_array_equal(first, again)
        assert np.isfinite(nested(blenders[0], parts, way)).all()


def test_parts_are_even_in_queries_that_teach() -> None:
    pool = planted(23)
    parts = deal(pool, np.arange(11), 5, 3)
    assert sorted(np.concatenate(parts).tolist()) == list(range(23))
    assert {int((part < 11).sum()) for part in parts} == {2, 3}
    assert len(deal(pool, np.arange(2), 5, 3)) == 2


def test_the_spread_is_that_within_queries() -> None:
    scores, offsets = np.array([1.0, 2.0, 101.0, 105.0, 7.0]), np.array([0, 2, 2, 4, 5])
    assert spread(scores, offsets) == pytest.approx(np.sqrt((0.25 + 4) / 2))
    assert spread(np.ones(5), offsets) == 1.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda state: state["parts"].clear(), "no part"),
        (lambda state: state["parts"][0].update(model={}), "part 1 of the whole is not what it should be"),
        (lambda state: state["parts"][0].update(weight="much"), "no finite number"),
    ],
)
def test_a_forged_blend_gets_a_sentence(change: Any, sentence: str) -> None:
    content, arrays = models.content_of(quick(trials=2).fit(TRAIN))
    change(content["state"])
    with pytest.raises(DataError, match=sentence):
        models.from_bytes(models.seal(content, arrays), "forged")


def test_bad_parameters_get_a_sentence() -> None:
    with pytest.raises(DataError, match="budget is a number of seconds above 0"):
        Auto(budget=0.0).fit(TRAIN)
    with pytest.raises(DataError, match="folds is at least 3"):
        Auto(folds=2).fit(TRAIN)


@pytest.mark.parametrize("kinds", ["linear", "trees"])
def test_a_blend_of_one_kind_is_a_form_that_engines_take(kinds: str) -> None:
    from pippin.deploy.turning import form_of
    from pippin.forms.arithmetic import score

    wide = planted(30, features=14)
    model = Auto(kinds=kinds, rounds=5).fit(wide)
    asked = [one for one in SETTINGS if one.kind == kinds]
    model.parts_ = [model._trained(Trial(one, np.empty(0)), 1.0, wide) for one in asked]
    assert {one[0] for one in model.tried_} == {str(one) for one in SETTINGS if one.kind == kinds}
    form = form_of(model)
    assert form.kind == kinds
    np.testing.assert_allclose(score(form, wide.features), model.predict(wide), rtol=1e-9, atol=1e-12)


def test_a_blend_of_several_kinds_is_no_form() -> None:
    from pippin.deploy.turning import form_of

    model = quick(trials=1).fit(TRAIN)
    trees = next(one for one in SETTINGS if one.kind == "trees")
    model.parts_.append(model._trained(Trial(trees, np.empty(0)), 1.0, TRAIN))
    with pytest.raises(DataError, match=r"auto blended linear and trees here.*kinds=linear or kinds=trees"):
        form_of(model)


def test_the_usual_way_is_left_only_for_what_is_surely_better() -> None:
    usual, level = np.array([0.5, 0.4, 0.6, np.nan]), np.array([0.9, 0.1, 0.6, np.nan])
    assert surest({"usual": usual, "noisy": level, "worse": usual - 0.1}) == "usual"
    assert surest({"usual": usual, "noisy": level, "better": usual + 0.01}) == "better"
