"""What settings are worth on queries that they have not seen, as far as the time goes: the trials of `auto`."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError, PippinError
from pippin.progress import Bar
from pippin.rankers.base import Ranker
from pippin.rankers.parts.trees import BoostedRanker, unlike_queries

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

# Queries with something to learn that a setting is judged on at least, where the time does not allow all of them.
_JUDGED = 100
# Under a budget a setting that will learn from this many documents is timed on one query in eight first. Eight times
# that is up to three times too much for trees, which take long to begin with: half of it is held against the time.
_LARGE, _SAMPLED, _HELD = 5_000, 8, 0.5
# What training again takes, in fits of an inner fold: it has more documents, and no rounds beyond the best.
_AGAIN = 1.5


@dataclass(frozen=True)
class Setting:
    """A ranker or a chain as it is written, and of which kind its score is."""

    written: str
    kind: str  # a weighted sum ("linear"), "trees", or a "network"

    def __str__(self) -> str:
        return self.written


@dataclass
class Trial:
    """A setting that was tried: scores that its models gave to queries they had not seen."""

    setting: Setting
    scores: F64
    best: list[int] = field(default_factory=list)  # rounds that validation chose, by inner fold
    seconds: float = 0.0

    @property
    def rounds(self) -> int | None:
        """The rounds that validation chose, on average; None where there are none."""
        return round(float(np.mean(self.best))) if self.best else None


@dataclass
class Clock:
    """How much time is left of a budget, what is certain to come set aside."""

    budget: float | None
    later: float = 0.0  # seconds that training the parts again will take at most

    def __post_init__(self) -> None:
        self.start = time.perf_counter()

    def allows(self, seconds: float) -> bool:
        """Whether so many seconds more leave time enough for what is set aside."""
        spent = time.perf_counter() - self.start
        return self.budget is None or spent + self.later + seconds <= self.budget


@dataclass
class Trials:
    """Settings on inner folds: each on the first of them, then all on the second, and so on, as far as the time goes.

    With a budget the first folds are as many as have 100 queries to judge by. A setting that by a sample would not be
    done on these in time is left out (`late`), one that cannot be trained is `failed`; `judged` folds were done by all
    the others.
    """

    made: Callable[[Setting], Ranker]
    pool: Dataset
    dealt: Sequence[I64]
    clock: Clock
    bar: Bar | None = None
    tried: list[Trial] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    judged: int = 0

    def run(self, able: Sequence[Setting], folds: int) -> None:
        """Try them on so many folds; Ctrl-C ends it with those that are done."""
        self.judged = folds if self.clock.budget is None else min(folds, self._fewest())
        try:
            for setting in able:
                if not self._begin(setting):
                    break
            for fold in range(self.judged, folds):
                if not self.clock.allows(sum(trial.seconds for trial in self.tried) / fold):
                    break
                self._go_on(fold)
                self.judged = fold + 1
        except KeyboardInterrupt:
            if not self.tried:
                raise
        if not self.tried:
            raise DataError(f"auto: no setting could be trained; {next(iter(self.failed.values()))}")

    def _fewest(self) -> int:
        """The folds that have queries enough to judge by."""
        unlike = unlike_queries(self.pool, "auto")
        counts = np.cumsum([np.isin(fold, unlike).sum() for fold in self.dealt])
        return min(len(self.dealt), 1 + int(np.searchsorted(counts, _JUDGED)))

    def _begin(self, setting: Setting) -> bool:
        """A setting on the first folds, unless a sample or the first says that it is too slow; False if time is up."""
        clock = self.clock if self.tried else Clock(None)
        if not clock.allows(0.0):
            return False
        trial = Trial(setting, np.full(len(self.pool), np.nan))
        try:
            for name in self.made(setting).needs:
                importlib.import_module(name)  # so that loading it does not count as training
            if clock.budget is not None and not clock.allows(_HELD * self._guess(setting) * (self.judged + _AGAIN)):
                self.late.append(str(setting))
                return True
            for fold in range(self.judged):
                self._judge(trial, fold)
                if fold == 0 and not clock.allows(trial.seconds * (self.judged - 1 + _AGAIN)):
                    self.late.append(str(setting))
                    return True
        except PippinError as error:
            self.failed[str(setting)] = str(error)
            return True
        self.tried.append(trial)
        self.clock.later += trial.seconds / self.judged * _AGAIN
        return True

    def _go_on(self, fold: int) -> None:
        """All settings on one fold more."""
        for trial in list(self.tried):
            try:
                self._judge(trial, fold)
            except PippinError as error:
                self.failed[str(trial.setting)] = str(error)
                self.tried.remove(trial)

    def _guess(self, setting: Setting) -> float:
        """The seconds of one fold, from a sample of its queries; 0 where a fold is small enough to be tried."""
        model = self.made(setting)
        learned, stop = self._parts(model, 0)
        documents = len(self.pool) * len(learned) // self.pool.queries
        if documents < _LARGE:
            return 0.0
        if isinstance(model, BoostedRanker):
            model.set_params(**model.sizes(len(learned), documents))
        start = time.perf_counter()
        self._fit(model, learned[::_SAMPLED], stop[::_SAMPLED])
        return (time.perf_counter() - start) * _SAMPLED

    def _judge(self, trial: Trial, fold: int) -> None:
        """One fold more: its queries get scores, validation may choose rounds."""
        start, judged = time.perf_counter(), self.dealt[fold]
        model = self.made(trial.setting)
        self._fit(model, *self._parts(model, fold))
        trial.scores[np.isin(self.pool.qid(), judged)] = model.predict(self.pool.select(judged))
        if model.by_rounds and len(model.curve_):
            trial.best.append(1 + int(np.argmax(model.curve_)))
        trial.seconds += time.perf_counter() - start
        if self.bar is not None:
            self.bar.step(str(trial.setting))

    def _parts(self, model: Ranker, fold: int) -> tuple[I64, I64]:
        """The queries to learn from and to stop by; a ranker without rounds learns from all that are not judged."""
        judged, stop = self.dealt[fold], self.dealt[(fold + 1) % len(self.dealt)]
        apart = np.concatenate((judged, stop)) if model.by_rounds else judged
        return np.setdiff1d(np.arange(self.pool.queries), apart), stop

    def _fit(self, model: Ranker, learned: I64, stop: I64) -> None:
        model.fit(self.pool.select(learned), eval_set=self.pool.select(stop) if model.by_rounds else None)


def deal(pool: Dataset, unlike: I64, folds: int, seed: int) -> list[I64]:
    """The queries in so many parts, drawn by lot, as even in those with something to learn as can be; fewer if few."""
    generator = np.random.default_rng(seed)
    rest = np.setdiff1d(np.arange(pool.queries), unlike)
    order = np.concatenate((generator.permutation(unlike), generator.permutation(rest)))
    count = min(folds, len(unlike))
    return [np.sort(order[i::count]) for i in range(count)]


def pooled(train: Dataset, valid: Dataset | None) -> Dataset:
    """Both sets as one; queries are told by their place, since either may have called its own alike."""
    parts = [train] if valid is None else [train, valid]
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return Dataset(
        np.concatenate([part.features for part in parts]), np.concatenate([part.labels for part in parts]),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), tuple(map(str, range(len(sizes)))), None,
        train.feature_names, name=train.name,
    )  # fmt: skip
