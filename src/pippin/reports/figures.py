"""Figures as Vega-Lite specifications, drawn for notebooks, pages and papers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.dependencies import require
from pippin.errors import ConventionError, DataError, MissingDependency, PippinError
from pippin.reports.specs import Spec
from pippin.storage.files import atomic_write

DRAWINGS = ("svg", "pdf", "png")
MIME = "application/vnd.vegalite.v5+json"
_PAPER = {"background": "white", "font": "Helvetica, Arial, sans-serif", "view": {"stroke": None}}


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """A figure of a result.

    >>> figure = Figure({"mark": "bar", "data": {"values": [{"a": 1}]}}, "one bar")
    >>> figure
    Figure('one bar')
    >>> MIME in figure._repr_mimebundle_()
    True
    """

    spec: Spec
    title: str = ""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the specification for notebooks, and an SVG for viewers without Vega-Lite."""
        bundle: dict[str, Any] = {MIME: self.spec, "text/plain": repr(self)}
        with suppress(MissingDependency):
            bundle["image/svg+xml"] = draw(self.spec, ["svg"])["svg"].decode()
        return bundle

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure in the format of the extension: svg, pdf, png, html (interactive, offline) or json."""
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind == "json":
            content = (json.dumps(self.spec, indent=1) + "\n").encode()
        elif kind == "html":
            from markupsafe import Markup

            from pippin.reports.html import json_for_script, render
            from pippin.reports.vega import drawing_library

            library = Markup(drawing_library())
            content = render("vega.html", title=self.title, spec=json_for_script(self.spec), library=library).encode()
        elif kind in DRAWINGS:
            content = draw(self.spec, [kind])[kind]
        else:
            raise ConventionError(f"unknown figure format {kind!r}: use {', '.join(DRAWINGS)}, html or json")
        with atomic_write(path) as out:
            out.write(content)

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"


def draw(spec: Spec, kinds: Sequence[str]) -> dict[str, bytes]:
    """Draw a specification on a white ground; return the content of a file per kind."""
    require("drawing figures", "vl_convert")
    import vl_convert

    svg = str(vl_convert.vegalite_to_svg({**spec, "config": _PAPER}))
    encoders: dict[str, Callable[[], bytes]] = {
        "svg": svg.encode,
        "pdf": lambda: bytes(vl_convert.svg_to_pdf(svg)),
        "png": lambda: bytes(vl_convert.svg_to_png(svg, scale=2)),
    }
    return {kind: encoders[kind]() for kind in kinds}


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise if figures of these kinds cannot be drawn."""
    for kind in kinds:
        if kind not in DRAWINGS:
            raise ConventionError(f"unknown figure format {kind!r}: use {', '.join(DRAWINGS)}")
    require("drawing figures", "vl_convert")


def write_figure(folder: Path, name: str, spec: Spec, kinds: Sequence[str]) -> list[Path]:
    """Draw a figure into one file per kind; return the paths."""
    paths = []
    try:
        for kind, content in draw(spec, kinds).items():
            paths.append(folder / f"{name}.{kind}")
            folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(paths[-1]) as out:
                out.write(content)
    except (ValueError, OSError, DataError) as error:
        raise PippinError(f"cannot draw figure {name}: {error}") from None
    return paths
