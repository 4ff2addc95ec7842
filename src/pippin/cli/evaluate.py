"""The `pippin eval` command."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.options import (
    DEFAULT_TOOL,
    add_axes,
    add_option,
    add_options,
    add_output_options,
    connect_dask,
    parse_axes,
    parse_named_files,
)
from pippin.cli.output import format_json, print_skipped, write_table, write_text
from pippin.reports.evaluation import evaluation_record, evaluation_table, per_query_table

HELP = """Evaluate scores or runs exactly as a tool would.

The output states the convention behind each value. --stream evaluates files larger than memory, --dask folders of
scored partitions on a cluster."""
EXAMPLES = (
    "pippin eval qrels.txt run.txt --measure NDCG@10,MAP --tool trec_eval9",
    "pippin eval test.txt a.txt b.txt --tool all --format markdown",
    "pippin eval test.txt scores.txt --tool letor4,official --per-query --format csv --out values.csv",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("qrels", metavar="QRELS", help="qrels, LETOR file, table or store")
    parser.add_argument("run", metavar="RUN", nargs="*", help="runs or score files; NAME=PATH renames a "
                        "system (default: the scores in QRELS)")  # fmt: skip
    add_options(parser, measure=["NDCG@10", "MAP"])
    add_option(parser, "tool", DEFAULT_TOOL)
    add_options(parser, "per_query", "merge_queries")
    parser.add_argument("--allow-infinite", action="store_true", help="rank infinite scores; NaN is always an error")
    parser.add_argument("--ties-range", action="store_true", help="show the range of values over the orders of ties")
    add_output_options(parser, "parquet")
    larger = parser.add_mutually_exclusive_group()
    larger.add_argument("--stream", action="store_true", help="read files in chunks of queries, for files larger "
                        "than memory; rows must be grouped by query")  # fmt: skip
    add_option(larger, "dask", "QRELS is then a folder of scored partitions")
    add_axes(parser)


def run(options: argparse.Namespace) -> int:
    """Evaluate every scored file under every tool and print."""
    with connect_dask(options.dask) as executor:
        result = pippin.evaluate(
            options.qrels,
            parse_named_files(options.run or [options.qrels]),
            options.measure,
            options.tool,
            merge_queries=options.merge_queries,
            allow_infinite=options.allow_infinite,
            ties_range=options.ties_range,
            stream=options.stream,
            executor=executor,
            **parse_axes(options),
        )
    print_skipped(result.left_out)
    if options.format == "parquet":
        write_table(result, options.output)
        return 0
    if options.format == "json":
        records = [evaluation_record(evaluation) for evaluation in result.evaluations]
        text = format_json(records[0] if len(records) == 1 else records)
    elif options.per_query:
        text = per_query_table(result.evaluations, options.format)
    else:
        text = evaluation_table(result.evaluations, options.format)
    write_text(text, options.output, options.format)
    return 0
