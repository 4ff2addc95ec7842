"""TrAdaBoost for pairs: another data set's queries count less the more pairs of theirs are put in a wrong order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.forms.form import Form
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.blending import spread
from pippin.rankers.parts.narrowing import fitted
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.parts.states import numbers
from pippin.rankers.parts.weights import weighted
from pippin.rankers.steps.bag import summed_form
from pippin.rankers.steps.base import register
from pippin.rankers.steps.borrowing import Borrowing, both, in_features_of, need_weights

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_FAINT = 1e-9  # a query counts that much at least, so that none is lost to rounding


@register("tradaboost")
class TrAdaBoost(Borrowing):
    """Boosts one's own queries that are ranked badly, and lets those of the other data set fade that are.

    In each round the rest is trained on both, weighed. e is the share of a query's pairs in the wrong order (ties
    half), ε its weighted mean over one's own queries; these are multiplied by β^−e with β = ε / (1 − ε), the others by
    γ^e with γ = 1 / (1 + √(2 ln m / rounds)) for m of them. The second half of the rankers vote with −ln β, their
    scores divided by their spread within a query.
    """

    source = "Dai, Yang, Xue & Yu 2007 (TrAdaBoost)"
    quick_limits: ClassVar = {"rounds": 4}
    trainings = "rounds"

    rounds: int = parameter(10, "rounds, of which the second half vote")

    def _check(self) -> None:
        super()._check()
        at_least(self, rounds=2)

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        need_weights(self, rest)
        joined = both(train, in_features_of(self._source(), train, self.names))
        own = np.arange(joined.queries) < train.queries
        weights = np.ones(joined.queries)
        fading = 1 / (1 + np.sqrt(2 * np.log(max(2, int((~own).sum()))) / self.rounds))
        self.models_, votes = [], list[float]()
        for done in range(self.rounds):
            model = fitted(rest, weighted(joined, weights / weights.sum() * len(weights)), valid)
            scores = model.predict(joined)
            errors = pair_errors(scores, joined)
            error = float(np.clip(weights[own] @ errors[own] / weights[own].sum(), 0.01, 0.49))
            rate = error / (1 - error)
            weights = np.maximum(weights * np.where(own, rate**-errors, fading**errors), _FAINT)
            if 2 * (done + 1) > self.rounds:
                self.models_.append(model)
                votes.append(float(-np.log(rate)) / spread(scores[: len(train)], train.offsets))
        self.votes_ = np.array(votes)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The votes' weighted sum."""
        total = np.zeros(len(features))
        for vote, model in zip(self.votes_, self.models_, strict=True):
            total += vote * model.scores(features, offsets)
        return total

    def _state(self) -> dict[str, Any]:
        return {"votes": self.votes_.tolist()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.votes_ = numbers(state["votes"])

    def _form(self, forms: Sequence[Form]) -> Form:
        return summed_form(forms, self.votes_.tolist(), self.name)

    def check_models(self) -> None:
        """Raise ValueError unless each model has a vote."""
        super().check_models()
        if len(self.votes_) != len(self.models_):
            raise ValueError("there are not as many votes as models")


def pair_errors(scores: F64, data: Dataset) -> F64:
    """The share of each query's pairs with different labels that scores put in the wrong order; a tie is half of one.

    >>> data = Dataset(np.zeros((3, 1)), np.array([2, 1, 0], np.int32), np.array([0, 3]), ("q",))
    >>> pair_errors(np.array([1.0, 2.0, 1.0]), data).tolist()
    [0.5]
    """
    found = np.zeros(data.queries)
    for i, (start, end) in enumerate(pairwise(data.offsets.tolist())):
        own, labels = scores[start:end], data.labels[start:end]
        better = labels[:, None] > labels[None, :]
        pairs = int(better.sum())
        if pairs:
            apart = np.sign(own[:, None] - own[None, :])[better]
            found[i] = float((1 - apart).sum()) / (2 * pairs)
    return found
