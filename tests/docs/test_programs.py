"""Python blocks without output run on data of the described kind."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.docs.consoles import ROOT

from pippin.cli.main import main
from pippin.data.dataset import Dataset
from pippin.data.letor import write_letor

# What a page's reader has at hand: arrays in the README, and what the block before defined.
BEFORE = "import numpy as np\ny, scores, qid = np.tile([2, 0, 1], 5), np.arange(15.0), np.repeat(np.arange(5), 3)\n"


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fold beside a data set of one fold, and a log of clicks on its training part."""
    place = tmp_path_factory.mktemp("reader")
    generator = np.random.default_rng(4)
    for number, part in enumerate(("train", "vali", "test")):
        features = generator.random((200, 12))
        labels = np.round(2 * features[:, 0] * features[:, 1] + generator.random(200) / 2).astype(np.int32)
        data = Dataset.from_arrays(features, labels, np.repeat(np.arange(20) + 20 * number, 10))
        for where in (place, place / "Fold1", place / "mine" / "QueryLevelNorm" / "Fold1"):
            where.mkdir(parents=True, exist_ok=True)
            write_letor(data, where / f"{part}.txt")
    (place / "scores.txt").write_text("\n".join(map(str, generator.random(200))) + "\n")
    arguments = ["simulate", place / "train.txt", place / "scores.txt", "--sessions", "30", "--swap-rate", "0.1"]
    assert main([*map(str, arguments), "--out", str(place / "log.tsv")]) == 0
    return place


@pytest.mark.parametrize("page", ["README.md", "docs/howto.md", "docs/rankers.md", "docs/clicks.md"])
def test_the_programs_of_a_page_run(page: str, folder: Path) -> None:
    program = "\n".join([BEFORE, *blocks(ROOT / page)])
    # In a process of its own: a page may register a ranker.
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_data_in_python_says_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written, *sessions = blocks(ROOT / "docs" / "data.md")
    exec(written, {})
    text = "\n".join(session for session in sessions if "MQ2008" not in session)  # which nobody may hand on
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(text, {}, "data.md", None, 0))
    assert runner.tries > 5
    assert not runner.failures
