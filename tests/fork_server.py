"""Run commands in forks of a process that has already imported Pippin.

A fresh interpreter takes a second for what such a command does in a twentieth of one. What a fork registers, imports or
changes ends with it, as with any process.

python -m tests.fork_server
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
Done = subprocess.CompletedProcess[str]
# What the commands import when they begin; whatever looks for plugins is left to them.
PACKAGES = ("pippin.cli", "pippin.rankers", "pippin.rankers.steps", "pippin.collections.features")
MODULES = (
    "pippin.benchmarks.runner",
    "pippin.collections.build",
    "pippin.collections.sources",
    "pippin.evaluation.compare",
)


def pippin(*arguments: str, cwd: Path, environment: Mapping[str, str]) -> Done:
    """Run the command with these arguments in a folder and an environment, including PYTHONPATH."""
    return _ask(cwd, environment, arguments=arguments)


def python(code: str, cwd: Path) -> Done:
    """Run code in a folder."""
    return _ask(cwd, os.environ, code=code)


def _ask(cwd: Path, environment: Mapping[str, str], **what: Any) -> Done:
    server = _server()
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place, name) for name in ("out", "err")]
        request = {"cwd": str(cwd), "environment": dict(environment), "files": list(map(str, files)), **what}
        print(json.dumps(request), file=server.stdin, flush=True)
        status = int(_line(server))
        return subprocess.CompletedProcess([str(what)], status, *(file.read_text() for file in files))


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Start the server once per test process; it ends with that process."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fork_server"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.__exit__, None, None, None)
    return server


def _line(server: subprocess.Popen[str]) -> str:
    return server.stdout.readline() if server.stdout else ""


def main() -> None:
    """Fork once for every line on standard input, and answer with how the fork ended."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__):
            if not module.name.startswith("_"):
                importlib.import_module(f"{name}.{module.name}")
    for name in MODULES:
        importlib.import_module(name)
    answers = os.dup(1)
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.close(answers)
            sys.exit(_become(request))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(answers, f"{status}\n".encode())


def _become(request: Mapping[str, Any]) -> int:
    """Be the command: its folder, environment, path, and files to write to."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, file in zip((1, 2), request["files"], strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != ROOT]
    sys.path[:0] = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    importlib.invalidate_caches()
    if "code" in request:
        sys.path.insert(0, "")
        exec(compile(request["code"], "<code>", "exec"), {"__name__": "__main__"})
        return 0
    sys.argv[:] = ["pippin", *request["arguments"]]
    from pippin.cli.main import main as command

    return command(list(request["arguments"]))


if __name__ == "__main__":
    main()
