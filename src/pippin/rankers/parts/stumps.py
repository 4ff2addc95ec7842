"""Rankers that add up stumps: "feature f is above θ" counts α. What RankBoost and FRank share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.evaluation.convention import Convention
from pippin.kernels.boosting import Stump
from pippin.kernels.forest import Forest, Missing, Trees
from pippin.rankers.base import QUICK_ROUNDS, Features, Ranker
from pippin.rankers.parts.bins import Paired, cut, pair
from pippin.rankers.parts.finite import check_finite
from pippin.rankers.parts.parameters import at_least, one_of, parameter
from pippin.rankers.parts.states import number, numbers, place
from pippin.rankers.parts.watch import Watch

F64 = NDArray[np.float64]
U8 = NDArray[np.uint8]


@dataclass(frozen=True)
class Weak:
    """A weak ranker: h = 1 where the feature is above the threshold, or NULL and `null` is set; else 0.

    With `high`, h grows from 0 at the threshold to 1 at `high` instead.
    """

    feature: int
    threshold: float
    null: bool
    alpha: float
    high: float | None = None

    def of(self, column: NDArray[np.floating[Any]]) -> F64:
        """h of each value.

        >>> Weak(0, 1.0, True, 0.5).of(np.array([1.0, 2.0, np.nan])).tolist()
        [0.0, 1.0, 1.0]
        >>> Weak(0, 1.0, False, 0.5, high=3.0).of(np.array([1.0, 2.0, 9.0, np.nan])).tolist()
        [0.0, 0.5, 1.0, 0.0]
        """
        if self.high is None:
            h = (column > self.threshold).astype(np.float64)
        else:
            h = np.clip((column.astype(np.float64) - self.threshold) / (self.high - self.threshold), 0.0, 1.0)
        h[np.isnan(column)] = float(self.null)
        return h


def _trees(stumps: Sequence[Weak]) -> Trees:
    ways = [Missing.NAN_RIGHT if weak.null else Missing.NAN_LEFT for weak in stumps]
    return Trees(
        np.full(len(stumps), 2, np.int64), np.array([weak.feature for weak in stumps], np.int32),
        np.array([weak.threshold for weak in stumps], np.float64), np.array(ways, np.uint8),
        np.full(len(stumps), -1, np.int32), np.full(len(stumps), -2, np.int32),
        np.array([value for weak in stumps for value in (0.0, weak.alpha)], np.float64),
    )  # fmt: skip


class StumpRanker(Ranker):
    """score(x) = Σ α_t h_t(x). A subclass says how to find the next stump and its α."""

    takes_null = True
    by_rounds = True
    takes_weights = True
    quick_limits: ClassVar[Mapping[str, int]] = {**QUICK_ROUNDS, "thresholds": 63}

    rounds: int = parameter(300, "weak rankers at most; a validation set chooses how many")
    thresholds: int = parameter(255, "per feature, up to 255")
    spacing: str = parameter("equal", '"equal": equally spaced values; "quantile": equally many documents between them')
    patience: int | None = parameter(None, "rounds without a better validation measure before stopping; None: never")
    measure: str = parameter("MAP", "on the validation set")
    convention: str | Convention = parameter("official", "of that measure")
    verbose: bool = parameter(False, "show a bar")

    def _begin(self, train: Dataset, paired: Paired) -> None:
        """Prepare a search for weak rankers on these rows."""
        self._paired = paired
        self._bins = cut(train.features, paired.rows, self.thresholds, self.spacing)
        self._codes = self._bins.codes(train.features, paired.rows)

    def _next(self, scores: F64) -> tuple[Weak, F64] | None:
        """The next weak ranker and its h on the training rows, given the scores so far; None: nothing helps more."""
        raise NotImplementedError

    def _loss(self, scores: F64) -> float:
        """What every round brings down."""
        raise NotImplementedError

    def _pair_weight(self) -> str:
        return "queries"

    def _check(self) -> None:
        at_least(self, rounds=1)
        one_of(self, spacing=("equal", "quantile"))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        paired = pair(train, self._pair_weight())
        self._begin(train, paired)
        scores, watched = np.zeros(len(paired.rows)), np.zeros(0 if valid is None else len(valid))
        self.stumps_: list[Weak] = []
        self.losses_ = [self._loss(scores)]  # before the first round and after each
        with Watch(
            valid, self.measure, self.convention, self.rounds, self.patience, verbose=self.verbose, title=self.name
        ) as watch:
            for _ in range(self.rounds):
                chosen = self._next(scores)
                if chosen is None:
                    break
                weak, h = chosen
                scores += weak.alpha * h
                self.stumps_.append(weak)
                check_finite("a score", scores)
                self.losses_.append(self._loss(scores))
                if valid is not None:
                    np.add(watched, weak.alpha * weak.of(valid.features[:, weak.feature]), out=watched)
                if watch.after(lambda: watched):
                    break
        self.curve_ = watch.curve
        self.stumps_ = self.stumps_[: watch.best + 1]
        self._end()
        self._loaded()

    def _h(self, stump: Stump) -> U8:
        """h of a stump on the training rows."""
        h: U8 = (self._codes[stump.column] > stump.threshold).astype(np.uint8)
        return h

    def _weak(self, stump: Stump, alpha: float) -> Weak:
        """The stump in terms of the feature's own values."""
        f = int(self._bins.feature[stump.column])
        threshold = float(self._bins.thresholds[f][stump.threshold])
        return Weak(f, threshold, bool(self._bins.null_above[stump.column]), alpha)

    def _end(self) -> None:
        """Let go of what only training needed."""
        for name in ("_paired", "_bins", "_codes"):
            self.__dict__.pop(name, None)

    def _predict(self, features: Features) -> F64:
        forest = self._loaded()
        if forest is not None:
            return forest.scores(features)
        scores = np.zeros(len(features))
        columns = {f: np.ascontiguousarray(features[:, f]) for f in {weak.feature for weak in self.stumps_}}
        for weak in self.stumps_:  # in the order of training, so that the scores are those of training
            scores += weak.alpha * weak.of(columns[weak.feature])
        return scores

    def _loaded(self) -> Forest | None:
        """The stumps as trees of two leaves, 0 and α, in the order of training; None where h grows with the value."""
        held: tuple[list[Weak], Forest | None] | None = vars(self).get("_read")
        if held is None or held[0] is not self.stumps_:
            ramps = any(weak.high is not None for weak in self.stumps_)
            forest = None if ramps else Forest([_trees(self.stumps_)], len(self.feature_names_))
            held = self._read = (self.stumps_, forest)
        return held[1]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_read"}

    def _state(self) -> dict[str, Any]:
        stumps = [[self.feature_names_[s.feature], s.threshold, s.null, s.alpha, s.high] for s in self.stumps_]
        return {"stumps": stumps, "losses": self.losses_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.stumps_ = [self._stump(*stump) for stump in state["stumps"]]
        self.losses_ = numbers(state["losses"]).tolist()
        self._loaded()

    def _stump(self, feature: Any, threshold: Any, null: Any, alpha: Any, high: Any) -> Weak:
        """A stump of a model file."""
        if not isinstance(null, bool) or (high is not None and number(high) <= number(threshold)):
            raise ValueError(f"a stump of feature {feature!r} is none")
        f = place(feature, self.feature_names_)
        return Weak(f, number(threshold), null, number(alpha), None if high is None else number(high))

    def importance(self) -> dict[str, float]:
        """The sum of |α| over the stumps of each feature."""
        sums = np.zeros(len(self.feature_names_))
        for weak in self.stumps_:
            sums[weak.feature] += abs(weak.alpha)
        return dict(zip(self.feature_names_, sums.tolist(), strict=True))
