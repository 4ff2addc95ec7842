"""Properties of every registered ranker: scikit-learn interface, determinism, files and invalid input."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.rankers.ranker_names import names

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers import models, ranker
from pippin.rankers.base import Ranker
from pippin.rankers.parameters import parameter
from pippin.rankers.training import select

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # five rounds are few

# Settings that keep a test short; whatever a ranker does not know is left out.
QUICK = {"rounds": 5, "n_restarts": 1, "hidden_units": 4}

# Checks of scikit-learn that ask what a ranker cannot give, by ranker, and why.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


def quick(name: str, **changes: Any) -> Ranker:
    cls = ranker(name)
    defaults = cls().get_params()
    return cls(**{key: value for key, value in {**QUICK, **changes}.items() if key in defaults})


def plant_sum(queries: int = 30, size: int = 12, features: int = 6, seed: int = 0) -> Dataset:
    """Return a data set whose labels follow the sum of two features."""
    generator = np.random.default_rng(seed)
    table = generator.random((queries * size, features))
    truth = table[:, 0] + table[:, 1]
    labels = np.digitize(truth, [1.1, 1.4]).astype(np.int32)
    offsets = np.arange(0, queries * size + 1, size, dtype=np.int64)
    return Dataset(table, labels, offsets, tuple(f"q{i}" for i in range(queries)))


def single_query(name: str) -> Ranker:
    """Wrap a ranker for scikit-learn's checks, with all documents in one query."""
    cls = ranker(name)

    class OneQuery(cls):  # type: ignore[valid-type, misc]
        def fit(self, X: Any, y: Any = None, *, qid: Any = None, **more: Any) -> Any:
            if qid is None and y is not None:
                qid = np.zeros(np.shape(y)[:1], int)
            return super().fit(X, y, qid=qid, **more)

        def score(self, X: Any, y: Any = None, *, qid: Any = None) -> float:
            return float(super().score(X, y, qid=np.zeros(np.shape(y)[:1], int) if qid is None else qid))

    OneQuery.__name__ = OneQuery.__qualname__ = f"OneQuery{cls.__name__}"
    OneQuery.__doc__ = f"{cls.__name__} of one query."  # without the example of a module that it is not in
    globals()[OneQuery.__name__] = OneQuery  # so that scikit-learn can pickle it
    defaults = cls().get_params()
    # NDCG hears every label; the checks' labels are all above 0, and MAP would see nothing to learn.
    settings = {**QUICK, "measure": "NDCG@10"}
    result: Ranker = OneQuery(**{key: value for key, value in settings.items() if key in defaults})
    return result


with warnings.catch_warnings():
    warnings.filterwarnings(
        "ignore", ".*does not inherit from `sklearn.base.BaseEstimator`"
    )  # its manners, not its base
    CHECKS = parametrize_with_checks(
        [single_query(name) for name in names()], expected_failed_checks=lambda r: EXPECTED_FAILURES.get(r.name, {})
    )


@CHECKS  # type: ignore[untyped-decorator]
def test_scikit_learn_finds_an_estimator(estimator: Ranker, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks' tiny data rarely converges
        check(estimator)


@pytest.mark.parametrize("name", names())
def test_same_data_same_bytes_on_one_and_two_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = plant_sum()
    before = data.features.copy()
    scores = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        scores.append(quick(name).fit(data).predict(data))
    assert (scores[0] == scores[1]).all()
    assert (scores[1] == scores[2]).all()
    assert (data.features == before).all()


@pytest.mark.parametrize("name", names())
def test_a_known_ranking_is_learned(name: str) -> None:
    train, test = plant_sum(seed=1), plant_sum(seed=2)
    model = quick(name, rounds=60, epochs=60).fit(train)
    alone = quick("best-feature").fit(train)
    assert model.score(test) >= alone.score(test) - 1e-9
    assert model.score(test) > 0.75


@pytest.mark.parametrize("name", names())
def test_a_saved_model_is_the_model(name: str, tmp_path: Path) -> None:
    data = plant_sum()
    model = quick(name).fit(data, eval_set=plant_sum(seed=3))
    models.save(model, tmp_path / "model", "digest")
    again = models.load(tmp_path / "model")
    assert (again.predict(data) == model.predict(data)).all()
    assert again.get_params() == model.get_params()
    with pytest.raises(ValueError, match="features"):
        again.predict(data.features[:, :3])


@pytest.mark.parametrize("name", names())
def test_odd_queries_neither_crash_nor_distort(name: str) -> None:
    data = plant_sum(10)
    odd = Dataset(
        np.vstack([data.features, np.random.default_rng(5).random((1 + 4 + 4, 6))]),
        np.concatenate([data.labels, np.array([1] + [0] * 4 + [2] * 4, np.int32)]),
        np.concatenate([data.offsets, data.offsets[-1] + np.array([1, 5, 9])]),
        (*data.query_ids, "one document", "nothing relevant", "all relevant"),
    )
    assert np.isfinite(quick(name).fit(odd, eval_set=odd).predict(odd)).all()


@pytest.mark.parametrize("name", names())
def test_frames_and_arrays_give_the_same_model(name: str) -> None:
    import pandas
    import polars

    data = plant_sum()
    columns = [f"f{i}" for i in range(6)]
    expected = quick(name).fit(data).predict(data)
    qid = data.qid()
    for X in (
        data.features,
        data.features.astype(np.float64, order="F"),
        pandas.DataFrame(data.features, columns=columns),
        polars.DataFrame(data.features, schema=columns),
        polars.DataFrame(data.features, schema=columns).to_arrow(),
    ):
        assert (quick(name).fit(X, data.labels, qid=qid).predict(X) == expected).all()


@pytest.mark.parametrize("name", names())
def test_it_lives_in_pipelines_and_searches(name: str) -> None:
    data = plant_sum(12)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = quick(name).set_fit_request(qid=True).set_score_request(qid=True)
        pipeline = make_pipeline(StandardScaler(), clone(estimator))
        pipeline.fit(data.features, data.labels, qid=data.qid())
        assert pipeline.predict(data.features).shape == (len(data),)
        parameter = next(iter(estimator.grid), None) or next(iter(estimator.get_params()))
        search = GridSearchCV(estimator, {parameter: [estimator.get_params()[parameter]]}, cv=GroupKFold(3))
        search.fit(data.features, data.labels, qid=data.qid(), groups=data.qid())
        assert 0 < search.best_score_ <= 1


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"qid": None}, "qid is missing"),
        ({"qid": [0, 1] * 60}, "not contiguous"),
        ({"qid": [0] * 3}, "one per document"),
        ({"y": [-1] * 120}, "0 or more"),
        ({"y": [0.5] * 120}, "whole numbers"),
        ({"y": [0] * 120}, "no document of the training set is relevant"),
        ({"y": ["good"] * 120}, "whole numbers"),
    ],
)
def test_bad_input_is_reported(name: str, change: dict[str, Any], sentence: str) -> None:
    data = plant_sum(10)
    arguments = {"y": data.labels, "qid": data.qid(), **change}
    with pytest.raises(DataError, match=sentence):
        quick(name).fit(data.features, arguments["y"], qid=arguments["qid"])


@pytest.mark.parametrize("name", names())
def test_null_is_supported_or_refused_with_advice(name: str) -> None:
    data = plant_sum(10)
    holes = data.features.copy()
    holes[::7, 2] = np.nan
    if ranker(name).allow_nan:
        model = quick(name).fit(holes, data.labels, qid=data.qid())
        assert np.isfinite(model.predict(holes)).all()
    else:
        with pytest.raises(DataError, match="fill them first"):
            quick(name).fit(holes, data.labels, qid=data.qid())


@pytest.mark.parametrize("name", names())
def test_a_validation_set_with_other_features_is_refused(name: str) -> None:
    data = plant_sum(10)
    other = plant_sum(10, features=4)
    with pytest.raises(ValueError, match="features"):
        quick(name).fit(data, eval_set=other)


def test_selection_takes_the_first_best() -> None:
    train, valid = plant_sum(seed=1), plant_sum(seed=2)
    selection = select(quick("ranksvm"), train, valid, grid={"C": [1e-6, 1e-2, 1.0]}, measure="NDCG@10")
    best = max(c.value for c in selection.candidates)
    assert (
        selection.value == best == next(c.value for c in selection.candidates if c.parameters == selection.parameters)
    )
    assert len(selection.candidates) == 3


def test_a_damaged_or_newer_model_is_refused(tmp_path: Path) -> None:
    data = plant_sum(10)
    path = tmp_path / "model.json"
    models.save(quick("ranksvm").fit(data), path)
    text = path.read_text()
    for content, sentence in (
        (text[: len(text) // 2], "neither safetensors nor JSON, or damaged"),
        ("{}", "not a model file of Pippin"),
        (text.replace('"version": 2', '"version": 99'), "newer Pippin"),
        (text.replace('"weights"', '"wights"'), "damaged"),
    ):
        path.write_text(content)
        with pytest.raises(DataError, match=sentence):
            models.load(path)


def test_ctrl_c_keeps_the_best_so_far() -> None:
    script = (
        "import _thread, numpy as np, sys, warnings\n"
        "sys.path.insert(0, '.')\n"
        "from tests.rankers.test_estimators import plant_sum\n"
        "from pippin.rankers.base import EarlyStopping\n"
        "warnings.simplefilter('ignore')\n"
        "data = plant_sum()\n"
        "with EarlyStopping(data, 'NDCG@10', 'official', 100, None) as stopping:\n"
        "    for t in range(100):\n"
        "        stopping.update(lambda: data.features[:, 0] * (t == 3))\n"
        "        if t == 7: raise KeyboardInterrupt\n"
        "print(stopping.best, stopping.interrupted)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.split() == ["3", "True"]


def test_rankers_are_found_by_their_class_names() -> None:
    import pippin

    assert pippin.rankers.LambdaMART is ranker("lambdamart")
    assert pippin.rankers.select is select
    with pytest.raises(AttributeError, match="no attribute 'LambdaMARTT'"):
        _ = pippin.rankers.LambdaMARTT


class ByColumn(Ranker):
    """Ranks by one column."""

    name = "by-column"
    one_standard_error_rule = True
    column: int = parameter(0, "which one")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        """Nothing to learn."""

    def _predict(self, features: Any) -> Any:
        return features[:, self.column]


@pytest.mark.parametrize(("grid", "chosen"), [((0, 1), 0), ((2, 1), 1)])
def test_the_one_standard_error_rule_prefers_the_first_point(grid: tuple[int, int], chosen: int) -> None:
    """Column 0 is wrong at the top of one query, column 1 in the middle of another, column 2 at the top of five."""
    right, top, middle = [2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [2.0, 0.0, 1.0]
    columns = [[top] + [right] * 11, [right, middle] + [right] * 10, [top] * 5 + [right] * 7]
    data = Dataset(
        np.array(columns).reshape(3, 36).T.copy(), np.tile([2, 1, 0], 12).astype(np.int32), np.arange(0, 37, 3),
        tuple(map(str, range(12))),
    )  # fmt: skip
    selection = select(ByColumn(), data, data, grid={"column": grid}, measure="NDCG@10")
    assert selection.candidates[1].value > selection.candidates[0].value
    assert selection.parameters == {"column": chosen}


@pytest.mark.parametrize("name", ["lambdamart", "xendcg", "mart", "adarank", "rankboost"])
def test_the_first_point_of_a_grid_is_the_default(name: str) -> None:
    cls = ranker(name)
    first = {key: values[0] for key, values in cls.grid.items()}
    assert first == {key: cls.parameters[key].default for key in first}
