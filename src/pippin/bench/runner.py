"""Runs the cells of an experiment on all cores, and keeps going whatever happens to one of them.

One process per slot computes one cell at a time on one thread, so that cores are neither idle nor fought over. A cell
that fails, runs out of memory or takes its process down is recorded with its reason, and a fresh process takes the
next. The workers write what they finish, so a run that is killed loses only what was under way.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from pippin.bench.borrowing import with_sources
from pippin.bench.inputs import FoldRef, InputOptions, check_inputs, find_inputs
from pippin.bench.plan import Experiment, Task
from pippin.bench.pool import Pool
from pippin.bench.provenance import modules_for
from pippin.bench.records import Cell
from pippin.bench.store import Results
from pippin.bench.survey import SurveyedFold, audit_folds, survey
from pippin.data.folds import Folds
from pippin.extras import need
from pippin.machine import cpu_count
from pippin.progress import Bar


@dataclass(frozen=True)
class Job:
    """A task and where its data stand."""

    task: Task
    fold: FoldRef
    documents: int  # to train on
    sources: Mapping[str, FoldRef] = field(default_factory=dict)  # other data sets that it learns from, by name

    def record(self) -> dict[str, Any]:
        """The job as JSON can hold it."""
        sources = {name: ref.record() for name, ref in self.sources.items()}
        return {"task": self.task.record(), "fold": self.fold.record(), "sources": sources}

    @cached_property
    def weight(self) -> float:
        """A guess of its time, good enough to begin with the longest: points × rounds × documents."""
        from pippin.rankers import ranker
        from pippin.rankers.composing import guess

        known = ranker(self.task.ranker)().get_params() | dict(self.task.parameters)
        points = math.prod(map(len, self.task.grid.values()))
        return guess(self.task.ranker, known, self.task.grid) * points * self.documents


@dataclass(frozen=True)
class Outcome:
    """What a run did."""

    results: Results
    tasks: tuple[Task, ...]
    computed: int
    failed: Mapping[str, str]  # address → reason

    @property
    def status(self) -> int:
        """The exit status: 1 where a cell failed."""
        return 1 if self.failed else 0


RunJobs = Callable[[Sequence[Job]], Iterator[tuple[Job, str | None]]]  # jobs → each with its failure, in any order
Executor = Callable[[Results, Experiment], RunJobs]


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
) -> Outcome:
    """Compute every cell of the experiment that is not there yet. `executor` runs them elsewhere than here."""
    check_extras(experiment.rankers)
    check_inputs(experiment.data, experiment.vali)
    results = Results.create(output)
    with results.locked() as lock:
        cache = results.path / "collections"
        options = InputOptions(experiment.folds, check, experiment.sample, cache, experiment.vali, verbose)
        inputs = find_inputs(experiment.data, options)
        folds: list[SurveyedFold] = []
        for data, surveyed in survey(
            inputs, results.path / "folds", allow_leak=allow_leak, allow_one_fold=allow_one_fold, verbose=verbose
        ):
            _keep_data(results, data, surveyed)
            folds += surveyed
        results.write_places({fold.ref.data: found_at(fold.ref) for fold in folds})
        all_jobs = _jobs(experiment, folds)
        digests = {(fold.ref.data, fold.ref.fold): fold.digest for fold in folds}
        results.write_plan(experiment, [job.task for job in all_jobs], digests, command)
        todo = _dealt([job for job in all_jobs if not results.has(job.task)])
        if executor is not None:
            run_jobs = executor(results, experiment)
        else:
            modules = modules_for(experiment, [job.task for job in todo])
            run_jobs = Pool(results, modules, cpu_count() if jobs is None else jobs, memory, lock).run
        failed = _record(results, experiment, all_jobs, todo, run_jobs, verbose)
    tasks = tuple(job.task for job in all_jobs)
    return Outcome(Results.open(output), tasks, len(todo) - len(failed), failed)


def check_extras(rankers: Sequence[str]) -> None:
    """Say before anything is begun what must be installed to train these rankers."""
    from pippin.rankers import ranker

    modules = dict.fromkeys(module for name in rankers for module in ranker(name).needs)
    need("this benchmark", *modules)


def _keep_data(results: Results, data: Folds, folds: Sequence[SurveyedFold]) -> None:
    """Keep what the folds of a data set are."""
    if not all(results.has_data(fold.digest) for fold in folds):
        audit = audit_folds(data)
        for fold in folds:
            results.write_data(fold.digest, fold.record(audit))


def found_at(ref: FoldRef) -> dict[str, Path]:
    """Where a data set was found: its store, and the data set that was built, if it was."""
    from pippin.collection.build import is_built

    source = Path(ref.source.path)
    built = next((folder for folder in (source.parent, source.parent.parent) if is_built(folder)), None)
    return {"store": Path(ref.store), **({} if built is None else {"built": built})}


def _dealt(jobs: Sequence[Job]) -> list[Job]:
    """Fold by fold, so that a worker has the data of its next cell already; the longest first within a fold."""
    folds = {fold: i for i, fold in enumerate(dict.fromkeys(job.fold for job in jobs))}
    return sorted(jobs, key=lambda job: (folds[job.fold], -job.weight))


def _jobs(experiment: Experiment, folds: Sequence[SurveyedFold]) -> list[Job]:
    by_name = {(fold.ref.data, fold.ref.fold): fold for fold in folds}
    refs = {data: fold.ref for (data, _), fold in by_name.items()}
    jobs = []
    for task in experiment.tasks((data, fold, surveyed.digests) for (data, fold), surveyed in by_name.items()):
        fold, told = by_name[task.data, task.fold], with_sources(task, refs)
        if told is not None:
            jobs.append(Job(told[0], fold.ref, fold.facts["parts"]["train"]["documents"], told[1]))
    return jobs


def _record(
    results: Results, experiment: Experiment, jobs: Sequence[Job], todo: Sequence[Job], run_jobs: RunJobs, verbose: bool
) -> dict[str, str]:
    """Run, show how far it is, and keep the reasons of what failed."""
    failed: dict[str, str] = {}
    bar = Bar(len(todo), "bench") if verbose else None
    leader = Leader(results, experiment, jobs)
    finished = {job.task.address for job in jobs} - {job.task.address for job in todo}
    for job in jobs:
        if job.task.address in finished:
            leader.after(job.task, done=True)
    try:
        for job, reason in run_jobs(todo):
            if reason is not None:
                failed[job.task.address] = reason
                results.write_failure(job.task, reason)
            if bar is not None:
                bar.step((f"{len(failed)} failed, " if failed else "") + leader.after(job.task, reason is None))
    finally:
        if bar is not None:
            bar.close()
    return failed


class Leader:
    """Who leads while a run goes on: over the folds on which every ranker is done, and over no others."""

    def __init__(self, results: Results, experiment: Experiment, jobs: Sequence[Job]) -> None:
        self.results = results
        self.tool = "official" if "official" in experiment.tools else experiment.tools[0]
        self.measure = "MAP" if "MAP" in experiment.measures else experiment.measures[0]
        self._left: dict[str, dict[str, int]] = {}  # data → fold → cells to come
        self._values: dict[str, dict[tuple[str, str], dict[str, list[float]]]] = {}  # → trained so → fold → by seed
        for job in jobs:
            folds = self._left.setdefault(job.task.data, {})
            folds[job.task.fold] = folds.get(job.task.fold, 0) + 1

    def after(self, task: Task, done: bool) -> str:
        """What to show now that a cell is done or failed: the leader on its data set."""
        folds = self._left[task.data]
        folds[task.fold] -= 1
        if done:
            record = Cell.open(self.results.path / "cells" / task.address).record
            value = record["means"].get(self.tool, {}).get(self.measure)
            if value is not None:
                own = self._values.setdefault(task.data, {}).setdefault((task.ranker, task.convention), {})
                own.setdefault(task.fold, []).append(value)
        whole = [fold for fold, left in folds.items() if not left]
        means = {
            named: fmean(fmean(own[fold]) for fold in whole)
            for named, own in self._values.get(task.data, {}).items() if whole and own.keys() >= set(whole)
        }  # fmt: skip
        if not means:
            return ""
        best = max(means, key=means.__getitem__)
        over = f"{len(whole)} of {len(folds)} folds"
        return f"{best[0]} leads on {task.data}: {self.measure} {means[best]:.4f} ({over})"
