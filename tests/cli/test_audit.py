"""`pippin audit` on files: detected formats and printed findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pippin.cli.main import main

LETOR = "1 qid:{0}1 1:0.5 2:1 #docid = {0}a\n0 qid:{0}1 1:0.25 2:1 #docid = {0}b\n0 qid:{0}2 1:0.1 2:1 #docid = {0}c\n"
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 2.0 t\nq1 Q0 z 2 1.0 t\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "data.txt": LETOR.format(1), "more.txt": LETOR.format(2), "scores.txt": "1\n1\n2\n", "qrels.txt": QRELS,
        "run.txt": RUN,
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, object]]:
    """Return the findings that the command prints as JSON, by key, and the audited input."""
    assert main(["audit", *arguments, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    return {f["key"]: f for f in printed["findings"]} | {"": printed}


@pytest.mark.usefixtures("folder")
def test_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    result = record(capsys, "data.txt")
    assert (result["empty"]["number"], result["empty"]["total"]) == (1, 2)
    assert result[""]["basis"] == "a perfect ranking"
    assert result["constant_features"]["examples"] == ["2"]


@pytest.mark.usefixtures("folder")
def test_name_renames_the_data_on_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert record(capsys, "data.txt")[""]["name"] == "data.txt"
    assert record(capsys, "mine=data.txt", "scores.txt")[""]["name"] == "mine"


@pytest.mark.usefixtures("folder")
def test_several_files_are_one_data_set_and_a_last_score_file_is_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    result = record(capsys, "data.txt", "more.txt")
    assert (result["empty"]["number"], result["empty"]["total"]) == (2, 4)
    result = record(capsys, "data.txt", "scores.txt")
    assert result[""]["basis"] == "the scores given"
    assert result["tied"]["number"] == 1
    assert record(capsys, "data.txt", "--run", "scores.txt") == result


@pytest.mark.usefixtures("folder")
def test_a_query_in_two_files_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    result = record(capsys, "data.txt", "./data.txt")
    assert (result["leak"]["number"], result["leak"]["total"]) == (2, 2)


@pytest.mark.usefixtures("folder")
def test_judgements_and_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    result = record(capsys, "qrels.txt", "run.txt")
    assert result["unjudged"]["number"] == 1
    assert result["missing"]["examples"] == ["q2"]
    assert "constant_features" not in result


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
def test_other_formats(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "data.txt", "-m", "NDCG@3", "--all", "--format", form]) == 0
    out = capsys.readouterr().out
    assert "no relevant document" in out
    assert "NDCG@3" in out
    assert "AP" not in out


def test_output_goes_to_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "data.txt", "-o", "audit.txt"]) == 0
    assert capsys.readouterr().out == ""
    assert "1 of 2 queries (50.0 %) has no relevant document" in (folder / "audit.txt").read_text()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing.txt"], "nothing.txt"),
        (["run.txt"], "expected judgements or LETOR text"),
        (["qrels.txt", "scores.txt"], "judgements, which need a run"),
        (["data.txt", "qrels.txt"], "holds judgements"),
        (["data.txt", "--cutoffs", "1,x"], "invalid cutoffs"),
        (["data.txt", "-m", "NDGC@10"], "did you mean"),
        (["-", "--run", "-"], "only one file can come from standard input"),
        (["data.txt", "more.txt", "scores.txt"], "3 scores"),
    ],
)
def test_bad_input_is_reported(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("pippin: ")
    assert sentence in error
    assert error.count("\n") == 1


def fold_files(root: Path, shared: Path) -> None:
    """MQ2008 in LETOR's folds."""
    parts = [(shared / "data" / "MQ2008" / f"S{i}.txt").read_bytes() for i in range(1, 6)]
    for i in range(5):
        fold = root / f"Fold{i + 1}"
        fold.mkdir(parents=True)
        rotated = parts[i:] + parts[:i]
        (fold / "train.txt").write_bytes(b"".join(rotated[:3]))
        (fold / "vali.txt").write_bytes(rotated[3])
        (fold / "test.txt").write_bytes(rotated[4])


def test_mq2008_in_folds(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fold_files(tmp_path / "MQ2008", shared)
    result = record(capsys, str(tmp_path / "MQ2008"))
    assert (result["empty"]["number"], result["empty"]["total"]) == (220, 784)
    assert result["short"]["number"] == 403
    assert not {"leak", "rotation", "feature_numbers"} & set(result)
    # A leak that declared counts would not show: one fold validates on what it tests on.
    (tmp_path / "MQ2008" / "Fold3" / "vali.txt").write_bytes((tmp_path / "MQ2008" / "Fold3" / "test.txt").read_bytes())
    result = record(capsys, str(tmp_path / "MQ2008"))
    assert result["leak"]["number"] == 157
    assert "Fold3 does not validate on the test part of Fold2" in str(result["rotation"]["sentence"])


@pytest.mark.usefixtures("folder")
def test_five_sentences_sum_it_up(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["audit", "data.txt"]) == 0
    output = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["audit", "data.txt"]) == 0
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.split() == output.split()  # folded, not cut
    lines = output.splitlines()
    assert lines[1].startswith("Fit for a comparison, with care: ")
    assert "1 of 2 queries (50.0 %) has no relevant document" in "\n".join(lines)
    assert "--all" in lines[-1]


def test_the_page_of_an_audit(folder: Path) -> None:
    assert main(["audit", "data.txt", "-o", "audit.html"]) == 0
    text = (folder / "audit.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "Audit of data.txt" in text
    assert "1 of 2 queries (50.0 %) has no relevant document" in text
    assert main(["audit", "data.txt", "--format", "html", "-o", "same"]) == 0
    assert (folder / "same").read_text() == text
