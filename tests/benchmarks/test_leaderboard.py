"""Leaderboards: means over folds and seeds, standard errors, tests over pairs and missing cells."""

from __future__ import annotations

import math

import pytest
from tests.benchmarks.grids import HandGrid, number_queries

from pippin.benchmarks.leaderboard import LeaderboardKey, agreement, leaderboard, leaderboards
from pippin.benchmarks.standings import MissingCell, standard_error
from pippin.errors import DataError, UnknownName
from pippin.evaluation import compare


def two_folds() -> HandGrid:
    grid = HandGrid()
    for ranker, shift in (("good", 0.3), ("bad", 0.0)):
        for fold, values in (("Fold1", [0.0, 0.1, 0.2, 0.5]), ("Fold2", [0.4, 0.1])):
            noisy = [v + shift + 0.01 * i * (shift > 0) for i, v in enumerate(values)]
            grid.add(ranker, number_queries(noisy, 1 if fold == "Fold1" else 5), fold=fold)
    return grid


def test_the_mean_is_the_mean_of_the_folds_means() -> None:
    board = leaderboard(two_folds(), "D")
    assert [s.ranker for s in board.standings] == ["good", "bad"]
    assert board.by_ranker["bad"].by_fold == {"Fold1": 0.8 / 4, "Fold2": 0.5 / 2}
    assert board.by_ranker["bad"].mean == pytest.approx((0.8 / 4 + 0.5 / 2) / 2)  # not 1.3 / 6
    assert board.board is not None
    assert len(board.board.table.query_ids) == 6


def test_tools_that_agree_to_the_last_bit_are_tested_once() -> None:
    grid = two_folds()
    for cell, evaluation in grid.held.items():
        same = evaluation["official", "NDCG@10"]
        other = {query: None if value is None else value / 2 for query, value in same.items()}
        grid.held[cell] |= {("letor4", "NDCG@10"): same, ("yahoo", "NDCG@10"): other}
    boards = leaderboards(grid, tools=["official", "letor4", "yahoo"], measures=["NDCG@10"])
    tested = {board.tool: board.board.tests for board in boards.values() if board.board is not None}
    assert tested["official"] is tested["letor4"]
    assert tested["official"] is not tested["yahoo"]


def test_errors_are_averaged_in_quadrature() -> None:
    first, second = [0.0, 0.1, 0.2, 0.5], [0.4, 0.1]
    of_first = sum((v - 0.2) ** 2 for v in first) / 3 / 4
    of_second = sum((v - 0.25) ** 2 for v in second) / 1 / 2
    expected = math.sqrt(of_first + of_second) / 2
    assert standard_error([(4 * of_first, 4), (2 * of_second, 2)]) == pytest.approx(expected)
    standing = leaderboard(two_folds(), "D").by_ranker["bad"]
    assert standing.error == pytest.approx(expected)
    assert standing.high - standing.mean == pytest.approx(2.7764451051977987 * expected)  # t of 4 degrees at 97.5 %
    grid = two_folds()
    grid.add("bad", number_queries([0.4], 5), fold="Fold2")
    assert math.isnan(leaderboard(grid, "D").by_ranker["bad"].error)  # one query has no spread


def test_a_clear_difference_is_marked_and_a_wobble_is_not() -> None:
    board = leaderboard(two_folds(), "D")
    assert board.best == "good"
    assert board.is_worse_than_best("bad")
    assert not board.is_worse_than_best("good")
    grid = HandGrid()
    grid.add("a", number_queries([0.1, 0.9, 0.3, 0.7]))
    grid.add("b", number_queries([0.8, 0.2, 0.8, 0.1]))
    assert not leaderboard(grid, "D").is_worse_than_best("b")


def test_the_correction_is_over_all_pairs() -> None:
    grid = two_folds()
    for i in range(4):
        grid.add(f"same{i}", number_queries([0.1 * i, 0.2, 0.3, 0.4]), fold="Fold1")
        grid.add(f"same{i}", number_queries([0.4, 0.1 + 0.01 * i], 5), fold="Fold2")

    def p(correction: str) -> float:
        board = leaderboard(grid, "D", plan=compare.TestSettings(correction=correction)).board
        assert board is not None
        return board.tests.pair("good", "bad").p_adjusted

    assert p("bonferroni") == pytest.approx(15 * p("none"))


def test_a_ranker_with_a_missing_fold_has_no_mean_and_says_why() -> None:
    grid = two_folds()
    grid.add("half", number_queries([0.9, 0.9, 0.9, 0.9]), fold="Fold1")
    grid.fail("half", "out of memory", fold="Fold2")
    grid.add("late", number_queries([0.9, 0.9, 0.9, 0.9]), fold="Fold1")
    grid.waiting.append(("D", "Fold1", "next", "official", 1))
    board = leaderboard(grid, "D")
    assert [s.ranker for s in board.standings] == ["good", "bad"]
    assert board.gaps == (
        MissingCell("half", "Fold2", 1, "out of memory"),
        MissingCell("late", "Fold2", 1, "not run"),
        MissingCell("next", "Fold1", 1, "not run"),
        MissingCell("next", "Fold2", 1, "not run"),
    )


def test_a_fold_in_which_no_query_counts_is_a_gap() -> None:
    grid = HandGrid()
    for ranker in ("a", "b"):
        grid.add(ranker, number_queries([0.5, 0.25]), tool="gdeval")
        grid.add(ranker, number_queries([None, None], 3), fold="Fold2", tool="gdeval")
    board = leaderboard(grid, "D", tool="gdeval")
    assert board.standings == ()
    assert {g.reason for g in board.gaps} == {"no query counts"}
    assert board.best is None


def test_a_data_set_on_which_everything_failed_is_still_there() -> None:
    grid = two_folds()
    grid.fail("good", "no relevant documents", data="E")
    boards = leaderboards(grid, measures=["NDCG@10"])
    assert boards[LeaderboardKey("E", "official", "NDCG@10")].gaps == (
        MissingCell("good", "Fold1", 1, "no relevant documents"),
    )


def test_seeds_are_averaged_and_their_spread_reported() -> None:
    grid = two_folds()
    grid.add("net", number_queries([0.1, 0.2, 0.3, 0.4]), fold="Fold1", seed=1)
    grid.add("net", number_queries([0.1, 0.1], 5), fold="Fold2", seed=1)
    grid.add("net", number_queries([0.3, 0.4, 0.5, 0.6]), fold="Fold1", seed=2)
    grid.add("net", number_queries([0.1, 0.1], 5), fold="Fold2", seed=2)
    net = leaderboard(grid, "D").by_ranker["net"]
    assert net.mean == pytest.approx(((0.25 + 0.1) / 2 + (0.45 + 0.1) / 2) / 2)
    assert net.seeds == 2
    assert net.spread == pytest.approx(0.1 / math.sqrt(2))  # of 0.175 and 0.275
    assert math.isnan(leaderboard(grid, "D").by_ranker["good"].spread)
    grid.held.pop(("D", "Fold2", "net", "official", 2))
    assert "net" not in leaderboard(grid, "D").by_ranker


def test_queries_that_do_not_count_are_left_out_and_reported() -> None:
    grid = HandGrid()
    grid.add("a", number_queries([0.5, None, 0.25, 0.75]), tool="gdeval")
    grid.add("b", number_queries([0.25, None, 0.25, 0.5]), tool="gdeval")
    board = leaderboard(grid, "D", tool="gdeval")
    assert board.by_ranker["a"].mean == 1.5 / 3
    assert board.board is not None
    assert len(board.board.table.query_ids) == 3


def test_another_tool_may_put_another_first() -> None:
    grid = HandGrid()
    for ranker, official, other in (("a", 0.9, 0.1), ("b", 0.5, 0.2), ("c", 0.1, 0.05)):
        grid.add(ranker, number_queries([official, official - 0.05, official - 0.02]))
        grid.add(ranker, number_queries([other, other, other + 0.01]), tool="letor4")
    boards = leaderboards(grid, tools=["official", "letor4"], measures=["NDCG@10"])
    agreement_table = agreement(boards.values())
    assert agreement_table is not None
    assert agreement_table.sentence().startswith(
        "The winner depends on the tool (a, b). Of 3 pairs, 1 have another winner"
    )
    assert agreement_table.agreement("tau_b")[0][1] == pytest.approx(1 / 3)  # one of three pairs flips
    assert agreement_table.agreement("tau_ap_b")[0][1] < 1 / 3  # and it is at the top


def test_agreement_needs_two_rankers() -> None:
    grid = HandGrid()
    grid.add("a", number_queries([0.5, 0.25]))
    assert agreement([leaderboard(grid, "D")]) is None


def test_training_conventions_are_kept_apart() -> None:
    grid = two_folds()
    for ranker in ("good", "bad"):
        grid.add(ranker, number_queries([0.0, 0.25]), convention="letor4")
    assert leaderboard(grid, "D").by_ranker["bad"].mean > 0.2
    other = leaderboard(grid, "D", convention="letor4")
    assert (other.by_ranker["bad"].mean, other.folds) == (0.125, ("Fold1",))


def test_rankers_without_a_measure_appear_under_every_convention() -> None:
    grid = HandGrid()
    for convention in ("official", "letor4"):
        grid.add("adarank", number_queries([0.0, 0.25]), convention=convention)
    for ranker in ("ranksvm", "lambdamart"):
        grid.add(ranker, number_queries([0.5, 0.25]))
    board = leaderboard(grid, "D", convention="letor4")
    assert list(board.by_ranker) == ["ranksvm", "adarank"]
    assert board.gaps == (MissingCell("lambdamart", "Fold1", 1, "not trained under letor4"),)


def test_missing_cells_are_reported() -> None:
    grid = two_folds()
    with pytest.raises(UnknownName, match="no data set is called 'd'; did you mean D"):
        leaderboard(grid, "d")
    with pytest.raises(UnknownName, match="no tool of the results is called 'oficial'; did you mean official"):
        leaderboard(grid, "D", tool="oficial")
    with pytest.raises(UnknownName, match="no measure of the results is called 'MAP'"):
        leaderboard(grid, "D", "MAP")
    with pytest.raises(UnknownName, match="training convention of the results"):
        leaderboard(grid, "D", convention="yahoo")
    with pytest.raises(DataError, match="no finished cells"):
        leaderboard(HandGrid(), "D")
    grid = HandGrid()
    for convention in ("letor4", "yahoo"):
        grid.add("a", number_queries([0.5]), convention=convention)
    with pytest.raises(DataError, match="several training conventions; choose one of letor4, yahoo"):
        leaderboard(grid, "D")
