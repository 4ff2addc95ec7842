"""Results while a bench is still writing them: each time that there are more, until all are there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from pippin.bench.store import Results


def watch(path: str | os.PathLike[str], seconds: float = 2.0) -> Iterator[Results]:
    """The results of a folder, anew each time that a cell was finished or failed; ends when none is left to come.

    It looks every so many seconds.
    """
    seen: tuple[int, int, int] | None = None
    while True:
        results = Results.open(path)
        # Cells are counted once, for others may be finished while this looks.
        finished = len(results.cells)
        left = results.plan()["cells"] - finished
        failed = sum((Path(path) / "failures" / f"{entry['address']}.json").exists() for entry in results.missing())
        state = finished, left, failed
        if state != seen:
            seen = state
            yield results
        if finished + left and failed == left:
            return
        time.sleep(seconds)
