"""Without some features, by name: what do they add to the others?"""

from __future__ import annotations

from fnmatch import fnmatchcase

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.rankers.base import Ranker
from pippin.rankers.parts.parameters import parameter
from pippin.rankers.steps.base import Selector, register


@register("without")
class Without(Selector):
    """Leaves out the features whose names fit a pattern, so that what they add is a line of a benchmark.

    Patterns are joined by `+`, and a star stands for anything: `without(dense_*+pagerank) > ranksvm`.
    """

    source = "ablation"

    features: str | int = parameter("", "patterns of the names of features that are left out, joined by +")

    def _check(self) -> None:
        if not self.patterns():
            raise DataError("without leaves out features by their names: without(dense_*+pagerank)")

    def patterns(self) -> list[str]:
        """The patterns one by one."""
        return [one.strip() for one in str(self.features).split("+") if one.strip()]

    def _choose(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> list[int]:
        for pattern in self.patterns():
            if not any(fnmatchcase(name, pattern) for name in train.feature_names):
                raise DataError(f"no feature of {train.name} is called {pattern}")
        fits = [any(fnmatchcase(name, one) for one in self.patterns()) for name in train.feature_names]
        return [i for i, out in enumerate(fits) if not out]
