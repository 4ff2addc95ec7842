"""Models of other libraries, as objects: ranked, evaluated, compared and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pippin
from pippin.errors import DataError

GENERATOR = np.random.default_rng(7)
NAMES = ("title", "body", "anchor", "links")
QID = np.repeat(np.arange(20), 12)
X = GENERATOR.normal(size=(240, 4))
Y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + GENERATOR.normal(size=240) * 0.3, [0.3, 1.2]).astype(int)
DATA = pippin.Dataset.from_arrays(X, Y, QID, feature_names=NAMES, name="pages")


def lightgbm_ranker() -> Any:
    import lightgbm

    return lightgbm.LGBMRanker(n_estimators=9, min_child_samples=2, verbosity=-1, n_jobs=1).fit(X, Y, group=[12] * 20)


def xgboost_ranker() -> Any:
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRanker(n_estimators=9, n_jobs=1).fit(X, Y, qid=QID)


def catboost_ranker() -> Any:
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 9, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return catboost.CatBoostRanker(**settings).fit(X, Y, group_id=QID)


def pipeline() -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler

    return make_pipeline(RobustScaler(), Ridge()).fit(X, Y)


MODELS = {"LGBMRanker": lightgbm_ranker, "XGBRanker": xgboost_ranker, "CatBoostRanker": catboost_ranker,
          "pipeline": pipeline}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_rank_returns_the_predictions_of_the_library(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    expected = model.predict(X)
    assert (pippin.rank(model, X) == expected).all()
    assert (pippin.rank(model, DATA, out=tmp_path / "scores.txt") == expected).all()
    assert np.allclose(np.loadtxt(tmp_path / "scores.txt"), expected, rtol=0, atol=1e-6)
    value = pippin.evaluate(DATA, expected, "NDCG@5").mean
    assert pippin.evaluate(DATA, model, "NDCG@5").mean == value


def test_boosters_of_both_libraries_are_models() -> None:
    ranker = lightgbm_ranker()
    assert (pippin.rank(ranker.booster_, DATA) == ranker.predict(X)).all()
    other = xgboost_ranker()
    assert (pippin.rank(other.get_booster(), DATA) == other.predict(X)).all()


@pytest.mark.parametrize("missing", [0.0, -1.0])
def test_xgboost_keeps_its_missing_value_unless_exported(missing: float, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    table = np.where(X < -0.8, missing, X)
    model = xgboost.XGBRegressor(n_estimators=5, missing=missing, n_jobs=1).fit(table, Y)
    data = pippin.Dataset.from_arrays(table, Y, QID)
    assert (pippin.rank(model, data) == model.predict(table)).all()
    with pytest.raises(DataError, match=r"missing=.* is not supported: replace these values with NaN"):
        pippin.export(model, "sql", tmp_path / "model.sql", check=data)


def test_features_are_matched_by_name() -> None:
    from sklearn.linear_model import Ridge

    pandas = pytest.importorskip("pandas")
    columns = ["links", "title", "body"]
    frame = pandas.DataFrame(X, columns=list(NAMES))[columns]
    model = Ridge().fit(frame, Y)
    assert (pippin.rank(model, DATA) == model.predict(frame)).all()
    with pytest.raises(DataError, match="has 2 features; Ridge needs 3"):
        pippin.rank(model, pippin.Dataset.from_arrays(X[:, :2], Y, QID, name="pages"))


def classifier(name: str, labels: NDArray[Any]) -> Any:
    from sklearn import ensemble, linear_model, svm

    modules = {"LogisticRegression": linear_model, "RandomForestClassifier": ensemble, "LinearSVC": svm}
    return getattr(modules[name], name)(random_state=0).fit(X, labels)


@pytest.mark.parametrize("name", ["LogisticRegression", "RandomForestClassifier", "LinearSVC"])
def test_classifiers_of_two_classes_rank_by_a_continuous_score(name: str) -> None:
    model = classifier(name, Y > 0)
    scores = pippin.rank(model, DATA)
    expected = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]
    assert (scores == expected).all()
    with pytest.raises(DataError, match="has 3 classes: rank with a regressor or a ranker"):
        pippin.rank(classifier(name, Y), DATA)


def test_what_is_no_single_score_is_an_error() -> None:
    from sklearn.cluster import KMeans
    from sklearn.linear_model import Ridge

    with pytest.raises(DataError, match=r"Ridge has several outputs, here of shape \(240, 2\)"):
        pippin.rank(Ridge().fit(X, np.column_stack((Y, Y))), DATA)
    with pytest.raises(DataError, match="Ridge cannot score these documents: This Ridge instance is not fitted yet"):
        pippin.rank(Ridge(), DATA)
    with pytest.raises(DataError, match="is not a ranker"):
        pippin.rank(KMeans, DATA)
    with pytest.raises(DataError, match="judgements has no features that a Ridge could score"):
        pippin.evaluate({"q1": {"d1": 1}}, Ridge().fit(X, Y))


def test_compare_takes_models_before_or_after_the_data() -> None:
    models = {"trees": lightgbm_ranker(), "line": pipeline(), "ours": pippin.train(DATA, "ranksvm")}
    first = pippin.compare(models, DATA, measure=["NDCG@5", "MAP"])
    second = pippin.compare(DATA, models, measure=["NDCG@5", "MAP"])
    scores = {name: pippin.rank(model, DATA) for name, model in models.items()}
    expected = pippin.compare(DATA, scores, measure=["NDCG@5", "MAP"])
    for comparisons in (first, second):
        assert [c.first.means for c in comparisons.values()] == [c.first.means for c in expected.values()]
    evaluations = pippin.evaluate(DATA, models, "NDCG@5")
    assert set(evaluations.mean) == set(models)


@pytest.mark.parametrize("name", ["LGBMRanker", "XGBRanker", "CatBoostRanker"])
def test_export_of_objects(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    certificate = pippin.export(model, "lightgbm", tmp_path / "model.txt", check=DATA).certificate
    assert certificate.reordered_queries == []
    scores = pippin.load(tmp_path / "model.txt").predict(X)
    assert np.allclose(scores, model.predict(X), rtol=0, atol=1e-5)
