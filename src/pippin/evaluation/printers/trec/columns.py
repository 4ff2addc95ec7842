"""A printed measure: one value per topic, how it is averaged, and how its lines look.

Numbers are printed as C does it: `%6.4f`, with a NaN as `nan` or `-nan` by its sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
FLOOR = 0.00001  # the least value in a geometric mean


class TrecError(Exception):
    """What trec_eval says on standard error, with its exit status."""

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status, self.lines = status, lines


class Uncomputable(Exception):
    """What trec_eval says when a measure cannot be computed, before it names the measure (None: the first one)."""

    def __init__(self, reason: str, measure: str | None = None) -> None:
        super().__init__(reason)
        self.measure = measure


@dataclass(frozen=True)
class Column:
    """One printed measure over the evaluated topics."""

    name: str
    values: Values
    whole: bool = False  # printed as a whole number
    average: str = "mean"  # "mean", "sum", "geometric" or "topics" (the number of topics itself)
    per_topic: bool = True
    texts: Sequence[str] | None = None  # printed instead of the values, by topic only (relstring) …
    summary_text: str | None = None  # … or in the summary only (runid)


def number(value: float) -> str:
    """`%6.4f` of a double.

    >>> number(0.5), number(-0.0), number(float("nan"))
    ('0.5000', '-0.0000', '   nan')
    """
    if math.isnan(value):
        return "  -nan" if math.copysign(1.0, value) < 0 else "   nan"
    return f"{value:6.4f}"


def whole_number(value: float) -> str:
    """`%ld` of a double that was cast to long."""
    return str(int(value))


def line_writer(prefix: str, width: int) -> Callable[[str, str, str], str]:
    """Lines `name, topic, value`, the name filled up to a width."""
    return lambda name, topic, shown: f"{prefix}{name:<{width}}\t{topic}\t{shown}\n"


def left_to_right(values: Values) -> float:
    """The sum as a loop makes it."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def geometric_logs(values: Values) -> Values:
    """log(max(value, 0.00001)) with the C library's logarithm."""
    return np.array([math.log(max(value, FLOOR)) for value in values.tolist()])
