"""Run one task with Pippin and with each peer, and time them.

A contestant is a program, timed from its start to its end, or a function that a worker (`worker.py`) holds ready, so
that imports and data are not timed. Contestants take turns, so that a noisy machine is noisy for all; the best of the
turns counts. Nothing is timed before every contestant has given our numbers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 40.0  # seconds on the clock after which a contestant has no further turn
# What the measures are called by those who print them.
ALIASES = {
    "ndcg_cut_10": "NDCG@10", "nDCG@10": "NDCG@10", "map": "MAP", "AP": "MAP", "recip_rank": "RR", "RR": "RR",
    "P_10": "P@10", "P@10": "P@10",
}  # fmt: skip


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, seconds of the processor, and the most memory that was held, in bytes."""

    clock: float
    processor: float
    peak: int

    @staticmethod
    def best(turns: Sequence[Spent]) -> Spent:
        """The least of each."""
        return Spent(
            min(turn.clock for turn in turns), min(turn.processor for turn in turns), min(turn.peak for turn in turns)
        )


@dataclass(frozen=True)
class Contestant:
    """Who does the work: a program (`command`) or a function (`work`, "module:name").

    In a command {folder}, {data}, {root}, {pippin}, {python} and {peers} stand for the folders of the input, of the
    data sets and of the project, our command, and the interpreters with Pippin and with the peers; {NAME} in capitals
    for a variable of the environment. `needs` names modules, programs (with a / in front), data sets (@) or variables
    of the environment ($) without which it cannot be had. What it leaves in `fresh`, a folder below that of the input,
    is gone before a turn.
    """

    name: str
    command: tuple[str, ...] = ()
    work: str = ""
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ours: bool = False
    checked: bool = True  # it must give our numbers
    fresh: str = ""


@dataclass(frozen=True)
class Line:
    """One piece of work, and what is to be reached: `at_least` times as fast as the peer of that name."""

    key: str
    section: str
    title: str
    prepare: Callable[[Path, int], None]
    contestants: tuple[Contestant, ...]  # the first is ours, which the others are compared with
    size: int
    quick: int
    at_least: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None  # or how long ours may take, on the clock
    tolerance: float = 1e-9
    turns: int = 5
    long: bool = False  # it takes minutes, and is measured where it is asked for
    shows: str = ""  # what the first number of a result is, where it is shown beside the contestant's name


class Absent(Exception):
    """Why a contestant cannot take part."""


class Differs(Absent):
    """Its numbers are not ours."""


def data_sets() -> Path:
    """The folder of data sets: what PIPPIN_DATA names, or one beside the project."""
    named = os.environ.get("PIPPIN_DATA")
    return Path(named) if named else ROOT.parent / "shared" / "data"


def data_folder(name: str) -> Path:
    """Where a data set is."""
    folder = data_sets() / name
    if not folder.is_dir():
        raise Absent(f"{name} is not here (PIPPIN_DATA names the folder of data sets)")
    return folder


@dataclass(frozen=True)
class Interpreters:
    """Who runs Python: ours with Pippin, theirs with the peers."""

    ours: Path
    theirs: Path

    def words(self, command: Sequence[str], folder: Path) -> list[str]:
        """A command with its places filled in."""
        variables = {"folder": str(folder), "pippin": str(self.ours.with_name("pippin")), "python": str(self.ours),
                 "peers": str(self.theirs), "here": str(HERE), "root": str(ROOT), "data": str(data_sets()),
                 **os.environ}  # fmt: skip
        return [word.format_map(variables) for word in command]


def require(needs: Sequence[str], python: Path) -> None:
    """Raise for the first thing that is not here."""
    for need in needs:
        if need.startswith("@"):
            data_folder(need[1:])
        elif need.startswith("$"):
            if need[1:] not in os.environ:
                raise Absent(f"{need[1:]} is not set")
        elif need.startswith("/"):
            if shutil.which(need[1:]) is None:
                raise Absent(f"{need[1:]} is not installed")
        else:
            tried = subprocess.run([python, "-c", f"import {need}"], capture_output=True, text=True, check=False)
            if tried.returncode:
                raise Absent(f"cannot be imported: {(tried.stderr.strip().splitlines() or [''])[-1][:160]}")


# Linux counts as a program's what its starter has ever held; inputs are made here, and this starter holds nothing.
STARTER = """
import json, os, sys, time
start = time.perf_counter()
_, status, usage = os.wait4(os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ), 0)
clock = time.perf_counter() - start
spent = clock, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
os.write(int(sys.argv[1]), json.dumps([spent, os.waitstatus_to_exitcode(status)]).encode())
"""


def program(command: Sequence[str], environment: Mapping[str, str]) -> tuple[Spent, str]:
    """Run a program to its end: what it took, with the programs it started, and what it printed.

    Python may keep the modules that it has compiled, as every installation has them, whatever is set here.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, tempfile.TemporaryFile() as told:
        starter = [sys.executable, "-I", "-S", "-c", STARTER, str(told.fileno()), *command]
        done = subprocess.run(
            starter, stdout=out, stderr=err, env={**kept, **environment}, pass_fds=[told.fileno()], check=False
        )
        for file in (out, err, told):
            file.seek(0)
        spent, status = json.load(told) if not done.returncode else ((), done.returncode)
        if status:
            raise Absent(f"ended with status {status}: {(err.read().strip().splitlines() or [''])[-1][:160]}")
        return Spent(*spent), out.read()


def numbers(printed: str) -> list[float]:
    """The means that a program has printed, in the order of their names here."""
    if printed.startswith("{"):
        means: dict[str, float] = json.loads(printed)["mean"]
    else:
        rows = [words for line in printed.splitlines() if len(words := line.split()) >= 2]
        means = {ALIASES[words[0]]: float(words[-1]) for words in rows if words[0] in ALIASES}
    return [means[name] for name in sorted(means)]


class Program:
    """A contestant that is a program."""

    def __init__(self, who: Contestant, folder: Path, pythons: Interpreters, once: bool = False) -> None:
        require(who.needs, pythons.ours if who.ours else pythons.theirs)
        self.command, self.environment = pythons.words(who.command, folder), who.environment
        self.fresh = folder / who.fresh if who.fresh else None
        self.clear()
        first, printed = program(self.command, self.environment)
        self.ready, self.value, self.taken = 0.0, numbers(printed), [first]  # this turn counts

    def turn(self) -> Spent:
        """Do the work once."""
        self.clear()
        return program(self.command, self.environment)[0]

    def clear(self) -> None:
        """Take away what the last turn left."""
        if self.fresh:
            shutil.rmtree(self.fresh, ignore_errors=True)

    def end(self) -> None:
        """Nothing is left."""


class Worker:
    """A contestant that is a function, in a process of its own that waits for its turns."""

    def __init__(self, who: Contestant, folder: Path, pythons: Interpreters, once: bool = False) -> None:
        python = pythons.ours if who.ours else pythons.theirs
        require(who.needs, python)
        self.process = subprocess.Popen(
            [python, HERE / "worker.py", who.work, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **who.environment},
        )  # fmt: skip
        told = self._told()
        self.ready, self.value = told.pop("ready"), told.pop("value")
        # The first turn may compile something, and counts only where there is no second.
        self.taken = [Spent(**told)] if once else []

    def _told(self) -> dict[str, Any]:
        line = self.process.stdout.readline() if self.process.stdout else ""
        record: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        if "error" in record:
            raise Absent(record["error"])
        return record

    def turn(self) -> Spent:
        """Do the work once."""
        if self.process.stdin:
            print("go", file=self.process.stdin, flush=True)
        return Spent(**self._told())

    def end(self) -> None:
        """Let the process end by itself."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def check(theirs: Sequence[float], ours: Sequence[float], tolerance: float) -> None:
    """Raise unless the numbers are ours."""
    if len(theirs) != len(ours):
        raise Differs(f"gives {len(theirs)} numbers where we give {len(ours)}, so it is not timed")
    apart = max((abs(a - b) for a, b in zip(theirs, ours, strict=True)), default=0.0)
    if not apart <= tolerance:
        raise Differs(f"gives other numbers, up to {apart:.3g} apart, so it is not timed")


def enter(
    line: Line,
    folder: Path,
    pythons: Interpreters,
    without: Sequence[str],
    here: dict[str, Program | Worker],
    once: bool,
) -> dict[str, str]:
    """Let every contestant get ready and give its numbers; why those who are not `here` afterwards are not.

    Without ours nothing can be compared, and the whole line is Absent.
    """
    absent: dict[str, str] = {}
    ours = line.contestants[0]
    for who in line.contestants:
        try:
            if who.name in without:
                raise Absent("left out of this run")
            here[who.name] = (Worker if who.work else Program)(who, folder, pythons, once)
            if once:
                here[who.name].end()  # and gives its memory back before the next begins
            if who.checked:
                check(here[who.name].value, here[ours.name].value, line.tolerance)
        except Absent as reason:
            if who is ours:
                raise
            if who.name in here:
                here.pop(who.name).end()
            absent[who.name] = str(reason)
    return absent


def run(
    line: Line, folder: Path, size: int, pythons: Interpreters, turns: int | None = None, without: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """A record for each contestant of a line, ours first; those `without` are left out by name."""
    line.prepare(folder, size)
    here: dict[str, Program | Worker] = {}
    count = turns or line.turns
    try:
        absent = enter(line, folder, pythons, without, here, count == 1)
        for n in range(count):
            for contestant in here.values():
                if len(contestant.taken) <= n and (n == 0 or sum(t.clock for t in contestant.taken) < PATIENCE):
                    contestant.taken.append(contestant.turn())
    finally:
        for contestant in here.values():
            contestant.end()
    for who in line.contestants:
        if who.name in absent:
            yield {"name": who.name, "absent": absent[who.name]}
        else:
            done = here[who.name]
            figures = {"shown": done.value[0]} if line.shows and done.value else {}
            spent = asdict(Spent.best(done.taken))
            yield {"name": who.name, **spent, "ready": done.ready, "turns": len(done.taken), **figures}


def main_interpreter() -> Path:
    """The interpreter of this process, by the name it was called by, so that it stays in its environment."""
    return Path(sys.executable)
