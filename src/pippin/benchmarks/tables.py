"""Row operations on `pyarrow.Table` for leaderboards, studies and pages.

Texts that repeat in millions of rows are dictionary columns. A missing number is null in Arrow and NaN in NumPy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.errors import DataError, UnknownName

if TYPE_CHECKING:
    from pyarrow import Table

NO_CELLS = "no finished cells in the results folder"


def make_table(rows: Sequence[Sequence[Any]], **types: type) -> Table:
    """Return rows as a table with these column names and types (str, int or float).

    >>> make_table([("a", 1.0), ("b", None)], name=str, value=float).to_pydict()
    {'name': ['a', 'b'], 'value': [1.0, None]}
    """
    import pyarrow

    arrow_types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    columns = {
        name: pyarrow.array([row[i] for row in rows], arrow_types[kind], from_pandas=True)
        for i, (name, kind) in enumerate(types.items())
    }
    return pyarrow.table(columns)


def table_rows(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    """Return the rows of these columns, or of all."""
    return list(zip(*(table[name].to_pylist() for name in columns or table.column_names), strict=True))


def distinct(table: Table, column: str) -> list[str]:
    """Return the distinct texts of a column in the order in which they first appear."""
    texts: list[str] = table[column].unique().to_pylist()
    return texts


def to_numbers(table: Table, column: str) -> NDArray[Any]:
    """Return a column of numbers as a NumPy array; null is NaN."""
    numbers: NDArray[Any] = table[column].to_numpy()
    return numbers


def rows_with(table: Table, column: str, values: Collection[str]) -> NDArray[np.bool_]:
    """Return which rows have one of these texts in a column."""
    import pyarrow
    from pyarrow import compute

    texts = pyarrow.array(list(values), pyarrow.string())
    mask: NDArray[np.bool_] = compute.is_in(table[column], value_set=texts).to_numpy()
    return mask


def select_rows(table: Table, **values: Collection[str] | str) -> Table:
    """Return the rows that have one of these texts in each of these columns."""
    mask = np.ones(len(table), np.bool_)
    for column, texts in values.items():
        mask &= rows_with(table, column, [texts] if isinstance(texts, str) else texts)
    return table.filter(mask)


def encode(table: Table, column: str) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct values of a column in order of first appearance, and the index of every row's value."""
    import pyarrow

    values = table[column]
    if pyarrow.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)  # a filtered dictionary keeps values without rows
    encoded = values.dictionary_encode().combine_chunks()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)


def group_rows(table: Table, *columns: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each group of rows that are equal in these columns, ascending, and every row's group."""
    key = np.zeros(len(table), np.int64)
    for column in columns:
        values, codes = encode(table, column)
        # Renumber the keys after every column, so that they stay below rows × values and cannot overflow.
        key = np.unique(key * max(1, len(values)) + codes, return_inverse=True)[1]
    _, first, sorted_group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return first[order], number[sorted_group]


def split_rows(table: Table, *columns: str) -> dict[tuple[Any, ...], Table]:
    """Return the rows by their values in these columns, in the order in which the values first appear."""
    first, group = group_rows(table, *columns)
    grouped = table.take(np.argsort(group, kind="stable"))
    ends = np.cumsum(np.bincount(group, minlength=len(first)))
    parts = [grouped.slice(end - size, size) for end, size in zip(ends, np.bincount(group), strict=True)]
    return dict(zip(table_rows(table.take(first), *columns), parts, strict=True))


class ResultTables(Protocol):
    """The tables of all cells, as `pippin.benchmarks.store.Results` has them."""

    def means(self) -> Table:
        """Return data, fold, ranker, convention, seed, tool, measure and mean."""

    def values(self, tools: Sequence[str] | None = None, measures: Sequence[str] | None = None) -> Table:
        """Return the same columns with query and value; the value is null if the query does not count."""

    def failures(self) -> Table:
        """Return data, fold, ranker, convention, seed and reason."""

    def missing(self) -> list[dict[str, Any]]:
        """Return the plan entries of cells that failed or were not computed yet."""


def missing_cells(tables: ResultTables) -> Table:
    """Return the failures, and the cells that were not computed yet with the reason "not run"."""
    failures = tables.failures()
    key = failures.column_names[:5]
    failed = set(table_rows(failures, *key))
    waiting = [tuple(entry[name] for name in key) for entry in tables.missing()]
    rows = [(*entry, "not run") for entry in waiting if entry not in failed]
    return make_table([*table_rows(failures), *rows], **dict.fromkeys(key, str) | {"seed": int}, reason=str)


def training_convention(means: Table, failures: Table, requested: str | None = None) -> str:
    """Return the training convention to show: the requested one, else official, else the only one."""
    available: list[str] = sorted({*distinct(means, "convention"), *distinct(failures, "convention")})
    if requested is not None:
        if requested not in available:
            raise UnknownName("training convention of the results", requested, available)
        return requested
    if "official" in available:
        return "official"
    if len(available) > 1:
        raise DataError(f"found several training conventions; choose one of {', '.join(available)}")
    if not available:
        raise DataError(NO_CELLS)
    return available[0]


def convention_free_rankers(means: Table, failures: Table, convention: str) -> list[str]:
    """Return the rankers without a cell under the convention because their training does not depend on it."""
    trained = [select_rows(table, convention=convention) for table in (means, failures)]
    present = {ranker for table in trained for ranker in distinct(table, "ranker")}
    absent = sorted({*distinct(means, "ranker"), *distinct(failures, "ranker")} - present)
    return [name for name in absent if not _uses_convention(name)]


def _uses_convention(name: str) -> bool:
    """Return whether a ranker's training depends on a convention; an unknown ranker may."""
    from pippin.rankers import ranker
    from pippin.rankers.chains import parse_parameters, uses_convention

    try:
        return uses_convention(ranker(name)().get_params() | parse_parameters(name))
    except UnknownName:
        return True


def check_names(kind: str, requested: Sequence[str] | None, names: Iterable[str]) -> list[str]:
    """Return the requested names after checking that each exists; by default all names."""
    available = sorted(set(names))
    for name in requested or ():
        if name not in available:
            raise UnknownName(kind, name, available)
    return list(requested) if requested is not None else available
