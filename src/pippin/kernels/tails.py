"""How do significance tests reach the tails of Student's t, Fisher's F, the binomial and the like?

Arguments are numbers or arrays that broadcast; the answer is float64 of the common shape, NaN where there is none. The
tests hold every function to SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.kernels import native

FloatArray = NDArray[np.float64]


def _each(function: Callable[..., None], *arguments: ArrayLike) -> FloatArray:
    """A native function of flat columns over arguments of any common shape."""
    columns = np.broadcast_arrays(*(np.asarray(argument, np.float64) for argument in arguments))
    out = np.empty(columns[0].shape)
    function(*(np.ascontiguousarray(column).ravel() for column in columns), out.reshape(-1))
    return out


def _scalars(function: Callable[[float], float], values: ArrayLike) -> FloatArray:
    given = np.asarray(values, np.float64)
    return np.array([function(value) for value in given.ravel().tolist()], np.float64).reshape(given.shape)


def t_tail(t: ArrayLike, df: ArrayLike) -> FloatArray:
    """P(T > t) of Student's t with df degrees of freedom.

    >>> t_tail([0.0, 1.0], 1).round(6).tolist()
    [0.5, 0.25]
    """
    return _each(native.t_tail, t, df)


def t_point(p: ArrayLike, df: ArrayLike) -> FloatArray:
    """The t that Student's T exceeds with probability p.

    >>> round(float(t_point(0.025, 30)), 6)
    2.042272
    """
    return _each(native.t_point, p, df)


def noncentral_t_tail(t: ArrayLike, df: ArrayLike, shift: ArrayLike) -> FloatArray:
    """P(T > t) of the noncentral t, whose numerator has the mean `shift`; P(T < t) is that of (−t, df, −shift)."""
    return _each(native.noncentral_t_tail, t, df, shift)


def range_tail(q: ArrayLike, systems: ArrayLike, df: ArrayLike) -> FloatArray:
    """P(Q > q) of the studentized range of so many systems with df degrees of freedom of the residual.

    >>> range_tail(3.5, 4, 20).round(6).tolist()
    0.094958
    """
    return _each(native.range_tail, q, systems, df)


def range_point(p: ArrayLike, systems: ArrayLike, df: ArrayLike) -> FloatArray:
    """The q that the studentized range exceeds with probability p."""
    return _each(native.range_point, p, systems, df)


def f_tail(f: ArrayLike, df: ArrayLike, df_error: ArrayLike) -> FloatArray:
    """P(F > f) of Fisher's F with df and df_error degrees of freedom."""
    free, error = np.asarray(df, np.float64), np.asarray(df_error, np.float64)
    above = free * np.asarray(f, np.float64)
    return _each(native.incomplete_beta, error / 2, free / 2, error / (error + above), above / (error + above))


def coin_tail(heads: ArrayLike, tosses: ArrayLike) -> FloatArray:
    """P(K >= heads) for K heads of a fair coin.

    >>> coin_tail([0, 1, 2, 3], 2).round(6).tolist()
    [1.0, 0.75, 0.25, 0.0]
    """
    wanted, number = np.broadcast_arrays(np.asarray(heads, np.float64), np.asarray(tosses, np.float64))
    inside = (wanted > 0) & (wanted <= number)
    found = np.where(wanted > number, 0.0, 1.0)
    found[inside] = _each(native.incomplete_beta, wanted[inside], (number - wanted + 1)[inside], 0.5, 0.5)
    return found


def normal_below(z: ArrayLike) -> FloatArray:
    """Φ(z), the share of a normal distribution below z."""
    return _scalars(lambda value: 0.5 * math.erfc(-value / math.sqrt(2)), z)


def normal_point(p: ArrayLike) -> FloatArray:
    """Φ⁻¹(p): the z below which a share p of a normal distribution lies."""
    from statistics import NormalDist

    usual = NormalDist()
    ends: dict[Any, float] = {0.0: -math.inf, 1.0: math.inf}
    return _scalars(lambda share: ends[share] if share in ends else usual.inv_cdf(share), p)
