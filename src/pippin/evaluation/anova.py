"""How much of the variation is the systems', how much the queries', and which systems stand apart?

The two-way analysis of variance without replication splits each value into a system effect, a query effect
and a residual. Tukey's honestly significant difference then judges all pairs of systems together with the
residual as the yardstick, so that the probability of any false finding among them is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, DataError
from pippin.evaluation.paired_tests import TESTS, TIE_SHARE, Design, Outcome, PairTest
from pippin.evaluation.value_table import ValueTable
from pippin.kernels.tails import f_tail, range_point, range_tail
from pippin.shown import Shown, in_columns

FloatArray = NDArray[np.float64]

# Each studentized range is a double integral (some 1 ms); for more distances than this a Chebyshev polynomial
# through this many plus one of its values stands in, within 1e-8 of it.
DIRECT_RANGES = 64
CHEBYSHEV_DEGREE = 96
# Tails below this come out as 0.
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
class Anova(Shown):
    """The table of a two-way analysis of variance."""

    systems: AnovaRow
    queries: AnovaRow
    residual: AnovaRow
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """A row per source of variation."""
        names = [field.name for field in fields(AnovaRow)]
        rows = (self.systems, self.queries, self.residual)
        return in_columns([[getattr(row, name) for name in names] for row in rows], *names)


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
        raise DataError(f"an analysis of variance needs at least two systems and two queries, not {k} and {n}")
    squares, residual = _split(table.values)
    df_residual = (n - 1) * (k - 1)
    error = residual / df_residual

    def row(source: str, ss: float, df: int) -> AnovaRow:
        f = ss / df / error if error > 0 else float("nan")
        return AnovaRow(source, ss, df, ss / df, f, float(f_tail(f, df, df_residual)))

    nothing = float("nan")
    return Anova(
        systems=row("systems", squares[0], k - 1),
        queries=row("queries", squares[1], n - 1),
        residual=AnovaRow("residual", residual, df_residual, error, nothing, nothing),
        reason="" if error > 0 else "F is undefined: systems and queries explain every value, nothing is left",
    )


def _split(values: FloatArray) -> tuple[tuple[float, float], float]:
    """Sums of squares of systems and queries, and of the residual; rounding noise counts as 0."""
    n, k = values.shape
    mean = values.mean()
    system = values.mean(axis=0) - mean
    query = values.mean(axis=1) - mean
    left = values - mean - system - query[:, None]
    residual = float((left**2).sum())
    if residual <= values.size * (TIE_SHARE * float(np.abs(values).max())) ** 2:
        residual = 0.0
    return (n * float((system**2).sum()), k * float((query**2).sum())), residual


def tukey(design: Design) -> Outcome:
    """Tukey's HSD over all systems of the table: q = |mean difference|/√(MS_residual/n).

    p is the upper tail of the studentized range of k systems with (n − 1)(k − 1) degrees of freedom
    (`range_tail`); the simultaneous interval is difference ± q(1 − α)·√(MS_residual/n).
    Against a baseline the family is still all pairs, which errs on the safe side. Tukey 1949; Kramer 1956.
    """
    if design.alternative != "two-sided":
        raise ConventionError("the studentized range has no direction: the test tukey is two-sided only")
    n, k = design.values.shape
    df = (n - 1) * (k - 1)
    residual = _split(design.values)[1]
    difference = design.mean_differences
    method = f"Tukey HSD over {k} systems, {df} residual degrees of freedom"
    if residual == 0:
        reason = "q is undefined: systems and queries explain every value, no residual is left"
        nothing = np.full(len(difference), np.nan)
        reasons = dict.fromkeys(range(len(difference)), reason)
        return Outcome(nothing, nothing, method, interval=(nothing, nothing), reasons=reasons)
    yardstick = np.sqrt(residual / df / n)
    q = np.abs(difference) / yardstick
    half = float(range_point(design.alpha, k, df)) * yardstick
    return Outcome(q, _range_tail(q, k, df), method, interval=(difference - half, difference + half))


def _range_tail(q: FloatArray, k: int, df: int) -> FloatArray:
    """Upper tail of the studentized range at many distances."""
    from numpy.polynomial import Chebyshev

    if len(q) <= DIRECT_RANGES:
        return range_tail(q, k, df)
    end = 10.0
    tail = float(range_tail(end, k, df))
    while tail > NEGLIGIBLE_TAIL:
        further = float(range_tail(end * 1.25, k, df))
        if further > tail / 2:  # no longer a tail but the noise of the integration
            break
        end, tail = end * 1.25, further
    near = q <= end
    curve = Chebyshev.interpolate(lambda x: range_tail(x, k, df), CHEBYSHEV_DEGREE, [0.0, end])
    p = np.zeros(len(q))
    p[near] = np.clip(curve(q[near]), 0.0, 1.0)
    return p


TESTS.register(
    "tukey",
    PairTest("tukey", "all systems by two-way ANOVA and Tukey's HSD", "Tukey 1949", tukey, familywise=True),
)
