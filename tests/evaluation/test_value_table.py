"""Value tables are aligned by query id."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pippin.errors import DataError, UnknownName
from pippin.evaluation.value_table import ValueTable

A = {"1": 0.5, "2": 0.25, "10": 1.0}


def test_alignment_follows_ids_not_positions() -> None:
    scores = ValueTable.from_systems({"a": A, "b": {"10": 3.0, "1": 1.0, "2": 2.0}})
    assert scores.query_ids == ("1", "2", "10")
    assert scores.values[:, 1].tolist() == [1.0, 2.0, 3.0]
    assert scores.means.tolist() == [1.75 / 3, 2.0]
    assert scores.by_query_id()[:, 1].tolist() == [1.0, 3.0, 2.0]


def test_a_missing_query_is_reported() -> None:
    with pytest.raises(DataError, match=r"system 'b' lacks a value for query '2' \(and 1 more like it\)"):
        ValueTable.from_systems({"a": A, "b": {"1": 1.0, "11": 1.0, "10": 0.0}})
    with pytest.raises(DataError, match="system 'a' lacks a value for query '11';"):
        ValueTable.from_systems({"a": A, "b": {**A, "11": 1.0}})


def test_a_missing_query_counts_or_drops_by_argument() -> None:
    systems = {"a": A, "b": {"1": 1.0, "11": 1.0, "10": 0.0}}
    filled = ValueTable.from_systems(systems, missing=0.0)
    assert filled.filled == 2
    assert filled.values.tolist() == [[0.5, 1.0], [0.25, 0.0], [1.0, 0.0], [0.0, 1.0]]
    dropped = ValueTable.from_systems(systems, missing="drop")
    assert dropped.dropped == ("2", "11")
    assert dropped.values.tolist() == [[0.5, 1.0], [1.0, 0.0]]


def test_nan_is_named_or_dropped() -> None:
    systems = {"a": A, "b": {**A, "2": math.nan}}
    with pytest.raises(DataError, match="the value nan on query '2'; to leave such queries out, pass missing='drop'"):
        ValueTable.from_systems(systems)
    # A value that is there and undefined is not a value that is missing.
    with pytest.raises(DataError, match="nan"):
        ValueTable.from_systems(systems, missing=0.0)
    assert ValueTable.from_systems(systems, undefined="drop").dropped == ("2",)
    assert ValueTable.from_arrays([[1.0, math.nan], [2.0, 3.0]], undefined="drop").query_ids == ("2",)
    with pytest.raises(DataError, match="inf"):
        ValueTable.from_arrays([[math.inf]], undefined="drop")


def test_names_are_unique_and_fit() -> None:
    with pytest.raises(DataError, match="query '1' appears twice"):
        ValueTable.from_arrays([[1.0], [2.0]], query_ids=["1", "1"])
    with pytest.raises(DataError, match="system 'x' appears twice"):
        ValueTable.from_arrays([[1.0, 2.0]], systems=["x", "x"])
    with pytest.raises(DataError, match="1 rows of values but 2 query ids"):
        ValueTable.from_arrays([[1.0, 2.0]], query_ids=["1", "2"])
    with pytest.raises(DataError, match="1 queries × 1 systems"):
        ValueTable.from_arrays([[1.0, 2.0]], systems=["x"])
    with pytest.raises(DataError, match="two dimensions"):
        ValueTable.from_arrays([1.0, 2.0])
    with pytest.raises(DataError, match="zero systems"):
        ValueTable.from_systems({})
    with pytest.raises(DataError, match="all queries were dropped"):
        _ = ValueTable.from_systems({"a": {}}).means
    with pytest.raises(UnknownName, match="did you mean bm25"):
        ValueTable.from_arrays([[1.0]], systems=["bm25"]).index("bm26")


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean drop"):
        ValueTable.from_systems({"a": A}, missing="dorp")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="did you mean drop"):
        ValueTable.from_systems({"a": A}, undefined="drops")  # type: ignore[arg-type]


def test_values_are_a_read_only_copy() -> None:
    source = np.ones((2, 2))
    scores = ValueTable.from_arrays(source)
    source[0, 0] = 5
    assert scores.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 2
