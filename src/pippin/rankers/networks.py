"""Rankers trained by gradient descent: a network with hidden layers, or a linear model without them.

A subclass computes the gradient of its loss by score; this module implements forward and backward passes in NumPy,
which gives the same bits on every machine and is fast enough for layers of a few dozen units.
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
from pippin.models.model import Layer, LinearModel, Model, NeuralNetwork
from pippin.rankers.base import QUICK_ROUNDS, EarlyStopping, Features, Ranker, check_finite, read_array
from pippin.rankers.linear import (
    check_standardize,
    drop_constant_queries,
    one_blas_thread,
    should_standardize,
    weights_by_name,
)
from pippin.rankers.parameters import above_zero, check_minima, one_of, parameter
from pippin.rankers.training_data import init_score, row_weights, total_weight

F64 = NDArray[np.float64]
Cost = Callable[[F64, int], F64]  # (scores, round) → gradient of the loss by score
Weights = list[NDArray[Any]]  # matrix and bias of each hidden layer, then the weights of the output
_BLOCK = 8192  # documents scored at a time, to limit memory
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # of Adam (Kingma & Ba 2015, section 2)


class NetworkRanker(Ranker):
    """Base class of rankers trained by gradient descent; subclasses implement `_cost`."""

    is_iterative = True
    supports_sample_weight = True
    supports_init_score = True
    small_limits: ClassVar[Mapping[str, int]] = QUICK_ROUNDS

    hidden_layers: int = parameter(0, "number of hidden layers; 0: a linear model")
    hidden_units: int = parameter(20, "units per hidden layer")
    activation: str = parameter("tanh", "activation of hidden units: tanh or relu")
    standardize: bool | str = parameter(
        "auto", "scale features to mean 0 and deviation 1; auto: unless all are within [-1, 1]"
    )
    learning_rate: float = parameter(0.02, "step size of Adam")
    weight_decay: float = parameter(0.0, "L2 regularisation of the weights")
    batch_size: int | None = parameter(None, "queries per step; None: all")
    rounds: int = parameter(500, "maximum number of passes over the training set")
    early_stopping_rounds: int | None = parameter(
        100, "rounds without improvement on the validation set before training stops; None: never"
    )
    measure: str = parameter("MAP", "measure for early stopping")
    convention: str | Convention = parameter("official", "convention of the measure")
    seed: int = parameter(0, "seed of initial weights and batches")
    verbose: bool = parameter(False, "show progress")

    def _cost(self, data: Dataset, part: int) -> Cost:
        """Return the gradient function of batch number `part`; the data has no features."""
        raise NotImplementedError

    def _validation_value(self, valid: Dataset) -> Callable[[F64], float] | None:
        """Return a function of validation scores to maximise; None for the measure."""
        return None

    def _select_queries(self, data: Dataset) -> Dataset:
        """Return the queries to train on."""
        return drop_constant_queries(data)

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        data = self._select_queries(train)
        if not data.queries:
            raise DataError("every query of the training set has labels of only one class: nothing to learn")
        is_scaled = should_standardize(self.standardize, data.features)
        self.mean_, self.factor_ = fit_scaler(data.features, is_scaled, row_weights(data))
        with one_blas_thread():
            self._descend(data, valid, Network if self.hidden_layers else Linear)

    def _descend(self, data: Dataset, valid: Dataset | None, kind: type[Linear] | type[Network]) -> None:
        tables, costs, sizes = [], [], []
        for i, part in enumerate(make_batches(data, self.batch_size, self.seed)):
            tables.append(self._standardize(part.features))
            costs.append(
                weighted_gradient(
                    add_init_score(self._cost(without_features(part), i), init_score(part)), row_weights(part)
                )
            )
            sizes.append(total_weight(part))
        initial = glorot_weights(data.features.shape[1], self.hidden_layers, self.hidden_units, self.seed)
        if init_score(data) is not None:
            initial[-1][:] = 0.0  # training starts at the initial scores
        model, valid_init_score = kind(tables, initial, self), init_score(valid)
        order, table = (
            derive_rng(self.seed, "order"),
            self._standardize((data.select([]) if valid is None else valid).features),
        )
        best = model.weights()
        value = None if valid is None else self._validation_value(without_features(valid))
        with EarlyStopping.of(self, valid, value) as stopping:
            for round_ in range(self.rounds):
                for i in order.permutation(len(costs)):
                    model.step(i, costs[i](model.scores(i), round_) / sizes[i])
                weights = model.weights()
                check_finite("a weight", *weights)
                stop = stopping.update(partial(forward, table, weights, self.activation, valid_init_score))
                best = weights if stopping.best == round_ else best
                if stop:
                    break
        self.curve_ = stopping.curve
        self._store_weights(best)

    def _store_weights(self, weights: Weights) -> None:
        if self.hidden_layers == 0:
            self.coef_ = weights[0].astype(np.float64) * self.factor_
        else:
            self.weights_ = weights

    def _standardize(self, features: NDArray[np.floating[Any]]) -> F64:
        table: F64 = features - self.mean_
        table *= self.factor_
        return table

    def _predict(self, features: Features) -> F64:
        if self.hidden_layers == 0:
            return features @ self.coef_
        scores = np.empty(len(features))
        with one_blas_thread():
            for at in range(0, len(features), _BLOCK):
                rows = slice(at, at + _BLOCK)
                scores[rows] = forward(self._standardize(features[rows]), self.weights_, self.activation)
        return scores

    def _to_model(self) -> Model:
        if self.hidden_layers == 0:
            return LinearModel(self.feature_names_, self.coef_.copy())
        arrays = [array.astype(np.float64) for array in self.weights_]
        hidden_arrays = zip(arrays[:-1:2], arrays[1:-1:2], strict=True)
        layers = [Layer(matrix, shift, self.activation) for matrix, shift in hidden_arrays]
        layers.append(Layer(arrays[-1][:, None], np.zeros(1)))
        return NeuralNetwork(self.feature_names_, tuple(layers), self.mean_.copy(), self.factor_.copy())

    def _state(self) -> dict[str, Any]:
        if self.hidden_layers == 0:
            return {"weights": self.weights()}
        arrays = {f"{'weights' if array.ndim == 2 else 'shifts'}.{i // 2 + 1}": array
                 for i, array in enumerate(self.weights_[:-1])}  # fmt: skip
        return {"mean": self.mean_, "factor": self.factor_, **arrays, "output": self.weights_[-1]}

    def _restore(self, state: dict[str, Any]) -> None:
        width = len(self.feature_names_)
        if self.hidden_layers == 0:
            self.coef_ = weights_by_name(state["weights"], self.feature_names_)
            return
        if len(state) != 2 * self.hidden_layers + 3:
            raise ValueError(f"{len(state)} arrays do not fit {self.hidden_layers} hidden layers")
        inputs = [width, *([self.hidden_units] * (self.hidden_layers - 1))]
        self.weights_ = []
        for i, size in enumerate(inputs, 1):
            self.weights_.append(read_array(state[f"weights.{i}"], np.float32, size, self.hidden_units))
            self.weights_.append(read_array(state[f"shifts.{i}"], np.float32, self.hidden_units))
        self.weights_.append(read_array(state["output"], np.float32, self.hidden_units))
        self.mean_, self.factor_ = (read_array(state[name], np.float64, width) for name in ("mean", "factor"))

    def weights(self) -> dict[str, float]:
        """Return the weight of each feature, by name; DataError with hidden layers."""
        if self.hidden_layers:
            raise DataError(f"{self.name} with hidden layers is not linear: use importance()")
        return dict(zip(self.feature_names_, self.coef_.tolist(), strict=True))

    def importance(self) -> dict[str, float]:
        """Return the absolute weight of each feature; in a network, summed over all paths to the output."""
        if self.hidden_layers == 0:
            sizes = np.abs(self.coef_)
        else:
            sizes = np.abs(self.weights_[-1].astype(np.float64))
            for matrix in reversed(self.weights_[:-1:2]):
                sizes = np.abs(matrix.astype(np.float64)) @ sizes
            sizes = np.where(self.factor_ > 0, sizes, 0.0)
        return dict(zip(self.feature_names_, sizes.tolist(), strict=True))

    def _check(self) -> None:
        check_minima(self, hidden_layers=0, hidden_units=1, rounds=1, seed=0)
        check_minima(self, batch_size=1, early_stopping_rounds=1, weight_decay=0)
        above_zero(self, "learning_rate")
        one_of(self, activation=("tanh", "relu"))
        check_standardize(self.name, self.standardize)


class Adam:
    """The Adam optimiser: w −= rate · m̂ / (√v̂ + ε), in place (Kingma & Ba 2015, Algorithm 1)."""

    def __init__(self, weights: NDArray[Any], rate: float, decay: float) -> None:
        self.weights, self.rate, self.decay = weights, rate, decay
        self.mean, self.square, self.steps = np.zeros_like(weights), np.zeros_like(weights), 0

    def step(self, slope: NDArray[Any]) -> None:
        """Update the weights by a gradient."""
        if self.decay:
            slope = slope + self.decay * self.weights
        self.steps += 1
        # Update the biased moments m and v, correct their bias, and take the step.
        self.mean += (1 - _BETA_1) * (slope - self.mean)
        self.square += (1 - _BETA_2) * (slope * slope - self.square)
        size = np.sqrt(self.square * (1 / (1 - _BETA_2**self.steps))) + _EPSILON
        self.weights -= (self.rate / (1 - _BETA_1**self.steps)) * self.mean / size


class Linear:
    """scores = X w, from w = 0."""

    def __init__(self, tables: list[NDArray[Any]], start: Weights, settings: NetworkRanker) -> None:
        self.tables, self.w = tables, np.zeros(len(start[0]))
        self.adam = Adam(self.w, settings.learning_rate, settings.weight_decay)

    def scores(self, part: int) -> F64:
        """Return the scores of a batch."""
        scores: F64 = self.tables[part] @ self.w
        return scores

    def step(self, part: int, gradient: F64) -> None:
        """Update the weights by the gradient of a batch."""
        self.adam.step(gradient @ self.tables[part])

    def weights(self) -> Weights:
        """Return a copy of the weights."""
        return [self.w.copy()]


class Network:
    """Hidden layers with a linear output, trained by backpropagation in float64."""

    def __init__(self, tables: list[NDArray[Any]], start: Weights, settings: NetworkRanker) -> None:
        self.tables = tables
        # The arrays are views of one flat array, which Adam updates.
        flat = np.concatenate([array.ravel() for array in start], dtype=np.float64)
        self.slope = np.empty_like(flat)
        self.arrays, self.slopes = split_views(flat, start), split_views(self.slope, start)
        self.tanh = settings.activation == "tanh"
        self.adam = Adam(flat, settings.learning_rate, settings.weight_decay)

    def scores(self, part: int) -> F64:
        """Return the scores of a batch, and keep the outputs of the layers for `step`."""
        self.layers = [self.tables[part]]
        for matrix, shift in zip(self.arrays[:-1:2], self.arrays[1:-1:2], strict=True):
            outputs = self.layers[-1] @ matrix
            outputs += shift
            self.layers.append(np.tanh(outputs, out=outputs) if self.tanh else np.maximum(outputs, 0, out=outputs))
        scores: F64 = self.layers[-1] @ self.arrays[-1]
        return scores

    def step(self, part: int, gradient: F64) -> None:
        """Backpropagate the gradient of a batch and update the weights."""
        np.dot(gradient, self.layers[-1], out=self.slopes[-1])
        # ∂C/∂activation, from the output layer back to the first: multiply by the activation's derivative, take the
        # gradients of matrix and bias, and pass on to the layer below.
        upstream = np.outer(gradient, self.arrays[-1])
        for i in reversed(range(len(self.layers) - 1)):
            activations = self.layers[i + 1]
            upstream *= 1 - activations * activations if self.tanh else activations > 0
            np.dot(self.layers[i].T, upstream, out=self.slopes[2 * i])
            np.sum(upstream, axis=0, out=self.slopes[2 * i + 1])
            if i:
                upstream = upstream @ self.arrays[2 * i].T
        self.adam.step(self.slope)

    def weights(self) -> Weights:
        """Return the weights in float32, as in a model file."""
        return [array.astype(np.float32) for array in self.arrays]


def split_views(flat: NDArray[Any], shapes: Weights) -> Weights:
    """Return views of a flat array with these shapes."""
    cuts = np.cumsum([array.size for array in shapes])[:-1]
    return [part.reshape(array.shape) for part, array in zip(np.split(flat, cuts), shapes, strict=True)]


def weighted_gradient(cost: Cost, weights: F64 | None) -> Cost:
    """Return the gradient function times the weight of each document's query; it raises NotFinite if it diverges."""

    def derivative(scores: F64, done: int) -> F64:
        check_finite("a score", scores)
        gradient = cost(scores, done)
        check_finite("a gradient", gradient)
        return gradient if weights is None else weights * gradient

    return derivative


def add_init_score(cost: Cost, start: F64 | None) -> Cost:
    """Return the gradient function of scores relative to initial scores."""
    return cost if start is None else lambda scores, done: cost(start + scores, done)


def forward(table: F64, weights: Weights, activation: str, start: F64 | None = None) -> F64:
    """Return the scores of standardised documents in float64, plus initial scores."""
    outputs = table
    for matrix, shift in zip(weights[:-1:2], weights[1:-1:2], strict=True):
        outputs = outputs @ matrix.astype(np.float64) + shift
        outputs = np.tanh(outputs) if activation == "tanh" else np.maximum(outputs, 0.0)
    scores: F64 = outputs @ weights[-1].astype(np.float64)
    return scores if start is None else start + scores


def glorot_weights(width: int, layers: int, units: int, seed: int) -> Weights:
    """Return initial weights, uniform in ±√(6 / (in + out)), and biases 0 (Glorot & Bengio 2010, equation 16)."""
    random, arrays = derive_rng(seed, "weights"), []
    for inputs in [width] + [units] * (layers - 1) if layers else []:
        limit = np.sqrt(6.0 / (inputs + units))
        arrays += [random.uniform(-limit, limit, (inputs, units)), np.zeros(units)]
    inputs = units if layers else width
    limit = np.sqrt(6.0 / (inputs + 1))
    arrays.append(random.uniform(-limit, limit, inputs))
    return [array.astype(np.float32) for array in arrays]


_PURPOSES = {"weights": 0, "deal": 1, "order": 2, "ties": 3}


def derive_rng(seed: int, purpose: str, *place: int) -> np.random.Generator:
    """Return an independent generator for a purpose and position."""
    counter = np.zeros(4, np.uint64)
    counter[2 : 2 + len(place)] = place  # the low words count the draws
    return np.random.Generator(np.random.Philox(key=np.array([seed, _PURPOSES[purpose]], np.uint64), counter=counter))


def fit_scaler(
    features: NDArray[np.floating[Any]], is_scaled: bool = True, weights: F64 | None = None
) -> tuple[F64, F64]:
    """Return shift and factor of each feature: mean and 1 / deviation, or 0 and 1 without scaling.

    A constant feature gets the factor 0, so that initial weights do not let it change scores.
    """
    constant = features.max(axis=0) == features.min(axis=0)
    if not is_scaled:
        return np.zeros(len(constant)), np.where(constant, 0.0, 1.0)
    if weights is None:
        mean, deviation = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    else:
        mean = np.average(features, axis=0, weights=weights)
        deviation = np.sqrt(np.average((features - mean) ** 2, axis=0, weights=weights))
    usable = ~constant & (deviation > 0)
    return mean, np.where(usable, 1.0 / np.where(usable, deviation, 1.0), 0.0)


def make_batches(data: Dataset, batch: int | None, seed: int) -> Iterator[Dataset]:
    """Yield random batches of queries, fixed by the seed; one batch in the original order if `batch` is None."""
    if batch is None or batch >= data.queries:
        yield data
        return
    order = derive_rng(seed, "deal").permutation(data.queries)
    for at in range(0, data.queries, batch):
        yield data.select(order[at : at + batch])


def without_features(data: Dataset) -> Dataset:
    """Return the data set without its features."""
    return Dataset(np.empty((len(data), 0)), data.labels, data.offsets, data.query_ids, data.document_ids)
