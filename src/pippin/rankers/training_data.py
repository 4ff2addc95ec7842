"""Validated training input: a Dataset plus optional query weights, initial scores and preference pairs."""

from __future__ import annotations

import base64
import bz2
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.clicks.logs import ClickLog
from pippin.clicks.propensity import WEIGHTED, Preferences, Propensities, preferences
from pippin.clicks.propensity import propensities as estimate
from pippin.data.buffers import Buffer
from pippin.data.dataset import Dataset, offsets_from_groups, offsets_from_sizes, rows_of_queries
from pippin.data.letor import iter_text, read_letor
from pippin.errors import DataError
from pippin.storage.compression import decompress

if TYPE_CHECKING:
    from pippin.rankers.parameters import Estimator

Features = NDArray[np.float64]
LARGEST_LABEL = 1_000_000  # tables of gains have one entry per label


def to_float64_table(model: Estimator, X: Any, reset: bool) -> Features:
    """Return X as a contiguous float64 table with the features of training; with `reset` this is training."""
    return np.asarray(check_features(model, X, reset), np.float64)


def check_features(model: Estimator, X: Any, reset: bool) -> NDArray[Any]:
    """Return X as a contiguous table with the features of training; float32 datasets and arrays are kept."""
    if isinstance(X, Dataset):
        return _check_dataset(model, X, reset)
    plain = type(X) is np.ndarray and X.dtype.kind in "fiu" and X.ndim == 2 and X.size > 0
    if plain and (reset or "feature_names_in_" not in vars(model)) and (reset or X.shape[1] == _width(model)):
        table = np.ascontiguousarray(X, np.float32 if X.dtype == np.float32 else np.float64)
        if _is_usable(table, model.allow_nan):
            vars(model).pop("feature_names_in_", None)
            return table
    return _sklearn_check(model, X, reset)


def _width(model: Estimator) -> int:
    width: int = vars(model)["n_features_in_"]
    return width


def _is_usable(table: NDArray[Any], allow_nan: bool) -> bool:
    """Return whether all values are finite, or NaN if that is allowed; the sum decides most cases in one pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(table.sum()):
            return True
    return not np.isinf(table).any() and (allow_nan or not np.isnan(table).any())


def _check_dataset(model: Estimator, data: Dataset, reset: bool) -> NDArray[Any]:
    table = np.ascontiguousarray(data.features)
    if reset:
        vars(model).pop("feature_names_in_", None)
    elif table.shape[1] != _width(model):
        raise DataError(f"{data.name} has {table.shape[1]} features, but the model was trained on {_width(model)}")
    if reset and not table.size:
        raise DataError(f"{data.name} has {len(table)} documents and {table.shape[1]} features: nothing to learn")
    if not _is_usable(table, model.allow_nan):
        bad = np.isinf(table) if model.allow_nan else ~np.isfinite(table)
        row, column = (int(i) for i in np.argwhere(bad)[0])
        if np.isnan(table[row, column]):
            raise _refuse_null(model)
        raise DataError(f"feature {data.feature_names[column]} of document {row + 1} of {data.name} is infinite")
    return table


def _refuse_null(model: Any) -> DataError:
    return DataError(
        f"{model.name} does not support NULL (NaN) features: fill them first, as LETOR does (the query's minimum)"
    )


def _sklearn_check(model: Estimator, X: Any, reset: bool) -> Features:
    from sklearn.utils.validation import validate_data

    finite = "allow-nan" if model.allow_nan else True
    try:
        table = validate_data(model, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=finite)
    except ValueError as error:
        if not model.allow_nan and "NaN" in str(error):
            raise _refuse_null(model) from None
        raise
    return np.asarray(table, np.float64)


def check_training_input(model: Estimator, X: Any, y: Any, qid: Any, group: Any, reset: bool) -> Dataset:
    """Return a data set of validated features, labels and queries."""
    if isinstance(X, Dataset):
        if not (y is None and qid is None and group is None):
            raise DataError("a Dataset has labels and queries: pass it without y, qid and group")
        table = to_float64_table(model, X, reset)
        labels = _check_label_size(X.labels)
        return replace(X, features=table, labels=labels, comments=None, lines=None)
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None: labels are needed")
    table = to_float64_table(model, X, reset)
    labels = check_labels(y, len(table))
    offsets, query_ids = offsets_from_groups(len(table), qid=qid, group=group)
    names = tuple(map(str, getattr(model, "feature_names_in_", ())))
    return Dataset(table, labels, offsets, query_ids, None, names)


def query_offsets(model: Any, X: Any, rows: int, qid: Any, group: Any) -> NDArray[np.int64]:
    """Return the query boundaries of X, for a ranker that scores the documents of a query together."""
    if isinstance(X, Dataset):
        return X.offsets
    if qid is None and group is None:
        raise DataError(f"{model.name} scores a query's documents together: pass a Dataset, or qid= or group= with X")
    return offsets_from_groups(rows, qid=qid, group=group)[0]


def check_eval_set(model: Estimator, eval_set: Any, eval_qid: Any, eval_group: Any) -> Dataset | None:
    """Return the validation set from any of the forms of scikit-learn, LightGBM and XGBoost."""
    if eval_set is None:
        if eval_qid is not None or eval_group is not None:
            raise DataError("eval_qid and eval_group need eval_set")
        return None
    if isinstance(eval_set, list):
        if len(eval_set) != 1:
            raise DataError(f"eval_set has {len(eval_set)} sets: pass one")
        return check_eval_set(model, eval_set[0], _only(eval_qid), _only(eval_group))
    if isinstance(eval_set, Dataset):
        return check_training_input(model, eval_set, None, eval_qid, eval_group, reset=False)
    if isinstance(eval_set, Sequence) and len(eval_set) == 3 and eval_qid is None and eval_group is None:
        X, y, qid = eval_set
        return check_training_input(model, X, y, qid, None, reset=False)
    if isinstance(eval_set, Sequence) and len(eval_set) == 2:
        X, y = eval_set
        return check_training_input(model, X, y, _only(eval_qid), _only(eval_group), reset=False)
    raise DataError("eval_set must be a Dataset, (X, y, qid), or (X, y) together with eval_qid or eval_group")


def _only(value: Any) -> Any:
    """Return the array in a list of one array, as in LightGBM and XGBoost; other values unchanged."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 and np.ndim(value[0]) == 1 else value


def check_labels(y: Any, rows: int) -> NDArray[np.int32]:
    """Return labels as whole numbers from 0, one per row."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"y must have one column of {rows} labels, got the shape {labels.shape}")
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise DataError("labels must be whole numbers (Unknown label type in y)")
    labels = numbers
    if (labels != np.floor(labels)).any():
        raise DataError(f"labels must be whole numbers, got {labels[labels != np.floor(labels)][0]}")
    if (labels < 0).any():
        raise DataError(f"labels must be 0 or more, got {labels.min()}")
    return _check_label_size(labels).astype(np.int32)


def _check_label_size(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the labels; raise DataError if one is too large for a table of gains."""
    if len(labels) and labels.max() > LARGEST_LABEL:
        raise DataError(f"label {labels.max():.0f} is too large: labels must be grades up to {LARGEST_LABEL:,}")
    return labels


F64 = NDArray[np.float64]


class TrainingSet(Dataset, eq=False):
    """A data set with the optional columns of training, which `select` keeps.

    Parameters
    ----------
    query_weights : array of float64, shape (queries,), optional
        Weight of each query, above 0. None: equal weights.
    init_score : array of float64, shape (documents,), optional
        Initial scores; the model learns the difference to them. None: 0.
    preferences : Preferences, optional
        Pairs of documents to learn from instead of labels.
    """

    query_weights: F64 | None = None
    init_score: F64 | None = None
    preferences: Preferences | None = None

    def select(self, queries: Sequence[int] | NDArray[np.int64] | slice) -> TrainingSet:
        """Return these queries (by position), in this order, with their weights, initial scores and pairs."""
        selected = np.arange(self.queries)[queries]
        rows = rows_of_queries(self.offsets, selected)
        positions = np.full(len(self), -1)
        positions[rows] = np.arange(len(rows))
        return make_training_set(
            super().select(selected),
            query_weights=None if self.query_weights is None else self.query_weights[selected],
            init_score=None if self.init_score is None else self.init_score[rows],
            preferences=None if self.preferences is None else self.preferences.reindex(positions),
        )


def make_training_set(data: Dataset, **columns: Any) -> TrainingSet:
    """Return the data set with additional columns of training.

    >>> data = Dataset(np.zeros((2, 1)), np.zeros(2, np.int32), np.array([0, 1, 2]), ("a", "b"))
    >>> both = make_training_set(make_training_set(data, init_score=np.ones(2)), query_weights=np.array([1.0, 2.0]))
    >>> both.select([1]).query_weights, both.select([1]).init_score
    (array([2.]), array([1.]))
    """
    return TrainingSet(**{column.name: getattr(data, column.name) for column in fields(data)} | columns)


def with_preferences(data: Dataset, preferences: Preferences) -> TrainingSet:
    """Return the data set with pairs instead of labels; documents preferred in some pair get label 1."""
    labels = np.zeros(len(data), np.int32)
    labels[preferences.better] = 1
    return make_training_set(data, labels=labels, lines=None, preferences=preferences)


def from_clicks(
    data: Dataset, log: ClickLog, *, debias: str = "ips", propensities: Any = "em", clip: float = 0.01,
    power: float = 1.0,
) -> TrainingSet:  # fmt: skip
    """Return the documents of a data set with the pairs that a click log prefers; labels are ignored.

    Parameters
    ----------
    data : Dataset
    log : ClickLog
    debias : {"ips", "dr", "pairwise", "naive"}
        See `pippin.clicks.preferences`.
    propensities : {"em", "swaps", "regression"}, array or Propensities
        For ips and dr: the method of estimation, or the values from rank 1.
    clip : float
        For ips and dr: lower bound of propensities.
    power : float
        For pairwise: shrinks the trust in ranks towards 1.
    """
    if debias not in WEIGHTED:
        return with_preferences(data, replace(preferences(log, data, debias), power=power))
    if isinstance(propensities, str):
        propensities = estimate(log, propensities, data=data if propensities == "regression" else None)
    elif not isinstance(propensities, Propensities):
        propensities = Propensities(np.asarray(propensities, np.float64), "given")
    return with_preferences(data, preferences(log, data, debias, propensities, clip))


def preferences_of(data: Dataset) -> Preferences | None:
    """Return the preference pairs, or None if the data has labels."""
    return data.preferences if isinstance(data, TrainingSet) else None


def init_score(data: Dataset | None) -> F64 | None:
    """Return the initial scores, or None."""
    return data.init_score if isinstance(data, TrainingSet) else None


def with_query_weights(data: Dataset, sample_weight: Any) -> Dataset:
    """Return the data set with weights, given by query or by document; queries with weight 0 are left out.

    >>> data = Dataset(np.zeros((3, 1)), np.zeros(3, np.int32), np.array([0, 2, 3]), ("a", "b"))
    >>> query_weights(with_query_weights(data, [2, 2, 5])).tolist(), with_query_weights(data, [0, 1]).query_ids
    ([2.0, 5.0], ('b',))
    """
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight must be numbers") from None
    if weights.shape not in ((len(data),), (data.queries,)):
        raise DataError(
            f"sample_weight has the shape {weights.shape}: give one weight for each of the {data.queries:,} queries, "
            f"or for each of the {len(data):,} documents, equal within a query"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and 0 or more")
    if weights.shape == (len(data),):
        weights = _weights_by_query(data, weights)
    positive = np.flatnonzero(weights)
    if not len(positive):
        raise DataError("every query has weight 0: nothing to learn")
    weighted_data = data if len(positive) == data.queries else data.select(positive)
    return make_training_set(weighted_data, query_weights=weights[positive])


def _weights_by_query(data: Dataset, rows: F64) -> F64:
    """Return weights by query from weights by row, which must be equal within a query."""
    sizes = np.diff(data.offsets)
    by_query = np.zeros(data.queries)
    by_query[sizes > 0] = rows[data.offsets[:-1][sizes > 0]]
    different = np.flatnonzero(np.repeat(by_query, sizes) != rows)
    if len(different):
        query = data.query_ids[int(np.searchsorted(data.offsets, different[0], side="right")) - 1]
        raise DataError(f"sample_weight differs within query {query}: give equal weights to the documents of a query")
    return by_query


def query_weights(data: Dataset) -> F64 | None:
    """Return the weight of each query, or None."""
    return data.query_weights if isinstance(data, TrainingSet) else None


def row_weights(data: Dataset) -> F64 | None:
    """Return the weight of each document's query, or None."""
    weights = query_weights(data)
    return None if weights is None else np.repeat(weights, np.diff(data.offsets))


def total_weight(data: Dataset) -> float:
    """Return the sum of the query weights; without weights, the number of queries."""
    weights = query_weights(data)
    return float(data.queries) if weights is None else float(weights.sum())


def weighted_mean(values: F64, weights: F64) -> float:
    """Return the weighted mean, ignoring NaN; NaN without values."""
    is_number = ~np.isnan(values)
    total = float(weights[is_number].sum())
    return float(values[is_number] @ weights[is_number]) / total if total > 0 else np.nan


MAX_PAIRS = 2_000_000  # of documents that algorithms with a cost per pair use; LETOR's sets have fewer


def sample_documents(data: Dataset, max_pairs: int | None, *, by_label: bool = True) -> Dataset:
    """Return every query with at most c random documents of each label, so that its documents form few pairs.

    c is the largest number for which the queries have at most `max_pairs` pairs of documents in total. A query keeps
    all documents of a rare label, and the frequent ones lose documents, about which others say much the same. Without
    `by_label`, c is a number of documents, whatever their labels.

    >>> data = Dataset.from_arrays(np.arange(6.0)[:, None], [0, 0, 0, 1, 0, 1], qid=[1, 1, 1, 1, 2, 2])
    >>> sample_documents(data, 4).labels.tolist(), sample_documents(data, 2, by_label=False).offsets.tolist()
    ([0, 0, 1, 0, 1], [0, 2, 4])
    """
    query = data.qid()
    labels = data.labels.astype(np.int64) if by_label else np.zeros(len(data), np.int64)
    groups, group, sizes = np.unique(np.stack((query, labels)), axis=1, return_inverse=True, return_counts=True)

    def pairs(limit: int) -> int:
        counts = np.bincount(groups[0], np.minimum(sizes, limit))
        return int((counts * (counts - 1) / 2).sum())

    largest = int(sizes.max(initial=1))
    if max_pairs is None or pairs(largest) <= max_pairs:
        return data
    limit = max(1, bisect_right(range(largest), max_pairs, key=pairs) - 1)
    group = group.ravel()
    order = np.lexsort((np.random.default_rng(_SEED).permutation(len(data)), group))
    position = np.arange(len(data)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = np.sort(order[position < limit])
    start = init_score(data)
    return make_training_set(
        replace(
            data, features=data.features[rows], labels=data.labels[rows], comments=None, lines=None,
            offsets=offsets_from_sizes(np.bincount(query[rows], minlength=data.queries)),
            document_ids=None if data.document_ids is None else data.document_ids.take(rows),
        ),
        query_weights=query_weights(data), init_score=None if start is None else start[rows],
    )  # fmt: skip


def describe_sample(data: Dataset, sample: Dataset) -> str:
    """Return a note about training on a sample of the documents; "" if it has all of them."""
    return (
        ""
        if len(sample) == len(data)
        else f"learned from {len(sample):,} of {len(data):,} documents, to limit the pairs (max_pairs)"
    )


SAMPLE_SIZE = 1000  # maximum number of documents that a model file keeps of the training set
_SEED = 1  # of the choice of queries in the sample
_SAMPLE_NAME = "the sample of its training set"


def draw_sample(data: Dataset, max_documents: int = SAMPLE_SIZE) -> Dataset:
    """Return random complete queries with a limited number of documents; part of a query if none fits.

    >>> data = Dataset.from_arrays(np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1], group=[2, 3, 1])
    >>> draw_sample(data, 4).features.ravel().tolist(), draw_sample(data, 1).offsets.tolist()
    ([0.0, 1.0, 5.0], [0, 1])
    """
    sizes = np.diff(data.offsets)
    random = np.random.default_rng(_SEED)
    selected, remaining = [], max_documents
    for query in random.permutation(data.queries).tolist():
        if 0 < sizes[query] <= remaining:
            selected.append(query)
            remaining -= int(sizes[query])
    if selected:
        return _strip(data.select(np.sort(selected)))
    longest = data.select([int(np.argmax(sizes))])
    rows = np.sort(random.permutation(len(longest))[:max_documents])
    return _strip(Dataset(longest.features[rows], longest.labels[rows], np.array([0, len(rows)]), ("1",)))


def _strip(data: Dataset) -> Dataset:
    """Return a copy with features and labels only; queries are numbered."""
    numbered = tuple(str(i + 1) for i in range(data.queries))
    return Dataset(
        np.array(data.features, np.float64), data.labels.copy(), data.offsets.copy(), numbered, name=_SAMPLE_NAME
    )


def pack_sample(sample: Dataset) -> str:
    """Return a sample as compressed LETOR text for a model file."""
    return base64.b64encode(bz2.compress(b"".join(iter_text(replace(sample, feature_names=()))))).decode()


def unpack_sample(text: str, names: tuple[str, ...]) -> Dataset:
    """Undo `pack_sample`; DataError unless the text is a sample with these features."""
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise DataError(f"damaged: {error}", _SAMPLE_NAME) from None
    plain: Any = np.frombuffer(decompress(memoryview(content), "bzip2", _SAMPLE_NAME), np.uint8)
    data = read_letor(Buffer(plain, _SAMPLE_NAME), features=len(names))
    return replace(_strip(data), feature_names=names)
