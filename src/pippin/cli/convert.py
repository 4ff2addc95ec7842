"""The `pippin convert` command."""

from __future__ import annotations

import argparse

import numpy as np

import pippin
from pippin.cli.options import add_option, add_options
from pippin.cli.output import print_message

HELP = """Convert ranking data between formats.

formats: letor (LETOR or SVMlight text), qrels, run, scores, parquet, csv, arrow, store (a folder of memory-mapped
columns that opens at once); irds:ID reads the judgements of ir_datasets. The format of IN is detected from its
extension or its first line; the extension of OUT chooses the format to write, and a name that ends in / or .pippin is a
store. With --partitions, OUT is a folder of Parquet files cut at queries, and IN a LETOR file of any size or a data set
in another format.

Data are written unchanged, also in CSV: nothing is escaped for spreadsheets."""
EXAMPLES = (
    "pippin convert test.txt test.parquet",
    "pippin convert test.txt - --to csv --labels",
    "pippin convert train.txt parts/ --partitions 1000",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="IN", help="a file, a store, irds:ID, or - for standard input")
    parser.add_argument("target", metavar="OUT", help="a file, a store, or - for standard output")
    add_options(parser, "input_format")
    add_option(parser, "to", "one of the formats above (default: by the name of OUT)")
    add_options(parser, "merge_queries", missing_value="zero")
    parser.add_argument("--drop-empty", action="store_true", help="leave out queries without a relevant document")
    parser.add_argument("--dtype", choices=("float32", "float64"), help="precision of features (default: as in IN)")
    parser.add_argument("--partitions", type=int, metavar="ROWS", help="write Parquet files of at most ROWS "
                        "documents, cut at queries")  # fmt: skip
    narrowing = parser.add_mutually_exclusive_group()
    narrowing.add_argument("--labels", action="store_true", help="only the labels of a data set, by document")
    narrowing.add_argument("--feature", metavar="NAME", help="one feature of a data set, as a run or as scores")


def run(options: argparse.Namespace) -> int:
    """Convert the data and describe what was written."""
    data, written_format = pippin.convert(
        options.source, options.target, source_format=options.input_format, target_format=options.to,
        missing_value=options.missing_value,
        dtype=options.dtype, merge_queries=options.merge_queries, labels=options.labels, feature=options.feature,
        partitions=options.partitions, drop_empty=options.drop_empty,
    )  # fmt: skip
    description = f"{len(data):,} scores" if isinstance(data, np.ndarray) else repr(data)
    # Standard output may hold the data.
    print_message(f"{options.target}: {written_format}, {description}", stderr=options.target == "-")
    return 0
