"""Test differences between systems, with intervals, effect sizes and the number of queries needed.

`compare_systems` runs one registered test over all pairs of systems, or all against a baseline, on values per query,
and corrects the p values as one family. `system_intervals` gives the confidence interval of each mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.display import Plottable, rows_to_columns
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation import paired_tests, resampling
from pippin.evaluation.paired_tests import (
    ALTERNATIVES,
    CORRECTIONS,
    TESTS,
    Alternative,
    PairedTest,
    TestInput,
    TestResult,
    adjust,
)
from pippin.evaluation.value_table import ValueTable

FloatArray = NDArray[np.float64]

# Beyond this many queries Student's t is normal to six digits and the noncentral t only costs time.
NORMAL_FROM = 1_000_000
# A noncentrality above this makes every test certain, without computing tail integrals.
LARGEST_NONCENTRALITY = 1000.0


def cohen_dz(differences: ArrayLike) -> float:
    """Return Cohen's d_z of paired differences: mean(d)/sd(d), sd with n − 1. Cohen 1988, section 2.3.5.

    NaN where sd is 0.

    >>> cohen_dz([1.0, 2.0, 3.0])
    2.0
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or len(d) < 2:
        raise DataError("an effect size needs the differences of at least two queries")
    deviation = float(d.std(ddof=1))
    return float(d.mean()) / deviation if deviation > 0 else float("nan")


def hedges_factor(df: int) -> float:
    """Return Hedges' small-sample factor J = Γ(df/2)/(√(df/2)·Γ((df − 1)/2)).

    g_z = J·d_z is nearly free of bias. Undefined (NaN) for one degree of freedom. Hedges 1981, with the df =
    n − 1 of a paired design.
    """
    if df < 2:
        return float("nan")
    return float(math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2))


def power_of_t(effect: ArrayLike, n: ArrayLike, *, alpha: float = 0.05, two_sided: bool = True) -> FloatArray:
    """Return the probability that a paired t-test on n queries detects a true effect d_z.

    With T noncentral t, df = n − 1 and noncentrality d_z·√n: P(T > c) + P(T < −c) for c the upper α/2 point
    of t; one-sided P(T > c) for c the upper α point.

    >>> [round(float(x), 4) for x in power_of_t([0.5], [34])]
    [0.8078]
    """
    from scipy.special import nctdtr, stdtrit

    size = np.asarray(n, dtype=np.float64)
    shift = np.minimum(np.asarray(effect, dtype=np.float64) * np.sqrt(size), LARGEST_NONCENTRALITY)
    lower_critical = stdtrit(size - 1, alpha / 2 if two_sided else alpha)
    # P(T > c) is the lower tail of the mirrored distribution, which keeps its digits where it is small.
    power: FloatArray = nctdtr(size - 1, -shift, lower_critical)
    if two_sided:
        power = power + np.nan_to_num(nctdtr(size - 1, shift, lower_critical))  # SciPy: NaN for negligible tails
    return power


def queries_needed(effect: ArrayLike, *, alpha: float = 0.05, power: float = 0.8, two_sided: bool = True) -> FloatArray:
    """Return the smallest n >= 2 at which a paired t-test has the required power for effects d_z > 0.

    ∞ for an effect of 0, NaN for NaN. Solves `power_of_t(d_z, n) >= power`; above a million queries by the
    normal limit ((z_α + z_power)/d_z)².

    >>> queries_needed([0.2, 0.5, 0.8, 0.0]).tolist()
    [199.0, 34.0, 15.0, inf]
    """
    if not (0 < alpha < 1 and 0 < power < 1):
        raise DataError(f"alpha and power must be between 0 and 1, got {alpha} and {power}")
    from scipy.special import ndtri

    d = np.atleast_1d(np.asarray(effect, dtype=np.float64))
    needed = np.where(np.isnan(d), np.nan, np.inf)
    reach = -float(ndtri(alpha / 2 if two_sided else alpha) + ndtri(1 - power))
    with np.errstate(divide="ignore", over="ignore"):
        rough = np.where(d > 0, np.ceil((max(reach, 0.0) / np.abs(d)) ** 2), np.inf)
    far = (d > 0) & (rough >= NORMAL_FROM)
    needed[far] = rough[far]
    near = np.flatnonzero((d > 0) & ~far)
    if len(near):
        needed[near] = _first_with_power(d[near], rough[near], alpha, power, two_sided)
    return needed


def _first_with_power(d: FloatArray, rough: FloatArray, alpha: float, power: float, two_sided: bool) -> FloatArray:
    """Bisection from a bracket around the normal approximation, which errs by a few queries only."""

    def enough(which: NDArray[np.intp], n: FloatArray) -> NDArray[np.bool_]:
        return power_of_t(d[which], n, alpha=alpha, two_sided=two_sided) >= power

    low = np.maximum(rough - 2, 1)  # too few
    high = np.maximum(rough + 6, 4)  # enough
    checked = np.flatnonzero(low > 1)
    low[checked[enough(checked, low[checked])]] = 1
    short = np.arange(len(d))
    while len(short := short[~enough(short, high[short])]):
        low[short] = high[short]
        high[short] *= 2
    while len(open_ := np.flatnonzero(high - low > 1)):
        middle = np.floor((low[open_] + high[open_]) / 2)
        reached = enough(open_, middle)
        high[open_[reached]] = middle[reached]
        low[open_[~reached]] = middle[~reached]
    return high


Interval = Literal["t", "percentile", "bca"]
INTERVALS: tuple[Interval, ...] = ("t", "percentile", "bca")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class PairResult:
    """The test of a pair of systems; all numbers are about `a` minus `b`."""

    a: str
    b: str
    n: int  # queries
    difference: float  # mean of a − mean of b
    statistic: float  # of the test; see its docstring
    p: float  # NaN, with a reason, if the test is undefined
    p_error: float | None  # standard error of a sampled p; None if p is exact
    p_adjusted: float  # p after the correction for the family
    low: float  # two-sided confidence interval of the difference, level 1 − alpha
    high: float
    effect: float  # Cohen's d_z = mean(d)/sd(d)
    hedges: float  # d_z times Hedges' small-sample factor
    queries_needed: int | None  # for a t-test to detect this effect; None: infinite, or not computed
    reason: str = ""  # why a number is NaN


@dataclass(frozen=True)
class MeanInterval:
    """A system's mean over queries with its two-sided confidence interval."""

    system: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseTests(Plottable):
    """The tested pairs of systems, and how they were tested."""

    table: ValueTable
    test: str
    method: str  # in words: exact or sampled, degrees of freedom, seed
    alternative: Alternative
    correction: str  # the name of the test where it accounts for the family itself
    baselines: tuple[str, ...]  # every pair has one of them; empty: all pairs
    alpha: float
    power: float | None
    pairs: tuple[PairResult, ...]
    notes: tuple[str, ...] = ()  # limitations of the p values

    @cached_property
    def _by_names(self) -> dict[tuple[str, str], PairResult]:
        return {(pair.a, pair.b): pair for pair in self.pairs}

    @cached_property
    def significant_names(self) -> frozenset[tuple[str, str]]:
        """The two systems of every significant pair, in either order."""
        return frozenset(names for pair in self.significant() for names in ((pair.a, pair.b), (pair.b, pair.a)))

    def pair(self, a: str, b: str) -> PairResult:
        """Return the result for two systems, in either order."""
        for name in (a, b):
            self.table.index(name)
        result = self._by_names.get((a, b)) or self._by_names.get((b, a))
        if result is None:
            raise ConventionError(
                f"{a!r} and {b!r} were not compared: only pairs with {' or '.join(self.baselines)} were"
            )
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return a row per pair."""
        names = [field.name for field in fields(PairResult)]
        return rows_to_columns([[getattr(pair, name) for name in names] for pair in self.pairs], *names)

    def significant(self) -> tuple[PairResult, ...]:
        """Return the pairs whose adjusted p is at most alpha."""
        return tuple(pair for pair in self.pairs if pair.p_adjusted <= self.alpha)


def compare_systems(
    table: ValueTable,
    test: str = "t",
    *,
    baseline: str | Sequence[str] | None = None,
    correction: str = "holm",
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    power: float | None = 0.8,
    resamples: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    interval: Interval | None = None,
    progress: Progress | None = None,
) -> PairwiseTests:
    """Test every pair of systems, or every system against one or several baselines.

    With baselines, `a` of a pair is the system and `b` the baseline; two baselines are compared as well. With
    ``power=None`` the number of queries needed is not computed; it takes longer than the tests. `resamples` and `seed`
    belong to the resampling tests and intervals. `interval` is "t", "percentile" or "bca"; by default that of the
    test if it has one (bootstrap: bca; tukey, tukey-randomization: simultaneous), otherwise t.

    >>> table = ValueTable.from_arrays([[0.1, 0.4], [0.2, 0.3], [0.6, 0.8]], systems=["bm25", "lm"])
    >>> result = compare_systems(table, "t").pairs[0]
    >>> round(result.difference, 4), round(result.p, 4), result.queries_needed
    (-0.2, 0.0742, 5)
    """
    if len(table.systems) < 2:
        raise DataError(f"a comparison needs at least two systems; there is only {table.systems[0]!r}")
    baselines = () if baseline is None else (baseline,) if isinstance(baseline, str) else tuple(dict.fromkeys(baseline))
    first, second = _pairs(table, baselines)
    design = _design(table, first, second, alternative, alpha, resamples, seed, threads, progress)
    return _judge(table, design, TESTS[test], baselines, correction, power, interval)


def _pairs(table: ValueTable, baselines: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the columns of the pairs to test: all pairs, or every system with every baseline."""
    count = len(table.systems)
    columns = [table.index(name) for name in baselines]
    if not columns:
        pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    else:
        pairs = [(a, b) for i, b in enumerate(columns) for a in range(count) if a not in columns[: i + 1]]
    return [a for a, _ in pairs], [b for _, b in pairs]


def compare_pair(
    table: ValueTable,
    a: str,
    b: str,
    test: str = "t",
    *,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    power: float = 0.8,
    resamples: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    interval: Interval | None = None,
    progress: Progress | None = None,
) -> PairResult:
    """Test system a against system b alone; the alternative "greater" tests whether a is better."""
    first, second = table.index(a), table.index(b)
    if first == second:
        raise ConventionError(f"{a!r} cannot be compared with itself")
    design = _design(table, [first], [second], alternative, alpha, resamples, seed, threads, progress)
    return _judge(table, design, TESTS[test], (), "none", power, interval).pairs[0]


def system_intervals(
    table: ValueTable,
    interval: Interval = "bca",
    *,
    alpha: float = 0.05,
    resamples: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> tuple[MeanInterval, ...]:
    """Return the confidence interval of each system's mean: Student's t, or bootstrap over queries."""
    _check_interval(interval)
    design = _design(table, [], [], "two-sided", alpha, resamples, seed, threads, None)
    mean = design.values.mean(axis=0)
    if interval == "t":
        scale = float(np.abs(design.values).max())
        half = paired_tests.spread(design.values, scale) / math.sqrt(design.queries)
        half = half * paired_tests.t_quantile(alpha, design.queries)
        low, high = mean - half, mean + half
    else:
        low, high = resampling.mean_intervals(design, interval)
    rows = zip(table.systems, mean.tolist(), low.tolist(), high.tolist(), strict=True)
    return tuple(MeanInterval(*row) for row in rows)


def _design(
    table: ValueTable,
    first: Sequence[int] | NDArray[np.intp],
    second: Sequence[int] | NDArray[np.intp],
    alternative: Alternative,
    alpha: float,
    resamples: int | None,
    seed: int,
    threads: int | None,
    progress: Progress | None,
) -> TestInput:
    n = len(table.query_ids)
    if n < 2:
        left = f" after {len(table.dropped)} were dropped" if table.dropped else ""
        raise DataError(f"a comparison needs at least 2 queries, got {n}{left}")
    if alternative not in ALTERNATIVES:
        raise UnknownName("alternative", alternative, ALTERNATIVES)
    if not 0 < alpha < 1:
        raise DataError(f"alpha must be between 0 and 1, got {alpha}")
    if not 0 <= seed < 2**64:
        raise DataError(f"seed must be a whole number from 0 to 2^64 − 1, got {seed}")
    return TestInput(
        values=table.by_query_id(),
        first=np.array(first, dtype=np.int32),
        second=np.array(second, dtype=np.int32),
        alternative=alternative,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        threads=threads,
        progress=progress,
    )


def _judge(
    table: ValueTable,
    design: TestInput,
    test: PairedTest,
    baselines: tuple[str, ...],
    correction: str,
    power: float | None,
    interval: Interval | None,
) -> PairwiseTests:
    CORRECTIONS[correction]  # report an unknown name before the work
    if interval is not None:
        _check_interval(interval)
    outcome = test.run(design)
    bounds = _interval(outcome, design, interval)
    # Tukey's p already accounts for the whole family; another correction would count it twice.
    adjusted = outcome.p if test.familywise else adjust(outcome.p, correction)
    return PairwiseTests(
        table=table,
        test=test.name,
        method=outcome.method,
        alternative=design.alternative,
        correction=test.name if test.familywise else correction,
        baselines=baselines,
        alpha=design.alpha,
        power=power,
        pairs=_rows(table, design, outcome, adjusted, bounds, power),
        notes=_notes(table, design, outcome, test, correction),
    )


def _notes(
    table: ValueTable, design: TestInput, outcome: TestResult, test: PairedTest, correction: str
) -> tuple[str, ...]:
    notes = []
    if table.dropped:
        notes.append(f"{len(table.dropped)} queries were dropped because some system lacks a value for them")
    if table.filled:
        notes.append(f"{table.filled} missing values were filled in")
    if outcome.resamples and not test.familywise:
        family = len(outcome.p)
        least = float(adjust(np.r_[1 / (1 + outcome.resamples), np.ones(family - 1)], correction)[0])
        if least > design.alpha and correction in ("bonferroni", "holm"):
            enough = math.ceil(family / design.alpha)
            notes.append(
                f"{outcome.resamples} samples cannot make any of {family} pairs significant at {design.alpha} "
                f"after the correction {correction}: the smallest p is 1/{1 + outcome.resamples}; "
                f"take at least {enough} samples, or tukey-randomization"
            )
    return tuple(notes)


def _interval(outcome: TestResult, design: TestInput, interval: Interval | None) -> tuple[FloatArray, FloatArray]:
    if interval is None and outcome.interval is not None:
        return outcome.interval
    if interval is None or interval == "t":
        return paired_tests.t_interval(design)
    return resampling.difference_intervals(design, interval)


def _rows(
    table: ValueTable,
    design: TestInput,
    outcome: TestResult,
    adjusted: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    power: float | None,
) -> tuple[PairResult, ...]:
    difference = design.mean_differences
    effect, hedges = _effect_sizes(design, difference)
    two_sided = design.alternative == "two-sided"
    # A one-sided test never detects a difference in the other direction, with any number of queries.
    directed = -effect if design.alternative == "less" else effect
    detectable = np.abs(effect) if two_sided else np.maximum(0, directed)
    needed = np.full(len(difference), np.inf)
    if power is not None:
        needed = queries_needed(detectable, alpha=design.alpha, power=power, two_sided=two_sided)
    error = [None] * len(difference) if outcome.p_error is None else outcome.p_error.tolist()
    # From lists and by their places in PairResult: a report has a hundred thousand pairs.
    numbers = (difference, outcome.statistic, outcome.p, error, adjusted, *bounds, effect, hedges)
    columns = [column if isinstance(column, list) else column.tolist() for column in numbers]
    columns.append([int(enough) if math.isfinite(enough) else None for enough in needed.tolist()])
    names = [[table.systems[i] for i in side.tolist()] for side in (design.first, design.second)]
    reasons = [outcome.reasons.get(k, "") for k in range(len(difference))]
    queries = [design.queries] * len(difference)
    return tuple(PairResult(*row) for row in zip(*names, queries, *columns, reasons, strict=True))


def _effect_sizes(design: TestInput, difference: FloatArray) -> tuple[FloatArray, FloatArray]:
    deviation = design.spreads
    effect = np.full(len(difference), np.nan)
    np.divide(difference, deviation, out=effect, where=deviation > 0)
    return effect, effect * hedges_factor(design.queries - 1)


def _check_interval(interval: str) -> None:
    if interval not in INTERVALS:
        raise UnknownName("interval", interval, INTERVALS)
