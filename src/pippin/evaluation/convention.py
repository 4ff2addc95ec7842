"""A convention: the choices that make two tools give different numbers for one ranking, as a value.

Every axis is independent. A tool is a named convention (`pippin.evaluation.tools`); measures and kernels see only the
tables and flags that a convention comes down to. A combination without a meaning raises `ConventionError`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.errors import ConventionError, UnknownName
from pippin.evaluation.axis import Axis, GainTable, UnitNumber, Whole, axis
from pippin.frozen import Chosen

_LARGEST_LABEL = 1 << 20
SETTLED_TIES = ("input", "reversed", "id-descending", "id-ascending")  # whatever the labels are
# As a sort leaves them that keeps no order among equals.
UNSTABLE_TIES = (
    "introsort", "introsort-by-label", "introsort-relevant-first", "introsort-twice", "topk", "topk-of-all", "argsort",
    "argsort-relevant-first", "argpartition-of-all", "ipnsort",
)  # fmt: skip

AVERAGES = (
    "queries", "or-zero", "weighted", "counted", "counted-or-none", "judged", "all-or-none", "judged-or-none", "batch",
)  # fmt: skip
PARTIAL_TIES = ("topk", "argpartition")  # how these begin asks for no more than the first documents


class Convention(Chosen):
    """One value on every axis; the default is the textbook (`official`). To add an axis, add a field."""

    gain: str | tuple[float, ...] = axis(
        "exp2",
        "gain",
        "what a label is worth: the label, 2^label - 1, 1 where it gains at all, 2^(label - gain_at + 1) - 1, its "
        "share of the largest label of the data, or a table",
        ("label", "exp2", "binary", "exp2-from", "share"),
        GainTable(),
        heading="gain",
    )
    top_label: int | None = axis(
        None,
        "labels beyond the table",
        "labels above it count as 0, in gain and in relevance",
        {"none": None},
        Whole(),
        stage="rank",
    )
    gain_at: int = axis(1, "gain threshold", "labels below it gain nothing", free=Whole())
    negative: str = axis(
        "zero",
        "labels below 0",
        "a label below 0: gains nothing, gains what it is in DCG and NDCG, or is no judgement at all",
        ("zero", "label", "unjudged"),
        stage="rank",
    )
    discount: str = axis(
        "log2",
        "discount",
        "1/log2(1+r), LETOR's 1, 1, 1/log2 r, 1/r, or 1/log10(1+r)",
        ("log2", "letor", "reciprocal", "log10"),
        heading="discount",
    )
    ideal: str = axis(
        "judged",
        "ideal",
        "the ideal ranking is made from the list or from all judged documents",
        ("list", "judged"),
        heading="ideal",
    )
    ideal_cut: str = axis(
        "cutoff",
        "depth of the ideal",
        "how many documents of the ideal ranking count in NDCG@k: k, no more than the list has, or all",
        ("cutoff", "list", "none"),
        heading="ideal cut",
    )
    short: str = axis(
        "keep",
        "short lists",
        "NDCG@k and DCG@k of a list of fewer than k documents",
        ("keep", "zero"),
        heading="short list",
    )
    short_precision: str = axis(
        "cutoff",
        "P@k of short lists",
        "P@k of such a list: hits/k, hits/min(k, n), or 0",
        ("cutoff", "list", "zero"),
        heading="P@k short",
    )
    empty: float | None = axis(
        0.0,
        "empty queries",
        "value where nothing is relevant, or the query is left out",
        {"skip": None},
        UnitNumber(),
        heading="empty",
    )
    queries: str = axis(
        "judged",
        "queries counted",
        "which queries count: retrieved and judged, all judged, all judged with a relevant document (or for which "
        "nothing was retrieved), all retrieved",
        ("both", "judged", "relevant", "relevant-or-lost", "run"),
        stage="rank",
        heading="queries",
    )
    least: int = axis(
        0,
        "shortest list that counts",
        "queries with fewer retrieved documents are left out",
        free=Whole(placeholder="DOCUMENTS"),
        stage="rank",
    )
    all_relevant: str = axis(
        "keep",
        "lists of relevant documents alone",
        "whether a query counts whose list has no other than relevant documents",
        ("keep", "drop"),
        stage="rank",
    )
    ties: str = axis(
        "expected",
        "ties",
        "the order of documents with equal scores; introsort: as GNU's std::sort leaves documents that stand as given, "
        "by label, or relevant ones first, or as it leaves them itself; topk: as PyTorch's topk leaves the first k; "
        "topk-of-all: the first k of all documents of the data, those without a score for the query last; argsort: as "
        "NumPy's argsort leaves up to 256 documents that stand as given, or relevant ones first, backwards; "
        "argpartition-of-all: as its argpartition leaves the last k of documents that stand as they first come in the "
        "data; ipnsort: as Rust's unstable sort leaves them",
        (*SETTLED_TIES, "expected", "best", "worst", "grouped", *UNSTABLE_TIES),
        stage="rank",
        heading="ties",
    )
    ties_depth: int = axis(
        0,
        "depth of a partial sort",
        "how many documents topk or argpartition is asked for, 0 for all; a measure with a cutoff asks for no fewer; "
        "introsort: how many a list has at least, filled up at its end",
        free=Whole(placeholder="DOCUMENTS"),
        stage="rank",
    )
    ties_across: str = axis(
        "query",
        "where ties end",
        "whether a group of tied documents ends with its query, or runs on into the next of the run (RBP, expected)",
        ("query", "run"),
        stage="rank",
    )
    topic_ids: str = axis(
        "given",
        "ids of queries",
        "whether queries are called as they are, or, where all ids are numbers, without leading zeros",
        ("given", "numbers"),
        stage="rank",
    )
    order: str = axis(
        "score",
        "order of the list",
        "documents stand by score, or as they were given, whatever their scores",
        ("score", "given"),
        stage="rank",
    )
    precision: str = axis(
        "float64",
        "score precision",
        "the precision in which scores are compared",
        ("float32", "float64"),
        stage="rank",
        heading="scores",
    )
    unjudged: str | int = axis(
        "zero",
        "unjudged documents",
        "a document that nobody judged: is not relevant, is dropped from the list (condensed), or has this label",
        ("zero", "drop"),
        Whole(),
        stage="rank",
        called="unjudged_documents",
    )
    own_document: str = axis(
        "keep",
        "documents that are the query",
        "a document whose id is the query's: stays in the list, or is dropped",
        ("keep", "drop"),
        stage="rank",
    )
    score_floor: str = axis(
        "none",
        "floor of scores",
        "whether a document with a score of 0 or less counts as not relevant, or one below 0 is dropped from the list",
        ("none", "zero", "drop"),
        stage="rank",
    )
    relevance: str = axis(
        "fixed",
        "relevance by query",
        "labels that count as 0: none, or those below the larger of half the query's largest and the 90th percentile "
        "of its judged labels; or whatever was judged counts as 1",
        ("fixed", "percentile", "judged"),
        stage="rank",
    )
    missed: str = axis(
        "leave",
        "relevant documents that were missed",
        "a relevant document that the list lacks: is not in it, or stands behind it where the list has a relevant one",
        ("leave", "append"),
        stage="rank",
    )
    pool: str = axis(
        "judged",
        "documents that there are",
        "what is known to be relevant: all that was judged, or what was judged and retrieved",
        ("judged", "list"),
        stage="rank",
    )
    relevant_at: int = axis(
        1,
        "relevance level",
        "labels from here on are relevant",
        free=Whole(1),
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
        "AP is undefined without a relevant document at all, or above the cutoff",
        ("pool", "cutoff"),
    )
    recall_denominator: str = axis(
        "judged",
        "recall denominator",
        "recall divides by all relevant, or by min(R, k)",
        ("judged", "cutoff"),
    )
    recall_cut: str = axis(
        "up",
        "rounding of recall levels",
        "how many relevant documents a recall level p stands for: p R rounded up, or to the nearest",
        ("up", "nearest"),
    )
    err_top: int | str = axis(
        4,
        "ERR's top grade",
        "ERR's top grade: fixed, the query's own, or labels are probabilities, or gains are",
        ("query", "probability", "gain"),
        Whole(),
    )
    expectation: str = axis(
        "EU",
        "what a user expects",
        "of C/W/L's users: gain per document or in all, cost in both ways, depth, or what unjudged documents could add",
        ("EU", "ETU", "EC", "ETC", "ED", "ResEU", "ResETU", "ResED"),
        arguments=("of",),
    )
    confidence: str = axis(
        "max",
        "confidence in a query",
        "nAUC's confidence: the largest score, the standard deviation of scores, or the first less the second",
        ("max", "std", "diff1"),
        stage="mean",
    )
    subtopics: str = axis(
        "given",
        "subtopics",
        "what a document is relevant to: the subtopics of its judgements (or the one), or subtopics 1 to its label",
        ("given", "labels"),
    )
    bpref_alone: str = axis(
        "one",
        "Bpref without non-relevant documents",
        "what a relevant document counts in Bpref where nobody judged a non-relevant one",
        ("one", "zero"),
    )
    rbp_weight: str = axis(
        "relevant",
        "RBP's weights",
        "RBP counts a relevant document as 1, or as its label",
        ("relevant", "label"),
    )
    cut: bool = axis(True, "cutoff", "whether the cutoff cuts the measure at all", {"yes": True, "no": False})
    held: str | int = axis(
        "float64",
        "rounding per query",
        "what a query's value is held in before the mean",
        ("float64", "float32", "half-up-2"),
        Whole(placeholder="DIGITS"),
        stage="value",
    )
    zeros: str = axis(
        "keep",
        "values of 0",
        "whether a value of 0 is one, or no value at all",
        ("keep", "drop"),
        stage="value",
    )
    average: str = axis(
        "queries",
        "weights of queries",
        "a mean counts every query with a value once (or is 0 without any), by what the measure divides it by, queries "
        "without a value as 0 (or is none where all are 0), divides by the number of judged queries, or is none where "
        "a query has none (or was judged relevant documents and is not in the run); batch: of lists that introsort "
        "sorted once each was filled up to the longest",
        AVERAGES,
        stage="mean",
    )
    mean_digits: int | None = axis(
        None,
        "rounding of the mean",
        "decimals to which a mean is rounded",
        {"all": None},
        Whole(placeholder="DIGITS"),
        stage="mean",
    )
    mean_rounding: str = axis(
        "decimal",
        "rounding of halves",
        "a mean that is rounded goes up or down as the decimal that it is, or, as NumPy does it, once it was "
        "multiplied by a power of ten",
        ("decimal", "scaled"),
        stage="mean",
    )
    digits: int = axis(4, "rounding", "decimals printed", free=Whole(placeholder="DIGITS"), stage="print")

    def __post_init__(self) -> None:
        self._check(AXES)

    def _check(self, names: Iterable[str]) -> None:
        """Bring the values of these axes into the form in which conventions compare by value, or say what is wrong."""
        for name in names:
            object.__setattr__(self, name, AXES[name].check(getattr(self, name)))
        if self.ties in ("best", "worst") and isinstance(self.gain, tuple) and list(self.gain) != sorted(self.gain):
            raise ConventionError(f"ties={self.ties} needs gains that grow with the label")

    def replace(self, **changes: Any) -> Convention:
        """The same convention with these axes changed.

        >>> Convention().replace(empty=1.0).empty
        1.0
        """
        check_axes(changes)
        if not changes:
            return self
        changed = copy(self)  # what is unchanged was checked: a tool asks this for every measure
        changed.__dict__.update(changes)
        changed._check(changes)
        return changed

    def as_dict(self) -> dict[str, Any]:
        """Every axis with its value, as JSON can hold it."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def differences(self, other: Convention) -> dict[str, tuple[Any, Any]]:
        """Axes on which two conventions differ, with both values.

        >>> Convention().differences(Convention(empty=None))
        {'empty': (0.0, None)}
        """
        pairs = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return {axis: pair for axis, pair in pairs.items() if pair[0] != pair[1]}

    def gains(self, largest: int, top: int | None = None) -> NDArray[np.float64]:
        """Gain by label, up to the largest label of a ranking; `top` is that of all the data, where it is more.

        >>> Convention(gain="exp2").gains(3).tolist()
        [0.0, 1.0, 3.0, 7.0]
        """
        if isinstance(self.gain, tuple):
            if largest >= len(self.gain):
                raise ConventionError(
                    f"label {largest} is beyond the gain table of {len(self.gain)} labels; top_label says from "
                    "which label on nothing is gained"
                )
            gains = np.array(self.gain[: max(largest, 0) + 1], np.float64)
        elif self.gain == "exp2":
            gains = exponential_gains(largest)
        elif self.gain == "exp2-from":
            below = max(self.gain_at - 1, 0)
            gains = np.concatenate((np.zeros(below), exponential_gains(largest - below)))[: max(largest, 0) + 1]
        else:
            if largest > _LARGEST_LABEL:
                raise ConventionError(f"label {largest} is too large for a table of gains")
            gains = np.arange(max(largest, 0) + 1, dtype=np.float64)
            if self.gain == "binary":
                gains = np.minimum(gains, 1.0)
            elif self.gain == "share":
                gains /= max(largest if top is None else top, 1)
        gains[: self.gain_at] = 0.0
        return gains

    def discounts(self, depth: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Multipliers and divisors by position: a gain at position i counts gain * multiplier[i] / divisor[i].

        LETOR's scripts compute (gain * log 2) / log(rank) from rank 2 on, in this order of operations.
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


_CALLED = {"metric": "measure", "metrics": "measure", "k": "measure"}  # elsewhere


def check_axes(given: Iterable[str], function: Callable[..., Any] | None = None) -> None:
    """Say which name is no axis, nor an argument of the function that takes axes among its own."""
    unknown = sorted(set(given) - set(AXES))
    if not unknown:
        return
    if function is None:
        raise UnknownName("axis", unknown[0], AXES)
    own = [name for name, one in inspect.signature(function).parameters.items() if one.kind != one.VAR_KEYWORD]
    named = [name for name in own if name.startswith(_CALLED.get(unknown[0], "?"))]
    raise UnknownName(f"argument of {function.__name__}", unknown[0], named or [*own, *AXES])


def exponential_gains(largest: int) -> NDArray[np.float64]:
    """2^label - 1 for labels 0 … largest."""
    if largest > 1000:
        raise ConventionError(f"2^{largest} is no gain; use gain=label or a table")
    return np.exp2(np.arange(max(largest, 0) + 1, dtype=np.float64)) - 1.0


def changes_text(changes: Mapping[str, Any]) -> str:
    """Axes with other values, as they are typed.

    >>> changes_text({"empty": None, "gain": (0.0, 1.0, 3.0)})
    'empty=skip, gain=0,1,3'
    """
    return ", ".join(f"{name}={AXES[name].text(value)}" for name, value in changes.items())


def parse_overrides(given: Mapping[str, str | None]) -> dict[str, Any]:
    """Axes that a user set, parsed; None means not set.

    >>> parse_overrides({"empty": "skip", "gain": "0,1,3", "err_top": "4", "ties": None})
    {'empty': None, 'gain': (0.0, 1.0, 3.0), 'err_top': 4}
    """
    return {name: AXES[name].parse(text) for name, text in given.items() if text is not None}
