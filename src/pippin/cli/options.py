"""The grammar of all commands: a flag that several of them take is declared here, with one name, meaning and help.

`shared(parser, "measure", "tool", out="results")` puts flags on a command; what follows the equals sign is the default.
A spelling of the last version goes on working through `old`, with a hint on standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from pippin.cli.output import complain
from pippin.errors import ConventionError
from pippin.frozen import Frozen
from pippin.registry import between_commas
from pippin.tables import FORMATS


class Several(argparse.Action):
    """Names, by repeating the flag or joined by commas; the first one given takes the place of the default."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Add what was given."""
        had = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*(had if had is not self.default and had else []), *between_commas(values)])


class _Renamed(argparse.Action):
    """What has another name now, which is told once however often it is given."""

    def __init__(self, *, called: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.called, self.told = called, False

    def tell(self, option_string: str | None) -> None:
        """Say what it is called now."""
        if not self.told:
            hint(f"{option_string} is now {self.called}; the old spelling goes with the next version")
        self.told = True


class Old(_Renamed):
    """A spelling of the last version: does what the new one does, and says what that is called."""

    def __init__(self, *, new: argparse.Action, **settings: Any) -> None:
        super().__init__(**settings)
        self.new = new

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Give the hint, and hand over."""
        self.tell(option_string)
        self.new.required = False
        self.new(parser, namespace, values, option_string)


class Former(_Renamed):
    """A flag of the last version that the command itself still understands: a value, or nothing (stored as True)."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Give the hint, and keep the value."""
        self.tell(option_string)
        setattr(namespace, self.dest, True if self.nargs == 0 else values)


class Flag(Frozen):
    """A flag that commands share."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    shelf: str = ""  # whose names complete it


_ONE_OR_MORE = "repeat it, or join several by commas"
FLAGS = {
    "measure": Flag(("-m", "--measure"), f"a measure such as NDCG@10, MAP, P(rel=2)@5: {_ONE_OR_MORE}; `pippin "
                    "measures` lists them", "M", {"action": Several}, "measures"),
    "tool": Flag(("-t", "--tool"), f"an evaluation tool, a group, or all: {_ONE_OR_MORE}; `pippin tools` lists them",
                 "T", {"action": Several}, "tools"),
    "ranker": Flag(("-r", "--ranker"), f"a ranker: {_ONE_OR_MORE}; `pippin rankers` lists them", "R",
                   {"action": Several}, "rankers"),
    "convention": Flag(("--convention",), "the tool whose convention training looks at", "T", {"action": Several},
                       "tools"),
    "format": Flag(("-f", "--format"), "how results are printed", "FORM", {"choices": FORMATS}),
    "to": Flag(("--to",), "the form to write", "FORM"),
    "out": Flag(("-o", "--out"), "where to write", "PATH", {"dest": "output"}),
    "quiet": Flag(("-q", "--quiet"), "no progress", None, {"action": "store_true"}),
    "per_query": Flag(("--per-query",), "a row per query", None, {"action": "store_true"}),
    "reader": Flag(("--reader",), "the form of the input (default: found out)", "FORM"),
    "streams": Flag(("--streams",), f"which fields of the documents are streams (default: all texts): {_ONE_OR_MORE}",
                    "NAME", {"action": Several}),
    "repeated": Flag(("--repeated",), "documents whose id comes twice: stop, or keep the first of them", "WHICH",
                     {"choices": ("refuse", "first")}),
    "merge_queries": Flag(("--merge-queries",), "join a query whose rows are not together", None,
                          {"action": "store_true"}),
    "absent": Flag(("--absent",), "what a feature that a LETOR line leaves out is", "VALUE",
                   {"choices": ("zero", "null")}),
    "relations": Flag(("--relations",), "how alike documents are, such as similarity.txt of a built data set", "FILE"),
    "dask": Flag(("--dask",), "work on a Dask cluster: a scheduler's address, or `local`", "ADDRESS"),
    "jobs": Flag(("--jobs",), "how many cells at a time (default: one per core)", "N", {"type": int}),
    "memory": Flag(("--memory",), "how much memory may be used, such as 512M or 8G", "SIZE"),
    "folds": Flag(("--folds",), "how many folds are made", "N", {"type": int}),
    "sample": Flag(("--sample",), "how many documents per query are taken from a collection", "N", {"type": int}),
    "seed": Flag(("--seed",), "where random numbers start", "N", {"type": int}),
    "seeds": Flag(("--seeds",), "with how many seeds", "N", {"type": int}),
    "samples": Flag(("--samples",), "how many samples resampling draws", "N", {"type": int}),
    "select": Flag(("--select",), "choose hyper-parameters by this measure on the validation set", "M", {}, "measures"),
    "set": Flag(("--set",), "fix a parameter of a ranker", "[RANKER.]NAME=VALUE", {"action": "append"}),
    "quick": Flag(("--quick",), "small grids and few rounds, for a first look", None, {"action": "store_true"}),
    "sizes": Flag(("--sizes",), "the numbers to try, joined by commas", "N,N"),
    "report": Flag(("--report",), "write what came out here instead of to the terminal", "FILE"),
    "top": Flag(("-n", "--top"), "how many are shown", "N", {"type": int}),
    "test": Flag(("--test",), "the test of significance: NAME as in docs/compare.md", "NAME", {}, "tests"),
    "correct": Flag(("--correct",), "the correction for many tests", "NAME", {}, "corrections"),
    "alpha": Flag(("--alpha",), "the level of significance", "P", {"type": float}),
    "published": Flag(("--published",), "CSV with dataset, ranker, measure, value to set beside", "FILE"),
    "topics": Flag(("--topics",), "the queries, in any form that `pippin build` reads", "FILE"),
    "field": Flag(("--field",), "which field of the topics is searched, e.g. description", "NAME"),
    "features": Flag(("--features",), "a set of features, or features one by one; `pippin features` lists them",
                     "SET|NAMES", {}, "features"),
    "dense": Flag(("--dense",), "the folder of a sentence-transformers model (extra `dense`): features of meaning, and "
                  "the nearest documents beside BM25's best", "FOLDER"),
    "in": Flag(("--in",), "the stream of the documents to look in", "STREAM", {"dest": "stream"}),
    "stem": Flag(("--stem",), "porter, english (Porter's second), another Snowball language, or none", "S"),
    "stop": Flag(("--stop",), "stop words: english, none, or a file of words", "LIST"),
    "data": Flag(("--data",), f"which data: {_ONE_OR_MORE}", "D", {"action": Several}),
    "title": Flag(("--title",), "what the page is called", "TEXT"),
    "folder": Flag(("--folder",), "where boards are", "FOLDER"),
    "store": Flag(("--store",), "keep accounts and submissions in PostgreSQL, such as postgresql://user@host/name (or "
                  "PIPPIN_STORE)", "URL"),
    "people": Flag(("--people",), "how people click: pbm (by position), cascade, dcm (dependent clicks), trust",
                   "NAME"),
    "eta": Flag(("--eta",), "of pbm and trust: a rank is looked at by (1 / rank) ** eta", "X", {"type": float}),
    "persistence": Flag(("--persistence",), "of dcm: the chance to read on after a click", "P", {"type": float}),
    "trust": Flag(("--trust",), "of trust: the chance to click on something bad because it stands first", "P",
                  {"type": float}),
    "noise": Flag(("--noise",), "the chance of a click on a document without any relevance that is looked at", "P",
                  {"type": float}),
    "sessions": Flag(("--sessions",), "how often each query is asked", "N", {"type": int}),
    "shown": Flag(("--shown",), "how many documents are shown", "N", {"type": int, "dest": "depth"}),
    "words": Flag(("--words",), "unicode: letters and digits of all scripts; ascii: a–z and 0–9", "W"),
}  # fmt: skip


def shared(parser: argparse._ActionsContainer, *names: str, **defaults: Any) -> None:
    """Put shared flags on a command: by name, or with their defaults.

    A default stands in the help; None and an empty one do not.
    """
    for name in names:
        flag(parser, name)
    for name, default in defaults.items():
        flag(parser, name, default=default)


def flag(parser: argparse._ActionsContainer, name: str, more: str = "", **changes: Any) -> argparse.Action:
    """Put one shared flag on a command; `more` follows its help, `changes` are a default, metavar or choices."""
    declared = FLAGS[name]
    settings = {**declared.settings, **changes}
    if settings.get("action") != "store_true":
        settings.setdefault("metavar", declared.metavar)
    words = declared.help + _choices(settings) + (f"{' ' if more.startswith('(') else '; '}{more}" if more else "")
    words += _default(settings.get("default"))
    return parser.add_argument(*declared.names, help=words, **settings)


def _choices(settings: dict[str, Any]) -> str:
    return f": {', '.join(settings['choices'])}" if "choices" in settings else ""


def _default(value: Any) -> str:
    if value is None or value is False or value in ([], ""):
        return ""
    if value == "-":
        return " (default: to the terminal)"
    return f" (default: {','.join(value) if isinstance(value, list) else value})"


def printing(parser: argparse.ArgumentParser, *others: str) -> None:
    """The two flags of every command that prints results and nothing else: in which form, and where to."""
    form_flag(parser, "output", *others)
    flag(parser, "out", metavar="FILE", default="-")
    old(parser, "--output", "--out")


def form_flag(parser: argparse.ArgumentParser, prints_to: str, *others: str) -> None:
    """The form of what goes to the file that the option `prints_to` names."""
    forms = (*FORMATS, *others)
    flag(parser, "format", "(default: what the ending of the file says, else table)", choices=forms)
    parser.set_defaults(prints_to=prints_to, forms=forms)


def old(parser: argparse.ArgumentParser, spelling: str, new: str, called: str | None = None) -> None:
    """Let a spelling of the last version do what the flag `new` does."""
    action = parser._option_string_actions[new]
    settings: dict[str, Any] = {"nargs": action.nargs, "type": action.type, "choices": action.choices}
    parser.add_argument(
        spelling, action=Old, new=action, called=called or new, help=argparse.SUPPRESS, dest=action.dest,
        default=argparse.SUPPRESS, **settings,
    )  # fmt: skip


def hint(sentence: str) -> None:
    """Say something that a user should know, but that stops nothing."""
    complain(sentence, "warning")


def only(values: Sequence[str] | None, flag_name: str) -> str | None:
    """The one value of a flag that can have several, where this command takes one."""
    if values is None:
        return None
    if len(values) != 1:
        raise ConventionError(f"{flag_name} takes one name here, not {len(values)}")
    return values[0]
