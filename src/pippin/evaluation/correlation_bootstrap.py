"""Bootstrap over queries: how sure is a rank correlation between systems when the queries are only a sample?

Each resample draws queries with replacement, takes every system's mean score over them under both measures
(or tools), and correlates the two rankings of systems again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pippin.errors import ConventionError, DataError
from pippin.evaluation.correlation import F64, OverlapTies, Top, correlate
from pippin.shown import Shown


@dataclass(frozen=True, repr=False)
class CorrelationInterval(Shown):
    """A coefficient with a percentile interval; `undefined` resamples gave NaN and are left out of it."""

    name: str
    value: float
    low: float
    high: float
    level: float
    samples: int
    undefined: int
    seed: int
    top: Top
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """One row."""
        return {field.name: [getattr(self, field.name)] for field in fields(self)}

    def __str__(self) -> str:
        left_out = f", {self.undefined} undefined" if self.undefined else ""
        why = f", because {self.reason}" if self.reason else ""
        interval = f"{100 * self.level:g}% interval [{self.low:.6f}, {self.high:.6f}]"
        how = f"top = {self.top}, {self.samples} samples{left_out}, seed {self.seed}"
        return f"{self.name} = {self.value:.6f}{why}, {interval} ({how})"


def _matrix(values: ArrayLike, name: str) -> F64:
    """Queries × systems as float64, or a DataError."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a matrix of numbers, queries × systems") from None
    if array.ndim != 2 or min(array.shape) < 2:
        raise DataError(f"{name} must be 2 queries × 2 systems or more, not of shape {array.shape}")
    if not np.isfinite(array).all():
        query, system = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"{name} is not finite for query {query + 1}, system {system + 1}")
    return array


def bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    name: str,
    *,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    top: Top = "high",
    tolerance: float | None = None,
    p: float | None = None,
    ties: OverlapTies | None = None,
) -> CorrelationInterval:
    """Percentile interval of a rank correlation of systems; a and b are queries × systems, the same in both.

    Ends: quantiles (1 ∓ level)/2 of the coefficient over the resamples. Efron 1979. A resample may tie
    systems that the whole sample does not, so the coefficients that refuse ties may refuse here.

    >>> scores = [[0.1, 0.4, 0.3], [0.2, 0.5, 0.6], [0.0, 0.7, 0.2]]
    >>> interval = bootstrap(scores, scores, "tau_b", samples=50)
    >>> interval.value, interval.low, interval.high
    (1.0, 1.0, 1.0)
    """
    first, second = _matrix(a, "a"), _matrix(b, "b")
    if first.shape != second.shape:
        raise DataError(f"a is {first.shape}, b is {second.shape}: not the same queries and systems")
    if samples < 1:
        raise ConventionError(f"samples must be 1 or more, not {samples}")
    if not 0 < level < 1:
        raise ConventionError(f"level must lie between 0 and 1, not {level}")

    whole = correlate(first.mean(0), second.mean(0), name, top=top, tolerance=tolerance, p=p, ties=ties)
    generator = np.random.default_rng(seed)
    values = np.empty(samples)
    for sample in range(samples):
        queries = generator.integers(0, len(first), len(first))
        # A mean down the rows adds every system's scores in one order: equal columns stay exactly tied.
        x, y = first[queries].mean(0), second[queries].mean(0)
        try:
            values[sample] = correlate(x, y, name, top=top, tolerance=tolerance, p=p, ties=ties).value
        except ConventionError as error:
            raise ConventionError(f"resample {sample + 1}: {error}") from None
    defined = values[~np.isnan(values)]
    ends = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(defined, ends) if len(defined) else (math.nan, math.nan)
    undefined = samples - len(defined)
    return CorrelationInterval(
        name, whole.value, float(low), float(high), level, samples, undefined, seed, top, whole.reason
    )
