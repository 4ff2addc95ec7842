"""Definitions of the user models of C/W/L."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.definitions.query import Query, twin

Chance = Callable[[int, float, float], float]  # rank, its gain, gain so far → the chance to go on


def _expectation(query: Query, goes_on: Callable[[list[float]], list[float]], depth: int = 1000) -> float:
    """Return the expected value under the probabilities of continuing at every rank."""
    gains = [min(gain, 1.0) for gain in query.gains[:depth]]
    unknown = [label is None for label in query.ranked[:depth]]
    gains += [0.0] * (depth - len(gains))
    unknown += [True] * (depth - len(unknown))
    what = query.convention.cwl_quantity
    if what.startswith("Res"):
        filled = [1.0 if open_ else gain for gain, open_ in zip(gains, unknown, strict=True)]
        return _of(what[3:], filled, goes_on) - _of(what[3:], gains, goes_on)
    return _of(what, gains, goes_on)


def _of(what: str, gains: list[float], goes_on: Callable[[list[float]], list[float]]) -> float:
    reached, total, utility, all_utility, all_cost, result = 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for r, (gain, chance) in enumerate(zip(gains, goes_on(gains), strict=True), 1):
        result += gain
        total += reached
        utility += reached * gain
        all_utility += reached * (1 - chance) * result
        all_cost += reached * (1 - chance) * r
        reached *= chance
    return {"EU": utility / total, "ETU": all_utility, "EC": 1.0, "ETC": all_cost, "ED": total}[what]


def _each(chance: Chance) -> Callable[[list[float]], list[float]]:
    def goes_on(gains: list[float]) -> list[float]:
        result, chances = 0.0, []
        for r, gain in enumerate(gains, 1):
            result += gain
            chances.append(chance(r, gain, result))
        return chances

    return goes_on


def _last(query: Query) -> int:
    return query.asked or 1000


@twin("INST", {"T": 2.0})
def inst(query: Query, T: float = 1.0) -> float:
    return _expectation(query, _each(lambda r, g, result: ((r + 2 * T - 1 - result) / (r + 2 * T - result)) ** 2))


def _insq(r: int, T: float) -> float:
    return ((r + 2 * T - 1) / (r + 2 * T)) ** 2


@twin("INSQ", {"T": 2.0})
def insq(query: Query, T: float = 1.0) -> float:
    return _expectation(query, _each(lambda r, g, result: _insq(r, T)))


@twin("BPM", {"T": 2.0})
def bpm(query: Query, T: float = 1.0) -> float:
    return _expectation(query, _each(lambda r, g, result: float(result < T and r < _last(query))))


@twin("NERR8")
def nerr8(query: Query) -> float:
    return _expectation(query, _each(lambda r, g, result: (1 - g) * (r < _last(query))))


@twin("NERR9")
def nerr9(query: Query) -> float:
    return _expectation(query, _each(lambda r, g, result: (1 - g) * r / (r + 1) * (r < _last(query))))


@twin("NERR10", {"phi": 0.5})
def nerr10(query: Query, phi: float = 0.9) -> float:
    return _expectation(query, _each(lambda r, g, result: (1 - g) * phi))


@twin("NERR11", {"T": 2.0})
def nerr11(query: Query, T: float = 1.0) -> float:
    return _expectation(query, _each(lambda r, g, result: (1 - g) * _insq(r, T)))


@twin("sDCG")
def scaled_dcg(query: Query) -> float:
    return _expectation(query, _each(lambda r, g, result: math.log2(r + 1) / math.log2(r + 2) * (r < _last(query))))


@twin("CWL_P")
def precision(query: Query) -> float:
    return _expectation(query, _each(lambda r, g, result: float(r < _last(query))))


@twin("CWL_RBP", {"p": 0.5})
def rbp(query: Query, p: float = 0.8) -> float:
    return _expectation(query, _each(lambda r, g, result: p))


@twin("CWL_RR")
def rr(query: Query) -> float:
    return _expectation(query, _each(lambda r, g, result: float(result == 0)))


@twin("CWL_AP")
def ap(query: Query) -> float:
    def goes_on(gains: list[float]) -> list[float]:
        chances = []
        for r in range(1, len(gains) + 1):
            below = sum(gain / j for j, gain in enumerate(gains, 1) if j >= r)
            after = sum(gain / j for j, gain in enumerate(gains, 1) if j > r)
            chances.append(after / below if below else 0.0)
        return chances

    return _expectation(query, goes_on, 100)
