"""OHSUMED's MEDLINE format: `.I 1`, then `.U .S .M .T .P .W .A`, each with its text on the lines that follow.

The id is the MEDLINE identifier under `.U`; the number after `.I` only counts. Streams are title (`.T`) and abstract
(`.W`, which a third of the documents do not have); mesh (`.M`), author (`.A`), source (`.S`) and type (`.P`) where
asked for. Documents that were not judged for a query are unknown, not irrelevant: `judged_as` is “complete”.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pippin.collection.collection import Collection, Document
from pippin.collection.files import files_under, first_files, head, plain_text
from pippin.collection.readers.asked import Wanted
from pippin.collection.readers.base import DESCRIPTIONS, READERS, Reader, collect
from pippin.collection.readers.smart import MEDLINE, records
from pippin.errors import DataError

STREAMS = {b"T": "title", b"W": "abstract", b"M": "mesh", b"A": "author", b"S": "source", b"P": "type"}


def _parts(path: Path) -> list[Path]:
    return [file for file in files_under(path) if _is_medline(file)]


def _recognise(path: Path) -> bool:
    return any(_is_medline(file) for file in first_files(path))


def _is_medline(path: Path) -> bool:
    return path.stat().st_size > 0 and bool(MEDLINE.match(head(path)))


def _documents(files: list[Path], streams: tuple[str, ...]) -> Iterator[Document]:
    letters = [(letter, stream) for letter, stream in STREAMS.items() if stream in streams]
    for file in files:
        for line, _, said in records(file):
            name = plain_text(said.get(b"U", b""))
            if not name:
                raise DataError("the document has no identifier (.U)", file, line)
            yield Document(name, {stream: plain_text(said.get(letter, b"")) for letter, stream in letters})


def _open(wanted: Wanted) -> Collection:
    files = _parts(wanted.path)
    if not files:
        raise DataError("no file begins with .I and .U", wanted.path)
    streams = wanted.choose(tuple(STREAMS.values()), ("title", "abstract"))
    described = {**{stream: f"the {stream} of the document" for stream in streams}, **DESCRIPTIONS}
    return collect(
        wanted, streams, lambda: _documents(files, streams), descriptions=described, judged_as="complete", files=files
    )


READERS.register("medline", Reader("`.I 1`, `.U`, then `.T .W .M` …; files or folders", _recognise, _open))
