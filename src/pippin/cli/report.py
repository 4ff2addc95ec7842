"""The `pippin report` command."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import pippin
from pippin.cli.options import CommaList, add_option, add_options, require_single
from pippin.cli.output import print_message

HELP = """Write benchmark results as a page, and as tables and figures for a paper.

Without --page, --tables and --figures, everything is written. If --out ends in .html, only the page is."""
EXAMPLES = (
    "pippin report results",
    "pippin report results --out page.html",
    "pippin report results --out paper --tables --figures pdf",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="RESULTS", help="a folder written by `pippin bench`")
    add_option(parser, "out", "a folder, or the name of a page that ends in .html", default="report")
    parser.add_argument("--page", action="store_true", help="write the page (index.html)")
    parser.add_argument("--tables", action="store_true", help="write tables as Markdown, LaTeX and CSV")
    parser.add_argument("--figures", action=CommaList, metavar="svg,pdf,png", help="write figures in these formats")
    add_option(parser, "convention", "here one, for tables and figures; the page shows all (default: official)")
    add_options(parser, "published", "quiet")
    add_option(parser, "title", default="")


def run(options: argparse.Namespace) -> int:
    """Write what was requested, or everything."""
    paths = pippin.report(
        options.results,
        options.output,
        page=options.page,
        tables=options.tables,
        figures=options.figures or (),
        published=options.published or (),
        convention=require_single(options.convention, "--convention"),
        title=options.title,
        verbose=not options.quiet,
    )
    for page in (path for path in paths if path.suffix in (".html", ".htm")):
        print_message(str(page))
    out = Path(options.output)
    for kind, number in Counter(path.relative_to(out).parts[0] for path in paths if path != out).items():
        if kind in ("tables", "figures"):
            print_message(f"{out / kind}: {number} {kind}")
    return 0
