"""Properties of the machine on Linux and on other systems."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.benchmarks.small import write_folds

from pippin import system


def test_cores_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.cpu_count() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert system.cpu_count() == os.cpu_count()


def test_memory_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    system.reset_peak_memory()
    assert system.peak_memory() > 1 << 20
    assert system.resident_memory(os.getpid()) > 1 << 20
    assert system.resident_memory(2**22 + 1) == 0  # nobody


def test_memory_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", nothing)
    monkeypatch.setattr(Path, "write_text", nothing)
    monkeypatch.setattr(sys, "platform", "darwin")
    system.reset_peak_memory()
    assert system.peak_memory() > 0
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, " 2048\n"))
    assert system.resident_memory(os.getpid()) == 2048 * 1024
    system.die_with_parent()  # nothing, but no error either


def test_a_file_is_held_by_one(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert system.try_lock(first)
        assert not system.try_lock(second)
    with (tmp_path / "lock").open("w") as third:
        assert system.try_lock(third)


WITHOUT = """
import os, shutil, subprocess, sys, tempfile, types  # which know the system for what it is
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp", "termios")))
locked = set()
def locking(handle, mode, count):
    key = os.fstat(handle).st_ino
    if key in locked:
        raise OSError
    locked.add(key)
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_LOCK=1, LK_NBLCK=2)
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "sched_getaffinity", "sysconf", "geteuid", "getuid", "fork"):
    delattr(os, name)
from pippin.cli.main import main
for words in sys.argv[1:]:
    status = main(words.split())
    if status:
        sys.exit(f"{words}: {status}")
"""


def test_a_system_without_locks_and_links_reads_writes_and_benches(tmp_path: Path) -> None:
    """What Windows lacks is taken away; its own way to lock is played by a set."""
    write_folds(tmp_path / "small", folds=3)
    commands = (
        "convert small/Fold1/test.txt x.pippin",
        "eval small/Fold1/test.txt scores.txt",
        "bench small -o results --ranker best-feature,regression --jobs 2 --quiet",
        "leaderboard results",
    )
    rows = (tmp_path / "small" / "Fold1" / "test.txt").read_text().count("\n")
    (tmp_path / "scores.txt").write_text("1\n" * rows)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *commands], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "best-feature" in done.stdout
