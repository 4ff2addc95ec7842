"""How much of a gap is closed, and how sure is a mean? Query by query, with 95 % intervals that draw queries anew."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pippin.kernels.significance import bootstrap_means

F64 = NDArray[np.float64]
_SAMPLES = 2000  # of a bootstrap over queries


class Share(NamedTuple):
    """The part of a gap that is closed, with its 95 % interval."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.share:.0%} ({self.low:.0%} … {self.high:.0%})"


def interval(values: F64) -> tuple[float, float]:
    """The 95 % interval of a mean over queries."""
    drawn = np.sort(np.asarray(_drawn(values[:, None])).ravel())
    return float(drawn[int(0.025 * _SAMPLES)]), float(drawn[int(0.975 * _SAMPLES)])


def difference(ahead: F64) -> str:
    """A mean difference with its interval.

    >>> difference(np.array([0.1, 0.1]))
    '+0.1000 (+0.1000 … +0.1000)'
    """
    low, high = interval(ahead)
    return f"{ahead.mean():+.4f} ({low:+.4f} … {high:+.4f})"


def chance(p: float) -> str:
    """A p as tables show it.

    >>> chance(0.0123), chance(0.0001), chance(float("nan"))
    ('0.012', '<0.001', '')
    """
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _drawn(rows: F64) -> F64:
    return bootstrap_means(np.ascontiguousarray(rows), begin=0, end=_SAMPLES, seed=1)


def closed(line: F64, low: F64, high: F64) -> Share:
    """(line − low) / (high − low) of the means over queries; the interval draws queries anew.

    A query without a value on one of the three is left out.

    >>> two = np.array([0.5, 0.5])
    >>> str(closed(two + [0.05, 0.05], two, two + [0.1, 0.1]))
    '50% (50% … 50%)'
    """
    rows = np.stack((line - low, high - low), axis=1)
    rows = rows[~np.isnan(rows).any(axis=1)]
    drawn, whole = _drawn(rows), rows.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # a draw without any gap
        least, most = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
        return Share(float(whole[0] / whole[1]), float(least), float(most))
