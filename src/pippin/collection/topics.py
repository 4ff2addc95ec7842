"""What do people look for? Topics in TREC's old SGML and newer XML, in tables of any form, and as `id<TAB>text`.

TREC's SGML has no closing tags and repeats its labels (`<num> Number: 401`); leading zeros of numbers are dropped, as
the judgements of those topics do. All fields are kept; one is searched, by default the first there is of title, text,
query, question. Fields that a topic has twice are joined.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from itertools import islice
from pathlib import Path

from pippin.collection.collection import Query
from pippin.collection.field_names import QUERY_ID_FIELDS, QUERY_TEXT_FIELDS, find_field, folded, id_of, no_id
from pippin.collection.files import head, lines, open_stream, refuse_yaml
from pippin.collection.html import clean, decode
from pippin.collection.json_records import QUERIES
from pippin.collection.records import form_of, read_records
from pippin.errors import DataError
from pippin.registry import Registry

USUAL = ("title", "text", "query", "question", "content", *QUERY_TEXT_FIELDS[1:])
ID_FIELDS = (*QUERY_ID_FIELDS, "id", "number", "num", "topic")
ROW_FIELDS = ("index",)  # what pandas calls a column of ids that was its index
LOOK = 20  # lines that tell how queries are written
LONGEST = 60  # characters of an id that are shown
NAMES = {"desc": "description", "narr": "narrative", "dom": "domain", "con": "concepts"}
TOPIC = re.compile(
    r"<(?:top|topic)(?=[\s>])([^>]*)>(.*?)(?=</top(?:ic)?>|<top(?:ic)?[\s>]|\Z)", re.DOTALL | re.IGNORECASE
)
QUERY = re.compile(  # NTCIR's, and others that have no topics
    r"<(?:query|question)(?=[\s>])([^>]*)>(.*?)</(?:query|question)>", re.DOTALL | re.IGNORECASE
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FIELD = re.compile(r"<(?:[a-z]{2}-)?([a-z_]\w*)[^>]*>([^<]*(?:<(?=[\s\d=])[^<]*)*)", re.IGNORECASE)
LABEL = re.compile(r"\s*(?:number|topic|domain|description|narrative|concept\(s\)|summary)\s*:", re.IGNORECASE)
NUMBER = re.compile(r"""\b(?:number|id|num|qid)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
NUMBERS = ("num", "number", "identifier", "id", "topicid", "qid")  # elements that hold the number of a topic

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
    refuse_yaml(file)
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
        topics = _lines(file)
    queries: dict[str, Query] = {}
    for line, name, fields in topics:
        query = Query(name, _searched(name, fields, field, file, line), fields)
        if queries.setdefault(name, query).text != query.text:
            raise DataError(f"the query {shortened(name)} stands twice, with two texts", file, line)
    if not queries:
        raise DataError("there is no query in the file", file)
    return tuple(queries.values())


def shortened(name: str) -> str:
    """An id as a sentence can show it."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"


def _searched(name: str, fields: Mapping[str, str], field: str | None, file: Path | str, line: int | None) -> str:
    """The text of the field that is searched."""
    wanted = USUAL if field is None else (folded(field_name(field)),)
    chosen = find_field((name for name, text in fields.items() if text), wanted)
    others = [name for name, text in fields.items() if text and folded(name) not in (*ID_FIELDS, *NAMES.values())]
    if chosen is None and field is None and len(others) == 1:
        chosen = others[0]  # there is nothing else to search, whatever it is called (SciFact's `claim`)
    if chosen is None:
        there = ", ".join(name for name, text in fields.items() if text) or "no field with text"
        raise DataError(f"the query {name} has no {' or '.join(wanted[:3])} (it has {there})", file, line)
    return fields[chosen]


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
    # Nothing begins behind the last end: what never ends would be looked through from each of its beginnings.
    commented = text.rfind("-->") + len("-->")
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text[:commented]) + text[commented:]
    small = text.lower()
    ended = max(small.rfind(tag) + len(tag) for tag in ("</query>", "</question>"))
    for topic in TOPIC.finditer(text) if TOPIC.search(text) else QUERY.finditer(text, 0, ended):
        line = text.count("\n", 0, topic.start()) + 1
        fields: dict[str, str] = {}
        for tag, content in FIELD.findall(topic[2]):
            said = clean(unescape(LABEL.sub("", content, count=1) if LABEL.match(content) else content))
            if said:
                name = NAMES.get(tag.lower(), tag.lower())
                fields[name] = f"{fields[name]} {said}" if name in fields else said
        if not fields and "<" not in topic[2]:
            fields["text"] = clean(unescape(topic[2]))
        number = NUMBER.search(topic[1])
        name = number[1] if number else next((fields.pop(tag) for tag in NUMBERS if fields.get(tag)), "")
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
    """Topics as records of any form; other fields than texts are not kept."""
    for (_, line), record in read_records(path, form or "jsonl", QUERIES):
        name = id_of(record, ID_FIELDS) or id_of(record, ROW_FIELDS) or id_of(record, QUERY_TEXT_FIELDS)
        if name is None:
            raise DataError(no_id(ID_FIELDS), path, line)
        yield line, name, {key: clean(value) for key, value in record.items() if isinstance(value, str)}


def _lines(path: Path) -> Iterator[Topic]:
    """An id and a text on a line, or columns with headings, separated by tabs; without any tab `id:text`, `id text`."""
    separator, columns, place = _separator(path), None, 0
    for line, text in lines(path):
        cells = [cell.strip() for cell in text.split(separator, -1 if separator == "\t" else 1)]
        if columns is None:
            place = 1 if len(cells) > 2 and not cells[0] else 0  # pandas numbers rows in a column without a name
            named = find_field(cells[place : place + 1], ID_FIELDS) is not None
            columns = tuple(cells) if named else ("id", "text")
            if named:
                continue
        if len(cells) != len(columns) or not cells[place]:
            raise DataError(f"{len(columns)} columns separated by tabs are expected: {', '.join(columns)}", path, line)
        fields = {column: clean(cell) for column, cell in zip(columns[place + 1 :], cells[place + 1 :], strict=True)}
        yield line, "%20".join(cells[place].split()), fields


def _separator(path: Path) -> str:
    """What stands between id and text: a tab, or a colon or blank where every first word holds a digit."""
    first = [text for _, text in islice(lines(path), LOOK)]
    for separator in (":", " "):
        heads = [text.strip().partition(separator) for text in first]
        if not any("\t" in text for text in first) and all(
            re.search(r"\d", name) and " " not in name and said.strip() for name, _, said in heads
        ):
            return separator
    return "\t"
