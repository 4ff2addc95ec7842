"""Transfer: begin from what another data set teaches, and go on with one's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.forms.form import Form, Linear
from pippin.rankers.base import Features, Ranker
from pippin.rankers.imported import placed
from pippin.rankers.parts.blending import spread
from pippin.rankers.parts.narrowing import fitted
from pippin.rankers.parts.states import number
from pippin.rankers.steps.base import register
from pippin.rankers.steps.borrowing import Borrowing, shared_features

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@register("transfer")
class Transfer(Borrowing):
    """Trains on another data set first; its score is a feature more when the rest is trained on one's own.

    Features are matched by name (numbered ones by `names`). The source's score, divided by its spread within a query,
    stands beside the features, so that the rest begins from the source's ranking and learns how far to go from it: for
    a weighted sum, w = u + a v with the source's weights v and a price on u and a, not on u + a v.
    """

    source = "Chen, Yan, Wang, Xiong, Fan & Chen 2008 (TransRank); Gao et al. 2009 (model adaptation)"

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        source, self.common_ = shared_features(self._source(), train, self.names)
        first = fitted(rest, source, None)
        self.models_ = [first]
        self.spread_ = 1.0
        self.spread_ = spread(
            self._borrowed_score(np.asarray(train.features, np.float64), train.offsets), train.offsets
        )
        own = fitted(rest, self._with_score(train), None if valid is None else self._with_score(valid))
        self.models_ = [own, first]

    def _borrowed_score(self, features: Features, offsets: I64 | None) -> F64:
        first = self.models_[-1]
        scores: F64 = first.scores(np.ascontiguousarray(features[:, self.common_]), offsets) / self.spread_
        return scores

    def _with_score(self, data: Dataset) -> Dataset:
        table = np.asarray(data.features, np.float64)
        more = np.column_stack((table, self._borrowed_score(table, data.offsets)))
        return replace(data, features=np.ascontiguousarray(more), feature_names=self._names(), lines=None)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The scores of the ranker that sees the source's score, too."""
        more = np.column_stack((features, self._borrowed_score(features, offsets)))
        return self.models_[0].scores(np.ascontiguousarray(more), offsets)

    def _names(self) -> tuple[str, ...]:
        return (*self.feature_names_, f"score learned from {self.from_}")

    def check_models(self) -> None:
        """Raise ValueError unless the two models take what they are given."""
        common = tuple(self.feature_names_[i] for i in self.common_)
        if [model.feature_names_ for model in self.models_] != [self._names(), common]:
            raise ValueError("the two models of a transfer do not fit together")

    def _state(self) -> dict[str, Any]:
        return {"common": [self.feature_names_[i] for i in self.common_], "spread": self.spread_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.common_ = [self.feature_names_.index(name) for name in state["common"]]
        self.spread_ = number(state["spread"])
        if not self.spread_ > 0:
            raise ValueError("the spread of the source's scores is not above 0")

    def _form(self, forms: Sequence[Form]) -> Form:
        own, first = forms
        if not (isinstance(own, Linear) and isinstance(first, Linear)):
            return super()._form(forms)
        moved = placed(first, self.feature_names_)
        share = own.weights[-1] / self.spread_
        weights = own.weights[:-1] + share * moved.weights if isinstance(moved, Linear) else own.weights[:-1]
        bias = own.bias + own.start + share * (first.bias + first.start)
        return Linear(self.feature_names_, weights, bias=float(bias))

    def _no_form(self) -> str:
        return "trees or a network behind it ask for another model's score, and no engine's model holds two"

    def importance(self) -> dict[str, float]:
        """What features count in the ranker trained last; the source's score is left out."""
        table = self.models_[0].importance()
        return {name: table[name] for name in self.feature_names_}
