"""Judgements as people have them: TREC's four columns, three as BEIR has them, two where all that is listed is
relevant, or tables and JSON with named fields, among them queries with lists of what is relevant.

Labels are whole numbers as they stand. Fractions and words become grades in their order, and a note says which: what is
not above zero is 0, the fractions above it 1, 2, 3 … from the smallest on (0, 1, 2 … where all are 1 and more); words
are looked up in `SCALES`, then in `LEVELS`. A judgement that stands twice with the same label counts once; with another
label it is an error. Where a table of judgements holds the text of the queries too, as ESCI's, `queries_within` finds
them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from pippin.collection.collection import Query
from pippin.collection.field_names import (
    ID_FIELDS,
    LABEL_FIELDS,
    MORE_ID_FIELDS,
    QUERY_ID_FIELDS,
    QUERY_TEXT_FIELDS,
    ending_field,
    find_field,
    folded,
    text_id,
)
from pippin.collection.files import head, lines
from pippin.collection.json_records import JUDGEMENTS, is_lines, part_of, read_json
from pippin.collection.records import CELLS, csv_cells, form_of, has_headings, read_records
from pippin.data.texts import Texts
from pippin.data.trec import Judgements
from pippin.errors import DataError

QUERY_FIELDS = (*QUERY_ID_FIELDS, "topic", *QUERY_TEXT_FIELDS)
DOCUMENT_FIELDS = (*ID_FIELDS[1:], *MORE_ID_FIELDS, "document", "doc", "url", "path", "file", "filename", "id")
SCALES = (  # from the lowest grade, 0, on
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
LEVELS = (  # other words, which begin at 0 where the lowest are used and at 1 where they are not
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
ROW_FIELDS = ("", "index", "unnamed_0", "row")  # what counts the rows of a table
WIDE = 4  # columns that a table with a column for each query, or each document, has more than
LOOK = 100  # rows that tell where the label stands
MOST = 30  # grades that fractions may become; gains double with each

Judged = tuple[int, str, str, int]  # line, query, document, label
Raw = tuple[int, str, str, Any]
Places = tuple[int, int, int | None]  # of query, document and label


@dataclass
class Told:
    """What a reader of judgements tells beside them."""

    notes: list[str] = field(default_factory=list)


def read_judged(path: Path, told: Told | None = None) -> Judgements:
    """The judgements of a file: named fields (JSON lines, JSON, CSV, Parquet, Arrow), three columns, or TREC's four."""
    rows = list(raw_rows(path, told))
    labels, note = _graded([label for *_, label in rows])
    if told is not None and note:
        told.notes.append(note)
    judged: list[Judged] = []
    for (line, query, document, given), label in zip(rows, labels, strict=True):
        if label is None:
            raise DataError(f"the label {given!r} is neither a whole number nor a grade of a known scale", path, line)
        judged.append((line, query, document, label))
    return gather(judged, path, told)


def raw_rows(path: Path, told: Told | None = None) -> Iterator[Raw]:
    """What is judged, labels as written."""
    form = form_of(path)
    if form is None and (rows := rated_lines(path)):
        return ((line, row[2], row[3], row[1]) for line, row in rows)
    headings = next(CELLS[form](path), (0, [""]))[1] if form is not None and form in CELLS else []
    if form is not None and (one := _one_side(headings)):
        return _wide(path, form, headings, one, told)
    bare = form in (None, "tsv") and not head(path).startswith((b"{", b"["))
    named = form != "csv" or (has_headings("csv", headings) and (len(headings) not in (3, 4) or _places(headings)))
    if bare or not named:
        return _columns(path, form, told)
    return _table(path, form, told)


def _one_side(headings: list[str]) -> str | None:
    """The column of queries, or of documents, in a table with a column for each of the other; None for other tables."""
    query, document, label = _fields(headings)
    wide = (query is None) != (document is None) and label is None and len(headings) > WIDE
    return (query or document) if wide else None


def _wide(path: Path, form: str, headings: list[str], one: str, told: Told | None) -> Iterator[Raw]:
    """A row for each document and a column for each query, or the other way round; empty cells say nothing."""
    place, by_query = headings.index(one), find_field([one], QUERY_FIELDS) is not None
    others = [(at, name) for at, cell in enumerate(headings) if at != place and (name := text_id(cell)) is not None]
    for number, cells in islice(CELLS[form](path), 1, None):
        if len(cells) != len(headings) or (row := text_id(cells[place])) is None:
            raise DataError(f"an id and {len(headings) - 1} columns of labels are expected", path, number)
        for at, name in others:
            if cells[at].strip():
                yield number, *((row, name) if by_query else (name, row)), cells[at].strip()
    if told is not None:
        what = "document" if by_query else "query"
        told.notes.append(f"{path.name} has a column for each {what}; empty cells are not judged")


def rated_lines(path: Path) -> list[tuple[int, re.Match[str]]]:
    """The lines of a list of ratings, as Elasticsearch's learning to rank has it; none where it is something else."""
    rows = ((number, RATED.fullmatch(line.strip())) for number, line in lines(path) if line[0] != "#")
    if (first := next(rows, (0, None)))[1] is None:
        return []
    found = [first, *rows]
    if wrong := next((number for number, row in found if row is None), None):
        raise DataError("a rating is expected: label, qid:number, # and the document", path, wrong)
    return [(number, row) for number, row in found if row is not None]


def _columns(path: Path, form: str | None, told: Told | None) -> Iterator[Raw]:
    """Two columns to five, with headings or without, separated by tabs (ids may have blanks), blanks, or commas."""
    given = csv_cells(path) if form == "csv" else ((n, _cells(line)) for n, line in lines(path) if line[0] != "#")
    rows = [(number, [cell.strip() for cell in cells]) for number, cells in given]
    if not rows:
        raise DataError("the file has no line of data", path)
    first, width = rows[0][1], len(rows[0][1])
    places = _places(first)
    headed = places is not None
    if places is None:
        if width not in (2, 3, 4, 5):
            raise DataError(f"a judgement has 3 or 4 columns (query, document, label), not {width}", path, rows[0][0])
        headed = width > 2 and len(rows) > 1 and _are_headings(first, rows[1][1])
        places = _usual_places(width, [cells for _, cells in rows[headed : headed + LOOK]])
    for number, cells in rows[headed:]:
        if len(cells) != width:
            raise DataError(f"{width} columns are expected, not {len(cells)}", path, number)
        query, document = text_id(cells[places[0]]), text_id(cells[places[1]])
        if query is None or document is None:
            raise DataError("the query or the document has no id", path, number)
        yield number, query, document, 1 if places[2] is None else cells[places[2]]
    if places[2] is None and told is not None:
        told.notes.append(WITHOUT_LABELS)


def _are_headings(first: list[str], second: list[str]) -> bool:
    """Whether a row is one of headings, and not a judgement whose label is none."""
    numbers = any(_number(cell) is not None for cell in first)
    return not numbers and first[0] != second[0] and label_of(second[-1]) is not None


def _usual_places(width: int, rows: list[list[str]]) -> Places:
    """Where query, document and label stand in columns without names: the label in the last that can be one."""
    if width == 2:
        return 0, 1, None
    if width == 5:  # TREC's prels: topic, document, label, method, probability
        return 0, 1, 2
    if width == 4:
        return 0, 2, 3
    graded = [place for place in range(3) if all(_may_be_label(cells[place]) for cells in rows if cells[place:])]
    label = graded[-1] if graded else 2
    query, document = (place for place in range(3) if place != label)
    return query, document, label


def _may_be_label(cell: str) -> bool:
    return _number(cell) is not None or any(_word(cell) in scale for scale in (*SCALES, *LEVELS))


def _word(label: Any) -> str:
    """A label as scales have it.

    >>> _word("Non-Relevant"), _word("highly_relevant")
    ('non relevant', 'highly relevant')
    """
    return " ".join(re.sub(r"[_-]", " ", str(label).lower()).split())


def _cells(line: str) -> list[str]:
    for cells in (line.split("\t"), line.split()):
        if len(cells) > 2:
            return cells
    return next((cells for mark in "\t,;|" if len(cells := line.split(mark)) > 1), line.split())


def _places(headings: list[str]) -> Places | None:
    """Where query, document and label stand, if these are headings."""
    query, document, label = _fields(headings)
    if query is None or document is None or (label is None and not only_pairs(headings)):
        return None
    return headings.index(query), headings.index(document), None if label is None else headings.index(label)


def _fields(record: list[str] | Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    query, document = find_field(record, QUERY_FIELDS), find_field(record, DOCUMENT_FIELDS)
    return query, document, find_field(record, LABEL_FIELDS) or ending_field(record, LABEL_FIELDS)


def named_fields(record: list[str] | Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The fields of a record that hold query, document and label; None where one of them is missing.

    >>> named_fields(["id", "query", "query_id", "product_id", "esci_label"])
    ('query_id', 'product_id', 'esci_label')
    """
    query, document, label = _fields(record)
    return None if query is None or document is None or label is None else (query, document, label)


def _table(path: Path, form: str | None, told: Told | None) -> Iterator[Raw]:
    if form == "json" and (content := _nested(path)):
        for query, documents in content.items():
            yield from ((1, text_id(query) or "", document, label) for document, label in _listed(documents))
        return
    unlabelled = False
    for (_, line), record in read_records(path, form or "jsonl", JUDGEMENTS):
        ratings = next((value for value in record.values() if rated(value)), None)
        if ratings is not None:
            query = _name(record, (*QUERY_FIELDS, "id"), path, line)
            yield from ((line, query, _name(one, DOCUMENT_FIELDS, path, line), one[rated(ratings)]) for one in ratings)
            continue
        listed = find_list(record)
        if listed is not None:
            query = _name(record, (*QUERY_ID_FIELDS, "id", *QUERY_FIELDS), path, line)
            yield from ((line, query, document, label) for document, label in _listed(record[listed]))
            continue
        query = _name(record, QUERY_FIELDS, path, line)
        document = _name(record, DOCUMENT_FIELDS, path, line)
        name = find_field(record, LABEL_FIELDS) or ending_field(record, LABEL_FIELDS)
        unlabelled = name is None and only_pairs(record)
        if not unlabelled and (name is None or record[name] is None):
            raise DataError(f"there is no label (a field called {', '.join(LABEL_FIELDS)})", path, line)
        yield line, query, document, 1 if name is None else record[name]
    if unlabelled and told is not None:
        told.notes.append(WITHOUT_LABELS)


def only_pairs(record: list[str] | Mapping[str, Any]) -> bool:
    """Whether a record names a query and a document, and nothing else but perhaps its row.

    >>> only_pairs(["", "qid", "docid"]), only_pairs(["qid", "docid", "value"])
    (True, False)
    """
    query, document, label = _fields(record)
    others = [name for name in record if name not in (query, document) and folded(name) not in ROW_FIELDS]
    return query is not None and document is not None and query != document and label is None and not others


def _listed(documents: Any) -> Iterator[tuple[str, Any]]:
    """Documents with their labels, or a list of relevant ones."""
    of = documents.items() if isinstance(documents, dict) else ((document, 1) for document in documents)
    return ((text_id(document) or "", label if isinstance(label, int | float) else 1) for document, label in of)


def find_list(record: Mapping[str, Any]) -> str | None:
    """The field of a query that lists what is relevant to it, ids alone or with labels; None where there is none.

    >>> find_list({"qid": 1, "query": "apples", "answer_pids": [7, 9]}), find_list({"id": 1, "tags": ["fruit"]})
    ('answer_pids', None)
    """
    for name, value in record.items():
        listed = LISTS.fullmatch(folded(name)) and isinstance(value, list | dict) and value
        if listed and all("%20" not in (text_id(one) or "%20") for one in value):  # ids, and not texts
            return name
    return None


def rated(value: Any) -> str | None:
    """The field of the label in a list of rated documents, as search engines write ratings; None for anything else.

    >>> rated([{"_id": "d", "rating": 3}]), rated([{"_id": "d"}]), rated("text")
    ('rating', None, None)
    """
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return None
    return find_field(value[0], LABEL_FIELDS) if find_field(value[0], DOCUMENT_FIELDS) else None


def _nested(path: Path) -> dict[str, Any] | None:
    """The content of a JSON file that maps queries to documents with their labels, or to lists of relevant ones."""
    if head(path).startswith(b"[") or is_lines(path):
        return None
    content = part_of(read_json(path), JUDGEMENTS)
    known = (*ID_FIELDS, *QUERY_ID_FIELDS, "columns", "hits")
    if not isinstance(content, dict) or find_field(content, known):
        return None
    if any(isinstance(of, dict) and named_fields(of) for of in content.values()):
        return None  # rows of pandas
    return content if all(isinstance(of, dict | list) for of in content.values()) else None


def _name(record: Mapping[str, Any], fields: tuple[str, ...], path: Path, line: int) -> str:
    for name in fields:
        if (there := find_field(record, (name,))) is not None and (said := text_id(record[there])) is not None:
            return said
    raise DataError(f"a judgement needs a field called {' or '.join(fields[:4])} …", path, line)


def queries_within(path: Path) -> tuple[Query, ...]:
    """The queries whose texts stand in a table of judgements; none where they do not."""
    form = form_of(path)
    if form is None and (rows := rated_lines(path)):
        return tuple({row[2]: Query(row[2], row[4], {"text": row[4]}) for _, row in rows if row[4]}.values())
    if (
        form is None
        or (form == "json" and _nested(path))
        or (form == "tsv" and _places(_cells(next(lines(path), (0, ""))[1])) is None)
    ):
        return ()
    if form == "csv" and not has_headings("csv", next(csv_cells(path), (0, [""]))[1]):
        return ()
    queries: dict[str, Query] = {}
    for (_, line), record in read_records(path, form, JUDGEMENTS):
        name = find_field(record, QUERY_TEXT_FIELDS)
        if name is None or not isinstance(record[name], str) or not record[name].strip():
            return ()
        query = _name(record, QUERY_FIELDS, path, line)
        queries.setdefault(query, Query(query, " ".join(record[name].split()), {name: record[name]}))
    return tuple(queries.values())


def _graded(given: list[Any]) -> tuple[list[int | None], str]:
    """Labels as whole numbers, None where that cannot be, and a sentence about what had to be changed."""
    labels = [label_of(str(value)) for value in given]
    if None not in labels:
        return labels, ""
    words = [_word(value) for value in given]
    scale = next((scale for scale in SCALES if set(words) <= set(scale)), None)
    if scale is not None:
        said = ", ".join(f"{word} = {grade}" for grade, word in enumerate(scale))
        return [scale.index(word) for word in words], f"labels are words: {said}"
    if set(words) <= (levels := {word: place for place, level in enumerate(LEVELS) for word in level}).keys():
        used = sorted({levels[word] for word in words} | {0})
        grades_of = {word: used.index(levels[word]) for word in words}
        ordered = sorted(grades_of.items(), key=lambda one: one[1])
        return [grades_of[word] for word in words], "labels are words: " + ", ".join(f"{w} = {g}" for w, g in ordered)
    numbers = [_number(str(value)) for value in given]
    above = sorted({number for number in numbers if number is not None and number > 0})
    if None in numbers or len(above) > MOST:
        return labels, ""
    lowest = 0 if min(above) >= 1 and len(above) == len(set(numbers)) else 1  # a scale that begins at 1 or above
    grades = {value: grade for grade, value in enumerate(above, lowest)}
    said = ", ".join(f"{value:g} = {grade}" for value, grade in grades.items())
    return [grades.get(number or 0.0, 0) for number in numbers], f"labels are fractions, taken as grades: {said}"


def _number(text: str) -> float | None:
    try:
        number = float(text[1:] if re.fullmatch(r"L\d", text) else text)  # NTCIR writes L0, L1 …
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def label_of(text: str) -> int | None:
    """A whole number, also one written as 1.0, or None."""
    number = _number(text)
    return int(number) if number is not None and number == int(number) else None


def gather(rows: list[Judged], path: Path, told: Told | None = None) -> Judgements:
    """Judgements of rows (line, query, document, label)."""
    judged: dict[str, dict[str, int]] = {}
    repeated = 0
    for number, query, document, label in rows:
        before = judged.setdefault(query, {}).setdefault(document, label)
        if before != label:
            raise DataError(f"document {document} of query {query} is judged twice, {before} and {label}", path, number)
        repeated += 1
    if not judged:
        raise DataError("the file has no line of data", path)
    repeated -= sum(map(len, judged.values()))
    if repeated and told is not None:
        told.notes.append(f"{repeated:,} judgements stand in {path.name} twice, with the same label; they count once")
    return Judgements.of(judged, path.name)


def matched(judgements: Judgements | None, ids: Sequence[str]) -> Judgements | None:
    """Judgements by the ids of files, where they name some by the file's name alone, with or without its ending; a name
    that several files have stays as it is.
    """
    known = set(ids)
    if judgements is None or known.issuperset(judgements.document_ids):
        return judgements
    paths: dict[str, set[str]] = {}
    for path in ids:
        for ending in (True, False):
            paths.setdefault(_file_name(path, ending), set()).add(path)
    one = {name: next(iter(of)) for name, of in paths.items() if len(of) == 1 and name not in known}
    if not one.keys() & set(judgements.document_ids):
        return judgements
    names = [one.get(name, name) for name in judgements.document_ids]
    return replace(judgements, document_ids=Texts.of(names), file=None)


def _file_name(path: str, ending: bool) -> str:
    name = path.rpartition("/")[2]
    return name if ending else name.rpartition(".")[0]
