"""Rankers that fail in various ways; imported by name in the workers."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pippin.benchmarks import store
from pippin.data.dataset import Dataset
from pippin.rankers.base import RANKERS, register
from pippin.rankers.best_feature import BestFeature

HELD = "PIPPIN_TEST_HELD"


def is_first(train: Dataset) -> bool:
    """Whether this is the first fold of a synthetic data set."""
    return train.query_ids[0] == "10000"


class Odd(BestFeature):
    is_iterative: ClassVar[bool] = False


if "odd-crash" not in RANKERS:

    @register("odd-crash")
    class Crash(Odd):
        """Ends its process, in the first fold."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            if is_first(train):
                os.kill(os.getpid(), signal.SIGKILL)
            super()._fit(train, valid)

    @register("odd-large")
    class Large(Odd):
        """Takes a gigabyte in the first fold, and has it until that is seen."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            if is_first(train):
                held = np.ones(1 << 27)
                time.sleep(60)
                del held
            super()._fit(train, valid)

    @register("odd-slow")
    class Slow(Odd):
        """Takes its time; after the first fold, until a file that the environment names is gone."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            time.sleep(0.15)
            held = os.environ.get(HELD)
            while held and not is_first(train) and Path(held).exists():
                time.sleep(0.01)
            super()._fit(train, valid)

    @register("odd-full")
    class Full(Odd):
        """Fills the disk: from now on this process can write nothing."""

        def _fit(self, train: Dataset, valid: Dataset | None) -> None:
            super()._fit(train, valid)

            def no_space(*_: Any) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            vars(store)["write_new"] = no_space
