"""BEIR's layout: `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` in one folder.

The judgements are those of `qrels/test.tsv`, or of the one file there is; another is named by `judgements`. The file
of queries holds those of all splits; `build` leaves out what nobody judged.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.readers.base import READERS, Reader, Wanted
from pippin.collection.readers.fields import collect_table
from pippin.collection.readers.jsonl import json_table
from pippin.errors import DataError

CORPUS, QUERIES, JUDGED = "corpus.jsonl", "queries.jsonl", "qrels"


def _file(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _judgements(folder: Path) -> Path | None:
    files = sorted((folder / JUDGED).glob("*.tsv"))
    tests = [file for file in files if file.stem == "test"] or files
    if len(tests) > 1:
        raise DataError(f"which judgements ({', '.join(file.name for file in tests)})? Name one", folder / JUDGED)
    return tests[0] if tests else None


def _open(wanted: Wanted) -> Collection:
    folder = wanted.folder
    corpus = _file(folder, CORPUS)
    if corpus is None:
        raise DataError(f"the folder has no {CORPUS}", folder)
    if not wanted.documents_only:
        judgements = wanted.judgements or _judgements(folder)
        wanted = replace(wanted, queries=wanted.queries or _file(folder, QUERIES), judgements=judgements)
    return collect_table(wanted, json_table(corpus))


READERS.register(
    "beir",
    Reader(
        "a folder with `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`",
        lambda path: path.is_dir() and _file(path, CORPUS) is not None,
        _open,
    ),
)
