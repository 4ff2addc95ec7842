"""GAS: features that rank well by themselves and do not say what a chosen one has said."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.rankers.base import Ranker
from pippin.rankers.parts.alone import similarity, values_alone, varies
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.steps.base import Selector, register

F64 = NDArray[np.float64]


@register("gas")
class GAS(Selector):
    """Keeps the k features with the most importance and the least similarity, one after the other.

    Importance w_i is the measure of the ranking by feature i alone, in its better direction; similarity e_ij is the
    mean share of a query's pairs that both put in the same order. The feature with the largest w is taken, then w_j
    becomes w_j − 2 c e_ij for the others, and so on; a feature that is the same for all documents of every query comes
    after all others. What k and c are is chosen on validation.
    """

    source = "Geng, Liu, Qin & Li 2007 (greedy search algorithm for feature selection)"
    grid: ClassVar = {"k": (5, 10, 20), "c": (0.0, 0.01, 0.1)}
    quick_grid: ClassVar = {"k": (10,), "c": (0.0, 0.1)}
    milliseconds = 300

    k: int = parameter(10, "features that are kept, at most as many as there are")
    c: float = parameter(0.01, "how much similarity to a kept feature takes away; 0: importance alone")
    measure: str = parameter("NDCG@10", "what a feature's ranking is judged by")
    convention: str | Convention = parameter("official", "the convention of that measure")

    def _check(self) -> None:
        at_least(self, k=1, c=0)

    def _choose(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> list[int]:
        importance, signs = values_alone(train, self.measure, self.convention)
        alike = similarity(train, signs) if self.c else np.zeros((len(importance), len(importance)))
        last = len(importance) * (1 + 2 * self.c)  # what orders nothing is unlike all others, and would come early
        return greedy(np.where(varies(train), importance, importance - last), alike, self.k, self.c)


def greedy(importance: F64, alike: F64, k: int, c: float) -> list[int]:
    """The features in the order in which they are taken.

    >>> greedy(np.array([0.5, 0.45, 0.3]), np.array([[1, 0.9, 0.1], [0.9, 1, 0.1], [0.1, 0.1, 1]]), 2, 0.1)
    [0, 2]
    """
    left, taken = importance.copy(), list[int]()
    while len(taken) < min(k, len(importance)):
        best = int(np.argmax(left))
        taken.append(best)
        left = left - 2 * c * alike[best]
        left[taken] = -np.inf
    return taken
