"""What does Pippin see in a folder? What it takes for documents, queries and judgements, before anything is done."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pippin.collection.collection import Collection
from pippin.collection.field_names import folded
from pippin.collection.files import LOOK, files_under
from pippin.collection.readers.asked import alike_documents, unknown_documents
from pippin.collection.readers.base import PEEK, READERS, fitting_formats, opened, read_collection
from pippin.collection.repeated import comes_twice
from pippin.collection.topics import ID_FIELDS
from pippin.data.irds import is_id
from pippin.errors import DataError

SHOWN = 60  # characters of a text that is shown
STOPS = "\n  stops here: "  # before what would stop a build
FLAGS = {"format": "--reader", "queries": "--topics", "judgements": "--judgements", "streams": "--streams"}
SOME = 4  # files of many that are named


def explain(path: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> str:
    """A few lines about a path: its format and the reason, a document, the queries, the judgements, what is not used.

    Options are those of `read_collection`. What stops a build stops here too, after all that was found.
    """
    place = Path(path)
    if not is_id(os.fspath(path)) and not place.exists():
        raise DataError("there is no such file or folder", place)
    lines = [f"{path}: no format fits"]
    try:
        unpacked = opened(place, format)
        with nullcontext() if unpacked is None else unpacked.told():
            _explain(lines, path, place if unpacked is None else unpacked.place, {"format": format, **options})
    except DataError as error:
        return "\n".join(lines) + STOPS + str(error)
    if unpacked is not None:
        lines[-1:-1] = [f"  note: {note}" for note in unpacked.notes]
        lines = [unpacked.said(line) for line in lines]
    return "\n".join(lines)


def _explain(lines: list[str], path: str | os.PathLike[str], place: Path, options: dict[str, Any]) -> None:
    """Line after line, as far as it goes; `place` is where the path lies when it is unpacked."""
    format = options["format"]
    lines[:] = [f"{path}: {_format([format] if format else fitting_formats(place))}"]
    collection = read_collection(place, open_archives=False, **options)
    lines[:] = [f"{path}: {_format([collection.reader])}"]
    lines += _documents(collection, place)
    lines += _asked(collection)
    lines += [f"  note: {note}" for note in collection.notes]
    lines += _beside(place, collection)
    lines += _check(collection)
    lines.append(_next(path, collection, options))


def _format(fitting: list[str]) -> str:
    if not fitting:
        return "no format fits"
    said = "; or ".join(f"{name}: {READERS[name].looks}" for name in fitting)
    return f"taken for {said}" if len(fitting) == 1 else f"may be {said}"


def _check(collection: Collection) -> list[str]:
    """Raise where one of the first documents comes twice, or where these are all and none of them was judged, not even
    by an id that is alike.
    """
    judged = collection.judgements
    ids: dict[str, int] = {}
    for number, document in enumerate(islice(collection, PEEK + 1), 1):
        if (first := ids.setdefault(document.id, number)) < number:
            raise DataError(comes_twice(document.id, first, number))
    if judged is None or len(ids) > PEEK or set(ids) & set(judged.document_ids):
        return []
    if (found := alike_documents(judged, list(ids))) is not None:
        return [f"  note: {found[1]}"]
    raise DataError(unknown_documents(list(judged.document_ids), list(ids)), judged.file or judged.name)


def _next(path: str | os.PathLike[str], collection: Collection, options: dict[str, Any]) -> str:
    """What to type next, with the options that were given."""
    given = {flag: value for name, flag in FLAGS.items() if (value := options.get(name))}
    said = [",".join(value) if isinstance(value, list | tuple) else os.fspath(value) for value in given.values()]
    named = shlex.join([os.fspath(path), *(word for pair in zip(given, said, strict=True) for word in pair)])
    if collection.queries and collection.judgements is not None:
        return f"next: pippin build {named} -o {shlex.quote(collection.name)}-letor"
    return f"next: pippin index {named} -o {shlex.quote(collection.name)}-index, to search it"


def _documents(collection: Collection, path: Path) -> Iterator[str]:
    first = next(iter(collection), None)
    if first is None:
        raise DataError("there is no document", collection.name)
    streams = ", ".join(collection.streams)
    made = "; ".join(f"{name} = {' + '.join(members)}" for name, members in collection.unions.items())
    if collection.document_files:
        yield f"  documents: {_some([_below(file, path) for file in collection.document_files])}"
    indent = "    " if collection.document_files else "  documents: "
    yield f"{indent}streams {streams}{f' ({made})' if made else ''}"
    for stream in collection.streams:
        text = first.streams.get(stream, "")
        yield f"    {first.id}, {stream}: {shorten(text) if text else '(empty)'}"
    if first.links:
        number = len(first.links)
        yield f"    {first.id} links to {number:,} document{'s' * (number > 1)}, {first.links[0].target} first"


def _below(file: Path, path: Path) -> Path:
    """A file as it is called inside of a folder."""
    return file.relative_to(path) if path.is_dir() else file


def shorten(text: str) -> str:
    """The beginning of a text, in one line.

    >>> shorten("a\\n" * 40)
    'a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a …'
    """
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[:SHOWN].rstrip() + " …"


def _asked(collection: Collection) -> Iterator[str]:
    queries, judged = collection.queries, collection.judgements
    if queries:
        yield f"  queries: {_names(collection, 'queries') or collection.name}: {len(queries):,}"
        yield f"    {shorten(queries[0].id)}: {shorten(queries[0].text)}"
        if fields := [name for name in queries[0].fields if folded(name) not in ID_FIELDS]:
            yield f"    fields {', '.join(fields)}"
    else:
        yield "  queries: none found; name them with --topics FILE"
    if judged is None:
        yield "  judgements: none found; name them with --judgements FILE"
        return
    labels = ", ".join(map(str, np.unique(judged.labels).tolist()))
    where, asked = _names(collection, "judgements") or judged.name, len(judged.query_ids)
    yield f"  judgements: {where}: {len(judged.labels):,} of {asked:,} queries, labels {labels}"
    missing = len({query.id for query in queries} - set(judged.query_ids))
    if missing:
        yield f"    nobody judged {missing:,} of the queries; they are left out unless --unjudged keep"


def _names(collection: Collection, what: str) -> str:
    """The names of the files that queries or judgements stand in."""
    return _some([Path(file.name) for file in collection.files.get(what, ())])


def _beside(path: Path, collection: Collection) -> Iterator[str]:
    """The files of a folder that were taken for nothing."""
    if path.is_dir():
        used = {file.resolve() for files in (*collection.files.values(), collection.document_files) for file in files}
        others = [file for file in islice(files_under(path), LOOK) if file.resolve() not in used]
        yield (
            f"  other files: {_some([file.relative_to(path) for file in others])}" if others else "  other files: none"
        )


def _some(files: Sequence[Path]) -> str:
    """The names of some files.

    >>> _some([Path("a.txt")]), _some([Path(f"{i}.txt") for i in range(20)])
    ('a.txt', '20 files: 0.txt, 1.txt, 2.txt, 3.txt, …')
    """
    names = ", ".join(str(file) for file in files[:SOME]) + (", …" if len(files) > SOME else "")
    return f"{len(files):,} files: {names}" if len(files) > SOME else names
