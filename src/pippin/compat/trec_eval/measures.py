"""Measures of trec_eval 9 and 10: order, parameters, nicknames and kernels; `VERSIONS` has the differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from pippin.compat.trec_eval.options import TrecError, as_double, as_long
from pippin.data.qrels import Run
from pippin.evaluation.measures.trec_eval import RECALL_LEVELS
from pippin.records import FrozenRecord

T = TypeVar("T")


def merge_sort(items: list[T], compare: Callable[[T, T], int]) -> list[T]:
    """Sort items as the GNU C library's qsort does, also by inconsistent comparisons.

    >>> merge_sort([3, 1, 2], lambda a, b: a - b), merge_sort([3, 1, 2], lambda a, b: 0)
    ([1, 2, 3], [3, 1, 2])
    """
    if len(items) < 2:
        return list(items)
    half = len(items) // 2
    first, second = merge_sort(items[:half], compare), merge_sort(items[half:], compare)
    merged: list[T] = []
    i = j = 0
    while i < len(first) and j < len(second):
        if compare(first[i], second[j]) <= 0:
            merged.append(first[i])
            i += 1
        else:
            merged.append(second[j])
            j += 1
    return merged + first[i:] + second[j:]


def compare_numbers(a: float, b: float) -> int:
    """Return -1, 0 or 1; NaN equals everything."""
    return (a > b) - (a < b)


def without_nan(run: Run, float32: bool, ids_ascending: bool = False, from_file: bool = False) -> Run:
    """Replace the scores of topics that have a NaN by scores that give the order of qsort.

    The input order of qsort is that of the file or of the document ids.
    """
    if not np.isnan(run.scores).any():
        return run
    scores = run.scores.copy()
    sign = 1 if ids_ascending else -1

    def compare(a: tuple[float, bytes, int], b: tuple[float, bytes, int]) -> int:
        return compare_numbers(b[0], a[0]) or sign * ((a[1] > b[1]) - (a[1] < b[1]))

    for first, last in zip(run.offsets[:-1].tolist(), run.offsets[1:].tolist(), strict=True):
        topic_scores = run.scores[first:last]
        if np.isnan(topic_scores).any():
            with np.errstate(over="ignore", invalid="ignore"):
                values = (topic_scores.astype(np.float32) if float32 else topic_scores).tolist()
            ids = [run.document_ids.raw(row) for row in range(first, last)]
            rows = list(zip(values, ids, range(first, last), strict=True))
            if not from_file:
                rows.sort(key=lambda row: row[1])
            for position, (_, _, row) in enumerate(merge_sort(rows, compare)):
                scores[row] = -position
    return replace(run, scores=scores)


CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

Pairs = tuple[tuple[str, float], ...]


class Entry(FrozenRecord):
    """One measure by trec_eval's name."""

    name: str
    kernel: str = ""
    parameters: str = "none"  # "cutoffs", "levels" (one value each), "numbers" or "pairs" (one value for all)
    default: tuple[float, ...] = ()
    is_integer: bool = False
    average: str = "mean"
    per_topic: bool = True
    formats: tuple[str, ...] = ("qrels",)  # formats of judgements that it can be computed from


def _count(name: str, kernel: str) -> Entry:
    return Entry(name, kernel, is_integer=True, average="sum")


def _cut(name: str, default: tuple[int, ...] = CUTOFFS) -> Entry:
    return Entry(name, f"v9_{name}", "cutoffs", default)


_PREFS = ("prefs", "qrels_prefs")
_ENTRIES = (
    Entry("runid", average="none", per_topic=False, formats=()),
    Entry("num_q", is_integer=True, average="topics", per_topic=False, formats=()),
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
        Entry(f"prefs_{name}", is_integer=name.startswith("num"), average="sum" if name.startswith("num") else "mean",
              formats=_PREFS)
        for name in ("num_prefs_poss", "num_prefs_ful", "num_prefs_ful_ret", "simp", "pair", "avgjg", "avgjg_Rnonrel",
                     "simp_ret", "pair_ret", "avgjg_ret", "avgjg_Rnonrel_ret", "simp_imp", "pair_imp", "avgjg_imp")
    ),
    Entry("map_avgjg", "v9_map", formats=("qrels_jg",)),
    Entry("P_avgjg", "v9_P", "cutoffs", CUTOFFS, formats=("qrels_jg",)),
    Entry("Rprec_mult_avgjg", "Rprec_mult_of", "levels", MULTIPLES, formats=("qrels_jg",)),
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
_SHARED_GAINS = ("dcg", "ideal_dcg", "ndcg")  # version 10 has one list of gains for the three


class Version(FrozenRecord):
    """The behaviour of one version of trec_eval."""

    number: str  # as printed by -v
    convention: str  # the tool with its convention
    unknown: frozenset[str] = frozenset()  # measures of other versions
    walks_judgements: bool = True  # stops at a judged topic without results, or adds it with -c
    gain_names: bool = True  # ignores a parameter name=gain if the name is not a number; otherwise it is label 0
    comments: bool = True  # skips lines that start with #
    shared_gains: tuple[str, ...] = _SHARED_GAINS  # measures with one list of gains
    zscores: str = "trec_eval.get_zscores"  # the function named in errors of z-score files

    def knows(self, name: str) -> bool:
        """Return whether the version has a measure of this name."""
        return name in ENTRIES and name not in self.unknown

    def nicknames(self) -> dict[str, tuple[str, ...]]:
        """Return the sets of measures by nickname."""
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
    "9.0.7", "trec_eval9", _ONLY_10, walks_judgements=False, gain_names=False, comments=False, shared_gains=(),
    zscores="trec_eval.get_prefs",
)  # fmt: skip
VERSIONS = {
    "9": _NINE,
    "9.0.8": replace(_NINE, number="9.0.8", convention="trec_eval9.0.8"),
    "10": Version("10.0-rc3", "trec_eval10"),
}


class RequestedMeasure(FrozenRecord):
    """A measure with its parameters."""

    entry: Entry
    values: tuple[float, ...]
    pairs: Pairs = ()
    text: str | None = None  # the parameters as typed

    def names(self) -> list[str]:
        """Return the printed names, one per value."""
        name = self.entry.name
        if self.entry.parameters == "cutoffs":
            return [f"{name}_{int(value)}" for value in self.values]
        if self.entry.parameters == "levels":
            return [f"{name}_{value:3.2f}"[: len(name) + 9] for value in self.values]
        return [name if self.text is None else f"{name}_{self.text}"]


class MeasureSelection(FrozenRecord):
    """The requested measures, with their parameters as typed."""

    names: tuple[str, ...]  # in the order of `ENTRIES`
    parameters: dict[str, str]

    def initialise(self, version: Version) -> list[RequestedMeasure]:
        """Parse the parameters of the measures.

        Measures with shared gains use the last gains typed, and are named after the last ones typed before them.
        """
        requested: list[RequestedMeasure] = []
        shared: RequestedMeasure | None = None
        for name in self.names:
            measure = _with_parameters(ENTRIES[name], self.parameters.get(name))
            if name in version.shared_gains:
                shared = measure if measure.text is not None or shared is None else shared
                measure = replace(measure, text=shared.text)
            requested.append(measure)
        if shared is not None:
            requested = [
                replace(w, pairs=shared.pairs) if w.entry.name in version.shared_gains else w for w in requested
            ]
        return requested


class MeasureParser:
    """Collects the measures of all -m options; the first parameters of a measure count."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self._nicknames = version.nicknames()
        self._marked: set[str] = set()
        self._parameters: dict[str, str] = {}

    def add(self, text: str) -> None:
        """Add the measures of one -m option."""
        name, dot, parameters = text.partition(".")
        if dot and not parameters:
            lines = f"trec_eval: improper measure in parameter '{name}'", f"trec_eval: illegal measure '{name}'"
            raise TrecError(1, *lines)
        if dot:
            self._parameters.setdefault(name, parameters)
        if name not in self._nicknames and not self.version.knows(name):
            raise TrecError(1, f"trec_eval: illegal measure '{name}'")
        self._marked.update(self._nicknames.get(name, (name,)))

    def done(self) -> MeasureSelection:
        """Return the collected measures, or the official ones without any -m option."""
        selection = self._marked or set(_OFFICIAL)
        return MeasureSelection(tuple(name for name in ENTRIES if name in selection), self._parameters)


def _with_parameters(entry: Entry, text: str | None) -> RequestedMeasure:
    if text is None or entry.parameters == "none":
        return RequestedMeasure(entry, entry.default or (0.0,))
    if entry.parameters == "pairs":
        return RequestedMeasure(entry, entry.default or (0.0,), _pairs(entry, text), text)
    parts = text.split(",")
    if entry.parameters == "numbers":
        return RequestedMeasure(entry, tuple(map(as_double, parts)), (), text)
    if entry.parameters == "cutoffs":
        values = merge_sort(list(map(as_long, parts)), lambda a, b: _as_int(a - b))
        if values[0] <= 0:
            raise _cannot_initialise(entry, "trec_eval: Negative cutoff detected")
        return _without_repetition(RequestedMeasure(entry, tuple(values), (), text))
    return _without_repetition(
        RequestedMeasure(entry, tuple(merge_sort(list(map(as_double, parts)), compare_numbers)), (), text)
    )


def _without_repetition(measure: RequestedMeasure) -> RequestedMeasure:
    if any(a == b for a, b in pairwise(measure.values)):
        raise _cannot_initialise(measure.entry, "trec_eval: duplicate cutoffs detected")
    return measure


def _as_int(value: int) -> int:
    """Truncate a long to an int as C does."""
    return (value + 2**31) % 2**32 - 2**31


def _pairs(entry: Entry, text: str) -> Pairs:
    """Parse pairs name=gain; as in the original, commas and equals signs must alternate and an equals sign be last."""
    last = ","
    for character in text:
        if character in ",=":
            if character == last:
                last = ","
                break
            last = character
    if last != "=":
        raise _cannot_initialise(entry, f"trec_eval: malformed pair parameters in '{text}'")
    parts = [part.partition("=") for part in text.split(",")]
    return tuple((name, as_double(value)) for name, _, value in parts)


def _cannot_initialise(entry: Entry, reason: str) -> TrecError:
    return TrecError(2, reason, f"trec_eval: Cannot initialize measure '{entry.name}'")
