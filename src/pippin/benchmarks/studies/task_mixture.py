"""The cost of learning several tasks as one, and the share that query-dependent rankers recover."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin.benchmarks.inputs import Input, open_source_folds
from pippin.benchmarks.leaderboard import leaderboard
from pippin.benchmarks.store import Results
from pippin.benchmarks.studies.baselines import closed_share, difference, interval
from pippin.data.dataset import Dataset, concatenate
from pippin.data.digest import digest
from pippin.data.letor import write_letor
from pippin.display.tables import Table
from pippin.errors import DataError
from pippin.rankers.steps import Classes
from pippin.storage.files import atomic_folder

RAW = "Feature-min"  # the version without normalisation and NULL


def raw_features(source: Input) -> Input:
    """Return a data set of a collection without normalisation of features."""
    return replace(source, data=f"{source.data}-raw", path=str(Path(source.path).parent / RAW))


def mix_tasks(tasks: Sequence[Input], cache: Path, name: str) -> Input:
    """Write several tasks as one data set of S1 … Sk into the cache; its folds rotate as those of the tasks."""
    folds = [open_source_folds(source) for source in tasks]
    k = len(folds[0])
    content_digest = hashlib.sha256("".join(digest(task_folds.data) for task_folds in folds).encode()).hexdigest()[:12]
    folder = cache / f"{name}-{content_digest}"
    if not folder.exists():
        with atomic_folder(folder) as new:
            for part in range(k):  # Fold2 tests on S1, Fold3 on S2 … and Fold1 on the last part
                fold = f"Fold{(part + 1) % k + 1}"
                write_letor(_concatenate([task_folds[fold]["test"] for task_folds in folds]), new / f"S{part + 1}.txt")
    return Input(name, "fifths", str(folder.resolve()), k)


def _concatenate(parts: Sequence[Dataset]) -> Dataset:
    """Concatenate data sets with distinct queries, without document ids, which differ in meaning between tasks."""
    joined = concatenate([replace(part, document_ids=None, comments=None, lines=None) for part in parts])
    if joined.queries != sum(part.queries for part in parts):
        raise DataError("cannot mix the tasks: two of them have a query of the same id")
    return joined


def share_recovered(
    results: Results, mixture: Input, tasks: Sequence[Input], baseline: str, rankers: Sequence[str], measure: str
) -> Table:
    """Return the share of the loss by mixing that each ranker recovers; training per task recovers all of it."""
    board = leaderboard(results, mixture.data, measure, "official")
    separate: dict[str, float] = {}
    for source in tasks:
        separate |= leaderboard(results, source.data, measure, "official").by_query(baseline)
    available = [name for name in (baseline, *rankers) if name in board.by_ranker]
    table = {name: board.by_query(name) for name in available}
    queries = [query for query in table[baseline] if query in separate]
    low, high = (np.array([by_query[query] for query in queries]) for by_query in (table[baseline], separate))
    rows = [[mixture.data, f"{baseline}, each task alone", f"{high.mean():.4f}", difference(high - low), "100%"]]
    has_loss = high.mean() > low.mean()
    for name in available:
        values = np.array([table[name][query] for query in queries])
        recovery = ["", ""]
        if name != baseline:
            recovery = [difference(values - low), str(closed_share(values, low, high)) if has_loss else "no loss"]
        rows.append([mixture.data, name, f"{values.mean():.4f}", *recovery])
    notes = [f"Over all {len(queries)} test queries; 95 % bootstrap intervals.", *_describe_classes(results, mixture)]
    header = ["data", "ranker", measure, "− mixed baseline", "recovered"]
    return Table(header, rows, text_columns=2, repeated_columns=2, notes=notes)


def _describe_classes(results: Results, mixture: Input) -> list[str]:
    """Return a sentence about the accuracy of each chain that classifies queries."""
    correct: dict[str, list[bool]] = {}
    tasks: dict[str, list[str]] = {}
    folds = open_source_folds(mixture)
    for cell in results.cells:
        data, fold, ranker, *_ = cell.key
        if data != mixture.data or not ranker.startswith("classes"):
            continue
        hits, query_tasks = _predict_task(cell.model, folds[fold]["test"])
        correct.setdefault(ranker, []).extend(hits)
        tasks.setdefault(ranker, []).extend(query_tasks)
    return [_accuracy_sentence(ranker, hits, tasks[ranker]) for ranker, hits in correct.items()]


def _predict_task(model: Path, test: Dataset) -> tuple[list[bool], list[str]]:
    """Return whether each test query is classified correctly, and its task."""
    from pippin.rankers import models
    from pippin.rankers.steps.query_groups import task_of

    step: Any = getattr(models.load(model), "step_", None)
    if not isinstance(step, Classes):
        return [], []
    query_tasks = [task_of(query) for query in test.query_ids]
    return [guess == task for guess, task in zip(step.classify(test), query_tasks, strict=True)], query_tasks


def _accuracy_sentence(ranker: str, hits: Sequence[bool], tasks: Sequence[str]) -> str:
    counts: Mapping[str, int] = {task: tasks.count(task) for task in dict.fromkeys(tasks)}
    share = np.array(hits, np.float64)
    low, high = interval(share)
    return (f"{ranker} classifies {share.mean():.0%} ({low:.0%} … {high:.0%}) of the queries correctly; "
            f"{max(counts.values()) / len(tasks):.0%} belong to the most frequent task.")  # fmt: skip
