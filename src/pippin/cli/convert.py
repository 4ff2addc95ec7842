"""`pippin convert IN OUT`: any form of ranking data as any other."""

from __future__ import annotations

import argparse

import numpy as np

from pippin.cli.options import flag, old, shared
from pippin.cli.output import say

HELP = """Write ranking data in another form.

forms: letor (LETOR or SVMlight text), qrels, run, scores, parquet, csv, arrow, store (a folder of memory-mapped columns
that opens at once); irds:ID reads the judgements of ir_datasets. IN is recognised by its ending or its first line, OUT
by its ending; a name that ends in / or .pippin is a store. With --partitions, OUT is a folder of Parquet files cut at
queries, and IN a LETOR file of any size or a data set in another form.

Data are written as they are, also in CSV: nothing is escaped for spreadsheets."""
EXAMPLES = (
    "pippin convert test.txt test.parquet",
    "pippin convert test.txt - --to csv --labels",
    "pippin convert train.txt parts/ --partitions 1000",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="IN", help="a file, a store, irds:ID, or - for standard input")
    parser.add_argument("target", metavar="OUT", help="a file, a store, or - for standard output")
    shared(parser, "reader")
    flag(parser, "to", "(default: by the name of OUT)")
    shared(parser, "merge_queries", absent="zero")
    parser.add_argument("--dtype", choices=("float32", "float64"), help="precision of features (default: as in IN)")
    parser.add_argument("--partitions", type=int, metavar="ROWS", help="write Parquet files of at most so many "
                        "documents, cut at queries")  # fmt: skip
    narrowing = parser.add_mutually_exclusive_group()
    narrowing.add_argument("--labels", action="store_true", help="only the labels of a data set, by document")
    narrowing.add_argument("--feature", metavar="NAME", help="one feature of a data set, as a run or as scores")
    old(parser, "--from", "--reader")
    old(parser, "--judgements", "--labels")


def run(options: argparse.Namespace) -> int:
    """Convert, and say what was written."""
    from pippin.data.convert import convert

    if options.partitions is not None:
        return run_partitions(options)
    data, form = convert(
        options.source,
        options.target,
        source_form=options.reader,
        target_form=options.to,
        absent=options.absent,
        dtype=options.dtype,
        merge_queries=options.merge_queries,
        judgements=options.labels,
        feature=options.feature,
    )
    what = f"{len(data):,} scores" if isinstance(data, np.ndarray) else repr(data)
    # Standard output may be the data itself.
    say(f"{options.target}: {form}, {what}", aside=options.target == "-")
    return 0


def run_partitions(options: argparse.Namespace) -> int:
    """Write partitions; LETOR text is read stretch by stretch, anything else as a whole."""
    from pippin.data.convert import named_form, read_any
    from pippin.data.dataset import Dataset
    from pippin.data.partitions import write_partitions
    from pippin.errors import DataError

    others = {
        "--to": options.to, "--merge-queries": options.merge_queries, "--labels": options.labels,
        "--feature": options.feature,
    }  # fmt: skip
    for option, given in others.items():
        if given:
            raise DataError(f"--partitions cannot be had with {option}")
    data: Dataset | str = options.source
    form = options.reader or named_form(options.source)
    if form not in (None, "letor"):
        read = read_any(options.source, form, dtype=options.dtype)
        if not isinstance(read, Dataset):
            raise DataError("partitions are of a data set with features, and this is none", options.source)
        data = read
    written = write_partitions(data, options.target, options.partitions, absent=options.absent, dtype=options.dtype)
    say(f"{options.target}: {written}")
    return 0
