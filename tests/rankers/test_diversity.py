"""MMR and xQuAD beside slow versions of themselves, judged by the measures of diversity."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.errors import DataError
from pippin.rankers.diversity import mmr, to_unit, xquad


def slow_mmr(scores: list[float], alike: list[list[float]], trade: float) -> list[int]:
    taken: list[int] = []
    while len(taken) < len(scores):
        left = [d for d in range(len(scores)) if d not in taken]
        taken.append(max(left, key=lambda d: (trade * scores[d] - (1 - trade) * max(
            (alike[d][t] for t in taken), default=0.0), scores[d], -d)))  # fmt: skip
    return taken


def slow_xquad(scores: list[float], covers: list[list[float]], trade: float) -> list[int]:
    taken: list[int] = []
    total, topics = sum(scores), range(len(covers[0]))
    while len(taken) < len(scores):

        def worth(d: int) -> float:
            missing = [np.prod([1 - covers[t][s] for t in taken]) for s in topics]
            new = sum(covers[d][s] * float(missing[s]) / len(topics) for s in topics)
            return (1 - trade) * scores[d] / total + trade * new

        taken.append(max((d for d in range(len(scores)) if d not in taken), key=lambda d: (worth(d), scores[d], -d)))
    return taken


@pytest.mark.parametrize("seed", range(5))
def test_documents_are_taken_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, half = to_unit(random.random(9)), random.random((9, 9))
    alike, covers = (half + half.T) / 2, random.integers(0, 2, (9, 3)).astype(np.float64)
    for trade in (0.0, 0.3, 0.8, 1.0):
        assert np.argsort(-mmr(scores, alike, trade)).tolist() == slow_mmr(scores.tolist(), alike.tolist(), trade)
        slow = slow_xquad(scores.tolist(), covers.tolist(), trade)
        assert np.argsort(-xquad(scores, covers, trade)).tolist() == slow
    assert np.argsort(-mmr(scores, alike, 1.0)).tolist() == np.argsort(-scores, kind="stable").tolist()


def test_beyond_the_depth_scores_decide() -> None:
    scores, alike = np.array([5.0, 4.0, 3.0, 2.0]), np.ones((4, 4))
    alike[3, :3] = alike[:3, 3] = 0.0
    assert np.argsort(-mmr(scores, alike, 0.1, depth=2)).tolist() == [0, 3, 1, 2]
    assert mmr(np.empty(0), np.empty((0, 0))).tolist() == []


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="2 by 2"):
        mmr(np.zeros(2), np.zeros((3, 3)))
    with pytest.raises(DataError, match="chances"):
        xquad(np.zeros(2), np.full((2, 1), 2.0))
    with pytest.raises(DataError, match="weights"):
        xquad(np.zeros(2), np.zeros((2, 1)), weights=np.ones(2))
    with pytest.raises(DataError, match="trade-off"):
        mmr(np.zeros(2), np.zeros((2, 2)), 2.0)


def test_measures_of_diversity_prefer_what_is_diverse() -> None:
    """Four documents, three of one subtopic: α-nDCG@3 rises when the fourth comes second."""
    import pippin
    from pippin.data.subtopics import SubtopicJudgements
    from pippin.data.texts import Texts

    judged = SubtopicJudgements(
        ("q",), np.array([0, 4]), Texts.of("abcd"), np.ones(4, np.int32),
        subtopics=(*([frozenset("1")] * 3), frozenset("2")),
    )  # fmt: skip
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    covers = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    values = []
    for given in (scores, xquad(scores, covers, 0.9), mmr(scores, covers @ covers.T, 0.4)):
        run = pippin.Run.of({"q": dict(zip("abcd", given.tolist(), strict=True))})
        found = pippin.evaluate(judged, run, measures=["alpha-nDCG@3", "strec@2", "ERR-IA@3", "NRBP"])
        values.append([found.mean[name] for name in found.mean])
    assert values[1] == values[2]
    assert all(better > worse for better, worse in zip(values[1], values[0], strict=True))
