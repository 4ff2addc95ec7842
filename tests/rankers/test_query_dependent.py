"""Query-dependent rankers against hand computation and on planted query types."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import pippin
from pippin.data.dataset import Dataset
from pippin.data.normalisation import to_query_level_norm
from pippin.errors import DataError, UnknownName
from pippin.evaluation.objective import Objective
from pippin.rankers import Chain, RankSVM, models
from pippin.rankers.steps.query_dependent import (
    QuerySpace,
    best_feature,
    mean_top_features,
    nearest,
    standardize_scores,
)
from pippin.rankers.steps.query_groups import cluster_queries, fit_logistic_regression, softmax


def two_tasks(queries: int = 30, size: int = 8, seed: int = 0) -> Dataset:
    """Queries A… are ranked by the first feature, queries B… against it; the third feature tells which is which."""
    random = np.random.default_rng(seed)
    kinds = np.arange(queries) % 2
    table = random.random((queries * size, 4))
    task = np.repeat(kinds, size)
    table[:, 2] = task * 3 + 0.2 * random.random(len(table))
    target = np.where(task == 0, table[:, 0], 1 - table[:, 0])
    labels = (target.reshape(queries, size).argsort(axis=1).argsort(axis=1).ravel() >= size - 3).astype(np.int32)
    ids = tuple(f"{'AB'[kind]}{i}" for i, kind in enumerate(kinds))
    return Dataset(table, labels, np.arange(0, queries * size + 1, size), ids, None, tuple("wxyz"))


@pytest.fixture(scope="module")
def data() -> Dataset:
    return two_tasks()


@pytest.fixture(scope="module")
def valid() -> Dataset:
    return two_tasks(16, seed=1)


@pytest.fixture(scope="module")
def test() -> Dataset:
    return two_tasks(12, seed=2)


def test_a_query_is_the_mean_of_its_first_documents(data: Dataset) -> None:
    table = np.asarray(data.features).copy()
    table[::5, 1] = np.nan
    slow = []
    for start, end in pairwise(data.offsets.tolist()):
        first = sorted(range(start, end), key=lambda row: table[row, 0])[:3]
        known = [table[row, 1] for row in first if table[row, 1] == table[row, 1]]
        slow.append([np.mean(table[first, 0]), np.mean(known) if known else np.nan])
    result = mean_top_features(table, data.offsets, 0, -1, 3)
    assert np.allclose(result[:, :2], np.array(slow), equal_nan=True)
    space = QuerySpace.of(data, "w", 3)
    points = space.points(np.asarray(data.features), data.offsets)
    assert np.allclose(points.mean(axis=0), 0)
    assert np.allclose(points.std(axis=0), 1)
    others = replace(data, labels=data.labels[::-1].copy())
    assert np.array_equal(QuerySpace.of(others, "w", 3).mean, space.mean)
    with pytest.raises(UnknownName, match="auto"):
        QuerySpace.of(data, "v", 3)


def test_the_reference_is_the_feature_that_ranks_best_alone(data: Dataset) -> None:
    first = data.select(np.flatnonzero([name[0] == "B" for name in data.query_ids]))
    assert best_feature(first) == (0, -1)
    worth = [Objective(first, "NDCG@10", "official").mean(sign * np.asarray(first.features)[:, f])
             for f in range(4) for sign in (1, -1)]  # fmt: skip
    assert int(np.argmax(worth)) == 1


@pytest.mark.parametrize("form", ["online", "offline-1", "offline-2"])
def test_nearest_queries_are_learned_from_as_by_hand(form: str, data: Dataset, test: Dataset) -> None:
    model = pippin.train(data, f"knn(6,form={form},top_documents=4) > ranksvm")
    assert isinstance(model, Chain)
    space = QuerySpace.of(data, "auto", 4)
    points, targets = (space.points(np.asarray(item.features), item.offsets) for item in (data, test))
    neighbours = [set(np.argsort(((points - p) ** 2).sum(axis=1))[:6].tolist()) for p in points]
    labels = [data.labels[a:b] for a, b in pairwise(data.offsets)]
    pairs = [int(sum(a != b for i, a in enumerate(own) for b in own[:i])) for own in labels]
    for query, point in enumerate(targets):
        order = np.argsort(((points - point) ** 2).sum(axis=1))
        selected = set(order[:6].tolist())
        if form == "offline-1":
            selected = neighbours[int(np.argmax([sum(pairs[i] for i in selected & near) for near in neighbours]))]
        elif form == "offline-2":
            selected = neighbours[int(order[0])]
        by_hand = RankSVM().fit(data.select(sorted(selected)))
        first = test.select([query])
        assert np.array_equal(by_hand.predict(first), model.predict(first))


@pytest.mark.parametrize("text", [
    "classes(shared_weight=0.1) > ranksvm",
    "knn(8) > ranksvm", "knn(8,form=online) > ranksvm", "knn(8,form=offline-1) > ranksvm", "clusters(2) > ranksvm",
    "clusters(2,gate=hard) > norm > ranksvm", "classes > ranksvm", "classes(hard) > lambdamart(rounds=5)",
    "choose(6,n_clusters=2) > ranksvm",
])  # fmt: skip
def test_contradictory_kinds_of_queries_are_separated(text: str, data: Dataset, valid: Dataset, test: Dataset) -> None:
    judge = Objective(test, "NDCG@10", "official")
    mixed = judge.mean(pippin.train(data, "ranksvm").predict(test))
    model = pippin.train(data, text, valid=valid)
    apart = judge.mean(model.predict(test))
    assert apart > max(0.95, mixed + 0.1)
    loaded = models.from_bytes(models.to_bytes(model), "model")
    assert np.array_equal(loaded.predict(test), model.predict(test))
    assert set(model.importance()) == set(data.feature_names)
    assert isinstance(model, Chain)
    assert "model" in model.describe()[0]


def test_scores_of_a_query_do_not_depend_on_other_queries(data: Dataset, test: Dataset, valid: Dataset) -> None:
    for text in ("knn(8) > ranksvm", "clusters(2) > ranksvm", "classes > norm > ranksvm", "choose > ranksvm"):
        model = pippin.train(data, text, valid=valid)
        alone = np.concatenate([model.predict(test.select([i])) for i in range(test.queries)])
        assert np.array_equal(alone, model.predict(test))
        with pytest.raises(DataError, match="together"):
            model.predict(np.asarray(test.features))


def test_logistic_regression_is_scikit_learns(data: Dataset) -> None:
    random = np.random.default_rng(0)
    points, own = random.normal(size=(60, 5)), random.integers(0, 3, 60)
    weights, shifts = fit_logistic_regression(points, own, 3, 2.0)
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=5000).fit(points, own)
    assert np.allclose(softmax(points @ weights + shifts), theirs.predict_proba(points), atol=1e-5)


def test_classes_come_from_ids_of_training_queries_alone(data: Dataset, test: Dataset) -> None:
    model = pippin.train(data, "classes > ranksvm")
    assert isinstance(model, Chain)
    assert model.step_.classify(test) == [name[0] for name in test.query_ids]  # type: ignore[attr-defined]
    unnamed = replace(test, query_ids=tuple(map(str, range(test.queries))))
    assert np.array_equal(model.predict(unnamed), model.predict(test))
    with pytest.raises(DataError, match="TD1"):
        pippin.train(replace(data, query_ids=tuple(map(str, range(data.queries)))), "classes > ranksvm")


def test_a_model_of_all_queries_is_added_to_the_classes(data: Dataset, test: Dataset) -> None:
    model = pippin.train(data, "classes(shared_weight=0.4) > ranksvm")
    assert isinstance(model, Chain)
    own: Any = model.step_
    kinds = [np.flatnonzero([name[0] == kind for name in data.query_ids]) for kind in "AB"]
    by_hand = [RankSVM().fit(part) for part in (data.select(kinds[0]), data.select(kinds[1]), data)]
    likely = np.repeat(own.chances(own._points(test)), np.diff(test.offsets), axis=0)
    spread = [standardize_scores(item.predict(test), test.offsets) for item in by_hand]
    expected = 0.6 * (likely[:, 0] * spread[0] + likely[:, 1] * spread[1]) + 0.4 * spread[2]
    assert np.allclose(model.predict(test), expected)
    with pytest.raises(DataError, match="below 1, got 1"):
        pippin.train(data, "classes(shared_weight=1.0) > ranksvm")


def test_clusters_are_those_of_k_means(data: Dataset) -> None:
    """Two heaps around 0 and 10; a third centre has too few points and is dissolved."""
    points = np.concatenate((np.arange(12.0), np.arange(12.0) + 100, [1000.0]))[:, None]
    assert sorted(cluster_queries(points, 3, 1, 1).ravel()) == [5.5, 105.5, 1000.0]
    assert len(cluster_queries(points, 3, 5, 1)) == 2
    assert np.array_equal(cluster_queries(points, 3, 1, 1), cluster_queries(points, 3, 1, 1))


def test_soft_gates_average_standardised_scores(data: Dataset, test: Dataset) -> None:
    model = pippin.train(data, "clusters(2) > ranksvm")
    assert isinstance(model, Chain)
    step = model.step_
    table = np.asarray(test.features)
    points = step.space_.points(table, test.offsets)  # type: ignore[attr-defined]
    apart = ((points[:, None] - step.centres_[None]) ** 2).sum(axis=2)  # type: ignore[attr-defined]
    weights = np.exp(-apart / (2 * step.width_))  # type: ignore[attr-defined]
    weights /= weights.sum(axis=1, keepdims=True)
    for query, (a, b) in enumerate(pairwise(test.offsets)):
        parts = [estimator.predict(table[a:b]) for estimator in step.estimators_]
        slow = sum(w * (s - s.mean()) / s.std() for w, s in zip(weights[query], parts, strict=True))
        assert np.allclose(model.predict(test)[a:b], slow)
    assert standardize_scores(np.array([2.0, 2.0]), np.array([0, 2])).tolist() == [0.0, 0.0]


def test_choose_uses_the_nearest_validation_queries(data: Dataset, valid: Dataset, test: Dataset) -> None:
    model = pippin.train(data, "choose(4,n_clusters=2) > ranksvm", valid=valid)
    assert isinstance(model, Chain)
    step = model.step_
    values = np.array(
        [Objective(valid, "NDCG@10", "official").values(estimator.predict(valid)) for estimator in step.estimators_]
    )
    space = step.space_  # type: ignore[attr-defined]
    points, targets = (space.points(np.asarray(item.features), item.offsets) for item in (valid, test))
    for query, near in enumerate(nearest(targets, points, 4)):
        best = step.estimators_[int(values[:, near].mean(axis=1).argmax())]
        first = test.select([query])
        assert np.array_equal(best.predict(first), model.predict(first))
    with pytest.raises(DataError, match="validation set"):
        pippin.train(data, "choose > ranksvm")


def test_normalising_as_a_step_is_normalising_the_data(data: Dataset, test: Dataset) -> None:
    by_hand = RankSVM().fit(to_query_level_norm(data)).predict(to_query_level_norm(test))
    assert np.array_equal(pippin.train(data, "norm > ranksvm").predict(test), by_hand)


@pytest.mark.parametrize(("text", "key", "value"), [
    ("knn(8) > ranksvm", "neighbours", np.full((30, 8), 99)), ("knn(8,form=online) > ranksvm", "train.offsets", None),
    ("clusters(2) > ranksvm", "width", 0.0), ("classes > ranksvm", "classes", ["A"]),
    ("knn(8) > ranksvm", "space", {}),
])  # fmt: skip
def test_a_file_with_inconsistent_parts_is_refused(text: str, key: str, value: object, data: Dataset) -> None:
    content, arrays = models.to_record(pippin.train(data, text))
    arrays.pop(key, None)
    content["state"].pop(key, None)
    if isinstance(value, np.ndarray):
        arrays[key] = value
    elif value is not None:
        content["state"][key] = value
    with pytest.raises(DataError, match="damaged"):
        models.from_bytes(models.seal(content, arrays), "model")
