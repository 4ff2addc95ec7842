"""Interleaving: fair lists, credit by hand, and verdicts that follow the better system."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.clicks.interleaving import compare_log, interleave, probabilistic, team_draft
from pippin.clicks.logs import ClickLog, read, write
from pippin.data.dataset import Dataset
from pippin.errors import ConventionError, DataError, UnknownName

A, B = np.array([0, 1, 2, 3, 4]), np.array([3, 0, 4, 2, 1])


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(1)
    return Dataset.from_arrays(rng.random((600, 1)), rng.integers(0, 3, 600), np.repeat(range(60), 10))


def test_team_draft_takes_turns_and_the_best_that_is_left() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        sample = team_draft(A, B, 5, rng)
        assert sorted(sample.documents) == [0, 1, 2, 3, 4]
        assert {sample.teams[0], sample.teams[1]} == {1, 2} == {sample.teams[2], sample.teams[3]}
        left = list(range(5))
        for document, team in zip(sample.documents, sample.teams, strict=True):
            assert document == next(item for item in (A if team == 1 else B).tolist() if item in left)
            left.remove(document)


def test_probabilistic_lists_sample_by_inverse_cubed_rank() -> None:
    rng = np.random.default_rng(3)
    first = [probabilistic(A, B, 1, rng) for _ in range(8_000)]
    soft = np.array([1.0, 1 / 8, 1 / 27, 1 / 64, 1 / 125])
    soft /= soft.sum()
    by_a, by_b = soft[np.argsort(A)], soft[np.argsort(B)]
    share = np.bincount([item.documents[0] for item in first], minlength=5) / len(first)
    assert share == pytest.approx((by_a + by_b) / 2, abs=0.02)
    for entry in first[:100]:
        document = entry.documents[0]
        assert entry.credit[0] == pytest.approx(by_a[document] / (by_a[document] + by_b[document]))


def test_probabilistic_credit_excludes_used_documents() -> None:
    rng = np.random.default_rng(4)
    soft = 1.0 / np.arange(1, 6) ** 3
    by = np.stack((soft[np.argsort(A)], soft[np.argsort(B)]))
    sample = probabilistic(A, B, 5, rng)
    assert sorted(sample.documents) == [0, 1, 2, 3, 4]
    gone: list[int] = []
    for document, credit in zip(sample.documents, sample.credit, strict=True):
        left = [item for item in range(5) if item not in gone]
        chances = by[:, document] / by[:, left].sum(axis=1)
        assert credit == pytest.approx(chances[0] / chances.sum())
        gone.append(document)


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_the_better_ranking_is_preferred_in_both_orders(data: Dataset, method: str) -> None:
    good, bad = data.labels.astype(float), np.random.default_rng(5).random(600)
    result, _ = interleave(data, good, bad, method=method, names=("good", "bad"), sessions=20)
    assert result.p < 0.01
    assert result.low > 0
    assert result.verdict.startswith("Users prefer good to bad: ")
    rotated, _ = interleave(data, bad, good, method=method, names=("bad", "good"), sessions=20)
    assert rotated.verdict.startswith("Users prefer good to bad: ")
    assert rotated.high < 0


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_a_ranking_ties_with_itself(data: Dataset, method: str) -> None:
    scores = np.random.default_rng(6).random(600)
    result, _ = interleave(data, scores, scores, method=method, sessions=30)
    assert result.low <= 0 <= result.high
    assert result.verdict.startswith("No significant preference")


def test_the_log_gives_the_same_result(data: Dataset, tmp_path: object) -> None:
    good, bad = data.labels.astype(float), np.random.default_rng(5).random(600)
    result, log = interleave(data, good, bad, sessions=5)
    again, same = interleave(data, good, bad, sessions=5)
    assert log.clicks.tobytes() == same.clicks.tobytes()
    assert (result.difference, result.p) == (again.difference, again.p)
    file = f"{tmp_path}/log.jsonl"
    write(log, file)
    qrels = compare_log(read(file))
    assert (qrels.difference, qrels.wins) == (result.difference, result.wins)


def test_outcomes_by_hand() -> None:
    plain = ClickLog.of([("q", ["a", "b"], [True, False]), ("q", ["a", "b"], [True, True]),
                         ("r", ["a", "b"], [False, False]), ("r", ["b", "a"], [True, False])])  # fmt: skip
    log = ClickLog(plain.query_ids, plain.item_queries, plain.item_documents, plain.offsets, plain.items, plain.ranks,
                   plain.clicks, np.array([1, 2, 1, 2, 1, 2, 1, 2], np.int8))  # fmt: skip
    comparison = compare_log(log)
    assert comparison.values.tolist() == [0.5, 0.5]  # A and a tie; a tie and A
    assert comparison.wins == (2, 0)


def test_invalid_arguments_are_refused(data: Dataset) -> None:
    scores = np.zeros(600)
    with pytest.raises(UnknownName, match="did you mean team-draft"):
        interleave(data, scores, scores, method="team")
    with pytest.raises(ConventionError, match="give them different names"):
        interleave(data, scores, scores, names=("x", "x"))
    with pytest.raises(DataError, match="one query is not enough"):
        interleave(data.select([0]), scores[:10], scores[:10])
    with pytest.raises(DataError, match="has no column"):
        compare_log(ClickLog.of([("q", ["a"], [True])]))
