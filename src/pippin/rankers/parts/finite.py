"""Training that leaves the finite numbers is an error that says who, when and probably why, never a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError

_EXPONENT = 1023  # the largest label whose 2^label is a double
_LARGE = 1e100  # features whose squares, summed, soon are beyond a double


class NotFinite(FloatingPointError):
    """Something became infinite or no number; a watch adds `round_`."""


def check_finite(what: str, *arrays: NDArray[Any]) -> None:
    """Raise NotFinite unless all numbers are finite. A sum tells it in one pass, unless it overflows itself."""
    with np.errstate(over="ignore", invalid="ignore"):
        if all(np.isfinite(array.sum()) or np.isfinite(array).all() for array in arrays):
            return
    raise NotFinite(what)


def check_learned(learned: Mapping[str, Any]) -> None:
    """Raise NotFinite unless every array and number among attributes that were learned is finite."""
    for name, value in learned.items():
        if name.endswith("_") and name != "curve_":  # where nothing validates, a curve has no values
            for array in _arrays(value):
                check_finite(f"what it learned ({name})", array)


def _arrays(value: Any) -> Iterable[NDArray[Any]]:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield value
    elif isinstance(value, float):
        yield np.array([value])
    elif isinstance(value, list):
        for one in value:
            yield from _arrays(one)


def explained(name: str, error: FloatingPointError, data: Dataset) -> DataError:
    """The sentence for a training on `data` that left the finite numbers."""
    what = str(error) if isinstance(error, NotFinite) else f"a number ({error})"
    round_ = getattr(error, "round_", None)
    when = "before the first round" if round_ is None else f"in round {round_}"
    return DataError(f"{name}: {what} is not finite {when}; {likely_cause(data)}")


def likely_cause(data: Dataset) -> str:
    """What of the data probably made numbers overflow."""
    top = int(data.labels.max(initial=0))
    if top > _EXPONENT:
        return f"the likely cause is label {top}, as 2^{top} is beyond a double: map labels to small grades"
    with np.errstate(invalid="ignore"):
        largest = float(np.nanmax(np.abs(data.features), initial=0.0))
    if largest > _LARGE:
        return f"the likely cause is a feature of {largest:.3g}: bring features to one scale"
    return "the likely cause is a step that is too long: try a smaller rate or C, or features of one scale"
