"""The measures of trec_eval 9 and 10: their order, parameters, nicknames, and the measures of Pippin they are.

A version is a row of `VERSIONS`; what it knows more than another is in the tables, not in the code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pippin.evaluation.measures import Measure
from pippin.evaluation.printers.trec.columns import TrecError
from pippin.evaluation.printers.trec.options import as_double, as_long
from pippin.evaluation.trec_measures import RECALL_LEVELS

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

Pairs = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Entry:
    """One measure by trec_eval's name."""

    name: str
    measure: Callable[[float], Measure] | None = None  # of one parameter
    parameters: str = "none"  # "cutoffs", "levels" (one value each), "numbers" or "pairs" (one value for all)
    default: tuple[float, ...] = ()
    whole: bool = False
    average: str = "mean"
    per_topic: bool = True
    gains: str = ""  # the kernel that takes gains given as pairs
    judged: tuple[str, ...] = ("qrels",)  # formats of judgements it can be computed from


def _plain(kind: str) -> Callable[[float], Measure]:
    return lambda _: Measure(kind)


def _cut(kind: str) -> Callable[[float], Measure]:
    return lambda cutoff: Measure(kind, int(cutoff))


def _level(kind: str, parameter: str) -> Callable[[float], Measure]:
    return lambda value: Measure(kind, parameters=((parameter, value),))


def _count(name: str, kind: str | None = None) -> Entry:
    return Entry(name, _plain(kind or name), whole=True, average="sum")


_PREFS = ("prefs", "qrels_prefs")
_ENTRIES = (
    Entry("runid", average="none", per_topic=False, judged=()),
    Entry("num_q", whole=True, average="topics", per_topic=False, judged=()),
    _count("num_ret"),
    _count("num_rel"),
    _count("num_rel_ret"),
    Entry("map", _plain("AP")),
    Entry("gm_map", _plain("AP"), average="geometric", per_topic=False),
    Entry("Rprec", _plain("Rprec")),
    Entry("bpref", _plain("Bpref")),
    Entry("recip_rank", _plain("RR")),
    Entry("iprec_at_recall", _level("iprec_at_recall", "recall"), "levels", RECALL_LEVELS),
    Entry("P", _cut("P"), "cutoffs", CUTOFFS),
    Entry("relstring", None, "numbers", (10.0,), average="none"),
    Entry("recall", _cut("Recall"), "cutoffs", CUTOFFS),
    Entry("infAP", _plain("infAP")),
    Entry("gm_bpref", _plain("Bpref"), average="geometric", per_topic=False),
    Entry("Rprec_mult", _level("Rprec_mult", "multiple"), "levels", MULTIPLES),
    Entry("utility", None, "numbers", (1.0, -1.0, 0.0, 0.0)),
    Entry("11pt_avg", None, "numbers", RECALL_LEVELS),
    Entry("binG", _plain("binG")),
    Entry("G", _plain("G"), "pairs", gains="G"),
    Entry("dcg", _plain("DCG"), "pairs", gains="dcg_of_gains"),
    Entry("ideal_dcg", _plain("ideal_dcg"), "pairs", gains="ideal_dcg"),
    Entry("ndcg", _plain("NDCG"), "pairs", gains="ndcg_of_gains"),
    Entry("ndcg_rel", _plain("ndcg_rel"), "pairs", gains="ndcg_rel"),
    Entry("Rndcg", _plain("Rndcg"), "pairs", gains="Rndcg"),
    Entry("ndcg_cut", _cut("NDCG"), "cutoffs", CUTOFFS),
    Entry("map_cut", _cut("AP"), "cutoffs", CUTOFFS),
    Entry("relative_P", _cut("relative_P"), "cutoffs", CUTOFFS),
    Entry("success", _cut("Success"), "cutoffs", (1, 5, 10)),
    Entry("set_P", _plain("P")),
    Entry("set_relative_P", _plain("relative_P")),
    Entry("set_recall", _plain("Recall")),
    Entry("set_map", _plain("set_map")),
    Entry("set_F", _level("set_F", "weight"), "numbers", (1.0,)),
    _count("num_nonrel_judged_ret"),
    *(
        Entry(f"prefs_{name}", whole=name.startswith("num"), average="sum" if name.startswith("num") else "mean",
              judged=_PREFS)
        for name in ("num_prefs_poss", "num_prefs_ful", "num_prefs_ful_ret", "simp", "pair", "avgjg", "avgjg_Rnonrel",
                     "simp_ret", "pair_ret", "avgjg_ret", "avgjg_Rnonrel_ret", "simp_imp", "pair_imp", "avgjg_imp")
    ),
    Entry("map_avgjg", _plain("AP"), judged=("qrels_jg",)),
    Entry("P_avgjg", _cut("P"), "cutoffs", CUTOFFS, judged=("qrels_jg",)),
    Entry("Rprec_mult_avgjg", _level("Rprec_mult", "multiple"), "levels", MULTIPLES, judged=("qrels_jg",)),
    Entry("yaap", _plain("yaap")),
    Entry("rbp", _level("rbp_graded", "p"), "pairs", (0.9,), gains="rbp_graded"),
    Entry("rbp_resid", _level("rbp_resid", "p"), "pairs", (0.9,), gains="rbp_resid"),
    Entry("unj", _cut("unj"), "cutoffs", (5, 10, 20)),
)  # fmt: skip
ENTRIES = {entry.name: entry for entry in _ENTRIES}

_OFFICIAL = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
             "iprec_at_recall", "P")  # fmt: skip
_PREFERENCES = tuple(name for name in ENTRIES if name.startswith("prefs_"))
_NOT_IN_ALL = {*_PREFERENCES, "map_avgjg", "P_avgjg", "Rprec_mult_avgjg", "yaap", "dcg", "ideal_dcg"}
_ONLY_10 = {"dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"}


@dataclass(frozen=True)
class Version:
    """What one version of trec_eval knows and does."""

    number: str
    convention: str  # the tool whose convention it follows
    unknown: frozenset[str]  # measures of other versions
    walks_judgements: bool  # goes over the judged topics and stops at one without results, or -c makes it up
    gain_names: bool  # a parameter name=gain whose name is no number is left alone instead of taken for label 0

    def knows(self, name: str) -> bool:
        """Whether a measure of that name exists."""
        return name in ENTRIES and name not in self.unknown

    def nicknames(self) -> dict[str, tuple[str, ...]]:
        """Names for sets of measures."""
        everything = tuple(name for name in ENTRIES if name not in _NOT_IN_ALL and name not in self.unknown)
        return {
            "official": _OFFICIAL,
            "set": ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall",
                    "set_relative_P", "set_map", "set_F"),
            "all_trec": everything,
            "all_prefs": ("runid", "num_q", *_PREFERENCES),
            "prefs": ("runid", "num_q", *_PREFERENCES[:6]),
            "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
        }  # fmt: skip


VERSIONS = {
    "9": Version("9.0.8", "trec_eval9", frozenset(_ONLY_10), walks_judgements=False, gain_names=False),
    "10": Version("10.0", "trec_eval10", frozenset(), walks_judgements=True, gain_names=True),
}


@dataclass(frozen=True)
class Wanted:
    """A measure with its parameters as asked for."""

    entry: Entry
    values: tuple[float, ...]
    pairs: Pairs = ()
    given: str | None = None  # the parameters as typed

    def names(self) -> list[str]:
        """The printed names, one per value."""
        name = self.entry.name
        if self.entry.parameters == "cutoffs":
            return [f"{name}_{int(value)}" for value in self.values]
        if self.entry.parameters == "levels":
            return [f"{name}_{value:3.2f}"[: len(name) + 9] for value in self.values]
        return [name if self.given is None else f"{name}_{self.given}"]


@dataclass(frozen=True)
class Marked:
    """The measures asked for by name, with their parameters as typed."""

    names: tuple[str, ...]  # in the order of the table, each once
    parameters: dict[str, str]

    def initialise(self) -> list[Wanted]:
        """The measures with their parameters read."""
        return [_with_parameters(ENTRIES[name], self.parameters.get(name)) for name in self.names]


def mark(version: Version, asked: list[str]) -> Marked:
    """Look up the measures asked for; of a measure's parameters the first ones given count."""
    marked: set[str] = set()
    parameters: dict[str, str] = {}
    nicknames = version.nicknames()
    for text in asked or ["official"]:
        name, dot, rest = text.partition(".")
        if dot and not rest:
            lines = f"trec_eval: improper measure in parameter '{name}'", f"trec_eval: illegal measure '{name}'"
            raise TrecError(1, *lines)
        if dot:
            parameters.setdefault(name, rest)
        if name not in nicknames and not version.knows(name):
            raise TrecError(1, f"trec_eval: illegal measure '{name}'")
        marked.update(nicknames.get(name, (name,)))
    return Marked(tuple(name for name in ENTRIES if name in marked), parameters)


def _with_parameters(entry: Entry, given: str | None) -> Wanted:
    if given is None or entry.parameters == "none":
        return Wanted(entry, entry.default or (0.0,))
    if entry.parameters == "pairs":
        return Wanted(entry, entry.default or (0.0,), _pairs(entry, given), given)
    if entry.parameters == "numbers":
        return Wanted(entry, tuple(as_double(part) for part in given.split(",")), (), given)
    reader: Callable[[str], float] = as_long if entry.parameters == "cutoffs" else as_double
    values = tuple(sorted(reader(part) for part in given.split(",")))
    if entry.parameters == "cutoffs" and values[0] <= 0:
        raise _cannot_initialise(entry, "trec_eval: Negative cutoff detected")
    if len(set(values)) < len(values):
        raise _cannot_initialise(entry, "trec_eval: duplicate cutoffs detected")
    return Wanted(entry, values, (), given)


def _pairs(entry: Entry, given: str) -> Pairs:
    parts = [part.partition("=") for part in given.split(",")]
    if any(not equals or "=" in value for _, equals, value in parts):
        raise _cannot_initialise(entry, f"trec_eval: malformed pair parameters in '{given}'")
    return tuple((name, as_double(value)) for name, _, value in parts)


def _cannot_initialise(entry: Entry, reason: str) -> TrecError:
    return TrecError(2, reason, f"trec_eval: Cannot initialize measure '{entry.name}'")
