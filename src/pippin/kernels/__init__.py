"""Wrappers of the native kernels: the only modules that import `pippin._native`.

One module per area of the C++ code. Each function takes NumPy arrays of an exact dtype, allocates the outputs and
states the contract. The C++ code never copies or converts arrays and is stateless.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pippin.errors import PippinError
from pippin.system import cpu_count

try:
    from pippin import _native as native
except ImportError as error:  # pragma: no cover - only in a tree that was never built
    raise ImportError("pippin's native module is not built; run `pip install .` in the project's folder") from error

__all__ = ["native", "one_thread", "threads", "threads_for"]

# Work that one thread completes before a second one has started, by unit of work.
MIN_WORK_FOR_THREADS = {"documents": 20_000, "bytes": 1 << 23, "trees": 2_000_000, "links": 1 << 20, "pages": 8192}

_LOCAL = threading.local()


def threads(requested: int | None = None) -> int:
    """Return the number of threads: `requested`, else 1 within `one_thread`, else PIPPIN_THREADS, else all cores."""
    if requested is None and getattr(_LOCAL, "single", False):
        return 1
    if requested is None:
        setting = os.environ.get("PIPPIN_THREADS", "0")
        if not setting.isdigit():
            raise PippinError(f"PIPPIN_THREADS must be a non-negative integer, got {setting!r}")
        requested = int(setting) or cpu_count()
    return max(1, requested)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run kernels called from this thread on one thread, because sibling threads use the other cores."""
    before, _LOCAL.single = getattr(_LOCAL, "single", False), True
    try:
        yield
    finally:
        _LOCAL.single = before


def threads_for(work: int, unit: str = "documents") -> int:
    """Return the number of threads for a pass over `work` units; results do not depend on it.

    Parameters
    ----------
    work : int
        Amount of work. For `"trees"`: the number of documents times the number of trees.
    unit : {"documents", "bytes", "trees", "links", "pages"}
        What `work` counts.
    """
    return 1 if work < MIN_WORK_FOR_THREADS[unit] else threads()
