"""Imported models give the scores of their libraries bit for bit, from every file format."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import pippin
from pippin.errors import ConventionError, DataError, MissingDependency, PippinWarning
from pippin.models.importers import detect_format
from pippin.models.model import TreeEnsemble
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


def hostile_documents(largest: float) -> NDArray[np.float64]:
    """Return 10,000 documents with NaN, zeros of both signs, denormals, huge values, and values of thresholds."""
    generator = np.random.default_rng(6)
    table = generator.normal(size=(10_000, 5))
    special = [np.nan, 0.0, -0.0, 5e-324, -5e-324, 1e-40, -1e-40, 1e-36, -1e-36, 1e-35, largest, -largest]
    chosen = generator.random(table.shape) < 0.5
    table[chosen] = generator.choice([*special, *X[:40, 2]], chosen.sum())
    return table


HOSTILE, HOSTILE32 = hostile_documents(1e300), hostile_documents(3e38)


def scores(file: Path, table: NDArray[np.float64], format: str) -> NDArray[np.float64]:
    assert detect_format(file.read_bytes()) == format
    model = pippin.load(file)
    again = file.with_suffix(".pippin")
    pippin.save(model, again)
    result = model.predict(table)
    assert (pippin.load(again).predict(table) == result).all()
    return result


LIGHTGBM = [
    {}, {"zero_as_missing": True}, {"use_missing": False}, {"boosting": "dart"}, {"data_sample_strategy": "goss"},
    {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}, {"extra_trees": True},
    *({"objective": name} for name in (
        "rank_xendcg", "regression", "regression_l1", "huber", "fair", "quantile", "mape", "poisson", "tweedie",
        "binary", "cross_entropy", "cross_entropy_lambda",
    )),
    {"objective": "regression", "reg_sqrt": True}, {"objective": "binary", "sigmoid": 2.0},
]  # fmt: skip
# Objectives and options whose `predict` transforms the score.
LIGHTGBM_TRANSFORMED = {"poisson", "tweedie", "binary", "cross_entropy", "cross_entropy_lambda", "reg_sqrt"}


@pytest.mark.parametrize("settings", LIGHTGBM, ids=str)
@pytest.mark.parametrize("table", TABLES)
def test_lightgbm(table: str, settings: dict[str, Any], tmp_path: Path) -> None:
    import json

    lightgbm = pytest.importorskip("lightgbm")
    is_transformed = bool(LIGHTGBM_TRANSFORMED & {*settings, settings.get("objective")})
    labels = Y > 1 if settings.get("objective") in ("binary", "cross_entropy", "cross_entropy_lambda") else Y
    data = lightgbm.Dataset(TABLES[table], labels, group=SIZES)
    usual = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 2, "num_leaves": 8, "num_threads": 1}
    booster = lightgbm.train({**usual, **settings}, data, 20)
    booster.save_model(tmp_path / "model.txt")
    (tmp_path / "model.json").write_text(json.dumps(booster.dump_model()))
    expected = booster.predict(HOSTILE)
    if is_transformed:
        raw = booster.predict(HOSTILE, raw_score=True)
        assert (raw != expected).any()
        expected = raw
    files = {"model.txt": "lightgbm", "model.json": "lightgbm_json"}
    if "zero_as_missing" in settings:
        del files["model.json"]
    for name, format in files.items():
        with pytest.warns(PippinWarning, match="predict") if is_transformed else nullcontext():
            assert (scores(tmp_path / name, HOSTILE, format) == expected).all()


def test_unknown_fields_are_errors(tmp_path: Path) -> None:
    import json

    import lightgbm

    settings = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 2, "num_threads": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, Y, group=SIZES), 2)
    text, dump = booster.model_to_string(), booster.dump_model()
    dump["tree_info"][1]["tree_structure"]["exponent"] = 2
    changed = {
        "header": text.replace("max_feature_idx=", "leaf_exponent=2\nmax_feature_idx="),
        "tree": text.replace("shrinkage=", "exponent=2\nshrinkage="),
        "objective": text.replace("objective=lambdarank", "objective=lambdacube"),
        "json": json.dumps(dump),
    }
    for name, content in changed.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=r"unknown field '(leaf_)?exponent' in|objective lambdacube is not"):
            pippin.load(tmp_path / name)


def categorical_documents() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a table whose third column has categories, and documents with unknown, negative and broken ones."""
    table = np.column_stack((X[:, :2], np.round(X[:, 2] * 40), NULLS[:, 3:]))
    documents = np.random.default_rng(8).random((10_000, 5))
    odd = [np.nan, -0.0, -0.5, -1.0, -7.0, 0.5, 2.5, 40.0, 63.0, 64.0, 1e5]
    documents[:, 2] = np.random.default_rng(9).choice([*odd, *range(45)], len(documents))
    return table, documents


@pytest.mark.parametrize("onehot", [1, 64])
def test_categorical_splits_of_lightgbm(onehot: int, tmp_path: Path) -> None:
    import json

    import lightgbm

    table, documents = categorical_documents()
    data = lightgbm.Dataset(table, Y, group=SIZES, categorical_feature=[2])
    settings = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 2, "cat_smooth": 0, "num_threads": 1,
                "min_data_per_group": 1, "max_cat_to_onehot": onehot, "feature_contri": [0, 0.1, 1, 0, 0]}  # fmt: skip
    booster = lightgbm.train(settings, data, 8)
    booster.save_model(tmp_path / "model.txt")
    (tmp_path / "model.json").write_text(json.dumps(booster.dump_model()))
    expected = booster.predict(documents)
    for name, format in {"model.txt": "lightgbm", "model.json": "lightgbm_json"}.items():
        assert (scores(tmp_path / name, documents, format) == expected).all()
    model = pippin.load(tmp_path / "model.txt")
    assert any(tree.intervals for tree in cast(TreeEnsemble, model.to_model()).trees())
    check = pippin.Dataset.from_arrays(documents[:20], np.arange(20) % 2, np.ones(20))
    for target in ("sql", "c"):
        with pytest.raises(ConventionError, match=f"{target} has no exporter of categorical splits"):
            pippin.export(model, target, tmp_path / "model.out", check=check)


@pytest.mark.parametrize("onehot", [1, 64])
@pytest.mark.parametrize("format", ["json", "ubj"])
def test_categorical_splits_of_xgboost(format: str, onehot: int, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    table, documents = categorical_documents()
    types: dict[str, Any] = {"feature_types": ["q", "q", "c", "q", "q"], "enable_categorical": True}
    settings = {"objective": "reg:squarederror", "nthread": 1, "max_depth": 4, "max_cat_to_onehot": onehot}
    booster = xgboost.train(settings, xgboost.DMatrix(table, Y, **types), 10)
    booster.save_model(tmp_path / f"model.{format}")
    expected = booster.predict(xgboost.DMatrix(documents, **types), output_margin=True)
    assert (scores(tmp_path / f"model.{format}", documents, "xgboost") == expected).all()
    model = pippin.load(tmp_path / f"model.{format}")
    assert any(tree.intervals for tree in cast(TreeEnsemble, model.to_model()).trees())


XGBOOST: list[dict[str, Any]] = [
    *({"objective": name} for name in (
        "rank:ndcg", "rank:pairwise", "rank:map", "reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror",
        "reg:pseudohubererror", "binary:logitraw", "binary:logistic", "count:poisson", "reg:tweedie",
    )),
    {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
    {"objective": "rank:ndcg", "booster": "dart", "rate_drop": 0.3, "seed": 3},
    {"objective": "rank:ndcg", "booster": "gblinear"}, {"objective": "reg:squarederror", "booster": "gblinear"},
    {"objective": "rank:ndcg", "num_parallel_tree": 3}, {"objective": "reg:squarederror", "base_score": 0.7},
    {"objective": "rank:ndcg", "tree_method": "exact"}, {"objective": "rank:ndcg", "grow_policy": "lossguide"},
]  # fmt: skip
XGBOOST_TRANSFORMED = ("binary:logistic", "count:poisson", "reg:tweedie")


@pytest.mark.filterwarnings("ignore")  # XGBoost warns of linear models
@pytest.mark.parametrize("settings", XGBOOST, ids=str)
@pytest.mark.parametrize("format", ["json", "ubj"])
@pytest.mark.parametrize("table", TABLES)
def test_xgboost(table: str, format: str, settings: dict[str, Any], tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    objective = settings["objective"]
    labels = Y > 1 if objective in ("binary:logistic", "binary:logitraw", "rank:map") else Y
    qid = {"qid": np.repeat(np.arange(20), SIZES)} if objective.startswith("rank") else {}
    booster = xgboost.train({"max_depth": 4, "nthread": 1, **settings},
                            xgboost.DMatrix(TABLES[table], labels, **qid), 15)  # fmt: skip
    booster.save_model(tmp_path / f"model.{format}")
    # A linear model has no finite score for huge values.
    documents = np.clip(HOSTILE32, -1e30, 1e30) if settings.get("booster") == "gblinear" else HOSTILE32
    expected = booster.predict(xgboost.DMatrix(documents), output_margin=True)
    is_transformed = objective in XGBOOST_TRANSFORMED
    assert (expected == booster.predict(xgboost.DMatrix(documents))).all() != is_transformed
    with pytest.warns(PippinWarning, match="predict") if is_transformed else nullcontext():
        actual = scores(tmp_path / f"model.{format}", documents, "xgboost")
    if is_transformed:  # the logarithm of the base score is the system's own
        assert np.allclose(actual, expected, rtol=0, atol=2e-6)
    else:
        assert (actual == expected).all()


@pytest.mark.parametrize("settings", [
    {"objective": "multi:softprob", "num_class": 3}, {"objective": "binary:hinge"}, {"num_target": 2},
], ids=str)  # fmt: skip
def test_xgboost_models_that_are_not_supported_are_errors(settings: dict[str, Any], tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    labels = np.minimum(Y, 2)
    if settings.pop("num_target", None):
        labels = np.column_stack((Y, Y))
    if settings.get("objective") == "binary:hinge":
        labels = Y > 1
    booster = xgboost.train({"nthread": 1, **settings}, xgboost.DMatrix(X, labels), 5)
    booster.save_model(tmp_path / "model.json")
    with pytest.raises(DataError, match="not supported"):
        pippin.load(tmp_path / "model.json")


def test_xgboost_dump(tmp_path: Path) -> None:
    """The list of trees that Vespa and the plugins read has no base score, and a decimal of each float32."""
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X, Y, qid=np.repeat(np.arange(20), SIZES), feature_names=[*"abcde"])
    booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 4, "base_score": 0.0, "nthread": 1}, data, 10)
    booster.dump_model(tmp_path / "dump.json", dump_format="json")
    with pytest.warns(PippinWarning, match="no base score, no weights of DART and no classes"):
        model = pippin.load(tmp_path / "dump.json")
    expected = booster.predict(xgboost.DMatrix(X, feature_names=[*"abcde"]), output_margin=True)
    order = [*"abcde"]
    actual = model.predict(X[:, [order.index(name) for name in model.feature_names_]])
    assert np.allclose(actual, expected, rtol=0, atol=1e-6)


CATBOOST = [
    *({"loss_function": name} for name in (
        "YetiRank", "RMSE", "QueryRMSE", "QuerySoftMax", "StochasticRank:metric=NDCG", "MAE", "Logloss", "Poisson",
    )),
    *({"loss_function": "RMSE", "grow_policy": policy} for policy in ("Depthwise", "Lossguide")),
    {"loss_function": "RMSE", "nan_mode": "Max"}, {"loss_function": "RMSE", "boosting_type": "Ordered"},
]  # fmt: skip


@pytest.mark.parametrize("settings", CATBOOST, ids=str)
@pytest.mark.parametrize("table", TABLES)
def test_catboost(table: str, settings: dict[str, Any], tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    is_transformed = settings["loss_function"] in ("Logloss", "Poisson")
    labels = Y > 1 if settings["loss_function"] in ("Logloss", "QuerySoftMax") else Y
    pool = catboost.Pool(TABLES[table], labels.astype(float), group_id=np.repeat(np.arange(20), SIZES))
    model = catboost.CatBoost({"iterations": 12, "depth": 4, "verbose": 0, "thread_count": 1,
                               "allow_writing_files": False, **settings})  # fmt: skip
    model.fit(pool)
    expected = model.predict(HOSTILE32, prediction_type="RawFormulaVal")
    for ending, format in {"json": "catboost", "cbm": "catboost_cbm"}.items():
        model.save_model(str(tmp_path / f"model.{ending}"), format=ending)
        with pytest.warns(PippinWarning, match="predict") if is_transformed else nullcontext():
            assert (scores(tmp_path / f"model.{ending}", HOSTILE32, format) == expected).all()


def test_binary_models_of_catboost_need_catboost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "catboost", None)
    (tmp_path / "model.cbm").write_bytes(b"CBM1 and more")
    with pytest.raises(MissingDependency, match="reading CatBoost's binary format needs catboost: pip install"):
        pippin.load(tmp_path / "model.cbm")


@pytest.mark.parametrize("settings", [
    {"loss_function": "MultiClass"}, {"loss_function": "RMSEWithUncertainty"}, {"cat_features": [2]},
], ids=str)  # fmt: skip
def test_catboost_models_that_are_not_supported_are_errors(settings: dict[str, Any], tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    table = [[*row[:2], int(row[2] * 10), *row[3:]] for row in X.tolist()]
    model = catboost.CatBoost({"iterations": 5, "verbose": 0, "thread_count": 1, "allow_writing_files": False,
                               **settings}).fit(table, Y)  # fmt: skip
    for ending in ("json", "cbm"):
        model.save_model(str(tmp_path / f"model.{ending}"), format=ending)
        with pytest.raises(DataError, match="not supported"):
            pippin.load(tmp_path / f"model.{ending}")


def estimators() -> dict[str, Any]:
    from sklearn.ensemble import (
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
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
        "histograms": HistGradientBoostingRegressor(max_iter=20),
        "absolute": HistGradientBoostingRegressor(loss="absolute_error", max_iter=20),
        "classes": GradientBoostingClassifier(n_estimators=10, random_state=0),
        "histogram classes": HistGradientBoostingClassifier(max_iter=10),
        "network": MLPRegressor(hidden_layer_sizes=(4, 3), max_iter=20, random_state=0),
        "scaled": make_pipeline(StandardScaler(), Ridge()), "ranged": make_pipeline(MinMaxScaler(), LinearSVR()),
        "scaled network": make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", max_iter=20)
        ),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [*estimators()])
def test_scikit_learn(name: str, tmp_path: Path) -> None:
    is_classifier = name in ("logistic", "classes", "histogram classes")
    is_nullable = name in ("tree", "forest", "extra", "histograms", "absolute", "histogram classes")
    estimator = estimators()[name].fit(NULLS if is_nullable else X, Y > 1 if is_classifier else Y)
    has_trees = is_nullable or name in ("boosting", "classes")
    documents = np.clip(HOSTILE32, *((-1e30, 1e30) if has_trees else (-9, 9)))
    documents = documents if is_nullable else np.nan_to_num(documents)
    expected = (estimator.decision_function if is_classifier else estimator.predict)(documents)
    with pytest.warns(PippinWarning, match="classes") if is_classifier else nullcontext():
        model = ImportedModel.from_estimator(estimator)
    actual = model.predict(documents)
    if has_trees:
        assert (actual == expected).all()
    assert np.allclose(actual, expected, rtol=0, atol=1e-12)
    pippin.save(model, tmp_path / "model.json")
    assert (pippin.load(tmp_path / "model.json").predict(documents) == actual).all()


def other_estimators() -> dict[str, tuple[Any, NDArray[Any]]]:
    from sklearn import cross_decomposition, ensemble, linear_model, neural_network, pipeline, preprocessing, tree

    ridge = linear_model.Ridge()
    return {
        "AdaBoostRegressor": (ensemble.AdaBoostRegressor(n_estimators=3, random_state=0), Y),
        "BaggingRegressor": (ensemble.BaggingRegressor(n_estimators=3, random_state=0), Y),
        "PoissonRegressor": (linear_model.PoissonRegressor(), Y),
        "PLSRegression": (cross_decomposition.PLSRegression(), Y),
        "boosting from a model": (ensemble.GradientBoostingRegressor(init=ridge, n_estimators=3), Y),
        "exponential loss": (ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=3), Y > 1),
        "histograms": (ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=3), Y),
        "categories": (ensemble.HistGradientBoostingRegressor(categorical_features=[2], max_iter=3), Y),
        "three classes": (ensemble.HistGradientBoostingClassifier(max_iter=3), Y),
        "network of classes": (neural_network.MLPClassifier(hidden_layer_sizes=(2,), max_iter=5), Y > 1),
        "classes": (tree.DecisionTreeClassifier(), Y > 1),
        "robust": (pipeline.make_pipeline(preprocessing.RobustScaler(), ridge), Y),
        "clipped": (pipeline.make_pipeline(preprocessing.MinMaxScaler(clip=True), ridge), Y),
        "scaled trees": (pipeline.make_pipeline(preprocessing.StandardScaler(), tree.DecisionTreeRegressor()), Y),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [*other_estimators()])
def test_estimators_that_compute_more_are_errors(name: str) -> None:
    estimator, labels = other_estimators()[name]
    table = np.column_stack((X[:, :2], np.round(X[:, 2] * 10), X[:, 3:]))
    with pytest.raises(DataError, match=r"not supported|only linear models|no attribute|no decision function"):
        ImportedModel.from_estimator(estimator.fit(table, labels))


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
