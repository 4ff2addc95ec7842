"""Options that several commands share: one name, meaning and help text each.

`add_options(parser, "measure", "tool", out="results")` adds options to a command; keyword values are defaults.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pippin.cli.output import print_error
from pippin.display.tables import FORMATS
from pippin.errors import ConventionError, DataError
from pippin.registry import split_names

if TYPE_CHECKING:
    from pippin.distributed.dask_executor import DaskExecutor


class Command(NamedTuple):
    """A command: help text, examples that run as printed, and the functions that declare its arguments and run it."""

    help: str
    examples: Sequence[str]
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class CommaList(argparse.Action):
    """A list: repeat the option or join values by commas; the first use replaces the default."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Append the values."""
        previous = getattr(namespace, self.dest)
        if previous is self.default or not previous:
            previous = []
        setattr(namespace, self.dest, [*previous, *split_names(values)])


class Option(NamedTuple):
    """An option that commands share."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    settings: dict[str, Any] = {}  # noqa: RUF012 - never changed
    registry: str = ""  # kind of the registered names that complete the value


_MAX_METAVAR = 30  # longer lists of values go into the help text
_LIST = {"action": CommaList}
_FLAG = {"action": "store_true"}
_INTEGER = {"type": int}
_NUMBER = {"type": float}
OPTIONS = {
    "measure": Option(
        ("-m", "--measure"), "measures such as NDCG@10,MAP,P(rel=2)@5; `pippin measures` lists them", "M", _LIST,
        "measures",
    ),
    "tool": Option(
        ("-t", "--tool"), "evaluation tools, a group, or all; `pippin tools` lists them", "T", _LIST, "tools"
    ),
    "ranker": Option(("-r", "--ranker"), "rankers; `pippin rankers` lists them", "R", _LIST, "rankers"),
    "convention": Option(("--convention",), "tool whose convention training optimises", "T", _LIST, "tools"),
    "format": Option(("-f", "--format"), "output format", "FORMAT", {"choices": FORMATS}),
    "to": Option(("--to",), "what to write", "FORMAT"),
    "out": Option(("-o", "--out"), "where to write", "PATH", {"dest": "output"}),
    "quiet": Option(("-q", "--quiet"), "do not show progress", None, _FLAG),
    "per_query": Option(("--per-query",), "print a row per query", None, _FLAG),
    "input_format": Option(("--input-format",), "format of the input (default: detected)", "FORMAT"),
    "fields": Option(("--fields",), "document fields to index (default: all texts)", "NAME", _LIST),
    "repeated": Option(
        ("--repeated",), "what to do with duplicate document ids", "WHICH",
        {"choices": ("refuse", "first")},
    ),
    "merge_queries": Option(("--merge-queries",), "merge the rows of a query that are not adjacent", None, _FLAG),
    "missing_value": Option(
        ("--missing-value",), "value of a feature that a LETOR line omits", "VALUE", {"choices": ("zero", "null")}
    ),
    "relations": Option(
        ("--relations",), "similarity of documents, such as similarity.txt of a built data set", "FILE"
    ),
    "dask": Option(("--dask",), "run on a Dask cluster: the address of a scheduler, or `local`", "ADDRESS"),
    "jobs": Option(("--jobs",), "number of parallel jobs (default: one per core)", "N", _INTEGER),
    "memory": Option(("--memory",), "memory limit, such as 512M or 8G", "SIZE"),
    "folds": Option(("--folds",), "number of folds", "N", _INTEGER),
    "sample": Option(("--sample",), "number of documents per query sampled from a collection", "N", _INTEGER),
    "seed": Option(("--seed",), "random seed", "N", _INTEGER),
    "seeds": Option(("--seeds",), "number of random seeds", "N", _INTEGER),
    "resamples": Option(("--resamples",), "number of resamples", "N", _INTEGER),
    "select": Option(
        ("--select",), "measure that selects hyper-parameters on the validation set", "M", {}, "measures"
    ),
    "set": Option(("--set",), "set a parameter of a ranker (repeatable)", "[RANKER.]NAME=VALUE", {"action": "append"}),
    "quick": Option(("--quick",), "use small parameter grids and few rounds", None, _FLAG),
    "sizes": Option(("--sizes",), "sizes to try, joined by commas", "N,N"),
    "report": Option(("--report",), "write the result to this file instead of the terminal", "FILE"),
    "top": Option(("-n", "--top"), "number of rows to show", "N", _INTEGER),
    "test": Option(("--test",), "significance test", "NAME", {}, "tests"),
    "correction": Option(("--correction",), "correction for multiple tests", "NAME", {}, "corrections"),
    "alpha": Option(("--alpha",), "significance level", "P", _NUMBER),
    "published": Option(
        ("--published",), "CSV file of published values (dataset, ranker, measure, value) to compare with", "FILE"
    ),
    "queries": Option(("--queries",), "queries, in any format that `pippin build` reads", "FILE"),
    "query_field": Option(("--query-field",), "field of a topic that is the query, such as description", "NAME"),
    "features": Option(
        ("--features",), "a set of features, or single features; `pippin features` lists them", "SET|NAMES", {},
        "features",
    ),
    "dense": Option(
        ("--dense",), "folder of a sentence-transformers model (extra `dense`), for dense features and candidates",
        "FOLDER",
    ),
    "field": Option(("--field",), "document field to search", "NAME"),
    "stem": Option(("--stem",), "stemmer: porter, english (Porter 2), another Snowball language, or none", "S"),
    "stop": Option(("--stop",), "stop words: english, none, or a file", "LIST"),
    "data": Option(("--data",), "data sets", "D", _LIST),
    "title": Option(("--title",), "title of the page", "TEXT"),
    "folder": Option(("--folder",), "folder of boards", "FOLDER"),
    "store": Option(
        ("--store",), "PostgreSQL database of accounts and submissions, such as postgresql://user@host/name (default: "
        "$PIPPIN_STORE, else a file in the folder)", "URL",
    ),
    "click_model": Option(
        ("--click-model",), "click model: pbm (position-based), cascade, dcm (dependent clicks) or trust", "NAME"
    ),
    "eta": Option(("--eta",), "for pbm and trust: rank r is examined with probability (1 / r) ** eta", "X", _NUMBER),
    "persistence": Option(("--persistence",), "for dcm: probability of continuing after a click", "P", _NUMBER),
    "trust": Option(
        ("--trust",), "for trust: probability of a click on an irrelevant document at rank 1", "P", _NUMBER
    ),
    "noise": Option(("--noise",), "probability of a click on an examined irrelevant document", "P", _NUMBER),
    "sessions": Option(("--sessions",), "sessions per query", "N", _INTEGER),
    "depth": Option(("--depth",), "number of documents per query to consider", "N", _INTEGER),
    "words": Option(("--words",), "tokens: unicode (letters and digits of all scripts) or ascii (a–z, 0–9)", "W"),
}  # fmt: skip


DEFAULT_TOOL = "(default: trec_eval9 for qrels, else official)"


def add_options(parser: argparse._ActionsContainer, *names: str, **defaults: Any) -> None:
    """Add shared options to a command: by name, or with a default."""
    for name in names:
        add_option(parser, name)
    for name, default in defaults.items():
        add_option(parser, name, default=default)


def add_option(parser: argparse._ActionsContainer, name: str, more: str = "", **changes: Any) -> argparse.Action:
    """Add one shared option; `more` follows its help, `changes` are a default, metavar or choices."""
    option = OPTIONS[name]
    settings = {**option.settings, **changes}
    if settings.get("action") != "store_true":
        settings.setdefault("metavar", option.metavar)
    help = option.help
    if "choices" in settings:
        help += f": {', '.join(settings['choices'])}"
    if more:
        help += f"{' ' if more.startswith('(') else '; '}{more}"
    default = settings.get("default")
    if default == "-":
        help += " (default: the terminal)"
    elif default is not None and default is not False and default not in ([], ""):
        help += f" (default: {','.join(default) if isinstance(default, list) else default})"
    return parser.add_argument(*option.names, help=help, **settings)


def add_output_options(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Add --format and --out to a command that prints results; `formats` extend the usual ones."""
    add_format_option(parser, "output", *formats)
    add_option(parser, "out", metavar="FILE", default="-")


def add_format_option(parser: argparse.ArgumentParser, output_option: str, *formats: str) -> None:
    """Add --format for what is written to the file that the option `output_option` names."""
    choices = (*FORMATS, *formats)
    add_option(parser, "format", "(default: by the file's extension, else table)", choices=choices)
    parser.set_defaults(output_option=output_option, formats=choices)


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return the values of a repeated NAME=VALUE option."""
    pairs = [text.partition("=") for text in texts]
    invalid = [name for name, equals, _ in pairs if not equals]
    if invalid:
        raise ConventionError(f"invalid {option} {invalid[0]!r}: write NAME=VALUE")
    return {name: value for name, _, value in pairs}


def print_warning(sentence: str) -> None:
    """Print a warning on standard error."""
    print_error(sentence, "warning")


def parse_named_files(arguments: Sequence[str], *, by_tag: bool = False) -> list[str] | dict[str, str]:
    """Return the files, or the files by name if an argument is NAME=PATH; others have the names of `name_systems`.

    >>> parse_named_files(["a.run", "b.run"]), parse_named_files(["bm25=a.run", "out/b.run"])
    (['a.run', 'b.run'], {'bm25': 'a.run', 'b.run': 'out/b.run'})
    """
    pairs = [split_named_file(argument) for argument in arguments]
    if not any(name for name, _ in pairs):
        return list(arguments)
    from pippin.evaluation.evaluate import name_systems

    own_names = iter(name_systems([path for name, path in pairs if not name], by_tag=by_tag))
    named_paths = [(name or next(own_names), path) for name, path in pairs]
    for i, (name, _) in enumerate(named_paths):
        if name in dict(named_paths[:i]):
            raise ConventionError(f"two systems have the same name, {name}")
    return dict(named_paths)


def split_named_file(argument: str) -> tuple[str, str]:
    """Split NAME=PATH; the name is empty for an existing file or a path before `=`."""
    name, equals, path = argument.partition("=")
    is_named = equals and name and path and "/" not in name and not Path(argument).exists()
    return (name, path) if is_named else ("", argument)


def require_single(values: Sequence[str] | None, flag_name: str) -> str | None:
    """Return the only value of an option that is a list in other commands."""
    if values is None:
        return None
    if len(values) != 1:
        raise ConventionError(f"{flag_name} takes one name here, got {len(values)}")
    return values[0]


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["pippin", *sys.argv[1:]])


def default_jobs() -> int:
    """Return the number of parallel jobs of a command without --jobs: one per core."""
    from pippin.system import cpu_count

    return cpu_count()


def connect_dask(
    address: str | None, jobs: int | None = None, memory: str | None = None
) -> AbstractContextManager[DaskExecutor | None]:
    """Return an executor on the Dask cluster that `--dask` names, or None without it."""
    if address is None:
        return nullcontext()
    from pippin.distributed.dask_executor import DaskExecutor
    from pippin.system import parse_size

    return DaskExecutor(address, jobs, None if memory is None else parse_size(memory))


@contextmanager
def partition_executor(address: str | None, folder: str | None = None) -> Iterator[Any]:
    """Yield an executor for partitions: on the cluster at `address`, or on this machine if `folder` has partitions."""
    from pippin.data.partitions import is_partitions

    if address is None and (folder is None or not is_partitions(folder)):
        yield None
        return
    from pippin.distributed.partitions import PartitionWorkers

    with connect_dask(address) as executor:
        yield PartitionWorkers(executor)


def parse_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of `--set NAME=VALUE …`; values are Python literals or strings."""
    from pippin.rankers.chains import parse_literal

    parameters: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise DataError(f"invalid --set {text!r}: write NAME=VALUE")
        parameters[name] = parse_literal(value)
    return parameters


def add_test_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that tests differences."""
    from pippin.evaluation.paired_tests import TESTS

    add_option(parser, "test", f"one of {', '.join(TESTS)} (see docs/compare.md)", default="t")
    add_correction_option(parser)
    add_option(parser, "alpha", default=0.05)


def add_correction_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the correction for multiple tests."""
    from pippin.evaluation.paired_tests import CORRECTIONS

    add_option(parser, "correction", f"one of {', '.join(CORRECTIONS)}", default="holm")


def parse_missing(text: str) -> Any:
    """Parse the value of `--missing`: error, drop or a number."""
    if text in ("error", "drop"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ConventionError(f"invalid --missing {text!r}: use error, drop or a number") from None


def add_axes(parser: argparse.ArgumentParser) -> None:
    """Add an option for every axis of a convention."""
    from pippin.evaluation.convention import AXES

    group = parser.add_argument_group("convention (each option changes one axis of the tool)")
    for name, axis in AXES.items():
        is_short = len(axis.placeholder) <= _MAX_METAVAR
        description = axis.description if is_short else f"{axis.description}: {', '.join(axis.values)}"
        metavar = axis.placeholder if is_short else "WHICH"
        group.add_argument(axis.flag, dest=name, metavar=metavar, help=description)


def parse_axes(options: argparse.Namespace) -> dict[str, Any]:
    """Return the axes of a convention that the options change."""
    from pippin.evaluation.convention import AXES, parse_overrides

    return parse_overrides({axis: getattr(options, axis) for axis in AXES})
