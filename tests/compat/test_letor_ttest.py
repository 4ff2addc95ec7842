"""LETOR's significance scripts: input, comparison and errors."""

from __future__ import annotations

import io
from math import sqrt
from pathlib import Path

import pytest

from pippin.compat import EMULATORS

HEADER = "t-test results for A: a and B: b\n\n\nMeasure\tNumber of queries\tMean A\tMean B\tt-value\tp-value\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def compare(script: str, a: str, b: str) -> tuple[int, str, str]:
    """Status, complaint and written text."""
    Path("a").write_text(a)
    Path("b").write_text(b)
    out, err = io.StringIO(), io.StringIO()
    status = EMULATORS[script].main(["a", "b", "o"], out, err)
    return status, err.getvalue(), Path("o").read_text() if Path("o").exists() else ""


def letor3(*lists: str) -> str:
    lines = [f"precision of query{i}:\t{values}\t\n" for i, values in enumerate(lists)]
    return "".join(lines) + "precision:\t9\t\n\n" + "".join(f"Map of query{i}:\t0.{i}\n" for i in range(len(lists)))


def letor4(*rows: str, header: str = "qid\tP@1\tMAP\n") -> str:
    return header + "".join(f"{row}\n" for row in rows) + "Average\t9\t9\n\n"


def test_letor3_compares_the_queries_that_reach_a_rank() -> None:
    a, b = letor3("1\t0.5", "1", "0\t0.5"), letor3("0\t1", "0", "0\t0.5")
    status, _, output = compare("eval-ttest-3.0", a, b)
    t = (2 / 3) / (sqrt((2 - 3 * (2 / 3) ** 2) / 2) / sqrt(3))
    rows = output.removeprefix(HEADER).split("\n")
    assert status == 0
    assert rows[0] == "map\t3\t0.1\t0.1\t0\t0.50000"
    assert rows[1].split("\t")[:4] == ["prec@1", "3", f"{2 / 3:.15g}", "0"]
    assert float(rows[1].split("\t")[4]) == pytest.approx(t, abs=1e-12)
    assert rows[2].split("\t")[:4] == ["prec@2", "2", "0.5", "0.75"]
    assert rows[3:] == [""]


def test_letor3_dies_where_one_query_is_left() -> None:
    a = letor3("1\t0.5", "1")
    status, complaint, output = compare("eval-ttest-3.0", a, a)
    assert (status, complaint) == (25, "Invalid n: 0\n")
    assert output == HEADER + "map\t2\t0.05\t0.05\t0\t0.50000\nprec@1\t2\t1\t1\t0\t0.50000\n"


def test_letor4_reads_tables_in_its_own_order_of_measures() -> None:
    head = "QID\tNDCG@2\tMeanNDCG\tP@10\tMAP\tP@2\tOther\n"
    text = letor4("10\t0.1\t0.2\t0.3\t0.4\t0.5\t0.6", "9\t0\t0\t0\t0\t0\t0", header=head)
    output = compare("eval-ttest-4.0", text, text)[2].removeprefix(HEADER)
    measures = [row.split("\t")[0] for row in output.split("\n")]
    assert measures == ["P@2", "P@10", "MAP", "NDCG@2", "MeanNDCG", "Other", ""]


def test_letor4_means_and_t() -> None:
    a, b = letor4("1\t1\t1", "2\t0.5\t1"), letor4("1\t0.5\t1", "2\t0.25\t1")
    row = compare("eval-ttest-4.0", a, b)[2].removeprefix(HEADER).split("\n")[0].split("\t")
    differences = (0.5, 0.25)
    mean = sum(differences) / 2
    t = mean / (sqrt((0.5**2 + 0.25**2 - 2 * mean**2) / 1) / sqrt(2))
    assert row[:4] == ["P@1", "2", "0.75", "0.375"]
    assert float(row[4]) == pytest.approx(t, abs=1e-12)
    assert row[5].startswith("0.10")  # P(T > 3) with 1 degree of freedom is 1/2 - atan(3)/pi = 0.1024…


def test_a_query_that_only_one_file_has() -> None:
    status, complaint, output = compare("eval-ttest-4.0", letor4("1\t1\t1", "7\t1\t1"), letor4("1\t1\t1"))
    assert (status, complaint, output) == (25, "Empty value for P@1, qid = 7\n", HEADER)


def test_files_without_queries_give_an_empty_table() -> None:
    assert compare("eval-ttest-4.0", letor4(), letor4()) == (0, "", HEADER)
    assert compare("eval-ttest-3.0", "MAP:\t1\n", "MAP:\t1\n") == (0, "", HEADER)


def test_a_rank_beyond_100() -> None:
    text = letor4("1\t1\t1", "2\t1\t1", header="qid\tP@101\tMAP\n")
    status, complaint, output = compare("eval-ttest-4.0", text, text)
    assert (status, complaint, output) == (25, "Error: Invalide measure string P@101\n", HEADER)


@pytest.mark.parametrize("script", ["eval-ttest-3.0", "eval-ttest-4.0"])
def test_wrong_command_lines(script: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    assert EMULATORS[script].main(["a", "b"], out, err) == 255
    assert out.getvalue().startswith("Invalid command line.\nUsage: ")
    assert EMULATORS[script].main(["a", "b", "o"], out, err) == 2
    assert err.getvalue() == "No such file or directory: Cannot open file a.\n"
