from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pippin.data import quality
from pippin.data.dataset import Dataset, concatenate
from pippin.data.quality import IdenticalDocuments
from pippin.kernels.strings import StringColumn

NULL = float("nan")


def dataset(features: object, labels: list[int], sizes: list[int], ids: list[str] | None = None) -> Dataset:
    table = np.array(features, np.float64)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    queries = tuple(f"q{i}" for i in range(len(sizes)))
    return Dataset(table, np.array(labels, np.int32), offsets, queries, None if ids is None else StringColumn.of(ids))


def test_repeated_documents_counts_only_repeats_within_a_query() -> None:
    ids = StringColumn.of(["a", "bb", "a", "a", "bb", "a", ""])
    result = quality.repeated_documents(ids, np.array([0, 4, 4, 7]))
    assert result.tolist() == [False, False, True, True, False, False, False]


def test_repeated_documents_compares_texts_where_hashes_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "hash_strings", lambda texts: np.zeros(len(texts), np.uint64))
    result = quality.repeated_documents(StringColumn.of(["a", "b", "ab"]), np.array([0, 3]))
    assert not result.any()


def test_twins_are_found_within_and_between_queries_with_null_and_negative_zero() -> None:
    rows = [[0.0, NULL], [1.0, 2.0], [-0.0, NULL], [1.0, 2.0], [1.0, 2.5]]
    twins = quality.find_identical_documents(dataset(rows, [0, 0, 1, 0, 1], [3, 2]))
    assert twins.within.tolist() == [0, 1, 0, 3, 4]
    assert twins.anywhere.tolist() == [0, 1, 0, 1, 4]
    labels = np.array([0, 0, 1, 0, 1], np.int32)
    assert IdenticalDocuments.with_conflicting_labels(twins.within, labels).tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert IdenticalDocuments.with_duplicates(twins.anywhere).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_twins_equal_a_search_of_all_pairs(dtype: type) -> None:
    rng = np.random.default_rng(3)
    features: NDArray[Any] = rng.integers(0, 3, (300, 4)).astype(dtype)
    features[rng.random(features.shape) < 0.1] = NULL
    features[rng.random(features.shape) < 0.1] *= dtype(0.5)
    labels, sizes = rng.integers(0, 2, 300).astype(np.int32), np.full(20, 15)
    data = Dataset(features, labels, np.arange(0, 301, 15, dtype=np.int64), tuple(map(str, range(len(sizes)))))
    key = [tuple("null" if np.isnan(v) else float(v) for v in row) for row in features]
    twins = quality.find_identical_documents(data)
    assert twins.anywhere.tolist() == [key.index(k) for k in key]
    assert twins.within.tolist() == [
        next(j for j in range(i // 15 * 15, i + 1) if key[j] == key[i]) for i in range(300)
    ]


def test_features_that_are_constant_everywhere_or_within_every_query() -> None:
    #        constant, of the query, of the document, NULL everywhere, NULL by query, NULL in one document
    first = [[7.0, 1.0, 1.0, NULL, NULL, 0.0], [7.0, 1.0, 2.0, NULL, NULL, 0.0]]
    second = [[7.0, 2.0, 2.0, NULL, 1.0, 0.0], [7.0, 2.0, 2.0, NULL, 1.0, NULL]]
    counts = quality.count_features(dataset(first + second, [0, 1, 0, 1], [2, 2]))
    assert counts.varies.tolist() == [False, True, True, False, True, True]
    assert counts.varies_within.tolist() == [False, False, True, False, False, True]
    assert counts.nulls.tolist() == [0, 0, 0, 4, 2, 1]


def test_a_feature_that_varies_only_where_two_blocks_meet_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "_BLOCK", 2)
    counts = quality.count_features(dataset([[0.0], [0.0], [1.0], [1.0]], [0] * 4, [4]))
    assert counts.varies_within.tolist() == [True]
    counts = quality.count_features(dataset([[0.0], [0.0], [1.0], [1.0]], [0] * 4, [2, 2]))
    assert (counts.varies.tolist(), counts.varies_within.tolist()) == ([True], [False])


def test_concatenate_takes_each_query_once_and_fills_narrow_parts_with_zeros() -> None:
    a = dataset([[1.0], [2.0]], [1, 0], [1, 1], ["d1", "d2"])
    b = Dataset(np.array([[3.0, 4.0], [5.0, 6.0]]), np.array([2, 0], np.int32), np.array([0, 1, 2]), ("q1", "new"),
                StringColumn.of(["other", "d3"]))  # fmt: skip
    both = concatenate([a, b])
    assert both.query_ids == ("q0", "q1", "new")
    assert both.features.tolist() == [[1.0, 0.0], [2.0, 0.0], [5.0, 6.0]]
    assert both.labels.tolist() == [1, 0, 0]
    assert list(both.document_ids or ()) == ["d1", "d2", "d3"]
