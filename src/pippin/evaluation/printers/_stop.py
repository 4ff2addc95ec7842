"""How an original tool ends before its time: what it says on both streams, and its exit status."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO


class Stop(Exception):
    """The original stops here with this status."""

    def __init__(self, status: int, out: str = "", err: str = "") -> None:
        self.status, self.out, self.err = status, out, err
        super().__init__(f"status {status}")


def ending(work: Callable[[], None], out: TextIO, err: TextIO) -> int:
    """Do the work; the exit status it ends with."""
    try:
        work()
    except Stop as stop:
        out.write(stop.out)
        err.write(stop.err)
        return stop.status
    return 0
