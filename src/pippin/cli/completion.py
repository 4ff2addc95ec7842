"""The `pippin completion` command."""

from __future__ import annotations

import argparse
import re
from typing import Any, cast

from pippin.cli.options import OPTIONS
from pippin.reports.catalogue import axis_values, registered_names

HELP = """Print a script that completes commands, options and names in a shell.

The script lists the tools, measures, rankers and features that are registered now; print it again after you install a
plugin. Bash: put `source <(pippin completion bash)` into ~/.bashrc. Zsh: write it to a file `_pippin` in a folder of
$fpath. Fish: write it to ~/.config/fish/completions/pippin.fish."""
EXAMPLES = (
    "pippin completion bash",
    "pippin completion zsh > _pippin",
    "pippin completion fish > pippin.fish",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish or tcsh"
    )


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    print(shtab.complete(command_tree(), options.shell))
    return 0


def command_tree() -> argparse.ArgumentParser:
    """Return one parser with every command below it, where the choices of an action are the words that complete it."""
    from pippin.cli.main import COMMANDS, build_parser

    def make_parser(prog: str, **_: Any) -> argparse.ArgumentParser:
        return build_parser(prog.removeprefix("pippin "))[0]

    root = argparse.ArgumentParser("pippin", description="A learning-to-rank workbench.")
    commands = root.add_subparsers(parser_class=cast("type[argparse.ArgumentParser]", make_parser))
    for name, (_, description) in COMMANDS.items():
        _complete(commands.add_parser(name, help=description))
    return root


def _complete(parser: argparse.ArgumentParser) -> None:
    """Set the words or files that complete the arguments of a parser and of its sub-parsers."""
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                _complete(subparser)
        elif action.nargs != 0:
            if words := _words(action):
                action.choices = words
            else:
                action.complete = shtab.FILE  # type: ignore[attr-defined]


def _words(action: argparse.Action) -> tuple[str, ...]:
    """Return the values of an action: its choices, names of a registry, or the alternatives in its placeholder."""
    if action.choices:
        return tuple(map(str, action.choices))
    registry = next((o.registry for o in OPTIONS.values() if set(o.names) & set(action.option_strings)), "")
    registry = registry or _REGISTRIES.get(action.dest if action.option_strings else str(action.metavar), "")
    if registry:
        return registered_names(registry)
    if action.option_strings and (values := axis_values(action.dest)):
        return values
    alternatives = str(action.metavar or "").split("|")
    return tuple(filter(re.compile("[a-z0-9][a-z0-9_-]*").fullmatch, alternatives)) if len(alternatives) > 1 else ()


# Registries of options of one command, and of arguments by their placeholders.
_REGISTRIES = {
    "coefficient": "coefficients", "TOOL": "tools", "MEASURE": "measures", "RANKER|MODEL": "rankers",
    "SET|FEATURE": "features", "DATASET": "datasets",
}  # fmt: skip
