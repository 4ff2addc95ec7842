"""ONNX: ensembles of trees, linear models, and chains of products, shifts and activations; in double or in float.

Read are `TreeEnsemble` (ai.onnx.ml 5), `TreeEnsembleRegressor` (1, 3), `LinearRegressor`, and graphs of MatMul, Gemm,
Add, Sub, Mul, Div, Tanh, Relu, Sigmoid, Identity and Cast that go from one input to one output.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.forms.form import DOUBLE, SINGLE, Form, Tree
from pippin.forms.growing import Split, below, grow
from pippin.forms.importers import numbered
from pippin.forms.importers.onnx_chain import Chain
from pippin.forms.protobuf import Message, parse, wholes

_DTYPES = {1: "<f4", 2: "|u1", 6: "<i4", 7: "<i8", 11: "<f8"}
_DATA = {1: (4, "<f4"), 11: (10, "<f8")}  # fields of a tensor that hold numbers one by one
_LEQ, _LT = "BRANCH_LEQ", "BRANCH_LT"
_MODES = {0: _LEQ, 1: _LT}


def recognises(content: bytes) -> bool:
    """Whether it reads as a model with a graph, of an ONNX version."""
    if not content.startswith(b"\x08") or len(content) < 20:
        return False
    try:
        fields = parse(content)
    except ValueError:
        return False
    return 7 in fields and 8 in fields and isinstance(fields[7][0], bytes)


def read(content: bytes) -> Form:
    """The form of a model."""
    model = parse(content)
    graph = parse(model[7][0])
    constants = {_text(one, 8): tensor(one) for one in map(parse, graph.get(5, []))}
    inputs = [one for one in map(parse, graph[11]) if _text(one, 1) not in constants]
    if len(inputs) != 1:
        raise ValueError(f"it has {len(inputs)} inputs, and features are one")
    kind, width = _type(inputs[0])
    chain = Chain(_text(inputs[0], 1), constants, width, DOUBLE if kind == 11 else SINGLE)
    for node in map(parse, graph[1]):
        chain.add(_text(node, 4), [_word(one) for one in node.get(1, [])], [_word(one) for one in node.get(2, [])],
                  attributes(node), ensemble)  # fmt: skip
    form = chain.form(_text(parse(graph[12][0]), 1))
    names = _names(model)
    return form.renamed(numbered(len(form.names), names)) if names else form


def _names(model: Message) -> list[str]:
    for one in map(parse, model.get(14, [])):
        if _text(one, 1) == "feature_names":
            found = json.loads(_text(one, 2))
            return found if isinstance(found, list) else []
    return []


def _word(value: Any) -> str:
    if not isinstance(value, bytes):
        raise ValueError("a name is none")
    return value.decode("utf-8")


def _text(message: Message, field: int) -> str:
    return _word(message[field][0]) if field in message else ""


def _type(value: Message) -> tuple[int, int]:
    """The type of an input and its width; 0 where it does not say."""
    kind = parse(parse(value[2][0])[1][0])
    shape = [parse(one) for one in parse(kind[2][0]).get(1, [])] if 2 in kind else []
    width = wholes(shape[-1].get(1, [0]))[0] if len(shape) == 2 else 0
    return int(kind[1][0]), width


def tensor(content: bytes | Message) -> NDArray[Any]:
    """A tensor of numbers; as many as its sizes say, and no more than the file has."""
    message = parse(content) if isinstance(content, bytes) else content
    shape = wholes(message.get(1, []))
    kind = int(message[2][0])
    if kind not in _DTYPES:
        raise ValueError(f"a tensor is of the type {kind}")
    if 9 in message:
        values = np.frombuffer(message[9][0], _DTYPES[kind])
    elif kind in _DATA:
        field, dtype = _DATA[kind]
        values = np.frombuffer(b"".join(message.get(field, [])), dtype)
    else:
        values = np.array(wholes(message.get(7 if kind == 7 else 5, [])), _DTYPES[kind])
    if any(size < 0 for size in shape) or int(np.prod(shape, dtype=object)) != values.size:
        raise ValueError("a tensor has not as many numbers as it says")
    return values.reshape(shape)


def attributes(node: Message) -> dict[str, Any]:
    """The attributes of a node by name: numbers, texts, lists and tensors."""
    found: dict[str, Any] = {}
    for one in map(parse, node.get(5, [])):
        name = _text(one, 1)
        if 5 in one:
            found[name] = tensor(one[5][0])
        elif 8 in one:
            found[name] = wholes(one[8])
        elif 7 in one:
            found[name] = np.frombuffer(b"".join(one[7]), "<f4").astype(np.float64).tolist()
        elif 9 in one:
            found[name] = [_word(text) for text in one[9]]
        elif 4 in one:
            found[name] = _text(one, 4)
        elif 3 in one:
            found[name] = wholes(one[3])[0]
        elif 2 in one:
            found[name] = struct.unpack("<f", one[2][0])[0]
    return found


def ensemble(kind: str, given: dict[str, Any], single: bool) -> tuple[tuple[Tree, ...], float]:
    """The trees of an ensemble, and what is added to their sum."""
    if given.get("n_targets", 1) != 1 or given.get("post_transform", 0) not in (0, "NONE"):
        raise ValueError("an ensemble has several outputs, or transforms them")
    if given.get("aggregate_function", 1) not in (1, "SUM"):
        raise ValueError("an ensemble is not summed up")
    if kind == "TreeEnsemble":
        return tuple(_tree5(given, root, single) for root in given["tree_roots"]), 0.0
    base = given.get("base_values_as_tensor", given.get("base_values", [0.0]))
    return _regressor(given, single), float(np.asarray(base, np.float64).reshape(-1)[0])


def _tree5(given: dict[str, Any], root: int, single: bool) -> Tree:
    splits, modes = given["nodes_splits"], given["nodes_modes"]
    weights, tracks = given["leaf_weights"], given.get("nodes_missing_value_tracks_true")
    sides = ((given["nodes_truenodeids"], given["nodes_trueleafs"]),
             (given["nodes_falsenodeids"], given["nodes_falseleafs"]))  # fmt: skip

    def look(at: tuple[bool, int]) -> Split | float:
        is_leaf, number = at
        if number < 0:
            raise ValueError("a node is not there")
        if is_leaf:
            return float(weights[number])
        (left, right) = ((bool(leaves[number]), int(ids[number])) for ids, leaves in sides)
        missing = bool(tracks[number]) if tracks else False
        limit = _limit(float(splits[number]), _MODES.get(int(modes[number]), "?"), single)
        return Split(int(given["nodes_featureids"][number]), limit, left, right, missing)

    return grow((False, int(root)), look, lambda at: at if not at[0] else object())


def _limit(split: float, mode: str, single: bool) -> float:
    if mode not in (_LEQ, _LT):
        raise ValueError(f"a node decides by {mode}")
    return split if mode == _LEQ else below(split, "float32" if single else "float64")


def _regressor(given: dict[str, Any], single: bool) -> tuple[Tree, ...]:
    values = given.get("nodes_values_as_tensor", given.get("nodes_values"))
    weights = given.get("target_weights_as_tensor", given.get("target_weights"))
    if values is None or weights is None:
        raise ValueError("an ensemble has no values")
    leaves = {}
    for place, target, weight in zip(zip(given["target_treeids"], given["target_nodeids"], strict=True),
                                     given["target_ids"], weights, strict=True):  # fmt: skip
        if target != 0 or place in leaves:
            raise ValueError("a leaf has several values")
        leaves[place] = float(weight)
    nodes = {(tree, node): i for i, (tree, node) in enumerate(
        zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True))}  # fmt: skip
    tracks = given.get("nodes_missing_value_tracks_true")

    def look(at: tuple[int, int]) -> Split | float:
        i = nodes[at]
        mode = given["nodes_modes"][i]
        if mode == "LEAF":
            return leaves.get(at, 0.0)
        left, right = (at[0], given["nodes_truenodeids"][i]), (at[0], given["nodes_falsenodeids"][i])
        missing = bool(tracks[i]) if tracks else False
        return Split(int(given["nodes_featureids"][i]), _limit(float(values[i]), mode, single), left, right, missing)

    first = {tree: (tree, node) for tree, node in reversed(list(nodes))}
    return tuple(grow(first[tree], look, lambda at: at) for tree in sorted(first))
