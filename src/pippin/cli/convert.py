"""`pippin convert IN OUT`: any form of ranking data as any other."""

from __future__ import annotations

import argparse
import sys

import numpy as np

HELP = """\
Write ranking data in another form.

forms: letor (LETOR or SVMlight text), qrels, run, scores, parquet, csv, arrow,
store (a folder of memory-mapped columns that opens at once); irds:ID reads the
judgements of ir_datasets. IN is recognised by its ending or its first line, OUT
by its ending; a name that ends in / or .pippin is a store."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("source", metavar="IN", help="a file, a store, irds:ID, or - for standard input")
    parser.add_argument("target", metavar="OUT", help="a file, a store, or - for standard output")
    parser.add_argument("--from", dest="source_form", metavar="FORM", help="the form of IN (default: recognised)")
    parser.add_argument("--to", dest="target_form", metavar="FORM", help="the form of OUT (default: by its name)")
    parser.add_argument(
        "--absent", choices=("zero", "null"), default="zero", help="features a LETOR line leaves out (default: zero)"
    )
    parser.add_argument("--dtype", choices=("float32", "float64"), help="precision of features (default: as in IN)")
    parser.add_argument("--merge-queries", action="store_true", help="join the rows of a query that comes back")
    narrowing = parser.add_mutually_exclusive_group()
    narrowing.add_argument("--judgements", action="store_true", help="only the labels of a data set, by document")
    narrowing.add_argument("--feature", metavar="NAME", help="one feature of a data set, as a run or as scores")


def run(options: argparse.Namespace) -> int:
    """Convert, and say what was written."""
    from pippin.data.convert import convert

    data, form = convert(
        options.source,
        options.target,
        source_form=options.source_form,
        target_form=options.target_form,
        absent=options.absent,
        dtype=options.dtype,
        merge_queries=options.merge_queries,
        judgements=options.judgements,
        feature=options.feature,
    )
    what = f"{len(data):,} scores" if isinstance(data, np.ndarray) else repr(data)
    # Standard output may be the data itself.
    print(f"{options.target}: {form}, {what}", file=sys.stderr if options.target == "-" else sys.stdout)
    return 0
