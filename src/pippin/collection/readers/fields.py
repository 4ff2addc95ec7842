"""From records with named fields to documents: what all tables, whether JSON lines, CSV or Parquet, have in common.

The id stands under one of the usual names, `url` is where the document lives, `links` what it points to, and every
other field that holds text, or a list of texts, is a stream. Which fields those are is learnt from the first records; a
text field that turns up only later is an error that asks for the streams by name, so that none is lost unseen, and
fields that hold something else are named in the collection's notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pippin.collection.collection import ANCHOR, Collection, Document, Link
from pippin.collection.readers.base import DESCRIPTIONS, Wanted, collect
from pippin.collection.records import ID_FIELDS
from pippin.collection.topics import id_of, no_id
from pippin.errors import DataError

URL, LINKS = "url", "links"
SAMPLE = 1000  # records from which the fields are learnt
TARGETS = (URL, "href", "target", "id")

Row = tuple[Any, Mapping[str, Any]]  # where it stands, and the record


@dataclass(frozen=True)
class Table:
    """Records that can be read again and again, and how to speak of one of them."""

    rows: Callable[[], Iterator[Row]]
    error: Callable[[str, Any], DataError]  # of a sentence and where


def collect_table(wanted: Wanted, table: Table) -> Collection:
    """The collection of a table."""
    sample = list(islice(table.rows(), SAMPLE))
    if not sample:
        raise table.error("there is no document", None)
    texts = dict.fromkeys(
        name
        for _, record in sample
        for name, value in record.items()
        if (isinstance(value, str) or text_of(value)) and name not in ID_FIELDS
    )
    linked = any(record.get(LINKS) for _, record in sample)
    texts.pop(LINKS, None)
    usual = (*texts, ANCHOR) if linked and ANCHOR not in texts else tuple(texts)
    fields = dict.fromkeys(name for _, record in sample for name in record if name not in (*ID_FIELDS, LINKS))
    streams = wanted.choose((*fields, ANCHOR), usual)
    if not streams:
        raise table.error("the first documents have no field of text", sample[0][0])
    known = None if wanted.streams else frozenset((*usual, *ID_FIELDS, URL, LINKS))
    described = {**{name: f"the field {name!r}" for name in streams}, **DESCRIPTIONS}
    return collect(
        wanted,
        streams,
        lambda: _documents(table, streams, known),
        descriptions=described,
        notes=tuple(_left_out(sample, streams)),
    )


def text_of(value: Any) -> str | None:
    """A text, or a list of texts one after the other; None for anything else.

    >>> text_of("a b"), text_of(["a", "b"]), text_of([]), text_of(3)
    ('a b', 'a b', '', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return None


def _left_out(sample: list[Row], streams: tuple[str, ...]) -> Iterator[str]:
    """A sentence about the fields that are not indexed, where there are any."""
    kinds: dict[str, str] = {}
    for _, record in sample:
        for name, value in record.items():
            if value not in (None, "", []) and name not in (*streams, *ID_FIELDS, URL, LINKS):
                kinds.setdefault(name, "text" if text_of(value) is not None else type(value).__name__)
    if kinds:
        yield "not indexed: " + ", ".join(f"{name} ({kind})" for name, kind in kinds.items())


def _documents(table: Table, streams: tuple[str, ...], known: frozenset[str] | None) -> Iterator[Document]:
    for number, record in table.rows():
        texts = {}
        for name in streams:
            value = record.get(name)
            text = text_of(value)
            if text is not None:
                texts[name] = text
            elif value is not None:
                raise table.error(f"the field {name!r} is not text but {type(value).__name__}", number)
        if known is not None:
            for name, value in record.items():
                if name not in known and text_of(value):
                    raise table.error(
                        f"the field {name!r} holds text here for the first time: name the streams", number
                    )
        url = record.get(URL) or ""
        if not isinstance(url, str):
            raise table.error(f"the field {URL!r} is not text but {type(url).__name__}", number)
        if URL in texts:
            texts[URL] = without_scheme(url)
        identity = id_of(record, ID_FIELDS)
        if identity is None:
            raise table.error(no_id(ID_FIELDS), number)
        if len(identity.split()) > 1:
            raise table.error(f"the id {identity!r} has blanks, which files of judgements cannot hold", number)
        links = record.get(LINKS)
        yield Document(identity, texts, url, _links(table, links, number) if links else ())


def without_scheme(url: str) -> str:
    """A url as the stream of that name has it.

    >>> without_scheme("https://example.org/a"), without_scheme("example.org/b")
    ('example.org/a', 'example.org/b')
    """
    scheme, separator, rest = url.partition("://")
    return rest if separator and scheme.isalnum() else url


def _links(table: Table, links: Any, number: int) -> tuple[Link, ...]:
    """Links from a list of urls, of [url, text] pairs or of objects with a url and a text, or from urls with blanks."""
    if isinstance(links, str):
        return tuple(Link(target) for target in links.split())
    if not isinstance(links, list | tuple):
        raise table.error(f"the links are not a list but {type(links).__name__}", number)
    return tuple(_link(table, link, number) for link in links)


def _link(table: Table, link: Any, number: int) -> Link:
    parts = [link]
    if isinstance(link, Mapping):
        parts = [next((link[name] for name in TARGETS if name in link), None), link.get("text") or ""]
    elif isinstance(link, list | tuple):
        parts = list(link)
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        raise table.error(f"a link is a url, a pair of url and text, or an object with {URL!r} and 'text'", number)
    return Link(*parts)
