"""The Ladder: what is shown, and what is not."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pippin.boards.ladder import board_step, decide, patience, standard_error

QUERIES = 100


def values(mean: float, seed: int = 1, spread: float = 0.3) -> NDArray[np.float64]:
    drawn = np.random.default_rng(seed).normal(0, spread, QUERIES)
    return np.asarray(drawn - drawn.mean() + mean)


def test_only_what_is_ahead_by_more_than_noise_is_shown() -> None:
    best, better = values(0.4), values(0.5, 2)
    noise = standard_error(better - best)
    shown = decide(0.5, better, 0.4, best, 1, 0.01)
    assert shown.released == (noise * math.sqrt(2 * math.log(2)) < 0.1)
    assert shown.value == 0.5
    assert not decide(0.5, better, 0.4, best, 100_000, 0.01).released, "the luckiest of many tries"
    assert not decide(0.4, best, 0.4, best, 1, 0.01).released
    assert not decide(math.nan, np.full(QUERIES, np.nan), 0.4, best, 1, 0.01).released


def test_a_small_change_is_not_shown_however_sure_it_is() -> None:
    best = values(0.4)
    assert standard_error((best + 0.004) - best) < 1e-12
    assert not decide(0.404, best + 0.004, 0.4, best, 1, 0.005).released
    assert decide(0.406, best + 0.006, 0.4, best, 1, 0.005).value == 0.405


def test_off_everything_is_shown() -> None:
    best = values(0.4)
    assert decide(0.31234, best, 0.4, best, 9, 1e-4, on=False).value == 0.3123


def test_the_interval_holds_the_value() -> None:
    shown = decide(0.5, values(0.5), 0.1, values(0.1, 2), 1, 0.02)
    assert shown.low is not None
    assert shown.high is not None
    assert shown.low < 0.5 < shown.high
    assert math.isclose(shown.high / 0.02, round(shown.high / 0.02))


def test_noise_grows_with_tries_and_steps_are_readable() -> None:
    assert patience(1) < patience(2) < patience(1000)
    assert board_step(values(0.3, 1), values(0.3, 2)) == 0.005
