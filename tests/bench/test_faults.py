"""Killed at every call that writes, or on a disk that fails from then on: the next run ends with the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench import fault

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("gcc") is None, reason="the shim before libc is for Linux, and made by gcc"
)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("shim") / "fault.so"
    source = Path(fault.__file__).with_suffix(".c")
    subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: thousands of files are written to the disk, one after the other."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        yield Path(folder) / "root"


@pytest.mark.parametrize(("work", "least"), [("results", 60), ("store", 40)])
def test_every_moment_of_writing(shim: Path, place: Path, work: str, least: int) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": str(shim)}
    command = [sys.executable, "-m", "tests.bench.fault", str(place), work]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for how, outcome in json.loads(done.stdout).items():
        assert outcome["moments"] >= least, how
        assert not outcome["wrong"], how
