"""Diversified runs: lists taken again by words alone, or by subtopics, and judged by measures made for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pippin
from pippin.cli.main import main
from pippin.collection.collection import Collection, Document, Query
from pippin.collection.diversify import coverage, diversify, subtopics_of
from pippin.collection.index import Index, build_index
from pippin.collection.similarity import similarity
from pippin.data.trec import Run
from pippin.data.trec_text import read_run
from pippin.errors import ConventionError, DataError, UnknownName
from pippin.rankers.diversity import mmr, xquad

TEXTS = {"a1": "jaguar cat jungle teeth", "a2": "jaguar cat jungle teeth paws", "a3": "jaguar cat jungle",
         "b1": "jaguar car engine wheels", "b2": "jaguar car engine", "c": "guitar strings"}  # fmt: skip
SUBTOPICS = (Query("7.1", "cat jungle"), Query("7.2", "car engine"))
JUDGED = "7 1 a1 1\n7 1 a2 1\n7 1 a3 1\n7 2 b1 1\n7 2 b2 1\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    documents = [Document(name, {"text": text}) for name, text in TEXTS.items()]
    return build_index(Collection("cats", ("text",), lambda: iter(documents)), tmp_path_factory.mktemp("i") / "index")


RUN = Run.of({"7": {"a1": 9.0, "a2": 8.9, "a3": 8.8, "b1": 8.0, "b2": 7.0}}, "cats")


def order(run: Run) -> list[str]:
    return list(run.document_ids)


def test_mmr_and_xquad_are_their_formulas_over_words_and_subtopics(index: Index) -> None:
    numbers = index.numbers(["a1", "a2", "a3", "b1", "b2"])
    ranks = mmr(RUN.scores, similarity(index, numbers, stream="text"), 0.3)
    assert order(diversify(RUN, index, "mmr(0.3)")) == [list(RUN.document_ids)[i] for i in np.argsort(-ranks)]
    assert order(diversify(RUN, index, "mmr(0.3)"))[:2] == ["a1", "b1"]
    ranks = xquad(RUN.scores, coverage(index, numbers, SUBTOPICS, "text"), 0.9)
    found = diversify(RUN, index, "xquad(0.9)", subtopics=SUBTOPICS)
    assert order(found) == [list(RUN.document_ids)[i] for i in np.argsort(-ranks)]
    assert {order(found)[0][0], order(found)[1][0]} == {"a", "b"}
    assert found.scores.tolist() == [0, -1, -2, -3, -4]
    assert order(diversify(RUN, index, "mmr(1)")) == order(RUN)
    assert order(diversify(RUN, index, "mmr(0)", depth=3))[3:] == ["b1", "b2"]


def test_the_command_wins_by_measures_of_diversity(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = zip(RUN.document_ids, RUN.scores, strict=True)
    (tmp_path / "plain.run").write_text("".join(f"7 Q0 {document} 1 {score} x\n" for document, score in rows))
    (tmp_path / "judged.txt").write_text(JUDGED)
    (tmp_path / "subtopics.tsv").write_text("".join(f"{one.id}\t{one.text}\n" for one in SUBTOPICS))
    plain, out = str(tmp_path / "plain.run"), str(tmp_path / "out.run")
    measures = ["alpha-nDCG@5", "ERR-IA@5", "NRBP", "strec@2"]
    before = pippin.evaluate(str(tmp_path / "judged.txt"), plain, measures=measures, tool="ndeval")
    for by in (["mmr(0.3)"], ["xquad(0.9)", "--subqueries", str(tmp_path / "subtopics.tsv")]):
        assert main(["diversify", by[0], plain, str(index.path), *by[1:], "--out", out]) == 0
        assert order(read_run(out))[0][0] != order(read_run(out))[1][0]
        after = pippin.evaluate(str(tmp_path / "judged.txt"), out, measures=measures, tool="ndeval")
        assert all(after[measure] > before[measure] for measure in measures)
    capsys.readouterr()
    assert main(["diversify", "xquad", plain, str(index.path)]) == 2
    assert "7 has no subtopic" in capsys.readouterr().err


def test_what_cannot_be_diversified_is_told(index: Index) -> None:
    for method in ("mmr(2)", "mmr(x)"):
        with pytest.raises(ConventionError, match="trade-off from 0 to 1"):
            diversify(RUN, index, method)
    with pytest.raises(UnknownName, match="mrr"):
        diversify(RUN, index, "mrr")
    with pytest.raises(DataError, match="z of cats is not in cats"):
        diversify(Run.of({"7": {"z": 1.0}}, "cats"), index)
    with pytest.raises(DataError, match="as in 201"):
        subtopics_of([Query("7", "cat")])
