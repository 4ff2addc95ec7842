"""Self-contained HTML pages, and fragments for notebooks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pippin._version import __version__
from pippin.display.tables import Heading, Paragraph, Renderable, Table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


SCRIPTS = tuple(f"app_{part}.js" for part in ("state", "board", "tools", "figures", "queries", "main"))


@dataclass(frozen=True)
class Chart:
    """A figure of a page: its rows, the kind of drawing in charts.js and its options; screen readers read `label`."""

    kind: str
    rows: Sequence[Mapping[str, Any]]
    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    words: str = ""
    wide: bool = False
    id: str = ""

    def record(self) -> dict[str, Any]:
        """Return the record that charts.js draws."""
        return {"kind": self.kind, "rows": list(self.rows), "options": {**self.options, "label": self.label}}


@dataclass(frozen=True)
class CaptionedTable:
    """A table with its caption and its id in the page."""

    table: Table
    caption: str
    id: str


@dataclass(frozen=True)
class Section:
    """A section of a page: paragraphs, claims and whether they hold, findings of an audit, figures, tables."""

    title: str
    paragraphs: Sequence[str] = ()
    figures: Sequence[Chart] = ()
    tables: Sequence[CaptionedTable] = ()
    findings: Sequence[Mapping[str, Any]] = ()
    claims: Sequence[Mapping[str, Any]] = ()
    folded: str = ""  # title of a section that opens on demand
    id: str = ""
    nav: str | None = ""  # entry in the page's navigation (default: the title); None: no entry


@cache
def environment() -> Environment:
    """Return the templates; all values are escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    result = Environment(
        loader=PackageLoader("pippin.reports"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    result.globals["asset"] = asset
    return result


def asset(name: str) -> Markup:
    """Return a style sheet or script, unescaped."""
    from markupsafe import Markup

    return Markup((files("pippin.reports") / "assets" / name).read_text(encoding="utf-8"))


def json_for_script(data: Any) -> Markup:
    """Return data as JSON that is safe within a script element.

    >>> json_for_script({"a": "</script>"})
    Markup('{"a":"\\\\u003c/script>"}')
    """
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def render(template: str, **values: Any) -> str:
    """Fill a template."""
    return environment().get_template(template).render(**values)


def page_facts(*facts: str) -> list[str]:
    """Return the facts below the headline and at the foot of every page."""
    return [f"Pippin {__version__}", *facts]


def page(brand: str, title: str, finding: str, sections: Sequence[Section], facts: Sequence[str]) -> str:
    """Return a page of sections."""
    sections = [_with_ids(section, number) for number, section in enumerate(sections, 1)]
    figures = {figure.id: figure.record() for section in sections for figure in section.figures}
    nav = [(section.id, section.nav or section.title) for section in sections if section.nav is not None]
    return render(
        "sections.html", brand=brand, title=title, finding=finding, facts=page_facts(*facts), sections=sections,
        nav=nav, first=sections[0].id, first_words=sections[0].title, figures=json_for_script(figures),
    )  # fmt: skip


def _with_ids(section: Section, number: int) -> Section:
    """Return the section with ids for itself and its figures."""
    figures = [replace(f, id=f.id or f"figure{number}-{i}") for i, f in enumerate(section.figures, 1)]
    return replace(section, figures=figures, id=section.id or f"part{number}")


def html_table(table: Table, caption: str = "") -> str:
    """Return a table whose columns sort by a click."""
    module: Any = environment().get_template("pieces.html").module
    return str(module.table(table, caption=caption))


Block = str | Renderable | Chart  # a paragraph, a table or a figure of a notebook


def render_fragment(blocks: Sequence[Block]) -> str:
    """Return paragraphs, tables and figures as HTML for a notebook, with style and script.

    The first paragraph is emphasised. Without scripts, a notebook shows the text and the tables.
    """
    identity = f"pippin-{uuid4().hex[:12]}"
    figures: dict[str, Any] = {}
    typed_blocks: list[tuple[str, Any]] = []
    for block in blocks:
        if isinstance(block, Chart):
            name = f"figure{len(figures)}"
            figures[name] = block.record()
            typed_blocks.append(("figure", name))
        elif isinstance(block, Heading | Paragraph):
            typed_blocks.append(("text", block.text))
        else:
            typed_blocks.append(("text" if isinstance(block, str) else "table", block))
    return render(
        "fragment.html", identity=identity, blocks=typed_blocks, figures=json_for_script(figures),
        has_figures=bool(figures),
    )  # fmt: skip
