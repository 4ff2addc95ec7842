"""The command line of trec_eval 9 and 10, read as getopt_long reads it: one option after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pippin.evaluation.printers.trec.columns import TrecError
from pippin.kernels.text import leading_number

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
    """What the command line asks for."""

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

    def take(self, option: str, value: str) -> None:
        """Note one option, other than -m and -v."""
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
            # What a debug level itself would print is not imitated.
            _, dot, topic = value.partition(".")
            self.topic = topic if dot else self.topic


def as_long(text: str) -> int:
    """As atol: the whole number at the start of the text, 0 if there is none.

    >>> as_long(" 23.4"), as_long("x"), as_long("-99999999999999999999")
    (23, 0, -9223372036854775808)
    """
    match = re.match(r"[ \t-\r]*([-+]?[0-9]+)", text)
    return min(max(int(match[1]), _LONG_MIN), _LONG_MAX) if match else 0


def as_double(text: str) -> float:
    """As atof: the number at the start of the text, 0 if there is none.

    >>> as_double(".25x"), as_double("-1e3"), as_double(""), as_double("0x1p3"), as_double("inf")
    (0.25, -1000.0, 0.0, 8.0, inf)
    """
    return leading_number(text.encode("utf-8", "replace").decode())


def read_options(arguments: list[str], files: list[str]) -> Iterator[tuple[str, str]]:
    """The letter and the value of each option; what is no option goes to `files`. A bad option ends with the usage."""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            files.extend(rest)
            return
        if argument.startswith("--"):
            yield _long_option(argument[2:], rest)
        elif argument.startswith("-") and argument != "-":
            yield from _short_options(argument[1:], rest)
        else:
            files.append(argument)


def _bad(reason: str) -> TrecError:
    return TrecError(1, f"trec_eval: {reason}", *USAGE)


def _short_options(letters: str, rest: list[str]) -> Iterator[tuple[str, str]]:
    while letters:
        letter, letters = letters[0], letters[1:]
        at = SHORT.find(letter)
        if at < 0 or letter == ":":
            raise _bad(f"invalid option -- '{letter}'")
        if SHORT[at + 1 : at + 2] != ":":
            yield letter, ""
            continue
        if not letters and not rest:
            raise _bad(f"option requires an argument -- '{letter}'")
        yield letter, letters or rest.pop(0)
        return


def _long_option(text: str, rest: list[str]) -> tuple[str, str]:
    """A long option, which may be shortened as long as it is still one option only."""
    typed, equals, value = text.partition("=")
    known = {name.rstrip("="): name for name in LONG}
    meant = [typed] if typed in known else [name for name in known if name.startswith(typed)]
    if not meant:
        raise _bad(f"unrecognized option '--{text}'")
    if len(meant) > 1:
        possible = "".join(f" '--{name}'" for name in meant)
        raise _bad(f"option '--{text}' is ambiguous; possibilities:{possible}")
    name = known[meant[0]]
    if not name.endswith("="):
        if equals:
            raise _bad(f"option '--{name}' doesn't allow an argument")
        return LONG[name], ""
    if not equals and not rest:
        raise _bad(f"option '--{meant[0]}' requires an argument")
    return LONG[name], value if equals else rest.pop(0)
