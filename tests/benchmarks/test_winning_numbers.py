"""Winning numbers against hand computation and the tables of LETOR 3.0."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import Table
from tests.benchmarks.grids import HandGrid, number_queries

from pippin.benchmarks.leaderboard import WinCount, leaderboards, tool_means, winning_numbers
from pippin.benchmarks.published import read_published
from pippin.benchmarks.tables import make_table
from pippin.errors import DataError


def frame(*rows: tuple[str, str, str, float | None]) -> Table:
    return make_table(rows, data=str, ranker=str, measure=str, value=float)


def test_equal_means_win_nothing() -> None:
    table = winning_numbers(frame(("D", "a", "MAP", 0.5), ("D", "b", "MAP", 0.5), ("D", "c", "MAP", 0.4)))
    assert table == [WinCount("MAP", "a", 1, 2), WinCount("MAP", "b", 1, 2), WinCount("MAP", "c", 0, 2)]


def test_the_order_of_summation_wins_nothing() -> None:
    table = winning_numbers(frame(("D", "a", "MAP", 0.1 + 0.2), ("D", "b", "MAP", 0.3)))
    assert [w.wins for w in table] == [0, 0]


def test_missing_values_are_not_compared() -> None:
    table = winning_numbers(frame(("D", "a", "MAP", 0.5), ("D", "b", "MAP", None), ("E", "a", "MAP", 0.5),
                                  ("E", "b", "MAP", 0.6)))  # fmt: skip
    assert table == [WinCount("MAP", "a", 0, 1), WinCount("MAP", "b", 1, 1)]


def test_two_values_for_one_cell_are_refused() -> None:
    with pytest.raises(DataError, match="a has two values of MAP on D"):
        winning_numbers(frame(("D", "a", "MAP", 0.5), ("D", "a", "MAP", 0.6)))


def test_from_leaderboards() -> None:
    grid = HandGrid()
    for data, values in (("D", (0.5, 0.4)), ("E", (0.1, 0.3)), ("F", (0.9, 0.2))):
        for ranker, value in zip(("a", "b"), values, strict=True):
            grid.add(ranker, number_queries([value, value / 2]), data=data)
    boards = leaderboards(grid, measures=["NDCG@10"])
    assert winning_numbers(tool_means(boards, "official")) == [WinCount("NDCG@10", "a", 2, 3),
                                                             WinCount("NDCG@10", "b", 1, 3)]  # fmt: skip


@pytest.fixture(scope="module")
def letor(shared: Path) -> dict[str, dict[str, int]]:
    """Measure → algorithm → winning number, from the published tables."""
    rows = [(p.data, p.algorithm, p.measure, p.value)
            for p in read_published(shared / "published" / "letor3_tables.csv")]  # fmt: skip
    results: dict[str, dict[str, int]] = {}
    for number in winning_numbers(frame(*rows)):
        assert number.pairs == 7 * 7  # seven data sets, seven other algorithms
        results.setdefault(number.measure, {})[number.ranker] = number.wins
    return results


PAIRWISE = ("RankSVM", "RankBoost", "FRank")
LISTWISE = ("ListNet", "AdaRank-MAP", "AdaRank-NDCG", "SVM-MAP")


def test_figure_4_of_letor(letor: dict[str, dict[str, int]]) -> None:
    first = letor["NDCG@1"]
    assert first["ListNet"] > max(first["AdaRank-MAP"], first["AdaRank-NDCG"])
    assert first["SVM-MAP"] < min(first["AdaRank-MAP"], first["AdaRank-NDCG"])
    assert first["RankSVM"] > max(first["RankBoost"], first["FRank"])
    assert first["RankSVM"] - min(first[r] for r in PAIRWISE) <= 2  # "comparable"
    assert min(first[r] for r in LISTWISE) > max(first[r] for r in (*PAIRWISE, "Regression"))
    for measure in ("NDCG@3", "NDCG@10"):
        result = letor[measure]
        assert sorted(result, key=lambda a: -result[a])[:2] == ["ListNet", "AdaRank-MAP"]
        similar = [result[a] for a in ("RankSVM", "RankBoost", "AdaRank-NDCG", "SVM-MAP")]
        assert max(similar) - min(similar) <= 4


def test_figure_5_of_letor(letor: dict[str, dict[str, int]]) -> None:
    first = letor["P@1"]
    assert first["ListNet"] > first["AdaRank-NDCG"] > max(first["AdaRank-MAP"], first["SVM-MAP"])
    assert first["RankSVM"] > max(first["RankBoost"], first["FRank"])
    tenth = letor["P@10"]
    assert tenth["ListNet"] >= 10 + max(v for a, v in tenth.items() if a != "ListNet")  # "much better"
    assert min(tenth[a] for a in PAIRWISE) > max(tenth[a] for a in LISTWISE[1:])
    ap = letor["MAP"]
    similar = [ap[a] for a in ("RankSVM", "AdaRank-MAP", "SVM-MAP")]
    assert max(ap, key=ap.__getitem__) == "ListNet"
    assert max(similar) - min(similar) <= 3
    assert min(similar) > max(ap[a] for a in ("Regression", "RankBoost", "FRank", "AdaRank-NDCG"))
    spread = {m: max(letor[m][a] for a in PAIRWISE) - min(letor[m][a] for a in PAIRWISE) for m in letor}
    assert spread["MAP"] > max(spread[m] for m in ("P@1", "P@3", "P@10"))


def test_the_numbers_themselves(letor: dict[str, dict[str, int]]) -> None:
    assert letor["NDCG@1"] == {"Regression": 4, "RankSVM": 22, "RankBoost": 20, "FRank": 20, "ListNet": 34,
                               "AdaRank-MAP": 30, "AdaRank-NDCG": 30, "SVM-MAP": 25}  # fmt: skip
