"""A table as data, and the words around it, drawn for the terminal, Markdown, LaTeX or CSV.

For people (terminal, Markdown, LaTeX) control characters in cells are spelled out; CSV keeps them, but a cell that a
spreadsheet would take for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Protocol

from pippin.frozen import Frozen
from pippin.layout import bands, fitted, wrapped
from pippin.terminal import Screen, screen, visible, width

FORMATS = ("table", "json", "csv", "markdown", "latex")
_GAP = 2
_SPECIAL = re.compile(r'["\r\n\t]|(?:^|,)[=+@-]')  # in a line of CSV: perhaps to be quoted, or a formula
_NUMBER = re.compile(r"[+\-−]?[\d,]+(\.\d+)?[*†‡]*")
_WIDEST = 120  # longer lines of prose are hard to read

_LATEX = {
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "−": "$-$", "†": r"$^\dagger$", "‡": r"$^\ddagger$", "±": r"$\pm$", "×": r"$\times$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\to$", "τ": r"$\tau$", "∞": r"$\infty$", "…": r"\ldots{}",
}  # fmt: skip


class Part(Protocol):
    """A piece of what a command prints."""

    def render(self, form: str = "table") -> str:
        """The piece in one of the forms; nothing where the form has no place for it."""


class Table(Frozen):
    """Rows of cells under headers. The first `names` and the last `remarks` columns are text, the rest numbers,
    aligned to the right. Where a terminal is too narrow, text is wrapped, and then the table is drawn in bands that
    each begin with the first `keys` columns. `best` are the (row, column) of cells to stand out.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    remarks: int = 0
    notes: Sequence[str] = ()
    keys: int = 1
    best: Collection[tuple[int, int]] = field(default=())

    def render(self, form: str = "table") -> str:
        """The table in one of the forms; notes follow it (not in CSV)."""
        return {"table": self._terminal, "markdown": self._markdown, "latex": self._latex, "csv": self._csv}[form]()

    def _terminal(self) -> str:
        place = screen()
        columns = [self._column(i, place) for i in range(len(self.headers))]
        cells = [list(row) for row in zip(*columns, strict=True)]
        groups = bands(cells, self._wraps(), self.keys, place.columns, _GAP)
        drawn = [self._band(cells, group, place) for group in groups]
        notes = [place.paint(line, "faint") for note in self.notes for line in wrapped(place.text(note), place.columns)]
        return "\n\n".join(drawn) + ("\n\n" + "\n".join(notes) if notes else "")

    def _column(self, column: int, place: Screen) -> list[str]:
        """A header and the cells below it; the points of numbers stand below each other."""
        head, *body = (place.text(row[column]) for row in (self.headers, *self.rows))
        if self.is_text(column):
            return [head, *body]
        tails = {cell: len(cell) - len(cell.partition(".")[0]) for cell in body if _NUMBER.fullmatch(cell)}
        most = max(tails.values(), default=0)
        return [head, *(cell + " " * (most - tails.get(cell, most)) for cell in body)]

    def _wraps(self) -> list[bool]:
        return [self.is_text(i) for i in range(len(self.headers))]

    def _band(self, cells: Sequence[Sequence[str]], group: Sequence[int], place: Screen) -> str:
        """Some of the columns, as far as possible in the screen's width."""
        band = [[row[i] for i in group] for row in cells]
        widths = fitted(band, [self.is_text(i) for i in group], place.columns, _GAP)
        lines = []
        for number, row in enumerate(band):
            split = [wrapped(cell, w) for cell, w in zip(row, widths, strict=True)]
            for depth in range(max(map(len, split), default=1)):
                line = [part[depth] if depth < len(part) else "" for part in split]
                lines.append(self._line(line, widths, group, number - 1, place))
            if number == 0:
                lines.append((" " * _GAP).join(place.text("─") * w for w in widths))
        return "\n".join(lines)

    def _line(self, line: Sequence[str], widths: Sequence[int], group: Sequence[int], row: int, place: Screen) -> str:
        last = max((i for i, cell in enumerate(line) if cell), default=-1)
        drawn = []
        for i, cell in enumerate(line[: last + 1]):
            blank = " " * (widths[i] - width(cell))
            style = "heading" if row < 0 else "best" if (row, group[i]) in self.best else None
            shown = place.paint(cell, style) if style else cell
            drawn.append(shown + blank if self.is_text(group[i]) else blank + shown)
        return (" " * _GAP).join(drawn).rstrip(" ")

    def is_text(self, column: int) -> bool:
        """Whether a column holds text, aligned to the left."""
        return column < self.names or column >= len(self.headers) - self.remarks

    def _markdown(self) -> str:
        marks = ["---" if self.is_text(i) else "--:" for i in range(len(self.headers))]
        rows = [[markdown(cell).replace("|", r"\|") for cell in row] for row in (self.headers, *self.rows)]
        lines = ["| " + " | ".join(row) + " |" for row in (rows[0], marks, *rows[1:])]
        return "\n".join([*lines, *(["", *(f"{markdown(note)}  " for note in self.notes)] if self.notes else [])])

    def _latex(self) -> str:
        columns = "".join("l" if self.is_text(i) else "r" for i in range(len(self.headers)))
        body = [_latex_row(row) for row in (self.headers, *self.rows)]
        notes = [latex_comment(note) for note in self.notes]
        return "\n".join(
            [*notes, rf"\begin{{tabular}}{{{columns}}}", r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule",
             r"\end{tabular}"]
        )  # fmt: skip

    def _csv(self) -> str:
        return "\n".join(_csv_line(row) for row in (self.headers, *self.rows))


class Heading(Frozen):
    """A title over what follows."""

    text: str
    rule: str = "═"

    def render(self, form: str = "table") -> str:
        """The title, underlined on a terminal, a comment in LaTeX; CSV has none."""
        place = screen()
        shown = place.text(self.text)
        lines = "\n".join(place.paint(line, "heading") for line in wrapped(shown, place.columns))
        under = "\n" + place.text(self.rule) * min(width(shown), place.columns or width(shown)) if self.rule else ""
        marks = "##" if self.rule else "###"
        return {"table": lines + under, "markdown": f"{marks} {markdown(self.text)}", "latex": latex_comment(self.text),
                "csv": ""}[form]  # fmt: skip


class Prose(Frozen):
    """A paragraph; lines after its first are indented by `hanging` on a terminal."""

    text: str
    hanging: str = ""

    def render(self, form: str = "table") -> str:
        """The paragraph; CSV has none."""
        place = screen()
        lines = wrapped(place.text(self.text), place.columns and min(place.columns, _WIDEST), self.hanging)
        return {"table": "\n".join(lines), "markdown": markdown(self.text), "latex": latex(self.text), "csv": ""}[form]


class Facts(Frozen):
    """What there is to say of one thing: names and values."""

    pairs: Sequence[tuple[str, str]]

    def render(self, form: str = "table") -> str:
        """A line a fact; a list in Markdown and LaTeX, a table in CSV."""
        if form == "csv":
            return Table(["fact", "value"], self.pairs, names=2).render("csv")
        if form == "markdown":
            return "\n".join(f"- **{markdown(name)}** {markdown(value)}" for name, value in self.pairs)
        if form == "latex":
            items = [rf"\item[{{{latex(name)}}}] {latex(value)}" for name, value in self.pairs]
            return "\n".join([r"\begin{description}", *items, r"\end{description}"])
        place = screen()
        across = max((width(place.text(name)) for name, _ in self.pairs), default=0) + _GAP
        room = None if place.columns is None else max(_GAP, place.columns - across)
        return "\n".join(
            (place.text(name) if not i else "").ljust(across) + line
            for name, value in self.pairs
            for i, line in enumerate(wrapped(place.text(value), room))
        )


class Remarks(Frozen):
    """Sentences, each an item of a list."""

    lines: Sequence[str]

    def render(self, form: str = "table") -> str:
        """The list; comments in LaTeX, nothing in CSV."""
        if form == "table":
            return "\n".join(Prose(f"- {line}", "  ").render() for line in self.lines)
        marks = {"markdown": [f"- {markdown(line)}" for line in self.lines],
                 "latex": [latex_comment(line) for line in self.lines]}  # fmt: skip
        return "\n".join(marks.get(form, ()))


def together(parts: Sequence[Part], form: str = "table") -> str:
    """Several pieces, an empty line between them."""
    return "\n\n".join(text for part in parts if (text := part.render(form)))


def markdown(text: str) -> str:
    r"""Text of one line in which nothing is taken for HTML or for emphasis.

    >>> markdown("a <b>\n"), markdown("dense_*+bm25@* 0.5*")
    ('a &lt;b>\\n', 'dense_\\*+bm25@* 0.5*')
    """
    return re.sub(r"\*(?=\S)", r"\\*", re.sub(r"<(?=[A-Za-z/!?])", "&lt;", visible(text)))


def latex(text: str) -> str:
    r"""Text with what LaTeX would misread escaped.

    >>> latex("a_b 5%"), latex("a\nb")
    ('a\\_b 5\\%', 'a\\textbackslash{}nb')
    """
    return "".join(_LATEX.get(c, c) for c in visible(text))


def latex_comment(text: str) -> str:
    """Text that LaTeX does not read, whatever stands in it."""
    return f"% {visible(text)}"


def _latex_row(row: Sequence[str]) -> str:
    """A row; what `\\\\` before it would take for its own argument is put in braces."""
    cells = [latex(cell) for cell in row]
    if cells and cells[0][:1] in ("[", "*"):
        cells[0] = f"{{{cells[0][0]}}}{cells[0][1:]}"
    return " & ".join(cells) + r" \\"


def spreadsheet(cell: str) -> str:
    """A cell that no spreadsheet computes: an apostrophe before what would start a formula, unless it is a number.

    >>> spreadsheet("=1+1"), spreadsheet("-0.5"), spreadsheet("@name")
    ("'=1+1", '-0.5', "'@name")
    """
    if cell[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n"):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _csv_line(row: Sequence[str]) -> str:
    """A line of CSV; most rows hold nothing to be careful about, which one look at the whole line tells."""
    line = ",".join(row)
    if line.count(",") < len(row) and not _SPECIAL.search(line):
        return line
    return ",".join(_quoted(spreadsheet(cell)) for cell in row)


def _quoted(cell: str) -> str:
    """A cell of CSV; Python's own writer leaves a carriage return bare where lines end otherwise."""
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell


def number(value: float, digits: int) -> str:
    """A value as tables print it; a value that is not there is a dash.

    >>> number(0.5, 4), number(float("nan"), 4)
    ('0.5000', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
