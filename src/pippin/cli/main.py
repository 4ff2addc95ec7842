"""`pippin COMMAND …`: finds the command's file, lets it parse, runs it, and turns errors into one sentence.

A command is a module with HELP (its first line says what it is for), EXAMPLES that can be typed, configure(parser) and
run(options) → exit status. Only the one asked for is imported, so that `pippin eval` starts fast.
"""

from __future__ import annotations

import argparse
import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, cast

from pippin import __version__
from pippin.cli.output import complain, form_of
from pippin.cli.parser import Parser
from pippin.errors import PippinError, PluginError, UnknownName
from pippin.layout import wrapped
from pippin.progress import silence
from pippin.terminal import Screen, coloured, guarded, screen_of, shown_on

# group → command → (module, what it does)
GROUPS = {
    "start here": {
        "demo": ("demo", "the main job on data that every machine has: build, bench, leaderboard, page"),
        "synthetic": ("synthetic", "make a small data set and evaluate two scorers under every tool"),
    },
    "evaluate": {
        "eval": ("evaluate", "evaluate scores or runs as any tool would"),
        "compare": ("compare", "who wins, is it chance, and would another tool say so"),
        "reconcile": ("reconcile", "why two tools disagree, choice by choice"),
        "correlate": ("correlate", "rank correlation of two leaderboards, ties and all"),
        "bounds": ("bounds", "how far documents that nobody judged could move a number, or turn a pair round"),
        "agree": ("agree", "whether two judges, people and a model, give the same labels and winners"),
        "interleave": ("interleave", "which of two rankings people prefer, by clicks on lists made of both"),
        "audit": ("audit", "whether a data set is fit for a comparison"),
        "as": ("as_tool", "be a drop-in for an original tool: its arguments, its bytes"),
    },
    "learn": {
        "train": ("train", "train a ranker and write its model"),
        "rank": ("rank", "score a data set with a model"),
        "propensities": ("propensities", "how likely each rank is looked at, by a log of clicks"),
        "rerank": ("rerank", "rank the documents of an index for new queries with a model"),
        "diversify": ("diversify", "a run whose documents do not say the same twice: MMR, xQuAD"),
        "bench": ("bench", "train and evaluate rankers on data sets in folds, and keep everything"),
        "select": ("select", "how many features are enough: the path, and the smallest set that is as good"),
        "curve": ("curve", "how many queries are enough: learning curves, and when trees overtake"),
        "leaderboard": ("leaderboard", "what benchmark results say: tables, winners, other tools"),
        "report": ("report", "benchmark results as a page, and as tables and figures for a paper"),
        "study": ("study", "what training and evaluating under other tools does"),
    },
    "deploy": {
        "export": ("export", "write a model as another engine reads it, with a certificate"),
        "import": ("import_model", "make another program's model one of Pippin's"),
    },
    "share": {
        "serve": ("serve", "open a folder of boards to browsers and to `pippin submit`"),
        "submit": ("submit", "send scores, a run or a model to a board"),
        "board": ("board", "boards that others submit to, from the first day to the last"),
    },
    "make data": {
        "build": ("build", "make a data set of documents, queries and judgements, as LETOR did"),
        "index": ("index", "index a collection of documents"),
        "search": ("search", "look into an index by BM25"),
        "links": ("links", "the link graph and sitemap of a collection, and which pages matter"),
        "convert": ("convert", "write any ranking data as any other form"),
        "simulate": ("simulate", "clicks that people would leave on a ranking, as a log"),
    },
    "look up": {
        "tools": ("tools", "the evaluation tools side by side, or all about one"),
        "measures": ("measures", "the measures, or all about one"),
        "rankers": ("rankers", "the learning algorithms, all about one, or a model"),
        "features": ("features", "the learning features and their sets, or all about one"),
        "datasets": ("datasets", "the data sets known by their files, and the forms of collections"),
        "verify": ("verify", "whether everything that Pippin wrote is still what it wrote"),
        "completion": ("completion", "complete commands, flags and names in bash, zsh or fish"),
    },
}
# Python looks for garbage after 700 new objects, which took a twelfth of a `report`; what modules and results are made
# of stays.
_NEW_OBJECTS = 20_000
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


class Command(Protocol):
    """What every command's module offers."""

    HELP: str
    EXAMPLES: Sequence[str]

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program `pippin`; returns the exit status."""
    if arguments is None:  # the process is ours
        gc.set_threshold(_NEW_OBJECTS)
    given = list(sys.argv[1:] if arguments is None else arguments)
    with guarded(), coloured(not _plain(given)):
        try:
            status = _dispatch(given)
            sys.stdout.flush()
        except (PippinError, OSError, UnicodeDecodeError, MemoryError, KeyboardInterrupt) as error:
            return _ended(error)
        except Exception as error:
            from pippin.extras import explained
            from pippin.plugins import blamed

            known = (isinstance(error, ImportError) and explained(error)) or blamed(error)
            if not known:
                raise
            return _ended(known)
        return status


def _plain(given: list[str]) -> bool:
    """Whether colours are not wanted; after `as`, arguments belong to the original tool."""
    return "--no-color" in (given[: given.index("as")] if "as" in given else given)


def _ended(error: BaseException) -> int:
    """Say in one sentence why nothing more is done; the exit status."""
    # Polars tells of a closed pipe in words only.
    if isinstance(error, BrokenPipeError) or f"(os error {errno.EPIPE})" in str(error):
        _abandon(sys.stdout)
        return 141  # the reader is gone (`pippin … | head`): nothing to say, and nobody to say it to
    sentence = str(error)
    if isinstance(error, KeyboardInterrupt):
        sentence = "interrupted"
    elif isinstance(error, MemoryError):
        sentence = "there is not enough memory for this"
    elif isinstance(error, UnicodeDecodeError):
        sentence = f"a text is not {error.encoding.upper()}: {error.reason} at byte {error.start + 1:,}"
    elif isinstance(error, OSError) and error.errno is not None:
        sentence = _of_system(error)
    try:
        sys.stdout.flush()  # what was printed before comes first
    except OSError:
        _abandon(sys.stdout)  # or the interpreter fails again when it leaves
    with suppress(OSError):
        complain(sentence)
    return 130 if isinstance(error, KeyboardInterrupt) else 2


def _of_system(error: OSError) -> str:
    """What the system refused, with the file's name."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return where + (error.strerror or os.strerror(error.errno or 0)).lower()


def _abandon(stream: object) -> None:
    """Let what is still to be written go nowhere, so that leaving is silent."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # type: ignore[attr-defined]
        os.close(nowhere)


def _dispatch(given: list[str]) -> int:
    imports, given = _at_head(given)
    if given[:1] == ["help"] and len(given) == 2 and not given[1].startswith("-"):
        print(parser_of(given[1])[0].format_help(full=True).rstrip("\n"))
        return 0
    if not given or given[0] in ("-h", "--help", "help"):
        print(overview(screen_of(sys.stdout)))
        return 0 if given else 2
    if given[0] in ("-V", "--version"):
        print(f"pippin {__version__}")
        return 0
    name, rest = given[0], given[1:]
    if name == "as":  # the rest belongs to the original tool, whatever it looks like
        more, rest = _at_head(rest)
        _load([*imports, *more])
        return cast(int, importlib.import_module("pippin.cli.as_tool").run_as(rest))
    parser, command = parser_of(name)
    options = parser.parse_args(rest)
    options.imports = _load([*imports, *options.imports])
    if options.max_bytes is not None:
        from pippin.limits import set_max_bytes
        from pippin.machine import parse_size

        set_max_bytes(parse_size(options.max_bytes))
    in_file = False
    if hasattr(options, "prints_to"):
        path = getattr(options, options.prints_to)
        in_file = path != "-"
        options.format = form_of(options.format, path, options.forms)
    place = Screen() if in_file else screen_of(sys.stdout)
    with shown_on(place), silence(getattr(options, "quiet", False)):
        return command.run(options)


def _at_head(given: list[str]) -> tuple[list[str], list[str]]:
    """The modules that `--import` names before the command, and the arguments from there on.

    >>> _at_head(["--import", "mine", "--no-color", "--import=ours.py", "eval", "--import", "a"])
    (['mine', 'ours.py'], ['eval', '--import', 'a'])
    """
    modules: list[str] = []
    while given and given[0].partition("=")[0] in ("--import", "--no-color"):
        flag, equals, module = given[0].partition("=")
        if flag == "--import" and not equals and len(given) == 1:
            raise PluginError("--import takes a module, or the path of its file")
        if flag == "--import":
            modules.append(module if equals else given[1])
        given = given[2 if flag == "--import" and not equals else 1 :]
    return modules, given


def _load(imports: list[str]) -> tuple[str, ...]:
    """Import the modules, which may be separated by commas; their names one by one."""
    modules = tuple(part.strip() for text in imports for part in text.split(","))
    if modules:
        from pippin.plugins import load_modules

        load_modules(modules)
    return modules


def parser_of(name: str) -> tuple[Parser, Command]:
    """A command and the parser of its arguments."""
    if name not in COMMANDS:
        raise UnknownName("command", name, COMMANDS)
    command = cast(Command, importlib.import_module(f"pippin.cli.{COMMANDS[name][0]}"))
    parser = Parser(f"pippin {name}", command.HELP, command.EXAMPLES)
    command.configure(parser)
    return parser, command


def overview(place: Screen) -> str:
    """All commands, a line each."""
    across = max(map(len, COMMANDS))
    lines = ["usage: pippin COMMAND …", "", "An apple-to-apple learning-to-rank workbench."]
    for group, commands in GROUPS.items():
        lines += ["", place.paint(place.text(group), "heading")]
        for name, (_, what) in commands.items():
            start = f"  {name:<{across}}  "
            first, *rest = wrapped(what, None if place.columns is None else max(20, place.columns - len(start)))
            lines += [start + first, *(" " * len(start) + line for line in rest)]
    more = "`pippin COMMAND --help` tells more, `pippin help COMMAND` all."
    return "\n".join([*lines, "", *wrapped(more, place.columns)])


if __name__ == "__main__":
    sys.exit(main())
