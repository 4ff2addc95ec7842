"""Everything derived from the links and URLs of a collection: graph, sitemap, hosts, ranks and topics.

`LinkIndex.of(collection, index)` computes it; `save` and `LinkIndex.open` store it in a folder with `manifest.json`
(counts, parameters, convergence of each rank) and one array per file. Equal collections give equal bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection
from pippin.collections.index.statistics import Floats, IndexReader
from pippin.collections.links.graph import Graph, Numbers
from pippin.collections.links.link_analysis import DAMPING, Rank, hostrank, pagerank
from pippin.collections.links.sitemap import Sitemap
from pippin.collections.links.topical import TopicDistributions, learn_topics, topical_pagerank
from pippin.collections.links.urls import DocumentUrls, host, length, slashes
from pippin.data.dataset import check_offsets
from pippin.data.store import read_column, write_column
from pippin.errors import DataError
from pippin.kernels.strings import StringColumn
from pippin.storage.manifest import FolderFormat

FORMAT = FolderFormat("pippin web", 2, "web", "save it again with `pippin links COLLECTION --save FOLDER`")
TOPIC_ALPHA = 0.5  # share of surfers who keep their topic


@dataclass(frozen=True, eq=False)
class LinkIndex:
    """The links of a collection and what is derived from them; pages have the numbers of the index."""

    name: str
    ids: StringColumn
    urls: StringColumn  # canonical; empty for a page without URL
    host_names: StringColumn
    hosts: Numbers  # [n] number of the host
    graph: Graph
    sitemap: Sitemap
    pagerank: Floats  # [n], sums to 1
    hostrank: Floats  # [n], of the page's host
    topics: TopicDistributions
    topical: Floats  # [n, k], sums over k to pagerank
    slashes: Numbers
    url_lengths: Numbers
    unparsed: int = 0  # urls that do not parse
    parameters: Mapping[str, Any] = dataclass_field(default_factory=dict)
    convergence: Mapping[str, Mapping[str, float]] = dataclass_field(default_factory=dict)  # rank → rounds, residual

    @classmethod
    def of(
        cls,
        collection: Collection,
        index: IndexReader | None = None,
    ) -> LinkIndex:
        """Compute the links of a collection; the index is needed to classify pages if only some have a topic."""
        urls = DocumentUrls.of(collection)
        if index is not None and tuple(index.ids) != urls.ids:
            raise DataError("the index has other documents, or in another order")
        graph = Graph.of_collection(collection, urls)
        return cls.build(collection.name, urls, graph, learn_topics(collection.topics, urls.ids, index))

    @classmethod
    def build(cls, name: str, documents: DocumentUrls, graph: Graph, topics: TopicDistributions) -> LinkIndex:
        """Compute sitemap and ranks of pages with these URLs, links and topics."""
        names: dict[str, int] = {}
        hosts = np.array([names.setdefault(host(url), len(names)) for url in documents.urls], np.int32)
        pages = pagerank(graph)
        of_hosts = hostrank(graph, hosts)
        by_topic = topical_pagerank(graph, pages.values, topics.pages, alpha=TOPIC_ALPHA)
        return cls(
            name, StringColumn.of(documents.ids), StringColumn.of(documents.urls), StringColumn.of(names), hosts,
            graph, Sitemap.of_urls(documents.urls), pages.values, of_hosts.values, topics, by_topic.values,
            np.array([slashes(url) for url in documents.urls], np.int32),
            np.array([length(url) for url in documents.urls], np.int32),
            documents.unparsed,
            {"damping": DAMPING, "topic_alpha": TOPIC_ALPHA},
            {"pagerank": _convergence(pages), "hostrank": _convergence(of_hosts),
             "topical_pagerank": _convergence(by_topic)},
        )  # fmt: skip

    @property
    def pages(self) -> int:
        """Number of pages."""
        return self.graph.pages

    @property
    def proxies(self) -> tuple[str, ...]:
        """Features that are only proxies in a collection without topics or URLs."""
        topical = ("topical_pagerank", "topical_authority", "topical_hub") if self.topics.proxy else ()
        has_urls = bool(np.any(self.url_lengths > 0))
        of_urls = ("sitemap_term", "sitemap_score", "hostrank", "slashes", "url_length", "children")
        return (*topical, *(() if has_urls else of_urls))

    @cached_property
    def _addresses(self) -> DocumentUrls:
        return DocumentUrls.of_pages(self.ids, self.urls)

    def find(self, page: str) -> int:
        """Return the number of the page with this id or URL."""
        number = self._addresses.find("", page)
        if number < 0:
            raise DataError(f"no page has the id or URL {page!r}")
        return number

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a folder of arrays; an existing one is replaced."""
        manifest: dict[str, Any] = {
            "name": self.name,
            "counts": {"pages": self.pages, "links": self.graph.links, "hosts": len(self.host_names),
                       "self_links": self.graph.self_links, "repeats": self.graph.repeats,
                       "outside": int(self.graph.outside.sum()), "unparsed": self.unparsed},
            "categories": list(self.topics.categories), "vocabulary": self.topics.vocabulary,
            "topics_stream": self.topics.field, "parameters": dict(self.parameters),
            "convergence": {name: dict(end) for name, end in self.convergence.items()}, "proxies": list(self.proxies),
        }  # fmt: skip
        with FORMAT.new_folder(path) as folder:
            manifest["columns"] = {name: write_column(folder, name, column) for name, column in _columns(self).items()}
            FORMAT.write(folder, manifest)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = False) -> LinkIndex:
        """Open a saved link index by memory map; arrays are verified when read, or all now with `verify`."""
        manifest = FORMAT.read(path)
        with FORMAT.wrap_errors(path):
            if verify:
                manifest.verify()
            return _assemble(
                manifest.record, {name: read_column(manifest, entry) for name, entry in manifest["columns"].items()}
            )

    def __repr__(self) -> str:
        return (
            f"Web({self.name!r}: {self.pages:,} pages, {self.graph.links:,} links, {len(self.host_names):,} hosts, "
            f"{len(self.topics.categories)} topics)"
        )


def _convergence(rank: Rank) -> dict[str, float]:
    return {"rounds": rank.rounds, "residual": rank.residual}


def is_link_index(folder: Path) -> bool:
    """Return whether a folder was written by `LinkIndex.save`."""
    return FORMAT.is_at(folder)


def _columns(web: LinkIndex) -> dict[str, NDArray[Any] | StringColumn]:
    graph, sitemap, topics = web.graph, web.sitemap, web.topics
    return {
        "ids": web.ids, "urls": web.urls, "host_names": web.host_names, "hosts": web.hosts,
        "out_offsets": graph.out_offsets, "out_targets": graph.out_targets, "in_offsets": graph.in_offsets,
        "in_sources": graph.in_sources, "outside": graph.outside, "outside_urls": graph.outside_urls,
        "outside_counts": graph.outside_counts, "parent": sitemap.parent, "pagerank": web.pagerank,
        "hostrank": web.hostrank, "topics": topics.pages, "known": topics.known, "totals": topics.totals,
        "topical": web.topical, "slashes": web.slashes, "url_lengths": web.url_lengths,
    }  # fmt: skip


def _assemble(manifest: dict[str, Any], columns: dict[str, Any]) -> LinkIndex:
    counts, c = manifest["counts"], columns
    graph = Graph(
        c["out_offsets"], c["out_targets"], c["in_offsets"], c["in_sources"], counts["self_links"], counts["repeats"],
        c["outside"], c["outside_urls"], c["outside_counts"],
    )  # fmt: skip
    topics = TopicDistributions(
        tuple(manifest["categories"]), c["topics"], c["known"], c["totals"], manifest["vocabulary"],
        manifest["topics_stream"],
    )  # fmt: skip
    _check(c, graph.pages, len(topics.categories))
    return LinkIndex(
        manifest["name"], c["ids"], c["urls"], c["host_names"], c["hosts"], graph, Sitemap.of_parents(c["parent"]),
        c["pagerank"], c["hostrank"], topics, c["topical"], c["slashes"], c["url_lengths"], counts["unparsed"],
        manifest["parameters"], manifest["convergence"],
    )  # fmt: skip


def _check(columns: dict[str, Any], pages: int, categories: int) -> None:
    """Raise unless the columns are consistent: kernels and features use these numbers without checks."""
    table = (pages, categories)
    shapes = {
        "hosts": (pages,), "in_offsets": (pages + 1,), "outside": (pages,), "parent": (pages,), "pagerank": (pages,),
        "hostrank": (pages,), "slashes": (pages,), "url_lengths": (pages,), "known": (pages,), "topics": table,
        "topical": table, "totals": (categories,), "outside_counts": (len(columns["outside_urls"]),),
    }  # fmt: skip
    for name, shape in shapes.items():
        if columns[name].shape != shape:
            raise DataError(f"column {name} has shape {columns[name].shape}; expected {shape}")
    if len(columns["ids"]) != pages or len(columns["urls"]) != pages:
        raise DataError("the columns differ in length")
    for offsets, numbers in (("out_offsets", "out_targets"), ("in_offsets", "in_sources")):
        check_offsets(columns[offsets], len(columns[numbers]), pages)
    hosts = len(columns["host_names"])
    for name, count in (("out_targets", pages), ("in_sources", pages), ("hosts", hosts)):
        numbers = columns[name]
        if numbers.dtype != np.int32 or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < count):
            raise DataError(f"column {name} has a number outside 0 … {count - 1}")
