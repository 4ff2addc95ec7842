"""Everything a collection's links and urls say, worked out once: graph, sitemap, hosts, ranks, topics.

`Web.of(collection, index)` builds it, `save` and `Web.open` keep it in a folder: `manifest.json` with counts,
parameters and how each rank converged, and one plain array per file. The same collection gives the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collection.addresses import Addresses
from pippin.collection.candidates import Floats
from pippin.collection.collection import Collection
from pippin.collection.graph import Graph, Numbers
from pippin.collection.ranks import DAMPING, Rank, hostrank, pagerank
from pippin.collection.sitemap import Sitemap
from pippin.collection.topical import Forward, Topics, learn_topics, topical_pagerank
from pippin.collection.urls import host, length, slashes
from pippin.data.dataset import check_offsets
from pippin.data.store import read_column, write_column
from pippin.data.texts import Texts
from pippin.errors import DataError
from pippin.manifest import Format

FORMAT = Format("pippin web", 2, "web", "save it again with `pippin links COLLECTION --save FOLDER`")


@dataclass(frozen=True, eq=False)
class Web:
    """The web side of a collection; pages are numbered as the collection gives them, and as its index does."""

    name: str
    ids: Texts
    urls: Texts  # canonical; empty where there is none
    host_names: Texts
    hosts: Numbers  # [n] number of the host
    graph: Graph
    sitemap: Sitemap
    pagerank: Floats  # [n], sums to 1
    hostrank: Floats  # [n], that of the page's host (or its share of it)
    topics: Topics
    topical: Floats  # [n, k], sums over k to pagerank
    slashes: Numbers
    url_lengths: Numbers
    unparsed: int = 0  # urls that do not parse
    parameters: Mapping[str, Any] = field(default_factory=dict)
    convergence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # rank → rounds, residual

    @classmethod
    def of(
        cls,
        collection: Collection,
        index: Forward | None = None,
        *,
        topical: bool = True,
        stream: str = "whole",
        damping: float = DAMPING,
        topic_alpha: float = 0.5,
        distributed: bool = False,
        super_domains: bool = False,
        addresses: Addresses | None = None,
        graph: Graph | None = None,
    ) -> Web:
        """The web of a collection; the index is needed to classify pages where only some have a topic.

        The collection is read for addresses and links that are not given.
        """
        addresses = Addresses.of(collection) if addresses is None else addresses
        if index is not None and tuple(index.ids) != addresses.ids:
            raise DataError("the index is of other documents, or has them in another order")
        graph = Graph.of_collection(collection, addresses) if graph is None else graph
        given = collection.topics if topical else {}
        topics = learn_topics(given, addresses.ids, index, stream=stream)
        return cls.build(
            collection.name, addresses, graph, topics, damping=damping, topic_alpha=topic_alpha,
            distributed=distributed, super_domains=super_domains,
        )  # fmt: skip

    @classmethod
    def build(
        cls,
        name: str,
        addresses: Addresses,
        graph: Graph,
        topics: Topics,
        *,
        damping: float = DAMPING,
        topic_alpha: float = 0.5,
        distributed: bool = False,
        super_domains: bool = False,
    ) -> Web:
        """The web of pages with these addresses, links and topics."""
        sitemap = Sitemap.of_urls(addresses.urls, super_domains=super_domains)
        names: dict[str, int] = {}
        hosts = np.array([names.setdefault(host(url), len(names)) for url in addresses.urls], np.int32)
        pages = pagerank(graph, damping=damping)
        of_hosts = hostrank(graph, hosts, sitemap, distributed=distributed, damping=damping)
        by_topic = topical_pagerank(graph, pages.values, topics.pages, alpha=topic_alpha, damping=damping)
        return cls(
            name, Texts.of(addresses.ids), Texts.of(addresses.urls), Texts.of(names), hosts, graph, sitemap,
            pages.values, of_hosts.values, topics, by_topic.values,
            np.array([slashes(url) for url in addresses.urls], np.int32),
            np.array([length(url) for url in addresses.urls], np.int32),
            addresses.unparsed,
            {"damping": damping, "topic_alpha": topic_alpha, "distributed": distributed,
             "super_domains": super_domains},
            {"pagerank": _ended(pages), "hostrank": _ended(of_hosts), "topical_pagerank": _ended(by_topic)},
        )  # fmt: skip

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return self.graph.pages

    @property
    def proxies(self) -> tuple[str, ...]:
        """Features that stand for something this collection does not have."""
        topical = ("topical_pagerank", "topical_authority", "topical_hub") if self.topics.proxy else ()
        named = bool(np.any(self.url_lengths > 0))
        return (*topical, *(() if named else ("sitemap_term", "sitemap_score", "hostrank", "slashes", "url_length",
                                             "children")))  # fmt: skip

    @cached_property
    def _addresses(self) -> Addresses:
        return Addresses.of_pages(self.ids, self.urls)

    def find(self, page: str) -> int:
        """The number of a page by its id or url."""
        number = self._addresses.find("", page)
        if number < 0:
            raise DataError(f"no page has the id or url {page!r}")
        return number

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the web as a folder of plain arrays; one that stands there is replaced."""
        manifest: dict[str, Any] = {
            "name": self.name,
            "counts": {"pages": self.pages, "links": self.graph.links, "hosts": len(self.host_names),
                       "self_links": self.graph.self_links, "repeats": self.graph.repeats,
                       "outside": int(self.graph.outside.sum()), "unparsed": self.unparsed},
            "categories": list(self.topics.categories), "vocabulary": self.topics.vocabulary,
            "topics_stream": self.topics.stream, "parameters": dict(self.parameters),
            "convergence": {name: dict(end) for name, end in self.convergence.items()}, "proxies": list(self.proxies),
        }  # fmt: skip
        with FORMAT.new_folder(path) as folder:
            manifest["columns"] = {name: write_column(folder, name, column) for name, column in _columns(self).items()}
            FORMAT.write(folder, manifest)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = False) -> Web:
        """Open a saved web by memory map, verified; `verify` reads files that nobody looks at, too."""
        manifest = FORMAT.read(path)
        with FORMAT.described(path):
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


def _ended(rank: Rank) -> dict[str, float]:
    return {"rounds": rank.rounds, "residual": rank.residual}


def is_web(folder: Path) -> bool:
    """Whether a folder holds a web written by `save`."""
    return FORMAT.is_at(folder)


def _columns(web: Web) -> dict[str, NDArray[Any] | Texts]:
    graph, sitemap, topics = web.graph, web.sitemap, web.topics
    return {
        "ids": web.ids, "urls": web.urls, "host_names": web.host_names, "hosts": web.hosts,
        "out_offsets": graph.out_offsets, "out_targets": graph.out_targets, "in_offsets": graph.in_offsets,
        "in_sources": graph.in_sources, "outside": graph.outside, "outside_urls": graph.outside_urls,
        "outside_counts": graph.outside_counts, "parent": sitemap.parent, "pagerank": web.pagerank,
        "hostrank": web.hostrank, "topics": topics.pages, "known": topics.known, "totals": topics.totals,
        "topical": web.topical, "slashes": web.slashes, "url_lengths": web.url_lengths,
    }  # fmt: skip


def _assemble(manifest: dict[str, Any], columns: dict[str, Any]) -> Web:
    counts, c = manifest["counts"], columns
    graph = Graph(
        c["out_offsets"], c["out_targets"], c["in_offsets"], c["in_sources"], counts["self_links"], counts["repeats"],
        c["outside"], c["outside_urls"], c["outside_counts"],
    )  # fmt: skip
    topics = Topics(
        tuple(manifest["categories"]), c["topics"], c["known"], c["totals"], manifest["vocabulary"],
        manifest["topics_stream"],
    )  # fmt: skip
    _check(c, graph.pages, len(topics.categories))
    return Web(
        manifest["name"], c["ids"], c["urls"], c["host_names"], c["hosts"], graph, Sitemap.of_parents(c["parent"]),
        c["pagerank"], c["hostrank"], topics, c["topical"], c["slashes"], c["url_lengths"], counts["unparsed"],
        manifest["parameters"], manifest["convergence"],
    )  # fmt: skip


def _check(columns: dict[str, Any], pages: int, categories: int) -> None:
    """Raise unless the columns fit together: kernels and features follow these numbers without looking."""
    table = (pages, categories)
    shapes = {
        "hosts": (pages,), "in_offsets": (pages + 1,), "outside": (pages,), "parent": (pages,), "pagerank": (pages,),
        "hostrank": (pages,), "slashes": (pages,), "url_lengths": (pages,), "known": (pages,), "topics": table,
        "topical": table, "totals": (categories,), "outside_counts": (len(columns["outside_urls"]),),
    }  # fmt: skip
    for name, shape in shapes.items():
        if columns[name].shape != shape:
            raise DataError(f"its column {name} has the shape {columns[name].shape} where {shape} is needed")
    if len(columns["ids"]) != pages or len(columns["urls"]) != pages:
        raise DataError("its columns are of different lengths")
    for offsets, numbers in (("out_offsets", "out_targets"), ("in_offsets", "in_sources")):
        check_offsets(columns[offsets], len(columns[numbers]), pages)
    hosts = len(columns["host_names"])
    for name, count in (("out_targets", pages), ("in_sources", pages), ("hosts", hosts)):
        numbers = columns[name]
        if numbers.dtype != np.int32 or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < count):
            raise DataError(f"its column {name} holds a number outside 0 … {count - 1}")
