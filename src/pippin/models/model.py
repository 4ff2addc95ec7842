"""Trained models as data: tree ensembles, linear models and neural networks.

Every ranker converts to one of these, every exporter writes from them, and every importer returns one. A node of a tree
sends `x <= threshold` to the left; importers of engines that use `x < t` store the next smaller number instead. All
numbers are float64; `ScoringRules` states the precision in which an engine computes with them.

`model_to_dict` and `model_from_dict` convert models to the JSON of model files and back. Files are untrusted:
`model_from_dict` checks everything it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
ACTIVATIONS = ("identity", "relu", "sigmoid", "tanh", "leakyrelu", "elu")
PRECISIONS = ("float64", "float32")
MISSING_RULES = ("direction", "zero", "right")
# LightGBM treats values within this distance of 0 as 0 (kZeroThreshold, a float32).
ZERO_THRESHOLD = float(np.float32(1e-35))


@dataclass(frozen=True)
class ScoringRules:
    """How an engine computes scores: precision of each kind of number, threshold operator, missing values."""

    features: str = "float64"  # feature values are rounded to this first
    thresholds: str = "float64"
    values: str = "float64"  # leaf values and weights
    sums: str = "float64"  # precision after each addition
    operator: str = "<="  # comparison of a value with a threshold of the engine's file
    slack: float = 0.0  # the engine adds this to every threshold
    missing: str = "direction"  # missing values follow the node's direction, are 0, or always go right
    totals: str = "float64"  # precision of the sum over bags, and of scaling it

    def __post_init__(self) -> None:
        precisions = (self.features, self.thresholds, self.values, self.sums, self.totals)
        if any(precision not in PRECISIONS for precision in precisions) or self.operator not in ("<=", "<"):
            raise ValueError("invalid scoring rules: unknown precision or operator")
        if self.missing not in MISSING_RULES:
            raise ValueError(f"missing must be {' or '.join(MISSING_RULES)}, got {self.missing!r}")

    def sentence(self, trees: bool = True) -> str:
        """Describe the rules for trees, or for linear models and networks.

        >>> FLOAT32.sentence(), FLOAT64.sentence(trees=False)
        ('x <= t in float32; NULL by node direction', 'in float64')
        >>> ScoringRules(features="float32", thresholds="float32", operator="<", missing="zero").sentence()
        'x < t on float32 features and float32 thresholds, float64 values, float64 sums; NULL is 0'
        """
        kinds = {"features": self.features, "thresholds": self.thresholds, "values": self.values, "sums": self.sums}
        if not trees:
            del kinds["thresholds"]
        treatment = {"zero": "is 0", "direction": "by node direction", "right": "goes right"}[self.missing]
        null = f"; NULL {treatment}" if trees or self.missing == "zero" else ""
        slack = f" + {self.slack:g}" if self.slack else ""
        comparison = f"x {self.operator} t{slack} " if trees else ""
        if len(set(kinds.values())) == 1:
            return f"{comparison}in {self.features}{null}"
        parts = [f"{precision} {kind}" for kind, precision in kinds.items()]
        if trees:
            return f"{comparison}on {parts[0]} and {', '.join(parts[1:])}{null}"
        return ", ".join(parts) + null


FLOAT64 = ScoringRules()  # as LightGBM and Pippin
FLOAT32 = ScoringRules("float32", "float32", "float32", "float32", totals="float32")
FLOAT32_ZERO = replace(FLOAT32, missing="zero")


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree. A child >= 0 is a node and a child < 0 is leaf -1 - child; node 0 is the root."""

    feature: I32
    threshold: F64
    left: I32
    right: I32
    missing_left: NDArray[np.bool_]
    value: F64  # of each leaf
    zero_missing: NDArray[np.bool_] | None = None  # nodes that treat 0 as missing
    # Categorical nodes: bounds of intervals [a, b) whose values go left; the threshold is not used.
    intervals: dict[int, F64] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.feature)

    def node_depths(self) -> NDArray[np.int64]:
        """Return the depth of each node; the root has depth 0."""
        depths = np.zeros(len(self), np.int64)
        for node in range(len(self)):  # parents come before their children
            for child in (self.left[node], self.right[node]):
                if child >= 0:
                    depths[child] = depths[node] + 1
        return depths

    def depth(self) -> int:
        """Return the number of nodes on the longest path to a leaf."""
        return int(self.node_depths().max(initial=-1)) + 1


def make_tree(
    feature: ArrayLike, threshold: ArrayLike, left: ArrayLike, right: ArrayLike, missing_left: ArrayLike,
    value: ArrayLike, zero_missing: ArrayLike | None = None, intervals: Mapping[int, ArrayLike] | None = None,
) -> Tree:  # fmt: skip
    """Return a validated tree: every leaf and every node except the root has one parent, which precedes it.

    Raises ValueError if the structure is invalid or a number is NaN. Infinite thresholds are allowed.
    """
    tree = Tree(
        np.asarray(feature, np.int32).reshape(-1), np.asarray(threshold, np.float64).reshape(-1),
        np.asarray(left, np.int32).reshape(-1), np.asarray(right, np.int32).reshape(-1),
        np.asarray(missing_left, np.bool_).reshape(-1), np.asarray(value, np.float64).reshape(-1),
        None if zero_missing is None or not np.any(zero_missing) else np.asarray(zero_missing, np.bool_).reshape(-1),
        {int(node): np.asarray(bounds, np.float64) for node, bounds in (intervals or {}).items()},
    )  # fmt: skip
    nodes, leaves = len(tree.feature), len(tree.value)
    if any(len(column) != nodes for column in (tree.threshold, tree.left, tree.right, tree.missing_left)):
        raise ValueError("malformed tree: the numbers of nodes, thresholds and children differ")
    if leaves != nodes + 1:
        raise ValueError(f"malformed tree: {nodes} nodes and {leaves} leaves")
    if np.isnan(tree.threshold).any() or not np.isfinite(tree.value).all():
        raise ValueError("malformed tree: a threshold or leaf value is not a number")
    if (tree.feature < 0).any():
        raise ValueError("malformed tree: a feature number is negative")
    for node, bounds in tree.intervals.items():
        if not 0 <= node < nodes or bounds.ndim != 1 or len(bounds) % 2 or not (np.diff(bounds) > 0).all():
            raise ValueError("malformed tree: the intervals of a categorical node are invalid")
    children = np.concatenate((tree.left, tree.right)).astype(np.int64)
    parents = np.concatenate((np.arange(nodes), np.arange(nodes)))
    if (children >= nodes).any() or (-1 - children >= leaves).any() or ((children >= 0) & (children <= parents)).any():
        raise ValueError("malformed tree: a node has an unknown child, or one that precedes it")
    slots = np.where(children >= 0, children - 1, nodes - 2 - children)  # the root has no slot
    if nodes and (np.bincount(slots, minlength=nodes + leaves - 1) != 1).any():
        raise ValueError("malformed tree: a node or leaf does not have exactly one parent")
    return tree


def category_intervals(categories: Iterable[int], truncated: bool) -> list[float]:
    """Return the bounds of the values that belong to one of some categories.

    A fraction belongs to the category before its point; if values are truncated, so does −0.5 to category 0.

    >>> category_intervals([1, 2, 5], truncated=False)
    [1.0, 3.0, 5.0, 6.0]
    """
    bounds: list[float] = []
    for category in sorted(set(categories)):
        if bounds and bounds[-1] == category:
            bounds[-1] = category + 1.0
        else:
            bounds += [
                float(np.nextafter(-1.0, 0.0)) if truncated and category == 0 else float(category),
                category + 1.0,
            ]
    return bounds


def make_leaf(value: float) -> Tree:
    """Return a tree that consists of one leaf."""
    return make_tree([], [], [], [], [], [value])


@dataclass(frozen=True)
class Normaliser:
    """Transformation of a feature before scoring: (x − shift) / scale, in the precision of features."""

    shift: float
    scale: float


@dataclass(frozen=True, eq=False)
class Model:
    """Base of all models: feature names, scoring rules, and normalisers of features."""

    names: tuple[str, ...]
    scoring: ScoringRules = field(default=FLOAT64, kw_only=True)
    normalisers: tuple[Normaliser | None, ...] = field(default=(), kw_only=True)

    kind = ""

    def rename_features(self, names: Sequence[str]) -> Self:
        """Return the model with other feature names."""
        return replace(self, names=tuple(names))

    def used_features(self) -> list[int]:
        """Return the positions of the features that can change a score."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TreeEnsemble(Model):
    """score = scale · Σ over bags of (start + Σ over its trees) / divisor + base, in the order of the trees."""

    bags: tuple[tuple[Tree, ...], ...]
    divisor: float = 1.0
    base: float = 0.0
    start: float = 0.0
    scale: float = 1.0

    kind = "trees"

    def trees(self) -> list[Tree]:
        """Return all trees, bag after bag."""
        return [tree for bag in self.bags for tree in bag]

    def used_features(self) -> list[int]:
        """Return the features that some node splits by."""
        return sorted({int(f) for tree in self.trees() for f in tree.feature})

    def flat(self) -> list[Tree]:
        """Return trees whose plain sum is the score: scaled leaf values; start and base as trees of one leaf."""
        factor = self.scale / self.divisor
        trees = self.trees()
        if factor != 1:
            trees = [replace(tree, value=tree.value * self.scale / self.divisor) for tree in trees]
        first = [make_leaf(self.start * len(self.bags) * factor)] if self.start else []
        return first + trees + ([make_leaf(self.base)] if self.base else [])


@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """score = start + Σ weight · x + bias, summed in the order of the features or, if present, of `terms`."""

    weights: F64
    bias: float = 0.0
    start: float = 0.0
    terms: tuple[tuple[int, float], ...] = ()  # features and weights in the order of the sum; features may repeat

    kind = "linear"

    def used_features(self) -> list[int]:
        """Return the features with a weight."""
        return [int(i) for i in np.flatnonzero(self.weights)]


@dataclass(frozen=True, eq=False)
class Layer:
    """out = activation(in @ matrix + bias); the matrix has shape [in, out]."""

    matrix: F64
    bias: F64
    activation: str = "identity"


@dataclass(frozen=True, eq=False)
class NeuralNetwork(Model):
    """Dense layers with one output; inputs are standardised as (x − mean) · factor."""

    layers: tuple[Layer, ...]
    mean: F64
    factor: F64

    kind = "network"

    def used_features(self) -> list[int]:
        """Return the features that reach a unit."""
        return [int(i) for i in np.flatnonzero((self.layers[0].matrix != 0).any(axis=1) & (self.factor != 0))]

    def is_standardised(self) -> bool:
        """Return whether standardisation changes any input."""
        return bool(self.mean.any() or (self.factor != 1).any())

    def fold_standardisation(self) -> NeuralNetwork:
        """Return the network with the standardisation in the weights of its first layer."""
        first, *other_layers = self.layers
        matrix = self.factor[:, None] * first.matrix
        layers = (Layer(matrix, first.bias - self.mean @ matrix, first.activation), *other_layers)
        return replace(self, layers=layers, mean=np.zeros(len(self.mean)), factor=np.ones(len(self.factor)))


def make_linear(
    names: tuple[str, ...], terms: list[tuple[int, float]], scoring: ScoringRules, start: float = 0.0
) -> LinearModel:
    """Return a linear model of terms whose features may repeat."""
    weights = np.zeros(len(names))
    for feature, weight in terms:
        weights[feature] += weight
    return LinearModel(names, weights, start=start, terms=tuple(terms), scoring=scoring)


def make_network(names: tuple[str, ...], layers: tuple[Layer, ...], **fields: Any) -> NeuralNetwork:
    """Return a network without standardisation; ValueError unless the layers fit and end in one output."""
    sizes = [len(names), *(layer.matrix.shape[1] for layer in layers)]
    if [layer.matrix.shape[0] for layer in layers] != sizes[:-1] or sizes[-1] != 1 or len(sizes) == 1:
        raise ValueError("the layers do not fit together or do not end in one output")
    if any(layer.bias.shape != (layer.matrix.shape[1],) for layer in layers):
        raise ValueError("a bias does not fit its layer")
    return NeuralNetwork(names, layers, np.zeros(len(names)), np.ones(len(names)), **fields)


def fold_normalisation(model: Any) -> Any:
    """Return a linear model as weights in feature order and a bias, without normalisers; other models unchanged."""
    if not isinstance(model, LinearModel):
        return model
    if not any(model.normalisers):
        return replace(model, bias=model.bias + model.start, start=0.0, terms=())
    shifts = np.array([0.0 if normaliser is None else normaliser.shift for normaliser in model.normalisers])
    scales = np.array([1.0 if normaliser is None else normaliser.scale for normaliser in model.normalisers])
    weights = model.weights / scales
    bias = float(model.start + model.bias - weights @ shifts)
    return replace(model, weights=weights, bias=bias, start=0.0, terms=(), normalisers=())


def map_features(model: Model, names: tuple[str, ...]) -> Model:
    """Return the model over a larger feature set, matched by name; unused features may be absent."""
    if model.names == names:
        return model
    position = {name: i for i, name in enumerate(names)}
    columns = np.array([position.get(name, 0) for name in model.names], np.int32)
    normalisers: list[Any] = [None] * len(names) if any(model.normalisers) else []
    for name, normaliser in zip(model.names, model.normalisers, strict=False):
        if normaliser is not None:
            normalisers[position[name]] = normaliser
    if isinstance(model, TreeEnsemble):
        bags = tuple(tuple(replace(tree, feature=columns[tree.feature]) for tree in bag) for bag in model.bags)
        return replace(model, bags=bags, names=names, normalisers=tuple(normalisers))
    if isinstance(model, LinearModel):
        terms = model.terms or tuple((i, float(model.weights[i])) for i in model.used_features())
        mapped_terms = [(int(columns[i]), weight) for i, weight in terms]
        linear = make_linear(names, mapped_terms, model.scoring, model.start)
        return replace(linear, bias=model.bias, normalisers=tuple(normalisers))
    if not isinstance(model, NeuralNetwork):
        raise TypeError(f"{type(model).__name__} is not a model that can be mapped to other features")
    matrix = np.zeros((len(names), model.layers[0].matrix.shape[1]))
    mean, factor = np.zeros(len(names)), np.ones(len(names))
    used = model.used_features()
    matrix[columns[used]] = model.layers[0].matrix[used]
    mean[columns[used]], factor[columns[used]] = model.mean[used], model.factor[used]
    layers = (replace(model.layers[0], matrix=matrix), *model.layers[1:])
    return replace(model, layers=layers, mean=mean, factor=factor, names=names, normalisers=tuple(normalisers))


def parse_index(value: Any, limit: int = 1 << 31) -> int:
    """Return an integer in [0, limit) from a number or its text; ValueError otherwise."""
    number = int(value)
    if isinstance(value, bool) or number != float(value) or not 0 <= number < limit:
        raise ValueError(f"{value!r} is not a valid number of a node or feature")
    return number


def parse_float(value: Any) -> float:
    """Return a finite float from a number or its text; ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a number")
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def model_to_dict(model: Any) -> dict[str, Any]:
    """Return the JSON record of a model, without the feature names, which model files hold already."""
    state: dict[str, Any] = {"kind": model.kind, "scoring": asdict(model.scoring)}
    if any(model.normalisers):
        state["normalisers"] = [
            None if normaliser is None else [normaliser.shift, normaliser.scale] for normaliser in model.normalisers
        ]
    if isinstance(model, TreeEnsemble):
        numbers = {key: getattr(model, key) for key in ("divisor", "base", "start", "scale")}
        return {**state, **numbers, "bags": [[_tree_to_dict(tree) for tree in bag] for bag in model.bags]}
    if isinstance(model, LinearModel):
        terms = [list(term) for term in model.terms]
        return {**state, "weights": model.weights.tolist(), "bias": model.bias, "start": model.start, "terms": terms}
    layers = [
        {"matrix": layer.matrix.tolist(), "bias": layer.bias.tolist(), "activation": layer.activation}
        for layer in model.layers
    ]
    return {**state, "layers": layers, "mean": model.mean.tolist(), "factor": model.factor.tolist()}


def _tree_to_dict(tree: Tree) -> dict[str, Any]:
    """Return the record of a tree; infinite thresholds, which JSON lacks, are null."""
    threshold = [value if np.isfinite(value) else None for value in tree.threshold.tolist()]
    return {
        "feature": tree.feature.tolist(), "threshold": threshold, "left": tree.left.tolist(),
        "right": tree.right.tolist(), "null_left": tree.missing_left.astype(int).tolist(), "value": tree.value.tolist(),
        **({} if tree.zero_missing is None else {"zero_null": tree.zero_missing.astype(int).tolist()}),
        **({"intervals": [[n, bounds.tolist()] for n, bounds in tree.intervals.items()]} if tree.intervals else {}),
    }  # fmt: skip


def model_from_dict(state: dict[str, Any], names: tuple[str, ...]) -> Model:
    """Return the model of a record of `model_to_dict`; ValueError, KeyError or TypeError if it is invalid."""
    scoring = ScoringRules(**state["scoring"])
    normalisers = tuple(None if pair is None else _parse_normaliser(*pair) for pair in state.get("normalisers") or ())
    if normalisers and len(normalisers) != len(names):
        raise ValueError(f"{len(normalisers)} normalisers for {len(names)} features")
    rules: dict[str, Any] = {"scoring": scoring, "normalisers": normalisers}
    model: Model
    if state["kind"] == "trees":
        numbers: dict[str, Any] = {key: parse_float(state[key]) for key in ("divisor", "base", "start", "scale")}
        if numbers["divisor"] == 0:
            raise ValueError("the divisor of the trees is 0")
        bags = tuple(tuple(_tree_from_dict(record) for record in bag) for bag in state["bags"])
        model = TreeEnsemble(names, bags, **numbers, **rules)
    elif state["kind"] == "linear":
        terms = tuple((parse_index(feature), parse_float(weight)) for feature, weight in state["terms"])
        weights = _parse_row(state["weights"], len(names))
        if any(feature >= len(names) for feature, _ in terms):
            raise ValueError("a term has an unknown feature")
        bias, start = parse_float(state["bias"]), parse_float(state["start"])
        model = LinearModel(names, weights, bias=bias, start=start, terms=terms, **rules)
    elif state["kind"] == "network":
        layers = tuple(_parse_layer(layer) for layer in state["layers"])
        mean, factor = (_parse_row(state[key], len(names)) for key in ("mean", "factor"))
        model = replace(make_network(names, layers, **rules), mean=mean, factor=factor)
    else:
        raise ValueError(f"unknown kind of model: {state['kind']!r}")
    if model.used_features() and max(model.used_features()) >= len(names):
        raise ValueError("the model uses an unknown feature")
    return model


def _parse_normaliser(shift: Any, scale: Any) -> Normaliser:
    if parse_float(scale) == 0:
        raise ValueError("a normaliser divides by 0")
    return Normaliser(parse_float(shift), parse_float(scale))


def _parse_row(values: Any, length: int) -> F64:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"expected a list of {length} numbers")
    return np.array([parse_float(value) for value in values], np.float64)


def _tree_from_dict(record: Any) -> Tree:
    threshold = [np.inf if value is None else parse_float(value) for value in record["threshold"]]
    left, right = ([_parse_child(child) for child in record[side]] for side in ("left", "right"))
    feature = [parse_index(value) for value in record["feature"]]
    value = [parse_float(value) for value in record["value"]]
    intervals = {parse_index(node): [parse_float(b) for b in bounds] for node, bounds in record.get("intervals", ())}
    return make_tree(feature, threshold, left, right, record["null_left"], value, record.get("zero_null"), intervals)


def _parse_child(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1 << 30:
        raise ValueError(f"{value!r} is not a valid child of a node")
    return value


def _parse_layer(record: Any) -> Layer:
    bias = _parse_row(record["bias"], len(record["bias"]))
    matrix = np.array([_parse_row(row, len(bias)) for row in record["matrix"]], np.float64)
    if matrix.ndim != 2 or record["activation"] not in ACTIVATIONS:
        raise ValueError("a layer is malformed")
    return Layer(matrix, bias, record["activation"])
