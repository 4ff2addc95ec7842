"""The `pippin links` command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import pippin
from pippin.cli.options import add_option, add_options, add_output_options, default_jobs
from pippin.cli.output import write_result
from pippin.display.tables import Table

Record = dict[str, Any]
HELP = "Show the link graph and the sitemap of a collection: sizes, degrees, hosts, top pages, neighbours of a page."
EXAMPLES = (
    "pippin links pages/ --top 20",
    "pippin links pages/ --around http://a.gov/mars/",
    "pippin links pages/ --files letor/ --save pages.web --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("collection", metavar="COLLECTION", help="a file or folder of documents, `stdlib`, or a folder "
                        "written by --save")  # fmt: skip
    add_option(parser, "top", default=10)
    parser.add_argument(
        "--around", metavar="ID_OR_URL", help="describe this page: in-links, out-links, parent, children and siblings"
    )
    parser.add_argument(
        "--files", metavar="FOLDER", help="write LETOR's linkgraph.txt, sitemap.txt and docmap.txt there"
    )
    parser.add_argument("--save", metavar="FOLDER", help="store graph, sitemap and ranks there for later calls")
    add_options(parser, "input_format", "jobs")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Summarize the links and print the tables."""
    record = pippin.links(
        options.collection, around=options.around, top=options.top, format=options.input_format,
        jobs=options.jobs or default_jobs(),
        files=options.files, save=options.save,
    )  # fmt: skip
    tables = overview_tables if options.around is None else page_tables
    write_result(options.format, options.output, lambda: tables(record), lambda: record)
    return 0


_SIZES = {
    "pages": "pages", "links": "links between them", "self_links": "self-links, ignored",
    "repeats": "repeated links, ignored", "links_outside": "links to other pages",
    "pages_outside": "linked pages outside the collection", "without_out_links": "pages without out-links",
    "without_in_links": "pages without in-links", "hosts": "hosts", "unparsed_urls": "invalid URLs",
    "sitemap_roots": "roots of the sitemap", "sitemap_depth": "depth of the sitemap", "topics": "topics",
}  # fmt: skip


def overview_tables(links: Record) -> list[Table]:
    """Return the sizes, the degrees, and the top hosts and pages by every rank."""
    convergence = "; ".join(
        f"{name}: {end['rounds']:.0f} round{'' if end['rounds'] == 1 else 's'}, residual {end['residual']:.1e}"
        for name, end in links["convergence"].items()
    )
    sizes = [[label, f"{links['sizes'][name]:,}"] for name, label in _SIZES.items()]
    hosts = [[h["host"] or "(no host)", f"{h['pages']:,}", f"{1e3 * h['hostrank']:.4f}"] for h in links["hosts"]]
    return [
        Table([links["name"], "number"], sizes, notes=[convergence] if convergence else []),
        _degree_table(links["degrees"]),
        Table(["host", "pages", "HostRank ×10³"], hosts),
        *(_page_table(name, pages) for name, pages in links["pages"].items()),
    ]


def _degree_table(classes: Sequence[Record]) -> Table:
    rows = []
    for degree_class in classes:
        low, high, *counts = degree_class.values()
        name = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        rows.append([name, *(f"{count:,}" if count else "" for count in counts)])
    return Table(["degree", "in-links", "out-links", "children", "depth"], rows)


def _page_table(rank: str, pages: Sequence[Record]) -> Table:
    """Return the top pages by one rank; PageRanks are printed × 10⁵."""
    words, factor = rank.replace("_", "-"), 1.0
    if rank.startswith("pagerank"):
        words, factor = rank.replace("pagerank", "PageRank ×10⁵"), 1e5
    return Table([f"by {words}", "value"], [[page_label(page), f"{factor * page['value']:.6g}"] for page in pages])


def page_label(page: Record) -> str:
    """Return the id of a page, and its URL if the id does not contain it."""
    name, url = page["document"], page["url"]
    return name if not url or url in name else f"{name}  {url}"


def page_tables(links: Record) -> list[Table]:
    """Return the facts of one page and tables of its neighbours."""
    rows = [
        ("url", links["url"]),
        ("host", links["host"] or "(no host)"),
        ("PageRank ×10⁵", f"{1e5 * links['pagerank']:.6g}"),
        ("HostRank ×10³", f"{1e3 * links['hostrank']:.6g}"),
        ("slashes", str(links["slashes"])),
        ("length of the URL", str(links["url_length"])),
        ("depth in the sitemap", str(links["depth"])),
        ("parent", page_label(links["parent"]) if links["parent"] else "–"),
        ("links to other pages", str(links["links_outside"])),
    ]
    around = [
        Table([f"{name.replace('_', '-')} ({side['number']:,})", "PageRank ×10⁵"],
              [[page_label(page), f"{1e5 * page['pagerank']:.6g}"] for page in side["pages"]])
        for name, side in links["around"].items()
    ]  # fmt: skip
    return [Table([links["document"], ""], rows, text_columns=2), *around]
