"""Pages for users of other tools: every command and example prints the documented output."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.docs.consoles import ROOT, commands, consoles, run_command

import pippin
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor
from pippin.rankers import LambdaMART

PAGES = sorted((ROOT / "docs" / "coming_from").glob("*.md"))
FILES = {
    "qrels.txt": "q1 0 apple 2\nq1 0 pear 1\nq1 0 stone 0\nq2 0 plum 1\nq2 0 quince 2\nq3 0 fig 1\n",
    "run.txt": "q1 Q0 pear 1 3.0 mine\nq1 Q0 apple 2 2.0 mine\nq1 Q0 stone 3 1.0 mine\n"
    "q2 Q0 leaf 1 5.0 mine\nq2 Q0 quince 2 4.0 mine\nq2 Q0 plum 3 1.0 mine\n",
    "documents.jsonl": '{"id": "a", "text": "a red apple"}\n{"id": "b", "text": "a green pear"}\n',
    "other.txt": "q1 Q0 apple 1 2.0 other\nq1 Q0 stone 2 1.0 other\nq2 Q0 plum 1 1.0 other\n",
}


def write_files(folder: Path) -> None:
    """Write qrels, two runs, and a fold of LETOR files."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    generator = np.random.default_rng(2)
    for number, part in enumerate(("train", "vali", "test")):
        features = generator.random((200, 5))
        labels = np.round(2 * features[:, 0] * features[:, 1] + generator.random(200) / 2).astype(np.int32)
        data = Dataset.from_arrays(features, labels, np.repeat(np.arange(20) + 20 * number, 10))
        write_letor(data, folder / f"{part}.txt")


def namespace() -> dict[str, Any]:
    """Return what the Python examples in the tables use."""
    generator = np.random.default_rng(1)
    X, group = generator.normal(size=(60, 4)), [10] * 6
    y = np.clip(np.round(X[:, 0]), 0, 2).astype(int)
    qrels = {"q1": {"apple": 2, "pear": 1}, "q2": {"plum": 1, "quince": 2}}
    run = {"q1": {"pear": 3.0, "apple": 2.0}, "q2": {"leaf": 5.0, "quince": 4.0}}
    model = LambdaMART(rounds=5).fit(X, y, group=group)
    return {"pippin": pippin, "LambdaMART": LambdaMART, "X": X, "y": y, "group": group, "qrels": qrels, "run": run,
            "a": run, "b": qrels, "d": run, "model": model}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_examples_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    examples = [example for block in consoles(text) for example in commands(block)]
    for command, output in examples:
        assert run_command(command, tmp_path, 100) == output
    programs = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(programs, {}, page.name, str(page), 0))
    assert len(examples) + runner.tries > 0
    assert not runner.failures


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_right_side_of_the_tables_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    names = namespace()
    cells = re.findall(r"^\| .* \| `(pippin[ .][^`]*|[A-Z]\w*\([^`]*)`[^|]* \|$", page.read_text(), re.MULTILINE)
    assert cells
    for cell in (cell for cell in cells if "…" not in cell):
        if cell.startswith("pippin "):
            run_command(cell, tmp_path, 100)
        else:
            eval(cell, names)
