"""A measure of one data set, asked for natively again and again with other scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads, threads_for
from pippin.kernels.measures import Rules, Settling
from pippin.kernels.rank import _columns, ties_code

if TYPE_CHECKING:
    from pippin.data.texts import Texts

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


class NativeObjective:
    """Owns copies of labels and rules; `handle` is what other kernels take."""

    def __init__(
        self,
        name: str,
        rules: Rules,
        labels: I32,
        offsets: I64,
        pool: I32,
        ids: Texts | None,
        *,
        ties: str,
        float32: bool,
        expected: bool,
        settling: Settling,
    ) -> None:
        self.queries, self.rows = len(offsets) - 1, len(labels)
        self.handle = native.Objective(
            name, rules.bound(), labels, offsets, pool, *_columns(ids), ties_code(ties), float32, expected,
            settling.bound(),
        )  # fmt: skip

    def values(self, scores: F64) -> F64:
        """A value per query; NaN is left out of the mean."""
        if len(scores) != self.rows:
            raise ValueError(f"{len(scores)} scores for {self.rows} documents")
        values = np.empty(self.queries, np.float64)
        native.objective_values(self.handle, scores, values, threads_for(self.rows))
        return values

    def varies(self) -> NDArray[np.bool_]:
        """Whether the order of a query's documents can change its value."""
        flags = np.empty(self.queries, np.uint8)
        native.objective_varies(self.handle, flags, threads())
        return flags.astype(bool)

    def features(self, table: F64) -> F64:
        """[2f + s, q]: the value of query q ranked by feature f, upwards (s = 0) or downwards (s = 1)."""
        if len(table) != self.rows:
            raise ValueError(f"{len(table)} rows of features for {self.rows} documents")
        values = np.empty((2 * table.shape[1], self.queries), np.float64)
        native.objective_features(self.handle, table, values, threads())
        return values
