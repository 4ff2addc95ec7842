"""The command line of trec_eval 9 and 10, its errors, and the lines it prints."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pippin.kernels.text import parse_leading_number
from pippin.records import FrozenRecord

Values = NDArray[np.float64]
FLOOR = 0.00001  # the smallest value in a geometric mean


class TrecError(Exception):
    """The error output of trec_eval and its exit status."""

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.status, self.lines = status, lines


def emulated_crash(status: int, reason: str) -> TrecError:
    """Return the error for input on which the original crashes, with the exit status of the signal."""
    return TrecError(status, f"pippin as trec_eval: the original crashes here: {reason}")


class Column(FrozenRecord):
    """One printed measure over the evaluated topics."""

    name: str
    values: Values
    is_integer: bool = False
    average: str = "mean"  # "mean", "sum", "geometric" or "topics" (the number of topics itself)
    per_topic: bool = True
    texts: Sequence[str] | None = None  # printed per topic instead of the values (relstring)
    summary_text: str | None = None  # printed in the summary only (runid)


def format_value(value: float, is_integer: bool = False) -> str:
    """Format a double as C does by `%6.4f`, or by `%ld` after a cast to long.

    >>> format_value(0.5), format_value(-0.0), format_value(float("nan")), format_value(3.0, is_integer=True)
    ('0.5000', '-0.0000', '   nan', '3')
    """
    if is_integer:
        return str(int(value))
    if math.isnan(value):
        return "  -nan" if math.copysign(1.0, value) < 0 else "   nan"
    return f"{value:6.4f}"


def line_writer(prefix: str, width: int) -> Callable[[str, str, str], str]:
    """Return a function that formats a line of name, topic and value, with the name padded to a width in bytes."""

    def line(name: str, topic: str, value: str) -> str:
        blanks = " " * (width - len(name.encode("utf-8", "surrogateescape")))
        return f"{prefix}{name}{blanks}\t{topic}\t{value}\n"

    return line


def sum_in_order(values: Values) -> float:
    """Return the sum from left to right."""
    with np.errstate(invalid="ignore"):
        return float(np.cumsum(values)[-1]) + 0.0 if len(values) else 0.0  # from 0 on, so never -0


def geometric_logs(values: Values) -> Values:
    """Return log(max(value, 0.00001)) with the C library's logarithm; NaN counts as 0.00001."""
    return np.array([math.log(value if value > FLOOR else FLOOR) for value in values.tolist()])


SHORT = "hvqm:cl:nD:JN:M:R:T:oZ:"
LONG = {
    "help": "h", "version": "v", "query_eval_wanted": "q", "measure=": "m", "complete_rel_info_wanted": "c",
    "level_for_rel=": "l", "nosummary": "n", "Debug_level=": "D", "Judged_docs_only": "J", "Number_docs_in_coll=": "N",
    "Max_retrieved_per_topic=": "M", "Rel_info_format=": "R", "Results_format=": "T", "Output_old_results_format=": "o",
    "Zscore=": "Z",
}  # fmt: skip
USAGE = (
    "Usage: trec_eval [-h] [-q] {-m measure}* trec_rel_file trec_top_file",
    "   -h: Give full help information, including other options",
    "   -q: In addition to summary evaluation, give evaluation for each query",
    "   -m: calculate and print measures indicated by 'measure'",
    "       ('-m all_qrels' prints all qrels measures, '-m official' is default)",
)
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


@dataclass
class Options:
    """The parsed command line."""

    per_topic: bool = False
    complete: bool = False
    summary: bool = True
    judged_only: bool = False
    level: int = 1
    collection: int = 0
    depth: int = 2147483647
    judgements_format: str = "qrels"
    results_format: str = "trec_results"
    zscores: str | None = None
    topic: str | None = None
    help: bool = False
    files: list[str] = field(default_factory=list)

    def set(self, option: str, value: str) -> None:
        """Set one option other than -m and -v."""
        flags = {"q": "per_topic", "c": "complete", "J": "judged_only", "h": "help"}
        texts = {"R": "judgements_format", "T": "results_format", "Z": "zscores"}
        numbers = {"l": "level", "N": "collection", "M": "depth"}
        if option in flags:
            setattr(self, flags[option], True)
        elif option in texts:
            setattr(self, texts[option], value)
        elif option in numbers:
            setattr(self, numbers[option], as_long(value))
        elif option == "n":
            self.summary = False
        elif option == "D":
            # The output of debug levels is not emulated.
            _, dot, topic = value.partition(".")
            self.topic = topic if dot else self.topic


def as_long(text: str) -> int:
    """Return the integer at the start of a text, or 0, as C's atol.

    >>> as_long(" 23.4"), as_long("x"), as_long("-99999999999999999999")
    (23, 0, -9223372036854775808)
    """
    match = re.match(r"[ \t-\r]*([-+]?[0-9]+)", text)
    return min(max(int(match[1]), _LONG_MIN), _LONG_MAX) if match else 0


def as_double(text: str) -> float:
    """Return the number at the start of a text, or 0, as C's atof.

    >>> as_double(".25x"), as_double("-1e3"), as_double(""), as_double("0x1p3"), as_double("inf")
    (0.25, -1000.0, 0.0, 8.0, inf)
    """
    return parse_leading_number(text.encode("utf-8", "replace").decode())


def read_options(arguments: list[str], files: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the letter and value of each option, and append the other arguments to `files`."""
    remaining = list(arguments)
    while remaining:
        argument = remaining.pop(0)
        if argument == "--":
            files.extend(remaining)
            return
        if argument.startswith("--"):
            yield _long_option(argument[2:], remaining)
        elif argument.startswith("-") and argument != "-":
            yield from _short_options(argument[1:], remaining)
        else:
            files.append(argument)


def _bad(reason: str) -> TrecError:
    return TrecError(1, f"trec_eval: {reason}", *USAGE)


def _short_options(letters: str, remaining: list[str]) -> Iterator[tuple[str, str]]:
    while letters:
        letter, letters = letters[0], letters[1:]
        index = SHORT.find(letter)
        if index < 0 or letter == ":":
            raise _bad(f"invalid option -- '{letter}'")
        if SHORT[index + 1 : index + 2] != ":":
            yield letter, ""
            continue
        if not letters and not remaining:
            raise _bad(f"option requires an argument -- '{letter}'")
        yield letter, letters or remaining.pop(0)
        return


def _long_option(text: str, remaining: list[str]) -> tuple[str, str]:
    """Parse a long option, which may be an unambiguous prefix."""
    typed, equals, value = text.partition("=")
    names = {name.rstrip("="): name for name in LONG}
    matches = [typed] if typed in names else [name for name in names if name.startswith(typed)]
    if not matches:
        raise _bad(f"unrecognized option '--{text}'")
    if len(matches) > 1:
        possible = "".join(f" '--{name}'" for name in matches)
        raise _bad(f"option '--{text}' is ambiguous; possibilities:{possible}")
    name = names[matches[0]]
    if not name.endswith("="):
        if equals:
            raise _bad(f"option '--{name}' doesn't allow an argument")
        return LONG[name], ""
    if not equals and not remaining:
        raise _bad(f"option '--{matches[0]}' requires an argument")
    return LONG[name], value if equals else remaining.pop(0)
