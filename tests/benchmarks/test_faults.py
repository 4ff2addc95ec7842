"""Crash safety: after a kill or disk error at any write, the next run gives the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.benchmarks.small import bench, write_folds

from pippin.benchmarks.store import Results

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None, reason="the shim before libc is for Linux, and made by gcc"
)


@pytest.fixture(scope="module")
def shim_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, str]]:
    """The environment in which a shim of this name comes before libc."""

    def environment(name: str) -> dict[str, str]:
        library = tmp_path_factory.mktemp("shim") / f"{name}.so"
        source = Path(__file__).with_name(f"{name}.c")
        subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-o", library, source, "-ldl"], check=True)
        return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": str(library)}

    return environment


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: thousands of files are written to the disk, one after the other."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.timeout(1200)  # minutes of work on a busy machine
def test_every_moment_of_writing(shim_environment: Callable[[str], dict[str, str]], place: Path) -> None:
    killed = 0
    environment = shim_environment("fault")
    for work in ("results", "store"):
        command = [sys.executable, "-m", "tests.benchmarks.fault", str(place / work), work]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outcomes = json.loads(done.stdout)["outcomes"]
        for method, outcome in outcomes.items():
            assert not outcome["wrong"], method
        killed += outcomes["kill"]["moments"] + outcomes["torn"]["moments"]
        finished = json.loads(done.stdout)["finished"]  # once more, on a disk that has become read-only
        if work == "results":
            assert (
                finished
                == f"sentence: {place / work / 'quiet-kill' / '.lock'}: cannot be written (Read-only file system)"
            )
        else:
            assert len(finished[0]) == 64 * 9  # the store is there, and mapped
    assert killed >= 200


def test_a_clock_that_jumps_changes_nothing(shim_environment: Callable[[str], dict[str, str]], tmp_path: Path) -> None:
    folder = write_folds(tmp_path / "small", folds=3)
    options = ["--ranker", "best-feature,regression", "--tool", "official", "--jobs", "2"]
    command = [sys.executable, "-m", "pippin", "bench", str(folder), *options, "-o", str(tmp_path / "jumping")]
    done = subprocess.run(command, env=shim_environment("clock"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    jumping = Results.open(tmp_path / "jumping")
    quiet = bench(folder, tmp_path / "quiet", tools=("official",), quick=False)
    assert jumping.digest() == quiet.results.digest()
    assert all(0 < seconds < 1000 for seconds in jumping.costs()["select_seconds"].to_pylist())
