"""Records of XML: Wikipedia's dumps, Solr's and Stack Exchange's posts, and whatever else repeats one element.

A record is an element below the root (or at the top of a file that has no root, as NTCIR's) with an id: an attribute, a
child, or Solr's `<field name="id">`. Its fields are its attributes and its children by their names without name space;
a child that holds different children is taken apart, a name that stands nearer to the record wins, and what stands
twice at one depth is a list. The file is read a piece at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser, fromstring

from pippin.collection.field_names import ID_FIELDS, MORE_ID_FIELDS, find_field
from pippin.collection.files import CHUNK, open_stream
from pippin.errors import DataError

PROLOG = re.compile(rb"\s*(?:<\?xml[^>]*\?>|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>|<!--.*?-->|\s)*", re.DOTALL)
ENCODING = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)""")
NAMES = (*ID_FIELDS, *MORE_ID_FIELDS)


def read_xml(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a file with their numbers from 1 on."""
    number, name = 0, None
    try:
        if (alone := _only_record(path)) is not None:
            yield 1, alone
            return
        for element in _candidates(path):
            record = fields_of(element)
            if name is None and find_field(record, NAMES) is None:
                continue  # what stands before the records, as Wikipedia's <siteinfo>
            name = name or element.tag
            if element.tag == name:
                number += 1
                yield number, record
    except ParseError as error:
        raise DataError(f"the XML cannot be read after record {number:,}: {error}", path) from None


def _only_record(path: Path) -> dict[str, Any] | None:
    """The record of a file that is one, as INEX's articles; None for all other files.

    Its id stands in the root, or in a part of it that holds less than half of the words, and no part stands twice.
    """
    with open_stream(path) as file:
        data = file.read(CHUNK + 1)
    try:
        root = fromstring(data) if len(data) <= CHUNK else None
    except ParseError:
        return None  # no root, or no XML: whoever reads it says so
    if root is None or len(root) < 2 or len({part.tag for part in root}) < len(root):
        return None
    record: dict[str, Any] = {name.rpartition("}")[2]: text for name, text in root.attrib.items()}
    within = {part: fields_of(part) for part in root if len(part)}
    named = next((part for part, fields in within.items() if find_field(fields, NAMES) is not None), None)
    own = find_field((*record, *(part.tag.rpartition("}")[2] for part in root)), NAMES) is not None
    words = {part: len(" ".join(part.itertext()).split()) for part in root}
    if not own and (named is None or 2 * words[named] > sum(words.values())):
        return None
    for part in root:
        said = " ".join(" ".join(part.itertext()).split())
        record |= within[part] if part is named and not own else {part.tag.rpartition("}")[2]: said}
    return record


def _candidates(path: Path) -> Iterator[Element]:
    """Every element that may be a record, whole, as soon as it ends."""
    parser: Any = XMLPullParser(("start", "end"))
    with open_stream(path) as file:
        start = file.read(CHUNK)
        declared = ENCODING.match(start.removeprefix(b"\xef\xbb\xbf"))
        encoding = declared[1].decode() if declared else "utf-8"
        encoding = "utf-8" if encoding.lower().startswith("utf-16") else encoding  # `open_stream` has recoded it
        rest = PROLOG.sub(b"", start.removeprefix(b"\xef\xbb\xbf"), count=1)
        # One more element around all, so that a file without a root is read too.
        parser.feed(f'<?xml version="1.0" encoding="{encoding}"?><all>'.encode() + rest)
        open_elements: list[Element] = []
        depth = 2 if _is_rooted(rest) else 1
        while True:
            for event, element in parser.read_events():
                if event == "start":
                    open_elements.append(element)
                    continue
                open_elements.pop()
                if len(open_elements) == depth:
                    yield element
                    open_elements[-1].clear()
            chunk = file.read(CHUNK)
            if not chunk:
                break
            parser.feed(chunk)
        parser.feed(b"</all>")
        parser.close()


def _is_rooted(start: bytes) -> bool:
    """Whether the first element goes round all others: its end is not followed by another of its kind."""
    name = re.match(rb"<([^\s/>]+)", start)
    return name is None or re.search(rb"</" + re.escape(name[1]) + rb"\s*>\s*<" + re.escape(name[1]), start) is None


def fields_of(record: Element) -> dict[str, Any]:
    """The fields of one record."""
    fields: dict[str, Any] = {name.rpartition("}")[2]: text for name, text in record.attrib.items()}
    level = list(record)
    while level:
        deeper: list[Element] = []
        here: dict[str, Any] = {}
        for element in level:
            if len({child.tag for child in element}) > 1 and not (element.text or "").strip():
                deeper += element
                continue
            name = element.get("name") or element.tag.rpartition("}")[2]
            text = " ".join("".join(f"{part} " for part in element.itertext()).split())
            here[name] = [*here[name], text] if name in here else [text]
        for name, texts in here.items():
            fields.setdefault(name, texts[0] if len(texts) == 1 else texts)
        level = deeper
    return fields
