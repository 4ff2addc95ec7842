"""Read records from JSON: one object per line, or one JSON value.

Supported values are an array of objects; an object that maps ids to texts or records; an object that contains one array
of objects, such as responses of Solr, Meilisearch and Algolia and tables of pandas; pandas' columns and splits; an
object with documents, queries and judgements under such names. Formats of search engines are unwrapped: bulk requests
of Elasticsearch and OpenSearch (an action, then a document), dumps (`_id` and `_source`) and responses of `_search`
(`hits.hits`), also several of them; feeds and visits of Vespa (`put` or `id`, and `fields`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pippin.collections.readers.columns import ID_FIELDS, MORE_ID_FIELDS, QUERY_ID_FIELDS, find_field, find_id
from pippin.collections.readers.files import BOM, CHUNK, decode_text, open_file, read_lines
from pippin.errors import DataError

DOCUMENTS, QUERIES, QRELS = "documents", "queries", "qrels"
SECTIONS = {
    DOCUMENTS: ("documents", "docs", "corpus", "collection", "passages"),
    QUERIES: ("queries", "topics", "questions"),
    QRELS: ("qrels", "judgements", "judgments", "relevant_docs", "relevance", "ratings", "labels"),
}
WRAPPERS = ("response", "result", "results", "data", "body", "root")  # objects around an array of records
ARRAYS = ("docs", "documents", "hits", "results", "records", "rows", "data", "items", "children", "entries")
ACTIONS = ("index", "create")  # of a bulk request; the next line is the document
MAX_SIZE = 1 << 30  # bytes of a `.json` file, which is read into memory
IDS = (*ID_FIELDS, *MORE_ID_FIELDS)

Numbered = tuple[int, Mapping[str, Any]]


def parse_object(text: str, path: Path, line: int) -> dict[str, Any]:
    """Parse the JSON object of a line."""
    record = _parse(text, path, line)
    if not isinstance(record, dict):
        raise DataError("the line is not a JSON object", path, line)
    return record


def _parse(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"the {'file' if line is None else 'line'} is not JSON: {error}", path, line) from None


def read_json(path: Path) -> Any:
    """Read a `.json` file."""
    with open_file(path) as file:
        data = file.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise DataError("the JSON value is larger than 1 GiB; convert it to JSON lines, one object per line", path)
    return _parse(decode_text(data.removeprefix(BOM), path), path, None)


def read_json_lines(path: Path) -> Iterator[Numbered]:
    """Yield the objects of lines."""
    for number, text in read_lines(path):
        yield number, parse_object(text, path, number)


def read_json_records(path: Path, role: str = DOCUMENTS) -> Iterator[Numbered]:
    """Yield the records of a `.json` file."""
    if is_lines(path):
        yield from read_json_lines(path)
        return
    content = find_records(select_section(read_json(path), role), path)
    for number, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise DataError("the array contains a value that is not an object", path, number)
        yield number, record


def is_lines(path: Path) -> bool:
    """Return whether the first line of a file is an object and more lines follow, as in Anserini's files."""
    with open_file(path) as file:
        first, second = file.readline(CHUNK), file.readline(CHUNK)
    if not second.strip():
        return False
    try:
        return isinstance(json.loads(first.removeprefix(BOM)), dict)
    except (ValueError, RecursionError):
        return False


def find_sections(content: Any) -> dict[str, str]:
    """Return role → key of an object that contains documents, and queries or judgements; else nothing.

    >>> find_sections({"corpus": {"a": "apples"}, "queries": {"1": "apple"}, "relevant_docs": {"1": ["a"]}})
    {'documents': 'corpus', 'queries': 'queries', 'qrels': 'relevant_docs'}
    """
    if not isinstance(content, dict):
        return {}
    containers = [name for name, value in content.items() if isinstance(value, list | dict) and value]
    sections = {role: key for role, names in SECTIONS.items() if (key := find_field(containers, names)) is not None}
    return sections if DOCUMENTS in sections and len(sections) > 1 else {}


def select_section(content: Any, role: str) -> Any:
    """Return the section of a role if a JSON value has sections, else the value."""
    sections = find_sections(content)
    return content[sections[role]] if role in sections else content


def find_records(content: Any, path: Path) -> list[Any]:
    """Return the records of a JSON value."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        raise DataError("expected an array of objects, or a response of _search", path)
    if (rows := _pandas_rows(content)) is not None:
        return rows
    if find_id(content, IDS) or isinstance(content.get("hits"), dict):
        return [content]
    wrapped = next((content[name] for name in WRAPPERS if isinstance(content.get(name), dict)), None)
    for candidate in (content, wrapped):
        if candidate is not None and (array := _find_array(candidate)) is not None:
            return array
    return list(records_by_id(content, path))


def _find_array(content: Mapping[str, Any]) -> list[Any] | None:
    """Return the only array of objects in an object, or the one with a usual name."""
    arrays = {
        name: value
        for name, value in content.items()
        if isinstance(value, list) and (len(content) == 1 or (value and all(isinstance(item, dict) for item in value)))
    }
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    return next((arrays[name] for name in ARRAYS if name in arrays), None)


def _pandas_rows(content: Mapping[str, Any]) -> list[Any] | None:
    """Return the rows of pandas' `to_json` by splits or columns; None for anything else."""
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


def records_by_id(content: Mapping[str, Any], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of an object that maps ids to texts or records; row numbers of pandas are not ids."""
    has_row_numbers = list(content) == [str(number) for number in range(len(content))]
    for name, value in content.items():
        if not isinstance(value, str | dict):
            raise DataError(f"{name!r} is neither a text nor an object", path)
        record = {"text": value} if isinstance(value, str) else value
        has_id = has_row_numbers and find_field(record, (*IDS, *QUERY_ID_FIELDS)) is not None
        yield record if has_id else {**record, "id": name}


def unwrap_documents(rows: Iterator[Numbered], path: Path) -> Iterator[Numbered]:
    """Replace records in formats of search engines by their documents; yield other records unchanged."""
    action: Mapping[str, Any] | None = None
    for number, record in rows:
        if action is not None:
            yield number, {**record, **({"_id": action["_id"]} if "_id" in action else {})}
            action = None
        elif (metadata := _action_metadata(record)) is not None:
            action = metadata
        elif isinstance(record.get("_source"), dict):
            yield number, _hit_document(record)
        elif isinstance(hits := record.get("hits"), dict) and isinstance(hits.get("hits"), list):
            yield from ((number, _hit_document(hit)) for hit in hits["hits"] if isinstance(hit, dict))
        elif isinstance(record.get("fields"), dict):
            yield number, _vespa_document(record)
        else:
            yield number, record
    if action is not None:
        raise DataError("the bulk request ends with an action without a document", path)


def _hit_document(hit: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document of a hit, with its id in the engine."""
    source = hit.get("_source")
    return {**source, **({"_id": hit["_id"]} if "_id" in hit else {})} if isinstance(source, dict) else hit


def _vespa_document(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document of `{"put": "id:name:type::7", "fields": …}`; its id is 7 unless a field has one."""
    vespa_id = next((record[name] for name in ("put", "id") if isinstance(record.get(name), str)), "")
    if not vespa_id.startswith("id:") or "::" not in vespa_id:
        return record
    fields: Mapping[str, Any] = record["fields"]
    return fields if find_id(fields, ID_FIELDS) else {**fields, "id": vespa_id.partition("::")[2]}


def _action_metadata(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the metadata in an action line of a bulk request; None for other records."""
    if len(record) != 1:
        return None
    name, value = next(iter(record.items()))
    return value if name in ACTIONS and isinstance(value, dict) else None
