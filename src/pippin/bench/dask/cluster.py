"""Where one machine ends: the same cells as tasks of a Dask cluster, with the same bytes as results.

Every worker reads the data from a path that all of them share and keeps the fold it works on; what it computes comes
home as bytes, and this process alone writes. Workers may join, leave or be killed: the scheduler gives their cells to
others, and a cell that ends several workers is given up with its reason.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from pippin.bench.inputs import FoldRef
from pippin.bench.plan import Experiment, Task
from pippin.bench.provenance import modules_for
from pippin.bench.runner import Executor, Job, RunJobs
from pippin.bench.store import Results
from pippin.errors import DataError
from pippin.extras import need
from pippin.machine import cpu_count
from pippin.plugins import load_modules, loaded_modules

_PATIENCE = 10  # seconds until a scheduler that does not answer is not there
_one_at_a_time = threading.Lock()  # a worker with several threads: warnings and memory belong to one cell only


def on_dask(address: str, jobs: int | None = None, memory: int | None = None) -> Executor:
    """What runs cells on the cluster of the scheduler at `address`, or on one made here (`local`)."""
    if address != "local" and (jobs is not None or memory is not None):
        raise DataError("how many cells run at a time, and their memory, is for the cluster's own workers to say")

    def executor(results: Results, experiment: Experiment) -> RunJobs:
        def run(todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
            if todo:
                with connected(address, jobs or cpu_count(), memory) as client:
                    yield from _run(client, results, experiment, todo)

        return run

    return executor


def _distributed() -> Any:
    need("a Dask cluster", "dask", "distributed")
    import distributed

    return distributed


@contextmanager
def connected(address: str, jobs: int, memory: int | None) -> Iterator[Any]:
    """A client of the cluster; a scheduler that is lost on the way is one sentence."""
    with _quiet(), _local(jobs, memory) if address == "local" else _remote(address) as client:
        try:
            _bring_modules(client)
            yield client
        except (CancelledError, OSError) as error:
            closed = isinstance(error, CancelledError | _distributed().comm.CommClosedError)
            if not closed and client.status == "running":  # the disk, say
                raise
            rest = "what was finished is kept, and the same command goes on from there"
            raise DataError(f"the Dask scheduler at {address} is gone; {rest}") from None


@contextmanager
def _local(jobs: int, memory: int | None) -> Iterator[Any]:
    """A cluster on this machine, for this process alone."""
    dask = _distributed()
    limit = "auto" if memory is None else memory // jobs
    # It restarts workers that die, so there is nothing to warn of; its web server takes any free port.
    settings = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR, "host": "127.0.0.1"}
    with (
        _safe_path(),
        dask.LocalCluster(n_workers=jobs, threads_per_worker=1, memory_limit=limit, **settings) as cluster,
        dask.Client(cluster) as client,
    ):
        yield client


@contextmanager
def _remote(address: str) -> Iterator[Any]:
    try:
        client = _distributed().Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        raise DataError(f"no Dask scheduler answers at {address} ({type(error).__name__})") from None
    try:
        yield client
    finally:
        with suppress(OSError, TimeoutError, CancelledError):  # a scheduler that is gone cannot say goodbye
            client.close()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Python processes that are started inside do not look for modules in the current folder."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the log of `distributed`, whose tracebacks tell of what is told here in a sentence."""
    _distributed()
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _bring_modules(client: Any) -> None:
    """Let every worker, also one that joins later, import the modules that `--import` named here."""
    modules = loaded_modules()
    if not modules:
        return

    class Bringer(_distributed().WorkerPlugin):  # type: ignore[misc]
        name = "pippin modules"

        def setup(self, worker: Any) -> None:
            load_modules(modules)

    client.register_plugin(Bringer())


def _run(
    client: Any, results: Results, experiment: Experiment, todo: Sequence[Job]
) -> Iterator[tuple[Job, str | None]]:
    modules = modules_for(experiment, [job.task for job in todo])
    futures = {client.submit(compute_cell, job.record(), modules, key=f"cell-{job.task.address}"): job for job in todo}
    for future in _distributed().as_completed(futures):
        job = futures.pop(future)
        if future.status == "finished":
            reply = future.result()
            if "files" in reply:
                results.write_cell(job.task.address, reply["files"], reply["cost"])
            yield job, reply.get("reason")
        elif future.status == "error":
            yield job, _why(future.exception())
        else:
            raise CancelledError  # nobody but a scheduler that is gone lets go of a cell
        future.release()


def _why(error: BaseException) -> str:
    if type(error).__name__ == "KilledWorker":
        return "the workers that computed it ended, again and again, as the system does when memory runs out"
    return f"{type(error).__name__}: {error}"


def compute_cell(job: Mapping[str, Any], imports: Sequence[str]) -> dict[str, Any]:
    """What a worker does: one cell, as the bytes of its files, or why there are none."""
    from pippin.bench.borrowing import offer_sources
    from pippin.bench.cell import compute
    from pippin.bench.worker import parts_of, reason_of

    os.environ["PIPPIN_THREADS"] = "1"
    asked = Task.of(job["task"])
    with _one_at_a_time:
        try:
            load_modules(imports)
            offer_sources(job["sources"])
            computed = compute(asked, parts_of(FoldRef.of(job["fold"]), tuple(asked.digests.items())))
        except Exception as error:  # whatever a ranker does must not take the other cells with it
            return {"reason": reason_of(error)}
    return {"files": dict(computed.files), "cost": dict(computed.cost)}
