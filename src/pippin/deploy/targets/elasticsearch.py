"""Elasticsearch's own learning to rank: the body of `PUT _ml/trained_models/NAME` with its feature extractors."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from pippin.deploy.nested import single
from pippin.deploy.target import Files, Request, Target, register, rereader
from pippin.deploy.targets.elasticsearch_ltr import _json
from pippin.forms.form import Scoring, Tree

# Query scores are float32; the trees are doubles from there on.
SCORING = Scoring("float32", "float32", "float64", "float64")


def write(request: Request) -> Files:
    """The body; without a mapping its feature extractors are left for whoever knows the queries."""
    form = request.form
    definition = {
        "trained_model": {"ensemble": {
            "target_type": "regression", "feature_names": list(form.names),
            "trained_models": [tree(one, form.names) for one in form.flat()],
            "aggregate_output": {"weighted_sum": {}},
        }},
    }  # fmt: skip
    packed = base64.b64encode(gzip.compress(json.dumps(definition, ensure_ascii=False).encode(), mtime=0)).decode()
    extractors: list[dict[str, Any]] = []
    if request.mapping.has("template"):
        entries = request.mapping.defined(form.names, "template")
        extractors = [
            {"query_extractor": {"feature_name": name, "query": entry["template"],
                                 "default_score": entry.get("default_score", 0.0)}}
            for name, entry in entries.items()
        ]  # fmt: skip
    else:
        request.notes.append(
            "feature_extractors is empty, because no mapping says by which queries features are computed"
        )
    body = {
        "model_type": "tree_ensemble", "description": f"{request.name}, written by Pippin",
        "input": {"field_names": list(form.names)},
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "compressed_definition": packed,
    }  # fmt: skip
    return {"": _json(body)}


def tree(one: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    """A tree as a list of nodes by number, its leaves after its nodes."""
    nodes = len(one)

    def number(child: int) -> int:
        return int(child) if child >= 0 else int(nodes - 1 - child)

    structure: list[dict[str, Any]] = [
        {"node_index": node, "decision_type": "lte", "left_child": number(one.left[node]),
         "right_child": number(one.right[node]), "split_feature": int(one.feature[node]),
         "threshold": single(one.threshold[node]), "default_left": bool(one.missing_left[node])}
        for node in range(nodes)
    ]  # fmt: skip
    structure += [{"node_index": nodes + i, "leaf_value": float(value)} for i, value in enumerate(one.value)]
    return {"tree": {"target_type": "regression", "feature_names": list(names), "tree_structure": structure}}


register(Target(
    "elasticsearch", "Elasticsearch's own learning to rank",
    "elastic/eland 02e9eb5; Elasticsearch 8.16, x-pack inference TreeNode.java, WeightedSum.java", ("trees",), write,
    SCORING, refused={"linear": "its regression models are trees", "network": "its regression models are trees"},
    reread=rereader("elasticsearch"),
))  # fmt: skip
