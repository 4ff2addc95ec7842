"""Measure how often the 95 % intervals of prediction-powered estimates contain the true value.

    python benchmarks/powered.py

10,000 times, people label 40 queries, a generous and noisy model these and 200 more: random values like NDCG, for
the mean of a system and for the difference of two. Then people label the better half of 80 queries instead, where the
model errs less: the intervals are as narrow, and wrong. `tests/evaluation/test_powered.py` holds these shares.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from pippin.evaluation.agreement import METHODS, ppi_rows

DRAWS, HUMAN, FURTHER = 10_000, 40, 200
MEAN = 2.0 / 3.5  # of the values below
F64 = NDArray[np.float64]
Sample = tuple[
    F64, F64, F64, float
]  # under people's labels, the model's for the same and for further queries; the truth


def draw_values(rng: np.random.Generator, noise: float, count: int) -> tuple[F64, F64]:
    """Values under people's labels, and under those of a model."""
    y = rng.beta(2.0, 1.5, (DRAWS, count))
    return y, np.clip(0.15 + 0.8 * y + rng.normal(0, noise, y.shape), 0, 1)


def mean_at_random(noise: float) -> Sample:
    """Draw a random sample of queries for human labels, for one system."""
    rng = np.random.default_rng(7)
    (y, f), (_, more) = draw_values(rng, noise, HUMAN), draw_values(rng, noise, FURTHER)
    return y, f, more, MEAN


def difference_at_random(noise: float) -> Sample:
    """Two systems, people's queries at random."""
    rng = np.random.default_rng(8)
    parts = []
    for count in (HUMAN, FURTHER):
        (y1, f1), (y2, f2) = draw_values(rng, noise, count), draw_values(rng, noise, count)
        parts.append((0.9 * y1 - 0.8 * y2, f1 - f2))
    (y, f), (_, more) = parts
    return y, f, more, 0.1 * MEAN


def _easy(y: F64, f: F64) -> tuple[F64, F64, F64]:
    """Of 80 queries those 40 on which a system does best, and all further ones."""
    order = np.argsort(-y[:, : 2 * HUMAN], axis=1)[:, :HUMAN]
    return np.take_along_axis(y, order, 1), np.take_along_axis(f, order, 1), f[:, 2 * HUMAN :]


def mean_of_easy() -> Sample:
    """Choose the queries with the best values for human labels, for one system."""
    rng = np.random.default_rng(10)
    y = rng.beta(2.0, 1.5, (DRAWS, 2 * HUMAN + FURTHER))
    return *_easy(y, np.clip(0.3 + 0.6 * y + rng.normal(0, 0.1, y.shape), 0, 1)), MEAN


def difference_of_easy() -> Sample:
    """Two systems, and people chose the queries on which the first beats the second most."""
    rng = np.random.default_rng(11)
    first, second = (rng.beta(2.0, 1.5, (DRAWS, 2 * HUMAN + FURTHER)) for _ in range(2))
    y = 0.9 * first - 0.8 * second
    return *_easy(y, 0.6 * y + rng.normal(0, 0.1, y.shape)), 0.1 * MEAN


def measure_coverage(sample: Sample, method: str) -> float:
    """Return the share of 95 % intervals that contain the true value."""
    y, f, more, truth = sample
    value, error, _, freedom = ppi_rows(y, f, more, method)
    return float((np.abs(value - truth) <= -stdtrit(freedom, 0.025) * error).mean())


def shares() -> Iterator[tuple[str, str, list[float]]]:
    """What is estimated, how people's queries were chosen, and how often each method's interval holds."""
    for what, how, sample in (
        ("mean, a model with few errors", "random", mean_at_random(0.05)),
        ("mean, a model with many errors", "random", mean_at_random(0.3)),
        ("difference", "random", difference_at_random(0.1)),
        ("mean", "the easy half", mean_of_easy()),
        ("difference", "the half that favours the first", difference_of_easy()),
    ):
        yield what, how, [measure_coverage(sample, method) for method in METHODS]


def main() -> None:
    """Prints the table of docs/holes.md."""
    print(f"| estimate | people's queries | {' | '.join(METHODS)} |")
    print("|---|---|" + "---:|" * len(METHODS))
    for what, method, value in shares():
        print(f"| {what} | {method} | {' | '.join(f'{share:.1%}' for share in value)} |")


if __name__ == "__main__":
    main()
