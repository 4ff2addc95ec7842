"""How a command reads its arguments and helps: one sentence for what is wrong, examples that can be typed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from pippin.errors import PippinError
from pippin.layout import wrapped

_WIDEST = 100
_MANY = 20  # of a group of more flags, help tells the names


class UsageError(PippinError):
    """Arguments that the command does not take."""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving, and that knows what was perhaps meant."""

    def __init__(self, prog: str, help: str = "", examples: Sequence[str] = ()) -> None:
        super().__init__(
            prog=prog, description=help, epilog="\n".join(["examples:", *(f"  {line}" for line in examples)]),
            formatter_class=Formatter, allow_abbrev=False, add_help=False,
        )  # fmt: skip
        self._positionals.title = "arguments"
        self._everywhere = self.add_argument_group("of every command")
        self._everywhere.add_argument("-h", "--help", action="help", help="print this")
        self._everywhere.add_argument("--no-color", action="store_true", help="no colours (nor where NO_COLOR is set)")
        self._everywhere.add_argument(
            "--import", dest="imports", action="append", default=[], metavar="MODULE",
            help="a module, or the path of its file, with measures, tools, rankers … of your own (repeatable)",
        )  # fmt: skip
        self._everywhere.add_argument(
            "--max-bytes", metavar="SIZE",
            help="what a file may take when it is unpacked or read, such as 40G (usually 64 times its size, at least "
            "256M and at most 16G)",
        )  # fmt: skip

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The options; what is none of them is refused with what is closest to it."""
        options, rest = self._parsed(args, namespace)
        if rest:
            import difflib

            close = difflib.get_close_matches(rest[0].partition("=")[0], self.flags(), n=1)
            flag = rest[0].startswith("-")  # whether what follows it is left too hangs on the version of Python
            meant = f"; did you mean {close[0]}?" if close and flag else ""
            self.error(f"it takes no {rest[0] if flag else ' '.join(rest)}{meant}")
        return options

    def _parsed(self, args: Any, namespace: Any) -> tuple[Any, list[str]]:
        """Options, and what is none of them; files may stand before and behind flags.

        argparse takes all files from one place, unless it is told to look for flags first, which takes it longer and
        leaves files out when it says what is missing.
        """
        try:
            options, rest = self.parse_known_args(args, namespace)
            if all(word.startswith("-") for word in rest):
                return options, rest
            missing = None
        except UsageError as error:
            missing = error
        try:
            return self.parse_known_intermixed_args(args, namespace)
        except UsageError as error:
            raise missing or error from None

    def format_help(self, full: bool = False) -> str:
        """Help as wide as the terminal, which is not looked at before: each argument asks for a formatter too.

        What the command is for comes first, what all commands take last. Of a group of many flags the names are told,
        and in `full` help everything.
        """
        import shutil

        columns = shutil.get_terminal_size((_WIDEST, 24)).columns
        formatter = Formatter(self.prog, min(columns, _WIDEST) - 1)
        formatter.add_usage(self.usage or self._usage(formatter), [], [])
        formatter.add_text(self.description)
        own = [group for group in self._action_groups if group is not self._everywhere]
        for group in (*own, self._everywhere):
            formatter.start_section(group.title)
            if len(group._group_actions) > _MANY and group is not self._optionals and not full:
                formatter.add_text(self._names(group))
            else:
                formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _usage(self, formatter: Formatter) -> str:
        """What must be given; of the rest, that there is more."""
        files = [formatter._format_args(a, str(a.dest)) for a in self._actions if not a.option_strings]
        needed = [f"{a.option_strings[-1]} {a.metavar}" for a in self._actions if a.option_strings and a.required]
        return " ".join(["%(prog)s", *(file.replace("...", "…") for file in files), *needed, "[OPTION …]"])

    def _names(self, group: argparse._ArgumentGroup) -> str:
        flags = ", ".join(action.option_strings[-1] for action in group._group_actions)
        return f"  {flags}; `{self.prog.replace(' ', ' help ', 1)}` tells what each does"

    def print_help(self, file: Any = None) -> None:
        """Help on standard output, where a failure to write is heard of."""
        print(self.format_help().rstrip("\n"), file=file or sys.stdout, flush=True)

    def flags(self) -> list[str]:
        """The flags that help shows."""
        return [name for a in self._actions if a.help != argparse.SUPPRESS for name in a.option_strings]

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong as one sentence."""
        raise UsageError(f"{self.prog.removeprefix('pippin ')}: {message} (see {self.prog} --help)")


class Formatter(argparse.HelpFormatter):
    """How help looks: paragraphs are filled, indented lines kept, long examples go on after a `\\`."""

    def __init__(self, prog: str, width: int = _WIDEST - 1) -> None:
        super().__init__(prog, width=width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join("\n".join(self._paragraph(p.split("\n"), width)) for p in paragraphs)

    def _paragraph(self, lines: Sequence[str], width: int) -> list[str]:
        if not any(line.startswith(" ") for line in lines):
            return wrapped(" ".join(lines), width)
        return [part for line in lines for part in self._kept(line, width)]

    @staticmethod
    def _kept(line: str, width: int) -> list[str]:
        """A line by itself; a command that is too long is broken as a shell takes it."""
        if len(line) <= width or not line.startswith("  pippin "):
            return wrapped(line, width, "      ")
        *parts, last = wrapped(line, width - 2, "      ")
        return [*(f"{part} \\" for part in parts), last]
