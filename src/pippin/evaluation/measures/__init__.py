"""Define measures, their formulas and their notation.

A `Measure` is a value whose text is its identity (`NDCG@10`, `P(rel=2)@5`). Its formula is a `MeasureDefinition` in the
registry `MEASURE_DEFINITIONS`. To add one, register it in a module of this package or in a plugin, with a function
(Ranking, Convention, Measure) -> float64[n_queries], NaN where the measure is undefined.
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
from pippin.evaluation.convention import AXES, PARTIAL_SORT_PREFIXES, Convention, exponential_gains
from pippin.evaluation.ranking import replace_pool, topics
from pippin.kernels import measures as kernel
from pippin.records import FrozenRecord, OptionsRecord
from pippin.registry import Registry

if TYPE_CHECKING:
    from pippin.evaluation.ranking import Ranking

Values = NDArray[np.float64]


class Measure(OptionsRecord):
    """A measure with its cutoff, parameters and overridden axes.

    >>> Measure("P", 5, overrides=(("relevance_threshold", 2),)).text
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
        """Return the value of one of the measure's own parameters, or its default.

        Parameters
        ----------
        name : str
            Name of the parameter, such as "p" of RBP.
        """
        return dict(self.parameters).get(name, MEASURE_DEFINITIONS[self.kind].parameters.get(name, 0.0))

    def under(self, convention: Convention) -> Convention:
        """Apply the measure's overrides to a convention; a partial sort is at least as deep as the cutoff.

        Parameters
        ----------
        convention : Convention
            Convention of a tool.
        """
        if self.overrides:
            convention = convention.replace(**dict(self.overrides))
        if convention.ties.startswith(PARTIAL_SORT_PREFIXES) and self.cutoff and convention.apply_cutoff:
            convention = convention.replace(partial_sort_depth=max(convention.partial_sort_depth, self.cutoff))
        return convention


Function = Callable[["Ranking", Convention, Measure], Values]


class MeasureDefinition(FrozenRecord):
    """A kind of measure: its formula, source, function and the axes that it depends on."""

    name: str
    description: str
    formula: str
    source: str
    function: Function
    axes: tuple[str, ...]  # that can change it, besides the axes that affect every measure
    cutoff: str = "optional"  # "optional", "required" or "never"
    parameters: dict[str, float] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    aggregate: str = "mean"  # "mean", "sum", or "geometric"
    supports_expected_ties: bool = True  # whether the expectation over tied documents is known in closed form
    range: tuple[float, float] = (0.0, 1.0)  # of the value of a query
    better: str = "higher"  # "higher", "lower", or "" if neither is better
    supports_shared_ranks: bool = False  # whether it is defined if every tied document has the last rank of its group
    weights: Function | None = None  # of queries in a weighted mean
    # The value of a run, unless it is a mean over queries.
    run_function: Callable[[Ranking, Convention, Measure, Values], float] | None = None

    def __repr__(self) -> str:
        return f"MeasureDefinition({self.name!r}: {self.description})"

    def native(self, convention: Convention) -> KernelMeasure | None:
        """Return the kernel that computes this kind under a convention, or None if only `function` can."""
        kernel_measure = self.function
        if not isinstance(kernel_measure, KernelMeasure) or not kernel_measure.computes(convention):
            return None
        if self.run_function is not None or (convention.ties == "expected" and not self.supports_expected_ties):
            return None
        if convention.ties == "shared-rank" or convention.ties.endswith("-of-all"):
            return None
        if convention.query_selection == "relevant-or-lost":
            return None
        if any(getattr(convention, axis) != value for axis, value in _TRAINING_AXES.items()):
            return None
        return kernel_measure

    def depends_on(self, axis: str) -> bool:
        """Return whether an axis can change this kind."""
        return axis in self.axes or AXES[axis].affects_all_measures


# The only values that training supports: others need more of a list than the order of its labels, or select queries by
# more than their labels.
_TRAINING_AXES = {
    "list_order": "score", "self_retrieval": "keep", "score_floor": "none", "min_retrieved": 0,
    "all_relevant_lists": "keep", "zero_values": "keep",
}  # fmt: skip
MEASURE_DEFINITIONS: Registry[MeasureDefinition] = Registry("measure", "pippin.measures", MeasureDefinition)
COUNT = (0.0, math.inf)  # the range of counts and of sums of gains


_MAX_CACHED_DEPTH = 4096  # of discount tables, in documents
_DEFAULTS = Convention()


def register(kind: MeasureDefinition) -> MeasureDefinition:
    """Register a kind of measure."""
    return MEASURE_DEFINITIONS.register(kind.name, kind)


def rules(ranking: Ranking, convention: Convention, measure: Measure, parameter: float = 0.0) -> kernel.Rules:
    """Return the tables and flags that the kernels need for this measure.

    Axes that cannot change the measure have their default, so that tools that agree on the others share values.
    """
    kind = MEASURE_DEFINITIONS[measure.kind]
    depth = ranking.longest if "discount" in kind.axes else 0
    largest = (ranking.largest_label, ranking.max_label) if "gain" in kind.axes else None
    compute_rules = _rules if depth <= _MAX_CACHED_DEPTH else _rules.__wrapped__
    return compute_rules(kind.name, kind.axes, convention, measure.cutoff, depth, largest, parameter)


@lru_cache(maxsize=1024)
def _rules(
    kind: str, axes: tuple[str, ...], convention: Convention, cutoff: int | None, depth: int,
    largest: tuple[int, int | None] | None, parameter: float,
) -> kernel.Rules:  # fmt: skip
    """Return the rules for rankings of this depth with these largest labels; None for kinds without gains."""

    def value(axis: str) -> Any:
        return getattr(convention if axis in axes else _DEFAULTS, axis)

    multipliers, divisors = convention.discounts(depth)
    return kernel.Rules(
        gains=np.zeros(1) if largest is None else convention.gains(*largest),
        multipliers=multipliers,
        divisors=divisors,
        cutoff=(cutoff or 0) if convention.apply_cutoff else 0,
        relevance_threshold=convention.relevance_threshold,
        ideal_from_list=value("ideal_source") == "list",
        short_is_zero=value("short_lists") == "zero",
        precision_denominator=value("precision_denominator"),
        denominator=value("ap_denominator"),
        undefined_at_cutoff=value("ap_undefined") == "cutoff",
        recall_level_rounding=value("recall_level_rounding"),
        ideal_depth=value("ideal_depth"),
        recall_denominator=value("recall_denominator"),
        negative_gains=convention.negative_labels == "label" and kind in ("NDCG", "DCG", "nAUC_ndcg"),
        parameter=parameter,
    )


class KernelMeasure(FrozenRecord):
    """The function of a measure that is a native kernel; training can call it in its own loops."""

    name: str  # of the kernel
    parameter: str = ""  # name of the parameter that the kernel takes
    numbers: tuple[str, ...] = ()  # names of the parameters that the kernel takes as an array
    undefined: float = math.nan  # replaces undefined values of the kernel, before the convention does

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """Return the tables and flags that the kernel needs."""
        kernel_rules = rules(ranking, convention, measure, measure.parameter(self.parameter) if self.parameter else 0.0)
        if not self.numbers:
            return kernel_rules
        return replace(kernel_rules, numbers=np.array([measure.parameter(name) for name in self.numbers], np.float64))

    def computes(self, convention: Convention) -> bool:
        """Return whether the kernel computes the measure under this convention."""
        return True

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """Return a value per query, NaN if undefined."""
        values = ranking.compute(self.name, self.rules(ranking, convention, measure))
        return values if math.isnan(self.undefined) else np.nan_to_num(values, nan=self.undefined)


class GainMeasure(KernelMeasure):
    """A measure of gains; by the axis `negative_labels`, labels below 0 have gains, too."""

    def computes(self, convention: Convention) -> bool:
        """Return whether the kernel computes the measure under this convention."""
        return convention.negative_labels != "gain"

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """Return a value per query."""
        judged_labels = (labels[labels != kernel.UNJUDGED] for labels in (ranking.labels, ranking.pool))
        lowest = 0 if self.computes(convention) else min(int(labels.min(initial=0)) for labels in judged_labels)
        overflows = convention.gain == "exp2-int32" and ranking.largest_label > 31
        if lowest >= 0 and not (overflows and self.name == "ndcg"):
            return super().__call__(ranking, convention, measure)
        kernel_rules = self.rules(ranking, convention, measure)
        if lowest < 0:
            # Kernels take labels from 1 on as indices of the table of gains; unjudged documents rank as label 0.
            shift = np.int32(1 - lowest)
            labels = np.where(ranking.labels == kernel.UNJUDGED, 0, ranking.labels) + shift
            ranking = replace(ranking, labels=labels, pool=ranking.pool + shift)
            below = np.arange(lowest, 0, dtype=np.float64)
            below = np.exp2(below) - 1 if str(convention.gain).startswith("exp2") else below
            kernel_rules = replace(kernel_rules, gains=np.concatenate(([0.0], below, kernel_rules.gains)))
        if self.name == "ndcg":
            return _ndcg_of_any_gains(ranking, convention, kernel_rules)
        return ranking.compute(self.name, kernel_rules)


def _ndcg_of_any_gains(ranking: Ranking, convention: Convention, kernel_rules: kernel.Rules) -> Values:
    """Return NDCG with gains that may be negative or fall with the label; NaN unless the ideal DCG is above 0.

    The ideal list of `gain="exp2-int32"` is in the order of labels.
    """
    if convention.ideal_source == "list":
        ranking = replace_pool(ranking, ranking.labels, ranking.offsets)
    query = np.repeat(np.arange(len(ranking.query_ids)), np.diff(ranking.pool_offsets))
    worth = ranking.pool if convention.gain == "exp2-int32" else kernel_rules.gains[ranking.pool]
    pool = ranking.pool[np.lexsort((-worth, query))]
    cutoff = 0 if convention.ideal_depth == "none" else kernel_rules.cutoff
    depths = np.full(len(ranking.query_ids), cutoff or len(pool))
    if convention.ideal_depth == "list":
        depths = np.minimum(depths, ranking.sizes())
    within = np.arange(len(pool)) - ranking.pool_offsets[query] < depths[query]
    sizes = np.bincount(query, within, len(depths)).astype(np.int64)
    best = replace(
        ranking, labels=pool[within], offsets=np.concatenate(([0], np.cumsum(sizes))),
        tied=np.zeros(int(within.sum()), np.uint8), expected=False,
    )  # fmt: skip
    ideal = best.compute("dcg", replace(kernel_rules, cutoff=0, short_is_zero=False))
    is_short = kernel_rules.short_is_zero & (ranking.sizes() < kernel_rules.cutoff)
    values = np.divide(ranking.compute("dcg", kernel_rules), ideal, out=np.full_like(ideal, math.nan), where=ideal > 0)
    return np.where(is_short, 0.0, values)


class CascadeMeasure(KernelMeasure):
    """A cascade measure: a user stops at a document with a probability that depends on its label."""

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """Return the tables and flags that the kernel needs."""
        return err_rules(ranking, convention, measure, measure.parameter(self.parameter) if self.parameter else 0.0)


class _RBP(KernelMeasure):
    """RBP; a relevant document counts 1 or, by the axis `rbp_gain`, its label."""

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """Return the tables and flags that the kernel needs."""
        persistence(measure)
        return super().rules(ranking, convention, measure)

    def computes(self, convention: Convention) -> bool:
        """Return whether the kernel computes the measure under this convention."""
        return convention.rbp_gain == "relevant" and convention.tie_scope == "query"

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """Return a value per query."""
        if self.computes(convention):
            return super().__call__(ranking, convention, measure)
        if convention.tie_scope == "run" and ranking.expected:
            relevant = ranking.labels >= convention.relevance_threshold
            worth = np.where(relevant, ranking.labels if convention.rbp_gain == "label" else 1, 0)
            return (1 - persistence(measure)) * sums(ranking, rbp_weights(ranking, convention, measure) * worth)
        if convention.rbp_gain == "relevant":
            return ranking.compute(self.name, self.rules(ranking, convention, measure))
        labels = np.arange(max(ranking.largest_label, 0) + 1, dtype=np.float64)
        weights = np.where(labels >= convention.relevance_threshold, labels, 0.0)
        return ranking.compute("rbp_of_gains", replace(self.rules(ranking, convention, measure), gains=weights))


def persistence(measure: Measure) -> float:
    """Return RBP's p; raise ConventionError unless it is a probability."""
    p = measure.parameter("p")
    if not 0 <= p <= 1:
        raise ConventionError(f"{measure}: p is the probability to continue, from 0 to 1")
    return p


def rbp_weights(ranking: Ranking, convention: Convention, measure: Measure) -> Values:
    """Return p^(rank - 1) of every document down to the cutoff, under `ties="expected"` the mean over a group of ties.

    Under `tie_scope="run"` a group of ties continues into the next query of the run, in the order of query ids.
    """
    sizes = ranking.sizes()
    rank = np.arange(len(ranking.labels)) - np.repeat(ranking.offsets[:-1], sizes)
    cutoff = (measure.cutoff if convention.apply_cutoff else None) or len(rank)
    weights = np.where(rank < cutoff, persistence(measure) ** rank, 0.0)
    if not ranking.expected:
        return weights
    rows = np.arange(len(rank))
    first = ranking.tied == 0
    if convention.tie_scope == "run":
        by_text = np.argsort(np.array(topics(ranking.query_ids, convention), object), kind="stable")
        rows = np.concatenate([np.arange(ranking.offsets[q], ranking.offsets[q + 1]) for q in by_text] or [rows])
        scores = ranking.scores[rows]
        first = np.append(True, scores[1:] != scores[:-1])[: len(rows)]
    group = np.cumsum(first)
    shared = np.empty_like(weights)
    shared[rows] = (np.bincount(group, weights[rows]) / np.maximum(np.bincount(group), 1))[group]
    return shared


def sums(ranking: Ranking, values: Values) -> Values:
    """Return the sum over the documents of each query."""
    query = np.repeat(np.arange(len(ranking.query_ids)), ranking.sizes())
    return np.bincount(query, values, len(ranking.query_ids)).astype(np.float64)


class _Bpref(KernelMeasure):
    """Bpref; `bpref_no_nonrelevant` decides for queries without a judged non-relevant document."""

    def computes(self, convention: Convention) -> bool:
        """Return whether the kernel computes the measure under this convention."""
        return convention.bpref_no_nonrelevant != "undefined" and convention.bpref_negative_labels == "ignore"

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """Return a value per query."""
        level = convention.relevance_threshold
        if convention.bpref_negative_labels != "ignore":
            listed = level if convention.bpref_negative_labels == "hit" else 0
            is_negative = (ranking.labels < 0) & (ranking.labels != kernel.UNJUDGED)
            labels = np.where(is_negative, np.int32(listed), ranking.labels)
            ranking = replace(ranking, labels=labels, pool=np.maximum(ranking.pool, 0))
        values = super().__call__(ranking, convention, measure)
        if convention.bpref_no_nonrelevant != "undefined":
            return values
        query = np.repeat(np.arange(len(values)), np.diff(ranking.pool_offsets))
        lacks_nonrelevant = np.bincount(query, (ranking.pool >= 0) & (ranking.pool < level), len(values)) == 0
        return np.where(lacks_nonrelevant & (values > 0), np.nan, np.nan_to_num(values))

    def rules(self, ranking: Ranking, convention: Convention, measure: Measure) -> kernel.Rules:
        """Return the tables and flags that the kernel needs."""
        return rules(ranking, convention, measure, float(convention.bpref_no_nonrelevant == "zero"))


class _AP(KernelMeasure):
    """AP; without a hit above the cutoff it may be undefined, also for some orders of tied documents only."""

    def computes(self, convention: Convention) -> bool:
        """Return whether the kernel computes the measure under this convention."""
        return convention.ap_undefined != "cutoff" or convention.ties != "expected"

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """Return a value per query; orders without a hit above the cutoff count as an empty query."""
        kernel_rules = self.rules(ranking, convention, measure)
        if ranking.shares_ranks:
            return ranking.compute("ap_grouped", kernel_rules)
        if convention.ap_undefined != "cutoff" or not ranking.expected or not ranking.tied.any():
            return ranking.compute(self.name, kernel_rules)
        if convention.empty is None:
            raise ConventionError(
                f"{measure} is undefined for some orders of tied documents; choose another rule for ties"
            )
        values = ranking.compute(self.name, replace(kernel_rules, undefined_at_cutoff=False))
        return values + (1 - ranking.compute("success", kernel_rules)) * convention.empty


def err_rules(ranking: Ranking, convention: Convention, measure: Measure, parameter: float = 0.0) -> kernel.Rules:
    """Return rules whose gain is the probability to stop at a document: (2^label - 1) / 2^top, by `err_max_grade`."""
    largest = ranking.largest_label
    if convention.err_max_grade == "gain":
        gains, top = convention.gains(largest, ranking.max_label), 1.0
    elif convention.err_max_grade == "probability":
        if largest > 1:
            raise ConventionError(f"label {largest} is not a probability, which err_max_grade=probability needs")
        gains, top = np.arange(max(largest, 0) + 1, dtype=np.float64), 1.0
    elif convention.err_max_grade == "query":
        gains, top = exponential_gains(largest), 0.0
    elif convention.err_max_grade == "data":
        gains, top = exponential_gains(largest), 2.0 ** max(largest, ranking.max_label or 0)
    else:
        if largest > int(convention.err_max_grade):
            raise ConventionError(
                f"label {largest} is above ERR's top grade {convention.err_max_grade}; set err_max_grade"
            )
        gains, top = exponential_gains(largest), 2.0 ** int(convention.err_max_grade)
    return replace(rules(ranking, convention, measure, parameter), gains=gains, top_gain=top)


_GAIN = ("gain", "gain_threshold")
_JK = "Järvelin & Kekäläinen 2002"

register(MeasureDefinition(
    "NDCG", "discounted gain of the list over that of the ideal list", "DCG@k / ideal DCG@k", _JK,
    GainMeasure("ndcg"),
    (*_GAIN, "discount", "ideal_source", "ideal_depth", "short_lists", "empty", "apply_cutoff"),
    aliases=("ndcg_cut", "ndcg_burges"),
))  # fmt: skip
register(MeasureDefinition(
    "DCG", "discounted cumulative gain", "sum of gain(label at r) * discount(r), r = 1..k", _JK, GainMeasure("dcg"),
    (*_GAIN, "discount", "short_lists", "apply_cutoff"), aliases=("dcg_burges",), range=COUNT,
))  # fmt: skip
register(MeasureDefinition(
    "MeanNDCG", "NDCG averaged over all cutoffs", "mean of NDCG@1 .. NDCG@n", "LETOR 4.0 evaluation script",
    KernelMeasure("mean_ndcg"), (*_GAIN, "discount", "ideal_source", "empty"), cutoff="never",
))  # fmt: skip
register(MeasureDefinition(
    "AP", "average precision; its mean is MAP", "sum of P@r over relevant ranks r / relevant documents",
    "Buckley & Voorhees 2000", _AP("ap"), ("relevance_threshold", "ap_denominator", "ap_undefined", "empty",
    "apply_cutoff"),
    aliases=("map", "map_cut", "average_precision"), supports_shared_ranks=True,
))  # fmt: skip
register(MeasureDefinition(
    "P", "precision: the share of relevant documents in the first k", "hits@k / k", "Salton & McGill 1983",
    KernelMeasure("p"), ("relevance_threshold", "precision_denominator", "apply_cutoff"), aliases=("precision", "prec",
    "pre",
    "set_P", "SetP"),
))  # fmt: skip
register(MeasureDefinition(
    "Recall", "the share of the relevant documents found in the first k", "hits@k / R", "Salton & McGill 1983",
    KernelMeasure("recall"), ("relevance_threshold", "recall_denominator", "empty", "apply_cutoff", "averaging"),
    aliases=("R", "set_recall", "SetR", "R_cap"), weights=KernelMeasure("most_hits"),
))  # fmt: skip
register(MeasureDefinition(
    "Rprec", "precision at rank R, the number of relevant documents", "hits@R / R", "trec_eval",
    KernelMeasure("r_precision"), ("relevance_threshold", "empty"), cutoff="never", aliases=("r-precision", "r-prec",
    "r_precision"),
))  # fmt: skip
register(MeasureDefinition(
    "RR", "reciprocal rank of the first relevant document; its mean is MRR", "1 / rank of the first relevant",
    "Kantor & Voorhees 2000", KernelMeasure("rr"), ("relevance_threshold", "apply_cutoff"), aliases=("mrr",
    "recip_rank",
    "reciprocal_rank"),
))  # fmt: skip
register(MeasureDefinition(
    "ERR", "expected reciprocal rank of the document at which a user stops",
    "sum of 1/r * R_r * prod_{i<r} (1 - R_i), R = (2^label - 1) / 2^top", "Chapelle, Metzler, Zhang & Grinspan 2009",
    CascadeMeasure("err"), (*_GAIN, "err_max_grade", "apply_cutoff"),
))  # fmt: skip
register(MeasureDefinition(
    "RBP", "rank-biased precision of a user who continues with probability p", "(1 - p) * sum of p^(r-1) over relevant "
    "ranks r", "Moffat & Zobel 2008", _RBP("rbp", "p"), ("relevance_threshold", "rbp_gain", "apply_cutoff"),
    parameters={"p": 0.8},
))  # fmt: skip
register(MeasureDefinition(
    "Bpref", "how few judged non-relevant documents are above the relevant ones",
    "1/R * sum over relevant of 1 - min(N above, R) / min(R, N)", "Buckley & Voorhees 2004; trec_eval 9",
    _Bpref("bpref"),
    ("relevance_threshold", "bpref_no_nonrelevant", "bpref_negative_labels", "empty"), cutoff="never",
    aliases=("bpref",),
))  # fmt: skip
register(MeasureDefinition(
    "Success", "1 if a relevant document is among the first k", "hits@k > 0", "trec_eval", KernelMeasure("success"),
    ("relevance_threshold", "apply_cutoff"), aliases=("success", "hit_rate", "HitRate"),
))  # fmt: skip
register(MeasureDefinition(
    "Hits", "relevant documents among the first k", "a count, averaged over queries", "ranx", KernelMeasure("hits"),
    ("relevance_threshold", "apply_cutoff"), range=COUNT,
))  # fmt: skip
register(MeasureDefinition(
    "F1", "harmonic mean of precision and recall at k", "2 P R / (P + R)", "van Rijsbergen 1979", KernelMeasure("f",
    "beta"),
    ("relevance_threshold", "precision_denominator", "empty", "apply_cutoff"), parameters={"beta": 1.0}, aliases=("f",
    "f_measure"),
))  # fmt: skip
_counts: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("num_ret", "NumRet", "documents retrieved", ()),
    ("num_rel", "NumRel", "relevant documents among all judged", ("relevance_threshold",)),
    ("num_rel_ret", "NumRelRet", "relevant documents retrieved", ("relevance_threshold",)),
)
for _name, _alias, _meaning, _axes in _counts:
    register(MeasureDefinition(
        _name, _meaning, "a count, summed over queries", "trec_eval", KernelMeasure(_name), _axes, cutoff="never",
        aliases=(_alias,), aggregate="sum", range=COUNT,
    ))  # fmt: skip
