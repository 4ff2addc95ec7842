"""Dicts of dicts as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native

Columns = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]


def nested_columns(nested: Mapping[Any, Mapping[Any, Any]]) -> Columns | None:
    """The inner keys as bytes, starts and lengths, the numbers, and the offsets of the outer keys.

    None unless these are dicts whose inner keys are texts and whose values are floats or whole numbers.

    >>> buffer, starts, lengths, numbers, offsets = nested_columns({"a": {"x": 1, "yz": 0.5}, "b": {}})
    >>> buffer.tobytes(), starts.tolist(), lengths.tolist(), numbers.tolist(), offsets.tolist()
    (b'xyz', [0, 1], [1, 2], [1.0, 0.5], [0, 2, 2])
    """
    return cast(Columns | None, native.nested_columns(nested)) if type(nested) is dict else None
