"""`pippin export` and `pippin import` on the command line: output and errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.benchmarks.small import bench, whole, write_folds
from tests.models.test_files import LAMBDAMART

from pippin.cli.main import main
from pippin.data.letor import write_letor


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_letor(whole(10), tmp_path / "test.txt")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "test.txt", "-r", "best-feature", "-o", "model.json", "--quiet"]) == 0
    assert main(["train", "test.txt", "-r", "best-feature", "-o", "bare.json", "--quiet", "--no-sample"]) == 0
    (tmp_path / "ranklib.txt").write_text(LAMBDAMART)
    return tmp_path


def test_export_prints_the_certificate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "model.json", "--to", "ranklib", "-o", "model.txt", "--check", "test.txt"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "model.txt model.txt.parity.json" in output
    assert "no query changes its order" in output
    assert main(["export", "model.json", "--to", "c", "-o", "m.h", "--check", "test.txt", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "c"


def test_model_keeps_documents_for_certificates_except_with_no_sample(folder: Path) -> None:
    assert main(["export", "model.json", "--to", "ranklib", "-o", "model.txt"]) == 0
    data = json.loads((folder / "model.txt.parity.json").read_text())["data"]
    assert data["name"] == "the sample of its training set"
    assert data["documents"] == len(whole(10))
    assert "sample" not in json.loads((folder / "bare.json").read_text())


def test_benchmark_model_is_checked_with_its_training_data(folder: Path) -> None:
    outcome = bench(write_folds(folder / "data", folds=3), folder / "results", rankers=("best-feature",))
    model = outcome.results.cells[0].model
    assert b'"sample"' not in model.read_bytes()
    assert main(["export", str(model), "--to", "ranklib", "-o", "model.txt"]) == 0
    assert json.loads((folder / "model.txt.parity.json").read_text())["data"]["queries"] > 1
    for store in (folder / "results" / "folds").iterdir():
        shutil.rmtree(store)
    assert main(["export", str(model), "--to", "ranklib", "-o", "gone.txt"]) == 2


@pytest.mark.parametrize(("line", "sentence"), [
    ("export model.json -o x --check test.txt", "no target: name it with --to"),
    ("export model.json --to c --check test.txt", "no file to write: name it with -o FILE"),
    ("export bare.json --to c -o x", "the model file contains no sample of its training data; pass labelled data"),
    ("export model.json --to lightgbm -o x --check test.txt", "lightgbm does not support a linear model"),
    ("export model.json --to onnx -o x --check test.txt --option half", "invalid --option 'half': write NAME=VALUE"),
    ("import model.json -o x.json", "this is already a model of Pippin"),
    ("import test.txt -o x.json", "unknown model format"),
    ("import ranklib.txt -o x.json --input-format lgbm", "unknown model format 'lgbm': use lightgbm"),
    ("import ranklib.txt -o x.json --rename test.txt", "expected 3 different feature names"),
])  # fmt: skip
def test_mistakes_are_errors_in_one_sentence(
    folder: Path, line: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(line.split()) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not (folder / "x").exists()
    assert not (folder / "x.json").exists()


def test_rank_and_import_other_programs_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", "ranklib.txt", "test.txt", "-o", "theirs.txt"]) == 0
    assert main(["import", "ranklib.txt", "-o", "ours.json"]) == 0
    assert "ours.json: ranklib, 2 trees, 3 features" in capsys.readouterr().out
    assert main(["rank", "ours.json", "test.txt", "-o", "ours.txt"]) == 0
    assert (folder / "theirs.txt").read_bytes() == (folder / "ours.txt").read_bytes()
