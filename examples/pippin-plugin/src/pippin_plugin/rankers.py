"""A ranker: the difference between relevant documents and the others, in the space of features.

A ranker is an estimator as scikit-learn knows them: parameters are declared in the class, what was learned stands in
attributes with an underscore behind. `LinearRanker` scores, saves and explains by `coef_`; any other ranker has
`_predict`, `_state` and `_restore` of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pippin.data.dataset import Dataset
from pippin.rankers import parameter, register
from pippin.rankers.linear import LinearRanker


@register("rocchio")
class Rocchio(LinearRanker):
    """Ranks by how much more a document is like the relevant ones than like the others.

    coef_j = mean over queries of (mean of feature j over relevant documents − `gamma` · mean over the others), divided
    by the standard deviation of feature j. Queries that lack one of the two tell nothing.
    """

    source = "Rocchio 1971, on features instead of words"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"gamma": (0.5, 1.0)}

    gamma: float = parameter(1.0, "how much the documents that are not relevant count")

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        differences = []
        for start, end in zip(train.offsets[:-1], train.offsets[1:], strict=True):
            features, relevant = train.features[start:end], train.labels[start:end] > 0
            if relevant.any() and not relevant.all():
                differences.append(features[relevant].mean(0) - self.gamma * features[~relevant].mean(0))
        spread = train.features.std(0)
        total = np.mean(differences, axis=0) if differences else np.zeros(train.features.shape[1])
        self.coef_ = np.divide(total, spread, out=np.zeros_like(spread), where=spread > 0)
