"""Fewer queries: what would the ranker be worth had it learned from n of them?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.forms.form import Form
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.narrowing import fitted
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.steps.base import Step, register

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


class Plain(Step):
    """A step that decides what the rest learns from, and then leaves it alone."""

    takes_null = True

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The rest's own scores."""
        return self.models_[0].scores(features, offsets)

    def _form(self, forms: Sequence[Form]) -> Form:
        return forms[0]


@register("queries")
class Queries(Plain):
    """Lets the rest learn from n queries, drawn by lot; more of them contain fewer.

    The validation part stays whole, and with it what it chooses. This is what `pippin curve` draws learning curves
    with.
    """

    source = "learning curves: Cortes, Jackel, Solla, Vapnik & Denker 1994"
    quick_limits: ClassVar = {}

    n: int = parameter(50, "queries of the training part that are learned from, at most as many as there are")
    seed: int = parameter(1, "of the lot")

    def _check(self) -> None:
        at_least(self, n=1, seed=0)

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        self.models_ = [fitted(rest, train.select(np.sort(lot(train, self.seed)[: self.n])), valid)]


def lot(train: Dataset, seed: int) -> I64:
    """All queries in an order drawn by lot; those with nothing to learn are dealt evenly among the others."""
    generator = np.random.default_rng(seed)
    sizes = np.bincount(train.qid(), minlength=train.queries)
    first = np.bincount(train.qid(), train.labels > 0, train.queries)
    useful = np.flatnonzero((first > 0) & (first < sizes))
    rest = np.setdiff1d(np.arange(train.queries), useful)
    spots = np.concatenate(((np.arange(len(useful)) + 0.5) / max(1, len(useful)),
                            (np.arange(len(rest)) + 0.7) / max(1, len(rest))))  # fmt: skip
    order = np.concatenate((generator.permutation(useful), generator.permutation(rest)))
    return order[np.argsort(spots, kind="stable")]
