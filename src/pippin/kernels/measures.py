"""Compute measures over ranked lists: one value per query, NaN if undefined."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import native, threads, threads_for
from pippin.kernels.ranking import _columns, ties_code
from pippin.kernels.strings import StringColumn
from pippin.records import FrozenRecord

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

UNJUDGED: int = native.UNJUDGED

_PRECISION_DENOMINATOR = {"cutoff": 0, "list": 1, "zero": 2}
_AP_DENOMINATOR = {"judged": 0, "list": 1, "cutoff": 2, "found": 3, "shortest": 4}
_RECALL_LEVEL_ROUNDING = {"up": 0, "nearest": 1}
_IDEAL_DEPTH = {"cutoff": 0, "list": 1, "none": 2}
_RECALL_DENOMINATOR = {"judged": 0, "cutoff": 1}


class Rules(FrozenRecord):
    """The tables and flags of a convention and a measure's parameters."""

    gains: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    divisors: NDArray[np.float64]
    cutoff: int = 0
    relevance_threshold: int = 1
    ideal_from_list: bool = False
    short_is_zero: bool = False
    precision_denominator: str = "cutoff"
    denominator: str = "judged"
    undefined_at_cutoff: bool = False
    top_gain: float = 16.0
    parameter: float = 0.0
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    recall_level_rounding: str = "up"
    ideal_depth: str = "cutoff"
    recall_denominator: str = "judged"
    negative_gains: bool = False

    @cached_property
    def key(self) -> tuple[object, ...]:
        """A hashable key; equal rules have equal keys."""
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in self.__dict__.values())

    def to_native(self) -> native.Rules:
        """Return the rules as native functions take them."""
        return native.Rules(
            self.gains, self.multipliers, self.divisors, self.cutoff, self.relevance_threshold, self.ideal_from_list,
            self.short_is_zero, _PRECISION_DENOMINATOR[self.precision_denominator], _AP_DENOMINATOR[self.denominator],
            self.undefined_at_cutoff, self.top_gain, self.parameter, self.numbers,
            _RECALL_LEVEL_ROUNDING[self.recall_level_rounding],
            _IDEAL_DEPTH[self.ideal_depth], _RECALL_DENOMINATOR[self.recall_denominator], self.negative_gains,
        )  # fmt: skip


_ROUNDING = {"float64": native.HELD_DOUBLE, "float32": native.HELD_SINGLE, "half-up-2": native.HELD_HALF_UP}


class ValueRules(FrozenRecord):
    """How values of empty queries count, and how values are rounded before the mean."""

    empty: float  # value of an undefined measure; NaN: leave it undefined
    skip_empty: bool  # leave queries without a relevant document undefined
    rounding: str | int  # float64, float32, or a number of digits

    def to_native(self) -> native.Settling:
        """Return the rules as native functions take them."""
        return native.Settling(
            self.empty, self.skip_empty, _ROUNDING[self.rounding] if isinstance(self.rounding, str) else self.rounding
        )


def finish_values(
    values: NDArray[np.float64],
    pool: NDArray[np.int32],
    pool_offsets: NDArray[np.int64],
    relevance_threshold: int,
    rules: ValueRules,
) -> NDArray[np.float64]:
    """Apply value rules to measured values; NaN does not enter the mean. Pools are judged labels, descending."""
    if len(values) != len(pool_offsets) - 1:
        raise ValueError(f"{len(values)} values for {len(pool_offsets) - 1} queries")
    results = np.array(values, np.float64)
    native.settle_values(results, pool, pool_offsets, relevance_threshold, rules.to_native())
    return results


def has_measure(name: str) -> bool:
    """Return whether a native measure of that name exists."""
    exists: bool = native.has_measure(name)
    return exists


def measure_lists(
    name: str,
    labels: NDArray[np.int32],
    tied: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    pool: NDArray[np.int32],
    pool_offsets: NDArray[np.int64],
    rules: Rules,
) -> NDArray[np.float64]:
    """Return one value per query: the exact expectation over ties, or, if `tied` is empty, of the given order."""
    values = np.empty(len(offsets) - 1, np.float64)
    native.measure_lists(
        name, labels, tied, offsets, pool, pool_offsets, rules.to_native(), values, threads_for(len(labels))
    )
    return values


class NativeObjective:
    """A native measure with copies of labels and rules; other kernels take its `handle`."""

    def __init__(
        self,
        name: str,
        rules: Rules,
        labels: I32,
        offsets: I64,
        pool: I32,
        ids: StringColumn | None,
        *,
        ties: str,
        float32: bool,
        expected: bool,
        value_rules: ValueRules,
    ) -> None:
        self.queries, self.rows = len(offsets) - 1, len(labels)
        self.handle = native.Objective(
            name, rules.to_native(), labels, offsets, pool, *_columns(ids), ties_code(ties), float32, expected,
            value_rules.to_native(),
        )  # fmt: skip

    def values(self, scores: F64) -> F64:
        """Return a value per query; NaN does not enter the mean."""
        if len(scores) != self.rows:
            raise ValueError(f"{len(scores)} scores for {self.rows} documents")
        values = np.empty(self.queries, np.float64)
        native.objective_values(self.handle, scores, values, threads_for(self.rows))
        return values

    def varies(self) -> NDArray[np.bool_]:
        """Return, per query, whether the order of its documents can change the value."""
        flags = np.empty(self.queries, np.uint8)
        native.objective_varies(self.handle, flags, threads())
        return flags.astype(bool)

    def features(self, table: F64) -> F64:
        """Return [2f + s, q]: the value of query q ranked by feature f, descending (s = 0) or ascending (s = 1)."""
        if len(table) != self.rows:
            raise ValueError(f"{len(table)} rows of features for {self.rows} documents")
        values = np.empty((2 * table.shape[1], self.queries), np.float64)
        native.objective_features(self.handle, table, values, threads())
        return values
