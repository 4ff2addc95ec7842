"""Define a convention: every choice on which evaluation tools differ, as a value.

The axes are independent. A tool is a named convention (`pippin.evaluation.tools`); measures and kernels see only the
tables and flags that follow from a convention. An invalid combination raises `ConventionError`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import asdict, fields, replace
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.axis import Axis, GainTable, Integer, UnitNumber, axis
from pippin.records import OptionsRecord

_LARGEST_LABEL = 1 << 20
DETERMINISTIC_TIES = ("input", "reversed", "id-descending", "id-ascending")  # independent of labels
# The order in which an unstable sort leaves equal scores.
SORT_DEPENDENT_TIES = (
    "introsort", "introsort-by-label", "introsort-relevant-first", "introsort-twice", "topk", "topk-of-all", "argsort",
    "argsort-relevant-first", "argpartition-of-all", "ipnsort",
)  # fmt: skip

AVERAGES = (
    "queries", "or-zero", "weighted", "counted", "counted-or-none", "judged", "all-or-none", "judged-or-none", "batch",
)  # fmt: skip
PARTIAL_SORT_PREFIXES = ("topk", "argpartition")  # rules that sort only the first documents


class Axes(TypedDict, total=False):
    """The axes of a `Convention` as keyword arguments, for type checkers."""

    gain: str | tuple[float, ...]
    max_valid_label: int | None
    gain_threshold: int
    negative_labels: str
    discount: str
    ideal_source: str
    ideal_depth: str
    short_lists: str
    precision_denominator: str
    empty: float | None
    query_selection: str
    min_retrieved: int
    all_relevant_lists: str
    ties: str
    partial_sort_depth: int
    tie_scope: str
    query_id_format: str
    list_order: str
    score_precision: str
    unjudged_documents: str | int
    self_retrieval: str
    score_floor: str
    relevance_rule: str
    unretrieved_relevant: str
    pool_source: str
    relevance_threshold: int
    ap_denominator: str
    ap_undefined: str
    recall_denominator: str
    recall_level_rounding: str
    err_max_grade: int | str
    cwl_quantity: str
    confidence: str
    subtopics: str
    bpref_no_nonrelevant: str
    bpref_negative_labels: str
    rbp_gain: str
    apply_cutoff: bool
    value_rounding: str | int
    zero_values: str
    averaging: str
    mean_digits: int | None
    mean_rounding: str
    printed_digits: int


class Convention(OptionsRecord):
    """A value for every axis; the defaults are the textbook definitions (`official`).

    To add an axis, add a field. :data:`pippin.evaluation.convention.AXES` lists all axes with their values.

    Examples
    --------
    >>> Convention(gain="label", empty=None)
    Convention(gain='label', empty=None)
    """

    gain: str | tuple[float, ...] = axis(
        "exp2",
        "gain",
        "the gain of a label: the label, 2^label - 1, 1 for labels with a gain, 2^(label - gain_threshold + 1) - 1, "
        "the label over the largest label of the data, 2^label - 1 in 32-bit integers, or a table",
        ("label", "exp2", "binary", "exp2-from", "share", "exp2-int32"),
        GainTable(),
        heading="gain",
    )
    max_valid_label: int | None = axis(
        None,
        "labels beyond the table",
        "labels above it count as 0, in gain and in relevance",
        {"none": None},
        Integer(),
        stage="rank",
    )
    gain_threshold: int = axis(1, "gain threshold", "labels below it gain nothing", value_type=Integer())
    negative_labels: str = axis(
        "zero",
        "labels below 0",
        "a label below 0: gains nothing, is its own gain in DCG and NDCG, has the gain of the axis gain in DCG, NDCG, "
        "AverageGain and OPA, or counts as unjudged",
        ("zero", "label", "gain", "unjudged"),
        stage="rank",
    )
    discount: str = axis(
        "log2",
        "discount",
        "1/log2(1+r), LETOR's 1, 1, 1/log2 r, 1/r, or 1/log10(1+r)",
        ("log2", "letor", "reciprocal", "log10"),
        heading="discount",
    )
    ideal_source: str = axis(
        "judged",
        "ideal",
        "the ideal ranking is made from the list or from all judged documents",
        ("list", "judged"),
        heading="ideal",
    )
    ideal_depth: str = axis(
        "cutoff",
        "depth of the ideal",
        "documents of the ideal ranking that count in NDCG@k: k, at most the length of the list, or all",
        ("cutoff", "list", "none"),
        heading="ideal cut",
    )
    short_lists: str = axis(
        "keep",
        "short lists",
        "NDCG@k and DCG@k of a list of fewer than k documents",
        ("keep", "zero"),
        heading="short list",
    )
    precision_denominator: str = axis(
        "cutoff",
        "P@k of short lists",
        "P@k of a list of n < k documents: hits/k, hits/n, or 0",
        ("cutoff", "list", "zero"),
        heading="P@k short",
    )
    empty: float | None = axis(
        0.0,
        "empty queries",
        "value of a query without a relevant document, or skip the query",
        {"skip": None},
        UnitNumber(),
        heading="empty",
    )
    query_selection: str = axis(
        "judged",
        "queries counted",
        "queries in the mean: retrieved and judged, all judged, all judged with a relevant document (or for which "
        "nothing was retrieved), all retrieved",
        ("both", "judged", "relevant", "relevant-or-lost", "run"),
        stage="rank",
        heading="queries",
    )
    min_retrieved: int = axis(
        0,
        "shortest list that counts",
        "queries with fewer retrieved documents are left out",
        value_type=Integer(placeholder="DOCUMENTS"),
        stage="rank",
    )
    all_relevant_lists: str = axis(
        "keep",
        "lists of relevant documents only",
        "keep or drop a query whose list has only relevant documents",
        ("keep", "drop"),
        stage="rank",
    )
    ties: str = axis(
        "expected",
        "ties",
        "the order of documents with equal scores; introsort: as GNU's std::sort leaves documents in input order, "
        "by label, with relevant ones first, or sorted twice; topk: as PyTorch's topk leaves the first k; "
        "topk-of-all: the first k of all documents of the data, those without a score for the query last; argsort: as "
        "NumPy's argsort leaves up to 256 documents in input order, or with relevant ones first, reversed; "
        "argpartition-of-all: as its argpartition leaves the last k of documents in the order of their first "
        "occurrence in the data; ipnsort: as Rust's unstable sort leaves them",
        (*DETERMINISTIC_TIES, "expected", "best", "worst", "shared-rank", *SORT_DEPENDENT_TIES),
        stage="rank",
        heading="ties",
    )
    partial_sort_depth: int = axis(
        0,
        "depth of a partial sort",
        "how many documents topk or argpartition selects, 0 for all; at least the cutoff of the measure; "
        "introsort: minimum length of a list, padded at its end",
        value_type=Integer(placeholder="DOCUMENTS"),
        stage="rank",
    )
    tie_scope: str = axis(
        "query",
        "scope of ties",
        "a group of tied documents ends with its query, or continues into the next query of the run (RBP, expected)",
        ("query", "run"),
        stage="rank",
    )
    query_id_format: str = axis(
        "given",
        "ids of queries",
        "query ids as given or, if all are numbers, without leading zeros",
        ("given", "numbers"),
        stage="rank",
    )
    list_order: str = axis(
        "score",
        "order of the list",
        "documents in the order of their scores, or as given",
        ("score", "given"),
        stage="rank",
    )
    score_precision: str = axis(
        "float64",
        "score precision",
        "the precision in which scores are compared",
        ("float32", "float64"),
        stage="rank",
        heading="scores",
    )
    unjudged_documents: str | int = axis(
        "zero",
        "unjudged documents",
        "an unjudged document: is not relevant, is dropped from the list (condensed), or has this label",
        ("zero", "drop"),
        Integer(),
        stage="rank",
    )
    self_retrieval: str = axis(
        "keep",
        "documents that are the query",
        "keep or drop a document with the id of the query",
        ("keep", "drop"),
        stage="rank",
    )
    score_floor: str = axis(
        "none",
        "floor of scores",
        "none; zero: a document with a score of 0 or less is not relevant; drop: one with a score below 0 is dropped",
        ("none", "zero", "drop"),
        stage="rank",
    )
    relevance_rule: str = axis(
        "fixed",
        "relevance by query",
        "labels that count as 0: none, or those below the larger of half the query's largest label and the 90th "
        "percentile of its judged labels; judged: every judged document counts as 1",
        ("fixed", "percentile", "judged"),
        stage="rank",
    )
    unretrieved_relevant: str = axis(
        "leave",
        "relevant documents that were not retrieved",
        "a relevant document that is not in the list: leave it out, or append it to lists with a relevant document",
        ("leave", "append"),
        stage="rank",
    )
    pool_source: str = axis(
        "judged",
        "judged documents that count",
        "relevant documents: all judged ones, or those that were judged and retrieved",
        ("judged", "list"),
        stage="rank",
    )
    relevance_threshold: int = axis(
        1,
        "relevance level",
        "the smallest relevant label",
        value_type=Integer(minimum=1),
        heading="relevant",
        arguments=("rel", "min_rel"),
    )
    ap_denominator: str = axis(
        "judged",
        "AP denominator",
        "AP divides by all relevant, those in the list, min(R, k), those found above the cutoff, or min(R, k, n)",
        ("judged", "list", "cutoff", "found", "shortest"),
    )
    ap_undefined: str = axis(
        "pool",
        "AP without hits above the cutoff",
        "AP is undefined without a relevant document in the pool, or above the cutoff",
        ("pool", "cutoff"),
    )
    recall_denominator: str = axis(
        "judged",
        "recall denominator",
        "recall divides by all relevant, or by min(R, k)",
        ("judged", "cutoff"),
    )
    recall_level_rounding: str = axis(
        "up",
        "rounding of recall levels",
        "number of relevant documents at recall level p: p R rounded up, or to the nearest",
        ("up", "nearest"),
    )
    err_max_grade: int | str = axis(
        "data",
        "ERR's top grade",
        "ERR's top grade: the largest label of the data or of the query, fixed, or labels or gains are probabilities",
        ("data", "query", "probability", "gain"),
        Integer(),
    )
    cwl_quantity: str = axis(
        "EU",
        "quantity of C/W/L",
        "expectation over C/W/L's users: gain per document or in total, cost per document or in total, depth, or the "
        "residual of unjudged documents",
        ("EU", "ETU", "EC", "ETC", "ED", "ResEU", "ResETU", "ResED"),
        arguments=("of",),
    )
    confidence: str = axis(
        "max",
        "confidence in a query",
        "nAUC's confidence: the largest score, the standard deviation of scores, or the first score minus the second",
        ("max", "std", "diff1"),
        stage="mean",
    )
    subtopics: str = axis(
        "given",
        "subtopics",
        "subtopics of a document: those of its judgements (or a single one), or subtopics 1 to its label",
        ("given", "labels"),
    )
    bpref_no_nonrelevant: str = axis(
        "one",
        "Bpref without non-relevant documents",
        "value of a relevant document in Bpref if no judged document is non-relevant",
        ("one", "zero", "undefined"),
    )
    bpref_negative_labels: str = axis(
        "ignore",
        "labels below 0 in Bpref",
        "a label below 0 in Bpref: is ignored, is non-relevant, or is a hit in the list and non-relevant in the pool",
        ("ignore", "nonrelevant", "hit"),
    )
    rbp_gain: str = axis(
        "relevant",
        "RBP's weights",
        "RBP counts a relevant document as 1, or as its label",
        ("relevant", "label"),
    )
    apply_cutoff: bool = axis(True, "cutoff", "whether the cutoff of the measure applies", {"yes": True, "no": False})
    value_rounding: str | int = axis(
        "float64",
        "rounding per query",
        "precision of a query's value before the mean",
        ("float64", "float32", "half-up-2"),
        Integer(placeholder="DIGITS"),
        stage="value",
    )
    zero_values: str = axis(
        "keep",
        "values of 0",
        "keep or drop values of 0",
        ("keep", "drop"),
        stage="value",
    )
    averaging: str = axis(
        "queries",
        "weights of queries",
        "queries: every query with a value once (or-zero: 0 without any); weighted: by the measure's denominator; "
        "counted: queries without a value as 0 (counted-or-none: undefined if all are 0); judged: divided by the "
        "number of judged queries; all-or-none: undefined if a query has no value (judged-or-none: or has relevant "
        "documents and is not in the run); batch: over lists that were padded to the longest before introsort",
        AVERAGES,
        stage="mean",
    )
    mean_digits: int | None = axis(
        None,
        "rounding of the mean",
        "decimals of the mean",
        {"all": None},
        Integer(placeholder="DIGITS"),
        stage="mean",
    )
    mean_rounding: str = axis(
        "decimal",
        "rounding of halves",
        "how the mean is rounded: as a decimal, or scaled by a power of ten before rounding, as NumPy does",
        ("decimal", "scaled"),
        stage="mean",
    )
    printed_digits: int = axis(
        4, "rounding", "decimals printed", value_type=Integer(placeholder="DIGITS"), stage="print"
    )

    def __post_init__(self) -> None:
        self._check(AXES)

    def _check(self, names: Iterable[str]) -> None:
        """Validate the values of these axes and store them so that conventions compare by value."""
        for name in names:
            object.__setattr__(self, name, AXES[name].check(getattr(self, name)))
        if self.ties in ("best", "worst") and isinstance(self.gain, tuple) and list(self.gain) != sorted(self.gain):
            raise ConventionError(f"ties={self.ties} needs gains that grow with the label")

    def replace(self, **changes: Any) -> Convention:
        """Return a copy with these axes changed.

        Parameters
        ----------
        **changes : object
            New values by axis.

        Examples
        --------
        >>> Convention().replace(empty=1.0).empty
        1.0
        """
        check_axes(changes)
        if not changes:
            return self
        changed = copy(self)  # only the changed axes are validated: every measure of every tool calls this
        changed.__dict__.update(changes)
        changed._check(changes)
        return changed

    def as_dict(self) -> dict[str, Any]:
        """Return axis → value, in types that JSON supports."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def differences(self, other: Convention) -> dict[str, tuple[Any, Any]]:
        """Return axis → both values, for the axes on which two conventions differ.

        Parameters
        ----------
        other : Convention
            Convention to compare with.

        Examples
        --------
        >>> Convention().differences(Convention(empty=None))
        {'empty': (0.0, None)}
        """
        pairs = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return {axis: pair for axis, pair in pairs.items() if pair[0] != pair[1]}

    def gains(self, largest: int, top: int | None = None) -> NDArray[np.float64]:
        """Return the gain of each label up to `largest`.

        Parameters
        ----------
        largest : int
            Largest label of the ranking.
        top : int, optional
            Largest label of the data, if it is larger.

        Examples
        --------
        >>> Convention(gain="exp2").gains(3).tolist()
        [0.0, 1.0, 3.0, 7.0]
        """
        if isinstance(self.gain, tuple):
            if largest >= len(self.gain):
                raise ConventionError(
                    f"label {largest} is beyond the gain table of {len(self.gain)} labels; extend the table or set "
                    "max_valid_label"
                )
            gains = np.array(self.gain[: max(largest, 0) + 1], np.float64)
        elif self.gain == "exp2":
            gains = exponential_gains(largest)
        elif self.gain == "exp2-int32":  # Java and C shift by the label modulo 32
            gains = exponential_gains(31)[np.arange(max(largest, 0) + 1) % 32]
        elif self.gain == "exp2-from":
            below = max(self.gain_threshold - 1, 0)
            gains = np.concatenate((np.zeros(below), exponential_gains(largest - below)))[: max(largest, 0) + 1]
        else:
            if largest > _LARGEST_LABEL:
                raise ConventionError(f"label {largest} is too large for a table of gains")
            gains = np.arange(max(largest, 0) + 1, dtype=np.float64)
            if self.gain == "binary":
                gains = np.minimum(gains, 1.0)
            elif self.gain == "share":
                gains /= max(largest if top is None else top, 1)
        gains[: self.gain_threshold] = 0.0
        return gains

    def discounts(self, depth: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return multipliers and divisors by position: a gain at position i counts gain * multiplier[i] / divisor[i].

        LETOR's scripts compute (gain * log 2) / log(rank) from rank 2 on, in this order of operations.

        Parameters
        ----------
        depth : int
            Number of positions.
        """
        ranks = np.arange(1, max(depth, 1) + 1, dtype=np.float64)
        ones = np.ones_like(ranks)
        if self.discount == "log2":
            return ones, np.log2(ranks + 1)
        if self.discount == "log10":
            return ones, np.log10(ranks + 1)
        if self.discount == "reciprocal":
            return ones, ranks
        multipliers = np.full_like(ranks, np.log(2.0))
        divisors = np.log(ranks)
        multipliers[0] = divisors[0] = 1.0
        return multipliers, divisors


AXES: dict[str, Axis] = {f.name: replace(f.metadata["axis"], name=f.name) for f in fields(Convention)}


_ARGUMENTS_ELSEWHERE = {"metric": "measure", "metrics": "measure", "k": "measure"}  # name in other libraries → ours


def check_axes(names: Iterable[str], function: Callable[..., Any] | None = None) -> None:
    """Raise UnknownName for a name that is neither an axis nor a parameter of `function`."""
    unknown = sorted(set(names) - set(AXES))
    if not unknown:
        return
    if function is None:
        raise UnknownName("axis", unknown[0], AXES)
    parameters = [name for name, p in inspect.signature(function).parameters.items() if p.kind != p.VAR_KEYWORD]
    likely = [name for name in parameters if name.startswith(_ARGUMENTS_ELSEWHERE.get(unknown[0], "?"))]
    raise UnknownName(f"argument of {function.__name__}", unknown[0], likely or [*parameters, *AXES])


def exponential_gains(largest: int) -> NDArray[np.float64]:
    """Return 2^label - 1 for labels 0 … largest."""
    if largest > 1000:
        raise ConventionError(f"the gain 2^{largest} is too large; use gain=label or a table")
    return np.exp2(np.arange(max(largest, 0) + 1, dtype=np.float64)) - 1.0


def changes_text(changes: Mapping[str, Any]) -> str:
    """Return axes and values as a user types them.

    >>> changes_text({"empty": None, "gain": (0.0, 1.0, 3.0)})
    'empty=skip, gain=0,1,3'
    """
    return ", ".join(f"{name}={AXES[name].text(value)}" for name, value in changes.items())


def parse_overrides(texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Parse the axes that a user set; None means not set.

    >>> parse_overrides({"empty": "skip", "gain": "0,1,3", "err_max_grade": "4", "ties": None})
    {'empty': None, 'gain': (0.0, 1.0, 3.0), 'err_max_grade': 4}
    """
    return {name: AXES[name].parse(text) for name, text in texts.items() if text is not None}
