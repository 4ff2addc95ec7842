"""A printed measure: one value per topic, how it is averaged, and how its lines look.

Numbers are printed as C does it: `%6.4f`, with a NaN as `nan` or `-nan` by its sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pippin.frozen import Frozen

Values = NDArray[np.float64]
FLOOR = 0.00001  # the least value in a geometric mean


class TrecError(Exception):
    """What trec_eval says on standard error, with its exit status."""

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status, self.lines = status, lines


def crash(status: int, why: str) -> TrecError:
    """Where the original comes to grief: the status a shell gives to its signal, and a sentence of our own."""
    return TrecError(status, f"pippin as trec_eval: the original crashes here: {why}")


class Column(Frozen):
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
    """Lines `name, topic, value`, the name filled up to a width in bytes."""

    def line(name: str, topic: str, shown: str) -> str:
        blanks = " " * (width - len(name.encode("utf-8", "surrogateescape")))
        return f"{prefix}{name}{blanks}\t{topic}\t{shown}\n"

    return line


def left_to_right(values: Values) -> float:
    """The sum as a loop makes it."""
    with np.errstate(invalid="ignore"):
        return float(np.cumsum(values)[-1]) + 0.0 if len(values) else 0.0  # from 0 on, so never -0


def geometric_logs(values: Values) -> Values:
    """log(max(value, 0.00001)) with the C library's logarithm; a NaN counts as the floor."""
    return np.array([math.log(value if value > FLOOR else FLOOR) for value in values.tolist()])
