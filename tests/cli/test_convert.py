"""`pippin convert` on the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pippin.cli.main import main

LETOR = "1 qid:1 1:0.5 2:7 #docid = a\n0 qid:1 1:0.25 #docid = b\n2 qid:2 2:1 #docid = a\n"


@pytest.fixture
def letor(tmp_path: Path) -> Path:
    (tmp_path / "d.txt").write_text(LETOR)
    return tmp_path / "d.txt"


def test_summary_lists_the_output(
    letor: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(letor.parent)
    assert main(["convert", letor.name, "d.parquet"]) == 0
    expected = "d.parquet: parquet, Dataset('d.txt': 2 queries, 3 documents, 2 features, float64)\n"
    assert capsys.readouterr().out == expected
    assert main(["convert", "d.parquet", "s", "--to", "scores", "--feature", "1"]) == 0
    assert capsys.readouterr().out == "s: scores, 3 scores\n"


def test_options(letor: Path) -> None:
    store = letor.parent / "set"
    assert main(["convert", str(letor), f"{store}/", "--missing-value", "null", "--dtype", "float32"]) == 0
    assert main(["convert", str(store), str(letor.parent / "d.csv")]) == 0
    assert (letor.parent / "d.csv").read_text().splitlines()[:2] == [
        "query,document,label,comment,1,2",
        "1,a,1,docid = a,0.5,7.0",
    ]
    assert main(["convert", str(store), str(letor.parent / "q.csv"), "--labels"]) == 0
    assert (letor.parent / "q.csv").read_text() == "query,document,label\n1,a,1\n1,b,0\n2,a,2\n"


def test_through_pipes(letor: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(letor.read_bytes())))
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    assert main(["convert", "-", "-", "--to", "qrels"]) == 0
    assert out.getvalue() == b"1 0 a 1\n1 0 b 0\n2 0 a 2\n"
    assert b"-: qrels, Qrels(" in capfdbinary.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["d.txt", "out.run"], "d.txt has 2 features; name the one to use as score"),
        (["d.txt", "-", "--to", "store"], "a store is a folder and cannot be written to standard output"),
        (["none.txt", "out.csv"], "none.txt: there is no such file"),
        (["d.txt", "out.csv", "--to", "exel"], "no format is called 'exel'"),
    ],
)
def test_errors_are_reported(
    arguments: list[str], message: str, letor: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(letor.parent)
    assert main(["convert", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pippin: ")
    assert message in error
    assert error.count("\n") == 1
    assert sorted(path.name for path in letor.parent.iterdir()) == ["d.txt"]


def test_help_names_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    from pippin.data.read import OUTPUT_FORMATS

    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    printed = capsys.readouterr().out
    assert all(form in printed for form in OUTPUT_FORMATS)
