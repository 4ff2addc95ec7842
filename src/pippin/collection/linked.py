"""Where do the links of some documents lead, and what do they say? Gathered stretch by stretch, and put together."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pippin.collection.addresses import Addresses
from pippin.collection.collection import Document
from pippin.collection.urls import follow

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Links:
    """The links of a stretch of documents."""

    sources: Numbers  # of links to documents that are here
    targets: Numbers
    texts: Numbers  # the words of each, by their place in `names`; −1 where it has none
    names: Sequence[str]
    outside: Counter[int]  # document → links to pages that are not here
    elsewhere: Counter[str]  # where those lead to


def gather_links(addresses: Addresses, documents: Iterable[Document], first: int = 0, last: int | None = None) -> Links:
    """The links of all documents, or of those with the numbers `first` up to `last`."""
    numbers: dict[str, int] = {}
    sources, targets, texts = array("i"), array("i"), array("i")
    outside: Counter[int] = Counter()
    elsewhere: Counter[str] = Counter()
    for source, page, link, target in addresses.links(documents, first, last):
        if target >= 0:
            text = " ".join(link.text.split())
            sources.append(source)
            targets.append(target)
            texts.append(numbers.setdefault(text, len(numbers)) if text else -1)
        elif place := _elsewhere(page, link.target):
            outside[source] += 1
            elsewhere[place] += 1
    inside = [np.frombuffer(one, np.int32) for one in (sources, targets, texts)]
    return Links(inside[0], inside[1], inside[2], tuple(numbers), outside, elsewhere)


def _elsewhere(page: str, target: str) -> str:
    """What a link that leads outside is counted under; empty where it leads to no page (mail, scripts, a fragment)."""
    place = follow(page, target) if page else target.strip()
    return "" if place == page else place


@dataclass(frozen=True, eq=False)
class Said:
    """What links say of every document: its texts, in the order of the pages that say them."""

    offsets: list[int]
    texts: Numbers
    names: Sequence[str]

    @classmethod
    def of(cls, parts: Iterable[Links], documents: int) -> Said:
        """The texts of links from other documents; a link of a page to itself says nothing of it."""
        numbers: dict[str, int] = {}
        targets, texts = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        for part in parts:
            kept = (part.texts >= 0) & (part.targets != part.sources)
            place = np.array([numbers.setdefault(name, len(numbers)) for name in part.names], np.int32)
            targets.append(part.targets[kept])
            texts.append(place[part.texts[kept]])
        ends = np.concatenate(targets)
        order = np.argsort(ends, kind="stable")
        offsets = np.searchsorted(ends[order], np.arange(documents + 1)).tolist()
        return cls(offsets, np.concatenate(texts)[order], tuple(numbers))

    def of_document(self, number: int) -> str:
        """The texts of one document, a line each."""
        here = self.texts[self.offsets[number] : self.offsets[number + 1]].tolist()
        return "\n".join(self.names[text] for text in here)
