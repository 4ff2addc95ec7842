"""Pair sums by order statistics equal the sums over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.kernels.losses import Pairs, grade_labels

F64 = NDArray[np.float64]


def all_pairs(data: Pairs, scores: F64, power: int) -> tuple[float, F64, F64]:
    """Value, gradient and second derivative by the definition."""
    value, gradient, second = 0.0, np.zeros(len(scores)), np.zeros((len(scores), len(scores)))
    for q, weight in enumerate(data.weights):
        rows = range(data.offsets[q], data.offsets[q + 1])
        for i in rows:
            for j in rows:
                lack = 1 - scores[i] + scores[j]
                if data.levels[i] > data.levels[j] and lack > 0:
                    value += weight * lack**power
                    slope = weight * power * lack ** (power - 1)
                    gradient[i] -= slope
                    gradient[j] += slope
                    direction = np.zeros(len(scores))
                    direction[i], direction[j] = 1, -1
                    second += 2 * weight * np.outer(direction, direction)
    return value, gradient, second


def draw_pairs(seed: int, top: int, grain: float | None) -> tuple[Pairs, F64]:
    random = np.random.default_rng(seed)
    sizes = np.array([0, 1, 2, 9, 30, 5])
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    labels = random.integers(0, top + 1, offsets[-1]).astype(np.int32)
    labels[-5:] = 3  # a query of one label
    scores = random.normal(size=len(labels)) * 2
    if grain is not None:  # ties, and margins of exactly 1
        scores = np.round(scores / grain) * grain
    return Pairs(grade_labels(labels, offsets)[0], offsets, random.uniform(0.5, 2, len(sizes))), scores


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("top", [1, 2, 40])
@pytest.mark.parametrize("grain", [None, 0.5, 100.0])
def test_equals_the_sum_over_all_pairs(seed: int, top: int, grain: float | None) -> None:
    data, scores = draw_pairs(seed, top, grain)
    for squared in (False, True):
        result = data.loss(scores, squared=squared)
        value, gradient, second = all_pairs(data, scores, 2 if squared else 1)
        assert result.value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(result.gradient, gradient, rtol=1e-11, atol=1e-10)
    rows = np.random.default_rng(seed).normal(size=(len(scores), 3))
    np.testing.assert_allclose(data.product(scores, result.order, rows), second @ rows, rtol=1e-11, atol=1e-10)


def test_gradient_equals_finite_differences() -> None:
    data, scores = draw_pairs(7, 3, None)
    gradient = data.loss(scores, squared=True).gradient
    for i in range(len(scores)):
        nudge = np.zeros(len(scores))
        nudge[i] = 1e-6
        rise = data.loss(scores + nudge, squared=True).value - data.loss(scores - nudge, squared=True).value
        assert gradient[i] == pytest.approx(rise / 2e-6, abs=1e-5)


def test_a_worked_query() -> None:
    offsets = np.array([0, 4])
    levels, counts = grade_labels(np.array([2, 0, 1, 1], np.int32), offsets)
    data, scores = Pairs(levels, offsets, np.ones(1)), np.array([0.3, -0.1, 0.5, 0.0])
    lacks = [1 - 0.3 - 0.1, 1 - 0.3 + 0.5, 1 - 0.3 + 0.0, 1 - 0.5 - 0.1, 1 - 0.0 - 0.1]
    assert counts.tolist() == [5.0]
    hinge, squared = data.loss(scores, squared=False), data.loss(scores, squared=True)
    assert hinge.value == pytest.approx(sum(lacks)) == pytest.approx(3.8)
    assert hinge.gradient.tolist() == [-3, 3, 0, 0]
    assert squared.value == pytest.approx(sum(z**2 for z in lacks)) == pytest.approx(3.26)
    np.testing.assert_allclose(squared.gradient, [-5, 3.8, 1.6, -0.4], atol=1e-12)


def test_levels_are_labels_without_gaps_and_pairs_are_counted() -> None:
    labels = np.array([5, 0, 5, 70, 1, 1, 9], np.int32)
    levels, counts = grade_labels(labels, np.array([0, 4, 4, 6, 7]))
    assert levels.tolist() == [1, 0, 1, 2, 0, 0, 0]
    assert counts.tolist() == [5, 0, 0, 0]


def test_far_scores_keep_their_digits() -> None:
    data, scores = draw_pairs(1, 2, None)
    near, far = data.loss(scores, squared=True), data.loss(scores + 2.0**20, squared=True)
    assert far.value == pytest.approx(near.value, rel=1e-8)


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    offsets = np.arange(0, 30_001, 30)
    data = Pairs(random.integers(0, 4, 30_000).astype(np.int32), offsets, np.ones(1000))
    scores, rows = random.normal(size=30_000), random.normal(size=(30_000, 2))
    results = []
    for count in ("1", "2"):
        monkeypatch.setenv("PIPPIN_THREADS", count)
        loss = data.loss(scores, squared=True)
        results.append((loss.value, loss.gradient.tobytes(), data.product(scores, loss.order, rows).tobytes()))
    assert results[0] == results[1]


def test_other_types_and_lengths_are_refused() -> None:
    data, scores = draw_pairs(0, 2, None)
    with pytest.raises(TypeError):
        data.loss(scores.astype(np.float32), squared=True)
    with pytest.raises(ValueError, match="one item per document"):
        data.loss(scores[:-1], squared=True)
