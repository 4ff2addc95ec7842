"""Decision stumps on single features, the weak rankers of RankBoost and FRank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset, rows_of_queries
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.kernels.optimisers import Levels, Stump
from pippin.kernels.scoring import Forest, Missing, Trees
from pippin.models.model import Layer, Model, NeuralNetwork, TreeEnsemble, make_tree
from pippin.rankers.base import (
    QUICK_ROUNDS,
    EarlyStopping,
    Features,
    Ranker,
    check_finite,
    feature_index,
    read_number,
    read_numbers,
)
from pippin.rankers.parameters import check_minima, one_of, parameter
from pippin.rankers.training_data import query_weights

U8 = NDArray[np.uint8]
F64 = NDArray[np.float64]
MAX_THRESHOLDS = 255  # codes are stored in one byte


@dataclass(frozen=True, eq=False)
class Bins:
    """Thresholds of each feature, and the columns of the search."""

    thresholds: tuple[F64, ...]  # ascending, by feature
    feature: NDArray[np.int64]  # [column]
    null_above: NDArray[np.bool_]  # [column] whether NULL is above all thresholds, or below
    counts: NDArray[np.int32]  # [column] number of thresholds

    def codes(self, features: NDArray[np.floating[Any]], rows: NDArray[np.int64] | None = None) -> U8:
        """Return the number of thresholds below the value, [column, row]."""
        height = len(features) if rows is None else len(rows)
        codes = np.empty((len(self.feature), height), np.uint8)
        for column, (f, above) in enumerate(zip(self.feature, self.null_above, strict=True)):
            values = features[:, f] if rows is None else features[rows, f]
            codes[column] = np.searchsorted(self.thresholds[f], values, side="left")
            missing = np.isnan(values)
            if missing.any():
                codes[column, missing] = MAX_THRESHOLDS if above else 0
        return codes


def make_bins(features: NDArray[np.floating[Any]], rows: NDArray[np.int64], max_thresholds: int, spacing: str) -> Bins:
    """Return bins with up to `max_thresholds` per feature, equally spaced or at quantiles of the training rows."""
    if not 1 <= max_thresholds <= MAX_THRESHOLDS:
        raise DataError(f"num_thresholds must be between 1 and {MAX_THRESHOLDS}, got {max_thresholds}")
    thresholds, feature, null_above = [], [], []
    for f in range(features.shape[1]):
        column = features[rows, f].astype(np.float64)
        values = column[~np.isnan(column)]
        thresholds.append(_thresholds(values, max_thresholds, spacing))
        null_above.append(False)
        feature.append(f)
        if len(values) < len(column) and len(values):
            null_above.append(True)
            feature.append(f)
    counts = [len(thresholds[f]) for f in feature]
    return Bins(tuple(thresholds), np.array(feature), np.array(null_above, bool), np.array(counts, np.int32))


def _thresholds(values: F64, most: int, spacing: str) -> F64:
    """Return ascending thresholds, each below at least one value."""
    if not len(values):
        return np.empty(0)
    low, high = float(values.min()), float(values.max())
    if low == high:
        # A threshold below a constant still separates it from NULL.
        return np.array([low - 1.0])
    if spacing == "equal":
        thresholds = low + (high - low) * np.arange(most) / (most + 1)
    else:
        values = np.unique(values)
        thresholds = (
            values[:-1] if len(values) - 1 <= most else np.quantile(values, np.arange(most) / most, method="lower")
        )
    return np.unique(thresholds[thresholds < high])


@dataclass(frozen=True, eq=False)
class PairData:
    """Training rows of queries with several labels, by descending label."""

    rows: NDArray[np.int64]  # rows of the data set
    levels: Levels
    least: float  # minimum weight of a pair in a query of weight 1


def make_pairs(data: Dataset, weighting: str) -> PairData:
    """Sort rows by label. The weight of a pair is 1 / pairs ("pair") or 1 / (queries * pairs of its query) ("query").

    A query with weight w counts as w queries.
    """
    lengths = np.diff(data.offsets)
    query = np.repeat(np.arange(data.queries), lengths)
    order = np.lexsort((-data.labels.astype(np.int64), query))
    labels, query = data.labels[order], query[order]
    first = np.ones(len(labels), bool)
    first[1:] = (labels[1:] != labels[:-1]) | (query[1:] != query[:-1])
    blocks = np.bincount(query[np.flatnonzero(first)], minlength=data.queries)
    informative = np.flatnonzero(blocks > 1)
    if not len(informative):
        raise DataError("every query of the training set has labels of only one class: no pairs to learn from")
    rows = rows_of_queries(data.offsets, informative)
    starts = np.flatnonzero(first[rows])
    cuts = np.append(starts, len(rows)).astype(np.int64)
    queries = np.concatenate(([0], np.cumsum(blocks[informative]))).astype(np.int64)
    sizes = np.diff(cuts).astype(np.float64)
    squares = np.add.reduceat(sizes**2, queries[:-1])
    pairs = (lengths[informative].astype(np.float64) ** 2 - squares) / 2
    weights = query_weights(data)
    if weights is None:
        weights = (
            np.full(len(informative), 1.0 / pairs.sum()) if weighting == "pair" else 1.0 / (len(informative) * pairs)
        )
        return PairData(order[rows], Levels(cuts, queries, weights), float(weights.min()))
    weights = weights[informative]
    pair_weights = (
        np.full(len(informative), 1.0 / (weights @ pairs)) if weighting == "pair" else 1.0 / (weights.sum() * pairs)
    )
    return PairData(order[rows], Levels(cuts, queries, weights * pair_weights), float(pair_weights.min()))


@dataclass(frozen=True)
class WeakRanker:
    """A weak ranker: h = 1 if the feature is above the threshold, or is NULL and `null` is set; otherwise 0.

    With `high`, h grows from 0 at the threshold to 1 at `high` instead.
    """

    feature: int
    threshold: float
    null: bool
    alpha: float
    high: float | None = None

    def of(self, column: NDArray[np.floating[Any]]) -> F64:
        """Return h of each value.

        >>> WeakRanker(0, 1.0, True, 0.5).of(np.array([1.0, 2.0, np.nan])).tolist()
        [0.0, 1.0, 1.0]
        >>> WeakRanker(0, 1.0, False, 0.5, high=3.0).of(np.array([1.0, 2.0, 9.0, np.nan])).tolist()
        [0.0, 0.5, 1.0, 0.0]
        """
        if self.high is None:
            h = (column > self.threshold).astype(np.float64)
        else:
            h = np.clip((column.astype(np.float64) - self.threshold) / (self.high - self.threshold), 0.0, 1.0)
        h[np.isnan(column)] = float(self.null)
        return h


def _stump_trees(stumps: Sequence[WeakRanker]) -> Trees:
    ways = [Missing.NAN_RIGHT if weak.null else Missing.NAN_LEFT for weak in stumps]
    return Trees(
        np.full(len(stumps), 2, np.int64), np.array([weak.feature for weak in stumps], np.int32),
        np.array([weak.threshold for weak in stumps], np.float64), np.array(ways, np.uint8),
        np.full(len(stumps), -1, np.int32), np.full(len(stumps), -2, np.int32),
        np.array([value for weak in stumps for value in (0.0, weak.alpha)], np.float64),
    )  # fmt: skip


class StumpRanker(Ranker):
    """score(x) = Σ α_t h_t(x); subclasses search the next stump and its α."""

    allow_nan = True
    is_iterative = True
    supports_sample_weight = True
    small_limits: ClassVar[Mapping[str, int]] = {**QUICK_ROUNDS, "num_thresholds": 63}

    rounds: int = parameter(300, "maximum number of weak rankers; a validation set selects the number")
    num_thresholds: int = parameter(255, "thresholds per feature, up to 255")
    threshold_spacing: str = parameter(
        "equal", '"equal": equally spaced values; "quantile": quantiles of the documents'
    )
    early_stopping_rounds: int | None = parameter(
        None, "rounds without improvement on the validation set before training stops; None: never"
    )
    measure: str = parameter("MAP", "measure for early stopping")
    convention: str | Convention = parameter("official", "convention of the measure")
    verbose: bool = parameter(False, "show progress")

    def _prepare(self, train: Dataset, paired: PairData) -> None:
        """Prepare a search for weak rankers on these rows."""
        self._paired = paired
        self._bins = make_bins(train.features, paired.rows, self.num_thresholds, self.threshold_spacing)
        self._codes = self._bins.codes(train.features, paired.rows)

    def _next_weak_ranker(self, scores: F64) -> tuple[WeakRanker, F64] | None:
        """Return the next weak ranker and its h on the training rows, or None if none decreases the loss."""
        raise NotImplementedError

    def _loss(self, scores: F64) -> float:
        """Return the loss that each round decreases."""
        raise NotImplementedError

    def _pair_weighting(self) -> str:
        return "query"

    def _check(self) -> None:
        check_minima(self, rounds=1)
        one_of(self, threshold_spacing=("equal", "quantile"))

    def _fit(self, train: Dataset, valid: Dataset | None) -> None:
        pair_data = make_pairs(train, self._pair_weighting())
        self._prepare(train, pair_data)
        scores, valid_scores = np.zeros(len(pair_data.rows)), np.zeros(0 if valid is None else len(valid))
        self.stumps_: list[WeakRanker] = []
        self.losses_ = [self._loss(scores)]  # before the first round and after each
        with EarlyStopping.of(self, valid) as stopping:
            for _ in range(self.rounds):
                next_ranker = self._next_weak_ranker(scores)
                if next_ranker is None:
                    break
                weak, h = next_ranker
                scores += weak.alpha * h
                self.stumps_.append(weak)
                check_finite("a score", scores)
                self.losses_.append(self._loss(scores))
                if valid is not None:
                    np.add(valid_scores, weak.alpha * weak.of(valid.features[:, weak.feature]), out=valid_scores)
                if stopping.update(lambda: valid_scores):
                    break
        self.curve_ = stopping.curve
        self.stumps_ = self.stumps_[: stopping.best + 1]
        self._free_training_state()
        self._load_trees()

    def _evaluate_stump(self, stump: Stump) -> U8:
        """Return h of a stump on the training rows."""
        h: U8 = (self._codes[stump.column] > stump.threshold).astype(np.uint8)
        return h

    def _make_weak_ranker(self, stump: Stump, alpha: float) -> WeakRanker:
        """Return the weak ranker of a stump."""
        f = int(self._bins.feature[stump.column])
        threshold = float(self._bins.thresholds[f][stump.threshold])
        return WeakRanker(f, threshold, bool(self._bins.null_above[stump.column]), alpha)

    def _free_training_state(self) -> None:
        """Delete the state of training."""
        for name in ("_paired", "_bins", "_codes"):
            self.__dict__.pop(name, None)

    def _predict(self, features: Features) -> F64:
        forest = self._load_trees()
        if forest is not None:
            return forest.scores(features)
        scores = np.zeros(len(features))
        columns = {f: np.ascontiguousarray(features[:, f]) for f in {weak.feature for weak in self.stumps_}}
        for weak in self.stumps_:  # in the order of training, for equal bits
            scores += weak.alpha * weak.of(columns[weak.feature])
        return scores

    def _load_trees(self) -> Forest | None:
        """Return the stumps as trees of two leaves, 0 and α, in the order of training; None for continuous h."""
        cached: tuple[list[WeakRanker], Forest | None] | None = vars(self).get("_read")
        if cached is None or cached[0] is not self.stumps_:
            has_ramps = any(weak.high is not None for weak in self.stumps_)
            forest = None if has_ramps else Forest([_stump_trees(self.stumps_)], len(self.feature_names_))
            cached = self._read = (self.stumps_, forest)
        return cached[1]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_read"}

    def _to_model(self) -> Model:
        if any(weak.high is not None for weak in self.stumps_):
            return self._ramps_to_network()
        # A stump is 0 up to the threshold and alpha above it.
        trees = tuple(
            make_tree([weak.feature], [weak.threshold], [-1], [-2], [not weak.null], [0.0, weak.alpha])
            for weak in self.stumps_
        )
        return TreeEnsemble(self.feature_names_, (trees,))

    def _ramps_to_network(self) -> NeuralNetwork:
        """Return ramps as two rectified units each: alpha (r(x - threshold) - r(x - high)) / (high - threshold)."""
        if any(weak.null for weak in self.stumps_):
            raise DataError(
                f"{self.name} cannot be exported: it treats NULL as a high value of a continuous weak ranker"
            )
        width = len(self.feature_names_)
        ramps = [weak for weak in self.stumps_ if weak.high is not None]
        matrix, bias, out = np.zeros((width, 2 * len(ramps))), np.zeros(2 * len(ramps)), np.zeros((2 * len(ramps), 1))
        for i, weak in enumerate(ramps):
            high = float(weak.high or 0.0)
            matrix[weak.feature, 2 * i : 2 * i + 2] = 1 / (high - weak.threshold)
            bias[2 * i] = -weak.threshold / (high - weak.threshold)
            bias[2 * i + 1] = -high / (high - weak.threshold)
            out[2 * i], out[2 * i + 1] = weak.alpha, -weak.alpha
        layers = (Layer(matrix, bias, "relu"), Layer(out, np.zeros(1)))
        return NeuralNetwork(self.feature_names_, layers, np.zeros(width), np.ones(width))

    def _state(self) -> dict[str, Any]:
        stumps = [[self.feature_names_[s.feature], s.threshold, s.null, s.alpha, s.high] for s in self.stumps_]
        return {"stumps": stumps, "losses": self.losses_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.stumps_ = [self._stump(*stump) for stump in state["stumps"]]
        self.losses_ = read_numbers(state["losses"]).tolist()
        self._load_trees()

    def _stump(self, feature: Any, threshold: Any, null: Any, alpha: Any, high: Any) -> WeakRanker:
        """Return a stump of a model file."""
        if not isinstance(null, bool) or (high is not None and read_number(high) <= read_number(threshold)):
            raise ValueError(f"invalid stump of feature {feature!r}")
        f = feature_index(feature, self.feature_names_)
        return WeakRanker(
            f, read_number(threshold), null, read_number(alpha), None if high is None else read_number(high)
        )

    def importance(self) -> dict[str, float]:
        """Return the sum of |α| over the stumps of each feature."""
        sums = np.zeros(len(self.feature_names_))
        for weak in self.stumps_:
            sums[weak.feature] += abs(weak.alpha)
        return dict(zip(self.feature_names_, sums.tolist(), strict=True))
