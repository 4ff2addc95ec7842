"""Coerce what users pass to `evaluate`: files, dicts, arrays, data frames, objects of other libraries.

Everything after these functions works with `Dataset`, `Qrels`, `Run` and arrays only.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeGuard, cast, overload

import numpy as np
from numpy.typing import NDArray

from pippin.data import adapters
from pippin.data.buffers import TABLE_FORMATS, Buffer, Readable
from pippin.data.dataset import Dataset, grouped_order
from pippin.data.qrels import Qrels, Run
from pippin.data.read import detect_text_format, format_of_path, read_data
from pippin.data.streaming import LazyRun, LineOffsets, is_large, iter_text_chunks
from pippin.errors import DataError, FractionalLabelError, PippinError

_FRAME_LIBRARIES = {"pandas", "polars", "pyarrow"}
_ORDER = "; pass the judged file first, then the scores or run"
_DETECT_BYTES = 1 << 16  # bytes at the start of a file that show its format


class Predictor(Protocol):
    """A fitted model of Pippin, scikit-learn, LightGBM, XGBoost, CatBoost or another library."""

    def predict(self, X: Any, /) -> Any:
        """Return a score per row."""


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


def coerce_graded(
    x: Any, *, qid: Any = None, group: Any = None, merge_queries: bool = False
) -> tuple[Dataset | Qrels, NDArray[np.float64] | None]:
    """Return the data set or judgements that x holds, and the values of its labels if they are fractional.

    Fractional labels are numbered from 0 in increasing order; the second result has the value of each number.
    """
    x = list(x) if hasattr(x, "__next__") else x
    try:
        return coerce_judgements(x, qid=qid, group=group, merge_queries=merge_queries), None
    except FractionalLabelError:
        numbered = _number_fractions(x)
        if numbered is None or (numbered[1] == np.floor(numbered[1])).all():  # a form without support, or 2^31 or more
            raise
        return coerce_judgements(numbered[0], qid=qid, group=group, merge_queries=merge_queries), numbered[1]


def _number_fractions(x: Any) -> tuple[Any, NDArray[np.float64]] | None:
    """Return judgements with numbered labels, and the value of each number; None for forms without this support."""
    format = format_of_path(x) if isinstance(x, (str, os.PathLike)) else None
    nested = (
        adapters.read_json(x, "relevance") if format == "json" else (adapters.to_nested(x, "relevance") or (None,))[0]
    )
    if nested is not None:
        labels = np.array([label for labels in nested.values() for label in labels.values()], np.float64)
        numbers, values = _number_labels(labels)
        following = iter(numbers.tolist())
        return {query: {document: next(following) for document in labels} for query, labels in nested.items()}, values
    if _is_frame(x) or format in TABLE_FORMATS:
        from pippin.data import frames

        table, column, labels = frames.split_labels(x)
        numbers, values = _number_labels(labels)
        return table.set_column(table.column_names.index(column), column, [numbers]), values
    return None if _is_path(x) else _number_labels(np.asarray(x, np.float64))


def _number_labels(labels: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the position of each label among the distinct ones, and these."""
    if not np.isfinite(labels).all() or labels.min() < 0:
        raise DataError("labels that are not whole numbers must be finite and 0 or more")
    values, numbers = np.unique(np.append(labels.ravel(), 0.0), return_inverse=True)  # 0: of unjudged documents
    return numbers[:-1].reshape(labels.shape), values


@overload
def coerce_scores(
    x: Any, judgements: Dataset | Qrels, *, merge_queries: bool = ..., allow_infinite: bool = ...
) -> NDArray[np.float64] | Run: ...
@overload
def coerce_scores(
    x: Any, judgements: Dataset | Qrels, *, merge_queries: bool = ..., allow_infinite: bool = ..., lazy: bool
) -> NDArray[np.float64] | Run | LazyRun: ...
def coerce_scores(
    x: Any,
    judgements: Dataset | Qrels,
    *,
    merge_queries: bool = False,
    allow_infinite: bool = False,
    lazy: bool = False,
) -> NDArray[np.float64] | Run | LazyRun:
    """Return a run, or one score per document of a `Dataset`.

    A model scores the documents of a `Dataset`. With `lazy` a large run for qrels stays in its file and is ranked while
    it is parsed (`LazyRun`).
    """
    if is_predictor(x):
        if not isinstance(judgements, Dataset) or not judgements.feature_names:
            raise DataError(
                f"{judgements.name} has no features that a {type(x).__name__} could score: pass a LETOR data set"
            )
        return predict_scores(x, judgements)
    if lazy and isinstance(judgements, Qrels) and not merge_queries and _is_large_run(x):
        return LazyRun(x, allow_infinite=allow_infinite)
    scores = _coerce_scores(x, judgements, merge_queries, allow_infinite)
    if isinstance(scores, (Dataset, Qrels)):
        raise DataError(f"expected scores or a run, but {scores.name} holds judgements")
    if isinstance(scores, Run) or isinstance(judgements, Dataset):
        return scores
    raise DataError(f"{judgements.name} holds judgements, which need a run; a list of scores needs a LETOR data set")


def _is_large_run(x: Any) -> bool:
    return isinstance(x, (str, os.PathLike)) and is_large(x) and _start_of_run(x) is not None


def run_tag(path: str | os.PathLike[str]) -> str | None:
    """Return the tag of a TREC run: the last column of its first line. None for other files and standard input."""
    start = _start_of_run(path) if Path(path).is_file() else None
    if start is None:
        return None
    rows = (line.split() for line in start.data.tobytes().splitlines() if not line.startswith(b"#"))
    return next((row[-1].decode("utf-8", "replace") for row in rows if row), None)


def _start_of_run(path: str | os.PathLike[str]) -> Buffer | None:
    """Return the first part of a file, or None if it is not a TREC run."""
    if format_of_path(path) is not None:
        return None
    start = next(iter_text_chunks(path, len, LineOffsets(), _DETECT_BYTES), None)
    return start if start is not None and detect_text_format(start) == "run" else None


def _coerce_scores(
    x: Any, judgements: Dataset | Qrels, merge_queries: bool, allow_infinite: bool
) -> Dataset | Qrels | Run | NDArray[np.float64]:
    if isinstance(x, (Dataset, Qrels, Run)):
        return x
    if (nested := adapters.to_nested(x, "score")) is not None:
        if adapters.is_list_per_query(x) and len(x) != len(judgements.query_ids):
            raise DataError(f"{len(x)} lists of documents for {len(judgements.query_ids)} queries; pass one per query")
        return Run.from_dict(nested[0], nested[1] or "run")
    if _is_path(x):
        rows = len(judgements) if isinstance(judgements, Dataset) else None
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
            f"scores must be numbers, a run, a dict of dicts, a table or a file, got {type(x).__name__}"
        ) from None
    is_row_per_query = scores.shape == (len(judgements.query_ids), *set(np.diff(judgements.offsets).tolist()))
    if scores.ndim != 1 and not is_row_per_query:
        raise DataError(f"scores are a list of numbers, not a table of shape {scores.shape}")
    return scores.ravel()


def is_predictor(x: Any) -> TypeGuard[Predictor]:
    """Return whether this is a model, as an object."""
    return callable(getattr(x, "predict", None)) and not isinstance(x, type)


def predict_scores(model: Predictor, data: Any) -> NDArray[np.float64]:
    """Return the scores that a model of any library gives to the rows of a `Dataset` or a table.

    The features of a `Dataset` are matched by name if it has all names of the model; otherwise their number must be
    that of the model. The score of a classifier of two classes is its decision function or the probability of the
    second class, because classes are ties.
    """
    kind = type(model).__name__
    if hasattr(model, "to_model"):  # a ranker of Pippin
        return np.asarray(model.predict(data), np.float64)
    table = _model_table(model, data) if isinstance(data, Dataset) else data
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*valid feature names.*", UserWarning)
        try:
            result = np.asarray(_score_function(model)(table), np.float64)
        except PippinError:
            raise
        except Exception as error:  # of the library, whose exceptions have no common type
            raise DataError(f"{kind} cannot score these documents: {error}") from error
    if result.ndim == 2 and result.shape[1] == 2 and hasattr(model, "classes_"):
        result = result[:, 1]
    result = result.reshape(-1) if result.ndim == 2 and result.shape[1] == 1 else result
    if result.shape != (len(table),):
        raise DataError(f"{kind} has several outputs, here of shape {result.shape}: a ranking needs one score per row")
    if not np.isfinite(result).all():
        raise DataError(f"{kind} computes scores that are not finite")
    return result


def _score_function(model: Any) -> Any:
    """Return the function that scores a table with a model."""
    if type(model).__module__.startswith("xgboost") and type(model).__name__ == "Booster":
        return model.inplace_predict
    n_classes = len(getattr(model, "classes_", ()))  # none in CatBoost's regressors and rankers
    if not n_classes:
        return model.predict
    if n_classes != 2:
        raise DataError(f"{type(model).__name__} has {n_classes} classes: rank with a regressor or a ranker")
    function = getattr(model, "decision_function", None) or getattr(model, "predict_proba", None)
    if function is None:
        raise DataError(f"{type(model).__name__} has neither a decision function nor probabilities to rank by")
    return function


def _model_table(model: Any, data: Dataset) -> NDArray[Any]:
    """Return the features of a model, in its order."""
    names = _names_of_features(model)
    if names and set(names) <= set(data.feature_names):
        if names == data.feature_names:
            return data.features
        position = {name: i for i, name in enumerate(data.feature_names)}
        return data.features[:, [position[name] for name in names]]
    if names and len(names) != len(data.feature_names):
        raise DataError(
            f"{data.name} has {len(data.feature_names)} features; {type(model).__name__} needs {len(names)}"
        )
    return data.features


def _names_of_features(model: Any) -> tuple[str, ...]:
    """Return the names of a model's features; empty if it does not say them."""
    for attribute in ("feature_names_in_", "feature_name_", "feature_names_", "feature_names", "feature_name"):
        try:
            names = getattr(model, attribute, None)
        except Exception:  # XGBoost raises its own where a model has no names
            continue
        names = names() if callable(names) else names
        if isinstance(names, (list, tuple, np.ndarray)) and len(names):
            return tuple(map(str, names))
    return ()


def _holds_models(x: Any) -> bool:
    values = x.values() if isinstance(x, Mapping) else x if isinstance(x, Sequence) and not isinstance(x, str) else [x]
    return len(values) > 0 and all(map(is_predictor, values))


def align_rows(
    judgements: Any, scores: Any, qid: Any, y: str | None = None, score: str | None = None
) -> tuple[Any, Any, Any]:
    """Return labels, scores and query ids per row, with the rows of every query contiguous.

    `judgements` is an array of labels and `qid` one of query ids; or `judgements` is a frame, and `y`, `score` and
    `qid` name its columns. Models come before or after the data. Other arguments are returned unchanged.
    """
    if scores is not None and _holds_models(judgements):
        judgements, scores = scores, judgements
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
    """Return whether a judged file may hold scores too, which LETOR text and qrels cannot."""
    return path == "-" or format_of_path(path) is not None or detect_text_format(path) in ("run", "scores")


def _is_path(x: Any) -> TypeGuard[Readable]:
    return isinstance(x, (str, Path, os.PathLike, Buffer))


def _is_frame(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in _FRAME_LIBRARIES
