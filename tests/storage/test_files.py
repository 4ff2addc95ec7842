"""Atomic folders: complete or absent after a crash, without following links."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pippin.data.dataset import Dataset
from pippin.data.store import read_store, write_store
from pippin.errors import DataError
from pippin.storage import files

WRITE = """
import os, signal, sys
from pathlib import Path
from pippin.storage import files
from pippin.storage.files import atomic_folder
calls = 0
def die(plain):
    def stop(*given, **named):
        global calls
        calls += 1
        if calls == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(*given, **named)
    return stop
os.rename = die(os.rename)
files.remove_path = die(files.remove_path)
with atomic_folder(Path(sys.argv[1])) as folder:
    (folder / "content").write_text("new")
"""


def write(target: Path, stop: int = 0) -> int:
    """Write a folder in a process of its own that is killed before its `stop`-th rename or removal."""
    return subprocess.run([sys.executable, "-c", WRITE, str(target), str(stop)], check=False).returncode


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def content(target: Path) -> str:
    return (target / "content").read_text()


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_a_folder_survives_a_kill_at_every_step(stop: int, tmp_path: Path) -> None:
    """1: before anything moved, 2: between the renames, 3: before the old one is removed, 4: before the end."""
    target = tmp_path / "it"
    target.mkdir()
    (target / "content").write_text("old")
    assert write(target, stop) == -signal.SIGKILL
    assert target.exists() == (stop != 2), "between the renames the data stand under a hidden name only"
    files.recover_interrupted(target)
    assert content(target) == ("old" if stop == 1 else "new")
    assert write(target) == 0
    assert content(target) == "new"
    assert names(tmp_path) == ["it"], "what the killed process left is gone"


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_first_folder_survives_a_kill(stop: int, tmp_path: Path) -> None:
    target = tmp_path / "it"
    assert write(target, stop) == -signal.SIGKILL
    files.recover_interrupted(target)
    assert target.exists() == (stop > 1)
    assert write(target) == 0
    assert names(tmp_path) == ["it"]


def test_readers_recover_what_was_half_renamed(tmp_path: Path) -> None:
    write_store(Dataset.from_arrays([[1.0]], [1], ["q"]), tmp_path / "s.pippin")
    (tmp_path / "s.pippin").rename(tmp_path / ".s.pippin.abcdefgh.old")
    assert read_store(tmp_path / "s.pippin").query_ids == ("q",)
    assert names(tmp_path) == ["s.pippin"]


def test_a_writer_that_is_alive_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "it"
    with files.atomic_folder(target) as first:
        (first / "content").write_text("first")
        first.with_suffix(".old").mkdir()
        files.recover_interrupted(target)
        assert not target.exists(), "its writer is at work"
        with files.atomic_folder(target) as second:
            (second / "content").write_text("second")
        assert content(first) == "first", "not swept away as something that was left"
    assert content(target) == "first"


def test_names_of_other_processes_are_not_matched(tmp_path: Path) -> None:
    for name in (".it.x.old", ".it.abcdefgh.older", ".itt.abcdefgh.old", "it.abcdefgh.old"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".it.abcdefgh.old").symlink_to(tmp_path / "elsewhere")
    before = names(tmp_path)
    files.recover_interrupted(tmp_path / "it")
    with files.atomic_folder(tmp_path / "it"):
        pass
    assert names(tmp_path) == sorted([*before, "it"])


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis").write_text("years of work")
    return tmp_path / "precious"


def test_removing_does_not_follow_links(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").symlink_to(precious)
    (tmp_path / "link").symlink_to(precious)
    for name in ("folder", "link", "nothing"):
        files.remove_path(tmp_path / name)
    assert (precious / "thesis").read_text() == "years of work"
    assert names(tmp_path) == ["precious"]


def test_opening_does_not_follow_links(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "it").symlink_to(precious / "thesis")
    with pytest.raises(DataError, match="this is a symbolic link; Pippin does not write through links"):
        files.open_lock(tmp_path / "it")
    with pytest.raises(FileExistsError):
        files.write_new(tmp_path / "it", b"mine")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "inside").symlink_to(precious)
    with pytest.raises(DataError, match="symbolic link"):
        files.make_folder(tmp_path / "here", "inside", "deeper")
    with pytest.raises(DataError, match="inside: this is a symbolic link"):
        files.check_no_links(tmp_path / "here")
    assert (precious / "thesis").read_text() == "years of work"
    assert names(precious) == ["thesis"]


def test_a_lock_is_a_file_and_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("kept")
    files.open_lock(tmp_path / "lock").close()
    assert (tmp_path / "lock").read_text() == "kept"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="not a regular file"):
        files.open_lock(tmp_path / "pipe")
