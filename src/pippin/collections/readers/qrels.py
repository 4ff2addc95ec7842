"""Read qrels in the shapes that collections have.

Supported are TREC's four columns, BEIR's three, two columns (all listed documents are relevant), tables and JSON with
named columns, tables with a column per query or document, queries with lists of relevant documents, and rating lists of
search engines.

Whole numbers are labels as written. Words are looked up in `SCALES`, then in `LEVELS`. Fractions become grades in their
order: values up to 0 become 0, larger ones 1, 2, 3 … (0, 1, 2 … if all are 1 or larger). A diagnostic states the
mapping. A judgement that occurs twice with one label counts once; with two labels it is an error.
`read_embedded_queries` finds query texts in tables of judgements, such as ESCI's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pippin.collections.collection import Diagnostics, Query
from pippin.collections.readers.columns import (
    ID_FIELDS,
    LABEL_FIELDS,
    MORE_ID_FIELDS,
    QUERY_ID_FIELDS,
    QUERY_TEXT_FIELDS,
    find_field,
    find_field_by_suffix,
    normalize_name,
    text_id,
)
from pippin.collections.readers.files import read_head, read_lines
from pippin.collections.readers.json_records import QRELS, is_lines, read_json, select_section
from pippin.collections.readers.records import CELL_READERS, csv_cells, file_format, has_header, read_records
from pippin.data.qrels import Qrels
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn

QUERY_FIELDS = (*QUERY_ID_FIELDS, "topic", *QUERY_TEXT_FIELDS)
DOCUMENT_FIELDS = (*ID_FIELDS[1:], *MORE_ID_FIELDS, "document", "doc", "url", "path", "file", "filename", "id")
SCALES = (  # from grade 0
    ("i", "c", "s", "e"),
    ("irrelevant", "complement", "substitute", "exact"),
    ("irrelevant", "partial", "exact"),
    ("bad", "fair", "good", "excellent", "perfect"),
    ("not relevant", "partially relevant", "relevant", "highly relevant", "perfectly relevant"),
    ("irrelevant", "relevant", "highly relevant"),
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
)
LEVELS = (  # other words; the lowest level is grade 0, all others are numbered by the levels in use
    ("not relevant", "irrelevant", "nonrelevant", "non relevant", "not at all relevant", "off topic", "none"),
    ("marginally relevant", "marginal", "slightly relevant", "somewhat relevant", "partially relevant",
     "partly relevant", "partial", "possibly relevant", "related"),
    ("fairly relevant", "mostly relevant", "moderately relevant"),
    ("relevant",),
    ("very relevant", "highly relevant", "key", "exact match"),
    ("perfectly relevant", "perfect", "navigational", "vital"),
)  # fmt: skip
LISTS = re.compile(
    r"(relevant|relevance|positives?|gold|targets?|correct|expected)(_\w+)?|(cited|answers?)_\w+|.*_pids?"
)
RATED = re.compile(r"(-?\d+)\s+qid:(\S+)\s+#\s*(\S+)(?:\s+(\S.*))?")  # Elasticsearch's lists: 4 qid:1 # 7555 Rambo
WITHOUT_LABELS = "judgements have no labels: every document that is listed is relevant, 1"
ROW_FIELDS = ("", "index", "unnamed_0", "row")  # columns of row numbers
MAX_LONG_COLUMNS = 4  # a table with more columns may have one per query or document
MAX_PROBED = 100  # rows that decide which column is the label
MAX_GRADES = 30  # that fractions may become; gains double with each

Judgement = tuple[int, str, str, int]  # line, query, document, label
RawJudgement = tuple[int, str, str, Any]  # with the label as written
ColumnIndexes = tuple[int, int, int | None]  # of query, document and label


def read_qrels(path: Path, diagnostics: Diagnostics | None = None) -> Qrels:
    """Read a qrels file; messages about labels and duplicates go to `diagnostics`."""
    rows = list(read_qrels_rows(path, diagnostics))
    labels, message = _to_grades([label for *_, label in rows])
    if diagnostics is not None and message:
        diagnostics.add(message)
    judgements: list[Judgement] = []
    for (line, query, document, raw), label in zip(rows, labels, strict=True):
        if label is None:
            raise DataError(f"invalid label {raw!r}: expected a whole number or a grade of a known scale", path, line)
        judgements.append((line, query, document, label))
    return build_qrels(judgements, path, diagnostics)


def read_qrels_rows(path: Path, diagnostics: Diagnostics | None = None) -> Iterator[RawJudgement]:
    """Return the judgements of a file with labels as written."""
    format = file_format(path)
    if format is None and (rows := read_rated_lines(path)):
        return ((line, row[2], row[3], row[1]) for line, row in rows)
    headings = next(CELL_READERS[format](path), (0, [""]))[1] if format is not None and format in CELL_READERS else []
    if format is not None and (key := _find_key_column(headings)):
        return _read_wide_table(path, format, headings, key, diagnostics)
    has_no_format = format in (None, "tsv") and not read_head(path).startswith((b"{", b"["))
    has_names = format != "csv" or (
        has_header("csv", headings) and (len(headings) not in (3, 4) or _find_columns(headings))
    )
    if has_no_format or not has_names:
        return _columns(path, format, diagnostics)
    return _table(path, format, diagnostics)


def _find_key_column(headings: list[str]) -> str | None:
    """Return the key column of a table with one column per query or per document; None for other tables."""
    query, document, label = _fields(headings)
    is_wide = (query is None) != (document is None) and label is None and len(headings) > MAX_LONG_COLUMNS
    return (query or document) if is_wide else None


def _read_wide_table(
    path: Path, format: str, headings: list[str], key: str, diagnostics: Diagnostics | None
) -> Iterator[RawJudgement]:
    """Read a table with a row per document and a column per query, or the reverse; empty cells are unjudged."""
    key_column, by_query = headings.index(key), find_field([key], QUERY_FIELDS) is not None
    columns = [(i, name) for i, cell in enumerate(headings) if i != key_column and (name := text_id(cell)) is not None]
    for number, cells in islice(CELL_READERS[format](path), 1, None):
        if len(cells) != len(headings) or (row := text_id(cells[key_column])) is None:
            raise DataError(f"expected an id and {len(headings) - 1} labels", path, number)
        for i, name in columns:
            if cells[i].strip():
                yield number, *((row, name) if by_query else (name, row)), cells[i].strip()
    if diagnostics is not None:
        kind = "document" if by_query else "query"
        diagnostics.add(f"{path.name} has a column for each {kind}; empty cells are not judged")


def read_rated_lines(path: Path) -> list[tuple[int, re.Match[str]]]:
    """Return the lines of a rating list of Elasticsearch's learning-to-rank plugin; none if it is another file."""
    rows = ((number, RATED.fullmatch(line.strip())) for number, line in read_lines(path) if line[0] != "#")
    if (first := next(rows, (0, None)))[1] is None:
        return []
    numbered = [first, *rows]
    if invalid := next((number for number, row in numbered if row is None), None):
        raise DataError("invalid rating: expected label, qid:number, # and the document", path, invalid)
    return [(number, row) for number, row in numbered if row is not None]


def _columns(path: Path, format: str | None, diagnostics: Diagnostics | None) -> Iterator[RawJudgement]:
    """Read two to five columns, with or without a header, separated by tabs (ids may have blanks), blanks or commas."""
    numbered = (
        csv_cells(path) if format == "csv" else ((n, _cells(line)) for n, line in read_lines(path) if line[0] != "#")
    )
    rows = [(number, [cell.strip() for cell in cells]) for number, cells in numbered]
    if not rows:
        raise DataError("the file contains no data", path)
    first, width = rows[0][1], len(rows[0][1])
    columns = _find_columns(first)
    has_header_row = columns is not None
    if columns is None:
        if width not in (2, 3, 4, 5):
            raise DataError(f"found {width} columns; expected 3 or 4 (query, document, label)", path, rows[0][0])
        has_header_row = width > 2 and len(rows) > 1 and _are_headings(first, rows[1][1])
        columns = _default_columns(width, [cells for _, cells in rows[has_header_row : has_header_row + MAX_PROBED]])
    for number, cells in rows[has_header_row:]:
        if len(cells) != width:
            raise DataError(f"found {len(cells)} columns; expected {width}", path, number)
        query, document = text_id(cells[columns[0]]), text_id(cells[columns[1]])
        if query is None or document is None:
            raise DataError("empty query or document id", path, number)
        yield number, query, document, 1 if columns[2] is None else cells[columns[2]]
    if columns[2] is None and diagnostics is not None:
        diagnostics.add(WITHOUT_LABELS)


def _are_headings(first: list[str], second: list[str]) -> bool:
    """Return whether a row is a header, and not a judgement with an invalid label."""
    numbers = any(_number(cell) is not None for cell in first)
    return not numbers and first[0] != second[0] and parse_label(second[-1]) is not None


def _default_columns(width: int, rows: list[list[str]]) -> ColumnIndexes:
    """Return the columns of query, document and label in a table without header; the label is the last possible one."""
    if width == 2:
        return 0, 1, None
    if width == 5:  # TREC's prels: topic, document, label, method, probability
        return 0, 1, 2
    if width == 4:
        return 0, 2, 3
    possible = [i for i in range(3) if all(_may_be_label(cells[i]) for cells in rows if cells[i:])]
    label = possible[-1] if possible else 2
    query, document = (i for i in range(3) if i != label)
    return query, document, label


def _may_be_label(cell: str) -> bool:
    return _number(cell) is not None or any(_word(cell) in scale for scale in (*SCALES, *LEVELS))


def _word(label: Any) -> str:
    """Return a label in the spelling of `SCALES`.

    >>> _word("Non-Relevant"), _word("highly_relevant")
    ('non relevant', 'highly relevant')
    """
    return " ".join(re.sub(r"[_-]", " ", str(label).lower()).split())


def _cells(line: str) -> list[str]:
    for cells in (line.split("\t"), line.split()):
        if len(cells) > 2:
            return cells
    return next((cells for mark in "\t,;|" if len(cells := line.split(mark)) > 1), line.split())


def _find_columns(headings: list[str]) -> ColumnIndexes | None:
    """Return the columns of query, document and label if this is a header."""
    query, document, label = _fields(headings)
    if query is None or document is None or (label is None and not is_pair_list(headings)):
        return None
    return headings.index(query), headings.index(document), None if label is None else headings.index(label)


def _fields(record: list[str] | Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    query, document = find_field(record, QUERY_FIELDS), find_field(record, DOCUMENT_FIELDS)
    return query, document, find_field(record, LABEL_FIELDS) or find_field_by_suffix(record, LABEL_FIELDS)


def find_judgement_columns(record: list[str] | Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return the names of the query, document and label columns; None if one is missing.

    >>> find_judgement_columns(["id", "query", "query_id", "product_id", "esci_label"])
    ('query_id', 'product_id', 'esci_label')
    """
    query, document, label = _fields(record)
    return None if query is None or document is None or label is None else (query, document, label)


def _table(path: Path, format: str | None, diagnostics: Diagnostics | None) -> Iterator[RawJudgement]:
    if format == "json" and (content := _read_nested(path)):
        for query, documents in content.items():
            yield from ((1, text_id(query) or "", document, label) for document, label in _iter_listed(documents))
        return
    has_no_labels = False
    for (_, line), record in read_records(path, format or "jsonl", QRELS):
        ratings = next((value for value in record.values() if find_rating_field(value)), None)
        if ratings is not None:
            query = _name(record, (*QUERY_FIELDS, "id"), path, line)
            yield from (
                (line, query, _name(rating, DOCUMENT_FIELDS, path, line), rating[find_rating_field(ratings)])
                for rating in ratings
            )
            continue
        listed = find_relevant_list(record)
        if listed is not None:
            query = _name(record, (*QUERY_ID_FIELDS, "id", *QUERY_FIELDS), path, line)
            yield from ((line, query, document, label) for document, label in _iter_listed(record[listed]))
            continue
        query = _name(record, QUERY_FIELDS, path, line)
        document = _name(record, DOCUMENT_FIELDS, path, line)
        name = find_field(record, LABEL_FIELDS) or find_field_by_suffix(record, LABEL_FIELDS)
        has_no_labels = name is None and is_pair_list(record)
        if not has_no_labels and (name is None or record[name] is None):
            raise DataError(f"no label: expected a field named {', '.join(LABEL_FIELDS)}", path, line)
        yield line, query, document, 1 if name is None else record[name]
    if has_no_labels and diagnostics is not None:
        diagnostics.add(WITHOUT_LABELS)


def is_pair_list(record: list[str] | Mapping[str, Any]) -> bool:
    """Return whether a record has a query and a document, and nothing else but perhaps a row number.

    >>> is_pair_list(["", "qid", "docid"]), is_pair_list(["qid", "docid", "value"])
    (True, False)
    """
    query, document, label = _fields(record)
    rest_of_columns = [
        name for name in record if name not in (query, document) and normalize_name(name) not in ROW_FIELDS
    ]
    return query is not None and document is not None and query != document and label is None and not rest_of_columns


def _iter_listed(documents: Any) -> Iterator[tuple[str, Any]]:
    """Yield documents and labels from a mapping, or from a list of relevant documents."""
    of = documents.items() if isinstance(documents, dict) else ((document, 1) for document in documents)
    return ((text_id(document) or "", label if isinstance(label, int | float) else 1) for document, label in of)


def find_relevant_list(record: Mapping[str, Any]) -> str | None:
    """Return the field that lists the relevant documents of a query; None if there is none.

    >>> find_relevant_list({"qid": 1, "query": "apples", "answer_pids": [7, 9]})
    'answer_pids'
    >>> find_relevant_list({"id": 1, "tags": ["fruit"]}) is None
    True
    """
    for name, value in record.items():
        listed = LISTS.fullmatch(normalize_name(name)) and isinstance(value, list | dict) and value
        if listed and all("%20" not in (text_id(item) or "%20") for item in value):  # ids, and not texts
            return name
    return None


def find_rating_field(value: Any) -> str | None:
    """Return the label field of a list of rated documents; None for anything else.

    >>> find_rating_field([{"_id": "d", "rating": 3}]), find_rating_field([{"_id": "d"}]), find_rating_field("text")
    ('rating', None, None)
    """
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        return None
    return find_field(value[0], LABEL_FIELDS) if find_field(value[0], DOCUMENT_FIELDS) else None


def _read_nested(path: Path) -> dict[str, Any] | None:
    """Return a JSON object that maps queries to labels or lists of documents; None for other files."""
    if read_head(path).startswith(b"[") or is_lines(path):
        return None
    content = select_section(read_json(path), QRELS)
    record_fields = (*ID_FIELDS, *QUERY_ID_FIELDS, "columns", "hits")
    if not isinstance(content, dict) or find_field(content, record_fields):
        return None
    if any(isinstance(of, dict) and find_judgement_columns(of) for of in content.values()):
        return None  # rows of pandas
    return content if all(isinstance(of, dict | list) for of in content.values()) else None


def _name(record: Mapping[str, Any], fields: tuple[str, ...], path: Path, line: int) -> str:
    for name in fields:
        if (column := find_field(record, (name,))) is not None and (value := text_id(record[column])) is not None:
            return value
    raise DataError(f"missing field: expected {' or '.join(fields[:4])} …", path, line)


def read_embedded_queries(path: Path) -> tuple[Query, ...]:
    """Return the queries whose texts are in a table of judgements; none if it has no texts."""
    format = file_format(path)
    if format is None and (rows := read_rated_lines(path)):
        return tuple({row[2]: Query(row[2], row[4], {"text": row[4]}) for _, row in rows if row[4]}.values())
    if (
        format is None
        or (format == "json" and _read_nested(path))
        or (format == "tsv" and _find_columns(_cells(next(read_lines(path), (0, ""))[1])) is None)
    ):
        return ()
    if format == "csv" and not has_header("csv", next(csv_cells(path), (0, [""]))[1]):
        return ()
    queries: dict[str, Query] = {}
    for (_, line), record in read_records(path, format, QRELS):
        name = find_field(record, QUERY_TEXT_FIELDS)
        if name is None or not isinstance(record[name], str) or not record[name].strip():
            return ()
        query = _name(record, QUERY_FIELDS, path, line)
        queries.setdefault(query, Query(query, " ".join(record[name].split()), {name: record[name]}))
    return tuple(queries.values())


def _to_grades(raw_labels: list[Any]) -> tuple[list[int | None], str]:
    """Return labels as whole numbers (None where that is impossible) and a message about the mapping."""
    labels = [parse_label(str(value)) for value in raw_labels]
    if None not in labels:
        return labels, ""
    words = [_word(value) for value in raw_labels]
    scale = next((scale for scale in SCALES if set(words) <= set(scale)), None)
    if scale is not None:
        mapping = ", ".join(f"{word} = {grade}" for grade, word in enumerate(scale))
        return [scale.index(word) for word in words], f"labels are words: {mapping}"
    if set(words) <= (levels := {word: number for number, level in enumerate(LEVELS) for word in level}).keys():
        used = sorted({levels[word] for word in words} | {0})
        grades_of = {word: used.index(levels[word]) for word in words}
        ordered = sorted(grades_of.items(), key=lambda item: item[1])
        return [grades_of[word] for word in words], "labels are words: " + ", ".join(f"{w} = {g}" for w, g in ordered)
    numbers = [_number(str(value)) for value in raw_labels]
    above = sorted({number for number in numbers if number is not None and number > 0})
    if None in numbers or len(above) > MAX_GRADES:
        return labels, ""
    lowest = 0 if min(above) >= 1 and len(above) == len(set(numbers)) else 1  # a scale that begins at 1 or above
    grades = {value: grade for grade, value in enumerate(above, lowest)}
    mapping = ", ".join(f"{value:g} = {grade}" for value, grade in grades.items())
    return [grades.get(number or 0.0, 0) for number in numbers], f"labels are fractions, taken as grades: {mapping}"


def _number(text: str) -> float | None:
    try:
        number = float(text[1:] if re.fullmatch(r"L\d", text) else text)  # NTCIR writes L0, L1 …
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def parse_label(text: str) -> int | None:
    """Parse a whole number, also one written as 1.0; return None for anything else."""
    number = _number(text)
    return int(number) if number is not None and number == int(number) else None


def build_qrels(rows: list[Judgement], path: Path, diagnostics: Diagnostics | None = None) -> Qrels:
    """Make qrels of rows (line, query, document, label); raise if a document has two labels."""
    labels: dict[str, dict[str, int]] = {}
    repeated = 0
    for number, query, document, label in rows:
        previous = labels.setdefault(query, {}).setdefault(document, label)
        if previous != label:
            raise DataError(
                f"document {document} of query {query} has two labels, {previous} and {label}", path, number
            )
        repeated += 1
    if not labels:
        raise DataError("the file contains no data", path)
    repeated -= sum(map(len, labels.values()))
    if repeated and diagnostics is not None:
        diagnostics.add(f"{repeated:,} judgements in {path.name} are duplicates with the same label; each counts once")
    return Qrels.from_dict(labels, path.name)


def match_file_names(qrels: Qrels | None, ids: Sequence[str]) -> Qrels | None:
    """Return qrels with document ids of files where they name a file without folder or suffix.

    A name that several files have stays as it is.
    """
    existing = set(ids)
    if qrels is None or existing.issuperset(qrels.document_ids):
        return qrels
    paths: dict[str, set[str]] = {}
    for path in ids:
        for with_suffix in (True, False):
            paths.setdefault(_file_name(path, with_suffix), set()).add(path)
    unique = {name: next(iter(of)) for name, of in paths.items() if len(of) == 1 and name not in existing}
    if not unique.keys() & set(qrels.document_ids):
        return qrels
    names = [unique.get(name, name) for name in qrels.document_ids]
    return replace(qrels, document_ids=StringColumn.of(names), file=None)


def _file_name(path: str, with_suffix: bool) -> str:
    name = path.rpartition("/")[2]
    return name if with_suffix else name.rpartition(".")[0]
