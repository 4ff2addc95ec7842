"""One measure under one convention over one data set, asked again and again with other scores.

What training looks at: early stopping, model selection, and the rankers that optimise a measure. It goes through the
same kernels as `evaluate`, so a number seen while training is the number seen after it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import aggregate
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.notation import parse
from pippin.evaluation.objective import Objective
from pippin.evaluation.tools import TOOLS


def resolve(measure: str, convention: str | Convention) -> tuple[Measure, Convention]:
    """The measure and the convention it is computed under; a convention may be named by a tool."""
    parsed = parse(measure)
    if KINDS[parsed.kind].aggregate != "mean":
        raise ConventionError(f"{measure} is no mean over queries, so nothing can be trained or selected by it")
    if isinstance(convention, str):
        return parsed, TOOLS[convention].convention_for(parsed)
    return parsed, parsed.under(convention)


class Judge:
    """Values of a measure for scores of one data set.

    >>> data = Dataset(np.zeros((3, 1)), np.array([0, 1, 0], np.int32), np.array([0, 3]), ("q",))
    >>> Judge(data, "RR", "official").mean(np.array([0.3, 0.2, 0.1]))
    0.5
    """

    def __init__(self, data: Dataset, measure: str, convention: str | Convention) -> None:
        self.data = data
        self.measure, self.convention = resolve(measure, convention)
        self._objective = Objective(data, self.measure, self.convention)

    def values(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """A value per query; NaN is left out of the mean."""
        return self._objective.values(scores)

    def mean(self, scores: NDArray[np.float64]) -> float:
        """The mean over queries."""
        return aggregate(self.values(scores), "mean")
