"""How does a result show itself: as text, in a notebook, as a frame, as a picture?

A result knows its data, and gives them as columns. How it looks is the business of the report room, which stands above
the rooms that make results and is unknown to them: the front door introduces it by name, and it is opened when a
result is first shown.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pippin.extras import need

if TYPE_CHECKING:
    import polars

T = TypeVar("T")


class Figure(Protocol):
    """A picture of a result: shows itself in a notebook, and is written as SVG, PDF, PNG, HTML or JSON."""

    @property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification."""

    def save(self, path: str) -> None:
        """Write the picture; the ending of the name says as what."""


class Presenters(Protocol):
    """What the room that draws results offers."""

    def text(self, result: Any) -> str:
        """The result for a terminal."""

    def html(self, result: Any) -> str:
        """The result for a notebook."""

    def figure(self, result: Any, kind: str | None) -> Figure:
        """A picture of the result: the first, or the one of that kind."""


_room: list[str] = []  # the module that presents results, once it has been introduced


def introduce(module: str) -> None:
    """Name the module that presents results."""
    _room[:] = [module]


def _presenters() -> Presenters:
    module: Any = importlib.import_module(_room[0])
    presenters: Presenters = module
    return presenters


def html(thing: Any) -> str:
    """Something for a notebook that is no result, and shows itself in a line elsewhere."""
    return _presenters().html(thing)


def in_columns(rows: Iterable[Sequence[Any]], *names: str) -> dict[str, Any]:
    """Rows as columns under these names.

    >>> in_columns([("a", 1), ("b", 2)], "name", "value")
    {'name': ['a', 'b'], 'value': [1, 2]}
    """
    columns = list(rows)
    return {name: [row[i] for row in columns] for i, name in enumerate(names)}


class InColumns:
    """Data that others take as a frame."""

    def to_dict(self) -> dict[str, Any]:
        """The data: columns of one length by name."""
        raise NotImplementedError

    def to_polars(self) -> polars.DataFrame:
        """The data as a Polars frame, numbers in full."""
        need("a Polars frame", "polars")
        import polars

        return polars.DataFrame(self.to_dict())

    def to_pandas(self) -> Any:
        """The data as a pandas frame, numbers in full."""
        need("a pandas frame", "pandas")
        import pandas

        return pandas.DataFrame(self.to_dict())


class Shown(InColumns):
    """A result that shows itself; it gives its data (`to_dict`), a room above it the looks."""

    def __repr__(self) -> str:
        return _presenters().text(self)

    def _repr_html_(self) -> str:
        return _presenters().html(self)


class Drawn(Shown):
    """A result that a picture says more of."""

    def plot(self, kind: str | None = None) -> Figure:
        """A picture of the result, which shows itself in a notebook; `kind` where there are several."""
        return _presenters().figure(self, kind)


class ByTool(Drawn, Mapping[str, T]):
    """One result per tool, by the tool's name; with the tools that could give none, and why."""

    def __init__(self, found: Mapping[str, T], left_out: Mapping[str, str]) -> None:
        self.found, self.left_out = dict(found), dict(left_out)

    def __getitem__(self, tool: str) -> T:
        from pippin.errors import UnknownName

        if tool in self.found:
            return self.found[tool]
        raise UnknownName("tool of this result", tool, self.found)

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __contains__(self, tool: object) -> bool:
        return tool in self.found
