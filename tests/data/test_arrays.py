"""Arrays in the conventions of scikit-learn, LightGBM and XGBoost become data sets or errors."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest

from pippin.data.dataset import Dataset
from pippin.errors import DataError

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def test_arrays_with_ids_and_names() -> None:
    data = Dataset.from_arrays(X, [0, 1, 2], [10, 10, 11], document_ids=["a", "b", "c"], feature_names=["u", "v"])
    assert data.query_ids == ("10", "11")
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.features.dtype == np.float32
    assert data.feature_names == ("u", "v")
    assert list(data.document_ids or ()) == ["a", "b", "c"]


def test_sizes_say_the_same_as_ids() -> None:
    data = Dataset.from_arrays(X, [0, 1, 2], group=[2, 1])
    assert data.offsets.tolist() == [0, 2, 3]
    assert data.query_ids == ("1", "2")


def test_numbers_of_any_kind_become_float64() -> None:
    assert Dataset.from_arrays([[1], [2]], [0.0, 1.0], ["a", "a"]).features.dtype == np.float64


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_a_frame_names_its_features(frame: type) -> None:
    data = Dataset.from_arrays(frame({"bm25": [0.5, 1.5], "age": [1, 2]}), frame({"y": [1, 0]})["y"], ["a", "a"])
    assert data.feature_names == ("bm25", "age")
    assert data.features.tolist() == [[0.5, 1], [1.5, 2]]
    assert data.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((X, [0, 1], [1, 1, 1]), r"3 labels are needed in one column, and y has the shape \(2,\)"),
        ((X, [0, 1, 2], [1, 2, 1]), "the rows of query 1 are not contiguous"),
        ((X, [0, 1, 2], [1, 1]), "3 query ids are needed"),
        ((X, [0, 1, 0.5], [1, 1, 1]), "labels are whole numbers, and y holds 0.5"),
        ((X, [0, 1, np.nan], [1, 1, 1]), "labels are whole numbers, and y holds nan"),
        ((X, ["a", "b", "c"], [1, 1, 1]), "y must hold whole numbers only"),
        ((X[0], [0, 1], [1, 1]), "X must be a table"),
        (([["a"]], [0], [1]), "X must hold numbers only"),
        ((X, [0, 1, 2]), "qid is missing"),
    ],
)
def test_errors_are_reported(arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Dataset.from_arrays(*arguments)  # type: ignore[arg-type]


def test_documents_are_unique_within_a_query() -> None:
    with pytest.raises(DataError, match="document a is listed twice in query 1"):
        Dataset.from_arrays(X, [0, 1, 2], [1, 1, 1], document_ids=["a", "b", "a"])
