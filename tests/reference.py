"""Slow truths: what each measure, rule for ties and kernel is by definition, in plain Python.

Written from the definitions and from what the original tools were seen to do, not from the code under test. A list is
the labels of one query in rank order, None where nobody judged the document; `judged` are all labels of the query.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.evaluation.convention import Convention

Label = int | None
UNDEFINED = math.nan


class Query:
    """One query's list under one convention, with everything the definitions speak of."""

    def __init__(
        self, ranked: Sequence[Label], judged: Sequence[int], convention: Convention, cutoff: int | None = None
    ) -> None:
        self.convention = convention
        self.ranked = [_capped(label, convention) for label in ranked]
        self.judged = [label for x in judged if (label := _capped(x, convention)) is not None]
        self.cutoff = cutoff if convention.cut else None
        self.n = len(ranked)
        self.depth = self.n if self.cutoff is None else min(self.cutoff, self.n)

    def relevant(self, label: Label) -> bool:
        return label is not None and label >= self.convention.relevant_at

    @property
    def all_relevant(self) -> int:
        """R: relevant documents among all judged."""
        return sum(self.relevant(label) for label in self.judged)

    @property
    def found_relevant(self) -> int:
        """Relevant documents anywhere in the list."""
        return sum(self.relevant(label) for label in self.ranked)

    def hits(self, k: int | None = None) -> int:
        """Relevant documents among the first k."""
        return sum(self.relevant(label) for label in self.ranked[: self.depth if k is None else k])

    @property
    def short(self) -> bool:
        return self.cutoff is not None and self.n < self.cutoff


def _capped(label: Label, convention: Convention) -> Label:
    if label is None or convention.top_label is None or label <= convention.top_label:
        return label
    return 0


def gain(label: Label, convention: Convention) -> float:
    """What a label is worth."""
    if label is None or label <= 0 or label < convention.gain_at:
        return 0.0
    if convention.gain == "label":
        return float(label)
    if convention.gain == "exp2":
        return float(2**label - 1)
    return float(convention.gain[label])


def discount(rank: int, convention: Convention) -> float:
    """What a gain counts at this rank (from 1)."""
    if convention.discount == "log2":
        return 1 / math.log2(1 + rank)
    if convention.discount == "letor":
        return 1 / max(1.0, math.log2(rank))
    return 1 / rank


def _dcg(labels: Iterable[Label], convention: Convention) -> float:
    return sum(gain(label, convention) * discount(r, convention) for r, label in enumerate(labels, 1))


def _ideal(query: Query, depth: int | None) -> float:
    labels = query.ranked if query.convention.ideal == "list" else query.judged
    gains = sorted((gain(label, query.convention) for label in labels), reverse=True)
    return sum(g * discount(r, query.convention) for r, g in enumerate(gains[:depth], 1))


def dcg(query: Query) -> float:
    """Sum of gain times discount over the first k."""
    if query.short and query.convention.short == "zero":
        return 0.0
    return _dcg(query.ranked[: query.depth], query.convention)


def ndcg(query: Query) -> float:
    """DCG over the ideal DCG; nothing to gain: undefined. A rule that zeroes short lists never looks inside them."""
    if query.short and query.convention.short == "zero":
        return 0.0
    ideal = _ideal(query, query.cutoff)
    return dcg(query) / ideal if ideal > 0 else UNDEFINED


def mean_ndcg(query: Query) -> float:
    """The mean of NDCG@1 .. NDCG@n."""
    if _ideal(query, None) == 0:
        return UNDEFINED
    convention = query.convention
    at = [_dcg(query.ranked[:k], convention) / _ideal(query, k) for k in range(1, query.n + 1)]
    return sum(at) / query.n if query.n else 0.0


def ap(query: Query) -> float:
    """Precision at every relevant rank, over the number of relevant documents; undefined where there are none."""
    convention = query.convention
    if convention.ap_undefined == "cutoff" and query.hits() == 0:
        return UNDEFINED
    total = sum(query.hits(r) / r for r in range(1, query.depth + 1) if query.relevant(query.ranked[r - 1]))
    over = query.all_relevant
    if convention.ap_denominator == "list":
        over = query.found_relevant
    elif convention.ap_denominator == "cutoff" and query.cutoff is not None:
        over = min(over, query.cutoff)
    return total / over if over else UNDEFINED


def precision(query: Query) -> float:
    """Hits over the cutoff, with the convention's word on short lists."""
    rule = query.convention.short_precision
    if query.n == 0 or (query.short and rule == "zero"):
        return 0.0
    return query.hits() / (query.depth if rule == "list" or query.cutoff is None else query.cutoff)


def recall(query: Query) -> float:
    """Hits over all relevant."""
    return query.hits() / query.all_relevant if query.all_relevant else UNDEFINED


def r_precision(query: Query) -> float:
    """Hits among the first R over R."""
    return query.hits(query.all_relevant) / query.all_relevant if query.all_relevant else UNDEFINED


def rr(query: Query) -> float:
    """One over the rank of the first relevant document."""
    ranks = [r for r in range(1, query.depth + 1) if query.relevant(query.ranked[r - 1])]
    return 1 / ranks[0] if ranks else 0.0


def err(query: Query) -> float:
    """Expected reciprocal rank: the user stops at a document with probability (2^label - 1) / 2^top."""
    top = query.convention.err_top
    if top == "query":
        top = max([0, *query.judged])
    going_on, value = 1.0, 0.0
    for r, label in enumerate(query.ranked[: query.depth], 1):
        grade = max(0, label or 0)
        stops = float(grade) if top == "probability" else (2**grade - 1) / 2 ** int(top)
        value += going_on * stops / r
        going_on *= 1 - stops
    return value


def rbp(query: Query, p: float = 0.8) -> float:
    """Rank-biased precision."""
    ranks = (r for r in range(1, query.depth + 1) if query.relevant(query.ranked[r - 1]))
    return (1 - p) * sum(p ** (r - 1) for r in ranks)


def bpref(query: Query) -> float:
    """1/R Σ over retrieved relevant documents of 1 - min(judged non-relevant above, R) / min(R, N).

    A judgement below 0 is no judgement (trec_eval 9). Without a judged non-relevant document above, the term is 1.
    """
    relevant = query.all_relevant
    if relevant == 0:
        return UNDEFINED
    others = sum(0 <= label < query.convention.relevant_at for label in query.judged)
    above, total = 0, 0.0
    for label in query.ranked:
        if query.relevant(label):
            total += 1 - min(above, relevant) / min(relevant, others) if above else 1.0
        elif label is not None and label >= 0:
            above += 1
    return total / relevant


def success(query: Query) -> float:
    """1 where the first k hold a relevant document."""
    return float(query.hits() > 0)


def f_measure(query: Query, beta: float = 1.0) -> float:
    """The weighted harmonic mean of precision and recall."""
    p, r = precision(query), recall(query)
    if math.isnan(r):
        return UNDEFINED
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p and r else 0.0


MEASURES: dict[str, Callable[..., float]] = {
    "NDCG": ndcg,
    "DCG": dcg,
    "MeanNDCG": mean_ndcg,
    "AP": ap,
    "P": precision,
    "Recall": recall,
    "Rprec": r_precision,
    "RR": rr,
    "ERR": err,
    "RBP": rbp,
    "Bpref": bpref,
    "Success": success,
    "F1": f_measure,
    "num_ret": lambda query: float(query.n),
    "num_rel": lambda query: float(query.all_relevant),
    "num_rel_ret": lambda query: float(query.found_relevant),
}


def value(
    kind: str,
    ranked: Sequence[Label],
    judged: Sequence[int],
    convention: Convention,
    cutoff: int | None = None,
    **parameters: float,
) -> float:
    """A measure's value for one query with the convention's word on empty ones; NaN: the query is left out."""
    query = Query(ranked, judged, convention, cutoff)
    if convention.empty is None:
        return MEASURES[kind](query, **parameters) if query.all_relevant else math.nan
    found = MEASURES[kind](query, **parameters)
    return convention.empty if math.isnan(found) else found


def arrangements(groups: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """Every order of documents with equal scores, told apart by label only.

    Each distinct order of labels stands for equally many permutations of documents (the product of the factorials of
    how often each label occurs), so a mean over these is the mean over all permutations.
    """
    choices = [sorted(set(itertools.permutations(group)), key=repr) for group in groups]
    for choice in itertools.product(*choices):
        yield [label for group in choice for label in group]


def mean(values: Iterable[float]) -> float:
    """The mean without rounding on the way; NaN where any value is."""
    listed = list(values)
    if any(math.isnan(v) for v in listed):
        return math.nan
    return float(sum(map(Fraction, listed), Fraction(0)) / len(listed))


def near(a: float, b: float, tolerance: float = 1e-12) -> bool:
    """Equal within a tolerance (relative above 1); two NaN are equal."""
    return abs(a - b) <= tolerance * max(1.0, abs(b)) or (math.isnan(a) and math.isnan(b))


def tie_groups(labels: Sequence[Any], scores: Sequence[float]) -> list[list[Any]]:
    """Labels of equal scores together, highest score first."""
    return [
        [label for label, score in zip(labels, scores, strict=True) if score == level]
        for level in sorted(set(scores), reverse=True)
    ]


def order(
    scores: NDArray[np.float64],
    labels: NDArray[np.int32],
    offsets: Sequence[int],
    ids: Sequence[str] | None,
    ties: str,
    float32: bool,
) -> list[int]:
    """Rows in rank order, query by query: score descending, then the rule for ties."""
    compared = scores.astype(np.float32) if float32 else scores
    rows: list[int] = []
    for first, last in itertools.pairwise(offsets):
        ordered = list(range(first, last))
        if ties == "reversed":
            ordered.reverse()
        elif ties in ("id-descending", "id-ascending"):
            assert ids is not None
            ordered.sort(key=lambda i: ids[i].encode(), reverse=ties == "id-descending")
        elif ties in ("best", "worst"):
            ordered.sort(key=lambda i: int(labels[i]), reverse=ties == "best")
        ordered.sort(key=lambda i: -float(compared[i]))  # stable, so the rule for ties stays in force
        rows += ordered
    return rows


def tied(scores: NDArray[np.float64], offsets: Sequence[int], rows: Sequence[int], float32: bool) -> list[int]:
    """1 where the score equals the one before within the query."""
    compared = scores.astype(np.float32) if float32 else scores
    firsts = set(offsets)
    return [int(i not in firsts and compared[row] == compared[rows[i - 1]]) for i, row in enumerate(rows)]


def duplicate(ids: Sequence[str], offsets: Sequence[int]) -> tuple[int, int]:
    """The first row that names a document of its query again, with the row that named it first."""
    for first, last in itertools.pairwise(offsets):
        seen: dict[str, int] = {}
        for row in range(first, last):
            if ids[row] in seen:
                return seen[ids[row]], row
            seen[ids[row]] = row
    return -1, -1
