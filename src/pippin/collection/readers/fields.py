"""From records with named fields to documents: what all tables, whether JSON lines, CSV or Parquet, have in common.

The id stands under one of the usual names, else under the first that ends in id and is never empty; `url` is where the
document lives, `links` what it points to, and every other field that holds text, or a list of texts, is a stream. Which
fields those are is learnt from the first records; a text field that turns up only later is an error that asks for the
streams by name, so that none is lost unseen. Fields that hold something else are named in the collection's notes; in
forms that have nothing but texts (CSV, TSV, XML), columns without a word (numbers, dates) are such fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from pippin.collection.collection import ANCHOR, Collection, Document, Link
from pippin.collection.field_names import ID_FIELDS, MORE_ID_FIELDS, find_field, folded, id_of, no_id, text_id
from pippin.collection.html import parse_html
from pippin.collection.readers.asked import BESIDE, Asked, Wanted, find_asked
from pippin.collection.readers.base import DESCRIPTIONS, collect
from pippin.errors import DataError

URL, LINKS = "url", "links"
SAMPLE = 1000  # records from which the fields are learnt
MANY = 6  # streams that need no word about them
INSTEAD = ("index", "unnamed_0", URL, "path", "file", "filename")  # what tells records apart where nothing is called id
TARGETS = (URL, "href", "target", "id")

WORD = re.compile(r"(?<!\S)[\"'(]*[^\W\d_]")  # something that begins with a letter, as no number or date does

HTML = re.compile(r"\s*<(p|div|h[1-6]|ul|ol|pre|table|blockquote|html|body|!doctype html)\b[^>]*>", re.IGNORECASE)

Row = tuple[Any, Mapping[str, Any]]  # where it stands, and the record


@dataclass(frozen=True)
class Form:
    """Which fields of the records are what."""

    identity: tuple[str, ...]  # names of the id, in one spelling
    streams: Mapping[str, str]  # stream → field
    known: frozenset[str] | None  # fields that may hold text; None: any
    marked: frozenset[str] = frozenset()  # streams that hold HTML, whose text is taken


@dataclass(frozen=True)
class Table:
    """Records that can be read again and again, and how to speak of one of them."""

    rows: Callable[[], Iterator[Row]]
    error: Callable[[str, Any], DataError]  # of a sentence and where
    all_text: bool = False  # numbers are written as texts too


def collect_table(wanted: Wanted, table: Table, files: Sequence[Path] = (), notes: Sequence[str] = ()) -> Collection:
    """The collection of a table that stands in some files."""
    asked = Asked((), None) if wanted.documents_only else find_asked(wanted, BESIDE, files)
    sample = list(islice(table.rows(), SAMPLE))
    if not sample:
        raise table.error("there is no document", None)
    inside = wanted.streams is None and _says_more_inside([record for _, record in sample])
    if (
        inside
        or _is_nested(sample[0][1])
        or any("." in name and name not in sample[0][1] for name in wanted.streams or ())
    ):
        rows = table.rows
        table = replace(table, rows=lambda: ((number, taken_apart(record)) for number, record in rows()))
        sample = [(number, taken_apart(record)) for number, record in sample]
    judged = frozenset() if asked.judgements is None else frozenset(asked.judgements.document_ids)
    identity = _id_names([record for _, record in sample], judged)
    texts = dict.fromkeys(
        name
        for _, record in sample
        for name, value in record.items()
        if (isinstance(value, str) or text_of(value)) and folded(name) not in identity
    )
    linked = any(record.get(LINKS) for _, record in sample)
    texts.pop(LINKS, None)
    if table.all_text:
        said = [name for name in texts if any(WORD.search(text_of(r.get(name)) or "") for _, r in sample)]
        texts = dict.fromkeys(said)
    usual = (*texts, ANCHOR) if linked and ANCHOR not in texts else tuple(texts)
    fields = dict.fromkeys(name for _, record in sample for name in record)
    offered = [name for name in fields if folded(name) not in identity and name != LINKS]
    streams = wanted.choose((*map(stream_name, offered), ANCHOR), tuple(map(stream_name, usual)))
    if not streams:
        raise table.error("the first documents have no field of text", sample[0][0])
    named = {stream_name(name): name for name in offered}
    form = Form(identity, {stream: named.get(stream, stream) for stream in streams},
                None if wanted.streams or table.all_text else frozenset((*usual, URL, LINKS)))  # fmt: skip
    form = replace(form, marked=frozenset(stream for stream in streams if _is_html(sample, form.streams[stream])))
    marked = [f"{', '.join(sorted(form.marked))}: HTML, of which the text is taken"] if form.marked else []
    described = {**{name: f"the field {name!r}" for name in streams}, **DESCRIPTIONS}
    many = [] if wanted.streams else _too_many(sample, form)
    told = (*notes, *marked, *_left_out(sample, form), *_about(identity), *many)
    return collect(
        wanted, streams, lambda: _documents(table, form), descriptions=described, notes=told, files=files, asked=asked
    )


def _too_many(sample: list[Row], form: Form) -> Iterator[str]:
    """A sentence about more streams than people mean, and those that hold sentences."""
    if len(form.streams) <= MANY:
        return
    texts = {stream: [text_of(record.get(name)) or "" for _, record in sample] for stream, name in form.streams.items()}
    said = [stream for stream, of in texts.items() if 3 * len(of) <= sum(text.count(" ") for text in of)]
    if 0 < len(said) < len(texts):
        yield f"{len(texts)} fields are streams; --streams {','.join(said)} takes those that hold sentences"


def _is_nested(record: Mapping[str, Any]) -> bool:
    """Whether a record has its id or all of its texts in objects inside."""
    names = [name for name, value in record.items() if text_of(value)]
    return not [name for name in names if not re.search(r"(^|_)(id|no)$", folded(name))] and any(
        isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))
        for value in record.values()
    )


def _says_more_inside(records: list[Mapping[str, Any]]) -> bool:
    """Whether most words of records stand in objects that all of them have, field by field."""
    objects = [name for name, value in records[0].items() if isinstance(value, dict) and name != LINKS]
    alike = [name for name in objects if len({tuple(r[name]) for r in records if isinstance(r.get(name), dict)}) == 1]

    def words(values: Iterable[Any]) -> int:
        return sum(len(text.split()) for value in values if (text := text_of(value)) is not None)

    within = sum(words(r[name].values()) for r in records for name in alike if isinstance(r.get(name), dict))
    return within > sum(words(record.values()) for record in records)


def taken_apart(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose objects are taken apart, their fields named by both; lists of objects become lists of texts.

    >>> taken_apart({"id": 1, "content": {"title": "A"}, "body": [{"text": "b"}, {"text": "c"}]})
    {'id': 1, 'content.title': 'A', 'body.text': ['b', 'c']}
    """
    apart: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and text_id(value) is None:
            apart |= {f"{name}.{inner}": said for inner, said in taken_apart(value).items()}
        elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            for one in value:
                for inner, said in taken_apart(one).items():
                    if isinstance(said, str):
                        apart.setdefault(f"{name}.{inner}", []).append(said)
        else:
            apart[name] = value
    return apart


def stream_name(field: str) -> str:
    """The name of a field as features can be asked for on it.

    >>> stream_name("title"), stream_name("category hierarchy")
    ('title', 'category_hierarchy')
    """
    return re.sub(r"[^\w.-]+", "_", field.strip())


def _id_names(records: list[Mapping[str, Any]], judged: frozenset[str]) -> tuple[str, ...]:
    """The names under which ids stand: the usual ones, or the one field that can be it.

    Of several usual ones that comes first whose values were judged, else one that tells all records apart: a passage
    of MS MARCO has its own id, and that of the document it stands in.
    """
    there = [name for name in (*ID_FIELDS, *MORE_ID_FIELDS) if find_field(records[0], (name,)) is not None]
    values = {name: [text_id(record.get(field)) for record in records if (field := find_field(record, (name,)))]
              for name in there} if len(there) > 1 else {}  # fmt: skip
    known = {name: len(judged.intersection(filter(None, ids))) for name, ids in values.items()}
    if known and max(known.values()) > known[there[0]]:
        there.sort(key=lambda name: -known[name])
    elif values and len(set(values[there[0]])) < len(values[there[0]]) and there[0] in ID_FIELDS:
        there.sort(key=lambda name: (name not in ID_FIELDS, len(set(values[name])) < len(values[name])))
    for names in (ID_FIELDS, MORE_ID_FIELDS):
        if there and there[0] in names:
            return (there[0], *(name for name in names if name != there[0]))
    for name in records[0]:
        if re.search(r"(^|_|[a-z])(id|no|key|number)$", folded(name)) and all(text_id(r.get(name)) for r in records):
            return (folded(name),)
    values = {name: [text_id(record.get(name)) for record in records] for name in records[0]}
    alone = [name for name, ids in values.items() if all(ids) and len(set(ids)) == len(ids)]
    judged_by = {name: len(judged.intersection(filter(None, values[name]))) for name in alone}
    most = max(alone, key=judged_by.__getitem__, default=None)
    found = most if most is not None and judged_by[most] else find_field(alone, INSTEAD)
    return ID_FIELDS if found is None else (folded(found),)


def _about(identity: tuple[str, ...]) -> Iterator[str]:
    """A sentence about an id under no usual name."""
    if identity[0] not in (*ID_FIELDS, *MORE_ID_FIELDS):
        yield f"ids of documents are those of {identity[0]}"


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


def _is_html(sample: list[Row], name: str) -> bool:
    """Whether most texts of a field begin with an element of HTML and close one, as Stack Exchange's posts do."""
    texts = [text for _, record in sample if (text := text_of(record.get(name)))]
    return 2 * sum(HTML.match(text) is not None and "</" in text for text in texts) > len(texts)


def _left_out(sample: list[Row], form: Form) -> Iterator[str]:
    """A sentence about the fields that are not indexed, where there are any."""
    kinds: dict[str, str] = {}
    inside: dict[str, None] = {}  # texts of objects and lists that can be asked for
    read = (*form.streams.values(), URL, LINKS)
    for _, record in sample:
        for name, value in record.items():
            if value not in (None, "", []) and folded(name) and name not in read and folded(name) not in form.identity:
                text = text_of(value)
                kind = type(value).__name__ if text is None else "text" if WORD.search(text) else "no words"
                kinds.setdefault(name, kind)
                if text is None:
                    held = taken_apart({name: value}).items()
                    inside |= {inner: None for inner, said in held if WORD.search(text_of(said) or "")}
    hint = f"; --streams {','.join([*form.streams, *map(stream_name, inside)])} takes their texts too" if inside else ""
    if kinds:
        yield "not indexed: " + ", ".join(f"{name} ({kind})" for name, kind in kinds.items()) + hint


def _documents(table: Table, form: Form) -> Iterator[Document]:
    for number, record in table.rows():
        texts = {}
        for stream, name in form.streams.items():
            value = record.get(name)
            text = text_of(value)
            if text is not None:
                texts[stream] = parse_html(text).body if stream in form.marked and "<" in text else text
            elif value is not None:
                raise table.error(f"the field {name!r} is not text but {type(value).__name__}", number)
        if form.known is not None:
            for name, value in record.items():
                if name not in form.known and folded(name) not in form.identity and text_of(value):
                    streams = ",".join([*form.streams, stream_name(name)])
                    raise table.error(
                        f"the field {name!r} holds text here for the first time: name the streams, e.g. "
                        f"--streams {streams}", number,
                    )  # fmt: skip
        url = record.get(URL) or ""
        if not isinstance(url, str):
            raise table.error(f"the field {URL!r} is not text but {type(url).__name__}", number)
        if URL in texts:
            texts[URL] = without_scheme(url)
        identity = id_of(record, form.identity)
        if identity is None:
            raise table.error(no_id(form.identity), number)
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
