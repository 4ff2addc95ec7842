"""Base classes of results: text, HTML, data frames and figures.

A result holds data (`to_dict`). `pippin.reports.renderers` draws it; that package lies above the packages that compute
results, so `pippin/__init__.py` passes it in with `set_renderer`, and it is imported when a result is first shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pippin.dependencies import require

if TYPE_CHECKING:
    import polars

T = TypeVar("T")


class Figure(Protocol):
    """A figure of a result: shown in a notebook, or written as SVG, PDF, PNG, HTML or JSON."""

    @property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification."""

    def save(self, path: str) -> None:
        """Write the figure in the format of the file extension."""


class Renderer(Protocol):
    """The functions that draw results."""

    def text(self, result: Any) -> str:
        """Return the result as text for a terminal."""

    def html(self, result: Any) -> str:
        """Return the result as HTML for a notebook."""

    def document(self, result: Any, format: str) -> str:
        """Return the result as Markdown or LaTeX."""

    def figure(self, result: Any, kind: str | None) -> Figure:
        """Return the figure of that kind, by default the first."""


_load_renderer: Callable[[], Renderer]


def set_renderer(load: Callable[[], Renderer]) -> None:
    """Set the function that imports and returns the renderer."""
    global _load_renderer  # noqa: PLW0603 - set once, by the package root
    _load_renderer = load


def html(item: Any) -> str:
    """Return HTML for a notebook."""
    return _load_renderer().html(item)


def rows_to_columns(rows: Iterable[Sequence[Any]], *names: str) -> dict[str, Any]:
    """Transpose rows into columns with these names.

    >>> rows_to_columns([("a", 1), ("b", 2)], "name", "value")
    {'name': ['a', 'b'], 'value': [1, 2]}
    """
    table = list(rows)
    return {name: [row[i] for row in table] for i, name in enumerate(names)}


class FrameConvertible:
    """Data that converts to a data frame."""

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name; all have the same length."""
        raise NotImplementedError

    def to_polars(self) -> polars.DataFrame:
        """Return the data as a Polars frame with unrounded numbers."""
        require("a Polars frame", "polars")
        import polars

        return polars.DataFrame(self.to_dict())

    def to_pandas(self) -> Any:
        """Return the data as a pandas frame with unrounded numbers."""
        require("a pandas frame", "pandas")
        import pandas

        return pandas.DataFrame(self.to_dict())


class Displayable(FrameConvertible):
    """A result that prints as text and as HTML in a notebook."""

    def __repr__(self) -> str:
        return _load_renderer().text(self)

    def _repr_html_(self) -> str:
        return _load_renderer().html(self)

    def to_latex(self) -> str:
        """Return the result as LaTeX; its tables need the package booktabs."""
        return _load_renderer().document(self, "latex")

    def to_markdown(self) -> str:
        """Return the result as Markdown."""
        return _load_renderer().document(self, "markdown")


class Plottable(Displayable):
    """A result that can be plotted."""

    def plot(self, kind: str | None = None) -> Figure:
        """Return a figure of the result.

        Parameters
        ----------
        kind : str, optional
            Which figure, if the result has several; the first by default.

        Returns
        -------
        Figure
            Shown in a notebook; `save` writes it to a file.
        """
        return _load_renderer().figure(self, kind)


class ResultsByTool(Plottable, Mapping[str, T]):
    """One result per tool, by the name of the tool.

    `left_out` maps each tool without a result to the reason.
    """

    def __init__(self, results: Mapping[str, T], left_out: Mapping[str, str]) -> None:
        self._results, self.left_out = dict(results), dict(left_out)

    def __getitem__(self, tool: str) -> T:
        from pippin.errors import UnknownName

        if tool in self._results:
            return self._results[tool]
        raise UnknownName("tool of this result", tool, self._results)

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, tool: object) -> bool:
        return tool in self._results
