"""The `pippin rank` command."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.options import add_option, add_options, partition_executor, split_named_file
from pippin.cli.output import print_message

HELP = """Score every document of a data set with a model.

A file that ends in .run is written as a TREC run, if the data have document ids. Partitions are scored into a folder,
one after the other or on a cluster (--dask); its files have the columns query, document, label and score."""
EXAMPLES = (
    "pippin rank model.json test.txt --out scores.txt",
    "pippin rank model.json test.txt --out model.run",
    "pippin rank model.json parts/ --out scored/",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a file written by `pippin train` or another library; "
                        "NAME=PATH names the system in a run")  # fmt: skip
    parser.add_argument("data", metavar="DATA", help="LETOR file, table or store")
    add_option(
        parser,
        "out",
        "one score per line, or a run if it ends in .run; for partitions, a folder that ends in /",
        metavar="FILE",
        default="-",
    )
    add_option(parser, "relations", "for a model that was trained with it")
    add_options(parser, "dask", missing_value="zero")


def run(options: argparse.Namespace) -> int:
    """Score the documents and write the scores."""
    name, model = split_named_file(options.model)
    with partition_executor(options.dask, options.data if options.output.endswith("/") else None) as executor:
        pippin.rank(model, options.data, options.relations, out=options.output, tag=name or None,
                    executor=executor, missing_value=options.missing_value)  # fmt: skip
    if executor is not None:
        print_message(f"{options.output}: {executor.scored}")
    return 0
