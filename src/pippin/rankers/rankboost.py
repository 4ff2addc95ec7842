"""RankBoost: boosting on pairs of documents with single-feature weak rankers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.kernels import optimisers as kernel
from pippin.rankers.base import register
from pippin.rankers.parameters import one_of, parameter
from pippin.rankers.stumps import PairData, StumpRanker, WeakRanker

F64 = NDArray[np.float64]
MAX_R = 1.0 - 1e-12  # upper bound of |r|, which keeps α finite


@register("rankboost")
class RankBoost(StumpRanker):
    """Boosting on pairs with rules on single features.

    Minimises Σ D(i, j) exp(H_j − H_i) over pairs i ≻ j of one query by adding α h, h in {0, 1}, in each round (Freund
    et al. 2003, section 3). The pair weights factorise, D_t(i, j) = D(i, j) e^(H_j − H_i) / Z (section 3.3), so a
    round costs one pass over the rows. Third method (section 3.2): the h with the largest |r|, r = Σ_i π_i h(x_i),
    π_i = Σ_j D_t(i, j) − D_t(j, i), and α = ½ ln((1 + r) / (1 − r)). Exact method: the h with the least
    W0 + 2 √(W₊W₋), and α = ½ ln(W₊ / W₋).
    """

    source = "Freund, Iyer, Schapire & Singer 2003; 255 thresholds as in LETOR 3.0 (Qin et al. 2010)"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"directions": ("descending", "both")}
    cost_ms = 2

    alpha_method: str = parameter("third", '"third" (by r) or "exact" (by weights of correct and misordered pairs)')
    weak_learner: str = parameter("threshold", '"threshold", or "continuous": the feature scaled to [0, 1]')
    directions: str = parameter(
        "descending", '"descending": larger values always rank higher (α > 0), as in RankLib; or "both"'
    )
    pair_weighting: str = parameter(
        "query", '"query": every query has weight 1, divided among its pairs; "pair": every pair, as in the paper'
    )

    def _check(self) -> None:
        super()._check()
        one_of(self, alpha_method=("third", "exact"), weak_learner=("threshold", "continuous"))
        one_of(self, directions=("both", "descending"), pair_weighting=("query", "pair"))

    def _pair_weighting(self) -> str:
        return self.pair_weighting

    @property
    def _positive_only(self) -> bool:
        return self.directions == "descending"

    def _prepare(self, train: Dataset, paired: PairData) -> None:
        if self.weak_learner == "continuous":
            self._paired = paired
            self._ramps, self._rampings = make_ramps(train, paired)
            return
        super()._prepare(train, paired)
        if self.alpha_method == "exact":
            self._order = kernel.order_codes(paired.levels, self._codes, self._bins.counts)

    def _next_weak_ranker(self, scores: F64) -> tuple[WeakRanker, F64] | None:
        # Freund et al. 2003, Figure 1: choose a weak ranking h for the distribution D over pairs, then its weight α.
        mass = self._mass  # D at these scores, stored by _loss
        if self.weak_learner == "continuous":
            return self._next_continuous(mass.potential)
        if self.alpha_method == "third":  # section 3.2: h with the largest |r|
            stump = kernel.search_potential(self._codes, self._bins.counts, mass.potential, self._positive_only)
            alpha = third_alpha(stump.gain)
        else:  # h with the least W0 + 2 √(W₊W₋), α = ½ ln(W₊ / W₋)
            levels = self._paired.levels
            stump = kernel.search_exact(levels, self._codes, self._bins.counts, self._order, mass, self._positive_only)
            least = self._paired.least  # the weight of one pair keeps α finite
            alpha = 0.5 * math.log((stump.plus + least) / (stump.minus + least))
        return (
            None
            if stump.column < 0 or alpha == 0
            else (self._make_weak_ranker(stump, alpha), self._evaluate_stump(stump).astype(np.float64))
        )

    def _next_continuous(self, potential: F64) -> tuple[WeakRanker, F64] | None:
        """Return the scaled feature with the largest |r|, and its values."""
        gains = kernel.weighted_sums(self._rampings, potential)
        best = int(np.argmax(gains if self._positive_only else np.abs(gains)))
        alpha = third_alpha(float(gains[best]))
        if alpha == 0 or (self._positive_only and alpha < 0):
            return None
        return replace(self._ramps[best], alpha=alpha), self._rampings[best]

    def _loss(self, scores: F64) -> float:
        self._mass = kernel.boost_potential(self._paired.levels, scores)
        return math.log(self._mass.total) + self._mass.shift

    def _free_training_state(self) -> None:
        super()._free_training_state()
        for name in ("_order", "_ramps", "_rampings", "_mass"):
            self.__dict__.pop(name, None)


def third_alpha(r: float) -> float:
    """Return α = ½ ln((1 + r) / (1 − r)), with |r| bounded.

    >>> third_alpha(0.6) == 0.5 * math.log(1.6 / 0.4)
    True
    """
    r = min(MAX_R, max(-MAX_R, r))
    return 0.5 * math.log((1 + r) / (1 - r))


def make_ramps(train: Dataset, paired: PairData) -> tuple[list[WeakRanker], F64]:
    """Return continuous weak rankers, one per feature (two with NULLs), and their values [weak ranker, row]."""
    learners = []
    for f in range(train.features.shape[1]):
        column = train.features[paired.rows, f]
        values = column[~np.isnan(column)]
        if not len(values) or values.min() == values.max():
            continue
        low, high = float(values.min()), float(values.max())
        learners.append(WeakRanker(f, low, False, 0.0, high))
        if len(values) < len(column):
            learners.append(WeakRanker(f, low, True, 0.0, high))
    if not learners:
        raise DataError("every feature is constant: nothing to learn")
    return learners, np.array(
        [weak.of(train.features[paired.rows, weak.feature].astype(np.float64)) for weak in learners]
    )
