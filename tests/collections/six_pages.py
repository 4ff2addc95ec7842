"""A collection of six pages with known features, and a naive index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection, Document, Link, Query
from pippin.collections.index.statistics import Candidates, FieldStatistics, Floats, Ints
from pippin.collections.letor.metadata import CollectionInfo, query_file, write_info, write_query
from pippin.collections.links.graph import Graph, add_anchor_texts
from pippin.collections.links.link_index import LinkIndex
from pippin.collections.links.topical import TopicDistributions
from pippin.collections.links.urls import DocumentUrls, tokens
from pippin.kernels.strings import StringColumn

MEMBERS = ("body", "anchor", "title", "url")


class PlainIndex:
    """Words counted with dictionaries: no stems, no stop words."""

    def __init__(self, collection: Collection, fields: Sequence[str] = MEMBERS) -> None:
        self.words: list[list[str]] = []
        self.ids: list[str] = []
        for document in collection:
            self.ids.append(document.id)
            self.words.append([w for s in fields for w in tokens_of(s, document)])
        self.vocabulary = StringColumn.of(sorted({word for words in self.words for word in words}))
        self.number = {word: i for i, word in enumerate(self.vocabulary)}
        self.counts = [Counter(words) for words in self.words]

    @property
    def documents(self) -> int:
        return len(self.words)

    def postings(self, field: str, word: str) -> tuple[Ints, Floats]:
        hits = [(n, counts[word]) for n, counts in enumerate(self.counts) if counts[word]]
        return np.array([n for n, _ in hits], np.int64), np.array([c for _, c in hits], np.float64)

    def lengths(self, field: str) -> NDArray[np.uint32]:
        return np.array([len(words) for words in self.words], np.uint32)

    def average_length(self, field: str) -> float:
        return float(self.lengths(field).mean())

    def vocabulary_size(self, field: str) -> int:
        return len(self.vocabulary)

    def term_statistics(self, field: str, words: Sequence[str]) -> tuple[Floats, Floats]:
        results = [self.postings(field, word)[1] for word in words]
        return np.array([len(counts) for counts in results], np.float64), np.array([counts.sum() for counts in results])

    def tokens(self, field: str, numbers: Ints) -> tuple[Ints, NDArray[np.int32]]:
        selected = [[self.number[word] for word in self.words[n]] for n in numbers]
        offsets = np.concatenate(([0], np.cumsum([len(words) for words in selected]))).astype(np.int64)
        return offsets, np.array([word for words in selected for word in words], np.int32)

    def candidates(self, query: str, numbers: Sequence[int], web: LinkIndex | None) -> Candidates:
        words, selected = tuple(query.split()), np.asarray(numbers, np.int64)
        counts = FieldStatistics(
            documents=self.documents,
            total=int(self.lengths("whole").sum()),
            average=self.average_length("whole"),
            df=np.array([len(self.postings("whole", word)[0]) for word in words], np.float64),
            cf=np.array([self.postings("whole", word)[1].sum() for word in words]),
            tf=np.array([[self.counts[n][word] for n in selected] for word in words], np.float64),
            length=self.lengths("whole")[selected].astype(np.float64),
            unique=np.array([len(self.counts[n]) for n in selected], np.float64),
        )
        names = tuple(f"d{n + 1}" for n in selected)
        return Candidates(Query("q", query), words, names, np.zeros(len(selected), np.int32), {"whole": counts},
                          selected, self, web)  # fmt: skip


def tokens_of(field: str, document: Document) -> list[str]:
    return tokens(document.url) if field == "url" else document.fields.get(field, "").lower().split()


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
MICRO = Collection("micro", ("body", "title", "url"), lambda: iter(PAGES), combined_fields={"whole": MEMBERS})
TOPICS = np.array([[0.8, 0.2], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5]])


class GivenTopics(TopicDistributions):
    """Topics whose query is known to be about them so."""

    def of_query(self, *_: object) -> Floats:
        return np.array([0.9, 0.1])


def micro_web() -> LinkIndex:
    addresses = DocumentUrls.of(MICRO)
    topics = GivenTopics(("one", "two"), TOPICS, np.full(6, -1, np.int32), np.ones(2))
    return LinkIndex.build("micro", addresses, Graph.of_collection(MICRO, addresses), topics)


def micro_candidates(numbers: Sequence[int] = range(6)) -> Candidates:
    return PlainIndex(add_anchor_texts(MICRO)).candidates("mars space", numbers, micro_web())


def write_meta(folder: Path, info: CollectionInfo, queries: Iterable[Candidates]) -> list[Path]:
    """Write the meta-information of a collection and of some queries; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "collectioninfo.xml"]
    write_info(info, files[0])
    for candidates in queries:
        files.append(query_file(folder, candidates.query.id))
        write_query(candidates, info, files[-1])
    return files
