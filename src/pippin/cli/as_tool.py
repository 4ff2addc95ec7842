"""`pippin as TOOL ARGS…`: take an original tool's own arguments and print its own bytes."""

from __future__ import annotations

import argparse
import io
import sys

from pippin.cli.parser import Parser
from pippin.evaluation.printers import PRINTERS, printer
from pippin.terminal import for_data

HELP = """Be a drop-in for an original evaluation tool: its arguments, its bytes, its exit status.

ARGS are the original's own, also -q and --help; they stand after the tool's name."""
EXAMPLES = (
    "pippin as trec_eval -q -m map -m ndcg_cut.10 qrels.txt run.txt",
    "pippin as gdeval qrels.txt run.txt",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments, to be helped with; they are not parsed."""
    parser.add_argument("tool", metavar="TOOL", help=f"one of {', '.join(PRINTERS)}")
    parser.add_argument("arguments", metavar="ARGS", nargs="*", help="the original's own")


def run_as(arguments: list[str]) -> int:
    """Hand the arguments to the drop-in; its exit status is the original's."""
    if not arguments or arguments[0] in ("-h", "--help"):
        parser = Parser("pippin as", HELP, EXAMPLES)
        configure(parser)
        parser.print_help()
        return 0 if arguments else 2
    chosen = printer(arguments[0])
    streams = for_data(sys.stdout), for_data(sys.stderr)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="")  # bytes come out as they came in
    status = chosen.main(arguments[1:], *streams)
    sys.stdout.flush()
    return status
