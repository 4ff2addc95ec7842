from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pippin.collections.collection import Collection, Document, Link
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.links.relations import relations_by_links, write_similarity
from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn
from pippin.rankers.relational import nearest_relations


def dataset(*queries: list[str]) -> Dataset:
    ids = [name for query in queries for name in query]
    offsets = np.concatenate(([0], np.cumsum([len(query) for query in queries]))).astype(np.int64)
    names = tuple(f"q{i}" for i in range(len(queries)))
    return Dataset(np.zeros((len(ids), 1)), np.zeros(len(ids), np.int32), offsets, names, StringColumn.of(ids))


def test_the_most_alike_of_the_same_query(tmp_path: Path) -> None:
    file = tmp_path / "similarity.txt"
    write_similarity(file, {"q0": np.array([[1, 0.5, 0.2], [0.5, 1, 0], [0.2, 0, 1]]), "q1": np.eye(2)})
    result = nearest_relations(dataset(["a", "b", "c"], ["d", "e"]), file, top=1)
    assert sorted(zip(result.rows.tolist(), result.columns.tolist(), result.weights.tolist(), strict=True)) == [
        (0, 1, 0.5), (1, 0, 0.5), (2, 0, 0.2),
    ]  # fmt: skip


def test_a_file_of_other_data_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "similarity.txt"
    write_similarity(file, {"q0": np.eye(3)})
    with pytest.raises(DataError, match="query q0 has 3 documents here and 2"):
        nearest_relations(dataset(["a", "b"]), file)
    with pytest.raises(DataError, match="the query q1 of data is not in this file"):
        nearest_relations(dataset(["a", "b", "c"], ["d"]), file)


def test_links_within_a_query_count_both_ways() -> None:
    pages = [
        Document("a", {"body": "x"}, links=(Link("b"), Link("c"))), Document("b", {"body": "x"}, links=(Link("a"),)),
        Document("c", {"body": "x"}), Document("d", {"body": "x"}),
    ]  # fmt: skip
    web = LinkIndex.of(Collection("small", ("body",), lambda: iter(pages)))
    result = relations_by_links(dataset(["b", "a"], ["c", "d"], ["d", "c", "a"]), web)
    pairs = sorted(zip(result.rows.tolist(), result.columns.tolist(), strict=True))
    assert pairs == [(0, 1), (0, 1), (1, 0), (1, 0), (5, 6), (6, 5)]  # a and b point to each other: twice as strong
    with pytest.raises(DataError, match="small has no page z"):
        relations_by_links(dataset(["a", "z"]), web)
