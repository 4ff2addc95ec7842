"""What the machine offers, also where it offers less than Linux does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pippin import machine


def test_cores_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.cpu_count() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine.cpu_count() == os.cpu_count()


def test_memory_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    machine.reset_peak_memory()
    assert machine.peak_memory() > 1 << 20
    assert machine.resident_memory(os.getpid()) > 1 << 20
    assert machine.resident_memory(2**22 + 1) == 0  # nobody


def test_memory_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", nothing)
    monkeypatch.setattr(Path, "write_text", nothing)
    monkeypatch.setattr(sys, "platform", "darwin")
    machine.reset_peak_memory()
    assert machine.peak_memory() > 0
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, " 2048\n"))
    assert machine.resident_memory(os.getpid()) == 2048 * 1024
    machine.die_with_parent()  # nothing, but no error either


def test_a_file_is_held_by_one(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert machine.try_lock(first)
        assert not machine.try_lock(second)
    with (tmp_path / "lock").open("w") as third:
        assert machine.try_lock(third)
