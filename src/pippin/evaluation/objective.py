"""A measure under a convention over one data set, prepared once and asked again and again with other scores.

What training looks at: early stopping, model selection, and the rankers that optimise a measure. Labels under the
convention, pools and tables are made when the objective is, so that a training loop pays only for ranking and
measuring; both are the kernels of `evaluate`, and give the same bits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import aggregate, averaged_values, mean_of, measure_values, settling
from pippin.evaluation.measures import KINDS, Measure
from pippin.evaluation.notation import parse
from pippin.evaluation.ranking import check_scores, counted, rank
from pippin.evaluation.tools import TOOLS
from pippin.kernels.objective import NativeObjective

F64 = NDArray[np.float64]


def resolve(measure: str, convention: str | Convention) -> tuple[Measure, Convention]:
    """The measure and the convention it is computed under; a convention may be named by a tool."""
    parsed = parse(measure)
    kind = KINDS[parsed.kind]
    if kind.aggregate != "mean" or kind.whole is not None:
        raise ConventionError(f"{measure} is no mean over queries, so nothing can be trained or selected by it")
    if isinstance(convention, str):
        return parsed, TOOLS[convention].convention_for(parsed)
    return parsed, parsed.under(convention)


class Objective:
    """Values of a measure under a convention over one data set."""

    def __init__(self, data: Dataset, measure: Measure, convention: Convention) -> None:
        self.data, self.measure, self.convention = data, measure, convention
        self.native = self._prepare()

    def _prepare(self) -> NativeObjective | None:
        """The native objective, or None where the measure is not one native function per query."""
        data, given = self.data, self.convention
        native = KINDS[self.measure.kind].native(given)
        by_id = given.ties.startswith("id-")
        if native is None or (by_id and data.document_ids is None):
            return None  # without ids all is fine as long as nothing ties; `rank` says so when something does
        # Equal scores in input order: the labels in rank order are the labels as the convention sees them.
        unranked = rank(data, np.zeros(len(data)), given.replace(queries="judged", ties="input"))
        if not all(np.array_equal(data.offsets, made) for made in (unranked.offsets, unranked.pool_offsets)):
            return None  # the convention drops documents, and the kernel ranks all that there are
        rule = settling(given, self.measure)
        return NativeObjective(
            native.name, native.rules(unranked, given, self.measure), unranked.labels, data.offsets, unranked.pool,
            data.document_ids if by_id else None,
            ties="input" if given.ties == "expected" else given.ties, float32=given.precision == "float32",
            expected=given.ties == "expected",
            settling=rule if np.isnan(native.undefined) else replace(rule, empty=native.undefined),
        )  # fmt: skip

    def values(self, scores: F64) -> F64:
        """A value per query; NaN where the query does not count."""
        if self.native is not None:
            return self.native.values(check_scores(self.data, scores))
        # All queries are ranked, so that there is a value for each; the convention leaves out those that do not count.
        ranking = rank(self.data, scores, self.convention.replace(queries="judged", least=0, all_relevant="keep"))
        values = measure_values(ranking, self.measure, self.convention)
        return np.where(counted(ranking, self.convention), values, np.nan)

    def features(self) -> F64:
        """[2f + s, q]: the value of query q ranked by feature f alone, upwards (s = 0) or downwards (s = 1)."""
        table = np.ascontiguousarray(self.data.features, np.float64)
        if self.native is not None:
            return self.native.features(table)
        return np.array([self.values(sign * column) for column in table.T for sign in (1.0, -1.0)])

    def natively(self) -> NativeObjective:
        """The native objective, for kernels that ask for it in their own loops."""
        if self.native is None:
            raise ConventionError(
                f"{self.measure} cannot be optimised under ties={self.convention.ties}: it is not one native measure "
                "per query; choose another measure, another rule for ties or another tool"
            )
        return self.native


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
        """The mean over queries, as the convention takes it."""
        if self.convention.average == "queries":
            return aggregate(self.values(scores), "mean")
        ranking = rank(self.data, scores, self.convention)
        values = averaged_values(
            ranking, self.measure, self.convention, measure_values(ranking, self.measure, self.convention),
            lambda convention: rank(self.data, scores, convention),
        )  # fmt: skip
        return mean_of(ranking, self.measure, self.convention, values)
