"""Prediction-powered estimates: worked values, and how often their intervals contain the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.errors import ConventionError, DataError
from pippin.evaluation.powered import METHODS, powered, powered_rows
from pippin.kernels.tails import t_point

Y, F = [0.5, 0.7, 0.2, 0.9], [0.6, 0.8, 0.4, 0.9]
MORE = [0.7, 0.5, 0.6, 0.9, 0.8, 0.4, 0.6, 0.7]
DRAWS, HUMAN, FURTHER = 10_000, 40, 200


def test_the_worked_example_holds() -> None:
    ppi, plus, human = (powered(Y, F, MORE, method) for method in ("ppi", "ppi++", "human"))
    assert (ppi.value, ppi.error) == pytest.approx((0.55, 0.069864), abs=5e-7)
    assert human.value == pytest.approx(0.575)
    assert plus.weight == 1.0  # 1.4667, cut
    assert plus.value == ppi.value
    assert ppi.low < ppi.value < ppi.high


def test_the_weight_is_that_of_its_formula() -> None:
    rng = np.random.default_rng(1)
    y, more = rng.random(20).tolist(), rng.random(50).tolist()
    f = [0.3 * value + 0.5 * rng.random() for value in y]
    every, n, further = [*f, *more], len(y), len(more)

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    together = sum((a - mean(y)) * (b - mean(f)) for a, b in zip(y, f, strict=True)) / (n - 1)
    spread = sum((b - mean(every)) ** 2 for b in every) / (len(every) - 1)
    weight = together / ((1 + n / further) * spread)
    assert 0 < weight < 1
    found = powered(y, f, more)
    assert found.weight == pytest.approx(weight)
    assert found.value == pytest.approx(mean(y) + weight * (mean(more) - mean(f)))
    rest = [a - weight * b for a, b in zip(y, f, strict=True)]
    variance = weight**2 * sum((b - mean(more)) ** 2 for b in more) / (further - 1) / further
    variance += sum((a - mean(rest)) ** 2 for a in rest) / (n - 1) / n
    assert found.error == pytest.approx(math.sqrt(variance))


def covered(
    y: NDArray[np.float64], f: NDArray[np.float64], more: NDArray[np.float64], method: str, truth: float
) -> float:
    """How often 95 % intervals contain the truth."""
    value, error, _, freedom = powered_rows(y, f, more, method)
    return float((np.abs(value - truth) <= t_point(0.025, freedom) * error).mean())


def drawn(rng: np.random.Generator, noise: float, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of NDCG's kind under human labels, and under those of a generous and noisy model."""
    y = rng.beta(2.0, 1.5, (DRAWS, count))
    return y, np.clip(0.15 + 0.8 * y + rng.normal(0, noise, y.shape), 0, 1)


@pytest.mark.parametrize("noise", [0.05, 0.3])
@pytest.mark.parametrize("method", METHODS)
def test_intervals_cover_as_often_as_they_say(method: str, noise: float) -> None:
    rng = np.random.default_rng(7)
    (y, f), (_, more) = drawn(rng, noise, HUMAN), drawn(rng, noise, FURTHER)
    assert 0.93 <= covered(y, f, more, method, 2.0 / 3.5) <= 0.97


@pytest.mark.parametrize("method", ["ppi", "ppi++"])
def test_intervals_of_a_difference_cover_too(method: str) -> None:
    rng = np.random.default_rng(8)
    parts = []
    for count in (HUMAN, FURTHER):
        (y1, f1), (y2, f2) = drawn(rng, 0.1, count), drawn(rng, 0.1, count)
        parts.append((0.9 * y1 - 0.8 * y2, f1 - f2))
    (y, f), (_, more) = parts
    assert 0.93 <= covered(y, f, more, method, 0.1 * 2.0 / 3.5) <= 0.97


def test_a_model_that_knows_something_makes_intervals_shorter_and_one_that_does_not_costs_nothing() -> None:
    rng = np.random.default_rng(9)
    (y, f), (_, more) = drawn(rng, 0.05, HUMAN), drawn(rng, 0.05, FURTHER)
    human, plus = (powered_rows(y, f, more, method)[1].mean() for method in ("human", "ppi++"))
    assert plus < 0.6 * human
    guess = rng.random(f.shape)
    human, ppi, plus = (powered_rows(y, guess, rng.random(more.shape), m)[1].mean() for m in METHODS)
    assert plus < 1.01 * human
    assert ppi > 1.2 * human


@pytest.mark.parametrize("method", ["ppi", "ppi++"])
def test_intervals_fail_where_people_judged_the_easy_queries(method: str) -> None:
    """People judged the half of the queries on which systems do best, and the model errs more on the others."""
    rng = np.random.default_rng(10)
    y = rng.beta(2.0, 1.5, (DRAWS, 2 * HUMAN + FURTHER))
    f = np.clip(0.3 + 0.6 * y + rng.normal(0, 0.1, y.shape), 0, 1)
    order = np.argsort(-y[:, : 2 * HUMAN], axis=1)[:, :HUMAN]
    easy, theirs = np.take_along_axis(y, order, 1), np.take_along_axis(f, order, 1)
    assert covered(easy, theirs, f[:, 2 * HUMAN :], method, 2.0 / 3.5) < 0.5


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(ConventionError, match="method is one of"):
        powered(Y, F, MORE, "magic")
    with pytest.raises(ConventionError, match="level"):
        powered(Y, F, MORE, level=1.0)
    with pytest.raises(DataError, match="same queries"):
        powered(Y, F[:2], MORE)
    with pytest.raises(DataError, match="2 queries or more"):
        powered(Y, F, MORE[:1])
    with pytest.raises(DataError, match="finite"):
        powered([*Y[:3], math.nan], F, MORE)
