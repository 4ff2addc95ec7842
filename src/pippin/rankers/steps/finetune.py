"""Fine-tuning: a model of another data set is where training begins on one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.forms.form import Form
from pippin.rankers.base import Features, Ranker
from pippin.rankers.imported import placed
from pippin.rankers.parts.narrowing import fitted
from pippin.rankers.parts.starts import begun
from pippin.rankers.steps.bag import summed_form
from pippin.rankers.steps.base import register
from pippin.rankers.steps.borrowing import Borrowing, shared_features

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@register("finetune")
class Finetune(Borrowing):
    """Trains on another data set, and goes on from there with one's own.

    The score is the source's plus what is learned on top of it. For RankSVM that is ½‖w − v‖² in the place of ½‖w‖²,
    with the source's weights v; for trees, boosting that goes on; a linear network begins at v, and one with hidden
    layers learns a correction that is 0 at first. Little data of one's own leave the source's ranking as it is.
    """

    source = "RankSVM: Evgeniou & Pontil 2004, Geng et al. 2009; trees: Gao et al. 2009 (model adaptation)"

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        if not rest.takes_start:
            raise DataError(f"{rest.name} cannot begin from another model; ranksvm, boosted trees and networks can")
        source, self.common_ = shared_features(self._source(), train, self.names)
        first = fitted(rest, source, None)
        self.models_ = [first]
        own = rest.fresh().fit(self._begun(train), eval_set=None if valid is None else self._begun(valid))
        self.models_ = [own, first]

    def _begun(self, data: Dataset) -> Dataset:
        return begun(data, self._first_scores(np.asarray(data.features, np.float64), data.offsets))

    def _first_scores(self, features: Features, offsets: I64 | None) -> F64:
        return self.models_[-1].scores(np.ascontiguousarray(features[:, self.common_]), offsets)

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The source's scores, and what was learned on top of them."""
        return self._first_scores(features, offsets) + self.models_[0].scores(features, offsets)

    def check_models(self) -> None:
        """Raise ValueError unless the two models take what they are given."""
        common = tuple(self.feature_names_[i] for i in self.common_)
        if [model.feature_names_ for model in self.models_] != [self.feature_names_, common]:
            raise ValueError("the two models of a fine-tuning do not fit together")

    def _state(self) -> dict[str, Any]:
        return {"common": [self.feature_names_[i] for i in self.common_]}

    def _restore(self, state: dict[str, Any]) -> None:
        self.common_ = [self.feature_names_.index(name) for name in state["common"]]

    def _form(self, forms: Sequence[Form]) -> Form:
        own, first = forms
        return summed_form([own, placed(first, self.feature_names_)], [1.0, 1.0], self.name)

    def importance(self) -> dict[str, float]:
        """What features count in both models together."""
        own, first = (model.importance() for model in self.models_)
        return {name: own[name] + first.get(name, 0.0) for name in self.feature_names_}
