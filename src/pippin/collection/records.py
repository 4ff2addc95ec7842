"""Records with named fields, from any file that holds them: JSON lines, JSON, CSV, TSV, XML, Parquet, Arrow.

`json_records` says what JSON may look like. CSV may be separated by commas, semicolons, tabs or bars. A table without
headings has two columns, id and text, three with a title between them, or four as MS MARCO's documents. Every record
comes with the file and the line or row that it was read from. Text may be packed (gzip, zstd, bzip2, xz).
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

from pippin.collection.field_names import ID_FIELDS, MORE_ID_FIELDS, QUERY_ID_FIELDS, find_field
from pippin.collection.files import CHUNK, encoding_of, head, lines, open_stream
from pippin.collection.json_records import DOCUMENTS, is_lines, read_json_lines, read_json_records, unwrapped
from pippin.collection.xml_records import read_xml
from pippin.errors import DataError
from pippin.extras import need

NAMELESS = ("", ".txt", ".text", ".dat", ".data", ".docs")  # endings that say nothing about what a file holds
LOOK = 20  # lines that tell the form
QUOTED = 200  # lines that tell whether quotes hold texts together
PACKED = (".gz", ".zst", ".bz2", ".xz")
SEPARATORS = ",;\t|"
BATCH = 1024

WITHOUT_HEADINGS = {2: ("id", "text"), 3: ("id", "title", "text"), 4: ("id", "url", "title", "body")}
HEADINGS = (*ID_FIELDS, *MORE_ID_FIELDS, *QUERY_ID_FIELDS)  # one of them is enough to tell headings from data
LONGEST_HEADING = 40  # characters

Where = tuple[Path, int]  # file, and line or row from 1 on
Row = tuple[Where, Mapping[str, Any]]


def form_of(path: Path) -> str | None:
    """The form of a file of records by its name: jsonl, json, csv, tsv, xml, parquet, arrow; None for any other.

    >>> form_of(Path("docs.ndjson.gz")), form_of(Path("part-0.parquet")), form_of(Path("notes.txt"))
    ('jsonl', 'parquet', None)
    """
    name = path.name.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    packed = name != path.name.lower()
    form = FORM_OF_ENDING.get(Path(name).suffix)
    return None if packed and form in ("parquet", "arrow") else form


def form_by_content(path: Path) -> str | None:
    """The form of a file whose name says nothing: lines of JSON objects, or lines of an id, a tab and a text.

    What the lines say decides, not how many there are; anything else is None.
    """
    name = path.name.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    if Path(name).suffix not in NAMELESS or not path.stat().st_size:
        return None
    try:
        if head(path).startswith(b"{"):
            return "jsonl" if is_lines(path) else None
        rows = [line.split("\t") for _, line in islice(lines(path), LOOK)]
    except DataError:
        return None
    width, ids = len(rows[0]) if rows else 0, [cells[0] for cells in rows]
    if width < 2 or any(len(cells) != width for cells in rows):
        return None
    if has_headings("tsv", rows[0]):
        return "tsv"
    alike = len(set(ids)) == len(ids) and all(name and not re.search(r"\s", name) for name in ids)
    said = all(re.search(r"[^\W\d_]{2}.*\s", cells[-1]) for cells in rows)  # words, not a number or an id
    return "tsv" if width in WITHOUT_HEADINGS and alike and said else None


def read_records(path: Path, form: str | None = None, role: str = DOCUMENTS) -> Iterator[Row]:
    """The records of a file, one after the other; those of one role where a JSON object holds all."""
    form = form or form_of(path)
    if form is None:
        raise DataError(f"not a file of records by its name; those end in {', '.join(FORM_OF_ENDING)}", path)
    rows = read_json_records(path, role) if form == "json" else FORMS[form](path)
    for number, record in unwrapped(rows, path):
        yield (path, number), record


def error_at(message: str, where: Where | None) -> DataError:
    """The error that speaks of a record."""
    return DataError(message) if where is None else DataError(message, where[0], where[1])


def numbers_apart(name: str) -> list[str]:
    """A name as parts that sort by number.

    >>> sorted(["part-10", "part-9"], key=numbers_apart)
    ['part-9', 'part-10']
    """
    return [part.zfill(20) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, headings too, each with the line that it begins on; empty ones are left out."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # documents are longer than the 128 kB Python stops at
    with open_stream(path) as file, io.TextIOWrapper(file, encoding_of(path), "replace", newline="") as text:
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
    """What separates the columns of a table: whatever stands most often among its headings outside of quotes."""
    with open_stream(path) as file:
        headings = re.sub(r'"[^"]*"', "", file.readline(CHUNK).decode("utf-8", "replace"))
    return max(SEPARATORS, key=headings.count)


def tsv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a TSV file, headings too; values have neither quotes nor tabs inside, unless its first lines fit
    together with quotes only, as pandas writes texts of several lines.
    """
    plain = ((number, line.split("\t")) for number, line in lines(path))
    first = list(islice(plain, QUOTED))
    if len({len(cells) for _, cells in first}) > 1 and any(cell.startswith('"') for _, row in first for cell in row):
        with suppress(DataError):
            if len({len(cells) for _, cells in islice(csv_cells(path), QUOTED)}) == 1 and separator_of(path) == "\t":
                return csv_cells(path)
    return chain(first, plain)


CELLS: Mapping[str, Callable[[Path], Iterator[tuple[int, list[str]]]]] = {"csv": csv_cells, "tsv": tsv_cells}


def has_headings(form: str, first: list[str]) -> bool:
    """Whether the first row of a table names its columns.

    A CSV file is expected to, unless no cell is a usual name and the row looks like data: an id with a digit at its
    beginning, or a cell as long as no heading is. A TSV file is expected to only where one is a usual name.

    >>> has_headings("csv", ["isbn", "story"]), has_headings("csv", ["17", "Apples"]), has_headings("tsv", ["a", "b"])
    (True, False, False)
    """
    if find_field(first, HEADINGS) is not None:
        return True
    data = re.search(r"\d", first[0]) or any(len(cell) > LONGEST_HEADING for cell in first)
    return form == "csv" and not data


def columns_without_headings(path: Path, form: str) -> tuple[str, ...]:
    """What the columns of a table are taken for that has no headings; none where it has them."""
    first = next(CELLS[form](path), (0, []))[1] if form in CELLS else []
    return () if not first or has_headings(form, first) else WITHOUT_HEADINGS.get(len(first), ())


def _table(path: Path, form: str) -> Iterator[tuple[int, dict[str, str]]]:
    rows = CELLS[form](path)
    line, first = next(rows, (1, []))
    if not first or has_headings(form, first):
        columns = [cell.strip() for cell in first] if form == "tsv" else first
    else:
        columns = list(WITHOUT_HEADINGS.get(len(first), ()))
        if not columns:
            raise DataError(f"{len(first)} columns without headings: put a first row with their names", path, line)
        if first != [str(number) for number in range(len(first))]:  # else pandas numbered columns that had no names
            yield line, _named(columns, first, path, line)
    for number, cells in rows:
        yield number, _named(columns, cells, path, number)


def _named(columns: list[str], cells: list[str], path: Path, line: int) -> dict[str, str]:
    if len(cells) != len(columns):
        raise DataError(f"{len(columns)} columns are expected ({', '.join(columns)}), not {len(cells)}", path, line)
    return dict(zip(columns, cells, strict=True))


def _parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    need("a Parquet file", "pyarrow")
    from pyarrow import parquet

    def batches() -> Iterator[Any]:
        with parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True) as file:
            yield from file.iter_batches(BATCH)

    return _batched(batches(), path, "Parquet")


def _arrow(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Arrow's stream form, as Hugging Face's `datasets` keeps it, or its file form."""
    need("an Arrow file", "pyarrow")
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
                with ipc.open_stream(source) as stream:
                    yield from stream

    return _batched(batches(), path, "Arrow")


def _batched(batches: Iterator[Any], path: Path, form: str) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow

    number = 0
    try:
        for batch in batches:
            for record in batch.to_pylist():
                number += 1
                yield number, record
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"the {form} file cannot be read after row {number:,}: {error}", path) from None


FORMS: Mapping[str, Callable[[Path], Iterator[tuple[int, Mapping[str, Any]]]]] = {
    "jsonl": read_json_lines, "json": read_json_records, "xml": read_xml,
    "csv": lambda path: _table(path, "csv"), "tsv": lambda path: _table(path, "tsv"),
    "parquet": _parquet, "arrow": _arrow,
}  # fmt: skip
FORM_OF_ENDING: Mapping[str, str] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".xml": "xml",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
