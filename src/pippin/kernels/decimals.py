"""Rows of numbers with six decimals, as LETOR's files have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native


def format_decimals(
    table: NDArray[np.float64], before: Sequence[str], printed: NDArray[np.bool_]
) -> tuple[bytes, NDArray[np.int64]]:
    """The text of all rows, and where each ends. A column is what stands before it and, if `printed`, its number.

    Every number is one that six decimals can say (`as_printed` gives such); NaN is NULL.

    >>> format_decimals(np.array([[0.5, 0.0], [np.nan, 0.0]]), [" 1:", " 2:0"], np.array([True, False]))
    (b' 1:0.500000 2:0 1:NULL 2:0', array([15, 26]))
    """
    ends = np.empty(len(table), np.int64)
    return native.format_decimals(table, list(before), printed, ends), ends
