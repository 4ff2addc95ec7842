"""Resampling kernels against NumPy and Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.kernels import native
from pippin.kernels import statistics as kernels

FloatArray = NDArray[np.float64]
MASK = (1 << 64) - 1


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def word(seed: int, purpose: int, index: int) -> int:
    key = mix((seed + mix(purpose)) & MASK)
    return mix((key + (index + 1) * 0x9E3779B97F4A7C15) & MASK)


def halves(seed: int, purpose: int, first: int, count: int) -> list[int]:
    """32-bit draws, the low half of each word first."""
    words = [word(seed, purpose, first + k // 2) for k in range(count)]
    return [w & 0xFFFFFFFF if k % 2 == 0 else w >> 32 for k, w in enumerate(words)]


def table(queries: int, systems: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).random((queries, systems))


def all_pairs(systems: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    first, second = np.triu_indices(systems, 1)
    return first.astype(np.int32), second.astype(np.int32)


def flips(
    values: FloatArray,
    thresholds: FloatArray,
    begin: int,
    end: int,
    *,
    seed: int = 5,
    exact: bool = False,
    two_sided: bool = True,
    workers: int = 1,
) -> NDArray[np.int64]:
    first, second = all_pairs(values.shape[1])
    counts = np.zeros(len(first), np.int64)
    kernels.count_sign_flips(
        values, first, second, thresholds, counts,
        begin=begin, end=end, seed=seed, exact=exact, two_sided=two_sided, workers=workers,
    )  # fmt: skip
    return counts


def slow_flips(values: FloatArray, thresholds: FloatArray, signs: list[FloatArray], two_sided: bool) -> list[int]:
    first, second = all_pairs(values.shape[1])
    counts = [0] * len(first)
    for sign in signs:
        sums = np.zeros(values.shape[1])
        for q, row in enumerate(values):
            sums = sums + sign[q] * row
        for p, (i, j) in enumerate(zip(first, second, strict=True)):
            reached = abs(sums[i] - sums[j]) if two_sided else sums[i] - sums[j]
            counts[p] += bool(reached >= thresholds[p])
    return counts


def random_signs(queries: int, seed: int, begin: int, end: int) -> list[FloatArray]:
    per_replicate = (queries + 63) // 64
    return [
        np.array([-1.0 if word(seed, 1, r * per_replicate + q // 64) >> (q % 64) & 1 else 1.0 for q in range(queries)])
        for r in range(begin, end)
    ]


@pytest.mark.parametrize("queries", [1, 2, 50, 64, 65, 130])
@pytest.mark.parametrize("two_sided", [True, False])
def test_sampled_sign_flips_equal_the_twin(queries: int, two_sided: bool) -> None:
    values = table(queries, 4)
    thresholds = np.full(6, 0.3 * np.sqrt(queries))
    signs = random_signs(queries, 5, 3, 40)
    expected = slow_flips(values, thresholds, signs, two_sided)
    assert flips(values, thresholds, 3, 40, two_sided=two_sided).tolist() == expected


@pytest.mark.parametrize("two_sided", [True, False])
def test_exact_sign_flips_enumerate_every_assignment(two_sided: bool) -> None:
    values = table(6, 3)
    thresholds = np.full(3, 0.7)
    signs = [np.array(s) for s in product([1.0, -1.0], repeat=6)]
    expected = slow_flips(values, thresholds, signs, two_sided)
    assert flips(values, thresholds, 0, 64, exact=True, two_sided=two_sided).tolist() == expected


@pytest.mark.parametrize("workers", [2, 3])
def test_threads_and_cuts_change_nothing(workers: int) -> None:
    values = table(50, 9)
    thresholds = np.full(36, 2.0)
    full = flips(values, thresholds, 0, 5001)
    assert flips(values, thresholds, 0, 5001, workers=workers).tolist() == full.tolist()
    parts = flips(values, thresholds, 0, 1234) + flips(values, thresholds, 1234, 5001, workers=workers)
    assert parts.tolist() == full.tolist()
    for kernel in (kernels.bootstrap_means, kernels.permuted_ranges):
        first = kernel(values, begin=0, end=3001, seed=9, workers=1)
        assert kernel(values, begin=0, end=3001, seed=9, workers=workers).tobytes() == first.tobytes()
        assert kernel(values, begin=1000, end=3001, seed=9, workers=workers).tobytes() == first[1000:].tobytes()


@pytest.mark.parametrize("queries", [1, 7, 50])
def test_bootstrap_means_equal_the_twin(queries: int) -> None:
    values = table(queries, 3)
    means = kernels.bootstrap_means(values, begin=2, end=9, seed=11, workers=1)
    for r, row in zip(range(2, 9), means, strict=True):
        sample = [d * queries >> 32 for d in halves(11, 2, r * ((queries + 1) // 2), queries)]
        np.testing.assert_allclose(row, values[sample].mean(axis=0), rtol=1e-13)


@pytest.mark.parametrize("systems", [1, 2, 3, 8])
def test_permuted_ranges_equal_the_twin(systems: int) -> None:
    values = table(5, systems)
    ranges = kernels.permuted_ranges(values, begin=1, end=20, seed=3, workers=1)
    per_query = systems // 2
    for r, value in zip(range(1, 20), ranges, strict=True):
        sums = np.zeros(systems)
        for q, source in enumerate(values):
            row = source.tolist()
            draws = halves(3, 3, r * per_query * 5 + q * per_query, systems - 1)
            for place, draw in zip(range(systems - 1, 0, -1), draws, strict=True):
                taken = draw * (place + 1) >> 32
                sums[place] += row[taken]
                row[taken] = row[place]
            sums[0] += row[0]
        assert value == sums.max() - sums.min()


def test_signs_and_draws_are_fair() -> None:
    values = np.eye(8)
    means = kernels.bootstrap_means(values, begin=0, end=20_000, seed=1)
    # A query's share of the draws is 1/8 on average; over 20 000 × 8 draws it has the standard error 0.0008.
    np.testing.assert_allclose(means.mean(axis=0), 1 / 8, atol=5 * 0.0008)
    counts = flips(np.array([[1.0, 0.0]]), np.array([0.5]), 0, 20_000, two_sided=False)
    assert abs(counts[0] / 20_000 - 0.5) < 5 * 0.5 / np.sqrt(20_000)


def test_wrong_arrays_are_refused() -> None:
    values = table(4, 3)
    first, second = all_pairs(3)
    counts = np.zeros(3, np.int64)

    def call(values: object = values, first: object = first, counts: object = counts, end: int = 4) -> None:
        native.count_sign_flips(values, first, second, np.zeros(3), True, False, 0, end, 0, 1, counts)  # type: ignore[arg-type]

    call()
    with pytest.raises(TypeError):
        call(values=values.astype(np.float32))
    with pytest.raises(TypeError):
        call(values=np.asfortranarray(values))
    with pytest.raises(TypeError):
        call(first=first.astype(np.int64))
    with pytest.raises(TypeError):
        call(counts=counts.astype(np.int32))
    with pytest.raises(ValueError, match="equally long"):
        call(counts=np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="outside the table"):
        call(first=np.array([0, 1, 3], np.int32))
    with pytest.raises(ValueError, match="end >= begin"):
        call(end=-1)
    with pytest.raises(ValueError, match="2\\^queries"):
        flips(values, np.zeros(3), 0, 17, exact=True)
    with pytest.raises(ValueError, match="at least one query"):
        kernels.bootstrap_means(np.empty((0, 2)), begin=0, end=1, seed=0)


def test_input_is_untouched() -> None:
    values = table(10, 4)
    before = values.copy()
    values.setflags(write=False)
    kernels.permuted_ranges(values, begin=0, end=10, seed=0)
    kernels.bootstrap_means(values, begin=0, end=10, seed=0)
    assert (values == before).all()
