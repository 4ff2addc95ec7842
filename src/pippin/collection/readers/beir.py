"""BEIR's layout: `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` in one folder.

The judgements are those of `qrels/test.tsv`, else of dev, validation, train, or of the one file there is; another is
named by `judgements`, and the notes say which was taken. The file
of queries holds those of all splits; `build` leaves out what nobody judged.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pippin.collection.collection import Collection
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import READERS, Reader
from pippin.collection.readers.tables import collect_files
from pippin.collection.records import PACKED
from pippin.errors import DataError

CORPUS, QUERIES, JUDGED = "corpus.jsonl", "queries.jsonl", "qrels"
SPLITS = ("test", "dev", "validation", "train")


def _file(folder: Path, name: str) -> Path | None:
    return next((path for end in ("", *PACKED) if (path := folder / f"{name}{end}").is_file()), None)


def _judgements(folder: Path) -> Path | None:
    files = {file.stem: file for file in sorted((folder / JUDGED).glob("*.tsv"))}
    if len(files) > 1 and not files.keys() & set(SPLITS):
        names = ", ".join(file.name for file in files.values())
        raise DataError(f"which judgements ({names})? Name one with --judgements", folder / JUDGED)
    return next((files[split] for split in (*SPLITS, *files) if split in files), None)


def _open(wanted: Wanted) -> Collection:
    folder = wanted.folder
    corpus = _file(folder, CORPUS)
    if corpus is None:
        raise DataError(f"the folder has no {CORPUS}", folder)
    if not wanted.documents_only:
        judgements = wanted.judgements or _judgements(folder)
        wanted = replace(wanted, queries=wanted.queries or _file(folder, QUERIES), judgements=judgements)
    return collect_files(wanted, [corpus], "jsonl")


READERS.register(
    "beir",
    Reader(
        "a folder with `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`",
        lambda path: path.is_dir() and _file(path, CORPUS) is not None,
        _open,
    ),
)
