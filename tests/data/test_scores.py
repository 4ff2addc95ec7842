"""Score files: one number per line, as many as the data have documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pippin.data.letor import read_scores, write_scores
from pippin.errors import DataError

Write = Callable[[bytes | str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(text: bytes | str) -> Path:
        path = tmp_path / "scores"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return save


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n\n \n"])
def test_numbers(write: Write, ending: str) -> None:
    assert read_scores(write(" 1\n-2.5 \r\n\t1e-3" + ending), 3).tolist() == [1, -2.5, 0.001]
    assert read_scores(write("1\n2" + ending)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("1\n2\n", 2, "the file ends after 2 scores, but the data have 3 documents"),
        ("1\n2\n3\n4\n5\n", 4, "the data have 3 documents, but the file has 5 scores"),
        ("1\nx\n3\n", 2, "the score 'x' is not a number"),
        ("1\n2 3\n3\n", 2, "one score a line is expected, and this line has more"),
        ("1\nnan\n3\n", 2, "the score 'nan' is not a finite number"),
        (
            "1\n2\n-inf",
            3,
            "the score '-inf' is not a finite number (--allow-infinite, in Python allow_infinite=True, ranks it)",
        ),
        ("1\n\n2\n3\n", 2, "blank line among the scores"),
        ("\n1\n2\n3\n", 1, "blank line among the scores"),
        (b"1\n\xff\n3\n", 2, "byte is not valid UTF-8; convert the file to UTF-8"),
        (b"1\n2\n\0\n", 3, "NUL byte; the file is not UTF-8 text"),
    ],
)
def test_a_bad_line_is_reported(write: Write, text: bytes | str, line: int, sentence: str) -> None:
    path = write(text)
    with pytest.raises(DataError) as caught:
        read_scores(path, 3)
    assert str(caught.value) == f"{path}:{line}: {sentence}"


def test_a_file_of_blank_lines_has_no_scores(write: Write) -> None:
    assert len(read_scores(write("\n\n"))) == 0
    with pytest.raises(DataError, match="the file ends after 0 scores"):
        read_scores(write("\n\n"), 2)


def test_lenient_reads_as_perl(write: Write) -> None:
    text = "1.5abc\n\nfoo\n0x10\n 7 8\ninf\n3\n"
    assert read_scores(write(text), 6, lenient=True).tolist() == [1.5, 0, 0, 0, 7, np.inf]
    assert np.isnan(read_scores(write("nan\n"), 1, lenient=True)[0])
    with pytest.raises(DataError, match="the file ends after 7 scores"):
        read_scores(write(text), 8, lenient=True)


def test_many_lines_and_a_blank_one_far_from_the_next_number(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPPIN_THREADS", "3")
    values = [i / 7 for i in range(150_000)]
    lines = [f"{v!r}\n" for v in values]
    assert read_scores(write("".join(lines)), len(values)).tolist() == values
    with pytest.raises(DataError, match=":100001: blank line"):
        read_scores(write("".join([*lines[:100_000], "\n" * 2_000_000, *lines[100_000:]])))


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_written_scores_read_back_the_same(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("scores") / "s"
    write_scores(np.array(values), path)
    assert read_scores(path, len(values)).tobytes() == np.array(values).tobytes()
