"""What is there to choose from? A shelf lists things by name and shows itself as a table: tools, measures, features …

It is a view of a `Registry` for people: nothing is put on it or taken off. A package can be a shelf, too, and a package
can be a verb: `pippin.rankers` holds the rankers' files and lists them, `pippin.bench` holds its own and runs them.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

from pippin.registry import Registry
from pippin.shown import Shown, in_columns
from pippin.tables import Table

T = TypeVar("T")


class Shelf(Shown, Mapping[str, T]):
    """Things by name, read-only.

    >>> fruits = Registry[str]("fruit")
    >>> _ = fruits.register("pippin", "an apple")
    >>> shelf = Shelf(fruits, {"what it is": str})
    >>> shelf["pippin"], list(shelf), len(shelf)
    ('an apple', ['pippin'], 1)
    >>> shelf
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
        return [[name, *(column(thing) for column in self._columns.values())] for name, thing in self.items()]

    def to_dict(self) -> dict[str, Any]:
        """A row per thing."""
        return in_columns(self._rows(), self._registry.kind, *self._columns)

    def table(self) -> Table:
        """A row per thing, as a table."""
        headers: Sequence[str] = [self._registry.kind, *self._columns]
        return Table(headers, self._rows(), names=len(headers))


class _Verb(ModuleType):
    """A package that can be called."""

    _verb: tuple[str, str]

    def _function(self) -> Callable[..., Any]:
        module, name = self._verb
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function()(*arguments, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function())


class _ShelfPackage(ModuleType):
    """A package that lists what is in it."""

    _shelf: Callable[[], Shelf[Any]]

    def __getitem__(self, name: str) -> Any:
        return self._shelf()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shelf())

    def __len__(self) -> int:
        return len(self._shelf())

    def __contains__(self, name: object) -> bool:
        return name in self._shelf()

    def __repr__(self) -> str:
        return repr(self._shelf())

    def _repr_html_(self) -> str:
        return self._shelf()._repr_html_()


def make_verb(package: str, module: str, name: str) -> None:
    """Let a package be called: it then runs the function of that name, whose module is imported no sooner."""
    module_object = sys.modules[package]
    module_object.__class__ = _Verb
    module_object._verb = (module, name)  # type: ignore[attr-defined]


def make_shelf(package: str, shelf: Callable[[], Shelf[Any]]) -> None:
    """Let a package list what is in it; the shelf is made when it is looked at."""
    module = sys.modules[package]
    module.__class__ = _ShelfPackage
    module._shelf = shelf  # type: ignore[attr-defined]
