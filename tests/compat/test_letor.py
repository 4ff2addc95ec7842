"""The LETOR and MSLR scoring scripts: output and errors."""

from __future__ import annotations

import io
from math import log
from pathlib import Path

import pytest

from pippin.compat import EMULATORS
from pippin.errors import DataError

SCRIPTS = ("eval-score-3.0", "eval-score-4.0", "eval-score-mslr")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(label: object, query: object, document: str, script: str = "eval-score-4.0") -> str:
    tail = "" if script == "eval-score-3.0" else " inc = 1 prob = 0.5"
    return f"{label} qid:{query} 1:0.5 #docid = {document}{tail}"


def score(script: str, lines: list[str], scores: list[str], flag: str = "0") -> tuple[int, str, str]:
    """Status, printed and written text."""
    Path("f").write_bytes("".join(f"{text}\n" for text in lines).encode())
    Path("s").write_bytes("".join(f"{text}\n" for text in scores).encode())
    out, err = io.StringIO(), io.StringIO()
    status = EMULATORS[script].main(["f", "s", "o", flag], out, err)
    return status, out.getvalue(), Path("o").read_text() if Path("o").exists() else ""


def averages(written: str) -> list[list[float]]:
    return [[float(v) for v in row.split("\t")[1:]] for row in written.split("\n") if row.startswith("Average")]


def test_letor3_prints_as_many_columns_as_the_longest_list_has() -> None:
    lines = [line(2, 7, "a", SCRIPTS[0]), line(0, 7, "b", SCRIPTS[0]), line(1, 7, "c", SCRIPTS[0]),
             line(1, 3, "d", SCRIPTS[0])]  # fmt: skip
    status, printed, output = score(SCRIPTS[0], lines, ["1", "2", "3", "0"], "1")
    ideal, result = 3 + 1, 1 + 0 + 3 * log(2) / log(3)  # the order is c, b, a
    assert (status, printed) == (0, "")
    assert output == (
        "precision of query0:\t1\t\n"
        f"precision of query1:\t1\t0.5\t{2 / 3:.15g}\t\n"
        f"precision:\t1\t0.25\t{1 / 3:.15g}\t\n\n"
        f"Map of query0:\t1\nMap of query1:\t{(1 + 2 / 3) / 2:.15g}\nMAP:\t{(1 + 5 / 6) / 2:.15g}\n\n"
        f"NDCG of query0:\t1\t\nNDCG of query1:\t{1 / 3:.15g}\t0.25\t{result / ideal:.15g}\t\n"
        f"NDCG:\t{(1 + 1 / 3) / 2:.15g}\t0.125\t{result / ideal / 2:.15g}\t\n\n"
    )


def test_letor3_goes_no_deeper_than_16() -> None:
    lines = [line(1, 1, f"d{i}", SCRIPTS[0]) for i in range(20)]
    output = score(SCRIPTS[0], lines, ["0"] * 20)[2]
    assert output.split("\n")[0] == "precision:" + "\t1" * 16 + "\t"


def test_letor4_table() -> None:
    lines = [line(1, 12, "a"), line(2, 12, "b"), line(0, 5, "c")]
    status, _, output = score("eval-score-4.0", lines, ["0.5", "0.1", "9"], "1")
    rows = output.split("\n")
    assert status == 0
    assert rows[0] == "qid\t" + "\t".join(f"P@{k}" for k in range(1, 11)) + "\tMAP"
    assert rows[1] == "5\t" + "0.0000\t" * 10 + "0.0000"  # numeric order: 5 before 12
    assert rows[2] == "12\t1.0000\t1.0000\t" + "\t".join(f"{2 / k:.4f}" for k in range(3, 11)) + "\t1.0000"
    assert rows[4:6] == ["", "qid\t" + "\t".join(f"NDCG@{k}" for k in range(1, 11)) + "\tMeanNDCG"]
    # Rank 2 is not discounted, and NDCG@k of a list of 2 is 0 from k = 3 on.
    assert rows[7] == f"12\t{1 / 3:.4f}\t1.0000\t" + "0.0000\t" * 8 + f"{(1 / 3 + 1) / 2:.4f}"
    assert rows[8] == f"Average\t{1 / 6:.4f}\t0.5000\t" + "0.0000\t" * 8 + f"{(1 / 3 + 1) / 4:.4f}"
    assert output.endswith("\n\n")


def test_mslr_gains_from_label_1_and_does_not_call_it_relevant() -> None:
    precision, gain = averages(score("eval-score-mslr", ["1 qid:1 1:0", "0 qid:1"], ["2", "1"])[2])
    assert (precision[0], precision[10]) == (0, 0)
    assert gain[0] == 1


@pytest.mark.parametrize(("label", "gained"), [("2", 1.0), ("3", 0.0), ("02", 0.0), ("99999999999", 0.0)])
def test_labels_that_the_tables_do_not_know_count_nothing(label: str, gained: float) -> None:
    precision, gain = averages(score("eval-score-4.0", [line(label, 1, "a")], ["1"])[2])
    assert (precision[0], gain[0]) == (gained, gained)


@pytest.mark.parametrize(("script", "hits"), [("eval-score-4.0", 0.0), ("eval-score-mslr", 1.0)])
def test_a_document_that_comes_back_replaces_itself_except_in_mslr(script: str, hits: float) -> None:
    lines = [line(2, 1, "a"), line(0, 1, "a")]
    assert averages(score(script, lines, ["5", "1"])[2])[0][0] == hits


def test_repeated_queries_are_merged() -> None:
    lines = [line(0, 1, "a"), line(1, 2, "b"), line(1, 1, "c")]
    output = score("eval-score-4.0", lines, ["1", "1", "2"], "1")[2]
    assert [row.split("\t")[:3] for row in output.split("\n")[1:4]] == [
        ["1", "1.0000", "0.5000"], ["2", "1.0000", "0.5000"], ["Average", "1.0000", "0.5000"]]  # fmt: skip


def test_equal_scores_keep_the_order_of_the_file() -> None:
    lines = [line(0, 1, "z"), line(1, 1, "a")]
    assert averages(score("eval-score-4.0", lines, ["1", "1"])[2])[0][0] == 0


@pytest.mark.parametrize(
    ("first", "second", "top"),
    [("0.5", "text", "first"), ("-1", "", "second"), ("1", "1.5abc", "second"), ("1e9", "inf", "second"),
     ("0", "-Infinity", "first"), ("0x9", "1", "second"), ("1_000", "2", "second"), (" 3 ", "2", "first")],
)  # fmt: skip
def test_scores_are_what_perl_reads(first: str, second: str, top: str) -> None:
    lines = [line(1, 1, "a"), line(0, 1, "b")]
    precision = averages(score("eval-score-4.0", lines, [first, second])[2])[0]
    assert precision[0] == (1 if top == "first" else 0)


def test_a_score_that_is_not_a_number_has_no_rank() -> None:
    with pytest.raises(DataError, match="s:2: score is NaN"):
        score("eval-score-4.0", [line(1, 1, "a"), line(0, 1, "b")], ["1", "nan"])


@pytest.mark.parametrize("script", SCRIPTS)
def test_too_few_scores(script: str) -> None:
    lines = [line(1, 1, "a", script), line(1, 1, "b", script)]
    assert score(script, lines, ["1"]) == (254, "Error to read s at line 2.\n", "")


@pytest.mark.parametrize("script", SCRIPTS)
def test_surplus_scores_are_ignored(script: str) -> None:
    lines = [line(1, 1, "a", script)]
    assert score(script, lines, ["1", "2"]) == score(script, lines, ["1"])


GOOD = {script: line(1, 1, "a", script) for script in SCRIPTS}


@pytest.mark.parametrize(
    ("script", "bad"),
    [(script, bad) for script in SCRIPTS[:2] for bad in (
        "1.0" + GOOD[script][1:], GOOD[script] + "\r", GOOD[script] + " ", "", "-" + GOOD[script],
        GOOD[script].replace("qid:", ""), GOOD[script].replace("#docid = ", "#docid=")
    )] + [("eval-score-3.0", GOOD["eval-score-4.0"]), ("eval-score-4.0", GOOD["eval-score-3.0"]),
          ("eval-score-mslr", "1.0 qid:1 1:0"), ("eval-score-mslr", "1  qid:1 1:0"), ("eval-score-mslr", "# 1 qid:1")],
)  # fmt: skip
def test_lines_that_do_not_fit(script: str, bad: str) -> None:
    assert score(script, [GOOD[script], bad], ["1", "1"]) == (254, f"Error to parse f at line 2:\n{bad}\n", "")


@pytest.mark.parametrize("text", ["1 qid:1 1:0\r", "1 qid:1", "2 qid:x#y", GOOD["eval-score-3.0"]])
def test_mslr_needs_a_label_and_a_query_only(text: str) -> None:
    assert score("eval-score-mslr", [text], ["1"])[0] == 0


def test_a_query_id_gives_back_the_comment_it_swallowed() -> None:
    text = "1 qid:7#docid = a inc = 1 prob = 1"
    output = score("eval-score-4.0", [text], ["1"], "1")[2]
    assert output.split("\n")[1].startswith("7\t1.0000")


def test_the_scores_run_out_before_the_line_is_looked_at() -> None:
    assert score("eval-score-4.0", ["rubbish"], [])[1] == "Error to read s at line 1.\n"


@pytest.mark.parametrize("script", SCRIPTS)
def test_wrong_command_lines(script: str) -> None:
    out = io.StringIO()
    assert EMULATORS[script].main(["f", "s", "o"], out, io.StringIO()) == 255
    assert out.getvalue().startswith("Invalid command line.\nUsage: perl ")
    out = io.StringIO()
    assert EMULATORS[script].main(["f", "s", "o", "2"], out, io.StringIO()) == 255
    assert out.getvalue().endswith("Flag should be 0 or 1\n")


@pytest.mark.parametrize("script", SCRIPTS)
def test_files_that_are_not_there(script: str) -> None:
    out = io.StringIO()
    assert EMULATORS[script].main(["f", "s", "o", "0"], out, io.StringIO()) == 254
    assert out.getvalue() == 'Invalid command line.\nOpen $fnFeature" failed.\n'
    Path("f").touch()
    out = io.StringIO()
    assert EMULATORS[script].main(["f", "s", "o", "0"], out, io.StringIO()) == 254
    assert out.getvalue() == 'Invalid command line.\nOpen "s" failed.\n'


@pytest.mark.parametrize(("flag", "per_query"), [("1", True), ("1.0", True), ("0", False), ("no", False)])
def test_the_flag_is_a_number_to_perl(flag: str, per_query: bool) -> None:
    output = score("eval-score-4.0", [line(1, 42, "a")], ["1"], flag)[2]
    assert ("42\t" in output) == per_query


@pytest.mark.parametrize(
    ("script", "begun"), [("eval-score-3.0", "precision:\t\t\n\n"), ("eval-score-4.0", "MAP\nAverage\t")]
)
def test_a_file_without_a_line_divides_by_zero(script: str, begun: str) -> None:
    status, printed, output = score(script, [], [])
    assert (status, printed) == (25, "")
    assert output.endswith(begun)
