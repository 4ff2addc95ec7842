"""The measures of trec_eval 9 and 10: their order, parameters, nicknames, and the kernels that compute them.

A version is a row of `VERSIONS`; what it knows more than another is in the tables, not in the code.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from pippin.evaluation.printers.trec.columns import TrecError
from pippin.evaluation.printers.trec.options import as_double, as_long
from pippin.evaluation.printers.trec.sorting import compare_numbers, merge_sort
from pippin.evaluation.trec_measures import RECALL_LEVELS
from pippin.frozen import Frozen

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

Pairs = tuple[tuple[str, float], ...]


class Entry(Frozen):
    """One measure by trec_eval's name."""

    name: str
    kernel: str = ""
    parameters: str = "none"  # "cutoffs", "levels" (one value each), "numbers" or "pairs" (one value for all)
    default: tuple[float, ...] = ()
    whole: bool = False
    average: str = "mean"
    per_topic: bool = True
    judged: tuple[str, ...] = ("qrels",)  # formats of judgements it can be computed from


def _count(name: str, kernel: str) -> Entry:
    return Entry(name, kernel, whole=True, average="sum")


def _cut(name: str, default: tuple[int, ...] = CUTOFFS) -> Entry:
    return Entry(name, f"v9_{name}", "cutoffs", default)


_PREFS = ("prefs", "qrels_prefs")
_ENTRIES = (
    Entry("runid", average="none", per_topic=False, judged=()),
    Entry("num_q", whole=True, average="topics", per_topic=False, judged=()),
    _count("num_ret", "num_ret"),
    _count("num_rel", "v9_num_rel"),
    _count("num_rel_ret", "v9_num_rel_ret"),
    Entry("map", "v9_map"),
    Entry("gm_map", "v9_map", average="geometric", per_topic=False),
    Entry("Rprec", "v9_Rprec"),
    Entry("bpref", "v9_bpref"),
    Entry("recip_rank", "v9_recip_rank"),
    Entry("iprec_at_recall", "iprec_of_recall", "levels", RECALL_LEVELS),
    _cut("P"),
    Entry("relstring", "", "numbers", (10.0,), average="none"),
    _cut("recall"),
    Entry("infAP", "infAP"),
    Entry("gm_bpref", "v9_bpref", average="geometric", per_topic=False),
    Entry("Rprec_mult", "Rprec_mult_of", "levels", MULTIPLES),
    Entry("utility", "utility", "numbers", (1.0, -1.0, 0.0, 0.0)),
    Entry("11pt_avg", "iprec_average", "numbers", RECALL_LEVELS),
    Entry("binG", "binG"),
    Entry("G", "G", "pairs"),
    Entry("dcg", "dcg_of_gains", "pairs"),
    Entry("ideal_dcg", "ideal_dcg", "pairs"),
    Entry("ndcg", "ndcg_of_gains", "pairs"),
    Entry("ndcg_rel", "ndcg_rel", "pairs"),
    Entry("Rndcg", "Rndcg", "pairs"),
    _cut("ndcg_cut"),
    _cut("map_cut"),
    _cut("relative_P"),
    _cut("success", (1, 5, 10)),
    Entry("set_P", "v9_set_P"),
    Entry("set_relative_P", "relative_P"),
    Entry("set_recall", "v9_set_recall"),
    Entry("set_map", "set_map"),
    Entry("set_F", "set_F", "numbers", (1.0,)),
    _count("num_nonrel_judged_ret", "num_nonrel_judged_ret"),
    *(
        Entry(f"prefs_{name}", whole=name.startswith("num"), average="sum" if name.startswith("num") else "mean",
              judged=_PREFS)
        for name in ("num_prefs_poss", "num_prefs_ful", "num_prefs_ful_ret", "simp", "pair", "avgjg", "avgjg_Rnonrel",
                     "simp_ret", "pair_ret", "avgjg_ret", "avgjg_Rnonrel_ret", "simp_imp", "pair_imp", "avgjg_imp")
    ),
    Entry("map_avgjg", "v9_map", judged=("qrels_jg",)),
    Entry("P_avgjg", "v9_P", "cutoffs", CUTOFFS, judged=("qrels_jg",)),
    Entry("Rprec_mult_avgjg", "Rprec_mult_of", "levels", MULTIPLES, judged=("qrels_jg",)),
    Entry("yaap", "yaap"),
    Entry("rbp", "rbp_graded", "pairs", (0.9,)),
    Entry("rbp_resid", "rbp_resid", "pairs", (0.9,)),
    Entry("unj", "unj", "cutoffs", (5, 10, 20)),
)  # fmt: skip
ENTRIES = {entry.name: entry for entry in _ENTRIES}

_OFFICIAL = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
             "iprec_at_recall", "P")  # fmt: skip
_PREFERENCES = tuple(name for name in ENTRIES if name.startswith("prefs_"))
_NOT_IN_ALL = {*_PREFERENCES, "map_avgjg", "P_avgjg", "Rprec_mult_avgjg", "yaap", "dcg", "ideal_dcg"}
_ONLY_10 = frozenset(("dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"))
_SHARING = ("dcg", "ideal_dcg", "ndcg")  # version 10 keeps one list of gains for the three


class Version(Frozen):
    """What one version of trec_eval knows and does."""

    number: str  # as it gives it itself
    convention: str  # the tool whose convention it follows
    unknown: frozenset[str] = frozenset()  # measures of other versions
    walks_judgements: bool = True  # goes over the judged topics and stops at one without results, or -c makes it up
    gain_names: bool = True  # a parameter name=gain whose name is no number is left alone, not taken for label 0
    comments: bool = True  # leaves out lines that start with #
    sharing: tuple[str, ...] = _SHARING  # measures with one list of gains
    zscores: str = "trec_eval.get_zscores"  # who complains that a file of z-scores cannot be read

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


_NINE = Version(
    "9.0.7", "trec_eval9", _ONLY_10, walks_judgements=False, gain_names=False, comments=False, sharing=(),
    zscores="trec_eval.get_prefs",
)  # fmt: skip
VERSIONS = {
    "9": _NINE,
    "9.0.8": replace(_NINE, number="9.0.8", convention="trec_eval9.0.8"),
    "10": Version("10.0-rc3", "trec_eval10"),
}


class Wanted(Frozen):
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


class Marked(Frozen):
    """The measures asked for by name, with their parameters as typed."""

    names: tuple[str, ...]  # in the order of the table, each once
    parameters: dict[str, str]

    def initialise(self, version: Version) -> list[Wanted]:
        """The measures with their parameters read. Measures that share their gains take the last ones given, and are
        named after those given so far.
        """
        wanted: list[Wanted] = []
        shared: Wanted | None = None
        for name in self.names:
            want = _with_parameters(ENTRIES[name], self.parameters.get(name))
            if name in version.sharing:
                shared = want if want.given is not None or shared is None else shared
                want = replace(want, given=shared.given)
            wanted.append(want)
        if shared is not None:
            wanted = [replace(w, pairs=shared.pairs) if w.entry.name in version.sharing else w for w in wanted]
        return wanted


class Marking:
    """The measures asked for so far; of a measure's parameters the first ones given count."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self._nicknames = version.nicknames()
        self._marked: set[str] = set()
        self._parameters: dict[str, str] = {}

    def add(self, text: str) -> None:
        """Mark what one -m asks for."""
        name, dot, rest = text.partition(".")
        if dot and not rest:
            lines = f"trec_eval: improper measure in parameter '{name}'", f"trec_eval: illegal measure '{name}'"
            raise TrecError(1, *lines)
        if dot:
            self._parameters.setdefault(name, rest)
        if name not in self._nicknames and not self.version.knows(name):
            raise TrecError(1, f"trec_eval: illegal measure '{name}'")
        self._marked.update(self._nicknames.get(name, (name,)))

    def done(self) -> Marked:
        """All of them, or the official ones if none was asked for."""
        marked = self._marked or set(_OFFICIAL)
        return Marked(tuple(name for name in ENTRIES if name in marked), self._parameters)


def _with_parameters(entry: Entry, given: str | None) -> Wanted:
    if given is None or entry.parameters == "none":
        return Wanted(entry, entry.default or (0.0,))
    if entry.parameters == "pairs":
        return Wanted(entry, entry.default or (0.0,), _pairs(entry, given), given)
    parts = given.split(",")
    if entry.parameters == "numbers":
        return Wanted(entry, tuple(map(as_double, parts)), (), given)
    if entry.parameters == "cutoffs":
        values = merge_sort(list(map(as_long, parts)), lambda a, b: _as_int(a - b))
        if values[0] <= 0:
            raise _cannot_initialise(entry, "trec_eval: Negative cutoff detected")
        return _without_repetition(Wanted(entry, tuple(values), (), given))
    return _without_repetition(
        Wanted(entry, tuple(merge_sort(list(map(as_double, parts)), compare_numbers)), (), given)
    )


def _without_repetition(want: Wanted) -> Wanted:
    if any(a == b for a, b in pairwise(want.values)):
        raise _cannot_initialise(want.entry, "trec_eval: duplicate cutoffs detected")
    return want


def _as_int(value: int) -> int:
    """A long that C returns as an int: its low half."""
    return (value + 2**31) % 2**32 - 2**31


def _pairs(entry: Entry, given: str) -> Pairs:
    """Pairs name=gain. As in the original a comma must be followed by an equals sign, and the text end after one."""
    last = ","
    for character in given:
        if character in ",=":
            if character == last:
                last = ","
                break
            last = character
    if last != "=":
        raise _cannot_initialise(entry, f"trec_eval: malformed pair parameters in '{given}'")
    parts = [part.partition("=") for part in given.split(",")]
    return tuple((name, as_double(value)) for name, _, value in parts)


def _cannot_initialise(entry: Entry, reason: str) -> TrecError:
    return TrecError(2, reason, f"trec_eval: Cannot initialize measure '{entry.name}'")
