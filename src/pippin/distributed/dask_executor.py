"""Map functions over the workers of a Dask cluster.

A function runs again on another worker when its worker is lost, so the results are those of one machine. A cluster that
has lost all workers, or its scheduler, ends the command with one sentence; what was finished is kept and the same
command continues from there.
"""

from __future__ import annotations

import logging
import os
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from types import TracebackType
from typing import Any, Self, TypeVar

from pippin.dependencies import require
from pippin.errors import DataError
from pippin.plugins import load_modules, loaded_modules
from pippin.system import cpu_count

T = TypeVar("T")
R = TypeVar("R")
CONNECT_TIMEOUT = 10.0  # seconds until a scheduler that does not answer counts as absent
WORKER_TIMEOUT = 120.0  # seconds that a cluster may be without any worker; a busy machine restarts one in less
POLL_INTERVAL = 1.0  # seconds between two looks at the workers while waiting
_CONTINUE = "finished work is kept; run the same command again to continue"


class ClusterLost(DataError):
    """The cluster has lost its scheduler or all its workers."""


class DaskExecutor:
    """An executor that maps functions over the workers of a Dask cluster.

    Use it as a context manager; it connects when it is first used.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://host:8786``, or "local" to start a cluster on this machine.
    jobs : int, optional
        Number of workers of a local cluster; by default one per core.
    memory : int, optional
        Bytes for all workers of a local cluster together.
    worker_timeout : float, optional
        Seconds that the cluster may be without any worker before waiting ends with `ClusterLost`; by default 120.

    Raises
    ------
    DataError
        If `jobs` or `memory` is given for a cluster that is not local.
    """

    def __init__(
        self, address: str, jobs: int | None = None, memory: int | None = None, worker_timeout: float | None = None
    ) -> None:
        if address != "local" and (jobs is not None or memory is not None):
            raise DataError("--jobs and --memory apply to --dask local only: set them on the cluster's own workers")
        self.address, self.jobs, self.memory = address, jobs, memory
        self.worker_timeout = WORKER_TIMEOUT if worker_timeout is None else worker_timeout
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        vars(self).pop("client", None)
        self._resources.close()

    @cached_property
    def client(self) -> Any:
        """The Dask client, connected on first use."""
        require("a Dask cluster", "dask", "distributed")
        self._resources.enter_context(_silence_logs())
        connect = _start_local(self.jobs or cpu_count(), self.memory) if self.address == "local" else None
        return self._resources.enter_context(connect or _connect(self.address))

    @property
    def n_workers(self) -> int:
        """The number of workers, at least 1."""
        return max(1, len(self.workers()))

    def workers(self) -> list[str]:
        """Return the sorted addresses of the workers; raise `ClusterLost` if the scheduler does not answer."""
        with self._translate_errors():
            return sorted(self.client.nthreads(callback_timeout=self.worker_timeout))

    def map(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield ``function(item)`` of each item, in order."""
        return self.starmap(function, [(item,) for item in items])

    def starmap(self, function: Callable[..., R], arguments: Iterable[tuple[Any, ...]]) -> Iterator[R]:
        """Yield ``function(*arguments)`` of each tuple of arguments, in order."""
        futures = [self._submit(function, *values) for values in arguments]
        completed = self.wait(tuple(futures))
        done: set[Any] = set()
        try:
            while futures:
                while futures[0] not in done:
                    done.add(next(completed))
                yield self._result(futures[0])
                futures.pop(0).release()
        finally:
            self._cancel(futures)

    def as_completed(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Exception]]:
        """Yield each item with ``function(item)``, or with the exception that it raised, as they finish."""
        futures = {self._submit(function, item): item for item in items}
        try:
            for future in self.wait(list(futures)):
                try:
                    outcome: R | Exception = self._result(future)
                except ClusterLost:
                    raise
                except Exception as error:
                    outcome = error
                yield futures.pop(future), outcome
                future.release()
        finally:
            self._cancel(list(futures))

    def wait(self, futures: Sequence[Any]) -> Iterator[Any]:
        """Yield futures as they finish; raise `ClusterLost` after `worker_timeout` seconds without a worker."""
        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for future in futures:
            future.add_done_callback(finished.put)
        last_seen = time.monotonic()
        for _ in range(len(futures)):
            while True:
                try:
                    future = finished.get(timeout=POLL_INTERVAL)
                    break
                except queue.Empty:
                    last_seen = self.check_workers(last_seen)
            last_seen = time.monotonic()
            yield future

    def check_workers(self, last_seen: float) -> float:
        """Return when a worker was last seen: now, or `last_seen` while there is none; raise after the timeout."""
        if self.workers():
            return time.monotonic()
        if time.monotonic() - last_seen > self.worker_timeout:
            duration = f"{self.worker_timeout:g} seconds"
            raise ClusterLost(f"the Dask cluster at {self.address} has had no workers for {duration}; {_CONTINUE}")
        return last_seen

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn the errors of a lost scheduler into `ClusterLost`."""
        try:
            yield
        except (CancelledError, OSError):  # a TimeoutError is an OSError
            raise ClusterLost(f"the Dask scheduler at {self.address} is gone; {_CONTINUE}") from None

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        from distributed.protocol import pickle

        content = pickle.dumps((function, arguments))  # type: ignore[no-untyped-call]
        with self._translate_errors():
            return self.client.submit(_call, content, loaded_modules(), pure=False)

    def _result(self, future: Any) -> Any:
        """Return the result of a finished future, which runs again if its worker is lost before it is fetched."""
        from distributed.scheduler import KilledWorker

        last_seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=self.worker_timeout)
            except KilledWorker:
                message = "every worker that ran this task ended, as the system does when memory runs out"
                raise DataError(message) from None
            except (TimeoutError, CancelledError, OSError):
                if future.status == "error":  # raised by the function itself
                    raise
                if future.status == "cancelled" or self.client.status != "running":
                    raise ClusterLost(f"the Dask scheduler at {self.address} is gone; {_CONTINUE}") from None
                last_seen = self.check_workers(last_seen)

    def _cancel(self, futures: Sequence[Any]) -> None:
        if futures and self.client.status == "running":
            with suppress(OSError, TimeoutError, CancelledError):
                self.client.cancel(futures)


def _call(content: bytes, modules: Sequence[str]) -> Any:
    """Import the modules that `--import` named, unpack a call, which may refer to them, and run it on one thread."""
    from distributed.protocol import pickle

    load_modules(modules)
    os.environ["PIPPIN_THREADS"] = "1"  # every core has its own worker
    function, arguments = pickle.loads(content)  # type: ignore[no-untyped-call]
    return function(*arguments)


@contextmanager
def _start_local(jobs: int, memory: int | None) -> Iterator[Any]:
    """Start a cluster on this machine for this process alone."""
    import distributed

    limit = "auto" if memory is None else memory // jobs
    # A nanny restarts workers that die, so its warnings say nothing new; the dashboard takes any free port.
    settings = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR, "host": "127.0.0.1"}
    create: Any = partial(distributed.LocalCluster, **settings)
    with (
        _safe_path(),
        create(n_workers=jobs, threads_per_worker=1, memory_limit=limit) as cluster,
        distributed.Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


@contextmanager
def _connect(address: str) -> Iterator[Any]:
    import distributed

    create: Any = distributed.Client
    try:
        client = create(address, timeout=CONNECT_TIMEOUT)
    except (OSError, TimeoutError, ValueError) as error:
        raise DataError(f"cannot connect to a Dask scheduler at {address} ({type(error).__name__})") from None
    try:
        yield client
    finally:
        with suppress(OSError, TimeoutError, CancelledError):  # the scheduler may be gone
            client.close()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep worker processes from importing modules of the current folder."""
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
def _silence_logs() -> Iterator[None]:
    """Turn off the log of `distributed`, whose tracebacks repeat what the error message says."""
    import distributed  # noqa: F401 - its loggers exist once it is imported

    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
