"""Data sets of `ir_datasets` by id, such as `irds:cranfield`, where that package is installed.

Every field of text of its documents is a stream; queries, and judgements with their labels as they stand, come along.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pippin.collection.collection import Collection, Query
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader
from pippin.collection.readers.fields import Row, Table, collect_table
from pippin.collection.topics import query_of
from pippin.data.irds import PREFIX, is_id, read_judged
from pippin.errors import DataError, PippinError
from pippin.extras import need


def _load(name: str) -> Any:
    need(f"reading {name}", "ir_datasets")
    import ir_datasets

    try:
        return ir_datasets.load(name.removeprefix(PREFIX))
    except KeyError:
        raise DataError("ir_datasets knows no data set of that id", name) from None


def _rows(data: Any, entity: str, name: str) -> Iterator[Row]:
    """The rows of one entity, numbered; whatever a download or a parser of the package runs into is a `DataError`."""
    try:
        for number, row in enumerate(getattr(data, f"{entity}_iter")(), 1):
            yield number, row._asdict()
    except PippinError:
        raise
    except Exception as error:
        raise DataError(f"ir_datasets could not read it ({type(error).__name__}: {error})", name) from error


def _queries(data: Any, name: str, field: str | None) -> tuple[Query, ...]:
    queries = []
    for _, row in _rows(data, "queries", name):
        fields = {key: text for key, text in row.items() if isinstance(text, str) and key != "query_id"}
        queries.append(query_of(str(row["query_id"]), fields, field, name))
    return tuple(queries)


def _open(wanted: Wanted) -> Collection:
    name = str(wanted.path)
    name = PREFIX + name.removeprefix(PREFIX)
    data = _load(name)
    if not data.has_docs():
        raise DataError("this data set of ir_datasets has no documents", name)

    def error(message: str, row: int | None) -> DataError:
        return DataError(message if row is None else f"document {row}: {message}", name)

    table = Table(lambda: _rows(data, "docs", name), error)
    collection = collect_table(wanted, table)
    if wanted.documents_only:
        return collection
    if wanted.queries is None and data.has_queries():
        collection = replace(collection, queries=_queries(data, name, wanted.query_field))
    if wanted.judgements is None and data.has_qrels():
        collection = replace(collection, judgements=read_judged(name))
    return collection


READERS.register("irds", Reader("`irds:` and an id of ir_datasets", lambda path: is_id(str(path)), _open))
