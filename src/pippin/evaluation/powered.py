"""Few queries with labels of people, many with labels of a model: what is the mean that people would have found?

Prediction-powered inference takes the mean under the model's labels over the many queries and corrects it by what the
model got wrong on the few. PPI corrects in full; PPI++ takes the model only as far (λ) as it helps, so that a useless
model costs nothing. A difference of two systems is estimated the same way, from differences per query.

The intervals are right only if the queries with human labels are a random sample of all. They use Student's t with
Satterthwaite's degrees of freedom, since the humans' queries are few. Angelopoulos et al. 2023; PPI++: Angelopoulos,
Duchi & Zrnic 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.errors import ConventionError, DataError
from pippin.kernels.tails import t_point

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """An estimated mean with its interval; `weight` is λ, how far the model is relied on: 0 not at all, 1 in full."""

    method: str
    value: float
    error: float
    low: float
    high: float
    weight: float
    human: int
    model: int


METHODS = ("human", "ppi", "ppi++")


def powered(
    human: ArrayLike, model: ArrayLike, more: ArrayLike, method: str = "ppi++", level: float = 0.95
) -> Estimate:
    """The mean that people would have found over all queries.

    human   a value per query under human labels
    model   the values of the same queries under the model's labels
    more    the values of further queries under the model's labels
    method  human (the model is not used), ppi or ppi++

    >>> found = powered([0.5, 0.7, 0.2, 0.9], [0.6, 0.8, 0.4, 0.9], [0.7, 0.5, 0.6, 0.9, 0.8, 0.4, 0.6, 0.7], "ppi")
    >>> round(found.value, 6), round(found.error, 6)
    (0.55, 0.069864)
    """
    if method not in METHODS:
        raise ConventionError(f"method is one of {', '.join(METHODS)}, not {method!r}")
    if not 0 < level < 1:
        raise ConventionError(f"level must lie between 0 and 1, not {level}")
    y, f, g = (np.asarray(values, np.float64) for values in (human, model, more))
    if y.shape != f.shape or y.ndim != 1 or g.ndim != 1:
        raise DataError(f"human and model values belong to the same queries, not {y.shape} and {f.shape}")
    if len(y) < 2 or len(g) < 2:
        raise DataError(f"2 queries or more are needed with human labels and without, not {len(y)} and {len(g)}")
    if not all(np.isfinite(values).all() for values in (y, f, g)):
        raise DataError("the values of all queries must be finite numbers")
    value, error, weight, freedom = (float(x[0]) for x in powered_rows(y[None], f[None], g[None], method))
    half = float(t_point((1 - level) / 2, freedom)) * error if error else 0.0
    return Estimate(method, value, error, value - half, value + half, weight, len(y), len(g))


def powered_rows(y: F64, f: F64, more: F64, method: str) -> tuple[F64, F64, F64, F64]:
    """Estimates, standard errors, weights and degrees of freedom, a row of values each.

    θ = mean y + λ (mean more − mean f), variance λ²·var(more)/N + var(y − λf)/n; λ is 1 for PPI, and for PPI++
    cov(y, f) / ((1 + n/N) var of all f) within [0, 1].
    """
    n, further = y.shape[1], more.shape[1]
    weight = np.full(len(y), 0.0 if method == "human" else 1.0)
    if method == "ppi++":
        spread = np.concatenate((f, more), axis=1).var(axis=1, ddof=1) * (1 + n / further)
        together = ((y - y.mean(1, keepdims=True)) * (f - f.mean(1, keepdims=True))).sum(1) / (n - 1)
        weight = np.clip(np.divide(together, spread, out=np.zeros(len(y)), where=spread > 0), 0.0, 1.0)
    value = y.mean(1) + weight * (more.mean(1) - f.mean(1))
    of_model = weight**2 * more.var(axis=1, ddof=1) / further
    of_human = (y - weight[:, None] * f).var(axis=1, ddof=1) / n
    total = of_model + of_human
    below = of_model**2 / (further - 1) + of_human**2 / (n - 1)
    freedom = np.divide(total**2, below, out=np.full(len(y), n - 1.0), where=below > 0)
    return value, np.sqrt(total), weight, freedom


__all__ = ["METHODS", "Estimate", "powered", "powered_rows"]
