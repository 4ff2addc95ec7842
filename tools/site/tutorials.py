"""Tutorials: Python files whose comments are the text, run cell by cell, as pages and as notebooks to download.

A tutorial is a file of cells: `# %% [markdown]` begins text, each of whose lines is a comment; `# %%` begins code.
A line of code `# !pippin …` is a command, as a notebook writes it with `!`. What a cell prints, and what its last
expression shows of itself, stands below it. Because the site is built by running the tutorials, no output can be stale.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_CELL = re.compile(r"^# %%( \[markdown\])?$", re.MULTILINE)
_COMMAND = re.compile(r"^# !(.*)$", re.MULTILINE)


@dataclass
class Cell:
    """A stretch of text or code, and what the code gave."""

    source: str
    is_text: bool
    printed: str = ""
    shown: dict[str, str] = field(default_factory=dict)  # of the last expression, by MIME type


def cells_of(text: str) -> list[Cell]:
    """The cells of a tutorial's file; what stands before the first is left out."""
    pieces = _CELL.split(text)[1:]
    cells = []
    for mark, source in zip(pieces[::2], pieces[1::2], strict=True):
        lines = [line.removesuffix("  # fmt: skip") for line in source.strip("\n").split("\n")]  # for ruff alone
        if mark:
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
        cells.append(Cell("\n".join(lines), bool(mark)))
    return cells


def run(cells: list[Cell], folder: Path) -> None:
    """Run the code of the cells one after the other in a folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", "")
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    with contextlib.chdir(folder):
        for cell in cells:
            if not cell.is_text:
                _run(cell, names, environment)


def _run(cell: Cell, names: dict[str, Any], environment: dict[str, str]) -> None:
    """Run a cell's commands, or its code."""
    commands = _COMMAND.findall(cell.source)
    for command in commands:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise RuntimeError(f"`{command}` ends with {done.returncode}: {done.stderr}")
        cell.printed += done.stdout
    if commands:
        return
    body = ast.parse(cell.source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(ast.Module(body, []), "<tutorial>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<tutorial>", "eval"), names) if last else None
    cell.printed = out.getvalue()
    if value is not None:
        cell.shown["text/plain"] = repr(value)
        html = getattr(value, "_repr_html_", None)
        if html is not None and (text := html()):
            cell.shown["text/html"] = text


def page(cells: list[Cell], notebook: str) -> str:
    """The cells as Markdown, with a link to the notebook."""
    parts = []
    for cell in cells:
        if cell.is_text:
            parts.append(cell.source)
            continue
        commands = _COMMAND.findall(cell.source)
        if commands:
            parts.append("```console\n" + "\n".join(f"$ {command}" for command in commands))
            parts[-1] += f"\n{cell.printed.rstrip()}\n```"
            continue
        parts.append(f"```python\n{cell.source}\n```")
        shown = cell.printed + cell.shown.get("text/plain", "")
        if shown.strip():
            parts.append(f"```text\n{shown.rstrip()}\n```")
    parts.append(f"[This page as a notebook]({notebook})")
    return "\n\n".join(parts) + "\n"


def notebook(cells: list[Cell]) -> str:
    """The cells as a Jupyter notebook, executed."""
    return json.dumps({
        "cells": [_notebook_cell(cell, number) for number, cell in enumerate(cells)],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4, "nbformat_minor": 5,
    }, indent=1)  # fmt: skip


def _notebook_cell(cell: Cell, number: int) -> dict[str, Any]:
    source = _COMMAND.sub(r"!\1", cell.source)
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
        print(page(ran, Path(name).stem + ".ipynb"))
