"""Export to Elasticsearch and OpenSearch: the learning-to-rank plugin, and Elasticsearch's own trees."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pippin.errors import ConventionError
from pippin.models.exporters.base import (
    Exporter,
    ExportRequest,
    FeatureMapping,
    Files,
    Option,
    read_back_as,
    register,
    to_json,
)
from pippin.models.exporters.ranklib import write as write_ranklib
from pippin.models.model import FLOAT32, FLOAT32_ZERO, LinearModel, Model, ScoringRules, Tree, TreeEnsemble
from pippin.models.tree_builder import nest_tree, to_float32

FEATURE_SET = ".featureset.json"
# Query scores are float32; Elasticsearch's own trees continue in float64.
NATIVE = ScoringRules("float32", "float32", "float64", "float64")
# Treatment of missing values by OpenSearch's plugin since a version; 3.1, 3.6 and 3.8 were measured.
_OPENSEARCH_MISSING: tuple[tuple[tuple[int, ...], str], ...] = (((3, 8), "direction"), ((3, 2), "right"), ((), "zero"))
_HAS_MISSING_AS_ZERO = (3, 9)  # in the main branch after 3.8.0; releases up to then reject the field


def elasticsearch_rules(options: Mapping[str, str], model: Model) -> ScoringRules:
    """Return the rules of the plugin for Elasticsearch: missing values follow the node's `missing`."""
    if not isinstance(model, TreeEnsemble) or options["type"] == "ranklib":
        return FLOAT32_ZERO
    return replace(FLOAT32, operator="<")


def opensearch_rules(options: Mapping[str, str], model: Model) -> ScoringRules:
    """Return the rules of a version of the plugin for OpenSearch, whose trees treat missing values differently."""
    rules = elasticsearch_rules(options, model)
    if options["missing"] == "as-zero":
        if _parse_version(options["version"]) < _HAS_MISSING_AS_ZERO:
            raise ConventionError(
                f"OpenSearch's plugin {options['version']} rejects the field missing_as_zero: no release up to 3.8.0 "
                "has it. Leave out --option missing=as-zero, or set version=main"
            )
        return replace(rules, missing="zero")
    if rules.missing == "zero":  # linear models and RankLib's trees, in every version
        return rules
    return replace(rules, missing=opensearch_missing(options["version"]))


def opensearch_missing(version: str) -> str:
    """Return what trees of a version of OpenSearch's plugin do with missing values.

    >>> opensearch_missing("3.1"), opensearch_missing("3.6.0"), opensearch_missing("3.8")
    ('zero', 'right', 'direction')
    """
    return next(missing for since, missing in _OPENSEARCH_MISSING if _parse_version(version) >= since)


def _parse_version(text: str) -> tuple[int, ...]:
    if text == "main":
        return _HAS_MISSING_AS_ZERO
    if not re.fullmatch(r"\d+(\.\d+)*", text):
        raise ConventionError(f"version of opensearch-ltr must be a release such as 3.8, or main, got {text!r}")
    return tuple(map(int, text.split(".")[:2]))


def write(request: ExportRequest) -> Files:
    """Return the body for `_ltr/_featureset/NAME/_createmodel`, and with templates the body of the feature set."""
    model = request.model
    body: dict[str, Any]
    if isinstance(model, LinearModel):
        if model.bias:
            request.notes.append("the constant is left out because model/linear has none; it does not change the order")
        weights = {model.names[i]: to_float32(model.weights[i]) for i in model.used_features()}
        body = {"type": "model/linear", "definition": json.dumps(weights, ensure_ascii=False)}
    elif request.options["type"] == "ranklib":
        body = {"type": "model/ranklib", "definition": write_ranklib(request)[""].decode()}
        request.notes.append("features are numbered from 1 in the order of the feature set")
    else:
        splits = [plugin_tree(tree, model.names) for tree in model.flat()]
        # Older plugins reject rank:ndcg: Elasticsearch's up to 1.5.8, OpenSearch's up to 3.1.
        definition: dict[str, Any] = {"objective": "rank:pairwise", "splits": splits}
        if request.options.get("missing") == "as-zero":
            definition["missing_as_zero"] = True
        body = {"type": "model/xgboost+json", "definition": json.dumps(definition, ensure_ascii=False)}
    if any(model.normalisers):
        body["feature_normalizers"] = {
            name: {"standard": {"mean": normaliser.shift, "standard_deviation": normaliser.scale}}
            for name, normaliser in zip(model.names, model.normalisers, strict=True) if normaliser is not None
        }  # fmt: skip
    files = {"": to_json({"model": {"name": request.name, "model": body}})}
    if request.mapping.has("template"):
        files[FEATURE_SET] = to_json(feature_set(request.mapping, model.names, request.name))
    else:
        request.notes.append("no feature set is written: give the queries of the features with --mapping")
    return files


def feature_set(mapping: FeatureMapping, names: Sequence[str], name: str) -> dict[str, Any]:
    """Return the body of a feature set."""
    features = [
        {"name": feature, "params": entry.get("params", ["keywords"]), "template_language": "mustache",
         "template": entry["template"]}
        for feature, entry in mapping.definitions(names, "template").items()
    ]  # fmt: skip
    return {"featureset": {"name": name, "features": features}}


def plugin_tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a tree of `model/xgboost+json`: children in the order yes, no."""
    depths = tree.node_depths().tolist()

    def leaf(number: int) -> dict[str, Any]:
        return {"nodeid": len(tree) + number, "leaf": to_float32(tree.value[number])}

    def node(number: int, left: Any, right: Any) -> dict[str, Any]:
        missing = left if tree.missing_left[number] else right
        return {
            "nodeid": number, "depth": depths[number], "split": names[int(tree.feature[number])],
            "split_condition": to_float32(tree.threshold[number]), "yes": left["nodeid"], "no": right["nodeid"],
            "missing": missing["nodeid"], "children": [left, right],
        }  # fmt: skip

    result: dict[str, Any] = nest_tree(tree, node, leaf)
    return result


def write_native(request: ExportRequest) -> Files:
    """Return the body for `_ml/trained_models/NAME`; without a mapping it has no feature extractors."""
    model = request.model
    definition = {
        "trained_model": {"ensemble": {
            "target_type": "regression", "feature_names": list(model.names),
            "trained_models": [native_tree(tree, model.names) for tree in model.flat()],
            "aggregate_output": {"weighted_sum": {}},
        }},
    }  # fmt: skip
    packed = base64.b64encode(gzip.compress(json.dumps(definition, ensure_ascii=False).encode(), mtime=0)).decode()
    extractors: list[dict[str, Any]] = []
    if request.mapping.has("template"):
        extractors = [
            {"query_extractor": {"feature_name": name, "query": entry["template"],
                                 "default_score": entry.get("default_score", 0.0)}}
            for name, entry in request.mapping.definitions(model.names, "template").items()
        ]  # fmt: skip
    else:
        request.notes.append("feature_extractors is empty: give the queries of the features with --mapping")
    body = {
        "model_type": "tree_ensemble", "description": f"{request.name}, written by Pippin",
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "compressed_definition": packed,
    }  # fmt: skip
    return {"": to_json(body)}


def native_tree(tree: Tree, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a tree as a list of numbered nodes; leaves follow the nodes."""
    n_nodes = len(tree)

    def number(child: int) -> int:
        return int(child) if child >= 0 else int(n_nodes - 1 - child)

    structure: list[dict[str, Any]] = [
        {"node_index": node, "decision_type": "lte", "left_child": number(tree.left[node]),
         "right_child": number(tree.right[node]), "split_feature": int(tree.feature[node]),
         "threshold": to_float32(tree.threshold[node]), "default_left": bool(tree.missing_left[node])}
        for node in range(n_nodes)
    ]  # fmt: skip
    structure += [{"node_index": n_nodes + i, "leaf_value": float(value)} for i, value in enumerate(tree.value)]
    return {"tree": {"target_type": "regression", "feature_names": list(names), "tree_structure": structure}}


_TYPE = Option("xgboost", "tree format of the plugin", ("xgboost", "ranklib"))
_REFUSED = {"network": "the plugin supports linear models and trees"}
register(Exporter(
    "elasticsearch-ltr", "the learning-to-rank plugin of Elasticsearch",
    "o19s/elasticsearch-learning-to-rank 1dfed57, NaiveAdditiveDecisionTree.java, LinearRanker.java",
    ("linear", "trees"), write, elasticsearch_rules, options={"type": _TYPE}, refused=_REFUSED,
    supports_normalisers=True, computes_features=True, read_back=read_back_as("elasticsearch"),
))  # fmt: skip
register(Exporter(
    "opensearch-ltr", "the learning-to-rank plugin of OpenSearch",
    "opensearch-project/opensearch-learning-to-rank-base 3.6, as Elasticsearch's; NULL by its issues 200, 378",
    ("linear", "trees"), write, opensearch_rules,
    options={
        "type": _TYPE, "version": Option("3.8", "version of the plugin, such as 3.6, or main"),
        "missing": Option("plain", "as-zero: write missing_as_zero, which no release up to 3.8.0 reads",
                          ("plain", "as-zero")),
    },
    refused=_REFUSED, confirmed_with="OpenSearch 3.8.0", computes_features=True, supports_normalisers=True,
    read_back=read_back_as("elasticsearch"),
))  # fmt: skip
register(Exporter(
    "elasticsearch", "Elasticsearch's own learning to rank",
    "elastic/eland 02e9eb5; Elasticsearch 8.16, x-pack inference TreeNode.java, WeightedSum.java", ("trees",),
    write_native, NATIVE,
    refused={"linear": "its regression models are trees", "network": "its regression models are trees"},
    confirmed_with="Elasticsearch 9.0.0", computes_features=True, read_back=read_back_as("elasticsearch"),
))  # fmt: skip
