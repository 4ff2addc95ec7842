"""Export to ONNX: trees as `TreeEnsemble` of ai.onnx.ml 5, linear models and networks as products; float64 or float32.

The file is written without the `onnx` package: protocol buffers are numbered fields, and few of them are needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pippin._version import __version__
from pippin.models.exporters.base import (
    F64,
    KINDS,
    Engine,
    EngineUnavailable,
    Exporter,
    ExportRequest,
    Files,
    Option,
    register,
)
from pippin.models.model import (
    FLOAT32,
    FLOAT64,
    LinearModel,
    Model,
    NeuralNetwork,
    ScoringRules,
    Tree,
    TreeEnsemble,
    make_leaf,
)

_VARINT, _BYTES = 0, 2  # wire types of protocol buffers
_TENSOR_TYPES = {"float32": 1, "uint8": 2, "float64": 11}
_INT, _TENSOR, _INTS = 2, 4, 7  # types of attributes
_OPERATORS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid", "leakyrelu": "LeakyRelu", "elu": "Elu"}
FEATURES, SCORE, NAMES = "features", "score", "feature_names"


def varint(value: int) -> bytes:
    """Return the encoding of an integer; a negative one takes ten bytes.

    >>> varint(300).hex()
    'ac02'
    """
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes((*encoded, value))


def int_field(number: int, value: int) -> bytes:
    """Return a field that holds an integer."""
    return varint(number << 3 | _VARINT) + varint(value)


def bytes_field(number: int, content: bytes | str) -> bytes:
    """Return a field that holds text or a message."""
    encoded = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return varint(number << 3 | _BYTES) + varint(len(encoded)) + encoded


def _ints_field(number: int, values: Iterable[int]) -> bytes:
    return bytes_field(number, b"".join(map(varint, values)))


def _tensor(name: str, values: Any, dtype: str) -> bytes:
    array = np.ascontiguousarray(values, dtype)
    header = _ints_field(1, array.shape) + int_field(2, _TENSOR_TYPES[dtype])
    return header + bytes_field(8, name) + bytes_field(9, array.tobytes())


def _int_attribute(name: str, value: int) -> bytes:
    return bytes_field(5, bytes_field(1, name) + int_field(3, value) + int_field(20, _INT))


def _ints_attribute(name: str, values: Iterable[int]) -> bytes:
    return bytes_field(5, bytes_field(1, name) + _ints_field(8, values) + int_field(20, _INTS))


def _tensor_attribute(name: str, values: Any, dtype: str) -> bytes:
    return bytes_field(5, bytes_field(1, name) + bytes_field(5, _tensor(name, values, dtype)) + int_field(20, _TENSOR))


class Graph:
    """Operations and constants, in the order in which they are added."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def constant(self, name: str, values: Any) -> str:
        """Add a constant and return its name."""
        self.constants.append(_tensor(name, values, self.dtype))
        return name

    def add(self, kind: str, inputs: Sequence[str], output: str, attributes: bytes = b"", domain: str = "") -> str:
        """Add an operation and return the name of its output."""
        header = b"".join(bytes_field(1, name) for name in inputs) + bytes_field(2, output) + bytes_field(3, output)
        self.nodes.append(header + bytes_field(4, kind) + attributes + (bytes_field(7, domain) if domain else b""))
        return output

    def to_bytes(self, name: str, width: int) -> bytes:
        """Return the encoded graph."""
        body = b"".join(bytes_field(1, node) for node in self.nodes) + bytes_field(2, name)
        body += b"".join(bytes_field(5, constant) for constant in self.constants)
        return body + bytes_field(11, self._port(FEATURES, width)) + bytes_field(12, self._port(SCORE, 1))

    def _port(self, name: str, width: int) -> bytes:
        """Return an input or output of the graph, of shape [documents, width]."""
        shape = bytes_field(1, bytes_field(2, "documents")) + bytes_field(1, int_field(1, width))
        tensor_type = int_field(1, _TENSOR_TYPES[self.dtype]) + bytes_field(2, shape)
        return bytes_field(1, name) + bytes_field(2, bytes_field(1, tensor_type))


def write(request: ExportRequest) -> Files:
    """Return the model: `features` [documents, width] → `score` [documents, 1]; metadata hold the feature names."""
    model = request.model
    graph = Graph(model.scoring.features)
    if isinstance(model, TreeEnsemble):
        output = _add_trees(graph, model)
    elif isinstance(model, LinearModel):
        output = graph.add("MatMul", [FEATURES, graph.constant("weights", model.weights[:, None])], "weighted")
        if model.bias:
            output = graph.add("Add", [output, graph.constant("bias", [model.bias])], "shifted")
    else:
        output = _add_network(graph, model)
    graph.add("Identity", [output], SCORE)
    names = bytes_field(1, NAMES) + bytes_field(2, json.dumps(list(model.names)))
    opsets = [bytes_field(1, "") + int_field(2, 19), bytes_field(1, "ai.onnx.ml") + int_field(2, 5)]
    content = int_field(1, 9) + bytes_field(2, "pippin") + bytes_field(3, __version__)
    content += bytes_field(7, graph.to_bytes(request.name, len(model.names)))
    return {"": content + b"".join(bytes_field(8, opset) for opset in opsets) + bytes_field(14, names)}


def _add_trees(graph: Graph, model: TreeEnsemble) -> str:
    """Add an ensemble per bag; then scale, divisor and base."""
    outputs = []
    for i, bag in enumerate(model.bags or ((),)):
        trees = (make_leaf(model.start), *bag) if model.start or not bag else bag
        attributes = _ensemble_attributes(trees, graph.dtype)
        outputs.append(graph.add("TreeEnsemble", [FEATURES], f"bag{i}", attributes, "ai.onnx.ml"))
    output = outputs[0]
    for i, bag_output in enumerate(outputs[1:]):
        output = graph.add("Add", [output, bag_output], f"sum{i}")
    for kind, value, neutral in (("Mul", model.scale, 1.0), ("Div", model.divisor, 1.0), ("Add", model.base, 0.0)):
        if value != neutral:
            output = graph.add(kind, [output, graph.constant(f"{kind}_value", [value])], f"{kind}_done")
    return output


def _ensemble_attributes(bag: Sequence[Tree], dtype: str) -> bytes:
    """Return the attributes of `TreeEnsemble`: nodes and leaves of all trees, one tree after the other.

    A tree without nodes is written as a split of the first feature with the same leaf on both sides.
    """
    bag = [tree if len(tree) else _split_leaf(tree.value[0]) for tree in bag]
    nodes = np.cumsum([0, *(len(tree) for tree in bag)])
    leaves = np.cumsum([0, *(len(tree.value) for tree in bag)])
    children: dict[str, list[int]] = {"true": [], "false": [], "trueleafs": [], "falseleafs": []}
    for tree, first, first_leaf in zip(bag, nodes, leaves, strict=False):
        for side, numbers in (("true", tree.left), ("false", tree.right)):
            children[side] += [int(first + c if c >= 0 else first_leaf - 1 - c) for c in numbers]
            children[f"{side}leafs"] += [int(c < 0) for c in numbers]
    splits = np.concatenate([tree.threshold for tree in bag])
    return b"".join((
        _int_attribute("aggregate_function", 1), _int_attribute("post_transform", 0), _int_attribute("n_targets", 1),
        _ints_attribute("tree_roots", nodes[:-1].tolist()),
        _ints_attribute("nodes_featureids", [int(f) for tree in bag for f in tree.feature]),
        _tensor_attribute("nodes_splits", splits, dtype),
        _tensor_attribute("nodes_modes", np.zeros(len(splits)), "uint8"),
        _ints_attribute("nodes_truenodeids", children["true"]),
        _ints_attribute("nodes_falsenodeids", children["false"]),
        _ints_attribute("nodes_trueleafs", children["trueleafs"]),
        _ints_attribute("nodes_falseleafs", children["falseleafs"]),
        _ints_attribute("nodes_missing_value_tracks_true", [int(m) for tree in bag for m in tree.missing_left]),
        _ints_attribute("leaf_targetids", [0] * int(leaves[-1])),
        _tensor_attribute("leaf_weights", np.concatenate([tree.value for tree in bag]), dtype),
    ))  # fmt: skip


def _split_leaf(value: float) -> Tree:
    """Return a tree of one node with two equal leaves."""
    return Tree(np.zeros(1, np.int32), np.zeros(1), np.array([-1], np.int32), np.array([-2], np.int32),
                np.ones(1, bool), np.array([value, value]))  # fmt: skip


def _add_network(graph: Graph, model: NeuralNetwork) -> str:
    output = FEATURES
    if model.is_standardised():
        centred = graph.add("Sub", [output, graph.constant("mean", model.mean)], "centred")
        output = graph.add("Mul", [centred, graph.constant("factor", model.factor)], "standardised")
    for i, layer in enumerate(model.layers):
        product = graph.add("MatMul", [output, graph.constant(f"weights{i}", layer.matrix)], f"product{i}")
        output = graph.add("Add", [product, graph.constant(f"bias{i}", layer.bias)], f"layer{i}")
        if layer.activation != "identity":
            output = graph.add(_OPERATORS[layer.activation], [output], f"active{i}")
    return output


def score(base: Path, table: F64, request: ExportRequest) -> tuple[str, F64]:
    """Score with onnxruntime in a session with default options, which may add trees in another order."""
    try:
        import onnxruntime
    except ImportError:
        raise EngineUnavailable("onnxruntime is not installed") from None
    one_thread = onnxruntime.SessionOptions()
    one_thread.intra_op_num_threads = one_thread.inter_op_num_threads = 1
    with np.errstate(over="ignore"):
        inputs = {FEATURES: table.astype(request.model.scoring.features)}
    by_default, by_one_thread = (
        np.asarray(onnxruntime.InferenceSession(base.read_bytes(), options, providers=["CPUExecutionProvider"])
                   .run([SCORE], inputs)[0], np.float64)
        for options in (onnxruntime.SessionOptions(), one_thread)
    )  # fmt: skip
    difference = float(np.abs(by_default - by_one_thread).max(initial=0.0))
    if difference:
        request.notes.append(
            f"a default session adds in another order than one with intra_op_num_threads = 1: up to {difference:.3g}"
        )
    return f"onnxruntime {onnxruntime.__version__}", by_default


def _rules(options: Mapping[str, str], model: Model) -> ScoringRules:
    return FLOAT64 if options["precision"] == "double" else FLOAT32


register(Exporter(
    "onnx", "ONNX model", "ai.onnx.ml 5 TreeEnsemble; onnxruntime 1.20, tree_ensemble_common.h", KINDS, write, _rules,
    engine=Engine("onnxruntime", score),
    options={"precision": Option("double", "precision of all numbers", ("double", "float"))},
))  # fmt: skip
