"""Tables of values per query and system: parsing and errors with line numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

from pippin.data.matrix import read_matrix
from pippin.errors import DataError


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("query,bm25,lm\nq1,0.5,\nq2,1,0.25\n", ("bm25", "lm"), ("q1", "q2")),
        ("bm25\tlm\n0.5\t\n1\t0.25\n", ("bm25", "lm"), ()),
        ("topic bm25 lm\n1 0.5 nan\n\n2 1 0.25\n", ("bm25", "lm"), ("1", "2")),
        ("0.5,nan\n1,0.25\n", ("1", "2"), ()),
        ("q1 0.5 nan\nq2 1 0.25\n", ("1", "2"), ("q1", "q2")),
    ],
)
def test_text_with_and_without_names(
    tmp_path: Path, text: str, columns: tuple[str, ...], rows: tuple[str, ...]
) -> None:
    path = tmp_path / "m.txt"
    path.write_text(text)
    matrix = read_matrix(str(path))
    assert (matrix.columns, matrix.rows) == (columns, rows)
    np.testing.assert_array_equal(matrix.values, [[0.5, np.nan], [1, 0.25]])


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    polars.DataFrame({"qid": ["a", "b"], "bm25": [0.5, 1.0], "lm": [None, 0.25]}).write_parquet(path)
    matrix = read_matrix(str(path))
    assert (matrix.columns, matrix.rows) == (("bm25", "lm"), ("a", "b"))
    np.testing.assert_array_equal(matrix.values, [[0.5, np.nan], [1, 0.25]])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("m.csv", b"a,b\n1,2\n3\n", r"m\.csv:3: 1 columns, but the first line has 2"),
        ("m.csv", b"a,b\n", r"m\.csv:1: the file has a header but no rows"),
        ("m.csv", b"\n \n", r"m\.csv: the file is empty"),
        ("m.csv", b"a,b\n1,2\n\xff,3\n", r"m\.csv:3: invalid UTF-8"),
        ("m.csv", b"a,b\n1,2\n3,x\n", r"m\.csv:3: 'x' is not a number"),
        ("m.parquet", b"no such thing", r"m\.parquet: invalid Parquet file"),
        ("m.parquet", None, r"m\.parquet: there is no such file"),
    ],
)
def test_invalid_tables(tmp_path: Path, name: str, content: bytes | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        read_matrix(str(tmp_path / name))
