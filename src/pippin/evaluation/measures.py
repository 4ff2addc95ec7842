"""The measures: what each one is, where it comes from, and how it is asked for.

A `Measure` is a value whose text is its identity (`NDCG@10`, `P(rel=2)@5`). What it measures is a `Kind` on the shelf
`KINDS`; to add one, register it here (or in a module of your own) with a function Ranking × Convention × Measure →
float64[q], NaN where it is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError
from pippin.evaluation.axis import number_text
from pippin.evaluation.convention import AXES, PARTIAL_TIES, Convention, exponential_gains
from pippin.evaluation.labels import topics
from pippin.frozen import Chosen, Frozen
from pippin.kernels import measures as kernel
from pippin.registry import Registry

if TYPE_CHECKING:
    from pippin.evaluation.ranking import Ranking

Values = NDArray[np.float64]


class Measure(Chosen):
    """A measure as asked for: its kind, cutoff, own parameters, and axes that it overrides.

    >>> Measure("P", 5, overrides=(("relevant_at", 2),)).text
    'P(rel=2)@5'
    """

    kind: str
    cutoff: int | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    overrides: tuple[tuple[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """The canonical notation, which parses back to this measure."""
        inside = [f"{name}={number_text(value)}" for name, value in self.parameters]
        for name, value in self.overrides:
            axis = AXES[name]
            inside.append(f"{(*axis.arguments, name)[0]}={axis.text(value)}")
        arguments = f"({','.join(inside)})" if inside else ""
        return f"{self.kind}{arguments}" + (f"@{self.cutoff}" if self.cutoff is not None else "")

    def __str__(self) -> str:
        return self.text

    def parameter(self, name: str) -> float:
        """The value of one of the measure's own parameters, or its default."""
        return dict(self.parameters).get(name, KINDS[self.kind].parameters.get(name, 0.0))

    def under(self, convention: Convention) -> Convention:
        """The convention with this measure's own overrides applied; a partial sort goes no deeper than the cutoff."""
        if self.overrides:
            convention = convention.replace(**dict(self.overrides))
        if convention.ties.startswith(PARTIAL_TIES) and self.cutoff and convention.cut:
            convention = convention.replace(ties_depth=max(convention.ties_depth, self.cutoff))
        return convention


Function = Callable[["Ranking", Convention, Measure], Values]


class Kind(Frozen):
    """What a measure is."""

    name: str
    meaning: str
    formula: str
    source: str
    function: Function
    axes: tuple[str, ...]  # the axes of a convention that can change it, besides those that bear on every measure
    cutoff: str = "optional"  # "optional", "required" or "never"
    parameters: dict[str, float] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    aggregate: str = "mean"  # "mean", "sum", or "geometric"
    expected: bool = True  # whether the expectation over tied documents is known in closed form
    range: tuple[float, float] = (0.0, 1.0)  # within which the value of a query lies
    better: str = "higher"  # which of two values speaks for a ranking: "higher", "lower", or "" where neither does
    grouped: bool = False  # whether it has a value where every tied document stands at the last rank of its group
    weights: Function | None = None  # what a query counts in a weighted mean; None: there is none
    whole: Callable[[Ranking, Convention, Measure, Values], float] | None = None  # where the number of a run is no mean

    def __repr__(self) -> str:
        return f"Kind({self.name!r}: {self.meaning})"

    def native(self, convention: Convention) -> Native | None:
        """The kernel that alone computes this kind under a convention; None: only `function` does."""
        if not isinstance(self.function, Native) or not self.function.computes(convention) or self.whole is not None:
            return None
        if (
            convention.ties == "grouped"
            or convention.ties.endswith("-of-all")
            or convention.queries == "relevant-or-lost"
        ):
            return None
        if any(getattr(convention, axis) != plain for axis, plain in _KNOWN.items()):
            return None
        return self.function if self.expected or convention.ties != "expected" else None

    def hears(self, axis: str) -> bool:
        """Whether an axis of a convention can change this kind."""
        return axis in self.axes or AXES[axis].everywhere


# What a training loop knows of axes that ask for more of a list than the order of its labels, or that leave out queries
# by more than their labels.
_KNOWN = {"order": "score", "own_document": "keep", "score_floor": "none", "least": 0, "all_relevant": "keep",
          "zeros": "keep"}  # fmt: skip
KINDS: Registry[Kind] = Registry("measure", "pippin.measures", Kind)
COUNT = (0.0, math.inf)  # the range of counts and of sums of gains


_REMEMBERED = 4096  # documents; the tables of longer lists are made whenever they are asked for
_PLAIN = Convention()  # what is said of an axis to kernels of kinds that cannot hear it


def register(kind: Kind) -> Kind:
    """Put a kind of measure on the shelf."""
    return KINDS.register(kind.name, kind)


def rules(ranking: Ranking, convention: Convention, measure: Measure, parameter: float = 0.0) -> kernel.Rules:
    """The tables and flags that the kernels need for this measure.

    Of axes that cannot change it, nothing is said: tools that agree on all others then share the measure's values.
    """
    kind = KINDS[measure.kind]
    depth = ranking.longest if "discount" in kind.axes else 0
    largest = (ranking.largest_label, ranking.top) if "gain" in kind.axes else None
    make = _rules if depth <= _REMEMBERED else _rules.__wrapped__
    return make(kind.name, kind.axes, convention, measure.cutoff, depth, largest, parameter)


@lru_cache(maxsize=1024)
def _rules(
    kind: str, axes: tuple[str, ...], convention: Convention, cutoff: int | None, depth: int,
    largest: tuple[int, int | None] | None, parameter: float,
) -> kernel.Rules:  # fmt: skip
    """The same for all rankings of this depth with these largest labels; None: of a kind without gains."""

    def heard(axis: str) -> Any:
        return getattr(convention if axis in axes else _PLAIN, axis)

    multipliers, divisors = convention.discounts(depth)
    return kernel.Rules(
        gains=np.zeros(1) if largest is None else convention.gains(*largest),
        multipliers=multipliers,
        divisors=divisors,
        cutoff=(cutoff or 0) if convention.cut else 0,
        relevant_at=convention.relevant_at,
        ideal_from_list=heard("ideal") == "list",
        short_is_zero=heard("short") == "zero",
        short_precision=heard("short_precision"),
        denominator=heard("ap_denominator"),
        undefined_at_cutoff=heard("ap_undefined") == "cutoff",
        recall_cut=heard("recall_cut"),
        ideal_cut=heard("ideal_cut"),
        recall_denominator=heard("recall_denominator"),
        negative_gains=convention.negative == "label" and kind in ("NDCG", "DCG", "nAUC_ndcg"),
        parameter=parameter,
    )


def compute(name: str, ranking: Ranking, ruling: kernel.Rules) -> Values:
    """Run the native measure `name` over a ranking."""
    return ranking.measured(name, ruling)


class Native(Frozen):
    """The function of a kind that is one kernel's value per query, which training can ask for in its own loops."""

    name: str  # of the kernel
    parameter: str = ""  # the measure's parameter that is the kernel's number
    numbers: tuple[str, ...] = ()  # the measure's parameters that are the kernel's list of numbers
    undefined: float = math.nan  # what counts where the kernel leaves a value undefined, before the convention is asked

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """The tables and flags that the kernel needs."""
        ruling = rules(ranking, convention, measure, measure.parameter(self.parameter) if self.parameter else 0.0)
        if not self.numbers:
            return ruling
        return replace(ruling, numbers=np.array([measure.parameter(name) for name in self.numbers], np.float64))

    def computes(self, convention: Convention) -> bool:
        """Whether the kernel alone is the measure under this convention."""
        return True

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """A value per query, NaN where it is undefined."""
        values = compute(self.name, ranking, self.rules(ranking, convention, measure))
        return values if math.isnan(self.undefined) else np.nan_to_num(values, nan=self.undefined)


class Stopping(Native):
    """Measures of a user who stops at a document with a chance of its own, whatever NDCG's gain is."""

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """The tables and flags that the kernel needs."""
        return err_rules(ranking, convention, measure, measure.parameter(self.parameter) if self.parameter else 0.0)


class _RBP(Native):
    """RBP, whose p is a probability; labels may take the place of the 1 of a relevant document."""

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """The tables and flags that the kernel needs."""
        going_on(measure)
        return super().rules(ranking, convention, measure)

    def computes(self, convention: Convention) -> bool:
        """Whether the kernel alone is the measure under this convention."""
        return convention.rbp_weight == "relevant" and convention.ties_across == "query"

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """A value per query."""
        if self.computes(convention):
            return super().__call__(ranking, convention, measure)
        if convention.ties_across == "run" and ranking.expected:
            relevant = ranking.labels >= convention.relevant_at
            worth = np.where(relevant, ranking.labels if convention.rbp_weight == "label" else 1, 0)
            return (1 - going_on(measure)) * sums(ranking, reading_weights(ranking, convention, measure) * worth)
        if convention.rbp_weight == "relevant":
            return compute(self.name, ranking, self.rules(ranking, convention, measure))
        labels = np.arange(max(ranking.largest_label, 0) + 1, dtype=np.float64)
        weights = np.where(labels >= convention.relevant_at, labels, 0.0)
        return compute("rbp_of_gains", ranking, replace(self.rules(ranking, convention, measure), gains=weights))


def going_on(measure: Measure) -> float:
    """RBP's p, if it is a probability."""
    p = measure.parameter("p")
    if not 0 <= p <= 1:
        raise ConventionError(f"{measure}: p is the probability to go on, from 0 to 1")
    return p


def reading_weights(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """p^(rank - 1) of every document down to the cutoff; documents whose ties are open share the mean of their group.

    Where a group of ties runs on into the next query of the run, by the text of their ids, all its documents share it.
    """
    sizes = ranking.sizes()
    rank = np.arange(len(ranking.labels)) - np.repeat(ranking.offsets[:-1], sizes)
    cutoff = (measure.cutoff if convention.cut else None) or len(rank)
    weights = np.where(rank < cutoff, going_on(measure) ** rank, 0.0)
    if not ranking.expected:
        return weights
    rows = np.arange(len(rank))
    first = ranking.tied == 0
    if convention.ties_across == "run":
        by_text = np.argsort(np.array(topics(ranking.query_ids, convention), object), kind="stable")
        rows = np.concatenate([np.arange(ranking.offsets[q], ranking.offsets[q + 1]) for q in by_text] or [rows])
        scores = ranking.scores[rows]
        first = np.append(True, scores[1:] != scores[:-1])[: len(rows)]
    group = np.cumsum(first)
    shared = np.empty_like(weights)
    shared[rows] = (np.bincount(group, weights[rows]) / np.maximum(np.bincount(group), 1))[group]
    return shared


def sums(ranking: Ranking, values: Values) -> Values:
    """The sum of each query's values, given one by document."""
    query = np.repeat(np.arange(len(ranking.query_ids)), ranking.sizes())
    return np.bincount(query, values, len(ranking.query_ids)).astype(np.float64)


class _Bpref(Native):
    """Bpref, with the convention's word on queries without a judged non-relevant document."""

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """The tables and flags that the kernel needs."""
        return rules(ranking, convention, measure, float(convention.bpref_alone == "zero"))


class _AP(Native):
    """AP; where it is undefined without a hit above the cutoff, some orders of tied documents are and some are not."""

    def computes(self, convention: Convention) -> bool:
        """Whether the kernel alone is the measure under this convention."""
        return convention.ap_undefined != "cutoff" or convention.ties != "expected"

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """A value per query; in the orders without a hit above the cutoff it is that of an empty query."""
        ruling = self.rules(ranking, convention, measure)
        if ranking.grouped:
            return compute("ap_grouped", ranking, ruling)
        if convention.ap_undefined != "cutoff" or not ranking.expected or not ranking.tied.any():
            return compute(self.name, ranking, ruling)
        if convention.empty is None:
            raise ConventionError(
                f"{measure} counts in some orders of tied documents only; choose another rule for ties"
            )
        values = compute(self.name, ranking, replace(ruling, undefined_at_cutoff=False))
        return values + (1 - compute("success", ranking, ruling)) * convention.empty


def err_rules(ranking: Ranking, convention: Convention, measure: Measure, parameter: float = 0.0) -> kernel.Rules:
    """The chance to stop at a document as its gain: (2^label - 1) / 2^top, or what the convention says."""
    largest = ranking.largest_label
    if convention.err_top == "gain":
        gains, top = convention.gains(largest, ranking.top), 1.0
    elif convention.err_top == "probability":
        if largest > 1:
            raise ConventionError(f"ERR takes labels as probabilities here, and label {largest} is none")
        gains, top = np.arange(max(largest, 0) + 1, dtype=np.float64), 1.0
    elif convention.err_top == "query":
        gains, top = exponential_gains(largest), 0.0
    else:
        if largest > int(convention.err_top):
            raise ConventionError(f"label {largest} is above ERR's top grade {convention.err_top}; set err_top")
        gains, top = exponential_gains(largest), 2.0 ** int(convention.err_top)
    return replace(rules(ranking, convention, measure, parameter), gains=gains, top_gain=top)


_GAIN = ("gain", "gain_at")
_JK = "Järvelin & Kekäläinen 2002"

register(Kind(
    "NDCG", "discounted gain of the list over that of the ideal list", "DCG@k / ideal DCG@k", _JK, Native("ndcg"),
    (*_GAIN, "discount", "ideal", "ideal_cut", "short", "empty", "cut"),
    aliases=("ndcg_cut", "ndcg_burges"),
))  # fmt: skip
register(Kind(
    "DCG", "discounted cumulative gain", "sum of gain(label at r) * discount(r), r = 1..k", _JK, Native("dcg"),
    (*_GAIN, "discount", "short", "cut"), aliases=("dcg_burges",), range=COUNT,
))  # fmt: skip
register(Kind(
    "MeanNDCG", "NDCG averaged over all cutoffs", "mean of NDCG@1 .. NDCG@n", "LETOR 4.0 evaluation script",
    Native("mean_ndcg"), (*_GAIN, "discount", "ideal", "empty"), cutoff="never",
))  # fmt: skip
register(Kind(
    "AP", "average precision; its mean is MAP", "sum of P@r over relevant ranks r / relevant documents",
    "Buckley & Voorhees 2000", _AP("ap"), ("relevant_at", "ap_denominator", "ap_undefined", "empty", "cut"),
    aliases=("map", "map_cut", "average_precision"), grouped=True,
))  # fmt: skip
register(Kind(
    "P", "precision: the share of relevant documents in the first k", "hits@k / k", "Salton & McGill 1983",
    Native("p"), ("relevant_at", "short_precision", "cut"), aliases=("precision", "prec", "pre", "set_P", "SetP"),
))  # fmt: skip
register(Kind(
    "Recall", "the share of the relevant documents found in the first k", "hits@k / R", "Salton & McGill 1983",
    Native("recall"), ("relevant_at", "recall_denominator", "empty", "cut", "average"),
    aliases=("R", "set_recall", "SetR", "R_cap"), weights=Native("most_hits"),
))  # fmt: skip
register(Kind(
    "Rprec", "precision at rank R, the number of relevant documents", "hits@R / R", "trec_eval",
    Native("r_precision"), ("relevant_at", "empty"), cutoff="never", aliases=("r-precision", "r-prec", "r_precision"),
))  # fmt: skip
register(Kind(
    "RR", "reciprocal rank of the first relevant document; its mean is MRR", "1 / rank of the first relevant",
    "Kantor & Voorhees 2000", Native("rr"), ("relevant_at", "cut"), aliases=("mrr", "recip_rank", "reciprocal_rank"),
))  # fmt: skip
register(Kind(
    "ERR", "expected reciprocal rank of the document at which a user stops",
    "sum of 1/r * R_r * prod_{i<r} (1 - R_i), R = (2^label - 1) / 2^top", "Chapelle, Metzler, Zhang & Grinspan 2009",
    Stopping("err"), (*_GAIN, "err_top", "cut"),
))  # fmt: skip
register(Kind(
    "RBP", "rank-biased precision of a user who goes on with probability p", "(1 - p) * sum of p^(r-1) over relevant "
    "ranks r", "Moffat & Zobel 2008", _RBP("rbp", "p"), ("relevant_at", "rbp_weight", "cut"), parameters={"p": 0.8},
))  # fmt: skip
register(Kind(
    "Bpref", "how few judged non-relevant documents stand above the relevant ones",
    "1/R * sum over relevant of 1 - min(N above, R) / min(R, N)", "Buckley & Voorhees 2004; trec_eval 9",
    _Bpref("bpref"), ("relevant_at", "bpref_alone", "empty"), cutoff="never", aliases=("bpref",),
))  # fmt: skip
register(Kind(
    "Success", "1 where a relevant document is among the first k", "hits@k > 0", "trec_eval", Native("success"),
    ("relevant_at", "cut"), aliases=("success", "hit_rate", "HitRate"),
))  # fmt: skip
register(Kind(
    "Hits", "relevant documents among the first k", "a count, averaged over queries", "ranx", Native("hits"),
    ("relevant_at", "cut"), range=COUNT,
))  # fmt: skip
register(Kind(
    "F1", "harmonic mean of precision and recall at k", "2 P R / (P + R)", "van Rijsbergen 1979", Native("f", "beta"),
    ("relevant_at", "short_precision", "empty", "cut"), parameters={"beta": 1.0}, aliases=("f", "f_measure"),
))  # fmt: skip
_counts: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("num_ret", "NumRet", "documents retrieved", ()),
    ("num_rel", "NumRel", "relevant documents among all judged", ("relevant_at",)),
    ("num_rel_ret", "NumRelRet", "relevant documents retrieved", ("relevant_at",)),
)
for _name, _alias, _meaning, _axes in _counts:
    register(Kind(
        _name, _meaning, "a count, summed over queries", "trec_eval", Native(_name), _axes, cutoff="never",
        aliases=(_alias,), aggregate="sum", range=COUNT,
    ))  # fmt: skip
