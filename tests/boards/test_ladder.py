"""The Ladder: what is shown, and what is not."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pippin.boards.ladder import board_step, decide, margin_factor, standard_error

QUERIES = 100


def values(mean: float, seed: int = 1, spread: float = 0.3) -> NDArray[np.float64]:
    sample = np.random.default_rng(seed).normal(0, spread, QUERIES)
    return np.asarray(sample - sample.mean() + mean)


def test_a_value_is_shown_only_if_it_exceeds_the_margin() -> None:
    best, better = values(0.4), values(0.5, 2)
    noise = standard_error(better - best)
    decision = decide(0.5, better, 0.4, best, 1, 0.01)
    assert decision.is_shown == (noise * math.sqrt(2 * math.log(2)) < 0.1)
    assert decision.value == 0.5
    assert not decide(0.5, better, 0.4, best, 100_000, 0.01).is_shown, "the luckiest of many tries"
    assert not decide(0.4, best, 0.4, best, 1, 0.01).is_shown
    assert not decide(math.nan, np.full(QUERIES, np.nan), 0.4, best, 1, 0.01).is_shown


def test_a_change_below_the_step_is_not_shown() -> None:
    best = values(0.4)
    assert standard_error((best + 0.004) - best) < 1e-12
    assert not decide(0.404, best + 0.004, 0.4, best, 1, 0.005).is_shown
    assert decide(0.406, best + 0.006, 0.4, best, 1, 0.005).value == 0.405


def test_without_the_ladder_every_value_is_shown() -> None:
    best = values(0.4)
    assert decide(0.31234, best, 0.4, best, 9, 1e-4, ladder=False).value == 0.3123


def test_the_interval_contains_the_value() -> None:
    decision = decide(0.5, values(0.5), 0.1, values(0.1, 2), 1, 0.02)
    assert decision.low is not None
    assert decision.high is not None
    assert decision.low < 0.5 < decision.high
    assert math.isclose(decision.high / 0.02, round(decision.high / 0.02))


def test_the_margin_grows_and_steps_are_round_numbers() -> None:
    assert margin_factor(1) < margin_factor(2) < margin_factor(1000)
    assert board_step(values(0.3, 1), values(0.3, 2)) == 0.005
