"""Query-level normalisation as a step, so that what stands before it sees features as they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.versions import to_query_level_norm
from pippin.rankers.base import Features, Ranker
from pippin.rankers.steps.base import Step, fitted, register
from pippin.rankers.steps.by_query import together

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@register("norm")
class Norm(Step):
    """LETOR's QueryLevelNorm: (x − min)/(max − min) within a query, 0 where they are equal.

    `knn > norm > ranksvm` on Feature-min tells queries apart by features as they are, and ranks by normalised ones.
    """

    source = "Qin, Liu, Xu & Li 2010 (LETOR)"
    whole_queries = True

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        stop = None if valid is None else to_query_level_norm(valid)
        self.models_ = [fitted(rest, to_query_level_norm(train), stop)]

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The scores that the rest gives to the normalised features."""
        if offsets is None:
            raise together(self.name)
        ids = tuple(map(str, range(len(offsets) - 1)))
        data = Dataset(features, np.zeros(len(features), np.int32), offsets, ids, None, self.feature_names_)
        table = np.asarray(to_query_level_norm(data).features, np.float64)
        return self.models_[0].scores(np.ascontiguousarray(table), offsets)

    def _no_form(self) -> str:
        return "it looks at the query's other documents; train on a data set that is normalised to deploy its ranker"
