"""Forward selection: add the feature that helps the measure most, one after the other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
from pippin.rankers.base import Ranker
from pippin.rankers.parts.alone import values_alone
from pippin.rankers.parts.narrowing import fitted, helper, narrowed
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.steps.base import Selector, register


@register("forward")
class Forward(Selector):
    """Adds the feature whose ranker does best on validation, again and again, until k are kept.

    Each candidate is trained on the training part and judged on the validation part (on the training part where there
    is none). Only the best features by themselves are candidates, as each costs a training.
    """

    source = "Efroymson 1960; wrappers: Kohavi & John 1997"
    grid: ClassVar = {"k": (5, 10)}
    quick_grid: ClassVar = {"k": (5,)}
    quick_limits: ClassVar = {"candidates": 10}
    milliseconds = 5000

    k: int = parameter(10, "features that are kept, at most as many as there are")
    candidates: int = parameter(20, "the best features by themselves, which are tried")
    ranker: str = parameter("ranksvm", "who is trained on the way: a ranker as it is written, or the rest of the chain")
    measure: str = parameter("NDCG@10", "what candidates are judged by")
    convention: str | Convention = parameter("official", "the convention of that measure")
    seed: int = parameter(1, "of that ranker")

    def _check(self) -> None:
        at_least(self, k=1, candidates=1)

    def _choose(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> list[int]:
        alone, _ = values_alone(train, self.measure, self.convention)
        left = [int(i) for i in np.argsort(-alone, kind="stable")[: max(self.k, self.candidates)]]
        judged = train if valid is None else valid
        judge, taken = Judge(judged, self.measure, self.convention), list[int]()
        shared = {"seed": self.seed, "convention": self.convention}
        while left and len(taken) < self.k:
            tried = []
            for one in left:
                columns = [*taken, one]
                model = fitted(
                    helper(self.ranker, rest, shared), narrowed(train, columns),
                    None if valid is None else narrowed(valid, columns),
                )  # fmt: skip
                tried.append(judge.mean(model.predict(narrowed(judged, columns))))
            taken.append(left.pop(int(np.argmax(tried))))
        return taken
