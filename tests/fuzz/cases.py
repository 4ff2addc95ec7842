"""Fuzzing cases: how to write a valid file or folder of a format, and how to read it.

What Pippin wrote itself must, whatever happens to it, give the same output or one sentence (`own`); what others wrote
must give something or one sentence. A case is made once; its files are damaged one after the other and mended again.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from pathlib import Path
from random import Random

from tests.fuzz.harness import damage, survive

Mutant = tuple[str, bytes]  # the name of a file, and what stands in it now


@dataclass(frozen=True)
class Case:
    """A format that Pippin reads."""

    make: Callable[[Path], object]  # writes into an empty folder
    use: Callable[[Path], object]  # reads from there, and gives all that somebody would see
    own: bool = False
    only: str = "*"  # which files are damaged


class FuzzRun:
    """A case at work in a folder of its own."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        case.make(folder)
        files = sorted(file for file in folder.rglob(case.only) if file.is_file())
        self.files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
        self.files = {name: content for name, content in self.files.items() if content}
        self.expected = case.use(folder)

    def mutants(self, count: int, seed: int) -> Iterator[Mutant]:
        """Damaged files; a long one is damaged more often than a short one, but not by as much as it is longer."""
        random = Random(f"{seed}")
        names = list(self.files)
        weights = [len(self.files[name]) ** 0.5 for name in names]
        for name in random.choices(names, weights, k=count):
            content = self.files[name]
            while (mutant := damage(content, random)) == content:
                pass
            yield name, mutant

    def read(self, mutant: Mutant) -> None:
        """Use the folder with one file damaged."""
        name, content = mutant
        file = self.folder / name
        file.write_bytes(content)
        try:
            result = self.case.use(self.folder)
            if self.case.own and result != self.expected:
                raise AssertionError("other output than what was written")
        finally:
            file.write_bytes(self.files[name])


def fuzz(case: Case, count: int, seed: int = 0, seconds: float = inf) -> dict[str, int]:
    """Damage a case `count` times, or for some seconds; how many were read and how many refused."""
    with tempfile.TemporaryDirectory() as folder:
        fuzzed = FuzzRun(case, Path(folder))
        end = time.monotonic() + seconds
        in_time = takewhile(lambda _: time.monotonic() < end, fuzzed.mutants(count, seed))
        counts = survive(in_time, fuzzed.read)
        if case.use(Path(folder)) != fuzzed.expected:
            raise AssertionError("what was mended gives other output than before")
        return counts
