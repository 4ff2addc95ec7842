"""TREC judgements and runs: accepted forms and errors, strict and lenient."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import pippin
from pippin.data.qrels import Qrels, Run, parse_qrels, parse_run, write_qrels, write_run
from pippin.errors import DataError
from pippin.kernels.text import flatten_nested

Write = Callable[[bytes | str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(text: bytes | str) -> Path:
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return save


def test_judgements(write: Write) -> None:
    qrels = parse_qrels(write("q1 0 d1 1\nq1 0 d2 -1\nq2 Q0 d1 2.0\n"))
    assert qrels.query_ids == ("q1", "q2")
    assert qrels.offsets.tolist() == [0, 2, 3]
    assert list(qrels.document_ids) == ["d1", "d2", "d1"]
    assert qrels.labels.tolist() == [1, -1, 2]
    assert qrels.labels.dtype == np.int32
    assert qrels.name == "data.txt"


def test_run(write: Write) -> None:
    run = parse_run(write("q1 Q0 d1 1 0.5 mine\nq1 Q0 d2 2 -1e-3 other\nq2 Q0 d1 1 7 third\n"))
    assert run.query_ids == ("q1", "q2")
    assert run.offsets.tolist() == [0, 2, 3]
    assert list(run.document_ids) == ["d1", "d2", "d1"]
    assert run.scores.tolist() == [0.5, -0.001, 7.0]
    assert run.tag == "mine"


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", " \t\n\n", "\n# end"])
def test_white_space_comments_and_line_ends(write: Write, ending: str) -> None:
    text = "# trec_eval 10 skips this\n\n  q1\tQ0   d1 \t1  0.5\tt\r\n\r\n\t# and this\nq#1 Q0 #d 1 2 t" + ending
    run = parse_run(write(text))
    assert run.query_ids == ("q1", "q#1")
    assert list(run.document_ids) == ["d1", "#d"]
    assert run.scores.tolist() == [0.5, 2.0]
    assert [run.line_of(0), run.line_of(1)] == [3, 6]
    qrels = parse_qrels(write("#\nq 0\td  3\r\n\n  q 0 e 1" + ending))
    assert list(qrels.document_ids) == ["d", "e"]
    assert [qrels.line_of(0), qrels.line_of(1)] == [2, 4]


def test_columns_of_any_length(write: Write) -> None:
    lines = [f"{'q' * n} Q0 {'d' * (3 * n)} 1 {n}.25 {'t' * n}\n" for n in range(1, 90)]
    run = parse_run(write("".join(lines)))
    assert list(run.document_ids) == ["d" * (3 * n) for n in range(1, 90)]
    assert run.query_ids == tuple("q" * n for n in range(1, 90))
    assert run.scores.tolist() == [n + 0.25 for n in range(1, 90)]


def test_gzip(write: Write, tmp_path: Path) -> None:
    packed = tmp_path / "x.gz"
    packed.write_bytes(gzip.compress(b"q Q0 d 1 2 t\n"))
    assert parse_run(packed).scores.tolist() == [2]


RUN = "a run has 6 columns (query Q0 document rank score tag), and this line has "
QRELS = "judgements have 4 columns (query 0 document label), and this line has "


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("q", RUN + "only 1"),
        ("q Q0 d 1 2", RUN + "5"),
        ("q Q0 d 1 2 t more", RUN + "more"),
        ("q Q0 e 1 abc t", "the score 'abc' is not a number"),
        ("q Q0 e 1 2x t", "the score '2x' is not a number"),
        ("q Q0 e 1 nan t", "the score 'nan' is not a finite number"),
        (
            "q Q0 e 1 -inf t",
            "the score '-inf' is not a finite number (--allow-infinite, in Python allow_infinite=True, ranks it)",
        ),
        (
            "q Q0 e 1 1e999 t",
            "the score '1e999' is not a finite number (--allow-infinite, in Python allow_infinite=True, ranks it)",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "", "\r\nq Q0 f 1 1 t\n" * 9])
def test_a_bad_line_of_a_run_is_reported(write: Write, line: str, sentence: str, ending: str) -> None:
    path = write("# first\nq Q0 d 1 2 t\n\n" + line + ending)
    with pytest.raises(DataError) as caught:
        parse_run(path)
    assert str(caught.value) == f"{path}:4: {sentence}"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("q 0 d", QRELS + "3"),
        ("q 0 e 1 more", QRELS + "more"),
        ("q 0 e x", "the label 'x' is not a number"),
        ("q 0 e 0.5", "the label '0.5' is not a whole number"),
        ("q 0 e 3000000000", "the label '3000000000' is too large"),
        ("q 0 d 1", "document d is listed twice in query q, first in line 2"),
    ],
)
def test_a_bad_line_of_judgements_is_reported(write: Write, line: str, sentence: str) -> None:
    path = write("# first\nq 0 d 2\n\n" + line + "\n")
    with pytest.raises(DataError) as caught:
        parse_qrels(path)
    assert str(caught.value) == f"{path}:4: {sentence}"


def test_bytes_that_are_no_text(write: Write) -> None:
    for bad, word in [(b"\xff", "UTF-8"), (b"\0", "NUL byte")]:
        path = write(b"q Q0 d 1 2 t\nq Q0 e" + bad + b" 1 2 t\n")
        with pytest.raises(DataError, match=f":2: .*{word}"):
            parse_run(path)
        with pytest.raises(DataError, match=f":2: .*{word}"):
            parse_qrels(path)


def test_no_data(write: Write) -> None:
    for read in (parse_run, parse_qrels):
        with pytest.raises(DataError, match="the file contains no data"):
            read(write("# nothing\n\n"))


def test_a_query_that_comes_back(write: Write) -> None:
    run = "a Q0 1 1 9 t\nb Q0 1 1 8 t\n\na Q0 2 2 7 t\nb Q0 2 2 6 t\n"
    path = write(run)
    with pytest.raises(DataError, match="the rows of query a are not contiguous; it began in line 1") as caught:
        parse_run(path)
    assert caught.value.line == 4
    merged = parse_run(path, merge_queries=True)
    assert merged.query_ids == ("a", "b")
    assert merged.scores.tolist() == [9, 7, 8, 6]
    assert list(merged.document_ids) == ["1", "2", "1", "2"]
    assert [merged.line_of(row) for row in range(4)] == [1, 4, 2, 5]
    path = write("a 0 1 9\nb 0 1 8\na 0 2 7\n")
    with pytest.raises(DataError, match=r":3: .*--merge-queries"):
        parse_qrels(path)
    assert parse_qrels(path, merge_queries=True).labels.tolist() == [9, 7, 8]


def test_a_document_twice_in_a_run_is_reported_with_both_lines(write: Write) -> None:
    path = write("# x\nq Q0 a 1 3 t\nq Q0 b 2 2 t\n\nq Q0 a 3 1 t\n")
    with pytest.raises(DataError) as caught:
        pippin.evaluate({"q": {"a": 1}}, path)
    assert str(caught.value) == f"{path}:5: document a is listed twice in query q, first in line 2"


def test_rows_that_come_from_no_file_have_no_line() -> None:
    assert Run.from_dict({"q": {"a": 1.0}}).line_of(0) is None
    assert Qrels.from_dict({"q": {"a": 1}}).line_of(0) is None


def test_lenient_reads_as_the_c_programs(write: Write) -> None:
    text = "q Q0 a 1 abc first\nq Q0 b 2 3x t and more\nr Q0 a 1 0x10 t\n"
    text += "q Q0 c 3 -inf t\nq Q0 d 4 1e999 t\nq Q0 e 5 2 last\n"
    run = parse_run(write(text), lenient=True)
    assert run.query_ids == ("q", "r")
    assert run.scores.tolist() == [0, 3, -np.inf, np.inf, 2, 16]
    assert run.tag == "last"
    assert np.isnan(parse_run(write("q Q0 a 1 nan t\n"), lenient=True).scores[0])
    qrels = parse_qrels(
        write(b"\xef\xbb\xbfq 0 a x\n\xff 0 b 2.7\nr 0 a -1z\n\xff 0 c +3\nq 0 \x01 99999999999\n"), lenient=True
    )
    assert qrels.query_ids == ("\ufeffq", "\udcff", "r", "q")
    assert qrels.labels.tolist() == [0, 2, 3, -1, 2**31 - 1]
    assert qrels.document_ids.raw(4) == b"\x01"
    with pytest.raises(DataError, match="6 columns"):
        parse_run(write("q Q0 a 1 2\n"), lenient=True)
    with pytest.raises(DataError, match="4 columns"):
        parse_qrels(write("q 0 a 1 more\n"), lenient=True)
    assert len(parse_run(write("\n\n"), lenient=True).scores) == 0


@pytest.mark.parametrize("before", [0, 5])
@pytest.mark.parametrize("after", [0, 5])
def test_bytes_other_than_c_blanks_belong_to_ids(write: Write, before: int, after: int) -> None:
    for byte in set(range(256)) - {*b" \t\n\v\f\r"}:
        odd = b"a" + bytes([byte]) + b"b"
        lines = [*(b"q 0 d%d 1\n" % i for i in range(before)), b"q 0 " + odd + b" 1\n"]
        qrels = parse_qrels(write(b"".join([*lines, *(b"q 0 e%d 1\n" % i for i in range(after))])), lenient=True)
        assert qrels.document_ids.raw(before) == odd
        assert len(qrels.document_ids) == before + 1 + after


def test_lenient_comments_count_across_pieces(write: Write) -> None:
    # Of lines that start with # and follow each other version 10 leaves out every second one.
    lines = ["# 0 a 1\n"] * 100_001
    path = write("".join([*lines, "q 0 a 1\n"]))
    assert path.stat().st_size > 2**19
    qrels = parse_qrels(path, lenient=True)
    assert qrels.query_ids == ("#", "q")
    assert len(qrels.labels) == 50_000 + 1


def test_threads_and_pieces_change_nothing(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"q{i // 100} Q0 D{i} {i % 100} {i / 8} t{'x' * (i % 70)}\n" for i in range(60_000)]
    lines[30_000:30_000] = ["\n", "# inside\n"] * 5
    path = write("".join(lines))
    assert path.stat().st_size > 3 * 2**20
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("PIPPIN_THREADS", threads)
        results.append(parse_run(path))
    for run in results:
        assert run.query_ids == tuple(f"q{q}" for q in range(600))
        assert run.scores.tolist() == [i / 8 for i in range(60_000)]
        assert list(run.document_ids) == [f"D{i}" for i in range(60_000)]
        assert run.offsets.tolist() == list(range(0, 60_001, 100))
        assert run.line_of(59_999) == 60_010
    lines[50_000] = "bad\n"
    lines[59_000] = "worse\n"
    with pytest.raises(DataError, match=":50001: "):
        parse_run(write("".join(lines)))


def test_a_long_line(write: Write) -> None:
    run = parse_run(write(b"q Q0 " + b"d" * 5_000_000 + b" 1 2 t\n"))
    assert run.document_ids.lengths.tolist() == [5_000_000]
    with pytest.raises(DataError, match="more"):
        parse_run(write(b"q Q0 d 1 2 t " + b"x " * 3_000_000))
    with pytest.raises(DataError, match="only 1"):
        parse_qrels(write(b"q" * 5_000_000))


def test_written_runs_and_judgements_read_back(tmp_path: Path) -> None:
    run = Run.from_dict({"b": {"x": 0.1, "y": 1 / 3, "z": 0.1}, "a": {"ü": -2.5}}, "system")
    path = tmp_path / "run.gz"
    write_run(run, path)
    assert gzip.decompress(path.read_bytes()).decode() == (
        "b Q0 x 2 0.1 system\nb Q0 y 1 0.3333333333333333 system\nb Q0 z 3 0.1 system\na Q0 ü 1 -2.5 system\n"
    )
    again = parse_run(path)
    assert again.query_ids == run.query_ids
    assert again.document_ids == run.document_ids
    assert again.scores.tolist() == run.scores.tolist()
    assert again.tag == "system"
    qrels = Qrels.from_dict({"b": {"x": 2, "y": -1}, "a": {"x": 0}})
    write_qrels(qrels, tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "b 0 x 2\nb 0 y -1\na 0 x 0\n"


def test_values_that_text_cannot_represent_are_refused(tmp_path: Path) -> None:
    for run in (
        Run.from_dict({"a b": {"x": 1.0}}),
        Run.from_dict({"a": {"": 1.0}}),
        Run.from_dict({"a": {"x": 1.0}}, "my run"),
    ):
        with pytest.raises(DataError, match="cannot be written"):
            write_run(run, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_dicts_are_checked() -> None:
    with pytest.raises(DataError, match=r"the label 0.5 of document d is not a whole number"):
        Qrels.from_dict({"q": {"d": 0.5}})
    for wrong in ({"q": 3}, {"q": {"d": "x"}}, {"q": {1.5: 1}}, {None: {"d": 1}}):
        with pytest.raises(DataError, match="a dict of query ids to dicts"):
            Qrels.from_dict(wrong)  # type: ignore[arg-type]


def test_golden_inputs_equal_a_slow_reading(golden_folder: Path) -> None:
    for path in sorted((golden_folder / "inputs").glob("*.run")):
        rows = [line.split() for line in path.read_text().splitlines()]
        run = parse_run(path)
        assert list(run.document_ids) == [row[2] for row in rows]
        assert run.scores.tolist() == [float(row[4]) for row in rows]
        assert run.query_ids == tuple(dict.fromkeys(row[0] for row in rows))


def test_ids_may_be_whole_numbers() -> None:
    for of in (Qrels.from_dict, Run.from_dict):
        result = of({1: {10: 1, "x": 0}, np.int64(2): {np.int32(7): 1}})
        assert result.query_ids == ("1", "2")
        assert list(result.document_ids) == ["10", "x", "7"]
        with pytest.raises(DataError, match="a query id occurs as a number and as a string: 1"):
            of({1: {"a": 1}, "1": {"b": 1}})
        with pytest.raises(DataError, match="a document id occurs as a number and as a string: 7"):
            of({1: {7: 1, "7": 1}})


@pytest.mark.parametrize(
    "documents", [{"é": 1, "b": True}, {"": 2.5}, {}, {7: 1}, {"a": np.float32(0.5)}, {"a": np.float64(2)}]
)
def test_fast_and_slow_paths_for_dicts_agree(documents: dict[Any, float]) -> None:
    quick, slow = (Run.from_dict({"q": inner, "r": {"x": 1}}) for inner in (documents, MappingProxyType(documents)))
    assert flatten_nested({"q": MappingProxyType(documents)}) is None
    assert quick.document_ids == slow.document_ids
    assert list(quick.document_ids) == [*map(str, documents), "x"]
    for name in ("offsets", "scores"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))


@pytest.mark.parametrize("odd", ["\ud800", b"a", None])
def test_ids_that_are_no_text(odd: object) -> None:
    assert flatten_nested({"q": {odd: 1}}) is None
    with pytest.raises(DataError, match="a dict of query ids"):
        Run.from_dict({"q": {odd: 1}})
