"""Is the difference between two systems more than chance?

Each test answers for many pairs of systems at once, from the same table of per-query values, and is
registered by name where it is defined: here the classical ones, Student's t, Wilcoxon's signed ranks and the
sign test; the resampling ones live in `resampling`, Tukey's in `anova`. Where a test has no answer the p
value is NaN and a sentence says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pippin.kernels.tails import coin_tail, normal_below, t_point, t_tail
from pippin.registry import Registry

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int32]
Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")

# Sums over queries differ by rounding where exact arithmetic ties, and 0.3 − 0.2 is not 0.2 − 0.1.
# Differences below this share of the values' size count as none; printed measures are a million times
# coarser.
TIE_SHARE = 1e-11
# Most numbers held at once when differences are taken pair by pair.
CHUNK = 4_000_000


@dataclass(frozen=True)
class Design:
    """What a test is asked: values [queries, systems], the pairs as columns, and how to go about it."""

    values: FloatArray
    first: IndexArray
    second: IndexArray
    alternative: Alternative = "two-sided"
    alpha: float = 0.05
    samples: int | None = None
    seed: int = 0
    threads: int | None = None  # None: as many as there are cores; it changes no bit
    progress: Callable[[int, int], None] | None = None

    @property
    def queries(self) -> int:
        """Number of queries."""
        return int(self.values.shape[0])

    @property
    def mean_differences(self) -> FloatArray:
        """Mean of first minus mean of second, per pair."""
        means = self.values.mean(axis=0)
        return np.asarray(means[self.first] - means[self.second])

    def tie_tolerance(self) -> FloatArray:
        """Per pair, how far two sums over queries may differ and still be the same sum."""
        size = np.abs(self.values).sum(axis=0)
        return np.asarray(TIE_SHARE * (size[self.first] + size[self.second]))

    @cached_property
    def spreads(self) -> FloatArray:
        """Standard deviation (n − 1) of the differences of each pair; 0 where all are equal but for rounding."""
        deviation = np.empty(len(self.first))
        scale = float(np.abs(self.values).max(initial=0.0))
        for part, d in self.differences():
            deviation[part] = spread(d, scale)
        return deviation

    def differences(self) -> Iterator[tuple[slice, FloatArray]]:
        """Slices of the pairs with their differences [queries, pairs of the slice]."""
        step = max(1, CHUNK // max(1, self.queries))
        for start in range(0, len(self.first), step):
            part = slice(start, start + step)
            yield part, self.values[:, self.first[part]] - self.values[:, self.second[part]]


@dataclass(frozen=True)
class Outcome:
    """What a test answers, one entry per pair; `reasons`: why an answer is NaN, `method`: what was done."""

    statistic: FloatArray
    p: FloatArray
    method: str
    p_error: FloatArray | None = None
    interval: tuple[FloatArray, FloatArray] | None = None  # the test's own, if it has one
    samples: int | None = None  # how many replicates a sampled p rests on
    reasons: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PairTest:
    """A registered test: a name, one line of meaning, its source, and the function that runs it.

    `familywise` marks a test whose p values already account for all systems, so that no correction is added.
    """

    name: str
    summary: str
    source: str
    run: Callable[[Design], Outcome]
    familywise: bool = False


TESTS: Registry[PairTest] = Registry("test")


def snap(differences: FloatArray, scale: float) -> FloatArray:
    """Differences rounded to a grid of about 1e-12 of the scale, so that ties and zeros are seen as such."""
    if scale == 0:
        return differences
    grid = 2.0 ** (np.ceil(np.log2(scale)) - 40)
    return np.asarray(np.rint(differences / grid) * grid)


def spread(differences: FloatArray, scale: float) -> FloatArray:
    """Standard deviation (n − 1) of each column; 0 where all differences are equal but for rounding."""
    deviation = differences.std(axis=0, ddof=1)
    return np.where(deviation <= TIE_SHARE * scale, 0.0, deviation)


def t_interval(design: Design) -> tuple[FloatArray, FloatArray]:
    """Two-sided interval of the mean difference: mean ± t(1 − α/2, n − 1)·sd/√n. Student 1908."""
    half = design.spreads * (float(t_point(design.alpha / 2, design.queries - 1)) / np.sqrt(design.queries))
    mean = design.mean_differences
    return mean - half, mean + half


def student_t(design: Design) -> Outcome:
    """Paired t = mean(d)/(sd(d)/√n), n − 1 degrees of freedom. Student 1908."""
    statistic = np.full(len(design.first), np.nan)
    p = statistic.copy()
    reasons: dict[int, str] = {}
    scale = float(np.abs(design.values).max(initial=0.0))
    for part, d in design.differences():
        varies = design.spreads[part] > 0
        for k in np.flatnonzero(~varies):
            same = "zero" if abs(d[0, k]) <= TIE_SHARE * scale else "equal"
            reasons[part.start + int(k)] = f"t is undefined: all {design.queries} differences are {same}"
        if varies.any():
            where = part.start + np.flatnonzero(varies)
            moving = d[:, varies]
            t = moving.mean(axis=0) / (moving.std(axis=0, ddof=1) / np.sqrt(design.queries))
            statistic[where], p[where] = t, _sided(t, lambda x: t_tail(x, design.queries - 1), design.alternative)
    return Outcome(statistic, p, f"paired t, {design.queries - 1} degrees of freedom", reasons=reasons)


def _sided(statistic: FloatArray, tail: Callable[[FloatArray], FloatArray], alternative: Alternative) -> FloatArray:
    """p of a statistic that lies about 0 by chance, from the upper tail of its symmetric distribution."""
    if alternative == "two-sided":
        return 2 * tail(np.abs(statistic))
    return tail(statistic if alternative == "greater" else -statistic)


def wilcoxon(design: Design) -> Outcome:
    """Wilcoxon's signed ranks; zero differences are left out, tied ones share their mean rank.

    Exact for up to 50 queries without zeros and ties, and for up to 13 with them; otherwise normal with the tie
    correction and without continuity correction. The statistic is the smaller of the two rank sums, one-sided the sum
    of the positive ranks. Wilcoxon 1945.
    """
    statistic = np.full(len(design.first), np.nan)
    p = statistic.copy()
    reasons: dict[int, str] = {}
    scale = float(np.abs(design.values).max(initial=0.0))
    for part, raw in design.differences():
        d = snap(raw, scale)
        for columns, method in _wilcoxon_groups(d):
            if method == "none":
                reasons.update((part.start + int(k), "no query has a non-zero difference") for k in columns)
                continue
            judge = _exact_ranks if method == "exact" else _normal_ranks
            where = part.start + columns
            statistic[where], p[where] = judge(d[:, columns], design.alternative)
    return Outcome(statistic, p, "Wilcoxon signed ranks, zero differences left out", reasons=reasons)


def _wilcoxon_groups(d: FloatArray) -> list[tuple[NDArray[np.intp], str]]:
    """Columns by the way their p is found."""
    n = d.shape[0]
    size = np.sort(np.abs(d), axis=0)
    empty = size[-1] == 0
    plain = (size[0] > 0) & (np.diff(size, axis=0) > 0).all(axis=0)
    exact = ~empty & ((plain & (n <= 50)) | (n <= 13))
    groups = [(empty, "none"), (exact, "exact"), (~empty & ~exact, "normal")]
    return [(np.flatnonzero(columns), method) for columns, method in groups if columns.any()]


def _exact_ranks(d: FloatArray, alternative: Alternative) -> tuple[FloatArray, FloatArray]:
    """Statistic and p of every column over all assignments of signs to its ranks.

    The null distribution of the sum of positive ranks is built up rank by rank, in halves of a rank, which are whole
    numbers; columns with the same ranks share it.
    """
    ranks, _ = _signed_ranks(d)
    halves = np.rint(2 * ranks).astype(np.intp)
    positive = np.where(d > 0, halves, 0).sum(axis=0)
    known: dict[bytes, FloatArray] = {}
    lower, upper = np.empty(d.shape[1]), np.empty(d.shape[1])
    for k, column in enumerate(np.sort(halves, axis=0).T):
        if (key := column.tobytes()) not in known:
            known[key] = _subset_sums(column[column > 0])
        sums = known[key]
        lower[k], upper[k] = sums[: positive[k] + 1].sum() / sums.sum(), sums[positive[k] :].sum() / sums.sum()
    if alternative == "two-sided":
        return np.minimum(positive, halves.sum(axis=0) - positive) / 2, np.minimum(1.0, 2 * np.minimum(lower, upper))
    return positive / 2, upper if alternative == "greater" else lower


def _subset_sums(numbers: NDArray[np.intp]) -> FloatArray:
    """How many subsets have each sum."""
    sums = np.zeros(int(numbers.sum()) + 1)
    sums[0] = 1
    for number in numbers:
        sums[number:] += sums[:-number].copy()
    return sums


def _normal_ranks(d: FloatArray, alternative: Alternative) -> tuple[FloatArray, FloatArray]:
    """The same by the normal limit: mean m(m + 1)/4, variance (m(m + 1)(2m + 1) − Σ(t³ − t)/2)/24.

    m is the number of differences that are not 0, t runs over the sizes of groups of tied ones.
    """
    ranks, ties = _signed_ranks(d)
    m = (d != 0).sum(axis=0).astype(np.float64)
    positive = np.where(d > 0, ranks, 0.0).sum(axis=0)
    total = m * (m + 1) / 2
    z = (positive - total / 2) / np.sqrt((m * (m + 1) * (2 * m + 1) - ties / 2) / 24)
    p = _sided(z, lambda x: normal_below(-x), alternative)
    return (np.minimum(positive, total - positive) if alternative == "two-sided" else positive), p


def _signed_ranks(d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ranks of the sizes of each column's differences, 0 for those of 0, and Σ(t³ − t) over groups of t tied ones."""
    n = len(d)
    order = np.argsort(np.abs(d), axis=0, kind="stable")
    size = np.take_along_axis(np.abs(d), order, axis=0)
    place = np.broadcast_to(np.arange(n)[:, None], d.shape)
    new = np.ones(d.shape, bool)
    new[1:] = size[1:] != size[:-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=0)
    last = np.roll(new, -1, axis=0)
    last[-1] = True
    end = np.minimum.accumulate(np.where(last, place, n)[::-1], axis=0)[::-1]
    zeros = (size == 0).sum(axis=0)
    ranks = np.empty(d.shape)
    np.put_along_axis(ranks, order, np.where(size == 0, 0.0, (first + end) / 2 + 1 - zeros), axis=0)
    tied = np.where(size == 0, 1.0, end - first + 1.0)
    return ranks, np.asarray((tied**2 - 1).sum(axis=0))


def sign(design: Design) -> Outcome:
    """Sign test: of the m queries that differ, `first` wins K; K is binomial(m, 1/2) by chance.

    Two-sided 2·P(K' <= min(K, m − K)), at most 1. Arbuthnot 1710.
    """
    wins = np.empty(len(design.first))
    decided = wins.copy()
    scale = float(np.abs(design.values).max(initial=0.0))
    for part, raw in design.differences():
        d = snap(raw, scale)
        wins[part] = (d > 0).sum(axis=0)
        decided[part] = (d != 0).sum(axis=0)
    if design.alternative == "greater":
        p = coin_tail(wins, decided)
    elif design.alternative == "less":
        p = coin_tail(decided - wins, decided)
    else:
        p = np.minimum(1.0, 2 * coin_tail(np.maximum(wins, decided - wins), decided))
    empty = np.flatnonzero(decided == 0)
    p[empty] = np.nan
    reasons = {int(k): "no query has a non-zero difference" for k in empty}
    return Outcome(wins, p, "exact binomial over the queries that differ", reasons=reasons)


TESTS.register("t", PairTest("t", "paired t-test", "Student 1908", student_t))
TESTS.register("wilcoxon", PairTest("wilcoxon", "signed ranks of the differences", "Wilcoxon 1945", wilcoxon))
TESTS.register("sign", PairTest("sign", "who wins more queries", "Arbuthnot 1710", sign))
