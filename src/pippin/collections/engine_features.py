"""Templates with which search engines compute features.

An engine's formula rarely equals the one of the data set that a model was trained on; each template states the
difference. So log the engine's own values for the training queries, and train on those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pippin.collections.features import FEATURES, BoundFeature, parse_features
from pippin.collections.features.numeric import NEWEST, days_since_epoch
from pippin.errors import DataError, UnknownName

ENGINES = ("elasticsearch", "opensearch", "solr", "vespa")
# Short name, or target of an export → the engine that computes its features.
ALIASES = {"es": "elasticsearch", "elasticsearch-ltr": "elasticsearch", "opensearch-ltr": "opensearch"}
# Features of the document alone, which are indexed as numeric fields.
_DOCUMENT_VALUES = ("pagerank", "hostrank", "inlinks", "outlinks", "slashes", "url_length", "children")
_LUCENE = "the engine's own BM25: no factor k1 + 1, idf ln(1 + (N − df + ½)/(df + ½)), its own k1, b and analysis"
_STATISTICS = {"tf": "sum_raw_tf", "tf_min": "min_raw_tf", "tf_max": "max_raw_tf", "tf_mean": "mean_raw_tf"}
_SOLR = "org.apache.solr.ltr.feature"
_MISSING = {"defaultValue": "NaN"}  # an absent value is missing; the export leaves it out for models where it is 0
_EXPLORER = "needs the learning-to-rank plugin; counts matched words only; missing where no word matches"
_ANALYSIS = "words as the engine analyses them"
_AGE = "days before the current day unless on=DATE is given; Pippin counts from the newest document"
_FUNCTION = "a function of the engine, which Pippin does not compute"
_MS_PER_DAY = 86_400_000
Entry = dict[str, Any]


@dataclass(frozen=True)
class Templates:
    """A mapping of features for an engine, and the reasons why it cannot compute the others."""

    engine: str
    mapping: dict[str, Entry]
    unsupported: dict[str, str]


def make_templates(
    features: str | Sequence[BoundFeature], engine: str, functions: Mapping[str, str] | None = None
) -> Templates:
    """Return templates of features, with which an engine computes them.

    Parameters
    ----------
    features : str or sequence of BoundFeature
        Features separated by spaces or commas, or the name of a feature set.
    engine : {"elasticsearch", "opensearch", "solr", "vespa"}
        The engine, or a target of an export such as ``elasticsearch-ltr``.
    functions : dict, optional
        Functions in the engine's own language by name.

    Returns
    -------
    Templates
        The templates by feature, and the reasons why the engine cannot compute the others.

    Raises
    ------
    DataError
        If the name of a function is taken or invalid.

    Examples
    --------
    >>> result = make_templates("bm25@title hub", "vespa", {"recency": "freshness(published)"})
    >>> result.mapping["bm25@title"]["expression"], result.mapping["recency"]["expression"], result.unsupported
    ('bm25(title)', 'freshness(published)', {'hub': 'it depends on links between documents'})
    """
    make_entry, engine = _entries(engine), ALIASES.get(engine, engine)
    result = Templates(engine, {}, {})
    for number, bound in enumerate(parse_features(features), 1):
        entry = make_entry(bound)
        if entry is None:
            result.unsupported[bound.text] = _unsupported_reason(bound, engine)
        else:
            name = re.sub(r"\W+", "_", bound.text).strip("_")  # valid in every engine
            result.mapping[bound.text] = {"name": name, "number": number, **entry}
    for name, expression in (functions or {}).items():
        if name in result.mapping or not re.fullmatch(r"[A-Za-z]\w*", name):
            raise DataError(f"invalid function name {name!r}: use an unused name of letters, digits and _")
        number = len(result.mapping) + len(result.unsupported) + 1
        result.mapping[name] = {"name": name, "number": number, **_FUNCTIONS[engine](expression)}
    return result


def text_features(engine: str) -> list[str]:
    """Return the features of a text field that an engine can compute.

    >>> text_features("solr")
    ['length', 'bm25', 'boolean']
    """
    fields = [
        BoundFeature(feature, "field") for feature in FEATURES.values() if feature.needs_field and not feature.numeric
    ]
    return [bound.feature.name for bound in fields if _entries(engine)(bound) is not None]


def _entries(engine: str) -> Callable[[BoundFeature], Entry | None]:
    engine = ALIASES.get(engine, engine)
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    return _ENTRIES[engine]


def _unsupported_reason(bound: BoundFeature, engine: str) -> str:
    module = bound.feature.compute.__module__
    if module.endswith(".dense"):
        if engine == "solr":
            return "Solr 8.11 has no vector similarity, and its features cannot receive the vector of the query"
        return "the engine does not have the vectors of Pippin's encoder"
    if module.endswith((".links", ".topical")):
        return "it depends on links between documents"
    if bound.feature.kind == "Q":
        return "it has the same value for all documents of a query, so it cannot change their order"
    return "the engine has no such statistic"


def _field(bound: BoundFeature) -> str:
    """Return the engine's field of a feature."""
    return bound.feature.name if bound.feature.name in _DOCUMENT_VALUES else bound.field or "whole"


def _day(bound: BoundFeature) -> str | None:
    """Return the date from which the age of a document is counted; None for the current day."""
    day = str(dict(bound.parameters).get("on", NEWEST))
    return None if day == NEWEST else day


def _elasticsearch(bound: BoundFeature) -> Entry | None:
    field, day = _field(bound), _day(bound)
    keywords = {"match": {field: "{{keywords}}"}}
    all_words = {"match": {field: {"query": "{{keywords}}", "operator": "and"}}}
    now = f"{round(days_since_epoch(day) * _MS_PER_DAY)}L" if day else "new Date().getTime()"
    age = f"Math.max(0, ({now} - doc['{field}'].value.toInstant().toEpochMilli()) / {_MS_PER_DAY}.0)"
    present = {"exists": {"field": field}}
    templates: dict[str, tuple[Entry, str]] = {
        **dict.fromkeys(_DOCUMENT_VALUES, (_field_value(field), f"needs the numeric field {field}")),
        **{name: ({"match_explorer": {"type": kind, "query": keywords}}, _EXPLORER)
           for name, kind in _STATISTICS.items()},
        "value": (_field_value(field, present),
                  f"needs the numeric field {field} with values of at least 0; a date is in milliseconds"),
        "bm25": (keywords, _LUCENE),
        "boolean": ({"constant_score": {"filter": all_words, "boost": 1.0}}, _ANALYSIS),
        "length": (_field_value(f"{field}.length"), f"needs the sub-field {field}.length of type token_count"),
        "age": (_script(age, present), f"{_AGE}; dates after that day have the age 0"),
    }  # fmt: skip
    if bound.feature.name not in templates:
        return None
    template, differs = templates[bound.feature.name]
    return {"params": ["keywords"] if bound.feature.kind == "Q-D" else [], "template": template, "differs": differs}


def _script(source: str, query: Entry) -> Entry:
    script = {"script": {"lang": "painless", "source": source}}
    return {"function_score": {"query": query, "script_score": script, "boost_mode": "replace"}}


def _field_value(field: str, query: Entry | None = None) -> Entry:
    factor = {"field": field, "missing": 0}
    query = query or {"match_all": {}}
    return {"function_score": {"query": query, "field_value_factor": factor, "boost_mode": "replace"}}


def _solr(bound: BoundFeature) -> Entry | None:
    field, day = _field(bound), _day(bound)
    now = f"{day}T00:00:00Z" if day else "NOW/DAY"
    age = f'+{field}:[* TO *]^=0 +_query_:"{{!func}}div(ms({now},{field}),{_MS_PER_DAY})"'
    value = ("FieldValueFeature", {"field": field, **_MISSING}, f"needs the stored numeric field {field}")
    features: dict[str, tuple[str, Entry, str]] = {
        **dict.fromkeys(_DOCUMENT_VALUES, value),
        "value": (*value[:2], f"{value[2]}; a date is in milliseconds"),
        "bm25": ("SolrFeature", {"q": f"{{!dismax qf={field}}}${{text}}", **_MISSING}, _LUCENE),
        "boolean": ("SolrFeature", {"fq": [f"{{!dismax qf={field} mm=100%}}${{text}}"]}, _ANALYSIS),
        "length": (
            "FieldLengthFeature",
            {"field": field, **_MISSING},
            "as Lucene stores lengths: exact up to 40 words",
        ),
        "age": ("SolrFeature", {"q": age, **_MISSING}, _AGE),
    }
    if bound.feature.name not in features:
        return None
    kind, params, differs = features[bound.feature.name]
    return {"class": f"{_SOLR}.{kind}", "params": params, "differs": differs}


def _vespa(bound: BoundFeature) -> Entry | None:
    field, day = _field(bound), _day(bound)
    age = f"{round(days_since_epoch(day) * 86_400)} - attribute({field})" if day else f"age({field})"
    value = (f"attribute({field})", f"needs the attribute {field}")
    expressions = {
        **dict.fromkeys((*_DOCUMENT_VALUES, "value"), value),
        "bm25": (f"bm25({field})", _LUCENE.replace("no factor k1 + 1, ", "")),
        "length": (f"fieldLength({field})", _ANALYSIS),
        "covered": (f"fieldMatch({field}).matches", _ANALYSIS),
        "covered_ratio": (f"fieldMatch({field}).queryCompleteness", _ANALYSIS),
        "age": (f"({age}) / 86400", f"needs the attribute {field} in seconds; {_AGE}"),
    }
    if bound.feature.name not in expressions:
        return None
    expression, differs = expressions[bound.feature.name]
    return {"expression": expression, "differs": differs}


def _elasticsearch_function(expression: str) -> Entry:
    return {"params": [], "template": _script(expression, {"match_all": {}}), "differs": _FUNCTION}


def _solr_function(expression: str) -> Entry:
    return {"class": f"{_SOLR}.SolrFeature", "params": {"q": f"{{!func}}{expression}"}, "differs": _FUNCTION}


_ENTRIES: Mapping[str, Callable[[BoundFeature], Entry | None]] = {
    "elasticsearch": _elasticsearch, "opensearch": _elasticsearch, "solr": _solr, "vespa": _vespa,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[[str], Entry]] = {
    "elasticsearch": _elasticsearch_function,
    "opensearch": _elasticsearch_function,
    "solr": _solr_function,
    "vespa": lambda expression: {"expression": expression, "differs": _FUNCTION},
}
