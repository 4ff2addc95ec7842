"""Effect sizes and required numbers of queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pippin.errors import DataError
from pippin.evaluation.significance import cohen_dz, hedges_factor, power_of_t, queries_needed


def test_cohen_dz_is_mean_over_deviation() -> None:
    assert cohen_dz([1.0, 2.0, 3.0]) == 2 / 1
    assert math.isnan(cohen_dz([1.0, 1.0]))
    with pytest.raises(DataError, match="at least two"):
        cohen_dz([1.0])


def test_hedges_factor_by_hand() -> None:
    # df = 2: Γ(1)/(√1·Γ(1/2)) = 1/√π; for large df about 1 − 3/(4·df − 1).
    assert hedges_factor(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-14)
    assert hedges_factor(49) == pytest.approx(1 - 3 / (4 * 49 - 1), abs=1e-4)
    assert math.isnan(hedges_factor(1))


def test_published_sample_sizes() -> None:
    # Cohen's small, medium and large effect at 5 % and power 0.8: standard tables of the paired t-test.
    assert queries_needed([0.2, 0.5, 0.8]).tolist() == [199, 34, 15]
    assert queries_needed([0.2, 0.5, 0.8], two_sided=False).tolist() == [156, 27, 12]


def test_edges() -> None:
    needed = queries_needed([0.0, math.nan, 1e-9, 1e6, 3.0])
    assert math.isinf(needed[0])
    assert math.isnan(needed[1])
    assert needed[2] == pytest.approx((1.959964 + 0.841621) ** 2 * 1e18, rel=1e-5)
    assert needed[3:].tolist() == [2, 4]
    with pytest.raises(DataError, match="between 0 and 1"):
        queries_needed([0.1], power=1.0)


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.001, 0.95), (0.4, 0.3), (0.9, 0.1), (1e-9, 0.8)])
@pytest.mark.parametrize("two_sided", [True, False])
def test_it_is_the_first_number_with_that_power(alpha: float, power: float, two_sided: bool) -> None:
    effect = np.geomspace(0.01, 30, 200)
    n = queries_needed(effect, alpha=alpha, power=power, two_sided=two_sided)
    assert (power_of_t(effect, n, alpha=alpha, two_sided=two_sided) >= power).all()
    more = n > 2
    assert (power_of_t(effect[more], n[more] - 1, alpha=alpha, two_sided=two_sided) < power).all()


def test_power_agrees_with_simulation() -> None:
    rng = np.random.default_rng(0)
    d = rng.normal(0.4, 1.0, (20_000, 30))
    t = d.mean(axis=1) / (d.std(axis=1, ddof=1) / math.sqrt(30))
    result = float((np.abs(t) > 2.045229642132703).mean())
    assert float(power_of_t(0.4, 30)) == pytest.approx(result, abs=5 * math.sqrt(0.25 / 20_000))
