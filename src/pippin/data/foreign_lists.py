"""Judgements and rankings as lists, as evaluators of retrieval for language models hold them.

LlamaIndex has expected and retrieved ids, query by query, or its results that have both; Haystack lists of documents;
Elasticsearch's `_rank_eval` requests with ratings and answers with hits. A list is in rank order; what is expected has
the label 1, or its own rating. Queries without a name are numbered from 1 on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from pippin.errors import DataError

_IDS = ("id", "node_id")  # what documents call their id; LlamaIndex' nodes the second
Nested = dict[Any, dict[Any, float]]


def as_nested(x: Any, value: str) -> Nested | None:
    """Query → document → label (`value` relevance) or score; None where x holds no lists of documents.

    >>> as_nested([["a", "b"], ["c"]], "relevance")
    {'1': {'a': 1, 'b': 1}, '2': {'c': 1}}
    >>> as_nested({"q": ["a", "b", "a"]}, "score")
    {'q': {'a': 3, 'b': 2}}
    """
    if isinstance(x, Mapping):
        if isinstance(x.get("requests"), Sequence):
            if value == "score":
                raise DataError("a request of _rank_eval has the ratings, and comes first; its answer has the hits")
            return _requests(x["requests"])
        if isinstance(x.get("details"), Mapping):
            if value == "relevance":
                raise DataError("an answer of _rank_eval has the hits; the request, with its ratings, comes first")
            return {query: _ranked(map(_hit, detail["hits"])) for query, detail in x["details"].items()}
        if x and all(_is_list(listed) for listed in x.values()):
            return {query: _listed(listed, value) for query, listed in x.items()}
        return None
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes)) and len(x):
        if all(hasattr(one, "expected_ids") and hasattr(one, "retrieved_ids") for one in x):
            x = [one.expected_ids if value == "relevance" else one.retrieved_ids for one in x]
        if _is_list(x):  # of one query
            x = [x]
        if all(_is_list(listed) for listed in x):
            return {str(number): _listed(listed, value) for number, listed in enumerate(x, 1)}
    return None


def have_places(x: Any) -> bool:
    """Whether x is lists of documents whose queries are known by their places alone.

    >>> have_places([["a", "b"], ["c"]]), have_places({"q": ["a"]})
    (True, False)
    """
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes)) and not _is_list(x) and all(map(_is_list, x))


def value_in(path: str | os.PathLike[str]) -> str:
    """What the numbers of a file of JSON are: labels of requests, or where all are whole and from 0 on; else scores."""
    found = _parsed(path)
    if isinstance(found, Mapping) and ("requests" in found or "details" in found):
        return "relevance" if "requests" in found else "score"
    tables = [documents for part in nested_parts(found).values() for documents in part.values()]
    whole = all(isinstance(number, int) and number >= 0 for documents in tables for number in documents.values())
    return "relevance" if whole else "score"


def read_json(path: str | os.PathLike[str], value: str) -> Nested:
    """The same from a file: a dict of dicts, lists, requests or answers of `_rank_eval`, or MTEB's predictions."""
    found = _parsed(path)
    try:
        nested = as_nested(found, value)
    except DataError as error:
        raise DataError(str(error), os.fspath(path)) from None
    if nested is not None:
        return nested
    parts = nested_parts(found)
    if len(parts) > 1:
        listed = "; ".join(", ".join(names) for names in parts)
        raise DataError(f"{len(parts)} parts stand in this JSON, and one is evaluated: {listed}", os.fspath(path))
    if not parts:
        raise DataError("neither lists nor a dict of queries to documents stand in this JSON", os.fspath(path))
    return next(iter(parts.values()))


def _parsed(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"no JSON can be read here: {error}", os.fspath(path)) from None


def nested_parts(held: Any) -> dict[tuple[str, ...], Nested]:
    """The dicts of queries to documents to numbers inside a dict, or a file of it, by the names under which they stand.

    MTEB's predictions have a subset, a split, queries and documents.

    >>> nested_parts({"en": {"test": {"q": {"a": 1.0}}, "dev": {"p": {"b": 1.0}}}})
    {('en', 'test'): {'q': {'a': 1.0}}, ('en', 'dev'): {'p': {'b': 1.0}}}
    """
    if isinstance(held, (str, os.PathLike)):
        if not os.fspath(held).endswith(".json"):
            return {}
        held = _parsed(held)
    return dict(_nested(held, ()))


def _nested(found: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Nested]]:
    if not isinstance(found, Mapping):
        return
    inner = {k: one for k, one in found.items() if isinstance(one, Mapping) and not str(k).startswith("mteb_model")}
    numbers = all(all(isinstance(v, (int, float)) for v in one.values()) for one in inner.values())
    if inner and numbers and len(inner) == len(found):
        yield names, {query: dict(documents) for query, documents in found.items()}
        return
    for name, one in inner.items():
        yield from _nested(one, (*names, str(name)))


def _is_list(x: Any) -> bool:
    """A list of documents: ids, or objects that have one, or dicts that are such objects written down."""
    if not isinstance(x, (Sequence, AbstractSet)) or isinstance(x, (str, bytes)):
        return False
    return all(isinstance(one, str) or any(_has(one, name) for name in _IDS) for one in x)


def _has(document: Any, name: str) -> bool:
    return name in document if isinstance(document, Mapping) else hasattr(document, name)


def _listed(documents: Iterable[Any], value: str) -> dict[Any, float]:
    if value == "score":
        return _ranked(map(_id, documents))
    return {_id(document): _label(document) for document in documents}


def _ranked(ids: Iterable[Any]) -> dict[Any, float]:
    """Falling scores in the order of the list; a document that stands twice counts where it stands first."""
    listed = list(ids)
    scores: dict[Any, float] = {}
    for place, document in enumerate(listed):
        scores.setdefault(document, len(listed) - place)
    return scores


def _field(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)


def _id(document: Any) -> str:
    """An id; or a document's text, by which Haystack knows it again: its id hangs on what else is known of it."""
    if isinstance(document, str):
        return document
    content = _field(document, "content")
    if isinstance(content, str):
        return content
    return str(next(_field(document, name) for name in _IDS if _has(document, name)))


def _label(document: Any) -> int:
    """1, or the whole number that a document of a ground truth has as its score."""
    score = _field(document, "score")
    return int(score) if isinstance(score, (int, float)) and float(score).is_integer() else 1


def _requests(requests: Sequence[Any]) -> Nested:
    """Ratings by request."""
    rated: dict[Any, dict[Any, float]] = {}
    for number, one in enumerate(requests, 1):
        try:
            rated[one["id"]] = {rating["_id"]: int(rating["rating"]) for rating in one["ratings"]}
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"a request of _rank_eval has an id and ratings with _id and rating, which request {number} lacks"
            ) from None
    return rated


def _hit(found: Any) -> str:
    hit = found.get("hit", found)
    return str(hit["_id"])
