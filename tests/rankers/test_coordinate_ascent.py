"""Coordinate ascent: line search against exhaustive steps, conventions and real data."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rankers.planted import fold, plant_dataset, queries, with_empty

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.kernels.optimisers import ascend, rescore
from pippin.rankers import models
from pippin.rankers.coordinate_ascent import CoordinateAscent

F64 = NDArray[np.float64]
QUICK: dict[str, Any] = {"n_restarts": 2, "line_steps": 15}
NDCG: dict[str, Any] = {"measure": "NDCG@10", **QUICK}


def coarse(seed: int, count: int = 12, size: int = 9, features: int = 4, labels: int = 3) -> Dataset:
    """Draw queries with many tied feature values."""
    rng = np.random.default_rng(seed)
    results = [list(rng.integers(0, labels, rng.integers(2, size + 1))) for _ in range(count)]
    return queries(results, np.round(rng.random((sum(map(len, results)), features)), 1))


def plain_pass(data: Dataset, order: list[int], weights: F64, measure: str, convention: Any, steps: int) -> F64:
    """Run one pass of coordinate ascent in plain Python, with Objective for every step."""
    judge = Objective(data, measure, convention)
    weights = weights.copy()
    scores = sum((w * data.features[:, f] for f, w in enumerate(weights)), np.zeros(len(data)))
    total = float(np.cumsum(judge.values(scores))[-1])
    for f in order:
        x = data.features[:, f].astype(np.float64)

        def value(t: float, x: F64 = x, scores: F64 = scores) -> float:
            return float(np.cumsum(judge.values(scores + t * x))[-1])

        base = 0.001 if weights[f] == 0 or 0.5 * abs(weights[f]) >= 0.001 else 0.05 * abs(weights[f])
        ladder = np.cumsum(base * 2.0 ** np.arange(steps))
        for ts in (ladder, -ladder, [-weights[f]] if weights[f] else []):
            values = [value(t) for t in ts]
            if values and max(values) > total:
                t = ts[int(np.argmax(values))]
                weights[f] = 0.0 if t == -weights[f] else weights[f] + t
                norm = np.abs(weights).sum()
                scores, weights = (scores + t * x) / norm, weights / norm
                total = float(np.cumsum(judge.values(scores))[-1])
                break
    return weights


@pytest.mark.parametrize("tool", ["official", "ranklib", "xgboost-", "catboost", "rankeval"])
@pytest.mark.parametrize("measure", ["NDCG@5", "MAP", "RR"])
def test_a_pass_equals_trying_every_step(measure: str, tool: str) -> None:
    for seed in range(3):
        data = coarse(seed, labels=2 if tool in ("catboost", "xgboost-") else 3)
        objective = Objective(data, measure, tool).require_native()
        columns = np.ascontiguousarray(data.features.T)
        order = list(np.random.default_rng(seed).permutation(4))
        weights = np.random.default_rng(seed).dirichlet(np.ones(4), 1)
        expected = plain_pass(data, order, weights[0], measure, tool, 12)
        every = np.arange(data.queries)
        scores, _ = rescore(objective, every, columns, weights)
        ascend(
            objective,
            every,
            columns,
            np.array([order], np.int32),
            weights,
            scores,
            steps=12,
            exact=False,
            nonneg=False,
        )
        assert weights[0] == pytest.approx(expected, abs=1e-12)


def test_long_lists_with_many_labels_equal_trying_every_step() -> None:
    rng = np.random.default_rng(3)
    results = [list(rng.integers(0, 5, 60)) for _ in range(6)]
    data = queries(results, rng.random((360, 3)))
    objective = Objective(data, "NDCG@10", "official").require_native()
    weights = np.full((1, 3), 1 / 3)
    expected = plain_pass(data, [2, 0, 1], weights[0], "NDCG@10", "official", 25)
    every, columns = np.arange(6), np.ascontiguousarray(data.features.T)
    scores, _ = rescore(objective, every, columns, weights)
    order = np.array([[2, 0, 1]], np.int32)
    ascend(objective, every, columns, order, weights, scores, steps=25, exact=False, nonneg=False)
    assert weights[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_search_finds_the_best_stretch_between_crossings(seed: int) -> None:
    data = coarse(seed)
    objective = Objective(data, "NDCG@5", "official").require_native()
    every, columns = np.arange(data.queries), np.ascontiguousarray(data.features.T)
    query = data.qid()
    for f in range(4):
        weights = np.random.default_rng(seed).dirichlet(np.ones(4), 1)
        scores, before = rescore(objective, every, columns, weights)
        held, x = scores[0].copy(), columns[f]
        crossings = {
            (held[i] - held[j]) / (x[j] - x[i])
            for i in range(len(x)) for j in range(i) if query[i] == query[j] and x[i] != x[j]
        }  # fmt: skip
        at = np.array(sorted(crossings))
        at = at[np.concatenate(([True], np.diff(at) > 1e-9))]
        middles = np.concatenate(([at[0] - 1], (at[1:] + at[:-1]) / 2, [at[-1] + 1]))
        best = max(np.cumsum(objective.values(held + t * x))[-1] for t in middles)
        order = np.array([[f]], np.int32)
        after = ascend(objective, every, columns, order, weights, scores, steps=1, exact=True, nonneg=False)
        assert after[0] == pytest.approx(max(best, before[0]), abs=1e-12)
        assert np.abs(weights).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("line", ["grid", "exact"])
@pytest.mark.parametrize("measure", ["NDCG@10", "MAP", "ERR@5", "P@3"])
def test_the_measure_never_falls(measure: str, line: str) -> None:
    data = plant_dataset(1, count=20, interaction=True)
    model = CoordinateAscent(measure=measure, line_search=line, tol=0.0, max_iter=4, **QUICK).fit(data)
    for climb in model.climbs_:
        assert all(after >= before for before, after in pairwise(climb))
    assert any(climb[-1] > climb[0] for climb in model.climbs_)


def without_relevant(data: Dataset, many: int) -> Dataset:
    """Return the data without relevant documents in the first queries."""
    labels = data.labels.copy()
    labels[: data.offsets[many]] = 0
    return Dataset(data.features, labels, data.offsets, data.query_ids)


def test_convention_without_effect() -> None:
    """§0.3: what empty queries count changes not a bit; "yahoo" and "ranklib" give one model."""
    train, valid = without_relevant(plant_dataset(2), 9), without_relevant(plant_dataset(3), 5)
    conventions: list[str | Convention] = ["yahoo", "ranklib"]
    conventions += [Convention(ties="input", empty=empty, ideal_source="list") for empty in (0.5, None)]
    fitted = [
        CoordinateAscent(convention=convention, **NDCG).fit(train, eval_set=valid).coef_.tobytes()
        for convention in conventions
    ]
    assert len(set(fitted)) == 1


def test_convention_with_effect() -> None:
    """§0.3: short lists that count 0 drop out of the objective."""
    rng = np.random.default_rng(4)
    labels = [list(rng.integers(0, 3, 4 if q % 2 else 9)) for q in range(30)]
    data = queries(labels, rng.random((sum(map(len, labels)), 4)))
    keep, zero = (
        CoordinateAscent(measure="NDCG@6", convention=Convention(short_lists=short), **QUICK).fit(data)
        for short in ("keep", "zero")
    )
    assert (keep.coef_ != zero.coef_).any()
    long = data.select(np.flatnonzero(np.diff(data.offsets) == 9))
    alone = CoordinateAscent(measure="NDCG@6", **QUICK).fit(long)
    assert alone.coef_.tobytes() == zero.coef_.tobytes()


def test_an_empty_query_changes_nothing() -> None:
    data = plant_dataset(5)
    for line in ("grid", "exact"):
        first, second = (
            CoordinateAscent(line_search=line, n_restarts=2, line_steps=15, max_iter=2).fit(d)
            for d in (data, with_empty(data))
        )
        assert first.coef_.tobytes() == second.coef_.tobytes()


def test_a_linear_ranking_is_learned_and_an_interaction_is_not() -> None:
    train, test = plant_dataset(6), plant_dataset(7)
    model = CoordinateAscent(**NDCG).fit(train)
    assert Objective(test, "NDCG@10", "official").mean(model.predict(test)) > 0.97
    assert model.coef_[0] > 0 > model.coef_[1]
    assert np.abs(model.coef_).sum() == pytest.approx(1.0)
    crossed = plant_dataset(6, interaction=True)
    assert Objective(crossed, "NDCG@5", "yahoo").mean(CoordinateAscent(**QUICK).fit(crossed).predict(crossed)) < 0.98


def test_weights_can_be_restricted_to_positive_values() -> None:
    for line in ("grid", "exact"):
        model = CoordinateAscent(positive=True, line_search=line, max_iter=3, **QUICK).fit(plant_dataset(6))
        assert (model.coef_ >= 0).all()


def test_validation_chooses_among_starts_and_passes() -> None:
    train, valid = plant_dataset(8, interaction=True), plant_dataset(9, interaction=True)
    model = CoordinateAscent(measure="NDCG@10", n_restarts=4, line_steps=10).fit(train, eval_set=valid)
    objective = Objective(valid, "NDCG@10", "official").require_native()
    varies = objective.varies()
    assert objective.values(model.predict(valid))[varies].mean() == pytest.approx(max(model.curve_))
    assert len({climb[0] for climb in model.climbs_}) > 1
    uniform = CoordinateAscent(n_restarts=3, init="uniform", line_steps=10).fit(train)
    assert len({climb[0] for climb in uniform.climbs_}) == 1


def test_the_model_file_and_the_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = plant_dataset(10, count=150)
    results = []
    for threads in ("1", "2", "4", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        results.append([
            CoordinateAscent(n_restarts=r, line_steps=10, max_iter=2, line_search=line).fit(data).coef_.tobytes()
            for r, line in ((1, "grid"), (3, "grid"), (1, "exact"))
        ])  # fmt: skip
    assert results[0] == results[1] == results[2] == results[3]
    first, second = (CoordinateAscent(n_restarts=2, line_steps=10, max_iter=2, seed=seed).fit(data) for seed in (1, 2))
    assert (first.coef_ != second.coef_).any()
    models.save(first, tmp_path / "m.json")
    assert models.load(tmp_path / "m.json").predict(data).tobytes() == first.predict(data).tobytes()


def test_a_stop_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def raise_interrupt(*arguments: Any, **settings: Any) -> F64:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return ascend(*arguments, **settings)

    monkeypatch.setattr("pippin.rankers.coordinate_ascent.ascend", raise_interrupt)
    with pytest.warns(UserWarning, match="the best weights so far are kept"):
        model = CoordinateAscent(tol=0.0, **QUICK).fit(plant_dataset(1))
    assert np.abs(model.coef_).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"line_search": "x"}, "line_search must be grid or exact"),
        ({"init": "x"}, "init must be random or uniform"),
        ({"n_restarts": 0}, "n_restarts must be at least 1"),
        ({"line_steps": 0}, "line_steps must be at least 1"),
    ],
)
def test_invalid_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        CoordinateAscent(**parameters).fit(plant_dataset(1))


def test_a_constant_measure_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="NDCG@10 is the same for every ranking"):
        model = CoordinateAscent().fit(queries([[1, 1], [2]], np.random.default_rng(1).random((3, 2))))
    assert model.coef_.tolist() == [0.5, 0.5]


def test_real_data(shared: Path) -> None:
    """A fold of MQ2008: better than its best single feature, and the measure rises from every start."""
    train, valid, test = fold(shared, "MQ2008", 1)
    model = CoordinateAscent(n_restarts=3).fit(train, eval_set=valid)
    assert Objective(test, "NDCG@10", "official").mean(model.predict(test)) > 0.47
    assert all(climb[-1] > climb[0] for climb in model.climbs_)
