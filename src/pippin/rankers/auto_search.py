"""Search over candidate rankers within a time budget, and blending of the best of them."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.display.terminal import ProgressBar
from pippin.errors import DataError, PippinError, PippinWarning
from pippin.evaluation.evaluation import aggregate
from pippin.evaluation.objective import Objective
from pippin.rankers.base import Ranker, propagate_interrupts
from pippin.rankers.boosting import BoostedRanker
from pippin.rankers.training import standard_error

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
# Inner folds are evaluated until so many queries with different labels were, because more decide no better.
ENOUGH_QUERIES = 300
# Candidates are first compared on a sample of the training queries with so many documents, if there are twice as many.
_SCREENED_DOCUMENTS = 6_000
# Share of the time that a sample suggests for all queries that counts against a budget: trees have a fixed cost.
_TIMING_FACTOR = 0.5
# Cost of the final training in fits of an inner fold: more documents, but no rounds beyond the best.
_FINAL_FIT_COST = 1.5
# Rounds of trees without improvement before a candidate stops.
_PATIENCE = 30
# Pairs of documents from which candidates are skipped whose cost grows with the pairs.
_MAX_PAIRS = 100_000
_SLOW = ("approxndcg", "gas")
_HALVINGS = 2  # folds before which the better half of the candidates is kept


@dataclass(frozen=True)
class CandidateSpec:
    """A ranker or chain as text, and the kind of its model."""

    text: str
    kind: str  # "linear", "trees" or "network"

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class Trial:
    """An evaluated candidate: scores of queries by models that were not trained on them."""

    setting: CandidateSpec
    scores: F64
    value: float = float("nan")  # mean measure of the evaluated queries
    folds: int = 0  # evaluated inner folds; 0: a sample of the first
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
    """Evaluates candidates on inner folds by successive halving (Jamieson & Talwalkar 2016).

    If there are many documents, all candidates are trained on a sample of the first fold's training queries, and the
    better half is kept. The kept ones are evaluated on the first fold, the better half of these on the second, and so
    on. Linear rankers and networks are compared with each other, and trees with each other, so that a blend has both.
    With a budget, the search ends when another fit would not leave time for the final training.
    """

    make_ranker: Callable[[CandidateSpec], Ranker]
    judge: Objective
    pool: Dataset
    folds: Sequence[I64]
    clock: TimeBudget
    bar: ProgressBar | None = None
    is_halved: bool = True
    tried: list[Trial] = field(default_factory=list)
    dropped: list[Trial] = field(default_factory=list)
    too_slow: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    n_evaluated_folds: int = 0
    is_interrupted: bool = False
    _bins: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)  # of trees, by fold and stride

    def run(self, candidates: Sequence[CandidateSpec], folds: int) -> None:
        """Evaluate the candidates; Ctrl-C keeps those that are complete."""
        try:
            with propagate_interrupts():
                for setting, seconds in self._screen(candidates):
                    self._try_candidate(setting, seconds)
                for fold in range(1, folds):
                    self._halve(fold)
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

    def _screen(self, candidates: Sequence[CandidateSpec]) -> Iterator[tuple[CandidateSpec, float]]:
        """Yield the candidates that are better on a sample, in order, with the estimated seconds of a fold.

        Without a sample, all candidates are yielded, as long as the budget lasts.
        """
        train_queries = self._split_queries(True, 0)[0]
        documents = int(np.diff(self.pool.offsets)[train_queries].sum())
        stride = documents // _SCREENED_DOCUMENTS
        if stride < 2 or not self.is_halved:
            yield from ((setting, 0.0) for setting in candidates)
            return
        trials: list[Trial] = []
        for setting in candidates:
            if trials and not self.clock.allows(sum(trial.seconds for trial in trials)):
                break
            trial = Trial(setting, np.full(len(self.pool), np.nan))
            if self._evaluate(trial, 0, stride):
                trials.append(trial)
        kept = _better_half(trials)
        self.dropped += [trial for trial in trials if trial not in kept]
        yield from ((trial.setting, _TIMING_FACTOR * stride * trial.seconds) for trial in kept)

    def _try_candidate(self, setting: CandidateSpec, seconds: float) -> None:
        """Evaluate a candidate on the first fold, unless these seconds are too long for the budget."""
        if self.tried and not self.clock.allows(seconds * (1 + _FINAL_FIT_COST)):
            if seconds:
                self.too_slow.append(str(setting))
            return
        trial = Trial(setting, np.full(len(self.pool), np.nan))
        if self._evaluate(trial, 0):
            self.tried.append(trial)
            self.n_evaluated_folds = 1
            self._reserve()

    def _halve(self, fold: int) -> None:
        """Keep the better half of the candidates before the second and the third fold."""
        if self.is_halved and fold <= _HALVINGS:
            kept = _better_half(self.tried)
            self.dropped += [trial for trial in self.tried if trial not in kept]
            self.tried = kept
            self._reserve()

    def _reserve(self) -> None:
        """Reserve time for the final training of the candidates that would be kept."""
        kept = _better_half(self.tried) if self.is_halved else self.tried
        self.clock.reserved = _FINAL_FIT_COST * sum(trial.seconds / trial.folds for trial in kept)

    def _evaluate_fold(self, fold: int) -> None:
        """Evaluate all candidates on another fold."""
        self._bins.clear()
        self.tried = [trial for trial in self.tried if self._evaluate(trial, fold)]

    def _evaluate(self, trial: Trial, fold: int, stride: int = 1) -> bool:
        """Train a candidate on every n-th query and score the queries of a fold; return False if it failed."""
        for name in self.make_ranker(trial.setting).requires:
            importlib.import_module(name)  # import time is not training time
        start, judged_queries = time.perf_counter(), self.folds[fold]
        model = self.make_ranker(trial.setting)
        if isinstance(model, BoostedRanker):
            model.early_stopping_rounds = _PATIENCE
            model.use_cache(self._bins.setdefault((fold, stride), {}))
            if stride > 1:  # trees as large as on all queries
                model.set_params(**model.resolve_defaults(self.pool.queries, len(self.pool)))
        train_queries, stop_queries = self._split_queries(model.is_iterative, fold)
        try:
            self._fit(model, train_queries[::stride], stop_queries[::stride])
            trial.scores[np.isin(self.pool.qid(), judged_queries)] = model.predict(self.pool.select(judged_queries))
        except PippinError as error:
            self.failed[str(trial.setting)] = str(error)
            return False
        if model.is_iterative and len(model.curve_):
            trial.best.append(1 + int(np.argmax(model.curve_)))
        trial.seconds += time.perf_counter() - start
        trial.folds = fold + 1 if stride == 1 else 0
        evaluated = np.isin(np.arange(self.pool.queries), np.concatenate(self.folds[: fold + 1]))
        trial.value = aggregate(self.judge.values(np.nan_to_num(trial.scores))[evaluated], "mean")
        if self.bar is not None:
            self.bar.step(str(trial.setting))
        return True

    def _split_queries(self, is_iterative: bool, fold: int) -> tuple[I64, I64]:
        """Return the queries for training and for early stopping (unused by rankers without rounds)."""
        judged_queries, stop_queries = self.folds[fold], self.folds[(fold + 1) % len(self.folds)]
        excluded = np.concatenate((judged_queries, stop_queries)) if is_iterative else judged_queries
        return np.setdiff1d(np.arange(self.pool.queries), excluded), stop_queries

    def _fit(self, model: Ranker, train_queries: I64, stop_queries: I64) -> None:
        model.fit(
            self.pool.select(train_queries), eval_set=self.pool.select(stop_queries) if model.is_iterative else None
        )


def _better_half(trials: Sequence[Trial]) -> list[Trial]:
    """Return the better half of the trees, and of the other candidates, in order; at least two of each."""
    kept: list[Trial] = []
    for is_tree in (False, True):
        family = [trial for trial in trials if (trial.setting.kind == "trees") == is_tree]
        kept += sorted(family, key=lambda trial: -trial.value)[: max(2, -(-len(family) // 2))]
    return [trial for trial in trials if trial in kept]


def slow_candidates(candidates: Sequence[CandidateSpec], pool: Dataset) -> list[str]:
    """Return the candidates whose cost grows with the pairs of documents, if the data have many."""
    sizes = np.diff(pool.offsets).astype(np.float64)
    if (sizes * (sizes - 1) / 2).sum() <= _MAX_PAIRS:
        return []
    return [str(setting) for setting in candidates if setting.text.startswith(_SLOW)]


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
