"""The scoring script of the Yahoo! challenge: output and errors."""

from __future__ import annotations

import io
from math import log2, sqrt
from pathlib import Path

import pytest

from pippin.compat import EMULATORS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def evaluate(lines: list[str], scores: list[str]) -> tuple[int, str, str]:
    Path("f").write_text("".join(f"{text}\n" for text in lines))
    Path("s").write_text("".join(f"{text}\n" for text in scores))
    out, err = io.StringIO(), io.StringIO()
    return EMULATORS["yahoo"].main(["f", "s"], out, err), out.getvalue(), err.getvalue()


def expected_output(rmse: float, err: float, ndcg: float) -> tuple[int, str, str]:
    return 0, f"rmse: {rmse:f}, err: {err:f}, ndcg: {ndcg:f}\n", ""


def test_the_line() -> None:
    lines = ["1 qid:4 1:0", "4 qid:4 1:0", "0 qid:9 1:0"]
    rmse = sqrt(((3 - 1) ** 2 + (2 - 4) ** 2 + 0) / 3)
    first, second = 1 / 16, 15 / 16
    err = (first + (1 - first) * second / 2 + 0) / 2
    ndcg = ((1 + 15 / log2(3)) / (15 + 1 / log2(3)) + 1) / 2  # an empty query counts 1
    assert evaluate(lines, ["3", "2", "0"]) == expected_output(rmse, err, ndcg)


def test_err_is_not_cut() -> None:
    lines = ["0 qid:1 x"] * 20 + ["4 qid:1 x"]
    assert evaluate(lines, ["1"] * 20 + ["0"]) == expected_output(sqrt((20 + 16) / 21), 15 / 16 / 21, 0.0)


def test_labels_are_truncated_to_integers() -> None:
    assert evaluate(["1.9 qid:1 x"], ["1.9"]) == expected_output(0.0, 1 / 16, 1.0)


def test_a_query_that_comes_back_is_another_list() -> None:
    lines = ["4 qid:1 x", "0 qid:2 x", "4 qid:1 x"]
    rmse = sqrt((4**2 + 0 + 4**2) / 3)
    assert evaluate(lines, ["0", "0", "0"]) == expected_output(rmse, (15 / 16 + 0 + 15 / 16) / 3, 1.0)


def test_an_id_of_zero_does_not_end_its_query() -> None:
    lines = ["4 qid:0 x", "4 qid:1 x", "0 qid:2 x"]
    err = (15 / 16 + 1 / 16 * 15 / 16 / 2) / 2
    assert evaluate(lines, ["4", "4", "0"]) == expected_output(0.0, err, 1.0)


def test_surplus_scores_only_thin_out_the_squared_error() -> None:
    assert evaluate(["4 qid:1 x"], ["2", "7", "7", "7"]) == expected_output(sqrt(2**2 / 4), 15 / 16, 1.0)


def test_an_infinite_score() -> None:
    lines = ["4 qid:1 x", "0 qid:1 x"]
    assert evaluate(lines, ["inf", "1"]) == expected_output(float("inf"), 15 / 16, 1.0)


@pytest.mark.parametrize(
    ("lines", "scores", "complaint"),
    [(["1 qid:1 x"], [], "ZeroDivisionError"), (["1 qid:1 x", "1 qid:1 x"], ["1"], "AssertionError"),
     (["1 qid:1"], ["1"], "ValueError"), (["1 qid:a x"], ["1"], "ValueError"), (["1 1 x"], ["1"], "IndexError"),
     (["x qid:1 x"], ["1"], "ValueError"), (["1 qid:1 x"], [""], "ValueError"),
     (["-1 qid:1 x"], ["1"], "AssertionError"), (["nan qid:1 x"], ["1"], "ValueError")],
)  # fmt: skip
def test_failures(lines: list[str], scores: list[str], complaint: str) -> None:
    status, printed, errors = evaluate(lines, scores)
    assert (status, printed) == (1, "")
    assert errors.startswith(complaint)


def test_command_lines() -> None:
    for arguments, first in ((["f"], "illegal usage, incorrect number of arguments"), (["-h"], "usage:  python")):
        out = io.StringIO()
        assert EMULATORS["yahoo"].main(arguments, out, io.StringIO()) == 0
        assert out.getvalue().startswith(first)
    err = io.StringIO()
    assert EMULATORS["yahoo"].main(["f", "s"], io.StringIO(), err) == 1
    assert err.getvalue() == "IOError: [Errno 2] No such file or directory: 'f'\n"
