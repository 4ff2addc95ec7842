"""Imported models have the scores of their libraries, bit for bit, from every file format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pippin
from pippin.errors import DataError
from pippin.models.importers import detect_format
from pippin.rankers import models
from pippin.rankers.models import ImportedModel

RANDOM = np.random.default_rng(5)
X = RANDOM.random((240, 5))
X[:, 2] = np.round(X[:, 2], 1)
Y = np.digitize(X[:, 0] + X[:, 1] + 0.2 * X[:, 2], [0.8, 1.2]).astype(np.int32)
SIZES = [12] * 20
NULLS = X.copy()
NULLS[RANDOM.random(X.shape) < 0.2] = np.nan
TABLES = {"plain": X, "with NULL": NULLS}


def scores(file: Path, table: NDArray[np.float64], format: str) -> NDArray[np.float64]:
    assert detect_format(file.read_bytes()) == format
    model = pippin.load(file)
    again = file.with_suffix(".pippin")
    pippin.save(model, again)
    result = model.predict(table)
    assert (pippin.load(again).predict(table) == result).all()
    return result


@pytest.mark.parametrize("settings", [
    {}, {"zero_as_missing": True}, {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}, {"boosting": "dart"},
])  # fmt: skip
@pytest.mark.parametrize("table", TABLES)
def test_lightgbm(table: str, settings: dict[str, Any], tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(TABLES[table], Y, group=SIZES)
    usual = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 2, "num_leaves": 8, "num_threads": 1}
    booster = lightgbm.train({**usual, **settings}, data, 20)
    booster.save_model(tmp_path / "model.txt")
    for values in TABLES.values():
        expected = booster.predict(values)
        assert (scores(tmp_path / "model.txt", values, "lightgbm") == expected).all()
    if "zero_as_missing" not in settings:
        import json

        (tmp_path / "model.json").write_text(json.dumps(booster.dump_model()))
        expected = booster.predict(TABLES[table])
        assert (scores(tmp_path / "model.json", TABLES[table], "lightgbm_json") == expected).all()


def test_categorical_splits_of_lightgbm_are_an_error(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    table = X.copy()
    table[:, 2] = np.round(table[:, 2] * 10)
    data = lightgbm.Dataset(table, Y, group=SIZES, categorical_feature=[2])
    settings = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 2, "cat_smooth": 0,
                "min_data_per_group": 1, "max_cat_to_onehot": 1, "feature_contri": [0, 0, 1, 0, 0]}  # fmt: skip
    lightgbm.train(settings, data, 5).save_model(tmp_path / "model.txt")
    with pytest.raises(DataError, match="categorical splits"):
        pippin.load(tmp_path / "model.txt")


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise", "reg:squarederror", "binary:logistic"])
@pytest.mark.parametrize("format", ["json", "ubj"])
@pytest.mark.parametrize("table", TABLES)
def test_xgboost(table: str, format: str, objective: str, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    labels = Y > 1 if objective == "binary:logistic" else Y
    data = xgboost.DMatrix(TABLES[table], labels, qid=np.repeat(np.arange(20), SIZES))
    booster = xgboost.train({"objective": objective, "max_depth": 4, "nthread": 1}, data, 15)
    booster.save_model(tmp_path / f"model.{format}")
    for values in TABLES.values():
        expected = booster.predict(xgboost.DMatrix(values), output_margin=True)
        actual = scores(tmp_path / f"model.{format}", values, "xgboost")
        if objective == "binary:logistic":  # the logarithm of the base score is the system's own
            assert np.allclose(actual, expected, rtol=0, atol=2e-6)
        else:
            assert (actual == expected).all()


def test_xgboost_dump(tmp_path: Path) -> None:
    """The list of trees that Vespa and the plugins read has no base score, and a decimal of each float32."""
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X, Y, qid=np.repeat(np.arange(20), SIZES), feature_names=[*"abcde"])
    booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 4, "base_score": 0.0, "nthread": 1}, data, 10)
    booster.dump_model(tmp_path / "dump.json", dump_format="json")
    model = pippin.load(tmp_path / "dump.json")
    expected = booster.predict(xgboost.DMatrix(X, feature_names=[*"abcde"]), output_margin=True)
    order = [*"abcde"]
    actual = model.predict(X[:, [order.index(name) for name in model.feature_names_]])
    assert np.allclose(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("mode", ["Min", "Max"])
@pytest.mark.parametrize("table", TABLES)
def test_catboost(table: str, mode: str, policy: str, tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    pool = catboost.Pool(TABLES[table], Y, group_id=np.repeat(np.arange(20), SIZES))
    model = catboost.CatBoost({"loss_function": "YetiRank" if policy == "SymmetricTree" else "RMSE", "iterations": 12,
                               "depth": 4, "verbose": 0, "thread_count": 1, "nan_mode": mode, "grow_policy": policy,
                               "allow_writing_files": False})  # fmt: skip
    model.fit(pool)
    model.save_model(str(tmp_path / "model.json"), format="json")
    expected = model.predict(TABLES[table], prediction_type="RawFormulaVal")
    actual = scores(tmp_path / "model.json", TABLES[table], "catboost")
    assert (actual == expected).all()


def estimators() -> dict[str, Any]:
    from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.svm import LinearSVR
    from sklearn.tree import DecisionTreeRegressor

    return {
        "ridge": Ridge(), "svr": LinearSVR(), "logistic": LogisticRegression(), "tree": DecisionTreeRegressor(),
        "forest": RandomForestRegressor(9, random_state=0), "extra": ExtraTreesRegressor(5, random_state=0),
        "boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
        "network": MLPRegressor(hidden_layer_sizes=(4, 3), max_iter=20, random_state=0),
        "scaled": make_pipeline(StandardScaler(), Ridge()), "ranged": make_pipeline(MinMaxScaler(), LinearSVR()),
        "scaled network": make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", max_iter=20)
        ),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [*estimators()])
def test_scikit_learn(name: str, tmp_path: Path) -> None:
    estimator = estimators()[name].fit(X, Y > 1 if name == "logistic" else Y)
    expected = estimator.decision_function(X) if name == "logistic" else estimator.predict(X)
    model = ImportedModel.from_estimator(estimator)
    actual = model.predict(X)
    if name in ("tree", "forest", "extra", "boosting"):
        assert (actual == expected).all()
    assert np.allclose(actual, expected, rtol=0, atol=1e-12)
    pippin.save(model, tmp_path / "model.json")
    assert (pippin.load(tmp_path / "model.json").predict(X) == actual).all()


def test_gradient_boosting_of_two_classes_has_the_scores_of_its_decision_function() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    estimator = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, Y > 1)
    actual = ImportedModel.from_estimator(estimator).predict(X)
    np.testing.assert_allclose(actual, estimator.decision_function(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["AdaBoostRegressor", "BaggingRegressor"])
def test_ensembles_that_do_not_average_trees_are_errors(name: str) -> None:
    from sklearn import ensemble

    estimator = getattr(ensemble, name)(n_estimators=3, random_state=0).fit(X, Y)
    with pytest.raises(DataError, match="only linear models, trees, forests"):
        ImportedModel.from_estimator(estimator)


def test_linear_trees_of_lightgbm_are_an_error(tmp_path: Path) -> None:
    import json

    import lightgbm

    settings = {"objective": "regression", "linear_tree": True, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, Y), 3)
    booster.save_model(tmp_path / "model.txt")
    (tmp_path / "model.json").write_text(json.dumps(booster.dump_model()))
    for name in ("model.txt", "model.json"):
        with pytest.raises(DataError, match="linear trees are not supported"):
            pippin.load(tmp_path / name)


def test_xgboost_ranker_stops_at_its_best_iteration(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    ranker = xgboost.XGBRanker(n_estimators=40, early_stopping_rounds=2, learning_rate=0.9, n_jobs=1)
    queries = np.repeat(np.arange(20), SIZES)
    ranker.fit(X, Y, qid=queries, eval_set=[(X[::-1], Y)], eval_qid=[queries], verbose=False)
    assert ranker.best_iteration + 1 < ranker.get_booster().num_boosted_rounds()
    for name in ("model.json", "model.ubj"):
        ranker.save_model(tmp_path / name)
        assert (pippin.load(tmp_path / name).predict(X) == ranker.predict(X)).all()


def test_estimator_without_public_attributes_is_an_error() -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    with pytest.raises(DataError, match="public attributes"):
        ImportedModel.from_estimator(HistGradientBoostingRegressor(max_iter=2).fit(X, Y))


def score_with_onnxruntime(content: bytes) -> Any:
    """Return the scores of one thread; several threads add trees in another order."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0].ravel()


@pytest.mark.parametrize("name", ["ridge", "tree", "forest", "boosting", "network"])
@pytest.mark.filterwarnings("ignore")
def test_onnx_of_skl2onnx(name: str, tmp_path: Path) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    estimator = estimators()[name].fit(X.astype(np.float32), Y)
    content = skl2onnx.to_onnx(estimator, X[:1].astype(np.float32)).SerializeToString()
    (tmp_path / "model.onnx").write_bytes(content)
    actual, expected = scores(tmp_path / "model.onnx", X, "onnx"), score_with_onnxruntime(content)
    exact = name in ("tree", "forest", "boosting")  # products of matrices are summed up in an order of the machine's
    assert (actual == expected).all() if exact else np.allclose(actual, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
@pytest.mark.filterwarnings("ignore")
def test_onnx_of_onnxmltools(library: str, tmp_path: Path) -> None:
    onnxmltools = pytest.importorskip("onnxmltools")
    kinds = [("x", pytest.importorskip("skl2onnx.common.data_types").FloatTensorType([None, X.shape[1]]))]
    if library == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        settings = {"verbose": -1, "num_leaves": 6, "min_data_in_leaf": 3, "objective": "regression"}
        model = onnxmltools.convert_lightgbm(lightgbm.train(settings, lightgbm.Dataset(X, Y), 8), initial_types=kinds)
    else:
        trained = pytest.importorskip("xgboost").XGBRegressor(n_estimators=8, max_depth=4).fit(X, Y)
        model = onnxmltools.convert_xgboost(trained, initial_types=kinds)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    actual = scores(tmp_path / "model.onnx", X, "onnx")
    assert (actual == score_with_onnxruntime(model.SerializeToString())).all()


def test_unknown_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"hello")
    with pytest.raises(DataError, match="not a model file"):
        pippin.load(tmp_path / "model")
    with pytest.raises(DataError, match="unknown model format"):
        models.read_foreign_model(b"hello", "model")
