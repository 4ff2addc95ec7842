"""Ranking data in Parquet, CSV and Arrow IPC files and in data frames; `columns.py` finds the roles of the columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.arrow_table import (
    SourceTable,
    float_array,
    read_table,
    table_from_frame,
    write_table,
)
from pippin.data.buffers import Readable, table_format
from pippin.data.columns import (
    KNOWN_COLUMNS,
    ColumnRoles,
    find_roles,
    group_by_query,
    read_documents,
    read_features,
    read_label_values,
    read_labels,
)
from pippin.data.dataset import Dataset
from pippin.data.qrels import Qrels, RankingData, Run, Scores
from pippin.errors import DataError

if TYPE_CHECKING:
    pass


class FrameOptions(TypedDict, total=False):
    """Options of `read_frame` and `from_frame`."""

    features: Iterable[str] | None
    names: Mapping[str, str] | None
    merge_queries: bool
    dtype: DTypeLike | None
    allow_infinite: bool
    name: str


@overload
def read_frame(
    path: Readable, format: str | None = None, *, want: Literal["judgements"], **options: Unpack[FrameOptions]
) -> Dataset | Qrels: ...
@overload
def read_frame(
    path: Readable, format: str | None = None, *, want: Literal["scores"], **options: Unpack[FrameOptions]
) -> Run | Scores: ...
@overload
def read_frame(
    path: Readable, format: str | None = None, *, want: str, **options: Unpack[FrameOptions]
) -> RankingData: ...
def read_frame(path: Readable, format: str | None = None, *, want: str, **options: Unpack[FrameOptions]) -> RankingData:
    """Read a Parquet, CSV or Arrow file; `want` is judgements, scores, or any: labels before scores."""
    return _convert(read_table(path, format), want, options)


@overload
def from_frame(frame: Any, *, want: Literal["judgements"], **options: Unpack[FrameOptions]) -> Dataset | Qrels: ...
@overload
def from_frame(frame: Any, *, want: Literal["scores"], **options: Unpack[FrameOptions]) -> Run | Scores: ...
def from_frame(frame: Any, *, want: str, **options: Unpack[FrameOptions]) -> RankingData:
    """Convert a data frame or a dict of columns to judgements or scores.

    >>> from_frame({"qid": [1, 1, 2], "rel": [0, 2, 1], "bm25": [0.5, 1.5, 1.0]}, want="judgements")
    Dataset('table': 2 queries, 3 documents, 1 features, float64)
    >>> from_frame({"qid": ["a", "a"], "docno": ["x", "y"], "score": [2, 1]}, want="scores")
    Run('run': 1 queries, 2 documents)
    """
    return _convert(table_from_frame(frame, options.get("name", "run" if want == "scores" else "table")), want, options)


def _convert(table: SourceTable, want: str, options: FrameOptions) -> RankingData:
    roles = find_roles(table, options.get("names"), options.get("features"))
    merge_queries = options.get("merge_queries", False)
    has_only_scores = "score" in roles.columns and "label" not in roles.columns
    if want == "scores" or (want == "any" and has_only_scores):
        return _read_scores(roles, merge_queries, options.get("allow_infinite", False))
    return _read_judgements(roles, merge_queries, options.get("dtype"))


def _read_judgements(roles: ColumnRoles, merge_queries: bool, dtype: DTypeLike | None) -> Dataset | Qrels:
    roles.require("query", "label")
    names, matrix = read_features(roles, dtype)
    groups = group_by_query(roles, merge_queries)
    labels = groups.arrange(read_labels(roles))
    documents = read_documents(roles, groups)
    if documents is not None and not names:
        return Qrels(groups.query_ids, groups.offsets, documents, labels, roles.table.name)
    return Dataset(
        groups.arrange(matrix), labels, groups.offsets, groups.query_ids, documents, names,
        groups.strings(roles, "comment"), roles.table.name,
    )  # fmt: skip


def _read_scores(roles: ColumnRoles, merge_queries: bool, allow_infinite: bool) -> Run | NDArray[np.float64]:
    table = roles.table
    (column,) = roles.require("score")
    scores = float_array(table.numbers(column, "score"))
    invalid = np.isnan(scores) if allow_infinite else ~np.isfinite(scores)
    if invalid.any():
        row = int(np.flatnonzero(invalid)[0])
        raise table.error(f"the score is {scores[row]}; a score is a finite number", row)
    if "query" not in roles.columns:
        return scores
    groups = group_by_query(roles, merge_queries)
    documents = read_documents(roles, groups)
    if documents is None:
        return groups.arrange(scores)
    tag = table.strings(roles.columns["tag"])[0].as_py() if "tag" in roles.columns else "run"
    return Run(groups.query_ids, groups.offsets, documents, groups.arrange(scores), table.name, tag)


def to_arrow(data: RankingData) -> Any:
    """Return ranking data as a PyArrow table; scores have one column."""
    import pyarrow

    if isinstance(data, np.ndarray):
        return pyarrow.table({"score": np.ascontiguousarray(data, np.float64)})
    return data.to_arrow()


def read_rows(
    frame: Any, y: str | None = None, score: str | None = None, qid: str | None = None
) -> tuple[NDArray[np.float64], Scores | None, NDArray[Any]]:
    """Return the labels, the scores (None without such a column) and the query id of each row."""
    names = {role: name for role, name in (("label", y), ("score", score), ("query", qid)) if name is not None}
    roles = find_roles(table_from_frame(frame), names, ())
    (query, _) = roles.require("query", "label")
    scores = None
    if "score" in roles.columns:
        scores = float_array(roles.table.numbers(roles.columns["score"], "score"))
    ids, codes = roles.table.distinct(query)
    return read_label_values(roles), scores, np.array(ids)[codes]


def split_labels(source: Any) -> tuple[Any, str, NDArray[np.float64]]:
    """Return a frame or a file as a PyArrow table, the name of its column of labels, and the labels as numbers."""
    table = read_table(source) if isinstance(source, (str, os.PathLike)) else table_from_frame(source)
    roles = find_roles(table, None, None)
    return table.table, roles.columns["label"], read_label_values(roles)


def write_frame(data: RankingData, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write ranking data as Parquet, CSV or Arrow IPC, by default by the file extension."""
    format = format or table_format(path)
    if format == "csv" and isinstance(data, Dataset):
        for name in data.feature_names:
            if name.lower().strip() in KNOWN_COLUMNS:
                raise DataError(f"a feature of a CSV file cannot have the reserved name {name!r}; rename it", path)
            if name != name.strip():
                raise DataError(f"the feature {name!r} begins or ends with a blank, which CSV does not keep", path)
    write_table(to_arrow(data), path, format)
