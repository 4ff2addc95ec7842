"""Tables of documents: JSON lines, JSON, CSV, TSV, Parquet and Arrow, as one file or in pieces in a folder.

A folder is searched for `documents.*`, `docs.*`, `corpus.*` or `collection.*` first, then for a folder of such a name
(`corpus/part-0.parquet`), then all files of the form are pieces of one table, but for those that are called queries,
topics or qrels, and what `datasets` keeps beside its tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.readers.base import JUDGEMENT_FILES, QUERY_FILES, READERS, Reader, Wanted
from pippin.collection.readers.fields import Table, collect_table
from pippin.collection.records import FORMS, error_at, form_of, pieces, read_records
from pippin.errors import DataError

STEMS = ("documents", "docs", "corpus", "collection")
OTHERS = r"dataset_info\.json|dataset_dict\.json|state\.json|urls\.(tsv|txt)|package(-lock)?\.json|\..*"
_NOT_DOCUMENTS = re.compile(f"{QUERY_FILES}|{JUDGEMENT_FILES}|{OTHERS}", re.IGNORECASE)
LOOKS = {
    "jsonl": "`.jsonl`, an object a line: fields as they are, or a search engine's bulk file or dump",
    "json": "`.json`, an array of objects, or an answer to `_search`",
    "csv": "`.csv` with headings",
    "tsv": "`.tsv` with headings, or of two columns, id and text",
    "parquet": "`.parquet`, one file or pieces",
    "arrow": "`.arrow`, as `datasets` saves to disk",
}


def is_other(name: str) -> bool:
    """Whether a file of records is called like something that stands beside documents.

    >>> is_other("queries.jsonl"), is_other("qrels.test.tsv"), is_other("part-00001.jsonl")
    (True, True, False)
    """
    return bool(_NOT_DOCUMENTS.fullmatch(name))


def table_files(path: Path, form: str) -> list[Path]:
    """The files of documents of one form at a path."""
    if path.is_file():
        return [path] if form_of(path) == form else []
    if not path.is_dir():
        return []
    top = [file for file in sorted(path.iterdir()) if file.is_file() and form_of(file) == form]
    for stem in STEMS:
        named = [file for file in top if re.fullmatch(rf"{stem}(\.\w+)+", file.name.lower())]
        if named:
            return [] if (stem, form) == ("corpus", "jsonl") else named[:1]  # that is BEIR's
        if (path / stem).is_dir():
            return pieces(path / stem, form, is_other)
    if (path / "dataset_dict.json").is_file():  # `datasets` saved several splits
        return pieces(path, form, is_other)
    return [] if form == "json" else pieces(path, form, is_other, deep=False)


def collect_files(wanted: Wanted, files: list[Path], form: str) -> Collection:
    """The collection of the records of these files."""
    return collect_table(wanted, Table(lambda: (row for file in files for row in read_records(file, form)), error_at))


def _opener(form: str) -> Callable[[Wanted], Collection]:
    def open_table(wanted: Wanted) -> Collection:
        files = table_files(wanted.path, form) or ([wanted.path] if wanted.path.is_file() else [])
        if not files:
            raise DataError(f"the folder has no {form} file of documents", wanted.path)
        return collect_files(wanted, files, form)

    return open_table


def _recogniser(form: str) -> Callable[[Path], bool]:
    return lambda path: bool(table_files(path, form))


for _form in FORMS:
    READERS.register(_form, Reader(LOOKS[_form], _recogniser(_form), _opener(_form)))
