"""Self-contained HTML: pages that open from disk, offline, in light and dark, and print well; pieces for a notebook.

Everything is written by the templates of this room, which escape what they are given. Figures are rows and the kind of
drawing; `charts.js` draws them, on a page and in a notebook alike, so that no request ever leaves either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pippin import __version__
from pippin.tables import Table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SCRIPTS = tuple(f"app_{part}.js" for part in ("state", "board", "tools", "figures", "queries", "main"))


@dataclass(frozen=True)
class Drawing:
    """A figure: rows, the kind of drawing in charts.js, and what it needs to know besides; `label` is for ears."""

    kind: str
    rows: Sequence[Mapping[str, Any]]
    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    words: str = ""
    wide: bool = False
    id: str = ""

    def record(self) -> dict[str, Any]:
        """As charts.js takes it."""
        return {"kind": self.kind, "rows": list(self.rows), "options": {**self.options, "label": self.label}}


@dataclass(frozen=True)
class Shown:
    """A table with its name in the page and what it is called."""

    table: Table
    caption: str
    id: str


@dataclass(frozen=True)
class Section:
    """A part of a page: words, claims and whether they hold, findings of an audit, figures, tables."""

    title: str
    paragraphs: Sequence[str] = ()
    figures: Sequence[Drawing] = ()
    tables: Sequence[Shown] = ()
    findings: Sequence[Mapping[str, Any]] = ()
    claims: Sequence[Mapping[str, Any]] = ()
    folded: str = ""  # if the section opens on demand: what it is then called
    id: str = ""
    nav: str | None = ""  # what the page's head calls it, if not by its title; None: nothing leads there


@cache
def environment() -> Environment:
    """The templates of this room; all they are given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("pippin.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.globals["asset"] = asset
    return made


def asset(name: str) -> Markup:
    """A style sheet or script of this room, to stand in a page as it is."""
    from markupsafe import Markup

    return Markup((files("pippin.report") / "assets" / name).read_text(encoding="utf-8"))


def embedded(data: Any) -> Markup:
    """Data as JSON that a script element can hold, whatever texts are in it.

    >>> embedded({"a": "</script>"})
    Markup('{"a":"\\\\u003c/script>"}')
    """
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def render(template: str, **given: Any) -> str:
    """A template, filled."""
    return environment().get_template(template).render(**given)


def facts_of(*facts: str) -> list[str]:
    """What stands under the headline and at the foot of every page."""
    return [f"Pippin {__version__}", *facts]


def page(brand: str, title: str, finding: str, sections: Sequence[Section], facts: Sequence[str]) -> str:
    """A page of sections as one text."""
    named = [_numbered(section, number) for number, section in enumerate(sections, 1)]
    figures = {figure.id: figure.record() for section in named for figure in section.figures}
    nav = [(section.id, section.nav or section.title) for section in named if section.nav is not None]
    return render(
        "sections.html", brand=brand, title=title, finding=finding, facts=facts_of(*facts), sections=named, nav=nav,
        first=named[0].id, first_words=named[0].title, figures=embedded(figures),
    )  # fmt: skip


def _numbered(section: Section, number: int) -> Section:
    """The section with names for itself and its figures."""
    from dataclasses import replace

    figures = [replace(f, id=f.id or f"figure{number}-{i}") for i, f in enumerate(section.figures, 1)]
    return replace(section, figures=figures, id=section.id or f"part{number}")


def html_table(table: Table, caption: str = "") -> str:
    """A table whose columns sort by a click."""
    module: Any = environment().get_template("pieces.html").module
    return str(module.table(table, caption=caption))


def piece(blocks: Sequence[str | Table | Drawing]) -> str:
    """Paragraphs, tables and figures as a notebook shows them: the pieces of a page, with its style and its script.

    The first paragraph stands out. Where a notebook runs no scripts, words and tables are there all the same.
    """
    identity = f"pippin-{uuid4().hex[:12]}"
    figures: dict[str, Any] = {}
    shown: list[tuple[str, Any]] = []
    for block in blocks:
        if isinstance(block, Drawing):
            name = f"figure{len(figures)}"
            figures[name] = block.record()
            shown.append(("figure", name))
        else:
            shown.append(("words" if isinstance(block, str) else "table", block))
    return render("piece.html", identity=identity, blocks=shown, figures=embedded(figures), drawn=bool(figures))
