"""The Ladder: show a value only if it improves on the account's best by more than chance.

Without it, a participant who submits often learns the test set from the leaderboard (Blum & Hardt 2015, "The Ladder: a
reliable leaderboard for machine learning competitions"). Their parameter-free rule (their Algorithm 2) takes the
standard error of the paired differences as the margin. A small change has a small standard error, so one in six useless
changes passes by chance, and ten thousand submissions still climb. The margin here is that standard error times
√(2 ln(1 + k)) at the account's k-th submission, the expected maximum of k random tries, and at least the board's step,
to which values are rounded. `benchmarks/boards.py` compares the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
MIN_STEP = 1e-4  # smallest step; also the step of boards without the Ladder


@dataclass(frozen=True)
class Decision:
    """Whether a submission's value is shown; value and interval are multiples of the step, or None."""

    is_shown: bool
    value: float | None = None
    low: float | None = None
    high: float | None = None


def standard_error(values: Values) -> float:
    """Return the standard error of a mean over queries; NaN values are ignored.

    >>> standard_error(np.array([0.0, 1.0, np.nan]))
    0.5
    """
    valid = values[~np.isnan(values)]
    return float(np.std(valid, ddof=1) / math.sqrt(len(valid))) if len(valid) > 1 else 0.0


def margin_factor(submissions: int) -> float:
    """Return the number of standard errors that the best of `submissions` random tries is ahead, at least one.

    >>> [round(margin_factor(k), 2) for k in (1, 10, 100, 10_000)]
    [1.18, 2.19, 3.04, 4.29]
    """
    return max(1.0, math.sqrt(2.0 * math.log1p(submissions)))


def margin(values: Values, best: Values, submissions: int, step: float) -> float:
    """Return by how much a mean must exceed the best one to be shown, at the account's n-th submission."""
    return max(standard_error(values - best) * margin_factor(submissions), step)


def board_step(first: Values, second: Values) -> float:
    """Return the step of a board's values: a quarter of the standard error between two random orders, rounded down."""
    return round_step_down(standard_error(first - second) / 4)


def round_step_down(step: float) -> float:
    """Return the largest of 1, 2, 5 · 10^k that is at most `step`, and at least MIN_STEP.

    >>> [round_step_down(x) for x in (0.037, 0.0071, 0.5, 0.0)]
    [0.02, 0.005, 0.5, 0.0001]
    """
    if step < MIN_STEP:
        return MIN_STEP
    power = math.floor(math.log10(step) + 1e-12)
    digit = next(d for d in (5, 2, 1) if d * 10.0**power <= step * (1 + 1e-9))
    return float(f"{digit}e{power}")


def round_to_step(value: float, step: float) -> float:
    """Return the nearest multiple of the step.

    >>> round_to_step(0.4371, 0.02), round_to_step(0.4371, 0.0001)
    (0.44, 0.4371)
    """
    return float(f"{round(value / step) * step:.12g}")


def decide(
    mean: float, values: Values, best_mean: float, best: Values, submissions: int, step: float, ladder: bool = True
) -> Decision:
    """Decide whether a mean is shown; `best` are the values of the account's best submission, or of a random order."""
    if math.isnan(mean) or (ladder and mean - best_mean <= margin(values, best, submissions, step)):
        return Decision(False)
    return Decision(True, round_to_step(mean, step), *_interval(mean, values, step))


def _interval(mean: float, values: Values, step: float) -> tuple[float, float]:
    """Return Student's 95 % interval of the mean, rounded outwards to the step."""
    from scipy.special import stdtrit

    count = int((~np.isnan(values)).sum())
    half = -float(stdtrit(count - 1, 0.025)) * standard_error(values) if count > 1 else 0.0
    low, high = math.floor((mean - half) / step) * step, math.ceil((mean + half) / step) * step
    return float(f"{max(0.0, low):.12g}"), float(f"{high:.12g}")
