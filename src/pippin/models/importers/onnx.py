"""Read ONNX: ensembles of trees, linear models and networks; float64 or float32.

Supported are `TreeEnsemble` (ai.onnx.ml 5), `TreeEnsembleRegressor` (1, 3), `LinearRegressor`, and graphs of MatMul,
Gemm, Add, Sub, Mul, Div, Tanh, Relu, Sigmoid, Identity and Cast from one input to one output. Protocol buffers are read
without a schema: fields by number. No length that a file claims is trusted.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.models.importers import Importer, default_feature_names
from pippin.models.model import (
    F64,
    FLOAT32,
    FLOAT64,
    Layer,
    LinearModel,
    Model,
    ScoringRules,
    Tree,
    TreeEnsemble,
    make_network,
)
from pippin.models.tree_builder import Split, build_tree, less_to_less_equal

Message = dict[int, list[Any]]  # values of each field: int, or bytes of text, a message or packed numbers
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types of protocol buffers
_DTYPES = {1: "<f4", 2: "|u1", 6: "<i4", 7: "<i8", 11: "<f8"}
_NUMBER_FIELDS = {1: (4, "<f4"), 11: (10, "<f8")}  # field and dtype of tensors without raw data
_MODES = {0: "BRANCH_LEQ", 1: "BRANCH_LT"}
_ACTIVATIONS = {"Tanh": "tanh", "Relu": "relu", "Sigmoid": "sigmoid", "LeakyRelu": "leakyrelu", "Elu": "elu"}
_MAX_FEATURES = 1 << 20


def parse_message(content: bytes) -> Message:
    """Return the fields of a message; ValueError if it is malformed."""
    fields: Message = {}
    offset = 0
    while offset < len(content):
        key, offset = _parse_varint(content, offset)
        kind = key & 7
        value: int | bytes
        if kind == _VARINT:
            value, offset = _parse_varint(content, offset)
        elif kind in (_BYTES, _FIXED32, _FIXED64):
            length = {_FIXED32: 4, _FIXED64: 8}.get(kind, 0)
            if kind == _BYTES:
                length, offset = _parse_varint(content, offset)
            if length > len(content) - offset:
                raise ValueError("a field is longer than the file")
            value, offset = content[offset : offset + length], offset + length
        else:
            raise ValueError(f"unknown wire type {kind}")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _parse_varint(content: bytes, offset: int) -> tuple[int, int]:
    """Return an unsigned integer and the offset behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if offset >= len(content):
            raise ValueError("the file ends in the middle of a number")
        value |= (content[offset] & 127) << shift
        offset += 1
        if content[offset - 1] < 128:
            return value & (1 << 64) - 1, offset
    raise ValueError("a number has more than ten bytes")


def _integers(values: Iterable[int | bytes]) -> list[int]:
    """Return the signed integers of a field, packed or single."""
    unsigned: list[int] = []
    for value in values:
        if isinstance(value, int):
            unsigned.append(value)
            continue
        offset = 0
        while offset < len(value):
            number, offset = _parse_varint(value, offset)
            unsigned.append(number)
    return [number - (1 << 64) if number >> 63 else number for number in unsigned]


def matches(content: bytes) -> bool:
    """Return whether the content is a message with an ONNX version and a graph."""
    if not content.startswith(b"\x08") or len(content) < 20:
        return False
    try:
        fields = parse_message(content)
    except ValueError:
        return False
    return 7 in fields and 8 in fields and isinstance(fields[7][0], bytes)


def read(content: bytes) -> Model:
    """Read a model."""
    body = parse_message(content)
    graph = parse_message(body[7][0])
    constants = {_text(tensor, 8): _read_tensor(tensor) for tensor in map(parse_message, graph.get(5, []))}
    inputs = [port for port in map(parse_message, graph[11]) if _text(port, 1) not in constants]
    if len(inputs) != 1:
        raise ValueError(f"the graph has {len(inputs)} inputs, not 1")
    tensor_type = parse_message(parse_message(inputs[0][2][0])[1][0])
    shape = [parse_message(size) for size in parse_message(tensor_type[2][0]).get(1, [])] if 2 in tensor_type else []
    width = _integers(shape[-1].get(1, [0]))[0] if len(shape) == 2 else 0
    chain = _Chain(_text(inputs[0], 1), constants, width, FLOAT64 if int(tensor_type[1][0]) == 11 else FLOAT32)
    for node in map(parse_message, graph[1]):
        chain.add(_text(node, 4), [_decode(name) for name in node.get(1, [])],
                  [_decode(name) for name in node.get(2, [])], _read_attributes(node))  # fmt: skip
    model = chain.model(_text(parse_message(graph[12][0]), 1))
    for entry in map(parse_message, body.get(14, [])):
        if _text(entry, 1) == "feature_names":
            names = json.loads(_text(entry, 2))
            if isinstance(names, list) and names:
                return model.rename_features(default_feature_names(len(model.names), names))
    return model


def _decode(value: Any) -> str:
    if not isinstance(value, bytes):
        raise ValueError("a name is not text")
    return value.decode("utf-8")


def _text(message: Message, field: int) -> str:
    return _decode(message[field][0]) if field in message else ""


def _read_tensor(message: Message) -> NDArray[Any]:
    """Return a tensor; ValueError if its size differs from its shape."""
    shape = _integers(message.get(1, []))
    kind = int(message[2][0])
    if kind not in _DTYPES:
        raise ValueError(f"tensors of type {kind} are not supported")
    if 9 in message:
        values = np.frombuffer(message[9][0], _DTYPES[kind])
    elif kind in _NUMBER_FIELDS:
        field, dtype = _NUMBER_FIELDS[kind]
        values = np.frombuffer(b"".join(message.get(field, [])), dtype)
    else:
        values = np.array(_integers(message.get(7 if kind == 7 else 5, [])), _DTYPES[kind])
    if any(size < 0 for size in shape) or int(np.prod(shape, dtype=object)) != values.size:
        raise ValueError("the size of a tensor differs from its shape")
    return values.reshape(shape)


def _read_attributes(node: Message) -> dict[str, Any]:
    """Return the attributes of a node by name: numbers, texts, lists and tensors."""
    attributes: dict[str, Any] = {}
    for message in map(parse_message, node.get(5, [])):
        name = _text(message, 1)
        if 5 in message:
            attributes[name] = _read_tensor(parse_message(message[5][0]))
        elif 8 in message:
            attributes[name] = _integers(message[8])
        elif 7 in message:
            attributes[name] = np.frombuffer(b"".join(message[7]), "<f4").astype(np.float64).tolist()
        elif 9 in message:
            attributes[name] = [_decode(text) for text in message[9]]
        elif 4 in message:
            attributes[name] = _text(message, 4)
        elif 3 in message:
            attributes[name] = _integers(message[3])[0]
        elif 2 in message:
            attributes[name] = struct.unpack("<f", message[2][0])[0]
    return attributes


def _read_ensemble(kind: str, attributes: dict[str, Any], is_single: bool) -> tuple[tuple[Tree, ...], float]:
    """Return the trees of an ensemble, and the base value of their sum."""
    if attributes.get("n_targets", 1) != 1 or attributes.get("post_transform", 0) not in (0, "NONE"):
        raise ValueError("ensembles with several outputs or a transformation are not supported")
    if attributes.get("aggregate_function", 1) not in (1, "SUM"):
        raise ValueError("only sums of trees are supported")
    if kind == "TreeEnsemble":
        return tuple(_read_tree(attributes, root, is_single) for root in attributes["tree_roots"]), 0.0
    base = attributes.get("base_values_as_tensor", attributes.get("base_values", [0.0]))
    return _read_regressor(attributes, is_single), float(np.asarray(base, np.float64).reshape(-1)[0])


def _read_tree(attributes: dict[str, Any], root: int, is_single: bool) -> Tree:
    """Read a tree of `TreeEnsemble` (version 5)."""
    splits, modes = attributes["nodes_splits"], attributes["nodes_modes"]
    weights, missing_left = attributes["leaf_weights"], attributes.get("nodes_missing_value_tracks_true")
    sides = ((attributes["nodes_truenodeids"], attributes["nodes_trueleafs"]),
             (attributes["nodes_falsenodeids"], attributes["nodes_falseleafs"]))  # fmt: skip

    def read_node(position: tuple[bool, int]) -> Split | float:
        is_leaf, number = position
        if number < 0:
            raise ValueError("a node has an unknown child")
        if is_leaf:
            return float(weights[number])
        left, right = ((bool(leaves[number]), int(ids[number])) for ids, leaves in sides)
        threshold = _threshold(float(splits[number]), _MODES.get(int(modes[number]), "?"), is_single)
        is_missing_left = bool(missing_left[number]) if missing_left else False
        return Split(int(attributes["nodes_featureids"][number]), threshold, left, right, is_missing_left)

    # Several nodes may share a leaf, but not a node.
    return build_tree((False, int(root)), read_node, lambda position: object() if position[0] else position)


def _threshold(split: float, mode: str, is_single: bool) -> float:
    if mode not in _MODES.values():
        raise ValueError(f"the node mode {mode} is not supported")
    if mode == "BRANCH_LEQ":
        return split
    return less_to_less_equal(split, "float32" if is_single else "float64")


def _read_regressor(attributes: dict[str, Any], is_single: bool) -> tuple[Tree, ...]:
    """Read the trees of `TreeEnsembleRegressor` (versions 1 and 3)."""
    values = attributes.get("nodes_values_as_tensor", attributes.get("nodes_values"))
    weights = attributes.get("target_weights_as_tensor", attributes.get("target_weights"))
    if values is None or weights is None:
        raise ValueError("the values of an ensemble are missing")
    leaves: dict[tuple[int, int], float] = {}
    targets = zip(attributes["target_treeids"], attributes["target_nodeids"], strict=True)
    for position, target, weight in zip(targets, attributes["target_ids"], weights, strict=True):
        if target != 0 or position in leaves:
            raise ValueError("leaves with several values are not supported")
        leaves[position] = float(weight)
    positions = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
    rows = {position: row for row, position in enumerate(positions)}
    missing_left = attributes.get("nodes_missing_value_tracks_true")

    def read_node(position: tuple[int, int]) -> Split | float:
        row, tree = rows[position], position[0]
        mode = attributes["nodes_modes"][row]
        if mode == "LEAF":
            return leaves.get(position, 0.0)
        left, right = ((tree, attributes[f"nodes_{side}nodeids"][row]) for side in ("true", "false"))
        threshold = _threshold(float(values[row]), mode, is_single)
        is_missing_left = bool(missing_left[row]) if missing_left else False
        return Split(int(attributes["nodes_featureids"][row]), threshold, left, right, is_missing_left)

    roots = {tree: (tree, node) for tree, node in reversed(list(rows))}
    return tuple(build_tree(roots[tree], read_node, lambda position: position) for tree in sorted(roots))


class _Chain:
    """What each value of a graph is: the features, trees, or the layers up to it."""

    def __init__(self, features: str, constants: dict[str, Any], width: int, scoring: ScoringRules) -> None:
        self.constants, self.width, self.scoring = constants, width, scoring
        self.values: dict[str, Any] = {features: "features"}
        self.mean: F64 | None = None
        self.factor: F64 | None = None

    def add(self, kind: str, inputs: list[str], outputs: list[str], attributes: dict[str, Any]) -> None:
        """Follow one operation."""
        values = [self.values[name] for name in inputs if name in self.values]
        constants = [np.asarray(self.constants[name], np.float64) for name in inputs if name in self.constants]
        if not values or len(values) + len(constants) != len(inputs) or len(outputs) != 1:
            raise ValueError(f"the inputs or outputs of {kind} are not supported")
        if any(not np.isfinite(constant).all() for constant in constants):
            raise ValueError("a constant is not a finite number")
        self.values[outputs[0]] = self._apply(kind, values, constants, attributes)

    def _apply(self, kind: str, values: list[Any], constants: list[F64], attributes: dict[str, Any]) -> Any:
        if kind in ("Identity", "Cast", "Reshape", "Flatten", "Squeeze"):
            return values[0]
        if kind in ("TreeEnsemble", "TreeEnsembleRegressor"):
            trees, base = _read_ensemble(kind, attributes, self.scoring == FLOAT32)
            return TreeEnsemble(("?",), (trees,), base=base, scoring=self.scoring)
        if kind == "LinearRegressor":
            weights = np.array(attributes["coefficients"], np.float64)
            return (Layer(weights[:, None], np.array(attributes.get("intercepts", [0.0]), np.float64)),)
        if isinstance(values[0], TreeEnsemble):
            return self._apply_to_trees(kind, values, constants)
        if values[0] == "features" and kind in ("Sub", "Mul", "Div") and len(constants) == 1:
            return self._standardise(kind, constants[0])
        return self._add_layer(kind, values[0], constants, attributes)

    def _apply_to_trees(self, kind: str, values: list[Any], constants: list[F64]) -> TreeEnsemble:
        """Add ensembles, or scale, divide or shift their sum."""
        first: TreeEnsemble = values[0]
        if kind in ("Add", "Sum") and not constants and all(isinstance(value, TreeEnsemble) for value in values):
            if any((value.base, value.scale, value.divisor) != (0.0, 1.0, 1.0) for value in values):
                raise ValueError("a sum of scaled ensembles is not supported")
            return replace(first, bags=tuple(bag for value in values for bag in value.bags))
        number = float(constants[0].reshape(-1)[0]) if len(constants) == 1 and constants[0].size == 1 else None
        if number is not None and len(values) == 1:
            if kind == "Add" and first.base == 0:
                return replace(first, base=number)
            if kind == "Mul" and (first.scale, first.divisor, first.base) == (1.0, 1.0, 0.0):
                return replace(first, scale=number)
            if kind == "Div" and (first.divisor, first.base) == (1.0, 0.0) and number != 0:
                return replace(first, divisor=number)
        raise ValueError(f"{kind} of trees is not supported")

    def _standardise(self, kind: str, constant: F64) -> str:
        row = constant.reshape(-1)
        if kind == "Sub" and self.mean is None and self.factor is None:
            self.mean = row
        elif kind in ("Mul", "Div") and self.factor is None:
            self.factor = row if kind == "Mul" else 1 / row
        else:
            raise ValueError("features are standardised twice")
        return "features"

    def _add_layer(self, kind: str, value: Any, constants: list[F64], attributes: dict[str, Any]) -> tuple[Layer, ...]:
        """Add a layer, its bias, or its activation."""
        layers: tuple[Layer, ...] = () if value == "features" else value
        if kind in ("MatMul", "Gemm") and constants and constants[0].ndim == 2:
            if attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1 or attributes.get("beta", 1.0) != 1:
                raise ValueError("transposed or scaled products are not supported")
            matrix = constants[0].T if attributes.get("transB", 0) else constants[0]
            bias = constants[1].reshape(-1) if len(constants) > 1 else np.zeros(matrix.shape[1])
            return (*layers, Layer(matrix, bias))
        if layers and layers[-1].activation == "identity":
            last = layers[-1]
            if kind == "Add" and len(constants) == 1:
                return (*layers[:-1], replace(last, bias=last.bias + constants[0].reshape(-1)))
            if kind in _ACTIVATIONS:
                return (*layers[:-1], replace(last, activation=_ACTIVATIONS[kind]))
        raise ValueError(f"the operation {kind} is not supported")

    def model(self, output: str) -> Model:
        """Return the model of an output."""
        value = self.values[output]
        is_standardised = self.mean is not None or self.factor is not None
        if isinstance(value, TreeEnsemble):
            if is_standardised:
                raise ValueError("trees of standardised features are not supported")
            width = self.width or max((int(tree.feature.max(initial=0)) for tree in value.trees()), default=0) + 1
            if width > _MAX_FEATURES:
                raise ValueError(f"the model has {width:,} features; at most {_MAX_FEATURES:,} are supported")
            return value.rename_features(default_feature_names(width))
        if value == "features" or not value:
            raise ValueError("the output of the graph is not a score")
        width = value[0].matrix.shape[0]
        network = make_network(default_feature_names(width), value, scoring=self.scoring)
        if len(value) == 1 and value[0].activation == "identity" and not is_standardised:
            weights = value[0].matrix[:, 0].copy()
            return LinearModel(network.names, weights, bias=float(value[0].bias[0]), scoring=self.scoring)
        mean = network.mean if self.mean is None else np.broadcast_to(self.mean, width).copy()
        factor = network.factor if self.factor is None else np.broadcast_to(self.factor, width).copy()
        return replace(network, mean=mean, factor=factor)


IMPORTERS = {"onnx": Importer(matches, read)}
