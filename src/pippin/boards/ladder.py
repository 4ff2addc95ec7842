"""Which value of a submission is shown, so that the test set cannot be climbed?

The Ladder (Blum & Hardt 2015, “The Ladder: a reliable leaderboard for machine learning competitions”): a participant's
value is shown anew only where it is better than his best one by more than noise, and then rounded; else he learns that
it is not, and nothing more. Theirs without parameters takes the standard error of the paired differences for noise. A
small change has a small standard error, too: one in six changes that do nothing passes by luck, and ten thousand tries
climb all the same. So noise is here that standard error times √(2 ln(1 + k)) at the k-th submission, what the luckiest
of k tries would show, and never less than the board's step, to which values are rounded. `benchmarks/boards.py`
measures all of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pippin.kernels.tails import t_point

Values = NDArray[np.float64]
PLAIN = 1e-4  # the step where the Ladder is off


@dataclass(frozen=True)
class Decision:
    """What is shown of a submission: multiples of the step, or None where it is not shown."""

    released: bool
    value: float | None = None
    low: float | None = None
    high: float | None = None


def standard_error(values: Values) -> float:
    """The standard error of a mean over queries; those without a value do not count.

    >>> standard_error(np.array([0.0, 1.0, np.nan]))
    0.5
    """
    counted = values[~np.isnan(values)]
    return float(np.std(counted, ddof=1) / math.sqrt(len(counted))) if len(counted) > 1 else 0.0


def patience(submissions: int) -> float:
    """How many standard errors the luckiest of so many tries is ahead; at least one.

    >>> [round(patience(k), 2) for k in (1, 10, 100, 10_000)]
    [1.18, 2.19, 3.04, 4.29]
    """
    return max(1.0, math.sqrt(2.0 * math.log1p(submissions)))


def noise(values: Values, best: Values, submissions: int, step: float) -> float:
    """By how much a mean must be ahead of the best one to be shown, at the account's so-manieth submission."""
    return max(standard_error(values - best) * patience(submissions), step)


def board_step(one: Values, other: Values) -> float:
    """What the shown values of a board are multiples of: a quarter of the noise between two random orders, or less."""
    return step_below(standard_error(one - other) / 4)


def step_below(noise: float) -> float:
    """The largest of 1, 2, 5 · 10^k that is not above the noise, and not below 0.0001.

    >>> [step_below(x) for x in (0.037, 0.0071, 0.5, 0.0)]
    [0.02, 0.005, 0.5, 0.0001]
    """
    if noise < 1e-4:
        return 1e-4
    power = math.floor(math.log10(noise) + 1e-12)
    digit = next(d for d in (5, 2, 1) if d * 10.0**power <= noise * (1 + 1e-9))
    return float(f"{digit}e{power}")


def rounded(value: float, step: float) -> float:
    """The multiple of the step that is nearest.

    >>> rounded(0.4371, 0.02), rounded(0.4371, 0.0001)
    (0.44, 0.4371)
    """
    return float(f"{round(value / step) * step:.12g}")


def decide(
    mean: float, values: Values, best_mean: float, best: Values, submissions: int, step: float, on: bool = True
) -> Decision:
    """What is shown of a submission, from its values and those of the best one before (or of the random order)."""
    if math.isnan(mean) or (on and mean - best_mean <= noise(values, best, submissions, step)):
        return Decision(False)
    return Decision(True, rounded(mean, step), *_interval(mean, values, step))


def _interval(mean: float, values: Values, step: float) -> tuple[float, float]:
    """Student's 95 % interval of the mean, rounded outwards."""
    counted = int((~np.isnan(values)).sum())
    half = float(t_point(0.025, counted - 1)) * standard_error(values) if counted > 1 else 0.0
    low, high = math.floor((mean - half) / step) * step, math.ceil((mean + half) / step) * step
    return float(f"{max(0.0, low):.12g}"), float(f"{high:.12g}")
