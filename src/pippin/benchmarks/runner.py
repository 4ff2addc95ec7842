"""Run the cells of an experiment and store their results."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pippin.benchmarks.cell import CellFiles, Job, cell_from_scores, compute_job, describe_error, make_job
from pippin.benchmarks.data_checks import CheckedFold, audit_folds, check_data
from pippin.benchmarks.inputs import FoldRef, InputOptions, check_inputs, resolve_inputs
from pippin.benchmarks.plan import Experiment, Task, canonical_json
from pippin.benchmarks.provenance import plugin_modules, versions
from pippin.benchmarks.records import COSTS, KEY, Cell
from pippin.benchmarks.standings import mean_over_folds
from pippin.benchmarks.store import Results
from pippin.benchmarks.worker_pool import Pool
from pippin.data.dataset import Dataset
from pippin.data.digest import digest
from pippin.data.folds import Folds
from pippin.dependencies import require
from pippin.display.terminal import ProgressBar
from pippin.evaluation.audit import audit
from pippin.evaluation.tools import resolve_tools
from pippin.system import cpu_count


@dataclass(frozen=True)
class BenchResult:
    """The outcome of one call of `pippin.bench`."""

    results: Results
    tasks: tuple[Task, ...]
    computed: int
    failed: Mapping[str, str]  # address → reason

    @property
    def tool(self) -> str:
        """The tool of the summary."""
        tools = self.tasks[0].tools
        return "official" if "official" in tools else tools[0]

    @property
    def measures(self) -> list[str]:
        """The measures of the summary; the last one orders the rankers."""
        measures = self.tasks[0].measures
        return [measure for measure in measures if measure in ("NDCG@10", "MAP")] or list(measures[:2])

    def failures(self) -> list[str]:
        """Return each reason of failures once, with the number of its cells and the first of them."""
        cells_by_reason: dict[str, list[str]] = {}
        for task in self.tasks:
            if task.address in self.failed:
                cells = cells_by_reason.setdefault(self.failed[task.address], [])
                cells.append(f"{task.ranker} on {task.data} {task.fold}")
        return [
            f"{len(cells)} failed ({cells[0]}{' …' if len(cells) > 1 else ''}): {reason}"
            for reason, cells in cells_by_reason.items()
        ]

    def rankers(self) -> list[dict[str, Any]]:
        """Return a row per data set, ranker and convention with means over folds, best first within a data set.

        The mean of a ranker that lacks a cell is NaN, as on the leaderboard.
        """
        means_by_cell = {cell.key: cell.record["means"].get(self.tool, {}) for cell in self.results.cells}
        keys_by_row: dict[tuple[str, str, str], list[tuple[str, str, str, str, int]]] = {}
        for task in self.tasks:
            keys_by_row.setdefault((task.data, task.ranker, task.convention), []).append(task.key)
        rows: list[dict[str, Any]] = []
        for (data, ranker, convention), keys in keys_by_row.items():
            means = {}
            for measure in self.measures:
                values = {(key[1], key[4]): means_by_cell.get(key, {}).get(measure) for key in keys}
                cells = {cell: math.nan if value is None else value for cell, value in values.items()}
                means[measure] = mean_over_folds(cells).mean
            rows.append({"data": data, "ranker": ranker, "convention": convention,
                         "cells": sum(key in means_by_cell for key in keys), "means": means})  # fmt: skip
        order = {data: i for i, data in enumerate(dict.fromkeys(row["data"] for row in rows))}

        def sort_key(row: Mapping[str, Any]) -> tuple[int, float]:
            mean = row["means"][self.measures[-1]]
            return order[row["data"]], math.inf if math.isnan(mean) else -mean

        return sorted(rows, key=sort_key)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a JSON record."""
        data = {task.data for task in self.tasks}
        return {
            "results": str(self.results.path), "cells": len(self.tasks), "done": len(self.tasks) - len(self.failed),
            "computed": self.computed, "tool": self.tool, "measures": self.measures, "rankers": self.rankers(),
            "failures": self.failures(),
            "ceilings": [ceiling.to_dict() for name, ceiling in self.results.ceilings().items() if name in data],
        }  # fmt: skip


class Executor(Protocol):
    """Where cells are computed: anything that maps a function over jobs, such as `DaskExecutor`."""

    def as_completed(
        self, function: Callable[[Job], CellFiles], items: Iterable[Job]
    ) -> Iterator[tuple[Job, CellFiles | Exception]]:
        """Yield each job with its files, or with the exception that was raised, as they finish."""


Outcomes = Iterator[tuple[Job, str | None]]  # jobs as they finish, with the reason of those that failed


def run(
    experiment: Experiment,
    output: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    memory: int | None = None,
    allow_leak: bool = False,
    allow_one_fold: bool = False,
    check: bool = True,
    command: str = "",
    verbose: bool = True,
    executor: Executor | None = None,
) -> BenchResult:
    """Compute the cells of the experiment that are not in `output` yet; `pippin.bench` documents the parameters."""
    check_extras(experiment.rankers)
    check_inputs(experiment.data, experiment.vali)
    results = Results.create(output)
    with results.lock() as lock:
        cache = results.path / "collections"
        options = InputOptions(experiment.folds, check, experiment.sample, cache, experiment.vali, verbose)
        inputs = resolve_inputs(experiment.data, options)
        folds: list[CheckedFold] = []
        for data, checked in check_data(
            inputs, results.path / "folds", allow_leak=allow_leak, allow_one_fold=allow_one_fold, verbose=verbose
        ):
            _write_data(results, data, checked)
            folds += checked
        results.write_locations({fold.ref.data: data_locations(fold.ref) for fold in folds})
        all_jobs = _jobs(experiment, folds)
        digests = {(fold.ref.data, fold.ref.fold): fold.digest for fold in folds}
        results.write_plan(experiment, [job.task for job in all_jobs], digests, command)
        todo = _schedule([job for job in all_jobs if not results.has_cell(job.task)])
        modules = plugin_modules(experiment, [job.task for job in todo])
        if executor is not None:
            outcomes = _run_jobs(executor, results, modules, todo)
        else:
            outcomes = Pool(results, modules, cpu_count() if jobs is None else jobs, memory, lock).run(todo)
        failed = _record(results, experiment, all_jobs, todo, outcomes, verbose)
    tasks = tuple(job.task for job in all_jobs)
    return BenchResult(Results.open(output), tasks, len(todo) - len(failed), failed)


def check_extras(rankers: Sequence[str]) -> None:
    """Raise if a package that these rankers need is not installed."""
    from pippin.rankers import ranker

    modules = dict.fromkeys(module for name in rankers for module in ranker(name).requires)
    require("this benchmark", *modules)


def _run_jobs(executor: Executor, results: Results, modules: Sequence[str], jobs: Sequence[Job]) -> Outcomes:
    """Compute jobs by an executor and write their cells in this process."""
    if not jobs:
        return
    for job, outcome in executor.as_completed(partial(compute_job, modules=modules), jobs):
        if isinstance(outcome, Exception):
            yield job, describe_error(outcome)
        else:
            results.write_cell(job.task.address, outcome.files, outcome.cost)
            yield job, None


def _write_data(results: Results, data: Folds, folds: Sequence[CheckedFold]) -> None:
    if not all(results.has_data(fold.digest) for fold in folds):
        audit = audit_folds(data)
        for fold in folds:
            results.write_data(fold.digest, fold.record(audit))


def data_locations(ref: FoldRef) -> dict[str, Path]:
    """Return the paths of a data set's store and, if it was built from a collection, of the built data set."""
    from pippin.collections.build import is_built

    source = Path(ref.source.path)
    built = next((folder for folder in (source.parent, source.parent.parent) if is_built(folder)), None)
    return {"store": Path(ref.store), **({} if built is None else {"built": built})}


def _schedule(jobs: Sequence[Job]) -> list[Job]:
    """Order jobs by fold, because a worker caches the data of its last fold, and the longest first within a fold."""
    folds = {fold: i for i, fold in enumerate(dict.fromkeys(job.fold for job in jobs))}
    return sorted(jobs, key=lambda job: (folds[job.fold], -job.weight))


def _jobs(experiment: Experiment, folds: Sequence[CheckedFold]) -> list[Job]:
    by_name = {(fold.ref.data, fold.ref.fold): fold for fold in folds}
    refs = {data: fold.ref for (data, _), fold in by_name.items()}
    jobs = []
    for task in experiment.tasks((data, fold, checked.digests) for (data, fold), checked in by_name.items()):
        fold = by_name[task.data, task.fold]
        job = make_job(task, fold.ref, fold.facts["parts"]["train"]["documents"], refs)
        if job is not None:
            jobs.append(job)
    return jobs


def _record(
    results: Results,
    experiment: Experiment,
    jobs: Sequence[Job],
    todo: Sequence[Job],
    outcomes: Outcomes,
    verbose: bool,
) -> dict[str, str]:
    """Run the jobs, show progress, and return the reasons of failures by address."""
    failed: dict[str, str] = {}
    bar = ProgressBar(len(todo), "bench") if verbose else None
    leader = ProgressLeader(results, experiment, jobs)
    pending = {job.task.address for job in todo}
    for job in jobs:
        if job.task.address not in pending:
            leader.update(job.task, done=True)
    try:
        for job, reason in outcomes:
            if reason is not None:
                failed[job.task.address] = reason
                results.write_failure(job.task, reason)
            if bar is not None:
                bar.step((f"{len(failed)} failed, " if failed else "") + leader.update(job.task, reason is None))
    finally:
        if bar is not None:
            bar.close()
    return failed


class ProgressLeader:
    """The leading ranker of a data set during a run: the best mean over the folds that all rankers have finished."""

    def __init__(self, results: Results, experiment: Experiment, jobs: Sequence[Job]) -> None:
        self.results = results
        self.tool = "official" if "official" in experiment.tools else experiment.tools[0]
        self.measure = "MAP" if "MAP" in experiment.measures else experiment.measures[0]
        self._pending: dict[str, dict[str, int]] = {}  # data → fold → unfinished cells
        # data → (ranker, convention) → fold → values of the seeds
        self._values: dict[str, dict[tuple[str, str], dict[str, list[float]]]] = {}
        for job in jobs:
            folds = self._pending.setdefault(job.task.data, {})
            folds[job.task.fold] = folds.get(job.task.fold, 0) + 1

    def update(self, task: Task, done: bool) -> str:
        """Count a cell that is done or failed, and return a sentence about the leader on its data set."""
        folds = self._pending[task.data]
        folds[task.fold] -= 1
        if done:
            record = Cell.open(self.results.path / "cells" / task.address).record
            value = record["means"].get(self.tool, {}).get(self.measure)
            if value is not None:
                by_fold = self._values.setdefault(task.data, {}).setdefault((task.ranker, task.convention), {})
                by_fold.setdefault(task.fold, []).append(value)
        finished = [fold for fold, count in folds.items() if not count]
        by_system = self._values.get(task.data, {}) if finished else {}
        means = {
            system: fmean(fmean(by_fold[fold]) for fold in finished)
            for system, by_fold in by_system.items() if by_fold.keys() >= set(finished)
        }  # fmt: skip
        if not means:
            return ""
        best = max(means, key=means.__getitem__)
        over = f"{len(finished)} of {len(folds)} folds"
        return f"{best[0]} leads on {task.data}: {self.measure} {means[best]:.4f} ({over})"


def results_from_scores(
    folder: str | os.PathLike[str],
    data: str,
    fold: str,
    test: Dataset,
    systems: Mapping[str, NDArray[np.float64]],
    measures: Sequence[str],
    tools: Sequence[str] = ("classic",),
    command: str = "",
) -> Results:
    """Evaluate scores that were computed elsewhere under every tool, and write them to a new folder of results.

    A cell has values and scores, but no model, no selected parameters and no cost.
    """
    results = Results.create(folder)
    digests = {"test": digest(test)}
    fold_digest = hashlib.sha256(canonical_json([data, fold, digests])).hexdigest()
    names = tuple(tool.name for tool in resolve_tools(tuple(tools)))
    tasks = [
        Task(data, fold, system, "official", 1, "", {}, {}, names, tuple(measures), digests, versions())
        for system in systems
    ]
    audit_result = audit(test)
    counts = {"queries": test.queries, "documents": len(test), "relevant": int((test.labels > 0).sum())}
    labels, numbers = np.unique(test.labels, return_counts=True)
    results.write_data(fold_digest, {
        "data": data, "fold": fold, "digest": fold_digest, "digests": digests, "parts": {"test": counts},
        "features": test.features.shape[1], "feature_names": list(test.feature_names),
        "labels": {str(label): int(number) for label, number in zip(labels, numbers, strict=True)},
        "audit": {"about": audit_result.about, "basis": audit_result.basis, "clean": list(audit_result.clean),
                  "findings": [asdict(finding) for finding in audit_result.findings]},
    })  # fmt: skip
    for task in tasks:
        cost = {**dict(zip(KEY, task.key, strict=True)), **dict.fromkeys(COSTS)}
        results.write_cell(task.address, cell_from_scores(task, test, systems[task.ranker]), cost)
    plan = {"data": [data], "rankers": list(systems), "tools": names, "measures": tuple(measures), "select": ""}
    results.write_plan(plan, tasks, {(data, fold): fold_digest}, command)
    return Results.open(folder)
