"""Detect the role of a file: documents, queries, qrels, or other.

The name decides if it can (`queries.dev.tsv`, a folder `qrels`), else the content: a table with query, document and
label columns holds qrels, one with queries and no documents holds queries; lines of three or four columns that end in a
number are qrels. Of several files, the split (test before dev before train) and the ids of judged queries decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from pippin.collections.collection import Query
from pippin.collections.readers.columns import (
    ID_FIELDS,
    MORE_ID_FIELDS,
    QUERY_ID_FIELDS,
    QUERY_TEXT_FIELDS,
    find_field,
)
from pippin.collections.readers.files import MAX_PROBED, files_under, read_head, read_lines
from pippin.collections.readers.json_records import DOCUMENTS, QRELS, QUERIES, find_sections, is_lines, read_json
from pippin.collections.readers.qrels import (
    find_judgement_columns,
    find_rating_field,
    find_relevant_list,
    is_pair_list,
    parse_label,
)
from pippin.collections.readers.records import file_format, read_records
from pippin.collections.readers.topics import QUERY_TEXT_PRIORITY
from pippin.data.qrels import Qrels
from pippin.errors import PippinError

OTHER = "other"
# HTML and Markdown files are documents, even with such a name.
QUERY_FILES = r"(?!.*\.(html?|md)$)(.*[\s._-])?(queries|query|topics?)([\s._-].*)?"
QRELS_FILES = r"(?!.*\.(html?|md)$)(.*[\s._-])?([qp]rels?|judge?ments?)([\s._-].*)?"
OTHER_FILES = (
    r"dataset_infos?\.json|dataset_dict\.json|state\.json|urls\.(tsv|txt)|package(-lock)?\.json|\..*"
    r"|(readme|license|licence|copying|changelog|citation)(\.\w+)?"
)
SPLITS = ("test", "dev", "validation", "valid", "val", "train")
GENERIC_IDS = ("id", "uid", "uuid", "uri", "identifier", "object_id")
DOCUMENT_IDS = tuple(name for name in (*ID_FIELDS, *MORE_ID_FIELDS) if name not in GENERIC_IDS)
TEXT_SUFFIXES = (".txt", ".text", ".trec", ".dat", "")
QRELS_HINT = re.compile(r"relevan|label|rating|rels?\b|annotat|gold|truth|example|test|dev|train", re.IGNORECASE)
TOPICS = re.compile(
    rb"(<\?xml[^>]*\?>\s*)?(<!DOCTYPE[^>]*>\s*)?(<[\w-]+[^>]*>\s*)?<top(ic)?s?[\s>]", re.IGNORECASE
)  # at the top, or below a root element
MAX_LISTED = 10_000  # names of files that are looked at; the content of `LOOK` of them, those that sound like it first
ROWS = 20  # rows that are examined
MIN_BLANKS = 3  # per row in the text of a document


def role_from_name(path: Path, folder: Path) -> str | None:
    """Return the role that the name of a file, or of a folder below `folder`, implies; None if it implies none."""
    if re.fullmatch(OTHER_FILES, path.name, re.IGNORECASE):
        return OTHER
    below = path.relative_to(folder).parts if path.is_relative_to(folder) else (path.name,)
    for part in reversed(below):
        for role, pattern in ((QRELS, QRELS_FILES), (QUERIES, QUERY_FILES)):
            if re.fullmatch(pattern, part, re.IGNORECASE):
                return None if _columns_contradict(path, role) else role
    return None


def _columns_contradict(path: Path, role: str) -> bool:
    """Return whether the columns contradict the name, as in `shopping_queries_dataset_products.parquet`."""
    format = file_format(path)
    if format is None or format in ("json", "jsonl") or role == QRELS or not path.stat().st_size:
        return False
    try:
        record = next((record for _, record in read_records(path, format)), {})
    except PippinError:
        return False
    return bool(record) and (
        find_field(record, DOCUMENT_IDS) is not None or find_field(record, QUERY_TEXT_PRIORITY) is None
    )


def role_from_content(path: Path) -> str:
    """Return the role that the first rows of a file imply; documents by default."""
    try:
        start = read_head(path)
        if TOPICS.match(start):
            return QUERIES
        format = file_format(path)
        if format in (None, "tsv") and (role := _role_of_lines(path)):
            return role
        return DOCUMENTS if format is None else _role_of_table(path, format)
    except PippinError:
        return DOCUMENTS  # reading it raises the error


def _role_of_lines(path: Path) -> str | None:
    """Return the role of lines of columns: qrels have three or four and end in a number, runs have six."""
    rows = [line.split() for _, line in islice(read_lines(path), ROWS)]
    if path.suffix.lower() not in (*TEXT_SUFFIXES, ".tsv") or not rows:
        return None
    if all(len(row) == 6 and row[1].upper() == "Q0" for row in rows):
        return OTHER
    are_judgements = all(len(row) == len(rows[0]) and parse_label(row[-1]) is not None for row in rows)
    return QRELS if are_judgements and len(rows) > 1 and len(rows[0]) in (3, 4) else None


def _role_of_table(path: Path, format: str) -> str:
    if format == "json" and read_head(path).startswith(b"{") and (role := _role_of_object(path)):
        return role
    record = next((record for _, record in islice(read_records(path, format), 1)), None)
    if record is None or any(find_rating_field(value) for value in record.values()):
        return DOCUMENTS if record is None else QRELS
    query_column = find_field(record, (*QUERY_ID_FIELDS, *QUERY_TEXT_FIELDS))
    if find_field(record, DOCUMENT_IDS):
        return QRELS if query_column and (find_judgement_columns(record) or is_pair_list(record)) else DOCUMENTS
    if find_relevant_list(record) and any(isinstance(value, str) and " " in value for value in record.values()):
        return QRELS
    if find_field(record, QUERY_ID_FIELDS) and not find_field(record, QUERY_TEXT_PRIORITY):
        return OTHER
    return QUERIES if query_column else DOCUMENTS


def _role_of_object(path: Path) -> str | None:
    """Return the role of a JSON object: qrels if it maps ids to labels by id, or to lists of ids."""
    try:
        content = read_json(path)
    except PippinError:
        return None  # lines of objects
    values = list(content.values()) if isinstance(content, dict) else []
    if values and all(isinstance(of, list) and all(isinstance(item, str | int) for item in of) for of in values):
        return QRELS
    numbers = all(
        isinstance(of, dict) and all(isinstance(label, int | float) for label in of.values()) for of in values
    )
    return QRELS if values and numbers else None


def read_field_names(path: Path, format: str) -> frozenset[str]:
    """Return the field names of the first record of a file; none if it cannot be read."""
    try:
        record = next((record for _, record in read_records(path, format)), {})
    except PippinError:
        return frozenset()
    return frozenset(record)


def has_id_field(path: Path, format: str) -> bool:
    """Return whether the first record of a file has an id field."""
    return find_field(read_field_names(path, format), (*ID_FIELDS, *MORE_ID_FIELDS)) is not None


def detect_role(path: Path, folder: Path) -> str:
    """Return the role of a file, by its name, else by its content."""
    return role_from_name(path, folder) or (role_from_content(path) if path.stat().st_size else DOCUMENTS)


def find_role_files(
    folder: Path, role: str, matches_name: Callable[[str], object], skip: Sequence[Path] = ()
) -> list[Path]:
    """Return the files of a folder with a role: by name at the top, by folder names, by name deeper, or by content."""
    top = sorted(file for file in folder.iterdir() if file.is_file() and file not in skip)
    by_name = [
        file for file in top if matches_name(file.name) and not re.fullmatch(OTHER_FILES, file.name, re.IGNORECASE)
    ]
    consistent = [file for file in by_name if not _columns_contradict(file, role)]
    if consistent:
        return [file for file in consistent if file.stat().st_size] or consistent
    by_hint = sorted(islice(files_under(folder), MAX_LISTED), key=lambda file: QRELS_HINT.search(file.stem) is None)
    files = [file for file in by_hint if file not in skip and file.stat().st_size]
    by_name = [file for file in files if role_from_name(file, folder) == role]
    return by_name or [
        file for file in files[:MAX_PROBED] if has_section(file, role) or _has_role_by_content(file, folder, role)
    ]


def _has_role_by_content(file: Path, folder: Path, role: str) -> bool:
    return role_from_name(file, folder) is None and _may_hold_topics(file) and role_from_content(file) == role


def unclassified_files(folder: Path, skip: Sequence[Path], max_size: int) -> list[Path]:
    """Return the files of a folder whose names imply no role, up to a size in bytes."""
    files = [
        file
        for file in islice(files_under(folder), MAX_LISTED)
        if file not in skip and role_from_name(file, folder) is None
    ]
    tables = [file for file in files if _may_hold_topics(file) and 0 < file.stat().st_size <= max_size]
    return (
        tables if len(tables) <= MAX_PROBED else [file for file in tables if file_format(file) is not None][:MAX_PROBED]
    )


def has_section(path: Path, role: str) -> bool:
    """Return whether a file is a JSON object with documents and a section of that role."""
    try:
        is_object = path.is_file() and file_format(path) == "json" and read_head(path).startswith(b"{")
        return is_object and not is_lines(path) and role in find_sections(read_json(path))
    except PippinError:
        return False


def denormalized_columns(path: Path) -> tuple[str, ...]:
    """Return the query and label columns of a table that has query, document text and label in each row.

    Empty if the file is not such a table.
    """
    format = file_format(path)
    try:
        rows = (
            []
            if format is None or not path.stat().st_size
            else [r for _, r in islice(read_records(path, format), ROWS)]
        )
    except PippinError:
        return ()
    first = rows[0] if rows else {}
    columns, text = find_judgement_columns(first), find_field(first, QUERY_TEXT_FIELDS)
    if columns is None or text is None or not (find_field(first, QUERY_ID_FIELDS) and find_field(first, DOCUMENT_IDS)):
        return ()
    query_columns = tuple(dict.fromkeys((columns[0], text, columns[2])))
    texts = [str(row.get(name) or "") for row in rows for name in row if name not in (*query_columns, columns[1])]
    return query_columns if sum(text.count(" ") for text in texts) >= MIN_BLANKS * len(rows) else ()


def has_relevant_lists(path: Path) -> bool:
    """Return whether the queries of a file list their relevant documents."""
    format = file_format(path)
    try:
        record = next((record for _, record in read_records(path, format, QUERIES)), {}) if format else {}
    except PippinError:
        return False
    return find_relevant_list(record) is not None


def _may_hold_topics(path: Path) -> bool:
    return file_format(path) is not None or path.suffix.lower() in TEXT_SUFFIXES or _is_topic_file(path)


def _is_topic_file(path: Path) -> bool:
    """Return whether a file of any name (`04.testset`) begins as TREC topics do."""
    try:
        return TOPICS.match(read_head(path)) is not None
    except PippinError:
        return False


def select_split(files: Sequence[Path]) -> list[Path]:
    """Return the files of the first split in `SPLITS`, those with the shortest name."""
    parts = {file: name_parts(file) for file in files}
    for split in SPLITS:
        of_split = [file for file in files if split in parts[file]]
        if of_split:
            shortest = min(len(parts[file]) for file in of_split)
            return [file for file in of_split if len(parts[file]) == shortest]
    return list(files)


def name_parts(file: Path) -> list[str]:
    """Return the parts of a file name without suffixes, part numbers and words for the role.

    >>> name_parts(Path("qrels.dev.small.tsv"))
    ['dev', 'small']
    """
    name = file.name.lower()
    while Path(name).suffix in (".gz", ".zst", ".tsv", ".txt", ".csv", ".json", ".jsonl", ".parquet", ".arrow", ".xml"):
        name = Path(name).stem
    words = [part for part in re.split(r"[._\s-]+", name) if part and not re.fullmatch(r"(part|piece)?\d*|of", part)]
    return [part for part in words if not re.fullmatch(r"queries|query|topics?|[qp]rels?|judge?ments?", part)]


def select_query_files(
    files: Sequence[Path], qrels: Qrels, qrels_files: Sequence[Path], read: Callable[[Path], tuple[Query, ...]]
) -> list[Path]:
    """Return the query files that contain the judged queries.

    Files that contain all judged queries that any file has come first, of these the one named like the qrels; else
    all files that contain some.
    """
    judged_ids = set(qrels.query_ids)
    found_ids: dict[Path, set[str]] = {}
    for file in files:
        try:
            found_ids[file] = {query.id for query in read(file)} & judged_ids
        except PippinError:
            found_ids[file] = set()
    all_found = set().union(*found_ids.values())
    best = [file for file in files if found_ids[file] == all_found != set()]
    same_name = [file for file in best if any(name_parts(file) == name_parts(qrels_file) for qrels_file in qrels_files)]
    return same_name or best or [file for file in files if found_ids[file]]
