"""`pippin completion SHELL`: a script that completes commands, flags and names, made from the commands' own parsers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass

from pippin.cli.options import FLAGS, Several

HELP = """Print a script that completes commands, flags and names in a shell.

The names of tools, measures, rankers and features are in the script as they are when it is made; make it again after
installing plug-ins. Bash: put `source <(pippin completion bash)` into ~/.bashrc. Zsh: write it to a file `_pippin` in a
folder of $fpath. Fish: write it to ~/.config/fish/completions/pippin.fish."""
EXAMPLES = (
    "pippin completion bash",
    "pippin completion zsh > _pippin",
    "pippin completion fish > pippin.fish",
)


@dataclass(frozen=True)
class Offer:
    """What completes a flag or an argument: words or, where there are none, files; whether commas join several."""

    names: tuple[str, ...]  # of the flag; none for an argument
    help: str
    takes: bool  # a value
    words: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True)
class Completed:
    """A command with its flags, and the words that its arguments can be."""

    name: str
    what: str
    flags: tuple[Offer, ...]
    words: tuple[str, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    from pippin.cli import completion_scripts

    print(getattr(completion_scripts, options.shell)(completed()))
    return 0


def completed() -> list[Completed]:
    """Every command as its parser declares it."""
    from pippin.cli.main import COMMANDS, parser_of

    commands = []
    for name, (_, what) in COMMANDS.items():
        if name == "as":
            commands.append(Completed(name, what, (), SHELVES["drop-ins"]()))
            continue
        parser, _ = parser_of(name)
        actions = [a for a in parser._actions if a.help != argparse.SUPPRESS]
        words = tuple(word for a in actions if not a.option_strings for word in _words(a))
        commands.append(Completed(name, what, tuple(_offer(a) for a in actions if a.option_strings), words))
    return commands


def _offer(action: argparse.Action) -> Offer:
    help = " ".join((action.help or "").split()) % {"default": action.default}
    return Offer(tuple(action.option_strings), help, action.nargs != 0, _words(action), isinstance(action, Several))


def _words(action: argparse.Action) -> tuple[str, ...]:
    """What a value can be: the choices, the names on a shelf, or the alternatives that the placeholder spells out."""
    if action.choices:
        return tuple(map(str, action.choices))
    shelf = next((flag.shelf for flag in FLAGS.values() if set(flag.names) & set(action.option_strings)), "")
    shelf = shelf or _PLACES.get(action.dest if action.option_strings else str(action.metavar), "")
    if shelf:
        return SHELVES[shelf]()
    from pippin.evaluation.convention import AXES

    if action.option_strings and action.dest in AXES:
        return tuple(AXES[action.dest].named)
    alternatives = str(action.metavar or "").split("|")
    return tuple(filter(re.compile("[a-z0-9][a-z0-9_-]*").fullmatch, alternatives)) if len(alternatives) > 1 else ()


def _tools() -> tuple[str, ...]:
    from pippin.evaluation.tools import GROUPS, TOOLS

    return ("all", *GROUPS, *TOOLS)


def _measures() -> tuple[str, ...]:
    from pippin.evaluation.measures import KINDS

    return tuple(dict.fromkeys(name for kind in KINDS.values() for name in (kind.name, *kind.aliases)))


def _rankers() -> tuple[str, ...]:
    from pippin.rankers import names

    return tuple(names())


def _features() -> tuple[str, ...]:
    from pippin.collection.features import FEATURES, SETS

    return (*SETS, *FEATURES)


def _tests() -> tuple[str, ...]:
    from pippin.evaluation.significance import TESTS

    return tuple(TESTS)


def _corrections() -> tuple[str, ...]:
    from pippin.evaluation.corrections import CORRECTIONS

    return tuple(CORRECTIONS)


def _coefficients() -> tuple[str, ...]:
    from pippin.evaluation.correlation import COEFFICIENTS

    return tuple(COEFFICIENTS)


def _drop_ins() -> tuple[str, ...]:
    from pippin.evaluation.printers import PRINTERS

    return tuple(PRINTERS)


def _datasets() -> tuple[str, ...]:
    from pippin.data.sources import SOURCES

    return tuple(SOURCES)


SHELVES: dict[str, Callable[[], tuple[str, ...]]] = {
    "tools": _tools, "measures": _measures, "rankers": _rankers, "features": _features, "tests": _tests,
    "corrections": _corrections, "coefficients": _coefficients, "drop-ins": _drop_ins, "datasets": _datasets,
}  # fmt: skip
# flags of one command, and arguments by their placeholders
_PLACES = {
    "coefficient": "coefficients", "TOOL": "tools", "MEASURE": "measures", "RANKER|MODEL": "rankers",
    "SET|FEATURE": "features", "DATASET": "datasets",
}  # fmt: skip
