"""Coerce what users pass to `evaluate`: files, dicts, arrays, data frames, objects of other libraries.

Everything after these functions works with `Dataset`, `Qrels`, `Run` and arrays only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard, cast, overload

import numpy as np
from numpy.typing import NDArray

from pippin.data import adapters
from pippin.data.buffers import Buffer, Readable
from pippin.data.dataset import Dataset, grouped_order
from pippin.data.qrels import Qrels, Run
from pippin.data.read import detect_text_format, format_of_path, read_data
from pippin.data.streaming import LazyRun, LineOffsets, is_large, iter_text_chunks
from pippin.errors import DataError

_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow"}
_ORDER = "; pass the judged file first, then the scores or run"
_DETECT_BYTES = 1 << 16  # bytes at the start of a file that show its format


def coerce_judgements(
    x: Any, *, merge_queries: bool = False, missing_value: str = "zero", qid: Any = None, group: Any = None
) -> Dataset | Qrels:
    """Return the data set or judgements that x holds.

    `missing_value` is the value of features that a line of LETOR text omits. With `qid`, the query of each row, or
    `group`, the sizes of the queries, x has one label per row.
    """
    if qid is not None or group is not None:
        return _from_labels(x, qid, group)
    data = _coerce_judgements(x, merge_queries, missing_value)
    if isinstance(data, Run):
        raise DataError(f"expected judgements, but {data.name} is a run")
    return data


def _coerce_judgements(x: Any, merge_queries: bool, missing_value: str) -> Dataset | Qrels | Run:
    if isinstance(x, (Dataset, Qrels, Run)):
        return x
    if (nested := adapters.to_nested(x, "relevance")) is not None:
        return Qrels.from_dict(nested[0], nested[1] or "judgements")
    if _is_path(x):
        data = read_data(x, want="judgements", merge_queries=merge_queries, missing_value=missing_value, hint=_ORDER)
        return cast("Dataset | Qrels | Run", data)
    if _is_frame(x):
        from pippin.data import frames

        return frames.from_frame(x, want="judgements", merge_queries=merge_queries)
    if getattr(x, "ndim", None) == 2:
        rows = np.asarray(x)
        return _from_labels(rows.ravel(), None, np.full(len(rows), rows.shape[1]))
    if getattr(x, "ndim", None) == 1 or (isinstance(x, (list, tuple)) and x and isinstance(x[0], (int, float))):
        raise DataError("labels need qid=, the query of each row, or group=, the sizes of the queries")
    raise DataError(
        "judgements are a LETOR file, qrels, a dict of dicts, lists of document ids or of documents with an id, a "
        "table, labels with qid= or group=, or an array of labels with one row per query; "
        f"found {type(x).__name__}"
    )


def _from_labels(labels: Any, qid: Any, group: Any) -> Dataset:
    """Return a data set without features from one label per row."""
    if isinstance(labels, (Dataset, Qrels, Run, Mapping, str, os.PathLike, Buffer)):
        raise DataError(f"qid and group need one label per row; {type(labels).__name__} has its own queries")
    rows = np.asarray(labels)
    return Dataset.from_arrays(np.empty((len(rows) if rows.ndim else 0, 0)), rows, qid, group=group, name="labels")


@overload
def coerce_scores(
    x: Any, judged: Dataset | Qrels, *, merge_queries: bool = ..., allow_infinite: bool = ...
) -> NDArray[np.float64] | Run: ...
@overload
def coerce_scores(
    x: Any, judged: Dataset | Qrels, *, merge_queries: bool = ..., allow_infinite: bool = ..., lazy: bool
) -> NDArray[np.float64] | Run | LazyRun: ...
def coerce_scores(
    x: Any,
    judged: Dataset | Qrels,
    *,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    lazy: bool = False,
) -> NDArray[np.float64] | Run | LazyRun:
    """Return a run, or one score per document of a `Dataset`.

    With `lazy` a large run for qrels stays in its file and is ranked while it is parsed (`LazyRun`).
    """
    if lazy and isinstance(judged, Qrels) and not merge_queries and _is_large_run(x):
        return LazyRun(x, allow_infinite=allow_infinite)
    scores = _coerce_scores(x, judged, merge_queries, allow_infinite)
    if isinstance(scores, (Dataset, Qrels)):
        raise DataError(f"expected scores or a run, but {scores.name} holds judgements")
    if isinstance(scores, Run) or isinstance(judged, Dataset):
        return scores
    raise DataError(f"{judged.name} holds judgements, which need a run; a list of scores needs a LETOR data set")


def _is_large_run(x: Any) -> bool:
    if not isinstance(x, (str, os.PathLike)) or format_of_path(x) is not None or not is_large(x):
        return False
    chunks = iter_text_chunks(x, len, LineOffsets(), _DETECT_BYTES)
    return next((detect_text_format(chunk) == "run" for chunk in chunks), False)


def _coerce_scores(
    x: Any, judged: Dataset | Qrels, merge_queries: bool, allow_infinite: bool
) -> Dataset | Qrels | Run | NDArray[np.float64]:
    if isinstance(x, (Dataset, Qrels, Run)):
        return x
    if (nested := adapters.to_nested(x, "score")) is not None:
        if adapters.is_list_per_query(x) and len(x) != len(judged.query_ids):
            raise DataError(f"{len(x)} lists of documents for {len(judged.query_ids)} queries; pass one per query")
        return Run.from_dict(nested[0], nested[1] or "run")
    if _is_path(x):
        rows = len(judged) if isinstance(judged, Dataset) else None
        return read_data(
            x, want="scores", merge_queries=merge_queries, allow_infinite=allow_infinite, rows=rows, hint=_ORDER
        )
    if _is_frame(x) and not type(x).__name__.endswith(("Series", "Array")):
        from pippin.data import frames

        return frames.from_frame(x, want="scores", merge_queries=merge_queries, allow_infinite=allow_infinite)
    try:
        scores = np.ascontiguousarray(x, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"scores are numbers, a run, a dict of dicts, a table or a file, not {type(x).__name__}"
        ) from None
    is_row_per_query = scores.shape == (len(judged.query_ids), *set(np.diff(judged.offsets).tolist()))
    if scores.ndim != 1 and not is_row_per_query:
        raise DataError(f"scores are a list of numbers, not a table of shape {scores.shape}")
    return scores.ravel()


def align_rows(
    judgements: Any, scores: Any, qid: Any, y: str | None = None, score: str | None = None
) -> tuple[Any, Any, Any]:
    """Return labels, scores and query ids per row, with the rows of every query contiguous.

    `judgements` is an array of labels and `qid` one of query ids; or `judgements` is a frame, and `y`, `score` and
    `qid` name its columns. Other arguments are returned unchanged.
    """
    if y is not None or score is not None or isinstance(qid, str):
        from pippin.data.frames import read_rows

        judgements, frame_scores, qid = read_rows(judgements, y, score, qid)
        scores = frame_scores if scores is None else scores
        if scores is None:
            raise DataError("no column of scores: name it with score=, or pass the scores as the second argument")
    if qid is None or (order := grouped_order(qid)) is None:
        return judgements, scores, qid
    rows = len(order)

    def arrange(values: Any) -> Any:
        if isinstance(values, Mapping):
            return {name: arrange(value) for name, value in values.items()}
        array = np.asarray(values) if not isinstance(values, (str, os.PathLike, Run, Dataset, Qrels)) else None
        return values if array is None or array.shape != (rows,) else array[order]

    return arrange(judgements), arrange(scores), np.asarray(qid)[order]


def may_hold_scores(path: str) -> bool:
    """Whether a judged file may hold scores too, which LETOR text and qrels cannot."""
    return path == "-" or format_of_path(path) is not None or detect_text_format(path) in ("run", "scores")


def _is_path(x: Any) -> TypeGuard[Readable]:
    return isinstance(x, (str, Path, os.PathLike, Buffer))


def _is_frame(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in _FRAME_LIBRARIES
