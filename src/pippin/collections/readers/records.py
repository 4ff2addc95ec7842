"""Read records with named fields from JSON lines, JSON, CSV, TSV, XML, Parquet and Arrow.

`json_records` describes the supported JSON. CSV is separated by commas, semicolons, tabs or bars. A table without
headings has two columns (id and text), three (with a title between them), or the four of MS MARCO's documents. Every
record has the file and the line or row that it was read from. Text may be compressed (gzip, zstd, bzip2, xz).

In XML (dumps of Wikipedia, Solr and Stack Exchange, or any file that repeats an element), a record is an element below
the root (or at the top of a file without root, as in NTCIR) with an id: an attribute, a child, or Solr's
`<field name="id">`. Its fields are its attributes and children by their names without namespace. Children with
different children are replaced by these; of equal names the one nearer to the record counts, and values of equal depth
form a list. The file is read chunk by chunk.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser, fromstring

from pippin.collections.readers.columns import ID_FIELDS, MORE_ID_FIELDS, QUERY_ID_FIELDS, find_field
from pippin.collections.readers.files import CHUNK, encoding_of, open_file, read_head, read_lines
from pippin.collections.readers.json_records import (
    DOCUMENTS,
    is_lines,
    read_json_lines,
    read_json_records,
    unwrap_documents,
)
from pippin.errors import DataError

NEUTRAL_SUFFIXES = ("", ".txt", ".text", ".dat", ".data", ".docs")  # of any format
MAX_PROBED = 20  # lines that decide the format
MAX_PROBED_QUOTES = 200  # lines that decide whether quotes enclose cells
COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2", ".xz")
SEPARATORS = ",;\t|"
BATCH = 1024

HEADERLESS_COLUMNS = {2: ("id", "text"), 3: ("id", "title", "text"), 4: ("id", "url", "title", "body")}
HEADINGS = (*ID_FIELDS, *MORE_ID_FIELDS, *QUERY_ID_FIELDS)  # a first row with one of them is a header
MAX_HEADING_LENGTH = 40

Location = tuple[Path, int]  # file, and line or row from 1
Row = tuple[Location, Mapping[str, Any]]


def file_format(path: Path) -> str | None:
    """Return the format of a file by its name: jsonl, json, csv, tsv, xml, parquet, arrow; None for other suffixes.

    >>> file_format(Path("docs.ndjson.gz")), file_format(Path("part-0.parquet")), file_format(Path("notes.txt"))
    ('jsonl', 'parquet', None)
    """
    name = _uncompressed_name(path)
    format = FORMAT_OF_SUFFIX.get(Path(name).suffix)
    return None if format in ("parquet", "arrow") and name != path.name.lower() else format


def _uncompressed_name(path: Path) -> str:
    name = path.name.lower()
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def sniff_format(path: Path) -> str | None:
    """Return the format of a file without usual suffix: jsonl, or tsv with a header or an id and a text; else None."""
    if Path(_uncompressed_name(path)).suffix not in NEUTRAL_SUFFIXES or not path.stat().st_size:
        return None
    try:
        if read_head(path).startswith(b"{"):
            return "jsonl" if is_lines(path) else None
        rows = [line.split("\t") for _, line in islice(read_lines(path), MAX_PROBED)]
    except DataError:
        return None
    width, ids = len(rows[0]) if rows else 0, [cells[0] for cells in rows]
    if width < 2 or any(len(cells) != width for cells in rows):
        return None
    if has_header("tsv", rows[0]):
        return "tsv"
    are_ids = len(set(ids)) == len(ids) and all(name and not re.search(r"\s", name) for name in ids)
    are_texts = all(re.search(r"[^\W\d_]{2}.*\s", cells[-1]) for cells in rows)  # words, not a number or an id
    return "tsv" if width in HEADERLESS_COLUMNS and are_ids and are_texts else None


def read_records(path: Path, format: str | None = None, role: str = DOCUMENTS) -> Iterator[Row]:
    """Yield the records of a file; those of one role if a JSON object has several sections."""
    format = format or file_format(path)
    if format is None:
        raise DataError(f"unknown suffix: files of records end in {', '.join(FORMAT_OF_SUFFIX)}", path)
    rows = read_json_records(path, role) if format == "json" else RECORD_FORMATS[format](path)
    for number, record in unwrap_documents(rows, path):
        yield (path, number), record


def record_error(message: str, location: Location | None) -> DataError:
    """Return the error about a record."""
    return DataError(message) if location is None else DataError(message, *location)


def csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty rows of a CSV file, header included, each with its first line."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # documents may exceed Python's limit of 128 kB
    with open_file(path) as file, io.TextIOWrapper(file, encoding_of(path), "replace", newline="") as text:
        reader = csv.reader(text, strict=True, delimiter=separator_of(path))
        number = 1
        try:
            for cells in reader:
                if cells:
                    yield number, cells
                number = reader.line_num + 1
        except csv.Error as error:
            raise DataError(f"the row cannot be read: {error}", path, number) from None


def separator_of(path: Path) -> str:
    """Return the separator of a table: the most frequent one in the first line, outside of quotes."""
    with open_file(path) as file:
        headings = re.sub(r'"[^"]*"', "", file.readline(CHUNK).decode("utf-8", "replace"))
    return max(SEPARATORS, key=headings.count)


def tsv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a TSV file, header included.

    Quotes are part of the values, unless all rows have equal numbers of cells only with quotes, as in files of pandas.
    """
    rows = ((number, line.split("\t")) for number, line in read_lines(path))
    first = list(islice(rows, MAX_PROBED_QUOTES))
    if len({len(cells) for _, cells in first}) > 1 and any(cell.startswith('"') for _, row in first for cell in row):
        with suppress(DataError):
            widths = {len(cells) for _, cells in islice(csv_cells(path), MAX_PROBED_QUOTES)}
            if len(widths) == 1 and separator_of(path) == "\t":
                return csv_cells(path)
    return chain(first, rows)


CELL_READERS: Mapping[str, Callable[[Path], Iterator[tuple[int, list[str]]]]] = {"csv": csv_cells, "tsv": tsv_cells}


def has_header(format: str, first: list[str]) -> bool:
    """Return whether the first row of a table is a header.

    It is one if a cell is a usual name. In CSV it also is one unless it looks like data: a first cell with a digit, or
    a cell longer than headings.

    >>> has_header("csv", ["isbn", "story"]), has_header("csv", ["17", "Apples"]), has_header("tsv", ["a", "b"])
    (True, False, False)
    """
    if find_field(first, HEADINGS) is not None:
        return True
    is_data = re.search(r"\d", first[0]) or any(len(cell) > MAX_HEADING_LENGTH for cell in first)
    return format == "csv" and not is_data


def headerless_columns(path: Path, format: str) -> tuple[str, ...]:
    """Return the columns of a table without header; empty for other files."""
    first = next(CELL_READERS[format](path), (0, []))[1] if format in CELL_READERS else []
    return () if not first or has_header(format, first) else HEADERLESS_COLUMNS.get(len(first), ())


def _table(path: Path, format: str) -> Iterator[tuple[int, dict[str, str]]]:
    rows = CELL_READERS[format](path)
    line, first = next(rows, (1, []))
    if not first or has_header(format, first):
        columns = [cell.strip() for cell in first] if format == "tsv" else first
    else:
        columns = list(HEADERLESS_COLUMNS.get(len(first), ()))
        if not columns:
            raise DataError(f"{len(first)} columns without headings: add a first row with their names", path, line)
        if first != [str(number) for number in range(len(first))]:  # pandas numbers columns without names
            rows = chain([(line, first)], rows)
    for number, cells in rows:
        if len(cells) != len(columns):
            expected = f"{len(columns)} columns ({', '.join(columns)})"
            raise DataError(f"expected {expected}, found {len(cells)}", path, number)
        yield number, dict(zip(columns, cells, strict=True))


def _parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    from pyarrow import parquet

    def batches() -> Iterator[Any]:
        with parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True) as file:
            yield from file.iter_batches(BATCH)

    return _iter_rows(batches(), path, "Parquet")


def _arrow(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read Arrow's stream format, which Hugging Face's `datasets` uses, or its file format."""
    import pyarrow
    from pyarrow import ipc

    def batches() -> Iterator[Any]:
        with pyarrow.memory_map(str(path)) as source:
            start = source.read(6)
            source.seek(0)
            if start == b"ARROW1":
                with ipc.open_file(source) as file:
                    yield from (file.get_batch(i) for i in range(file.num_record_batches))
            else:
                with ipc.open_stream(source) as file:
                    yield from file

    return _iter_rows(batches(), path, "Arrow")


def _iter_rows(batches: Iterator[Any], path: Path, format: str) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow

    number = 0
    try:
        for batch in batches:
            for record in batch.to_pylist():
                number += 1
                yield number, record
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"the {format} file cannot be read after row {number:,}: {error}", path) from None


PROLOG = re.compile(rb"\s*(?:<\?xml[^>]*\?>|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>|<!--.*?-->|\s)*", re.DOTALL)
ENCODING = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)""")
IDS = (*ID_FIELDS, *MORE_ID_FIELDS)


def read_xml(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a file with their numbers from 1."""
    number, name = 0, None
    try:
        if (record := _single_record(path)) is not None:
            yield 1, record
            return
        for element in _candidates(path):
            record = fields_of(element)
            if name is None and find_field(record, IDS) is None:
                continue  # an element before the records, such as Wikipedia's <siteinfo>
            name = name or element.tag
            if element.tag == name:
                number += 1
                yield number, record
    except ParseError as error:
        raise DataError(f"the XML cannot be read after record {number:,}: {error}", path) from None


def _local_name(name: str) -> str:
    return name.rpartition("}")[2]


def _text(element: Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def _single_record(path: Path) -> dict[str, Any] | None:
    """Return the record of a file that is one record, such as INEX's articles; None for other files.

    Its id is in the root, or in a child with less than half of the words, and all children have different names.
    """
    with open_file(path) as file:
        data = file.read(CHUNK + 1)
    try:
        root = fromstring(data) if len(data) <= CHUNK else None
    except ParseError:
        return None  # no root, or invalid, which reading reports
    if root is None or len(root) < 2 or len({child.tag for child in root}) < len(root):
        return None
    record: dict[str, Any] = {_local_name(name): text for name, text in root.attrib.items()}
    nested = {child: fields_of(child) for child in root if len(child)}
    with_id = next((child for child, fields in nested.items() if find_field(fields, IDS) is not None), None)
    root_has_id = find_field((*record, *(_local_name(child.tag) for child in root)), IDS) is not None
    words = {child: len(_text(child).split()) for child in root}
    if not root_has_id and (with_id is None or 2 * words[with_id] > sum(words.values())):
        return None
    for child in root:
        is_expanded = child is with_id and not root_has_id
        record |= nested[child] if is_expanded else {_local_name(child.tag): _text(child)}
    return record


def _candidates(path: Path) -> Iterator[Element]:
    """Yield every element that may be a record when it is complete."""
    parser: Any = XMLPullParser(("start", "end"))
    with open_file(path) as file:
        start = file.read(CHUNK)
        declared = ENCODING.match(start.removeprefix(b"\xef\xbb\xbf"))
        encoding = declared[1].decode() if declared else "utf-8"
        encoding = "utf-8" if encoding.lower().startswith("utf-16") else encoding  # `open_file` transcodes it
        content = PROLOG.sub(b"", start.removeprefix(b"\xef\xbb\xbf"), count=1)
        # An additional root, so that files without root can be parsed.
        parser.feed(f'<?xml version="1.0" encoding="{encoding}"?><all>'.encode() + content)
        open_elements: list[Element] = []
        depth = 2 if _has_root(content) else 1
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


def _has_root(start: bytes) -> bool:
    """Return whether the first element is a root: its end is not followed by another element of its name."""
    name = re.match(rb"<([^\s/>]+)", start)
    return name is None or re.search(rb"</" + re.escape(name[1]) + rb"\s*>\s*<" + re.escape(name[1]), start) is None


def fields_of(record: Element) -> dict[str, Any]:
    """Return the fields of a record, level by level."""
    fields: dict[str, Any] = {_local_name(name): text for name, text in record.attrib.items()}
    level = list(record)
    while level:
        next_level: list[Element] = []
        texts_of: dict[str, list[str]] = {}
        for element in level:
            if len({child.tag for child in element}) > 1 and not (element.text or "").strip():
                next_level += element
            else:
                texts_of.setdefault(element.get("name") or _local_name(element.tag), []).append(_text(element))
        for name, texts in texts_of.items():
            fields.setdefault(name, texts[0] if len(texts) == 1 else texts)
        level = next_level
    return fields


RECORD_FORMATS: Mapping[str, Callable[[Path], Iterator[tuple[int, Mapping[str, Any]]]]] = {
    "jsonl": read_json_lines, "json": read_json_records, "xml": read_xml,
    "csv": lambda path: _table(path, "csv"), "tsv": lambda path: _table(path, "tsv"),
    "parquet": _parquet, "arrow": _arrow,
}  # fmt: skip
FORMAT_OF_SUFFIX: Mapping[str, str] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".xml": "xml",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
