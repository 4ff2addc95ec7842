"""RankLib's metrics by name, as Pippin's measures under RankLib's convention.

What is RankLib's own here: which cutoff a metric takes when none or 0 is given, that relevance asks whether a label is
above 0 while gains come from its whole part, and whose labels make the ideal list.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pippin.evaluation import measures
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import Values, measure_values
from pippin.evaluation.measures import Measure
from pippin.evaluation.printers._java import parse_double, parse_integer, trimmed_lines
from pippin.evaluation.printers._lists import as_dataset, with_pools
from pippin.evaluation.ranking import Ranking, rank
from pippin.evaluation.tools import TOOLS
from pippin.frozen import Frozen

# name in RankLib -> (kind of measure, cutoff where none is given)
_KINDS = {
    "MAP": ("AP", 0), "NDCG": ("NDCG", 10), "DCG": ("DCG", 10), "P": ("P", 10), "RR": ("RR", 0), "BEST": ("best", 10),
    "ERR": ("ERR", 10),
}  # fmt: skip
_OF_GAINS = ("NDCG", "DCG", "ERR")
_LARGEST_GRADE = 30  # RankLib's gain 2^label - 1 is a 32-bit integer, which turns over at 31
LARGEST_LABEL = 1_000_000  # it keeps a table of the gains of all labels


def gain(label: int) -> int:
    """(1 << label) - 1 in 32 bits, where only the low five bits of the label count.

    >>> [gain(label) for label in (2, 30, 31, 32, 33)]
    [3, 1073741823, 2147483647, 0, 1]
    """
    return (1 << (label & 31)) - 1


class Metric(Frozen):
    """A metric as RankLib holds it: what it measures, its cutoff (0 or less: the whole list) and its printed name."""

    kind: str
    cutoff: int
    name: str


def parse(text: str) -> Metric:
    """The metric of that name, in any case.

    >>> parse("ndcg@5").name, parse("MAP@5").name, parse("rr").name, parse("best").name
    ('NDCG@5', 'MAP', 'RR@0', 'Best@10')
    """
    head, at, tail = text.partition("@")
    name = head.upper()
    if name not in _KINDS:
        raise ValueError(f"no metric is called {text}")
    kind, cutoff = _KINDS[name]
    if at:
        cutoff = parse_integer(tail)
    shown = "Best" if name == "BEST" else name
    return Metric(kind, cutoff, "MAP" if kind == "AP" else f"{shown}@{cutoff}")


class Lists(Frozen, eq=False):
    """Ranked lists as read: labels one list after the other, the lists' lengths, and their query ids."""

    labels: NDArray[np.float64]
    sizes: NDArray[np.int64]
    ids: list[str]

    def with_relevant(self) -> Lists:
        """Only the lists that have a label above 0."""
        owner = np.repeat(np.arange(len(self.ids)), self.sizes)
        keep = np.zeros(len(self.ids), bool)
        keep[owner[self.labels > 0]] = True
        return Lists(self.labels[keep[owner]], self.sizes[keep], [i for i, k in zip(self.ids, keep, strict=True) if k])

    def ranked(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> Ranking:
        """The lists by these scores, with these labels."""
        data = as_dataset(labels, self.sizes, map(str, range(len(self.ids))), "lists")
        return rank(data, scores, TOOLS["ranklib"].convention)


Judged = dict[str, list[int]]


def read_judged(path: str, metric: Metric) -> Judged:
    """Judgements by query: all positive ones for MAP, for NDCG those of the last stretch of lines of a query."""
    judged: Judged = {}
    last = None
    for line in trimmed_lines(path):
        if not line:
            continue
        words = line.split(b" ")
        if len(words) < 4:
            raise ValueError(f"Index 3 out of bounds for length {len(words)}")
        query = words[0].decode("utf-8", "surrogateescape")
        label = round(parse_double(words[3].strip()))
        if metric.kind == "NDCG":
            if query != last:
                judged[query] = []
            judged[query].append(label)
        elif label > 0:
            judged.setdefault(query, []).append(label)
        last = query
    if metric.kind == "NDCG":
        return {query: _ideal(labels, metric.cutoff) for query, labels in judged.items()}
    return judged


def _ideal(labels: list[int], cutoff: int) -> list[int]:
    """The judged labels that make an ideal list; RankLib takes none for a cutoff of 0, and cannot take one below 0."""
    best = sorted(labels, reverse=True)[: max(cutoff, 0)]
    if best and best[-1] < 0:
        raise ValueError(f"Index {best[-1]} out of bounds for length 6")
    return best


def values(lists: Lists, scores: NDArray[np.float64], metric: Metric, highest: float, judged: Judged | None) -> Values:
    """The metric of every list; `highest` is what ERR divides a gain by, `judged` what an external file says."""
    if metric.kind == "RR" and metric.cutoff <= 0:
        return np.zeros(len(lists.ids))
    if metric.kind == "best":
        return _best(lists, scores, metric.cutoff)
    counted = lists.labels if metric.kind in _OF_GAINS else lists.labels > 0
    labels = counted.astype(np.int32)
    if metric.kind == "ERR":
        return _stopping(lists.ranked(labels, scores), metric.cutoff, highest)
    measure = Measure(metric.kind, metric.cutoff if metric.cutoff > 0 else None)
    overrides: dict[str, object] = {}
    ranking = lists.ranked(labels, scores)
    if metric.kind == "NDCG" or (metric.kind == "AP" and judged is not None):
        ranking = _with_ideals(ranking, lists, labels, judged, metric.kind == "AP")
        overrides = {"ideal": "judged", "ap_denominator": "judged"}
    if metric.kind in ("NDCG", "DCG") and max(labels.max(initial=0), ranking.pool.max(initial=0)) > _LARGEST_GRADE:
        return _turned_over(ranking, metric)
    convention = TOOLS["ranklib"].convention_for(measure, **overrides)
    if metric.kind in ("NDCG", "DCG"):
        return _multiplied(ranking, measure, convention)
    return measure_values(ranking, measure, convention)


def _depths(ranking: Ranking, cutoff: int) -> NDArray[np.int64]:
    """How many documents of each list count."""
    sizes: NDArray[np.int64] = ranking.sizes()
    return np.minimum(sizes, cutoff) if cutoff > 0 else sizes


def _stopping(ranking: Ranking, cutoff: int, highest: float) -> Values:
    """ERR with gains over `highest`, which need be no probabilities: sum of p R / r, p times 1 - R at every rank."""
    gains = np.array([gain(label) for label in range(int(ranking.labels.max(initial=0)) + 1)], np.float64)
    depths = _depths(ranking, cutoff)
    total, passed = np.zeros(len(depths)), np.ones(len(depths))
    with np.errstate(all="ignore"):
        for i in range(int(depths.max(initial=0))):
            here = np.flatnonzero(depths > i)
            stop = gains[ranking.labels[ranking.offsets[:-1][here] + i]] / highest
            total[here] += passed[here] * stop / (i + 1)
            passed[here] *= 1.0 - stop
    return total


def _turned_over(ranking: Ranking, metric: Metric) -> Values:
    """NDCG or DCG with labels whose gains do not grow with them; the ideal list is one of labels all the same."""
    values = []
    for q, depth in enumerate(_depths(ranking, metric.cutoff).tolist()):
        first, pool = int(ranking.offsets[q]), ranking.pool[ranking.pool_offsets[q] : ranking.pool_offsets[q + 1]]
        value = _discounted(ranking.labels[first : first + depth])
        if metric.kind == "NDCG":
            best = _discounted(pool[: metric.cutoff] if metric.cutoff > 0 else pool)
            value = value / best if best > 0 else 0.0
        values.append(value)
    return np.array(values, np.float64)


def _discounted(labels: NDArray[np.int32]) -> float:
    total = 0.0
    for i, label in enumerate(labels.tolist()):
        total += gain(label) * (1.0 / (math.log(i + 2) / math.log(2.0)))
    return total


def _multiplied(ranking: Ranking, measure: Measure, convention: Convention) -> Values:
    """NDCG or DCG in RankLib's order of operations: gain * (1 / (ln(1 + r) / ln 2)), which shows in the last digit."""
    ruling = measures.rules(ranking, convention, measure)
    discounts = 1.0 / (np.log(np.arange(2.0, len(ruling.divisors) + 2.0)) / np.log(2.0))
    ruling = replace(ruling, multipliers=discounts, divisors=np.ones_like(discounts))
    values = measures.compute(measure.kind.lower(), ranking, ruling)
    return np.where(np.isnan(values), convention.empty or 0.0, values)


def _with_ideals(
    ranking: Ranking, lists: Lists, labels: NDArray[np.int32], judged: Judged | None, only_judged: bool
) -> Ranking:
    """The same ranking, where the ideal of a list is made from the judgements of its query, or else from the first
    list of that query; `only_judged`: from nothing where there are no judgements.
    """
    external = judged or {}
    sizes = [*lists.sizes.tolist(), *(len(pool) for pool in external.values()), 0]
    pooled = np.concatenate([labels, np.array([*chain(*external.values())], np.int32)])
    pools = as_dataset(pooled, sizes, map(str, range(len(sizes))), "judged")
    source = {query: len(lists.ids) + i for i, query in enumerate(external)}
    nothing = len(sizes) - 1
    chosen = [
        source.get(query, nothing) if only_judged else source.setdefault(query, number)
        for number, query in enumerate(lists.ids)
    ]
    return with_pools(ranking, pools, chosen)


def _best(lists: Lists, scores: NDArray[np.float64], cutoff: int) -> Values:
    """The highest label among the first k documents."""
    distinct, codes = np.unique(lists.labels, return_inverse=True)
    ranking = lists.ranked(codes.astype(np.int32), scores)
    positions = np.arange(len(codes)) - np.repeat(ranking.offsets[:-1], lists.sizes)
    within = np.where(positions < (cutoff if cutoff > 0 else len(codes)), ranking.labels, 0)
    return distinct[np.maximum.reduceat(within, ranking.offsets[:-1])] if len(codes) else np.empty(0)
