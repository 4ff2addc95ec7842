"""Summarize the link structure of a collection: the function `pippin.links` and its records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.collections.collection import Collection, Document
from pippin.collections.document_stream import with_cache
from pippin.collections.letor.link_files import write_link_files
from pippin.collections.links.graph import Graph
from pippin.collections.links.link_analysis import hits
from pippin.collections.links.link_index import LinkIndex, is_link_index
from pippin.collections.links.topical import TopicDistributions, learn_topics
from pippin.collections.links.urls import DocumentUrls
from pippin.collections.sources import open_collection, warn_about_notes
from pippin.display.terminal import ProgressBar, progress

Record = dict[str, Any]


def links(
    collection: str | os.PathLike[str],
    *,
    around: str | None = None,
    top: int = 10,
    format: str | None = None,
    jobs: int = 1,
    files: str | os.PathLike[str] | None = None,
    save: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Summarize the links and the sitemap of a collection, or the neighbours of one page.

    Parameters
    ----------
    collection : path
        A file or folder of documents, ``"stdlib"``, or a folder written with `save`.
    around : str, optional
        Id or URL of a page: describe this page and its neighbours instead of the whole collection.
    top : int, default 10
        Number of hosts and pages per list.
    format : str, optional
        Format of the documents; detected by default.
    jobs : int, default 1
        Number of processes that parse web pages. With more than one, a script needs a `__main__` guard.
    files : path, optional
        Folder to write LETOR's linkgraph.txt, sitemap.txt and docmap.txt to.
    save : path, optional
        Folder to store graph, sitemap and ranks in, for later calls.

    Returns
    -------
    dict
        Sizes, degrees, hosts and top pages by PageRank, HITS and degrees; with `around`, the properties of that
        page and its neighbours.

    Raises
    ------
    DataError
        If no page has the id or URL `around`.

    Examples
    --------
    >>> import pippin, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "docs.jsonl"
    >>> _ = file.write_text('{"id": "a", "text": "x", "links": ["b"]}\\n{"id": "b", "text": "y", "links": []}\\n')
    >>> pippin.links(file)["sizes"]["links"]
    1
    """
    index = load_links(collection, format=format, jobs=jobs)
    if files is not None:
        write_link_files(index, files)
    if save is not None:
        index.save(save)
    return overview_record(index, top) if around is None else page_record(index, around, top)


def load_links(collection: str | os.PathLike[str], *, format: str | None = None, jobs: int | None = None) -> LinkIndex:
    """Open a stored link index, or compute that of a collection.

    Topics count only if every page has one, because without a text index no page can be classified.
    """
    if is_link_index(Path(collection)):
        return LinkIndex.open(collection)
    source = open_collection(collection, anchors=False, format=format, documents_only=True, links_only=True, jobs=jobs)
    pages = with_cache(source)
    with progress(0, f"reading {pages.name}") as bar:
        urls = DocumentUrls.of(replace(pages, iter_documents=lambda: _iterate(pages, bar)))
    warn_about_notes(source)
    count = len(urls.ids)
    topics = learn_topics(pages.topics, urls.ids) if len(pages.topics) == count > 0 else TopicDistributions.none(count)
    return LinkIndex.build(pages.name, urls, Graph.of_collection(pages, urls), topics)


def _iterate(collection: Collection, bar: ProgressBar) -> Iterator[Document]:
    for document in collection:
        bar.step("pages")
        yield document


def overview_record(index: LinkIndex, top: int) -> Record:
    """Return sizes, degrees, and the top hosts and pages by every rank."""
    return {
        "name": index.name, "sizes": _sizes(index),
        "convergence": {name: dict(end) for name, end in index.convergence.items()},
        "degrees": _degrees(index), "hosts": _top_hosts(index, top), "pages": _top_pages(index, top),
    }  # fmt: skip


def _sizes(index: LinkIndex) -> dict[str, int]:
    graph, depth = index.graph, index.sitemap.depth
    return {
        "pages": index.pages, "links": graph.links, "self_links": graph.self_links, "repeats": graph.repeats,
        "links_outside": int(graph.outside.sum()), "pages_outside": len(graph.outside_urls),
        "without_out_links": _count_zeros(graph.outdegree), "without_in_links": _count_zeros(graph.indegree),
        "hosts": len(index.host_names), "unparsed_urls": index.unparsed, "sitemap_roots": index.sitemap.roots,
        "sitemap_depth": int(depth.max()) if len(depth) else 0, "topics": len(index.topics.categories),
    }  # fmt: skip


def _count_zeros(degree: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(degree == 0))


def _degrees(index: LinkIndex) -> list[dict[str, int]]:
    """Return histograms of links, children and depth, with bins that double in width."""
    columns: dict[str, NDArray[Any]] = {
        "in_links": index.graph.indegree, "out_links": index.graph.outdegree, "children": index.sitemap.child_counts,
        "depth": index.sitemap.depth,
    }  # fmt: skip
    # 0 → 0, 1 → 1, 2–3 → 2, 4–7 → 3 …
    bits = {name: np.frexp(column.astype(np.float64))[1] for name, column in columns.items()}
    most = max((int(b.max()) for b in bits.values() if len(b)), default=0)
    counts = {name: np.bincount(b, minlength=most + 1) for name, b in bits.items()}
    return [
        {"least": (1 << bit) >> 1, "most": (1 << bit) - 1, **{name: int(count[bit]) for name, count in counts.items()}}
        for bit in range(most + 1)
    ]


def _top_hosts(index: LinkIndex, top: int) -> list[Record]:
    """Return the top hosts by HostRank."""
    pages = np.bincount(index.hosts, minlength=len(index.host_names))
    rank = np.zeros(len(pages))
    np.add.at(rank, index.hosts, index.hostrank)
    rank /= np.maximum(pages, 1)
    return [
        {"host": index.host_names.at(h), "pages": int(pages[h]), "hostrank": float(rank[h])}
        for h in _largest(rank, top)
    ]


def _top_pages(index: LinkIndex, top: int) -> dict[str, list[Record]]:
    """Return the top pages by every rank."""
    hits_result = hits(index.graph.matrix())
    ranks: dict[str, NDArray[Any]] = {
        "pagerank": index.pagerank,
        "authority": hits_result.authority,
        "hub": hits_result.hub,
        "in_links": index.graph.indegree,
        "out_links": index.graph.outdegree,
    }
    if not index.topics.proxy:
        ranks |= {f"pagerank in {name}": index.topical[:, i] for i, name in enumerate(index.topics.categories)}
    return {
        name: [
            {**_identify(index, page), "value": values[page].item()}
            for page in _largest(values.astype(np.float64), top)
        ]
        for name, values in ranks.items()
    }


def _largest(values: NDArray[np.float64], top: int) -> list[int]:
    """Return the positions of the largest values, ties in order."""
    order: list[int] = np.lexsort((np.arange(len(values)), -values))[:top].tolist()
    return order


def _identify(index: LinkIndex, page: int) -> Record:
    """Return the id and URL of a page."""
    return {"document": index.ids.at(page), "url": index.urls.at(page)}


def page_record(index: LinkIndex, page: str, top: int) -> Record:
    """Return the properties of one page and its neighbours, those of the highest PageRank first."""
    number = index.find(page)
    graph, sitemap = index.graph, index.sitemap
    parent = int(sitemap.parent[number])
    neighbours = {"in_links": graph.sources(number), "out_links": graph.targets(number),
              "children": sitemap.children(number), "siblings": sitemap.siblings(number)}  # fmt: skip
    return {
        **_identify(index, number),
        "host": index.host_names.at(int(index.hosts[number])),
        "pagerank": float(index.pagerank[number]),
        "hostrank": float(index.hostrank[number]),
        "slashes": int(index.slashes[number]),
        "url_length": int(index.url_lengths[number]),
        "depth": int(sitemap.depth[number]),
        "parent": _identify(index, parent) if parent >= 0 else None,
        "links_outside": int(graph.outside[number]) if len(graph.outside) else 0,
        "around": {
            name: _summarize_pages(index, np.asarray(pages, np.int64), top) for name, pages in neighbours.items()
        },
    }


def _summarize_pages(index: LinkIndex, pages: NDArray[np.int64], top: int) -> Record:
    ranks = index.pagerank[pages]
    pages_shown = [{**_identify(index, int(pages[i])), "pagerank": float(ranks[i])} for i in _largest(ranks, top)]
    return {"number": len(pages), "pages": pages_shown}
