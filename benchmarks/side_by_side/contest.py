"""One piece of work, done by us and by every peer in the same run: who does it, and how it is timed.

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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
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

    In a command {folder}, {pippin}, {python} and {peers} stand for the folder of the input, our command, and the
    interpreters with Pippin and with the peers; {NAME} in capitals for a variable of the environment. `needs` names
    modules, programs (with a / in front) or variables of the environment ($) without which it cannot be had.
    """

    name: str
    command: tuple[str, ...] = ()
    work: str = ""
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    ours: bool = False
    checked: bool = True  # it must give our numbers


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


class Absent(Exception):
    """Why a contestant cannot take part."""


@dataclass(frozen=True)
class Interpreters:
    """Who runs Python: ours with Pippin, theirs with the peers."""

    ours: Path
    theirs: Path

    def words(self, command: Sequence[str], folder: Path) -> list[str]:
        """A command with its places filled in."""
        known = {"folder": str(folder), "pippin": str(self.ours.with_name("pippin")), "python": str(self.ours),
                 "peers": str(self.theirs), "here": str(HERE), **os.environ}  # fmt: skip
        return [word.format_map(known) for word in command]


def require(needs: Sequence[str], python: Path) -> None:
    """Raise for the first thing that is not here."""
    for need in needs:
        if need.startswith("$"):
            if need[1:] not in os.environ:
                raise Absent(f"{need[1:]} is not set")
        elif need.startswith("/"):
            if shutil.which(need[1:]) is None:
                raise Absent(f"{need[1:]} is not installed")
        elif subprocess.run([python, "-c", f"import {need}"], capture_output=True, check=False).returncode:
            raise Absent(f"{need} cannot be imported")


def program(command: Sequence[str], environment: Mapping[str, str]) -> tuple[Spent, str]:
    """Run a program to its end: what it took, with the programs it started, and what it printed."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        child = subprocess.Popen(list(command), stdout=out, stderr=err, env={**os.environ, **environment})
        _, status, usage = os.wait4(child.pid, 0)
        clock = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        if child.returncode:
            raise Absent(f"ended with status {child.returncode}: {(err.read().strip().splitlines() or [''])[-1][:160]}")
        return Spent(clock, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024), out.read()


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

    def __init__(self, who: Contestant, folder: Path, pythons: Interpreters) -> None:
        require(who.needs, pythons.ours if who.ours else pythons.theirs)
        self.command, self.environment = pythons.words(who.command, folder), who.environment
        first, printed = program(self.command, self.environment)
        self.ready, self.value, self.taken = 0.0, numbers(printed), [first]  # this turn counts

    def turn(self) -> Spent:
        """Do the work once."""
        return program(self.command, self.environment)[0]

    def end(self) -> None:
        """Nothing is left."""


class Worker:
    """A contestant that is a function, in a process of its own that waits for its turns."""

    def __init__(self, who: Contestant, folder: Path, pythons: Interpreters) -> None:
        python = pythons.ours if who.ours else pythons.theirs
        require(who.needs, python)
        self.process = subprocess.Popen(
            [python, HERE / "worker.py", who.work, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **who.environment},
        )  # fmt: skip
        told = self._told()
        self.ready, self.value = told["ready"], told["value"]
        self.taken: list[Spent] = []  # the first turn may compile something, and does not count

    def _told(self) -> dict[str, Any]:
        line = self.process.stdout.readline() if self.process.stdout else ""
        told: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        if "error" in told:
            raise Absent(told["error"])
        return told

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


def check(who: str, theirs: Sequence[float], ours: Sequence[float], tolerance: float) -> None:
    """Raise unless the numbers are ours."""
    if len(theirs) != len(ours):
        raise SystemExit(f"{who} gives {len(theirs)} numbers, and we give {len(ours)}")
    apart = max((abs(a - b) for a, b in zip(theirs, ours, strict=True)), default=0.0)
    if not apart <= tolerance:
        raise SystemExit(f"{who} does not give our numbers: they are up to {apart:.3g} apart")


def enter(
    line: Line, folder: Path, pythons: Interpreters, without: Sequence[str], here: dict[str, Program | Worker]
) -> dict[str, str]:
    """Let every contestant get ready and give its numbers; why those who are not `here` afterwards are not."""
    absent: dict[str, str] = {}
    ours = line.contestants[0]
    for who in line.contestants:
        try:
            if who.name in without:
                raise Absent("left out of this run")
            here[who.name] = (Worker if who.work else Program)(who, folder, pythons)
        except Absent as reason:
            if who is ours:
                raise SystemExit(f"{line.key}: {who.name}: {reason}") from None
            absent[who.name] = str(reason)
            continue
        if who.checked:
            check(who.name, here[who.name].value, here[ours.name].value, line.tolerance)
    return absent


def run(
    line: Line, folder: Path, size: int, pythons: Interpreters, turns: int | None = None, without: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """A record for each contestant of a line, ours first; those `without` are left out by name."""
    line.prepare(folder, size)
    here: dict[str, Program | Worker] = {}
    try:
        absent = enter(line, folder, pythons, without, here)
        for n in range(turns or line.turns):
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
            taken = here[who.name].taken
            yield {"name": who.name, **asdict(Spent.best(taken)), "ready": here[who.name].ready, "turns": len(taken)}


def main_interpreter() -> Path:
    """The interpreter of this process, by the name it was called by, so that it stays in its environment."""
    return Path(sys.executable)
