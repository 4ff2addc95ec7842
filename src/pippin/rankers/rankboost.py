"""RankBoost: boosting on pairs of documents with weak rankers that look at one feature each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.kernels import boosting as kernel
from pippin.rankers.base import register
from pippin.rankers.parts.bins import Paired
from pippin.rankers.parts.parameters import one_of, parameter
from pippin.rankers.parts.stumps import StumpRanker, Weak

F64 = NDArray[np.float64]
LARGEST = 1.0 - 1e-12  # |r| at most, so that α stays finite


@register("rankboost")
class RankBoost(StumpRanker):
    """Boosting on pairs: adds rules that each look at one feature.

    Minimises Σ D(i, j) exp(H_j − H_i) over pairs i ≻ j of one query by adding α h, h in {0, 1}, round by round. The
    weights of all pairs factorise, D_t(i, j) = D(i, j) e^(H_j − H_i) / Z, so a round costs one pass over the rows.
    Third method: the h with the largest |r|, r = Σ_i π_i h(x_i), π_i = Σ_j D_t(i, j) − D_t(j, i), and α = ½ ln((1 + r)
    / (1 − r)). Exact method: the h with the least W0 + 2 √(W₊W₋), α = ½ ln(W₊ / W₋).
    """

    source = "Freund, Iyer, Schapire & Singer 2003; 255 thresholds as in LETOR 3.0 (Qin et al. 2010)"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"positive_only": (True, False)}
    milliseconds = 2

    method: str = parameter("third", '"third" (by r) or "exact" (by the weights of pairs put right and wrong)')
    weak: str = parameter("threshold", '"threshold", or "continuous": the feature itself, scaled to 0 … 1')
    positive_only: bool = parameter(True, "a larger value only ever speaks for a document, α > 0, as in RankLib")
    pair_weight: str = parameter("queries", '"queries": all queries alike; "pairs": all pairs alike, as in the paper')

    def _check(self) -> None:
        super()._check()
        one_of(self, method=("third", "exact"), weak=("threshold", "continuous"), pair_weight=("pairs", "queries"))

    def _pair_weight(self) -> str:
        return self.pair_weight

    def _begin(self, train: Dataset, paired: Paired) -> None:
        if self.weak == "continuous":
            self._paired = paired
            self._ramps, self._rampings = ramps(train, paired)
            return
        super()._begin(train, paired)
        if self.method == "exact":
            self._order = kernel.order_codes(paired.levels, self._codes, self._bins.counts)

    def _next(self, scores: F64) -> tuple[Weak, F64] | None:
        mass = self._mass  # _loss has just been asked for these scores
        if self.weak == "continuous":
            return self._next_continuous(mass.potential)
        if self.method == "third":
            stump = kernel.search_potential(self._codes, self._bins.counts, mass.potential, self.positive_only)
            alpha = third_alpha(stump.gain)
        else:
            levels = self._paired.levels
            stump = kernel.search_exact(levels, self._codes, self._bins.counts, self._order, mass, self.positive_only)
            least = self._paired.least  # what one pair weighs keeps α finite
            alpha = 0.5 * math.log((stump.plus + least) / (stump.minus + least))
        return None if stump.column < 0 or alpha == 0 else (self._weak(stump, alpha), self._h(stump).astype(np.float64))

    def _next_continuous(self, potential: F64) -> tuple[Weak, F64] | None:
        """The scaled feature with the largest |r|."""
        gains = kernel.weighted_sums(self._rampings, potential)
        best = int(np.argmax(gains if self.positive_only else np.abs(gains)))
        alpha = third_alpha(float(gains[best]))
        if alpha == 0 or (self.positive_only and alpha < 0):
            return None
        return replace(self._ramps[best], alpha=alpha), self._rampings[best]

    def _loss(self, scores: F64) -> float:
        self._mass = kernel.boost_potential(self._paired.levels, scores)
        return math.log(self._mass.total) + self._mass.shift

    def _end(self) -> None:
        super()._end()
        for name in ("_order", "_ramps", "_rampings", "_mass"):
            self.__dict__.pop(name, None)


def third_alpha(r: float) -> float:
    """α = ½ ln((1 + r) / (1 − r)), finite.

    >>> third_alpha(0.6) == 0.5 * math.log(1.6 / 0.4)
    True
    """
    r = min(LARGEST, max(-LARGEST, r))
    return 0.5 * math.log((1 + r) / (1 - r))


def ramps(train: Dataset, paired: Paired) -> tuple[list[Weak], F64]:
    """Continuous weak rankers, one per feature (two where it has NULLs), and their values [weak ranker, row]."""
    learners = []
    for f in range(train.features.shape[1]):
        column = train.features[paired.rows, f]
        known = column[~np.isnan(column)]
        if not len(known) or known.min() == known.max():
            continue
        low, high = float(known.min()), float(known.max())
        learners.append(Weak(f, low, False, 0.0, high))
        if len(known) < len(column):
            learners.append(Weak(f, low, True, 0.0, high))
    if not learners:
        raise DataError("every feature is constant; there is nothing to learn from")
    return learners, np.array(
        [weak.of(train.features[paired.rows, weak.feature].astype(np.float64)) for weak in learners]
    )
