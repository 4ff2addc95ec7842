"""Document similarity by definition, and similarity files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.collections.links.relations import Weighting, similarity, write_similarity
from pippin.errors import DataError, PippinError
from pippin.kernels.strings import StringColumn
from pippin.rankers.relational import read_similarity


class Tokens:
    """Documents as lists of term numbers."""

    documents = 10

    def __init__(self, texts: list[list[int]], term_statistics: list[int]) -> None:
        self.texts, self.df = texts, np.array(term_statistics, np.float64)
        self.ids = [str(i) for i in range(len(texts))]
        self.vocabulary = StringColumn.of(f"w{i}" for i in range(len(term_statistics)))

    def tokens(self, field: str, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        selected = [self.texts[i] for i in numbers]
        return np.cumsum([0, *map(len, selected)]), np.array([t for text in selected for t in text], np.int32)

    def term_statistics(self, field: str, words: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        df = self.df[[int(word[1:]) for word in words]]
        return df, df

    def vocabulary_size(self, field: str) -> int:
        return len(self.vocabulary)

    def average_length(self, field: str) -> float:
        return 3.0

    def lengths(self, field: str) -> NDArray[np.uint32]:
        raise NotImplementedError

    def postings(self, field: str, word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        raise NotImplementedError


#                 d0            d1         d2      d3  d4
TEXTS = Tokens([[0, 0, 1], [0, 1, 1, 2], [2, 3], [], [3, 3]], [2, 5, 2, 4])
ALL = np.arange(5)


def test_the_cosine_of_tf_idf() -> None:
    matrix = similarity(TEXTS, ALL)
    idf = [math.log(10 / df) for df in (2, 5, 2, 4)]
    damped = 1 + math.log(2)
    d0 = [damped * idf[0], idf[1], 0, 0]
    d1 = [idf[0], damped * idf[1], idf[2], 0]
    cosine = sum(a * b for a, b in zip(d0, d1, strict=True)) / (math.hypot(*d0) * math.hypot(*d1))
    assert matrix[0, 1] == pytest.approx(cosine)
    assert matrix[0, 2] == 0


def test_jaccard_counts_distinct_words() -> None:
    matrix = similarity(TEXTS, ALL, weighting="jaccard")
    assert matrix[0, 1] == 2 / 3
    assert matrix[1, 2] == 1 / 4
    assert matrix[2, 4] == 1 / 2


def test_bm25_weights_saturate() -> None:
    matrix = similarity(TEXTS, np.array([2, 4]), weighting="bm25")
    weights = [2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3)) * math.log(10 / df) for df in (2, 4)]
    assert matrix[0, 1] == pytest.approx(weights[1] / math.hypot(*weights))


@pytest.mark.parametrize("weighting", ["tf_idf", "bm25", "jaccard"])
def test_every_matrix_is_symmetric_with_ones_where_there_are_words(weighting: Weighting) -> None:
    matrix = similarity(TEXTS, ALL, weighting=weighting)
    assert (matrix == matrix.T).all()
    assert matrix.diagonal().tolist() == [1, 1, 1, 0, 1]
    assert ((matrix >= 0) & (matrix <= 1)).all()
    rotated = np.array([4, 2, 0, 3, 1])
    assert similarity(TEXTS, rotated, weighting=weighting) == pytest.approx(matrix[np.ix_(rotated, rotated)])
    assert similarity(TEXTS, ALL[:0], weighting=weighting).shape == (0, 0)


def test_an_unknown_weighting_is_reported() -> None:
    with pytest.raises(PippinError, match="no weighting is called 'tfidf'; did you mean tf_idf"):
        similarity(TEXTS, ALL, weighting="tfidf")  # type: ignore[arg-type]


def test_the_file_holds_rows_by_falling_similarity(tmp_path: Path) -> None:
    matrix = similarity(TEXTS, ALL, weighting="jaccard")
    write_similarity(tmp_path / "similarity.txt", {"7": matrix, "x": matrix[:1, :1]}, description="jaccard")
    lines = (tmp_path / "similarity.txt").read_text().splitlines()
    assert lines[0].startswith("#")
    assert "jaccard" in lines[0]
    assert lines[2] == "qid:7 qdid:2 2:1.000000 1:0.666667 3:0.250000"
    assert lines[4] == "qid:7 qdid:4"
    again = read_similarity(tmp_path / "similarity.txt")
    assert list(again) == ["7", "x"]
    assert again["7"] == pytest.approx(matrix, abs=5e-7)


def test_a_file_may_keep_the_most_alike_alone(tmp_path: Path) -> None:
    matrix = similarity(TEXTS, ALL, weighting="jaccard")
    write_similarity(tmp_path / "s.txt", {"7": matrix}, top=2, least=0.3)
    lines = (tmp_path / "s.txt").read_text().splitlines()
    assert lines[2:4] == ["qid:7 qdid:2 2:1.000000 1:0.666667", "qid:7 qdid:3 3:1.000000 5:0.500000"]
    with pytest.raises(PippinError, match="top must be at least 1"):
        write_similarity(tmp_path / "s.txt", {}, top=0)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("7 1 1:1", ":2: expected qid:<query> qdid:<document>"),
        ("qid:7 qdid:2 1:1", ":2: expected document 1 of query 7, got qdid '2'"),
        ("qid:7 qdid:1 1", ":2: expected <document>:<similarity>, got '1'"),
        ("qid:7 qdid:1 2:0.5", ":2: '2:0.5' has an unknown document"),
        ("qid:7 qdid:1 1:nan", "has an unknown document"),
    ],
)
def test_a_damaged_file_is_reported_with_its_line(tmp_path: Path, line: str, sentence: str) -> None:
    (tmp_path / "s.txt").write_text(f"# header\n{line}\n")
    with pytest.raises(DataError, match=sentence):
        read_similarity(tmp_path / "s.txt")
