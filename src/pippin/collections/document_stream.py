"""Wrappers of `Collection.iter_documents`: remove duplicates, compute a digest, cache documents on disk."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from tempfile import TemporaryFile
from typing import BinaryIO, cast
from weakref import finalize

from pippin.collections.collection import Collection, Diagnostics, Document, Link


def describe_duplicate(document_id: str, first: int, second: int) -> str:
    """Return the message about two documents with one id, `first` and `second` being their numbers from 1."""
    return (
        f"duplicate document id {document_id!r}: documents {first:,} and {second:,} have it "
        "(--repeated first keeps the first)"
    )


def keep_first(collection: Collection) -> Collection:
    """Return the collection with only the first document of every id; its diagnostics count the others."""
    documents = _FirstDocuments(collection)
    diagnostics = Diagnostics(collection.diagnostics, documents.messages)
    return replace(collection, iter_documents=documents.read, diagnostics=diagnostics)


class _FirstDocuments:
    def __init__(self, collection: Collection) -> None:
        self.collection, self.n_dropped, self.example = collection, 0, ""

    def read(self) -> Iterator[Document]:
        self.n_dropped = 0
        ids: set[str] = set()
        for document in self.collection:
            if document.id in ids:
                self.n_dropped += 1
                self.example = document.id
                continue
            ids.add(document.id)
            yield document

    def messages(self) -> list[str]:
        if not self.n_dropped:
            return []
        count = "1 document has" if self.n_dropped == 1 else f"{self.n_dropped:,} documents have"
        return [f"dropped: {count} the id of an earlier document, such as {self.example}"]


def drop_exact_duplicates(collection: Collection) -> Collection:
    """Return the collection without documents that repeat an earlier one exactly.

    Tables by split (`train.docs`, `test.docs`) share documents. Two documents with one id and different content remain,
    so that the index reports them.
    """

    def documents() -> Iterator[Document]:
        digests: dict[str, int] = {}
        for document in collection:
            numbers = sorted(document.numbers.items())
            digest = hash((document.url, document.links, *sorted(document.fields.items()), *numbers))
            if digests.get(document.id) != digest:
                digests.setdefault(document.id, digest)
                yield document

    return replace(collection, iter_documents=documents)


class DocumentDigest:
    """The SHA-256 digest of all documents, computed while they are read."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.digest = collection, ""

    def read(self) -> Iterator[Document]:
        """Yield the documents; `digest` is set after the last one."""
        digest = hashlib.sha256()
        for document in self.collection:
            links = [part for link in document.links for part in (link.target, link.text)]
            fields = [part for pair in document.fields.items() for part in pair]
            numbers = [part for name, value in document.numbers.items() for part in (name, repr(value))]
            numbers = ["\x1e", *numbers] if numbers else []
            content = "\x1f".join([document.id, document.url, *fields, "\x1e", *links, *numbers, "\x1d"])
            digest.update(content.encode("utf-8", "surrogatepass"))
            yield document
        self.digest = digest.hexdigest()


def with_cache(collection: Collection) -> Collection:
    """Return the collection with its documents cached in a temporary file.

    Anchor texts, links, index and digest of a build each read all documents. The first complete pass writes the file,
    which later passes read; parsing HTML again would take longer. The file is deleted with the collection.
    """
    return replace(collection, iter_documents=_DocumentCache(collection).read)


class _DocumentCache:
    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.file: BinaryIO | None = None

    def read(self) -> Iterator[Document]:
        if self.file is not None:
            yield from _read_packed(self.file)
            return
        file = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - kept for later passes
        is_complete = False
        try:
            for document in self.collection:
                file.write(_pack(document))
                yield document
            file.flush()
            is_complete = True
        finally:
            if is_complete and self.file is None:
                self.file = file
                finalize(self, file.close)
            else:
                file.close()


def _pack(document: Document) -> bytes:
    links = [[link.target, link.text] for link in document.links]
    text = json.dumps([document.id, dict(document.fields), document.url, links, dict(document.numbers)])
    data = zlib.compress(text.encode(), 1)
    return len(data).to_bytes(8, "little") + data


def _read_packed(file: BinaryIO) -> Iterator[Document]:
    """Yield the documents of a file; each iterator has its own offset, so that passes may overlap."""
    offset = 0
    while True:
        file.seek(offset)
        size = int.from_bytes(file.read(8), "little")
        if not size:
            return
        document_id, fields, url, links, numbers = json.loads(zlib.decompress(file.read(size)))
        offset += 8 + size
        yield Document(document_id, fields, url, tuple(Link(target, text) for target, text in links), numbers)
