"""Early stopping: looks at the validation measure after every round, remembers the best, and says when to stop.

Ctrl-C during training ends it like an early stop: the best model so far is kept.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
from pippin.progress import Bar


class Watch:
    """A context for a training loop of rounds.

    with Watch(valid, measure, convention, rounds, patience) as watch:
        for t in range(rounds):
            …
            if watch.after(lambda: scores_of_valid): break
    model = rounds[: watch.best + 1]
    """

    def __init__(
        self,
        valid: Dataset | None,
        measure: str,
        convention: str | Convention,
        rounds: int,
        patience: int | None,
        *,
        verbose: bool = False,
        title: str = "training",
    ) -> None:
        self.judge = None if valid is None else Judge(valid, measure, convention)
        self.patience = patience
        self.curve: list[float] = []
        self.best = -1  # the round with the best validation value (the last one where nothing validates)
        self.best_value = -math.inf
        self.interrupted = False
        self._rounds, self._title = rounds, title
        self._bar = Bar(rounds, title) if verbose else None
        self._measure = measure

    def __enter__(self) -> Watch:
        return self

    def after(self, scores: Callable[[], NDArray[np.float64]]) -> bool:
        """One round is done; `scores` gives the validation scores where there is a validation set. True: stop."""
        value = math.nan if self.judge is None else self.judge.mean(scores())
        if self.judge is not None and math.isnan(value):
            raise DataError(f"{self._title}: no query of the validation set counts in {self._measure}; choose another")
        self.curve.append(value)
        done = len(self.curve) - 1
        if self.judge is None or value > self.best_value:  # the first best wins
            self.best, self.best_value = done, value
        if self._bar is not None:
            self._bar.step("" if self.judge is None else f"{self._measure} {value:.4f}, best {self.best_value:.4f}")
        return self.judge is not None and self.patience is not None and done - self.best >= self.patience

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._bar is not None:
            self._bar.close()
        if isinstance(error, FloatingPointError):
            error.__dict__.setdefault("round_", len(self.curve) + 1)
        if kind is KeyboardInterrupt and self.best >= 0:
            self.interrupted = True
            warnings.warn(
                f"{self._title} was interrupted after {len(self.curve)} rounds; the best so far is kept", stacklevel=2
            )
            return True
        return False
