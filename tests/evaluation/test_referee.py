"""The surprises of docs/referee.md, each explained by one sentence of reconcile."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "referee.md"


def test_surprises_match_the_page() -> None:
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
