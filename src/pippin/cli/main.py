"""`pippin COMMAND …`: finds the command's file, lets it parse, runs it, and turns errors into one sentence.

A command is a module with HELP, configure(parser) and run(options) → exit status. Only the one asked for is imported,
so that `pippin eval` starts fast.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from pippin import __version__
from pippin.errors import PippinError, UnknownName

# command -> (module, what it does)
COMMANDS = {
    "eval": ("evaluate", "evaluate scores or runs as any tool would"),
    "as": ("as_tool", "be a drop-in for an original tool: its arguments, its bytes"),
    "compare": ("compare", "who wins, is it chance, and would another tool say so"),
    "correlate": ("correlate", "rank correlation of two leaderboards, ties and all"),
    "reconcile": ("reconcile", "why two tools disagree, choice by choice"),
    "audit": ("audit", "whether a data set is fit for a comparison, and what it does to each tool"),
    "tools": ("tools", "the evaluation tools side by side, or all about one"),
    "measures": ("measures", "the measures, or all about one"),
    "train": ("train", "train a ranker and write its model"),
    "rank": ("rank", "score a data set with a model"),
    "features": ("features", "the learning features and their sets, or all about one"),
    "rankers": ("rankers", "the learning algorithms, all about one, or a model"),
    "bench": ("bench", "train and evaluate rankers on data sets in folds, and keep everything"),
    "leaderboard": ("leaderboard", "what benchmark results say: tables, winners, other tools, published values"),
    "report": ("report", "benchmark results as a page, and as tables and figures for a paper"),
    "study": ("study", "what training and evaluating under other tools does (Busa-Fekete et al. 2012)"),
    "index": ("index", "index a collection of documents"),
    "search": ("search", "look into an index by BM25"),
    "links": ("links", "the link graph and sitemap of a collection, and which pages matter"),
    "build": ("build", "make a data set of documents, queries and judgements, as LETOR did"),
    "convert": ("convert", "write any ranking data as any other form"),
    "synthetic": ("synthetic", "make a small data set and evaluate two scorers under every tool"),
    "demo": ("demo", "the main job on data that every machine has: build, bench, leaderboard, page"),
}


class Command(Protocol):
    """What every command's module offers."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program `pippin`; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(given)
    except PippinError as error:
        print(f"pippin: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output is gone (`pippin … | head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        print("pippin: interrupted", file=sys.stderr)
        return 130


def _dispatch(given: list[str]) -> int:
    if not given or given[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if given else 2
    if given[0] in ("-V", "--version"):
        print(f"pippin {__version__}")
        return 0
    name, rest = given[0], given[1:]
    if name not in COMMANDS:
        raise UnknownName("command", name, COMMANDS)
    module = importlib.import_module(f"pippin.cli.{COMMANDS[name][0]}")
    if name == "as":  # the rest belongs to the original tool, whatever it looks like
        return cast(int, module.run_as(rest))
    command = cast(Command, module)
    parser = argparse.ArgumentParser(
        prog=f"pippin {name}", description=command.HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.configure(parser)
    return command.run(parser.parse_args(rest))


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(
        ["usage: pippin COMMAND …", "", "An apple-to-apple learning-to-rank workbench.", "", *lines, "",
         "`pippin COMMAND --help` tells more."]
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
