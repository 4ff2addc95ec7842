"""Records of JSON: lines of objects, or one value that holds them in one of the ways that people have.

An array of objects; an object that maps ids to texts or records; an object around one array of objects, as the answers
of Solr, Meilisearch and Algolia and tables of pandas are; pandas' columns and splits; an object with documents, queries
and judgements under such names. What search engines hand out is unwrapped: Elasticsearch's and OpenSearch's bulk
requests (an action, then a document), dumps (`_id` and `_source`) and answers to `_search` (`hits.hits`), also one
after the other; Vespa's feeds and visits (`put` or `id`, and `fields`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pippin.collection.field_names import ID_FIELDS, MORE_ID_FIELDS, QUERY_ID_FIELDS, find_field, id_of
from pippin.collection.files import BOM, CHUNK, decode_text, lines, open_stream
from pippin.errors import DataError

DOCUMENTS, QUERIES, JUDGEMENTS = "documents", "queries", "judgements"
PARTS = {
    DOCUMENTS: ("documents", "docs", "corpus", "collection", "passages"),
    QUERIES: ("queries", "topics", "questions"),
    JUDGEMENTS: ("qrels", "judgements", "judgments", "relevant_docs", "relevance", "ratings", "labels"),
}
AROUND = ("response", "result", "results", "data", "body", "root")  # objects around an array of records
ARRAYS = ("docs", "documents", "hits", "results", "records", "rows", "data", "items", "children", "entries")
ACTIONS = ("index", "create")  # of a bulk request; the line after one is the document
LARGEST = 1 << 30  # bytes of a `.json` file, which can only be read whole
IDS = (*ID_FIELDS, *MORE_ID_FIELDS)

Numbered = tuple[int, Mapping[str, Any]]


def parse_object(text: str, path: Path, line: int) -> dict[str, Any]:
    """The JSON object of a line."""
    record = _parse(text, path, line)
    if not isinstance(record, dict):
        raise DataError("the line is not a JSON object", path, line)
    return record


def _parse(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{'the file' if line is None else 'the line'} is not JSON: {error}", path, line) from None


def read_json(path: Path) -> Any:
    """The content of a `.json` file."""
    with open_stream(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DataError("JSON of more than 1 GiB is read as JSON lines only, an object a line", path)
    return _parse(decode_text(data.removeprefix(BOM), path), path, None)


def read_json_lines(path: Path) -> Iterator[Numbered]:
    """The objects of lines."""
    for number, text in lines(path):
        yield number, parse_object(text, path, number)


def read_json_records(path: Path, role: str = DOCUMENTS) -> Iterator[Numbered]:
    """The records of a `.json` file."""
    if is_lines(path):
        yield from read_json_lines(path)
        return
    content = records_in(part_of(read_json(path), role), path)
    for number, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise DataError("the array holds something that is no object", path, number)
        yield number, record


def is_lines(path: Path) -> bool:
    """Whether a file has an object on its first line and more after it, as Anserini's pieces."""
    with open_stream(path) as file:
        first, second = file.readline(CHUNK), file.readline(CHUNK)
    if not second.strip():
        return False
    try:
        return isinstance(json.loads(first.removeprefix(BOM)), dict)
    except (ValueError, RecursionError):
        return False


def parts_of(content: Any) -> dict[str, str]:
    """Role → key of an object that holds documents, and queries or judgements, under such names; else nothing.

    >>> parts_of({"corpus": {"a": "apples"}, "queries": {"1": "apple"}, "relevant_docs": {"1": ["a"]}, "mode": "text"})
    {'documents': 'corpus', 'queries': 'queries', 'judgements': 'relevant_docs'}
    """
    if not isinstance(content, dict):
        return {}
    held = [name for name, value in content.items() if isinstance(value, list | dict) and value]
    parts = {role: key for role, names in PARTS.items() if (key := find_field(held, names)) is not None}
    return parts if DOCUMENTS in parts and len(parts) > 1 else {}


def part_of(content: Any, role: str) -> Any:
    """What an object holds under the name of a role; anything else as it is."""
    parts = parts_of(content)
    return content[parts[role]] if role in parts else content


def records_in(content: Any, path: Path) -> list[Any]:
    """The records of a JSON value."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        raise DataError("an array of objects, or an answer to _search, is expected", path)
    if (rows := _of_pandas(content)) is not None:
        return rows
    if id_of(content, IDS) or isinstance(content.get("hits"), dict):
        return [content]
    around = next((content[name] for name in AROUND if isinstance(content.get(name), dict)), None)
    for held in (content, around):
        if held is not None and (array := _array_in(held)) is not None:
            return array
    return list(by_id(content, path))


def _array_in(content: Mapping[str, Any]) -> list[Any] | None:
    """The one array of objects that an object holds, or the one of a usual name."""
    arrays = {
        name: value
        for name, value in content.items()
        if isinstance(value, list) and (len(content) == 1 or (value and all(isinstance(one, dict) for one in value)))
    }
    named = next((name for name in ARRAYS if name in arrays), None)
    return next(iter(arrays.values())) if len(arrays) == 1 else None if named is None else arrays[named]


def _of_pandas(content: Mapping[str, Any]) -> list[Any] | None:
    """The rows of pandas' `to_json` by splits or columns; None for anything else."""
    columns, data = content.get("columns"), content.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        return [dict(zip(map(str, columns), row, strict=False)) for row in data]
    by_column = content.values()
    if find_field(content, (*IDS, *QUERY_ID_FIELDS)) is None or not all(isinstance(of, dict) for of in by_column):
        return None
    rows = list(next(iter(by_column)))
    if any(list(of) != rows for of in by_column):
        return None
    return [{name: of[row] for name, of in content.items()} for row in rows]


def by_id(content: Mapping[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """The records of an object that maps ids to texts or records; numbers from 0 on, as pandas', are no ids."""
    counted = list(content) == [str(number) for number in range(len(content))]
    for name, said in content.items():
        if not isinstance(said, str | dict):
            raise DataError(f"{name!r} is neither a text nor an object", path)
        record = {"text": said} if isinstance(said, str) else said
        own = counted and find_field(record, (*IDS, *QUERY_ID_FIELDS)) is not None
        yield record if own else {**record, "id": name}


def unwrapped(rows: Iterator[Numbered], path: Path) -> Iterator[Numbered]:
    """Documents as they were before a search engine wrapped them; anything else as it is."""
    action: Mapping[str, Any] | None = None
    for number, record in rows:
        if action is not None:
            yield number, {**record, **({"_id": action["_id"]} if "_id" in action else {})}
            action = None
        elif (head := _action(record)) is not None:
            action = head
        elif isinstance(record.get("_source"), dict):
            yield number, _of_hit(record)
        elif isinstance(hits := record.get("hits"), dict) and isinstance(hits.get("hits"), list):
            yield from ((number, _of_hit(hit)) for hit in hits["hits"] if isinstance(hit, dict))
        elif isinstance(record.get("fields"), dict):
            yield number, _of_vespa(record)
        else:
            yield number, record
    if action is not None:
        raise DataError("the bulk request ends with an action that has no document", path)


def _of_hit(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of a hit, with the id that the engine knows it by."""
    source = hit.get("_source")
    return {**source, **({"_id": hit["_id"]} if "_id" in hit else {})} if isinstance(source, dict) else hit


def _of_vespa(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of Vespa's `{"put": "id:name:type::7", "fields": …}`; its id is what its owner gave it."""
    given = next((record[name] for name in ("put", "id") if isinstance(record.get(name), str)), "")
    if not given.startswith("id:") or "::" not in given:
        return record
    fields: Mapping[str, Any] = record["fields"]
    return fields if id_of(fields, ID_FIELDS) else {**fields, "id": given.partition("::")[2]}


def _action(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a line of a bulk request says of the document on the next, if it is such a line."""
    if len(record) != 1:
        return None
    name, value = next(iter(record.items()))
    return value if name in ACTIONS and isinstance(value, dict) else None
