"""Learning-to-rank data sets as frozen columns: features, labels and query offsets.

A data set is validated when it is created and read-only afterwards. Features may be a memory map. The first functions
group rows by query: from lines of text, from one query id per row, or from the sizes of the groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.data.buffers import Buffer
from pippin.dependencies import require
from pippin.errors import DataError, FractionalLabelError
from pippin.kernels.ranking import find_duplicate
from pippin.kernels.strings import StringColumn
from pippin.kernels.text import Segments, line_at
from pippin.records import FrozenRecord
from pippin.storage.blocks import VerifiedArray

if TYPE_CHECKING:
    import polars

I64 = NDArray[np.int64]
_HTML_ROWS, _HTML_COLUMNS = 10, 20  # shown in a notebook


def group_rows(
    buffer: Buffer, segments: Segments, rows: int, merge_queries: bool, errors: str = "replace"
) -> tuple[tuple[str, ...], I64, I64 | None]:
    """Return query ids, offsets, and the order that makes queries contiguous (None: file order).

    Queries are in order of first appearance, rows in file order within a query. `errors` says how invalid UTF-8 is
    decoded.
    """
    text = buffer.data.data
    ids = [
        str(text[start : start + length], "utf-8", errors)
        for start, length in zip(segments.starts.tolist(), segments.lengths.tolist(), strict=True)
    ]
    first: dict[str, int] = {}
    for i, query in enumerate(ids):
        if first.setdefault(query, i) != i and not merge_queries:
            first_line, line = (line_at(buffer.data, int(segments.starts[j])) for j in (first[query], i))
            raise DataError(
                f"the rows of query {query} are not contiguous; it began in line {first_line} "
                "(--merge-queries, in Python merge_queries=True, joins them)",
                buffer.name,
                line,
            )
    sizes = np.diff(np.append(segments.rows, rows))
    if len(first) == len(ids):
        return tuple(ids), np.append(segments.rows, rows), None
    position = {query: i for i, query in enumerate(first)}
    query_of_segment = np.array([position[query] for query in ids], np.int64)
    order = np.argsort(np.repeat(query_of_segment, sizes), kind="stable")
    counts = np.bincount(query_of_segment, weights=sizes, minlength=len(first)).astype(np.int64)
    return tuple(first), offsets_from_sizes(counts), order


def offsets_from_sizes(sizes: ArrayLike) -> I64:
    """Return the offsets of groups with these sizes.

    >>> offsets_from_sizes([2, 0, 1])
    array([0, 2, 2, 3])
    """
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)


def check_duplicate_documents(buffer: Buffer, ids: StringColumn, offsets: I64, query_ids: tuple[str, ...]) -> None:
    """Raise DataError with both lines if a document occurs twice in a query."""
    earlier, later = find_duplicate(ids, offsets)
    if later < 0:
        return
    query = query_ids[int(np.searchsorted(offsets, later, side="right")) - 1]
    lines = [line_at(buffer.data, int(ids.starts[row])) for row in (earlier, later)]
    raise DataError(
        f"document {ids.at(later)} is listed twice in query {query}, first in line {lines[0]}",
        buffer.name,
        lines[1],
    )


def offsets_from_groups(rows: int, *, qid: Any = None, group: Any = None) -> tuple[I64, tuple[str, ...]]:
    """Return offsets and ids of the queries of `rows` rows, from one query id per row or from group sizes.

    The rows of a query are contiguous. Groups, as LightGBM and XGBoost use them, have no ids and are numbered from 1.

    >>> offsets_from_groups(3, qid=[7, 7, 3])
    (array([0, 2, 3]), ('7', '3'))
    >>> offsets_from_groups(3, group=[2, 1])
    (array([0, 2, 3]), ('1', '2'))
    """
    if qid is not None and group is not None:
        raise DataError("qid and group both assign documents to queries; pass only one of them")
    if group is not None:
        return _offsets_from_group_sizes(rows, np.asarray(group))
    if qid is None:
        raise DataError("qid is missing: pass the query of each document as qid, or the sizes of the queries as group")
    ids = np.asarray(qid)
    if ids.shape != (rows,):
        raise DataError(f"{rows} query ids are needed, one per document, and qid has the shape {ids.shape}")
    starts = np.flatnonzero(np.concatenate(([rows > 0], ids[1:] != ids[:-1])))
    names = tuple(map(str, ids[starts].tolist()))
    if len(set(names)) != len(names):
        previous_ids: set[str] = set()
        repeated = next(n for n in names if n in previous_ids or previous_ids.add(n))  # type: ignore[func-returns-value]
        raise DataError(f"the rows of query {repeated} are not contiguous; sort the rows by qid")
    return np.append(starts, rows).astype(np.int64), names


def _offsets_from_group_sizes(rows: int, sizes: NDArray[Any]) -> tuple[I64, tuple[str, ...]]:
    is_whole = sizes.ndim == 1 and sizes.dtype.kind in "iuf" and bool((sizes == np.floor(sizes)).all())
    if not is_whole or not (sizes >= 0).all():
        raise DataError("group is a list of sizes, one whole number of documents per query")
    if float(sizes.sum(dtype=np.float64)) != rows:
        raise DataError(f"the sizes in group add up to {sizes.sum():,.0f}, but there are {rows:,} documents")
    return offsets_from_sizes(sizes), tuple(str(i + 1) for i in range(len(sizes)))


def grouped_order(qid: Any) -> I64 | None:
    """Return the stable order that makes queries contiguous, by first appearance; None if they are.

    >>> grouped_order(["b", "a", "b"]).tolist(), grouped_order([1, 1, 2])
    ([0, 2, 1], None)
    """
    ids = np.asarray(qid)
    if ids.ndim != 1 or not len(ids):
        return None
    _, first, codes = np.unique(ids, return_index=True, return_inverse=True)
    if len(first) == 1 + int((ids[1:] != ids[:-1]).sum()):
        return None
    return np.argsort(first[codes.ravel()], kind="stable")


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_offsets(offsets: NDArray[np.int64], rows: int, queries: int) -> None:
    """Raise unless offsets divide `rows` rows into `queries` groups."""
    if len(offsets) != queries + 1 or offsets[0] != 0 or offsets[-1] != rows or (np.diff(offsets) < 0).any():
        raise DataError(f"the offsets do not divide {rows} rows into {queries} queries")


FEATURE_VERSIONS = ("Feature-null", "Feature-min", "QueryLevelNorm")


def version_of_path(path: Path) -> str:
    """Return the version of the features in a file or folder of LETOR's layout, named by a folder; "" if there is none.

    >>> version_of_path(Path("mine/QueryLevelNorm/Fold1/train.txt")), version_of_path(Path("train.txt"))
    ('QueryLevelNorm', '')
    """
    parts = (*path.resolve().parts, *path.parts)
    return next((part for part in reversed(parts) if part in FEATURE_VERSIONS), "")


class Lines(FrozenRecord, eq=False):
    """The lines of text a data set was read from, so that writing it again gives the same bytes."""

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class FrameConvertible:
    """Conversion of a data set, qrels or a run to data frames and HTML."""

    def to_arrow(self) -> Any:
        """Return a PyArrow table with one row per document.

        Returns
        -------
        pyarrow.Table
            Columns `query`, `document`, `label` or `score`, and the features.
        """
        from pippin.data.columns import to_arrow_table

        return to_arrow_table(self)

    def to_polars(self) -> polars.DataFrame:
        """Return a Polars frame with one row per document.

        Returns
        -------
        polars.DataFrame
            The columns of `to_arrow`.
        """
        require("a Polars frame", "polars")
        import polars

        return polars.DataFrame(self.to_arrow())

    def to_pandas(self) -> Any:
        """Return a pandas frame with one row per document.

        Returns
        -------
        pandas.DataFrame
            The columns of `to_arrow`.
        """
        require("a pandas frame", "pandas")
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        from html import escape

        from pippin.data.columns import to_arrow_table

        table = to_arrow_table(self, _HTML_ROWS)
        names = table.column_names[:_HTML_COLUMNS]
        columns = [[_format_cell(value) for value in table.column(name).to_pylist()] for name in names]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in zip(*columns, strict=True)
        )
        return f"<p>{escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _format_cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


class Dataset(FrameConvertible, FrozenRecord, eq=False):
    """Documents with features and labels, by query.

    Parameters
    ----------
    features : ndarray of float32 or float64, shape (n, f)
        Feature values; NaN is a missing value (LETOR's NULL).
    labels : ndarray of int32, shape (n,)
        Relevance labels.
    offsets : ndarray of int64, shape (q + 1,)
        The rows of query i are ``offsets[i]`` up to ``offsets[i + 1]``.
    query_ids : tuple of str
        Ids of the q queries.
    document_ids : StringColumn, optional
        Ids of the n documents.
    feature_names : tuple of str, optional
        Names of the f features; by default numbers from 1.
    comments : StringColumn, optional
        Text after `#` in LETOR text.
    name : str
        What tables and errors call the data set.
    lines : Lines, optional
        The lines of text it was read from.
    version : str
        Version of the features: "Feature-null", "Feature-min", "QueryLevelNorm", or "" if unknown. Folders of LETOR's
        layout name it.

    Examples
    --------
    >>> data = Dataset.from_arrays([[1, 0], [0, 1], [1, 1]], [2, 0, 1], qid=["a", "a", "b"])
    >>> data
    Dataset('data': 2 queries, 3 documents, 2 features, float64)
    >>> data.select([1]).query_ids
    ('b',)
    """

    features: NDArray[np.floating[Any]]
    labels: NDArray[np.int32]
    offsets: NDArray[np.int64]
    query_ids: tuple[str, ...]
    document_ids: StringColumn | None = None
    feature_names: tuple[str, ...] = ()
    comments: StringColumn | None = None
    name: str = "data"
    lines: Lines | None = field(default=None, repr=False)
    version: str = ""

    def __post_init__(self) -> None:
        features: Any = self.stored_features
        if features.ndim != 2 or features.dtype not in (np.float32, np.float64):
            raise DataError(
                f"features must be a table of float32 or float64, got {features.dtype} of shape {features.shape}"
            )
        rows = len(features)
        if self.labels.dtype != np.int32 or self.labels.shape != (rows,):
            raise DataError(f"labels must be {rows} 32-bit integers")
        if self.offsets.dtype != np.int64:
            raise DataError("offsets must be 64-bit integers")
        check_offsets(self.offsets, rows, len(self.query_ids))
        if len(set(self.query_ids)) != len(self.query_ids):
            raise DataError("two queries have the same id")
        if self.document_ids is not None and len(self.document_ids) != rows:
            raise DataError(f"{len(self.document_ids)} document ids for {rows} documents")
        names = self.feature_names or tuple(str(i + 1) for i in range(features.shape[1]))
        if len(names) != features.shape[1]:
            raise DataError(f"{len(names)} feature names for {features.shape[1]} features")
        if isinstance(features, VerifiedArray):  # read and verified when `features` is first used
            vars(self)["_mapped_features"] = vars(self).pop("features")
        else:
            object.__setattr__(self, "features", read_only(features))
        for key, value in (
            ("labels", read_only(self.labels)),
            ("offsets", read_only(self.offsets)),
            ("feature_names", names),
        ):
            object.__setattr__(self, key, value)

    @classmethod
    def from_arrays(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        document_ids: Iterable[str] | None = None,
        feature_names: Sequence[str] = (),
        name: str = "data",
    ) -> Dataset:
        """Create a data set from arrays as scikit-learn, LightGBM and XGBoost use them.

        Parameters
        ----------
        X : array-like, shape (n, f)
            Features; float32 stays, everything else becomes float64. The columns of a data frame name the features.
        y : array-like, shape (n,)
            Labels, whole numbers.
        qid : array-like, shape (n,), optional
            The query of each row; the rows of a query are contiguous.
        group : array-like, shape (q,), optional
            The sizes of the queries, instead of `qid`.
        document_ids : iterable of str, optional
            Ids of the documents, unique within a query.
        feature_names : sequence of str, optional
            Names of the features.
        name : str
            What tables and errors call the data set.

        Returns
        -------
        Dataset
            A validated copy of the arrays.

        Raises
        ------
        DataError
            If shapes do not match, labels are not whole numbers, or a query is not contiguous.

        Examples
        --------
        >>> Dataset.from_arrays([[1, 0], [0, 1], [1, 1]], [2, 0, 1], qid=["a", "a", "b"])
        Dataset('data': 2 queries, 3 documents, 2 features, float64)
        """
        features = np.asarray(X)
        try:
            features = np.ascontiguousarray(features, np.float32 if features.dtype == np.float32 else np.float64)
        except (TypeError, ValueError):
            raise DataError("X must hold numbers only") from None
        if features.ndim != 2:
            raise DataError(f"X must be a table with a row per document, and has the shape {features.shape}")
        offsets, query_ids = offsets_from_groups(len(features), qid=qid, group=group)
        columns = getattr(X, "columns", ())
        names = tuple(map(str, feature_names)) or tuple(map(str, columns))
        documents = None if document_ids is None else StringColumn.of(map(str, document_ids))
        data = cls(features, check_labels(y, len(features)), offsets, query_ids, documents, names, name=name)
        if documents is not None and (later := find_duplicate(documents, offsets)[1]) >= 0:
            query = query_ids[int(np.searchsorted(offsets, later, side="right")) - 1]
            raise DataError(f"document {documents.at(later)} is listed twice in query {query}")
        return data

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        y: str | None = None,
        qid: str | None = None,
        *,
        features: Iterable[str] | None = None,
        document: str | None = None,
        merge_queries: bool = False,
        name: str = "data",
    ) -> Dataset:
        """Create a data set from a data frame.

        Parameters
        ----------
        frame : data frame
            pandas, Polars, PyArrow, a dict of columns, or anything that exports Arrow.
        y : str, optional
            The column of labels; by default recognised by name, such as `label` or `relevance`.
        qid : str, optional
            The column of query ids; by default recognised by name, such as `qid` or `query_id`.
        features : iterable of str, optional
            The columns of features; by default all numeric columns without another role.
        document : str, optional
            The column of document ids; by default recognised by name, such as `docno` or `doc_id`.
        merge_queries : bool, default False
            Join the rows of a query that are not contiguous. Rows then change places: scores for `evaluate` must be
            in the order of the data set, not of the frame.
        name : str, default "data"
            What tables and errors call the data set.

        Returns
        -------
        Dataset
            One document per row.

        Raises
        ------
        DataError
            If a column is missing or invalid, or a query is not contiguous.

        Examples
        --------
        >>> frame = {"query": ["a", "a", "b"], "clicks": [0, 2, 1], "bm25": [0.5, 1.5, 1.0]}
        >>> data = Dataset.from_frame(frame, y="clicks", qid="query", features=["bm25"])
        >>> data.labels.tolist(), data.feature_names
        ([0, 2, 1], ('bm25',))
        """
        from pippin.data.arrow_table import table_from_frame
        from pippin.data.columns import find_roles, group_by_query, read_documents, read_features, read_labels

        names = {role: column for role, column in (("label", y), ("query", qid), ("document", document)) if column}
        roles = find_roles(table_from_frame(frame, name), names, features)
        roles.require("query", "label")
        feature_names, matrix = read_features(roles, None)
        groups = group_by_query(roles, merge_queries)
        return cls(
            groups.arrange(matrix), groups.arrange(read_labels(roles)), groups.offsets, groups.query_ids,
            read_documents(roles, groups), feature_names, groups.strings(roles, "comment"), name,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.labels)

    def __getattr__(self, name: str) -> Any:
        if name != "features" or "_mapped_features" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        features = read_only(vars(self)["_mapped_features"].read_verified())
        object.__setattr__(self, "features", features)
        return features

    @property
    def stored_features(self) -> NDArray[np.floating[Any]] | VerifiedArray:
        """The features, or the mapped file that holds them if they have not been read yet."""
        stored: dict[str, NDArray[np.floating[Any]] | VerifiedArray] = vars(self)
        return stored["features"] if "features" in stored else stored["_mapped_features"]

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    def select(self, queries: Sequence[int] | NDArray[np.int64] | slice) -> Dataset:
        """Return the data set of some queries.

        Parameters
        ----------
        queries : sequence of int or slice
            Positions of the queries, in the new order.

        Returns
        -------
        Dataset
            A view if the queries are neighbours, so that a memory map stays one.
        """
        selected = np.arange(self.queries)[queries]
        offsets = offsets_from_sizes(np.diff(self.offsets)[selected])
        rows: Any = rows_of_queries(self.offsets, selected)
        if len(rows) and len(rows) == rows[-1] - rows[0] + 1 and (np.diff(rows) == 1).all():
            rows = slice(int(rows[0]), int(rows[-1]) + 1)
        lines, table = self.lines, self.stored_features
        features: Any
        if isinstance(table, VerifiedArray) and isinstance(rows, slice):
            features = table.rows(rows.start, rows.stop)
        else:
            features = self.features[rows]
        return Dataset(
            features, self.labels[rows], offsets, tuple(self.query_ids[i] for i in selected),
            None if self.document_ids is None else self.document_ids[rows],  # type: ignore[arg-type]
            self.feature_names,
            None if self.comments is None else self.comments[rows],  # type: ignore[arg-type]
            self.name,
            None if lines is None else Lines(lines.buffer, lines.starts[rows], lines.ends[rows]),
            self.version,
        )  # fmt: skip

    def qid(self) -> NDArray[np.int64]:
        """Return the position of each document's query, as scikit-learn and XGBoost expect it."""
        return np.repeat(np.arange(self.queries), np.diff(self.offsets))

    def __repr__(self) -> str:
        features: Any = self.stored_features
        return (
            f"Dataset({self.name!r}: {self.queries:,} queries, {len(self):,} documents, "
            f"{features.shape[1]} features, {features.dtype})"
        )


def check_labels(y: ArrayLike, rows: int) -> NDArray[np.int32]:
    """Return y as int32, or raise unless it holds one whole number per row."""
    try:
        labels = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise DataError("y must hold whole numbers only") from None
    if labels.shape != (rows,):
        raise DataError(f"{rows} labels are needed in one column, and y has the shape {labels.shape}")
    is_invalid = ~(np.isfinite(labels) & (labels == np.floor(labels)) & (np.abs(labels) < 2**31))
    if is_invalid.any():
        raise FractionalLabelError(
            f"labels are whole numbers, and y holds {labels[is_invalid][0]:g}; number the grades from 0 "
            "and set their gains, as in gain=0,0.5,1"
        )
    return labels.astype(np.int32)


def rows_of_queries(offsets: NDArray[np.int64], queries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of these queries, one query after another."""
    sizes = np.diff(offsets)[queries]
    ends = np.cumsum(sizes)
    rows: NDArray[np.int64] = np.arange(int(sizes.sum())) + np.repeat(offsets[:-1][queries] - (ends - sizes), sizes)
    return rows


def concatenate(parts: Iterable[Dataset]) -> Dataset:
    """Join data sets; a repeated query is taken from the first part that has it.

    Parts with fewer features are filled with 0, the value of omitted features in LETOR text.
    """
    previous_ids: set[str] = set()
    new_parts: list[Dataset] = []
    for part in parts:
        new = [q for q, query in enumerate(part.query_ids) if query not in previous_ids]
        previous_ids.update(part.query_ids)
        if new:
            new_parts.append(part if len(new) == part.queries else part.select(np.array(new, np.int64)))
    if len(new_parts) == 1:
        return new_parts[0]
    widest = max(new_parts, key=lambda part: part.features.shape[1])
    width = widest.features.shape[1]
    features = np.zeros((sum(map(len, new_parts)), width), np.result_type(*(part.features for part in new_parts)))
    end = 0
    for part in new_parts:
        features[end : end + len(part), : part.features.shape[1]] = part.features
        end += len(part)
    ids = [part.document_ids for part in new_parts if part.document_ids is not None]
    return Dataset(
        features, np.concatenate([part.labels for part in new_parts]),
        offsets_from_sizes(np.concatenate([np.diff(part.offsets) for part in new_parts])),
        tuple(query for part in new_parts for query in part.query_ids),
        _join_strings(ids) if len(ids) == len(new_parts) else None, widest.feature_names,
    )  # fmt: skip


def _join_strings(columns: Sequence[StringColumn]) -> StringColumn:
    shifts = np.concatenate(([0], np.cumsum([len(column.buffer) for column in columns])))
    return StringColumn(
        np.concatenate([column.buffer for column in columns]),
        np.concatenate([column.starts + shift for column, shift in zip(columns, shifts[:-1], strict=True)]),
        np.concatenate([column.lengths for column in columns]),
    )
