"""A collection of six pages whose features are known, and an index that counts words in the plainest way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pippin.collection.addresses import Addresses
from pippin.collection.anchors import with_anchors
from pippin.collection.candidates import Candidates, Floats, Ints, StreamCounts
from pippin.collection.collection import Collection, Document, Link, Query
from pippin.collection.graph import Graph
from pippin.collection.topical import Topics
from pippin.collection.urls import tokens
from pippin.collection.web import Web

MEMBERS = ("body", "anchor", "title", "url")


class PlainIndex:
    """Words counted with dictionaries: no stems, no stop words."""

    def __init__(self, collection: Collection, streams: Sequence[str] = MEMBERS) -> None:
        self.words: list[list[str]] = []
        self.ids: list[str] = []
        for document in collection:
            self.ids.append(document.id)
            self.words.append([w for s in streams for w in tokens_of(s, document)])
        self.vocabulary = sorted({word for words in self.words for word in words})
        self.number = {word: i for i, word in enumerate(self.vocabulary)}
        self.counts = [Counter(words) for words in self.words]

    @property
    def documents(self) -> int:
        return len(self.words)

    def postings(self, stream: str, word: str) -> tuple[Ints, Floats]:
        hits = [(n, counts[word]) for n, counts in enumerate(self.counts) if counts[word]]
        return np.array([n for n, _ in hits], np.int64), np.array([c for _, c in hits], np.float64)

    def lengths(self, stream: str) -> NDArray[np.uint32]:
        return np.array([len(words) for words in self.words], np.uint32)

    def average(self, stream: str) -> float:
        return float(self.lengths(stream).mean())

    def terms(self, stream: str) -> int:
        return len(self.vocabulary)

    def tokens(self, stream: str, numbers: Ints) -> tuple[Ints, NDArray[np.int32]]:
        chosen = [[self.number[word] for word in self.words[n]] for n in numbers]
        offsets = np.concatenate(([0], np.cumsum([len(words) for words in chosen]))).astype(np.int64)
        return offsets, np.array([word for words in chosen for word in words], np.int32)

    def candidates(self, query: str, numbers: Sequence[int], web: Web | None) -> Candidates:
        words, chosen = tuple(query.split()), np.asarray(numbers, np.int64)
        counts = StreamCounts(
            documents=self.documents,
            total=int(self.lengths("whole").sum()),
            average=self.average("whole"),
            df=np.array([len(self.postings("whole", word)[0]) for word in words], np.float64),
            cf=np.array([self.postings("whole", word)[1].sum() for word in words]),
            tf=np.array([[self.counts[n][word] for n in chosen] for word in words], np.float64),
            length=self.lengths("whole")[chosen].astype(np.float64),
            unique=np.array([len(self.counts[n]) for n in chosen], np.float64),
        )
        names = tuple(f"d{n + 1}" for n in chosen)
        return Candidates(Query("q", query), words, names, np.zeros(len(chosen), np.int32), {"whole": counts}, chosen,
                          self, web)  # fmt: skip


def tokens_of(stream: str, document: Document) -> list[str]:
    return tokens(document.url) if stream == "url" else document.streams.get(stream, "").lower().split()


def page(name: str, url: str, title: str, body: str, *links: tuple[str, str]) -> Document:
    return Document(name, {"title": title, "body": body}, url, tuple(Link(target, text) for target, text in links))


PAGES = (
    page("d1", "http://a.gov/", "space agency", "space agency home space",
         ("mars/", "mars"), ("/mars/rover.html", "rover"), ("http://b.gov/space/law.html", "law")),
    page("d2", "http://a.gov/mars/", "mars missions", "mars rover space mission mars",
         ("..", "home"), ("rover.html", "rover page")),
    page("d3", "http://a.gov/mars/rover.html", "rover", "mars rover", ("./", "mars missions")),
    page("d4", "http://b.gov/index.html", "health agency", "health agency", ("http://a.gov", "space agency")),
    page("d5", "http://b.gov/space/law.html", "space law", "space law agency", ("/", "health")),
    page("d6", "http://c.gov/x.html", "", "unrelated"),
)  # fmt: skip
MICRO = Collection("micro", ("body", "title", "url"), lambda: iter(PAGES), unions={"whole": MEMBERS})
TOPICS = np.array([[0.8, 0.2], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5]])


class GivenTopics(Topics):
    """Topics whose query is known to be about them so."""

    def of_query(self, *_: object) -> Floats:
        return np.array([0.9, 0.1])


def micro_web() -> Web:
    addresses = Addresses.of(MICRO)
    topics = GivenTopics(("one", "two"), TOPICS, np.full(6, -1, np.int32), np.ones(2))
    return Web.build("micro", addresses, Graph.of_collection(MICRO, addresses), topics)


def micro_candidates(numbers: Sequence[int] = range(6)) -> Candidates:
    return PlainIndex(with_anchors(MICRO)).candidates("mars space", numbers, micro_web())
