"""Measures over ranked lists: one value per query, NaN where the measure is undefined."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.frozen import Frozen
from pippin.kernels import native, threads_for

UNJUDGED: int = native.UNJUDGED

_SHORT_PRECISION = {"cutoff": 0, "list": 1, "zero": 2}
_DENOMINATOR = {"judged": 0, "list": 1, "cutoff": 2, "found": 3, "shortest": 4}
_RECALL_CUT = {"up": 0, "nearest": 1}
_IDEAL_CUT = {"cutoff": 0, "list": 1, "none": 2}
_RECALL_DENOMINATOR = {"judged": 0, "cutoff": 1}


class Rules(Frozen):
    """What a convention and a measure's own parameters come down to; tables instead of names."""

    gains: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    divisors: NDArray[np.float64]
    cutoff: int = 0
    relevant_at: int = 1
    ideal_from_list: bool = False
    short_is_zero: bool = False
    short_precision: str = "cutoff"
    denominator: str = "judged"
    undefined_at_cutoff: bool = False
    top_gain: float = 16.0
    parameter: float = 0.0
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    recall_cut: str = "up"
    ideal_cut: str = "cutoff"
    recall_denominator: str = "judged"
    negative_gains: bool = False

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What tells these rules from others."""
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in self.__dict__.values())

    def bound(self) -> native.Rules:
        """The rules as native functions take them."""
        return native.Rules(
            self.gains, self.multipliers, self.divisors, self.cutoff, self.relevant_at, self.ideal_from_list,
            self.short_is_zero, _SHORT_PRECISION[self.short_precision], _DENOMINATOR[self.denominator],
            self.undefined_at_cutoff, self.top_gain, self.parameter, self.numbers, _RECALL_CUT[self.recall_cut],
            _IDEAL_CUT[self.ideal_cut], _RECALL_DENOMINATOR[self.recall_denominator], self.negative_gains,
        )  # fmt: skip


_HELD = {"float64": native.HELD_DOUBLE, "float32": native.HELD_SINGLE, "half-up-2": native.HELD_HALF_UP}


class Settling(Frozen):
    """What a query's value counts in the mean."""

    empty: float  # value where the measure is undefined; NaN: left undefined
    skip_empty: bool  # queries without a relevant document are left out
    held: str | int  # float64, float32, or a number of digits

    def bound(self) -> native.Settling:
        """The rule as native functions take it."""
        return native.Settling(
            self.empty, self.skip_empty, _HELD[self.held] if isinstance(self.held, str) else self.held
        )


def settle_values(
    values: NDArray[np.float64],
    pool: NDArray[np.int32],
    pool_offsets: NDArray[np.int64],
    relevant_at: int,
    settling: Settling,
) -> NDArray[np.float64]:
    """What measured values count, one per query; NaN is left out of the mean. Pools are judged labels, descending."""
    if len(values) != len(pool_offsets) - 1:
        raise ValueError(f"{len(values)} values for {len(pool_offsets) - 1} queries")
    settled = np.array(values, np.float64)
    native.settle_values(settled, pool, pool_offsets, relevant_at, settling.bound())
    return settled


def has_measure(name: str) -> bool:
    """Whether the native side knows a measure of that name."""
    known: bool = native.has_measure(name)
    return known


def measure_lists(
    name: str,
    labels: NDArray[np.int32],
    tied: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    pool: NDArray[np.int32],
    pool_offsets: NDArray[np.int64],
    rules: Rules,
) -> NDArray[np.float64]:
    """One value per query. `tied` is empty where the order is settled; otherwise the exact expectation is taken."""
    values = np.empty(len(offsets) - 1, np.float64)
    native.measure_lists(
        name, labels, tied, offsets, pool, pool_offsets, rules.bound(), values, threads_for(len(labels))
    )
    return values
