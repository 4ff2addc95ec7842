"""Define the measures of diversity, as ndeval 4.5 (trec-web) computes them.

A query has subtopics; a document gains less for a subtopic that documents above it cover. S is the number of subtopics
with a relevant document, c_i(r) the number of documents relevant to subtopic i above rank r, and
g(r) = sum_i rel_i(r) (1 - alpha)^c_i(r). The ideal ranking is greedy: the document with the greatest g comes next; ties
go to the greatest id.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pippin.data.qrels import SubtopicQrels
from pippin.errors import ConventionError
from pippin.evaluation.convention import Convention
from pippin.evaluation.measures import Measure, MeasureDefinition, Values, register
from pippin.evaluation.ranking import Ranking
from pippin.records import FrozenRecord

_SOURCE = "ndeval 4.5"
SubtopicSets = Sequence[frozenset[str]]  # the subtopics of each document, in rank order


class Topic(FrozenRecord):
    """The subtopics of a query's ranked documents, and of its judged documents by descending id."""

    ranked: SubtopicSets
    judged: SubtopicSets

    @property
    def subtopics(self) -> frozenset[str]:
        """Subtopics with a relevant document."""
        return frozenset().union(*self.judged)


def topics(ranking: Ranking, convention: Convention) -> list[Topic]:
    """Return the queries of a ranking with their subtopics."""
    if convention.subtopics == "given" and isinstance(ranking.qrels, SubtopicQrels):
        return _topics_of_qrels(ranking, ranking.qrels)
    results = []
    subtopics = [_label_subtopics(label, convention) for label in range(ranking.largest_label + 1)]
    for q in range(len(ranking.query_ids)):
        labels = ranking.labels[ranking.offsets[q] : ranking.offsets[q + 1]]
        pool = ranking.pool[ranking.pool_offsets[q] : ranking.pool_offsets[q + 1]]
        results.append(Topic(*([subtopics[max(label, 0)] for label in part.tolist()] for part in (labels, pool))))
    return results


def _topics_of_qrels(ranking: Ranking, qrels: SubtopicQrels) -> list[Topic]:
    """Return the queries with the subtopics of the judgements."""
    position = {query: q for q, query in enumerate(qrels.query_ids)}
    results = []
    for q, query in enumerate(ranking.query_ids):
        first, last = qrels.offsets[position[query]], qrels.offsets[position[query] + 1]
        subtopics = {qrels.document_ids.at(row): qrels.subtopics[row] for row in range(first, last)}
        rows = range(ranking.offsets[q], ranking.offsets[q + 1])
        ranked = [subtopics.get(ranking.documents.at(row), frozenset()) for row in rows]
        results.append(Topic(ranked, [subtopics[document] for document in sorted(subtopics, reverse=True)]))
    return results


def _label_subtopics(label: int, convention: Convention) -> frozenset[str]:
    """Return the subtopics of a label without subtopic judgements: a single one, or subtopics 1 … label."""
    if convention.subtopics == "labels":
        return frozenset(str(level) for level in range(1, label + 1))
    return frozenset("1" if label >= convention.relevance_threshold else "")


def gains(documents: SubtopicSets, alpha: float, depth: int | None = None) -> list[float]:
    """Return g(r) for each rank."""
    worth: dict[str, float] = {}
    results = []
    for subtopics in documents[:depth]:
        results.append(sum(worth.get(subtopic, 1.0) for subtopic in sorted(subtopics)))
        for subtopic in subtopics:
            worth[subtopic] = worth.get(subtopic, 1.0) * (1 - alpha)
    return results


def ideal(judged: SubtopicSets, alpha: float, depth: int | None = None) -> SubtopicSets:
    """Return the judged documents in the order of the greedy ideal ranking."""
    remaining = [subtopics for subtopics in judged if subtopics]
    worth: dict[str, float] = {}
    ranked: list[frozenset[str]] = []
    while remaining and (depth is None or len(ranked) < depth):
        best = max(range(len(remaining)), key=lambda i: (sum(worth.get(s, 1.0) for s in sorted(remaining[i])), -i))
        ranked.append(remaining.pop(best))
        for subtopic in ranked[-1]:
            worth[subtopic] = worth.get(subtopic, 1.0) * (1 - alpha)
    return ranked


def _weighted_sum(values: Sequence[float], weight: Callable[[int], float]) -> float:
    total = 0.0  # added from the top down, as in ndeval
    for r, value in enumerate(values, 1):
        total += value * weight(r)
    return total


def _log_discount(rank: int) -> float:
    return math.log(2) / math.log(rank + 1)


def _reciprocal(rank: int) -> float:
    return 1.0 / rank


class Diversity(FrozenRecord):
    """The function of a diversity measure: a value per topic."""

    value: Callable[[Topic, Measure, int | None], float]

    def __call__(self, ranking: Ranking, convention: Convention, measure: Measure) -> Values:
        """Return a value per query."""
        if not 0 <= measure.parameter("alpha") <= 1:
            raise ConventionError(f"{measure}: alpha must lie between 0 and 1")
        cutoff = measure.cutoff if convention.apply_cutoff else None
        return np.array([self.value(topic, measure, cutoff) for topic in topics(ranking, convention)], np.float64)


def _discounted_gain(weight: Callable[[int], float], normalise: bool) -> Callable[[Topic, Measure, int | None], float]:
    def value(topic: Topic, measure: Measure, cutoff: int | None) -> float:
        alpha, count = measure.parameter("alpha"), len(topic.subtopics)
        if not count:
            return 0.0
        depth = cutoff or len(topic.ranked)
        actual = _weighted_sum(gains(topic.ranked, alpha, depth), weight)
        if normalise:
            best = _weighted_sum(gains(ideal(topic.judged, alpha, depth), alpha), weight)
        else:
            best = _weighted_sum([count * (1 - alpha) ** r for r in range(depth)], weight)
        return actual / best if best else 0.0

    return value


def _nrbp(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    return _rank_biased(topic.ranked, topic, measure)


def _rank_biased(documents: SubtopicSets, topic: Topic, measure: Measure) -> float:
    alpha, beta, count = measure.parameter("alpha"), measure.parameter("beta"), len(topic.subtopics)
    if not count:
        return 0.0
    return (1 - (1 - alpha) * beta) / count * _weighted_sum(gains(documents, alpha), lambda r: beta ** (r - 1))


def _normalised_nrbp(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    best = _rank_biased(ideal(topic.judged, measure.parameter("alpha")), topic, measure)
    return _rank_biased(topic.ranked, topic, measure) / best if best else math.nan


def _precision(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    depth, count = cutoff or len(topic.ranked), len(topic.subtopics)
    return sum(map(len, topic.ranked[:depth])) / (depth * count) if count and depth else 0.0


def _average_precision(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    total = 0.0
    for subtopic in sorted(topic.subtopics):
        hits, precisions = 0, 0.0
        for r, subtopics in enumerate(topic.ranked, 1):
            if subtopic in subtopics:
                hits += 1
                precisions += hits / r
        total += precisions / sum(subtopic in subtopics for subtopics in topic.judged)
    return total / len(topic.subtopics) if topic.subtopics else 0.0


def _subtopic_recall(topic: Topic, measure: Measure, cutoff: int | None) -> float:
    covered: frozenset[str] = frozenset().union(*topic.ranked[: cutoff or len(topic.ranked)])
    return len(covered & topic.subtopics) / len(topic.subtopics) if topic.subtopics else 0.0


NDEVAL_FUNCTIONS = {
    "alpha-DCG": _discounted_gain(_log_discount, False), "alpha-nDCG": _discounted_gain(_log_discount, True),
    "ERR-IA": _discounted_gain(_reciprocal, False), "nERR-IA": _discounted_gain(_reciprocal, True), "NRBP": _nrbp,
    "nNRBP": _normalised_nrbp, "P-IA": _precision, "MAP-IA": _average_precision, "strec": _subtopic_recall,
}  # fmt: skip
_ALPHA = {"alpha": 0.5, "beta": 0.5}
_CLARKE = "Clarke et al. 2008; ndeval 4.5"
for _name, _meaning, _formula, _cutoff, _axes in (
    ("alpha-DCG", "discounted gain of subtopics over that of documents that cover all subtopics",
     "sum of g(r) / log2(1 + r) / sum of S (1 - alpha)^(r-1) / log2(1 + r)", "optional", ("apply_cutoff",)),
    ("alpha-nDCG", "discounted gain of subtopics over that of the greedy ideal", "sum of g(r) / log2(1 + r) / ideal",
     "optional", ("apply_cutoff",)),
    ("ERR-IA", "intent-aware ERR", "sum of g(r) / r / sum of S (1 - alpha)^(r-1) / r", "optional", ("apply_cutoff",)),
    ("nERR-IA", "intent-aware ERR over that of the greedy ideal", "sum of g(r) / r / ideal", "optional",
    ("apply_cutoff",)),
    ("NRBP", "novelty- and rank-biased precision", "(1 - (1 - alpha) beta) / S * sum of g(r) beta^(r-1)", "never", ()),
    ("nNRBP", "NRBP over that of the greedy ideal", "NRBP / ideal", "never", ("empty",)),
    ("P-IA", "precision averaged over subtopics", "sum over subtopics of hits@k / (k S)", "optional", ("apply_cutoff",
    )),
    ("MAP-IA", "average precision averaged over subtopics", "mean of AP over subtopics", "never", ()),
    ("strec", "subtopic recall", "subtopics covered by the first k / S", "optional", ("apply_cutoff",)),
):  # fmt: skip
    register(MeasureDefinition(
        _name, _meaning, _formula, _CLARKE, Diversity(NDEVAL_FUNCTIONS[_name]), ("relevance_threshold", "subtopics",
        *_axes),
        cutoff=_cutoff, parameters=_ALPHA, supports_expected_ties=False, better="",
    ))  # fmt: skip
