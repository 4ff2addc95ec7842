"""What does it cost to learn several tasks as one, and what do rankers that depend on the query win back?

The tasks of a collection are laid into one data set, part by part, so that each query is tested in the fold in which
its own task tests it. The features are as they are (`Feature-min`): what normalisation within queries would hide is
what tells tasks apart, and `norm` in the chain does it behind the step that looks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin.bench.gaps import closed, difference, interval
from pippin.bench.inputs import Input, opened_folds
from pippin.bench.leaderboard import leaderboard
from pippin.bench.store import Results
from pippin.data.dataset import Dataset, concatenate
from pippin.data.letor import write_letor
from pippin.data.packing import digest
from pippin.errors import DataError
from pippin.files import atomic_folder
from pippin.rankers.steps import Classes
from pippin.tables import Table

RAW = "Feature-min"  # the version whose features are as they are, without a NULL


def unnormalised(source: Input) -> Input:
    """A data set of a collection with its features as they are."""
    return replace(source, data=f"{source.data}-raw", path=str(Path(source.path).parent / RAW))


def mixed(tasks: Sequence[Input], cache: Path, name: str) -> Input:
    """Several tasks as one data set of S1 … Sk, written once into the cache; its folds turn as those of the tasks."""
    folds = [opened_folds(source) for source in tasks]
    k = len(folds[0])
    known = hashlib.sha256("".join(digest(one.data) for one in folds).encode()).hexdigest()[:12]
    folder = cache / f"{name}-{known}"
    if not folder.exists():
        with atomic_folder(folder) as new:
            for part in range(k):  # Fold2 tests on S1, Fold3 on S2 … and Fold1 on the last
                fold = f"Fold{(part + 1) % k + 1}"
                write_letor(_joined([one[fold]["test"] for one in folds]), new / f"S{part + 1}.txt")
    return Input(name, "fifths", str(folder.resolve()), k)


def _joined(parts: Sequence[Dataset]) -> Dataset:
    """Data sets whose queries all differ as one; documents have no ids, which mean others in each task."""
    whole = concatenate([replace(part, document_ids=None, comments=None, lines=None) for part in parts])
    if whole.queries != sum(part.queries for part in parts):
        raise DataError("two tasks have a query of the same id, so that they cannot be laid into one data set")
    return whole


def won_back(
    results: Results, mixture: Input, tasks: Sequence[Input], baseline: str, rankers: Sequence[str], measure: str
) -> Table:
    """How much of what mixing loses each ranker wins back, the tasks apart being all of it."""
    board = leaderboard(results, mixture.data, measure, "official")
    apart: dict[str, float] = {}
    for source in tasks:
        apart |= leaderboard(results, source.data, measure, "official").by_query(baseline)
    there = [name for name in (baseline, *rankers) if name in board.by_ranker]
    table = {name: board.by_query(name) for name in there}
    queries = [query for query in table[baseline] if query in apart]
    low, high = (np.array([one[query] for query in queries]) for one in (table[baseline], apart))
    rows = [[mixture.data, f"{baseline}, each task apart", f"{high.mean():.4f}", difference(high - low), "100%"]]
    lost = high.mean() > low.mean()
    for name in there:
        own = np.array([table[name][query] for query in queries])
        told = ["", ""]
        if name != baseline:
            told = [difference(own - low), str(closed(own, low, high)) if lost else "nothing lost"]
        rows.append([mixture.data, name, f"{own.mean():.4f}", *told])
    notes = [f"Over all {len(queries)} test queries; 95 % intervals draw queries anew.", *_guesses(results, mixture)]
    heads = ["data", "ranker", measure, "against all tasks in one", "won back"]
    return Table(heads, rows, names=2, keys=2, notes=notes)


def _guesses(results: Results, mixture: Input) -> list[str]:
    """How many test queries the models of `classes` take for their own task, in a sentence for each chain."""
    found: dict[str, list[bool]] = {}
    tasks: dict[str, list[str]] = {}
    folds = opened_folds(mixture)
    for cell in results.cells:
        data, fold, ranker, *_ = cell.key
        if data != mixture.data or not ranker.startswith("classes"):
            continue
        right, own = _guessed(cell.model, folds[fold]["test"])
        found.setdefault(ranker, []).extend(right)
        tasks.setdefault(ranker, []).extend(own)
    return [_told(ranker, right, tasks[ranker]) for ranker, right in found.items()]


def _guessed(model: Path, test: Dataset) -> tuple[list[bool], list[str]]:
    """Whether each test query is taken for its own task, and which that is."""
    from pippin.rankers import models
    from pippin.rankers.steps.classes import task_of

    step: Any = getattr(models.load(model), "step_", None)
    if not isinstance(step, Classes):
        return [], []
    own = [task_of(query) for query in test.query_ids]
    return [guess == task for guess, task in zip(step.classified(test), own, strict=True)], own


def _told(ranker: str, right: Sequence[bool], tasks: Sequence[str]) -> str:
    counted: Mapping[str, int] = {task: tasks.count(task) for task in dict.fromkeys(tasks)}
    share = np.array(right, np.float64)
    low, high = interval(share)
    return (f"{ranker} takes {share.mean():.0%} ({low:.0%} … {high:.0%}) of the queries for their own task; the "
            f"commonest task is that of {max(counted.values()) / len(tasks):.0%}.")  # fmt: skip
