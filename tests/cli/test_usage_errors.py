"""Usage errors: each message says what is wrong, where, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pippin.cli.main import main

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = "1 Q0 a 1 0.9 t\n1 Q0 b 2 0.5 t\n2 Q0 c 1 0.1 t\n"
LETOR = "1 qid:1 1:0.5 #docid = a\n0 qid:1 1:0.2 #docid = b\n"
REQUEST = {"requests": [{"id": "q", "ratings": [{"_id": "a", "rating": 1}]}], "metric": {"precision": {"k": 5}}}
ANSWER = {"metric_score": 1.0, "details": {"q": {"metric_score": 1.0, "hits": [{"hit": {"_id": "a", "_score": 2.0}}]}}}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    texts = {"qrels": QRELS, "run": RUN, "letor": LETOR, "other": RUN.replace("1 Q0", "q1 Q0").replace("2 Q0", "q2 Q0"),
             "strange": RUN.replace(" a ", " x ").replace(" b ", " y ").replace(" c ", " z "), "words": "hello\n",
             "request.json": json.dumps(REQUEST), "answer.json": json.dumps(ANSWER)}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\xff")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folds" / "Fold1").mkdir(parents=True)
    for part in ("train", "vali", "test"):
        (tmp_path / "folds" / "Fold1" / f"{part}.txt").write_text(LETOR)
    return tmp_path


ORDER = "pass the judged file first, then the scores or run"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("eval run qrels", f"run: expected judgements or LETOR text, but this is a run; {ORDER}"),
        ("eval qrels letor", f"letor: expected scores or a run, but this is LETOR text; {ORDER}"),
        ("eval qrels", "qrels: the file has labels only; name a run"),
        ("eval letor", "letor: the file has labels only; name a run"),
        ("eval qrels binary", "binary: this is not a text file; expected LETOR text"),
        ("eval words run", "words:1: found 'hello'; expected LETOR"),
        ("eval qrels folder", "folder: this folder is neither a store nor partitions; name a file"),
        (
            "train folds -r mart -o m",
            "this folder holds folds; name a file, such as folds/Fold1/train.txt (vali.txt or test.txt)",
        ),
        ("eval qrels run -o x.xlsx", "x.xlsx: cannot write .xlsx files; use table, json"),
        ("eval qrels run --metrics MAP", "unknown option --metrics; did you mean --measure?"),
        ("convert qrels -o out.csv", "convert: unknown option -o; OUT is argument 2, without an option"),
        (
            "convert qrels out.csv --out=other.csv",
            "unknown option --out=other.csv; OUT is argument 2, without an option",
        ),
        ("train letor -r mart -o m --random-state 1", "unknown option --random-state"),
        ("compare qrels a=run a=run", "two systems have the same name, a"),
        ("eval qrels other", "qrels and other have no query in common: qrels has 1, 2, other has q1, q2"),
        ("eval qrels other --stream", "qrels and other have no query in common: qrels has 1, 2, other has q1, q2"),
        ("eval qrels run -t ,", "no tool was selected"),
        ("eval qrels run -m NDGC@10", "no measure is called 'NDGC@10'; did you mean NDCG@10 or "),
        ("eval qrels run -m ndcg10", "no measure is called 'ndcg10'; did you mean NDCG@10?"),
        ("eval qrels run -m NDCG@ten", "NDCG@ten: the cutoff must be a whole number, as in NDCG@10"),
        ("compare qrels run run", "two systems have the same name, run"),
        ("leaderboard nowhere", "nowhere: no folder of results: there is no such folder"),
        ("rank nowhere letor", "nowhere: there is no such file"),
        ("eval answer.json request.json", "answer.json: a _rank_eval response holds hits; pass the request"),
        ("eval qrels request.json", "request.json: a _rank_eval request holds ratings; pass it first"),
    ],
)
def test_a_mistake_is_reported_that_helps(line: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"pippin: {sentence}") or sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_run_without_judged_documents_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "qrels", "strange"]) == 0
    assert capsys.readouterr().err.startswith("pippin: strange: no retrieved document is judged")
    assert main(["eval", "qrels", "run"]) == 0
    assert not capsys.readouterr().err


def test_convert_reads_json_like_evaluate(files: Path) -> None:
    assert main(["convert", "request.json", "out.qrels"]) == 0
    assert (files / "out.qrels").read_text() == "q 0 a 1\n"
    assert main(["convert", "answer.json", "out.run"]) == 0
    assert (files / "out.run").read_text().split()[:3] == ["q", "Q0", "a"]


@pytest.mark.parametrize(
    ("file", "begins"),
    [("x.json", "{"), ("x.csv", "tool,"), ("x.md", "| tool"), ("X.TEX", "%"), ("x.txt", "tool  "), ("x", "tool  ")],
)
def test_the_ending_of_a_file_names_its_form(file: str, begins: str, files: Path) -> None:
    assert main(["eval", "qrels", "run", "-o", file]) == 0
    assert (files / file).read_text().startswith(begins)
    assert main(["eval", "qrels", "run", "-o", file, "--format", "csv"]) == 0
    assert (files / file).read_text().startswith("tool,")


def test_systems_are_renamed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "qrels", "bm25=run", "run", "-t", "official", "-f", "csv"]) == 0
    assert {line.split(",")[2] for line in capsys.readouterr().out.splitlines()[1:]} == {"bm25", "t"}
    assert main(["eval", "qrels", "bm25=run", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == "bm25"


def test_a_form_that_a_command_does_not_have_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "qrels", "run", "-o", "x.html"]) == 2
    assert "x.html: this command does not write html; use table, json" in capsys.readouterr().err
    assert main(["bounds", "qrels", "run", "-o", "x.parquet"]) == 2
    assert "x.parquet: this command does not write parquet" in capsys.readouterr().err
    assert not [*files.glob("x.*")]
