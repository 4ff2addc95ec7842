"""Randomisation and bootstrap tests and intervals.

Fisher's test flips the sign of each query's difference. If all 2^n assignments are fewer than the resamples requested,
all are enumerated and p is exact; otherwise p = (1 + count)/(1 + resamples) with standard error √(p(1 − p)/resamples).
One draw of signs serves all pairs: the signed sums of the systems give every pair by one subtraction. Random bits
depend on seed and replicate only, and queries are taken in the order of their ids, so neither threads nor the order of
the input changes a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, DataError
from pippin.evaluation.paired_tests import CHUNK, TESTS, TIE_SHARE, PairedTest, TestInput, TestResult
from pippin.kernels import statistics as kernels

FloatArray = NDArray[np.float64]
IntervalKind = Literal["percentile", "bca"]

RANDOMIZATIONS = 100_000
RESAMPLES = 10_000
# Cells that one call of a kernel visits at most, so that a long test can report progress and be interrupted.
CELLS_A_CALL = 100_000_000


def randomization(design: TestInput) -> TestResult:
    """Fisher's paired randomisation test of the mean difference.

    p = share of sign assignments with |Σ s_q d_q| >= |Σ d_q| (one-sided without the bars), sums that differ
    by rounding alone counting as equal. Fisher 1935; Smucker, Allan and Carterette 2007.
    """
    resamples = _samples(design, RANDOMIZATIONS)
    n = design.queries
    exact = n < 63 and 2**n <= resamples
    flip = -1.0 if design.alternative == "less" else 1.0
    values = np.ascontiguousarray(flip * design.values)
    sums = values.sum(axis=0)
    observed = sums[design.first] - sums[design.second]
    two_sided = design.alternative == "two-sided"
    thresholds = (np.abs(observed) if two_sided else observed) - design.tie_tolerance()
    total = 2**n if exact else resamples
    counts = np.zeros(len(design.first), dtype=np.int64)
    for begin, end in _calls(design, total):
        kernels.count_sign_flips(
            values,
            design.first,
            design.second,
            thresholds,
            counts,
            begin=begin,
            end=end,
            seed=design.seed,
            exact=exact,
            two_sided=two_sided,
            workers=design.threads,
        )
    statistic = design.mean_differences
    if exact:
        return TestResult(statistic, counts / total, f"exact: all {total} sign assignments of {n} queries")
    p = (1 + counts) / (1 + resamples)
    method = f"Monte Carlo: {resamples} sign assignments, seed {design.seed}, shared by all pairs"
    return TestResult(statistic, p, method, monte_carlo_error(p, resamples), resamples=resamples)


def bootstrap(design: TestInput) -> TestResult:
    """Bootstrap test of the mean difference, the null made by shifting it to 0.

    With m the mean difference and m* that of n queries drawn with replacement, the same draw for every
    system: p = (1 + #{|m* − m| >= |m|})/(1 + samples), one-sided without the bars. The interval is BCa. Efron
    and Tibshirani 1993, section 16.4; Smucker, Allan and Carterette 2007.
    """
    resamples = _samples(design, RESAMPLES)
    means = bootstrap_means(design)
    observed = design.mean_differences
    tolerance = design.tie_tolerance() / design.queries
    counts = np.empty(len(observed))
    for part, samples in _pair_samples(design, means):
        shifted = samples - observed[part, None]
        limit = observed[part, None]
        slack = tolerance[part, None]
        if design.alternative == "greater":
            reached = shifted >= limit - slack
        elif design.alternative == "less":
            reached = shifted <= limit + slack
        else:
            reached = np.abs(shifted) >= np.abs(limit) - slack
        counts[part] = reached.sum(axis=1)
    p = (1 + counts) / (1 + resamples)
    method = f"bootstrap: {resamples} draws of queries, seed {design.seed}, shared by all pairs"
    bca = difference_intervals(design, "bca", means)
    constant = np.flatnonzero((design.spreads == 0) & (np.abs(observed) > tolerance))
    reasons = dict.fromkeys(
        constant.tolist(),
        f"the difference is the same for all {design.queries} queries, so resampling them cannot show how it varies; "
        "use the test sign or randomization",
    )
    return TestResult(observed, p, method, monte_carlo_error(p, resamples), bca, resamples, reasons)


def tukey_randomization(design: TestInput) -> TestResult:
    """Randomised Tukey HSD: permute the systems' values within each query and look at the largest difference.

    p = (1 + #{range* >= |Σ_q d_q|})/(1 + samples), range* = largest minus smallest sum of a permuted system,
    over all systems of the table: p bounds the probability of any false finding. Interval: difference ± upper
    α point of range*/n. Carterette 2012; Sakai 2018.
    """
    if design.alternative != "two-sided":
        raise ConventionError("tukey-randomization is two-sided only: the largest difference is never negative")
    resamples = _samples(design, RANDOMIZATIONS)
    ranges = np.concatenate(
        [
            kernels.permuted_ranges(design.values, begin=b, end=e, seed=design.seed, workers=design.threads)
            for b, e in _calls(design, resamples)
        ]
    )
    ranges.sort()
    sums = design.values.sum(axis=0)
    observed = np.abs(sums[design.first] - sums[design.second])
    below = np.searchsorted(ranges, observed - design.tie_tolerance(), side="left")
    p = (1 + resamples - below) / (1 + resamples)
    difference = design.mean_differences
    half = float(np.quantile(ranges, 1 - design.alpha)) / design.queries
    method = f"Monte Carlo: {resamples} permutations of the systems within queries, seed {design.seed}"
    error = monte_carlo_error(p, resamples)
    return TestResult(difference, p, method, error, (difference - half, difference + half), resamples)


def monte_carlo_error(p: FloatArray, resamples: int) -> FloatArray:
    """Return the standard error of a p value from independent samples: √(p(1 − p)/samples)."""
    return np.asarray(np.sqrt(p * (1 - p) / resamples))


def bootstrap_means(design: TestInput) -> FloatArray:
    """Return the means of every system over queries drawn with replacement: [samples, systems]."""
    parts = [
        kernels.bootstrap_means(design.values, begin=b, end=e, seed=design.seed, workers=design.threads)
        for b, e in _calls(design, _samples(design, RESAMPLES))
    ]
    return np.concatenate(parts)


def difference_intervals(
    design: TestInput, kind: IntervalKind, means: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the bootstrap interval of the difference of means, per pair, at level 1 − alpha."""
    if means is None:
        means = bootstrap_means(design)
    low = np.empty(len(design.first))
    high = low.copy()
    for part, samples in _pair_samples(design, means):
        d = design.values[:, design.first[part]] - design.values[:, design.second[part]]
        tolerance = design.tie_tolerance()[part] / design.queries
        low[part], high[part] = intervals(d, samples, design.alpha, kind, tolerance)
    return low, high


def mean_intervals(design: TestInput, kind: IntervalKind) -> tuple[FloatArray, FloatArray]:
    """Return the bootstrap interval of the mean of every system at level 1 − alpha."""
    samples = np.ascontiguousarray(bootstrap_means(design).T)
    tolerance = TIE_SHARE * np.abs(design.values).mean(axis=0)
    return intervals(design.values, samples, design.alpha, kind, tolerance)


def intervals(
    values: FloatArray, samples: FloatArray, alpha: float, kind: IntervalKind, tolerance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the interval of the mean of each column of `values` [n, k] from its bootstrap means [k, samples].

    Percentile: the α/2 and 1 − α/2 quantiles. BCa moves them to Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), z =
    Φ⁻¹(α/2) and Φ⁻¹(1 − α/2), with z₀ = Φ⁻¹(share of bootstrap means below the mean, ties half) and the
    jackknife acceleration of a mean, a = Σ(x − m)³/(6(Σ(x − m)²)^1.5). Efron 1987. A column without spread
    has the interval [m, m].
    """
    samples = np.sort(samples, axis=1)
    resamples = samples.shape[1]
    mean = values.mean(axis=0)
    levels = np.broadcast_to(np.array([[alpha / 2], [1 - alpha / 2]]), (2, len(mean)))
    if kind == "bca":
        from scipy.special import ndtr, ndtri

        centred = values - mean
        squares = (centred**2).sum(axis=0)
        flat = squares <= tolerance**2 * len(values)
        acceleration = (centred**3).sum(axis=0) / (6 * np.where(flat, 1.0, squares) ** 1.5)
        below = (samples < (mean - tolerance)[:, None]).sum(axis=1)
        upto = (samples <= (mean + tolerance)[:, None]).sum(axis=1)
        # Half a sample from either end keeps the bias finite when every resample falls on one side.
        bias = ndtri(np.clip((below + upto) / (2 * resamples), 0.5 / resamples, 1 - 0.5 / resamples))
        shifted = bias + ndtri(levels)
        levels = np.where(flat, levels, ndtr(bias + shifted / (1 - acceleration * shifted)))
    low, high = (_row_quantiles(samples, level) for level in levels)
    return low, high


def _row_quantiles(rows: FloatArray, level: FloatArray) -> FloatArray:
    """Return the quantile of each sorted row at its own level, interpolated linearly between order statistics."""
    place = np.clip(level, 0.0, 1.0) * (rows.shape[1] - 1)
    left = np.floor(place).astype(np.intp)
    right = np.minimum(left + 1, rows.shape[1] - 1)
    row = np.arange(len(rows))
    share = place - left
    return np.asarray(rows[row, left] * (1 - share) + rows[row, right] * share)


def _pair_samples(design: TestInput, means: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Slices of the pairs with the bootstrap differences of their means [pairs of the slice, samples]."""
    by_system = np.ascontiguousarray(means.T)
    step = max(1, CHUNK // max(len(means), design.queries))
    for start in range(0, len(design.first), step):
        part = slice(start, start + step)
        yield part, by_system[design.first[part]] - by_system[design.second[part]]


def _samples(design: TestInput, default: int) -> int:
    resamples = default if design.resamples is None else design.resamples
    if resamples < 1:
        raise DataError(f"a resampling test needs at least 1 sample, got {resamples}")
    return resamples


def _calls(design: TestInput, total: int) -> Iterator[tuple[int, int]]:
    """Cuts [0, total) into calls of the kernel and reports what is done after each."""
    step = max(4096, CELLS_A_CALL // design.values.size)
    report: Callable[[int, int], None] = design.progress or (lambda done, all_: None)
    for begin in range(0, total, step):
        end = min(begin + step, total)
        yield begin, end
        report(end, total)


TESTS.register(
    "randomization",
    PairedTest("randomization", "flip the signs of the differences", "Fisher 1935", randomization),
)
TESTS.register(
    "bootstrap",
    PairedTest("bootstrap", "draw queries with replacement", "Efron and Tibshirani 1993", bootstrap),
)
TESTS.register(
    "tukey-randomization",
    PairedTest(
        "tukey-randomization",
        "permute systems within queries, largest difference",
        "Carterette 2012",
        tukey_randomization,
        familywise=True,
    ),
)
