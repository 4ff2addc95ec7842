"""Progress of long work: a bar on a terminal, silence elsewhere unless it takes long, then plain lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pippin.terminal import past_the_net, screen_of, width

_WIDTH = 28
_EVERY = 10.0  # seconds between plain lines
_FIRST = 3  # steps after which a guess of the time left is worth saying
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


class Bar:
    """Counts steps and shows them on standard error."""

    def __init__(self, total: int, title: str) -> None:
        self.total, self.title, self.done = total, title, 0
        self.stream = past_the_net(sys.stderr)
        self.silent = _SILENT.get()
        self.terminal = self.stream.isatty() and not self.silent and os.environ.get("TERM") != "dumb"
        self.started = self.shown = time.monotonic()

    def step(self, what: str = "", steps: int = 1) -> None:
        """One step (or several) further."""
        self.done += steps
        self.total = max(self.total, self.done)  # work may turn up on the way
        now = time.monotonic()
        if self.terminal:
            if now - self.shown < 0.05 and self.done < self.total:
                return
            self._draw(what, now)
        elif now - self.shown >= _EVERY and not self.silent:
            place = screen_of(self.stream)
            line = f"{self.title}: {self.done} of {self.total}{self._left(now, ', ')}{what and f'; {what}'}"
            self.stream.write(place.text(line) + "\n")
            self.shown = now

    def _left(self, now: float, before: str) -> str:
        """How long the rest takes if it goes on like this; the first steps say little, as they bring what all need."""
        if self.done < min(_FIRST, self.total):
            return ""
        seconds = (now - self.started) / max(1, self.done) * (self.total - self.done)
        if seconds < 100:
            return f"{before}{seconds:.0f} s left"
        return f"{before}{seconds / 60:.0f} min left" if seconds < 6000 else f"{before}{seconds / 3600:.1f} h left"

    def _draw(self, what: str, now: float) -> None:
        place = screen_of(self.stream)
        full = round(_WIDTH * self.done / max(1, self.total))
        bar = "█" * full + "░" * (_WIDTH - full)
        line = place.text(f"{self.title} {bar} {self.done}/{self.total}{self._left(now, ' ')} {what}")
        while width(line) >= (place.columns or 80):  # the last column stays free: a full line would break
            line = line[:-1]
        self.stream.write(f"\r\x1b[K{line}")
        self.stream.flush()
        self.shown = now

    def close(self) -> None:
        """Take the bar away."""
        if self.terminal:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


@contextmanager
def progress(total: int, title: str) -> Iterator[Bar]:
    """A bar for the work inside."""
    bar = Bar(total, title)
    try:
        yield bar
    finally:
        bar.close()


@contextmanager
def silence(silent: bool = True) -> Iterator[None]:
    """No progress is shown by the work inside."""
    token = _SILENT.set(silent or _SILENT.get())
    try:
        yield
    finally:
        _SILENT.reset(token)
