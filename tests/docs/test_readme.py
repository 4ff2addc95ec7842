"""What the README shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import pippin
from pippin.cli.main import main
from pippin.rankers import names

TEXT = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_first_three_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    examples = [
        block for block in re.findall(r"```console\n\$ pippin (.*?)```", TEXT, re.DOTALL)
        if block.startswith(("synthetic", "eval", "reconcile"))
    ]  # fmt: skip
    assert len(examples) == 3
    for example in examples:
        command, _, shown = example.partition("\n")
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == shown


def test_what_it_counts() -> None:
    words = {17: "seventeen", 18: "eighteen", 19: "nineteen", 20: "twenty"}
    assert f"*any* of {len(pippin.tools)} tools" in TEXT
    assert f"trains {words[len(names())]} rankers" in TEXT
