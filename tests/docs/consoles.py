"""Commands in the console blocks of a page and their documented output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def consoles(text: str) -> list[str]:
    """Return the console blocks of a page.

    >>> consoles("a\\n```console\\n$ pippin tools\\n```\\nb")
    ['$ pippin tools\\n']
    """
    return re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Commands and what stands below each.

    >>> list(commands("$ ls\\na\\nb\\n$ cd\\n"))
    [('ls', 'a\\nb\\n'), ('cd', '')]
    """
    for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = piece.partition("\n")
        yield command, printed


def run_command(command: str, folder: Path, columns: int) -> str:
    """Return the combined output of a command that is run in a folder."""
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    program = tools / "pippin"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pippin "$@"\n')
    program.chmod(0o755)
    around = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "COLUMNS": str(columns)}
    shell = ["bash", "-c", f"exec 2>&1; {command}"]
    done = subprocess.run(shell, cwd=folder, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout
