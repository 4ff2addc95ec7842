"""Small plugins as source text, hand-made installed packages, and commands in separate processes.

What they register must not stay on the shelves of the process that runs the other tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from tests import fork_server
from tests.fork_server import Done

MEASURE = """
from pippin.evaluation.measures import MeasureDefinition, register, rules


def first(ranking, convention, measure):
    return {factor} * ranking.compute("p", rules(ranking, convention, measure))


register(MeasureDefinition("{name}", "{factor} times precision", "c * P", "a test", first, ("relevance_threshold",)))
"""
TOOL = """
from pippin.evaluation.tools import Tool, register
from pippin.evaluation.tools.classic import OFFICIAL

register(Tool("{name}", "mine", "1", "a test", OFFICIAL.replace(empty={empty}), ("NDCG",)))
"""
LETOR = "2 qid:1 1:3 2:1\n0 qid:1 1:2 2:2\n1 qid:1 1:1 2:3\n1 qid:2 1:1 2:9\n0 qid:2 1:0 2:1\n"
SCORES = "3\n2\n1\n1\n2\n"


def write(folder: Path, **files: str) -> Path:
    """Modules by their names, and data to evaluate, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"test_txt": LETOR, "scores_txt": SCORES, **files}.items():
        file = folder / (name.replace("_txt", ".txt") if name.endswith("_txt") else f"{name}.py")
        file.write_text(dedent(text))
    return folder


def install(folder: Path, name: str, points: dict[str, dict[str, str]], version: str = "1.0", **modules: str) -> Path:
    """Install a package by hand: modules, and entry points as group → name → value."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{module}.py,,\n" for module in modules))
    groups = (f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in own.items()) for group, own in points.items())
    (info / "entry_points.txt").write_text("\n".join(groups))
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(dedent(text))
    return folder


def pippin(*arguments: str, cwd: Path, path: Path | None = None, **environment: str) -> Done:
    """Run the command in a new process; `path` is an additional folder of installed packages."""
    variables = {**os.environ, **environment, "PYTHONDONTWRITEBYTECODE": "1"}
    places = [str(path)] if path is not None else []
    places += [variables["PYTHONPATH"]] if "PYTHONPATH" in variables else []
    variables["PYTHONPATH"] = os.pathsep.join(places)
    if "--dask" not in arguments:  # whose processes begin as a program does
        return fork_server.pippin(*arguments, cwd=cwd, environment=variables)
    # The program has no "" on its path, as `python -c` has.
    code = "import sys; sys.path.remove(''); from pippin.cli.main import main; sys.exit(main())"
    done = [sys.executable, "-c", code, *arguments]
    return subprocess.run(done, cwd=cwd, env=variables, capture_output=True, text=True, check=False)


def query_tf(done: Done) -> str:
    """Return the error message of a refused command."""
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    return line
