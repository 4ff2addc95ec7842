"""A bench on a Dask cluster with a killed worker gives identical bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.benchmarks import failing_rankers
from tests.benchmarks.small import bench, write_folds

from pippin.benchmarks.store import Results
from pippin.cli.main import main
from pippin.distributed import dask_executor
from pippin.distributed.dask_executor import ClusterLost, DaskExecutor
from pippin.errors import DataError

distributed = pytest.importorskip("distributed")
T = TypeVar("T")
R = TypeVar("R")
OPTIONS: dict[str, Any] = {
    "rankers": ("odd-slow", "best-feature", "regression"), "imports": (failing_rankers.__name__,), 
    "tools": ("official",),
}  # fmt: skip


class InterruptedExecutor(DaskExecutor):
    """An executor whose cluster is disturbed after the first result."""

    interrupt: Callable[[], object]

    def as_completed(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[tuple[T, R | Exception]]:
        for i, outcome in enumerate(super().as_completed(function, items)):
            if i == 0:
                self.interrupt()
            yield outcome


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    folder = write_folds(tmp_path / "small", folds=3)
    with InterruptedExecutor("local", 2) as executor:
        # There is more than enough to do for both workers.
        executor.interrupt = lambda: os.kill(min(executor.client.run(os.getpid).values()), signal.SIGKILL)
        outcome = bench(folder, tmp_path / "dask", executor=executor, **OPTIONS)
    assert (outcome.failed, outcome.computed) == ({}, 9)
    quiet = bench(folder, tmp_path / "here", **OPTIONS)
    assert outcome.results.digest() == quiet.results.digest()


CLUSTER = """
import time
from distributed import LocalCluster
local = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **local)
print(cluster.scheduler_address, flush=True)
time.sleep(100)
"""


def test_a_scheduler_that_is_killed_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_folds(tmp_path / "small", folds=3)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen([sys.executable, "-c", CLUSTER], env=environment, stdout=subprocess.PIPE, text=True)
    with process:
        address = (process.stdout.readline() if process.stdout else "").strip()
        with InterruptedExecutor(address) as executor:

            def kill_scheduler() -> None:
                process.kill()
                executor.client._timeout = 1  # seconds to reconnect

            executor.interrupt = kill_scheduler
            with pytest.raises(ClusterLost, match="scheduler at"):
                bench(folder, tmp_path / "dask", executor=executor, **OPTIONS)
    assert "Traceback" not in capfd.readouterr().err
    results = Results.open(tmp_path / "dask")
    assert 1 <= len(results.cells) < 9
    assert not len(results.failures())
    assert bench(folder, tmp_path / "dask", **OPTIONS).computed == 9 - len(results.cells)


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_executor, "CONNECT_TIMEOUT", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense://"):
        with pytest.raises(DataError, match=f"scheduler at {address}"), DaskExecutor(address) as executor:
            executor.workers()


def test_a_cluster_has_its_own_limits() -> None:
    with pytest.raises(DataError, match="--jobs and --memory"):
        DaskExecutor("tcp://127.0.0.1:1", jobs=4)


def test_a_cluster_without_workers_ends_the_command_and_the_next_one_continues(tmp_path: Path) -> None:
    """The scheduler stays, and all workers are killed."""
    folder = write_folds(tmp_path / "small", folds=3)
    local = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with distributed.LocalCluster(n_workers=0, processes=False, **local) as cluster:
        address = cluster.scheduler_address
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard"]
        quiet: dict[str, Any] = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": environment}
        workers = [subprocess.Popen([*command, "--nthreads", "1"], cwd=tmp_path, **quiet) for _ in range(2)]

        def kill_all() -> None:
            for worker in workers:
                worker.kill()
                worker.wait()

        try:
            with InterruptedExecutor(address, worker_timeout=3) as executor:
                executor.client.wait_for_workers(2, timeout=100)
                executor.interrupt = kill_all
                with pytest.raises(ClusterLost, match="no workers for 3 seconds"):
                    bench(folder, tmp_path / "dask", executor=executor, **OPTIONS)
                with pytest.raises(ClusterLost, match="no workers for 3 seconds"):
                    list(executor.map(abs, [1, 2]))
        finally:
            kill_all()
    done = len(Results.open(tmp_path / "dask").cells)
    assert 1 <= done < 9
    assert bench(folder, tmp_path / "dask", **OPTIONS).computed == 9 - done


def test_the_command_ends_with_a_message_on_a_cluster_without_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dask_executor, "WORKER_TIMEOUT", 1.5)
    folder = write_folds(tmp_path / "small", folds=3)
    local = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=0, processes=False, **local) as cluster:
        command = ["bench", str(folder), "-r", "best-feature", "-o", str(tmp_path / "results"), "--quiet"]
        assert main([*command, "--dask", cluster.scheduler_address]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(
        "has had no workers for 1.5 seconds; finished work is kept; run the same command again to continue"
    )
