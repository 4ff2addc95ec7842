"""The command line of trec_eval 9 and 10, read as getopt reads it."""

from __future__ import annotations

import getopt
import re
from dataclasses import dataclass, field

from pippin.evaluation.printers.trec.columns import TrecError

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


@dataclass
class Options:
    """What the command line asks for."""

    per_topic: bool = False
    complete: bool = False
    summary: bool = True
    judged_only: bool = False
    level: int = 1
    collection: int = 0
    depth: int | None = None
    judgements_format: str = "qrels"
    results_format: str = "trec_results"
    zscores: str | None = None
    topic: str | None = None
    help: bool = False
    version: bool = False
    measures: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def as_long(text: str) -> int:
    """As atol: the whole number at the start of the text, 0 if there is none.

    >>> as_long(" 23.4"), as_long("x")
    (23, 0)
    """
    found = re.match(r"\s*([-+]?\d+)", text)
    return int(found[1]) if found else 0


def as_double(text: str) -> float:
    """As atof: the number at the start of the text, 0 if there is none.

    >>> as_double(".25x"), as_double("-1e3"), as_double("")
    (0.25, -1000.0, 0.0)
    """
    found = re.match(r"\s*([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf(?:inity)?|nan))", text, re.I)
    return float(found[1]) if found else 0.0


def read_options(arguments: list[str]) -> Options:
    """The options, wherever they stand among the file names; a bad one ends with the usage."""
    try:
        given, files = getopt.gnu_getopt(arguments, SHORT, list(LONG))
    except getopt.GetoptError as error:
        raise TrecError(1, f"trec_eval: {error.msg}", *USAGE) from None
    options = Options(files=files)
    shorts = {f"--{name.rstrip('=')}": f"-{short}" for name, short in LONG.items()}
    flags = {"-q": "per_topic", "-c": "complete", "-J": "judged_only", "-h": "help", "-v": "version"}
    texts = {"-R": "judgements_format", "-T": "results_format", "-Z": "zscores"}
    numbers = {"-l": "level", "-N": "collection", "-M": "depth"}
    for name, value in given:
        option = shorts.get(name, name)
        if option in flags:
            setattr(options, flags[option], True)
        elif option in texts:
            setattr(options, texts[option], value)
        elif option in numbers:
            setattr(options, numbers[option], as_long(value))
        elif option == "-n":
            options.summary = False
        elif option == "-m":
            options.measures.append(value)
        elif option == "-D":
            options.topic = value.partition(".")[2] or None  # what the level itself would print is not imitated
    return options
