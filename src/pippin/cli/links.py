"""`pippin links`: how the pages of a collection hang together, which of them matter, and what stands around one."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pippin.cli.links_record import Record, overview_record, page_record
from pippin.cli.options import flag, hint, old, printing, shared
from pippin.cli.output import write
from pippin.progress import Bar, progress
from pippin.tables import Table

if TYPE_CHECKING:
    from pippin.collection.collection import Document
    from pippin.collection.web import Web

HELP = "Show the links and the sitemap of a collection: sizes, degrees, hosts, top pages by every rank, neighbours."
EXAMPLES = (
    "pippin links pages/ --top 20",
    "pippin links pages/ --around http://a.gov/mars/",
    "pippin links pages/ --files letor/ --save pages.web --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("collection", metavar="COLLECTION", help="a file or folder of documents, `stdlib`, or a folder "
                        "written by --save")  # fmt: skip
    flag(parser, "top", default=10)
    parser.add_argument("--around", metavar="ID_OR_URL", help="show the neighbours of this page: what points to it, "
                        "what it points to, what stands above, below and beside it")  # fmt: skip
    parser.add_argument(
        "--files", metavar="FOLDER", help="write LETOR's linkgraph.txt, sitemap.txt and docmap.txt there"
    )
    parser.add_argument(
        "--save", metavar="FOLDER", help="keep graph, sitemap and ranks there, to be shown or used again"
    )
    shared(parser, "reader", "jobs")
    printing(parser)
    old(parser, "--page", "--around")


def run(options: argparse.Namespace) -> int:
    """Do it; the exit status."""
    web = load_web(options.collection, options.reader, options.jobs)
    if options.files:
        from pippin.collection.link_files import write_link_files

        write_link_files(web, options.files)
    if options.save:
        web.save(options.save)
    links = page_record(web, options.around, options.top) if options.around else overview_record(web, options.top)
    drawn = page_tables if options.around else overview_tables
    write(options.format, options.output, lambda: drawn(links), lambda: links)
    return 0


def load_web(name: str, reader: str | None = None, jobs: int | None = None) -> Web:
    """The web of a collection, or one that was kept. Topics count where every page has one: no index is at hand."""
    from dataclasses import replace

    from pippin.collection.addresses import Addresses
    from pippin.collection.graph import Graph
    from pippin.collection.named import open_collection
    from pippin.collection.spool import spooled
    from pippin.collection.topical import Topics, learn_topics
    from pippin.collection.web import Web, is_web
    from pippin.machine import cpu_count

    if is_web(Path(name)):
        return Web.open(name)
    opened = open_collection(
        name, anchors=False, format=reader, documents_only=True, links_only=True, jobs=jobs or cpu_count()
    )
    collection = spooled(opened)
    with progress(0, f"reading {collection.name}") as bar:
        addresses = Addresses.of(replace(collection, read=lambda: _stepping(collection, bar)))
    for note in opened.notes:
        hint(note)
    pages = len(addresses.ids)
    known = collection.topics if len(collection.topics) == pages else {}
    topics = learn_topics(known, addresses.ids) if known else Topics.none(pages)
    return Web.build(collection.name, addresses, Graph.of_collection(collection, addresses), topics)


def _stepping(documents: Iterable[Document], bar: Bar) -> Iterator[Document]:
    for document in documents:
        bar.step("pages")
        yield document


_SIZES = {
    "pages": "pages", "links": "links between them", "self_links": "links of a page to itself, left out",
    "repeats": "repeated links, left out", "links_outside": "links outside",
    "pages_outside": "pages outside that are linked", "without_out_links": "pages without out-links",
    "without_in_links": "pages without in-links", "hosts": "hosts", "unparsed_urls": "urls that do not parse",
    "sitemap_roots": "roots of the sitemap", "sitemap_depth": "depth of the sitemap", "topics": "topics",
}  # fmt: skip


def overview_tables(links: Record) -> list[Table]:
    """The sizes, the degrees, and the first hosts and pages by every rank."""
    ended = "; ".join(
        f"{name}: {end['rounds']:.0f} round{'' if end['rounds'] == 1 else 's'}, residual {end['residual']:.1e}"
        for name, end in links["convergence"].items()
    )
    sizes = [[words, f"{links['sizes'][name]:,}"] for name, words in _SIZES.items()]
    hosts = [[h["host"] or "(no host)", f"{h['pages']:,}", f"{1e3 * h['hostrank']:.4f}"] for h in links["hosts"]]
    return [
        Table([links["name"], "number"], sizes, notes=[ended] if ended else []),
        _degree_table(links["degrees"]),
        Table(["host", "pages", "HostRank ×10³"], hosts),
        *(_page_table(name, pages) for name, pages in links["pages"].items()),
    ]


def _degree_table(classes: Sequence[Record]) -> Table:
    rows = []
    for each in classes:
        least, most, *counts = each.values()
        name = f"{least:,}" if least == most else f"{least:,}–{most:,}"
        rows.append([name, *(f"{count:,}" if count else "" for count in counts)])
    return Table(["how many", "in-links", "out-links", "children", "depth"], rows)


def _page_table(rank: str, pages: Sequence[Record]) -> Table:
    """Pages by one rank; PageRanks are small, and shown in hundred-thousandths."""
    words, factor = rank.replace("_", "-"), 1.0
    if rank.startswith("pagerank"):
        words, factor = rank.replace("pagerank", "PageRank ×10⁵"), 1e5
    return Table([f"by {words}", "value"], [[shown(page), f"{factor * page['value']:.6g}"] for page in pages])


def shown(page: Record) -> str:
    """A page by its id, and its url where that tells more."""
    name, url = page["document"], page["url"]
    return name if not url or url in name else f"{name}  {url}"


def page_tables(links: Record) -> list[Table]:
    """What there is to say of one page, and the pages around it."""
    rows = [
        ("url", links["url"]), ("host", links["host"] or "(no host)"),
        ("PageRank ×10⁵", f"{1e5 * links['pagerank']:.6g}"),
        ("HostRank ×10³", f"{1e3 * links['hostrank']:.6g}"), ("slashes", str(links["slashes"])),
        ("length of the url", str(links["url_length"])), ("depth in the sitemap", str(links["depth"])),
        ("parent", shown(links["parent"]) if links["parent"] else "–"), ("links outside", str(links["links_outside"])),
    ]  # fmt: skip
    around = [
        Table([f"{name.replace('_', '-')} ({side['number']:,})", "PageRank ×10⁵"],
              [[shown(page), f"{1e5 * page['pagerank']:.6g}"] for page in side["pages"]])
        for name, side in links["around"].items()
    ]  # fmt: skip
    return [Table([links["document"], ""], rows, names=2), *around]
