"""Recursive elimination: train, drop the features that count least, and again."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.rankers.base import Ranker
from pippin.rankers.parts.narrowing import fitted, helper, narrowed, worth
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.steps.base import Selector, register


@register("elimination")
class Elimination(Selector):
    """Trains a ranker, drops the features that count least in it, and trains again until k are left.

    A weight counts times its feature's spread within a query, so that no feature is dropped for its scale.
    """

    source = "Guyon, Weston, Barnhill & Vapnik 2002 (recursive feature elimination)"
    grid: ClassVar = {"k": (5, 10, 20)}
    quick_grid: ClassVar = {"k": (10,)}
    milliseconds = 500

    k: int = parameter(10, "features that are kept, at most as many as there are")
    drop: float = parameter(0.2, "share of the features that is dropped at a time, one at least")
    ranker: str = parameter("rest", "who says what features count: the rest of the chain, or a ranker as it is written")
    seed: int = parameter(1, "of that ranker")

    def _check(self) -> None:
        at_least(self, k=1, drop=0)

    def _choose(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> list[int]:
        left = np.arange(train.features.shape[1])
        keep = min(self.k, len(left))
        while True:
            model = fitted(
                helper(self.ranker, rest, {"seed": self.seed}), narrowed(train, left),
                None if valid is None else narrowed(valid, left),
            )  # fmt: skip
            order = left[np.argsort(-worth(model, narrowed(train, left), self.name), kind="stable")]
            if len(left) == keep:
                return [int(i) for i in order]
            count = max(keep, len(left) - max(1, math.floor(self.drop * len(left))))
            left = np.sort(order[:count])
