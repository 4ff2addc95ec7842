"""How people click on a list: what they look at, and what of it they take.

A click model draws the clicks of many sessions on one ranking at once, from how attractive each document is. The models
know nothing of labels; `attraction` makes one of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError
from pippin.registry import Registry

F64 = NDArray[np.float64]
Clicks = NDArray[np.bool_]


@dataclass(frozen=True)
class Habits:
    """What the models of clicks are told about people; each looks at what it knows."""

    eta: float = 1.0  # how steeply looking falls with rank: (1 / rank) ** eta
    persistence: float = 0.5  # the chance to read on after a click
    trust: float = 0.3  # the chance to click on something bad because it stands first; at rank k, so much / k

    def __post_init__(self) -> None:
        if not 0 <= self.eta < np.inf:
            raise DataError(f"eta is a number from 0 on, not {self.eta}")
        for name in ("persistence", "trust"):
            if not 0 <= getattr(self, name) <= 1:
                raise DataError(f"{name} is a chance between 0 and 1, not {getattr(self, name)}")


# (attraction [sessions, ranks], habits, random numbers) → clicks [sessions, ranks]
Model = Callable[[F64, Habits, np.random.Generator], Clicks]
MODELS: Registry[Model] = Registry("click model")


def examination(ranks: int | NDArray[Any], eta: float) -> F64:
    """How likely the ranks from 1 on are looked at under the position-based model: (1 / rank) ** eta.

    >>> examination(4, 1.0).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """
    at = np.arange(1, ranks + 1) if isinstance(ranks, int) else np.asarray(ranks)
    seen: F64 = (1.0 / at) ** eta
    return seen


def attraction(labels: NDArray[np.int32], noise: float, top: int) -> F64:
    """The chance that a document is clicked once it is looked at: noise + (1 - noise) (2^label - 1) / (2^top - 1).

    Source: Chapelle et al. 2009 for the grades, Ai et al. 2018 for the noise.

    >>> attraction(np.array([0, 1, 2], np.int32), 0.1, 2).round(6).tolist()
    [0.1, 0.4, 1.0]
    """
    if not 0 <= noise < 1:
        raise DataError(f"noise is a chance from 0 to below 1, not {noise}")
    grades = np.clip(labels, 0, top).astype(np.float64)
    found: F64 = noise + (1.0 - noise) * (2.0**grades - 1.0) / (2.0**top - 1.0)
    return found


def pbm(attraction: F64, habits: Habits, rng: np.random.Generator) -> Clicks:
    """Position-based: each rank is looked at by its own chance, whatever else was clicked (Richardson et al. 2007)."""
    seen = examination(attraction.shape[1], habits.eta)
    clicks: Clicks = rng.random(attraction.shape) < seen * attraction
    return clicks


def cascade(attraction: F64, habits: Habits, rng: np.random.Generator) -> Clicks:
    """Cascade: read from the top, click the first that attracts, and leave (Craswell et al. 2008)."""
    taken: Clicks = rng.random(attraction.shape) < attraction
    first: Clicks = taken & (np.cumsum(taken, axis=1) == 1)
    return first


def dcm(attraction: F64, habits: Habits, rng: np.random.Generator) -> Clicks:
    """Dependent click model: as the cascade, but after a click people read on by `persistence` (Guo et al. 2009)."""
    taken: Clicks = rng.random(attraction.shape) < attraction
    leaves: Clicks = taken & (rng.random(attraction.shape) >= habits.persistence)
    left = np.cumsum(leaves, axis=1)  # at this rank or before it
    before: Clicks = taken & (left == leaves)
    return before


def trust(attraction: F64, habits: Habits, rng: np.random.Generator) -> Clicks:
    """Position-based, but a high rank itself makes bad documents look good (trust bias, Agarwal et al. 2019)."""
    ranks = np.arange(1, attraction.shape[1] + 1)
    return pbm(attraction + (1.0 - attraction) * habits.trust / ranks, habits, rng)


for _model in (pbm, cascade, dcm, trust):
    MODELS.register(_model.__name__, _model)

HABITS = tuple(one.name for one in fields(Habits))
