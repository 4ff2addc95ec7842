"""Model selection as LETOR did it: every candidate is judged on the validation set, the first best wins."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
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
    best: tuple[float, Ranker, dict[str, Any]] | None = None
    todo = points(ranker.grid if grid is None else grid)
    bar = Bar(len(todo), f"selecting {ranker.name}") if verbose else None
    for parameters in todo:
        model = ranker.fresh().set_params(**parameters)
        start, at_work = time.perf_counter(), time.process_time()
        model.fit(train, eval_set=valid)
        seconds, processor = time.perf_counter() - start, time.process_time() - at_work
        value = judge.mean(model.predict(valid))
        tried.append(Candidate(parameters, value, seconds, processor))
        if best is None or value > best[0]:
            best = (value, model, parameters)
        if bar is not None:
            bar.step(f"{measure} {value:.4f}")
    if bar is not None:
        bar.close()
    if best is None:
        raise DataError("the grid is empty")
    return Selected(best[1], best[2], best[0], tuple(tried))
