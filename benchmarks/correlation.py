"""Measure the speed of rank correlation relative to the O(n²) definition and to SciPy.

python benchmarks/correlation.py [items]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from pippin import correlation

F64 = NDArray[np.float64]
Coefficient = Callable[[F64, F64], float]
REPEATS = 3


def seconds(coefficient: Callable[[F64, F64], object], x: F64, y: F64) -> float:
    """The best of a few runs, in seconds of the processor."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        coefficient(x, y)
        best = min(best, time.process_time() - start)
    return best


def all_pairs_tau_b(x: F64, y: F64) -> float:
    sx, sy = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
    return float((sx * sy).sum() / np.sqrt((sx != 0).sum() * (sy != 0).sum()))


def all_pairs_tau_ap_ties(x: F64, y: F64) -> float:
    above = y[:, None] > y
    pivots = above.any(axis=0)
    concordant = (above & (x[:, None] > x)).sum(axis=0)
    return float(2 * (concordant[pivots] / above.sum(axis=0)[pivots]).mean() - 1)


def rankings(n: int, tied: bool) -> tuple[F64, F64]:
    generator = np.random.default_rng(1)
    x = generator.random(n)
    y = x + generator.random(n) / 2
    return (np.round(x, 3), np.round(y, 3)) if tied else (x, y)


def against_all_pairs(n: int) -> None:
    x, y = rankings(n, tied=True)
    print(f"{n} items with ties, against all pairs in NumPy")
    slow: dict[str, Coefficient] = {"tau_b": all_pairs_tau_b, "tau_ap_ties": all_pairs_tau_ap_ties}
    for name, definition in slow.items():
        fast: Coefficient = getattr(correlation, name)
        difference = abs(fast(x, y) - definition(x, y))
        ratio = seconds(definition, x, y) / seconds(fast, x, y)
        print(f"  {name:18} {ratio:8.1f} times as fast, difference {difference:.1e}")


def against_scipy(n: int, tied: bool) -> None:
    x, y = rankings(n, tied)
    scipy_tau = seconds(scipy.stats.kendalltau, x, y)
    ties = "with" if tied else "without"
    print(f"{n} items {ties} ties, against scipy.stats.kendalltau ({scipy_tau:.2f} s)")
    for name in correlation.COEFFICIENTS:
        if not (tied and correlation.COEFFICIENTS[name].no_ties_in):
            took = seconds(getattr(correlation, name), x, y)
            print(f"  {name:18} {took:8.2f} s {scipy_tau / took:8.2f} times as fast")


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    against_all_pairs(min(n, 4000))
    against_scipy(n, tied=False)
    against_scipy(n, tied=True)


if __name__ == "__main__":
    main()
