"""Early stopping and searches of LightGBM, XGBoost and CatBoost under the rules of any tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, RandomizedSearchCV, cross_val_score

import pippin
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.metrics import QueryEstimator, catboost_metric, lightgbm_metric, make_scorer, xgboost_metric

GENERATOR = np.random.default_rng(5)


def documents(n_queries: int) -> tuple[Any, Any, Any]:
    qid = np.repeat(np.arange(n_queries), GENERATOR.integers(1, 12, n_queries))
    X = GENERATOR.normal(size=(len(qid), 5))
    y = np.digitize(X[:, 0] + X[:, 1] + GENERATOR.normal(size=len(qid)), [1.0, 2.0]).astype(int)
    return X, y, qid


X, Y, QID = documents(40)
VX, VY, VQID = documents(30)
SIZES, VSIZES = np.bincount(QID), np.bincount(VQID)
# Conventions that differ in empty queries, gains, and the values of short lists.
RULES: list[tuple[str, str, dict[str, Any]]] = [
    ("NDCG@10", "trec_eval9", {}), ("NDCG@5", "letor4", {}), ("MAP", "yahoo", {"relevance_threshold": 2}),
    ("NDCG@5", "lightgbm", {}),
]  # fmt: skip


@pytest.fixture(autouse=True)
def restore_routing() -> Iterator[None]:
    with sklearn.config_context():
        yield


def value(scores: Any, measure: str, tool: str, axes: dict[str, Any]) -> float:
    if tool == "trec_eval9":  # later rows have greater ids
        axes = {**axes, "ties": "reversed"}
    return float(pippin.evaluate(VY, scores, measure, tool, qid=VQID, **axes)[measure])


@pytest.mark.parametrize(("measure", "tool", "axes"), RULES)
def test_lightgbm_stops_early_by_the_values_of_evaluate(measure: str, tool: str, axes: dict[str, Any]) -> None:
    import lightgbm

    metric = lightgbm_metric(measure, tool=tool, **axes)
    settings: Any = {"n_estimators": 25, "metric": "None", "min_child_samples": 2, "verbosity": -1, "n_jobs": 1}
    ranker = lightgbm.LGBMRanker(**settings)
    ranker.fit(X, Y, group=SIZES, eval_X=(VX,), eval_y=(VY,), eval_group=[VSIZES], eval_metric=metric,
               callbacks=[lightgbm.early_stopping(5, verbose=False)])  # fmt: skip
    curve = ranker.evals_result_["valid_0"][measure]
    best = ranker.best_iteration_
    assert best == int(np.argmax(curve)) + 1
    assert curve[:best] == [value(ranker.predict(VX, num_iteration=i + 1), measure, tool, axes) for i in range(best)]
    record: dict[str, Any] = {}
    data = lightgbm.Dataset(X, Y, group=SIZES)
    lightgbm.train({"objective": "lambdarank", "metric": "None", "min_child_samples": 2, "verbosity": -1,
                    "num_threads": 1}, data, len(curve), [lightgbm.Dataset(VX, VY, group=VSIZES, reference=data)],
                   feval=metric, callbacks=[lightgbm.record_evaluation(record)])  # fmt: skip
    assert record["valid_0"][measure] == curve


@pytest.mark.parametrize(("measure", "tool", "axes"), RULES)
def test_xgboost_stops_early_by_the_values_of_evaluate(measure: str, tool: str, axes: dict[str, Any]) -> None:
    xgboost = pytest.importorskip("xgboost")
    metric, record = xgboost_metric(measure, tool=tool, **axes), dict[str, Any]()
    train, valid = xgboost.DMatrix(X, Y, qid=QID), xgboost.DMatrix(VX, VY, qid=VQID)
    settings = {"objective": "rank:ndcg", "disable_default_eval_metric": 1, "nthread": 1}
    booster = xgboost.train(settings, train, 25, evals=[(valid, "valid")], custom_metric=metric, maximize=True,
                            early_stopping_rounds=5, evals_result=record, verbose_eval=False)  # fmt: skip
    curve = record["valid"][measure]
    expected = [
        value(booster.predict(valid, iteration_range=(0, i + 1)), measure, tool, axes) for i in range(len(curve))
    ]
    assert curve == pytest.approx(expected, rel=0, abs=1e-6)  # XGBoost keeps six decimals
    assert booster.best_iteration == int(np.argmax(curve))
    with pytest.raises(ConventionError, match=r"use xgboost.train\(custom_metric=…\)"):
        metric(Y[:3], X[:3, 0])


@pytest.mark.filterwarnings("ignore:Failed to import numba")
@pytest.mark.parametrize(("measure", "tool", "axes"), RULES)
def test_catboost_stops_early_by_the_values_of_evaluate(measure: str, tool: str, axes: dict[str, Any]) -> None:
    catboost = pytest.importorskip("catboost")
    metric = catboost_metric(measure, tool=tool, sets=[(Y, QID), (VY, VQID)], **axes)
    settings = {"iterations": 25, "thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_seed": 0}
    ranker = catboost.CatBoost({**settings, "loss_function": "YetiRank", "eval_metric": metric, "use_best_model": True})
    ranker.fit(
        catboost.Pool(X, Y, group_id=QID), eval_set=catboost.Pool(VX, VY, group_id=VQID), early_stopping_rounds=5
    )
    curve = ranker.evals_result_["validation"]["CatBoostMetric"]
    values = [value(ranker.predict(VX, ntree_end=i + 1), measure, tool, axes) for i in range(ranker.tree_count_)]
    assert curve[: len(values)] == pytest.approx(values, rel=0, abs=1e-12)
    assert ranker.best_iteration_ == int(np.argmax(curve))
    with pytest.raises(ConventionError, match="no set with these 2 labels"):
        metric.evaluate([[1.0, 2.0]], [7, 7], None)


def test_mistakes_are_errors_when_a_metric_is_made() -> None:
    with pytest.raises(UnknownName, match="no measure is called 'NDGC@5'"):
        lightgbm_metric("NDGC@5")
    with pytest.raises(UnknownName, match="no axis is called 'tie'"):
        xgboost_metric("NDCG@5", tie="worst")  # type: ignore[call-arg]
    with pytest.raises(ConventionError, match="the validation set has no queries: pass eval_group"):
        lightgbm_metric()([1, 0], [1.0, 0.0])


def lightgbm_ranker() -> Any:
    import lightgbm

    return lightgbm.LGBMRanker(n_estimators=5, min_child_samples=2, verbosity=-1, n_jobs=1)


def xgboost_ranker() -> Any:
    return pytest.importorskip("xgboost").XGBRanker(n_estimators=5, n_jobs=1)


def catboost_ranker() -> Any:
    settings = {"iterations": 5, "thread_count": 1, "verbose": 0, "allow_writing_files": False}
    return pytest.importorskip("catboost").CatBoostRanker(**settings)


@pytest.mark.parametrize("make", [lightgbm_ranker, xgboost_ranker, catboost_ranker])
def test_searches_of_scikit_learn_train_rankers_of_other_libraries(make: Any) -> None:
    scorer, folds = make_scorer("NDCG@5", tool="trec_eval9"), GroupKFold(3)
    shuffled = np.random.default_rng(1).permutation(len(X))
    table, labels, queries = X[shuffled], Y[shuffled], QID[shuffled]
    grid = {"estimator__learning_rate": [0.05, 0.3]}
    search = GridSearchCV(QueryEstimator(make()), grid, scoring=scorer, cv=folds, error_score="raise")
    search.fit(table, labels, groups=queries, qid=queries)
    for fold, (train, test) in enumerate(folds.split(table, labels, queries)):
        for place, rate in enumerate(grid["estimator__learning_rate"]):
            model = QueryEstimator(make().set_params(learning_rate=rate))
            scores = model.fit(table[train], labels[train], qid=queries[train]).predict(table[test])
            mean = pippin.evaluate(
                labels[test], scores, "NDCG@5", "trec_eval9", qid=queries[test], ties="reversed"
            ).mean["NDCG@5"]
            assert search.cv_results_[f"split{fold}_test_score"][place] == mean
    random = RandomizedSearchCV(QueryEstimator(make()), grid, n_iter=2, scoring=scorer, cv=folds, random_state=0)
    random.fit(table, labels, groups=queries, qid=queries)
    assert random.best_score_ == search.best_score_
    values = cross_val_score(search.best_estimator_, table, labels, cv=folds, scoring=scorer,
                             params={"groups": queries, "qid": queries})  # fmt: skip
    assert values.mean() == pytest.approx(search.best_score_)
    data = pippin.Dataset.from_arrays(VX, VY, VQID)
    assert (pippin.rank(search.best_estimator_, data) == search.predict(VX)).all()


def test_rows_of_a_query_estimator_come_in_any_order() -> None:
    shuffled = np.argsort(np.random.default_rng(2).random(len(X)))
    original = lightgbm_ranker().fit(X, Y, group=SIZES).predict(VX)
    assert (QueryEstimator(lightgbm_ranker()).fit(X, Y, qid=QID).predict(VX) == original).all()
    grouped = np.argsort(QID[shuffled], kind="stable")
    expected = lightgbm_ranker().fit(X[shuffled][grouped], Y[shuffled][grouped], group=SIZES).predict(VX)
    actual = QueryEstimator(lightgbm_ranker()).fit(X[shuffled], Y[shuffled], qid=QID[shuffled]).predict(VX)
    assert np.corrcoef(actual, expected)[0, 1] > 0.9


def test_an_estimator_without_queries_is_an_error() -> None:
    from sklearn.linear_model import Ridge

    with pytest.raises(DataError, match="fit of Ridge takes no queries: use the estimator itself"):
        QueryEstimator(Ridge()).fit(X, Y, qid=QID)


def test_optuna_tunes_a_ranker() -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.disable_default_handler()
    scorer = make_scorer("NDCG@5")

    def objective(trial: Any) -> float:
        model = QueryEstimator(lightgbm_ranker().set_params(num_leaves=trial.suggest_int("num_leaves", 2, 8)))
        return float(cross_val_score(model, X, Y, cv=GroupKFold(3), scoring=scorer,
                                     params={"groups": QID, "qid": QID}).mean())  # fmt: skip

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=3)
    assert 0.5 < study.best_value <= 1


def test_catboost_sets_with_equal_labels_need_equal_queries() -> None:
    labels = [0, 1, 1]
    catboost_metric(sets=[(labels, [1, 1, 2]), (labels, [5, 5, 6])])
    with pytest.raises(ConventionError, match="two sets have equal labels in different queries"):
        catboost_metric(sets=[(labels, [1, 1, 2]), (labels, [1, 2, 2])])
