"""Which systems differ, by how much, how surely, and how many queries would settle it?

`compare_systems` runs one registered test over all pairs of systems, or all against a baseline, on per-query
values aligned by query id, and corrects the p values as one family. Every pair comes back with the same
facts: difference, statistic, p, the standard error of p if it was sampled, a confidence interval, effect
sizes, and the number of queries that the observed difference would need. `system_intervals` gives the
confidence interval of each mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, DataError, UnknownName
from pippin.evaluation import anova as _anova  # registers tukey
from pippin.evaluation import effects, paired_tests, resampling
from pippin.evaluation.corrections import CORRECTIONS, adjust
from pippin.evaluation.paired_tests import ALTERNATIVES, TESTS, Alternative, Design, Outcome, PairTest
from pippin.evaluation.value_table import ValueTable
from pippin.kernels.tails import t_point
from pippin.shown import Drawn, in_columns

__all__ = [
    "ALTERNATIVES",
    "CORRECTIONS",
    "INTERVALS",
    "TESTS",
    "Anova",
    "MeanInterval",
    "PairResult",
    "TestedPairs",
    "ValueTable",
    "anova",
    "compare_pair",
    "compare_systems",
    "system_intervals",
]

FloatArray = NDArray[np.float64]
Interval = Literal["t", "percentile", "bca"]
INTERVALS: tuple[Interval, ...] = ("t", "percentile", "bca")
Progress = Callable[[int, int], None]
Anova = _anova.Anova
anova = _anova.anova


@dataclass(frozen=True)
class PairResult:
    """Two systems held against each other; every number speaks of `a` minus `b`."""

    a: str
    b: str
    n: int  # queries
    difference: float  # mean of a − mean of b
    statistic: float  # what the test computes: see its docstring
    p: float  # NaN with a reason where the test has no answer
    p_error: float | None  # standard error of a sampled p, None where p is exact
    p_adjusted: float  # p after the correction for the family
    low: float  # two-sided confidence interval of the difference, level 1 − alpha
    high: float
    effect: float  # Cohen's d_z = mean(d)/sd(d)
    hedges: float  # d_z times Hedges' small-sample factor
    queries_needed: int | None  # for a t-test to see this effect; None: no number would do, or nobody asked
    reason: str = ""  # why something is NaN


@dataclass(frozen=True)
class MeanInterval:
    """A system's mean over queries with its two-sided confidence interval."""

    system: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class TestedPairs(Drawn):
    """All pairs of one comparison and how they were judged."""

    table: ValueTable
    test: str
    method: str  # in words: exact or sampled, degrees of freedom, seed
    alternative: Alternative
    correction: str  # the name of the test where it accounts for the family itself
    baseline: str | None
    alpha: float
    power: float | None
    pairs: tuple[PairResult, ...]
    notes: tuple[str, ...] = ()  # what a reader should know before believing the p values

    @cached_property
    def _by_names(self) -> dict[tuple[str, str], PairResult]:
        return {(pair.a, pair.b): pair for pair in self.pairs}

    @cached_property
    def differing(self) -> frozenset[tuple[str, str]]:
        """The two systems of every significant pair, in either order."""
        return frozenset(names for pair in self.significant() for names in ((pair.a, pair.b), (pair.b, pair.a)))

    def pair(self, a: str, b: str) -> PairResult:
        """The result for two systems, in whichever order they were compared."""
        for name in (a, b):
            self.table.index(name)
        result = self._by_names.get((a, b)) or self._by_names.get((b, a))
        if result is None:
            raise ConventionError(f"{a!r} and {b!r} were not compared: every pair here has {self.baseline!r}")
        return result

    def to_dict(self) -> dict[str, Any]:
        """A row per pair, with everything that is known of it."""
        names = [field.name for field in fields(PairResult)]
        return in_columns([[getattr(pair, name) for name in names] for pair in self.pairs], *names)

    def significant(self) -> tuple[PairResult, ...]:
        """The pairs whose adjusted p is at most alpha."""
        return tuple(pair for pair in self.pairs if pair.p_adjusted <= self.alpha)


def compare_systems(
    table: ValueTable,
    test: str = "t",
    *,
    baseline: str | None = None,
    correction: str = "holm",
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    power: float | None = 0.8,
    samples: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    interval: Interval | None = None,
    progress: Progress | None = None,
) -> TestedPairs:
    """Test every pair of systems, or every system against `baseline` (then a is the system, b the baseline).

    With `power=None` the number of queries needed is not told; it takes longer than the tests. `samples` and `seed`
    belong to the resampling tests and intervals. `interval` is "t", "percentile" or "bca"; left out, the test's own
    where it has one (bootstrap: bca; tukey, tukey-randomization: simultaneous), otherwise t.

    >>> table = ValueTable.from_arrays([[0.1, 0.4], [0.2, 0.3], [0.6, 0.8]], systems=["bm25", "lm"])
    >>> result = compare_systems(table, "t").pairs[0]
    >>> round(result.difference, 4), round(result.p, 4), result.queries_needed
    (-0.2, 0.0742, 5)
    """
    if len(table.systems) < 2:
        raise DataError(f"a comparison needs at least two systems; there is only {table.systems[0]!r}")
    if baseline is None:
        first, second = np.triu_indices(len(table.systems), 1)
    else:
        column = table.index(baseline)
        first = np.delete(np.arange(len(table.systems)), column)
        second = np.full(len(first), column)
    design = _design(table, first, second, alternative, alpha, samples, seed, threads, progress)
    return _judge(table, design, TESTS[test], baseline, correction, power, interval)


def compare_pair(
    table: ValueTable,
    a: str,
    b: str,
    test: str = "t",
    *,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    power: float = 0.8,
    samples: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    interval: Interval | None = None,
    progress: Progress | None = None,
) -> PairResult:
    """Test system a against system b alone; alternative "greater" asks whether a is better."""
    first, second = table.index(a), table.index(b)
    if first == second:
        raise ConventionError(f"{a!r} cannot be compared with itself")
    design = _design(table, [first], [second], alternative, alpha, samples, seed, threads, progress)
    return _judge(table, design, TESTS[test], None, "none", power, interval).pairs[0]


def system_intervals(
    table: ValueTable,
    interval: Interval = "bca",
    *,
    alpha: float = 0.05,
    samples: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> tuple[MeanInterval, ...]:
    """Confidence interval of each system's mean: Student's t, or bootstrap over queries (percentile, BCa)."""
    _check_interval(interval)
    design = _design(table, [], [], "two-sided", alpha, samples, seed, threads, None)
    mean = design.values.mean(axis=0)
    if interval == "t":
        scale = float(np.abs(design.values).max())
        half = paired_tests.spread(design.values, scale) / math.sqrt(design.queries)
        half = half * float(t_point(alpha / 2, design.queries - 1))
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
    samples: int | None,
    seed: int,
    threads: int | None,
    progress: Progress | None,
) -> Design:
    n = len(table.query_ids)
    if n < 2:
        left = f" after {len(table.dropped)} were dropped" if table.dropped else ""
        raise DataError(f"a comparison needs at least two queries, not {n}{left}")
    if alternative not in ALTERNATIVES:
        raise UnknownName("alternative", alternative, ALTERNATIVES)
    if not 0 < alpha < 1:
        raise DataError(f"alpha lies between 0 and 1, not {alpha}")
    if not 0 <= seed < 2**64:
        raise DataError(f"a seed is a whole number from 0 to 2^64 − 1, not {seed}")
    return Design(
        values=table.by_query_id(),
        first=np.array(first, dtype=np.int32),
        second=np.array(second, dtype=np.int32),
        alternative=alternative,
        alpha=alpha,
        samples=samples,
        seed=seed,
        threads=threads,
        progress=progress,
    )


def _judge(
    table: ValueTable,
    design: Design,
    test: PairTest,
    baseline: str | None,
    correction: str,
    power: float | None,
    interval: Interval | None,
) -> TestedPairs:
    CORRECTIONS[correction]  # an unknown name is found before the work, not after
    if interval is not None:
        _check_interval(interval)
    outcome = test.run(design)
    bounds = _interval(outcome, design, interval)
    # Tukey's p already speaks for the whole family; correcting it again would count the family twice.
    adjusted = outcome.p if test.familywise else adjust(outcome.p, correction)
    return TestedPairs(
        table=table,
        test=test.name,
        method=outcome.method,
        alternative=design.alternative,
        correction=test.name if test.familywise else correction,
        baseline=baseline,
        alpha=design.alpha,
        power=power,
        pairs=_rows(table, design, outcome, adjusted, bounds, power),
        notes=_notes(table, design, outcome, test, correction),
    )


def _notes(table: ValueTable, design: Design, outcome: Outcome, test: PairTest, correction: str) -> tuple[str, ...]:
    notes = []
    if table.dropped:
        notes.append(f"{len(table.dropped)} queries were dropped because some system has no value for them")
    if table.filled:
        notes.append(f"{table.filled} missing values were filled in")
    if outcome.samples and not test.familywise:
        family = len(outcome.p)
        least = float(adjust(np.r_[1 / (1 + outcome.samples), np.ones(family - 1)], correction)[0])
        if least > design.alpha and correction in ("bonferroni", "holm"):
            enough = math.ceil(family / design.alpha)
            notes.append(
                f"{outcome.samples} samples cannot make any of {family} pairs significant at {design.alpha} "
                f"after the correction {correction}: the smallest p is 1/{1 + outcome.samples}; "
                f"take at least {enough} samples, or tukey-randomization"
            )
    return tuple(notes)


def _interval(outcome: Outcome, design: Design, interval: Interval | None) -> tuple[FloatArray, FloatArray]:
    if interval is None and outcome.interval is not None:
        return outcome.interval
    if interval is None or interval == "t":
        return paired_tests.t_interval(design)
    return resampling.difference_intervals(design, interval)


def _rows(
    table: ValueTable,
    design: Design,
    outcome: Outcome,
    adjusted: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    power: float | None,
) -> tuple[PairResult, ...]:
    difference = design.mean_differences
    effect, hedges = _effect_sizes(design, difference)
    two_sided = design.alternative == "two-sided"
    # One-sided, a difference in the other direction is never found: no number of queries would do.
    wanted = -effect if design.alternative == "less" else effect
    towards = np.abs(effect) if two_sided else np.maximum(0, wanted)
    needed = np.full(len(difference), np.inf)
    if power is not None:
        needed = effects.queries_needed(towards, alpha=design.alpha, power=power, two_sided=two_sided)
    error = [None] * len(difference) if outcome.p_error is None else outcome.p_error.tolist()
    # From lists and by their places in PairResult: a report has a hundred thousand pairs.
    numbers = (difference, outcome.statistic, outcome.p, error, adjusted, *bounds, effect, hedges)
    columns = [column if isinstance(column, list) else column.tolist() for column in numbers]
    columns.append([int(enough) if math.isfinite(enough) else None for enough in needed.tolist()])
    names = [[table.systems[i] for i in side.tolist()] for side in (design.first, design.second)]
    reasons = [outcome.reasons.get(k, "") for k in range(len(difference))]
    queries = [design.queries] * len(difference)
    return tuple(PairResult(*row) for row in zip(*names, queries, *columns, reasons, strict=True))


def _effect_sizes(design: Design, difference: FloatArray) -> tuple[FloatArray, FloatArray]:
    deviation = design.spreads
    effect = np.full(len(difference), np.nan)
    np.divide(difference, deviation, out=effect, where=deviation > 0)
    return effect, effect * effects.hedges_factor(design.queries - 1)


def _check_interval(interval: str) -> None:
    if interval not in INTERVALS:
        raise UnknownName("interval", interval, INTERVALS)
