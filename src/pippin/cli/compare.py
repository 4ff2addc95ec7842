"""The `pippin compare` command."""

from __future__ import annotations

import argparse
from pathlib import Path

import pippin
from pippin.cli.options import (
    CommaList,
    add_option,
    add_options,
    add_output_options,
    add_test_options,
    parse_missing,
    parse_named_files,
)
from pippin.cli.output import format_json, write_text
from pippin.errors import DataError
from pippin.reports import comparison as report

HELP = """Compare systems under every tool, with significance tests.

The first tool orders the tables. --per-query prints the compared values instead."""
EXAMPLES = (
    "pippin compare qrels.txt a.run b.run c.run --measure NDCG@10,MAP --tool all",
    "pippin compare test.txt a.scores b.scores --tool official,letor4 --baseline a.scores --format latex",
    "pippin compare qrels.txt a.run --reported 0.4418 --measure NDCG@10",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("qrels", metavar="QRELS", nargs="?", help="qrels, LETOR file, table or store")
    parser.add_argument("run", metavar="RUN", nargs="*", help="runs or score files, at least two; a run is named by "
                        "its tag, NAME=PATH renames a system")  # fmt: skip
    parser.add_argument("--scores", metavar="FILE", help="compare the columns of this matrix instead of runs: a column "
                        "per system, a row per query (CSV or Parquet)")  # fmt: skip
    parser.add_argument("--reported", metavar="VALUE|FILE", help="find the tools and choices that give this value of "
                        "--measure for RUN, such as 0.4418; or recompute the values of a file (results of MTEB, a "
                        "response of _rank_eval, JSON) under --tool")  # fmt: skip
    add_options(parser, measure=["NDCG@10", "MAP"])
    add_option(parser, "tool", "(default: trec_eval9 for qrels, else official; then all classic tools)")
    add_options(parser, "per_query", "merge_queries")
    parser.add_argument("--baseline", metavar="SYSTEM", action=CommaList, help="test every system against these only "
                        "(repeat, or join by commas)")  # fmt: skip
    add_test_options(parser)
    add_options(parser, "resamples", seed=0)
    parser.add_argument("--missing", default="error", metavar="error|drop|VALUE", help="if a system lacks a query: "
                        "stop, drop the query for all systems, or count it as this value (default: error)")  # fmt: skip
    add_options(parser, "quiet")
    add_output_options(parser, "html")


def run(options: argparse.Namespace) -> int:
    """Compare and print."""
    if options.reported is not None:
        numbers = pippin.check_reported(
            options.qrels, options.run, options.reported,
            options.tool, measure=options.measure,
            merge_queries=options.merge_queries,
        )  # fmt: skip
        write_text(report.reported_text(numbers, options.format), options.output, options.format)
        return 0
    if options.scores is not None and options.qrels is not None:
        raise DataError("--scores cannot be combined with judgements and runs")
    if options.scores is None and options.qrels is None:
        raise DataError("no systems to compare: name judgements and at least two runs, or --scores MATRIX")
    results = pippin.compare(
        options.qrels if options.scores is None else options.scores,
        None if options.scores is not None else parse_named_files(options.run, by_tag=True),
        options.measure,
        options.tool,
        baseline=options.baseline,
        test=options.test,
        correction=options.correction,
        alpha=options.alpha,
        resamples=options.resamples,
        seed=options.seed,
        missing=parse_missing(options.missing),
        merge_queries=options.merge_queries,
        verbose=not options.quiet,
    )
    comparisons = [results] if isinstance(results, pippin.Comparison) else list(results.values())
    if options.format == "json":
        text = format_json([report.record(c, options.per_query) for c in comparisons])
    elif options.format == "html":
        name = Path(options.scores or options.qrels).name
        text = report.compare_page(comparisons, name, [f"test {options.test}", f"seed {options.seed}"])
    else:
        text = report.all_text(comparisons, options.format, options.per_query, options.tool)
    write_text(text, options.output, options.format)
    return 0
