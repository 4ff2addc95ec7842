"""Which format is this, and what does reading it need? The shelf of readers, and `read_collection` on top of it.

A reader says by name and first bytes whether a path is its own, and makes a `Collection` of it whose documents are read
anew, one after the other, each time they are asked for. What all formats share stands here: how queries and judgements
are found beside the documents, how streams are chosen, and what is checked when all is together.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pippin.collection.archives import DEEPEST, MANY, Unpacked, is_archive, packed_in, stem
from pippin.collection.collection import ANCHOR, WHOLE, Collection, Document
from pippin.collection.files import files_under, head, is_shown
from pippin.collection.json_records import JUDGEMENTS, QUERIES
from pippin.collection.readers.asked import BESIDE, Asked, Beside, Wanted, find_asked, some_ids
from pippin.collection.readers.nearest import no_format
from pippin.collection.readers.roles import OTHER, named_role
from pippin.collection.repeated import first_of_each
from pippin.data.irds import PREFIX, is_id
from pippin.errors import DataError, PippinError
from pippin.registry import Registry

PEEK = 1000  # documents that are looked up among the judged ones to tell formats apart
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


@dataclass(frozen=True)
class Reader:
    """One format: how it looks, in words and to a program, and how a collection is made of it."""

    looks: str
    recognise: Callable[[Path], bool]
    open: Callable[[Wanted], Collection]
    last: bool = False  # taken only where no other format fits
    endings: tuple[str, ...] = ()  # of its files' names, where these tell it from others in one folder
    called: Callable[[Path], bool] = lambda path: False  # whether files of it are called documents


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
    repeated: Literal["refuse", "first"] = "refuse",
    open_archives: bool = True,
) -> Collection:
    """The collection at `path`, a file, a folder, or an id of ir_datasets (`irds:cranfield`).

    `format` is seen from the files where it is not given, and queries and judgements that stand beside the documents
    are found, unless `documents_only`. `streams` chooses and orders the streams, `query_field` the part of the topics
    that is searched; `jobs` processes parse web pages, which with `links_only` have no text but their url. Of documents
    with the same id the first is kept where `repeated` says so; else they are an error when they are indexed. Archives
    (`.zip`, `.tar`, `.tar.gz` …) are unpacked to a temporary folder where they hold what is wanted, or stay closed.
    """
    place = Path(path)
    if not is_id(os.fspath(path)) and not place.exists():
        raise DataError("there is no such file or folder", place)
    if place.is_file() and not place.stat().st_size:
        raise DataError("the file is empty", place)
    unpacked = opened(place, format) if open_archives else None
    wanted = Wanted(
        place if unpacked is None else unpacked.place,
        None if queries is None else Path(queries),
        None if judgements is None else Path(judgements),
        name or "",
        None if streams is None else tuple(streams),
        query_field,
        documents_only,
        jobs,
        links_only,
    )
    if unpacked is None:
        return _read(wanted, format, repeated)
    with unpacked.told():
        return unpacked.lend(_read(wanted, format, repeated))


def _read(wanted: Wanted, format: str | None, repeated: Literal["refuse", "first"]) -> Collection:
    """The collection at a path at which nothing is to be unpacked any more."""
    place = _only_folder(wanted.path, format)
    wanted = replace(wanted, path=place, name=wanted.name or _name_of(wanted.path))
    format = format or recognise(wanted)
    collection = replace(READERS[format].open(wanted), reader=format)
    if closed := packed_in(place) if place.is_dir() else []:
        said = f"{some_ids([file.name for file in closed])} stays closed: there are documents beside it"
        collection = replace(collection, notes=Joined(collection.notes, [said]))
    return first_of_each(collection) if repeated == "first" else collection


def opened(path: Path, format: str | None = None) -> Unpacked | None:
    """A path whose documents, queries or judgements are packed in archives, unpacked; None where nothing is."""
    if path.is_dir():
        return Unpacked(path, partial(_to_open, format=format)) if _to_open(path, format) else None
    return Unpacked(path, partial(_to_open, format=format)) if path.is_file() and is_archive(path) else None


def _to_open(folder: Path, format: str | None) -> list[Path]:
    """The archives of a folder that hold what is wanted: documents, where there are no others, queries or judgements,
    by their names, where nothing of the same name stands beside.
    """
    packed = packed_in(folder)
    asked = [file for file in packed if named_role(file.with_name(stem(file)), folder) in (QUERIES, JUDGEMENTS)]
    lone = [file for file in asked if not any(one != file for one in file.parent.glob(f"{escape(stem(file))}*"))]
    return packed if packed and not _has_documents(folder, packed, format) else lone


def _has_documents(folder: Path, packed: list[Path], format: str | None) -> bool:
    """Whether documents stand in a folder as they are; texts beside archives that are larger may be words about it."""
    fitting = fitting_formats(folder) if format is None else [format] * READERS[format].recognise(folder)
    if not fitting or not all(READERS[name].last for name in fitting):
        return bool(fitting)
    beside = sorted(set(islice(files_under(folder), MANY)).difference(packed))
    plain = sum(file.stat().st_size for file in beside if named_role(file, folder) != OTHER)
    return plain >= sum(file.stat().st_size for file in packed)


def _only_folder(path: Path, format: str | None) -> Path:
    """The folder in a folder that holds nothing else, but for words about it, and is no collection itself."""
    for _ in range(DEEPEST):
        inside = [one for one in path.iterdir() if is_shown(one.name)] if path.is_dir() else []
        folders = [one for one in inside if one.is_dir()]
        if len(folders) != 1 or any(named_role(one, path) != OTHER for one in inside if one.is_file()):
            return path
        if fitting_formats(path) if format is None else READERS[format].recognise(path):
            return path
        path = folders[0]
    return path


def recognise(wanted: Wanted) -> str:
    """The one format that a path looks like; none or several are an error that says what there is."""
    path = wanted.path
    found = _recognised(path)
    fitting = fitting_formats(path, found)
    if path.is_dir() and not wanted.documents_only and len(rivals := _rivals(path, fitting, found)) > 1:
        fitting = _known_by_judgements(wanted, rivals) or fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DataError(f"this may be {' or '.join(fitting)}: name one with --reader", path)
    raise DataError(no_format(path), path)


def _recognised(path: Path) -> list[str]:
    return [name for name, reader in READERS.known.items() if reader.recognise(path)]


def fitting_formats(path: Path, found: list[str] | None = None) -> list[str]:
    """The formats that a path looks like; `found`: those that say so, where they were asked already."""
    fitting = _recognised(path) if found is None else found
    if all(READERS[name].last for name in fitting):  # installed packages are asked where nothing else fits well
        fitting = [name for name in READERS if READERS[name].recognise(path)]
    fitting = [name for name in fitting if not READERS[name].last] or fitting
    if len(fitting) > 1 and path.is_dir():
        fitting = [name for name in fitting if READERS[name].called(path)] or fitting
    return _by_far_most(path, fitting) if len(fitting) > 1 and path.is_dir() else fitting


def _by_far_most(path: Path, fitting: list[str]) -> list[str]:
    """The format of nine in ten files, such as pages with a list of words beside them; all, where there is none."""
    counts = Counter(file.suffix.lower() for file in files_under(path))
    files = {name: sum(counts[ending] for ending in READERS[name].endings) for name in fitting}
    most = max(files, key=files.__getitem__)
    return [most] if all(files.values()) and 10 * files[most] >= 9 * sum(files.values()) else fitting


def _rivals(path: Path, fitting: list[str], found: list[str]) -> list[str]:
    """All formats that a folder may have, those that are taken last too where nine in ten files have their endings."""
    if not fitting or READERS[fitting[0]].called(path):
        return fitting
    known = [name for name in found if not READERS[name].last]
    last = [name for name in found if READERS[name].last]
    return [*known, *(name for name in last if known and _by_far_most(path, [name, *known]) == [name])] or fitting


def _known_by_judgements(wanted: Wanted, rivals: list[str]) -> list[str]:
    """Of several formats those with most judged documents among their first; none where no judgement tells."""
    known: dict[str, int] = {}
    for name in rivals:
        try:
            collection = READERS[name].open(wanted)
            judged = set() if collection.judgements is None else set(collection.judgements.document_ids)
            known[name] = len(judged.intersection(document.id for document in islice(collection, PEEK)))
        except PippinError:
            known[name] = 0
    return [name for name in rivals if known[name] == max(known.values()) > 0]


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
    files: Sequence[Path] = (),
    asked: Asked | None = None,
) -> Collection:
    """A collection of documents with its queries and judgements: those that were named, or those found beside them."""
    if asked is None:
        asked = Asked((), None) if wanted.documents_only else find_asked(wanted, beside, files)
    members = tuple(stream for stream in streams if stream not in (HEADINGS, EXTRACTED))  # parts of the body
    unions = {WHOLE: members} if members and len(streams) > 1 and WHOLE not in streams else {}
    described = {name: text for name, text in descriptions.items() if name in streams}
    return Collection(
        wanted.name, streams, documents, asked.queries, asked.judgements, unions, described, files=asked.files,
        document_files=tuple(files), notes=Joined(notes, asked.notes) if asked.notes else notes, judged_as=judged_as,
    )  # fmt: skip


class Joined(Sequence[str]):
    """Notes that grow while documents are read, and those about queries and judgements."""

    def __init__(self, *parts: Sequence[str]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, item: Any) -> Any:
        return [note for part in self.parts for note in part][item]
