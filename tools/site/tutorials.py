"""Executable pages: Python files with comments as text, as pages and as downloadable notebooks.

Such a file consists of cells: `# %% [markdown]` begins text, each of whose lines is a comment; `# %% [file NAME]`
begins a file, written likewise; `# %%` code. A line of code `# !pippin …` is a command, as a notebook writes it with
`!`. What a cell prints, and what its last expression shows of itself, a figure as a picture, stands below it. Because
the site is built by running these files, no output can be stale.

    python tools/site/tutorials.py docs/tutorials/evaluate.py       runs one and prints the page
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

_CELL = re.compile(r"^# %%(?: \[(markdown|file) ?(\S*)\])?$", re.MULTILINE)
_COMMAND = re.compile(r"^# !(.*)$", re.MULTILINE)
_SVG = "image/svg+xml"


@dataclass
class Cell:
    """A stretch of text, a file, or code, and what the code gave."""

    source: str
    is_text: bool = False
    file: str = ""  # the name of what is written
    ran: list[tuple[str, str]] = field(default_factory=list)  # commands, and what each printed
    printed: str = ""
    shown: dict[str, str] = field(default_factory=dict)  # of the last expression, by MIME type
    title: str = ""  # of a figure


def cells_of(text: str) -> list[Cell]:
    """The cells of a file; what stands before the first is left out.

    >>> [cell.source for cell in cells_of("# %% [file a.txt]\\n# one\\n# two\\n\\n# %%\\n1 + 1\\n")]
    ['one\\ntwo', '1 + 1']
    """
    pieces = _CELL.split(text)[1:]
    cells = []
    for kind, name, source in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        lines = [line.removesuffix("  # fmt: skip") for line in source.strip("\n").split("\n")]  # for ruff alone
        if kind:
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        cells.append(Cell("\n".join(lines), kind == "markdown", name or ""))
    return cells


def run(cells: list[Cell], folder: Path) -> None:
    """Run the code of the cells one after the other in a folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    with contextlib.chdir(folder), mock.patch.dict(os.environ, environment):
        for cell in cells:
            if cell.file:
                Path(cell.file).write_text(cell.source + "\n", encoding="utf-8")
            elif not cell.is_text:
                _run(cell, names)


def _run(cell: Cell, names: dict[str, Any]) -> None:
    """Run a cell's commands, or its code."""
    for command in _COMMAND.findall(cell.source):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"`{command}` ends with {done.returncode}: {done.stderr}")
        cell.ran.append((command, done.stdout))
        cell.printed += done.stdout
    if cell.ran:
        return
    body = ast.parse(cell.source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(ast.Module(body, []), "<tutorial>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<tutorial>", "eval"), names) if last else None
    cell.printed = out.getvalue()
    if value is not None:
        _show(cell, value)


def _show(cell: Cell, value: Any) -> None:
    """Keep what a value shows of itself."""
    cell.shown["text/plain"] = repr(value)
    html = getattr(value, "_repr_html_", None)
    if html is not None and (text := html()):
        cell.shown["text/html"] = text
    bundle = getattr(value, "_repr_mimebundle_", None)
    if bundle is not None and _SVG in (drawn := bundle()):
        cell.shown[_SVG] = drawn[_SVG]
        cell.title = value.title


def pictures(cells: list[Cell], stem: str) -> dict[str, str]:
    """The figures by the names that the page calls them by."""
    return {f"{stem}-{number}.svg": cell.shown[_SVG] for number, cell in enumerate(cells) if _SVG in cell.shown}


def page(cells: list[Cell], stem: str) -> str:
    """The cells as Markdown, with a link to the notebook."""
    parts = [_part(cell, f"{stem}-{number}.svg") for number, cell in enumerate(cells)]
    return "\n\n".join([*parts, f"[This page as a notebook]({stem}.ipynb)"]) + "\n"


def _part(cell: Cell, picture: str) -> str:
    """A cell as Markdown."""
    if cell.is_text:
        return cell.source
    if cell.file:
        language = "python" if cell.file.endswith(".py") else "text"
        return f'```{language} title="{cell.file}"\n{cell.source}\n```'
    if cell.ran:
        text = "\n".join(f"$ {command}\n{printed.rstrip()}".rstrip() for command, printed in cell.ran)
        return f"```console\n{text}\n```"
    part = f"```python\n{cell.source}\n```"
    if _SVG in cell.shown:
        return f"{part}\n\n![{cell.title}]({picture})"
    text = "\n".join(map(_wrap_line, (cell.printed + cell.shown.get("text/plain", "")).rstrip().split("\n")))
    return f"{part}\n\n```text\n{text}\n```" if text.strip() else part


def _wrap_line(line: str) -> str:
    """A sentence in lines of a hundred columns; a row of a table stays as it is."""
    return line if "  " in line else textwrap.fill(line, 100, break_long_words=False)


def notebook(cells: list[Cell]) -> str:
    """The cells as a Jupyter notebook, executed."""
    return json.dumps({
        "cells": [_notebook_cell(cell, number) for number, cell in enumerate(cells)],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4, "nbformat_minor": 5,
    }, indent=1)  # fmt: skip


def _notebook_cell(cell: Cell, number: int) -> dict[str, Any]:
    source = f"%%writefile {cell.file}\n{cell.source}" if cell.file else _COMMAND.sub(r"!\1", cell.source)
    if cell.is_text:
        return {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, "source": source}
    outputs: list[dict[str, Any]] = []
    if cell.printed:
        outputs.append({"output_type": "stream", "name": "stdout", "text": cell.printed})
    if cell.shown:
        outputs.append({"output_type": "execute_result", "execution_count": None, "data": cell.shown, "metadata": {}})
    return {
        "cell_type": "code", "id": f"cell-{number}", "metadata": {}, "execution_count": None, "source": source,
        "outputs": outputs,
    }  # fmt: skip


if __name__ == "__main__":
    for name in sys.argv[1:]:
        ran = cells_of(Path(name).read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as place:
            run(ran, Path(place))
        print(page(ran, Path(name).stem))
