"""What do other pages call this page? The anchor stream: the texts of the links that lead to a document."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pippin.collection.addresses import Addresses
from pippin.collection.collection import ANCHOR, Collection, Document
from pippin.collection.graph import Numbers


def with_anchors(collection: Collection, addresses: Addresses | None = None) -> Collection:
    """The collection with the anchor stream filled: texts of in-links from other documents, a line each.

    A text that is used several times stands there several times; links of a page to itself give none; a text that the
    stream had before is replaced. The collection is read once for its addresses and once for the links; in memory stay
    each different text once and two numbers per link. A union such as `whole` holds the stream only where it says so.
    """
    addresses = Addresses.of(collection) if addresses is None else addresses
    numbers: dict[str, int] = {}
    targets, texts = array("i"), array("i")
    for source, _, link, target in addresses.links(collection):
        text = " ".join(link.text.split())
        if text and target >= 0 and target != source:
            targets.append(target)
            texts.append(numbers.setdefault(text, len(numbers)))
    ends = np.frombuffer(targets, np.int32)
    order = np.argsort(ends, kind="stable")  # texts in the order of the pages that say them
    offsets = np.searchsorted(ends[order], np.arange(len(addresses.ids) + 1))
    said, names = np.frombuffer(texts, np.int32)[order], list(numbers)
    streams = collection.streams if ANCHOR in collection.streams else (*collection.streams, ANCHOR)
    return replace(collection, streams=streams, read=lambda: _read(collection, offsets.tolist(), said, names))


def _read(collection: Collection, offsets: list[int], said: Numbers, names: list[str]) -> Iterator[Document]:
    for number, document in enumerate(collection):
        lines = [names[text] for text in said[offsets[number] : offsets[number + 1]].tolist()]
        yield replace(document, streams={**document.streams, ANCHOR: "\n".join(lines)})
