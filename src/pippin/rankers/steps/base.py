"""What all steps share: a step learns from the training part, hands data on to the rest of its chain, and is saved.

`_fit(train, valid, rest)` is a step's whole work: `rest` is the unfitted remainder of the chain (a ranker, or another
chain), of which it fits as many copies as it wants and keeps them in `models_`. Most steps are less than that:

- a `Transformer` makes other features of the features: `_learn`, then `_transform` row by row;
- a `Selector` keeps some of them: `_choose` gives their columns;
- a `Projection` makes weighted sums: `_directions` gives a matrix.

A step whose scores depend on the query's other documents says so with `whole_queries`, and gets the queries' offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.forms.form import Form, Layer, Linear, Network
from pippin.rankers.base import Features, Ranker
from pippin.rankers.imported import placed
from pippin.rankers.parts.estimator import Estimator, not_fitted
from pippin.rankers.parts.inputs import as_table, labelled, validation
from pippin.rankers.parts.linear import LinearRanker
from pippin.rankers.parts.parameters import check_kinds
from pippin.rankers.parts.states import array_of, place
from pippin.registry import Registry, register_class

if TYPE_CHECKING:
    from pippin.rankers.composing import Chain

STEPS: Registry[type[Step]] = Registry("step", "pippin.steps")
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
S = TypeVar("S", bound="type[Step]")


def register(name: str) -> Callable[[S], S]:
    """Class decorator: put a step on the shelf."""

    return lambda cls: register_class(STEPS, name, Step, cls)


class Step(Estimator):
    """What stands before a ranker in a chain."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # where the method comes from
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # what is tried on validation, together with the ranker's grid
    quick_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}  # the same for a first look
    quick_limits: ClassVar[Mapping[str, int]] = {}  # what parameters are at most for a first look
    needs: ClassVar[tuple[str, ...]] = ()  # modules beyond the base install that training imports
    milliseconds: ClassVar[float] = 5  # of its own work on 3/5 of OHSUMED, for a guess
    trainings: ClassVar[str | None] = None  # the parameter that says how often the rest is trained, if it is often
    whole_queries: ClassVar[bool] = False  # whether a score depends on the query's other documents
    takes_weights: ClassVar[bool] = True  # whether weights of queries reach the rest

    @property
    def models_(self) -> list[Ranker]:
        """The rests of the chain that were fitted."""
        models: list[Ranker] = vars(self)["_models"]
        return models

    @models_.setter
    def models_(self, models: list[Ranker]) -> None:
        self._models = models

    @classmethod
    def first_parameter(cls) -> str | None:
        """The parameter that needs no name where a chain is written."""
        return next((key.removesuffix("_") for key in cls.parameters), None)

    def __rshift__(self, rest: Step | Ranker | Chain) -> Any:
        """`GAS(k=20) >> RankSVM()` is the chain of both."""
        from pippin.rankers.composing import chain

        return chain(self, rest) if isinstance(rest, Ranker) else Unfinished([self, rest])

    def learn(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        """Learn from data sets that are checked, and fit the rest of the chain."""
        self.feature_names_ = train.feature_names
        self.n_features_in_ = train.features.shape[1]
        self._fit(train, valid, rest)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The chain's scores of documents; `offsets` tells their queries where somebody asks for them."""
        raise NotImplementedError

    def check_parameters(self) -> None:
        """Raise unless every parameter is of its type, and all of them make sense."""
        check_kinds(self.name, self.parameters, vars(self))
        self._check()

    def _check(self) -> None:
        """Raise where a parameter has a value without meaning."""

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        """What the step itself learned, as JSON and arrays hold it; `models_` are kept by the chain."""
        return {}

    def _restore(self, state: dict[str, Any]) -> None:
        """Undo `_state`; ValueError, KeyError or TypeError where this is no such state."""

    def check_models(self) -> None:
        """Raise ValueError unless the restored `models_` take the features that this step gives them."""
        if any(model.feature_names_ != self._names() for model in self.models_):
            raise ValueError(f"what stands behind {self.name} takes other features")

    def _names(self) -> tuple[str, ...]:
        """The names of the features that the rest sees."""
        return self.feature_names_

    def _form(self, forms: Sequence[Form]) -> Form:
        """The form of the chain, from those of its `models_`; a step that has none is refused with the reason."""
        raise DataError(f"no engine can take a model behind {self.name}: {self._no_form()}")

    def _no_form(self) -> str:
        return "what it does to a ranking is no weighted sum, no trees and no network"

    def importance(self) -> dict[str, float]:
        """How much each feature counts, by name; by default the mean of the models'."""
        tables = [model.importance() for model in self.models_]
        return {name: float(np.mean([table[name] for table in tables])) for name in self.feature_names_}

    def words_of_model(self) -> str:
        """What was learned, in a sentence, for people; empty where there is nothing to say."""
        return ""


class Unfinished(list[Step]):
    """Steps joined by `>>` that still wait for their ranker."""

    def __rshift__(self, rest: Any) -> Any:
        from pippin.rankers.composing import chain

        return chain(*self, rest) if isinstance(rest, Ranker) else Unfinished([*self, rest])


class Transformer(Step):
    """A step that makes other features of a document's features; a scikit-learn transformer, too."""

    def fit(self, X: Any, y: Any = None, *, qid: Any = None, group: Any = None, eval_set: Any = None) -> Self:
        """Learn the transformation alone, as scikit-learn's transformers do; the arguments are those of a ranker."""
        self.check_parameters()
        train = labelled(self, X, y, qid, group, reset=True)
        self.n_features_in_, self.feature_names_ = train.features.shape[1], train.feature_names
        from pippin.rankers.ranksvm import RankSVM

        self._learn(train, validation(self, eval_set, None, None), RankSVM())
        return self

    def transform(self, X: Any) -> Any:
        """The features that the rest of a chain would see: of a Dataset a Dataset, of a table a table."""
        if "feature_names_" not in vars(self):
            raise not_fitted(f"This {type(self).__name__} instance is not fitted yet. Call fit first.")
        if isinstance(X, Dataset):
            return self.transformed(X)
        return self._transform(as_table(self, X, reset=False))

    def fit_transform(self, X: Any, y: Any = None, **given: Any) -> Any:
        """`fit`, then `transform` of the same."""
        return self.fit(X, y, **given).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the features that `transform` gives."""
        return np.array(self._names(), object)

    def transformed(self, data: Dataset) -> Dataset:
        """A data set with the features that the rest of the chain sees."""
        table = np.ascontiguousarray(self._transform(np.ascontiguousarray(data.features, np.float64)))
        return replace(data, features=table, feature_names=self._names(), lines=None)

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        self._learn(train, valid, rest)
        self.models_ = [fitted(rest, self.transformed(train), None if valid is None else self.transformed(valid))]

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The scores that the rest gives to the transformed features."""
        return self.models_[0].scores(np.ascontiguousarray(self._transform(features)), offsets)

    def _learn(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        """Learn the transformation; `rest` is for those that ask what the chain would make of it."""
        raise NotImplementedError

    def _transform(self, features: Features) -> Features:
        raise NotImplementedError


def fitted(rest: Ranker, train: Dataset, valid: Dataset | None) -> Ranker:
    """A copy of the rest, fitted; weights of queries come with the training set."""
    from pippin.rankers.parts.weights import query_weights

    return rest.fresh().fit(train, eval_set=valid, sample_weight=query_weights(train))


class Selector(Transformer):
    """A step that keeps some features, best first in `order_`."""

    takes_null = True

    def _learn(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        order = [int(i) for i in self._choose(train, valid, rest)]
        if not order:
            raise DataError(f"{self.name} keeps no feature of {train.name}")
        self.order_ = order
        self.columns_ = np.sort(np.array(order, np.int64))

    def _choose(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> Sequence[int] | I64:
        """The columns of the features to keep, best first."""
        raise NotImplementedError

    def get_support(self, indices: bool = False) -> Any:
        """Which features are kept, as scikit-learn's selectors say it: a mask, or columns."""
        kept = np.zeros(self.n_features_in_, np.bool_)
        kept[self.columns_] = True
        return self.columns_.copy() if indices else kept

    def _transform(self, features: Features) -> Features:
        return features[:, self.columns_]

    def _names(self) -> tuple[str, ...]:
        return tuple(self.feature_names_[i] for i in self.columns_)

    def _state(self) -> dict[str, Any]:
        return {"kept": [self.feature_names_[i] for i in self.order_]}

    def _restore(self, state: dict[str, Any]) -> None:
        self.order_ = [place(name, self.feature_names_) for name in state["kept"]]
        if not 0 < len(set(self.order_)) == len(self.order_):
            raise ValueError("no feature is kept, or one twice")
        self.columns_ = np.sort(np.array(self.order_, np.int64))

    def _form(self, forms: Sequence[Form]) -> Form:
        return placed(forms[0], self.feature_names_)

    def importance(self) -> dict[str, float]:
        """What kept features count in the rest; the others nothing."""
        return dict.fromkeys(self.feature_names_, 0.0) | self.models_[0].importance()

    def words_of_model(self) -> str:
        """The kept features, best first."""
        names = ", ".join(self.feature_names_[i] for i in self.order_)
        return f"{self.name} keeps {len(self.order_)} of {len(self.feature_names_)} features: {names}"


class Projection(Transformer):
    """A step that makes k weighted sums of the features: (x − mean) / scale · directions."""

    def _learn(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        self.mean_, self.scale_, self.directions_ = self._directions(train)

    def _directions(self, train: Dataset) -> tuple[F64, F64, F64]:
        """Mean and scale of each feature, and the matrix [feature, direction]."""
        raise NotImplementedError

    def matrix(self) -> F64:
        """[feature, direction], the scale folded in."""
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
        given = state["directions"]
        count = given.shape[1] if isinstance(given, np.ndarray) and given.ndim == 2 else 0
        self.mean_ = array_of(state["mean"], np.float64, width)
        self.scale_ = array_of(state["scale"], np.float64, width)
        self.directions_ = array_of(given, np.float64, width, count)
        if not count or not (self.scale_ > 0).all():
            raise ValueError("there is no direction, or a scale that is not above 0")

    def _form(self, forms: Sequence[Form]) -> Form:
        """Weights fold into weights, and layers into layers; trees split sums of features, which no engine does."""
        form, names, matrix = forms[0], self.feature_names_, self.matrix()
        if any(form.normalisers):
            return super()._form(forms)
        if isinstance(form, Linear):
            weights = matrix @ form.weights
            return Linear(names, weights, bias=form.bias + form.start - float(self.mean_ @ weights))
        if isinstance(form, Network):
            first, *others = form.folded()
            joined = matrix @ first.matrix
            layers = (Layer(joined, first.bias - self.mean_ @ joined, first.activation), *others)
            return Network(names, layers, np.zeros(len(names)), np.ones(len(names)))
        return super()._form(forms)

    def _no_form(self) -> str:
        return "trees behind it ask about weighted sums of features, and engines' trees about features alone"

    def importance(self) -> dict[str, float]:
        """The size of a feature's weight on one scale where the rest is a weighted sum; else by its directions'."""
        rest = self.models_[0]
        if isinstance(rest, LinearRanker):
            counted: F64 = np.abs(self.directions_ @ rest.coef_)
        else:
            counted = np.abs(self.directions_) @ np.array(list(rest.importance().values()))
        return dict(zip(self.feature_names_, counted.tolist(), strict=True))
