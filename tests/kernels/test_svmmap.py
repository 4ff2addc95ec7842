"""The most violated ranking equals exhaustive search, and Frank-Wolfe never lowers its dual."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.kernels.optimisers import frank_wolfe_pass, most_violated

F64 = NDArray[np.float64]


def violation(ranking: tuple[int, ...], relevant: NDArray[np.uint8], scores: F64) -> float:
    """Δ(y) − w·(Ψ* − Ψ(y)) of one ranking, by the definition."""
    good, remaining = np.flatnonzero(relevant == 1), np.flatnonzero(relevant == 0)
    place = np.argsort(ranking)
    hits, precision = 0, 0.0
    for position, row in enumerate(ranking):
        if relevant[row]:
            hits += 1
            precision += hits / (position + 1)
    joint = sum((1 - (1 if place[i] < place[j] else -1)) * (scores[i] - scores[j]) for i in good for j in remaining)
    return 1 - precision / len(good) - float(joint) / (len(good) * len(remaining))


@pytest.mark.parametrize("seed", range(60))
def test_equals_exhaustive_search(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 8 if seed % 6 == 0 else 7))
    relevant = np.zeros(size, np.uint8)
    relevant[random.permutation(size)[: random.integers(1, size)]] = 1
    scores = random.normal(size=size) * random.choice([0.1, 1.0, 5.0])
    if seed % 3 == 0:
        scores = np.round(scores)  # ties
    losses, coefficients = most_violated(relevant, np.array([0, size]), scores)
    best = max(violation(order, relevant, scores) for order in permutations(range(size)))
    assert losses[0] - coefficients @ scores == pytest.approx(best, abs=1e-12)


def test_a_worked_query() -> None:
    """The first two others go to the top, the third to the end."""
    relevant = np.array([1, 1, 0, 0, 0], np.uint8)
    losses, coefficients = most_violated(relevant, np.array([0, 5]), np.array([0.20, 0.05, 0.15, 0.10, -0.30]))
    unit = 2 / (2 * 3)
    np.testing.assert_allclose(coefficients, np.array([2, 2, -2, -2, 0]) * unit)
    assert losses[0] == pytest.approx(1 - (1 / 3 + 2 / 4) / 2)


def test_a_long_query_equals_a_direct_search() -> None:
    """Place of each other document by the sum of δ over all places, for 400 documents."""
    random = np.random.default_rng(5)
    relevant = (random.random(400) < 0.3).astype(np.uint8)
    scores = random.normal(size=400) * 0.01
    losses, coefficients = most_violated(relevant, np.array([0, 400]), scores)
    good, remaining = -np.sort(-scores[relevant == 1]), -np.sort(-scores[relevant == 0])
    m, n = len(good), len(remaining)
    i = np.arange(1, m + 1)
    above = np.zeros(m)
    for j in range(1, n + 1):
        delta = (j / (j + i) - (j - 1) / (j + i - 1)) / m - 2 * (good - remaining[j - 1]) / (m * n)
        tails = np.append(np.cumsum(delta[::-1])[::-1], 0.0)
        above += i >= np.argmax(tails) + 1
    assert losses[0] == pytest.approx(1 - np.mean(i / (i + above)), abs=1e-12)
    order = np.argsort(-scores[relevant == 1], kind="stable")
    np.testing.assert_allclose(coefficients[relevant == 1][order], 2 * above / (m * n), atol=1e-12)


def test_frank_wolfe_never_lowers_the_dual() -> None:
    random = np.random.default_rng(2)
    features, relevant = random.normal(size=(60, 3)), np.tile(np.array([1, 0, 0, 1, 0, 0], np.uint8), 10)
    offsets, regularisation = np.arange(0, 61, 6), 0.1
    weights, blocks, losses = np.zeros(3), np.zeros((10, 3)), np.zeros(10)
    last = 0.0
    for q in np.tile(random.permutation(10), 5):
        frank_wolfe_pass(relevant, offsets, features, np.array([q]), regularisation, weights, blocks, losses)
        dual = float(losses.sum() - regularisation / 2 * weights @ weights)
        assert dual >= last - 1e-15
        last = dual
    np.testing.assert_allclose(weights, blocks.sum(axis=0), atol=1e-12)
    assert last > 0.3


def test_a_query_of_one_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="relevant and other"):
        most_violated(np.ones(3, np.uint8), np.array([0, 3]), np.zeros(3))
