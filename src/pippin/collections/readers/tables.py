"""Tables of documents: JSON lines, JSON, CSV, TSV, XML, Parquet and Arrow, as one file or several in a folder.

In a folder, all files of one format that contain documents (and not queries, judgements or metadata of `datasets`) are
parts of one table: files named documents, docs, corpus or collection, or in a folder of such a name
(`corpus/part-0.parquet`), else those at the top, else those in subfolders.

The id is a field of a usual name, else the first field whose name ends in id and that is never empty; `url` is the
address of the document, `links` are its links, and every other field with texts, or lists of texts, is a field of the
collection. The first records decide which fields those are; a text field that appears only later is an error, so that
no text is lost silently. Fields whose values are numbers, booleans or dates are the numeric fields of the collection,
in formats that have only texts (CSV, TSV, XML) too. A message names fields of other types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from pippin.collections.collection import ANCHOR, Collection, Document, Link
from pippin.collections.document_stream import drop_exact_duplicates
from pippin.collections.readers.base import DESCRIPTIONS, READERS, Reader, make_collection
from pippin.collections.readers.columns import (
    ID_FIELDS,
    MORE_ID_FIELDS,
    describe_missing_id,
    find_field,
    find_id,
    normalize_name,
    text_id,
)
from pippin.collections.readers.detect import (
    SPLITS,
    denormalized_columns,
    detect_role,
    has_id_field,
    name_parts,
    read_field_names,
    role_from_name,
    select_split,
)
from pippin.collections.readers.files import MAX_PROBED, files_under, natural_sort_key
from pippin.collections.readers.json_records import DOCUMENTS
from pippin.collections.readers.layout import DEFAULT_COMPANIONS, ReadRequest, Topics, find_topics
from pippin.collections.readers.records import (
    NEUTRAL_SUFFIXES,
    RECORD_FORMATS,
    file_format,
    headerless_columns,
    read_records,
    record_error,
    sniff_format,
)
from pippin.collections.text.html import parse_html
from pippin.errors import DataError

TEXT_ONLY_FORMATS = ("csv", "tsv", "xml")  # whose numbers are texts too
GENERIC_FORMATS = ("json", "xml")  # also of settings; a file has documents only if it has ids
SNIFFED_FORMATS = ("jsonl", "tsv")  # recognised by content if the suffix is unknown
DOCUMENT_STEMS = ("documents", "docs", "corpus", "collection")
FORMAT_DESCRIPTIONS = {
    "jsonl": "`.jsonl`, one object per line: plain fields, or a bulk file or dump of a search engine",
    "json": "`.json`, objects in an array, by id or one per line, or responses of _search",
    "csv": "`.csv` with headings, or only id and text, separated by commas, semicolons, tabs or bars",
    "tsv": "`.tsv` with headings, or only id and text",
    "xml": "`.xml`, records with an id: dumps of Wikipedia, Solr, Stack Exchange …",
    "parquet": "`.parquet`, one file or several",
    "arrow": "`.arrow`, as `datasets` saves to disk",
}
URL, LINKS = "url", "links"
SAMPLE_SIZE = 1000  # records that decide the fields
MAX_FIELDS_WITHOUT_HINT = 6
FALLBACK_ID_FIELDS = ("index", "unnamed_0", URL, "path", "file", "filename")
TARGET_FIELDS = (URL, "href", "target", "id")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
IDENTIFIER = re.compile(r"(^|_)(id|ids|key|no)$")  # names of numbers that are not quantities
SECONDS_PER_DAY = 86400
NumericKind = Literal["number", "date"]
WORD = re.compile(r"(?<!\S)[\"'(]*[^\W\d_]")  # begins with a letter, unlike numbers and dates
HTML = re.compile(r"\s*<(p|div|h[1-6]|ul|ol|pre|table|blockquote|html|body|!doctype html)\b[^>]*>", re.IGNORECASE)

Row = tuple[Any, Mapping[str, Any]]  # location, and the record


def table_files(path: Path, format: str) -> list[Path]:
    """Return the files of documents of one format at a path."""
    if path.is_file():
        return [path] if (file_format(path) or sniff_format(path)) == format else []
    files = _files_of_format(path, format)
    by_name = _largest_table(_files_named_documents(files, path), format)
    if by_name:
        names = [file.name.lower() for file in by_name if file.parent == path]
        is_beir = format == "jsonl" and any(name.startswith("corpus.jsonl") for name in names)
        return [] if is_beir else _sort_parts(by_name, path)
    top = [file for file in files if file.parent == path]
    for level in (top, [file for file in files if file.parent != path]):
        probed = level[:MAX_PROBED]
        if format in GENERIC_FORMATS:
            probed = [file for file in probed if has_id_field(file, format)]
        if documents := [file for file in probed if detect_role(file, path) == DOCUMENTS]:
            return _sort_parts(_largest_table([*documents, *level[MAX_PROBED:]], format), path)
    return select_split([file for file in files[:MAX_PROBED] if denormalized_columns(file)])


def _files_of_format(folder: Path, format: str) -> list[Path]:
    """Return the files of one format in a folder, without those whose names imply queries or qrels.

    If there are none, return the files without suffix whose content has the format, provided that all such files have
    it, or that their names are those of documents.
    """
    if not folder.is_dir():
        return []
    files = [f for f in files_under(folder) if file_format(f) == format and role_from_name(f, folder) is None]
    if files or format not in SNIFFED_FORMATS:
        return files
    unknown = [f for f in islice(files_under(folder), MAX_PROBED) if file_format(f) is None]
    unknown = [file for file in unknown if role_from_name(file, folder) is None]
    sniffed = [f for f in unknown if sniff_format(f) == format and detect_role(f, folder) == DOCUMENTS]
    is_mixed = any(f.suffix.lower() in NEUTRAL_SUFFIXES and f not in sniffed and f.stat().st_size for f in unknown)
    return _files_named_documents(sniffed, folder) if is_mixed else sniffed


def _has_document_names(path: Path, format: str) -> bool:
    return bool(_files_named_documents(_files_of_format(path, format), path))


def _largest_table(files: list[Path], format: str) -> list[Path]:
    """Group files by similar fields, and return the largest group in bytes."""
    if len(files) < 2:
        return files
    groups: list[tuple[frozenset[str], list[Path]]] = []
    for file in files[:MAX_PROBED]:
        fields = read_field_names(file, format)
        group = next((of for names, of in groups if 2 * len(names & fields) >= len(names | fields)), None)
        if group is None:
            groups.append((fields, [file]))
        else:
            group.append(file)
    largest = max((of for _, of in groups), key=lambda of: sum(file.stat().st_size for file in of))
    return [*largest, *files[MAX_PROBED:]]


def _files_named_documents(files: list[Path], folder: Path) -> list[Path]:
    """Return the first file at the top that is named like documents, else all files in folders named like them."""
    for stem in DOCUMENT_STEMS:
        pattern = rf"{stem}(\.\w+)+"
        if top := [f for f in files if f.parent == folder and re.fullmatch(pattern, f.name.lower())]:
            return top[:1]
        matches = re.compile(rf"(.*[._-])?{stem}([._-].*)?", re.IGNORECASE).fullmatch
        if below := [file for file in files if any(map(matches, file.relative_to(folder).parts))]:
            return below
    return []


def _sort_parts(files: list[Path], folder: Path) -> list[Path]:
    """Sort files by folder, then by name with numbers by value (d9 before d10)."""

    def key(file: Path) -> list[tuple[int, int, str]]:
        return [*((1, 0, part) for part in file.relative_to(folder).parts[:-1]), *natural_sort_key(file.name)]

    return sorted(files, key=key)


def collection_from_files(request: ReadRequest, files: list[Path], format: str) -> Collection:
    """Make a collection of the records of some files."""
    query_columns = denormalized_columns(files[0])  # of a table with query, document and label in each row

    def rows() -> Iterator[Row]:
        for location, record in (row for file in files for row in read_records(file, format)):
            yield location, {n: v for n, v in record.items() if n not in query_columns} if query_columns else record

    messages = []
    columns = headerless_columns(files[0], format)
    if columns and (format == "csv" or len(columns) == 3):  # TSV files often have two columns, those of MS MARCO four
        messages.append(f"{files[0].name} has no headings; its columns are read as {', '.join(columns)}")
    source = RecordSource(rows, record_error, format in TEXT_ONLY_FORMATS)
    collection = collection_from_records(request, source, files, messages)
    has_splits = len(files) > 1 and all(set(SPLITS) & set(name_parts(file)) for file in files)
    return drop_exact_duplicates(collection) if has_splits or query_columns else collection


def _open_table(format: str, request: ReadRequest) -> Collection:
    files = table_files(request.path, format) or ([request.path] if request.path.is_file() else [])
    if not files:
        raise DataError(f"the folder has no {format} file of documents", request.path)
    return collection_from_files(request, files, format)


for _format in RECORD_FORMATS:
    READERS.register(
        _format,
        Reader(
            FORMAT_DESCRIPTIONS[_format],
            lambda path, format=_format: bool(table_files(path, format)),  # type: ignore[misc]
            partial(_open_table, _format),
            suffixes=(f".{_format}",),
            has_document_names=partial(_has_document_names, format=_format),
        ),
    )


@dataclass(frozen=True)
class ColumnMapping:
    """The fields of records that are ids and texts."""

    id_names: tuple[str, ...]  # normalized
    fields: Mapping[str, str]  # field of the collection → field of the records
    known: frozenset[str] | None  # fields that may have texts; None: any
    html: frozenset[str] = frozenset()  # fields of the collection that contain HTML
    # Numeric field of the collection → field of the records and its kind.
    numbers: Mapping[str, tuple[str, NumericKind]] = dataclass_field(default_factory=dict)


@dataclass(frozen=True)
class RecordSource:
    """Records that can be read repeatedly, and the errors about them."""

    rows: Callable[[], Iterator[Row]]
    error: Callable[[str, Any], DataError]  # from a message and a location
    all_text: bool = False  # the format has only texts


def collection_from_records(
    request: ReadRequest, source: RecordSource, files: Sequence[Path] = (), messages: Sequence[str] = ()
) -> Collection:
    """Make a collection of records."""
    topics = Topics((), None) if request.documents_only else find_topics(request, DEFAULT_COMPANIONS, files)
    sample = list(islice(source.rows(), SAMPLE_SIZE))
    if not sample:
        raise source.error("no documents", None)
    if _needs_flattening(request, [record for _, record in sample]):
        rows = source.rows
        source = replace(source, rows=lambda: ((location, flatten_record(record)) for location, record in rows()))
        sample = [(location, flatten_record(record)) for location, record in sample]
    judged_ids = frozenset() if topics.qrels is None else frozenset(topics.qrels.document_ids)
    mapping = _map_columns(request, source, sample, judged_ids)
    html = [f"{', '.join(sorted(mapping.html))}: HTML; only the text is indexed"] if mapping.html else []
    fields = tuple(mapping.fields)
    return make_collection(
        request,
        fields,
        lambda: _documents(source, mapping),
        descriptions={**{name: f"the field {name!r}" for name in fields}, **DESCRIPTIONS},
        diagnostics=[*messages, *html, *_describe_fields(request, sample, mapping)],
        files=files,
        topics=topics,
        numeric_fields={field: kind for field, (_, kind) in mapping.numbers.items()},
    )


def _map_columns(
    request: ReadRequest, source: RecordSource, sample: list[Row], judged_ids: frozenset[str]
) -> ColumnMapping:
    records = [record for _, record in sample]
    id_names = _find_id_names(records, judged_ids)
    columns = [name for name in dict.fromkeys(name for record in records for name in record) if name != LINKS]
    columns = [name for name in columns if normalize_name(name) not in id_names]
    items = [(name, value) for record in records for name, value in record.items()]
    with_text = dict.fromkeys(name for name, value in items if isinstance(value, str) or to_text(value))
    texts = [name for name in with_text if name in columns]
    if source.all_text:
        texts = [name for name in texts if any(WORD.search(to_text(r.get(name)) or "") for r in records)]
    if ANCHOR not in texts and any(record.get(LINKS) for record in records):
        texts.append(ANCHOR)
    available = (*map(to_field_name, columns), ANCHOR)
    numbers = _find_numeric_fields(records, columns, source.all_text)
    fields = request.select_fields(available, tuple(map(to_field_name, texts)))
    if request.fields:
        numbers = {field: numbers[field] for field in fields if field in numbers}
        fields = tuple(field for field in fields if field not in numbers or numbers[field][0] in with_text)
    if not fields:
        raise source.error("no text field in the first documents", sample[0][0])
    names = {to_field_name(name): name for name in columns}
    mapping = {field: names.get(field, field) for field in fields}
    known = None if request.fields or source.all_text else frozenset((*texts, URL, LINKS))
    html = frozenset(field for field, name in mapping.items() if _is_html(records, name))
    return ColumnMapping(id_names, mapping, known, html, numbers)


def _find_numeric_fields(
    records: list[Mapping[str, Any]], columns: Sequence[str], all_text: bool
) -> dict[str, tuple[str, NumericKind]]:
    """Return the fields whose values are all numbers or all dates, by their names in the collection."""
    numeric_fields: dict[str, tuple[str, NumericKind]] = {}
    for name in columns:
        if normalize_name(name) in (URL, LINKS, "") or IDENTIFIER.search(normalize_name(name)):
            continue
        values = [value for record in records if not is_empty(value := record.get(name))]
        kinds = {numeric_kind(value, all_text) for value in values}
        if len(kinds) == 1 and (kind := kinds.pop()) is not None:
            numeric_fields.setdefault(to_field_name(name), (name, kind))
    return numeric_fields


def is_empty(value: Any) -> bool:
    """Return whether a field has no value."""
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def numeric_kind(value: Any, parse_text: bool = True) -> NumericKind | None:
    """Return whether a value is a number or a date; texts that are numbers count only with `parse_text`.

    >>> [numeric_kind(value) for value in (3, True, "2.50", "2024-05-01", "2024-05-01T12:00:00Z", "a", "2024-99-99")]
    ['number', 'number', 'number', 'date', 'date', None, None]
    """
    if isinstance(value, datetime | date):
        return "date"
    if isinstance(value, bool | int | float | Decimal):
        return "number"
    text = value.strip() if isinstance(value, str) else ""
    if DATE.fullmatch(text):
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return None
        return "date"
    return "number" if parse_text and NUMBER.fullmatch(text) else None


def to_number(value: Any) -> float:
    """Return a number, or the days from 1970-01-01 to a date; dates without time zone are in UTC.

    >>> to_number("2.50"), to_number(False), to_number("1970-01-02T12:00:00Z")
    (2.5, 0.0, 1.5)
    """
    if isinstance(value, str) and numeric_kind(value) == "date":
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() / SECONDS_PER_DAY
    return float(value)


def _needs_flattening(request: ReadRequest, records: list[Mapping[str, Any]]) -> bool:
    """Return whether fields of nested objects become fields of the collection.

    That is the case if a requested field is nested, if the id or all texts of the first record are nested, or if most
    words are in objects that have the same fields in all records.
    """
    first = records[0]
    if any("." in name and name not in first for name in request.fields or ()):
        return True
    texts = [n for n, value in first.items() if to_text(value) and not re.search(r"(^|_)(id|no)$", normalize_name(n))]
    if not texts and any(map(_is_nested, first.values())):
        return True
    objects = [name for name, value in first.items() if isinstance(value, dict) and name != LINKS]
    uniform = [n for n in objects if len({tuple(r[n]) for r in records if isinstance(r.get(n), dict)}) == 1]

    def count_words(values: Iterable[Any]) -> int:
        return sum(len(text.split()) for value in values if (text := to_text(value)) is not None)

    n_nested = sum(count_words(r[name].values()) for r in records for name in uniform if isinstance(r.get(name), dict))
    return request.fields is None and n_nested > sum(count_words(record.values()) for record in records)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def flatten_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Replace objects by their fields, named by both names; lists of objects become lists of texts.

    >>> flatten_record({"id": 1, "content": {"title": "A"}, "body": [{"text": "b"}, {"text": "c"}]})
    {'id': 1, 'content.title': 'A', 'body.text': ['b', 'c']}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and text_id(value) is None:
            flat |= {f"{name}.{inner}": content for inner, content in flatten_record(value).items()}
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for item in value:
                for inner, content in flatten_record(item).items():
                    if isinstance(content, str):
                        flat.setdefault(f"{name}.{inner}", []).append(content)
        else:
            flat[name] = value
    return flat


def to_field_name(field: str) -> str:
    """Return the name of a field in the syntax of features.

    >>> to_field_name("title"), to_field_name("category hierarchy")
    ('title', 'category_hierarchy')
    """
    return re.sub(r"[^\w.-]+", "_", field.strip())


def _find_id_names(records: list[Mapping[str, Any]], judged_ids: frozenset[str]) -> tuple[str, ...]:
    """Return the normalized names of the id field, the best first.

    Of several usual names, the one with judged values comes first, else one with unique values: a passage of MS MARCO
    has its own id, and that of its document.
    """
    names = [name for name in (*ID_FIELDS, *MORE_ID_FIELDS) if find_field(records[0], (name,)) is not None]
    if len(names) > 1:
        ids = {name: [text_id(r.get(f)) for r in records if (f := find_field(r, (name,)))] for name in names}
        n_judged = {name: len(judged_ids.intersection(filter(None, of))) for name, of in ids.items()}
        has_repeats = {name: len(set(of)) < len(of) for name, of in ids.items()}
        if max(n_judged.values()) > n_judged[names[0]]:
            names.sort(key=lambda name: -n_judged[name])
        elif has_repeats[names[0]] and names[0] in ID_FIELDS:
            names.sort(key=lambda name: (name not in ID_FIELDS, has_repeats[name]))
    for group in (ID_FIELDS, MORE_ID_FIELDS):
        if names and names[0] in group:
            return (names[0], *(name for name in group if name != names[0]))
    values = {name: [text_id(record.get(name)) for record in records] for name in records[0]}
    for name, of in values.items():
        if re.search(r"(^|_|[a-z])(id|no|key|number)$", normalize_name(name)) and all(of):
            return (normalize_name(name),)
    unique = [name for name, of in values.items() if all(of) and len(set(of)) == len(of)]
    n_judged = {name: len(judged_ids.intersection(filter(None, values[name]))) for name in unique}
    best = max(unique, key=n_judged.__getitem__, default=None)
    field = best if best is not None and n_judged[best] else find_field(unique, FALLBACK_ID_FIELDS)
    return ID_FIELDS if field is None else (normalize_name(field),)


def to_text(value: Any) -> str | None:
    """Return a text, or the concatenation of a list of texts; None for anything else.

    >>> to_text("a b"), to_text(["a", "b"]), to_text([]), to_text(3)
    ('a b', 'a b', '', None)
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return None


def _is_html(records: list[Mapping[str, Any]], name: str) -> bool:
    """Return whether most texts of a field begin with an HTML element and have an end tag, as in Stack Exchange."""
    texts = [text for record in records if (text := to_text(record.get(name)))]
    return 2 * sum(HTML.match(text) is not None and "</" in text for text in texts) > len(texts)


def _describe_fields(request: ReadRequest, sample: list[Row], mapping: ColumnMapping) -> Iterator[str]:
    """Yield messages about fields that are not indexed, an unusual id field, and many fields without sentences."""
    kinds: dict[str, str] = {}
    nested: dict[str, None] = {}  # text fields of objects and lists
    is_read = (*mapping.fields.values(), *(name for name, _ in mapping.numbers.values()), URL, LINKS)
    for _, record in sample:
        for name, value in record.items():
            normalized = normalize_name(name)
            if value in (None, "", []) or name in is_read or not normalized or normalized in mapping.id_names:
                continue
            text = to_text(value)
            kinds.setdefault(
                name, type(value).__name__ if text is None else "text" if WORD.search(text) else "no words"
            )
            if text is None:
                content = flatten_record({name: value}).items()
                nested |= {inner: None for inner, of in content if WORD.search(to_text(of) or "")}
    if kinds:
        fields = ",".join([*mapping.fields, *map(to_field_name, nested)])
        hint = f"; --fields {fields} adds their texts" if nested else ""
        yield "not indexed: " + ", ".join(f"{name} ({kind})" for name, kind in kinds.items()) + hint
    if mapping.numbers:
        yield "numeric fields: " + ", ".join(f"{field} ({kind})" for field, (_, kind) in mapping.numbers.items())
    if mapping.id_names[0] not in (*ID_FIELDS, *MORE_ID_FIELDS):
        yield f"document ids are the values of {mapping.id_names[0]}"
    if request.fields or len(mapping.fields) <= MAX_FIELDS_WITHOUT_HINT:
        return
    texts = {field: [to_text(r.get(name)) or "" for _, r in sample] for field, name in mapping.fields.items()}
    sentences = [field for field, of in texts.items() if 3 * len(of) <= sum(text.count(" ") for text in of)]
    if 0 < len(sentences) < len(texts):
        yield f"{len(texts)} fields are indexed; --fields {','.join(sentences)} selects those with sentences"


def _documents(source: RecordSource, mapping: ColumnMapping) -> Iterator[Document]:
    for location, record in source.rows():
        texts = {}
        for field, name in mapping.fields.items():
            value = record.get(name)
            text = to_text(value)
            if text is not None:
                texts[field] = parse_html(text).body if field in mapping.html and "<" in text else text
            elif value is not None:
                raise source.error(f"the field {name!r} is not text but {type(value).__name__}", location)
        for name in record if mapping.known is not None else ():
            is_new = name not in (mapping.known or ()) and normalize_name(name) not in mapping.id_names
            if is_new and to_text(record[name]):
                fields = ",".join([*mapping.fields, to_field_name(name)])
                message = (
                    f"the field {name!r} has text here for the first time; name the fields, e.g. --fields {fields}"
                )
                raise source.error(message, location)
        url = record.get(URL) or ""
        if not isinstance(url, str):
            raise source.error(f"the field {URL!r} is not text but {type(url).__name__}", location)
        if URL in texts:
            texts[URL] = without_scheme(url)
        document_id = find_id(record, mapping.id_names)
        if document_id is None:
            raise source.error(describe_missing_id(mapping.id_names), location)
        links = record.get(LINKS)
        numbers = _numbers(source, mapping, record, location)
        yield Document(document_id, texts, url, _links(source, links, location) if links else (), numbers)


def _numbers(
    source: RecordSource, mapping: ColumnMapping, record: Mapping[str, Any], location: Any
) -> dict[str, float]:
    """Return the values of the numeric fields; those that are not finite are missing."""
    numbers = {}
    for field, (name, kind) in mapping.numbers.items():
        value = record.get(name)
        if is_empty(value):
            continue
        if numeric_kind(value, source.all_text) != kind:
            fields = ",".join(mapping.fields)
            raise source.error(
                f"the field {name!r} was a {kind} so far, not {value!r}; --fields {fields} leaves it out", location
            )
        number = to_number(value)
        if isfinite(number):
            numbers[field] = number
    return numbers


def without_scheme(url: str) -> str:
    """Return a URL without its scheme, as in the field `url`.

    >>> without_scheme("https://example.org/a"), without_scheme("example.org/b")
    ('example.org/a', 'example.org/b')
    """
    scheme, separator, address = url.partition("://")
    return address if separator and scheme.isalnum() else url


def _links(source: RecordSource, links: Any, location: Any) -> tuple[Link, ...]:
    """Parse a list of URLs, of [url, text] pairs or of objects with url and text, or URLs separated by blanks."""
    if isinstance(links, str):
        return tuple(Link(target) for target in links.split())
    if not isinstance(links, list | tuple):
        raise source.error(f"the links are not a list but {type(links).__name__}", location)
    return tuple(_link(source, link, location) for link in links)


def _link(source: RecordSource, link: Any, location: Any) -> Link:
    parts = [link]
    if isinstance(link, Mapping):
        parts = [next((link[name] for name in TARGET_FIELDS if name in link), None), link.get("text") or ""]
    elif isinstance(link, list | tuple):
        parts = list(link)
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) for part in parts):
        raise source.error(f"a link is a url, a pair of url and text, or an object with {URL!r} and 'text'", location)
    return Link(*parts)
