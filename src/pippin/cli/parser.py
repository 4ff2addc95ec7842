"""Argument parser: errors in one sentence with a suggestion, help that fits the terminal, examples to copy."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from pippin.display.tables import wrap_text
from pippin.errors import PippinError

_MAX_WIDTH = 100
_MAX_EXPLAINED = 20  # flags of a group that help explains; of a larger group it lists the names


# Options of other programs, and the option of Pippin that users mean by them.
_SYNONYMS = {
    "--metric": "--measure", "--metrics": "--measure", "--measures": "--measure", "--tools": "--tool",
    "--rankers": "--ranker", "--algorithm": "--ranker", "--model": "--ranker", "--output": "--out",
    "--validation": "--valid", "--random-state": "--seed", "--random-seed": "--seed", "--n-jobs": "--jobs",
    "--threads": "--jobs", "--workers": "--jobs", "--top-k": "--top", "--limit": "--top", "-k": "--top",
    "--parameter": "--set", "--param": "--set", "--params": "--set",
}  # fmt: skip


class UsageError(PippinError):
    """Invalid arguments of a command."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of exiting, and suggests the nearest option."""

    def __init__(self, prog: str, help: str = "", examples: Sequence[str] = ()) -> None:
        super().__init__(
            prog=prog, description=help, epilog="\n".join(["examples:", *(f"  {line}" for line in examples)]),
            formatter_class=Formatter, allow_abbrev=False, add_help=False,
        )  # fmt: skip
        self._positionals.title = "arguments"
        self._common = self.add_argument_group("common options")
        self._common.add_argument("-h", "--help", action="help", help="print this help")
        self._common.add_argument("--no-color", action="store_true", help="print without colours (also with NO_COLOR)")
        self._common.add_argument(
            "--import", dest="imports", action="append", default=[], metavar="MODULE",
            help="import a module or Python file that registers measures, tools, rankers … (repeatable)",
        )  # fmt: skip
        self._common.add_argument(
            "--max-bytes", metavar="SIZE",
            help="size limit of an unpacked file, such as 40G (default: 64 times the file, at least 256M, at most 16G)",
        )  # fmt: skip

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the options, or raise with the nearest known option."""
        options, unknown = self._parse_intermixed(args, namespace)
        if unknown:
            if not unknown[0].startswith("-"):
                self.error(f"unexpected argument {' '.join(unknown)}")
            hint = self._hint(unknown[0].partition("=")[0])
            self.error(f"unknown option {unknown[0]}{hint and f'; {hint}'}")
        return options

    def _hint(self, flag: str) -> str:
        """Return what to type instead of an unknown option, or an empty string."""
        import difflib

        positions = [action.metavar for action in self._actions if not action.option_strings]
        if flag in ("-o", "--out", "--output") and "OUT" in positions:
            return f"OUT is argument {positions.index('OUT') + 1}, without an option"
        flags = self.flags()
        near = [_SYNONYMS[flag]] if _SYNONYMS.get(flag) in flags else difflib.get_close_matches(flag, flags, n=1)
        return f"did you mean {near[0]}?" if near else ""

    def _parse_intermixed(self, args: Any, namespace: Any) -> tuple[Any, list[str]]:
        """Parse options and files in any order; return the options and the unknown arguments.

        parse_known_intermixed_args is slower and omits positional arguments from its error messages, so it runs only
        if the usual parser fails.
        """
        if self._subparsers is not None:  # the action of the command parses its own arguments
            return self.parse_known_args(args, namespace)
        try:
            options, unknown = self.parse_known_args(args, namespace)
            if all(word.startswith("-") for word in unknown):
                return options, unknown
            first_error = None
        except UsageError as error:
            first_error = error
        try:
            return self.parse_known_intermixed_args(args, namespace)
        except UsageError as error:
            raise first_error or error from None

    def format_help(self, full: bool = False) -> str:
        """Return help as wide as the terminal; common options come last, and large groups are explained if `full`."""
        import shutil

        columns = shutil.get_terminal_size((_MAX_WIDTH, 24)).columns
        formatter = Formatter(self.prog, min(columns, _MAX_WIDTH) - 1)
        formatter.add_usage(self.usage or self._usage(formatter), [], [])
        formatter.add_text(self.description)
        groups = [group for group in self._action_groups if group is not self._common]
        for group in (*groups, self._common):
            formatter.start_section(group.title)
            if len(group._group_actions) > _MAX_EXPLAINED and group is not self._optionals and not full:
                formatter.add_text(self._names(group))
            else:
                formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _usage(self, formatter: Formatter) -> str:
        """Return the usage line: the required arguments, and `[OPTION …]`."""
        files = [formatter._format_args(a, str(a.dest)) for a in self._actions if not a.option_strings]
        needed = [f"{a.option_strings[-1]} {a.metavar}" for a in self._actions if a.option_strings and a.required]
        return " ".join(["%(prog)s", *(file.replace("...", "…") for file in files), *needed, "[OPTION …]"])

    def _names(self, group: argparse._ArgumentGroup) -> str:
        flags = ", ".join(action.option_strings[-1] for action in group._group_actions)
        return f"  {flags}; `{self.prog.replace(' ', ' help ', 1)}` explains them"

    def print_help(self, file: Any = None) -> None:
        """Print help on standard output; errors of writing are raised."""
        print(self.format_help().rstrip("\n"), file=file or sys.stdout, flush=True)

    def flags(self) -> list[str]:
        """Return the flags that help shows."""
        return [name for a in self._actions if a.help != argparse.SUPPRESS for name in a.option_strings]

    def error(self, message: str) -> NoReturn:
        """Raise an error in one sentence."""
        raise UsageError(f"{self.prog.removeprefix('pippin ')}: {message} (see {self.prog} --help)")


class Formatter(argparse.HelpFormatter):
    """Fill paragraphs, keep indented lines, and break long examples with a backslash."""

    def __init__(self, prog: str, width: int = _MAX_WIDTH - 1) -> None:
        super().__init__(prog, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join("\n".join(self._paragraph(p.split("\n"), width)) for p in paragraphs)

    def _paragraph(self, lines: Sequence[str], width: int) -> list[str]:
        if not any(line.startswith(" ") for line in lines):
            return wrap_text(" ".join(lines), width)
        return [part for line in lines for part in self._break_line(line, width)]

    @staticmethod
    def _break_line(line: str, width: int) -> list[str]:
        """Wrap a line; a command is broken so that a shell accepts it."""
        if len(line) <= width or not line.startswith("  pippin "):
            return wrap_text(line, width, "      ")
        *parts, last = wrap_text(line, width - 2, "      ")
        return [*(f"{part} \\" for part in parts), last]
