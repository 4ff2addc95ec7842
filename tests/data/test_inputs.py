"""Coercion of inputs to data sets, judgements, runs or scores, with clear errors."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pippin
from pippin.data.dataset import Dataset
from pippin.data.inputs import coerce_judgements, coerce_scores
from pippin.data.qrels import Qrels, Run
from pippin.data.read import detect_text_format
from pippin.errors import DataError

LETOR = "1 qid:q 1:1 #docid = a\n0 qid:q 1:2 #docid = b\n"
QRELS = "q 0 a 1\nq 0 b 0\n"
RUN = "q Q0 a 1 0.5 t\nq Q0 b 2 0.7 t\n"
SCORES = "0.5\n0.7\n"
Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return save


@pytest.mark.parametrize(
    ("text", "kind"), [(LETOR, "letor"), (QRELS, "qrels"), (RUN, "run"), (SCORES, "scores"), ("1 qid:3", "letor")]
)
def test_kinds_are_detected_by_content(write: Write, text: str, kind: str) -> None:
    for before in ("", "\n", "# note\n \n", "#" * 200_000 + "\n", "\ufeff"):
        assert detect_text_format(write("x", before + text)) == kind


def test_unsupported_types(write: Write) -> None:
    with pytest.raises(DataError, match=r":2: found 3 columns; expected LETOR"):
        detect_text_format(write("x", "\na b c\n"))
    with pytest.raises(DataError, match="the file contains no data"):
        detect_text_format(write("x", "#" * 200_000))


def test_every_pair_gives_the_same_number(write: Write) -> None:
    letor, qrels, run, scores = write("l", LETOR), write("q", QRELS), write("r", RUN), write("s", SCORES)
    nested, retrieved = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.5, "b": 0.7}}
    pairs: list[tuple[Any, Any]] = [
        (letor, scores), (letor, run), (qrels, run), (str(qrels), str(run)), (nested, retrieved), (nested, run),
        (qrels, retrieved), (letor, np.array([0.5, 0.7])), (letor, [0.5, 0.7]), (letor, np.array([1, 2], np.int32)),
        (coerce_judgements(letor), scores), (coerce_judgements(qrels), coerce_scores(run, coerce_judgements(qrels))),
    ]  # fmt: skip
    for judgements, scored in pairs:
        assert pippin.evaluate(judgements, scored, "RR").mean == {"RR": 1 / 2}


def test_types(write: Write) -> None:
    assert isinstance(coerce_judgements(write("l", LETOR)), Dataset)
    qrels = coerce_judgements(write("q", QRELS))
    assert isinstance(qrels, Qrels)
    assert isinstance(coerce_scores(write("r", RUN), qrels), Run)


def test_absent_features_option(write: Write) -> None:
    data = coerce_judgements(write("l", "1 qid:1 2:1\n"), missing_value="null")
    assert isinstance(data, Dataset)
    assert np.isnan(data.features).tolist() == [[True, False]]


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QRELS.encode())))
    assert coerce_judgements("-").query_ids == ("q",)


def test_repeated_queries_are_merged_on_request(write: Write) -> None:
    qrels = write("q", "a 0 x 1\nb 0 x 1\na 0 y 0\n")
    run = write("r", "a Q0 x 1 2 t\nb Q0 x 1 2 t\na Q0 y 1 1 t\n")
    with pytest.raises(DataError, match="are not contiguous"):
        coerce_judgements(qrels)
    judgements = coerce_judgements(qrels, merge_queries=True)
    assert judgements.query_ids == ("a", "b")
    scored = coerce_scores(run, judgements, merge_queries=True)
    assert isinstance(scored, Run)
    assert scored.scores.tolist() == [2, 1, 2]


def test_wrong_pairs_are_reported(write: Write) -> None:
    letor, qrels, run, scores = write("l", LETOR), write("q", QRELS), write("r", RUN), write("s", SCORES)
    judgements, data = coerce_judgements(qrels), coerce_judgements(letor)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: coerce_judgements(run), "expected judgements or LETOR text, but this is a run"),
        (lambda: coerce_judgements(scores), "expected judgements or LETOR text, but this is scores"),
        (lambda: coerce_judgements(Run.from_dict({"q": {"a": 1.0}})), "expected judgements, but run is a run"),
        (lambda: coerce_judgements(3), "judgements are a LETOR file, qrels, .*labels with .*; found int"),
        (lambda: coerce_scores(letor, data), "expected scores or a run, but this is LETOR text"),
        (lambda: coerce_scores(qrels, judgements), "expected scores or a run, but this is judgements"),
        (lambda: coerce_scores(data, data), "expected scores or a run, but l holds judgements"),
        (lambda: coerce_scores(scores, judgements), "q holds judgements, which need a run"),
        (lambda: coerce_scores([1.0], judgements), "q holds judgements, which need a run"),
        (
            lambda: coerce_scores([object()], data),
            "scores must be numbers, a run, a dict of dicts, a table or a file, got list",
        ),
        (lambda: coerce_scores(np.ones((2, 2)), data), r"a list of numbers, not a table of shape \(2, 2\)"),
        (lambda: coerce_scores("missing", data), "there is no such file"),
        (lambda: coerce_scores(write("t", "1\n2\n3\n"), data), ":3: the data have 2 documents"),
    ]
    for call, sentence in wrong:
        with pytest.raises(DataError, match=sentence):
            call()
