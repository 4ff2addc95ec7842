"""What `pippin links` knows of a web, as records: all of it in numbers, or one page and those around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pippin.collection.web import Web

Record = dict[str, Any]


def overview_record(web: Web, top: int) -> Record:
    """The sizes, the degrees, and the first hosts and pages by every rank."""
    return {
        "name": web.name, "sizes": _sizes(web),
        "convergence": {name: dict(end) for name, end in web.convergence.items()},
        "degrees": _degrees(web), "hosts": _top_hosts(web, top), "pages": _top_pages(web, top),
    }  # fmt: skip


def _sizes(web: Web) -> dict[str, int]:
    graph, depth = web.graph, web.sitemap.depth
    return {
        "pages": web.pages, "links": graph.links, "self_links": graph.self_links, "repeats": graph.repeats,
        "links_outside": int(graph.outside.sum()), "pages_outside": len(graph.outside_urls),
        "without_out_links": _none(graph.outdegree), "without_in_links": _none(graph.indegree),
        "hosts": len(web.host_names), "unparsed_urls": web.unparsed, "sitemap_roots": web.sitemap.roots,
        "sitemap_depth": int(depth.max()) if len(depth) else 0, "topics": len(web.topics.categories),
    }  # fmt: skip


def _none(degree: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(degree == 0))


def _degrees(web: Web) -> list[dict[str, int]]:
    """How many pages have so many links or children, in classes that double; and how deep pages stand."""
    columns: dict[str, NDArray[Any]] = {
        "in_links": web.graph.indegree, "out_links": web.graph.outdegree, "children": web.sitemap.child_counts,
        "depth": web.sitemap.depth,
    }  # fmt: skip
    # 0 → 0, 1 → 1, 2–3 → 2, 4–7 → 3 …
    bits = {name: np.frexp(column.astype(np.float64))[1] for name, column in columns.items()}
    most = max((int(b.max()) for b in bits.values() if len(b)), default=0)
    counts = {name: np.bincount(b, minlength=most + 1) for name, b in bits.items()}
    return [
        {"least": (1 << bit) >> 1, "most": (1 << bit) - 1, **{name: int(count[bit]) for name, count in counts.items()}}
        for bit in range(most + 1)
    ]


def _top_hosts(web: Web, top: int) -> list[Record]:
    """The hosts by HostRank."""
    pages = np.bincount(web.hosts, minlength=len(web.host_names))
    rank = np.zeros(len(pages))
    np.add.at(rank, web.hosts, web.hostrank)
    if not web.parameters.get("distributed"):
        rank /= np.maximum(pages, 1)
    return [{"host": web.host_names.at(h), "pages": int(pages[h]), "hostrank": float(rank[h])} for h in best(rank, top)]


def _top_pages(web: Web, top: int) -> dict[str, list[Record]]:
    """The first pages by every rank."""
    from pippin.collection.ranks import hits

    hubs = hits(web.graph.matrix())
    ranks: dict[str, NDArray[Any]] = {
        "pagerank": web.pagerank, "authority": hubs.authority, "hub": hubs.hub, "in_links": web.graph.indegree,
        "out_links": web.graph.outdegree,
    }  # fmt: skip
    if not web.topics.proxy:
        ranks |= {f"pagerank in {name}": web.topical[:, i] for i, name in enumerate(web.topics.categories)}
    return {
        name: [{**named(web, page), "value": values[page].item()} for page in best(values.astype(np.float64), top)]
        for name, values in ranks.items()
    }


def best(values: NDArray[np.float64], top: int) -> list[int]:
    """The numbers of the largest values, equal ones in order."""
    order: list[int] = np.lexsort((np.arange(len(values)), -values))[:top].tolist()
    return order


def named(web: Web, page: int) -> Record:
    """A page by its id and url."""
    return {"document": web.ids.at(page), "url": web.urls.at(page)}


def page_record(web: Web, page: str, top: int) -> Record:
    """What there is to say of one page, and the pages around it, those of the highest PageRank first."""
    number = web.find(page)
    graph, sitemap = web.graph, web.sitemap
    parent = int(sitemap.parent[number])
    around = {"in_links": graph.sources(number), "out_links": graph.targets(number),
              "children": sitemap.children(number), "siblings": sitemap.siblings(number)}  # fmt: skip
    return {
        **named(web, number), "host": web.host_names.at(int(web.hosts[number])),
        "pagerank": float(web.pagerank[number]), "hostrank": float(web.hostrank[number]),
        "slashes": int(web.slashes[number]), "url_length": int(web.url_lengths[number]),
        "depth": int(sitemap.depth[number]), "parent": named(web, parent) if parent >= 0 else None,
        "links_outside": int(graph.outside[number]) if len(graph.outside) else 0,
        "around": {name: _listed(web, np.asarray(pages, np.int64), top) for name, pages in around.items()},
    }  # fmt: skip


def _listed(web: Web, pages: NDArray[np.int64], top: int) -> Record:
    ranks = web.pagerank[pages]
    shown = [{**named(web, int(pages[i])), "pagerank": float(ranks[i])} for i in best(ranks, top)]
    return {"number": len(pages), "pages": shown}
