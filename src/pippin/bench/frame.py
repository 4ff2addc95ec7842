"""What is a table of results, where nothing but NumPy is installed? Columns of one length; texts kept as numbers.

Leaderboards, studies and pages ask little of their tables: rows that fit, rows by group, sums within groups. A text
that stands in a million rows is one name and a million small numbers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.shown import InColumns

Rows = NDArray[Any]  # positions, or a mask


@dataclass(frozen=True, eq=False)
class Names:
    """A column of texts: the distinct ones, and which of them stands in each row."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Names:
        """Texts in the order of the rows."""
        known: dict[str, int] = {}
        codes = [known.setdefault(text, len(known)) for text in texts]
        return cls(np.array(codes, np.int64), tuple(known))

    @classmethod
    def joined(cls, columns: Sequence[Names]) -> Names:
        """The rows of several columns, one after the other."""
        known: dict[str, int] = {}
        codes = [np.zeros(0, np.int64)]
        for column in columns:
            place = np.array([known.setdefault(name, len(known)) for name in column.names], np.int64)
            codes.append(place[column.codes] if len(place) else column.codes)
        return cls(np.concatenate(codes), tuple(known))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Rows) -> Names:
        return Names(self.codes[rows], self.names)

    def tolist(self) -> list[str]:
        """The text of every row."""
        return [self.names[code] for code in self.codes.tolist()]


Column = Names | NDArray[Any]
KINDS: Mapping[type, Any] = {float: np.float64, int: np.int64}


class Frame(InColumns):
    """Columns of one length by name."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = dict(columns)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]], **kinds: type) -> Frame:
        """Rows of values under these names, each str, int or float; a number that is None is NaN.

        >>> Frame.of([("a", 1.0), ("b", None)], name=str, value=float)["value"]
        array([ 1., nan])
        """
        columns: dict[str, Column] = {}
        for at, (name, kind) in enumerate(kinds.items()):
            values = [row[at] for row in rows]
            if kind is str:
                columns[name] = Names.of(values)
            else:
                columns[name] = np.array(values, float if None in values else KINDS[kind])
        return cls(columns)

    @classmethod
    def joined(cls, frames: Sequence[Frame]) -> Frame:
        """The rows of several frames with the same columns."""
        return cls({name: _joined([frame._columns[name] for frame in frames]) for name in frames[0].columns})

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One column: numbers, or texts as objects."""
        column = self._columns[name]
        return np.array([*column.names, None], object)[column.codes] if isinstance(column, Names) else column

    def names(self, name: str) -> list[str]:
        """The distinct texts of a column, in the order in which they first come."""
        column = self._columns[name]
        if not isinstance(column, Names):
            raise TypeError(f"{name} holds numbers")
        return [column.names[code] for code in column.codes[self.groups(name)[0]].tolist()]

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        """The rows of these columns, or of all."""
        return list(zip(*(self._columns[name].tolist() for name in names or self._columns), strict=True))

    def has(self, name: str, *wanted: Collection[str] | str) -> NDArray[np.bool_]:
        """Which rows have one of these texts in a column."""
        column = self._columns[name]
        if not isinstance(column, Names):
            raise TypeError(f"{name} holds numbers")
        allowed = {text for one in wanted for text in ([one] if isinstance(one, str) else one)}
        fits: NDArray[np.bool_] = np.array([text in allowed for text in column.names], bool)[column.codes]
        return fits

    def take(self, rows: Rows) -> Frame:
        """These rows."""
        return Frame({name: column[rows] for name, column in self._columns.items()})

    def where(self, **wanted: Collection[str] | str) -> Frame:
        """The rows that have one of these texts in each of these columns."""
        fits = np.ones(len(self), bool)
        for name, texts in wanted.items():
            fits &= self.has(name, texts)
        return self.take(fits)

    def headed(self, names: Sequence[str], values: Sequence[str | int]) -> Frame:
        """The same behind columns that hold one value each."""
        zeros = np.zeros(len(self), np.int64)
        heads = [Names(zeros, (value,)) if isinstance(value, str) else zeros + value for value in values]
        return Frame({**dict(zip(names, heads, strict=True)), **self._columns})

    def with_columns(self, **columns: Column) -> Frame:
        """The same with other columns, or with more."""
        return Frame({**self._columns, **columns})

    def groups(self, *names: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that are alike in these columns: the first of each group, ascending, and the group of every row."""
        key, size = np.zeros(len(self), np.int64), 1
        for name in names:
            codes, many = _numbered(self._columns[name])
            key, size = key * many + codes, size * many
            if size > 4 * len(key) + 1024:  # few of these can occur
                values, key = np.unique(key, return_inverse=True)
                size = len(values)
        first = np.full(size, len(key), np.int64)
        first[key[::-1]] = np.arange(len(key))[::-1]
        there = np.flatnonzero(first < len(key))
        order = there[np.argsort(first[there])]
        number = np.empty(size, np.int64)
        number[order] = np.arange(len(order))
        return first[order], number[key]

    def by(self, *names: str) -> dict[tuple[Any, ...], Frame]:
        """The rows by their values in these columns, in the order in which these first come."""
        first, group = self.groups(*names)
        parts = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1]) if len(first) else []
        return dict(zip(self.take(first).rows(*names), map(self.take, parts), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The columns as lists; what is not a number is None."""
        given = {name: column.tolist() for name, column in self._columns.items()}
        return {name: [None if isinstance(v, float) and math.isnan(v) else v for v in values]
                for name, values in given.items()}  # fmt: skip

    def __repr__(self) -> str:
        return f"Frame({len(self):,} rows: {', '.join(self._columns)})"


def _joined(columns: Sequence[Column]) -> Column:
    texts = [column for column in columns if isinstance(column, Names)]
    if texts:
        return Names.joined(texts)
    numbers = [column for column in columns if not isinstance(column, Names)]
    return np.concatenate([column for column in numbers if len(column)] or numbers[:1])


def _numbered(column: Column) -> tuple[NDArray[np.int64], int]:
    """A number for every distinct value of a column, and how many there can be."""
    if isinstance(column, Names):
        return column.codes, max(1, len(column.names))
    values, codes = np.unique(column, return_inverse=True)
    return codes, max(1, len(values))
