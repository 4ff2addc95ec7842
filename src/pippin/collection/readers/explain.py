"""What does Pippin see in a folder? What it takes for documents, queries and judgements, before anything is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pippin.collection.collection import Collection
from pippin.collection.files import LOOK, files_under
from pippin.collection.readers.base import READERS, fitting_formats, read_collection
from pippin.data.irds import is_id
from pippin.errors import DataError

SHOWN = 60  # characters of a text that is shown


def explain(path: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> str:
    """A few lines about a path: its format and the reason, a document, the queries, the judgements, what is not used.

    Options are those of `read_collection`. What stops a build stops here too, after all that was found.
    """
    place = Path(path)
    if not is_id(os.fspath(path)) and not place.exists():
        raise DataError("there is no such file or folder", place)
    fitting = [format] if format else fitting_formats(place)
    lines = [f"{path}: {_format(fitting)}"]
    try:
        collection = read_collection(path, format=format, **options)
        lines += _documents(collection)
        lines += _asked(collection)
        lines += [f"  note        {note}" for note in collection.notes]
        lines += _beside(place, collection)
        if collection.queries and collection.judgements is not None:
            lines.append(f"next: pippin build {path} -o {collection.name}-letor")
    except DataError as error:
        lines.append(f"  stops here  {error}")
    return "\n".join(lines)


def _format(fitting: list[str]) -> str:
    if not fitting:
        return "no format fits; known are\n" + "\n".join(f"  {name:<10}  {READERS[name].looks}" for name in READERS)
    said = "; or ".join(f"{name}: {READERS[name].looks}" for name in fitting)
    return f"taken for {said}" if len(fitting) == 1 else f"may be {said}"


def _documents(collection: Collection) -> Iterator[str]:
    first = next(iter(collection), None)
    if first is None:
        raise DataError("there is no document", collection.name)
    streams = ", ".join(collection.streams)
    made = "; ".join(f"{name} = {' + '.join(members)}" for name, members in collection.unions.items())
    yield f"  documents   streams {streams}{f' ({made})' if made else ''}"
    for stream in collection.streams:
        text = first.streams.get(stream, "")
        yield f"    {first.id}, {stream}: {shorten(text) if text else '(empty)'}"
    if first.links:
        yield f"    {first.id} links to {len(first.links)} documents, {first.links[0].target} first"


def shorten(text: str) -> str:
    """The beginning of a text.

    >>> shorten("a " * 40)
    'a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a …'
    """
    return text if len(text) <= SHOWN else text[:SHOWN].rstrip() + " …"


def _asked(collection: Collection) -> Iterator[str]:
    queries, judged = collection.queries, collection.judgements
    if queries:
        where = collection.files.get("queries")
        yield f"  queries     {where.name if where else collection.name}: {len(queries):,}"
        yield f"    {queries[0].id}: {shorten(queries[0].text)}"
        if queries[0].fields:
            yield f"    fields {', '.join(queries[0].fields)}"
    else:
        yield "  queries     none found; name them with --queries FILE"
    if judged is None:
        yield "  judgements  none found; name them with --judgements FILE"
        return
    where = collection.files.get("judgements")
    labels = ", ".join(map(str, np.unique(judged.labels).tolist()))
    yield (
        f"  judgements  {where.name if where else judged.name}: {len(judged.labels):,} of {len(judged.query_ids):,} "
        f"queries, labels {labels}"
    )
    missing = len({query.id for query in queries} - set(judged.query_ids))
    if missing:
        yield f"    nobody judged {missing:,} of the queries; they are left out unless --unjudged keep"


def _beside(path: Path, collection: Collection) -> Iterator[str]:
    """The other files at the top of a folder: the documents, and what was taken for nothing."""
    if path.is_dir():
        used = {file.resolve() for file in collection.files.values()}
        top = [file for file in islice(files_under(path), LOOK) if file.parent == path]
        others = [file.name for file in top if file.resolve() not in used]
        more = f" and {len(others) - 8} more" if len(others) > 8 else ""
        yield f"  other files {', '.join(others[:8])}{more}" if others else "  other files none"
