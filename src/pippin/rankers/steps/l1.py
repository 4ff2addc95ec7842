"""L1: the features whose weights leave 0 first when the price of weights falls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.kernels.pairs import Pairs, grade
from pippin.rankers.base import Ranker
from pippin.rankers.parts.convex import with_pairs
from pippin.rankers.parts.parameters import above_zero, at_least, parameter
from pippin.rankers.parts.spread import centred, scales
from pippin.rankers.steps.base import Selector, register

F64 = NDArray[np.float64]


@register("l1")
class L1(Selector):
    """Keeps the k features that enter first along the path of a RankSVM with an L1 price.

    Minimises Σ over pairs of max(0, 1 − w·(x_i − x_j))² / pairs + λ Σ |w_f| on features of one scale, from the λ at
    which all weights are 0 downwards; features are kept in the order in which their weights leave 0.
    """

    source = "Tibshirani 1996; for ranking: Lai, Pan, Liu, Lin & Wu 2013 (sparse RankSVM)"
    grid: ClassVar = {"k": (5, 10, 20)}
    quick_grid: ClassVar = {"k": (10,)}
    takes_null = False
    milliseconds = 400

    k: int = parameter(10, "features that are kept, at most as many as enter")
    ratio: float = parameter(0.85, "what λ is multiplied by from one point of the path to the next")
    points: int = parameter(40, "points of the path at most")
    tolerance: float = parameter(1e-5, "change of the objective, as a share of it, at which a point is done")

    def _check(self) -> None:
        at_least(self, k=1, points=1)
        above_zero(self, "ratio", "tolerance")
        if self.ratio >= 1:
            raise DataError(f"{self.name}: ratio is below 1, not {self.ratio}")

    def _choose(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> list[int]:
        entered: list[int] = []
        for _, weights in path(train, self.ratio, self.points, self.tolerance):
            new = [int(i) for i in np.flatnonzero(weights) if i not in entered]
            entered += sorted(new, key=lambda i: (-abs(weights[i]), i))
            if len(entered) >= self.k:
                break
        return entered[: self.k]


def path(train: Dataset, ratio: float, points: int, tolerance: float) -> Iterator[tuple[float, F64]]:
    """λ and the weights on one scale at every point, from just below the λ at which all are 0."""
    loss = PairLoss(train)
    weights = np.zeros(loss.table.shape[1])
    price = float(np.abs(loss.gradient(weights)[1]).max())
    for _ in range(points):
        price *= ratio
        weights = minimise(loss, weights, price, tolerance)
        yield price, weights


class PairLoss:
    """The mean squared hinge of a data set's pairs, by weights of features on one scale."""

    def __init__(self, train: Dataset) -> None:
        data = with_pairs(train)
        table = centred(data, "query")
        self.table = np.ascontiguousarray(table / scales(table))
        levels, counts = grade(data.labels, data.offsets)
        self.pairs, self.count = Pairs(levels, data.offsets, np.ones_like(counts)), float(counts.sum())

    def gradient(self, weights: F64) -> tuple[float, F64]:
        """The loss and its gradient."""
        loss = self.pairs.loss(self.table @ weights, squared=True)
        return loss.value / self.count, (loss.gradient @ self.table) / self.count


def minimise(loss: PairLoss, weights: F64, price: float, tolerance: float, rounds: int = 500) -> F64:
    """Accelerated proximal gradient steps (Beck & Teboulle 2009), as long as they can be without overshooting."""
    point, moved, momentum, length = weights, weights, 1.0, 1.0
    last = loss.gradient(weights)[0] + price * float(np.abs(weights).sum())
    for _ in range(rounds):
        value, slope = loss.gradient(moved)
        while True:
            after = _shrunk(moved - length * slope, length * price)
            step = after - moved
            reached = loss.gradient(after)[0]
            if reached <= value + float(slope @ step) + float(step @ step) / (2 * length) + 1e-15:
                break
            length /= 2
        now = reached + price * float(np.abs(after).sum())
        further = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        momentum, moved, point = further, after + (momentum - 1) / further * (after - point), after
        if now > last:
            momentum, moved = 1.0, after  # the momentum carried too far
        if abs(last - now) <= tolerance * last:
            break
        last = now
    return point


def _shrunk(values: F64, by: float) -> F64:
    """Every value nearer to 0 by so much, and 0 where it would pass it."""
    shrunk: F64 = np.sign(values) * np.maximum(np.abs(values) - by, 0.0)
    return shrunk
