"""Slow reference implementations of orders: permutations of ties, tie rules and duplicates.

What each measure is by definition stands in `tests/definitions`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


def arrangements(groups: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """Yield every order of documents with equal scores, distinguished by label only.

    Each distinct order of labels stands for equally many permutations of documents (the product of the factorials of
    how often each label occurs), so a mean over these is the mean over all permutations.
    """
    choices = [sorted(set(itertools.permutations(group)), key=repr) for group in groups]
    for choice in itertools.product(*choices):
        yield [label for group in choice for label in group]


def mean(values: Iterable[float]) -> float:
    """Return the mean without intermediate rounding; NaN if any value is NaN."""
    listed = list(values)
    if any(math.isnan(v) for v in listed):
        return math.nan
    return float(sum(map(Fraction, listed), Fraction(0)) / len(listed))


def near(a: float, b: float, tolerance: float = 1e-12) -> bool:
    """Equal within a tolerance (relative above 1); two NaN are equal."""
    return abs(a - b) <= tolerance * max(1.0, abs(b)) or (math.isnan(a) and math.isnan(b))


def tie_groups(labels: Sequence[Any], scores: Sequence[float]) -> list[list[Any]]:
    """Return the labels of equal scores together, highest score first."""
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
    """Return the rows in rank order, query by query: score descending, then the rule for ties."""
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
    """Return the first row that repeats a document of its query, and the row of its first occurrence."""
    for first, last in itertools.pairwise(offsets):
        counts: dict[str, int] = {}
        for row in range(first, last):
            if ids[row] in counts:
                return counts[ids[row]], row
            counts[ids[row]] = row
    return -1, -1
