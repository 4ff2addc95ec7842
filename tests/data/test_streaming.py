"""Files read in chunks of complete queries: the same data and error lines for any chunk size."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from pippin.data.letor import read_letor, write_letor
from pippin.data.qrels import Qrels, Run
from pippin.data.streaming import (
    LineOffsets,
    RankedRun,
    ScoreReader,
    SortRule,
    iter_letor_chunks,
    iter_ranked_chunks,
    letor_width,
)
from pippin.data.synthetic import make_dataset
from pippin.errors import DataError

RUN = "a Q0 x 1 2 t\na Q0 y 2 1 t\nb Q0 x 1 2 t\nc Q0 x 1 2 t\nc Q0 y 1 2 t\n"


@pytest.mark.parametrize("size", [1, 700, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_the_same_data(tmp_path: Path, size: int, packed: bool) -> None:
    path = tmp_path / f"d.txt{'.gz' * packed}"
    data = make_dataset(20, documents=6, features=5, seed=3)
    write_letor(data, path)
    pieces = list(iter_letor_chunks(path, LineOffsets(), size, features=5))
    assert (len(pieces) > 3) == (size < 1 << 20)
    assert tuple(query for piece in pieces for query in piece.query_ids) == data.query_ids
    full = read_letor(path)
    assert np.array_equal(np.concatenate([piece.features for piece in pieces]), full.features, equal_nan=True)
    assert np.array_equal(np.concatenate([piece.labels for piece in pieces]), full.labels)


def test_comments_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_text("# head\n\n1 qid:1 1:1\n# within\n0 qid:1 1:2\n\n1 qid:2 1:3\n\n# end")
    pieces = list(iter_letor_chunks(path, LineOffsets(), 1))
    assert [(piece.query_ids, len(piece)) for piece in pieces] == [(("1",), 2), (("2",), 1)]


def test_the_last_feature_may_show_late(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("1 qid:1 1:1\n1 qid:2 7:3\n1 qid:3 2:1\n")
    assert letor_width(tmp_path / "d.txt", 1) == 7


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:3 1:x\n", "d.txt:3: "),
        ("1 qid:1 1:1\n1 qid:2 1:1 #docid = a\n1 qid:2 1:1 #docid = a\n", "d.txt:3: .*first in line 2"),
        (
            "1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n",
            "the rows of query 1 are not contiguous; .* must be sorted by query",
        ),
        ("# nothing\n", "the file contains no data"),
    ],
)
def test_errors_name_the_line_of_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "d.txt").write_text(text)
    with pytest.raises(DataError, match=sentence):
        list(iter_letor_chunks(tmp_path / "d.txt", LineOffsets(), 1))


def run_stretches(path: Path | str, size: int = 1 << 20) -> list[Run | RankedRun]:
    return list(
        iter_ranked_chunks(path, Qrels.from_dict({"a": {"x": 1}}), SortRule("input", False), LineOffsets(), size)
    )


def test_a_run(tmp_path: Path) -> None:
    (tmp_path / "r").write_text(RUN)
    runs = run_stretches(tmp_path / "r", 1)
    assert len(runs) > 1
    assert [query for run in runs for query in run.query_ids] == ["a", "b", "c"]
    assert [int(n) for run in runs for n in np.diff(run.offsets)] == [2, 1, 2]
    (tmp_path / "r").write_text(RUN + "a Q0 z 1 2 t\n")
    with pytest.raises(DataError, match="the rows of query a are not contiguous"):
        run_stretches(tmp_path / "r", 1)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, sentence in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "only a regular file"),
        ("-", "only a regular file"),
    ):
        with pytest.raises(DataError, match=sentence):
            run_stretches(path)
    (tmp_path / "r.gz").write_bytes(gzip.compress(RUN.encode() * 100)[:-30])
    with pytest.raises(DataError, match="truncated"):
        run_stretches(tmp_path / "r.gz")


def test_scores_are_taken_as_needed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("1\n2\n3\n4\n5\n\n\n")
    scores = ScoreReader(path, LineOffsets(), 3)
    assert [scores.take(count).tolist() for count in (2, 0, 3)] == [[1, 2], [], [3, 4, 5]]
    scores.end()
    scores = ScoreReader(path, LineOffsets(), 3)
    with pytest.raises(DataError, match="s:5: the file ends after 5 scores, but the data have more"):
        scores.take(6)
    scores = ScoreReader(path, LineOffsets(), 3)
    scores.take(3)
    with pytest.raises(DataError, match="s:4: the data have 3 documents, but the file has more"):
        scores.end()


@pytest.mark.parametrize(("text", "line"), [("1\n2\nx\n", 3), ("1\n2\n\n\n3\n", 3)])
def test_bad_scores(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "s").write_text(text)
    with pytest.raises(DataError, match=f"s:{line}: "):
        ScoreReader(tmp_path / "s", LineOffsets(), 2).take(3)
