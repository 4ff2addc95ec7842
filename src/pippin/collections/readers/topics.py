"""Read queries: TREC topics in SGML and XML, tables of any format, and lines `id<TAB>text`.

TREC's SGML omits end tags and repeats its labels (`<num> Number: 401`); leading zeros of numbers are dropped, as in the
qrels of those topics. All fields are kept; the query text is by default the first of title, text, query, question.
Fields that a topic has twice are joined.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from itertools import islice
from pathlib import Path

from pippin.collections.collection import Query
from pippin.collections.readers.columns import (
    QUERY_ID_FIELDS,
    QUERY_TEXT_FIELDS,
    describe_missing_id,
    find_field,
    find_id,
    normalize_name,
)
from pippin.collections.readers.files import open_file, read_head, read_lines, refuse_yaml, truncate
from pippin.collections.readers.json_records import QUERIES
from pippin.collections.readers.records import file_format, read_records
from pippin.collections.text.html import clean, decode
from pippin.errors import DataError
from pippin.registry import Registry

QUERY_TEXT_PRIORITY = ("title", "text", "query", "question", "content", *QUERY_TEXT_FIELDS[1:])
ID_FIELDS = (*QUERY_ID_FIELDS, "id", "number", "num", "topic")
ROW_FIELDS = ("index",)  # what pandas calls a column of ids that was its index
MAX_PROBED = 20  # lines that decide the separator
FULL_NAMES = {"desc": "description", "narr": "narrative", "dom": "domain", "con": "concepts"}
TOPIC = re.compile(
    r"<(?:top|topic)(?=[\s>])([^>]*)>(.*?)(?=</top(?:ic)?>|<top(?:ic)?[\s>]|\Z)", re.DOTALL | re.IGNORECASE
)
QUERY = re.compile(  # in NTCIR and other files without topics
    r"<(?:query|question)(?=[\s>])([^>]*)>(.*?)</(?:query|question)>", re.DOTALL | re.IGNORECASE
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FIELD = re.compile(r"<(?:[a-z]{2}-)?([a-z_]\w*)[^>]*>([^<]*(?:<(?=[\s\d=])[^<]*)*)", re.IGNORECASE)
LABEL = re.compile(r"\s*(?:number|topic|domain|description|narrative|concept\(s\)|summary)\s*:", re.IGNORECASE)
NUMBER = re.compile(r"""\b(?:number|id|num|qid)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
NUMBER_TAGS = ("num", "number", "identifier", "id", "topicid", "qid")

Topic = tuple[int, str, dict[str, str]]  # line, id, fields


@dataclass(frozen=True)
class TopicFormat:
    """A topic format of a classic collection: the beginning of its files, and its parser."""

    begins: re.Pattern[bytes]
    read: Callable[[Path], Iterator[Topic]]


TOPIC_FORMATS: Registry[TopicFormat] = Registry("topic format")


def read_queries(path: str | os.PathLike[str], field: str | None = None) -> tuple[Query, ...]:
    """Read the queries of a file; `field` is the topic field that becomes the query text."""
    file = Path(path)
    refuse_yaml(file)
    start = read_head(file)
    format = file_format(file)
    topic_format = next((candidate for candidate in TOPIC_FORMATS.values() if candidate.begins.match(start)), None)
    if topic_format is not None:
        topics = topic_format.read(file)
    elif start.startswith(b"<"):
        topics = _read_trec(file)
    elif format in ("csv", "parquet", "arrow", "jsonl") or start.startswith((b"{", b"[")):
        topics = _read_table(file, format)
    else:
        topics = _read_lines(file)
    queries: dict[str, Query] = {}
    for line, name, fields in topics:
        query = make_query(name, fields, field, file, line)
        if queries.setdefault(name, query).text != query.text:
            raise DataError(f"the query {truncate(name)} has two texts", file, line)
    if not queries:
        raise DataError("the file contains no queries", file)
    return tuple(queries.values())


def make_query(
    name: str, fields: Mapping[str, str], field: str | None, file: Path | str, line: int | None = None
) -> Query:
    """Make a query with the text of one of its fields."""
    names = QUERY_TEXT_PRIORITY if field is None else (normalize_name(field_name(field)),)
    with_text = [key for key, text in fields.items() if text]
    selected = find_field(with_text, names)
    candidates = [key for key in with_text if normalize_name(key) not in (*ID_FIELDS, *FULL_NAMES.values())]
    if selected is None and field is None and len(candidates) == 1:
        selected = candidates[0]  # the only field, whatever its name (SciFact's `claim`)
    if selected is None:
        present = ", ".join(with_text) or "no field with text"
        raise DataError(f"the query {name} has no {' or '.join(names[:3])} (it has {present})", file, line)
    return Query(name, fields[selected], fields)


def field_name(field: str) -> str:
    """Return the full name of a topic field.

    >>> field_name("desc"), field_name("title")
    ('description', 'title')
    """
    return FULL_NAMES.get(field, field)


def _read_trec(path: Path) -> Iterator[Topic]:
    with open_file(path) as file:
        text = decode(file.read())[0]
    # Search up to the last end tag only: unclosed elements would be searched again from each of their start tags.
    end = text.rfind("-->") + len("-->")
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text[:end]) + text[end:]
    lower = text.lower()
    end = max(lower.rfind(tag) + len(tag) for tag in ("</query>", "</question>"))
    for topic in TOPIC.finditer(text) if TOPIC.search(text) else QUERY.finditer(text, 0, end):
        line = text.count("\n", 0, topic.start()) + 1
        fields: dict[str, str] = {}
        for tag, content in FIELD.findall(topic[2]):
            value = clean(unescape(LABEL.sub("", content, count=1) if LABEL.match(content) else content))
            if value:
                name = field_name(tag.lower())
                fields[name] = f"{fields[name]} {value}" if name in fields else value
        if not fields and "<" not in topic[2]:
            fields["text"] = clean(unescape(topic[2]))
        number = NUMBER.search(topic[1])
        name = number[1] if number else next((fields.pop(tag) for tag in NUMBER_TAGS if fields.get(tag)), "")
        if not name or " " in name:
            raise DataError("the topic has no number", path, line)
        yield line, strip_leading_zeros(name), fields


def strip_leading_zeros(name: str) -> str:
    """Return an id without leading zeros if it is a number.

    >>> strip_leading_zeros("051"), strip_leading_zeros("MB01"), strip_leading_zeros("0")
    ('51', 'MB01', '0')
    """
    return name.lstrip("0") or "0" if name.isdecimal() else name


def _read_table(path: Path, format: str | None) -> Iterator[Topic]:
    """Yield topics from records of any format, with their text fields."""
    for (_, line), record in read_records(path, format or "jsonl", QUERIES):
        name = find_id(record, ID_FIELDS) or find_id(record, ROW_FIELDS) or find_id(record, QUERY_TEXT_FIELDS)
        if name is None:
            raise DataError(describe_missing_id(ID_FIELDS), path, line)
        yield line, name, {key: clean(value) for key, value in record.items() if isinstance(value, str)}


def _read_lines(path: Path) -> Iterator[Topic]:
    """Yield topics from lines: id and text, or columns with headings, separated by tabs; `id:text` or `id text`."""
    separator, columns, id_column = _separator(path), None, 0
    for line, text in read_lines(path):
        cells = [cell.strip() for cell in text.split(separator, -1 if separator == "\t" else 1)]
        if columns is None:
            id_column = 1 if len(cells) > 2 and not cells[0] else 0  # after the row numbers of pandas
            has_header = find_field(cells[id_column : id_column + 1], ID_FIELDS) is not None
            columns = tuple(cells) if has_header else ("id", "text")
            if has_header:
                continue
        if len(cells) != len(columns) or not cells[id_column]:
            raise DataError(f"expected {len(columns)} columns separated by tabs: {', '.join(columns)}", path, line)
        content = zip(columns[id_column + 1 :], cells[id_column + 1 :], strict=True)
        yield line, "%20".join(cells[id_column].split()), {column: clean(cell) for column, cell in content}


def _separator(path: Path) -> str:
    """Return the separator of id and text: a tab, or a colon or blank if every first word has a digit."""
    lines = [text for _, text in islice(read_lines(path), MAX_PROBED)]
    for separator in (":", " "):
        parts = [text.strip().partition(separator) for text in lines]
        have_ids = all(re.search(r"\d", name) and " " not in name and text.strip() for name, _, text in parts)
        if have_ids and not any("\t" in text for text in lines):
            return separator
    return "\t"
