"""Progress of long work: a bar on a terminal, silence elsewhere unless it takes long, then plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_WIDTH = 28
_EVERY = 10.0  # seconds between plain lines


class Bar:
    """Counts steps and shows them on standard error."""

    def __init__(self, total: int, title: str) -> None:
        self.total, self.title, self.done = total, title, 0
        self.terminal = sys.stderr.isatty()
        self.started = self.shown = time.monotonic()

    def step(self, what: str = "", steps: int = 1) -> None:
        """One step (or several) further."""
        self.done += steps
        self.total = max(self.total, self.done)  # work may turn up on the way
        now = time.monotonic()
        if self.terminal:
            if now - self.shown < 0.05 and self.done < self.total:
                return
            full = round(_WIDTH * self.done / max(1, self.total))
            left = (now - self.started) / max(1, self.done) * (self.total - self.done)
            line = (
                f"\r{self.title} {'█' * full}{'░' * (_WIDTH - full)} {self.done}/{self.total} {left:.0f} s left {what}"
            )
            sys.stderr.write(f"{line[:110]:<110}")
            self.shown = now
        elif now - self.shown >= _EVERY:
            sys.stderr.write(f"{self.title}: {self.done} of {self.total} {what}\n")
            self.shown = now

    def close(self) -> None:
        """Take the bar away."""
        if self.terminal:
            sys.stderr.write("\r" + " " * 110 + "\r")
            sys.stderr.flush()


@contextmanager
def progress(total: int, title: str) -> Iterator[Bar]:
    """A bar for the work inside."""
    bar = Bar(total, title)
    try:
        yield bar
    finally:
        bar.close()
