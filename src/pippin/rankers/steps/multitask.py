"""Multitask: one ranker for two data sets, which is told of each document whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.forms.form import Form, Linear
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.narrowing import fitted
from pippin.rankers.parts.parameters import one_of, parameter
from pippin.rankers.steps.base import register
from pippin.rankers.steps.borrowing import Borrowing, both, in_features_of

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
TASK = "task"


@register("multitask")
class Multitask(Borrowing):
    """Trains one ranker on both data sets, with the task as a feature.

    With task, one feature more says whose document it is, so that trees and layers share what is common and split
    where the tasks differ; a weighted sum cannot use it, as it is the same for all documents of a query. With copies,
    each feature is there three times, for both tasks and for each alone, so that a weighted sum has shared weights
    and its own.
    """

    source = "Caruana 1997; copies: Daumé 2007"
    grid: ClassVar = {"how": ("task", "copies")}
    quick_grid: ClassVar = {"how": ("copies",)}

    how: str = parameter("copies", "task: one feature says whose a document is; copies: shared and own features")

    def _check(self) -> None:
        super()._check()
        one_of(self, how=("task", "copies"))

    def _fit(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        source = in_features_of(self._source(), train, self.names)
        joined = both(self._told(train, own=True), self._told(source, own=False))
        self.models_ = [fitted(rest, joined, None if valid is None else self._told(valid, own=True))]

    def _told(self, data: Dataset, own: bool) -> Dataset:
        """The data with what tells whose they are."""
        table = self._table(np.asarray(data.features, np.float64), own)
        return replace(data, features=table, feature_names=self._names(), lines=None)

    def _table(self, features: Features, own: bool) -> Features:
        if self.how == "task":
            return np.column_stack((features, np.full(len(features), float(own))))
        none = np.zeros_like(features)
        return np.ascontiguousarray(np.hstack((features, features, none) if own else (features, none, features)))

    def scores(self, features: Features, offsets: I64 | None) -> F64:
        """The scores for documents of one's own data."""
        return self.models_[0].scores(np.ascontiguousarray(self._table(features, own=True)), offsets)

    def _names(self) -> tuple[str, ...]:
        names = self.feature_names_
        if self.how == "task":
            return (*names, TASK)
        return (*names, *(f"own {name}" for name in names), *(f"other {name}" for name in names))

    def _form(self, forms: Sequence[Form]) -> Form:
        form, count = forms[0], len(self.feature_names_)
        if not isinstance(form, Linear):
            return super()._form(forms)
        weights = form.weights[:count].copy()
        bias = form.bias + form.start
        if self.how == "copies":
            weights += form.weights[count : 2 * count]
        else:
            bias += form.weights[count]
        return Linear(self.feature_names_, weights, bias=float(bias))

    def _no_form(self) -> str:
        return "trees or a network behind it ask whose a document is, which is no feature of the engine's"

    def importance(self) -> dict[str, float]:
        """What features count, shared and own together."""
        table = self.models_[0].importance()
        return {name: table[name] + table.get(f"own {name}", 0.0) for name in self.feature_names_}
