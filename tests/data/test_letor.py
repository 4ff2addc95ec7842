"""LETOR text: accepted forms, errors and byte-identical output."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pippin.data.dataset import Dataset
from pippin.data.letor import read_letor, write_letor
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn
from pippin.storage.compression import set_max_bytes

NAN = float("nan")
Write = Callable[[bytes | str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(text: bytes | str) -> Path:
        path = tmp_path / "data.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return save


def test_labels_queries_features_and_comments(write: Write) -> None:
    data = read_letor(
        write(
            "2 qid:10 1:0.5 2:-3e2 3:7 #docid = GX1 inc = 1 prob = 0.25\n"
            "0 qid:10 1:1 2:.5 3:NULL # docid=GX2\n"
            "1.0 qid:a/b#c 2:1.5#docid = GX1\n"
        )
    )
    assert data.labels.tolist() == [2, 0, 1]
    assert data.query_ids == ("10", "a/b#c")
    assert data.offsets.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(data.features, [[0.5, -300, 7], [1, 0.5, NAN], [0, 1.5, 0]])
    assert data.document_ids is not None
    assert list(data.document_ids) == ["GX1", "GX2", "GX1"]
    assert data.comments is not None
    assert list(data.comments) == ["docid = GX1 inc = 1 prob = 0.25", " docid=GX2", "docid = GX1"]
    assert data.name == "data.txt"


def test_absent_features_are_zero_or_null(write: Write) -> None:
    path = write("0 qid:1 2:5\n1 qid:1 4:1\n")
    np.testing.assert_array_equal(read_letor(path).features, [[0, 5, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(
        read_letor(path, missing_value="null").features, [[NAN, 5, NAN, NAN], [NAN, NAN, NAN, 1]]
    )
    assert read_letor(path, features=6).features.shape == (2, 6)
    assert read_letor(path, features=6, missing_value="null").features[0, 5:].tolist() != [0.0]


def test_white_space_comments_and_line_ends(write: Write) -> None:
    text = "\n# a comment\r\n  1\tqid:7   1:2 \t 2:3  \r\n\r\n   # more\n0 qid:7 1:1\r\n0 qid:8 2:1 # other\r\n\n#end"
    data = read_letor(write(text))
    assert data.labels.tolist() == [1, 0, 0]
    assert data.features.tolist() == [[2, 3], [1, 0], [0, 1]]
    assert data.query_ids == ("7", "8")
    assert data.document_ids is None
    assert data.comments is not None
    assert list(data.comments) == ["", "", " other"]


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", " ", " #docid = x", "#"])
def test_last_line_in_any_form(write: Write, ending: str) -> None:
    data = read_letor(write("0 qid:1 1:1\n3 qid:1 1:2.5" + ending))
    assert data.labels.tolist() == [0, 3]
    assert data.features.tolist() == [[1], [2.5]]


def test_without_features_and_with_a_byte_order_mark(write: Write) -> None:
    assert read_letor(write("1 qid:1\n0 qid:2 #x")).features.shape == (2, 0)
    assert read_letor(write(b"\xef\xbb\xbf1 qid:1 1:1\n")).labels.tolist() == [1]


def test_utf8_ids(write: Write) -> None:
    data = read_letor(write("1 qid:größe 1:1 #docid = 文書\n"))
    assert data.query_ids == ("größe",)
    assert data.document_ids is not None
    assert data.document_ids.at(0) == "文書"


def test_float32_is_the_double_rounded_once_more(write: Write) -> None:
    data = read_letor(write("1 qid:1 1:0.1 2:16777217\n"), dtype=np.float32)
    assert data.features.dtype == np.float32
    assert data.features[0].tolist() == [float(np.float32(0.1)), 16777216.0]


def test_gzip_gives_the_same_data(write: Write, tmp_path: Path) -> None:
    path = write("1 qid:1 1:0.25\n0 qid:2 1:4\n")
    packed = tmp_path / "data.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_letor(packed).features.tolist() == read_letor(path).features.tolist() == [[0.25], [4]]


LARGE = ", the widest table that is read; number the features from 1 without large gaps"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1", "the line ends after the label, where qid: and a query id are expected"),
        ("1 1:2", "qid: and a query id are expected after the label, not '1:2'"),
        ("1 qid: 1:2", "query id is missing after qid:"),
        ("x qid:1 1:2", "the label 'x' is not a number"),
        ("nan qid:1 1:2", "the label 'nan' is not a number"),
        ("-1 qid:1 1:2", "the label '-1' is negative; LETOR labels begin with 0"),
        ("0.5 qid:1 1:2", "the label '0.5' is not a whole number"),
        ("9999999999 qid:1 1:2", "the label '9999999999' is too large"),
        ("inf qid:1 1:2", "the label 'inf' is too large"),
        ("1 qid:1 1:abc", "the value 'abc' of feature 1 is not a number"),
        ("1 qid:1 1:", "the value '' of feature 1 is not a number"),
        ("1 qid:1 1:2x", "the value '2x' of feature 1 is not a number"),
        ("1 qid:1 1:null", "the value 'null' of feature 1 is not a number"),
        ("1 qid:1 1:inf", "the value 'inf' of feature 1 is not a finite number"),
        ("1 qid:1 1:1e999", "the value '1e999' of feature 1 is not a finite number"),
        ("1 qid:1 1:5+ 2:1", "'+' is not a feature id:value"),
        ("1 qid:1 a:2", "'a:2' is not a feature id:value"),
        ("1 qid:1 :2", "':2' is not a feature id:value"),
        ("1 qid:1 -1:2", "'-1:2' is not a feature id:value"),
        ("1 qid:1 99:1 x", "'x' is not a feature id:value"),
        ("1 qid:1 0:2", "feature id 0 is not allowed; feature ids begin with 1"),
        ("1 qid:1 2:1 1:1", "feature 1 follows feature 2; feature ids must ascend"),
        ("1 qid:1 70:1 7:1", "feature 7 follows feature 70; feature ids must ascend"),
        ("1 qid:1 3:1 3:1", "feature 3 follows feature 3; feature ids must ascend"),
        ("1 qid:1 999999999999:1", "feature id 999999999999 is above 1000000" + LARGE),
        ("1 qid:1 99999999999999999999999:1 1:1", "feature id 99999999999999999999999 is above 1000000" + LARGE),
        ("1 qid:1 1:" + "9" * 50 + "z", "the value '" + "9" * 40 + "…' of feature 1 is not a number"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "", " \r\n1 qid:3 1:1\n"])
def test_a_bad_line_is_reported(write: Write, line: str, sentence: str, ending: str) -> None:
    path = write("# first\n1 qid:1 1:1 2:2\n\n" + line + ending)
    with pytest.raises(DataError) as caught:
        read_letor(path)
    assert str(caught.value) == f"{path}:4: {sentence}"


def test_bytes_that_are_no_text(write: Write) -> None:
    good = b"1 qid:1 1:1\n"
    for bad, sentence in [
        (b"1 qid:2 1:1 #\xe4\n", "byte is not valid UTF-8; convert the file to UTF-8"),
        (b"1 qid:\xc0\xaf 1:1\n", "byte is not valid UTF-8; convert the file to UTF-8"),
        (b"1 qid:2 1:1 #\xed\xa0\x80", "byte is not valid UTF-8; convert the file to UTF-8"),
        (b"1 qid:2 1:1 #\xf0\x9f", "byte is not valid UTF-8; convert the file to UTF-8"),
        (b"1 qid:2 1:\0\n", "NUL byte; the file is not UTF-8 text"),
    ]:
        path = write(good * 2 + bad)
        with pytest.raises(DataError) as caught:
            read_letor(path)
        assert str(caught.value) == f"{path}:3: {sentence}"


def test_no_data_and_wrong_options(write: Write) -> None:
    with pytest.raises(DataError, match="the file contains no data"):
        read_letor(write("\n# only a comment\n"))
    path = write("1 qid:1 1:1 2:1\n")
    with pytest.raises(DataError, match="feature id 2 is above the 1 features to read"):
        read_letor(path, features=1)
    with pytest.raises(DataError, match="float32 or float64"):
        read_letor(path, dtype=np.int32)
    with pytest.raises(DataError, match="missing_value must be"):
        read_letor(path, missing_value="none")
    with pytest.raises(DataError, match="not a finite 32-bit number"):
        read_letor(write("1 qid:1 1:1e39\n"), dtype=np.float32)


def test_a_table_larger_than_the_machine_is_refused_before_it_is_made(write: Write) -> None:
    path = write("1 qid:1 1:1\n" * 200_000 + "1 qid:1 1000000:1\n")
    with pytest.raises(DataError, match=r"200,001 documents × 1,000,000 features take 1.5 TiB, but a file of 2.3 MiB"):
        read_letor(path)
    set_max_bytes(1 << 50)
    try:
        with pytest.raises(DataError, match=r"200,001 documents × 1,000,000 features need 1,600 GB, and this machine"):
            read_letor(path)
    finally:
        set_max_bytes(None)


def test_a_query_that_comes_back(write: Write) -> None:
    path = write("# x\n1 qid:a 1:1 #p\n0 qid:b 1:2 #q\n\n2 qid:a 1:3 #r\n1 qid:b 1:4 #s\n")
    with pytest.raises(DataError) as caught:
        read_letor(path)
    assert caught.value.line == 5
    assert str(caught.value) == (
        f"{path}:5: the rows of query a are not contiguous; it began in line 2 "
        "(--merge-queries, in Python merge_queries=True, joins them)"
    )
    data = read_letor(path, merge_queries=True)
    assert data.query_ids == ("a", "b")
    assert data.offsets.tolist() == [0, 2, 4]
    assert data.features[:, 0].tolist() == [1, 3, 2, 4]
    assert data.labels.tolist() == [1, 2, 0, 1]
    assert data.comments is not None
    assert list(data.comments) == ["p", "r", "q", "s"]


def test_a_document_twice_in_a_query(write: Write) -> None:
    path = write("1 qid:a 1:1 #docid = X\n\n0 qid:a 1:2 #docid = Y\n2 qid:a 1:3 #docid = X\n")
    with pytest.raises(DataError) as caught:
        read_letor(path)
    assert str(caught.value) == f"{path}:4: document X is listed twice in query a, first in line 1"
    assert len(read_letor(write("1 qid:a 1:1 #docid = X\n1 qid:b 1:1 #docid = X\n"))) == 2


def test_threads_and_pieces_change_nothing(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{i % 5} qid:{i // 37} 1:{i}.5 3:0.{i:06} 7:{i % 11} #docid = D{i}\n" for i in range(60_000)]
    lines[40_000:40_000] = ["\n", "# inside\n"]
    path = write("".join(lines))
    assert path.stat().st_size > 2 * 2**20  # several pieces
    monkeypatch.setenv("PIPPIN_THREADS", "1")
    first = read_letor(path)
    monkeypatch.setenv("PIPPIN_THREADS", "3")
    many = read_letor(path)
    assert first.features.tobytes() == many.features.tobytes()
    assert first.query_ids == many.query_ids == tuple(str(q) for q in range(-(-60_000 // 37)))
    assert first.features[:, 0].tolist() == [i + 0.5 for i in range(60_000)]
    assert first.features[:, 6].tolist() == [i % 11 for i in range(60_000)]
    assert first.labels.tolist() == [i % 5 for i in range(60_000)]
    assert many.document_ids == first.document_ids
    write_letor(many, path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()
    lines[50_000] = lines[50_000].replace("7:", "2:")
    lines[55_000] = "x\n"
    with pytest.raises(DataError, match=":50001: feature 2 follows feature 3"):
        read_letor(write("".join(lines)))


def test_a_long_line_is_read_once(write: Write) -> None:
    width = 300_000
    text = "1 qid:1 " + " ".join(f"{i}:{i % 10}" for i in range(1, width + 1)) + " #" + "c" * 3_000_000
    data = read_letor(write(text))
    assert data.features.shape == (1, width)
    assert data.features[0, -1] == width % 10
    with pytest.raises(DataError, match="is not a number"):
        read_letor(write("1" * 8_000_000 + "x qid:1\n"))


REAL = ["MQ2008/S*.txt", "OHSUMED/QueryLevelNorm/S*.txt", "OHSUMED/Feature-min/S*.txt", "OHSUMED/Feature-null/S*.txt"]


@pytest.mark.parametrize("pattern", [*REAL, "mslr-5k/*.txt"])
def test_real_data_are_written_as_they_were_read(shared: Path, tmp_path: Path, pattern: str) -> None:
    paths = sorted((shared / "data").glob(pattern))
    assert paths
    for path in paths:
        data = read_letor(path)
        write_letor(data, tmp_path / "again.txt")
        assert (tmp_path / "again.txt").read_bytes() == path.read_bytes()
        # Some queries out of order: their lines, in that order.
        selected = [data.queries - 1, 0, 3]
        write_letor(data.select(selected), tmp_path / "some.txt")
        expected = [data.query_ids[q] for q in selected]
        lines = path.read_bytes().splitlines(keepends=True)
        of_query = {q: [x for x in lines if f" qid:{q} ".encode() in x] for q in expected}
        assert (tmp_path / "some.txt").read_bytes() == b"".join(b"".join(of_query[q]) for q in expected)


def test_real_values_equal_a_slow_reading(shared: Path) -> None:
    path = shared / "data" / "OHSUMED" / "Feature-null" / "S1.txt"
    data = read_letor(path)
    rows = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    slow = [[NAN if v.endswith("NULL") else float(v.split(":")[1]) for v in row[2:]] for row in rows]
    np.testing.assert_array_equal(data.features, slow)
    assert np.isnan(data.features).any()
    assert data.labels.tolist() == [int(row[0]) for row in rows]


def test_skipped_lines_and_a_missing_newline_survive_the_round_trip(write: Write, tmp_path: Path) -> None:
    text = b"# head\n\n1 qid:a 1:1\n# between\n0 qid:b 1:2 \r\n# more\n\n0 qid:c 1:7"
    data = read_letor(write(text))
    out = tmp_path / "out.txt"
    write_letor(data, out)
    assert out.read_bytes() == text
    write_letor(data.select([2, 0]), out)
    assert out.read_bytes() == b"# more\n\n0 qid:c 1:7\n# head\n\n1 qid:a 1:1\n"
    write_letor(data.select([]), out)
    assert out.read_bytes() == b""


def test_data_made_here_are_written_in_the_shortest_text(tmp_path: Path) -> None:
    values = np.array([[0.1, NAN, 1e30], [-0.0, 3.0, 1 / 3]])
    ids, labels, offsets = StringColumn.of(["x", "y"]), np.array([2, 0], np.int32), np.array([0, 1, 2])
    out = tmp_path / "out.txt"
    write_letor(Dataset(values, labels, offsets, ("a", "b"), ids), out)
    assert out.read_text() == (
        "2 qid:a 1:0.1 2:NULL 3:1e+30 #docid = x\n0 qid:b 1:-0 2:3 3:0.3333333333333333 #docid = y\n"
    )
    again = read_letor(out)
    assert again.features.tobytes() == values.tobytes()
    comments = StringColumn.of(["docid = x inc = 1", ""])
    write_letor(Dataset(values.astype(np.float32), labels, offsets, ("a", "b"), ids, (), comments), out)
    assert out.read_text().splitlines()[1] == "0 qid:b 1:-0 2:3 3:0.33333334"
    assert read_letor(out, dtype=np.float32).features[1, 2] == np.float32(1 / 3)


def test_values_that_text_cannot_represent_are_refused(tmp_path: Path) -> None:
    values, labels, offsets = np.ones((1, 1)), np.zeros(1, np.int32), np.array([0, 1])
    out = tmp_path / "out.txt"
    for data in (
        Dataset(values, labels, offsets, ("a b",)),
        Dataset(values, labels, offsets, ("",)),
        Dataset(values, labels, offsets, ("a",), StringColumn.of(["x y"])),
        Dataset(values, labels, offsets, ("a",), None, (), StringColumn.of(["x\ny"])),
    ):
        with pytest.raises(DataError, match="cannot be written as text"):
            write_letor(data, out)
        assert not out.exists()


def test_a_line_without_a_comment_gets_none_when_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("1 qid:1 1:0.5 # first\n0 qid:1 1:0.25\n")
    data = replace(read_letor(tmp_path / "in"), lines=None)
    write_letor(data, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "1 qid:1 1:0.5 # first\n0 qid:1 1:0.25\n"
