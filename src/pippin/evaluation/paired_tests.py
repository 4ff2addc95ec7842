"""Paired significance tests, corrections for multiple tests, and two-way analysis of variance.

The analysis of variance without replication splits each value into a system effect, a query effect and a residual.
Tukey's honestly significant difference tests all pairs of systems against the residual, which bounds the probability of
any false finding among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.display import Displayable, rows_to_columns
from pippin.errors import ConventionError, DataError
from pippin.evaluation.value_table import ValueTable
from pippin.registry import Registry

FloatArray = NDArray[np.float64]
Correction = Callable[[FloatArray], FloatArray]

CORRECTIONS: Registry[Correction] = Registry("correction")


def adjust(p: ArrayLike, correction: str = "holm") -> FloatArray:
    """Return the adjusted p values of one family, in the order of the input.

    >>> [round(x, 6) for x in adjust([0.01, 0.04, 0.03], "holm").tolist()]
    [0.03, 0.06, 0.06]
    """
    method = CORRECTIONS[correction]
    values = np.array(p, dtype=np.float64)
    if values.ndim != 1:
        raise DataError(f"p values must have one dimension, got {values.ndim}")
    is_number = ~np.isnan(values)
    if ((values[is_number] < 0) | (values[is_number] > 1)).any():
        raise DataError("p values lie between 0 and 1")
    if is_number.any():
        values[is_number] = method(values[is_number])
    return values


def none(p: FloatArray) -> FloatArray:
    """Return p without a correction."""
    return p.copy()


def bonferroni(p: FloatArray) -> FloatArray:
    """min(1, m·p), m tests in the family. Bonferroni 1936; Dunn 1961."""
    return np.minimum(1.0, p * len(p))


def holm(p: FloatArray) -> FloatArray:
    """With p sorted ascending: max over j <= i of min(1, (m − j + 1)·p_j). Holm 1979."""
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """With p sorted ascending: min over j >= i of min(1, m·p_j/j). Benjamini and Hochberg 1995."""
    order = np.argsort(p, kind="stable")
    steps = p[order] * (len(p) / np.arange(1, len(p) + 1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    return adjusted


CORRECTIONS.register("none", none)
CORRECTIONS.register("bonferroni", bonferroni)
CORRECTIONS.register("holm", holm)
CORRECTIONS.register("benjamini-hochberg", benjamini_hochberg)
CORRECTIONS.register("bh", benjamini_hochberg)


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
class TestInput:
    """The input of a test: values [queries, systems], the pairs as columns, and options."""

    values: FloatArray
    first: IndexArray
    second: IndexArray
    alternative: Alternative = "two-sided"
    alpha: float = 0.05
    resamples: int | None = None
    seed: int = 0
    threads: int | None = None  # None: one per core; the result does not depend on it
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
        """Return, per pair, how far two sums over queries may differ by rounding alone."""
        size = np.abs(self.values).sum(axis=0)
        return np.asarray(TIE_SHARE * (size[self.first] + size[self.second]))

    @cached_property
    def spreads(self) -> FloatArray:
        """Standard deviation (n − 1) of the differences of each pair; 0 if all are equal up to rounding."""
        deviation = np.empty(len(self.first))
        scale = float(np.abs(self.values).max(initial=0.0))
        for part, d in self.differences():
            deviation[part] = spread(d, scale)
        return deviation

    def differences(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of the pairs with their differences [queries, pairs of the slice]."""
        step = max(1, CHUNK // max(1, self.queries))
        for start in range(0, len(self.first), step):
            part = slice(start, start + step)
            yield part, self.values[:, self.first[part]] - self.values[:, self.second[part]]


@dataclass(frozen=True)
class TestResult:
    """The result of a test, one entry per pair.

    `method` describes the computation. `reasons` says by pair why an answer is NaN or cannot be trusted.
    """

    statistic: FloatArray
    p: FloatArray
    method: str
    p_error: FloatArray | None = None
    interval: tuple[FloatArray, FloatArray] | None = None  # the test's own, if it has one
    resamples: int | None = None  # replicates of a sampled p
    reasons: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PairedTest:
    """A registered test: a name, one line of meaning, its source, and the function that runs it.

    `familywise` marks a test whose p values already account for all systems, so that no correction is added.
    """

    name: str
    summary: str
    source: str
    run: Callable[[TestInput], TestResult]
    familywise: bool = False


TESTS: Registry[PairedTest] = Registry("test", modules=("pippin.evaluation.resampling",))


def snap(differences: FloatArray, scale: float) -> FloatArray:
    """Round differences to a grid of about 1e-12 of the scale, so that ties and zeros are exact."""
    if scale == 0:
        return differences
    grid = 2.0 ** (np.ceil(np.log2(scale)) - 40)
    return np.asarray(np.rint(differences / grid) * grid)


def spread(differences: FloatArray, scale: float) -> FloatArray:
    """Return the standard deviation (n − 1) of each column; 0 if all differences are equal up to rounding."""
    deviation = differences.std(axis=0, ddof=1)
    return np.where(deviation <= TIE_SHARE * scale, 0.0, deviation)


def t_interval(design: TestInput) -> tuple[FloatArray, FloatArray]:
    """Return the two-sided interval of the mean difference: mean ± t(1 − α/2, n − 1)·sd/√n. Student 1908."""
    half = design.spreads * (t_quantile(design.alpha, design.queries) / np.sqrt(design.queries))
    mean = design.mean_differences
    return mean - half, mean + half


def t_quantile(alpha: float, queries: int) -> float:
    """Return the upper α/2 point of Student's t with ``queries − 1`` degrees of freedom."""
    from scipy.special import stdtrit

    return -float(stdtrit(queries - 1, alpha / 2))


def student_t(design: TestInput) -> TestResult:
    """Paired t = mean(d)/(sd(d)/√n), n − 1 degrees of freedom. Student 1908."""
    from scipy.special import stdtr

    statistic = np.full(len(design.first), np.nan)
    p = statistic.copy()
    reasons: dict[int, str] = {}
    scale = float(np.abs(design.values).max(initial=0.0))
    for part, d in design.differences():
        varies = design.spreads[part] > 0
        for k in np.flatnonzero(~varies):
            is_zero = abs(d[0, k]) <= TIE_SHARE * scale
            reasons[part.start + int(k)] = _constant_reason(0.0 if is_zero else float(d[0, k]), design)
        if varies.any():
            where = part.start + np.flatnonzero(varies)
            moving = d[:, varies]
            t = moving.mean(axis=0) / (moving.std(axis=0, ddof=1) / np.sqrt(design.queries))
            statistic[where], p[where] = (
                t,
                _p_of_statistic(t, lambda x: stdtr(design.queries - 1, -x), design.alternative),
            )
    return TestResult(statistic, p, f"paired t, {design.queries - 1} degrees of freedom", reasons=reasons)


def _constant_reason(difference: float, design: TestInput) -> str:
    """Return why t is undefined, with the p that the sign test and the randomisation test have in common.

    All queries have the same difference, so both count the same single assignment of signs: p = 2^−n in the direction
    of the difference.
    """
    if difference == 0:
        return f"t is undefined: all {design.queries} differences are zero"
    p = 0.5**design.queries
    if design.alternative == "two-sided":
        p *= 2
    elif (difference > 0) != (design.alternative == "greater"):
        p = 1.0
    amount = f"{difference:+.4g}".replace("-", "−")
    return (
        f"the difference is constant, {amount} for all {design.queries} queries, so t is undefined; the exact sign and "
        f"randomization tests give p = {p:.3g}"
    )


def _p_of_statistic(
    statistic: FloatArray, tail: Callable[[FloatArray], FloatArray], alternative: Alternative
) -> FloatArray:
    """Return p of a statistic with a symmetric distribution about 0, from its upper tail."""
    if alternative == "two-sided":
        return 2 * tail(np.abs(statistic))
    return tail(statistic if alternative == "greater" else -statistic)


def wilcoxon(design: TestInput) -> TestResult:
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
            compute_p = _exact_ranks if method == "exact" else _normal_ranks
            where = part.start + columns
            statistic[where], p[where] = compute_p(d[:, columns], design.alternative)
    return TestResult(statistic, p, "Wilcoxon signed ranks, zero differences left out", reasons=reasons)


def _wilcoxon_groups(d: FloatArray) -> list[tuple[NDArray[np.intp], str]]:
    """Return the columns by the method that computes their p."""
    n = d.shape[0]
    size = np.sort(np.abs(d), axis=0)
    empty = size[-1] == 0
    plain = (size[0] > 0) & (np.diff(size, axis=0) > 0).all(axis=0)
    exact = ~empty & ((plain & (n <= 50)) | (n <= 13))
    groups = [(empty, "none"), (exact, "exact"), (~empty & ~exact, "normal")]
    return [(np.flatnonzero(columns), method) for columns, method in groups if columns.any()]


def _exact_ranks(d: FloatArray, alternative: Alternative) -> tuple[FloatArray, FloatArray]:
    """Return statistic and p of every column over all assignments of signs to its ranks.

    The null distribution of the sum of positive ranks is built up rank by rank, in halves of a rank, which are whole
    numbers; columns with the same ranks share it.
    """
    ranks, _ = _signed_ranks(d)
    halves = np.rint(2 * ranks).astype(np.intp)
    positive = np.where(d > 0, halves, 0).sum(axis=0)
    sums_of_ranks: dict[bytes, FloatArray] = {}
    lower, upper = np.empty(d.shape[1]), np.empty(d.shape[1])
    for k, column in enumerate(np.sort(halves, axis=0).T):
        if (key := column.tobytes()) not in sums_of_ranks:
            sums_of_ranks[key] = _subset_sums(column[column > 0])
        sums = sums_of_ranks[key]
        lower[k], upper[k] = sums[: positive[k] + 1].sum() / sums.sum(), sums[positive[k] :].sum() / sums.sum()
    if alternative == "two-sided":
        return np.minimum(positive, halves.sum(axis=0) - positive) / 2, np.minimum(1.0, 2 * np.minimum(lower, upper))
    return positive / 2, upper if alternative == "greater" else lower


def _subset_sums(numbers: NDArray[np.intp]) -> FloatArray:
    """Return how many subsets have each sum."""
    sums = np.zeros(int(numbers.sum()) + 1)
    sums[0] = 1
    for number in numbers:
        sums[number:] += sums[:-number].copy()
    return sums


def _normal_ranks(d: FloatArray, alternative: Alternative) -> tuple[FloatArray, FloatArray]:
    """Return statistic and p by the normal limit: mean m(m + 1)/4, variance (m(m + 1)(2m + 1) − Σ(t³ − t)/2)/24.

    m is the number of differences that are not 0, t runs over the sizes of groups of tied ones.
    """
    from scipy.special import ndtr

    ranks, ties = _signed_ranks(d)
    m = (d != 0).sum(axis=0).astype(np.float64)
    positive = np.where(d > 0, ranks, 0.0).sum(axis=0)
    total = m * (m + 1) / 2
    z = (positive - total / 2) / np.sqrt((m * (m + 1) * (2 * m + 1) - ties / 2) / 24)
    p = _p_of_statistic(z, lambda x: ndtr(-x), alternative)
    return (np.minimum(positive, total - positive) if alternative == "two-sided" else positive), p


def _signed_ranks(d: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ranks of the sizes of differences by column, 0 for 0, and Σ(t³ − t) over groups of t ties."""
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


def sign(design: TestInput) -> TestResult:
    """Sign test: of the m queries that differ, `first` wins K; K is binomial(m, 1/2) by chance.

    Two-sided 2·P(K' <= min(K, m − K)), at most 1. Arbuthnot 1710.
    """
    from scipy.special import bdtrc

    wins = np.empty(len(design.first), np.int64)
    decided = wins.copy()
    scale = float(np.abs(design.values).max(initial=0.0))
    for part, raw in design.differences():
        d = snap(raw, scale)
        wins[part] = (d > 0).sum(axis=0)
        decided[part] = (d != 0).sum(axis=0)
    losses = decided - wins
    extreme = {"greater": wins, "less": losses, "two-sided": np.maximum(wins, losses)}[design.alternative]
    p = bdtrc(extreme - 1, decided, 0.5)  # P(K >= extreme)
    if design.alternative == "two-sided":
        p = np.minimum(1.0, 2 * p)
    empty = np.flatnonzero(decided == 0)
    p[empty] = np.nan
    reasons = {int(k): "no query has a non-zero difference" for k in empty}
    return TestResult(wins.astype(np.float64), p, "exact binomial over the queries that differ", reasons=reasons)


TESTS.register("t", PairedTest("t", "paired t-test", "Student 1908", student_t))
TESTS.register("wilcoxon", PairedTest("wilcoxon", "signed ranks of the differences", "Wilcoxon 1945", wilcoxon))
TESTS.register("sign", PairedTest("sign", "who wins more queries", "Arbuthnot 1710", sign))


# Each studentized range is a double integral (some 10 ms); for more distances than this a Chebyshev polynomial
# through this many plus one of its values stands in, within 1e-8 of it.
DIRECT_RANGES = 64
CHEBYSHEV_DEGREE = 96
# Smaller tails are 0.
NEGLIGIBLE_TAIL = 1e-9


@dataclass(frozen=True)
class AnovaRow:
    """One source of variation; F and p are NaN for the residual, or where the residual is zero."""

    source: str
    sum_of_squares: float
    df: int
    mean_square: float
    f: float
    p: float


@dataclass(frozen=True, repr=False)
class Anova(Displayable):
    """Table of a two-way analysis of variance."""

    systems: AnovaRow
    queries: AnovaRow
    residual: AnovaRow
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return a row per source of variation."""
        names = [field.name for field in fields(AnovaRow)]
        rows = (self.systems, self.queries, self.residual)
        return rows_to_columns([[getattr(row, name) for name in names] for row in rows], *names)


def anova(table: ValueTable) -> Anova:
    """Two-way analysis of variance, x_qs = μ + system_s + query_q + residual, one value per cell.

    SS_systems = n·Σ(mean_s − mean)², SS_queries = k·Σ(mean_q − mean)², the residual is what is left, with
    (n − 1)(k − 1) degrees of freedom; F = MS/MS_residual. Fisher 1925.

    >>> split = anova(ValueTable.from_arrays([[0.1, 0.4], [0.2, 0.3], [0.6, 0.8]]))
    >>> round(split.systems.f, 6), split.residual.df
    (12.0, 2)
    """
    n, k = table.values.shape
    if k < 2 or n < 2:
        raise DataError(f"an analysis of variance needs at least 2 systems and 2 queries, got {k} and {n}")
    from scipy.special import fdtrc

    squares, residual = _split(table.values)
    df_residual = (n - 1) * (k - 1)
    error = residual / df_residual

    def row(source: str, ss: float, df: int) -> AnovaRow:
        f = ss / df / error if error > 0 else float("nan")
        return AnovaRow(source, ss, df, ss / df, f, float(fdtrc(df, df_residual, f)))

    nothing = float("nan")
    return Anova(
        systems=row("systems", squares[0], k - 1),
        queries=row("queries", squares[1], n - 1),
        residual=AnovaRow("residual", residual, df_residual, error, nothing, nothing),
        reason="" if error > 0 else "F is undefined: systems and queries explain every value, so the residual is 0",
    )


def _split(values: FloatArray) -> tuple[tuple[float, float], float]:
    """Return the sums of squares of systems and queries, and of the residual; rounding noise counts as 0."""
    n, k = values.shape
    mean = values.mean()
    system = values.mean(axis=0) - mean
    query = values.mean(axis=1) - mean
    left = values - mean - system - query[:, None]
    residual = float((left**2).sum())
    if residual <= values.size * (TIE_SHARE * float(np.abs(values).max())) ** 2:
        residual = 0.0
    return (n * float((system**2).sum()), k * float((query**2).sum())), residual


def tukey(design: TestInput) -> TestResult:
    """Tukey's HSD over all systems of the table: q = |mean difference|/√(MS_residual/n).

    p is the upper tail of the studentized range of k systems with (n − 1)(k − 1) degrees of freedom
    (`scipy.stats.studentized_range`); the simultaneous interval is difference ± q(1 − α)·√(MS_residual/n).
    Against a baseline the family is still all pairs, which errs on the safe side. Tukey 1949; Kramer 1956.
    """
    if design.alternative != "two-sided":
        raise ConventionError("the test tukey is two-sided only: the studentized range is never negative")
    from scipy.stats import studentized_range

    n, k = design.values.shape
    df = (n - 1) * (k - 1)
    residual = _split(design.values)[1]
    difference = design.mean_differences
    method = f"Tukey HSD over {k} systems, {df} residual degrees of freedom"
    if residual == 0:
        reason = "the differences between systems are constant, so q is undefined; use the test sign or randomization"
        nothing = np.full(len(difference), np.nan)
        reasons = dict.fromkeys(range(len(difference)), reason)
        return TestResult(nothing, nothing, method, interval=(nothing, nothing), reasons=reasons)
    standard_error = np.sqrt(residual / df / n)
    q = np.abs(difference) / standard_error
    half = float(studentized_range.isf(design.alpha, k, df)) * standard_error
    return TestResult(q, _range_tail(q, k, df), method, interval=(difference - half, difference + half))


def _range_tail(q: FloatArray, k: int, df: int) -> FloatArray:
    """Return the upper tail of the studentized range at many distances."""
    from numpy.polynomial import Chebyshev
    from scipy.stats import studentized_range

    def range_tail(x: FloatArray | float) -> FloatArray:
        return np.asarray(studentized_range.sf(x, k, df))

    if len(q) <= DIRECT_RANGES:
        return range_tail(q)
    end = 10.0
    tail = float(range_tail(end))
    while tail > NEGLIGIBLE_TAIL:
        further = float(range_tail(end * 1.25))
        if further > tail / 2:  # no longer a tail but the noise of the integration
            break
        end, tail = end * 1.25, further
    near = q <= end
    curve = Chebyshev.interpolate(range_tail, CHEBYSHEV_DEGREE, [0.0, end])
    p = np.zeros(len(q))
    p[near] = np.clip(curve(q[near]), 0.0, 1.0)
    return p


TESTS.register(
    "tukey",
    PairedTest("tukey", "all systems by two-way ANOVA and Tukey's HSD", "Tukey 1949", tukey, familywise=True),
)
