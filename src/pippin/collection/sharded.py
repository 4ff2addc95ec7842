"""How a cluster takes part in a build: documents in shards, an index and the links of each, features by stretches.

The process that builds reads the documents and deals them out in pieces, which together are shards; everything lies in
the `shards` folder of the build, which every worker sees. A worker gathers the links of a shard, indexes a shard, or
extracts a stretch of queries from the indexes of all shards (`Shards`). One of them writes the index of all documents
that a data set holds. What a worker writes appears under its name only when it is whole, so that a task can be
done again when its worker is gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pippin.collection import words
from pippin.collection.addresses import Addresses
from pippin.collection.analysis import Analysis
from pippin.collection.collection import ANCHOR, Collection, Document
from pippin.collection.extraction import Extracted, Stretch, extract_stretch
from pippin.collection.fingerprint import Fingerprint
from pippin.collection.graph import Graph
from pippin.collection.index import Index, build_index, open_index
from pippin.collection.linked import Links, Said, gather_links
from pippin.collection.shards import Shards, save_shards
from pippin.collection.spool import read_documents, write_documents
from pippin.collection.web import Web
from pippin.files import atomic_write, remove
from pippin.progress import progress

T = TypeVar("T")
PIECE_DOCUMENTS, PIECE_CHARACTERS = 1000, 4 << 20  # a piece is closed where one of these is reached
SHARD_CHARACTERS = 256 << 20  # of text in a shard, unless the workers are more


class Spread(Protocol):
    """Workers that do the same to many things."""

    @property
    def workers(self) -> int:
        """How many there are."""

    def each(self, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """function(*one) of each, in their order; a worker that is lost has its work done by others."""


@dataclass(frozen=True)
class Piece:
    """Some documents in a file."""

    file: str
    first: int  # the number of its first document
    documents: int
    characters: int


@dataclass(frozen=True)
class Shard:
    """What a worker must know to read the documents of some pieces, with their anchor texts."""

    folder: Path
    name: str
    pieces: tuple[Piece, ...]
    collection: str
    streams: tuple[str, ...]
    unions: dict[str, tuple[str, ...]]
    descriptions: dict[str, str]
    anchored: bool  # whether the documents have their anchor texts themselves

    def read(self) -> Iterator[Document]:
        """The documents as they are indexed."""
        for piece in self.pieces:
            documents = read_documents(self.folder / piece.file)
            if self.anchored:
                yield from documents
            else:
                texts = json.loads((self.folder / f"{piece.file}.anchors").read_bytes())
                for document, text in zip(documents, texts, strict=True):
                    yield replace(document, streams={**document.streams, ANCHOR: text})

    def as_collection(self) -> Collection:
        """The shard as a collection."""
        return Collection(self.collection, self.streams, self.read, unions=self.unions, descriptions=self.descriptions)


def index_on(
    spread: Spread, collection: Collection, work: Path, analysis: Analysis, memory: int, linked: bool, verbose: bool
) -> tuple[Index, str, Web | None]:
    """The index of all documents, their digest, and their web where features ask for links; shards are left behind."""
    folder, noted = work / "shards", work / "documents.txt"
    remove(folder)
    folder.mkdir()
    pieces, addresses = deal(collection, folder, verbose)
    links = _links(spread, folder, pieces, addresses) if linked or not collection.anchored else []
    if not collection.anchored:
        _write_anchors(folder, pieces, Said.of(links, len(addresses.ids)))
    whole = Shard(folder, "", tuple(pieces), collection.name, collection.streams, dict(collection.unions),
                  dict(collection.descriptions), collection.anchored)  # fmt: skip
    shards = [replace(whole, name=f"shard-{i:04}", pieces=own) for i, own in enumerate(_cut(pieces, spread.workers))]
    tasks = [(None, whole, analysis, memory, work / "index"), *((i, one, analysis, memory, folder / one.name)
             for i, one in enumerate(shards))]  # fmt: skip
    digest = ""
    with progress(len(tasks) if verbose else 0, "indexing shards") as bar:
        for (_, shard, *_), found in zip(tasks, spread.each(index_shard, tasks), strict=True):
            digest = digest or found
            if verbose:
                bar.step(shard.name or "all")
    save_shards(folder, [shard.name for shard in shards])
    if noted.is_file() and noted.read_text() != digest:
        for entry in (work / "parts", work / "web"):
            remove(entry)
    noted.write_text(digest)
    index = open_index(work / "index")
    if linked and not (work / "web").is_dir():
        graph = Graph.of_links(len(addresses.ids), links)
        Web.of(collection, index, addresses=addresses, graph=graph).save(work / "web")
    return index, digest, Web.open(work / "web") if linked else None


def deal(collection: Collection, folder: Path, verbose: bool) -> tuple[list[Piece], Addresses]:
    """Read all documents once, into pieces in a folder; their addresses on the way."""
    pieces: list[Piece] = []
    ids: list[str] = []
    urls: list[str] = []
    with progress(0, f"reading {collection.name}") as bar:
        for documents in _pieces(collection.read()):
            first, file = len(ids), f"piece-{len(pieces):06}"
            ids += [document.id for document in documents]
            urls += [document.url for document in documents]
            with (folder / file).open("wb") as target:
                write_documents(target, documents)
            pieces.append(Piece(file, first, len(documents), sum(map(_characters, documents))))
            if verbose:
                bar.step("documents", len(documents))
    return pieces, Addresses.given(ids, urls)


def _pieces(documents: Iterator[Document]) -> Iterator[list[Document]]:
    piece: list[Document] = []
    characters = 0
    for document in documents:
        piece.append(document)
        characters += _characters(document)
        if len(piece) == PIECE_DOCUMENTS or characters >= PIECE_CHARACTERS:
            yield piece
            piece, characters = [], 0
    if piece:
        yield piece


def _characters(document: Document) -> int:
    return sum(map(len, document.streams.values()))


def _cut(pieces: Sequence[Piece], workers: int) -> list[tuple[Piece, ...]]:
    """Pieces in a row, about as many characters in each shard; a shard a worker, or more where they would be large."""
    total = sum(piece.characters for piece in pieces)
    size = max(1, min(SHARD_CHARACTERS, -(-total // max(1, workers))))
    ends = dict(zip(pieces, accumulate(piece.characters for piece in pieces), strict=True))
    return [tuple(own) for _, own in groupby(pieces, key=lambda piece: (ends[piece] - piece.characters) // size)]


def _links(spread: Spread, folder: Path, pieces: Sequence[Piece], addresses: Addresses) -> list[Links]:
    """The links of every piece, gathered by the workers."""
    with atomic_write(folder / "addresses.json") as file:
        file.write(json.dumps([addresses.ids, addresses.urls]).encode("utf-8", "surrogatepass"))
    return list(spread.each(links_of_piece, [(folder, piece) for piece in pieces]))


def links_of_piece(folder: Path, piece: Piece) -> Links:
    """What a worker does: the links of a piece."""
    addresses, documents = _addresses(folder / "addresses.json"), read_documents(folder / piece.file)
    return gather_links(addresses, documents, piece.first, piece.first + piece.documents)


@lru_cache(maxsize=1)
def _addresses(file: Path) -> Addresses:
    ids, urls = json.loads(file.read_bytes())
    return Addresses.of_pages(ids, urls)


def _write_anchors(folder: Path, pieces: Sequence[Piece], said: Said) -> None:
    for piece in pieces:
        texts = [said.of_document(piece.first + i) for i in range(piece.documents)]
        (folder / f"{piece.file}.anchors").write_text(json.dumps(texts), encoding="utf-8")


def index_shard(number: int | None, shard: Shard, analysis: Analysis, memory: int, target: Path) -> str:
    """What a worker does: the index of a shard, or of all documents, and then the digest of what they say."""
    collection = shard.as_collection()
    fingerprint = Fingerprint(collection)
    if number is None:
        collection = replace(collection, read=lambda: words.noted(fingerprint.read(), target.parent / words.NOTES))
    build_index(collection, target, analysis=analysis, memory=memory)
    return fingerprint.digest


def extract_on(spread: Spread, work: Path, linked: bool, stretches: Sequence[Stretch]) -> Iterator[Extracted]:
    """The samples and features of all stretches, by the workers."""
    return spread.each(extract_from_shards, [(work, linked, stretch) for stretch in stretches])


def extract_from_shards(work: Path, linked: bool, stretch: Stretch) -> Extracted:
    """What a worker does: one stretch, from the indexes of all shards."""
    return extract_stretch(_shards(work / "shards"), _web(work / "web") if linked else None, stretch)


@lru_cache(maxsize=1)
def _shards(folder: Path) -> Shards:
    return Shards.open(folder)


@lru_cache(maxsize=1)
def _web(folder: Path) -> Web:
    return Web.open(folder)
