"""Values of several systems on the same queries.

Comparisons are paired by query. `ValueTable` aligns values by query id once and validates them. A query that some
system lacks, or a value that is NaN, is an error that names it, unless the caller chooses how to count it; the table
then records what was dropped or filled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.errors import DataError, UnknownName

FloatArray = NDArray[np.float64]
Missing = float | Literal["error", "drop"]
Undefined = Literal["error", "drop"]


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Values of several systems on the same queries: `values[q, s]`, float64, finite, read-only.

    >>> scores = ValueTable.from_systems({"bm25": {"q1": 0.5, "q2": 0.25}, "lm": {"q2": 0.75, "q1": 0.0}})
    >>> scores.query_ids, scores.values.tolist()
    (('q1', 'q2'), [[0.5, 0.0], [0.25, 0.75]])
    """

    values: FloatArray
    query_ids: tuple[str, ...]
    systems: tuple[str, ...]
    dropped: tuple[str, ...] = ()  # queries left out because a value was missing or undefined
    filled: int = 0  # missing cells that have the value of `missing`

    def __post_init__(self) -> None:
        table = np.array(self.values, dtype=np.float64, order="C")
        if table.ndim != 2 or table.shape != (len(self.query_ids), len(self.systems)):
            raise DataError(
                f"values must be a table of {len(self.query_ids)} queries × {len(self.systems)} systems, "
                f"not of shape {table.shape}"
            )
        _refuse_repeats("query", self.query_ids)
        _refuse_repeats("system", self.systems)
        if not self.systems:
            raise DataError("the table has zero systems")
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            q, s = bad[0]
            raise DataError(
                f"system {self.systems[s]!r} has the value {table[q, s]} on query {self.query_ids[q]!r}"
                f"{_and_more(len(bad))}; to leave such queries out, pass missing='drop' to compare (--missing drop) "
                "or undefined='drop' to ValueTable"
            )
        table.setflags(write=False)
        object.__setattr__(self, "values", table)

    @classmethod
    def from_systems(
        cls,
        systems: Mapping[str, Mapping[str, float]],
        *,
        missing: Missing = "error",
        undefined: Undefined = "error",
    ) -> Self:
        """Align system → {query: value} by query id.

        `missing` is what to do with a query that some system lacks: raise an error, drop it for all, or count a
        value. `undefined` is what to do with NaN: raise an error, or drop the query for all.
        """
        _check_policy(missing, undefined)
        query_ids = tuple(dict.fromkeys(query for values in systems.values() for query in values))
        table = np.full((len(query_ids), len(systems)), np.nan)
        absent = np.ones(table.shape, dtype=bool)
        position = {query: q for q, query in enumerate(query_ids)}
        for s, values in enumerate(systems.values()):
            for query, value in values.items():
                table[position[query], s] = value
                absent[position[query], s] = False
        names = tuple(systems)
        if missing == "error" and absent.any():
            q, s = np.argwhere(absent)[0]
            raise DataError(
                f"system {names[s]!r} lacks a value for query {query_ids[q]!r}{_and_more(int(absent.sum()))}; "
                "pass missing=0.0 (--missing 0) to count it as 0, or missing='drop' (--missing drop) to leave the "
                "query out for all systems"
            )
        gone = np.asarray(absent.any(axis=1)) & (missing == "drop")
        filled = 0
        if not isinstance(missing, str):
            table[absent] = float(missing)
            filled = int(absent.sum())
        return cls._without(table, query_ids, names, gone, undefined, filled)

    @classmethod
    def from_arrays(
        cls,
        values: ArrayLike,
        *,
        systems: Sequence[str] | None = None,
        query_ids: Sequence[str] | None = None,
        undefined: Undefined = "error",
    ) -> Self:
        """Create a table whose rows are the same queries for every column; names default to 1, 2, …"""
        _check_policy("error", undefined)
        table: Any = np.asarray(values, dtype=np.float64)
        if table.ndim != 2:
            raise DataError(f"values must have two dimensions (queries × systems), got {table.ndim}")
        rows, columns = table.shape
        queries = tuple(query_ids) if query_ids is not None else tuple(str(i + 1) for i in range(rows))
        names = tuple(systems) if systems is not None else tuple(str(i + 1) for i in range(columns))
        if len(queries) != rows:
            raise DataError(f"there are {rows} rows of values but {len(queries)} query ids")
        return cls._without(table, queries, names, np.zeros(rows, dtype=bool), undefined, 0)

    @classmethod
    def _without(
        cls,
        table: FloatArray,
        query_ids: tuple[str, ...],
        systems: tuple[str, ...],
        gone: NDArray[np.bool_],
        undefined: Undefined,
        filled: int,
    ) -> Self:
        if undefined == "drop":
            gone = gone | np.isnan(table).any(axis=1)
        queries = np.array(query_ids, dtype=object)
        return cls(table[~gone], tuple(queries[~gone]), systems, tuple(queries[gone]), filled)

    @property
    def means(self) -> FloatArray:
        """Means over queries, one per system."""
        if not self.query_ids:
            raise DataError("all queries were dropped")
        return np.asarray(self.values.mean(axis=0))

    def index(self, system: str) -> int:
        """Return the column of a system."""
        try:
            return self.systems.index(system)
        except ValueError:
            raise UnknownName("system", system, self.systems) from None

    def by_query_id(self) -> FloatArray:
        """Return the values with queries in the order of their ids, so that seeded tests do not depend on the file."""
        order = sorted(range(len(self.query_ids)), key=self.query_ids.__getitem__)
        return np.ascontiguousarray(self.values[order])


def _refuse_repeats(kind: str, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"{kind} {repeated[0]!r} appears twice")


def _and_more(count: int) -> str:
    return f" (and {count - 1} more like it)" if count > 1 else ""


def _check_policy(missing: Missing, undefined: Undefined) -> None:
    if isinstance(missing, str) and missing not in ("error", "drop"):
        raise UnknownName("rule for missing queries", missing, ("error", "drop", "a number"))
    if undefined not in ("error", "drop"):
        raise UnknownName("rule for undefined values", str(undefined), ("error", "drop"))
