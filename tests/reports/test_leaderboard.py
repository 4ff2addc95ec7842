"""Leaderboards as text: LETOR's tables, significance marks, other tools, winning numbers and published values."""

from __future__ import annotations

import math

import pytest
from tests.benchmarks.grids import HandGrid, number_queries

from pippin.benchmarks.leaderboard import NDCGS, PRECISIONS, WinCount, agreement, leaderboard, leaderboards
from pippin.benchmarks.published import PublishedComparison, PublishedValue
from pippin.reports.leaderboard import (
    board_table,
    csv_table,
    gap_notes,
    letor_tables,
    published_csv,
    published_tables,
    record,
    tools_table,
    winning_table,
)


def make_grid() -> HandGrid:
    """Three rankers: one clearly behind, one with a failed fold."""
    grid = HandGrid()
    for fold, values in (("Fold1", [0.5, 0.6, 0.7, 0.4]), ("Fold2", [0.3, 0.5, 0.4, 0.6])):
        for measure in (*NDCGS, *PRECISIONS):
            grid.add("good", number_queries(values), fold=fold, measure=measure)
            grid.add(
                "poor", number_queries([v - 0.2 - 0.01 * i for i, v in enumerate(values)]), fold=fold, measure=measure
            )
            if fold == "Fold1":
                grid.add("half", number_queries(values), fold=fold, measure=measure)
    grid.fail("half", "out of memory", fold="Fold2")
    return grid


def test_the_tables_are_letors() -> None:
    ndcg, precision = letor_tables(leaderboards(make_grid()), "D", "official")
    assert list(ndcg.headers) == ["ranker", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10"]
    assert list(precision.headers) == ["ranker", "P@1", "P@3", "P@5", "P@10", "MAP"]
    mean = (2.2 / 4 + 1.8 / 4) / 2
    assert list(ndcg.rows[0]) == ["good", *[f"{mean:.4f}*"] * 4]
    assert list(ndcg.rows[1]) == ["poor", *[f"{mean - 0.215:.4f}†"] * 4]
    assert list(ndcg.rows[2]) == ["half", *["–"] * 4]
    assert "† significantly below it (t, holm over all pairs, alpha 0.05)" in precision.notes[0]


def test_measures_that_letor_does_not_print_are_shown_too() -> None:
    grid = HandGrid()
    grid.add("a", number_queries([0.5, 0.25]), measure="ERR@10")
    (table,) = letor_tables(leaderboards(grid, measures=["ERR@10"]), "D", "official")
    assert list(table.headers) == ["ranker", "ERR@10"]
    assert "a test needs two rankers" in table.notes[0]


def test_one_board_in_full() -> None:
    table = board_table(leaderboard(make_grid(), "D"), per_fold=True)
    assert list(table.headers) == ["", "ranker", "NDCG@10", "±", "95% interval", "better than", "Fold1", "Fold2"]
    assert table.rows[0][1:3] == ["a good", "0.5000"]
    assert table.rows[0][5:] == ["b", "0.5500", "0.4500"]
    assert table.rows[2] == ["", "  half", *["–"] * 6]


def test_the_spread_over_seeds_is_shown_where_there_are_several() -> None:
    grid = HandGrid()
    for seed, shift in ((1, 0.0), (2, 0.1)):
        grid.add("net", number_queries([0.5 + shift, 0.25 + shift]), seed=seed)
    grid.add("svm", number_queries([0.1, 0.2]))
    table = board_table(leaderboard(grid, "D"))
    at = list(table.headers).index("over seeds")
    assert [row[at] for row in table.rows] == [f"{0.1 / math.sqrt(2):.4f}", "–"]


def test_gaps_are_reported_once_with_their_reason() -> None:
    grid = make_grid()
    grid.fail("none", "refused", fold="Fold1")
    grid.fail("none", "refused", fold="Fold2")
    assert gap_notes(leaderboards(grid).values()) == [
        "D, half: no mean, because Fold2 failed (out of memory)",
        "D, none: no mean, because all folds failed (refused)",
    ]


@pytest.mark.parametrize("rankers", [2, 3])
def test_tools_are_held_against_the_first(rankers: int) -> None:
    grid = HandGrid()
    for ranker, official, other in (("a", 0.9, 0.1), ("b", 0.5, 0.2), ("c", 0.1, 0.05))[:rankers]:
        grid.add(ranker, number_queries([official, official - 0.05, official - 0.02]))
        grid.add(ranker, number_queries([other, other, other + 0.01]), tool="letor4")
    agreement_table = agreement(leaderboards(grid, tools=["official", "letor4"], measures=["NDCG@10"]).values())
    assert agreement_table is not None
    table = tools_table(agreement_table)
    assert [list(row[:2]) for row in table.rows] == [["official", "a"], ["letor4", "b"]]
    assert [row[3] for row in table.rows] == ["0", "1"]
    if rankers == 3:
        assert [row[4] for row in table.rows] == ["1.000", "0.333"]


def test_winning_numbers_say_how_many_pairs_there_were() -> None:
    table = winning_table([WinCount("MAP", "a", 1, 2), WinCount("MAP", "b", 2, 2), WinCount("MAP", "c", 0, 1)])
    assert [list(row) for row in table.rows] == [["b", "2"], ["a", "1"], ["c", "0 of 1"]]


def test_published_values_stand_below_ours() -> None:
    results = [
        PublishedComparison(PublishedValue("D", "AdaRank-MAP", "adarank", "MAP", 0.45), 0.44),
        PublishedComparison(PublishedValue("D", "AdaRank-NDCG", "adarank", "MAP", 0.43), 0.44),
        PublishedComparison(PublishedValue("D", "SortNet", None, "MAP", 0.6), math.nan),
    ]
    ((data, table),) = published_tables(results, "letor3")
    assert data == "D"
    assert [list(row) for row in table.rows] == [
        ["adarank", "0.4400"], ["  AdaRank-MAP", "0.4500"], ["  difference", "−0.0100"], ["  AdaRank-NDCG", "0.4300"],
        ["  difference", "+0.0100"], ["  SortNet", "0.6000"],
    ]  # fmt: skip
    assert list(published_csv(results).rows[2]) == ["D", "SortNet", "", "MAP", "", "0.6", ""]


def test_the_long_table_has_every_ranker_and_reason() -> None:
    table = csv_table(leaderboards(make_grid(), measures=["MAP"]), per_fold=True)
    rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
    assert [(r["ranker"], r["rank"], r["worse_than_best"]) for r in rows] == [("good", "1", "0"), ("poor", "2", "1"),
                                                                               ("half", "", "")]  # fmt: skip
    assert rows[2]["missing"] == "Fold2 seed 1: out of memory"
    assert float(rows[0]["Fold2"]) == pytest.approx(1.8 / 4)


def test_json_has_no_nan() -> None:
    written = record(leaderboard(make_grid(), "D"))
    assert written["standings"][0]["spread"] is None
    assert written["gaps"] == [{"ranker": "half", "fold": "Fold2", "seed": 1, "reason": "out of memory"}]
