"""Search over candidate rankers within a time budget, and blending of the best of them."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.display.terminal import ProgressBar
from pippin.errors import DataError, PippinError, PippinWarning
from pippin.evaluation.evaluation import aggregate
from pippin.evaluation.objective import Objective
from pippin.rankers.base import Ranker, propagate_interrupts
from pippin.rankers.boosting import BoostedRanker, require_comparable_queries
from pippin.rankers.training import standard_error

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
# With a budget, candidates are evaluated on enough folds for so many queries with different labels.
_MIN_EVALUATED_QUERIES = 100
# With a budget, a candidate that trains on so many documents is first timed on every 8th query. Eight times that is up
# to three times too long for trees, which have a fixed cost: only half of it counts against the budget.
_MIN_TIMED_DOCUMENTS, _TIMING_STRIDE, _TIMING_FACTOR = 5_000, 8, 0.5
# Cost of the final training in fits of an inner fold: more documents, but no rounds beyond the best.
_FINAL_FIT_COST = 1.5


@dataclass(frozen=True)
class CandidateSpec:
    """A ranker or chain as text, and the kind of its model."""

    text: str
    kind: str  # "linear", "trees" or "network"

    def __str__(self) -> str:
        return self.text


@dataclass
class Trial:
    """An evaluated candidate: scores of queries by models that were not trained on them."""

    setting: CandidateSpec
    scores: F64
    best: list[int] = field(default_factory=list)  # best number of rounds by inner fold
    seconds: float = 0.0

    @property
    def rounds(self) -> int | None:
        """Return the mean best number of rounds; None for rankers without early stopping."""
        return round(float(np.mean(self.best))) if self.best else None


@dataclass
class TimeBudget:
    """The remaining time of a budget, with a reserve for the final training."""

    budget: float | None
    reserved: float = 0.0  # maximum seconds of training the parts again

    def __post_init__(self) -> None:
        self.start = time.perf_counter()

    def allows(self, seconds: float) -> bool:
        """Return whether so many more seconds fit into the budget."""
        spent = time.perf_counter() - self.start
        return self.budget is None or spent + self.reserved + seconds <= self.budget


@dataclass
class Trials:
    """Evaluates candidates on inner folds: all on the first folds, then fold by fold as long as the budget lasts.

    With a budget, the first folds have at least 100 queries. Candidates whose estimated time exceeds it are `too_slow`,
    those that raise an error `failed`; the others were evaluated on `n_evaluated_folds` folds.
    """

    make_ranker: Callable[[CandidateSpec], Ranker]
    pool: Dataset
    folds: Sequence[I64]
    clock: TimeBudget
    bar: ProgressBar | None = None
    tried: list[Trial] = field(default_factory=list)
    too_slow: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    n_evaluated_folds: int = 0
    is_interrupted: bool = False

    def run(self, candidates: Sequence[CandidateSpec], folds: int) -> None:
        """Evaluate the candidates; Ctrl-C keeps those that are complete."""
        self.n_evaluated_folds = folds if self.clock.budget is None else min(folds, self._minimum_folds())
        try:
            with propagate_interrupts():
                for setting in candidates:
                    if not self._try_candidate(setting):
                        break
                for fold in range(self.n_evaluated_folds, folds):
                    if not self.clock.allows(sum(trial.seconds for trial in self.tried) / fold):
                        break
                    self._evaluate_fold(fold)
                    self.n_evaluated_folds = fold + 1
        except KeyboardInterrupt:
            if not self.tried:
                raise
            self.is_interrupted = True
            warnings.warn(
                f"auto was interrupted after {len(self.tried)} candidates: the best of them are trained on all queries",
                PippinWarning,
                stacklevel=2,
            )
        if not self.tried:
            raise DataError(f"auto: no candidate could be trained: {next(iter(self.failed.values()))}")

    def _minimum_folds(self) -> int:
        """Return the number of folds that have enough queries for an evaluation."""
        comparable = require_comparable_queries(self.pool, "auto")
        counts = np.cumsum([np.isin(fold, comparable).sum() for fold in self.folds])
        return min(len(self.folds), 1 + int(np.searchsorted(counts, _MIN_EVALUATED_QUERIES)))

    def _try_candidate(self, setting: CandidateSpec) -> bool:
        """Evaluate a candidate on the first folds unless it is too slow; return False if the time is up."""
        clock = self.clock if self.tried else TimeBudget(None)
        if not clock.allows(0.0):
            return False
        trial = Trial(setting, np.full(len(self.pool), np.nan))
        try:
            for name in self.make_ranker(setting).requires:
                importlib.import_module(name)  # import time is not training time
            if clock.budget is not None and not clock.allows(
                _TIMING_FACTOR * self._estimate_seconds(setting) * (self.n_evaluated_folds + _FINAL_FIT_COST)
            ):
                self.too_slow.append(str(setting))
                return True
            for fold in range(self.n_evaluated_folds):
                self._evaluate(trial, fold)
                if fold == 0 and not clock.allows(trial.seconds * (self.n_evaluated_folds - 1 + _FINAL_FIT_COST)):
                    self.too_slow.append(str(setting))
                    return True
        except PippinError as error:
            self.failed[str(setting)] = str(error)
            return True
        self.tried.append(trial)
        self.clock.reserved += trial.seconds / self.n_evaluated_folds * _FINAL_FIT_COST
        return True

    def _evaluate_fold(self, fold: int) -> None:
        """Evaluate all candidates on another fold."""
        for trial in list(self.tried):
            try:
                self._evaluate(trial, fold)
            except PippinError as error:
                self.failed[str(trial.setting)] = str(error)
                self.tried.remove(trial)

    def _estimate_seconds(self, setting: CandidateSpec) -> float:
        """Return the estimated seconds of one fold from a sample of its queries; 0 for small data."""
        model = self.make_ranker(setting)
        train_queries, stop_queries = self._split_queries(model, 0)
        documents = len(self.pool) * len(train_queries) // self.pool.queries
        if documents < _MIN_TIMED_DOCUMENTS:
            return 0.0
        if isinstance(model, BoostedRanker):
            model.set_params(**model.resolve_defaults(len(train_queries), documents))
        start = time.perf_counter()
        self._fit(model, train_queries[::_TIMING_STRIDE], stop_queries[::_TIMING_STRIDE])
        return (time.perf_counter() - start) * _TIMING_STRIDE

    def _evaluate(self, trial: Trial, fold: int) -> None:
        """Train a candidate for one fold and score the queries of that fold."""
        start, judged_queries = time.perf_counter(), self.folds[fold]
        model = self.make_ranker(trial.setting)
        self._fit(model, *self._split_queries(model, fold))
        trial.scores[np.isin(self.pool.qid(), judged_queries)] = model.predict(self.pool.select(judged_queries))
        if model.is_iterative and len(model.curve_):
            trial.best.append(1 + int(np.argmax(model.curve_)))
        trial.seconds += time.perf_counter() - start
        if self.bar is not None:
            self.bar.step(str(trial.setting))

    def _split_queries(self, model: Ranker, fold: int) -> tuple[I64, I64]:
        """Return the queries for training and for early stopping (unused by rankers without rounds)."""
        judged_queries, stop_queries = self.folds[fold], self.folds[(fold + 1) % len(self.folds)]
        excluded = np.concatenate((judged_queries, stop_queries)) if model.is_iterative else judged_queries
        return np.setdiff1d(np.arange(self.pool.queries), excluded), stop_queries

    def _fit(self, model: Ranker, train_queries: I64, stop_queries: I64) -> None:
        model.fit(
            self.pool.select(train_queries), eval_set=self.pool.select(stop_queries) if model.is_iterative else None
        )


def split_folds(pool: Dataset, comparable: I64, folds: int, seed: int) -> list[I64]:
    """Split the queries at random into folds with equally many comparable queries, or fewer folds if these are few."""
    generator = np.random.default_rng(seed)
    uninformative = np.setdiff1d(np.arange(pool.queries), comparable)
    order = np.concatenate((generator.permutation(comparable), generator.permutation(uninformative)))
    count = min(folds, len(comparable))
    return [np.sort(order[i::count]) for i in range(count)]


def combine_splits(train: Dataset, valid: Dataset | None) -> Dataset:
    """Concatenate training and validation set; queries are renumbered, because their ids may overlap."""
    parts = [train] if valid is None else [train, valid]
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return Dataset(
        np.concatenate([part.features for part in parts]), np.concatenate([part.labels for part in parts]),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), tuple(map(str, range(len(sizes)))), None,
        train.feature_names, name=train.name,
    )  # fmt: skip


QueryMask = NDArray[np.bool_]  # the queries on which weights are fitted
_MIN_SHARE = 0.01  # parts with a smaller share of the weights are dropped


def score_deviation(scores: F64, offsets: NDArray[np.int64]) -> float:
    """Return the root mean variance of scores within queries; 1 if all scores are equal.

    >>> score_deviation(np.array([1.0, 3.0, 5.0, 5.0]), np.array([0, 2, 4]))
    0.7071067811865476
    """
    sizes = np.diff(offsets)
    filled = sizes > 1
    starts, filled_sizes = offsets[:-1][filled], sizes[filled]
    if not len(starts):
        return 1.0
    is_inside = np.repeat(filled, sizes)
    starts_inside = np.concatenate(([0], np.cumsum(filled_sizes)))[:-1]
    inner_scores = scores[is_inside]
    centered = inner_scores - np.repeat(np.add.reduceat(inner_scores, starts_inside) / filled_sizes, filled_sizes)
    deviation = float(np.sqrt((np.add.reduceat(centered**2, starts_inside) / filled_sizes).mean()))
    return deviation if deviation > 0 else 1.0


class Blender:
    """Rankings of one data set to blend: normalised scores [ranking, document], and their measure by query."""

    def __init__(self, data: Dataset, scores: Sequence[F64], judge: Objective) -> None:
        self.data, self.judge = data, judge
        self.spreads = np.array([score_deviation(ranking, data.offsets) for ranking in scores])
        self.scores = np.array(scores) / self.spreads[:, None]
        self.single_values = np.array([judge.values(ranking) for ranking in self.scores])

    def values(self, weights: F64) -> F64:
        """Return the measure of a blend by query."""
        return self.judge.values(np.ascontiguousarray(weights @ self.scores))

    def order(self, is_allowed: QueryMask) -> NDArray[np.int64]:
        """Return the rankings from best to worst on the allowed queries."""
        return np.argsort([-aggregate(values[is_allowed], "mean") for values in self.single_values], kind="stable")

    def best(self, is_allowed: QueryMask, count: int = 1) -> F64:
        """Return equal weights of the best rankings."""
        weights = np.zeros(len(self.scores))
        weights[self.order(is_allowed)[:count]] = 1.0
        return _normalize(weights)

    def learn_weights(self, is_allowed: QueryMask) -> F64:
        """Return weights that RankSVM learns from the scores (Wolpert 1992); negative ones are set to 0."""
        from pippin.rankers.ranksvm import RankSVM

        columns = np.ascontiguousarray(self.scores.T)
        table = Dataset(columns, self.data.labels, self.data.offsets, self.data.query_ids, self.data.document_ids)
        weights = np.maximum(RankSVM().fit(table.select(np.flatnonzero(is_allowed))).coef_, 0.0)
        return _normalize(weights) if weights.sum() > 0 else self.best(is_allowed)


def _normalize(weights: F64) -> F64:
    shares: F64 = weights / weights.sum()
    return shares


# The first blend is the default, because few queries cannot show that another one is better.
BLENDERS: Mapping[str, Callable[[Blender, QueryMask], F64]] = {
    "weighed by RankSVM": Blender.learn_weights,
    "the mean of the best six": lambda blender, mask: blender.best(mask, 6),
    "the best alone": Blender.best,
}


def blend_label(name: str, candidates: int) -> str:
    """Return the name of a blend; the mean of the best six is the mean of all if there are no more candidates.

    >>> blend_label("the mean of the best six", 5), blend_label("the mean of the best six", 9)
    ('the mean of all 5', 'the mean of the best six')
    """
    return f"the mean of all {candidates}" if name == "the mean of the best six" and candidates <= 6 else name


def select_blender(values: Mapping[str, F64]) -> str:
    """Return the default, or the best of the blends that exceed it by more than one standard error.

    >>> select_blender({"a": np.array([0.5, 0.5, 0.5]), "b": np.array([0.4, 0.5, 0.8]), "c": np.array([0.6, 0.6, 0.7])})
    'c'
    """
    default, *alternatives = values
    gains = {name: values[name] - values[default] for name in alternatives}
    significant = [name for name, gain in gains.items() if aggregate(gain, "mean") > standard_error(gain)]
    return max(significant, key=lambda name: aggregate(gains[name], "mean"), default=default)


def cross_validate_blend(blender: Blender, parts: Sequence[NDArray[np.int64]], name: str) -> F64:
    """Return the measure of a blend by query, with weights fitted without the part of that query."""
    result = np.full(blender.data.queries, np.nan)
    for part in parts:
        is_allowed = np.ones(blender.data.queries, bool)
        is_allowed[part] = False
        result[part] = blender.values(BLENDERS[name](blender, is_allowed))[part]
    return result


def drop_small_weights(weights: F64) -> F64:
    """Return the weights without very small ones, normalised to sum 1."""
    return _normalize(np.where(weights >= _MIN_SHARE * weights.sum(), weights, 0.0))
