"""A learning-to-rank data set as frozen columns: features, labels and query offsets.

Checked once at birth, read-only after. A slice by queries is again a `Dataset`. Features may be a memory map.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pippin.blocks import Column
from pippin.data.grouping import offsets_of
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.frozen import Frozen
from pippin.kernels.rank import find_duplicate


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, closed for writing (a view, so that the caller's own array stays open)."""
    view = array.view()
    view.flags.writeable = False
    return view


def check_offsets(offsets: NDArray[np.int64], rows: int, queries: int) -> None:
    """Raise unless offsets cut `rows` rows into `queries` stretches."""
    if len(offsets) != queries + 1 or offsets[0] != 0 or offsets[-1] != rows or (np.diff(offsets) < 0).any():
        raise DataError(f"offsets do not cut {rows} rows into {queries} queries")


class Lines(Frozen, eq=False):
    """The text lines a data set was read from, so that writing it again gives the same bytes."""

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class Dataset(Frozen, eq=False):
    """Documents of queries with features and labels. NaN in a feature is LETOR's NULL: no value."""

    features: NDArray[np.floating[Any]]
    labels: NDArray[np.int32]
    offsets: NDArray[np.int64]
    query_ids: tuple[str, ...]
    document_ids: Texts | None = None
    feature_names: tuple[str, ...] = ()
    comments: Texts | None = None
    name: str = "data"
    lines: Lines | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        features: Any = vars(self)["features"]  # as it was given: a mapped column is not looked at here
        if features.ndim != 2 or features.dtype not in (np.float32, np.float64):
            raise DataError(f"features must be a table of float32 or float64, not {features.dtype}{features.shape}")
        rows = len(features)
        if self.labels.dtype != np.int32 or self.labels.shape != (rows,):
            raise DataError(f"labels must be {rows} 32-bit integers")
        if self.offsets.dtype != np.int64:
            raise DataError("offsets must be 64-bit integers")
        check_offsets(self.offsets, rows, len(self.query_ids))
        if len(set(self.query_ids)) != len(self.query_ids):
            raise DataError("a query id stands for two queries")
        if self.document_ids is not None and len(self.document_ids) != rows:
            raise DataError(f"{len(self.document_ids)} document ids for {rows} documents")
        names = self.feature_names or tuple(str(i + 1) for i in range(features.shape[1]))
        if len(names) != features.shape[1]:
            raise DataError(f"{len(names)} feature names for {features.shape[1]} features")
        for key, value in (
            ("features", features if isinstance(features, Column) else read_only(features)),
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
        """A data set from arrays as scikit-learn, LightGBM and XGBoost take them.

        `qid` is the query of each row (a query's rows stand together), or `group` the sizes of the queries. A pandas or
        Polars frame X names the features. float32 stays, all else becomes float64; NaN is NULL.

        >>> Dataset.from_arrays([[1, 0], [0, 1], [1, 1]], [2, 0, 1], qid=["a", "a", "b"])
        Dataset('data': 2 queries, 3 documents, 2 features, float64)
        """
        features = np.asarray(X)
        try:
            features = np.ascontiguousarray(features, np.float32 if features.dtype == np.float32 else np.float64)
        except (TypeError, ValueError):
            raise DataError("features are numbers, and X holds something else") from None
        if features.ndim != 2:
            raise DataError(f"X is a table, a row per document, and not of shape {features.shape}")
        offsets, query_ids = offsets_of(len(features), qid=qid, group=group)
        names = tuple(map(str, feature_names)) or _column_names(X)
        documents = None if document_ids is None else Texts.of(map(str, document_ids))
        data = cls(features, check_labels(y, len(features)), offsets, query_ids, documents, names, name=name)
        if documents is not None and (later := find_duplicate(documents, offsets)[1]) >= 0:
            query = query_ids[int(np.searchsorted(offsets, later, side="right")) - 1]
            raise DataError(f"document {documents.at(later)} stands twice in query {query}")
        return data

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.query_ids)

    def select(self, queries: Sequence[int] | NDArray[np.int64] | slice) -> Dataset:
        """The data set of these queries (by position), in this order."""
        chosen = np.arange(self.queries)[queries]
        sizes = np.diff(self.offsets)[chosen]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        rows: Any = rows_of(self.offsets, chosen)
        if len(rows) and len(rows) == rows[-1] - rows[0] + 1 and (np.diff(rows) == 1).all():
            rows = slice(int(rows[0]), int(rows[-1]) + 1)  # neighbours: a view, so that a memory map stays one
        lines, table = self.lines, vars(self)["features"]
        lazy = isinstance(table, Column) and isinstance(rows, slice)
        table = table.rows(rows.start, rows.stop) if lazy else self.features[rows]
        return Dataset(
            table, self.labels[rows], offsets, tuple(self.query_ids[i] for i in chosen),
            None if self.document_ids is None else self.document_ids[rows],  # type: ignore[arg-type]
            self.feature_names,
            None if self.comments is None else self.comments[rows],  # type: ignore[arg-type]
            self.name,
            None if lines is None else Lines(lines.buffer, lines.starts[rows], lines.ends[rows]),
        )  # fmt: skip

    def qid(self) -> NDArray[np.int64]:
        """The position of each document's query, as scikit-learn and XGBoost want it."""
        return np.repeat(np.arange(self.queries), np.diff(self.offsets))

    def __repr__(self) -> str:
        features = vars(self)["features"]
        return (
            f"Dataset({self.name!r}: {self.queries:,} queries, {len(self):,} documents, "
            f"{features.shape[1]} features, {features.dtype})"
        )


class _Features:
    """The features of a data set; those of a mapped column are verified when they are first looked at."""

    def __get__(self, data: Dataset, kind: type | None = None) -> NDArray[np.floating[Any]]:
        held = vars(data)["features"]
        if isinstance(held, Column):
            held = vars(data)["features"] = read_only(held.whole())
        return cast(NDArray[np.floating[Any]], held)

    def __set__(self, data: Dataset, value: Any) -> None:
        vars(data)["features"] = value


Dataset.features = _Features()  # type: ignore[assignment]  # after `dataclass`, which would take it for a default


def _column_names(X: Any) -> tuple[str, ...]:
    """The names of a frame's columns; arrays have none."""
    columns = getattr(X, "columns", None)
    return () if columns is None else tuple(map(str, columns))


def check_labels(y: ArrayLike, rows: int) -> NDArray[np.int32]:
    """Labels as whole numbers, one per row."""
    try:
        labels = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        raise DataError("labels are whole numbers, and y holds something else") from None
    if labels.shape != (rows,):
        raise DataError(f"{rows} labels are needed in one column, and y has the shape {labels.shape}")
    odd = ~(np.isfinite(labels) & (labels == np.floor(labels)) & (np.abs(labels) < 2**31))
    if odd.any():
        raise DataError(f"labels are whole numbers, and y holds {labels[odd][0]:g}")
    return labels.astype(np.int32)


def rows_of(offsets: NDArray[np.int64], queries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of the listed queries, one after the other."""
    sizes = np.diff(offsets)[queries]
    ends = np.cumsum(sizes)
    rows: NDArray[np.int64] = np.arange(int(sizes.sum())) + np.repeat(offsets[:-1][queries] - (ends - sizes), sizes)
    return rows


def concatenate(parts: Iterable[Dataset]) -> Dataset:
    """Several data sets as one; a query that comes back is taken from the part that has it first.

    Parts with fewer features are filled with 0, as LETOR's sparse text means it.
    """
    seen: set[str] = set()
    fresh: list[Dataset] = []
    for part in parts:
        new = [q for q, query in enumerate(part.query_ids) if query not in seen]
        seen.update(part.query_ids)
        if new:
            fresh.append(part if len(new) == part.queries else part.select(np.array(new, np.int64)))
    if len(fresh) == 1:
        return fresh[0]
    widest = max(fresh, key=lambda part: part.features.shape[1])
    width = widest.features.shape[1]
    features = np.zeros((sum(map(len, fresh)), width), np.result_type(*(part.features for part in fresh)))
    end = 0
    for part in fresh:
        features[end : end + len(part), : part.features.shape[1]] = part.features
        end += len(part)
    sizes = np.concatenate([np.diff(part.offsets) for part in fresh])
    ids = [part.document_ids for part in fresh if part.document_ids is not None]
    return Dataset(
        features, np.concatenate([part.labels for part in fresh]),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), tuple(q for part in fresh for q in part.query_ids),
        _join_texts(ids) if len(ids) == len(fresh) else None, widest.feature_names,
    )  # fmt: skip


def _join_texts(columns: Sequence[Texts]) -> Texts:
    shifts = np.concatenate(([0], np.cumsum([len(column.buffer) for column in columns])))
    return Texts(
        np.concatenate([column.buffer for column in columns]),
        np.concatenate([column.starts + shift for column, shift in zip(columns, shifts[:-1], strict=True)]),
        np.concatenate([column.lengths for column in columns]),
    )
