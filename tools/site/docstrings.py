"""Docstrings on the site: NumPy sections are parsed by mkdocstrings, other docstrings keep their columns.

Docstrings without sections are plain text, as `help()` prints it. Markdown would join the lines of tables and drawings,
so these paragraphs and examples become code blocks.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_COLUMNS = re.compile(r"\S {2,}\S")
_SECTION = re.compile(r"^\w[\w ]*\n-{3,}$", re.MULTILINE)


def plain_to_markdown(text: str) -> str:
    """Return a docstring without sections as Markdown.

    >>> print(plain_to_markdown("Words.\\n\\na    first\\nbcd  second"))
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
    """Converts docstrings without NumPy sections to Markdown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring in place."""
        if obj.docstring is not None and not _SECTION.search(obj.docstring.value):
            obj.docstring.value = plain_to_markdown(obj.docstring.value)
