"""FRank: boosting on pairs of documents with the bounded fidelity loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.kernels import optimisers as kernel
from pippin.kernels.optimisers import Stump
from pippin.rankers.base import register
from pippin.rankers.parameters import check_minima, one_of, parameter
from pippin.rankers.stumps import StumpRanker, WeakRanker
from pippin.rankers.training_data import MAX_PAIRS, describe_sample, sample_documents

F64 = NDArray[np.float64]
U8 = NDArray[np.uint8]

SMOOTHING = 1e-6  # keeps α finite if a stump misorders no pair
MAX_ALPHA = 4.0  # upper bound of |α|
MAX_CANDIDATES = 4  # features whose best stump is evaluated by the loss


@register("frank")
class FRank(StumpRanker):
    """Boosting on pairs with the fidelity loss, which is bounded for misordered pairs.

    Minimises J = Σ_q 1/Q Σ_pairs 1/|P_q| (1 − (1 + e^−S)^−½), S = H_i − H_j, by adding α h, h in {0, 1} (Tsai et al.
    2007, section 3.2). With W = D e^−S (1 + e^−S)^−3/2 the closed form is α = ½ ln(Σ W of pairs ordered correctly /
    Σ W of pairs misordered). A step that would increase J is halved until it does not.
    """

    source = "Tsai, Liu, Qin, Chen & Ma 2007"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"stump_selection": ("loss", "gradient")}
    cost_ms = 70

    rounds: int = parameter(200, "maximum number of weak rankers; a validation set selects the number")
    stump_selection: str = parameter(
        "loss", 'next stump: "loss" (least J of the best candidates) or "gradient" (steepest; fast)'
    )
    alpha_method: str = parameter(
        "paper", '"paper" (closed form), "newton" (one step), or "exact" (least J along the stump)'
    )
    early_stopping_rounds: int | None = parameter(
        40, "rounds without improvement on the validation set before training stops; None: never"
    )

    max_pairs: int | None = parameter(
        MAX_PAIRS, "pairs of documents to learn from; larger data are sampled, equally by query and label. None: all"
    )

    def _check(self) -> None:
        super()._check()
        check_minima(self, max_pairs=1)
        one_of(self, stump_selection=("gradient", "loss"), alpha_method=("paper", "newton", "exact"))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        sample = sample_documents(train, self.max_pairs)
        self.reasons_ = describe_sample(train, sample)
        super()._fit(sample, valid)

    def _loss(self, scores: F64) -> float:
        self._last, self._potential = kernel.fidelity(self._paired.levels, scores)
        return self._last

    def _next_weak_ranker(self, scores: F64) -> tuple[WeakRanker, F64] | None:
        # _loss was computed at these scores and stored the potential.
        # Step 1: choose stumps for the current pair weights. Step 2: find α for each, by its formula and then by
        # halving until the loss decreases. Step 3: add the stump with the least loss.
        candidates = self._candidates(scores)
        best: tuple[float, Stump, float] | None = None
        for stump in candidates:
            h = self._evaluate_stump(stump)
            alpha = self._descend(scores, h, self._alpha(scores, h))
            if alpha is not None and (best is None or alpha[1] < best[0]):
                best = (alpha[1], stump, alpha[0])
        if best is None:
            return None
        return self._make_weak_ranker(best[1], best[2]), self._evaluate_stump(best[1]).astype(np.float64)

    def _candidates(self, scores: F64) -> list[Stump]:
        if self.stump_selection == "gradient":
            stump = kernel.search_potential(self._codes, self._bins.counts, self._potential, False)
            return [stump] if stump.column >= 0 else []
        thresholds, gains = kernel.fidelity_search(self._paired.levels, self._codes, self._bins.counts, scores)
        order = np.argsort(-np.abs(gains), kind="stable")[:MAX_CANDIDATES]
        return [Stump(int(c), int(thresholds[c]), float(gains[c])) for c in order if gains[c] != 0]

    def _alpha(self, scores: F64, h: U8) -> float:
        levels = self._paired.levels
        plus, minus, curvature = kernel.fidelity_split(levels, scores, h)
        closed = closed_alpha(plus, minus)
        if self.alpha_method == "paper":
            return closed
        if self.alpha_method == "newton":
            return _clip((plus - minus) / 2 / curvature) if curvature > 0 else closed
        return exact_alpha(lambda step: kernel.fidelity_split(levels, scores, h, step), closed)

    def _descend(self, scores: F64, h: U8, alpha: float) -> tuple[float, float] | None:
        """Return α, halved until the loss decreases, and that loss; None if no step decreases it."""
        for _ in range(30):
            if alpha == 0:
                return None
            loss = kernel.fidelity_loss(self._paired.levels, scores + alpha * h)
            if loss < self._last:
                return alpha, loss
            alpha /= 2
        return None

    def _free_training_state(self) -> None:
        super()._free_training_state()
        for name in ("_last", "_potential"):
            self.__dict__.pop(name, None)


def _clip(alpha: float) -> float:
    return min(MAX_ALPHA, max(-MAX_ALPHA, alpha))


def closed_alpha(plus: float, minus: float) -> float:
    """Return α = ½ ln(W₊ / W₋) with smoothing, between -4 and 4.

    >>> closed_alpha(1.0, 0.0), closed_alpha(0.5, 0.5)
    (4.0, 0.0)
    """
    return _clip(0.5 * math.log((plus + SMOOTHING) / (minus + SMOOTHING)))


def exact_alpha(split: Callable[[float], tuple[float, float, float]], start: float) -> float:
    """Return the α with the least loss along a stump: the first zero of dJ/dα = (W₋ − W₊) / 2, by guarded Newton."""
    if start == 0:
        return 0.0
    sign = math.copysign(1.0, start)
    low, high, alpha = 0.0, MAX_ALPHA, abs(start)
    for _ in range(40):
        plus, minus, curvature = split(sign * alpha)
        slope = sign * (minus - plus) / 2
        if slope < 0:
            low = alpha
        else:
            high = alpha
        if abs(slope) <= 1e-9 or high - low <= 1e-7:
            break
        newton = alpha - slope / curvature if curvature > 0 else math.inf
        if low < newton < high:
            alpha = newton
        else:
            alpha = min(high, 4 * alpha) if slope < 0 and high == MAX_ALPHA and 4 * alpha < high else (low + high) / 2
    return sign * alpha
