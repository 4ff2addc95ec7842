"""The `pippin` program: find the command, parse its arguments, run it, print errors as one sentence.

A module of one command has HELP (the first line is its summary), EXAMPLES that run as printed, configure(parser) and
run(options), which returns the exit status. A module of several commands has a `Command` of the same four for each.
Only the module of the requested command is imported, so that `pippin eval` starts fast.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from pippin._version import __version__
from pippin.cli.output import print_error, resolve_format
from pippin.cli.parser import Parser
from pippin.display.tables import wrap_text
from pippin.display.terminal import (
    Terminal,
    allow_colour,
    disable_progress,
    safe_standard_streams,
    terminal_of,
    use_terminal,
)
from pippin.errors import PippinError, PippinWarning, PluginError, UnknownName

if TYPE_CHECKING:
    from pippin.cli.options import Command

# Group → command → (module, description of at most 64 characters).
GROUPS = {
    "evaluate": {
        "eval": ("evaluate", "evaluate scores or runs under the rules of one or more tools"),
        "compare": ("compare", "compare systems with significance tests"),
        "reconcile": ("reconcile", "explain why two tools report different values"),
        "correlate": ("correlate", "correlate two leaderboards"),
        "audit": ("audit", "check a data set for problems that affect evaluation"),
        "bounds": ("judgements", "bound a measure over unjudged documents"),
        "agree": ("judgements", "measure the agreement of two assessors"),
        "as": ("as_tool", "run as an original tool (trec_eval, ndeval, …): same output"),
    },
    "train and benchmark": {
        "train": ("train", "train a ranker and write its model"),
        "rank": ("rank", "score a data set with a model"),
        "bench": ("bench", "benchmark rankers on data sets in folds"),
        "leaderboard": ("leaderboard", "show benchmark results"),
        "report": ("report", "write benchmark results as a page, tables and figures"),
        "study": ("study", "learning and feature curves, training conventions, research"),
    },
    "deploy": {
        "export": ("models", "write a model for another engine, with a certificate"),
        "import": ("models", "read the model of another library"),
        "engine": ("engine", "log, deploy, run and verify in a running Solr"),
    },
    "collections": {
        "build": ("build", "build a data set from documents, queries and judgements"),
        "index": ("retrieval", "index a collection of documents"),
        "search": ("retrieval", "search an index with BM25"),
        "rerank": ("retrieval", "rank the documents of an index for new queries"),
        "diversify": ("retrieval", "re-rank a run for diversity (MMR, xQuAD)"),
        "links": ("links", "show the link graph and the sitemap of a collection"),
        "convert": ("convert", "convert ranking data between formats"),
    },
    "clicks": {
        "simulate": ("clicks", "simulate clicks on a ranking"),
        "propensities": ("clicks", "estimate examination propensities from a click log"),
        "interleave": ("clicks", "compare two rankings by interleaving"),
    },
    "boards": {
        "board": ("boards", "create and manage boards, and submit to them"),
        "serve": ("boards", "serve a folder of boards on the web"),
    },
    "look up": {
        "tools": ("catalogue", "list the evaluation tools, or describe one"),
        "measures": ("catalogue", "list the measures, or describe one"),
        "rankers": ("catalogue", "list the rankers, or describe one or a model"),
        "features": ("catalogue", "list the features and feature sets, or describe one"),
        "datasets": ("catalogue", "list published data sets and collection formats"),
    },
    "other": {
        "demo": ("demo", "build, benchmark and report on data that comes with Python"),
        "synthetic": ("demo", "make a small data set and evaluate it under every tool"),
        "verify": ("verify", "verify the checksums of files that Pippin wrote"),
        "completion": ("completion", "print a completion script for bash, zsh, fish or tcsh"),
    },
}
# Groups that the overview shows on one line, so that it fits one screen of 40 lines.
_ONE_LINE_GROUPS = ("clicks", "boards", "look up", "other")
# New objects between two garbage collections. Python's default of 700 took a twelfth of the time of `report`.
_NEW_OBJECTS = 20_000
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `pippin` with these arguments (default: those of the process) and return the exit status."""
    if arguments is None:  # not called from another program
        gc.set_threshold(_NEW_OBJECTS)
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    with safe_standard_streams(), allow_colour(not _without_colour(arguments)):
        try:
            status = _dispatch(arguments)
            sys.stdout.flush()
        except (PippinError, OSError, UnicodeDecodeError, MemoryError, KeyboardInterrupt) as error:
            return _exit_status(error)
        except Exception as error:
            from pippin.dependencies import explain_import_error
            from pippin.plugins import plugin_error

            user_error = (isinstance(error, ImportError) and explain_import_error(error)) or plugin_error(error)
            if not user_error:
                raise
            return _exit_status(user_error)
        return status


def _without_colour(arguments: list[str]) -> bool:
    """Return whether --no-color is given; arguments after `as` belong to the original tool."""
    return "--no-color" in (arguments[: arguments.index("as")] if "as" in arguments else arguments)


def _exit_status(error: BaseException) -> int:
    """Print an error as one sentence and return the exit status."""
    # Polars reports a closed pipe only in the message of its error.
    if isinstance(error, BrokenPipeError) or f"(os error {errno.EPIPE})" in str(error):
        _discard_output(sys.stdout)
        return 141  # the reader of the pipe has ended (`pippin … | head`)
    sentence = str(error)
    if isinstance(error, KeyboardInterrupt):
        sentence = "interrupted"
    elif isinstance(error, MemoryError):
        sentence = "not enough memory"
    elif isinstance(error, UnicodeDecodeError):
        sentence = f"invalid {error.encoding.upper()} text: {error.reason} at byte {error.start + 1:,}"
    elif isinstance(error, OSError) and error.errno is not None:
        sentence = _describe_os_error(error)
    elif isinstance(error, OSError):
        from pippin.dependencies import explain_library_error

        sentence = explain_library_error(error) or sentence
    try:
        sys.stdout.flush()  # so that earlier output precedes the error
    except OSError:
        _discard_output(sys.stdout)  # otherwise the interpreter fails again at exit
    with suppress(OSError):
        print_error(sentence)
    return 130 if isinstance(error, KeyboardInterrupt) else 2


def _describe_os_error(error: OSError) -> str:
    """Return the message of the operating system with the name of the file."""
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return where + (error.strerror or os.strerror(error.errno or 0)).lower()


def _discard_output(stream: object) -> None:
    """Redirect a stream to the null device, so that flushing at exit does not fail."""
    with suppress(OSError, ValueError):
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())  # type: ignore[attr-defined]
        os.close(null_device)


def _dispatch(arguments: list[str]) -> int:
    imports, arguments = _parse_global_options(arguments)
    if arguments[:1] == ["help"] and len(arguments) == 2 and not arguments[1].startswith("-"):
        print(build_parser(arguments[1])[0].format_help(full=True).rstrip("\n"))
        return 0
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(format_overview(terminal_of(sys.stdout)))
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version"):
        print(f"pippin {__version__}")
        return 0
    name, arguments = arguments[0], arguments[1:]
    if name == "as":  # the arguments belong to the original tool
        more_imports, arguments = _parse_global_options(arguments)
        _import_plugins([*imports, *more_imports])
        return cast(int, importlib.import_module("pippin.cli.as_tool").run_as(arguments))
    parser, command = build_parser(name)
    options = parser.parse_args(arguments)
    options.imports = _import_plugins([*imports, *options.imports])
    if options.max_bytes is not None:
        from pippin.storage.compression import set_max_bytes
        from pippin.system import parse_size

        set_max_bytes(parse_size(options.max_bytes))
    writes_file = False
    if hasattr(options, "output_option"):
        path = getattr(options, options.output_option)
        writes_file = path != "-"
        options.format = resolve_format(options.format, path, options.formats)
    terminal = Terminal() if writes_file else terminal_of(sys.stdout)
    with use_terminal(terminal), disable_progress(getattr(options, "quiet", False)), warnings.catch_warnings():
        warnings.simplefilter("always", PippinWarning)
        warnings.showwarning = _print_warning
        return command.run(options)


def _print_warning(message: Warning | str, category: type[Warning], *location: Any, **_: Any) -> None:
    """Print a warning of Pippin's own as one sentence; others as Python formats them."""
    if issubclass(category, PippinWarning):
        print_error(str(message), "warning")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, str(location[0]), int(location[1])))


def _parse_global_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the modules that `--import` names before the command, and the remaining arguments.

    >>> _parse_global_options(["--import", "mine", "--no-color", "--import=ours.py", "eval", "--import", "a"])
    (['mine', 'ours.py'], ['eval', '--import', 'a'])
    """
    modules: list[str] = []
    while arguments and arguments[0].partition("=")[0] in ("--import", "--no-color"):
        flag, equals, module = arguments[0].partition("=")
        if flag == "--import" and not equals and len(arguments) == 1:
            raise PluginError("--import needs a module name or the path of a Python file")
        if flag == "--import":
            modules.append(module if equals else arguments[1])
        arguments = arguments[2 if flag == "--import" and not equals else 1 :]
    return modules, arguments


def _import_plugins(imports: list[str]) -> tuple[str, ...]:
    """Import modules given as names or comma-separated names, and return the single names."""
    modules = tuple(part.strip() for text in imports for part in text.split(","))
    if modules:
        from pippin.plugins import load_modules

        load_modules(modules)
    return modules


def load_command(name: str) -> Command:
    """Import the module of a command and return the command."""
    if name not in COMMANDS:
        raise UnknownName("command", name, COMMANDS)
    module = importlib.import_module(f"pippin.cli.{COMMANDS[name][0]}")
    if hasattr(module, "COMMANDS"):
        return cast("Command", module.COMMANDS[name])
    from pippin.cli.options import Command

    return Command(module.HELP, module.EXAMPLES, module.configure, module.run)


def build_parser(name: str) -> tuple[Parser, Command]:
    """Return the parser of a command, and the command."""
    command = load_command(name)
    parser = Parser(f"pippin {name}", command.help, command.examples)
    command.configure(parser)
    return parser, command


def format_overview(terminal: Terminal) -> str:
    """Return the groups of commands: one line per command, or one line for a group of look-ups."""
    width = max(map(len, COMMANDS))
    lines = ["usage: pippin COMMAND …", "", "An apple-to-apple learning-to-rank workbench.", ""]
    for group, commands in GROUPS.items():
        title = terminal.paint(terminal.text(group), "heading")
        if group in _ONE_LINE_GROUPS:
            lines += _format_row(title + " " * (width + 2 - len(group)), ", ".join(commands), width, terminal)
            continue
        lines.append(title)
        for name, (_, description) in commands.items():
            lines += _format_row(f"  {name:<{width}}", description, width, terminal)
    more = "Run `pippin COMMAND --help` for options and examples, `pippin help COMMAND` for all details."
    return "\n".join([*lines, "", *wrap_text(terminal.text(more), terminal.columns)])


def _format_row(start: str, text: str, width: int, terminal: Terminal) -> list[str]:
    """Return a name and its text, wrapped into a second column."""
    columns = None if terminal.columns is None else max(20, terminal.columns - width - 4)
    lines = wrap_text(terminal.text(text), columns)
    return [f"{start}  {lines[0]}", *(" " * (width + 4) + line for line in lines[1:])]


if __name__ == "__main__":
    sys.exit(main())
