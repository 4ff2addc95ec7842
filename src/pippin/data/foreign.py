"""Judgements and runs in the objects of other libraries, known by their look: nothing of theirs is imported.

pytrec_eval takes dicts of dicts, ranx holds them in its `Qrels` and `Run`, ir_measures and ir_datasets in records
(`Qrel`, `ScoredDoc`), one after the other. PyTerrier's frames are read as any frame is, by `columns`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pippin.data import foreign_lists
from pippin.errors import DataError


def nested(x: Any, value: str) -> tuple[Mapping[Any, Mapping[Any, Any]], str | None] | None:
    """Query → document → number, and the object's own name, if it has one; None where x is nothing of the kind.

    `value` is what the number of a record is called: `relevance` or `score`.

    >>> from collections import namedtuple
    >>> qrel = namedtuple("Qrel", "query_id doc_id relevance")
    >>> nested([qrel("1", "a", 2), qrel("1", "b", 0)], "relevance")
    ({'1': {'a': 2, 'b': 0}}, None)
    """
    if (listed := foreign_lists.as_nested(x, value)) is not None:
        return listed, None
    if isinstance(x, Mapping):
        return x, None
    if _library(x) == "ranx" and callable(getattr(x, "to_dict", None)):
        return _of_ranx(x.to_dict, value, type(x).__name__), getattr(x, "name", None)
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes)):
        return (_of_records(x, value), None) if x and _is_record(x[0], value) else None
    if isinstance(x, Iterable) and hasattr(x, "__next__"):
        return _of_records(x, value), None
    return None


def _library(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def _of_ranx(to_dict: Callable[[], Any], value: str, kind: str) -> Mapping[Any, Mapping[Any, Any]]:
    wanted = {"relevance": "Qrels", "score": "Run"}[value]
    if kind != wanted:
        raise DataError(f"a {wanted} of ranx is expected here, and this is its {kind}")
    numbers: Mapping[Any, Mapping[Any, Any]] = to_dict()
    return numbers


def _is_record(x: Any, value: str) -> bool:
    return all(hasattr(x, name) for name in ("query_id", "doc_id", value))


def _of_records(records: Iterable[Any], value: str) -> dict[Any, dict[Any, Any]]:
    queries: dict[Any, dict[Any, Any]] = {}
    for number, record in enumerate(records, 1):
        if not _is_record(record, value):
            raise DataError(f"record {number} has no query_id, doc_id and {value}, but is {type(record).__name__}")
        documents = queries.setdefault(record.query_id, {})
        if record.doc_id in documents:
            raise DataError(f"document {record.doc_id} stands twice in query {record.query_id}, again in {number}")
        documents[record.doc_id] = getattr(record, value)
    return queries
