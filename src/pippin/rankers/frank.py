"""FRank: boosting on pairs of documents with the fidelity loss, which forgives pairs that are hopelessly wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.kernels import boosting as kernel
from pippin.kernels.boosting import Stump
from pippin.rankers.base import register
from pippin.rankers.parts.parameters import one_of, parameter
from pippin.rankers.parts.stumps import StumpRanker, Weak

F64 = NDArray[np.float64]
U8 = NDArray[np.uint8]

SMOOTHING = 1e-6  # keeps α finite where a stump puts no pair wrong
LARGEST = 4.0  # |α| at most
LOOKED_AT = 4  # features whose best stump is tried out where the loss selects


@register("frank")
class FRank(StumpRanker):
    """Boosting on pairs with a loss that forgives pairs which are hopelessly wrong.

    Minimises J = Σ_q 1/Q Σ_pairs 1/|P_q| (1 − (1 + e^−S)^−½), S = H_i − H_j, by adding α h, h in {0, 1}. With W = D
    e^−S (1 + e^−S)^−3/2 the closed step is α = ½ ln(Σ W of pairs put right / Σ W of pairs put wrong). A step that would
    raise J is halved until it does not.
    """

    source = "Tsai, Liu, Qin, Chen & Ma 2007"
    grid: ClassVar[Mapping[str, Sequence[Any]]] = {"select": ("loss", "gradient")}
    milliseconds = 70

    rounds: int = parameter(200, "weak rankers at most; a validation set chooses how many")
    select: str = parameter(
        "loss", 'of the next stump: "loss" (least J of the promising ones) or "gradient" (steepest; fast)'
    )
    alpha: str = parameter("paper", '"paper" (closed form), "newton" (one step), or "exact" (least J along the stump)')
    patience: int | None = parameter(40, "rounds without a better validation measure before stopping; None: never")

    def _check(self) -> None:
        super()._check()
        one_of(self, select=("gradient", "loss"), alpha=("paper", "newton", "exact"))

    def _loss(self, scores: F64) -> float:
        self._last, self._potential = kernel.fidelity(self._paired.levels, scores)
        return self._last

    def _next(self, scores: F64) -> tuple[Weak, F64] | None:
        # _loss has just been asked for these scores, and left the potential.
        candidates = self._candidates(scores)
        best: tuple[float, Stump, float] | None = None
        for stump in candidates:
            h = self._h(stump)
            alpha = self._descend(scores, h, self._alpha(scores, h))
            if alpha is not None and (best is None or alpha[1] < best[0]):
                best = (alpha[1], stump, alpha[0])
        if best is None:
            return None
        return self._weak(best[1], best[2]), self._h(best[1]).astype(np.float64)

    def _candidates(self, scores: F64) -> list[Stump]:
        if self.select == "gradient":
            stump = kernel.search_potential(self._codes, self._bins.counts, self._potential, False)
            return [stump] if stump.column >= 0 else []
        thresholds, gains = kernel.fidelity_search(self._paired.levels, self._codes, self._bins.counts, scores)
        order = np.argsort(-np.abs(gains), kind="stable")[:LOOKED_AT]
        return [Stump(int(c), int(thresholds[c]), float(gains[c])) for c in order if gains[c] != 0]

    def _alpha(self, scores: F64, h: U8) -> float:
        levels = self._paired.levels
        plus, minus, curvature = kernel.fidelity_split(levels, scores, h)
        closed = closed_alpha(plus, minus)
        if self.alpha == "paper":
            return closed
        if self.alpha == "newton":
            return _capped((plus - minus) / 2 / curvature) if curvature > 0 else closed
        return least(lambda step: kernel.fidelity_split(levels, scores, h, step), closed)

    def _descend(self, scores: F64, h: U8, alpha: float) -> tuple[float, float] | None:
        """α, halved until the loss does not rise, and the loss there; None where no step helps."""
        for _ in range(30):
            if alpha == 0:
                return None
            loss = kernel.fidelity_loss(self._paired.levels, scores + alpha * h)
            if loss < self._last:
                return alpha, loss
            alpha /= 2
        return None

    def _end(self) -> None:
        super()._end()
        for name in ("_last", "_potential"):
            self.__dict__.pop(name, None)


def _capped(alpha: float) -> float:
    return min(LARGEST, max(-LARGEST, alpha))


def closed_alpha(plus: float, minus: float) -> float:
    """α = ½ ln(W₊ / W₋), both smoothed, at most 4 in size.

    >>> closed_alpha(1.0, 0.0), closed_alpha(0.5, 0.5)
    (4.0, 0.0)
    """
    return _capped(0.5 * math.log((plus + SMOOTHING) / (minus + SMOOTHING)))


def least(split: Callable[[float], tuple[float, float, float]], start: float) -> float:
    """The α of the least loss along a stump: the first zero of dJ/dα = (W₋ − W₊) / 2 beyond 0, by guarded Newton."""
    if start == 0:
        return 0.0
    sign = math.copysign(1.0, start)
    low, high, alpha = 0.0, LARGEST, abs(start)
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
            alpha = min(high, 4 * alpha) if slope < 0 and high == LARGEST and 4 * alpha < high else (low + high) / 2
    return sign * alpha
