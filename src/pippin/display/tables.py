"""Tables and the text around them, rendered for the terminal, Markdown, LaTeX or CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Protocol

from pippin.display.terminal import Terminal, current_terminal, display_width, escape_control
from pippin.records import FrozenRecord

_MAX_UNBROKEN_WORD = 24  # a word longer than this may be broken before a table is
_MAX_UNBROKEN_CELL = 16  # a column of text that is narrower is not broken


def split_columns(
    cells: Sequence[Sequence[str]], wraps: Sequence[bool], keys: int, columns: int | None, gap: int
) -> list[list[int]]:
    """Return groups of columns that fit the screen, each with the first `keys` columns; one group if all fit."""
    count = len(wraps)
    minimum = [_min_width(cells, i, wraps[i]) for i in range(count)]
    head = list(range(min(keys, count)))
    if columns is None or sum(minimum) + gap * (count - 1) <= columns or count <= keys:
        return [list(range(count))]
    start = sum(minimum[:keys]) + gap * (keys - 1)
    groups: list[list[int]] = []
    used = columns
    for i in range(keys, count):
        if used + gap + minimum[i] > columns:
            groups.append(list(head))
            used = start
        groups[-1].append(i)
        used += gap + minimum[i]
    return groups


def _min_width(cells: Sequence[Sequence[str]], column: int, wraps: bool) -> int:
    """Return the minimum width of a column: its longest word; short names and numbers are never broken."""
    head, *body = (row[column] for row in cells)
    natural = max(map(display_width, body), default=0)
    words = [
        min(display_width(word), _MAX_UNBROKEN_WORD)
        for text in ([head, *body] if wraps else [head])
        for word in text.split()
    ]
    return max([*words, 1 if wraps and natural > _MAX_UNBROKEN_CELL else natural, 1])


def fit_widths(cells: Sequence[Sequence[str]], wraps: Sequence[bool], columns: int | None, gap: int) -> list[int]:
    """Return the width of each column; if they do not fit, the widest columns shrink first."""
    natural = [max(display_width(row[i]) for row in cells) for i in range(len(wraps))]
    if columns is None:
        return natural
    available = columns - gap * (len(wraps) - 1)
    minimum = [min(_min_width(cells, i, wraps[i]), natural[i]) for i in range(len(wraps))]
    if sum(minimum) > available:  # not even the words fit
        minimum = [1] * len(wraps)
    low, high = 1, max(natural, default=1)
    while low < high:  # find the largest bound with which all columns fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _total_width(natural, minimum, middle) <= available else (low, middle - 1)
    widths = [min(n, max(f, low)) for n, f in zip(natural, minimum, strict=True)]
    for i in sorted(
        range(len(widths)), key=lambda i: widths[i] - natural[i]
    ):  # the remainder goes to the columns that lack most
        extra = min(natural[i] - widths[i], available - sum(widths))
        widths[i] += max(0, extra)
    return widths


def _total_width(natural: Sequence[int], minimum: Sequence[int], bound: int) -> int:
    return sum(min(n, max(f, bound)) for n, f in zip(natural, minimum, strict=True))


def wrap_text(text: str, columns: int | None, hanging: str = "") -> list[str]:
    """Wrap text to lines of at most `columns` columns, between words where possible.

    >>> wrap_text("one two three", 8), wrap_text("abcdefgh", 5)
    (['one two', 'three'], ['abcde', 'fgh'])
    """
    if columns is None or display_width(text) <= columns:
        return [text]
    lines: list[str] = []
    indent = text[: len(text) - len(text.lstrip())][: max(0, columns - 1)]
    line = indent
    for word in text.split():
        joined = line + word if line in (indent, hanging) else f"{line} {word}"
        if display_width(joined) <= columns:
            line = joined
            continue
        if line.strip():
            lines.append(line)
        line = (hanging if lines and display_width(hanging) < columns else indent if not lines else "") + word
        while display_width(line) > columns:
            cut = _fitting_length(line, columns)
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line]


def _fitting_length(text: str, columns: int) -> int:
    """Return the number of characters that fit, at least one."""
    used = 0
    for i, character in enumerate(text):
        used += display_width(character)
        if used > columns:
            return max(1, i)
    return len(text)


FORMATS = ("table", "json", "csv", "markdown", "latex")
_GAP = 2
_SPECIAL = re.compile(r'["\r\n\t]|(?:^|,)[=+@-]')  # in a line of CSV: quotes, newlines or formulas
_NUMBER = re.compile(r"[+\-−]?[\d,]+(\.\d+)?[*†‡]*")
_MAX_PROSE_WIDTH = 120  # longer lines are hard to read

_LATEX = {
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "−": "$-$", "†": r"$^\dagger$", "‡": r"$^\ddagger$", "±": r"$\pm$", "×": r"$\times$",
    "≥": r"$\geq$", "≤": r"$\leq$", "→": r"$\to$", "τ": r"$\tau$", "α": r"$\alpha$", "–": "--", "∞": r"$\infty$",
    "…": r"\ldots{}",
}  # fmt: skip


class Renderable(Protocol):
    """A part of the output of a command."""

    def render(self, form: str = "table") -> str:
        """Return the part in a format, or an empty string."""


class Table(FrozenRecord):
    """Rows of cells under headers. The first `names` and the last `remarks` columns are text, the rest numbers,
    aligned to the right. Where a terminal is too narrow, text is wrapped, and then the table is drawn in bands that
    each begin with the first `keys` columns. `best` are the (row, column) of cells to stand out.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1
    trailing_text: int = 0
    notes: Sequence[str] = ()
    repeated_columns: int = 1
    highlighted: Collection[tuple[int, int]] = field(default=())

    def render(self, form: str = "table") -> str:
        """Return the table in a format; notes follow it, except in CSV."""
        return {"table": self._terminal, "markdown": self._markdown, "latex": self._latex, "csv": self._csv}[form]()

    def _terminal(self) -> str:
        place = current_terminal()
        columns = [self._column(i, place) for i in range(len(self.headers))]
        cells = [list(row) for row in zip(*columns, strict=True)]
        groups = split_columns(cells, self._wraps(), self.repeated_columns, place.columns, _GAP)
        bands = [self._band(cells, group, place) for group in groups]
        notes = [
            place.paint(line, "faint") for note in self.notes for line in wrap_text(place.text(note), place.columns)
        ]
        return "\n\n".join(bands) + ("\n\n" + "\n".join(notes) if notes else "")

    def _column(self, column: int, place: Terminal) -> list[str]:
        """Return a header and its cells; numbers are aligned at the decimal point."""
        head, *body = (place.text(row[column]) for row in (self.headers, *self.rows))
        if self.is_text(column):
            return [head, *body]
        tails = {cell: len(cell) - len(cell.partition(".")[0]) for cell in body if _NUMBER.fullmatch(cell)}
        longest = max(tails.values(), default=0)
        return [head, *(cell + " " * (longest - tails.get(cell, longest)) for cell in body)]

    def _wraps(self) -> list[bool]:
        return [self.is_text(i) for i in range(len(self.headers))]

    def _band(self, cells: Sequence[Sequence[str]], group: Sequence[int], place: Terminal) -> str:
        """Return some of the columns, as far as possible within the width of the screen."""
        band = [[row[i] for i in group] for row in cells]
        widths = fit_widths(band, [self.is_text(i) for i in group], place.columns, _GAP)
        lines = []
        for number, row in enumerate(band):
            split = [wrap_text(cell, w) for cell, w in zip(row, widths, strict=True)]
            for depth in range(max(map(len, split), default=1)):
                line = [part[depth] if depth < len(part) else "" for part in split]
                lines.append(self._line(line, widths, group, number - 1, place))
            if number == 0:
                lines.append((" " * _GAP).join(place.text("─") * w for w in widths))
        return "\n".join(lines)

    def _line(self, line: Sequence[str], widths: Sequence[int], group: Sequence[int], row: int, place: Terminal) -> str:
        last = max((i for i, cell in enumerate(line) if cell), default=-1)
        parts = []
        for i, cell in enumerate(line[: last + 1]):
            blank = " " * (widths[i] - display_width(cell))
            style = "heading" if row < 0 else "best" if (row, group[i]) in self.highlighted else None
            painted = place.paint(cell, style) if style else cell
            parts.append(painted + blank if self.is_text(group[i]) else blank + painted)
        return (" " * _GAP).join(parts).rstrip(" ")

    def is_text(self, column: int) -> bool:
        """Return whether a column is text, aligned to the left."""
        return column < self.text_columns or column >= len(self.headers) - self.trailing_text

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


class Heading(FrozenRecord):
    """A heading."""

    text: str
    rule: str = "═"

    def render(self, form: str = "table") -> str:
        """Return the heading: underlined on a terminal, a comment in LaTeX, empty in CSV."""
        place = current_terminal()
        text = place.text(self.text)
        lines = "\n".join(place.paint(line, "heading") for line in wrap_text(text, place.columns))
        under = (
            "\n" + place.text(self.rule) * min(display_width(text), place.columns or display_width(text))
            if self.rule
            else ""
        )
        marks = "##" if self.rule else "###"
        return {"table": lines + under, "markdown": f"{marks} {markdown(self.text)}", "latex": latex_comment(self.text),
                "csv": ""}[form]  # fmt: skip


class Paragraph(FrozenRecord):
    """A paragraph; on a terminal, `hanging` indents the lines after the first."""

    text: str
    hanging: str = ""

    def render(self, form: str = "table") -> str:
        """Return the paragraph; empty in CSV."""
        place = current_terminal()
        lines = wrap_text(place.text(self.text), place.columns and min(place.columns, _MAX_PROSE_WIDTH), self.hanging)
        return {"table": "\n".join(lines), "markdown": markdown(self.text), "latex": latex(self.text), "csv": ""}[form]


class KeyValues(FrozenRecord):
    """Names and values."""

    pairs: Sequence[tuple[str, str]]

    def render(self, form: str = "table") -> str:
        """Return one line per pair; a list in Markdown and LaTeX, a table in CSV."""
        if form == "csv":
            return Table(["fact", "value"], self.pairs, text_columns=2).render("csv")
        if form == "markdown":
            return "\n".join(f"- **{markdown(name)}** {markdown(value)}" for name, value in self.pairs)
        if form == "latex":
            items = [rf"\item[{{{latex(name)}}}] {latex(value)}" for name, value in self.pairs]
            return "\n".join([r"\begin{description}", *items, r"\end{description}"])
        place = current_terminal()
        across = max((display_width(place.text(name)) for name, _ in self.pairs), default=0) + _GAP
        available = None if place.columns is None else max(_GAP, place.columns - across)
        return "\n".join(
            (place.text(name) if not i else "").ljust(across) + line
            for name, value in self.pairs
            for i, line in enumerate(wrap_text(place.text(value), available))
        )


class BulletList(FrozenRecord):
    """A list of sentences."""

    lines: Sequence[str]

    def render(self, form: str = "table") -> str:
        """Return the list; comments in LaTeX, empty in CSV."""
        if form == "table":
            return "\n".join(Paragraph(f"- {line}", "  ").render() for line in self.lines)
        marks = {"markdown": [f"- {markdown(line)}" for line in self.lines],
                 "latex": [latex_comment(line) for line in self.lines]}  # fmt: skip
        return "\n".join(marks.get(form, ()))


def render_all(parts: Sequence[Renderable], form: str = "table") -> str:
    """Render several parts with empty lines between them."""
    return "\n\n".join(text for part in parts if (text := part.render(form)))


def markdown(text: str) -> str:
    r"""Escape HTML and emphasis for one line of Markdown.

    >>> markdown("a <b>\n"), markdown("dense_*+bm25@* 0.5*")
    ('a &lt;b>\\n', 'dense_\\*+bm25@* 0.5*')
    """
    return re.sub(r"\*(?=\S)", r"\\*", re.sub(r"<(?=[A-Za-z/!?])", "&lt;", escape_control(text)))


def latex(text: str) -> str:
    r"""Escape special characters for LaTeX.

    >>> latex("a_b 5%"), latex("a\nb")
    ('a\\_b 5\\%', 'a\\textbackslash{}nb')
    """
    return "".join(_LATEX.get(c, c) for c in escape_control(text))


def latex_comment(text: str) -> str:
    """Return text as a LaTeX comment."""
    return f"% {escape_control(text)}"


def _latex_row(row: Sequence[str]) -> str:
    """Return a row; a leading `[` or `*`, which `\\\\` would read as its argument, is put in braces."""
    cells = [latex(cell) for cell in row]
    if cells and cells[0][:1] in ("[", "*"):
        cells[0] = f"{{{cells[0][0]}}}{cells[0][1:]}"
    return " & ".join(cells) + r" \\"


def spreadsheet(cell: str) -> str:
    """Escape a cell that a spreadsheet would compute: prefix formulas, but not numbers, with an apostrophe.

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
    """Return a line of CSV; most rows need no quotes, as one search of the joined line shows."""
    line = ",".join(row)
    if line.count(",") < len(row) and not _SPECIAL.search(line):
        return line
    return ",".join(_quote(spreadsheet(cell)) for cell in row)


def _quote(cell: str) -> str:
    """Quote a cell of CSV; Python's writer leaves carriage returns unquoted."""
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell


def format_number(value: float, digits: int) -> str:
    """Format a value for a table; NaN is a dash.

    >>> format_number(0.5, 4), format_number(float("nan"), 4)
    ('0.5000', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
