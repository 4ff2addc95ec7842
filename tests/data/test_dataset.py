"""`Dataset`: validation and text representation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pippin.data import frames
from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.data.synthetic import make_dataset, make_scores
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn

GOOD: dict[str, Any] = {
    "features": np.zeros((3, 2)),
    "labels": np.array([0, 1, 2], np.int32),
    "offsets": np.array([0, 1, 3]),
    "query_ids": ("a", "b"),
}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"features": np.zeros(3)}, r"features must be a table of float32 or float64, got float64 of shape \(3,\)"),
        ({"features": np.zeros((3, 2), np.int64)}, r"a table of float32 or float64, got int64 of shape \(3, 2\)"),
        ({"labels": np.zeros(3)}, "labels must be 3 32-bit integers"),
        ({"labels": np.zeros(2, np.int32)}, "labels must be 3 32-bit integers"),
        ({"offsets": np.array([0, 1, 3], np.int32)}, "offsets must be 64-bit integers"),
        ({"offsets": np.array([0, 1, 2])}, "offsets do not divide 3 rows into 2 queries"),
        ({"offsets": np.array([0, 4, 3])}, "offsets do not divide 3 rows into 2 queries"),
        ({"query_ids": ("a", "a")}, "two queries have the same id"),
        ({"document_ids": StringColumn.of(["x"])}, "1 document ids for 3 documents"),
        ({"feature_names": ("one",)}, "1 feature names for 2 features"),
    ],
)
def test_inconsistent_inputs_are_refused_by_the_constructor(wrong: dict[str, Any], sentence: str) -> None:
    assert len(Dataset(**GOOD)) == 3
    with pytest.raises(DataError, match=sentence):
        Dataset(**{**GOOD, **wrong})


def test_a_column_of_ids_is_as_long_as_its_labels_or_scores() -> None:
    ids, offsets = StringColumn.of(["x", "y"]), np.array([0, 1])
    with pytest.raises(DataError, match=r"document ids for \d+ labels"):
        Qrels(("q",), offsets, ids, np.zeros(1, np.int32))
    with pytest.raises(DataError, match=r"document ids for \d+ scores"):
        Run(("q",), offsets, ids, np.zeros(1))


def test_data_tell_what_they_are_in_one_line() -> None:
    assert repr(Dataset(**GOOD)) == "Dataset('data': 2 queries, 3 documents, 2 features, float64)"
    assert repr(Qrels.from_dict({"q": {"a": 1}}, "x.qrels")) == "Qrels('x.qrels': 1 queries, 1 judged documents)"
    assert repr(Run.from_dict({"q": {"a": 1.0, "b": 2.0}}, "bm25")) == "Run('bm25': 1 queries, 2 documents)"
    texts = StringColumn.of("abcd")
    assert repr(texts) == "StringColumn(['a', 'b', 'c', …], 4 items)"
    assert (texts[1], list(texts[1:3])) == ("b", ["b", "c"])


def test_features_that_csv_would_not_keep_are_refused(tmp_path: Path) -> None:
    for name, sentence in (("bm25 ", "begins or ends with a blank"), ("label", "cannot have the reserved name")):
        with pytest.raises(DataError, match=sentence):
            frames.write_frame(Dataset(**GOOD, feature_names=("ok", name)), tmp_path / "x.csv")


def test_scorers_want_a_synthetic_set() -> None:
    assert len(make_scores(make_dataset(3, documents=4))) == 2
    with pytest.raises(DataError, match="has 2 features; a synthetic data set has at least"):
        make_scores(Dataset(**GOOD))
