"""The bench on a Dask cluster: a worker is killed while it works, and the bytes are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.bench import odd_rankers
from tests.bench.small import bench, write_folds

from pippin.bench.dask import cluster as scale
from pippin.bench.plan import Experiment
from pippin.bench.runner import Job, RunJobs
from pippin.bench.store import Results
from pippin.errors import DataError

distributed = pytest.importorskip("distributed")
OPTIONS: dict[str, Any] = {
    "rankers": ("odd-slow", "best-feature", "regression"), "imports": (odd_rankers.__name__,), "tools": ("official",),
}  # fmt: skip


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    folder = write_folds(tmp_path / "small", folds=3)
    with scale.connected("local", 2, None) as client:

        def executor(results: Results, experiment: Experiment) -> RunJobs:
            run = scale.on_dask(client.scheduler.address)(results, experiment)

            def running(todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
                for i, ended in enumerate(run(todo)):
                    if i == 0:  # there is more than enough to do for both
                        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
                    yield ended

            return running

        outcome = bench(folder, tmp_path / "dask", executor=executor, **OPTIONS)
    assert (outcome.status, outcome.computed) == (0, 9)
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


def test_a_scheduler_that_is_killed_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_folds(tmp_path / "small", folds=3)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen([sys.executable, "-c", CLUSTER], env=environment, stdout=subprocess.PIPE, text=True)
    with process:
        address = (process.stdout.readline() if process.stdout else "").strip()

        def executor(results: Results, experiment: Experiment) -> RunJobs:
            def running(todo: Sequence[Job]) -> Iterator[tuple[Job, str | None]]:
                for ended in scale.on_dask(address)(results, experiment)(todo):
                    process.kill()
                    distributed.default_client()._timeout = 1  # to come back to one that was there, and is not
                    yield ended

            return running

        with pytest.raises(DataError, match=f"the Dask scheduler at {address} is gone; what was finished is kept"):
            bench(folder, tmp_path / "dask", executor=executor, **OPTIONS)
    assert "Traceback" not in capfd.readouterr().err
    results = Results.open(tmp_path / "dask")
    assert 1 <= len(results.cells) < 9
    assert not len(results.failures())
    assert bench(folder, tmp_path / "dask", **OPTIONS).computed == 9 - len(results.cells)


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_PATIENCE", 0.5)
    sentence = "no Dask scheduler answers at tcp://127.0.0.1:1"
    with pytest.raises(DataError, match=sentence), scale.connected("tcp://127.0.0.1:1", 1, None):
        pass
    with (
        pytest.raises(DataError, match="no Dask scheduler answers at nonsense://"),
        scale.connected("nonsense://", 1, None),
    ):
        pass


def test_a_cluster_has_its_own_limits() -> None:
    with pytest.raises(DataError, match="is for the cluster's own workers to say"):
        scale.on_dask("tcp://127.0.0.1:1", jobs=4)
