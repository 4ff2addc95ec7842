"""Records with named fields, from any file that holds them: JSON lines, JSON, CSV, TSV, Parquet, Arrow.

What search engines hand out is unwrapped on the way: Elasticsearch's and OpenSearch's bulk requests (an action, then a
document), dumps (`_id` and `_source` on a line) and answers to `_search` (`hits.hits`). Every record comes with the
file and the line or row that it was read from. Text may be packed (gzip, zstd).
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pippin.collection.files import files_under, lines, open_stream
from pippin.errors import DataError
from pippin.extras import need

PACKED = (".gz", ".zst")
ID_FIELDS = ("id", "_id", "docno", "doc_id", "docid", "document_id", "pid")
ACTIONS = ("index", "create")  # of a bulk request; the line after one is the document
BATCH = 1024
LARGEST = 1 << 30  # bytes of a `.json` file, which can only be read whole

Where = tuple[Path, int]  # file, and line or row from 1 on
Row = tuple[Where, Mapping[str, Any]]


def form_of(path: Path) -> str | None:
    """The form of a file of records by its name: jsonl, json, csv, tsv, parquet, arrow; None for any other.

    >>> form_of(Path("docs.ndjson.gz")), form_of(Path("part-0.parquet")), form_of(Path("notes.txt"))
    ('jsonl', 'parquet', None)
    """
    name = path.name.lower()
    for ending in PACKED:
        name = name.removesuffix(ending)
    packed = name != path.name.lower()
    form = FORM_OF_ENDING.get(Path(name).suffix)
    return None if packed and form in ("parquet", "arrow") else form


def read_records(path: Path, form: str | None = None) -> Iterator[Row]:
    """The records of a file, one after the other."""
    form = form or form_of(path)
    if form is None:
        raise DataError(f"not a file of records by its name; those end in {', '.join(FORM_OF_ENDING)}", path)
    for number, record in _unwrapped(FORMS[form](path), path):
        yield (path, number), record


def error_at(message: str, where: Where | None) -> DataError:
    """The error that speaks of a record."""
    return DataError(message) if where is None else DataError(message, where[0], where[1])


def pieces(folder: Path, form: str, skip: Callable[[str], bool], deep: bool = True) -> list[Path]:
    """The files of one form in a folder, d9 before d10; those whose name `skip` knows hold something else."""
    inside = files_under(folder) if deep else (file for file in folder.iterdir() if file.is_file())
    files = [file for file in inside if form_of(file) == form and not skip(file.name)]
    return sorted(files, key=lambda file: [*file.relative_to(folder).parts[:-1], *_numbers_apart(file.name)])


def _numbers_apart(name: str) -> list[str]:
    """A name as parts that sort by number.

    >>> sorted(["part-10", "part-9"], key=_numbers_apart)
    ['part-9', 'part-10']
    """
    return [part.zfill(20) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def parse_object(text: str, path: Path, line: int) -> dict[str, Any]:
    """The JSON object of a line."""
    record = _parse(text, path, line)
    if not isinstance(record, dict):
        raise DataError("the line is not a JSON object", path, line)
    return record


def _parse(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{'the file' if line is None else 'the line'} is not JSON: {error}", path, line) from None


def read_json(path: Path) -> Any:
    """The content of a `.json` file."""
    with open_stream(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DataError("JSON of more than 1 GiB is read as JSON lines only, an object a line", path)
    try:
        return _parse(data.decode("utf-8-sig"), path, None)
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start + 1} of the file is not UTF-8", path) from None


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, text in lines(path):
        yield number, parse_object(text, path, number)


def _json_array(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    content = read_json(path)
    if isinstance(content, dict):
        hits = content.get("hits")
        content = hits.get("hits") if isinstance(hits, dict) else [content]
    if not isinstance(content, list):
        raise DataError("an array of objects, or an answer to _search, is expected", path)
    for number, record in enumerate(content, 1):
        if not isinstance(record, dict):
            raise DataError("the array holds something that is no object", path, number)
        yield number, record


def _unwrapped(rows: Iterator[tuple[int, Mapping[str, Any]]], path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Documents as they were before a search engine wrapped them; anything else as it is."""
    action: Mapping[str, Any] | None = None
    for number, record in rows:
        if action is not None:
            yield number, {**record, **({"_id": action["_id"]} if "_id" in action else {})}
            action = None
        elif (head := _action(record)) is not None:
            action = head
        elif isinstance(record.get("_source"), dict):
            kept = {"_id": record["_id"]} if "_id" in record else {}
            yield number, {**record["_source"], **kept}
        else:
            yield number, record
    if action is not None:
        raise DataError("the bulk request ends with an action that has no document", path)


def _action(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a line of a bulk request says of the document on the next, if it is such a line."""
    if len(record) != 1:
        return None
    name, value = next(iter(record.items()))
    return value if name in ACTIONS and isinstance(value, dict) else None


def _csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # documents are longer than the 128 kB Python stops at
    with open_stream(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        number = 1
        try:
            columns = next(reader, [])
            while True:
                number = reader.line_num + 1
                cells = next(reader)
                if cells:
                    yield number, _named(columns, cells, path, number)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataError(f"the row cannot be read: {error}", path, number) from None


def _tsv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Values have neither quotes nor tabs inside; without headings there are two columns, id and text (MS MARCO)."""
    columns: list[str] = []
    for number, line in lines(path):
        cells = line.split("\t")
        if not columns:
            named = any(cell.strip() in ID_FIELDS for cell in cells)
            columns = [cell.strip() for cell in cells] if named else ["id", "text"]
            if named:
                continue
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
    "jsonl": _json_lines, "json": _json_array, "csv": _csv, "tsv": _tsv, "parquet": _parquet, "arrow": _arrow,
}  # fmt: skip
FORM_OF_ENDING: Mapping[str, str] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
    ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
}  # fmt: skip
