"""How large is a difference, and how many queries would show it?

A p value mixes the size of a difference with the number of queries. Here are the two apart: standardised
effect sizes of a paired difference, and the number of queries at which a paired t-test would find a
difference of that size with a given power.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.errors import DataError
from pippin.kernels.tails import noncentral_t_tail, normal_point, t_point

FloatArray = NDArray[np.float64]

# Beyond this many queries Student's t is normal to six digits and the noncentral t only costs time.
NORMAL_FROM = 1_000_000
# A noncentrality above this makes any test certain; the tail integrals need not be asked.
LARGEST_NONCENTRALITY = 1000.0


def cohen_dz(differences: ArrayLike) -> float:
    """Cohen's d_z of paired differences: mean(d)/sd(d), sd with n − 1. Cohen 1988, section 2.3.5.

    NaN where sd is 0.

    >>> cohen_dz([1.0, 2.0, 3.0])
    2.0
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise DataError("an effect size needs the differences of at least two queries")
    deviation = float(d.std(ddof=1))
    return float(d.mean()) / deviation if deviation > 0 else float("nan")


def hedges_factor(df: int) -> float:
    """Hedges' small-sample factor J = Γ(df/2)/(√(df/2)·Γ((df − 1)/2)).

    g_z = J·d_z is nearly free of bias. Undefined (NaN) for one degree of freedom. Hedges 1981, with the df =
    n − 1 of a paired design.
    """
    if df < 2:
        return float("nan")
    return float(math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2))


def power_of_t(effect: ArrayLike, n: ArrayLike, *, alpha: float = 0.05, two_sided: bool = True) -> FloatArray:
    """Probability that a paired t-test on n queries finds a true effect d_z.

    With T noncentral t, df = n − 1 and noncentrality d_z·√n: P(T > c) + P(T < −c) for c the upper α/2 point
    of t; one-sided P(T > c) for c the upper α point.

    >>> [round(float(x), 4) for x in power_of_t([0.5], [34])]
    [0.8078]
    """
    size = np.asarray(n, dtype=np.float64)
    shift = np.minimum(np.asarray(effect, dtype=np.float64) * np.sqrt(size), LARGEST_NONCENTRALITY)
    critical = t_point(alpha / 2 if two_sided else alpha, size - 1)
    power = noncentral_t_tail(critical, size - 1, shift)
    if two_sided:
        power = power + noncentral_t_tail(critical, size - 1, -shift)
    return power


def queries_needed(effect: ArrayLike, *, alpha: float = 0.05, power: float = 0.8, two_sided: bool = True) -> FloatArray:
    """Smallest n >= 2 at which a paired t-test has the wanted power for effects d_z > 0.

    ∞ for an effect of 0, NaN for NaN. Solves `power_of_t(d_z, n) >= power`; above a million queries by the
    normal limit ((z_α + z_power)/d_z)².

    >>> queries_needed([0.2, 0.5, 0.8, 0.0]).tolist()
    [199.0, 34.0, 15.0, inf]
    """
    if not (0 < alpha < 1 and 0 < power < 1):
        raise DataError(f"alpha and power lie between 0 and 1, not {alpha} and {power}")
    d = np.atleast_1d(np.asarray(effect, dtype=np.float64))
    needed = np.where(np.isnan(d), np.nan, np.inf)
    reach = -float(normal_point(alpha / 2 if two_sided else alpha) + normal_point(1 - power))
    with np.errstate(divide="ignore", over="ignore"):
        rough = np.where(d > 0, np.ceil((max(reach, 0.0) / np.abs(d)) ** 2), np.inf)
    far = (d > 0) & (rough >= NORMAL_FROM)
    needed[far] = rough[far]
    near = np.flatnonzero((d > 0) & ~far)
    if len(near):
        needed[near] = _first_with_power(d[near], rough[near], alpha, power, two_sided)
    return needed


def _first_with_power(d: FloatArray, rough: FloatArray, alpha: float, power: float, two_sided: bool) -> FloatArray:
    """Bisection from a bracket around the normal approximation, which errs by a few queries only."""

    def enough(which: NDArray[np.intp], n: FloatArray) -> NDArray[np.bool_]:
        return power_of_t(d[which], n, alpha=alpha, two_sided=two_sided) >= power

    low = np.maximum(rough - 2, 1)  # too few
    high = np.maximum(rough + 6, 4)  # enough
    checked = np.flatnonzero(low > 1)
    low[checked[enough(checked, low[checked])]] = 1
    short = np.arange(len(d))
    while len(short := short[~enough(short, high[short])]):
        low[short] = high[short]
        high[short] *= 2
    while len(open_ := np.flatnonzero(high - low > 1)):
        middle = np.floor((low[open_] + high[open_]) / 2)
        reached = enough(open_, middle)
        high[open_[reached]] = middle[reached]
        low[open_[~reached]] = middle[~reached]
    return high
