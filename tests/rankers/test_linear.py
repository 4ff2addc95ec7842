"""Optimality conditions of the quadratic problem, and line search at kinks."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.rankers.linear import line_search, maximize_capped


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("cap", [1e-4, 1.0, 1e4])
def test_optimality_conditions(seed: int, cap: float) -> None:
    """No share can gain by taking from another, nor from what is unused."""
    random = np.random.default_rng(seed)
    size, rank = int(random.integers(1, 25)), int(random.integers(1, 6))
    planes = random.normal(size=(size, rank))
    gram, linear = planes @ planes.T, random.normal(size=size)  # singular where size > rank
    result = maximize_capped(gram, linear, cap)
    assert (result >= 0).all()
    assert result.sum() <= cap * (1 + 1e-12)
    gains = linear - gram @ result
    unused = cap - result.sum() > 1e-9 * cap
    price = 0.0 if unused else max(0.0, float(gains[result > 1e-9 * cap].min()))
    scale = 1 + cap * np.diag(gram).max()
    assert gains.max() <= price + 1e-9 * scale
    np.testing.assert_allclose(gains[result > 1e-9 * cap], price, atol=1e-9 * scale)


def test_a_repeated_plane_and_a_warm_start() -> None:
    gram, linear = np.ones((3, 3)), np.array([1.0, 1.0, 0.5])
    result = maximize_capped(gram, linear, 10.0, np.array([0.3, 0.2]))
    assert result[:2].sum() == pytest.approx(1.0)
    assert result[2] == pytest.approx(0.0, abs=1e-9)


def test_line_search_finds_the_zero_of_a_slope() -> None:
    for zero in (1e-3, 0.7, 1.0, 90.0):
        result = line_search(lambda t, zero=zero: (t - zero) ** 3 + t - zero, -(zero**3) - zero, 1e-9)  # type: ignore[misc]
        assert result == pytest.approx(zero, rel=1e-6)


def test_line_search_stops_before_a_kink() -> None:
    result = line_search(lambda t: -1.0 if t < 0.3 else 2.0, -1.0, 1e-2, width=1e-6)
    assert 0.3 * (1 - 2e-6) <= result < 0.3
