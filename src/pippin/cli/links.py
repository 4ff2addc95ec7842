"""`pippin links`: how the pages of a collection hang together, which of them matter, and what stands around one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pippin.cli.output import write_text
from pippin.tables import FORMATS, Table

if TYPE_CHECKING:
    from pippin.collection.web import Web

HELP = """Links and sitemap of a collection: sizes, degrees, hosts, top pages by every rank, a page's neighbours.

  pippin links stdlib                             the standard library's documentation
  pippin links pages/ --top 20                    a folder of HTML files, or any other collection
  pippin links pages/ --page http://a.gov/mars/   what points to a page, what it points to, what stands above and below
  pippin links pages/ --files letor/              write linkgraph.txt, sitemap.txt and docmap.txt as LETOR does
  pippin links pages/ --save pages.web            keep graph, sitemap and ranks, to be shown or used again"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("collection", metavar="COLLECTION", help="a file or folder of documents, `stdlib`, or a folder "
                        "written by --save")  # fmt: skip
    parser.add_argument("--top", type=int, default=10, metavar="N", help="pages to show (default: %(default)s)")
    parser.add_argument("--page", metavar="ID_OR_URL", help="show the neighbours of this page")
    parser.add_argument("--reader", metavar="F", help="the collection's format (default: found out)")
    parser.add_argument("--files", metavar="FOLDER", help="write LETOR's link files there")
    parser.add_argument("--save", metavar="FOLDER", help="keep the result there")
    parser.add_argument("-f", "--format", choices=FORMATS, default="table", help="how to print (default: %(default)s)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where to (default: standard output)")


def run(options: argparse.Namespace) -> int:
    """Do it; the exit status."""
    web = load_web(options.collection, options.reader)
    if options.files:
        from pippin.collection.link_files import write_link_files

        write_link_files(web, options.files)
    if options.save:
        web.save(options.save)
    tables = neighbours(web, options.page, options.top) if options.page else overview(web, options.top)
    write_text("\n\n".join(table.render(options.format) for table in tables), options.output)
    return 0


def load_web(name: str, reader: str | None = None) -> Web:
    """The web of a collection, or one that was kept. Topics count where every page has one: no index is at hand."""
    from pippin.collection.addresses import Addresses
    from pippin.collection.graph import Graph
    from pippin.collection.named import open_collection
    from pippin.collection.topical import Topics, learn_topics
    from pippin.collection.web import Web, is_web

    if is_web(Path(name)):
        return Web.open(name)
    collection = open_collection(name, format=reader, documents_only=True)
    addresses = Addresses.of(collection)
    pages = len(addresses.ids)
    known = collection.topics if len(collection.topics) == pages else {}
    topics = learn_topics(known, addresses.ids) if known else Topics.none(pages)
    return Web.build(collection.name, addresses, Graph.of_collection(collection, addresses), topics)


def overview(web: Web, top: int) -> list[Table]:
    """The sizes, the degrees, and the first pages by every rank."""
    return [sizes(web), degrees(web), top_hosts(web, top), *top_pages(web, top)]


def sizes(web: Web) -> Table:
    """How large everything is."""
    graph, depth = web.graph, web.sitemap.depth
    ended = "; ".join(f"{name}: {end['rounds']:.0f} rounds, residual {end['residual']:.1e}"
                      for name, end in web.convergence.items())  # fmt: skip
    rows = [
        ("pages", web.pages), ("links between them", graph.links),
        ("links of a page to itself, left out", graph.self_links), ("repeated links, left out", graph.repeats),
        ("links outside", int(graph.outside.sum())),
        ("pages outside that are linked", len(graph.outside_urls)),
        ("pages without out-links", _none(graph.outdegree)),
        ("pages without in-links", _none(graph.indegree)), ("hosts", len(web.host_names)),
        ("urls that do not parse", web.unparsed), ("roots of the sitemap", web.sitemap.roots),
        ("depth of the sitemap", int(depth.max()) if len(depth) else 0), ("topics", len(web.topics.categories)),
    ]  # fmt: skip
    return Table([web.name, "number"], [[name, f"{value:,}"] for name, value in rows], notes=[ended] if ended else [])


def _none(degree: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(degree == 0))


def degrees(web: Web) -> Table:
    """How many pages have so many links or children, in classes that double; and how deep pages stand."""
    columns = (web.graph.indegree, web.graph.outdegree, web.sitemap.child_counts, web.sitemap.depth)
    bits = [np.frexp(column.astype(np.float64))[1] for column in columns]  # 0 → 0, 1 → 1, 2–3 → 2, 4–7 → 3 …
    most = max((int(b.max()) for b in bits if len(b)), default=0)
    counts = [np.bincount(b, minlength=most + 1) for b in bits]
    rows = []
    for bit in range(most + 1):
        low, high = (0, 0) if bit == 0 else (1 << (bit - 1), (1 << bit) - 1)
        name = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        rows.append([name, *(f"{count[bit]:,}" if count[bit] else "" for count in counts)])
    return Table(["how many", "in-links", "out-links", "children", "depth"], rows)


def top_hosts(web: Web, top: int) -> Table:
    """The hosts by HostRank."""
    pages = np.bincount(web.hosts, minlength=len(web.host_names))
    rank = np.zeros(len(pages))
    np.add.at(rank, web.hosts, web.hostrank)
    if not web.parameters.get("distributed"):
        rank /= np.maximum(pages, 1)
    rows = [[web.host_names.at(h) or "(no host)", f"{pages[h]:,}", f"{1e3 * rank[h]:.4f}"] for h in best(rank, top)]
    return Table(["host", "pages", "HostRank ×10³"], rows)


def top_pages(web: Web, top: int) -> list[Table]:
    """The first pages by every rank."""
    from pippin.collection.ranks import hits

    found = hits(web.graph.matrix())
    ranks = [("PageRank ×10⁵", 1e5 * web.pagerank), ("authority", found.authority), ("hub", found.hub)]
    ranks += [(name, degree.astype(np.float64)) for name, degree in
              (("in-links", web.graph.indegree), ("out-links", web.graph.outdegree))]  # fmt: skip
    if not web.topics.proxy:
        ranks += [(f"PageRank ×10⁵ in {name}", 1e5 * web.topical[:, i]) for i, name in enumerate(web.topics.categories)]
    return [Table([f"by {name}", "value"], [[named(web, p), f"{v[p]:.6g}"] for p in best(v, top)]) for name, v in ranks]


def best(values: NDArray[np.float64], top: int) -> list[int]:
    """The numbers of the largest values, equal ones in order."""
    order: list[int] = np.lexsort((np.arange(len(values)), -values))[:top].tolist()
    return order


def named(web: Web, page: int) -> str:
    """A page as it is shown."""
    name, url = web.ids.at(page), web.urls.at(page)
    return name if not url or url in name else f"{name}  {url}"


def neighbours(web: Web, page: str, top: int) -> list[Table]:
    """What there is to say of one page, and the pages around it."""
    number = web.find(page)
    graph, sitemap = web.graph, web.sitemap
    host = web.host_names.at(int(web.hosts[number])) or "(no host)"
    parent = int(sitemap.parent[number])
    rows = [
        ("url", web.urls.at(number)), ("host", host), ("PageRank ×10⁵", f"{1e5 * web.pagerank[number]:.6g}"),
        ("HostRank ×10³", f"{1e3 * web.hostrank[number]:.6g}"), ("slashes", str(web.slashes[number])),
        ("length of the url", str(web.url_lengths[number])), ("depth in the sitemap", str(sitemap.depth[number])),
        ("parent", named(web, parent) if parent >= 0 else "–"), ("links outside", str(outside_of(web, number))),
    ]  # fmt: skip
    around = (
        ("in-links", graph.sources(number)), ("out-links", graph.targets(number)),
        ("children", sitemap.children(number)), ("siblings", sitemap.siblings(number)),
    )  # fmt: skip
    first = Table([web.ids.at(number), ""], rows, names=2)
    return [first, *(listed(web, name, np.asarray(pages, np.int64), top) for name, pages in around)]


def outside_of(web: Web, page: int) -> int:
    """Links of a page that lead outside."""
    return int(web.graph.outside[page]) if len(web.graph.outside) else 0


def listed(web: Web, name: str, pages: NDArray[np.int64], top: int) -> Table:
    """Some pages, those of the highest PageRank first."""
    ranks = web.pagerank[pages]
    rows = [[named(web, int(pages[i])), f"{1e5 * ranks[i]:.6g}"] for i in best(ranks, top)]
    return Table([f"{name} ({len(pages):,})", "PageRank ×10⁵"], rows)
