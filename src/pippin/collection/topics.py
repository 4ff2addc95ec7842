"""What do people look for? Topics in TREC's old SGML and newer XML, in JSON lines, and as `id<TAB>text`.

TREC's SGML has no closing tags and repeats its labels (`<num> Number: 401`); leading zeros of numbers are dropped, as
the judgements of those topics do. All fields are kept; one is searched, by default the first there is of title, text,
query. Fields that a topic has twice are joined.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

from pippin.collection.collection import Query
from pippin.collection.files import head, lines, open_stream
from pippin.collection.html import clean, decode
from pippin.errors import DataError

USUAL = ("title", "text", "query")
ID_FIELDS = ("query_id", "qid", "query-id", "id", "_id", "number", "num", "topic_id")
NAMES = {"desc": "description", "narr": "narrative", "dom": "domain", "con": "concepts"}
TOPIC = re.compile(
    r"<(?:top|topic)(?=[\s>])([^>]*)>(.*?)(?=</top(?:ic)?>|<top(?:ic)?[\s>]|\Z)", re.DOTALL | re.IGNORECASE
)
FIELD = re.compile(r"<([a-z_]\w*)[^>]*>([^<]*(?:<(?=[\s\d=])[^<]*)*)", re.IGNORECASE)
LABEL = re.compile(r"\s*(?:number|topic|domain|description|narrative|concept\(s\)|summary)\s*:", re.IGNORECASE)
NUMBER = re.compile(r"""\bnumber\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)

Topic = tuple[int, str, dict[str, str]]  # line, id, fields


def read_queries(path: str | os.PathLike[str], field: str | None = None) -> tuple[Query, ...]:
    """The queries of a file; `field` (title, description, text …) says which part is searched."""
    file = Path(path)
    start = head(file)
    topics = _trec(file) if start.startswith(b"<") else _jsonl(file) if start.startswith(b"{") else _tsv(file)
    queries: dict[str, Query] = {}
    for line, name, fields in topics:
        if name in queries:
            raise DataError(f"the query {name} stands twice", file, line)
        queries[name] = Query(name, _searched(name, fields, field, file, line), fields)
    if not queries:
        raise DataError("there is no query in the file", file)
    return tuple(queries.values())


def _searched(name: str, fields: Mapping[str, str], field: str | None, file: Path | str, line: int | None) -> str:
    """The text of the field that is searched."""
    wanted = USUAL if field is None else (field_name(field),)
    found = next((fields[name] for name in wanted if fields.get(name)), None)
    if found is None:
        there = ", ".join(name for name, text in fields.items() if text) or "no field with text"
        raise DataError(f"the query {name} has no {' or '.join(wanted)} (it has {there})", file, line)
    return found


def field_name(field: str) -> str:
    """The name under which topics keep a field that has a shorter one.

    >>> field_name("desc"), field_name("title")
    ('description', 'title')
    """
    return NAMES.get(field, field)


def query_of(name: str, fields: Mapping[str, str], field: str | None, file: Path | str) -> Query:
    """A query of fields that some other reader found."""
    return Query(name, _searched(name, fields, field, file, None), fields)


def _trec(path: Path) -> Iterator[Topic]:
    with open_stream(path) as file:
        text = decode(file.read())[0]
    text = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    for topic in TOPIC.finditer(text):
        line = text.count("\n", 0, topic.start()) + 1
        fields: dict[str, str] = {}
        for tag, content in FIELD.findall(topic[2]):
            said = clean(unescape(LABEL.sub("", content, count=1) if LABEL.match(content) else content))
            if said:
                name = NAMES.get(tag.lower(), tag.lower())
                fields[name] = f"{fields[name]} {said}" if name in fields else said
        number = NUMBER.search(topic[1])
        name = number[1] if number else fields.pop("num", "") or fields.pop("number", "")
        if not name or " " in name:
            raise DataError("the topic has no number", path, line)
        yield line, plain_number(name), fields


def plain_number(name: str) -> str:
    """An id without the leading zeros of a number.

    >>> plain_number("051"), plain_number("MB01"), plain_number("0")
    ('51', 'MB01', '0')
    """
    return name.lstrip("0") or "0" if name.isdecimal() else name


def _jsonl(path: Path) -> Iterator[Topic]:
    for line, text in lines(path):
        record = parse_object(text, path, line)
        name = id_of(record, ID_FIELDS)
        if name is None:
            raise DataError(no_id(ID_FIELDS), path, line)
        yield line, name, {key: clean(value) for key, value in record.items() if isinstance(value, str)}


def parse_object(text: str, path: Path, line: int) -> dict[str, Any]:
    """The JSON object of a line."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"the line is not JSON: {error}", path, line) from None
    if not isinstance(record, dict):
        raise DataError("the line is not a JSON object", path, line)
    return record


def id_of(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The id of a record, a text or a whole number under one of the usual names, or None."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def no_id(names: tuple[str, ...]) -> str:
    """The sentence about a record without id."""
    return f"there is no id (a text or whole number called {', '.join(names)})"


def _tsv(path: Path) -> Iterator[Topic]:
    columns: tuple[str, ...] | None = None
    for line, text in lines(path):
        cells = [cell.strip() for cell in text.split("\t")]
        if columns is None:
            named = cells[0].lower() in ID_FIELDS
            columns = ("id", *cells[1:]) if named else ("id", "text")
            if named:
                continue
        if len(cells) != len(columns) or not cells[0]:
            raise DataError(f"{len(columns)} columns separated by tabs are expected: {', '.join(columns)}", path, line)
        yield line, cells[0], dict(zip(columns[1:], map(clean, cells[1:]), strict=True))
