"""What do people look for? Topics in TREC's old SGML and newer XML, in tables of any form, and as `id<TAB>text`.

TREC's SGML has no closing tags and repeats its labels (`<num> Number: 401`); leading zeros of numbers are dropped, as
the judgements of those topics do. All fields are kept; one is searched, by default the first there is of title, text,
query. Fields that a topic has twice are joined.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from pippin.collection.collection import Query
from pippin.collection.files import head, lines, open_stream
from pippin.collection.html import clean, decode
from pippin.collection.records import form_of, read_json, read_records
from pippin.errors import DataError
from pippin.registry import Registry

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


@dataclass(frozen=True)
class Shape:
    """A form of topics that some collection has of its own: how a file of it begins, and how it is read."""

    begins: re.Pattern[bytes]
    read: Callable[[Path], Iterator[Topic]]


SHAPES: Registry[Shape] = Registry("form of topics")  # readers of collections put theirs here


def read_queries(path: str | os.PathLike[str], field: str | None = None) -> tuple[Query, ...]:
    """The queries of a file; `field` (title, description, text …) says which part is searched."""
    file = Path(path)
    start = head(file)
    form = form_of(file)
    shape_of = next((shape for shape in SHAPES.values() if shape.begins.match(start)), None)
    if shape_of is not None:
        topics = shape_of.read(file)
    elif start.startswith(b"<"):
        topics = _trec(file)
    elif form in ("csv", "parquet", "arrow", "jsonl") or start.startswith((b"{", b"[")):
        topics = _table(file, form)
    else:
        topics = _tsv(file)
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
    chosen = next((fields[name] for name in wanted if fields.get(name)), None)
    if chosen is None:
        there = ", ".join(name for name, text in fields.items() if text) or "no field with text"
        raise DataError(f"the query {name} has no {' or '.join(wanted)} (it has {there})", file, line)
    return chosen


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


def _table(path: Path, form: str | None) -> Iterator[Topic]:
    """Topics as records of any form; a JSON object may also map ids to texts or records."""
    for line, record in _records(path, form):
        name = id_of(record, ID_FIELDS)
        if name is None:
            raise DataError(no_id(ID_FIELDS), path, line)
        yield line, name, {key: clean(value) for key, value in record.items() if isinstance(value, str)}


def _records(path: Path, form: str | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if form == "json":
        content = read_json(path)
        if isinstance(content, dict) and not id_of(content, ID_FIELDS) and "hits" not in content:
            for number, (name, said) in enumerate(content.items(), 1):
                yield number, {**({"text": said} if isinstance(said, str) else _object(said, path)), "id": name}
            return
    for (_, line), record in read_records(path, form or "jsonl"):
        yield line, record


def _object(said: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(said, dict):
        raise DataError("a topic is a text or an object", path)
    return said


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
