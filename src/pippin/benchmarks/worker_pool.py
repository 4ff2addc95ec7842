"""Compute cells in worker processes that share a memory limit."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO, TypeAlias, cast

from pippin.benchmarks.cell import Job, compute_job, describe_error
from pippin.benchmarks.store import DiskFull, Results
from pippin.errors import DataError
from pippin.plugins import load_modules
from pippin.storage.compression import max_bytes, set_max_bytes
from pippin.system import die_with_parent, format_bytes, isolated_python, process_group_options, resident_memory

_MEMORY_INTERVAL = 0.1  # seconds between two checks of the workers' memory
_SINGLE_THREAD = ("PIPPIN_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


Replies: TypeAlias = "queue.SimpleQueue[tuple[Worker, str]]"


class Worker:
    """One process and its current job."""

    def __init__(self, results: Results, imports: Sequence[str], lock: int) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        command = isolated_python("pippin.benchmarks.worker_pool", imports)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, **dict.fromkeys(_SINGLE_THREAD, "1")},
            **process_group_options(lock),  # only the runner receives Ctrl-C, which would stop training early
        )
        self.job: Job | None = None
        self.too_large = False
        self._send({"results": str(results.path.resolve()), "imports": list(imports), "max_bytes": max_bytes()})

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = cast(IO[str], self.process.stdin)
        with suppress(BrokenPipeError):  # the end of its output reports that it has ended
            pipe.write(json.dumps(message) + "\n")
            pipe.flush()

    def assign(self, job: Job) -> None:
        """Send a job to the process."""
        self.job = job
        self._send(job.to_dict())

    def listen(self, replies: Replies) -> None:
        """Put the replies into a queue, and an empty text when the process has ended."""
        output = cast(IO[str], self.process.stdout)

        def read() -> None:
            for line in output:
                replies.put((self, line))
            replies.put((self, ""))

        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()

    def exit_reason(self) -> str:
        """Return why the process ended: its exit status or signal, and the last line of its error output."""
        status = self.process.wait()
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
        detail = f": {lines[-1]}" if lines else ""
        if status >= 0:
            return f"the process ended with status {status}{detail}"
        name = signal.Signals(-status).name
        hint = ", as the system does when memory runs out" if -status == signal.SIGKILL else ""
        return f"the process was ended by {name}{hint}{detail}"

    def end(self) -> None:
        """Kill the process and close its streams."""
        self.process.kill()
        self.process.wait()
        self.reader.join(1)  # takes longer only if a child of the process still holds its output
        streams = [self.process.stdin, self.errors, *([] if self.reader.is_alive() else [self.process.stdout])]
        for stream in streams:
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Pool:
    """Worker processes that share a memory limit."""

    def __init__(self, results: Results, imports: Sequence[str], jobs: int, memory: int | None, lock: int) -> None:
        if jobs < 1:
            raise DataError(f"the number of jobs must be at least 1, found {jobs}")
        self.results, self.imports, self.jobs, self.memory, self.lock = results, imports, jobs, memory, lock
        self.workers: list[Worker] = []

    def run(self, todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
        """Yield each job when it ends, with the reason if it failed."""
        large: list[Job] = []
        yield from self._run(todo, self.jobs, large)
        # A job that exceeded the limit beside others may fit alone.
        too_large: list[Job] = []
        yield from self._run(large, 1, too_large)
        for job in too_large:
            yield job, f"out of memory: the job alone takes more than the limit of {format_bytes(self.memory or 0)}"

    def _run(self, todo: Sequence[Job], jobs: int, large: list[Job]) -> Iterator[tuple[Job, str | None]]:
        """Run jobs; those that are ended for their memory are added to `large`."""
        waiting = deque(todo)
        with self._workers(min(jobs, len(todo))) as replies:
            for worker in self.workers:
                worker.assign(waiting.popleft())
            last_check = time.monotonic()
            while self.workers:
                if self.memory is not None and time.monotonic() - last_check >= _MEMORY_INTERVAL:
                    self._check_memory()
                    last_check = time.monotonic()
                try:
                    worker, line = replies.get(timeout=_MEMORY_INTERVAL)
                except queue.Empty:
                    continue
                if worker not in self.workers:  # the end of a worker that was removed
                    continue
                job, is_alive = cast(Job, worker.job), line.endswith("\n")
                reason = self._reason(json.loads(line)) if is_alive else worker.exit_reason()
                if not is_alive or not waiting:
                    self._remove(worker)
                if waiting:
                    (worker if is_alive else self._start(replies)).assign(waiting.popleft())
                if worker.too_large:
                    large.append(job)
                else:
                    yield job, reason

    @staticmethod
    def _reason(reply: Mapping[str, Any]) -> str | None:
        if reply.get("stop"):
            raise DiskFull(reply["reason"])
        return None if reply["ok"] else str(reply["reason"])

    def _check_memory(self) -> None:
        """Kill the largest worker if all together exceed the limit."""
        sizes = {worker: resident_memory(worker.process.pid) for worker in self.workers if not worker.too_large}
        if sizes and sum(sizes.values()) > (self.memory or 0):
            largest = max(sizes, key=sizes.__getitem__)
            largest.too_large = True
            largest.process.kill()

    @contextmanager
    def _workers(self, count: int) -> Iterator[Replies]:
        replies: Replies = queue.SimpleQueue()
        try:
            for _ in range(count):
                self._start(replies)
            yield replies
        finally:
            for worker in list(self.workers):
                self._remove(worker)

    def _start(self, replies: Replies) -> Worker:
        worker = Worker(self.results, self.imports, self.lock)
        worker.listen(replies)
        self.workers.append(worker)
        return worker

    def _remove(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.end()


def run_job(results: Results, job: Job) -> dict[str, Any]:
    """Compute one cell, write it and return the reply to the runner."""
    try:
        cell = compute_job(job)
        results.write_cell(job.task.address, cell.files, cell.cost)
    except DiskFull as error:
        return {"ok": False, "stop": True, "reason": str(error)}
    except Exception as error:  # a ranker's error must not end the other cells
        return {"ok": False, "reason": describe_error(error)}
    return {"ok": True}


def _read_lines(source: TextIO, lines: queue.SimpleQueue[str]) -> None:
    for line in source:
        lines.put(line)
    os._exit(0)


def main() -> None:
    """Run the jobs that arrive on standard input until it ends."""
    die_with_parent()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keep the output of libraries apart from the replies
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(sys.stdin, lines), daemon=True).start()
    settings = json.loads(lines.get())
    load_modules(settings["imports"])
    set_max_bytes(settings["max_bytes"])
    results = Results.open(Path(settings["results"]))
    while True:
        reply = run_job(results, Job.from_dict(json.loads(lines.get())))
        out.write(json.dumps(reply) + "\n")
        out.flush()
