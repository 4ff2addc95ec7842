"""Prediction-powered estimates: worked values and coverage of the intervals."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from pippin.errors import ConventionError, DataError
from pippin.evaluation.agreement import METHODS, ppi_mean, ppi_rows

Y, F = [0.5, 0.7, 0.2, 0.9], [0.6, 0.8, 0.4, 0.9]
MORE = [0.7, 0.5, 0.6, 0.9, 0.8, 0.4, 0.6, 0.7]


def test_the_worked_example_holds() -> None:
    ppi, plus, human = (ppi_mean(Y, F, MORE, method) for method in ("ppi", "ppi++", "human"))
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
    estimate = ppi_mean(y, f, more)
    assert estimate.weight == pytest.approx(weight)
    assert estimate.value == pytest.approx(mean(y) + weight * (mean(more) - mean(f)))
    remaining = [a - weight * b for a, b in zip(y, f, strict=True)]
    variance = weight**2 * sum((b - mean(more)) ** 2 for b in more) / (further - 1) / further
    variance += sum((a - mean(remaining)) ** 2 for a in remaining) / (n - 1) / n
    assert estimate.error == pytest.approx(math.sqrt(variance))


SIMULATION = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "powered.py"))
COVERED = {(what, method): dict(zip(METHODS, value, strict=True)) for what, method, value in SIMULATION["shares"]()}


def test_in_ten_thousand_draws_intervals_cover_as_often_as_they_say() -> None:
    assert SIMULATION["DRAWS"] == 10_000
    by_lot = {what: value for (what, method), value in COVERED.items() if method == "random"}
    assert {what.partition(",")[0] for what in by_lot} == {"mean", "difference"}
    for what, shares in by_lot.items():
        assert all(0.93 <= share <= 0.97 for share in shares.values()), (what, shares)


def test_intervals_fail_where_people_did_not_choose_by_lot() -> None:
    selected = {what: value for (what, method), value in COVERED.items() if method != "random"}
    assert set(selected) == {"mean", "difference"}
    for what, shares in selected.items():
        assert all(share < 0.5 for share in shares.values()), (what, shares)


def test_the_page_has_these_shares() -> None:
    page = (Path(__file__).parents[2] / "docs" / "holes.md").read_text()
    for (what, how), found in COVERED.items():
        output = next(line for line in page.splitlines() if line.startswith(f"| {what} | {how} |"))
        shares = [float(cell.rstrip("%")) / 100 for cell in output.split("|")[3:-1] for cell in [cell.strip()]]
        assert shares == pytest.approx(list(found.values()), abs=0.002), output  # other versions of NumPy draw alike


def test_informative_predictions_shorten_intervals_and_noise_does_not_widen_them() -> None:
    rng, sample = np.random.default_rng(9), SIMULATION["draw_values"]
    (y, f), (_, more) = sample(rng, 0.05, SIMULATION["HUMAN"]), sample(rng, 0.05, SIMULATION["FURTHER"])
    human, plus = (ppi_rows(y, f, more, method)[1].mean() for method in ("human", "ppi++"))
    assert plus < 0.6 * human
    guess = rng.random(f.shape)
    human, ppi, plus = (ppi_rows(y, guess, rng.random(more.shape), m)[1].mean() for m in METHODS)
    assert plus < 1.01 * human
    assert ppi > 1.2 * human


def test_propensities_that_cannot_be_estimated_are_refused() -> None:
    with pytest.raises(ConventionError, match="method must be one of"):
        ppi_mean(Y, F, MORE, "magic")
    with pytest.raises(ConventionError, match="level"):
        ppi_mean(Y, F, MORE, level=1.0)
    with pytest.raises(DataError, match="same queries"):
        ppi_mean(Y, F[:2], MORE)
    with pytest.raises(DataError, match="at least 2 queries with human labels"):
        ppi_mean(Y, F, MORE[:1])
    with pytest.raises(DataError, match="finite"):
        ppi_mean([*Y[:3], math.nan], F, MORE)
