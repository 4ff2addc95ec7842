"""Which of the text features can an engine compute, and how is it asked for them? Templates for a mapping.

An engine's formula is seldom the one of the data set that a model was trained on: each template says what differs.
So what comes out is a beginning: log the engine's own values for the training queries, and train on those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pippin.collection.features import BoundFeature, parse_features
from pippin.errors import UnknownName

ENGINES = ("es", "solr", "vespa")
# Features of the document alone, whose values are indexed as a number.
VALUES = ("pagerank", "hostrank", "inlinks", "outlinks", "slashes", "url_length", "children")
_LUCENE = "the engine's own BM25: no factor k1 + 1, idf ln(1 + (N − df + ½)/(df + ½)), its own k1, b and analysis"
_STATISTICS = {"tf": "sum_raw_tf", "tf_min": "min_raw_tf", "tf_max": "max_raw_tf", "tf_mean": "avg_raw_tf"}
Entry = dict[str, Any]


@dataclass(frozen=True)
class Templates:
    """A mapping of features for an engine, and those that it cannot compute, each with the reason."""

    engine: str
    mapping: dict[str, Entry]
    refused: dict[str, str]


def templates(features: str, engine: str) -> Templates:
    """Templates for features or a set of them.

    >>> found = templates("bm25@title hub", "vespa")
    >>> found.mapping["bm25@title"]["expression"], found.refused
    ('bm25(title)', {'hub': 'it looks at links between documents'})
    """
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    found = Templates(engine, {}, {})
    for number, bound in enumerate(parse_features(features), 1):
        entry = _ENTRIES[engine](bound)
        if isinstance(entry, str):
            found.refused[bound.text] = entry
        else:
            found.mapping[bound.text] = {"name": _name(bound.text), "number": number, **entry}
    return found


def _name(text: str) -> str:
    """A name that every engine takes."""
    return re.sub(r"\W+", "_", text).strip("_")


def _cannot(bound: BoundFeature) -> str:
    kind = bound.feature.kind
    if bound.feature.compute.__module__.endswith((".links", ".topical")):
        return "it looks at links between documents"
    if kind == "Q":
        return "it is one value for all documents of a query, and changes no order by itself"
    return "the engine gives no such statistic of words"


def _field(bound: BoundFeature) -> str:
    return bound.stream or "whole"


def _elasticsearch(bound: BoundFeature) -> Entry | str:
    name, field = bound.feature.name, _field(bound)
    if name == "bm25":
        return {"params": ["keywords"], "template": {"match": {field: "{{keywords}}"}}, "differs": _LUCENE}
    if name in _STATISTICS:
        query = {"match": {field: "{{keywords}}"}}
        return {"params": ["keywords"], "template": {"match_explorer": {"type": _STATISTICS[name], "query": query}},
                "differs": "the learning-to-rank plugin alone knows match_explorer"}  # fmt: skip
    if name == "boolean":
        match = {"match": {field: {"query": "{{keywords}}", "operator": "and"}}}
        return {"params": ["keywords"], "template": {"constant_score": {"filter": match, "boost": 1.0}},
                "differs": "words as the engine analyses them"}  # fmt: skip
    if name == "length":
        return {"params": [], "template": _value(f"{field}.length"),
                "differs": f"needs the sub-field {field}.length of type token_count"}  # fmt: skip
    if name in VALUES:
        return {"params": [], "template": _value(name), "differs": f"needs the numeric field {name} with this value"}
    return _cannot(bound)


def _value(field: str) -> Entry:
    factor = {"field": field, "missing": 0}
    return {"function_score": {"query": {"match_all": {}}, "field_value_factor": factor, "boost_mode": "replace"}}


def _solr(bound: BoundFeature) -> Entry | str:
    name, field, room = bound.feature.name, _field(bound), "org.apache.solr.ltr.feature"
    if name == "bm25":
        return {"class": f"{room}.SolrFeature", "params": {"q": f"{{!dismax qf={field}}}${{text}}"}, "differs": _LUCENE}
    if name == "length":
        return {"class": f"{room}.FieldLengthFeature", "params": {"field": field},
                "differs": "as Lucene packs lengths: exact up to 40 words"}  # fmt: skip
    if name in VALUES:
        return {"class": f"{room}.FieldValueFeature", "params": {"field": name},
                "differs": f"needs the stored numeric field {name} with this value"}  # fmt: skip
    return _cannot(bound)


def _vespa(bound: BoundFeature) -> Entry | str:
    name, field = bound.feature.name, _field(bound)
    expressions = {"bm25": f"bm25({field})", "length": f"fieldLength({field})",
                   "covered": f"fieldMatch({field}).matches",
                   "covered_ratio": f"fieldMatch({field}).queryCompleteness"}  # fmt: skip
    if name in expressions:
        differs = _LUCENE.replace("no factor k1 + 1, ", "") if name == "bm25" else "words as the engine analyses them"
        return {"expression": expressions[name], "differs": differs}
    if name in VALUES:
        return {"expression": f"attribute({name})", "differs": f"needs the attribute {name} with this value"}
    return _cannot(bound)


_ENTRIES: Mapping[str, Callable[[BoundFeature], Entry | str]] = {
    "es": _elasticsearch, "solr": _solr, "vespa": _vespa,
}  # fmt: skip
