"""A figure: a Vega-Lite specification that shows itself in a notebook, and is drawn for a page or for paper."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.errors import ConventionError, MissingExtra
from pippin.extras import need
from pippin.files import atomic_write

Spec = dict[str, Any]
DRAWINGS = ("svg", "pdf", "png")
MIME = "application/vnd.vegalite.v5+json"
_PAPER = {"background": "white", "font": "Helvetica, Arial, sans-serif", "view": {"stroke": None}}


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """A picture of a result.

    >>> figure = Figure({"mark": "bar", "data": {"values": [{"a": 1}]}}, "one bar")
    >>> figure
    Figure('one bar')
    >>> MIME in figure._repr_mimebundle_()
    True
    """

    spec: Spec
    title: str = ""  # what a screen reader says of it

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """For notebooks: the specification, and a drawing where only pictures can be shown."""
        bundle: dict[str, Any] = {MIME: self.spec, "text/plain": repr(self)}
        with suppress(MissingExtra):
            bundle["image/svg+xml"] = drawn(self.spec, ["svg"])["svg"].decode()
        return bundle

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure; the ending of the name says as what: svg, pdf, png, html (interactive, offline), json."""
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind == "json":
            content = (json.dumps(self.spec, indent=1) + "\n").encode()
        elif kind == "html":
            from markupsafe import Markup

            from pippin.report.page import embedded, render
            from pippin.report.vega import drawing_library

            library = Markup(drawing_library())
            content = render("vega.html", title=self.title, spec=embedded(self.spec), library=library).encode()
        elif kind in DRAWINGS:
            content = drawn(self.spec, [kind])[kind]
        else:
            raise ConventionError(f"a figure is written as {', '.join(DRAWINGS)}, html or json, not as {kind!r}")
        with atomic_write(path) as out:
            out.write(content)

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"


def drawn(spec: Spec, kinds: Sequence[str]) -> dict[str, bytes]:
    """A figure of the page as files for a paper, black on white: drawn once, and put into each of the kinds."""
    need("drawing figures", "vl_convert")
    import vl_convert

    svg = str(vl_convert.vegalite_to_svg(on_paper(spec)))
    turned: dict[str, Callable[[], bytes]] = {
        "svg": svg.encode,
        "pdf": lambda: bytes(vl_convert.svg_to_pdf(svg)),
        "png": lambda: bytes(vl_convert.svg_to_png(svg, scale=2)),
    }
    return {kind: turned[kind]() for kind in kinds}


def on_paper(spec: Spec, width: int = 440) -> Spec:
    """The figure without what only a page knows: its colours, pointing at things, and how wide it is.

    >>> on_paper({"width": "container", "mark": {"stroke": "var(--card)"}})["mark"]
    {'stroke': '#ffffff'}
    """
    paper: Spec = _paper_colours(copy.deepcopy(spec))
    for part in (paper, *paper.get("layer", ())):
        part.pop("params", None)
        part.get("encoding", {}).pop("opacity", None)
    if paper.get("width") == "container":
        paper["width"] = width
    return {**paper, "config": _PAPER}


def _paper_colours(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _paper_colours(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_paper_colours(value) for value in part]
    return {"var(--ink)": "#1c2024", "var(--card)": "#ffffff"}.get(part, part) if isinstance(part, str) else part
