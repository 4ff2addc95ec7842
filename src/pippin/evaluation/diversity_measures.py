"""Measures of diversity: a query has subtopics, and a document is worth less for one that was served above it.

S is the number of subtopics with a relevant document, c_i(r) how many documents relevant to subtopic i stand above rank
r, and g(r) = sum_i rel_i(r) (1 - alpha)^c_i(r). The ideal ranking takes the document of the greatest g next, of those
with the same the one with the greatest id. As ndeval 4.5 (trec-web) computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pippin.data.subtopics import SubtopicJudgements
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Kind, Measure, Values, register
from pippin.evaluation.ranking import Ranking
from pippin.frozen import Frozen

_SOURCE = "ndeval 4.5"
Served = Sequence[frozenset[str]]  # the subtopics of each document, in rank order


class Topic(Frozen):
    """A query: what each ranked document is relevant to, and what each judged one is, highest id first."""

    ranked: Served
    judged: Served

    @property
    def subtopics(self) -> frozenset[str]:
        """Those with a relevant document."""
        return frozenset().union(*self.judged)


def topics(ranking: Ranking, convention: Convention) -> list[Topic]:
    """The queries of a ranking with their subtopics."""
    if convention.subtopics == "given" and isinstance(ranking.judged, SubtopicJudgements):
        return _given(ranking, ranking.judged)
    found = []
    largest = ranking.largest_label
    of = [_levels(label, convention) for label in range(largest + 1)]
    for q in range(len(ranking.query_ids)):
        labels = ranking.labels[ranking.offsets[q] : ranking.offsets[q + 1]]
        pool = ranking.pool[ranking.pool_offsets[q] : ranking.pool_offsets[q + 1]]
        found.append(
            Topic([of[max(label, 0)] for label in labels.tolist()], [of[max(label, 0)] for label in pool.tolist()])
        )
    return found


def _given(ranking: Ranking, judged: SubtopicJudgements) -> list[Topic]:
    """The subtopics that judgements name; of judged documents the highest id comes first."""
    place = {query: q for q, query in enumerate(judged.query_ids)}
    found = []
    for q, query in enumerate(ranking.query_ids):
        first, last = judged.offsets[place[query]], judged.offsets[place[query] + 1]
        of = {judged.document_ids.at(row): judged.subtopics[row] for row in range(first, last)}
        rows = range(ranking.offsets[q], ranking.offsets[q + 1])
        ranked = [of.get(ranking.documents.at(row), frozenset()) for row in rows]
        found.append(Topic(ranked, [of[document] for document in sorted(of, reverse=True)]))
    return found


def _levels(label: int, convention: Convention) -> frozenset[str]:
    """What a label stands for where no subtopics are given: one subtopic, or subtopics 1 … label."""
    if convention.subtopics == "labels":
        return frozenset(str(level) for level in range(1, label + 1))
    return frozenset("1" if label >= convention.relevant_at else "")


def gains(served: Served, alpha: float, depth: int | None = None) -> list[float]:
    """g(r) for each rank."""
    worth: dict[str, float] = {}
    found = []
    for subtopics in served[:depth]:
        found.append(sum(worth.get(subtopic, 1.0) for subtopic in sorted(subtopics)))
        for subtopic in subtopics:
            worth[subtopic] = worth.get(subtopic, 1.0) * (1 - alpha)
    return found


def ideal(judged: Served, alpha: float, depth: int | None = None) -> Served:
    """The judged documents as the greedy choice ranks them."""
    left = [subtopics for subtopics in judged if subtopics]
    worth: dict[str, float] = {}
    chosen: list[frozenset[str]] = []
    while left and (depth is None or len(chosen) < depth):
        best = max(range(len(left)), key=lambda i: (sum(worth.get(s, 1.0) for s in sorted(left[i])), -i))
        chosen.append(left.pop(best))
        for subtopic in chosen[-1]:
            worth[subtopic] = worth.get(subtopic, 1.0) * (1 - alpha)
    return chosen


def _weighted(values: Sequence[float], weight: Callable[[int], float]) -> float:
    total = 0.0  # from the top down, as ndeval adds
    for r, value in enumerate(values, 1):
        total += value * weight(r)
    return total


def _log_discount(rank: int) -> float:
    return math.log(2) / math.log(rank + 1)


def _reciprocal(rank: int) -> float:
    return 1.0 / rank


class Diversity(Frozen):
    """The function of a kind: a value of each topic."""

    of: Callable[[Topic, Measure, int | None], float]

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """A value per query."""
        if not 0 <= measure.parameter("alpha") <= 1:
            raise ConventionError(f"{measure}: alpha is from 0 to 1")
        cutoff = measure.cutoff if convention.cut else None
        return np.array([self.of(topic, measure, cutoff) for topic in topics(ranking, convention)], np.float64)


def _discounted(weight: Callable[[int], float], normal: bool) -> Callable[[Topic, Measure, int | None], float]:
    def value(topic: Topic, measure: Measure, cutoff: int | None) -> float:
        alpha, count = measure.parameter("alpha"), len(topic.subtopics)
        if not count:
            return 0.0
        depth = cutoff or len(topic.ranked)
        have = _weighted(gains(topic.ranked, alpha, depth), weight)
        if normal:
            best = _weighted(gains(ideal(topic.judged, alpha, depth), alpha), weight)
        else:
            best = _weighted([count * (1 - alpha) ** r for r in range(depth)], weight)
        return have / best if best else 0.0

    return value


def _nrbp(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    return _rank_biased(topic.ranked, topic, measure)


def _rank_biased(served: Served, topic: Topic, measure: Measure) -> float:
    alpha, beta, count = measure.parameter("alpha"), measure.parameter("beta"), len(topic.subtopics)
    if not count:
        return 0.0
    return (1 - (1 - alpha) * beta) / count * _weighted(gains(served, alpha), lambda r: beta ** (r - 1))


def _normal_nrbp(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    best = _rank_biased(ideal(topic.judged, measure.parameter("alpha")), topic, measure)
    return _rank_biased(topic.ranked, topic, measure) / best if best else math.nan


def _precision(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    depth, count = cutoff or len(topic.ranked), len(topic.subtopics)
    return sum(map(len, topic.ranked[:depth])) / (depth * count) if count and depth else 0.0


def _average_precision(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    total = 0.0
    for subtopic in sorted(topic.subtopics):
        hits, found = 0, 0.0
        for r, served in enumerate(topic.ranked, 1):
            if subtopic in served:
                hits += 1
                found += hits / r
        total += found / sum(subtopic in served for served in topic.judged)
    return total / len(topic.subtopics) if topic.subtopics else 0.0


def _subtopic_recall(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    seen: frozenset[str] = frozenset().union(*topic.ranked[: cutoff or len(topic.ranked)])
    return len(seen & topic.subtopics) / len(topic.subtopics) if topic.subtopics else 0.0


KINDS_OF_NDEVAL = {
    "alpha-DCG": _discounted(_log_discount, False), "alpha-nDCG": _discounted(_log_discount, True),
    "ERR-IA": _discounted(_reciprocal, False), "nERR-IA": _discounted(_reciprocal, True), "NRBP": _nrbp,
    "nNRBP": _normal_nrbp, "P-IA": _precision, "MAP-IA": _average_precision, "strec": _subtopic_recall,
}  # fmt: skip
_ALPHA = {"alpha": 0.5, "beta": 0.5}
_CLARKE = "Clarke et al. 2008; ndeval 4.5"
for _name, _meaning, _formula, _cutoff, _axes in (
    ("alpha-DCG", "gain of subtopics, discounted, over what documents for all of them would give",
     "sum of g(r) / log2(1 + r) / sum of S (1 - alpha)^(r-1) / log2(1 + r)", "optional", ("cut",)),
    ("alpha-nDCG", "gain of subtopics, discounted, over that of the greedy ideal", "sum of g(r) / log2(1 + r) / ideal",
     "optional", ("cut",)),
    ("ERR-IA", "intent-aware ERR", "sum of g(r) / r / sum of S (1 - alpha)^(r-1) / r", "optional", ("cut",)),
    ("nERR-IA", "intent-aware ERR over that of the greedy ideal", "sum of g(r) / r / ideal", "optional", ("cut",)),
    ("NRBP", "novelty- and rank-biased precision", "(1 - (1 - alpha) beta) / S * sum of g(r) beta^(r-1)", "never", ()),
    ("nNRBP", "the same over that of the greedy ideal", "NRBP / ideal", "never", ("empty",)),
    ("P-IA", "precision averaged over subtopics", "sum over subtopics of hits@k / (k S)", "optional", ("cut",)),
    ("MAP-IA", "average precision averaged over subtopics", "mean of AP over subtopics", "never", ()),
    ("strec", "subtopic recall", "subtopics seen in the first k / S", "optional", ("cut",)),
):  # fmt: skip
    register(Kind(
        _name, _meaning, _formula, _CLARKE, Diversity(KINDS_OF_NDEVAL[_name]), ("relevant_at", "subtopics", *_axes),
        cutoff=_cutoff, parameters=_ALPHA, expected=False, better="",
    ))  # fmt: skip
