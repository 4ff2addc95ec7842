"""The examples of docs/python.md run in order and print the documented output."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
import sklearn

PAGE = Path(__file__).resolve().parent.parent / "docs" / "python.md"


def test_the_examples_run_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10
    # A page has no need of doctest's own mark for an empty line within what is printed.
    text = "\n\n".join(re.sub(r"\n\n(?!>>>)", "\n<BLANKLINE>\n", block) for block in blocks)
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    messages: list[str] = []
    with sklearn.config_context():
        runner = doctest.DocTestRunner()
        runner.run(examples, out=messages.append)
    assert not runner.failures, "".join(messages)
