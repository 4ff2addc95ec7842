"""Tutorials run from the first cell to the last, and every command of the page of short answers works."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))


@pytest.fixture(scope="module")
def tutorials() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tutorials", ROOT / "tools" / "site" / "tutorials.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tutorials"] = module  # where its dataclass looks its own types up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path: Path, tutorials: ModuleType, tmp_path: Path) -> None:
    cells = tutorials.cells_of(path.read_text(encoding="utf-8"))
    tutorials.run(cells, tmp_path)
    assert any(cell.printed or cell.shown for cell in cells)
    page = tutorials.page(cells, "x.ipynb")
    assert page.startswith("# ")
    assert page.count("```") % 2 == 0


def test_a_failing_command_stops_a_tutorial(tutorials: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no measure is called"):
        tutorials.run(tutorials.cells_of("# %%\n# !pippin measures nope"), tmp_path)


def test_the_short_answers_work(tutorials: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "tutorials" / "evaluate.py").read_text(encoding="utf-8")
    tutorials.run([cell for cell in tutorials.cells_of(text) if "write_text" in cell.source], tmp_path)
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 3, 60).astype(np.int32)
    data = Dataset.from_arrays(generator.random((60, 4)), labels, np.repeat(np.arange(6), 10))
    write_letor(data, tmp_path / "test.txt")
    monkeypatch.chdir(tmp_path)
    answers = re.findall(r"^\$ pippin (.*)$", (ROOT / "docs" / "howto.md").read_text(), re.MULTILINE)
    assert len(answers) > 12
    for answer in answers:
        assert main(shlex.split(answer)) == 0, answer


def test_every_page_is_on_the_site() -> None:
    """Each file of docs/ stands in the navigation, and each page of the navigation is there or made."""
    listed = set(re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*.md")}
    made = {f"tutorials/{path.stem}.md" for path in TUTORIALS} | {"gallery.md"}
    assert there <= listed
    assert all(page.startswith("reference/") for page in listed - there - made)
