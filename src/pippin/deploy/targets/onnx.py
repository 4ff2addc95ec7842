"""ONNX: trees as `TreeEnsemble` of ai.onnx.ml 5, weighted sums and networks as products; in doubles or in float32."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pippin import __version__
from pippin.deploy.target import F64, KINDS, Engine, Files, NotHere, Option, Request, Target, register
from pippin.forms.form import DOUBLE, SINGLE, Form, Linear, Network, Scoring, Tree, Trees, leaf
from pippin.forms.protobuf import packed, sized, whole

_TYPES = {"float32": 1, "uint8": 2, "float64": 11}  # of tensors
_INT, _TENSOR, _INTS = 2, 4, 7  # of attributes
_OPERATORS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid", "leakyrelu": "LeakyRelu", "elu": "Elu"}
FEATURES, SCORE, NAMES = "features", "score", "feature_names"


def tensor(name: str, values: Any, dtype: str) -> bytes:
    """A tensor with its bytes as they are in memory."""
    array = np.ascontiguousarray(values, dtype)
    return packed(1, array.shape) + whole(2, _TYPES[dtype]) + sized(8, name) + sized(9, array.tobytes())


def node(kind: str, inputs: Sequence[str], output: str, attributes: bytes = b"", domain: str = "") -> bytes:
    """An operation."""
    head = b"".join(sized(1, one) for one in inputs) + sized(2, output) + sized(3, output) + sized(4, kind)
    return head + attributes + (sized(7, domain) if domain else b"")


def _ints(name: str, values: Iterable[int]) -> bytes:
    return sized(5, sized(1, name) + packed(8, values) + whole(20, _INTS))


def _int(name: str, value: int) -> bytes:
    return sized(5, sized(1, name) + whole(3, value) + whole(20, _INT))


def _tensor(name: str, values: Any, dtype: str) -> bytes:
    return sized(5, sized(1, name) + sized(5, tensor(name, values, dtype)) + whole(20, _TENSOR))


class Graph:
    """Operations and constants in the order in which they were added."""

    def __init__(self, dtype: str) -> None:
        self.dtype, self.nodes, self.constants = dtype, [], []  # type: ignore[var-annotated]

    def constant(self, name: str, values: Any) -> str:
        """A constant; its name."""
        self.constants.append(tensor(name, values, self.dtype))
        return name

    def add(self, kind: str, inputs: Sequence[str], output: str, attributes: bytes = b"", domain: str = "") -> str:
        """An operation; the name of what it gives."""
        self.nodes.append(node(kind, inputs, output, attributes, domain))
        return output

    def bytes(self, name: str, width: int) -> bytes:
        """The graph."""
        kind = _TYPES[self.dtype]
        ends = sized(11, _value(FEATURES, kind, width)) + sized(12, _value(SCORE, kind, 1))
        body = b"".join(sized(1, one) for one in self.nodes) + sized(2, name)
        return body + b"".join(sized(5, one) for one in self.constants) + ends


def _value(name: str, kind: int, width: int) -> bytes:
    shape = sized(1, sized(2, "documents")) + sized(1, whole(1, width))
    return sized(1, name) + sized(2, sized(1, whole(1, kind) + sized(2, shape)))


def write(request: Request) -> Files:
    """The model: `features` [documents, width] → `score` [documents, 1]; the names of features are in its metadata."""
    form = request.form
    graph = Graph(form.scoring.features)
    if isinstance(form, Trees):
        last = _trees(graph, form)
    elif isinstance(form, Linear):
        last = _linear(graph, form)
    else:
        last = _network(graph, form)
    graph.add("Identity", [last], SCORE)
    names = sized(1, NAMES) + sized(2, json.dumps(list(form.names)))
    opsets = sized(8, sized(1, "") + whole(2, 19)) + sized(8, sized(1, "ai.onnx.ml") + whole(2, 5))
    body = whole(1, 9) + sized(2, "pippin") + sized(3, __version__)
    return {"": body + sized(7, graph.bytes(request.name, len(form.names))) + opsets + sized(14, names)}


def _trees(graph: Graph, form: Trees) -> str:
    """An ensemble for each bag; then what the bags are multiplied by, divided by and shifted by."""
    ensembles = [_ensemble(_started(bag, form.start), graph.dtype) for bag in form.bags or ((leaf(0.0),),)]
    bags = [graph.add("TreeEnsemble", [FEATURES], f"bag{i}", one, "ai.onnx.ml") for i, one in enumerate(ensembles)]
    last = bags[0]
    for i, other in enumerate(bags[1:]):
        last = graph.add("Add", [last, other], f"sum{i}")
    for kind, value, idle in (("Mul", form.scale, 1.0), ("Div", form.divisor, 1.0), ("Add", form.base, 0.0)):
        if value != idle:
            last = graph.add(kind, [last, graph.constant(f"{kind}_value", [value])], f"{kind}_done")
    return last


def _started(bag: tuple[Tree, ...], start: float) -> tuple[Tree, ...]:
    return (leaf(start), *bag) if start or not bag else bag


def _ensemble(bag: Sequence[Tree], dtype: str) -> bytes:
    """The attributes of `TreeEnsemble`: nodes and leaves of all trees behind one another.

    A tree without a node asks about the first feature and has its leaf on both sides.
    """
    bag = [one if len(one) else Tree(*_single(one.value[0])) for one in bag]
    nodes = np.cumsum([0, *(len(one) for one in bag)])
    leaves = np.cumsum([0, *(len(one.value) for one in bag)])
    found: dict[str, list[int]] = {"true": [], "false": [], "trueleafs": [], "falseleafs": []}
    for one, first, first_leaf in zip(bag, nodes, leaves, strict=False):
        for side, children in (("true", one.left), ("false", one.right)):
            found[side] += [int(first + c if c >= 0 else first_leaf - 1 - c) for c in children]
            found[f"{side}leafs"] += [int(c < 0) for c in children]
    splits = np.concatenate([one.threshold for one in bag])
    return b"".join((
        _int("aggregate_function", 1), _int("post_transform", 0), _int("n_targets", 1),
        _ints("tree_roots", nodes[:-1].tolist()),
        _ints("nodes_featureids", [int(f) for one in bag for f in one.feature]),
        _tensor("nodes_splits", splits, dtype), _tensor("nodes_modes", np.zeros(len(splits)), "uint8"),
        _ints("nodes_truenodeids", found["true"]), _ints("nodes_falsenodeids", found["false"]),
        _ints("nodes_trueleafs", found["trueleafs"]), _ints("nodes_falseleafs", found["falseleafs"]),
        _ints("nodes_missing_value_tracks_true", [int(m) for one in bag for m in one.missing_left]),
        _ints("leaf_targetids", [0] * int(leaves[-1])),
        _tensor("leaf_weights", np.concatenate([one.value for one in bag]), dtype),
    ))  # fmt: skip


def _single(value: float) -> tuple[Any, ...]:
    """The parts of a tree of one node whose leaves are alike."""
    return (np.zeros(1, np.int32), np.zeros(1), np.array([-1], np.int32), np.array([-2], np.int32), np.ones(1, bool),
            np.array([value, value]))  # fmt: skip


def _linear(graph: Graph, form: Linear) -> str:
    last = graph.add("MatMul", [FEATURES, graph.constant("weights", form.weights[:, None])], "weighted")
    return graph.add("Add", [last, graph.constant("bias", [form.bias])], "shifted") if form.bias else last


def _network(graph: Graph, form: Network) -> str:
    last = FEATURES
    if form.mean.any() or (form.factor != 1).any():
        centred = graph.add("Sub", [last, graph.constant("mean", form.mean)], "centred")
        last = graph.add("Mul", [centred, graph.constant("factor", form.factor)], "standardised")
    for i, layer in enumerate(form.layers):
        product = graph.add("MatMul", [last, graph.constant(f"weights{i}", layer.matrix)], f"product{i}")
        last = graph.add("Add", [product, graph.constant(f"bias{i}", layer.bias)], f"layer{i}")
        if layer.activation != "identity":
            last = graph.add(_OPERATORS[layer.activation], [last], f"active{i}")
    return last


def run(base: Path, table: F64, request: Request) -> tuple[str, F64]:
    """onnxruntime's scores, on one thread."""
    try:
        import onnxruntime
    except ImportError:
        raise NotHere("onnxruntime is not installed") from None
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(base.read_bytes(), settings, providers=["CPUExecutionProvider"])
    with np.errstate(over="ignore"):
        given = table.astype(request.form.scoring.features)
    found = session.run([SCORE], {FEATURES: given})[0]
    return f"onnxruntime {onnxruntime.__version__}", np.asarray(found, np.float64).reshape(-1)


def _scoring(options: Mapping[str, str], form: Form) -> Scoring:
    return DOUBLE if options["precision"] == "double" else SINGLE


register(Target(
    "onnx", "an ONNX model", "ai.onnx.ml 5 TreeEnsemble; onnxruntime 1.20, tree_ensemble_common.h", KINDS, write,
    engine=Engine("onnxruntime", run), by_option=_scoring,
    options={"precision": Option(("double", "float"), "of all numbers")},
))  # fmt: skip
