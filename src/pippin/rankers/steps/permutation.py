"""Selection by permutation importance: what the measure loses when a feature is shuffled."""

from __future__ import annotations

from typing import ClassVar

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.rankers.base import Ranker
from pippin.rankers.explaining import permutation_importance
from pippin.rankers.parts.narrowing import fitted, helper
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.steps.base import Selector, register


@register("permutation")
class Permutation(Selector):
    """Keeps the k features without which the measure falls most on the validation part.

    A ranker is trained on all features; then each is shuffled within queries, and what the measure of its validation
    rankings loses is the feature's importance. Without a validation part it is the training part that is ranked.
    """

    source = "Breiman 2001 (permutation importance)"
    grid: ClassVar = {"k": (5, 10, 20)}
    quick_grid: ClassVar = {"k": (10,)}
    milliseconds = 200

    k: int = parameter(10, "features that are kept, at most as many as there are")
    ranker: str = parameter("rest", "who is asked: the rest of the chain, or a ranker as it is written")
    repeats: int = parameter(3, "how often each feature is shuffled")
    measure: str = parameter("NDCG@10", "what importance is measured by")
    convention: str | Convention = parameter("official", "the convention of that measure")
    seed: int = parameter(1, "of the shuffles, and of the ranker")

    def _check(self) -> None:
        at_least(self, k=1, repeats=1, seed=0)

    def _choose(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> list[int]:
        shared = {"seed": self.seed, "convention": self.convention}
        model = fitted(helper(self.ranker, rest, shared), train, valid)
        effects = permutation_importance(
            model, train if valid is None else valid, self.measure, self.convention, repeats=self.repeats,
            seed=self.seed,
        )  # fmt: skip
        return [train.feature_names.index(effect.feature) for effect in effects[: self.k]]
