"""`pippin export` and `pippin import` on the command line: what is printed, and what is wrong in one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.bench.small import bench, whole, write_folds
from tests.forms.test_files import LAMBDAMART

from pippin.cli.main import main
from pippin.data.letor import write_letor


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_letor(whole(10), tmp_path / "test.txt")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "test.txt", "-r", "best-feature", "-o", "model.json", "--quiet"]) == 0
    assert main(["train", "test.txt", "-r", "best-feature", "-o", "bare.json", "--quiet", "--no-documents"]) == 0
    (tmp_path / "ranklib.txt").write_text(LAMBDAMART)
    return tmp_path


def test_an_export_says_what_it_changes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "model.json", "--to", "ranklib", "-o", "model.txt", "--check", "test.txt"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "model.txt model.txt.parity.json" in said
    assert "no query changes its order" in said
    assert main(["export", "model.json", "--to", "c", "-o", "m.h", "--check", "test.txt", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "c"


def test_a_model_keeps_documents_to_check_with_unless_they_must_not_leave(place: Path) -> None:
    assert main(["export", "model.json", "--to", "ranklib", "-o", "model.txt"]) == 0
    data = json.loads((place / "model.txt.parity.json").read_text())["data"]
    assert data["name"] == "the sample of its training set"
    assert data["documents"] == len(whole(10))
    assert "sample" not in json.loads((place / "bare.json").read_text())


def test_a_model_of_a_bench_is_checked_where_its_data_are(place: Path) -> None:
    outcome = bench(write_folds(place / "data", folds=3), place / "results", rankers=("best-feature",))
    model = outcome.results.cells[0].model
    assert b'"sample"' not in model.read_bytes()
    assert main(["export", str(model), "--to", "ranklib", "-o", "model.txt"]) == 0
    assert json.loads((place / "model.txt.parity.json").read_text())["data"]["queries"] > 1
    for store in (place / "results" / "folds").iterdir():
        shutil.rmtree(store)
    assert main(["export", str(model), "--to", "ranklib", "-o", "gone.txt"]) == 2


@pytest.mark.parametrize(("line", "sentence"), [
    ("export model.json -o x --check test.txt", "name the target with --to"),
    ("export model.json --to c --check test.txt", "name the file to write with -o FILE"),
    ("export bare.json --to c -o x", "this model keeps no documents of its training set; name a labelled data set"),
    ("export model.json --to lightgbm -o x --check test.txt", "lightgbm cannot take a weighted sum"),
    ("export model.json --to onnx -o x --check test.txt --option half", "--option takes NAME=VALUE"),
    ("import model.json -o x.json", "a model of Pippin's own already"),
    ("import test.txt -o x.json", "no model that Pippin can read"),
    ("import ranklib.txt -o x.json --reader lgbm", "--reader is lightgbm"),
    ("import ranklib.txt -o x.json --rename test.txt", "are not those of the 3 features"),
])  # fmt: skip
def test_what_is_wrong_is_one_sentence(
    place: Path, line: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(line.split()) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not (place / "x").exists()
    assert not (place / "x.json").exists()


def test_another_programs_file_is_ranked_with_and_imported(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", "ranklib.txt", "test.txt", "-o", "theirs.txt"]) == 0
    assert main(["import", "ranklib.txt", "-o", "ours.json"]) == 0
    assert "ours.json: ranklib, 2 trees, 3 features" in capsys.readouterr().out
    assert main(["rank", "ours.json", "test.txt", "-o", "ours.txt"]) == 0
    assert (place / "theirs.txt").read_bytes() == (place / "ours.txt").read_bytes()
