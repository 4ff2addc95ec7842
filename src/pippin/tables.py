"""A table as data, drawn for the terminal, Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

FORMATS = ("table", "markdown", "latex", "csv")

_LATEX = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
          "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "−": "$-$", "†": r"$^\dagger$"}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Rows of cells under headers. The first `names` and the last `remarks` columns are text, the rest numbers,
    aligned to the right.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    remarks: int = 0
    notes: Sequence[str] = ()

    def render(self, form: str = "table") -> str:
        """The table in one of FORMATS; notes follow it (not in CSV)."""
        return {"table": self._terminal, "markdown": self._markdown, "latex": self._latex, "csv": self._csv}[form]()

    def _terminal(self) -> str:
        cells = [list(self.headers), *map(list, self.rows)]
        widths = [max(width(row[i]) for row in cells) for i in range(len(self.headers))]
        lines = ["  ".join(self._pad(cell, widths[i], i) for i, cell in enumerate(row)).rstrip() for row in cells]
        rule = "  ".join("─" * w for w in widths)
        return "\n".join([lines[0], rule, *lines[1:], *(["", *self.notes] if self.notes else [])])

    def _pad(self, cell: str, to: int, column: int) -> str:
        blank = " " * (to - width(cell))
        return cell + blank if self.is_text(column) else blank + cell

    def is_text(self, column: int) -> bool:
        """Whether a column holds text, aligned to the left."""
        return column < self.names or column >= len(self.headers) - self.remarks

    def _markdown(self) -> str:
        marks = ["---" if self.is_text(i) else "--:" for i in range(len(self.headers))]
        rows = [self.headers, marks, *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
        return "\n".join([*lines, *(["", *(f"{note}  " for note in self.notes)] if self.notes else [])])

    def _latex(self) -> str:
        columns = "".join("l" if self.is_text(i) else "r" for i in range(len(self.headers)))
        body = [" & ".join(latex(cell) for cell in row) + r" \\" for row in (self.headers, *self.rows)]
        notes = [f"% {note}" for note in self.notes]
        return "\n".join(
            [*notes, rf"\begin{{tabular}}{{{columns}}}", r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule",
             r"\end{tabular}"]
        )  # fmt: skip

    def _csv(self) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.headers, *self.rows])
        return out.getvalue().rstrip("\n")


def width(text: str) -> int:
    """Columns a text takes on a terminal.

    >>> width("ndcg"), width("語")
    (4, 2)
    """
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def latex(text: str) -> str:
    """Text with what LaTeX would misread escaped.

    >>> latex("a_b 5%")
    'a\\\\_b 5\\\\%'
    """
    return "".join(_LATEX.get(c, c) for c in text)


def number(value: float, digits: int) -> str:
    """A value as tables print it; a value that is not there is a dash.

    >>> number(0.5, 4), number(float("nan"), 4)
    ('0.5000', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
