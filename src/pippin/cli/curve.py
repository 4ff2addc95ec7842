"""`pippin curve`: learning curves, and from how many queries on trees overtake weighted sums."""

from __future__ import annotations

import argparse
import shlex
import sys

from pippin.cli.options import flag, old, only
from pippin.cli.output import write, write_text
from pippin.cli.select import numbers, path_flags

HELP = """Train rankers on fewer queries, draw their learning curves, and say when trees overtake weighted sums.

The queries of a point are drawn from the training part of each fold, with every seed anew; validation and test parts
stay whole. Every point is a line of a benchmark in RESULTS, so that the same command goes on after an interruption."""
EXAMPLES = (
    "pippin curve mine --ranker regression --ranker mart --sizes 3,6 --seeds 1 --quick",
    "pippin curve mine -r regression,mart --sizes 3,6 --seeds 1 --quick --format html --report curve.html",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    path_flags(parser, "curve-results")
    flag(parser, "ranker", default=["ranksvm", "lambdamart"])
    flag(parser, "sizes", "of queries (default: 5,10,20,40,80,160,320)")
    flag(parser, "seeds", "lots of queries are drawn for each number", default=3)
    old(parser, "--rankers", "--ranker")


def run(options: argparse.Namespace) -> int:
    """Compute what is missing of the curves, and show them."""
    from pippin.bench.paths import QUERIES, learning
    from pippin.report import paths as report

    found = learning(
        options.data, options.output, rankers=options.ranker, sizes=numbers(options.sizes, QUERIES),
        measure=str(only(options.measure, "--measure")), seeds=options.seeds, quick=options.quick,
        folds=options.folds, sample=options.sample, jobs=options.jobs, verbose=not options.quiet,
        command=shlex.join(["pippin", *sys.argv[1:]]),
    )  # fmt: skip
    if options.format == "html":
        write_text(report.learning_page(found), options.report, "html")
    else:
        write(options.format, options.report, lambda: [report.learning_table(one) for one in found],
              lambda: [report.learning_record(one) for one in found])  # fmt: skip
    return 0
