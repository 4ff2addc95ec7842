"""`pippin select`: the path from few features to all, and the smallest set that is as good."""

from __future__ import annotations

import argparse
import shlex
import sys

from pippin.cli.options import flag, form_flag, only, shared
from pippin.cli.output import write, write_text
from pippin.errors import DataError

HELP = """Train a ranker on fewer and fewer features, and say which is the smallest set that is not significantly worse.

Features are selected (or reduced, as by pca) in each fold by its training and validation parts alone. Every point of
the path is a line of a benchmark in RESULTS, so that the same command goes on after an interruption."""
EXAMPLES = (
    "pippin select mine --step gas --ranker regression --sizes 1,2 --quick",
    "pippin select mine --step pca -r regression --sizes 1,2 --quick --format html --report path.html",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    path_flags(parser, "select-results")
    parser.add_argument("--step", metavar="STEP", default="gas", help="what selects or reduces features: gas, "
                        "elimination, forward, l1, permutation, pca, pair-lda … (default: gas)")  # fmt: skip
    flag(parser, "ranker", "here one", default=["ranksvm"])
    flag(parser, "sizes", "of features (default: 1,2,3,5,8,13,21,34)")


def path_flags(parser: argparse.ArgumentParser, results: str) -> None:
    """What paths of features and of queries have in common; `results`: where they are kept unless a place is named."""
    parser.add_argument("data", metavar="DATA", nargs="+", help="folders with folds, files with features, collections "
                        "(NAME=PATH calls one otherwise)")  # fmt: skip
    flag(parser, "out", metavar="RESULTS", default=results)
    flag(parser, "measure", "here one", default=["NDCG@10"])
    shared(parser, folds=5, sample=1000)
    shared(parser, "quick", "jobs", "quiet")
    form_flag(parser, "report", "html")
    flag(parser, "report", default="-")


def numbers(text: str | None, usual: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers between commas.

    >>> numbers("1, 5", ()), numbers(None, (3,))
    ((1, 5), (3,))
    """
    if text is None:
        return usual
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise DataError(f"--sizes takes numbers from 1 on, joined by commas, not {text!r}")
    return tuple(map(int, parts))


def run(options: argparse.Namespace) -> int:
    """Compute what is missing of the path, and show it."""
    from pippin.bench.paths import SIZES, selection
    from pippin.report import paths as report

    found = selection(
        options.data, options.output, step=options.step, ranker=str(only(options.ranker, "--ranker")),
        sizes=numbers(options.sizes, SIZES), measure=str(only(options.measure, "--measure")), quick=options.quick,
        folds=options.folds, sample=options.sample, jobs=options.jobs, verbose=not options.quiet,
        command=shlex.join(["pippin", *sys.argv[1:]]),
    )  # fmt: skip
    if options.format == "html":
        write_text(report.selection_page(found), options.report, "html")
    else:
        write(options.format, options.report, lambda: [report.selection_table(path) for path in found],
              lambda: [report.selection_record(path) for path in found])  # fmt: skip
    return 0
