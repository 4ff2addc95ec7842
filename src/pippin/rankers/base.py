"""Base class of all rankers, early stopping, and checks that training stays finite.

A ranker implements `_fit(train, valid)` on checked data sets, `_predict(features)`, and `_state` / `_restore` for its
model file. Parameters are declared in its class (see `parameters`); learned values are attributes with a trailing
underscore.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pippin.data.dataset import Dataset
from pippin.data.normalisation import detect_version
from pippin.dependencies import require
from pippin.display.terminal import ProgressBar
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Objective
from pippin.models.model import Model
from pippin.rankers.parameters import Estimator, check_types, not_fitted
from pippin.rankers.training_data import (
    check_eval_set,
    check_features,
    check_training_input,
    draw_sample,
    preferences_of,
    query_offsets,
    query_weights,
    unpack_sample,
    weighted_mean,
    with_query_weights,
)
from pippin.registry import Registry, register_class

if TYPE_CHECKING:
    from pippin.rankers.training import TrainingSummary

RANKERS: Registry[type[Ranker]] = Registry("ranker", "pippin.rankers", package="pippin.rankers")
Features = NDArray[np.float64]
R = TypeVar("R", bound="type[Ranker]")
SCORES_DOCUMENTS_TOGETHER = (
    "this model propagates scores along relations between documents, which engines do not support: "
    "train without relations to deploy it"
)
_BLOCK_VALUES = 1 << 20  # float32 values converted to float64 at a time
# Limits of quick experiments for rankers with early stopping.
QUICK_ROUNDS: Mapping[str, int] = {"rounds": 100, "early_stopping_rounds": 25}


def register(name: str) -> Callable[[R], R]:
    """Return a class decorator that registers a ranker.

    Parameters
    ----------
    name : str
        Name of the ranker in commands.

    Returns
    -------
    callable
        The decorator; it returns the class.

    Examples
    --------
    >>> @register("constant")  # doctest: +SKIP
    ... class Constant(Ranker): ...
    """

    def decorate(cls: R) -> R:
        register_class(RANKERS, name, Ranker, cls).add_example()
        return cls

    return decorate


class Ranker(Estimator):
    """A ranking function learned from labelled documents of queries."""

    example = """\
>>> from pippin import Dataset
>>> from {package} import {name}
>>> data = Dataset.from_arrays([[0.1], [0.9], [0.4]], [0, 2, 1], ["q", "q", "q"])
>>> {name}().fit(data).predict(data).shape
(3,)"""
    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # publication of the algorithm
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # parameter values that `select` tries
    small_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # a grid for quick experiments
    small_limits: ClassVar[Mapping[str, int]] = {}  # maximum values of parameters in quick experiments
    cost_ms: ClassVar[float] = 5  # estimated time of a round (or of a fit without rounds) on 3/5 of OHSUMED
    one_standard_error_rule: ClassVar[bool] = (
        False  # `select` prefers the first grid point unless another is better by one standard error
    )
    requires: ClassVar[tuple[str, ...]] = ()  # modules that training imports
    is_iterative: ClassVar[bool] = False  # a validation set selects the number of rounds
    supports_sample_weight: ClassVar[bool] = False  # queries can have weights
    needs_query_groups: ClassVar[bool] = False  # a score depends on the query's other documents
    supports_preferences: ClassVar[bool] = False  # can learn from preference pairs, for example from clicks
    supports_init_score: ClassVar[bool] = False  # training can start from another model's scores

    def is_single_threaded(self, train: Dataset) -> bool:
        """Return whether a fit uses one core and no shared state, so that `select` may run several in parallel.

        Parameters
        ----------
        train : Dataset
            Training set.
        """
        return False

    def use_cache(self, cache: dict[str, Any]) -> None:
        """Use and extend a cache that several fits on the same data share.

        Parameters
        ----------
        cache : dict
            Values by key; the ranker may add its own.
        """

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : array or data frame of shape (documents, features), or Dataset
            Features; a Dataset also has labels and queries, and is passed alone.
        y : array of int, shape (documents,)
            Labels from 0.
        qid : array, shape (documents,)
            Query of each document; the documents of a query are consecutive.
        group : array of int, shape (queries,)
            Instead of qid: the number of documents of each query, as in LightGBM.
        sample_weight : array of float, shape (queries,) or (documents,), optional
            Weight of each query; equal within a query if given by document.
        eval_set : Dataset, (X, y, qid), (X, y) or [(X, y)], optional
            Validation set for early stopping.
        eval_qid, eval_group : array or [array], optional
            Queries of the validation set, as qid or group.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If the input is invalid, no document is relevant, or training diverges.
        MissingDependency
            If a required package is not installed.
        """
        self.check_parameters()
        self.check_packages()
        train = check_training_input(self, X, y, qid, group, reset=True)
        self.n_features_in_ = train.features.shape[1]
        valid = check_eval_set(self, eval_set, eval_qid, eval_group)
        if sample_weight is not None:
            train = with_query_weights(train, sample_weight)
        weights, pairs = query_weights(train), preferences_of(train)
        if pairs is not None and not self.supports_preferences:
            raise DataError(f"{self.name} does not support preference pairs: use lambdamart or ranksvm")
        if pairs is not None and weights is not None:
            raise DataError("preference pairs have their own weights: fit without sample_weight")
        if weights is not None and not self.supports_sample_weight:
            raise DataError(f"{self.name} does not support sample_weight: fit without it")
        if not (train.labels > 0).any():
            raise DataError("no document of the training set is relevant: nothing to learn")
        self.feature_names_ = train.feature_names
        try:
            self.fit_checked(train, valid)
        except BaseException:
            del self.feature_names_  # not fitted
            raise
        self._sample: Dataset | str | None = draw_sample(train)
        self._feature_version = train.version or detect_version(train)
        self._documents_per_query = int(np.diff(train.offsets).max())
        return self

    def fit_checked(self, train: Dataset, valid: Dataset | None) -> None:
        """Fit on validated data sets; infinite or undefined numbers are errors.

        Parameters
        ----------
        train : Dataset
            Training set.
        valid : Dataset or None
            Validation set, if any.
        """
        self.curve_: list[float] = []  # validation measure after each round
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                self._fit(train, valid)
            check_attributes_finite(vars(self))
        except FloatingPointError as error:
            raise non_finite_error(self.name, error, train) from None

    def predict(self, X: Any, *, qid: Any = None, group: Any = None) -> NDArray[np.float64]:
        """Return a score per document; higher is better within a query.

        Parameters
        ----------
        X : array or data frame of shape (documents, features), or Dataset
            Documents to score.
        qid, group : array, optional
            As in `fit`, for rankers that score the documents of a query together (`needs_query_groups`).

        Returns
        -------
        ndarray of float64, shape (documents,)
        """
        self._check_fitted()
        table = check_features(self, X, reset=False)
        return self.scores(table, query_offsets(self, X, len(table), qid, group) if self.needs_query_groups else None)

    def scores(self, features: NDArray[Any], offsets: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Return the scores of a validated table; `offsets` are the query boundaries, if the ranker needs them.

        Parameters
        ----------
        features : ndarray
            Documents × features.
        offsets : ndarray of int64, or None
            Row where each query begins, and the number of rows.
        """
        with np.errstate(all="ignore"):
            if self.needs_query_groups and offsets is not None:
                scores = np.asarray(self._predict_lists(np.asarray(features, np.float64), offsets), np.float64)
            else:
                blocks = _float64_blocks(features)
                scores = np.concatenate([np.asarray(self._predict(block), np.float64) for block in blocks])
        if not np.isfinite(scores).all():
            raise DataError(
                f"{self.name} computes scores that are not finite: check that the features are on the scale of training"
            )
        return scores

    def score(self, X: Any, y: Any = None, *, qid: Any = None, group: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of the ranker's measure (default NDCG@10) over queries, under its convention.

        Parameters
        ----------
        X : Dataset, path or array-like
            Data set, or features as documents × features.
        y : array-like of int, optional
            One label per document; not for a data set.
        qid : array-like, optional
            Query id per document.
        group : array-like of int, optional
            Number of documents per query, instead of `qid`.
        sample_weight : array-like of float, optional
            Weight of each document's query.
        """
        self._check_fitted()
        data = check_training_input(self, X, y, qid, group, reset=False)
        data = data if sample_weight is None else with_query_weights(data, sample_weight)
        measure, convention = getattr(self, "measure", None) or "NDCG@10", getattr(self, "convention", "official")
        judge, scores, weights = Objective(data, measure, convention), self.predict(data), query_weights(data)
        return judge.mean(scores) if weights is None else weighted_mean(judge.values(scores), weights)

    def save(self, path: str | os.PathLike[str], sample: bool = True) -> None:
        """Write the fitted model to a file for `pippin.load`; see `pippin.save`.

        Parameters
        ----------
        path : str or path
            File to write.
        sample : bool, default True
            Whether to store a sample of the training set for `export`.
        """
        from pippin.rankers.models import save

        self._check_fitted()
        save(self, path, sample=sample)

    def export(
        self, to: str, out: str | os.PathLike[str], *, check: Any = None, features: Any = None,
        name: str | None = None, options: Mapping[str, Any] | None = None, require: str = "order",
        force: bool = False,
    ) -> Any:  # fmt: skip
        """Write the model in the format of another engine, with a certificate; see `pippin.export`.

        Parameters
        ----------
        to : str
            Name of a target, such as "solr"; `pippin targets` lists them.
        out : str or path
            File or folder to write.
        check : Dataset or path, optional
            Labelled data for the certificate; by default the sample in the model.
        features : dict or path, optional
            Mapping of feature names, or its file.
        name : str, optional
            Name of the model in the engine.
        options : dict, optional
            Options of the target.
        require : str, default 'order'
            Weakest guarantee to accept.
        force : bool, default False
            Whether to write the model although the certificate fails.
        """
        from pippin.rankers.export import export

        return export(
            self, to, out, check=check, features=features, name=name, options=options, require=require, force=force
        )

    def check_parameters(self) -> None:
        """Raise DataError unless every parameter has a valid type and value."""
        check_types(self.name, self.parameters, vars(self))
        self._check()

    @classmethod
    def check_packages(cls) -> None:
        """Raise MissingDependency unless the required packages are installed."""
        require(f"training {cls.name}", *cls.requires)

    def _check(self) -> None:
        """Raise DataError if a parameter has an invalid value."""

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        raise NotImplementedError

    def _predict(self, features: Features) -> NDArray[np.float64]:
        raise NotImplementedError

    def _predict_lists(self, features: Features, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of whole queries, for rankers with `needs_query_groups`."""
        raise NotImplementedError

    def to_model(self) -> Model:
        """Return what was learned as data: trees, a weighted sum or a neural network.

        Raises
        ------
        DataError
            If the ranker has no such representation, or spreads scores along relations between documents.
        """
        if self.relation_weight_:
            raise DataError(SCORES_DOCUMENTS_TOGETHER)
        self._check_fitted()
        return self._to_model()

    def _to_model(self) -> Model:
        raise DataError(f"{self.name} cannot be exported: it is neither linear, trees nor a network")

    def _state(self) -> dict[str, Any]:
        """Return the learned state as values of JSON and arrays."""
        raise NotImplementedError

    def _restore(self, state: dict[str, Any]) -> None:
        """Restore a state; ValueError, KeyError or TypeError if it is invalid."""
        raise NotImplementedError

    def importance(self) -> dict[str, float]:
        """Return the importance of each feature, by name."""
        raise DataError(f"{self.name} has no feature importance")

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Return the importance of each feature, normalised to sum 1, in the order of the features."""
        self._check_fitted()
        if type(self).importance is Ranker.importance:
            raise AttributeError(f"{self.name} has no feature importance")
        values = np.array(list(self.importance().values()), np.float64)
        total = float(values.sum())
        return values / total if total > 0 else values

    @property
    def sample_(self) -> Dataset | None:
        """Return the stored sample of the training set with which exports are checked, or None."""
        sample: Dataset | str | None = vars(self).get("_sample")
        if isinstance(sample, str):
            sample = self._sample = unpack_sample(sample, self.feature_names_)
        return sample

    @property
    def feature_version_(self) -> str:
        """Return the version of the training data: Feature-null, Feature-min or QueryLevelNorm; "" if unknown."""
        return str(vars(self).get("_feature_version", ""))

    @property
    def documents_per_query_(self) -> int:
        """Return the number of documents of the longest list in the training data; 0 if unknown."""
        return int(vars(self).get("_documents_per_query", 0))

    @property
    def training_summary_(self) -> TrainingSummary:
        """Return the summary of `pippin.train`; AttributeError if the ranker was fitted directly or loaded."""
        try:
            summary: TrainingSummary = vars(self)["_training_summary"]
        except KeyError:
            raise AttributeError(f"this {type(self).__name__} was not trained by pippin.train") from None
        return summary

    @training_summary_.setter
    def training_summary_(self, summary: TrainingSummary) -> None:
        self._training_summary = summary

    @property
    def relation_weight_(self) -> float | None:
        """Return the weight with which scores are propagated along relations (see `relational`), or None."""
        weight: float | None = vars(self).get("_relation_weight")
        return weight

    @relation_weight_.setter
    def relation_weight_(self, weight: float | None) -> None:
        self._relation_weight = weight

    def _check_fitted(self) -> None:
        if "feature_names_" not in vars(self):
            raise not_fitted(self)


def _float64_blocks(table: NDArray[Any]) -> Iterator[Features]:
    """Yield a table as float64; a float32 table in blocks, to limit memory."""
    rows = len(table) if table.dtype == np.float64 else _BLOCK_VALUES // table.shape[1]
    for first in range(0, max(1, len(table)), max(1, rows)):
        yield np.asarray(table[first : first + max(1, rows)], np.float64)


_MAX_EXPONENT = 1023  # the largest label for which 2^label is a finite double
_LARGE = 1e100  # features above this size overflow sums of squares


class NotFinite(FloatingPointError):
    """A value became infinite or NaN; `EarlyStopping` adds the attribute `round_`."""


def check_finite(description: str, *arrays: NDArray[Any]) -> None:
    """Raise NotFinite unless all numbers are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        if all(np.isfinite(array.sum()) or np.isfinite(array).all() for array in arrays):
            return
    raise NotFinite(description)


def check_attributes_finite(learned: Mapping[str, Any]) -> None:
    """Raise NotFinite unless all learned arrays and numbers are finite."""
    for name, value in learned.items():
        if name.endswith("_") and name != "curve_":  # NaN without a validation set
            for array in _arrays(value):
                check_finite(f"the learned attribute {name}", array)


def _arrays(value: Any) -> Iterable[NDArray[Any]]:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield value
    elif isinstance(value, float):
        yield np.array([value])
    elif isinstance(value, list):
        for item in value:
            yield from _arrays(item)


def non_finite_error(name: str, error: FloatingPointError, data: Dataset) -> DataError:
    """Return the error for a training on `data` that diverged."""
    description = str(error) if isinstance(error, NotFinite) else f"a number ({error})"
    round_ = getattr(error, "round_", None)
    when = "before the first round" if round_ is None else f"in round {round_}"
    return DataError(f"{name}: {description} is not finite {when}; {likely_cause(data)}")


def likely_cause(data: Dataset) -> str:
    """Return the probable cause of an overflow on this data."""
    top = int(data.labels.max(initial=0))
    if top > _MAX_EXPONENT:
        return f"the likely cause is label {top}, because 2^{top} overflows: map labels to small grades"
    with np.errstate(invalid="ignore"):
        largest = float(np.nanmax(np.abs(data.features), initial=0.0))
    if largest > _LARGE:
        return f"the likely cause is a feature of size {largest:.3g}: scale the features"
    return "the likely cause is a step that is too long: try a smaller learning_rate or C, or scale the features"


# Whether Ctrl-C ends a fit with KeyboardInterrupt instead of keeping the best round so far.
_PROPAGATE_INTERRUPTS: ContextVar[bool] = ContextVar("propagate_interrupts", default=False)


@contextmanager
def propagate_interrupts() -> Iterator[None]:
    """Let Ctrl-C end fits in this context with KeyboardInterrupt, for rankers that fit several others."""
    token = _PROPAGATE_INTERRUPTS.set(True)
    try:
        yield
    finally:
        _PROPAGATE_INTERRUPTS.reset(token)


class EarlyStopping:
    """A context for the rounds of training: validation, progress bar, Ctrl-C.

    with EarlyStopping(valid, measure, convention, rounds, early_stopping_rounds) as stopping:
        for t in range(rounds):
            …
            if stopping.update(lambda: valid_scores): break
    model = model[: stopping.best + 1]
    """

    def __init__(
        self,
        valid: Dataset | None,
        measure: str,
        convention: str | Convention,
        rounds: int,
        patience: int | None,
        *,
        verbose: bool = False,
        title: str = "training",
        value: Callable[[NDArray[np.float64]], float] | None = None,
    ) -> None:
        """Prepare validation by a measure, or by the `value` of validation scores, which is to be large."""
        self.value = value
        if value is None and valid is not None:
            self.value = Objective(valid, measure, convention).mean
        self.patience = patience
        self.curve: list[float] = []
        self.best = -1  # the round with the best validation value (the last round without a validation set)
        self.best_value = -math.inf
        self.interrupted = False
        self._model: Any = None
        self._rounds, self._title = rounds, title
        self._bar = ProgressBar(rounds, title) if verbose else None
        self._measure = measure

    @classmethod
    def of(
        cls, model: Any, valid: Dataset | None, value: Callable[[NDArray[np.float64]], float] | None = None
    ) -> EarlyStopping:
        """Return the context for the parameters of a ranker or step."""
        stopping = cls(
            valid, model.measure, model.convention, model.rounds, model.early_stopping_rounds, verbose=model.verbose,
            title=model.name, value=value,
        )  # fmt: skip
        stopping._model = model
        return stopping

    def summary(self) -> str:
        """Return how many rounds were kept, and why training stopped."""
        n_rounds, n_kept = len(self.curve), self.best + 1
        rounds = f"kept {n_kept:,} of {n_rounds:,} rounds" if n_kept < n_rounds else f"kept all {n_rounds:,} rounds"
        if self.interrupted:
            return f"{rounds}: training was interrupted"
        if self.patience is not None and self.value is not None and n_rounds - n_kept >= self.patience:
            return f"{rounds}: no better {self._measure} on the validation set in the last {n_rounds - n_kept:,}"
        if n_rounds < self._rounds:
            return f"{rounds}: no further round decreases the training loss"
        return f"{rounds}: the maximum (rounds={self._rounds})"

    def __enter__(self) -> EarlyStopping:
        return self

    def update(self, scores: Callable[[], NDArray[np.float64]]) -> bool:
        """Record a round; `scores` computes the validation scores. Return whether to stop."""
        value = math.nan if self.value is None else self.value(scores())
        if self.value is not None and math.isnan(value):
            raise DataError(f"{self._title}: {self._measure} is undefined for every query of the validation set")
        self.curve.append(value)
        round_ = len(self.curve) - 1
        if self.value is None or value > self.best_value:  # the first if tied
            self.best, self.best_value = round_, value
        if self._bar is not None:
            self._bar.step("" if self.value is None else f"{self._measure} {value:.4f}, best {self.best_value:.4f}")
        return self.value is not None and self.patience is not None and round_ - self.best >= self.patience

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._bar is not None:
            self._bar.close()
        if isinstance(error, FloatingPointError):
            error.__dict__.setdefault("round_", len(self.curve) + 1)
        self.interrupted = kind is KeyboardInterrupt
        if self._model is not None:
            self._model.stopping_ = self.summary()
        if self.interrupted and self.best >= 0 and not _PROPAGATE_INTERRUPTS.get():
            warnings.warn(
                f"{self._title} was interrupted after {len(self.curve)} rounds: the best so far is kept", stacklevel=2
            )
            return True
        return False


def read_number(value: Any) -> float:
    """Return a value of a model file if it is a finite number, as all `read_` functions raise ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def read_numbers(values: Any) -> NDArray[np.float64]:
    """Return a list of finite numbers as an array."""
    if not isinstance(values, list):
        raise ValueError("expected a list of numbers")
    return np.array([read_number(value) for value in values], np.float64)


def read_count(value: Any) -> int:
    """Return a whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a whole number from 0")
    return value


def feature_index(value: Any, names: Sequence[str]) -> int:
    """Return the position of a feature's name."""
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"unknown feature {value!r}")
    return names.index(value)


def read_sign(value: Any) -> int:
    """Return 1 or -1."""
    if isinstance(value, bool) or value not in (1, -1):
        raise ValueError(f"{value!r} is neither 1 nor -1")
    return int(value)


def read_array(value: Any, dtype: DTypeLike, *shape: int) -> NDArray[Any]:
    """Return an array of finite numbers with this type and shape."""
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != shape:
        raise ValueError("an array has another type or shape than the parameters require")
    if not np.isfinite(value).all():
        raise ValueError("a weight is not finite")
    return value
