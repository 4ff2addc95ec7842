"""Base classes of the steps of a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.models.model import Layer, LinearModel, Model, NeuralNetwork, map_features
from pippin.rankers.base import Features, Ranker, feature_index, read_array
from pippin.rankers.linear import LinearRanker, center_features, feature_scales
from pippin.rankers.parameters import Estimator, check_types, not_fitted
from pippin.rankers.training_data import check_eval_set, check_training_input, to_float64_table
from pippin.registry import Registry, register_class

STEPS: Registry[type[Step]] = Registry("step", "pippin.steps", package="pippin.rankers.steps")
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
S = TypeVar("S", bound="type[Step]")


def register(name: str) -> Callable[[S], S]:
    """Return a class decorator that registers a step."""

    def decorate(cls: S) -> S:
        register_class(STEPS, name, Step, cls).add_example()
        return cls

    return decorate


class Step(Estimator):
    """Base class of steps, which precede the ranker in a chain."""

    example = """\
>>> from pippin.rankers import RankSVM, chain
>>> from {package} import {name}
>>> chain({name}(), RankSVM())
chain({name}(), RankSVM())"""
    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # publication of the method
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # parameter values that `select` tries with the ranker's grid
    small_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # a grid for quick experiments
    small_limits: ClassVar[Mapping[str, int]] = {}  # maximum values of parameters in quick experiments
    requires: ClassVar[tuple[str, ...]] = ()  # modules that training imports
    cost_ms: ClassVar[float] = 5  # estimated time of the step itself on 3/5 of OHSUMED
    n_fits_parameter: ClassVar[str | None] = (
        None  # the parameter that says how often the rest is trained, if it is often
    )
    needs_query_groups: ClassVar[bool] = False  # a score depends on the query's other documents
    supports_sample_weight: ClassVar[bool] = True  # query weights reach the next ranker

    @property
    def estimators_(self) -> list[Ranker]:
        """Return the fitted rankers (or chains) after this step."""
        models: list[Ranker] = vars(self)["_models"]
        return models

    @estimators_.setter
    def estimators_(self, models: list[Ranker]) -> None:
        self._models = models

    @classmethod
    def first_parameter(cls) -> str | None:
        """Return the parameter whose name may be omitted in the text of a chain."""
        return next(iter(cls.parameters), None)

    def fit_checked(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        """Fit the step and the next ranker on validated data sets.

        Parameters
        ----------
        train : Dataset
            Training set.
        valid : Dataset or None
            Validation set, if any.
        next_ranker : Ranker
            Ranker that is fitted on the output of the step.
        """
        self.feature_names_ = train.feature_names
        self.n_features_in_ = train.features.shape[1]
        self._fit(train, valid, next_ranker)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the scores of documents; `offsets` are the query boundaries, if they are needed.

        Parameters
        ----------
        features : ndarray
            Documents × features.
        offsets : ndarray of int64, or None
            Row where each query begins, and the number of rows.
        """
        raise NotImplementedError

    def check_parameters(self) -> None:
        """Raise DataError unless every parameter has a valid type and value."""
        check_types(self.name, self.parameters, vars(self))
        self._check()

    def _check(self) -> None:
        """Raise DataError if a parameter has an invalid value."""

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        """Return the learned state as values of JSON and arrays; the chain saves `estimators_`."""
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        """Restore a state; ValueError, KeyError or TypeError if it is invalid."""

    def check_models(self) -> None:
        """Raise ValueError unless the restored `estimators_` have the features of this step's output."""
        if any(model.feature_names_ != self._names() for model in self.estimators_):
            raise ValueError(f"a model after {self.name} has other features")

    def _names(self) -> tuple[str, ...]:
        """Return the names of the features of the next ranker."""
        return self.feature_names_

    def _to_model(self, models: Sequence[Model]) -> Model:
        """Return the model of the chain from those of its `estimators_`; DataError with a reason if there is none."""
        raise DataError(f"a chain with {self.name} cannot be exported: {self._no_model_reason()}")

    def _no_model_reason(self) -> str:
        return "the result is neither linear, trees nor a network"

    def importance(self) -> dict[str, float]:
        """Return the importance of each feature; by default the mean over `estimators_`."""
        tables = [model.importance() for model in self.estimators_]
        return {name: float(np.mean([table[name] for table in tables])) for name in self.feature_names_}

    def describe(self) -> str:
        """Return a sentence about what was learned, or an empty string."""
        return ""


class Transformer(Step):
    """A step that transforms the features of each document; also a scikit-learn transformer."""

    def fit(self, X: Any, y: Any = None, *, qid: Any = None, group: Any = None, eval_set: Any = None) -> Self:
        """Fit the transformation without a ranker; the arguments are those of `Ranker.fit`."""
        self.check_parameters()
        train = check_training_input(self, X, y, qid, group, reset=True)
        self.n_features_in_, self.feature_names_ = train.features.shape[1], train.feature_names
        from pippin.rankers.ranksvm import RankSVM

        self._learn(train, check_eval_set(self, eval_set, None, None), RankSVM())
        return self

    def transform(self, X: Any) -> Any:
        """Return the transformed features: a Dataset for a Dataset, a table for a table."""
        if "feature_names_" not in vars(self):
            raise not_fitted(self)
        if isinstance(X, Dataset):
            return self.transform_dataset(X)
        return self._transform(to_float64_table(self, X, reset=False))

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Fit to X, then transform it."""
        return self.fit(X, y, **options).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the transformed features."""
        return np.array(self._names(), object)

    def transform_dataset(self, data: Dataset) -> Dataset:
        """Return a data set with the transformed features."""
        table = np.ascontiguousarray(self._transform(np.ascontiguousarray(data.features, np.float64)))
        return replace(data, features=table, feature_names=self._names(), lines=None)

    def _fit(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        self._learn(train, valid, next_ranker)
        self.estimators_ = [
            fit_clone(
                next_ranker, self.transform_dataset(train), None if valid is None else self.transform_dataset(valid)
            )
        ]

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """Return the next ranker's scores of the transformed features."""
        return self.estimators_[0].scores(np.ascontiguousarray(self._transform(features)), offsets)

    def _learn(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        """Fit the transformation; `next_ranker` is for steps that evaluate it."""
        raise NotImplementedError

    def _transform(self, features: Features) -> Features:
        raise NotImplementedError


def fit_clone(next_ranker: Ranker, train: Dataset, valid: Dataset | None) -> Ranker:
    """Return a fitted copy of a ranker."""
    return next_ranker.clone().fit(train, eval_set=valid)


class Selector(Transformer):
    """A step that keeps a subset of the features; `order_` has them from best to worst."""

    allow_nan = True

    def _learn(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        order = [int(i) for i in self._choose(train, valid, next_ranker)]
        if not order:
            raise DataError(f"{self.name} keeps no feature of {train.name}")
        self.order_ = order
        self.columns_ = np.sort(np.array(order, np.int64))

    def _choose(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> Sequence[int] | I64:
        """Return the columns of the features to keep, best first."""
        raise NotImplementedError

    def get_support(self, indices: bool = False) -> Any:
        """Return the kept features as in scikit-learn: a mask, or column indices."""
        is_kept = np.zeros(self.n_features_in_, np.bool_)
        is_kept[self.columns_] = True
        return self.columns_.copy() if indices else is_kept

    def _transform(self, features: Features) -> Features:
        return features[:, self.columns_]

    def _names(self) -> tuple[str, ...]:
        return tuple(self.feature_names_[i] for i in self.columns_)

    def _state(self) -> dict[str, Any]:
        return {"kept": [self.feature_names_[i] for i in self.order_]}

    def _restore(self, state: dict[str, Any]) -> None:
        self.order_ = [feature_index(name, self.feature_names_) for name in state["kept"]]
        if not 0 < len(set(self.order_)) == len(self.order_):
            raise ValueError("the kept features are empty or repeated")
        self.columns_ = np.sort(np.array(self.order_, np.int64))

    def _to_model(self, models: Sequence[Model]) -> Model:
        return map_features(models[0], self.feature_names_)

    def importance(self) -> dict[str, float]:
        """Return the importance of kept features in the next ranker; 0 for the others."""
        return dict.fromkeys(self.feature_names_, 0.0) | self.estimators_[0].importance()

    def describe(self) -> str:
        """Return a sentence with the kept features, best first."""
        names = ", ".join(self.feature_names_[i] for i in self.order_)
        return f"{self.name} keeps {len(self.order_)} of {len(self.feature_names_)} features: {names}"


class Projection(Transformer):
    """A step that projects the features: (x − mean) / scale · directions."""

    def _learn(self, train: Dataset, valid: Dataset | None, next_ranker: Ranker) -> None:
        self.mean_, self.scale_, self.directions_ = self._directions(train)

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        """Return mean and scale of each feature, and the matrix [feature, direction]."""
        raise NotImplementedError

    def matrix(self) -> F64:
        """Return the matrix [feature, direction] divided by the scales."""
        product: F64 = self.directions_ / self.scale_[:, None]
        return product

    def _transform(self, features: Features) -> Features:
        product: Features = ((features - self.mean_) / self.scale_) @ self.directions_
        return product

    def _names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{i + 1}" for i in range(self.directions_.shape[1]))

    def _state(self) -> dict[str, Any]:
        return {"mean": self.mean_, "scale": self.scale_, "directions": self.directions_}

    def _restore(self, state: dict[str, Any]) -> None:
        width = len(self.feature_names_)
        directions = state["directions"]
        count = directions.shape[1] if isinstance(directions, np.ndarray) and directions.ndim == 2 else 0
        self.mean_ = read_array(state["mean"], np.float64, width)
        self.scale_ = read_array(state["scale"], np.float64, width)
        self.directions_ = read_array(directions, np.float64, width, count)
        if not count or not (self.scale_ > 0).all():
            raise ValueError("directions are missing, or a scale is not above 0")

    def _to_model(self, models: Sequence[Model]) -> Model:
        """Fold the projection into a linear model or a network; trees cannot split on sums of features."""
        model, names, matrix = models[0], self.feature_names_, self.matrix()
        if any(model.normalisers):
            return super()._to_model(models)
        if isinstance(model, LinearModel):
            weights = matrix @ model.weights
            return LinearModel(names, weights, bias=model.bias + model.start - float(self.mean_ @ weights))
        if isinstance(model, NeuralNetwork):
            first, *other_layers = model.fold_standardisation().layers
            joined = matrix @ first.matrix
            layers = (Layer(joined, first.bias - self.mean_ @ joined, first.activation), *other_layers)
            return NeuralNetwork(names, layers, np.zeros(len(names)), np.ones(len(names)))
        return super()._to_model(models)

    def _no_model_reason(self) -> str:
        return "trees after it split on weighted sums of features, which engines do not support"

    def importance(self) -> dict[str, float]:
        """Return the size of each feature's weight, combining the projection with the next ranker's importance."""
        next_ranker = self.estimators_[0]
        if isinstance(next_ranker, LinearRanker):
            sizes: F64 = np.abs(self.directions_ @ next_ranker.coef_)
        else:
            sizes = np.abs(self.directions_) @ np.array(list(next_ranker.importance().values()))
        return dict(zip(self.feature_names_, sizes.tolist(), strict=True))


def select_features(data: Dataset, columns: Sequence[int] | NDArray[np.int64]) -> Dataset:
    """Return the data set with these features; query weights are kept."""
    column_indices = np.asarray(columns, np.int64)
    names = tuple(data.feature_names[i] for i in column_indices)
    return replace(
        data, features=np.ascontiguousarray(data.features[:, column_indices]), feature_names=names, lines=None
    )


def scaled_importance(model: Ranker, data: Dataset, step_name: str) -> F64:
    """Return the importance of each feature; linear weights are multiplied by deviations within queries."""
    if isinstance(model, LinearRanker):
        sizes: F64 = np.abs(model.coef_) * feature_scales(center_features(data, "query"))
        return sizes
    try:
        return np.array(list(model.importance().values()))
    except DataError:
        raise DataError(
            f"{step_name} needs feature importance, which {model.name} does not have: use ranker=ranksvm"
        ) from None


def make_helper_ranker(name: str, next_ranker: Any, shared: dict[str, Any]) -> Ranker:
    """Return the ranker for a feature selection: the next ranker ("rest"), or one from its text."""
    if name == "rest":
        ranker: Ranker = next_ranker.clone()
        return ranker
    from pippin.rankers import ranker as find
    from pippin.rankers.chains import parse_parameters

    cls = find(name)
    return cls(**{key: value for key, value in {**shared, **parse_parameters(name)}.items() if key in cls.parameters})
