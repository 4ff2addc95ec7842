"""Which format is this, and what does reading it need? The shelf of readers, and `read_collection` on top of it.

A reader says by name and first bytes whether a path is its own, and makes a `Collection` of it whose documents are read
anew, one after the other, each time they are asked for. What all formats share stands here: how queries and judgements
are found beside the documents, how streams are chosen, and what is checked when all is together.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pippin.collection.collection import ANCHOR, WHOLE, Collection, Document, Query
from pippin.collection.files import first_files, head
from pippin.collection.readers.judged import read_judged
from pippin.collection.topics import read_queries
from pippin.data.irds import PREFIX, is_id
from pippin.data.trec import Judgements
from pippin.errors import DataError, UnknownName
from pippin.registry import Registry

HEADINGS, EXTRACTED = "headings", "extracted_title"
WEB_STREAMS = ("body", ANCHOR, "title", "url", EXTRACTED)
DESCRIPTIONS = {
    "title": "the title of the document",
    "abstract": "the abstract of the document",
    "body": "the text of the document without its title",
    HEADINGS: "the headings of the document",
    EXTRACTED: "the title that stands on the page, by its looks",
    ANCHOR: "the texts of the links that point to the document",
    "url": "the address of the document without its scheme",
}
# Not pages of a folder of pages that happen to be called so.
QUERY_FILES = r"(?!.*\.html?$)(.*[._-])?(queries|query|topics?)([._-].*)?"
JUDGEMENT_FILES = r"(?!.*\.html?$)(.*[._-])?(qrels?|judge?ments?)([._-].*)?"


PLAINLY = re.compile(r"(queries|topics|qrels)(\.\w+)*|.*\.(queries|topics|qrels)", re.IGNORECASE)


@dataclass(frozen=True)
class Wanted:
    """What `read_collection` was asked for."""

    path: Path
    queries: Path | None
    judgements: Path | None
    name: str
    streams: tuple[str, ...] | None
    query_field: str | None
    documents_only: bool = False  # neither queries nor judgements are looked for
    jobs: int = 1  # processes that parse pages
    links_only: bool = False  # what documents say does not matter, but where they stand and lead to

    @property
    def folder(self) -> Path:
        """Where files beside the documents are looked for."""
        return self.path if self.path.is_dir() else self.path.parent

    def beside(self, pattern: str, what: str) -> Path | None:
        """The one file of the folder whose whole name matches, in any case; several are an error."""
        if is_id(str(self.path)):
            return None
        matching = re.compile(pattern, re.IGNORECASE).fullmatch
        files = sorted(p for p in self.folder.iterdir() if p.is_file() and p != self.path and matching(p.name))
        # `queries.tsv` before `test-queries.tsv`; files in a folder of that name where there is none at the top.
        files = [p for p in files if PLAINLY.fullmatch(p.name)] or files
        for folder in sorted(p for p in self.folder.iterdir() if not files and p.is_dir() and matching(p.name)):
            files += sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
        if len(files) > 1:
            names = ", ".join(p.name for p in files)
            named = f"name one with --{what}" if what in ("queries", "judgements") else "leave one"
            raise DataError(f"several files may hold the {what} ({names}); {named}", self.folder)
        return files[0] if files else None

    def choose(self, offered: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
        """The streams asked for, in that order, or the usual ones."""
        for name in self.streams or ():
            if name not in offered:
                raise UnknownName("stream", name, offered)
        return tuple(dict.fromkeys(self.streams)) if self.streams else tuple(usual)


@dataclass(frozen=True)
class Reader:
    """One format: how it looks, in words and to a program, and how a collection is made of it."""

    looks: str
    recognise: Callable[[Path], bool]
    open: Callable[[Wanted], Collection]
    last: bool = False  # taken only where no other format fits


def _read_queries(path: Path, field: str | None, _: Judgements | None) -> tuple[Query, ...]:
    return read_queries(path, field)


@dataclass(frozen=True)
class Beside:
    """How queries and judgements that stand beside the documents are called (whole names, in any case), and read."""

    query_files: str = QUERY_FILES
    judgement_files: str = JUDGEMENT_FILES
    read_queries: Callable[[Path, str | None, Judgements | None], tuple[Query, ...]] = _read_queries
    read_judgements: Callable[[Path], Judgements] = read_judged


BESIDE = Beside()
READERS: Registry[Reader] = Registry("collection format", "pippin.readers", Reader)


def register(name: str, reader: Reader) -> Reader:
    """Put a format on the shelf."""
    return READERS.register(name, reader)


def read_collection(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    queries: str | os.PathLike[str] | None = None,
    judgements: str | os.PathLike[str] | None = None,
    name: str | None = None,
    streams: Sequence[str] | None = None,
    query_field: str | None = None,
    documents_only: bool = False,
    jobs: int = 1,
    links_only: bool = False,
) -> Collection:
    """The collection at `path`, a file, a folder, or an id of ir_datasets (`irds:cranfield`).

    `format` is seen from the files where it is not given, and queries and judgements that stand beside the documents
    are found, unless `documents_only`. `streams` chooses and orders the streams, `query_field` the part of the topics
    that is searched; `jobs` processes parse web pages, which with `links_only` have no text but their url.
    """
    place = Path(path)
    if not is_id(os.fspath(path)) and not place.exists():
        raise DataError("there is no such file or folder", place)
    if place.is_file() and not place.stat().st_size:
        raise DataError("the file is empty", place)
    wanted = Wanted(
        place,
        None if queries is None else Path(queries),
        None if judgements is None else Path(judgements),
        name or _name_of(place),
        None if streams is None else tuple(streams),
        query_field,
        documents_only,
        jobs,
        links_only,
    )
    format = format or recognise(place)
    return replace(READERS[format].open(wanted), reader=format)


def recognise(path: Path) -> str:
    """The one format that a path looks like; none or several are an error that says what there is."""
    fitting = fitting_formats(path)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DataError(f"this may be {' or '.join(fitting)}: name one with --reader", path)
    raise DataError(f"no format of documents is recognised here; {_nearest(path)}", path)


def fitting_formats(path: Path) -> list[str]:
    """The formats that a path looks like."""
    fitting = [name for name, reader in READERS.known.items() if reader.recognise(path)]
    if all(READERS[name].last for name in fitting):  # installed packages are asked where nothing else fits well
        fitting = [name for name in READERS if READERS[name].recognise(path)]
    return [name for name in fitting if not READERS[name].last] or fitting


def _nearest(path: Path) -> str:
    """What to do with a path that no reader knows: the form that is nearest, and how to get there."""
    files = list(first_files(path))
    if not files:
        return "there is no file with content"
    endings = Counter(file.suffix.lower() or file.name for file in files).most_common(3)
    seen = ", ".join(ending for ending, _ in endings)
    form = (
        """make it JSON lines, e.g. python -c "import json; """
        """[print(json.dumps({'id': i, 'text': t})) for i, t in enumerate(open('FILE'))]" > documents.jsonl"""
    )
    return f"the files are {seen}. {form} (`pippin build --explain` says what is seen)"


def _name_of(path: Path) -> str:
    """The folder's name, the file's up to the first dot, or the id."""
    if is_id(str(path)):
        return str(path).removeprefix(PREFIX)
    name = path.resolve().name
    return name if path.is_dir() else name.lstrip(".").partition(".")[0] or name


def starts_with(path: Path, *starts: bytes) -> bool:
    """Whether a file begins with one of these bytes, in any case."""
    return path.is_file() and head(path)[: max(map(len, starts))].lower().startswith(starts)


def collect(
    wanted: Wanted,
    streams: tuple[str, ...],
    documents: Callable[[], Iterator[Document]],
    *,
    beside: Beside = BESIDE,
    descriptions: Mapping[str, str] = DESCRIPTIONS,
    judged_as: str = "sparse",
    notes: Sequence[str] = (),
) -> Collection:
    """A collection of documents with its queries and judgements: those that were named, or those found beside them."""
    files: dict[str, Path] = {}
    judgements: Judgements | None = None
    queries: tuple[Query, ...] = ()
    if not wanted.documents_only:
        judged = wanted.judgements or wanted.beside(beside.judgement_files, "judgements")
        asked = wanted.queries or wanted.beside(beside.query_files, "queries")
        judgements = beside.read_judgements(judged) if judged else None
        queries = beside.read_queries(asked, wanted.query_field, judgements) if asked else ()
        files = {what: file for what, file in (("queries", asked), ("judgements", judged)) if file}
    if queries and judgements and not {query.id for query in queries} & set(judgements.query_ids):
        raise DataError(
            f"none of the judged queries ({judgements.query_ids[0]} …) is among the queries ({queries[0].id} …)",
            judgements.file or judgements.name,
        )
    members = tuple(stream for stream in streams if stream not in (HEADINGS, EXTRACTED))  # parts of the body
    unions = {WHOLE: members} if members and len(streams) > 1 and WHOLE not in streams else {}
    described = {name: text for name, text in descriptions.items() if name in streams}
    return Collection(
        wanted.name, streams, documents, queries, judgements, unions, described, files=files, notes=notes,
        judged_as=judged_as,
    )  # fmt: skip
