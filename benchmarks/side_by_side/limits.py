"""Measure the limits of the machine: reading a file, copying memory and sorting keys."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

TURNS = 5
BLOCK = 1 << 20


def _best(work: Callable[[], object]) -> float:
    selected = []
    for _ in range(TURNS):
        start = time.perf_counter()
        work()
        selected.append(time.perf_counter() - start)
    return min(selected)


def _read(path: Path) -> None:
    block = bytearray(BLOCK)
    with path.open("rb", buffering=0) as file:
        while file.readinto(block):
            pass


def limits(folder: Path) -> dict[str, float]:
    """Bytes read a second (a file that the system holds in memory), bytes copied, 64-bit keys sorted, on one core."""
    path = folder / "zeros"
    path.write_bytes(bytes(64 << 20))
    source = np.random.default_rng(1).random(8 << 20)
    target = np.empty_like(source)
    keys = source[: 1 << 20]
    try:
        return {
            "bytes read from a cached file": (64 << 20) / _best(lambda: _read(path)),
            "bytes of memory copied": source.nbytes / _best(lambda: np.copyto(target, source)),
            "64-bit keys sorted (NumPy)": len(keys) / _best(lambda: np.sort(keys)),
        }
    finally:
        path.unlink()


def machine() -> dict[str, str | int]:
    """The processor and how many cores this process may run on; nothing that names the machine."""
    model = platform.processor() or platform.machine()
    told = Path("/proc/cpuinfo")
    if told.exists():
        names = [
            line.split(":", 1)[1].strip() for line in told.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"processor": model, "cores": cores, "system": platform.system(), "python": platform.python_version()}
