"""What do other pages call this page? The anchor stream: the texts of the links that lead to a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pippin.collection.addresses import Addresses
from pippin.collection.collection import ANCHOR, Collection, Document
from pippin.collection.linked import Said, gather_links


def with_anchors(collection: Collection, addresses: Addresses | None = None) -> Collection:
    """The collection with the anchor stream filled: texts of in-links from other documents, a line each.

    A text that is used several times stands there several times; links of a page to itself give none; a text that the
    stream had before is replaced. The collection is read once for its addresses and once for the links; in memory stay
    each different text once and two numbers per link. A union such as `whole` holds the stream only where it says so.
    """
    addresses = Addresses.of(collection) if addresses is None else addresses
    said = Said.of([gather_links(addresses, collection)], len(addresses.ids))
    streams = collection.streams if ANCHOR in collection.streams else (*collection.streams, ANCHOR)
    return replace(collection, streams=streams, anchored=True, read=lambda: _read(collection, said))


def _read(collection: Collection, said: Said) -> Iterator[Document]:
    for number, document in enumerate(collection):
        yield replace(document, streams={**document.streams, ANCHOR: said.of_document(number)})
