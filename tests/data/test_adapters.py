"""Objects of other libraries as judgements and scores."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pandas
import polars
import pytest
from tests.data.strategies import same

from pippin.data.inputs import coerce_judgements, coerce_scores
from pippin.data.qrels import Qrels, Run
from pippin.errors import DataError

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.5, "x": 1.0}, "q2": {"d": 1.5, "c": 0.5}}


def contents(data: Qrels | Run, values: Any) -> tuple[tuple[str, ...], set[tuple[str, float]]]:
    return data.query_ids, set(zip(data.document_ids, values, strict=True))


def test_ranx() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    qrels = coerce_judgements(ranx.Qrels(QRELS))
    run = coerce_scores(ranx.Run(RUN, name="mine"), qrels)
    assert isinstance(qrels, Qrels)
    assert isinstance(run, Run)
    assert run.name == "mine"
    # ranx sorts what it takes, so that only the contents are the same.
    assert contents(qrels, qrels.labels) == contents(Qrels.from_dict(QRELS), [2, 0, 1, 1])
    assert contents(run, run.scores) == contents(Run.from_dict(RUN), [3.0, 2.5, 1.0, 1.5, 0.5])
    with pytest.raises(DataError, match="expected a ranx Qrels, not a ranx Run"):
        coerce_judgements(ranx.Run(RUN))
    with pytest.raises(DataError, match="expected a ranx Run, not a ranx Qrels"):
        coerce_scores(ranx.Qrels(QRELS), qrels)


def records(nested: dict[str, dict[str, Any]], kind: Any) -> list[Any]:
    return [kind(query, document, value) for query, result in nested.items() for document, value in result.items()]


@pytest.mark.parametrize("real", [True, False])
def test_records_of_ir_measures(real: bool) -> None:
    if real:
        library = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
        qrel, scored = library.Qrel, library.ScoredDoc
    else:
        qrel, scored = namedtuple("qrel", "query_id doc_id relevance"), namedtuple("scored", "query_id doc_id score")
    qrels = coerce_judgements(records(QRELS, qrel))
    assert same(qrels, Qrels.from_dict(QRELS))
    assert same(coerce_judgements(iter(records(QRELS, qrel))), qrels), "a generator, as ir_measures reads files"
    assert same(coerce_scores(records(RUN, scored), qrels), Run.from_dict(RUN))
    with pytest.raises(DataError, match="document a is listed twice in query q1: record 2"):
        coerce_judgements([qrel("q1", "a", 1), qrel("q1", "a", 1)])
    with pytest.raises(DataError, match=r"record 2 \(int\) lacks query_id, doc_id or relevance"):
        coerce_judgements([qrel("q1", "a", 1), 3])


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_frames_of_pyterrier(frame: Any) -> None:
    qrels = frame({"qid": ["q1", "q1", "q1", "q2"], "docno": ["a", "b", "c", "d"], "label": [2, 0, 1, 1]})
    results = frame({
        "qid": ["q1", "q1", "q1", "q2", "q2"], "docid": [5, 1, 9, 4, 3], "docno": ["b", "a", "x", "d", "c"],
        "rank": [0, 1, 2, 0, 1], "score": [3.0, 2.5, 1.0, 1.5, 0.5], "query": ["pears"] * 3 + ["plums"] * 2,
    })  # fmt: skip
    judgements = coerce_judgements(qrels)
    assert same(judgements, Qrels.from_dict(QRELS))
    assert same(coerce_scores(results, judgements), Run.from_dict(RUN))
