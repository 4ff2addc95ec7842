"""What does a file of a collection hold: documents, queries, judgements, or something else?

Its name says so where it can (`queries.dev.tsv`, a folder `qrels`). Where it does not, its content is looked at: a
table with a query, a document and a label on each row holds judgements, one with queries and no documents queries;
lines of three or four columns that end in a number are judgements. Of several files, the split (test before dev before
train) and the queries that were judged decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from pippin.collection.collection import Query
from pippin.collection.field_names import (
    ID_FIELDS,
    MORE_ID_FIELDS,
    QUERY_ID_FIELDS,
    QUERY_TEXT_FIELDS,
    find_field,
)
from pippin.collection.files import LOOK, files_under, head, lines
from pippin.collection.json_records import DOCUMENTS, JUDGEMENTS, QUERIES, is_lines, parts_of, read_json
from pippin.collection.readers.judged import find_list, label_of, named_fields, only_pairs, rated
from pippin.collection.records import form_of, read_records
from pippin.collection.topics import USUAL
from pippin.data.trec import Judgements
from pippin.errors import PippinError

OTHER = "other"
# Not pages of a folder of pages, or notes of a folder of notes, that happen to be called so.
QUERY_FILES = r"(?!.*\.(html?|md)$)(.*[\s._-])?(queries|query|topics?)([\s._-].*)?"
JUDGEMENT_FILES = r"(?!.*\.(html?|md)$)(.*[\s._-])?([qp]rels?|judge?ments?)([\s._-].*)?"
OTHERS = (
    r"dataset_infos?\.json|dataset_dict\.json|state\.json|urls\.(tsv|txt)|package(-lock)?\.json|\..*"
    r"|(readme|license|licence|copying|changelog|citation)(\.\w+)?"
)
SPLITS = ("test", "dev", "validation", "valid", "val", "train")
OF_ANYTHING = ("id", "uid", "uuid", "uri", "identifier", "object_id")
DOCUMENT_IDS = tuple(name for name in (*ID_FIELDS, *MORE_ID_FIELDS) if name not in OF_ANYTHING)
TEXTS = (".txt", ".text", ".trec", ".dat", "")
HINT = re.compile(r"relevan|label|rating|rels?\b|annotat|gold|truth|example|test|dev|train", re.IGNORECASE)
TOPICS = re.compile(
    rb"(<\?xml[^>]*\?>\s*)?(<!DOCTYPE[^>]*>\s*)?(<[\w-]+[^>]*>\s*)?<top(ic)?s?[\s>]", re.IGNORECASE
)  # at the top, or below a root of any name
MANY = 10_000  # names of files that are looked at; the content of `LOOK` of them, those that sound like it first
ROWS = 20  # rows that are looked at
SENTENCE = 3  # blanks in what a row says about a document, where that is its text


def named_role(path: Path, folder: Path) -> str | None:
    """What the name of a file says, or that of the folder it is in, below the collection's own."""
    if re.fullmatch(OTHERS, path.name, re.IGNORECASE):
        return OTHER
    below = path.relative_to(folder).parts if path.is_relative_to(folder) else (path.name,)
    for part in reversed(below):
        for role, pattern in ((JUDGEMENTS, JUDGEMENT_FILES), (QUERIES, QUERY_FILES)):
            if re.fullmatch(pattern, part, re.IGNORECASE):
                return None if _contradicted(path, role) else role
    return None


def _contradicted(path: Path, role: str) -> bool:
    """Whether the columns of a table say something else than its name (`shopping_queries_dataset_products.parquet`)."""
    form = form_of(path)
    if form is None or form in ("json", "jsonl") or role == JUDGEMENTS or not path.stat().st_size:
        return False
    try:
        record = next((record for _, record in read_records(path, form)), {})
    except PippinError:
        return False
    return bool(record) and (find_field(record, DOCUMENT_IDS) is not None or find_field(record, USUAL) is None)


def content_role(path: Path) -> str:
    """What the first rows of a file say; documents where nothing speaks against it."""
    try:
        start = head(path)
        if TOPICS.match(start):
            return QUERIES
        form = form_of(path)
        if form in (None, "tsv") and (role := _role_of_lines(path)):
            return role
        return DOCUMENTS if form is None else _role_of_table(path, form)
    except PippinError:
        return DOCUMENTS  # whoever reads it says what is wrong


def _role_of_lines(path: Path) -> str | None:
    """Judgements have three or four columns and end in a number, runs have six."""
    rows = [line.split() for _, line in islice(lines(path), ROWS)]
    if path.suffix.lower() not in (*TEXTS, ".tsv") or not rows:
        return None
    if all(len(row) == 6 and row[1].upper() == "Q0" for row in rows):
        return OTHER
    plain = all(len(row) == len(rows[0]) and label_of(row[-1]) is not None for row in rows)
    return JUDGEMENTS if plain and len(rows) > 1 and len(rows[0]) in (3, 4) else None


def _role_of_table(path: Path, form: str) -> str:
    if form == "json" and head(path).startswith(b"{") and (role := _role_of_object(path)):
        return role
    record = next((record for _, record in islice(read_records(path, form), 1)), None)
    if record is None or any(rated(value) for value in record.values()):
        return DOCUMENTS if record is None else JUDGEMENTS
    asked = find_field(record, (*QUERY_ID_FIELDS, *QUERY_TEXT_FIELDS))
    if find_field(record, DOCUMENT_IDS):
        return JUDGEMENTS if asked and (named_fields(record) or only_pairs(record)) else DOCUMENTS
    if find_list(record) and any(isinstance(value, str) and " " in value for value in record.values()):
        return JUDGEMENTS
    if find_field(record, QUERY_ID_FIELDS) and not find_field(record, USUAL):
        return OTHER
    return QUERIES if find_field(record, (*QUERY_ID_FIELDS, *QUERY_TEXT_FIELDS)) else DOCUMENTS


def _role_of_object(path: Path) -> str | None:
    """An object that maps ids to numbers by id, or to lists of ids, holds judgements."""
    try:
        content = read_json(path)
    except PippinError:
        return None  # lines of objects
    values = list(content.values()) if isinstance(content, dict) else []
    if values and all(isinstance(of, list) and all(isinstance(one, str | int) for one in of) for of in values):
        return JUDGEMENTS
    numbers = all(isinstance(of, dict) and all(isinstance(one, int | float) for one in of.values()) for of in values)
    return JUDGEMENTS if values and numbers else None


def fields_in(path: Path, form: str) -> frozenset[str]:
    """The names of the fields of the first record of a file; none where it cannot be read."""
    try:
        record = next((record for _, record in read_records(path, form)), {})
    except PippinError:
        return frozenset()
    return frozenset(record)


def has_id(path: Path, form: str) -> bool:
    """Whether the first record of a file has something that can be its id."""
    return find_field(fields_in(path, form), (*ID_FIELDS, *MORE_ID_FIELDS)) is not None


def role_of(path: Path, folder: Path) -> str:
    """What a file holds."""
    return named_role(path, folder) or (content_role(path) if path.stat().st_size else DOCUMENTS)


def beside(folder: Path, role: str, matching: Callable[[str], object], skip: Sequence[Path] = ()) -> list[Path]:
    """The files of a folder that hold the queries, or the judgements: by name at the top, by the names of folders, by
    name deeper down, or else by content.
    """
    top = sorted(file for file in folder.iterdir() if file.is_file() and file not in skip)
    called = [file for file in top if matching(file.name) and not re.fullmatch(OTHERS, file.name, re.IGNORECASE)]
    by_name = [file for file in called if not _contradicted(file, role)]
    if by_name:
        return [file for file in by_name if file.stat().st_size] or by_name
    likely = sorted(islice(files_under(folder), MANY), key=lambda file: HINT.search(file.stem) is None)
    files = [file for file in likely if file not in skip and file.stat().st_size]
    called = [file for file in files if named_role(file, folder) == role]
    return called or [
        file for file in files[:LOOK]
        if holds(file, role) or (named_role(file, folder) is None and _may_be(file) and content_role(file) == role)
    ]  # fmt: skip


def unnamed(folder: Path, skip: Sequence[Path], largest: int) -> list[Path]:
    """Files of a folder that may hold anything, by their names, and are not larger than that."""
    files = [
        file for file in islice(files_under(folder), MANY) if file not in skip and named_role(file, folder) is None
    ]
    tables = [file for file in files if _may_be(file) and 0 < file.stat().st_size <= largest]
    return tables if len(tables) <= LOOK else [file for file in tables if form_of(file) is not None][:LOOK]


def holds(path: Path, role: str) -> bool:
    """Whether a file is a JSON object with documents and, under such a name, queries or judgements."""
    try:
        return path.is_file() and form_of(path) == "json" and head(path).startswith(b"{") and role in parts_in(path)
    except PippinError:
        return False


def parts_in(path: Path) -> dict[str, str]:
    """The roles that a JSON file has parts for."""
    return {} if is_lines(path) else parts_of(read_json(path))


def tells_all(path: Path) -> tuple[str, ...]:
    """The columns of query and label in a table of judgements that has the texts of queries and documents on its rows;
    none where it is no such table.
    """
    form = form_of(path)
    try:
        rows = [] if form is None or not path.stat().st_size else [r for _, r in islice(read_records(path, form), ROWS)]
    except PippinError:
        return ()
    first = rows[0] if rows else {}
    found, text = named_fields(first), find_field(first, QUERY_TEXT_FIELDS)
    if found is None or text is None or not (find_field(first, QUERY_ID_FIELDS) and find_field(first, DOCUMENT_IDS)):
        return ()
    asked = tuple(dict.fromkeys((found[0], text, found[2])))
    others = [str(row.get(name) or "") for row in rows for name in row if name not in (*asked, found[1])]
    return asked if sum(said.count(" ") for said in others) >= SENTENCE * len(rows) else ()


def lists(path: Path) -> bool:
    """Whether the queries of a file list what is relevant to them."""
    form = form_of(path)
    try:
        record = next((record for _, record in read_records(path, form, QUERIES)), {}) if form else {}
    except PippinError:
        return False
    return find_list(record) is not None


def _may_be(path: Path) -> bool:
    return form_of(path) is not None or path.suffix.lower() in TEXTS or _are_topics(path)


def _are_topics(path: Path) -> bool:
    """Whether a file of any name (`04.testset`) begins as TREC's topics do."""
    try:
        return TOPICS.match(head(path)) is not None
    except PippinError:
        return False


def first_split(files: Sequence[Path]) -> list[Path]:
    """Of files for several splits those of the first, the plainest name alone where one is plainest."""
    parts = {file: name_parts(file) for file in files}
    for split in SPLITS:
        of_split = [file for file in files if split in parts[file]]
        if of_split:
            shortest = min(len(parts[file]) for file in of_split)
            return [file for file in of_split if len(parts[file]) == shortest]
    return list(files)


def name_parts(file: Path) -> list[str]:
    """The parts of a name without its endings, and without what says the role.

    >>> name_parts(Path("qrels.dev.small.tsv"))
    ['dev', 'small']
    """
    name = file.name.lower()
    while Path(name).suffix in (".gz", ".zst", ".tsv", ".txt", ".csv", ".json", ".jsonl", ".parquet", ".arrow", ".xml"):
        name = Path(name).stem
    words = [part for part in re.split(r"[._\s-]+", name) if part and not re.fullmatch(r"(part|piece)?\d*|of", part)]
    return [part for part in words if not re.fullmatch(r"queries|query|topics?|[qp]rels?|judge?ments?", part)]


def asked_files(
    files: Sequence[Path], judgements: Judgements, judged: Sequence[Path], read: Callable[[Path], tuple[Query, ...]]
) -> list[Path]:
    """Of several files of queries those that know the judged ones: the one that knows all that any does, that named as
    the judgements first, else all that know some.
    """
    judged_ids = set(judgements.query_ids)
    known: dict[Path, set[str]] = {}
    for file in files:
        try:
            known[file] = {query.id for query in read(file)} & judged_ids
        except PippinError:
            known[file] = set()
    all_known = set().union(*known.values())
    best = [file for file in files if known[file] == all_known != set()]
    named = [file for file in best if any(name_parts(file) == name_parts(one) for one in judged)]
    return named or best or [file for file in files if known[file]]
