"""Type checkers accept the Python of the pages, and find misspelt arguments."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.consoles import ROOT

from pippin.evaluation.convention import AXES, Axes

# What a page says is there already.
GIVEN = {
    "README.md": "import numpy as np\ny, scores, qid = np.zeros(3), np.zeros(3), np.zeros(3)\n",
    "docs/conventions.md": "import numpy as np\nimport pippin\nscores = np.zeros(3)\n",
}
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "coming_from").glob("*.md"))
    if "```python\n" in page.read_text(encoding="utf-8")
)


def program(page: str) -> str:
    """Return the Python of a page as one program; typed examples without what they print."""
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = [GIVEN.get(page, "")]
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        examples = doctest.DocTestParser().get_examples(block)
        parts.append("".join(example.source for example in examples) if examples else block)
    return "\n".join(parts)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        (folder / (re.sub(r"\W", "_", page.removesuffix(".md")) + ".py")).write_text(program(page), encoding="utf-8")
    return folder


def check(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=280)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_mypy_accepts_every_documented_line(programs: Path) -> None:
    settings = ["--ignore-missing-imports", "--allow-redefinition", "--disable-error-code=import-untyped"]
    cache = ROOT / ".mypy_cache" / "pages"
    command = [sys.executable, "-m", "mypy", *settings, f"--cache-dir={cache}", "."]
    assert not check(command, programs)
    mistake = "import pippin\npippin.evaluate([1], [2.0], relevance_treshold=2)\n"
    assert 'did you mean "relevance_threshold"?' in check([*command[:-1], "-c", mistake], programs)


def test_pyright_accepts_every_documented_line(programs: Path) -> None:
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    assert not check([pyright, "--pythonpath", sys.executable, "--level", "error", "."], programs)


def test_the_typed_axes_are_those_of_a_convention() -> None:
    assert list(Axes.__annotations__) == list(AXES)
