"""Model selection as LETOR did it: every candidate is judged on the validation set, the first best wins.

Where a ranker is `cautious`, as trees are, a later point wins only if it is ahead by more than the standard error of
the difference: otherwise the noise of a few queries would choose among settings that are alike.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.evaluate import aggregate
from pippin.evaluation.objective import Judge
from pippin.kernels import one_thread, threads
from pippin.progress import Bar
from pippin.rankers.base import Ranker


@dataclass(frozen=True)
class Candidate:
    """A point of the grid and its validation value."""

    parameters: dict[str, Any]
    value: float
    seconds: float = 0.0  # to train it, by the clock
    processor_seconds: float = 0.0  # and of the processor


@dataclass(frozen=True)
class Selected:
    """The chosen ranker, fitted, and everything that was tried."""

    ranker: Ranker
    parameters: dict[str, Any]
    value: float
    candidates: tuple[Candidate, ...]


def points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of a grid.

    >>> points({"C": [1, 10]})
    [{'C': 1}, {'C': 10}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def standard_error(values: NDArray[np.float64]) -> float:
    """Of the mean over queries that count (NaN does not); infinite where there are fewer than two.

    >>> standard_error(np.array([0.0, 2.0, np.nan]))
    1.0
    """
    counted = values[~np.isnan(values)]
    return math.inf if len(counted) < 2 else float(counted.std(ddof=1)) / math.sqrt(len(counted))


Fitted = tuple[Ranker, float, float]  # a model, and the seconds that it took, by the clock and of the processor


def _fit_all(ranker: Ranker, todo: Sequence[dict[str, Any]], train: Dataset, valid: Dataset) -> Iterator[Fitted]:
    """The models of all points, in order; as many at once as there are cores, where each has enough with one."""
    alone = ranker.fits_alone(train)
    workers = min(threads(), len(todo)) if alone else 1
    at_work = time.process_time if workers <= 1 else time.thread_time
    kept: dict[str, Any] = {}

    def fit(parameters: dict[str, Any]) -> Fitted:
        model = ranker.fresh().set_params(**parameters)
        if alone:
            model.share(kept)
        start, before = time.perf_counter(), at_work()
        model.fit(train, eval_set=valid)
        return model, time.perf_counter() - start, at_work() - before

    def fit_beside(parameters: dict[str, Any]) -> Fitted:
        with one_thread():
            return fit(parameters)

    if workers <= 1:
        yield from map(fit, todo)
    else:
        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(fit_beside, todo)


def select(
    ranker: Ranker,
    train: Dataset,
    valid: Dataset,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    measure: str = "MAP",
    convention: str | Convention = "official",
    verbose: bool = False,
) -> Selected:
    """Fit every point of the grid (the ranker's own unless given) on train, judge it on valid, return the best.

    Rounds and epochs are chosen on the way: a ranker that stops early does so by its own measure on `valid`.
    """
    judge = Judge(valid, measure, convention)
    tried: list[Candidate] = []
    best: tuple[float, Ranker, dict[str, Any], NDArray[np.float64]] | None = None
    todo = points(ranker.grid if grid is None else grid)
    bar = Bar(len(todo), f"selecting {ranker.name}") if verbose else None
    for parameters, (model, seconds, processor) in zip(todo, _fit_all(ranker, todo, train, valid), strict=True):
        values = judge.values(model.predict(valid))
        value = aggregate(values, "mean")
        tried.append(Candidate(parameters, value, seconds, processor))
        if best is None or value - best[0] > (standard_error(values - best[3]) if ranker.cautious else 0.0):
            best = (value, model, parameters, values)
        if bar is not None:
            bar.step(f"{measure} {value:.4f}")
    if bar is not None:
        bar.close()
    if best is None:
        raise DataError("the grid is empty")
    return Selected(best[1], best[2], best[0], tuple(tried))
