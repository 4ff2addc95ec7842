"""Output of the commands, and errors with exit status 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pippin.cli.main import COMMANDS, main

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\nq2 0 d4 0\nq3 0 d5 0\n"
RUN = "q1 Q0 d1 1 0.5 tag\nq1 Q0 d2 2 0.7 tag\nq2 Q0 d3 1 1.0 tag\nq2 Q0 d4 2 1.0 tag\nq3 Q0 d5 1 3 tag\n"
LETOR = "1 qid:1 1:0.5 #docid = a\n0 qid:1 1:0.2 #docid = b\n2 qid:2 1:0.1 #docid = c\n0 qid:2 1:0.9 #docid = d\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "qrels": QRELS, "run": RUN, "other": RUN.replace("d1 1 0.5", "d1 1 0.9"), "letor.txt": LETOR,
        "scores": "0.1\n0.2\n0.3\n0.4\n", "better": "0.4\n0.2\n0.5\n0.4\n",
        "matrix.csv": "a,b,c\n0.1,0.5,0.3\n0.2,0.7,0.3\n0.1,0.6,0.2\n0.0,0.9,0.4\n",
        "left.csv": "system,score\nx,0.3\ny,0.2\nz,0.1\n", "right.csv": "system,score\nz,0.2\nx,0.3\ny,0.1\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(content)
    return tmp_path


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pippin: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_eval_prints_the_number_and_the_convention(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "eval", "qrels", "run", "-m", "RR", "-t", "trec_eval9", "-t", "official", "--empty", "skip")
    # q1 finds it at rank 2; q2's tie is settled by id, descending: d4 first.
    assert "trec_eval9  0.5000" in text
    # in expectation: (1/2 + (1 + 1/2)/2) / 2 = 0.625
    assert "official    0.6250" in text
    tools = "trec_eval9 (trec_eval 9.0.7; empty=skip), official (the definition; empty=skip)"
    assert f"{tools}: 3 queries, 1 empty, 1 with ties" in text


def test_shared_differences_are_reported_once(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "copy").write_text((files / "run").read_text())
    text = output(capsys, "eval", "qrels", "run", "copy", "-m", "RR", "-t", "trec_eval9,official")
    assert "\n\nrun, copy under trec_eval9 (trec_eval 9.0.7), official (the definition): 3 queries" in text
    assert text.count("queries") == 1
    every = output(capsys, "eval", "qrels", "run", "-m", "RR", "-t", "classic")
    assert "trec_eval9, trec_eval9.0.8, trec_eval10" in every  # of many tools, the names alone
    changed = output(capsys, "eval", "qrels", "run", "-m", "RR", "-t", "classic", "--ties", "worst")
    assert "\nall with ties=worst\n" in changed


def test_eval_ranks_infinite_scores_if_allowed(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "q").write_text("1 0 a 1\n1 0 b 0\n")
    (files / "r").write_text("1 Q0 a 1 inf t\n1 Q0 b 2 5 t\n")
    assert main(["eval", "q", "r", "-m", "RR"]) == 2
    assert "r:1: the score 'inf' is not a finite number (--allow-infinite, in Python" in capsys.readouterr().err
    assert "1.0000" in output(capsys, "eval", "q", "r", "-m", "RR", "--allow-infinite")
    (files / "r").write_text("1 Q0 a 1 nan t\n1 Q0 b 2 5 t\n")
    assert main(["eval", "q", "r", "-m", "RR", "--allow-infinite"]) == 2
    assert "r:1: the score 'nan' is not a finite number" in capsys.readouterr().err
    assert main(["eval", "q", "r", "-m", "RR", "--allow-infinite", "--stream"]) == 2


def test_eval_json_has_the_promised_shape(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(
        output(capsys, "eval", "qrels", "run", "-m", "ndcg_cut_10", "-m", "map", "-t", "gdeval", "-f", "json")
    )
    assert record["tool"] == "gdeval"
    assert record["convention"]["gain"] == "exp2"
    assert set(record["mean"]) == {"ndcg_cut_10", "map"}
    assert record["per_query"]["map"] == {"q1": 0.5, "q2": 0.5, "q3": None}
    several = json.loads(output(capsys, "eval", "qrels", "run", "-t", "all", "-m", "P@1", "-f", "json"))
    assert [r["tool"] for r in several][:2] == ["official", "letor3"]


def test_eval_ties_range_brackets_the_number(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "eval", "qrels", "run", "-m", "RR", "--ties-range", "-t", "official", "--empty", "skip")
    assert "0.6250 [0.5000, 0.7500]" in text


def test_eval_writes_every_format(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("eval", "letor.txt", "scores", "better", "-m", "NDCG@1", "-t", "letor4")
    assert output(capsys, *common, "-f", "csv").startswith("run,tool,NDCG@1\n")
    assert "| run | tool | NDCG@1 |" in output(capsys, *common, "-f", "markdown")
    assert r"\toprule" in output(capsys, *common, "-f", "latex")
    assert "query" in output(capsys, *common, "--per-query")
    assert output(capsys, *common, "-f", "parquet", "-o", "out.parquet") == ""
    import polars

    frame = polars.read_parquet("out.parquet")
    assert frame.columns == ["run", "tool", "measure", "query", "value"]
    assert len(frame) == 4
    assert output(capsys, *common, "-f", "json", "-o", "out.json") == ""
    assert len(json.loads(Path("out.json").read_text())) == 2


def test_a_run_is_judged_by_a_letor_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "letor.run").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n2 Q0 c 1 2 t\n2 Q0 d 2 1 t\n")
    assert "0.7500" in output(capsys, "eval", "letor.txt", "letor.run", "-m", "RR", "-t", "trec_eval9")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("eval", "nowhere", "run"), "nowhere: there is no such file"),
        (("eval", "qrels", "run", "-m", "ndgc@10"), "did you mean"),
        (("eval", "qrels", "run", "-m", "ndgc@10", "-m", "precison@5"), "precison"),
        (("eval", "qrels", "run", "-t", "trec_evil"), "did you mean trec_eval"),
        (("eval", "qrels", "run", "--ties", "random"), "ties must be one of"),
        (("eval", "qrels", "run", "--gain", "a,b"), "gain must be"),
        (("eval", "qrels", "run", "-f", "parquet"), "--out"),
        (("eval", "-", "-"), "standard input"),
        (("eval", "qrels", "scores"), "score"),
        (("evl", "qrels", "run"), "did you mean eval"),
        (("as", "trec_evil", "x"), "did you mean trec_eval"),
        (("reconcile", "qrels", "run"), "--tool A,B"),
        (("reconcile", "qrels", "run", "-t", "nobody"), "no tool is called"),
        (("compare", "qrels", "run"), "at least two systems"),
        (("compare", "qrels", "run", "other", "--test", "z"), "is called 'z'"),
        (("compare", "qrels", "run", "other", "--missing", "maybe"), "invalid --missing"),
        (("compare", "qrels", "run", "other", "--baseline", "who"), "no system is called"),
        (("compare", "--scores", "qrels"), ""),
        (("correlate", "left.csv", "matrix.csv"), "columns of numbers"),
        (("correlate", "left.csv", "right.csv", "-c", "tao"), "did you mean"),
        (("train", "letor.txt", "-r", "best-featur", "-o", "m.json"), "did you mean"),
        (("rank", "qrels", "letor.txt"), "not a model file"),
    ],
)
def test_errors_are_reported(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(capsys, *arguments)


def test_judgements_and_run_without_a_common_query(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "stranger").write_text("z9 Q0 d1 1 0.5 tag\n")
    assert "no query in common" in refusal(capsys, "eval", "qrels", "stranger")


def test_a_document_twice_names_both_lines(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "twice").write_text(RUN + "q3 Q0 d5 2 1 tag\n")
    message = refusal(capsys, "eval", "qrels", "twice")
    assert "twice:6" in message
    assert "line 5" in message


def test_tools_and_measures_tell_all(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "letor4" in output(capsys, "tools")
    assert "rank 2 is not discounted" in output(capsys, "tools", "letor4")
    assert "NDCG" in output(capsys, "measures")
    assert "Chapelle" in output(capsys, "measures", "err@10")


def test_reconcile_speaks(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("reconcile", "letor.txt", "scores", "-m", "NDCG@10")
    assert "short lists" in output(capsys, *common, "-t", "trec_eval9,letor4")
    record = json.loads(output(capsys, *common, "-t", "trec_eval9,letor4", "-f", "json"))
    assert sum(p["value"] for p in record["parts"]) == pytest.approx(record["difference"], abs=1e-12)
    assert "| tool |" in output(capsys, *common, "-t", "all", "-f", "markdown")
    assert output(capsys, *common, "-t", "all", "-f", "csv").startswith("measure,from,to,choice,value\n")
    assert output(capsys, *common, "-t", "all", "-f", "html", "-o", "why.html") == ""
    assert "<h1>" in Path("why.html").read_text()
    named = ("reconcile", "gov=letor.txt", "bm25=scores", "-m", "NDCG@10", "-t", "all", "-o", "named.html")
    assert output(capsys, *named) == ""
    assert all(name in Path("named.html").read_text() for name in ("qrels gov", "run bm25"))


def test_compare_names_the_first_and_tests(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "compare", "letor.txt", "scores", "better", "-m", "RR", "-t", "official,letor4")
    assert "All 2 tools put better first" in text
    matrix = output(capsys, "compare", "--scores", "matrix.csv")
    assert "b leads with 0.6750" in matrix
    records = json.loads(output(capsys, "compare", "--scores", "matrix.csv", "-f", "json"))
    assert records[0]["boards"][0]["means"]["c"] == pytest.approx(0.3)
    assert output(capsys, "compare", "--scores", "matrix.csv", "-f", "csv").startswith("measure,tool,system,rank")
    assert r"\begin{tabular}" in output(capsys, "compare", "--scores", "matrix.csv", "-f", "latex")


def test_a_matrix_with_a_gap_names_the_cell(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "gap.csv").write_text("topic,a,b\n1,0.1,0.2\n2,,0.3\n3,0.4,0.5\n4,0.1,0.6\n")
    assert "'2'" in refusal(capsys, "compare", "--scores", "gap.csv")
    assert "3 queries" in output(capsys, "compare", "--scores", "gap.csv", "--missing", "drop")


def test_correlate_matches_by_name(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(output(capsys, "correlate", "left.csv", "right.csv", "-f", "json"))
    # x 0.3 0.2 0.1 against 0.3 0.1 0.2: one of three pairs is turned round
    assert record["coefficients"]["tau"]["value"] == pytest.approx(1 / 3)
    assert "best = high" in output(capsys, "correlate", "left.csv", "right.csv")


def test_every_command_helps_and_says_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        try:
            status: object = main([name, "--help"])
        except SystemExit as ended:
            status = ended.code
        assert status == 0
        assert f"usage: pippin {name}" in capsys.readouterr().out


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m pippin tools | head -n 1"
    assert "Traceback" not in subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stderr


def test_a_ranker_is_trained_and_ranks(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{i % 3} qid:{i // 12} 1:{i % 3 + i / 100} 2:{i * 7 % 5} #docid = d{i}" for i in range(240)]
    (files / "train.txt").write_text("\n".join(lines) + "\n")
    (files / "vali.txt").write_text("\n".join(lines[:120]) + "\n")
    trained = output(
        capsys, "train", "train.txt", "--ranker", "lambdamart", "--valid", "vali.txt", "--measure", "NDCG@10",
        "--convention", "official", "--set", "rounds=5", "-q", "-o", "model.json",
    )  # fmt: skip
    *_, rounds, first, second = trained.splitlines()
    assert re.fullmatch(r"kept (all|\d of) 5 rounds: .*", rounds)
    assert first == "model.json: lambdamart, trained on train.txt (20 queries, 240 documents, 2 features)"
    assert re.fullmatch(r"NDCG@10 under official: 0\.99\d\d on train.txt, 1\.0000 on vali.txt", second)
    assert json.loads(Path("model.json").read_text())["parameters"]["rounds"] == 5
    assert output(capsys, "rank", "model.json", "train.txt", "-o", "scores.txt") == ""
    assert "official   0.99" in output(capsys, "eval", "train.txt", "scores.txt", "-m", "NDCG@10")
    assert output(capsys, "rank", "trees=model.json", "train.txt", "-o", "trees.run") == ""
    assert {line.split()[-1] for line in Path("trees.run").read_text().splitlines()} == {"trees"}
    assert "a tag (trees) names a TREC run" in refusal(capsys, "rank", "trees=model.json", "train.txt", "-o", "s.txt")
    assert "importance" in output(capsys, "rankers", "model.json")
    assert "selected pair_weighting=" in output(
        capsys, "train", "train.txt", "-r", "ranksvm", "--valid", "vali.txt", "--select", "MAP", "-q", "-o", "svm.json"
    )
    assert "lacks" in refusal(capsys, "rank", "model.json", "letor.txt")
    assert "no parameter of lambdamart is called" in refusal(
        capsys, "train", "train.txt", "-r", "lambdamart", "--set", "treees=5", "-o", "m.json"
    )


def test_tools_are_listed_by_group_and_every_other_one_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "tools")
    assert re.search(r"^letor4 .* letor ", text, re.M)
    assert re.search(r"^retrieval, .*: .*\bbeir\b", text, re.M)
    group = output(capsys, "tools", "retrieval")
    assert re.search(r"^beir +2", group, re.M)
    assert re.search(r"^classic, .*: .*\bletor4\b", group, re.M)
    assert output(capsys, "tools", "all").count("\nletor4 ") == 1


def test_a_tool_begins_with_what_differs_from_official(capsys: pytest.CaptureFixture[str]) -> None:
    differing, _, same = output(capsys, "tools", "beir").partition("Same as official")
    assert re.search(r"^self_retrieval +drop", differing, re.M)
    assert not re.search(r"^discount ", differing, re.M)
    assert re.search(r"^discount +log2", same, re.M)
    assert "Different from official" not in output(capsys, "tools", "official")


def test_a_comparison_of_two_systems_says_by_how_much_and_p(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "other").write_text("q1 Q0 d1 1 9 y\nq1 Q0 d2 2 1 y\nq2 Q0 d3 1 1 y\nq2 Q0 d4 2 2 y\n")
    line = ["compare", "qrels", "run", "other", "-m", "RR", "-t", "official", "--missing", "drop"]
    text = output(capsys, *line)
    tested = json.loads(output(capsys, *line, "-f", "json"))[0]["boards"][0]["tests"][0]
    assert "tie range" in text
    (files / "other").write_text((files / "other").read_text().replace("d3 1 1", "d3 1 3"))
    (files / "run").write_text("q1 Q0 d1 1 1 x\nq1 Q0 d2 2 2 x\nq2 Q0 d3 1 1 x\nq2 Q0 d4 2 2 x\n")
    assert "tie range" not in output(capsys, *line)  # a column that would say nothing
    assert re.search(rf"^tag +y +[+−]{abs(tested['difference']):.4f} .* {tested['p']:.4f} ", text, re.M)
