"""Who computes cells on this machine? Processes that take one cell at a time and together stay below a memory limit.

Workers are started isolated: neither the current folder nor `PYTHON…` variables decide which modules they import. They
get the runner's own path, without the folder it was started in, and behind everything else the folders of modules that
were asked for by name (`--import`), so that a `numpy.py` beside somebody's data or rankers is never run.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

from pippin.bench.store import DiskFull, Results
from pippin.errors import DataError
from pippin.limits import max_bytes
from pippin.machine import isolated_python, own_group, resident_memory, size_text

if TYPE_CHECKING:
    from pippin.bench.runner import Job

_LOOK = 0.1  # seconds between looks at the workers' memory
_ONE_THREAD = ("PIPPIN_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


Answers: TypeAlias = "queue.SimpleQueue[tuple[Worker, str]]"


class Worker:
    """One process and the job it is at."""

    def __init__(self, results: Results, imports: Sequence[str], lock: int) -> None:
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        command = isolated_python("pippin.bench.worker", imports)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
            **own_group(lock),  # Ctrl-C is for the runner, not for training that would take it as an early stop
        )  # fmt: skip
        self.job: Job | None = None
        self.too_large = False
        self._send({"results": str(results.path.resolve()), "imports": list(imports), "max_bytes": max_bytes()})

    def _send(self, message: Mapping[str, Any]) -> None:
        pipe = cast(IO[str], self.process.stdin)
        with suppress(BrokenPipeError):  # it is dead already, which its output will tell
            pipe.write(json.dumps(message) + "\n")
            pipe.flush()

    def give(self, job: Job) -> None:
        """Begin a job."""
        self.job = job
        self._send(job.record())

    def listen(self, answers: Answers) -> None:
        """Put its answers into a queue, and at its end what is no line: any system can wait for a queue."""
        output = cast(IO[str], self.process.stdout)

        def read() -> None:
            for line in output:
                answers.put((self, line))
            answers.put((self, ""))

        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()

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
        self.reader.join(1)  # at once, unless a process that it started has its output still
        streams = [self.process.stdin, self.errors, *([] if self.reader.is_alive() else [self.process.stdout])]
        for stream in streams:
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def _next(answers: Answers) -> list[tuple[Worker, str]]:
    """The next answer, if one comes soon."""
    try:
        return [answers.get(timeout=_LOOK)]
    except queue.Empty:
        return []


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
            yield job, f"out of memory: it alone takes more than the {size_text(self.memory or 0)} allowed"

    def _run(self, todo: Sequence[Job], jobs: int, large: list[Job]) -> Iterator[tuple[Job, str | None]]:
        waiting = deque(todo)
        with self._workers(min(jobs, len(todo))) as answers:
            for worker in self.workers:
                worker.give(waiting.popleft())
            looked = time.monotonic()
            while self.workers:
                for worker, line in _next(answers):
                    if worker not in self.workers:  # the last word of one that had nothing more to do
                        continue
                    job, alive = cast("Job", worker.job), line.endswith("\n")
                    reason = self._reason(json.loads(line)) if alive else worker.last_words()
                    if not alive or not waiting:
                        self._remove(worker)
                    if waiting:
                        (worker if alive else self._start(answers)).give(waiting.popleft())
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
        sizes = {worker: resident_memory(worker.process.pid) for worker in self.workers if not worker.too_large}
        if sizes and sum(sizes.values()) > (self.memory or 0):
            largest = max(sizes, key=sizes.__getitem__)
            largest.too_large = True
            largest.process.kill()

    @contextmanager
    def _workers(self, count: int) -> Iterator[Answers]:
        answers: Answers = queue.SimpleQueue()
        try:
            for _ in range(count):
                self._start(answers)
            yield answers
        finally:
            for worker in list(self.workers):
                self._remove(worker)

    def _start(self, answers: Answers) -> Worker:
        worker = Worker(self.results, self.imports, self.lock)
        worker.listen(answers)
        self.workers.append(worker)
        return worker

    def _remove(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.end()
