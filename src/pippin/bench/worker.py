"""The process that computes cells, one after the other: tasks come in as lines of JSON, answers go out the same way.

Started by the pool. It ends when its input ends, so that no worker outlives the
process that feeds it, not even one that was killed.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

from pippin.bench.borrowing import offer_sources
from pippin.bench.cell import compute
from pippin.bench.inputs import FoldRef, Parts
from pippin.bench.plan import Task
from pippin.bench.store import DiskFull, Results
from pippin.bench.survey import check_digests
from pippin.errors import PippinError
from pippin.limits import set_max_bytes
from pippin.machine import die_with_parent
from pippin.plugins import load_modules


@lru_cache(maxsize=2)
def parts_of(ref: FoldRef, digests: tuple[tuple[str, str], ...]) -> Parts:
    """A fold, compared with its digests; the last two are kept, because many cells in a row want the same one."""
    parts = ref.read()
    check_digests(ref, parts, dict(digests))
    return parts


def answer(results: Results, asked: dict[str, Any]) -> dict[str, Any]:
    """Compute one cell and keep it; what went wrong, as a sentence, where it did."""
    task, fold = Task.of(asked["task"]), FoldRef.of(asked["fold"])
    try:
        offer_sources(asked["sources"])
        computed = compute(task, parts_of(fold, tuple(task.digests.items())))
        results.write_cell(task.address, computed.files, computed.cost)
    except DiskFull as error:
        return {"ok": False, "stop": True, "reason": str(error)}
    except Exception as error:  # whatever a ranker does must not take the other cells with it
        return {"ok": False, "reason": reason_of(error)}
    return {"ok": True}


def reason_of(error: BaseException) -> str:
    """Why a cell failed, in a sentence.

    >>> reason_of(MemoryError()), reason_of(KeyError("x"))
    ('out of memory', "KeyError: 'x'")
    """
    if isinstance(error, MemoryError):
        return "out of memory"
    return str(error) if isinstance(error, PippinError) else f"{type(error).__name__}: {error}"


def _feed(source: TextIO, tasks: queue.SimpleQueue[str]) -> None:
    for line in source:
        tasks.put(line)
    os._exit(0)


def main() -> None:
    """Answer until the input ends."""
    die_with_parent()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not stand between the answers
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_feed, args=(sys.stdin, tasks), daemon=True).start()
    first = json.loads(tasks.get())
    load_modules(first["imports"])
    set_max_bytes(first["max_bytes"])
    results = Results.open(Path(first["results"]))
    while True:
        reply = answer(results, json.loads(tasks.get()))
        out.write(json.dumps(reply) + "\n")
        out.flush()
