"""The `pippin as` command."""

from __future__ import annotations

import argparse

import pippin
from pippin.cli.parser import Parser

HELP = """Run as an original evaluation tool: same arguments, same output bytes, same exit status.

ARGS are the original tool's own arguments, including -q and --help."""
EXAMPLES = (
    "pippin as trec_eval -q -m map -m ndcg_cut.10 qrels.txt run.txt",
    "pippin as gdeval qrels.txt run.txt",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for the help; the emulator parses them."""
    names = tuple(pippin.compat.EMULATORS)
    parser.add_argument("tool", metavar="TOOL", choices=names, help=f"one of {', '.join(names)}")
    parser.add_argument("arguments", metavar="ARGS", nargs="*", help="arguments of the original tool")


def run(options: argparse.Namespace) -> int:
    """Run the emulator and return its exit status."""
    return pippin.compat.run(options.tool, options.arguments)


def run_as(arguments: list[str]) -> int:
    """Run `pippin as` with arguments that only the emulator parses."""
    if not arguments or arguments[0] in ("-h", "--help"):
        parser = Parser("pippin as", HELP, EXAMPLES)
        configure(parser)
        parser.print_help()
        return 0 if arguments else 2
    return run(argparse.Namespace(tool=arguments[0], arguments=arguments[1:]))
