"""Compute one measure again and again for different scores of one data set.

Training uses it for early stopping, model selection and direct optimisation. Labels, pools and tables are prepared
once; ranking and measuring use the kernels of `evaluate` and give the same bits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluation import aggregate, averaged_values, mean_of, measure_values, value_rules
from pippin.evaluation.measures import MEASURE_DEFINITIONS, Measure
from pippin.evaluation.measures.notation import parse
from pippin.evaluation.rank import check_scores, counted_queries, rank
from pippin.evaluation.tools import TOOLS
from pippin.kernels.measures import NativeObjective

F64 = NDArray[np.float64]


def resolve(measure: str | Measure, convention: str | Convention) -> tuple[Measure, Convention]:
    """Return the measure and its convention; `convention` may be the name of a tool."""
    parsed = parse(measure) if isinstance(measure, str) else measure
    kind = MEASURE_DEFINITIONS[parsed.kind]
    if kind.aggregate != "mean" or kind.run_function is not None:
        raise ConventionError(f"{measure} is not a mean over queries, so it cannot be used to train or select models")
    if isinstance(convention, str):
        return parsed, TOOLS[convention].convention_for(parsed)
    return parsed, parsed.under(convention)


class Objective:
    """A measure of scores of one data set.

    Parameters
    ----------
    data : Dataset
        Documents with labels.
    measure : str or Measure
        A measure that is a mean over queries.
    convention : str or Convention
        A convention or the name of a tool.

    Examples
    --------
    >>> data = Dataset(np.zeros((3, 1)), np.array([0, 1, 0], np.int32), np.array([0, 3]), ("q",))
    >>> Objective(data, "RR", "official").mean(np.array([0.3, 0.2, 0.1]))
    0.5
    """

    def __init__(self, data: Dataset, measure: str | Measure, convention: str | Convention) -> None:
        self.data = data
        self.measure, self.convention = resolve(measure, convention)
        self.native = self._prepare()

    def _prepare(self) -> NativeObjective | None:
        """Return the native objective, or None if the measure is not one native function per query."""
        data, convention = self.data, self.convention
        if data.labels.min(initial=0) >= 0:
            convention = convention.replace(negative_labels="zero")
        native = MEASURE_DEFINITIONS[self.measure.kind].native(convention)
        by_id = convention.ties.startswith("id-")
        if native is None or (by_id and data.document_ids is None):
            return None  # without ids `rank` works as long as no scores are tied
        # With equal scores in input order, the ranked labels are the labels under the convention.
        unranked = rank(data, np.zeros(len(data)), convention.replace(query_selection="judged", ties="input"))
        if not all(np.array_equal(data.offsets, offsets) for offsets in (unranked.offsets, unranked.pool_offsets)):
            return None  # the convention drops documents; the kernel ranks all
        rules = value_rules(convention, self.measure)
        return NativeObjective(
            native.name, native.rules(unranked, convention, self.measure), unranked.labels, data.offsets, unranked.pool,
            data.document_ids if by_id else None, ties="input" if convention.ties == "expected" else convention.ties,
            float32=convention.score_precision == "float32", expected=convention.ties == "expected",
            value_rules=rules if np.isnan(native.undefined) else replace(rules, empty=native.undefined),
        )  # fmt: skip

    def values(self, scores: F64) -> F64:
        """Return a value per query; NaN for queries that do not count."""
        if self.native is not None:
            return self.native.values(check_scores(self.data, scores))
        all_queries = self.convention.replace(query_selection="judged", min_retrieved=0, all_relevant_lists="keep")
        ranking = rank(self.data, scores, all_queries)
        values = measure_values(ranking, self.measure, self.convention)
        return np.where(counted_queries(ranking, self.convention), values, np.nan)

    def mean(self, scores: F64) -> float:
        """Return the mean over queries under the convention."""
        if self.convention.averaging == "queries":
            return aggregate(self.values(scores), "mean")
        ranking = rank(self.data, scores, self.convention)
        values = averaged_values(
            ranking, self.measure, self.convention, measure_values(ranking, self.measure, self.convention),
            lambda convention: rank(self.data, scores, convention),
        )  # fmt: skip
        return mean_of(ranking, self.measure, self.convention, values)

    def features(self) -> F64:
        """Return the values of each feature as a ranker, of shape (2 · n_features, n_queries).

        Row 2f ranks by feature f in descending order, row 2f + 1 in ascending order.
        """
        table = np.ascontiguousarray(self.data.features, np.float64)
        if self.native is not None:
            return self.native.features(table)
        return np.array([self.values(sign * column) for column in table.T for sign in (1.0, -1.0)])

    def require_native(self) -> NativeObjective:
        """Return the native objective for kernels with their own loops; raise ConventionError if there is none."""
        if self.native is None:
            raise ConventionError(
                f"{self.measure} cannot be optimised under ties={self.convention.ties}: it is not one native measure "
                "per query; choose another measure, another rule for ties or another tool"
            )
        return self.native
