"""Judgements as people have them: TREC's four columns, three as BEIR has them, or tables and JSON with named fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pippin.collection.files import head, lines
from pippin.collection.records import form_of, read_json, read_records
from pippin.data.trec import Judgements
from pippin.data.trec_text import read_judgements
from pippin.errors import DataError

QUERY_FIELDS = ("query_id", "query-id", "qid", "topic_id", "topic", "query")
DOCUMENT_FIELDS = ("doc_id", "corpus-id", "corpus_id", "docno", "docid", "document_id", "pid", "document", "doc", "id")
LABEL_FIELDS = ("label", "relevance", "rel", "grade", "score", "judgement", "judgment", "rating")

Judged = tuple[int, str, str, int]  # line, query, document, label


def read_judged(path: Path) -> Judgements:
    """The judgements of a file: named fields (JSON lines, JSON, CSV, Parquet, Arrow), three columns, or TREC's four."""
    form = form_of(path)
    if form not in (None, "tsv") or head(path).startswith((b"{", b"[")):
        return gather(list(_table(path, form)), path)
    first = next(islice(lines(path), 1), None)
    if first is None:
        raise DataError("the file is empty", path)
    if len(first[1].split()) != 3:
        return read_judgements(path, merge_queries=True)
    rows = []
    for number, line in lines(path):
        cells = line.split()
        if number == first[0] and label_of(cells[-1]) is None:
            continue
        label = label_of(cells[-1])
        if len(cells) != 3 or label is None:
            raise DataError("three columns are expected: query, document, label (a whole number)", path, number)
        rows.append((number, cells[0], cells[1], label))
    return gather(rows, path)


def _table(path: Path, form: str | None) -> Iterator[Judged]:
    if form == "json":
        content = read_json(path)
        if isinstance(content, dict) and content and all(isinstance(of, dict) for of in content.values()):
            for query, documents in content.items():
                yield from ((1, query, document, _label(label, path, None)) for document, label in documents.items())
            return
    for (_, line), record in read_records(path, form or "jsonl"):
        query, document = (_name(record, fields, path, line) for fields in (QUERY_FIELDS, DOCUMENT_FIELDS))
        label = next((record[name] for name in LABEL_FIELDS if record.get(name) is not None), None)
        if label is None:
            raise DataError(f"there is no label (a field called {', '.join(LABEL_FIELDS)})", path, line)
        yield line, query, document, _label(label, path, line)


def _name(record: Mapping[str, Any], fields: tuple[str, ...], path: Path, line: int) -> str:
    for name in fields:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    raise DataError(f"a judgement needs a field called {' or '.join(fields[:4])} …", path, line)


def _label(value: Any, path: Path, line: int | None) -> int:
    label = label_of(str(value))
    if label is None:
        raise DataError(f"the label {value!r} is not a whole number", path, line)
    return label


def label_of(text: str) -> int | None:
    """A whole number, also one written as 1.0, or None."""
    try:
        number = float(text)
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


def gather(rows: list[Judged], path: Path) -> Judgements:
    """Judgements of rows (line, query, document, label)."""
    judged: dict[str, dict[str, int]] = {}
    for number, query, document, label in rows:
        if document in judged.setdefault(query, {}):
            raise DataError(f"document {document} stands twice in query {query}", path, number)
        judged[query][document] = label
    if not judged:
        raise DataError("the file has no line of data", path)
    return Judgements.of(judged, path.name)
