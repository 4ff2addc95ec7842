"""Golden outputs: integrity, and all recorded commands through the emulators and `pippin eval`.

The checker that stands beside the data sets starts a process per command; here its own functions run with the commands
called in this process, which takes seconds instead of minutes. Nothing of the comparison is changed.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.golden import HERE, INPUTS, archives, pack, record, unpack

from pippin.cli.main import main


def test_all_is_kept_and_is_small(golden_folder: Path) -> None:
    tools = [name for name in archives() if name != INPUTS]
    assert sorted(path.name for path in (golden_folder / "outputs").iterdir()) == tools
    assert sum(path.stat().st_size for path in HERE.glob("*.tar.xz")) < 2_000_000
    for tool in tools:
        folder = {path.name for path in (golden_folder / "outputs" / tool).iterdir()}
        recorded = {f"{row['case']}.{row['what']}" for row in record.commands(golden_folder, tool)}
        there = {name for name in recorded if f"{name}.txt" in folder or f"{name}.json" in folder}
        # Where a tool refused, there may be no output; ircor has one table of all its pairs, and no command here.
        assert len(there) >= 0.9 * len(recorded)


def test_the_same_files_pack_to_the_same_bytes(
    golden_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.golden.HERE", tmp_path)
    first, second = (pack(golden_folder, "lightgbm").read_bytes() for _ in range(2))
    assert first == second == (HERE / "lightgbm.tar.xz").read_bytes()


def test_an_original_is_run_again(golden_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pippin's drop-in stands in for the original: what it prints is what is kept, and what differs is told."""
    tool = "trec_eval-8.1"
    folder = unpack(tmp_path, [INPUTS, tool])
    rows = record.commands(folder, tool)[:2]
    monkeypatch.setattr(record, "commands", lambda *_: rows)
    program = f"{sys.executable} -m pippin as trec_eval --version 8.1"
    assert record.run(folder, tool, {"TREC_EVAL_8.1": program}) == []
    for row in rows:
        name = f"{row['case']}.{row['what']}.txt"
        assert (folder / "outputs" / tool / name).read_bytes() == (golden_folder / "outputs" / tool / name).read_bytes()
    differences = record.differences(folder / "outputs" / tool, golden_folder / "outputs" / tool)
    assert len(differences) == len(list((golden_folder / "outputs" / tool).iterdir())) - 2
    with pytest.raises(SystemExit, match=r"trec_eval-8\.1 needs TREC_EVAL_8\.1=PATH"):
        record.run(folder, tool, {})


def in_process(command: list[str], folder: Path) -> tuple[int, str, str]:
    """Do the same as the checker's `run` without a new process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(command[1:])
    finally:
        os.chdir(before)
    printed, errors = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err))
    return status, printed, errors


def checker(shared: Path) -> dict[str, Any]:
    """Return the checker's functions."""
    path = shared / "golden" / "check"
    source = path.read_text()
    assert source.endswith("\nmain()\n")
    names: dict[str, Any] = {"__file__": str(path), "__name__": "golden_check"}
    exec(compile(source.removesuffix("main()\n"), str(path), "exec"), names)
    names["run"] = in_process
    return names


# The checker leaves a file to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_recorded_command_is_missed(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = checker(shared)
    monkeypatch.setattr(sys, "argv", ["check", "--jobs", "1", "--show", "20"])
    with pytest.raises(SystemExit) as finished:
        names["main"]()
    printed = capsys.readouterr().out
    assert finished.value.code == 0, printed
    assert printed.rstrip().split("\n")[-1].startswith("all: ")
