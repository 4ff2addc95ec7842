"""Tails against SciPy's."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import special, stats

from pippin.kernels import tails

RNG = np.random.default_rng(7)


def test_students_tail_is_scipys() -> None:
    df = np.exp(RNG.uniform(0, np.log(1e6), 2000))
    t = RNG.normal(size=2000) * np.exp(RNG.uniform(-3, 2, 2000))
    np.testing.assert_allclose(tails.t_tail(t, df), stats.t.sf(t, df), rtol=1e-12)
    assert tails.t_tail([0.0, np.inf, -np.inf], 5).tolist() == [0.5, 0.0, 1.0]
    assert np.isnan(tails.t_tail([np.nan, 1.0], [3, 0])).all()


def test_students_point_is_scipys() -> None:
    df = np.exp(RNG.uniform(0, np.log(1e6), 1000))
    p = np.exp(RNG.uniform(-20, np.log(0.999), 1000))
    np.testing.assert_allclose(tails.t_point(p, df), stats.t.isf(p, df), rtol=1e-12, atol=1e-14)
    assert tails.t_point([0.0, 1.0], 5).tolist() == [np.inf, -np.inf]


def test_fishers_tail_is_scipys() -> None:
    df, error = RNG.integers(1, 300, 2000), RNG.integers(1, 300_000, 2000)
    f = np.exp(RNG.normal(size=2000) / 3)
    # SciPy's own F loses digits where 1 − x is small; the incomplete beta function beneath it does not.
    expected = special.betaincc(df / 2, error / 2, df * f / (error + df * f))
    np.testing.assert_allclose(expected, stats.f.sf(f, df, error), rtol=1e-9, atol=1e-30)
    seen = expected > 1e-10
    assert seen.sum() > 1000
    np.testing.assert_allclose(tails.f_tail(f, df, error)[seen], expected[seen], rtol=3e-12)


def test_the_coins_tail_is_scipys_and_where_it_is_short_exact() -> None:
    tosses = RNG.integers(1, 30_000, 2000)
    heads = np.clip(np.rint(tosses / 2 + np.sqrt(tosses) * RNG.normal(size=2000)), 0, tosses)
    np.testing.assert_allclose(tails.coin_tail(heads, tosses), stats.binom.sf(heads - 1, tosses, 0.5), rtol=1e-12)
    exact = [float(Fraction(sum(comb(20, i) for i in range(k, 21)), 2**20)) for k in range(22)]
    np.testing.assert_allclose(tails.coin_tail(np.arange(22), 20), exact, rtol=1e-14)


def test_the_normal_distribution_is_scipys() -> None:
    z = RNG.normal(size=1000) * 5
    np.testing.assert_allclose(tails.normal_below(z), special.ndtr(z), rtol=1e-12)
    p = np.exp(RNG.uniform(-300, 0, 1000))
    np.testing.assert_allclose(tails.normal_point(p), special.ndtri(p), rtol=1e-12, atol=1e-14)
    assert tails.normal_point([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0.0, np.inf]


@pytest.mark.parametrize("direction", [1, -1])
def test_the_power_of_a_test_is_scipys(direction: int) -> None:
    queries = np.rint(np.exp(RNG.uniform(np.log(2), np.log(1e5), 500)))
    shift, critical = direction * RNG.uniform(0, 8, 500), stats.t.isf(0.025, queries - 1)
    found = tails.noncentral_t_tail(critical, queries - 1, shift)
    # The lower tail of the mirrored distribution is SciPy's better side for negative shifts.
    expected = stats.nct.sf(critical, queries - 1, shift) if direction > 0 else stats.nct.cdf(
        -critical, queries - 1, -shift)  # fmt: skip
    known = ~np.isnan(expected)  # SciPy has no answer for some of the smallest tails
    assert known.sum() > 300
    np.testing.assert_allclose(found[known], expected[known], atol=1e-10, rtol=0)


@pytest.mark.parametrize(("systems", "df"), [(2, 1), (3, 5), (10, 200), (200, 20_000)])
def test_the_studentized_range_is_scipys(systems: int, df: int) -> None:
    q = np.array([0.0, 0.5, 2, 3.5, 5, 8, 20])
    expected = stats.studentized_range.sf(q, systems, df)
    np.testing.assert_allclose(tails.range_tail(q, systems, df), expected, atol=1e-8)
    point = stats.studentized_range.ppf(0.95, systems, df)
    np.testing.assert_allclose(tails.range_point(0.05, systems, df), point, rtol=1e-6)


def test_enormous_arguments_take_no_time() -> None:
    assert tails.range_tail(1e12, 5, 40).item() == pytest.approx(0, abs=1e-15)
    assert tails.noncentral_t_tail(1e12, 40, 3.0).item() == pytest.approx(0, abs=1e-15)
    assert tails.noncentral_t_tail(2.0, 40, 1000.0).item() == pytest.approx(1)
