"""The README's examples print the documented output, and its counts are correct."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pippin.cli.main import main

WORDS = ("seventeen", "eighteen", "nineteen", "twenty")
ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_three_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    examples = [
        block for block in re.findall(r"```console\n\$ pippin (.*?)```", TEXT, re.DOTALL)
        if block.startswith(("synthetic", "eval", "reconcile", "compare"))
    ]  # fmt: skip
    assert len(examples) == 4
    for example in examples:
        command, _, output = example.partition("\n")
        assert main(shlex.split(command)) == 0
        printed = capsys.readouterr().out
        beginning = output.removesuffix("…\n")  # cut short
        assert printed[: len(beginning)] == beginning
        assert (printed == beginning) == (output == beginning)


def test_counted_kernels() -> None:
    # In a process of its own: other tests bring rankers and tools.
    code = "import pippin; print(len(pippin.tools), len(pippin.rankers.names()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    tools, rankers = map(int, done.stdout.split())
    assert f"*any* of {tools} tools" in TEXT
    assert f"*any* of {tools} tools" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"trains {dict(enumerate(WORDS, 17))[rankers]} rankers" in " ".join(TEXT.split())
