"""What is a model once its training is forgotten? Trees, a weighted sum, or layers: the one form that all meet in.

Every ranker turns into one of these, every target of an export is written from them, and every importer ends in one. A
node of a tree always sends `x <= threshold` to the left: engines that ask `x < t` have the next smaller number here.
The numbers are doubles throughout; `Scoring` says in what precision they are meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
ACTIVATIONS = ("identity", "relu", "sigmoid", "tanh", "leakyrelu", "elu")
PRECISIONS = ("float64", "float32")
MISSING = ("direction", "zero")
ZERO = float(np.float32(1e-35))  # what LightGBM takes for zero lies this near to it: kZeroThreshold is a float


@dataclass(frozen=True)
class Scoring:
    """How an engine computes: a scoring convention, the precision of each kind of number and what NULL does."""

    features: str = "float64"  # what a feature's value is rounded to before anything else
    thresholds: str = "float64"
    values: str = "float64"  # of leaves and of weights
    sums: str = "float64"  # what a sum is rounded to after each addition
    operator: str = "<="  # which the engine asks of a threshold as it stands in its file
    slack: float = 0.0  # which the engine adds to a threshold, in its own precision
    missing: str = "direction"  # NULL goes where its node says, or is 0
    totals: str = "float64"  # what bags' sums, and what is done to them, are rounded to; float32 where sums are

    def __post_init__(self) -> None:
        precisions = (self.features, self.thresholds, self.values, self.sums, self.totals)
        if any(one not in PRECISIONS for one in precisions) or self.operator not in ("<=", "<"):
            raise ValueError("this is no scoring convention")
        if self.missing not in MISSING:
            raise ValueError(f"missing values are {' or '.join(MISSING)}, not {self.missing!r}")

    def sentence(self, trees: bool = True) -> str:
        """The convention in words, for trees or for sums of products.

        >>> SINGLE.sentence(), DOUBLE.sentence(trees=False)
        ('x <= t in float32; NULL as its node says', 'in float64')
        >>> Scoring(features="float32", thresholds="float32", operator="<", missing="zero").sentence()
        'x < t on float32 features and float32 thresholds, float64 values, float64 sums; NULL is 0'
        """
        kinds = {"features": self.features, "thresholds": self.thresholds, "values": self.values, "sums": self.sums}
        if not trees:
            del kinds["thresholds"]
        null = "; NULL is 0" if self.missing == "zero" else "; NULL as its node says" if trees else ""
        slack = f" + {self.slack:g}" if self.slack else ""
        start = f"x {self.operator} t{slack} " if trees else ""
        if len(set(kinds.values())) == 1:
            return f"{start}in {self.features}{null}"
        on = "on " if trees else ""
        parts = [f"{kind} {name}" for name, kind in kinds.items()]
        together = " and ".join(parts[:2]) if trees else parts[0]
        return start + on + ", ".join([together, *parts[2 if trees else 1 :]]) + null


DOUBLE = Scoring()  # Pippin's own: as LightGBM
SINGLE = Scoring("float32", "float32", "float32", "float32", totals="float32")


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: nodes and leaves by number. A child from 0 on is a node, and −1 − c is leaf c; node 0 is the root."""

    feature: I32
    threshold: F64
    left: I32
    right: I32
    missing_left: NDArray[np.bool_]
    value: F64  # of each leaf
    zero_missing: NDArray[np.bool_] | None = None  # whether a node takes 0 for missing, too

    def __len__(self) -> int:
        return len(self.feature)

    def depth(self) -> int:
        """Nodes on the longest way to a leaf."""
        depths = np.zeros(len(self), np.int64)
        for node in range(len(self)):  # parents come before their children
            for child in (self.left[node], self.right[node]):
                if child >= 0:
                    depths[child] = depths[node] + 1
        return int(depths.max(initial=-1)) + 1


def tree(
    feature: ArrayLike, threshold: ArrayLike, left: ArrayLike, right: ArrayLike, missing_left: ArrayLike,
    value: ArrayLike, zero_missing: ArrayLike | None = None,
) -> Tree:  # fmt: skip
    """A checked tree: every node but the root and every leaf has one parent, which comes before it.

    ValueError where that is not so, or where a number is not one. A threshold may be infinite, which is above all.
    """
    made = Tree(
        np.asarray(feature, np.int32).reshape(-1), np.asarray(threshold, np.float64).reshape(-1),
        np.asarray(left, np.int32).reshape(-1), np.asarray(right, np.int32).reshape(-1),
        np.asarray(missing_left, np.bool_).reshape(-1), np.asarray(value, np.float64).reshape(-1),
        None if zero_missing is None or not np.any(zero_missing) else np.asarray(zero_missing, np.bool_).reshape(-1),
    )  # fmt: skip
    nodes, leaves = len(made.feature), len(made.value)
    if any(len(one) != nodes for one in (made.threshold, made.left, made.right, made.missing_left)):
        raise ValueError("a tree has not as many thresholds and children as nodes")
    if leaves != nodes + 1:
        raise ValueError(f"a tree of {nodes} nodes has {leaves} leaves")
    if np.isnan(made.threshold).any() or not np.isfinite(made.value).all():
        raise ValueError("a tree has a threshold or a value that is no number")
    if (made.feature < 0).any():
        raise ValueError("a tree splits by a feature that is not there")
    children = np.concatenate((made.left, made.right)).astype(np.int64)
    parents = np.concatenate((np.arange(nodes), np.arange(nodes)))
    reached = np.where(children >= 0, children - 1, nodes - 2 - children)  # the root is no child
    if (children >= nodes).any() or (-1 - children >= leaves).any() or ((children >= 0) & (children <= parents)).any():
        raise ValueError("a node of a tree has a child that is not there, or that comes before it")
    if nodes and (np.bincount(reached, minlength=nodes + leaves - 1) != 1).any():
        raise ValueError("a tree has a node or a leaf that is reached twice, or never")
    return made


def leaf(value: float) -> Tree:
    """A tree that gives one value always."""
    return tree([], [], [], [], [], [value])


@dataclass(frozen=True)
class Normaliser:
    """What an engine does to a feature before the model sees it: (x − shift) / scale, in the features' precision."""

    shift: float
    scale: float


@dataclass(frozen=True, eq=False)
class Form:
    """What all forms have: features by name, how numbers are computed, and what is done to features first."""

    names: tuple[str, ...]
    scoring: Scoring = field(default=DOUBLE, kw_only=True)
    normalisers: tuple[Normaliser | None, ...] = field(default=(), kw_only=True)

    kind = ""

    def renamed(self, names: Sequence[str]) -> Self:
        """The same with other names of the features."""
        return replace(self, names=tuple(names))

    def used(self) -> list[int]:
        """The features that can change a score, by position."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Trees(Form):
    """score = scale · Σ over bags of (start + Σ over its trees) / divisor + base, in the order of the trees."""

    bags: tuple[tuple[Tree, ...], ...]
    divisor: float = 1.0
    base: float = 0.0
    start: float = 0.0
    scale: float = 1.0

    kind = "trees"

    def trees(self) -> list[Tree]:
        """All trees, bag after bag."""
        return [one for bag in self.bags for one in bag]

    def used(self) -> list[int]:
        """The features that some node looks at."""
        return sorted({int(f) for one in self.trees() for f in one.feature})

    def flat(self) -> list[Tree]:
        """Trees whose plain sum is the score: values divided and scaled, start and base as trees of one leaf."""
        factor = self.scale / self.divisor
        found = [
            one if factor == 1 else replace(one, value=_scaled(one.value, self.scale, self.divisor))
            for one in self.trees()
        ]
        first = [leaf(self.start * len(self.bags) * factor)] if self.start else []
        return first + found + ([leaf(self.base)] if self.base else [])


def _scaled(values: F64, scale: float, divisor: float) -> F64:
    product: F64 = values * scale if divisor == 1 else values * scale / divisor
    return product


@dataclass(frozen=True, eq=False)
class Linear(Form):
    """score = start + Σ weight · x + bias, added up in the order of the features or, if there are some, of `terms`."""

    weights: F64
    bias: float = 0.0
    start: float = 0.0
    terms: tuple[tuple[int, float], ...] = ()  # features and weights in the order of the sum; some may come again

    kind = "linear"

    def used(self) -> list[int]:
        """The features with a weight."""
        return [int(i) for i in np.flatnonzero(self.weights)]


@dataclass(frozen=True, eq=False)
class Layer:
    """out = activation(in @ matrix + bias); matrix is [in, out]."""

    matrix: F64
    bias: F64
    activation: str = "identity"


@dataclass(frozen=True, eq=False)
class Network(Form):
    """Layers one after the other, the last with one output; features less `mean`, times `factor`, come first."""

    layers: tuple[Layer, ...]
    mean: F64
    factor: F64

    kind = "network"

    def used(self) -> list[int]:
        """The features that reach a unit."""
        return [int(i) for i in np.flatnonzero((self.layers[0].matrix != 0).any(axis=1) & (self.factor != 0))]

    def folded(self) -> tuple[Layer, ...]:
        """The layers with the standardisation in the first one's weights."""
        first, *rest = self.layers
        matrix = self.factor[:, None] * first.matrix
        return (Layer(matrix, first.bias - self.mean @ matrix, first.activation), *rest)


def linear_of(names: tuple[str, ...], terms: list[tuple[int, float]], scoring: Scoring, start: float = 0.0) -> Linear:
    """A weighted sum of terms whose features may come again."""
    weights = np.zeros(len(names))
    for feature, weight in terms:
        weights[feature] += weight
    return Linear(names, weights, start=start, terms=tuple(terms), scoring=scoring)


def folded(form: Any) -> Any:
    """A linear form that is weights and a bias alone, in the features' order; other forms are as they were."""
    if not isinstance(form, Linear):
        return form
    if not any(form.normalisers):
        return replace(form, bias=form.bias + form.start, start=0.0, terms=())
    shifts = np.array([0.0 if one is None else one.shift for one in form.normalisers])
    scales = np.array([1.0 if one is None else one.scale for one in form.normalisers])
    weights = form.weights / scales
    bias = float(form.start + form.bias - weights @ shifts)
    return replace(form, weights=weights, bias=bias, start=0.0, terms=(), normalisers=())
