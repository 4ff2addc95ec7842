"""gdeval: table, options and errors."""

from __future__ import annotations

import gzip
import io
from math import log2
from pathlib import Path

import pytest

from pippin.compat import EMULATORS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> tuple[int, list[str], str]:
    out, err = io.StringIO(), io.StringIO()
    status = EMULATORS["gdeval"].main(list(arguments), out, err)
    return status, out.getvalue().splitlines(), err.getvalue()


def write(name: str, *lines: str) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines))


def row(topic: str, ndcg: float, err: float, run: str = "r") -> str:
    return f"{run},{topic},{ndcg:.5f},{err:.5f}"


JUDGED = ["wt-10 0 a 2", "wt-10 0 b 1", "9 0 a 4", "8 0 a 0", "7 0 a 1", "10 0 z -2"]
RUN = ["10 Q0 b 1 0.5 x", "10 Q0 a 2 0.5 x", "9 Q0 c 1 9 x", "9 Q0 a 7 1 x", "8 Q0 a 1 1 x", "99 Q0 a 1 1 r"]
NINE = (1 / log2(3), 15 / 16 / 2)
TEN = ((1 + 3 / log2(3)) / (3 + 1 / log2(3)), 1 / 16 + 15 / 16 * 3 / 16 / 2)  # equal scores: b before a


def test_the_table() -> None:
    write("q", *JUDGED)
    write("r", *RUN)
    means = [(a + b) / 2 for a, b in zip(NINE, TEN, strict=True)]
    expected = ["runid,topic,ndcg@20,err@20", row("9", *NINE), row("10", *TEN), row("amean", means[0], means[1])]
    assert run("q", "r") == (0, expected, "")


def test_complete_divides_by_every_topic_with_a_relevant_document() -> None:
    write("q", *JUDGED)
    write("r", *RUN)
    means = [(a + b) / 3 for a, b in zip(NINE, TEN, strict=True)]
    assert run("-c", "q", "r")[1][-1] == row("amean", means[0], means[1])


@pytest.mark.parametrize(("cutoff", "shown"), [("1", "1"), ("1.9", "1"), ("01", "1")])
def test_the_cutoff(cutoff: str, shown: str) -> None:
    write("q", *JUDGED)
    write("r", *RUN)
    lines = run("-k", cutoff, "q", "r")[1]
    assert lines[:3] == [f"runid,topic,ndcg@{shown},err@{shown}", row("9", 0, 0), row("10", 1 / 3, 1 / 16)]


def test_a_document_listed_twice_counts_twice() -> None:
    write("q", "1 0 a 1", "1 0 b 1")
    write("r", "1 Q0 a 1 2 r", "1 Q0 a 2 1 r")
    assert run("q", "r")[1][1] == row("1", 1.0, 1 / 16 + 15 / 16 / 16 / 2)


def test_a_document_judged_twice_keeps_the_lower_label_and_makes_the_ideal_twice() -> None:
    write("q", "1 0 a 1", "1 0 a 3")
    write("r", "1 Q0 a 1 2 r")
    assert run("q", "r")[1][1] == row("1", 1 / (7 + 1 / log2(3)), 1 / 16)


def test_scores_are_what_perl_reads() -> None:
    write("q", "1 0 a 1")
    write("r", "1 Q0 b 1 word r", "1 Q0 a 2 1e-9x r", "1 Q0 c 2 -inf r")
    assert run("q", "r")[1][1] == row("1", 1.0, 1 / 16)


def test_against_a_baseline() -> None:
    write("q", "1 0 a 1", "2 0 a 1", "3 0 a 1", "4 0 a 1")
    write("r", "1 Q0 a 1 1 r", "2 Q0 b 1 1 r")
    write("b", "2 Q0 a 1 1 base", "3 Q0 a 1 1 base")
    name = "r (rel to. base, rs=1+a, a=5)"
    rows = [row("1", 1, 1 / 16, name), row("2", -6, -6 / 16, name)]
    assert run("-baseline", "b", "-riskAlpha", "5", "q", "r")[1][1:] == [
        *rows, row("amean", -5 / 2, -5 / 16 / 2, name)]  # fmt: skip
    # With -c the topics that the run misses follow; one that the baseline misses too repeats the one before.
    rows += [row("3", -6, -6 / 16, name), row("4", -6, -6 / 16, name)]
    assert run("-c", "-baseline", "b", "-riskAlpha", "5", "q", "r")[1][1:] == [
        *rows, row("amean", -17 / 4, -17 / 16 / 4, name)]  # fmt: skip


def test_packed_files() -> None:
    Path("q.gz").write_bytes(gzip.compress(b"1 0 a 1\n"))
    write("r", "1 Q0 a 1 1 r")
    assert run("q.gz", "r")[1][-1] == row("amean", 1.0, 1 / 16)


def test_nothing_to_evaluate() -> None:
    write("q")
    write("r")
    assert run("-c", "q", "r")[1] == ["runid,topic,ndcg@20,err@20", row("amean", 0, 0, "?????")]


@pytest.mark.parametrize("bad", ["1 0 a 5", "1 0 a", "", "x 0 a 1", "1 1 a 1", "1 0 a 1.0", "1- 0 a 1"])
def test_judgements_that_do_not_fit(bad: str) -> None:
    write("q", "1 0 a 1", bad)
    write("r", "1 Q0 a 1 1 r")
    assert run("q", "r") == (25, [], 'gdeval.pl: format error on line 2 of "q"\n')


@pytest.mark.parametrize(
    "bad", ["1 Q0 a 1 1", "1 q0 a 1 1 r", "", "x Q0 a 1 1 r", "1 Q0 a 1.5 1 r", "1 Q0 a -1 1 r", "1 Q0 a 1 1 0"]
)
def test_runs_that_do_not_fit(bad: str) -> None:
    write("q", "1 0 a 1")
    write("r", "1 Q0 a 1 1 r", bad)
    assert run("q", "r") == (25, [], 'gdeval.pl: format error on line 2 of "r"\n')


def test_lines_that_fit_all_the_same() -> None:
    write("q", "  a-b-1\tQ0\ta 1 more\r", "1 0 b -1")
    write("r", "  c-1\tQ0 a 0 1 r more\r")
    assert run("q", "r")[1][-1] == row("amean", 1.0, 1 / 16)


@pytest.mark.parametrize(
    "arguments", [(), ("q",), ("-k", "0", "q", "r"), ("-k", "x", "q", "r"), ("-x", "q", "r"), ("q", "r", "s"),
                  ("-k", "5", "q"), ("-riskAlpha", "-1", "q", "r")],
)  # fmt: skip
@pytest.mark.parametrize(("bzcat", "expected"), [("/usr/bin/bzcat", 255), (None, 1)])
def test_wrong_command_lines(
    arguments: tuple[str, ...], bzcat: str | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "shutil.which", lambda name: bzcat
    )  # the search for it is the last command that the script runs
    status, printed, complaint = run(*arguments)
    assert (status, printed) == (expected, [])
    assert complaint.startswith("usage: gdeval.pl [options] qrels run\n")


@pytest.mark.parametrize(
    ("qrels", "status"),
    [("1 0 a\n1 0 b 1\n", 25), ("1 0 a 1\n1 0 b", 255), ("1 1e400 a 1\n", 34), ("1 1e-400 a 1\n1 0 b 5\n1 0 c 1\n", 34),
     ("1 1e-400 a 1\n1 0 b 5", 255), ("1 0 a 1\n1 1e400 b 1", 34)],
)  # fmt: skip
def test_a_format_error_ends_with_the_last_error_of_the_system(
    qrels: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/bzcat")
    Path("q").write_text(qrels)
    write("r", "1 Q0 a 1 1 t")
    assert run("q", "r")[0] == status


def test_topics_are_numbers_and_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/bzcat")
    write("q", "7 0 a 2", "007 0 b 1")
    write("r", "7 Q0 a 1 1 t", "8 Q0 x 1 1 t", "007 Q0 b 1 0 t")
    lines = ["runid,topic,ndcg@Inf,err@Inf", "t,7,1.00000,0.21289", "t,amean,0.50000,0.10645"]
    assert run("-c", "-k", "inf", "q", "r") == (0, lines, "")
    write("r", "007 Q0 b 1 3 t", "7 Q0 a 1 1 t")  # called 007 by its first document, and the ideal is called 7
    assert run("q", "r") == (255, ["runid,topic,ndcg@20,err@20"], "Illegal division by zero at gdeval.pl\n")


def test_the_name_of_a_run_is_part_of_a_format() -> None:
    write("q", "7 0 a 2", "007 0 b 1")
    write("r", "7 Q0 a 1 3 50%%_%d")
    assert run("q", "r")[1][1:] == ["50%_0,7,0.18750,0.00000", "50%_0,amean,0.18750,0.00000"]


def test_help_version_and_missing_files() -> None:
    assert run("-help")[1][0] == "usage: gdeval.pl [options] qrels run"
    assert run("-v") == (0, ["gdeval.pl: version 1.3 (Mon Apr 29 20:50:24 EDT 2013)"], "")
    assert run("q", "r") == (2, [], "Invalid ffile: q - No such file or directory\n")
