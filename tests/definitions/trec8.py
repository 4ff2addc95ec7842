"""Definitions of the measures that only trec_eval 8.1 prints, in single precision.

Ratios are quotients of single numbers, and a sum is rounded to single precision after every step, from the bottom of
the list up unless a definition says otherwise. Where 8.1 divides 0 by 0, the value is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from tests.definitions.query import UNDEFINED, Query, twin

F = np.float32
MOST = 142  # non-relevant documents: the measures of fallout stop there


def ratio(a: int, b: int) -> float:
    return float(F(a) / F(b)) if b else UNDEFINED


def total(terms: Iterable[float]) -> float:
    """Sum in single precision in the given order."""
    sum_ = 0.0
    for term in terms:
        sum_ = float(F(sum_ + term))
    return sum_


def divide(sum_: float, by: int) -> float:
    return float(F(sum_) / F(by)) if by else sum_


def square(a: float) -> float:
    return float(F(a) * F(a))


class List(Query):
    """A query as 8.1 sees it: ranks beyond the end of the list find what the list found."""

    def __init__(self, query: Query) -> None:
        self.__dict__ = query.__dict__

    def precision(self, rank: int) -> float:
        return ratio(self.hits(rank), rank) if self.hits(rank) else 0.0

    def recall(self, rank: int) -> float:
        return ratio(self.hits(rank), self.all_relevant) if self.hits(rank) else 0.0

    def relative(self, rank: int) -> float:
        return self.recall(rank) if rank > self.all_relevant else self.precision(rank)

    def best(self, rank: int) -> float:
        """Return the best precision at or below a rank."""
        return max(self.precision(r) for r in {self.n, *range(rank, self.n + 1)})

    @property
    def upwards(self) -> range:
        return range(self.n, 0, -1)

    @property
    def missed(self) -> int:
        """Documents of the list that are not relevant, judged or not."""
        return self.n - self.found_relevant


def twin8(name: str, *tried: dict[str, float]) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Register a definition that is 0 for an empty list and for a division by 0."""

    def register(define: Callable[..., float]) -> Callable[..., float]:
        def finish(query: Query, **parameters: float) -> float:
            result = define(List(query), **parameters) if query.n else 0.0
            return 0.0 if math.isnan(result) else result

        twin(name, *tried)(finish)
        return define

    return register


def at_recall(query: List, tenths: int) -> float:
    """Interpolated precision where that many tenths of the relevant documents are found."""
    needed = math.ceil(query.all_relevant * tenths / 10)
    return query.best(query.relevant_ranks[needed - 1]) if 0 < needed <= query.found_relevant else 0.0


@twin8("3-pt_avg")
def three_points(query: List) -> float:
    """Interpolated precision at recall 0.2, 0.5 and 0.8, averaged."""
    return float(F(total(at_recall(query, tenths) for tenths in (2, 5, 8)) / 3.0))


@twin8("avg_doc_prec")
def document_precision(query: List) -> float:
    """Precision summed over relevant documents."""
    return total(query.precision(r) for r in reversed(query.relevant_ranks))


@twin8("avg_relative_prec")
def average_relative_precision(query: List) -> float:
    """Relative precision averaged over all ranks."""
    return divide(total(query.relative(r) for r in query.upwards), query.n)


@twin8("exact_relative_unranked_avg_prec")
def squared_precision(query: List) -> float:
    """Return the squared set precision."""
    return square(query.found_relevant / query.n) if query.all_relevant else 0.0


def to_r(query: List, precision: Callable[[int], float]) -> float:
    """Averaged over the ranks above R; ranks behind the end of the list count what was found."""
    relevant = query.all_relevant
    inside = [precision(r) for r in query.upwards if r < relevant]
    behind = [ratio(query.found_relevant, r) for r in range(query.n, relevant)]
    return divide(total(inside + behind), relevant)


@twin8("map_at_R")
def map_at_r(query: List) -> float:
    """Precision averaged over the ranks above R."""
    return to_r(query, query.precision)


@twin8("int_map_at_R")
def interpolated_map_at_r(query: List) -> float:
    """The same, interpolated."""
    return to_r(query, query.best)


@twin8("int_map")
def interpolated_map(query: List) -> float:
    """Average precision, interpolated."""
    return divide(total(query.best(r) for r in reversed(query.relevant_ranks)), query.all_relevant)


def best_at(query: List, rank: int) -> float:
    """Interpolated precision; at a rank behind the end of the list, what was found over the rank."""
    if rank == 0:
        return 0.0
    return ratio(query.found_relevant, rank) if rank > query.n else query.best(rank)


@twin8("exact_int_R_rcl_prec")
def interpolated_r_precision(query: List) -> float:
    """Interpolated precision at rank R."""
    return best_at(query, query.all_relevant)


@twin8("int_Rprec_mult", {"multiple": 0.6}, {"multiple": 1.8})
def interpolated_r_precision_multiple(query: List, multiple: float = 1.0) -> float:
    """Interpolated precision at a multiple of R, rounded up from the first tenth on."""
    return best_at(query, int(query.all_relevant * round(multiple, 6) + 0.9))


@twin8("unranked_avg_prec")
def precision_times_recall(query: List) -> float:
    """Precision times recall at k."""
    k = query.n if query.cutoff is None else query.cutoff
    return float(F(query.precision(k)) * F(query.recall(k)))


@twin8("relative_unranked_avg_prec")
def relative_unranked(query: List) -> float:
    """Relative precision at k squared; the precision at k of a list that ends above it."""
    k = query.n if query.cutoff is None else query.cutoff
    return square(query.relative(k) if k <= query.n else query.precision(k))


@twin8("rank_first_rel")
def rank_of_first(query: List) -> float:
    """Return the rank of the first relevant document, 0 without one."""
    return float((*query.relevant_ranks, 0)[0])


def fallout_cut(step: int) -> int:
    return math.ceil(MOST * step / 10)


@twin8("fallout_recall", {"nonrelevant": 14.0}, {"nonrelevant": 28.0}, {"nonrelevant": 142.0})
def fallout_recall(query: List, nonrelevant: float = 0.0) -> float:
    """Recall just before the next non-relevant document after so many; the whole list's where there are not so many.

    Where a list has exactly as many as one of the ten cuts, 8.1 never gets past it: that cut and those below are 0.
    """
    cut = fallout_cut(min(math.ceil(nonrelevant * 10 / MOST), 10))
    if query.missed < cut:
        return query.recall(query.n)
    if query.missed in map(fallout_cut, range(11)):
        return 0.0
    others = [r for r in range(1, query.n + 1) if r not in query.relevant_ranks]
    return query.recall(others[cut])


@twin8("rcl_at_142_nonrel")
def recall_at_nonrelevant(query: List) -> float:
    """Recall averaged over the first 142 documents that are not relevant; those that lack find what the list found."""
    others = [r for r in query.upwards if r not in query.relevant_ranks and r - query.hits(r) < MOST]
    sum_ = total(query.recall(r) for r in others)
    if query.missed < MOST and query.found_relevant:
        remaining = F(MOST - query.missed) * F(query.recall(query.n))
        sum_ = float(F(sum_) + remaining)
    return divide(sum_, MOST)


class Preferences:
    """How the relevant documents of a list stand to the judged ones that are not."""

    def __init__(self, query: List) -> None:
        self.relevant = query.all_relevant
        self.others = len(query.judged) - self.relevant  # a judgement below 0 counts here, but is never found
        self.others_found = sum(map(query.nonrelevant, query.ranked))
        # for each relevant document of the list, from the top: judged others above it
        self.above = [sum(map(query.nonrelevant, query.ranked[: r - 1])) for r in query.relevant_ranks]

    def kept(self, above: int, most: int) -> float:
        """1 where nothing stands above, whatever there is to stand there."""
        return 1.0 if above == 0 else 1.0 - ratio(above, most)

    def up_to(self, bound: int, others: int | None = None) -> float:
        """Preferences kept against the first `bound` others, over R."""
        others = self.others if others is None else others
        return divide(total(self.kept(min(a, bound), min(others, bound)) for a in self.above), self.relevant)

    def first(self, number: int) -> float:
        """Compare the first `number` relevant documents with the first `number` others."""
        seen = [a for a in self.above[:number] if a < number]
        sum_ = total(self.kept(a, min(self.others, number)) for a in seen)
        return divide(sum_, min(len(self.above), number))


def _bpref(name: str, define: Callable[[Preferences], float]) -> None:
    twin8(name)(lambda query: define(Preferences(query)))


_bpref("bpref_allnonrel", lambda p: p.up_to(p.others))
_bpref("bpref_retnonrel", lambda p: p.up_to(p.others_found, p.others_found))
_bpref("bpref_topnonrel", lambda p: p.up_to(100))
_bpref("bpref_top10pRnonrel", lambda p: p.up_to(p.relevant + 10))
_bpref("bpref_top25pRnonrel", lambda p: p.up_to(p.relevant + 25))
_bpref("bpref_top50pRnonrel", lambda p: p.up_to(p.relevant + 50))
_bpref("bpref_top25p2Rnonrel", lambda p: p.up_to(2 * p.relevant + 25))
_bpref("old_bpref", lambda p: p.up_to(p.relevant, p.others_found))
_bpref("old_bpref_top10pRnonrel", lambda p: p.up_to(p.relevant + 10, p.others_found))
_bpref("bpref_5", lambda p: p.first(5))
_bpref("bpref_10", lambda p: p.first(10))
_bpref("bpref_num_all", lambda p: total(float(p.others - a) for a in p.above))
_bpref("bpref_num_ret", lambda p: total(float(p.others_found - a) for a in p.above))
_bpref("bpref_num_possible", lambda p: float(p.relevant * min(p.others, p.relevant)))


@twin8("bpref_retall")
def bpref_retrieved(query: List) -> float:
    """Preferences kept among retrieved documents, averaged over the relevant ones found."""
    p = Preferences(query)
    return divide(total(p.kept(a, p.others_found) for a in p.above), len(p.above))


@twin8("bpref_num_correct")
def preferences_correct(query: List) -> float:
    """Preferences kept, counted where one was broken."""
    p = Preferences(query)
    return float(sum(min(p.others, p.relevant) - min(a, p.relevant) for a in p.above if a))


def _multiple(times: int) -> Callable[[Preferences], float]:
    """Against a multiple of R, of which 8.1 looks at the first 5 R others alone, and divides by 0 without others."""

    def define(p: Preferences) -> float:
        terms = [1.0 - ratio(min(a, 5 * p.relevant), min(p.others, times * p.relevant)) for a in p.above]
        return divide(total(terms), p.relevant)

    return define


_bpref("bpref_top5Rnonrel", _multiple(5))
_bpref("bpref_top10Rnonrel", _multiple(10))
