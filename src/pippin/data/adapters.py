"""Qrels and runs in the objects and files of other libraries, recognised without importing them.

pytrec_eval uses dicts of dicts, ranx has `Qrels` and `Run`, ir_measures and ir_datasets have records (`Qrel`,
`ScoredDoc`). LlamaIndex, Haystack and Elasticsearch's `_rank_eval` use lists in rank order: an expected document has
label 1 or its own rating, and queries without a name are numbered from 1. `irds:ID` names a data set of ir_datasets.

In this module, `value` is the attribute that holds the number of a record: `relevance` or `score`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from pippin.data.qrels import Qrels, Run
from pippin.dependencies import require
from pippin.errors import DataError, PippinError

_ID_FIELDS = ("id", "node_id")  # LlamaIndex's nodes have the second
PREFIX = "irds:"
Nested = dict[Any, dict[Any, float]]


def to_nested(x: Any, value: str) -> tuple[Mapping[Any, Mapping[Any, Any]], str | None] | None:
    """Return query → document → number and the object's name if it has one; None for other objects.

    >>> from collections import namedtuple
    >>> qrel = namedtuple("Qrel", "query_id doc_id relevance")
    >>> to_nested([qrel("1", "a", 2), qrel("1", "b", 0)], "relevance")
    ({'1': {'a': 2, 'b': 0}}, None)
    """
    if (nested := lists_to_nested(x, value)) is not None:
        return nested, None
    if isinstance(x, Mapping):
        return x, None
    if type(x).__module__.partition(".")[0] == "ranx" and callable(getattr(x, "to_dict", None)):
        return _ranx_to_nested(x, value), getattr(x, "name", None)
    if _is_sequence(x):
        return (_records_to_nested(x, value), None) if x and _is_record(x[0], value) else None
    if isinstance(x, Iterable) and hasattr(x, "__next__"):
        return _records_to_nested(x, value), None
    return None


def lists_to_nested(x: Any, value: str) -> Nested | None:
    """Return query → document → label or score; None if x holds no lists of documents.

    >>> lists_to_nested([["a", "b"], ["c"]], "relevance")
    {'1': {'a': 1, 'b': 1}, '2': {'c': 1}}
    >>> lists_to_nested({"q": ["a", "b", "a"]}, "score")
    {'q': {'a': 3, 'b': 2}}
    """
    if isinstance(x, Mapping):
        if isinstance(x.get("requests"), Sequence):
            if value == "score":
                raise DataError("a _rank_eval request holds ratings; pass it first, and its response second")
            return _read_requests(x["requests"])
        if isinstance(x.get("details"), Mapping):
            if value == "relevance":
                raise DataError("a _rank_eval response holds hits; pass the request with its ratings first")
            return {
                query: _rank_scores(str(hit.get("hit", hit)["_id"]) for hit in detail["hits"])
                for query, detail in x["details"].items()
            }
        if x and all(_is_document_list(documents) for documents in x.values()):
            return {query: _numbers(documents, value) for query, documents in x.items()}
        return None
    if _is_sequence(x) and len(x):
        if all(hasattr(item, "expected_ids") and hasattr(item, "retrieved_ids") for item in x):
            x = [item.expected_ids if value == "relevance" else item.retrieved_ids for item in x]
        if _is_document_list(x):  # a single query
            x = [x]
        if all(_is_document_list(documents) for documents in x):
            return {str(number): _numbers(documents, value) for number, documents in enumerate(x, 1)}
    return None


def is_list_per_query(x: Any) -> bool:
    """Return whether x is a list of document lists, so that queries are known by position only.

    >>> is_list_per_query([["a", "b"], ["c"]]), is_list_per_query({"q": ["a"]})
    (True, False)
    """
    return _is_sequence(x) and not _is_document_list(x) and all(map(_is_document_list, x))


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def detect_value(path: str | os.PathLike[str]) -> str:
    """Return `relevance` if a JSON file holds labels (whole numbers from 0, or requests), else `score`."""
    content = load_json(path)
    if isinstance(content, Mapping) and ("requests" in content or "details" in content):
        return "relevance" if "requests" in content else "score"
    tables = [documents for part in nested_parts(content).values() for documents in part.values()]
    are_labels = all(isinstance(number, int) and number >= 0 for documents in tables for number in documents.values())
    return "relevance" if are_labels else "score"


def read_json(path: str | os.PathLike[str], value: str) -> Nested:
    """Read a dict of dicts, lists, a `_rank_eval` request or response, or MTEB's predictions from JSON."""
    content = load_json(path)
    try:
        nested = lists_to_nested(content, value)
    except DataError as error:
        raise DataError(str(error), os.fspath(path)) from None
    if nested is not None:
        return nested
    parts = nested_parts(content)
    if len(parts) > 1:
        names = "; ".join(", ".join(part) for part in parts)
        raise DataError(f"this JSON holds {len(parts)} parts, and only one can be evaluated: {names}", os.fspath(path))
    if not parts:
        raise DataError("this JSON holds neither lists nor a dict of queries to documents", os.fspath(path))
    return next(iter(parts.values()))


def load_json(path: str | os.PathLike[str]) -> Any:
    """Return the content of a JSON file; DataError if it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("there is no such file", path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"invalid JSON: {error}", path) from None


def nested_parts(content: Any) -> dict[tuple[str, ...], Nested]:
    """Return every query → document → number inside nested dicts, or inside a JSON file, by its path of keys.

    MTEB's predictions are nested by subset, split, query and document.

    >>> nested_parts({"en": {"test": {"q": {"a": 1.0}}, "dev": {"p": {"b": 1.0}}}})
    {('en', 'test'): {'q': {'a': 1.0}}, ('en', 'dev'): {'p': {'b': 1.0}}}
    """
    if isinstance(content, (str, os.PathLike)):
        if not os.fspath(content).endswith(".json"):
            return {}
        content = load_json(content)
    return dict(_walk_parts(content, ()))


def _walk_parts(content: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Nested]]:
    if not isinstance(content, Mapping):
        return
    inner = {
        key: value
        for key, value in content.items()
        if isinstance(value, Mapping) and not str(key).startswith("mteb_model")
    }
    are_numbers = all(isinstance(number, (int, float)) for documents in inner.values() for number in documents.values())
    if inner and are_numbers and len(inner) == len(content):
        yield keys, {query: dict(documents) for query, documents in content.items()}
        return
    for key, value in inner.items():
        yield from _walk_parts(value, (*keys, str(key)))


def _is_document_list(x: Any) -> bool:
    """Return whether x lists documents: ids, objects with an id, or dicts of such objects."""
    if not isinstance(x, (Sequence, AbstractSet)) or isinstance(x, (str, bytes)):
        return False
    return all(isinstance(item, str) or any(_has(item, name) for name in _ID_FIELDS) for item in x)


def _has(document: Any, name: str) -> bool:
    return name in document if isinstance(document, Mapping) else hasattr(document, name)


def _field(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)


def _numbers(documents: Iterable[Any], value: str) -> dict[Any, float]:
    if value == "score":
        return _rank_scores(map(_document_id, documents))
    return {_document_id(document): _label(document) for document in documents}


def _rank_scores(ids: Iterable[Any]) -> dict[Any, float]:
    """Return falling scores in list order; a repeated document counts at its first position."""
    ranked = list(ids)
    scores: dict[Any, float] = {}
    for position, document in enumerate(ranked):
        scores.setdefault(document, len(ranked) - position)
    return scores


def _document_id(document: Any) -> str:
    """Return the id. Haystack matches documents by content, because its ids also depend on the metadata."""
    if isinstance(document, str):
        return document
    content = _field(document, "content")
    if isinstance(content, str):
        return content
    return str(next(_field(document, name) for name in _ID_FIELDS if _has(document, name)))


def _label(document: Any) -> int:
    """Return the whole-number score of an expected document, or 1."""
    score = _field(document, "score")
    return int(score) if isinstance(score, (int, float)) and float(score).is_integer() else 1


def _read_requests(requests: Sequence[Any]) -> Nested:
    """Return the ratings of a `_rank_eval` request."""
    ratings: dict[Any, dict[Any, float]] = {}
    for number, request in enumerate(requests, 1):
        try:
            ratings[request["id"]] = {rating["_id"]: int(rating["rating"]) for rating in request["ratings"]}
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"request {number} of _rank_eval lacks an id, or ratings with _id and a whole-number rating"
            ) from None
    return ratings


def _ranx_to_nested(x: Any, value: str) -> Mapping[Any, Mapping[Any, Any]]:
    expected, actual = {"relevance": "Qrels", "score": "Run"}[value], type(x).__name__
    if actual != expected:
        raise DataError(f"expected a ranx {expected}, not a ranx {actual}")
    nested: Mapping[Any, Mapping[Any, Any]] = x.to_dict()
    return nested


def _is_record(x: Any, value: str) -> bool:
    return all(hasattr(x, name) for name in ("query_id", "doc_id", value))


def _records_to_nested(records: Iterable[Any], value: str) -> dict[Any, dict[Any, Any]]:
    queries: dict[Any, dict[Any, Any]] = {}
    for number, record in enumerate(records, 1):
        if not _is_record(record, value):
            raise DataError(f"record {number} ({type(record).__name__}) lacks query_id, doc_id or {value}")
        documents = queries.setdefault(record.query_id, {})
        if record.doc_id in documents:
            raise DataError(f"document {record.doc_id} is listed twice in query {record.query_id}: record {number}")
        documents[record.doc_id] = getattr(record, value)
    return queries


def is_irds_id(text: object) -> bool:
    """Return whether a text names a data set of ir_datasets.

    >>> is_irds_id("irds:cranfield"), is_irds_id("cranfield.qrels")
    (True, False)
    """
    return isinstance(text, str) and text.startswith(PREFIX)


def read_irds_qrels(name: str) -> Qrels:
    """Read the judgements of an ir_datasets data set; `irds:` before the id is optional."""

    def label(row: Any) -> int:
        if row.relevance != int(row.relevance):
            raise DataError(f"the label {row.relevance} of {row.doc_id} is not a whole number", name)
        return int(row.relevance)

    name = PREFIX + name.removeprefix(PREFIX)
    return Qrels.from_dict(_read_irds(name, "qrels", "judgements", label), name)


def read_irds_run(name: str) -> Run:
    """Read the scored documents of an ir_datasets data set; `irds:` before the id is optional."""
    name = PREFIX + name.removeprefix(PREFIX)
    return Run.from_dict(_read_irds(name, "scoreddocs", "scored documents", lambda row: float(row.score)), name)


def _read_irds(name: str, entity: str, title: str, value: Callable[[Any], Any]) -> dict[str, dict[str, Any]]:
    require(f"reading {name}", "ir_datasets")
    import ir_datasets

    nested: dict[str, dict[str, Any]] = {}
    try:
        dataset = ir_datasets.load(name.removeprefix(PREFIX))
        if not getattr(dataset, f"has_{entity}")():
            raise DataError(f"this data set of ir_datasets has no {title}", name)
        for row in getattr(dataset, f"{entity}_iter")():
            documents = nested.setdefault(str(row.query_id), {})
            if row.doc_id in documents:
                raise DataError(f"document {row.doc_id} is listed twice in query {row.query_id}", name)
            documents[str(row.doc_id)] = value(row)
    except PippinError:
        raise
    except KeyError:
        raise DataError("ir_datasets has no data set with this id", name) from None
    except Exception as error:  # downloads and parsers of ir_datasets raise anything
        raise DataError(f"ir_datasets could not read it ({type(error).__name__}: {error})", name) from error
    return nested
