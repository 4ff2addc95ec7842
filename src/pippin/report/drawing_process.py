"""Who draws figures while the page is made? A process beside this one, for the engine that draws lets no Python run.

Figures go in as lines of JSON, and a line comes back for each that is written. The process ends when its input ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from pippin.errors import ConventionError, PippinError
from pippin.extras import need
from pippin.files import atomic_write
from pippin.machine import die_with_parent, isolated_python
from pippin.report.figure import DRAWINGS, Spec, drawn


class DrawingProcess:
    """One process, for the time of a `with`; figures of the same `folder`, each in these `kinds`."""

    def __init__(self, folder: Path, kinds: Sequence[str]) -> None:
        for kind in kinds:
            if kind not in DRAWINGS:
                raise ConventionError(f"a figure is written as {', '.join(DRAWINGS)}, not as {kind}")
        need("drawing figures", "vl_convert")
        self._folder, self._kinds = folder, list(kinds)
        self._process = subprocess.Popen(
            isolated_python("pippin.report.drawing_process"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8",
        )  # fmt: skip
        self._names: list[str] = []
        self._feeding: threading.Thread | None = None

    def __enter__(self) -> DrawingProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        if self._feeding is not None:
            self._feeding.join()
        with suppress(OSError):  # what was not taken any more
            cast(IO[str], self._process.stdin).close()
        cast(IO[str], self._process.stdout).close()

    def begin(self, figures: Sequence[tuple[str, Spec]]) -> None:
        """Have these figures drawn under their names, and come back at once."""
        self._names = [name for name, _ in figures]
        self._feeding = threading.Thread(target=self._feed, args=(figures,))
        self._feeding.start()

    def _feed(self, figures: Sequence[tuple[str, Spec]]) -> None:
        """Hand over the figures; a pipe holds but a few."""
        pipe = cast(IO[str], self._process.stdin)
        with suppress(OSError):  # it ended, which its output tells
            for name, spec in figures:
                paths = {kind: str(self._folder.absolute() / f"{name}.{kind}") for kind in self._kinds}
                pipe.write(json.dumps([paths, spec]) + "\n")
                pipe.flush()

    def finish(self, step: Callable[[str], None] = lambda _: None) -> list[Path]:
        """Wait for all of them; the paths of their files."""
        for name in self._names:
            line = cast(IO[str], self._process.stdout).readline()
            problem = json.loads(line) if line else "the process that draws figures ended"
            if problem:
                raise PippinError(f"figure {name}: {problem}")
            step(name)
        return [self._folder / f"{name}.{kind}" for name in self._names for kind in self._kinds]


def write_drawings(paths: dict[str, Path], spec: Spec) -> None:
    """Draw a figure into these files, one for each kind."""
    for kind, content in drawn(spec, list(paths)).items():
        paths[kind].parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(paths[kind]) as out:
            out.write(content)


def _answer(paths: dict[str, str], spec: Any) -> str:
    """Draw a figure; what went wrong, as a sentence, where it did."""
    try:
        write_drawings({kind: Path(path) for kind, path in paths.items()}, spec)
    except (PippinError, OSError, ValueError) as error:
        return str(error)
    return ""


def main() -> None:
    """Draw until the input ends."""
    die_with_parent()
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(_answer(*json.loads(line))) + "\n")
        sys.stdout.flush()
