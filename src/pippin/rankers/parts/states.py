"""What a model file holds as what a ranker holds: numbers that are finite, arrays of the sizes that belong together.

Every function raises ValueError, KeyError or TypeError where that is not what it was given; `models.load` makes one
sentence with the file's name of it. Nothing is allocated by a size that the file merely claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def number(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def numbers(values: Any) -> NDArray[np.float64]:
    """A list of finite numbers."""
    if not isinstance(values, list):
        raise ValueError("a list of numbers is missing")
    return np.array([number(value) for value in values], np.float64)


def count(value: Any) -> int:
    """A whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def place(value: Any, names: Sequence[str]) -> int:
    """The position of a feature's name."""
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{value!r} is none of the features")
    return names.index(value)


def direction(value: Any) -> int:
    """Plus or minus one."""
    if isinstance(value, bool) or value not in (1, -1):
        raise ValueError(f"{value!r} is neither 1 nor -1")
    return int(value)


def array_of(value: Any, dtype: DTypeLike, *shape: int) -> NDArray[Any]:
    """An array of this type and shape, of finite numbers."""
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
        raise ValueError("the layers do not fit together")
    if not np.isfinite(value).all():
        raise ValueError("a weight is not finite")
    return value
