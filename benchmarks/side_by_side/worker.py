"""Prepare one function of `ours` or `theirs` and run it once per line of standard input.

python worker.py MODULE:FUNCTION FOLDER

FUNCTION(folder) reads what it needs and gives the work, which is a function without arguments. The first answer holds
the seconds that took, numbers of the first work's result, and what it took; each further one what a turn took.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

SHOWN = 500  # numbers of a result that are compared


def flat(value: Any) -> list[float]:
    """The numbers of a result: of a dict by key, of a long list some that stand at equal distances, and their sum.

    A result that is a function makes its numbers here, where nothing is timed.
    """
    if callable(value):
        value = value()
    if isinstance(value, dict):
        return [number for key in sorted(value) for number in flat(value[key])]
    if hasattr(value, "ravel"):
        value = value.ravel().tolist()
    if isinstance(value, (list, tuple)):
        if len(value) > SHOWN:
            return [float(v) for v in value[:: len(value) // SHOWN]] + [math.fsum(value) / len(value)]
        return [number for each in value for number in flat(each)]
    return [float(value)]


def forget_peak() -> None:
    """Let the peak of memory begin anew, where the system can (Linux)."""
    if os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """The most memory held since then, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def processor() -> float:
    """Seconds of the processor, of this process and of those it has started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def turn(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return the result of the work, and its time and memory."""
    forget_peak()
    clock, spent = time.perf_counter(), processor()
    value = work()
    return value, {"clock": time.perf_counter() - clock, "processor": processor() - spent, "peak": peak()}


def main() -> None:
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
    module, function = sys.argv[1].split(":")
    answers = os.fdopen(os.dup(1), "w")  # whatever a library prints goes elsewhere

    def answer(**told: Any) -> None:
        print(json.dumps(told), file=answers, flush=True)

    with redirect_stdout(sys.stderr):
        try:
            start = time.perf_counter()
            work = getattr(importlib.import_module(module), function)(Path(sys.argv[2]))
            ready = time.perf_counter() - start
            value, first = turn(work)
        except Exception as error:  # whatever a library raises: it cannot take part, and says why
            answer(error=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200])
            return
        answer(ready=ready, value=flat(value), **first)
        for _ in sys.stdin:
            answer(**turn(work)[1])


if __name__ == "__main__":
    main()
