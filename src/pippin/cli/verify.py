"""The `pippin verify` command."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.options import add_output_options
from pippin.cli.output import write_result
from pippin.display.tables import Table

HELP = """Verify the checksums of files that Pippin wrote.

Reads indexes, stores, partitions, link graphs, built data sets, folders of results, models, Parquet and Arrow files,
and prints a line for each. The exit status is 0 if all are intact and 2 if one is damaged. Parquet and Arrow files of
other programs without checksums are read and reported as unverified."""

EXAMPLES = (
    "pippin verify results/",
    "pippin verify cacm.index model.json",
    "pippin verify parts/ --format json",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders")
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Verify and print a line per item; status 2 if one is damaged."""
    items = pippin.verify(options.paths)
    rows = [[item.path, item.kind, f"{item.files:,}", f"{item.bytes:,}", item.state, item.damage] for item in items]
    table = Table(["path", "kind", "files", "bytes", "state", "damage"], rows, text_columns=2, trailing_text=2)
    write_result(
        options.format, options.output, lambda: [table], lambda: [item.to_dict() for item in items], lambda: table
    )
    return 2 if any(item.damage for item in items) else 0
