"""Rows in any order, data frames and notebooks."""

from __future__ import annotations

import numpy as np
import pandas
import polars
import pytest

import pippin
from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, Run
from pippin.errors import DataError

LABELS, SCORES, QID = [0, 2, 1, 0, 1], [0.4, 0.2, 0.3, 0.1, 0.5], ["b", "a", "b", "a", "b"]
SORTED = [0, 2, 4, 1, 3]  # rows by first appearance of their query


def sorted_rows(values: list[float] | list[int] | list[str]) -> list[object]:
    return [values[row] for row in SORTED]


@pytest.mark.parametrize("as_array", [list, np.asarray])
def test_rows_of_arrays_may_come_in_any_order(as_array: type) -> None:
    expected = pippin.evaluate(sorted_rows(LABELS), sorted_rows(SCORES), ["RR", "NDCG@3"], qid=sorted_rows(QID))
    result = pippin.evaluate(as_array(LABELS), as_array(SCORES), ["RR", "NDCG@3"], qid=as_array(QID))
    assert result.per_query == expected.per_query
    assert list(result.per_query["RR"]) == ["b", "a"]


@pytest.mark.parametrize("to_frame", [dict, pandas.DataFrame, polars.DataFrame])
def test_columns_of_one_frame_are_evaluated_by_name(to_frame: type) -> None:
    frame = to_frame({"query_id": QID, "grade": LABELS, "bm25": SCORES, "length": [3, 4, 5, 6, 7]})
    result = pippin.evaluate(frame, measure="RR", y="grade", score="bm25", qid="query_id")
    assert result.per_query == pippin.evaluate(LABELS, SCORES, "RR", qid=QID).per_query
    with_array = pippin.evaluate(frame, SCORES, "RR", y="grade", qid="query_id")
    assert with_array.mean == result.mean


def test_missing_columns_are_reported() -> None:
    frame = {"query_id": QID, "clicks": LABELS, "bm25": SCORES}
    with pytest.raises(DataError, match="no column of scores"):
        pippin.evaluate(frame, y="clicks", qid="query_id")
    with pytest.raises(DataError, match="no column 'click'; the columns are 'query_id', 'clicks', 'bm25'"):
        pippin.evaluate(frame, y="click", score="bm25", qid="query_id")
    with pytest.raises(DataError, match="no label column"):
        pippin.evaluate(frame, score="bm25", qid="query_id")


def test_a_frame_becomes_a_data_set_and_back() -> None:
    frame = pandas.DataFrame({"topic": ["a", "a", "b"], "grade": [0, 2, 1], "bm25": [0.5, 1.5, 1.0], "pagerank": 1.0})
    data = Dataset.from_frame(frame, y="grade", qid="topic", features=["bm25"], name="mine")
    assert (data.name, data.query_ids, data.feature_names) == ("mine", ("a", "b"), ("bm25",))
    for again in (Dataset.from_frame(data.to_pandas()), Dataset.from_frame(data.to_polars())):
        assert again.features.tolist() == data.features.tolist() == [[0.5], [1.5], [1.0]]
        assert again.labels.tolist() == [0, 2, 1]
    shuffled = frame.iloc[[0, 2, 1]]
    with pytest.raises(DataError, match="the rows of query a are not contiguous"):
        Dataset.from_frame(shuffled, y="grade", qid="topic")
    assert Dataset.from_frame(shuffled, y="grade", qid="topic", merge_queries=True).labels.tolist() == [0, 2, 1]


def test_notebooks_show_the_first_rows() -> None:
    data = Dataset.from_arrays(np.arange(60.0).reshape(30, 2), [0] * 30, group=[30], feature_names=["<a>", "b"])
    html = data._repr_html_()
    assert "Dataset(" in html
    assert "&lt;a&gt;" in html
    assert html.count("<tr>") == 1 + 10
    assert "<td>d1</td>" in Qrels.from_dict({"q": {"d1": 1}})._repr_html_()
    assert Run.from_dict({"q": {"d1": 1.5}}).to_pandas()["score"].tolist() == [1.5]


def test_compare_takes_rows_in_any_order() -> None:
    labels, qid = np.array([1, 0, 1, 0, 1, 0]), np.array([1, 1, 2, 2, 3, 3])
    systems = {"good": np.array([2, 1, 2, 1, 2, 1.0]), "bad": np.array([1, 2, 1, 2, 2, 1.0])}
    order = np.array([3, 0, 5, 2, 1, 4])
    expected = pippin.compare(labels, systems, "RR", "official", qid=qid)
    shuffled = {name: scores[order] for name, scores in systems.items()}
    assert pippin.compare(labels[order], shuffled, "RR", "official", qid=qid[order]).first.means == expected.first.means
