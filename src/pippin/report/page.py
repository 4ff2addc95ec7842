"""One self-contained HTML page: opens from disk, offline, light and dark, prints well.

Figures are Vega-Lite specifications (plain data); the library that draws them is put into the page, so that no request
ever leaves it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from pippin import __version__
from pippin.report.vega import drawing_library
from pippin.tables import Table


@dataclass(frozen=True)
class Section:
    """A part of the page: words, then a figure, then a table."""

    title: str
    words: str = ""
    figure: dict[str, Any] | None = None
    label: str = ""  # what a screen reader says of the figure
    table: str = ""
    folded: bool = False


def page(title: str, lead: str, sections: Sequence[Section], provenance: Sequence[str]) -> str:
    """The whole page as one text."""
    figures = {f"figure{i}": s.figure for i, s in enumerate(sections) if s.figure is not None}
    body = "\n".join(_section(s, f"figure{i}") for i, s in enumerate(sections))
    facts = " · ".join(escape(p) for p in (f"Pippin {__version__}", *provenance))
    library = f"<script>{drawing_library()}</script>" if figures else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">\n'
        f"<style>{asset('page.css')}</style><script>{asset('theme.js')}</script></head>\n"
        f"<body>\n<main><h1>{escape(title)}</h1>\n"
        f'<p class="lead">{escape(lead)}</p>\n{body}\n</main>\n'
        f"<footer>{facts}</footer>\n{library}\n"
        f"<script>const FIGURES = {embedded(figures)};\n{asset('page.js')}</script>\n</body></html>\n"
    )


def _section(section: Section, identity: str) -> str:
    parts = []
    if section.words:
        parts += [f"<p>{escape(paragraph)}</p>" for paragraph in section.words.split("\n\n")]
    if section.figure is not None:
        parts.append(f'<div class="figure" id="{identity}" role="img" aria-label="{escape(section.label)}"></div>')
    if section.table:
        parts.append(f'<div class="scroll" tabindex="0">{section.table}</div>')
    inside = "\n".join(parts)
    if section.folded:
        return f"<section><details><summary><b>{escape(section.title)}</b></summary>\n{inside}</details></section>"
    return f"<section><h2>{escape(section.title)}</h2>\n{inside}</section>"


def html_table(table: Table, bold: Sequence[tuple[int, int]] = ()) -> str:
    """A table whose columns sort by a click; `bold` are (row, column) of the best cells."""
    best = set(bold)
    heads = "".join(f'<th scope="col"{_name(i, table)}>{escape(h)}</th>' for i, h in enumerate(table.headers))
    rows = "\n".join(
        "<tr>" + "".join(_cell(cell, r, c, table, best) for c, cell in enumerate(row)) + "</tr>"
        for r, row in enumerate(table.rows)
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table>{notes}"


def _name(column: int, table: Table) -> str:
    return ' class="name"' if table.is_text(column) else ""


def _cell(cell: str, row: int, column: int, table: Table, best: set[tuple[int, int]]) -> str:
    kind = ' class="best"' if (row, column) in best else _name(column, table)
    return f"<td{kind}>{escape(cell)}</td>"


def embedded(data: Any) -> str:
    """Data as JSON that a script element can hold, whatever texts are in it.

    >>> embedded({"a": "</script>"})
    '{"a":"\\\\u003c/script>"}'
    """
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def asset(name: str) -> str:
    """The text of a style sheet, script or template of this room."""
    return (files("pippin.report") / name).read_text(encoding="utf-8")
