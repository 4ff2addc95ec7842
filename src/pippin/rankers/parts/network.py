"""Rankers trained by gradient descent on scores: a network of hidden layers or, with none, a linear function.

A ranker gives the derivative of its cost by each document's score; how scores depend on weights is settled here, with
NumPy alone: hidden layers of a few dozen units are a few products of matrices, forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.rankers.base import QUICK_ROUNDS, Features, Ranker
from pippin.rankers.parts.convex import one_blas_thread, with_pairs
from pippin.rankers.parts.finite import check_finite
from pippin.rankers.parts.linear import by_name
from pippin.rankers.parts.parameters import above_zero, at_least, one_of, parameter
from pippin.rankers.parts.spread import check_standardise, standardises
from pippin.rankers.parts.starts import start_of
from pippin.rankers.parts.states import array_of
from pippin.rankers.parts.watch import Watch
from pippin.rankers.parts.weights import row_weights, total_weight

F64 = NDArray[np.float64]
Cost = Callable[[F64, int], F64]  # scores and the round → the derivative of the cost by each score
Weights = list[NDArray[Any]]  # of each hidden layer its matrix and its shifts, then the output's weights

_BLOCK = 8192  # documents scored at a time, so that hidden layers of many documents need no memory
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8  # Adam's own constants


class NetworkRanker(Ranker):
    """What the rankers of this kind share; they differ in `_cost` and in their parameters' defaults."""

    by_rounds = True
    takes_weights = True
    takes_start = True
    quick_limits: ClassVar[Mapping[str, int]] = QUICK_ROUNDS

    layers: int = parameter(0, "hidden layers; 0 is a linear function")
    units: int = parameter(20, "of each hidden layer")
    activation: str = parameter("tanh", "of hidden units: tanh or relu")
    standardise: bool | str = parameter("auto", "features to mean 0, deviation 1; auto: unless all are within [-1, 1]")
    rate: float = parameter(0.02, "how far a step goes")
    decay: float = parameter(0.0, "weight of ½‖weights‖²")
    batch: int | None = parameter(None, "queries a step; None: all of them")
    rounds: int = parameter(500, "passes over the training set, at most")
    patience: int | None = parameter(100, "rounds without a better validation value before training stops; None: never")
    measure: str = parameter("MAP", "what validation looks at")
    convention: str | Convention = parameter("official", "under which convention")
    seed: int = parameter(0, "of a network's first weights and of batches")
    verbose: bool = parameter(False, "show progress")

    def _cost(self, data: Dataset, part: int) -> Cost:
        """The derivative of the cost of these queries (without features), the `part`-th of the training set."""
        raise NotImplementedError

    def _keeps(self, data: Dataset) -> Dataset:
        """The queries to learn from; one whose labels are all the same has nothing to say."""
        return with_pairs(data)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        data = self._keeps(train)
        if not data.queries:
            raise DataError("in every query of the training set all labels are of one class; there is nothing to learn")
        wanted = standardises(self.standardise, data.features)
        self.mean_, self.factor_ = standard(data.features, wanted, row_weights(data))
        with one_blas_thread():
            self._descend(data, valid, Network if self.layers else Linear)

    def _descend(self, data: Dataset, valid: Dataset | None, kind: type[Linear] | type[Network]) -> None:
        tables, costs, sizes = [], [], []
        for i, part in enumerate(deal(data, self.batch, self.seed)):
            tables.append(self._standardised(part.features))
            costs.append(heeded(from_start(self._cost(bare(part), i), start_of(part)), row_weights(part)))
            sizes.append(total_weight(part))
        first = initial(data.features.shape[1], self.layers, self.units, self.seed)
        if start_of(data) is not None:
            first[-1][:] = 0.0  # so that the first scores are those of the start
        model, ahead = kind(tables, first, self), start_of(valid)
        order, table = (
            keyed(self.seed, "order"),
            self._standardised((data.select([]) if valid is None else valid).features),
        )
        best = model.weights()
        with Watch(
            valid, self.measure, self.convention, self.rounds, self.patience, verbose=self.verbose, title=self.name
        ) as watch:
            for done in range(self.rounds):
                for i in order.permutation(len(costs)):
                    model.step(i, costs[i](model.scores(i), done) / sizes[i])
                now = model.weights()
                check_finite("a weight", *now)
                stop = watch.after(partial(forward, table, now, self.activation, ahead))
                best = now if watch.best == done else best
                if stop:
                    break
        self.curve_ = watch.curve
        self._learned(best)

    def _learned(self, weights: Weights) -> None:
        if self.layers == 0:
            self.coef_ = weights[0].astype(np.float64) * self.factor_
        else:
            self.weights_ = weights

    def _standardised(self, features: NDArray[np.floating[Any]]) -> F64:
        table: F64 = features - self.mean_
        table *= self.factor_
        return table

    def _predict(self, features: Features) -> F64:
        if self.layers == 0:
            return features @ self.coef_
        scores = np.empty(len(features))
        with one_blas_thread():
            for at in range(0, len(features), _BLOCK):
                rows = slice(at, at + _BLOCK)
                scores[rows] = forward(self._standardised(features[rows]), self.weights_, self.activation)
        return scores

    def _state(self) -> dict[str, Any]:
        if self.layers == 0:
            return {"weights": self.weights()}
        named = {f"{'weights' if array.ndim == 2 else 'shifts'}.{i // 2 + 1}": array
                 for i, array in enumerate(self.weights_[:-1])}  # fmt: skip
        return {"mean": self.mean_, "factor": self.factor_, **named, "output": self.weights_[-1]}

    def _restore(self, state: dict[str, Any]) -> None:
        width = len(self.feature_names_)
        if self.layers == 0:
            self.coef_ = by_name(state["weights"], self.feature_names_)
            return
        if len(state) != 2 * self.layers + 3:
            raise ValueError(f"{len(state)} arrays are not those of {self.layers} layers")
        inputs = [width, *([self.units] * (self.layers - 1))]
        self.weights_ = []
        for i, size in enumerate(inputs, 1):
            self.weights_.append(array_of(state[f"weights.{i}"], np.float32, size, self.units))
            self.weights_.append(array_of(state[f"shifts.{i}"], np.float32, self.units))
        self.weights_.append(array_of(state["output"], np.float32, self.units))
        self.mean_, self.factor_ = (array_of(state[name], np.float64, width) for name in ("mean", "factor"))

    def weights(self) -> dict[str, float]:
        """The weight of each feature, by name, where there is no hidden layer."""
        if self.layers:
            raise DataError(f"{self.name} with hidden layers has no weight of a feature; `importance` adds them up")
        return dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))

    def importance(self) -> dict[str, float]:
        """The size of each weight; of a network, the sizes of the weights on all ways to the output, added up."""
        if self.layers == 0:
            sizes = np.abs(self.coef_)
        else:
            sizes = np.abs(self.weights_[-1].astype(np.float64))
            for matrix in reversed(self.weights_[:-1:2]):
                sizes = np.abs(matrix.astype(np.float64)) @ sizes
            sizes = np.where(self.factor_ > 0, sizes, 0.0)
        return dict(zip(self.feature_names_, sizes.tolist(), strict=True))

    def _check(self) -> None:
        at_least(self, layers=0, units=1, rounds=1, seed=0, batch=1, patience=1, decay=0)
        above_zero(self, "rate")
        one_of(self, activation=("tanh", "relu"))
        check_standardise(self.name, self.standardise)


class Adam:
    """Steps of weights against their derivative, in place: w −= rate · m̂ / (√v̂ + tiny).

    m and v are running means of the derivative and of its square. Kingma & Ba 2015.
    """

    def __init__(self, weights: NDArray[Any], rate: float, decay: float) -> None:
        self.weights, self.rate, self.decay = weights, rate, decay
        self.mean, self.square, self.steps = np.zeros_like(weights), np.zeros_like(weights), 0

    def step(self, slope: NDArray[Any]) -> None:
        """One step."""
        if self.decay:
            slope = slope + self.decay * self.weights
        self.steps += 1
        self.mean += (1 - _FIRST) * (slope - self.mean)
        self.square += (1 - _SECOND) * (slope * slope - self.square)
        size = np.sqrt(self.square * (1 / (1 - _SECOND**self.steps))) + _TINY
        self.weights -= (self.rate / (1 - _FIRST**self.steps)) * self.mean / size


class Linear:
    """scores = X w, from w = 0."""

    def __init__(self, tables: list[NDArray[Any]], start: Weights, settings: NetworkRanker) -> None:
        self.tables, self.w = tables, np.zeros(len(start[0]))
        self.adam = Adam(self.w, settings.rate, settings.decay)

    def scores(self, part: int) -> F64:
        """The scores of a part."""
        scores: F64 = self.tables[part] @ self.w
        return scores

    def step(self, part: int, gradient: F64) -> None:
        """One step of Adam."""
        self.adam.step(gradient @ self.tables[part])

    def weights(self) -> Weights:
        """A copy of the weights."""
        return [self.w.copy()]


class Network:
    """Hidden layers and a linear output; the derivative by scores is carried backwards to the weights.

    In float64: small networks are trained no slower, and what comes out hangs less on the order of sums.
    """

    def __init__(self, tables: list[NDArray[Any]], start: Weights, settings: NetworkRanker) -> None:
        self.tables = tables
        # The arrays are views of one flat array, on which Adam walks.
        flat = np.concatenate([array.ravel() for array in start], dtype=np.float64)
        self.slope = np.empty_like(flat)
        self.arrays, self.slopes = views(flat, start), views(self.slope, start)
        self.tanh = settings.activation == "tanh"
        self.adam = Adam(flat, settings.rate, settings.decay)

    def scores(self, part: int) -> F64:
        """The scores of a part; what each layer gave is kept for `step`."""
        self.layers = [self.tables[part]]
        for matrix, shift in zip(self.arrays[:-1:2], self.arrays[1:-1:2], strict=True):
            hidden = self.layers[-1] @ matrix
            hidden += shift
            self.layers.append(np.tanh(hidden, out=hidden) if self.tanh else np.maximum(hidden, 0, out=hidden))
        scores: F64 = self.layers[-1] @ self.arrays[-1]
        return scores

    def step(self, part: int, gradient: F64) -> None:
        """Backwards from the scores, then one step of Adam."""
        np.dot(gradient, self.layers[-1], out=self.slopes[-1])
        back = np.outer(gradient, self.arrays[-1])
        for i in reversed(range(len(self.layers) - 1)):
            above = self.layers[i + 1]
            back *= 1 - above * above if self.tanh else above > 0
            np.dot(self.layers[i].T, back, out=self.slopes[2 * i])
            np.sum(back, axis=0, out=self.slopes[2 * i + 1])
            if i:
                back = back @ self.arrays[2 * i].T
        self.adam.step(self.slope)

    def weights(self) -> Weights:
        """The weights as a model file holds them, in float32."""
        return [array.astype(np.float32) for array in self.arrays]


def views(flat: NDArray[Any], shapes: Weights) -> Weights:
    """One flat array cut into arrays of these shapes."""
    cuts = np.cumsum([array.size for array in shapes])[:-1]
    return [part.reshape(array.shape) for part, array in zip(np.split(flat, cuts), shapes, strict=True)]


def heeded(cost: Cost, weights: F64 | None) -> Cost:
    """The derivative times the weight of each document's query, and an error where it is not finite."""

    def derivative(scores: F64, done: int) -> F64:
        check_finite("a score", scores)
        gradient = cost(scores, done)
        check_finite("a derivative by a score", gradient)
        return gradient if weights is None else weights * gradient

    return derivative


def from_start(cost: Cost, start: F64 | None) -> Cost:
    """The cost of scores that are added to those of a start."""
    return cost if start is None else lambda scores, done: cost(start + scores, done)


def forward(table: F64, weights: Weights, activation: str, start: F64 | None = None) -> F64:
    """Scores of standardised documents in float64, whatever the weights were trained in; on top of a start's."""
    hidden = table
    for matrix, shift in zip(weights[:-1:2], weights[1:-1:2], strict=True):
        hidden = hidden @ matrix.astype(np.float64) + shift
        hidden = np.tanh(hidden) if activation == "tanh" else np.maximum(hidden, 0.0)
    scores: F64 = hidden @ weights[-1].astype(np.float64)
    return scores if start is None else start + scores


def initial(width: int, layers: int, units: int, seed: int) -> Weights:
    """Weights after Glorot & Bengio 2010: uniform in ±√(6 / (in + out)); shifts 0. Float32."""
    random, arrays = keyed(seed, "weights"), []
    for inputs in [width] + [units] * (layers - 1) if layers else []:
        reach = np.sqrt(6.0 / (inputs + units))
        arrays += [random.uniform(-reach, reach, (inputs, units)), np.zeros(units)]
    inputs = units if layers else width
    reach = np.sqrt(6.0 / (inputs + 1))
    arrays.append(random.uniform(-reach, reach, inputs))
    return [array.astype(np.float32) for array in arrays]


_PURPOSES = {"weights": 0, "deal": 1, "order": 2, "ties": 3}


def keyed(seed: int, purpose: str, *place: int) -> np.random.Generator:
    """A generator for one purpose and place, so that one draw more elsewhere changes nothing here."""
    counter = np.zeros(4, np.uint64)
    counter[2 : 2 + len(place)] = place  # the low words count the draws
    return np.random.Generator(np.random.Philox(key=np.array([seed, _PURPOSES[purpose]], np.uint64), counter=counter))


def standard(features: NDArray[np.floating[Any]], wanted: bool = True, weights: F64 | None = None) -> tuple[F64, F64]:
    """What is taken off each feature, and what it is multiplied by then: mean and 1 / deviation, or (unwanted) 0 and 1.

    A constant feature is multiplied by 0: nothing can be learned of it, and first weights must not let it in.
    """
    constant = features.max(axis=0) == features.min(axis=0)
    if not wanted:
        return np.zeros(len(constant)), np.where(constant, 0.0, 1.0)
    if weights is None:
        mean, deviation = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    else:
        mean = np.average(features, axis=0, weights=weights)
        deviation = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weights))
    usable = ~constant & (deviation > 0)
    return mean, np.where(usable, 1.0 / np.where(usable, deviation, 1.0), 0.0)


def deal(data: Dataset, batch: int | None, seed: int) -> Iterator[Dataset]:
    """The queries in parts of `batch`, dealt once by the seed; in one part, in their order, if it is None."""
    if batch is None or batch >= data.queries:
        yield data
        return
    order = keyed(seed, "deal").permutation(data.queries)
    for at in range(0, data.queries, batch):
        yield data.select(order[at : at + batch])


def bare(data: Dataset) -> Dataset:
    """The data set without its features."""
    return Dataset(np.empty((len(data), 0)), data.labels, data.offsets, data.query_ids, data.document_ids)
