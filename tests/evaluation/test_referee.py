"""Every surprise of docs/referee.md is as the page says, and one sentence of reconcile explains it."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "referee.md"


def test_the_surprises_are_what_the_page_says() -> None:
    text = PAGE.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    surprises = [part for part in text.split("\n## ")[1:] if "```python" in part]
    assert len(surprises) >= 11
    assert all(part.count(".sentence()") == 1 for part in surprises[:11])  # one sentence each
    examples = doctest.DocTestParser().get_doctest("\n\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    messages: list[str] = []
    runner = doctest.DocTestRunner()
    runner.run(examples, out=messages.append)
    assert not runner.failures, "".join(messages)
