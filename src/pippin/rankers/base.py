"""What all rankers share: checking input, the validation set, saving, and scikit-learn's manners.

A ranker implements `_fit(train, valid)` on checked data sets, `_predict(features)`, and `_state` / `_restore` for its
model file. Parameters live in the constructor, what was learned in attributes with a trailing underscore.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from pippin.data.dataset import Dataset
from pippin.data.grouping import offsets_of
from pippin.errors import DataError, PluginError
from pippin.evaluation.objective import Judge
from pippin.registry import Registry

RANKERS: Registry[type[Ranker]] = Registry("ranker", "pippin.rankers")
Features = NDArray[np.float64]
R = TypeVar("R", bound="type[Ranker]")
# For a first look: rounds are cut where a validation set chooses their number anyway.
QUICK_ROUNDS: Mapping[str, int] = {"rounds": 100, "patience": 25}


def register(name: str) -> Callable[[R], R]:
    """Class decorator: put a ranker on the shelf."""

    def put(cls: R) -> R:
        if not (isinstance(cls, type) and issubclass(cls, Ranker)):
            raise PluginError(f"the ranker {name!r} must be a subclass of Ranker, and {cls!r} is none")
        RANKERS.register(name, cls)
        cls.name = name
        return cls

    return put


def meanings(cls: type[Ranker]) -> dict[str, str]:
    """What each parameter means, as the constructor says beside it: there, and nowhere else."""
    return dict(re.findall(r"^ +self\.(\w+) = \1  # (.+)$", inspect.getsource(cls.__init__), re.MULTILINE))


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A ranking function learned from labelled documents of queries."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # where the algorithm comes from
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # what is tried on validation, as the literature did
    quick_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # the same for a first look: where all hangs on one of them
    quick_limits: ClassVar[Mapping[str, int]] = {}  # what parameters are at most for a first look
    milliseconds: ClassVar[float] = 5  # of a round (of a training, where there are none) on 3/5 of OHSUMED, for a guess
    in_study: ClassVar[bool] = False  # whether the study of conventions trains it (Busa-Fekete et al. 2012)
    takes_null: ClassVar[bool] = False  # whether NaN = NULL is understood
    by_rounds: ClassVar[bool] = False  # whether a validation set chooses the number of rounds
    relation_weight_: float | None = None  # how far scores are spread along relations afterwards, see `relational`

    def fit(self, X: Any, y: Any = None, *, qid: Any = None, eval_set: Any = None) -> Self:
        """Learn from documents X with labels y of queries qid, or from a Dataset alone.

        `eval_set`, a Dataset or (X, y, qid), is the validation set; it chooses the number of rounds.
        """
        train = self._checked(X, y, qid, reset=True)
        valid = None if eval_set is None else self._checked(*_eval_set(eval_set), reset=False)
        if not (train.labels > 0).any():
            raise DataError("no document of the training set is relevant; there is nothing to learn")
        self.feature_names_ = train.feature_names
        self._fit(train, valid)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """A score per document; higher is better within a query."""
        check_is_fitted(self)
        features = self._table(X, reset=False)
        scores = np.asarray(self._predict(features), np.float64)
        if not np.isfinite(scores).all():
            raise DataError(
                f"{self.name} gives scores that are not finite; are the features of the same kind as in training?"
            )
        return scores

    def score(self, X: Any, y: Any = None, *, qid: Any = None) -> float:
        """Mean of the measure (`measure` and `convention` of this ranker, or NDCG@10 and official) over queries."""
        data = self._checked(X, y, qid, reset=False)
        measure, convention = getattr(self, "measure", "NDCG@10"), getattr(self, "convention", "official")
        return Judge(data, measure, convention).mean(self.predict(data))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        raise NotImplementedError

    def _predict(self, features: Features) -> NDArray[np.float64]:
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        """What was learned, as JSON can hold it."""
        raise NotImplementedError

    def _restore(self, state: dict[str, Any]) -> None:
        """Undo `_state`."""
        raise NotImplementedError

    def importance(self) -> dict[str, float]:
        """How much each feature counts, by name."""
        raise DataError(f"{self.name} does not tell the importance of features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_null
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags

    def _table(self, X: Any, reset: bool) -> Features:
        """X as a contiguous float64 table with as many features as in training."""
        if isinstance(X, Dataset):
            X = X.features
        finite = "allow-nan" if self.takes_null else True
        try:
            table = validate_data(self, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=finite)
        except ValueError as error:
            if not self.takes_null and "NaN" in str(error):
                raise DataError(
                    f"{self.name} cannot take NULL (NaN) features; fill them first, as LETOR does (the query's minimum)"
                ) from None
            raise
        return np.asarray(table, np.float64)

    def _checked(self, X: Any, y: Any, qid: Any, reset: bool) -> Dataset:
        """A data set of checked features, labels and queries."""
        if isinstance(X, Dataset):
            names = X.feature_names
            return Dataset(self._table(X, reset), X.labels, X.offsets, X.query_ids, X.document_ids, names, name=X.name)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: labels are needed"
            )
        table = self._table(X, reset)
        labels = check_labels(y, len(table))
        offsets, query_ids = offsets_of(len(table), qid=qid)
        names = tuple(map(str, getattr(self, "feature_names_in_", ())))
        return Dataset(table, labels, offsets, query_ids, None, names)


def _eval_set(given: Any) -> tuple[Any, Any, Any]:
    if isinstance(given, Dataset):
        return given, None, None
    if isinstance(given, Sequence) and len(given) == 1:  # a list of one set, as LightGBM and XGBoost take it
        return _eval_set(given[0])
    if isinstance(given, Sequence) and len(given) == 3:
        return given[0], given[1], given[2]
    raise DataError("eval_set is a Dataset or (X, y, qid)")


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
    if (labels < 0).any():
        raise DataError(f"labels are 0 or more, and y holds {labels.min()}")
    if (labels != np.floor(labels)).any():
        raise DataError(f"labels are whole numbers, and y holds {labels[labels != np.floor(labels)][0]}")
    return labels.astype(np.int32)
