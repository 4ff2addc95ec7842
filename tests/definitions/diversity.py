"""Definitions of diversity measures with one or several subtopics per label."""

from __future__ import annotations

import math

from tests.definitions.query import UNDEFINED, Label, Query, twin

A, B = {"alpha": 0.25, "beta": 0.75}, {"alpha": 1.0, "beta": 0.5}


def _served(query: Query, label: Label) -> set[int]:
    if query.convention.subtopics == "labels":
        return set(range(1, max(label or 0, 0) + 1))
    return {1} if query.relevant(label) else set()


def _subtopics(query: Query) -> int:
    return len(set().union(*(_served(query, label) for label in query.judged)))


def _gains(query: Query, labels: list[Label], alpha: float) -> list[float]:
    calls: list[int] = []
    results = []
    for label in labels:
        results.append(sum((1 - alpha) ** calls.count(i) for i in _served(query, label)))
        calls += _served(query, label)
    return results


def _best(query: Query) -> list[Label]:
    """A larger label serves all that a smaller one does, so the greedy ideal goes by label."""
    return sorted((label for label in query.judged if _served(query, label)), key=lambda label: -(label or 0))


def _value(query: Query, alpha: float, normal: bool, logarithm: bool) -> float:
    if not _subtopics(query):
        return 0.0
    depth = query.cutoff or query.n
    weight = [1 / math.log2(r + 1) if logarithm else 1 / r for r in range(1, max(depth, query.n) + 1)]
    have = sum(g * w for g, w in zip(_gains(query, query.ranked, alpha)[:depth], weight, strict=False))
    if normal:
        best = sum(g * w for g, w in zip(_gains(query, _best(query)[:depth], alpha), weight, strict=False))
    else:
        best = sum(_subtopics(query) * (1 - alpha) ** r * weight[r] for r in range(depth))
    return have / best if best else 0.0


@twin("alpha-DCG", A, B)
def alpha_dcg(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    return _value(query, alpha, False, True)


@twin("alpha-nDCG", A, B)
def alpha_ndcg(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    return _value(query, alpha, True, True)


@twin("ERR-IA", A, B)
def err_ia(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    return _value(query, alpha, False, False)


@twin("nERR-IA", A, B)
def nerr_ia(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    return _value(query, alpha, True, False)


def _rank_biased(query: Query, labels: list[Label], alpha: float, beta: float) -> float:
    if not _subtopics(query):
        return 0.0
    total = sum(g * beta**i for i, g in enumerate(_gains(query, labels, alpha)))
    return (1 - (1 - alpha) * beta) / _subtopics(query) * total


@twin("NRBP", A, B)
def nrbp(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    return _rank_biased(query, query.ranked, alpha, beta)


@twin("nNRBP", A, B)
def nnrbp(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    best = _rank_biased(query, _best(query), alpha, beta)
    return nrbp(query, alpha, beta) / best if best else UNDEFINED


@twin("P-IA", A)
def p_ia(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    depth, subtopics = query.cutoff or query.n, _subtopics(query)
    hits = sum(len(_served(query, label)) for label in query.ranked[:depth])
    return hits / depth / subtopics if depth and subtopics else 0.0


@twin("MAP-IA", A)
def map_ia(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    values = []
    for i in set().union(*(_served(query, label) for label in query.judged)):
        ranks = [r for r, label in enumerate(query.ranked, 1) if i in _served(query, label)]
        relevant = sum(i in _served(query, label) for label in query.judged)
        values.append(sum(hits / r for hits, r in enumerate(ranks, 1)) / relevant)
    return sum(values) / len(values) if values else 0.0


@twin("strec", A)
def strec(query: Query, alpha: float = 0.5, beta: float = 0.5) -> float:
    visited = set().union(*(_served(query, label) for label in query.ranked[: query.depth]))
    return len(visited) / _subtopics(query) if _subtopics(query) else 0.0
