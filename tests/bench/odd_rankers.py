"""Rankers that go wrong, for a bench to survive: imported by name in the workers."""

from __future__ import annotations

import errno
import os
import signal
import time
from typing import Any, ClassVar

import numpy as np

from pippin.bench import store
from pippin.data.dataset import Dataset
from pippin.rankers.base import RANKERS, register
from pippin.rankers.best_feature import BestFeature


class Odd(BestFeature):
    by_rounds: ClassVar[bool] = False


if "odd-crash" not in RANKERS:

    @register("odd-crash")
    class Crash(Odd):
        """Ends its process."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

    @register("odd-large")
    class Large(Odd):
        """Takes a gigabyte, slowly enough to be seen."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            held: list[Any] = []
            for _ in range(16):
                held.append(np.ones(1 << 23))
                time.sleep(0.05)
            super()._fit(train, valid)

    @register("odd-slow")
    class Slow(Odd):
        """Takes its time."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            time.sleep(0.15)
            super()._fit(train, valid)

    @register("odd-full")
    class Full(Odd):
        """Fills the disk: from now on this process can write nothing."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            super()._fit(train, valid)

            def no_space(*_: Any) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            store._write = no_space
