"""One ranked query under one convention, with the quantities that measure definitions use.

A list is the labels of one query in rank order, None where nobody judged the document; `judged` are all labels of the
query. A label below 0 is a judgement that says nothing about relevance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pippin.evaluation.convention import Convention

Label = int | None
UNDEFINED = math.nan


class Query:
    """A list of labels with its pool and the rules in force; ranks count from 1."""

    def __init__(
        self, ranked: Sequence[Label], judged: Sequence[int], convention: Convention, cutoff: int | None = None,
        top: int | None = None,
    ) -> None:  # fmt: skip
        self.convention = convention
        self.ranked = [_cap_label(label, convention) for label in ranked]
        self.judged = [label for x in judged if (label := _cap_label(x, convention)) is not None]
        self.top = max([0, *judged]) if top is None else top
        self._settle()
        ranked = self.ranked
        self.asked = cutoff  # whatever the convention says of cutoffs
        self.cutoff = cutoff if convention.apply_cutoff else None
        self.n = len(ranked)
        self.depth = self.n if self.cutoff is None else min(self.cutoff, self.n)

    def _settle(self) -> None:
        """Apply the convention's rules for negative labels, unjudged documents and relevance levels."""
        if self.convention.negative_labels == "unjudged":
            self.ranked = [None if label is not None and label < 0 else label for label in self.ranked]
            self.judged = [label for label in self.judged if label >= 0]
        if self.convention.unjudged_documents == "drop":
            self.ranked = [label for label in self.ranked if label is not None]
        if self.convention.relevance_rule == "judged":
            self.ranked = [None if label is None else 1 for label in self.ranked]
            self.judged = [1 for _ in self.judged]
        if self.convention.unretrieved_relevant == "append" and self.found_relevant:
            lacking = sorted(filter(self.relevant, self.judged), reverse=True)
            for label in filter(self.relevant, self.ranked):
                if label in lacking:
                    lacking.remove(label)
            self.ranked = [*self.ranked, *lacking]
        if self.convention.pool_source == "list":
            self.judged = [label for label in self.ranked if label is not None]
        if isinstance(self.convention.unjudged_documents, int):
            self.ranked = [self.convention.unjudged_documents if label is None else label for label in self.ranked]
        if self.convention.relevance_rule == "percentile" and self.judged:
            ordered = sorted(self.judged)
            least = max(ordered[-1] / 2, ordered[math.ceil(0.9 * len(ordered)) - 1])
            self.ranked = [label if label is None or label >= least else min(label, 0) for label in self.ranked]
            self.judged = [label if label >= least else min(label, 0) for label in self.judged]

    def relevant(self, label: Label) -> bool:
        return label is not None and label >= self.convention.relevance_threshold

    def nonrelevant(self, label: Label) -> bool:
        """Judged, and not relevant."""
        return label is not None and 0 <= label < self.convention.relevance_threshold

    @property
    def all_relevant(self) -> int:
        """R: relevant documents among all judged."""
        return sum(self.relevant(label) for label in self.judged)

    @property
    def found_relevant(self) -> int:
        """Relevant documents anywhere in the list."""
        return sum(self.relevant(label) for label in self.ranked)

    @property
    def relevant_ranks(self) -> list[int]:
        """Ranks of the relevant documents in the list."""
        return [r for r, label in enumerate(self.ranked, 1) if self.relevant(label)]

    def hits(self, k: int | None = None) -> int:
        """Relevant documents among the first k."""
        return sum(self.relevant(label) for label in self.ranked[: self.depth if k is None else k])

    @property
    def short(self) -> bool:
        return self.cutoff is not None and self.n < self.cutoff

    def gain(self, label: Label) -> float:
        """Return the gain of a label."""
        convention = self.convention
        if label is None or label <= 0 or label < convention.gain_threshold:
            return 0.0
        if convention.gain == "label":
            return float(label)
        if convention.gain == "binary":
            return 1.0
        if convention.gain == "share":
            return label / max(self.top, 1)
        if convention.gain == "exp2-from":
            return float(2 ** (label - max(convention.gain_threshold, 1) + 1) - 1)
        if convention.gain == "exp2-int32":
            label %= 32
        return float(2**label - 1) if str(convention.gain).startswith("exp2") else float(convention.gain[label])

    def signed_gain(self, label: Label) -> float:
        """Return the gain in DCG and NDCG, where negative labels may have negative gains."""
        if label is not None and label < 0 and self.convention.negative_labels != "zero":
            exponential = self.convention.negative_labels == "gain" and str(self.convention.gain).startswith("exp2")
            return 2**label - 1 if exponential else float(label)
        return self.gain(label)

    @property
    def gains(self) -> list[float]:
        """Gains in rank order."""
        return [self.gain(label) for label in self.ranked]

    @property
    def best_gains(self) -> list[float]:
        """Gains above 0 of all judged documents, highest first."""
        return sorted((g for g in map(self.gain, self.judged) if g > 0), reverse=True)


def _cap_label(label: Label, convention: Convention) -> Label:
    if label is None or convention.max_valid_label is None or label <= convention.max_valid_label:
        return label
    return 0


@dataclass(frozen=True)
class Twin:
    """A definition, and values of the measure's own parameters that are worth trying."""

    define: Callable[..., float]
    tried: tuple[dict[str, float], ...] = ()


TWINS: dict[str, Twin] = {}


def twin(name: str, *tried: dict[str, float]) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register the definition of the kind of that name: a function of a Query and the measure's own parameters."""

    def register(define: Callable[..., float]) -> Callable[..., float]:
        assert name not in TWINS, f"{name} has two twins"
        TWINS[name] = Twin(define, tried)
        return define

    return register


def value(
    kind: str, ranked: Sequence[Label], judged: Sequence[int], convention: Convention, cutoff: int | None = None,
    top: int | None = None, **parameters: float,
) -> float:  # fmt: skip
    """Return a measure's value for one query as it counts in the mean; NaN if the query is skipped."""
    query = Query(ranked, judged, convention, cutoff, top)
    knows = convention.negative_labels == "label" and kind in ("NDCG", "nAUC_ndcg")  # undefined where gains add up to 0
    knows |= convention.bpref_no_nonrelevant == "undefined" and kind == "Bpref"
    if (
        (convention.empty is None and not knows) or convention.query_selection == "relevant"
    ) and not query.all_relevant:
        return math.nan
    if query.n < convention.min_retrieved:
        return math.nan
    if convention.all_relevant_lists == "drop" and 0 < query.n == query.found_relevant:
        return math.nan
    if convention.query_selection == "relevant-or-lost" and not query.all_relevant and query.n:
        return math.nan
    result: Any = TWINS[kind].define(query, **parameters)
    if math.isnan(result):
        result = math.nan if convention.empty is None else convention.empty
    if convention.zero_values == "drop" and _round_value(result, convention) == 0:
        return math.nan
    return _round_value(result, convention)


def _round_value(value: float, convention: Convention) -> float:
    """Round a value as the convention does."""
    if math.isnan(value):
        return value
    if convention.value_rounding == "half-up-2":
        return math.floor(value * 100 + 0.5) / 100
    if convention.value_rounding == "float32":
        return float(np.float32(value))
    return float(value) if convention.value_rounding == "float64" else float(f"{value:.{convention.value_rounding}f}")
