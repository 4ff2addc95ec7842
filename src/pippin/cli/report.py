"""`pippin report`: results as a page, as tables and as figures for a paper."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pippin.cli.options import Several, flag, old, only, shared
from pippin.cli.output import say
from pippin.errors import ConventionError
from pippin.extras import lacking, missing_extra
from pippin.progress import progress

if TYPE_CHECKING:
    from pippin.bench.published import Published
    from pippin.report.bench_data import Gathered

HELP = """Make the page of benchmark results, and tables and figures for a paper.

Without --page, --tables and --figures: everything. An --out that ends in .html is the page alone."""
EXAMPLES = (
    "pippin report results",
    "pippin report results --out page.html",
    "pippin report results --out paper --tables --figures pdf",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="RESULTS", help="the folder that `pippin bench` wrote")
    flag(parser, "out", "a folder, or the name of a page that ends in .html", default="report")
    parser.add_argument("--page", action="store_true", help="the page (index.html)")
    parser.add_argument("--tables", action="store_true", help="tables: Markdown, LaTeX and CSV")
    parser.add_argument("--figures", action=Several, metavar="svg,pdf,png", help="figures, in these formats")
    flag(parser, "convention", "here one, for tables and figures; the page has all (default: official)")
    shared(parser, "published", "quiet")
    flag(parser, "title", default="")
    old(parser, "--output", "--out")


def run(options: argparse.Namespace) -> int:
    """Make what was asked for, or everything."""
    from pippin.bench.published import read_published
    from pippin.bench.store import Results
    from pippin.report.bench_data import Gathered
    from pippin.report.export import figures_begun

    output, convention = Path(options.output), only(options.convention, "--convention")
    alone = output.suffix.lower() in (".html", ".htm")
    if alone and (options.tables or options.figures):
        raise ConventionError("tables and figures go into a folder; name one with -o, or leave them out")
    everything = not (alone or options.page or options.tables or options.figures)
    kinds = options.figures or (["svg", "pdf"] if everything else [])
    if kinds and lacking("vl_convert"):
        missing = missing_extra("drawing figures", "vl_convert")
        if options.figures:
            raise missing
        say(f"The page and the tables, but no figures: {missing}", aside=True)
        kinds = []
    published = [] if options.published is None else read_published(options.published)
    gathered = Gathered(Results.open(options.results))
    with figures_begun(gathered, output / "figures", kinds, convention) if kinds else nullcontext() as drawing:
        if alone or options.page or everything:
            page = output if alone else output / "index.html"
            write_page(gathered, page, options.title, published)
            say(str(page))
        if options.tables or everything:
            _tables(gathered, output / "tables", published, convention)
        if drawing is not None:
            with progress(0, "figures") as bar:
                say(f"{output / 'figures'}: {len(drawing.finish(bar.step))} figures")
    return 0


def write_page(
    gathered: Gathered, path: Path, title: str, published: Sequence[Published] = (), notes: Sequence[str] = ()
) -> None:
    """Make the page and write it."""
    from pippin.files import atomic_write
    from pippin.report.bench_page import bench_page

    names = gathered.names
    with progress(len(names.conventions) * len(names.data) * len(names.measures), "page") as bar:
        text = bench_page(gathered, title=title, published=published, notes=notes, step=bar.step)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as out:
        out.write(text.encode())


def _tables(gathered: Gathered, folder: Path, published: list[Published], convention: str | None) -> None:
    from pippin.report.export import write_tables

    say(f"{folder}: {len(write_tables(gathered, folder, published, convention))} tables")
