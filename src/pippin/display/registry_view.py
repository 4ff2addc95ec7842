"""Read-only views of registries that print as tables: tools, measures, features, rankers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pippin.display import Displayable, rows_to_columns
from pippin.display.tables import Table
from pippin.registry import Registry

T = TypeVar("T")


class RegistryView(Displayable, Mapping[str, T]):
    """A read-only mapping of the items in a registry, shown as a table.

    Parameters
    ----------
    registry : Registry
        The registry to show.
    columns : mapping of str to callable
        Heading of each column and the function that returns its text for an item.

    Examples
    --------
    >>> fruits = Registry[str]("fruit")
    >>> _ = fruits.register("pippin", "an apple")
    >>> view = RegistryView(fruits, {"what it is": str})
    >>> view["pippin"], list(view), len(view)
    ('an apple', ['pippin'], 1)
    >>> view
    fruit   what it is
    ──────  ──────────
    pippin  an apple
    """

    def __init__(self, registry: Registry[T], columns: Mapping[str, Callable[[T], str]]) -> None:
        self._registry, self._columns = registry, columns

    def __getitem__(self, name: str) -> T:
        return self._registry[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry)

    def __len__(self) -> int:
        return len(self._registry)

    def __contains__(self, name: object) -> bool:
        return name in self._registry

    def _rows(self) -> list[list[str]]:
        return [[name, *(column(item) for column in self._columns.values())] for name, item in self.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by heading; one row per item."""
        return rows_to_columns(self._rows(), self._registry.kind, *self._columns)

    def table(self) -> Table:
        """Return a table with one row per item."""
        headers: Sequence[str] = [self._registry.kind, *self._columns]
        return Table(headers, self._rows(), text_columns=len(headers))
