"""Random projections: k sums of the features with weights drawn by lot."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.parts.spread import centred, scales
from pippin.rankers.steps.base import Projection, register

F64 = NDArray[np.float64]


@register("random-projection")
class RandomProjection(Projection):
    """The features in k directions drawn by lot: what any reduction must beat to be worth its name.

    Weights are normal with variance 1/k, so that distances stay what they were on average.
    """

    source = "Johnson & Lindenstrauss 1984; Bingham & Mannila 2001"
    grid: ClassVar = {"k": (5, 10, 20)}
    quick_grid: ClassVar = {"k": (10,)}

    k: int = parameter(10, "directions")
    seed: int = parameter(1, "of the weights")

    def _check(self) -> None:
        at_least(self, k=1, seed=0)

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        table = np.asarray(train.features, np.float64)
        drawn = np.random.default_rng(self.seed).standard_normal((table.shape[1], self.k)) / np.sqrt(self.k)
        return table.mean(axis=0), scales(centred(train, "query")), drawn
