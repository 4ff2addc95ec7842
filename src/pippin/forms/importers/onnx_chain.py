"""A graph that goes from features to one score, followed operation by operation: trees, or layers of a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.forms.form import F64, SINGLE, Form, Layer, Linear, Network, Scoring, Tree, Trees
from pippin.forms.importers import numbered

Ensemble = Callable[[str, dict[str, Any], bool], tuple[tuple[Tree, ...], float]]
_ACTIVATIONS = {"Tanh": "tanh", "Relu": "relu", "Sigmoid": "sigmoid", "LeakyRelu": "leakyrelu", "Elu": "elu"}
_WIDEST = 1 << 20


class Chain:
    """What is known of each value of a graph: the features, trees, or layers so far."""

    def __init__(self, features: str, constants: dict[str, Any], width: int, scoring: Scoring) -> None:
        self.constants, self.width, self.scoring = constants, width, scoring
        self.known: dict[str, Any] = {features: "features"}
        self.mean: F64 | None = None
        self.factor: F64 | None = None

    def add(self, kind: str, inputs: list[str], outputs: list[str], given: dict[str, Any], grown: Ensemble) -> None:
        """Follow one operation."""
        values = [self.known[name] for name in inputs if name in self.known]
        constants = [np.asarray(self.constants[name], np.float64) for name in inputs if name in self.constants]
        if not values or len(values) + len(constants) != len(inputs) or len(outputs) != 1:
            raise ValueError(f"{kind} is used in a way that no score is")
        self.known[outputs[0]] = self._made(kind, values, constants, given, grown)

    def _made(self, kind: str, values: list[Any], constants: list[F64], given: Any, grown: Ensemble) -> Any:
        if any(not np.isfinite(one).all() for one in constants):
            raise ValueError("a constant is no number")
        if kind in ("Identity", "Cast", "Reshape", "Flatten", "Squeeze"):
            return values[0]
        if kind in ("TreeEnsemble", "TreeEnsembleRegressor"):
            trees, base = grown(kind, given, self.scoring == SINGLE)
            return Trees(("?",), (trees,), base=base, scoring=self.scoring)
        if kind == "LinearRegressor":
            weights = np.array(given["coefficients"], np.float64)
            return (Layer(weights[:, None], np.array(given.get("intercepts", [0.0]), np.float64)),)
        if isinstance(values[0], Trees):
            return self._on_trees(kind, values, constants)
        if values[0] == "features" and kind in ("Sub", "Mul", "Div") and len(constants) == 1:
            return self._standardised(kind, constants[0])
        return self._layer(kind, values[0], constants, given)

    def _on_trees(self, kind: str, values: list[Any], constants: list[F64]) -> Trees:
        """Sums of ensembles, and what they are multiplied by, divided by and shifted by afterwards."""
        first: Trees = values[0]
        if kind in ("Add", "Sum") and not constants and all(isinstance(one, Trees) for one in values):
            if any((one.base, one.scale, one.divisor) != (0.0, 1.0, 1.0) for one in values):
                raise ValueError("ensembles are added up after they were scaled")
            return replace(first, bags=tuple(bag for one in values for bag in one.bags))
        if len(constants) != 1 or constants[0].size != 1 or len(values) != 1:
            raise ValueError(f"{kind} of trees is no score")
        value = float(constants[0].reshape(-1)[0])
        if kind == "Add" and first.base == 0:
            return replace(first, base=value)
        if kind == "Mul" and (first.scale, first.divisor, first.base) == (1.0, 1.0, 0.0):
            return replace(first, scale=value)
        if kind == "Div" and (first.divisor, first.base) == (1.0, 0.0) and value != 0:
            return replace(first, divisor=value)
        raise ValueError(f"{kind} of trees is no score")

    def _standardised(self, kind: str, constant: F64) -> str:
        row = constant.reshape(-1)
        if kind == "Sub" and self.mean is None and self.factor is None:
            self.mean = row
        elif kind in ("Mul", "Div") and self.factor is None:
            self.factor = row if kind == "Mul" else 1 / row
        else:
            raise ValueError("features are standardised twice")
        return "features"

    def _layer(self, kind: str, value: Any, constants: list[F64], given: Any) -> tuple[Layer, ...]:
        """One layer more, or its bias, or its activation."""
        layers: tuple[Layer, ...] = () if value == "features" else value
        if kind in ("MatMul", "Gemm") and constants and constants[0].ndim == 2:
            if given.get("transA", 0) or given.get("alpha", 1.0) != 1 or given.get("beta", 1.0) != 1:
                raise ValueError("a product is scaled or turned")
            matrix = constants[0].T if given.get("transB", 0) else constants[0]
            bias = constants[1].reshape(-1) if len(constants) > 1 else np.zeros(matrix.shape[1])
            return (*layers, Layer(matrix, bias))
        if layers and kind == "Add" and len(constants) == 1 and layers[-1].activation == "identity":
            last = layers[-1]
            return (*layers[:-1], replace(last, bias=last.bias + constants[0].reshape(-1)))
        if layers and kind in _ACTIVATIONS and layers[-1].activation == "identity":
            return (*layers[:-1], replace(layers[-1], activation=_ACTIVATIONS[kind]))
        raise ValueError(f"the operation {kind} is none of those that are read")

    def form(self, output: str) -> Form:
        """The form of the value of that name."""
        found = self.known[output]
        if isinstance(found, Trees):
            if self.mean is not None or self.factor is not None:
                raise ValueError("trees are read from features as they are")
            width = self.width or max((int(one.feature.max(initial=0)) for one in found.trees()), default=0) + 1
            if width > _WIDEST:
                raise ValueError(f"it has {width:,} features")
            return found.renamed(numbered(width))
        if found == "features" or not found:
            raise ValueError("its output is no score")
        width = found[0].matrix.shape[0]
        sizes = [width, *(layer.matrix.shape[1] for layer in found)]
        if [layer.matrix.shape[0] for layer in found] != sizes[:-1] or sizes[-1] != 1:
            raise ValueError("its layers do not fit together, or give several scores")
        if any(layer.bias.shape != (layer.matrix.shape[1],) for layer in found):
            raise ValueError("a bias does not fit its layer")
        mean = np.zeros(width) if self.mean is None else np.broadcast_to(self.mean, width).copy()
        factor = np.ones(width) if self.factor is None else np.broadcast_to(self.factor, width).copy()
        if len(found) == 1 and found[0].activation == "identity" and self.mean is None and self.factor is None:
            bias = float(found[0].bias[0])
            return Linear(numbered(width), found[0].matrix[:, 0].copy(), bias=bias, scoring=self.scoring)
        return Network(numbered(width), found, mean, factor, scoring=self.scoring)
