"""Optional dependencies: commands that need them and messages if they are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.example_files import furnish, make_things
from tests.cli.test_examples import arguments, examples

import pippin
from pippin.cli.main import COMMANDS
from pippin.dependencies import PACKAGES
from pippin.errors import MissingDependency
from pippin.reports.figures import Figure

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = tuple(PACKAGES)
HEAVY = ("scipy", "pyarrow", "narwhals", "lightgbm", "sklearn", "rich", "shtab", "jinja2",
         "threadpoolctl", "safetensors", "Stemmer", "selectolax", "fastwarc")  # fmt: skip
# The examples that a plain install cannot run, by how they begin, with the extras that they ask for.
ASKING = {
    "report results --out paper": "report",
    "board": "serve",
    "serve": "serve",
}


# Makes these packages impossible to import. A None in sys.modules would do, but SciPy looks for PyTorch there.
BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Block())
"""


def without(packages: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    """`pippin` in a process where these packages cannot be imported."""
    code = (f"{BLOCK.format(packages=packages)}\n"
            "from pippin.cli.main import main; sys.exit(main(sys.argv[1:]))")  # fmt: skip
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "data.txt").write_text("2 qid:1 1:0.5\n0 qid:1 1:0.2\n1 qid:2 1:0.4\n0 qid:2 1:0.9\n")
    (tmp_path / "scores.txt").write_text("0.1\n0.7\n0.5\n0.2\n")
    return str(tmp_path / "data.txt"), str(tmp_path / "scores.txt")


def test_eval_imports_numpy_alone(files: tuple[str, str]) -> None:
    done = without((*EXTRAS, *HEAVY), "eval", *files, "--tool", "official,letor4", "--measure", "NDCG@10,MAP")
    assert done.returncode == 0, done.stderr
    assert "0.7500" in done.stdout


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = furnish(tmp_path_factory.mktemp("workshop"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        make_things()
    return folder


COMMAND_LINES = [(name, line) for name in COMMANDS if name != "engine" for line in examples(name)]  # needs a server


CHILD = (
    BLOCK
    + """
import contextlib, io, json, pathlib
from pippin.cli.main import main
for words in json.load(sys.stdin):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = sorted(map(str, pathlib.Path().rglob("*")))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    begun = before != sorted(map(str, pathlib.Path().rglob("*")))
    print(json.dumps([status, *(stream.buffer.getvalue().decode() for stream in (out, err)), begun]))
"""
)


@pytest.fixture(scope="module")
def plain(workshop: Path) -> dict[str, tuple[int, str, str, bool]]:
    """Return the outcome of each example in a plain install: status, output, and whether work began.

    One process runs them all, as the packages are loaded once then.
    """
    lines = [line for _, line in COMMAND_LINES]
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(packages=EXTRAS)],
        input=json.dumps(list(map(arguments, lines))), capture_output=True, text=True, check=False, cwd=workshop,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(lines, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(("name", "line"), COMMAND_LINES)
def test_a_plain_install_runs_every_command_or_says_at_once_what_to_type(
    name: str, line: str, plain: dict[str, tuple[int, str, str, bool]]
) -> None:
    words = f"{' '.join(arguments(line))} "
    extras = [extra for start, extra in ASKING.items() if words.startswith(f"{start} ")]
    status, out, err, begun = plain[line]
    if not extras:
        assert status == 0, err
        return
    assert status == 2, err
    assert err.count("\n") == 1
    assert err.endswith(f"pip install 'pippin[{extras[-1]}]'\n"), err
    assert not out
    assert not begun, "something was begun"


def test_commands_that_need_extras_stay_listed() -> None:
    lines = [" ".join(arguments(line)) + " " for _, line in COMMAND_LINES]
    assert [start for start in ASKING if not any(line.startswith(f"{start} ") for line in lines)] == []


def test_eval_without_numpy_fails(files: tuple[str, str]) -> None:
    """That packages can be taken away here at all."""
    assert without(("numpy",), "eval", *files).returncode != 0


def test_a_network_is_trained_without_the_extras(files: tuple[str, str], tmp_path: Path) -> None:
    done = without(EXTRAS, "train", files[0], "--ranker", "ranknet", "--out", str(tmp_path / "model"))
    assert done.returncode == 0, done.stderr


def test_a_drawing_without_its_extra_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingDependency, match=r"pip install 'pippin\[report\]'"):
        Figure({"mark": "bar"}).save(tmp_path / "figure.svg")
    assert not list(tmp_path.iterdir())


def test_a_pandas_frame_without_its_extra_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    evaluation = pippin.evaluate([1, 0], [0.2, 0.1], qid=[1, 1])
    with pytest.raises(MissingDependency, match=r"pip install 'pippin\[pandas\]'"):
        evaluation.to_pandas()


def test_a_collection_without_its_extra_names_the_extra(tmp_path: Path) -> None:
    done = without(EXTRAS, "build", "irds:vaswani", "--out", str(tmp_path / "built"))
    assert done.returncode == 2
    assert "pip install 'pippin[datasets]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_extras_named_in_sentences_are_those_of_the_package() -> None:
    import re
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    names = set(re.findall(r"pippin\[(\w+)\]", source)) | {extra for _, extra in PACKAGES.values()}
    assert names <= set(extras)
    for package, extra in PACKAGES.values():
        assert any(re.split("[<>=]", needed)[0] == package for needed in extras[extra]), package
    assert f"pippin[{','.join(k for k in extras if k not in ('all', 'docs', 'test'))}]" in extras["all"]
