"""Published values: parsing, names and comparison with results."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.benchmarks.grids import HandGrid, number_queries

from pippin.benchmarks.leaderboard import leaderboards
from pippin.benchmarks.published import NAMES, match_published, ranker_of, read_published
from pippin.errors import DataError
from pippin.rankers import names


def test_every_name_is_one_of_our_rankers() -> None:
    assert set(NAMES.values()) <= set(names())
    assert all(ranker_of(name) == name for name in set(NAMES.values()))


def test_tables_of_letor_are_parsed(shared: Path) -> None:
    result = read_published(shared / "published" / "letor3_tables.csv")
    assert len(result) == 7 * 8 * 9
    assert {p.algorithm: p.ranker for p in result} == {
        "Regression": "regression", "RankSVM": "ranksvm", "RankBoost": "rankboost", "FRank": "frank",
        "ListNet": "listnet", "AdaRank-MAP": "adarank", "AdaRank-NDCG": "adarank", "SVM-MAP": "svmmap",
    }  # fmt: skip


def test_ours_beside_theirs(tmp_path: Path) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text(
        "Dataset,Algorithm,Measure,Value\n"
        "Ohsumed,Ranking SVM,NDCG@10,0.4\nOhsumed,SortNet,NDCG@10,0.6\nTD2003,RankSVM,NDCG@10,0.3\n"
    )
    grid = HandGrid()
    grid.add("ranksvm", number_queries([0.25, 0.75]), data="OHSUMED")
    grid.add("listnet", number_queries([0.25, 0.5]), data="OHSUMED")
    result = match_published(leaderboards(grid, measures=["NDCG@10"]), read_published(file), "official")
    assert [(b.published.algorithm, b.published.value) for b in result] == [("Ranking SVM", 0.4), ("SortNet", 0.6)]
    assert result[0].difference == 0.5 - 0.4
    assert math.isnan(result[1].ours)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset,measure,value\nD,MAP,0.5\n", "x.csv:1: column ranker or algorithm is missing"),
        ("dataset,ranker,measure,value\nD,a,MAP,0.5\nD,a,MAP,high\n", "x.csv:3: expected a data set, an algorithm"),
        ("dataset,ranker,measure,value\nD,a,MAP\n", "x.csv:2: expected a data set"),
        ("dataset,ranker,measure,value\nD,a,MAP,0.5\nD,a,MAP,0.6\n", "duplicate value of MAP of a on D"),
        ("", "column dataset or data"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        read_published(file)


def test_a_file_that_is_not_there_or_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read the published values"):
        read_published(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot read the published values"):
        read_published(tmp_path / "bytes.csv")
