"""Judgements in three columns, `query document label` as BEIR has them, or in the four of TREC."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from pippin.collection.files import lines
from pippin.data.trec import Judgements
from pippin.data.trec_text import read_judgements
from pippin.errors import DataError


def read_judged(path: Path) -> Judgements:
    """The judgements of a file of three columns, with or without a line of headings, or of TREC's four."""
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


def label_of(text: str) -> int | None:
    """A whole number, also one written as 1.0, or None."""
    try:
        number = float(text)
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


def gather(rows: list[tuple[int, str, str, int]], path: Path) -> Judgements:
    """Judgements of rows (line, query, document, label)."""
    judged: dict[str, dict[str, int]] = {}
    for number, query, document, label in rows:
        if document in judged.setdefault(query, {}):
            raise DataError(f"document {document} stands twice in query {query}", path, number)
        judged[query][document] = label
    if not judged:
        raise DataError("the file has no line of data", path)
    return Judgements.of(judged, path.name)
