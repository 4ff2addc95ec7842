"""What people hand to `fit`, `predict` and `score` as checked data sets: arrays, frames, tables, or a Dataset.

A Dataset and a plain array of numbers are checked here. Whatever else there is, frames and tables above all, goes
through scikit-learn's own validation, which knows them and whose sentences people know.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.data.grouping import offsets_of
from pippin.errors import DataError
from pippin.rankers.parts.preferred import preferences_of, preferred
from pippin.rankers.parts.starts import begun, start_of

if TYPE_CHECKING:
    from pippin.rankers.parts.estimator import Estimator

Features = NDArray[np.float64]
LARGEST_LABEL = 1_000_000  # tables of gains have a place for every label up to the largest


def as_table(model: Estimator, X: Any, reset: bool) -> Features:
    """X as a contiguous float64 table with as many features as in training; `reset` says that this is training."""
    return np.asarray(as_given(model, X, reset), np.float64)


def as_given(model: Estimator, X: Any, reset: bool) -> NDArray[Any]:
    """The same, but float32 stays what it is where X is a Dataset or an array."""
    if isinstance(X, Dataset):
        return _of_dataset(model, X, reset)
    plain = type(X) is np.ndarray and X.dtype.kind in "fiu" and X.ndim == 2 and X.size > 0
    if plain and (reset or "feature_names_in_" not in vars(model)) and (reset or X.shape[1] == _width(model)):
        table = np.ascontiguousarray(X, np.float32 if X.dtype == np.float32 else np.float64)
        if _usable(table, model.takes_null):
            vars(model).pop("feature_names_in_", None)
            return table
    return _validated(model, X, reset)


def _width(model: Estimator) -> int:
    width: int = vars(model)["n_features_in_"]
    return width


def _usable(table: NDArray[Any], takes_null: bool) -> bool:
    """Whether all values are finite, or NULL where that is understood. A sum tells it in one pass, mostly."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(table.sum()):
            return True
    return not np.isinf(table).any() and (takes_null or not np.isnan(table).any())


def _of_dataset(model: Estimator, data: Dataset, reset: bool) -> NDArray[Any]:
    table = np.ascontiguousarray(data.features)
    if reset:
        vars(model).pop("feature_names_in_", None)
    elif table.shape[1] != _width(model):
        raise DataError(f"{data.name} has {table.shape[1]} features, and the model was trained on {_width(model)}")
    if reset and not table.size:
        raise DataError(f"{data.name} has {len(table)} documents with {table.shape[1]} features: nothing to learn from")
    if not _usable(table, model.takes_null):
        bad = np.isinf(table) if model.takes_null else ~np.isfinite(table)
        row, column = (int(i) for i in np.argwhere(bad)[0])
        if np.isnan(table[row, column]):
            raise _refuse_null(model)
        raise DataError(f"feature {data.feature_names[column]} of document {row + 1} of {data.name} is infinite")
    return table


def _refuse_null(model: Any) -> DataError:
    return DataError(
        f"{model.name} cannot take NULL (NaN) features; fill them first, as LETOR does (the query's minimum)"
    )


def _validated(model: Estimator, X: Any, reset: bool) -> Features:
    if find_spec("sklearn") is None:
        return _plain_table(model, X, reset)
    from sklearn.utils.validation import validate_data

    finite = "allow-nan" if model.takes_null else True
    try:
        table = validate_data(model, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=finite)
    except ValueError as error:
        if not model.takes_null and "NaN" in str(error):
            raise _refuse_null(model) from None
        raise
    return np.asarray(table, np.float64)


def _plain_table(model: Estimator, X: Any, reset: bool) -> Features:
    """The same where scikit-learn is not installed."""
    try:
        table = np.ascontiguousarray(X, np.float64)
    except (TypeError, ValueError):
        raise DataError("features are a table of numbers, a row a document") from None
    if table.ndim != 2 or not table.size:
        raise DataError(f"features are a table, a row a document, not of the shape {table.shape}")
    if not reset and table.shape[1] != _width(model):
        raise DataError(f"X has {table.shape[1]} features, and the model was trained on {_width(model)}")
    if not _usable(table, model.takes_null):
        raise DataError("X holds an infinite feature") if not np.isnan(table).any() else _refuse_null(model)
    vars(model).pop("feature_names_in_", None)
    return table


def labelled(model: Estimator, X: Any, y: Any, qid: Any, group: Any, reset: bool) -> Dataset:
    """A data set of checked features, labels and queries."""
    if isinstance(X, Dataset):
        if not (y is None and qid is None and group is None):
            raise DataError("a Dataset brings its labels and queries along; give it alone")
        table = as_table(model, X, reset)
        labels = _sized(X.labels)
        data = Dataset(table, labels, X.offsets, X.query_ids, X.document_ids, X.feature_names, name=X.name)
        pairs, start = preferences_of(X), start_of(X)
        if start is not None:
            return begun(data, start)
        return data if pairs is None else preferred(data, pairs)
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None: labels are needed")
    table = as_table(model, X, reset)
    labels = check_labels(y, len(table))
    offsets, query_ids = offsets_of(len(table), qid=qid, group=group)
    names = tuple(map(str, getattr(model, "feature_names_in_", ())))
    return Dataset(table, labels, offsets, query_ids, None, names)


def query_offsets(model: Any, X: Any, rows: int, qid: Any, group: Any) -> NDArray[np.int64]:
    """Where the queries of X begin and end, for a ranker that scores a query's documents together."""
    if isinstance(X, Dataset):
        return X.offsets
    if qid is None and group is None:
        raise DataError(f"{model.name} scores a query's documents together; give a Dataset, or qid= or group= with X")
    return offsets_of(rows, qid=qid, group=group)[0]


def validation(model: Estimator, eval_set: Any, eval_qid: Any, eval_group: Any) -> Dataset | None:
    """The validation set of any form that scikit-learn's, LightGBM's and XGBoost's users write."""
    if eval_set is None:
        if eval_qid is not None or eval_group is not None:
            raise DataError("eval_qid and eval_group tell the queries of eval_set, which is missing")
        return None
    if isinstance(eval_set, list):
        if len(eval_set) != 1:
            raise DataError(f"eval_set lists {len(eval_set)} sets; one validation set chooses the rounds")
        return validation(model, eval_set[0], _only(eval_qid), _only(eval_group))
    if isinstance(eval_set, Dataset):
        return labelled(model, eval_set, None, eval_qid, eval_group, reset=False)
    if isinstance(eval_set, Sequence) and len(eval_set) == 3 and eval_qid is None and eval_group is None:
        X, y, qid = eval_set
        return labelled(model, X, y, qid, None, reset=False)
    if isinstance(eval_set, Sequence) and len(eval_set) == 2:
        X, y = eval_set
        return labelled(model, X, y, _only(eval_qid), _only(eval_group), reset=False)
    raise DataError("eval_set is a Dataset, (X, y, qid), or (X, y) together with eval_qid or eval_group")


def _only(given: Any) -> Any:
    """The one array of a list of one array, as LightGBM and XGBoost take them; anything else as it is."""
    return given[0] if isinstance(given, list | tuple) and len(given) == 1 and np.ndim(given[0]) == 1 else given


def check_labels(y: Any, rows: int) -> NDArray[np.int32]:
    """Labels as whole numbers from 0 on, one per row."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"{rows} labels are needed in one column, and y has the shape {labels.shape}")
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise DataError("labels are whole numbers; y holds something else (Unknown label type)")
    labels = numbers
    if (labels != np.floor(labels)).any():
        raise DataError(f"labels are whole numbers, and y holds {labels[labels != np.floor(labels)][0]}")
    if (labels < 0).any():
        raise DataError(f"labels are 0 or more, and y holds {labels.min()}")
    return _sized(labels).astype(np.int32)


def _sized(labels: NDArray[Any]) -> NDArray[Any]:
    """The labels, if none is too large for a table of gains."""
    if len(labels) and labels.max() > LARGEST_LABEL:
        raise DataError(
            f"label {labels.max():.0f} is too large to learn from; labels are grades, up to {LARGEST_LABEL:,} at most"
        )
    return labels
