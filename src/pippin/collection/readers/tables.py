"""Tables of documents: JSON lines, JSON, CSV, TSV, XML, Parquet and Arrow, as one file or in pieces in a folder.

In a folder, files of the form that hold documents (and not queries, judgements or what `datasets` keeps beside its
tables) are pieces of one table: those called documents, docs, corpus or collection, or in a folder of such a name
(`corpus/part-0.parquet`), else those at the top, else those further down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.files import LOOK, files_under
from pippin.collection.json_records import DOCUMENTS
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader
from pippin.collection.readers.fields import Table, collect_table
from pippin.collection.readers.roles import (
    SPLITS,
    fields_in,
    first_split,
    has_id,
    name_parts,
    named_role,
    role_of,
    tells_all,
)
from pippin.collection.records import (
    FORMS,
    NAMELESS,
    Row,
    columns_without_headings,
    error_at,
    form_by_content,
    form_of,
    numbers_apart,
    read_records,
)
from pippin.collection.repeated import same_once
from pippin.errors import DataError

ALL_TEXT = ("csv", "tsv", "xml")  # forms in which numbers are texts too
MANIFOLD = ("json", "xml")  # forms of settings and much else, which hold documents where there is an id
BY_CONTENT = ("jsonl", "tsv")  # forms that are seen without a name that says so
STEMS = ("documents", "docs", "corpus", "collection")
LOOKS = {
    "jsonl": "`.jsonl`, an object a line: fields as they are, or a search engine's bulk file or dump",
    "json": "`.json`, objects in an array, by id or a line each, or answers to `_search`",
    "csv": "`.csv` with headings, or id and text alone, separated by commas, semicolons, tabs or bars",
    "tsv": "`.tsv` with headings, or id and text alone",
    "xml": "`.xml`, records with an id: dumps of Wikipedia, Solr, Stack Exchange …",
    "parquet": "`.parquet`, one file or pieces",
    "arrow": "`.arrow`, as `datasets` saves to disk",
}


def table_files(path: Path, form: str) -> list[Path]:
    """The files of documents of one form at a path."""
    if path.is_file():
        return [path] if (form_of(path) or form_by_content(path)) == form else []
    files = _without_role(path, form)
    named = _one_table(_called_documents(files, path), form)
    if named:  # `corpus.jsonl` is BEIR's
        beir = form == "jsonl" and any(n.parent == path and is_corpus(n) for n in named)
        return [] if beir else _in_order(named, path)
    top = [file for file in files if file.parent == path]
    for level in (top, [file for file in files if file.parent != path]):
        looked = [file for file in level[:LOOK] if form not in MANIFOLD or has_id(file, form)]
        if held := [file for file in looked if role_of(file, path) == DOCUMENTS]:
            return _in_order(_one_table([*held, *level[LOOK:]], form), path)
    return first_split([file for file in files[:LOOK] if tells_all(file)])


def _without_role(path: Path, form: str) -> list[Path]:
    """The files of one form in a folder whose names do not say that they are something else than documents; where there
    is none, those whose content has the form, if all of such names do or they are called documents.
    """
    if not path.is_dir():
        return []
    files = [file for file in files_under(path) if form_of(file) == form and named_role(file, path) is None]
    if files or form not in BY_CONTENT:
        return files
    nameless = [f for f in islice(files_under(path), LOOK) if form_of(f) is None and named_role(f, path) is None]
    found = [file for file in nameless if form_by_content(file) == form]
    found = [file for file in found if role_of(file, path) == DOCUMENTS]
    plain = [file for file in nameless if file.suffix.lower() in NAMELESS and file not in found and file.stat().st_size]
    return found if not plain else _called_documents(found, path)


def _one_table(files: list[Path], form: str) -> list[Path]:
    """Those of some files that hold one table: of tables with other fields the largest, in bytes."""
    groups: list[tuple[frozenset[str], list[Path]]] = []
    if len(files) < 2:
        return files
    for file in files[:LOOK]:
        fields = fields_in(file, form)
        group = next((of for known, of in groups if 2 * len(known & fields) >= len(known | fields)), None)
        if group is None:
            groups.append((fields, [file]))
        else:
            group.append(file)
    most = max((of for _, of in groups), key=lambda of: sum(file.stat().st_size for file in of))
    return [*most, *files[LOOK:]]


def is_corpus(file: Path) -> bool:
    """Whether a file is called as BEIR calls its documents."""
    return file.name.lower().startswith("corpus.jsonl")


def _called_documents(files: list[Path], folder: Path) -> list[Path]:
    """The files that are called documents, or stand in a folder that is; the first of several at the top."""
    for stem in STEMS:
        top = [file for file in files if file.parent == folder and re.fullmatch(rf"{stem}(\.\w+)+", file.name.lower())]
        if top:
            return top[:1]
        called = re.compile(rf"(.*[._-])?{stem}([._-].*)?", re.IGNORECASE).fullmatch
        below = [file for file in files if any(map(called, file.relative_to(folder).parts))]
        if below:
            return below
    return []


def _in_order(files: list[Path], folder: Path) -> list[Path]:
    """Pieces in their order, d9 before d10."""
    return sorted(files, key=lambda file: [*file.relative_to(folder).parts[:-1], *numbers_apart(file.name)])


def collect_files(wanted: Wanted, files: list[Path], form: str) -> Collection:
    """The collection of the records of these files."""
    asked = tells_all(files[0])  # each row says a query, a document and how they go together

    def rows() -> Iterator[Row]:
        for where, record in (row for file in files for row in read_records(file, form)):
            yield where, {name: said for name, said in record.items() if name not in asked} if asked else record

    table = Table(rows, error_at, form in ALL_TEXT)
    notes = []
    columns = columns_without_headings(files[0], form)
    if columns and (form == "csv" or len(columns) == 3):  # of a TSV two are usual, and MS MARCO's four
        notes.append(f"{files[0].name} has no headings: its columns are taken for {', '.join(columns)}")
    collection = collect_table(wanted, table, files, notes)
    of_splits = len(files) > 1 and all(set(SPLITS) & set(name_parts(file)) for file in files)
    return same_once(collection) if of_splits or asked else collection


def _opener(form: str) -> Callable[[Wanted], Collection]:
    def open_table(wanted: Wanted) -> Collection:
        files = table_files(wanted.path, form) or ([wanted.path] if wanted.path.is_file() else [])
        if not files:
            raise DataError(f"the folder has no {form} file of documents", wanted.path)
        return collect_files(wanted, files, form)

    return open_table


def _recogniser(form: str) -> Callable[[Path], bool]:
    return lambda path: bool(table_files(path, form))


def _caller(form: str) -> Callable[[Path], bool]:
    return lambda path: bool(_called_documents(_without_role(path, form), path))


for _form in FORMS:
    READERS.register(
        _form, Reader(LOOKS[_form], _recogniser(_form), _opener(_form), endings=(f".{_form}",), called=_caller(_form))
    )
