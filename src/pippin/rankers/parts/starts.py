"""Where does training begin? At scores that documents have already, such as another model's, in the place of 0.

A start travels with the documents it belongs to, as weights of queries do. A ranker that can begin there
(`takes_start`) asks by `start_of`, and learns what to add: its own scores are the difference to the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of

F64 = NDArray[np.float64]


class Begun(Dataset, eq=False):
    """A data set whose documents have scores already."""

    start: F64 = field(default_factory=lambda: np.empty(0))  # one per document

    def select(self, queries: Sequence[int] | NDArray[np.int64] | slice) -> Begun:
        """The data set of these queries (by position), in this order, with their scores."""
        chosen = np.arange(self.queries)[queries]
        return begun(super().select(chosen), self.start[rows_of(self.offsets, chosen)])


def begun(data: Dataset, start: F64) -> Begun:
    """The data set with the scores that training begins from."""
    return Begun(**{one.name: getattr(data, one.name) for one in fields(Dataset)}, start=start)


def start_of(data: Dataset | None) -> F64 | None:
    """The scores that training begins from; None: from 0."""
    return data.start if isinstance(data, Begun) else None
