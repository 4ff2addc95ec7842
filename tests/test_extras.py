"""What runs without which package, and what is said where an extra is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pippin
from pippin.errors import MissingExtra
from pippin.report.figure import Figure

ROOT = Path(__file__).resolve().parent.parent
BESIDE_NUMPY = (
    "scipy", "polars", "pyarrow", "sklearn", "lightgbm", "threadpoolctl", "safetensors", "Stemmer", "selectolax",
    "fastwarc", "torch", "vl_convert", "pandas", "ir_datasets", "dask", "distributed",
)  # fmt: skip
EXTRAS = ("torch", "vl_convert", "pandas", "ir_datasets", "dask", "distributed")


def without(packages: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    """`pippin` in a process where these packages cannot be imported."""
    code = (f"import sys; sys.modules.update(dict.fromkeys({packages!r}))\n"
            "from pippin.cli.main import main; sys.exit(main(sys.argv[1:]))")  # fmt: skip
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "data.txt").write_text("2 qid:1 1:0.5\n0 qid:1 1:0.2\n1 qid:2 1:0.4\n0 qid:2 1:0.9\n")
    (tmp_path / "scores.txt").write_text("0.1\n0.7\n0.5\n0.2\n")
    return str(tmp_path / "data.txt"), str(tmp_path / "scores.txt")


def test_eval_needs_numpy_alone(files: tuple[str, str]) -> None:
    done = without(BESIDE_NUMPY, "eval", *files, "--tool", "official,letor4", "--measure", "NDCG@10,MAP")
    assert done.returncode == 0, done.stderr
    assert "0.7500" in done.stdout


def test_eval_without_numpy_fails(files: tuple[str, str]) -> None:
    """That packages can be taken away here at all."""
    assert without(("numpy",), "eval", *files).returncode != 0


def test_a_network_is_trained_without_the_extras(files: tuple[str, str], tmp_path: Path) -> None:
    done = without(EXTRAS, "train", files[0], "--ranker", "ranknet", "--out", str(tmp_path / "model"))
    assert done.returncode == 0, done.stderr


def test_a_drawing_without_its_extra_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"pip install 'pippin\[report\]'"):
        Figure({"mark": "bar"}).save(tmp_path / "figure.svg")
    assert not list(tmp_path.iterdir())


def test_a_pandas_frame_without_its_extra_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = pippin.evaluate([1, 0], [0.2, 0.1], qid=[1, 1])
    with pytest.raises(MissingExtra, match=r"pip install 'pippin\[pandas\]'"):
        found.to_pandas()


def test_a_collection_without_its_extra_says_what_to_type(tmp_path: Path) -> None:
    done = without(EXTRAS, "build", "irds:vaswani", "--out", str(tmp_path / "built"))
    assert done.returncode == 2
    assert "pip install 'pippin[datasets]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_extras_named_in_sentences_are_those_of_the_package() -> None:
    import re
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"pippin\[(\w+)\]", source))
    assert named <= set(extras)
    assert f"pippin[{','.join(k for k in extras if k not in ('all', 'test'))}]" in extras["all"]
