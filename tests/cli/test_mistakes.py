"""What people get wrong, and the sentence that puts them right: what is wrong, where, and what to type instead."""

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


ORDER = "the judged file comes first, then what was scored"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("eval run qrels", f"run: judgements or LETOR text are expected, and this is a run; {ORDER}"),
        ("eval qrels letor", f"letor: scores or a run are expected, and this is LETOR text; {ORDER}"),
        ("eval qrels", "qrels: nothing was scored: pippin eval qrels SCORED, a run or scores"),
        ("eval letor", "letor: nothing was scored: pippin eval letor SCORED, a run or scores"),
        ("eval qrels binary", "binary: this is no text, and LETOR (label qid:…), judgements"),
        ("eval words run", "words:1: 'hello' stands here: neither LETOR"),
        ("eval qrels folder", "folder: this is a folder, and neither a store nor partitions; name a file"),
        ("train folds -r mart -o m", "name a file of it, such as folds/Fold1/test.txt"),
        ("eval qrels other", "qrels and other have no query in common: 1, 2 there, q1, q2 here"),
        ("eval qrels other --stream", "qrels and other have no query in common: 1, 2 there, q1, q2 here"),
        ("eval qrels run -t ,", "no tool was asked for"),
        ("eval qrels run -m NDGC@10", "no measure is called 'NDGC@10'; did you mean NDCG@10 or "),
        ("eval qrels run -m ndcg10", "no measure is called 'ndcg10'; did you mean NDCG@10?"),
        ("eval qrels run -m NDCG@ten", "NDCG@ten: a cutoff is a whole number, as in NDCG@10"),
        ("compare qrels run run", "run: this is given twice, and would be compared with itself"),
        ("leaderboard nowhere", "nowhere: no folder of results: there is no such folder"),
        ("rank nowhere letor", "nowhere: there is no such file"),
        ("eval answer.json request.json", "answer.json: an answer of _rank_eval has the hits; the request, with its"),
        ("eval qrels request.json", "request.json: a request of _rank_eval has the ratings, and comes first"),
    ],
)
def test_a_mistake_gets_a_sentence_that_helps(line: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"pippin: {sentence}") or sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_run_of_which_nothing_was_judged_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "qrels", "strange"]) == 0
    assert capsys.readouterr().err.startswith("pippin: strange: none of its documents was judged; do both files call")
    assert main(["eval", "qrels", "run"]) == 0
    assert not capsys.readouterr().err


def test_what_evaluate_reads_as_json_convert_reads_too(files: Path) -> None:
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


def test_a_form_that_a_command_does_not_have_is_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "qrels", "run", "-o", "x.html"]) == 2
    assert "x.html: no page is made of this; the forms are table, json" in capsys.readouterr().err
    assert main(["bounds", "qrels", "run", "-o", "x.parquet"]) == 2
    assert "x.parquet: this is not written as parquet" in capsys.readouterr().err
    assert not [*files.glob("x.*")]
