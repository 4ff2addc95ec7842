"""Which documents are these? One digest of all that they say, taken while somebody reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from pippin.collection.collection import Collection, Document


class Fingerprint:
    """The digest of all documents, taken while somebody reads them."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.digest = collection, ""

    def read(self) -> Iterator[Document]:
        """The documents, one after the other; the digest is there after the last."""
        total = hashlib.sha256()
        for document in self.collection.read():
            links = [part for link in document.links for part in (link.target, link.text)]
            streams = [part for pair in document.streams.items() for part in pair]
            said = "\x1f".join([document.id, document.url, *streams, "\x1e", *links, "\x1d"])
            total.update(said.encode("utf-8", "surrogatepass"))
            yield document
        self.digest = total.hexdigest()
