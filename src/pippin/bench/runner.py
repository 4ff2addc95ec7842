"""Runs the cells of an experiment on all cores, and keeps going whatever happens to one of them.

One process per slot computes one cell at a time on one thread, so that cores are neither idle nor fought over. A cell
that fails, runs out of memory or takes its process down is recorded with its reason, and a fresh process takes the
next. The workers write what they finish, so a run that is killed loses only what was under way.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from pippin.bench.inputs import Place, Sought, Surveyed, audit_folds, places, survey
from pippin.bench.plan import Experiment, Task
from pippin.bench.store import DiskFull, Results
from pippin.errors import DataError
from pippin.progress import Bar

_LOOK = 0.1  # seconds between looks at the workers' memory
_ALONE = ("PIPPIN_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True)
class Job:
    """A task and where its data stand."""

    task: Task
    place: Place
    documents: int  # to train on

    @cached_property
    def weight(self) -> float:
        """A guess of its time, good enough to begin with the longest: points × rounds × documents."""
        from pippin.rankers import ranker

        cls = ranker(self.task.ranker)
        known = cls().get_params() | dict(self.task.parameters)
        points = math.prod(map(len, self.task.grid.values()))
        bags = max(self.task.grid.get("bags", [known.get("bags", 1)]))
        rounds = known["rounds"] if cls.by_rounds else 1
        return float(cls.milliseconds * points * bags * rounds * self.documents)


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


Run = Callable[[Sequence[Job]], Iterator[tuple[Job, str | None]]]  # jobs → each with its failure, in any order


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
    way: Callable[[Results, Experiment], Run] | None = None,
) -> Outcome:
    """Compute every cell of the experiment that is not there yet. `way` runs them elsewhere than in local processes."""
    results = Results.create(output)
    with results.locked() as lock:
        cache = results.path / "collections"
        found = places(experiment.data, Sought(experiment.folds, check, experiment.sample, cache, verbose))
        folds = _survey(results, found, allow_leak, allow_one_fold, verbose)
        all_jobs = _jobs(experiment, folds)
        digests = {(fold.place.data, fold.place.fold): fold.digest for fold in folds}
        results.write_plan(experiment, [job.task for job in all_jobs], digests, command)
        todo = [job for job in all_jobs if not results.has(job.task)]
        todo.sort(key=lambda job: -job.weight)
        if way is not None:
            running = way(results, experiment)
        else:
            running = Pool(results, experiment.imports, _cores() if jobs is None else jobs, memory, lock).run
        failed = _record(results, experiment, todo, running, verbose)
    tasks = tuple(job.task for job in all_jobs)
    return Outcome(Results.open(output), tasks, len(todo) - len(failed), failed)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _survey(
    results: Results, found: Sequence[Place], allow_leak: bool, allow_one_fold: bool, verbose: bool
) -> list[Surveyed]:
    """Read and check all data; keep what they are."""
    folds: list[Surveyed] = []
    for own in survey(found, allow_leak=allow_leak, allow_one_fold=allow_one_fold, verbose=verbose):
        if not all(results.has_data(fold.digest) for fold in own):
            audit = audit_folds([fold.place for fold in own])
            for fold in own:
                results.write_data(fold.digest, fold.record(audit))
        folds += own
    return folds


def _jobs(experiment: Experiment, folds: Sequence[Surveyed]) -> list[Job]:
    by_name = {(fold.place.data, fold.place.fold): fold for fold in folds}
    tasks = experiment.tasks((data, fold, surveyed.digests) for (data, fold), surveyed in by_name.items())
    jobs = []
    for task in tasks:
        fold = by_name[task.data, task.fold]
        jobs.append(Job(task, fold.place, fold.facts["parts"]["train"]["documents"]))
    return jobs


def _record(
    results: Results, experiment: Experiment, todo: Sequence[Job], running: Run, verbose: bool
) -> dict[str, str]:
    """Run, show how far it is, and keep the reasons of what failed."""
    failed: dict[str, str] = {}
    bar = Bar(len(todo), "bench") if verbose else None
    best = Best(results, experiment)
    try:
        for job, reason in running(todo):
            if reason is not None:
                failed[job.task.address] = reason
                results.write_failure(job.task, reason)
            if bar is not None:
                bar.step((f"{len(failed)} failed, " if failed else "") + best.after(job.task, reason is None))
    finally:
        if bar is not None:
            bar.close()
    return failed


class Best:
    """Which ranker leads so far, by the mean over the cells that are done."""

    def __init__(self, results: Results, experiment: Experiment) -> None:
        self.results = results
        self.tool = "official" if "official" in experiment.tools else experiment.tools[0]
        self.measure = "MAP" if "MAP" in experiment.measures else experiment.measures[0]
        self._values: dict[str, dict[str, list[float]]] = {}

    def after(self, task: Task, done: bool) -> str:
        """What to show now that a cell is done: the leader on its data set."""
        own = self._values.setdefault(task.data, {})
        if done:
            record = json.loads((self.results.path / "cells" / task.address / "cell.json").read_bytes())
            value = record["means"].get(self.tool, {}).get(self.measure)
            if value is not None:
                own.setdefault(task.ranker, []).append(value)
        if not own:
            return ""
        means = {ranker: sum(values) / len(values) for ranker, values in own.items()}
        leader = max(means, key=means.__getitem__)
        return f"best on {task.data}: {leader} {self.measure} {means[leader]:.4f}"


class Worker:
    """One process and the job it is at."""

    def __init__(self, results: Results, imports: Sequence[str], lock: int) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, **dict.fromkeys(_ALONE, "1"), "PYTHONPATH": paths}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pippin.bench.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, env=environment, pass_fds=[lock],
            process_group=0,  # Ctrl-C is for the runner, not for training that would take it as an early stop
        )  # fmt: skip
        self.job: Job | None = None
        self.too_large = False
        self._send({"results": str(results.path.resolve()), "imports": list(imports)})

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = cast(IO[str], self.process.stdin)
        with suppress(BrokenPipeError):  # it is dead already, which its output will tell
            pipe.write(json.dumps(message) + "\n")
            pipe.flush()

    def give(self, job: Job) -> None:
        """Begin a job."""
        self.job = job
        self._send({"task": job.task.record(), "place": asdict(job.place)})

    @property
    def output(self) -> IO[str]:
        """Where its answers come from."""
        return cast(IO[str], self.process.stdout)

    def resident(self) -> int:
        """Its memory now, in bytes."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def last_words(self) -> str:
        """Why it died, by its exit status and the end of what it wrote."""
        status = self.process.wait()
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
        said = f": {lines[-1]}" if lines else ""
        if status >= 0:
            return f"the process ended with status {status}{said}"
        name = signal.Signals(-status).name
        hint = ", as the system does when memory runs out" if -status == signal.SIGKILL else ""
        return f"the process was ended by {name}{hint}{said}"

    def end(self) -> None:
        """Kill it, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Pool:
    """Workers that together stay below a limit of memory."""

    def __init__(self, results: Results, imports: Sequence[str], jobs: int, memory: int | None, lock: int) -> None:
        if jobs < 1:
            raise DataError(f"at least one job is needed, not {jobs}")
        self.results, self.imports, self.jobs, self.memory, self.lock = results, imports, jobs, memory, lock
        self.workers: list[Worker] = []

    def run(self, todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        """Every job with why it failed (None: it did not), as they end."""
        large: list[Job] = []
        yield from self._run(todo, self.jobs, large)
        # What did not fit beside others may fit alone; what does not is out of memory.
        alone: list[Job] = []
        yield from self._run(large, 1, alone)
        for job in alone:
            yield job, f"out of memory: it alone takes more than the {_size(self.memory or 0)} allowed"

    def _run(self, todo: Sequence[Job], jobs: int, large: list[Job]) -> Iterator[tuple[Job, str | None]]:
        waiting = deque(todo)
        with self._workers(min(jobs, len(todo))) as selector:
            for worker in self.workers:
                worker.give(waiting.popleft())
            looked = time.monotonic()
            while self.workers:
                for key, _ in selector.select(_LOOK):
                    worker = cast(Worker, key.data)
                    job, line = cast(Job, worker.job), worker.output.readline()
                    alive = line.endswith("\n")
                    reason = self._reason(json.loads(line)) if alive else worker.last_words()
                    if not alive or not waiting:
                        self._remove(worker, selector)
                    if waiting:
                        (worker if alive else self._start(selector)).give(waiting.popleft())
                    if worker.too_large:
                        large.append(job)
                    else:
                        yield job, reason
                if self.memory is not None and time.monotonic() - looked >= _LOOK:
                    self._check_memory()
                    looked = time.monotonic()

    @staticmethod
    def _reason(reply: Mapping[str, Any]) -> str | None:
        if reply.get("stop"):
            raise DiskFull(reply["reason"])
        return None if reply["ok"] else str(reply["reason"])

    def _check_memory(self) -> None:
        """End the largest worker where all together have grown beyond the limit."""
        sizes = {worker: worker.resident() for worker in self.workers if not worker.too_large}
        if sizes and sum(sizes.values()) > (self.memory or 0):
            largest = max(sizes, key=sizes.__getitem__)
            largest.too_large = True
            largest.process.kill()

    @contextmanager
    def _workers(self, count: int) -> Iterator[selectors.BaseSelector]:
        selector = selectors.DefaultSelector()
        try:
            for _ in range(count):
                self._start(selector)
            yield selector
        finally:
            for worker in list(self.workers):
                self._remove(worker, selector)
            selector.close()

    def _start(self, selector: selectors.BaseSelector) -> Worker:
        worker = Worker(self.results, self.imports, self.lock)
        self.workers.append(worker)
        selector.register(worker.output, selectors.EVENT_READ, worker)
        return worker

    def _remove(self, worker: Worker, selector: selectors.BaseSelector) -> None:
        selector.unregister(worker.output)
        self.workers.remove(worker)
        worker.end()


_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Bytes of 512M, 2G, 1.5GB.

    >>> parse_size("2G"), parse_size("512mb"), parse_size("1000")
    (2147483648, 536870912, 1000)
    """
    plain = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = _UNITS.get(plain[-1:], 1)
    try:
        size = int(float(plain[:-1] if unit > 1 else plain) * unit)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise DataError(f"a size of memory is a number with K, M, G or T, such as 4G, not {text!r}")
    return size


def _size(size: int) -> str:
    for unit, worth in reversed(_UNITS.items()):
        if size >= worth:
            return f"{size / worth:.3g} {unit}B"
    return f"{size} bytes"
