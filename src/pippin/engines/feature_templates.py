"""Templates with which search engines compute features of text.

An engine's formula rarely equals the one of the data set that a model was trained on; each template states the
difference. So log the engine's own values for the training queries, and train on those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pippin.collections.features import BoundFeature, parse_features
from pippin.errors import UnknownName

ENGINES = ("es", "solr", "vespa")
# Target of an export → the engine that computes its features.
ENGINE_OF_TARGET = dict.fromkeys(("elasticsearch", "elasticsearch-ltr", "opensearch-ltr"), "es")
# Features of the document alone, which are indexed as numeric fields.
_DOCUMENT_VALUES = ("pagerank", "hostrank", "inlinks", "outlinks", "slashes", "url_length", "children")
_LUCENE = "the engine's own BM25: no factor k1 + 1, idf ln(1 + (N − df + ½)/(df + ½)), its own k1, b and analysis"
_STATISTICS = {"tf": "sum_raw_tf", "tf_min": "min_raw_tf", "tf_max": "max_raw_tf", "tf_mean": "mean_raw_tf"}
_SOLR = "org.apache.solr.ltr.feature"
_MISSING = {"defaultValue": "NaN"}  # an absent value is missing; the export leaves it out for models where it is 0
_EXPLORER = "needs the learning-to-rank plugin; counts matched words only; missing where no word matches"
Entry = dict[str, Any]


@dataclass(frozen=True)
class Templates:
    """A mapping of features for an engine, and the reasons why it cannot compute the others."""

    engine: str
    mapping: dict[str, Entry]
    unsupported: dict[str, str]


def make_templates(features: str, engine: str) -> Templates:
    """Return templates for features or a feature set.

    >>> result = make_templates("bm25@title hub", "vespa")
    >>> result.mapping["bm25@title"]["expression"], result.unsupported
    ('bm25(title)', {'hub': 'it depends on links between documents'})
    """
    engine = ENGINE_OF_TARGET.get(engine, engine)
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    result = Templates(engine, {}, {})
    for number, bound in enumerate(parse_features(features), 1):
        entry = _ENTRIES[engine](bound)
        if entry is None:
            result.unsupported[bound.text] = _unsupported_reason(bound)
        else:
            name = re.sub(r"\W+", "_", bound.text).strip("_")  # valid in every engine
            result.mapping[bound.text] = {"name": name, "number": number, **entry}
    return result


def _unsupported_reason(bound: BoundFeature) -> str:
    if bound.feature.compute.__module__.endswith((".links", ".topical")):
        return "it depends on links between documents"
    if bound.feature.kind == "Q":
        return "it has the same value for all documents of a query, so it cannot change their order"
    return "the engine has no such statistic"


def _field(bound: BoundFeature) -> str:
    return bound.field or "whole"


def _elasticsearch(bound: BoundFeature) -> Entry | None:
    name, field = bound.feature.name, _field(bound)
    keywords = {"match": {field: "{{keywords}}"}}
    if name == "bm25":
        return {"params": ["keywords"], "template": keywords, "differs": _LUCENE}
    if name in _STATISTICS:
        return {"params": ["keywords"], "template": {"match_explorer": {"type": _STATISTICS[name], "query": keywords}},
                "differs": _EXPLORER}  # fmt: skip
    if name == "boolean":
        match = {"match": {field: {"query": "{{keywords}}", "operator": "and"}}}
        return {"params": ["keywords"], "template": {"constant_score": {"filter": match, "boost": 1.0}},
                "differs": "words as the engine analyses them"}  # fmt: skip
    if name == "length":
        return {"params": [], "template": _field_value(f"{field}.length"),
                "differs": f"needs the sub-field {field}.length of type token_count"}  # fmt: skip
    if name in _DOCUMENT_VALUES:
        return {"params": [], "template": _field_value(name), "differs": f"needs the numeric field {name}"}
    return None


def _field_value(field: str) -> Entry:
    factor = {"field": field, "missing": 0}
    return {"function_score": {"query": {"match_all": {}}, "field_value_factor": factor, "boost_mode": "replace"}}


def _solr(bound: BoundFeature) -> Entry | None:
    name, field = bound.feature.name, _field(bound)
    if name == "bm25":
        query = f"{{!dismax qf={field}}}${{text}}"
        return {"class": f"{_SOLR}.SolrFeature", "params": {"q": query, **_MISSING}, "differs": _LUCENE}
    if name == "length":
        return {"class": f"{_SOLR}.FieldLengthFeature", "params": {"field": field, **_MISSING},
                "differs": "as Lucene stores lengths: exact up to 40 words"}  # fmt: skip
    if name in _DOCUMENT_VALUES:
        return {"class": f"{_SOLR}.FieldValueFeature", "params": {"field": name, **_MISSING},
                "differs": f"needs the stored numeric field {name}"}  # fmt: skip
    return None


def _vespa(bound: BoundFeature) -> Entry | None:
    name, field = bound.feature.name, _field(bound)
    expressions = {"bm25": f"bm25({field})", "length": f"fieldLength({field})",
                   "covered": f"fieldMatch({field}).matches",
                   "covered_ratio": f"fieldMatch({field}).queryCompleteness"}  # fmt: skip
    if name in expressions:
        differs = _LUCENE.replace("no factor k1 + 1, ", "") if name == "bm25" else "words as the engine analyses them"
        return {"expression": expressions[name], "differs": differs}
    if name in _DOCUMENT_VALUES:
        return {"expression": f"attribute({name})", "differs": f"needs the attribute {name}"}
    return None


_ENTRIES: Mapping[str, Callable[[BoundFeature], Entry | None]] = {
    "es": _elasticsearch, "solr": _solr, "vespa": _vespa,
}  # fmt: skip
