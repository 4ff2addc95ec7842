"""Tutorials, explanations and console blocks of all pages run and print the documented output."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.docs.consoles import ROOT, commands, consoles, run_command

from pippin._version import __version__
from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor

TUTORIALS = sorted((ROOT / "docs").glob("*/*.py"))
# Pages whose outputs come from what a test cannot have, and the words with which each of them says so.
TOLD = {
    "README.md": "what they print follows the Python that runs them",
    "bench.md": "From CISI, built with",
    "compare.md": "The outputs below are real: MQ2008",
    "deploy.md": "which follow the compiler",
    "holes.md": "of made-up runs, cut short",
    "install.md": "runs the examples of every command without the optional dependencies",
    "report.md": "The machine was busy",
    "scale.md": "the training part of MQ2008's first fold",
}
RUN = {"start.md", "cli.md", "data.md", "referee.md"}  # below, and by tests/evaluation/test_referee.py


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
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    cells = tutorials.cells_of(path.read_text(encoding="utf-8"))
    tutorials.run(cells, tmp_path)
    assert any(cell.printed or cell.shown for cell in cells)
    page = tutorials.page(cells, "x")
    assert page.startswith("# ")
    assert page.count("```") % 2 == 0
    for name, picture in tutorials.pictures(cells, "x").items():
        assert f"]({name})" in page
        assert picture.startswith("<svg")
    assert len(json.loads(tutorials.notebook(cells))["cells"]) == len(cells)


def test_a_failing_command_stops_a_tutorial(tutorials: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no measure is called"):
        tutorials.run(tutorials.cells_of("# %%\n# !pippin measures nope"), tmp_path)


def test_the_short_answers_work(tutorials: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "tutorials" / "evaluate.py").read_text(encoding="utf-8")
    tutorials.run([cell for cell in tutorials.cells_of(text) if cell.file], tmp_path)
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 3, 60).astype(np.int32)
    data = Dataset.from_arrays(generator.random((60, 4)), labels, np.repeat(np.arange(6), 10))
    write_letor(data, tmp_path / "test.txt")
    (tmp_path / "other.txt").write_text("q1 Q0 apple 1 2.0 other\nq1 Q0 leaf 2 1.0 other\nq2 Q0 plum 1 1.0 other\n")
    monkeypatch.chdir(tmp_path)
    answers = re.findall(r"^\$ pippin (.*)$", (ROOT / "docs" / "howto.md").read_text(), re.MULTILINE)
    assert len(answers) > 24
    for answer in answers:
        assert main(shlex.split(answer)) == 0, answer


def test_every_page_is_on_the_site() -> None:
    """Each file of docs/ stands in the navigation, and each page of the navigation is there or made."""
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    items = {f"{path.parent.name}/{path.stem}.md" for path in TUTORIALS} | {"gallery.md"}
    assert there | items <= listed
    assert all(page.startswith("reference/") for page in listed - there - items)


@pytest.mark.parametrize("page", sorted(RUN - {"referee.md"}))
def test_page_examples_print_the_documented_output(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if page == "data.md":  # it begins by writing its files
        exec(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0], {})
    ran = [
        (run_command(command, tmp_path, 100), expected)
        for block in consoles(text) for command, expected in commands(block)
        if command.startswith(("pippin", "printf", "ls", "head")) and "completion" not in command
    ]  # fmt: skip
    assert len(ran) >= 1
    for printed, expected in ran:
        assert printed == expected


def test_the_examples_of_compare_on_the_demo_data(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    examples = [pair for block in consoles(text) for pair in commands(block) if "demo/" in pair[0]]
    assert len(examples) >= 1
    run_command("pippin synthetic -o demo", tmp_path, 120)
    for command, output in examples:
        printed, beginning = run_command(command, tmp_path, 120), output.strip("\n").removesuffix("…").rstrip("\n")
        beginning = re.sub(r"(?<=with Pippin )\d+\.\d+\.\d+", __version__, beginning)
        assert printed.startswith(beginning), command
        assert output.rstrip().endswith("…") or printed.rstrip("\n") == beginning, command


def test_every_output_is_run_or_says_why_not() -> None:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        shows = any(output.strip() for block in consoles(text) for _, output in commands(block))
        if path.name in TOLD:
            assert TOLD[path.name] in " ".join(text.split()), path.name
            assert shows or path.name == "bench.md", path.name  # its block has no command
        else:
            assert not shows or path.name in RUN, path.name


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the repository, or to a page that only the site has."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        made = target == "gallery.md" or target.startswith(("reference/", "https://", "http://"))
        assert made or (page.parent / target).exists(), target


def test_files_named_by_pages_exist() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.py")]
    pattern = re.compile(r"`((?:tests|src|benchmarks|tools|examples|docs)/[\w./-]+\.\w+)`")
    missing = [
        (page.name, name)
        for page in pages
        for name in pattern.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    ]
    assert missing == []
