"""Measure line and branch coverage of the Python packages and the C++ kernels.

    python -m tests.measure_coverage                     all tests, then docs/notes/coverage.md
    python -m tests.measure_coverage tests/evaluation    these tests, added to what was measured before
    python -m tests.measure_coverage --report --missing  no tests: the table again, and the lines that nothing runs

The package is copied to build/coverage with a native module that counts, so that one run of the tests measures both
languages, subprocesses included; the tests in C++ are counted in as well. `make coverage` measures everything anew.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
SITE = BUILD / "site"
DATA = BUILD / "data"
COMMAND = "make coverage"


@dataclass
class CoverageCounts:
    """Lines and branches that there are and that were run, and the lines that were not."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    def add(self, other: CoverageCounts) -> None:
        self.lines += other.lines
        self.lines_run += other.lines_run
        self.branches += other.branches
        self.branches_run += other.branches_run

    def row(self, name: str) -> str:
        def share(part: int, full: int) -> str:
            return f"{100 * part / full:.1f} %" if full else "–"

        lines, branches = share(self.lines_run, self.lines), share(self.branches_run, self.branches)
        return f"| {name} | {self.lines:,} | {lines} | {self.branches:,} | {branches} |"


def sh(*command: str | Path, folder: Path = ROOT, **environment: str) -> int:
    """Run a command with its output on the terminal."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    return subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path, **environment}, check=False).returncode


def build(target: str, folder: Path, *definitions: str) -> None:
    """Configure and build a target with counters."""
    source = ("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DPIPPIN_COVERAGE=ON")
    python = f"-DPython_EXECUTABLE={sys.executable}"
    if sh(*source, python, *definitions) or sh("cmake", "--build", folder, "--target", target, "--parallel", "2"):
        raise SystemExit("the kernels could not be built with counters")


def prepare(anew: bool) -> None:
    """Build the package with an instrumented native module and the C++ tests, and run both once."""
    if anew:
        shutil.rmtree(BUILD, ignore_errors=True)
    build("_native", BUILD / "native")
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "pippin", SITE / "pippin", ignore=shutil.ignore_patterns("__pycache__", "_native*.so")
    )
    for module in (BUILD / "native").glob("_native*.so"):
        shutil.copy2(module, SITE / "pippin")
    build("all", BUILD / "cpp", "-DPIPPIN_TESTS=ON")
    if sh("ctest", "--output-on-failure", folder=BUILD / "cpp"):
        raise SystemExit("a test in C++ fails")


def run_tests(paths: Iterable[str]) -> int:
    """Run tests with counters, a process for each path."""
    DATA.mkdir(parents=True, exist_ok=True)
    status = 0
    for path in paths:
        status |= sh(
            sys.executable, "-m", "coverage", "run", f"--rcfile={ROOT / 'pyproject.toml'}", "-m", "pytest", "-q", path,
            PYTHONPATH=os.pathsep.join((str(SITE), str(ROOT))), COVERAGE_FILE=str(DATA / ".coverage"),
        )  # fmt: skip
    return status


def python_files() -> dict[str, tuple[CoverageCounts, list[int]]]:
    """Return the coverage of each Python file, and its lines that were not run."""
    combined, record = DATA / "combined", DATA / "python.json"
    files = [str(path) for path in DATA.glob(".coverage*")]
    settings = f"--rcfile={ROOT / 'pyproject.toml'}"
    sh(sys.executable, "-m", "coverage", "combine", settings, "--keep", "-q", f"--data-file={combined}", *files)
    sh(sys.executable, "-m", "coverage", "json", settings, "-q", f"--data-file={combined}", "-o", record)
    results = {}
    for name, file in json.loads(record.read_text())["files"].items():
        total = file["summary"]
        counts = CoverageCounts(
            total["num_statements"], total["covered_lines"], total["num_branches"], total["covered_branches"]
        )
        results[str(Path(name).resolve().relative_to(SITE / "pippin"))] = (counts, file["missing_lines"])
    return results


def native_files() -> dict[str, tuple[CoverageCounts, list[int]]]:
    """Return the coverage of each C++ file by the Python and the C++ tests together."""
    lines: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    branches: dict[str, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for notes in BUILD.rglob("*.gcno"):
        for file in _gcov(notes):
            path = Path(file["file"])
            path = (path if path.is_absolute() else notes.parent / path).resolve()
            if ROOT / "src" / "kernels" not in path.parents:
                continue
            name = str(path.relative_to(ROOT / "src"))
            for line in file["lines"]:
                lines[name][line["line_number"]] += line["count"]
                # Branches to where an exception is thrown are the compiler's, not ours.
                items = [branch for branch in line["branches"] if not branch["throw"]]
                for position, branch in enumerate(items):
                    branches[name][line["line_number"], position] += branch["count"]
    return {
        name: (
            CoverageCounts(len(counts), sum(map(bool, counts.values())), len(branches[name]),
                    sum(map(bool, branches[name].values()))),
            sorted(number for number, count in counts.items() if not count),
        )
        for name, counts in sorted(lines.items())
    }  # fmt: skip


def _gcov(notes: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        ["gcov", "--json-format", "--stdout", "--branch-probabilities", notes.name],
        cwd=notes.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [file for line in done.stdout.splitlines() if line.startswith("{") for file in json.loads(line)["files"]]


def room_of(name: str) -> str:
    """Return the package, top-level module or kernel area of a file."""
    parts = Path(name).parts
    if parts[0] == "kernels" and name.endswith(("pp", ".h")):
        return "kernels in C++"
    return "single modules" if len(parts) == 1 else f"`{parts[0]}/`"


def table(files: Mapping[str, tuple[CoverageCounts, list[int]]]) -> list[str]:
    """Return a table with one row per package and one per language."""
    rooms: dict[str, CoverageCounts] = defaultdict(CoverageCounts)
    for name, (counts, _) in files.items():
        rooms[room_of(name)].add(counts)
        rooms["**Python**" if name.endswith(".py") else "**C++**"].add(counts)
    head = ["| room | lines | run | branches | taken |", "| --- | ---: | ---: | ---: | ---: |"]
    order = sorted(rooms, key=lambda room: (room.startswith("**"), room == "kernels in C++", room))
    return head + [rooms[room].row(room) for room in order if room != "kernels in C++"]


def write_page(files: Mapping[str, tuple[CoverageCounts, list[int]]]) -> None:
    """docs/notes/coverage.md."""
    text = [
        "# What the tests run",
        "",
        f"Lines and branches that the tests run, measured by `{COMMAND}` (coverage.py for Python, subprocesses",
        "included; gcov for the kernels, by the tests in Python and in C++ together). A process that is killed, as",
        "workers of a bench are, tells nothing. Which lines are left:",
        "`python -m tests.measure_coverage --report --missing`.",
        "",
        *table(files),
        "",
    ]
    (ROOT / "docs" / "notes" / "coverage.md").write_text("\n".join(text))


def main(arguments: list[str]) -> int:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", metavar="PATH", help="tests to run (default: all)")
    parser.add_argument("--anew", action="store_true", help="forget what was measured before")
    parser.add_argument("--report", action="store_true", help="run nothing, tell what was measured")
    parser.add_argument("--missing", action="store_true", help="tell the lines that nothing runs, file by file")
    options = parser.parse_args(arguments)
    status = 0
    if not options.report:
        prepare(options.anew)
        status = run_tests(options.tests or ["tests", str(SITE / "pippin")])
    files = {**python_files(), **native_files()}
    print(*table(files), sep="\n")
    if options.missing:
        for name, (_, missing) in files.items():
            if missing:
                print(f"{name}: {', '.join(map(str, missing))}")
    if not options.tests:
        write_page(files)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
