"""The commands `pippin demo` and `pippin synthetic`."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.options import Command, add_option, add_options
from pippin.cli.output import write_result
from pippin.display.tables import Paragraph, render_all
from pippin.reports.demo import ABOUT


def configure_demo(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin demo`."""
    add_option(parser, "out", metavar="FOLDER", default="pippin-demo")
    add_options(parser, "jobs", "quiet", sample=60, ranker=["all"], format="table")
    parser.add_argument("--full", action="store_true", help="use the whole parameter grids and all rounds")


def run_demo(options: argparse.Namespace) -> int:
    """Build, benchmark and report; status 1 if a cell failed."""
    if options.format == "table":
        print(f"{render_all([Paragraph(ABOUT)])}\n")
    demo = pippin.demo(
        options.output, sample=options.sample, ranker=options.ranker, full=options.full, jobs=options.jobs,
        verbose=not options.quiet,
    )  # fmt: skip
    write_result(options.format, "-", demo.parts, demo.to_dict)
    return 1 if demo.result.failed else 0


def configure_synthetic(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `pippin synthetic`."""
    parser.add_argument("--size", type=int, default=200, metavar="N", help="number of queries (default: %(default)s)")
    add_options(parser, seed=1, measure=["NDCG@10"], format="table")
    add_option(parser, "out", "also write the data set and the scores into this folder", metavar="FOLDER")


def run_synthetic(options: argparse.Namespace) -> int:
    """Make the data set, evaluate it and print."""
    result = pippin.synthetic(options.size, seed=options.seed, measure=options.measure, out=options.output)
    write_result(options.format, "-", result.parts, result.to_dict)
    return 0


COMMANDS = {
    "demo": Command(
        """Build, benchmark and report on data that every machine has.

Builds three data sets from the documentation of this Python's standard library, trains all rankers on them in five
folds with small grids, prints the leaderboards and writes a page. This takes a few minutes; run it again to continue
after an interruption. --full takes about an hour.""",
        ("pippin demo --sample 10 --ranker best-feature,regression --out small-demo",),
        configure_demo,
        run_demo,
    ),
    "synthetic": Command(
        """Make a small data set, evaluate two scorers under every tool, and print the table.

The data set has queries without a relevant document, short queries and tied scores, on which tools disagree.""",
        ("pippin synthetic", "pippin synthetic --size 50 -m MAP -o demo", "pippin synthetic --format json"),
        configure_synthetic,
        run_synthetic,
    ),
}
