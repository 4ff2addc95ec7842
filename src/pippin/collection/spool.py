"""Documents that are hard to read are read once: what was found in them waits in a file for whoever asks again.

Pages of HTML are asked for by the anchor texts, the links, the index and the digest of a build, each in a pass of its
own. The first whole pass leaves every document in a temporary file, which goes with the collection; later passes read
that. A pass that was not finished leaves nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast
from weakref import finalize

from pippin.collection.collection import Collection, Document, Link


def spooled(collection: Collection) -> Collection:
    """The same collection, whose documents are found once only."""
    return replace(collection, read=_Spool(collection).read)


class _Spool:
    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.whole: BinaryIO | None = None

    def read(self) -> Iterator[Document]:
        """The documents: from the file where there is one, else from the collection, and into a file."""
        if self.whole is not None:
            yield from _unpacked(self.whole)
            return
        file = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - kept for later passes
        finished = False
        try:
            for document in self.collection.read():
                file.write(_packed(document))
                yield document
            file.flush()
            finished = True
        finally:
            if finished and self.whole is None:
                self.whole = file
                finalize(self, file.close)
            else:
                file.close()


def write_documents(file: BinaryIO, documents: Iterable[Document]) -> None:
    """Put documents into a file, one behind the other."""
    for document in documents:
        file.write(_packed(document))


def read_documents(path: Path) -> Iterator[Document]:
    """The documents of a file that `write_documents` wrote."""
    with path.open("rb") as file:
        yield from _unpacked(file)


def _packed(document: Document) -> bytes:
    links = [[link.target, link.text] for link in document.links]
    text = json.dumps([document.id, dict(document.streams), document.url, links])
    data = zlib.compress(text.encode(), 1)
    return len(data).to_bytes(8, "little") + data


def _unpacked(file: BinaryIO) -> Iterator[Document]:
    """The documents of a file, each pass with a place of its own."""
    place = 0
    while True:
        file.seek(place)
        size = int.from_bytes(file.read(8), "little")
        if not size:
            return
        name, streams, url, links = json.loads(zlib.decompress(file.read(size)))
        place += 8 + size
        yield Document(name, streams, url, tuple(Link(target, text) for target, text in links))
