"""The process that scores: the only one that opens the hidden part."""

from __future__ import annotations

import signal
import time
from types import FrameType

from pippin.boards.scorer import Scorer
from pippin.boards.site import Site
from pippin.errors import DataError
from pippin.serve.running import begin_child

_PATIENCE = 1.0  # seconds to wait where the store does not answer


def main() -> None:
    """Score until the watcher ends it; where the database goes away, wait for it."""
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    folder, jobs, user = begin_child()
    signal.signal(signal.SIGTERM, end)
    while not ended:
        try:
            site = Site(folder)
            with site.alone("scorer"):
                Scorer(site, int(jobs), int(user) if user else None).run(lambda: ended)
        except DataError as error:
            print(f"pippin: {error}", flush=True)
            time.sleep(_PATIENCE)


if __name__ == "__main__":
    main()
