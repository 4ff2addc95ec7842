"""The native kernels: the only modules that import `pippin._native`.

One module per area. Each function here takes NumPy arrays of an exact dtype, allocates the outputs, and states the
contract; the C++ below it never copies, never converts and holds no state.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pippin.errors import PippinError
from pippin.machine import cpu_count

try:
    from pippin import _native as native
except ImportError as error:  # pragma: no cover - only in a tree that was never built
    raise ImportError("pippin's native module is not built; run `pip install .` in the project's folder") from error

__all__ = ["native", "one_thread", "threads", "threads_for"]

_HERE = threading.local()
_ALONE = 20_000  # documents that one thread has done before a second one has started


def threads(asked: int | None = None) -> int:
    """How many threads to use: `asked`, or one within `one_thread`, or PIPPIN_THREADS, or every core we may run on."""
    if asked is None and getattr(_HERE, "one", False):
        return 1
    if asked is None:
        wanted = os.environ.get("PIPPIN_THREADS", "0")
        if not wanted.isdigit():
            raise PippinError(f"PIPPIN_THREADS is a whole number, not {wanted!r}")
        asked = int(wanted) or cpu_count()
    return max(1, asked)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let kernels that this thread calls meanwhile have one thread, because its like have the other cores."""
    before, _HERE.one = getattr(_HERE, "one", False), True
    try:
        yield
    finally:
        _HERE.one = before


def threads_for(documents: int) -> int:
    """How many threads a pass over so many documents is worth; the result is the same for any number."""
    return 1 if documents < _ALONE else threads()
