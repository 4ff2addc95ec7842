"""The roles of table columns: which one is the query, the document, the label, the score or a feature.

A column is recognised by its name, in any case. If several columns have names of the same role, the first name in this
list is used (PyTerrier's `query` is the text of a query and `qid` its id) and the others are ignored:

    role       names
    query      query_id, qid, queryid, topic_id, topic, query
    document   docno, doc_id, docid, document_id, did, document, doc
    label      label, relevance, rel, grade, judgement, judgment
    score      score, scores, prediction, sim
    comment    comment
    tag        tag, run_id, system
    no role    rank, iteration, iter, q0
    Without a query column: user, user_id or userid for the query, item, item_id or itemid for the document, rating for
    the label.

The roles determine what a table is. Query, label and features (all other numeric columns, or the named ones, or one
column of lists called `features`) are a data set, with or without document ids. Query, document and label without
features are judgements; query, document and score are a run; a score alone is a list of scores. Null, NaN and, in CSV,
an empty cell, NULL, NA and none are missing feature values. The rows of a query are contiguous unless `merge_queries`
is set. A query without documents has no row and is not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.arrow_table import SourceTable, float_array, from_string_column, to_string_column
from pippin.errors import DataError, FractionalLabelError
from pippin.kernels.ranking import find_duplicate
from pippin.kernels.strings import StringColumn

COLUMN_ALIASES = {
    "query": ("query_id", "qid", "queryid", "topic_id", "topic", "query"),
    "document": ("docno", "doc_id", "docid", "document_id", "did", "document", "doc"),
    "label": ("label", "relevance", "rel", "grade", "judgement", "judgment"),
    "score": ("score", "scores", "prediction", "sim"),
    "comment": ("comment",),
    "tag": ("tag", "run_id", "system"),
    "": ("rank", "iteration", "iter", "q0"),
}
# Names of recommender systems, used if no column has a query name.
RECOMMENDER_ALIASES = {
    "query": ("user", "user_id", "userid"),
    "document": ("item", "item_id", "itemid"),
    "label": ("rating",),
}
KNOWN_COLUMNS = {name for names in COLUMN_ALIASES.values() for name in names}
METADATA = b"pippin"  # key in a file's metadata whose value maps roles to columns
_ROWS_PER_BLOCK = 8192  # rows copied at once, so that a block stays in the cache


@dataclass(frozen=True)
class ColumnRoles:
    """The column of each role in a table."""

    table: SourceTable
    columns: dict[str, str]
    features: tuple[str, ...] | None

    def require(self, *roles: str) -> list[str]:
        """Return the columns of these roles, or raise DataError with the columns of the table."""
        for role in roles:
            if role not in self.columns:
                names = ", ".join(COLUMN_ALIASES[role] + RECOMMENDER_ALIASES.get(role, ()))
                columns = ", ".join(map(repr, self.table.columns))
                raise self.table.error(f"no {role} column (known names: {names}); the columns are {columns}")
        return [self.columns[role] for role in roles]


def find_roles(
    table: SourceTable, names: Mapping[str, str] | None = None, features: Iterable[str] | None = None
) -> ColumnRoles:
    """Find the role of each column: from `names`, from the file's metadata, or from the known names."""
    columns = table.columns
    if len(set(columns)) < len(columns):
        repeated = next(name for name in columns if columns.count(name) > 1)
        raise table.error(f"two columns have the name {repeated!r}")
    lowered = {name.lower().strip(): name for name in reversed(columns)}
    by_role = _match_aliases(lowered, COLUMN_ALIASES)
    by_role.pop("", None)
    if "query" not in by_role:
        by_role = _match_aliases(lowered, RECOMMENDER_ALIASES) | by_role
    metadata = _read_metadata(table)
    if metadata is not None:
        by_role, features = dict(metadata["columns"]), features or metadata["features"]
    for role, name in (names or {}).items():
        if role not in COLUMN_ALIASES or not role:
            raise DataError(f"unknown role {role!r}; the roles are {', '.join(filter(None, COLUMN_ALIASES))}")
        by_role[role] = name
    feature_names = None if features is None else tuple(features)
    for name in (*by_role.values(), *(feature_names or ())):
        if name not in columns:
            raise table.error(f"no column {name!r}; the columns are {', '.join(map(repr, columns))}")
    return ColumnRoles(table, by_role, feature_names)


def _match_aliases(lowered: Mapping[str, str], aliases: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    matches = {role: [lowered[name] for name in names if name in lowered] for role, names in aliases.items()}
    return {role: columns[0] for role, columns in matches.items() if columns}


def _read_metadata(table: SourceTable) -> dict[str, Any] | None:
    """Return the roles that Pippin wrote, unless columns have been removed since."""
    try:
        metadata = json.loads((table.table.schema.metadata or {})[METADATA])
        columns = {*metadata["columns"].values(), *metadata["features"]}
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
    return metadata if columns <= set(table.columns) else None


@dataclass(frozen=True)
class Groups:
    """The rows of a table by query; `order` is None if the rows are contiguous."""

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    order: NDArray[np.int64] | None

    def arrange(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a column in the order of the queries."""
        return values if self.order is None else values[self.order]

    def strings(self, roles: ColumnRoles, role: str) -> StringColumn | None:
        """Return the strings of a role in the order of the queries."""
        if role not in roles.columns:
            return None
        strings = to_string_column(roles.table.strings(roles.columns[role]))
        return strings if self.order is None else strings.take(self.order)


def group_by_query(roles: ColumnRoles, merge_queries: bool) -> Groups:
    """Group the rows by query."""
    (query,) = roles.require("query")
    names, codes = roles.table.distinct(query)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1))
    # Codes count up in order of first appearance, so group i holds query i unless a query comes back.
    returning = np.flatnonzero(codes[starts] != np.arange(len(starts)))
    order = None
    if len(returning):
        row = int(starts[returning[0]])
        if not merge_queries:
            previous = int(np.flatnonzero(codes[:row] == codes[row])[-1])
            raise roles.table.error(
                f"the rows of query {names[codes[row]]} are not contiguous; it was last seen in "
                f"{roles.table.describe_row(previous)} (--merge-queries, in Python merge_queries=True, joins them)",
                row,
            )
        order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=len(names))
    return Groups(tuple(names), np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), order)


def read_label_values(roles: ColumnRoles) -> NDArray[np.float64]:
    """Return the labels as numbers; raise for one that is missing."""
    (column,) = roles.require("label")
    values = float_array(roles.table.numbers(column, "label"))
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise roles.table.error("the label is missing", int(missing[0]))
    return values


def read_labels(roles: ColumnRoles) -> NDArray[np.int32]:
    """Return the labels; raise for one that is missing or not a whole number."""
    values = read_label_values(roles)
    is_label = (values == np.floor(values)) & (np.abs(values) < 2**31)  # false for infinity
    if not is_label.all():
        row = int(np.flatnonzero(~is_label)[0])
        raise roles.table.error(f"the label {values[row]:g} is not a whole number", row, FractionalLabelError)
    return values.astype(np.int32)


def read_documents(roles: ColumnRoles, groups: Groups) -> StringColumn | None:
    """Return the document ids, if there are any; raise for a duplicate within a query."""
    documents = groups.strings(roles, "document")
    if documents is None:
        return None
    earlier, later = find_duplicate(documents, groups.offsets)
    if later >= 0:
        rows = (earlier, later) if groups.order is None else groups.order[[earlier, later]].tolist()
        query = groups.query_ids[int(np.searchsorted(groups.offsets, later, side="right")) - 1]
        first = roles.table.describe_row(rows[0])
        raise roles.table.error(
            f"document {documents.at(later)} is listed twice in query {query}, first in {first}", rows[1]
        )
    return documents


def read_features(roles: ColumnRoles, dtype: DTypeLike | None) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Return names and values of the features: float32 if every column fits, else float64."""
    from pyarrow import types

    table = roles.table
    if roles.features is None and "features" in table.columns and types.is_nested(table.column("features").type):
        return _list_features(table, dtype)
    names = roles.features
    if names is None:
        used = set(roles.columns.values())
        candidates = [c for c in table.columns if c not in used and c.lower().strip() not in KNOWN_COLUMNS]
        names = tuple(name for name in candidates if table.is_numeric(name))
    arrays = [table.numbers(name, f"feature {name}") for name in names]
    if dtype is None:
        is_small = [
            array.type.bit_width <= (32 if types.is_floating(array.type) else 16)
            for array in arrays
            if not types.is_null(array.type)
        ]
        dtype = np.float32 if is_small and all(is_small) else np.float64
    columns = [float_array(array, dtype) for array in arrays]
    matrix = np.empty((table.table.num_rows, len(names)), dtype)
    for start in range(0, len(matrix), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        for position, column in enumerate(columns):
            matrix[rows, position] = column[rows]
    return names, matrix


def _list_features(table: SourceTable, dtype: DTypeLike | None) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Return the features of a column with one list per row."""
    from pyarrow import compute, types

    column = table.column("features")
    lengths = float_array(compute.list_value_length(column))
    if not (lengths == lengths[0]).all():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise table.error(f"{lengths[row]:g} features, but the first row has {lengths[0]:g}", row)
    values = column.flatten()
    if dtype is None:
        dtype = np.float32 if types.is_float32(values.type) else np.float64
    if not (types.is_floating(values.type) or types.is_integer(values.type)):
        raise table.error(f"the column 'features' holds {column.type}; features are numbers")
    width = int(lengths[0])
    return tuple(str(i + 1) for i in range(width)), float_array(values, dtype).reshape(len(lengths), width)


def to_arrow_table(data: Any, rows: int | None = None) -> Any:
    """Return a data set, qrels or a run as a PyArrow table whose metadata maps roles to columns.

    With `rows`, only the first rows are converted.
    """
    import pyarrow

    stop = int(data.offsets[-1]) if rows is None else min(rows, int(data.offsets[-1]))
    query_of_row = np.repeat(np.arange(len(data.query_ids)), np.diff(np.minimum(data.offsets, stop)))
    queries = pyarrow.array(data.query_ids, pyarrow.large_string())
    arrays: dict[str, Any] = {"query": queries.take(pyarrow.array(query_of_row))}
    if data.document_ids is not None:
        arrays["document"] = from_string_column(data.document_ids.slice(0, stop))
    if hasattr(data, "scores"):
        arrays["score"] = pyarrow.array(data.scores[:stop])
        arrays["tag"] = pyarrow.array([data.tag] * stop, pyarrow.large_string())
    else:
        arrays["label"] = pyarrow.array(data.labels[:stop])
    if getattr(data, "comments", None) is not None:
        arrays["comment"] = from_string_column(data.comments.slice(0, stop))
    columns = {role: role for role in arrays}
    for position, name in enumerate(getattr(data, "feature_names", ())):
        if name in arrays:
            raise DataError(f"the feature {name!r} has the name of another column; rename it")
        arrays[name] = pyarrow.array(np.ascontiguousarray(data.features[:stop, position]))
    metadata = json.dumps({"columns": columns, "features": [name for name in arrays if name not in columns]})
    return pyarrow.table(arrays).replace_schema_metadata({METADATA: metadata.encode()})
