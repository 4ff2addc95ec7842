"""Docstrings as the site shows them: tables and drawings keep their columns.

Docstrings are plain text, as `help()` prints them; where lines are laid out in columns or indented, Markdown would run
them together. Such stretches, and examples, become blocks of code.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_COLUMNS = re.compile(r"\S {2,}\S")


def laid_out(text: str) -> str:
    """A docstring as Markdown.

    >>> print(laid_out("Words.\\n\\na    first\\nbcd  second"))
    Words.
    <BLANKLINE>
    ```text
    a    first
    bcd  second
    ```
    """
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        if lines[0].lstrip().startswith(">>>"):
            parts.append(f"```python\n{paragraph}\n```")
        elif all(line.startswith("    ") for line in lines) or any(map(_COLUMNS.search, lines)):
            parts.append(f"```text\n{paragraph}\n```")
        else:
            parts.append(paragraph.replace("<", "&lt;"))
    return "\n\n".join(parts)


class Plain(griffe.Extension):
    """Lays out every docstring that is met."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring in place."""
        if obj.docstring is not None:
            obj.docstring.value = laid_out(obj.docstring.value)
