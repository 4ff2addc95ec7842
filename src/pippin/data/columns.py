"""Tables as ranking data and back: Parquet, CSV, Arrow IPC, pandas, Polars, PyArrow and dicts.

A column is known by its name, whatever its case. Where a table has two names of one row, the first in this list is
taken (PyTerrier's `query` is the text of a query and `qid` its id), and the others are left alone:

    role       names
    query      query_id, qid, queryid, topic_id, topic, query
    document   docno, doc_id, docid, document_id, did, document, doc
    label      label, relevance, rel, grade, judgement, judgment
    score      score, scores, prediction, sim
    comment    comment
    tag        tag, run_id, system
    Where nothing is called a query: user, user_id or userid for it, item, item_id or itemid for a document, rating for
    a label.
    no role    rank, iteration, iter, q0

What a table is follows from its roles: query, label and features (every other column of numbers, or those asked for by
name, or one column of lists called `features`) are a data set, its documents named or not; query, document and label
without features are judgements; query, document and score are a run; a score alone is a list of scores. In a feature
null, NaN and, in CSV, an empty cell, NULL, NA and none are the same: no value. The rows of a query stand together,
unless `merge_queries` allows otherwise. A query without documents has no row, and is not written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.buffers import Readable
from pippin.data.dataset import Dataset
from pippin.data.packing import Data, Scores
from pippin.data.roles import KNOWN, METADATA, ROLES, Roles, find_roles
from pippin.data.tables import Sheet, float_array, form_of, from_texts, read_sheet, sheet_of, to_texts, write_table
from pippin.data.texts import Texts
from pippin.data.trec import Judgements, Run
from pippin.errors import DataError
from pippin.extras import need
from pippin.kernels.rank import find_duplicate

if TYPE_CHECKING:
    import polars


def read_judged(
    path: Readable,
    *,
    form: str | None = None,
    features: Iterable[str] | None = None,
    names: Mapping[str, str] | None = None,
    merge_queries: bool = False,
    dtype: DTypeLike | None = None,
) -> Dataset | Judgements:
    """The data set or judgements in a Parquet, CSV or Arrow file."""
    return _judged(find_roles(read_sheet(path, form), names, features), merge_queries, dtype)


def read_scored(
    path: str | os.PathLike[str],
    *,
    form: str | None = None,
    names: Mapping[str, str] | None = None,
    merge_queries: bool = False,
    allow_infinite: bool = False,
) -> Run | Scores:
    """The run or the list of scores in a Parquet, CSV or Arrow file."""
    return _scored(find_roles(read_sheet(path, form), names), merge_queries, allow_infinite)


def from_frame_judged(
    frame: Any,
    *,
    features: Iterable[str] | None = None,
    names: Mapping[str, str] | None = None,
    merge_queries: bool = False,
    dtype: DTypeLike | None = None,
    name: str = "table",
) -> Dataset | Judgements:
    """The data set or judgements in a data frame, a dict of columns, or a dict of dicts (query, document, label).

    >>> from_frame_judged({"qid": [1, 1, 2], "rel": [0, 2, 1], "bm25": [0.5, 1.5, 1.0]})
    Dataset('table': 2 queries, 3 documents, 1 features, float64)
    """
    if _is_nested(frame):
        return Judgements.of(frame, name)
    return _judged(find_roles(sheet_of(frame, name), names, features), merge_queries, dtype)


def from_frame_scored(
    frame: Any,
    *,
    names: Mapping[str, str] | None = None,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    name: str = "run",
) -> Run | Scores:
    """The run or the scores in a data frame, a dict of columns, or a dict of dicts (query, document, score).

    >>> from_frame_scored({"qid": ["a", "a"], "docno": ["x", "y"], "score": [2, 1]})
    Run('run': 1 queries, 2 documents)
    """
    if _is_nested(frame):
        return Run.of(frame, name)
    return _scored(find_roles(sheet_of(frame, name), names), merge_queries, allow_infinite)


def _is_nested(frame: Any) -> bool:
    return isinstance(frame, Mapping) and all(isinstance(value, Mapping) for value in frame.values())


def read(
    path: str | os.PathLike[str],
    *,
    form: str | None = None,
    scored: bool = False,
    merge_queries: bool = False,
    dtype: DTypeLike | None = None,
) -> Data | Scores:
    """Whatever a table is; where it holds labels and scores, `scored` says which is meant."""
    roles = find_roles(read_sheet(path, form))
    if "score" in roles.named and (scored or "label" not in roles.named):
        return _scored(roles, merge_queries)
    return _judged(roles, merge_queries, dtype)


@dataclass(frozen=True)
class _Groups:
    """The rows of a sheet cut into queries; `order` where rows had to move together."""

    query_ids: tuple[str, ...]
    offsets: NDArray[np.int64]
    order: NDArray[np.int64] | None

    def arrange(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column of the sheet in the order of the queries."""
        return values if self.order is None else values[self.order]

    def texts(self, roles: Roles, role: str) -> Texts | None:
        """The texts of a role in the order of the queries."""
        if role not in roles.named:
            return None
        texts = to_texts(roles.sheet.texts(roles.named[role]))
        return texts if self.order is None else texts.take(self.order)


def _group(roles: Roles, merge_queries: bool) -> _Groups:
    """Cut the rows into queries; a query that comes back is an error unless `merge_queries`."""
    (query,) = roles.need("query")
    names, codes = roles.sheet.distinct(query)
    ids = tuple(names)
    begins = np.concatenate(([0], np.flatnonzero(np.diff(codes)) + 1))
    # Codes count up in the order of first appearance, so stretch i holds query i unless one has come back.
    strays = np.flatnonzero(codes[begins] != np.arange(len(begins)))
    order = None
    if len(strays):
        again = int(begins[strays[0]])
        before = int(np.flatnonzero(codes[:again] == codes[again])[-1])
        if not merge_queries:
            place = roles.sheet.place(before)
            raise roles.sheet.error(
                f"query {ids[codes[again]]} comes back after {place}; merge its rows if that is meant", again
            )
        order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=len(ids))
    return _Groups(ids, np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), order)


def _judged(roles: Roles, merge_queries: bool, dtype: DTypeLike | None) -> Dataset | Judgements:
    sheet = roles.sheet
    roles.need("query", "label")
    names, matrix = _features(roles, dtype)
    groups = _group(roles, merge_queries)
    labels = groups.arrange(_labels(roles))
    documents = _documents(roles, groups)
    if documents is not None and not names:
        return Judgements(groups.query_ids, groups.offsets, documents, labels, sheet.name)
    return Dataset(
        groups.arrange(matrix), labels, groups.offsets, groups.query_ids, documents, names,
        groups.texts(roles, "comment"), sheet.name,
    )  # fmt: skip


def _scored(roles: Roles, merge_queries: bool, allow_infinite: bool = False) -> Run | Scores:
    sheet = roles.sheet
    (column,) = roles.need("score")
    scores = float_array(sheet.numbers(column, "score"))
    odd = np.isnan(scores) if allow_infinite else ~np.isfinite(scores)
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise sheet.error(f"the score is {scores[row]}; a score is a finite number", row)
    if "query" not in roles.named:
        return scores
    groups = _group(roles, merge_queries)
    documents = _documents(roles, groups)
    if documents is None:
        return scores
    tag = sheet.texts(roles.named["tag"])[0].as_py() if "tag" in roles.named else "run"
    return Run(groups.query_ids, groups.offsets, documents, groups.arrange(scores), sheet.name, tag)


def _labels(roles: Roles) -> NDArray[np.int32]:
    """The labels as 32-bit integers; `1.0` is one, `0.5` and a missing label are errors."""
    (column,) = roles.need("label")
    values = float_array(roles.sheet.numbers(column, "label"))
    # NaN and infinity fail the comparison, too.
    whole = (values == np.floor(values)) & (np.abs(values) < 2**31)
    if not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        shown = "there is no label" if np.isnan(values[row]) else f"the label {values[row]:g} is not a whole number"
        raise roles.sheet.error(shown, row)
    return values.astype(np.int32)


def _documents(roles: Roles, groups: _Groups) -> Texts | None:
    """The document ids, if there are any; a document that stands twice in a query is an error."""
    documents = groups.texts(roles, "document")
    if documents is None:
        return None
    earlier, later = find_duplicate(documents, groups.offsets)
    if later >= 0:
        rows = (earlier, later) if groups.order is None else groups.order[[earlier, later]].tolist()
        query = groups.query_ids[int(np.searchsorted(groups.offsets, later, side="right")) - 1]
        raise roles.sheet.error(
            f"document {documents.at(later)} stands twice in query {query}; "
            f"the first time in {roles.sheet.place(rows[0])}",
            rows[1],
        )
    return documents


def _features(roles: Roles, dtype: DTypeLike | None) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Names and values of the features: float32 where every column fits in it, float64 otherwise."""
    from pyarrow import types

    sheet = roles.sheet
    if roles.features is None and "features" in sheet.columns and types.is_nested(sheet.column("features").type):
        return _list_features(sheet, dtype)
    names = roles.features
    if names is None:
        others = [c for c in sheet.columns if c not in roles.named.values() and c.lower().strip() not in KNOWN]
        names = tuple(name for name in others if sheet.is_numeric(name))
    arrays = [sheet.numbers(name, f"feature {name}") for name in names]
    if dtype is None:
        small = [
            a.type.bit_width <= (32 if types.is_floating(a.type) else 16) for a in arrays if not types.is_null(a.type)
        ]
        dtype = np.float32 if small and all(small) else np.float64
    values = [float_array(array, dtype) for array in arrays]
    matrix = np.empty((sheet.table.num_rows, len(names)), dtype)
    for begin in range(0, len(matrix), 8192):  # in stretches of rows that stay in the cache
        for position, column in enumerate(values):
            matrix[begin : begin + 8192, position] = column[begin : begin + 8192]
    return names, matrix


def _list_features(sheet: Sheet, dtype: DTypeLike | None) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Features that stand as one list in each row."""
    from pyarrow import compute, types

    column = sheet.column("features")
    lengths = float_array(compute.list_value_length(column))
    if not (lengths == lengths[0]).all():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise sheet.error(f"{lengths[row]:g} features where the first row has {lengths[0]:g}", row)
    flat = column.flatten()
    if dtype is None:
        dtype = np.float32 if types.is_float32(flat.type) else np.float64
    if not (types.is_floating(flat.type) or types.is_integer(flat.type)):
        raise sheet.error(f"the column 'features' holds {column.type}, and a feature is a number")
    width = int(lengths[0])
    return tuple(str(i + 1) for i in range(width)), float_array(flat, dtype).reshape(len(lengths), width)


def to_arrow(data: Data | Scores) -> Any:
    """Any ranking data as a PyArrow table, with a note in its metadata on which column is what."""
    need("a table of columns (Parquet, CSV, Arrow)", "pyarrow")
    import pyarrow

    arrays: dict[str, Any]
    if isinstance(data, np.ndarray):
        arrays = {"score": pyarrow.array(np.ascontiguousarray(data, np.float64))}
    else:
        queries = pyarrow.array(data.query_ids, pyarrow.large_string())
        rows = np.repeat(np.arange(len(data.query_ids)), np.diff(data.offsets))
        arrays = {"query": queries.take(pyarrow.array(rows))}
        if data.document_ids is not None:
            arrays["document"] = from_texts(data.document_ids)
        if isinstance(data, Run):
            arrays["score"] = pyarrow.array(data.scores)
            arrays["tag"] = pyarrow.array([data.tag] * len(data.scores), pyarrow.large_string())
        else:
            arrays["label"] = pyarrow.array(data.labels)
    if isinstance(data, Dataset) and data.comments is not None:
        arrays["comment"] = from_texts(data.comments)
    named = {role: role for role in arrays}
    if isinstance(data, Dataset):
        for position, name in enumerate(data.feature_names):
            if name in arrays:
                raise DataError(f"two columns would be called {name!r}; give the feature another name")
            arrays[name] = pyarrow.array(np.ascontiguousarray(data.features[:, position]))
    note = json.dumps({"columns": named, "features": [name for name in arrays if name not in named]})
    return pyarrow.table(arrays).replace_schema_metadata({METADATA: note.encode()})


def to_polars(data: Data | Scores) -> polars.DataFrame:
    """Any ranking data as a Polars frame."""
    need("a Polars frame", "polars", "pyarrow")
    import polars

    return polars.DataFrame(to_arrow(data))


def to_pandas(data: Data | Scores) -> Any:
    """Any ranking data as a pandas frame."""
    need("a pandas frame", "pandas", "pyarrow")
    return to_arrow(data).to_pandas()


def write(data: Data | Scores, path: str | os.PathLike[str], form: str | None = None) -> None:
    """Write any ranking data as Parquet, CSV or Arrow IPC, by the ending of the name or as `form` says."""
    form = form or form_of(path)
    if form == "csv" and isinstance(data, Dataset):
        for name in data.feature_names:
            if name.lower().strip() in KNOWN:
                raise DataError(f"the feature {name!r} could not be told from a column of that role in CSV", path)
            if name != name.strip():
                raise DataError(f"the feature {name!r} begins or ends with a blank, which CSV does not keep", path)
    write_table(to_arrow(data), path, form)


__all__ = [
    "ROLES",
    "from_frame_judged",
    "from_frame_scored",
    "read",
    "read_judged",
    "read_scored",
    "to_arrow",
    "to_pandas",
    "to_polars",
    "write",
]
