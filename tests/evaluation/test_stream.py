"""Streaming evaluation gives the same bytes under every tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.data.letor import write_letor, write_scores
from pippin.data.partitions import write_partitions
from pippin.data.synthetic import make_dataset
from pippin.errors import ConventionError, DataError
from pippin.evaluation.evaluate import evaluate
from pippin.evaluation.evaluation import Evaluation
from pippin.evaluation.streaming import Request, evaluate_stream
from pippin.evaluation.tools import TOOLS
from pippin.reports.evaluation import evaluation_record

MEASURES = ("NDCG@3", "MAP", "P@2", "RR")
EVERY: list[Request] = [
    (replace(tool, label_limits=()), {})
    for tool in TOOLS.values()
    if tool.name not in ("recbole", "recpack", "allrank")
]


def equal(streamed: list[Evaluation], judged: Path, scored: Path) -> None:
    for (tool, overrides), evaluation in zip(EVERY, streamed, strict=True):
        full = evaluate(judged, scored, MEASURES, tool, **overrides)
        assert evaluation_record(evaluation) == {**evaluation_record(full), "run": evaluation.name}, tool.name


@pytest.fixture
def letor(tmp_path: Path) -> tuple[Path, Path]:
    data = make_dataset(40, documents=6, features=5, seed=4)
    write_letor(data, tmp_path / "d.txt")
    write_scores(np.round(np.nan_to_num(data.features[:, 0]), 1), tmp_path / "s.txt")  # with ties
    return tmp_path / "d.txt", tmp_path / "s.txt"


@pytest.mark.parametrize("size", [1, 900, 1 << 20])
def test_a_data_set_with_scores(letor: tuple[Path, Path], size: int) -> None:
    equal(evaluate_stream(*letor, MEASURES, EVERY, size=size), *letor)


def test_partitions_with_scores(letor: tuple[Path, Path], tmp_path: Path) -> None:
    write_partitions(letor[0], tmp_path / "parts", rows=30)
    equal(evaluate_stream(tmp_path / "parts", letor[1], MEASURES, EVERY), *letor)


@pytest.fixture
def trec(tmp_path: Path) -> tuple[Path, Path]:
    """Qrels of q0 … q29, and a run backwards, without every fifth of them, with some that nobody judged."""
    draw = np.random.default_rng(5)
    qrels = "".join(f"q{q} 0 d{d} {draw.integers(-1, 3)}\n" for q in range(30) for d in range(6))
    query_ids = [q for q in reversed(range(40)) if q % 5]
    run = "".join(f"q{q} Q0 d{d} 1 {draw.integers(0, 4)} t\n" for q in query_ids for d in range(2, 9))
    (tmp_path / "qrels").write_text(qrels)
    (tmp_path / "run").write_text(run)
    return tmp_path / "qrels", tmp_path / "run"


@pytest.mark.parametrize("size", [1, 500, 1 << 20])
def test_judgements_with_a_run(trec: tuple[Path, Path], size: int) -> None:
    equal(evaluate_stream(*trec, MEASURES, EVERY, size=size), *trec)


def test_a_run_that_is_not_grouped(trec: tuple[Path, Path]) -> None:
    with trec[1].open("a") as run:
        run.write("q39 Q0 d77 1 0 t\n")
    with pytest.raises(DataError, match=r"run: the rows of query q39 are not contiguous; .* must be sorted by query"):
        evaluate_stream(*trec, MEASURES, EVERY, size=500)


def test_errors_of_ranking_name_the_line(trec: tuple[Path, Path]) -> None:
    lines = trec[1].read_text().splitlines()
    lines.insert(200, lines[199])
    trec[1].write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"run:201: document .* is listed twice .*, first in line 200"):
        evaluate_stream(*trec, MEASURES, EVERY, size=500)


def test_nothing_in_common(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("a 0 d 1\n")
    (tmp_path / "run").write_text("b Q0 d 1 1 t\n")
    with pytest.raises(DataError, match="qrels and run have no query in common"):
        evaluate_stream(tmp_path / "qrels", tmp_path / "run", MEASURES, EVERY)


def test_measures_that_cannot_be_streamed(letor: tuple[Path, Path], trec: tuple[Path, Path]) -> None:
    with pytest.raises(DataError, match="not LETOR text with a run"):
        evaluate_stream(letor[0], trec[1], MEASURES, EVERY)
    trec[0].write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        evaluate_stream(trec[0], trec[1], MEASURES, EVERY)
    letor[1].write_text("1\n2\n3\n")
    with pytest.raises(DataError, match="ends after 3 scores"):
        evaluate_stream(*letor, MEASURES, EVERY)


def test_a_tool_that_cannot_is_left_out_of_parts(trec: tuple[Path, Path]) -> None:
    result = evaluate(*trec, ["NDCG@3", "RR"], ["ranx", "lightgbm", "letor4"], stream=True)
    assert [*result] == ["ranx", "letor4"]
    assert result.left_out == {"lightgbm": "lightgbm refuses labels below 0 in NDCG@3: found label -1"}
    assert result.mean == {tool: evaluate(*trec, ["NDCG@3", "RR"], tool).mean for tool in result}


@pytest.mark.parametrize("form", ["letor", "trec"])
def test_the_largest_label_is_that_of_all_parts(form: str, request: pytest.FixtureRequest) -> None:
    files: tuple[Path, Path] = request.getfixturevalue(form)
    axes: dict[str, Any] = {"gain": "share", "empty": 1.0}
    streamed = evaluate_stream(*files, ["ERR", "NDCG@3"], [(TOOLS["official"], axes)], size=900)[0]
    at_once = evaluate(*files, ["ERR", "NDCG@3"], "official", **axes)
    assert streamed.per_query == at_once.per_query
    largest = 4 if form == "letor" else 2
    assert [c.max_label for c in streamed.columns] == [c.max_label for c in at_once.columns] == [largest, largest]


def test_a_catalogue_of_all_documents_is_refused_before_anything_is_read() -> None:
    for tool in ("recbole", "recpack", "allrank"):
        with pytest.raises(ConventionError, match="need the documents of all queries"):
            evaluate_stream("nowhere", "nowhere", ["NDCG@3"], [(TOOLS[tool], {})])
