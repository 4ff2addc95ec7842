"""The `pippin leaderboard` command."""

from __future__ import annotations

import argparse
import sys

import pippin
from pippin.cli.options import add_option, add_options, add_output_options, add_test_options, require_single
from pippin.cli.output import print_message, write_result
from pippin.display.tables import Table
from pippin.errors import DataError
from pippin.reports import leaderboard as report

HELP = """Show the leaderboards of benchmark results.

Prints LETOR's tables, one measure in full, how other tools rank, winning numbers over several data sets, and missing
cells. --per-query prints the values behind a measure instead."""
EXAMPLES = (
    "pippin leaderboard results",
    "pippin leaderboard results --measure MAP --per-fold --format latex",
    "pippin leaderboard results --tool letor4 --format json --out boards.json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("results", metavar="RESULTS", help="a folder written by `pippin bench`")
    add_option(parser, "data", "(default: all)")
    add_option(parser, "tool", "the first is compared with the others", default=["official"])
    add_option(parser, "measure", "shown in full and under every tool", default=["NDCG@10"])
    add_option(parser, "convention", "here one (default: official)")
    add_options(parser, "published", "per_query")
    parser.add_argument("--per-fold", action="store_true", help="add a column per fold")
    parser.add_argument("--watch", action="store_true", help="update the tables while a benchmark runs, until "
                        "it ends")  # fmt: skip
    add_test_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Show the leaderboards once, or repeatedly while a benchmark runs."""
    if not options.watch:
        show(pippin.Results.open(options.results), options)
        return 0
    if options.output != "-" or options.format != "table":
        raise DataError("--watch prints tables on the terminal; remove --out and --format")
    for results in pippin.Results.watch(options.results):
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[H")
        done, left = len(results.cells), len(results.missing())
        if done:
            show(results, options)
        print_message(f"{done} of {done + left} cells are complete" + ("; press Ctrl-C to stop" if left else ""))
        sys.stdout.flush()
    return 0


def show(results: pippin.Results, options: argparse.Namespace) -> None:
    """Print all leaderboards, or the values per query."""
    boards = results.leaderboards(
        data=options.data, tool=options.tool, measure=options.measure, published=options.published, test=options.test,
        convention=require_single(options.convention, "--convention"), correction=options.correction,
        alpha=options.alpha,
    )  # fmt: skip
    if options.per_query:
        selected = {key: board for key, board in boards.boards.items() if key.measure in options.measure}
        write_result(options.format, options.output, lambda: [report.values_table(b) for b in selected.values()],
                     lambda: [report.record(b, per_query=True) for b in selected.values()],
                     lambda: report.values_csv(selected))  # fmt: skip
        return

    def csv() -> Table:
        if boards.published:
            return report.published_csv(boards.published)
        return report.csv_table(boards.boards, options.per_fold)

    write_result(options.format, options.output, lambda: report.all_parts(boards, options.per_fold),
                 lambda: report.all_records(boards), csv)  # fmt: skip
