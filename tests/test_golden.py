"""Every recorded command of the original tools, run again through the drop-ins and through `pippin eval`.

The checker beside the golden outputs starts a process per command; here its own functions run with the commands called
in this process, which takes seconds instead of minutes. Nothing of the comparison is changed.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pippin.cli.main import main


def in_process(command: list[str], folder: Path) -> tuple[int, str, str]:
    """What the checker's `run` does, without a new process."""
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
    """The checker's functions."""
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
