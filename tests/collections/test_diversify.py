"""Diversified runs (MMR, xQuAD) and diversity measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pippin
from pippin.cli.main import main
from pippin.collections.collection import Collection, Document, Query
from pippin.collections.diversify import coverage, diversify, group_by_query, mmr, scale_to_unit, xquad
from pippin.collections.index.index import Index, build_index
from pippin.collections.links.relations import similarity
from pippin.data.qrels import Run, parse_run
from pippin.errors import ConventionError, DataError, UnknownName

TEXTS = {"a1": "jaguar cat jungle teeth", "a2": "jaguar cat jungle teeth paws", "a3": "jaguar cat jungle",
         "b1": "jaguar car engine wheels", "b2": "jaguar car engine", "c": "guitar strings"}  # fmt: skip
SUBTOPICS = (Query("7.1", "cat jungle"), Query("7.2", "car engine"))
JUDGED = "7 1 a1 1\n7 1 a2 1\n7 1 a3 1\n7 2 b1 1\n7 2 b2 1\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    documents = [Document(name, {"text": text}) for name, text in TEXTS.items()]
    return build_index(Collection("cats", ("text",), lambda: iter(documents)), tmp_path_factory.mktemp("i") / "index")


RUN = Run.from_dict({"7": {"a1": 9.0, "a2": 8.9, "a3": 8.8, "b1": 8.0, "b2": 7.0}}, "cats")


def order(run: Run) -> list[str]:
    return list(run.document_ids)


def test_mmr_and_xquad_are_their_formulas_over_words_and_subtopics(index: Index) -> None:
    numbers = index.numbers(["a1", "a2", "a3", "b1", "b2"])
    ranks = mmr(RUN.scores, similarity(index, numbers, field="text"), 0.3)
    assert order(diversify(RUN, index, "mmr(0.3)")) == [list(RUN.document_ids)[i] for i in np.argsort(-ranks)]
    assert order(diversify(RUN, index, "mmr(0.3)"))[:2] == ["a1", "b1"]
    ranks = xquad(RUN.scores, coverage(index, numbers, SUBTOPICS, "text"), 0.9)
    run = diversify(RUN, index, "xquad(0.9)", subqueries=SUBTOPICS)
    assert order(run) == [list(RUN.document_ids)[i] for i in np.argsort(-ranks)]
    assert {order(run)[0][0], order(run)[1][0]} == {"a", "b"}
    assert run.scores.tolist() == [0, -1, -2, -3, -4]
    assert order(diversify(RUN, index, "mmr(1)")) == order(RUN)
    assert order(diversify(RUN, index, "mmr(0)", depth=3))[3:] == ["b1", "b2"]


def test_the_command_wins_by_measures_of_diversity(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = zip(RUN.document_ids, RUN.scores, strict=True)
    (tmp_path / "plain.run").write_text("".join(f"7 Q0 {document} 1 {score} x\n" for document, score in rows))
    (tmp_path / "judged.txt").write_text(JUDGED)
    (tmp_path / "subtopics.tsv").write_text("".join(f"{subtopic.id}\t{subtopic.text}\n" for subtopic in SUBTOPICS))
    plain, out = str(tmp_path / "plain.run"), str(tmp_path / "out.run")
    measures = ["alpha-nDCG@5", "ERR-IA@5", "NRBP", "strec@2"]
    before = pippin.evaluate(str(tmp_path / "judged.txt"), plain, measure=measures, tool="ndeval")
    for by in (["mmr(0.3)"], ["xquad(0.9)", "--subqueries", str(tmp_path / "subtopics.tsv")]):
        assert main(["diversify", by[0], plain, str(index.path), *by[1:], "--out", out]) == 0
        assert order(parse_run(out))[0][0] != order(parse_run(out))[1][0]
        after = pippin.evaluate(str(tmp_path / "judged.txt"), out, measure=measures, tool="ndeval")
        assert all(after[measure] > before[measure] for measure in measures)
    capsys.readouterr()
    assert main(["diversify", "xquad", plain, str(index.path)]) == 2
    assert "7 has no subtopic" in capsys.readouterr().err


def test_inputs_that_cannot_be_diversified_are_reported(index: Index) -> None:
    for method in ("mmr(2)", "mmr(x)"):
        with pytest.raises(ConventionError, match="trade-off from 0 to 1"):
            diversify(RUN, index, method)
    with pytest.raises(UnknownName, match="mrr"):
        diversify(RUN, index, "mrr")
    with pytest.raises(DataError, match="z of cats is not in cats"):
        diversify(Run.from_dict({"7": {"z": 1.0}}, "cats"), index)
    with pytest.raises(DataError, match="as in 201"):
        group_by_query([Query("7", "cat")])


def slow_mmr(scores: list[float], alike: list[list[float]], trade: float) -> list[int]:
    selected: list[int] = []
    while len(selected) < len(scores):
        left = [d for d in range(len(scores)) if d not in selected]
        selected.append(max(left, key=lambda d: (trade * scores[d] - (1 - trade) * max(
            (alike[d][t] for t in selected), default=0.0), scores[d], -d)))  # fmt: skip
    return selected


def slow_xquad(scores: list[float], covers: list[list[float]], trade: float) -> list[int]:
    selected: list[int] = []
    total, topics = sum(scores), range(len(covers[0]))
    while len(selected) < len(scores):

        def worth(d: int) -> float:
            missing = [np.prod([1 - covers[t][s] for t in selected]) for s in topics]
            new = sum(covers[d][s] * float(missing[s]) / len(topics) for s in topics)
            return (1 - trade) * scores[d] / total + trade * new

        selected.append(
            max((d for d in range(len(scores)) if d not in selected), key=lambda d: (worth(d), scores[d], -d))
        )
    return selected


@pytest.mark.parametrize("seed", range(5))
def test_documents_are_taken_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, half = scale_to_unit(random.random(9)), random.random((9, 9))
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


def test_inconsistent_inputs_are_refused() -> None:
    with pytest.raises(DataError, match="2 by 2"):
        mmr(np.zeros(2), np.zeros((3, 3)))
    with pytest.raises(DataError, match="probabilities"):
        xquad(np.zeros(2), np.full((2, 1), 2.0))
    with pytest.raises(DataError, match="weights"):
        xquad(np.zeros(2), np.zeros((2, 1)), weights=np.ones(2))
    with pytest.raises(DataError, match="trade-off"):
        mmr(np.zeros(2), np.zeros((2, 2)), 2.0)


def test_measures_of_diversity_prefer_what_is_diverse() -> None:
    """Four documents, three of one subtopic: α-nDCG@3 rises when the fourth comes second."""
    from pippin.data.qrels import SubtopicQrels
    from pippin.kernels.strings import StringColumn

    qrels = SubtopicQrels(
        ("q",), np.array([0, 4]), StringColumn.of("abcd"), np.ones(4, np.int32),
        subtopics=(*([frozenset("1")] * 3), frozenset("2")),
    )  # fmt: skip
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    covers = np.array([[1.0, 0], [1, 0], [1, 0], [0, 1]])
    values = []
    for ranking_scores in (scores, xquad(scores, covers, 0.9), mmr(scores, covers @ covers.T, 0.4)):
        run = pippin.Run.from_dict({"q": dict(zip("abcd", ranking_scores.tolist(), strict=True))})
        evaluation = pippin.evaluate(qrels, run, measure=["alpha-nDCG@3", "strec@2", "ERR-IA@3", "NRBP"])
        values.append([evaluation.mean[name] for name in evaluation.mean])
    assert values[1] == values[2]
    assert all(better > worse for better, worse in zip(values[1], values[0], strict=True))
