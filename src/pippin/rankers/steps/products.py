"""Products and ratios of features: which two say together what neither says alone?"""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pippin.data.dataset import Dataset
from pippin.errors import DataError
from pippin.evaluation.convention import Convention
from pippin.evaluation.objective import Judge
from pippin.rankers.base import Features, Ranker
from pippin.rankers.parts.alone import values_alone
from pippin.rankers.parts.parameters import at_least, parameter
from pippin.rankers.parts.states import number, place
from pippin.rankers.steps.base import Transformer, register

F64 = NDArray[np.float64]
Pair = tuple[str, int, int, float]  # "*" or "/", the columns, and what keeps a ratio from dividing by nothing


@register("products")
class Products(Transformer):
    """Adds products x·y and ratios x / (|y| + mean |y|) of features that help on validation.

    Of all pairs of the `among` features that rank the training set best alone, the `candidates` whose product or ratio
    gains most over the better of its two are tried; the rest of the chain is trained with each, and the one that is
    best on validation stays where it is better than without. So on, until k are added or nothing helps.
    """

    source = "Qin, Liu, Xu & Li 2010 (§5.2.1); Liu 2009"
    milliseconds: ClassVar[float] = 500

    k: int = parameter(3, "products and ratios that are added, at most")
    among: int = parameter(15, "features that they are made of, the best ones alone")
    candidates: int = parameter(8, "of them that are tried on validation")
    measure: str = parameter("NDCG@10", "what features and the chain are judged by")
    convention: str | Convention = parameter("official", "under which convention")

    def _check(self) -> None:
        at_least(self, k=1, among=2, candidates=1)

    def _learn(self, train: Dataset, valid: Dataset | None, rest: Ranker) -> None:
        if valid is None or not valid.queries:
            raise DataError(f"{self.name} tries products on a validation set; give one")
        self.pairs_: list[Pair] = []
        tried = self._shortlist(train)
        judge = Judge(valid, self.measure, self.convention)
        best = self._reached(train, valid, rest, judge, [])
        while tried and len(self.pairs_) < self.k:
            reached = [self._reached(train, valid, rest, judge, [*self.pairs_, one]) for one in tried]
            at = int(np.argmax(reached))
            if reached[at] <= best:
                break
            best = reached[at]
            self.pairs_.append(tried.pop(at))

    def _shortlist(self, train: Dataset) -> list[Pair]:
        """The pairs whose product or ratio ranks training queries better than both, by the gain."""
        table = np.asarray(train.features, np.float64)
        worth, _ = values_alone(train, self.measure, self.convention)
        top = np.argsort(-worth, kind="stable")[: self.among].tolist()
        means = np.maximum(np.abs(table).mean(axis=0), 1e-12)
        pairs: list[Pair] = [("*", i, j, 0.0) for i, j in combinations(sorted(top), 2)]
        pairs += [("/", i, j, float(means[j])) for i in top for j in top if i != j]
        made = Dataset(combined(table, pairs), train.labels, train.offsets, train.query_ids)
        values, _ = values_alone(made, self.measure, self.convention)
        gains = np.array([values[p] - max(worth[i], worth[j]) for p, (_, i, j, _) in enumerate(pairs)])
        return [pairs[p] for p in np.argsort(-gains, kind="stable")[: self.candidates]]

    def _reached(self, train: Dataset, valid: Dataset, rest: Ranker, judge: Judge, pairs: list[Pair]) -> float:
        """The validation value of the rest of the chain with these pairs."""
        kept, self.pairs_ = self.pairs_, pairs
        try:
            more = self.transformed(valid)
            model = rest.fresh().fit(self.transformed(train), eval_set=more)
            return judge.mean(model.scores(np.asarray(more.features, np.float64), more.offsets))
        finally:
            self.pairs_ = kept

    def _transform(self, features: Features) -> Features:
        joined: Features = np.concatenate((features, combined(features, self.pairs_)), axis=1)
        return joined

    def _names(self) -> tuple[str, ...]:
        own = self.feature_names_
        return (*own, *(f"{own[i]} {sign} {own[j]}" for sign, i, j, _ in self.pairs_))

    def _state(self) -> dict[str, Any]:
        own = self.feature_names_
        return {"pairs": [[sign, own[i], own[j], guard] for sign, i, j, guard in self.pairs_]}

    def _restore(self, state: dict[str, Any]) -> None:
        own, self.pairs_ = self.feature_names_, []
        for sign, i, j, guard in state["pairs"]:
            if sign not in ("*", "/") or (sign == "/" and not number(guard) > 0):
                raise ValueError(f"{sign!r} is no product and no ratio")
            self.pairs_.append((sign, place(i, own), place(j, own), number(guard)))

    def importance(self) -> dict[str, float]:
        """What a feature counts in the rest, alone and in the products and ratios that it is part of."""
        counted = self.models_[0].importance()
        found = {name: counted[name] for name in self.feature_names_}
        for name, (_, i, j, _) in zip(self._names()[len(found) :], self.pairs_, strict=True):
            for column in (i, j):
                found[self.feature_names_[column]] += counted[name] / 2
        return found

    def _form(self, forms: Any) -> Any:
        """Without a product the form of the rest."""
        return super()._form(forms) if self.pairs_ else forms[0]

    def _no_form(self) -> str:
        return "products and ratios of features are no features that an engine has"

    def words_of_model(self) -> str:
        """What was added, in a sentence."""
        added = ", ".join(self._names()[len(self.feature_names_) :])
        return f"products adds {added}." if added else "products found none that helps on validation."


def combined(table: F64, pairs: list[Pair]) -> F64:
    """[n, p] products and ratios.

    >>> combined(np.array([[2.0, 3.0]]), [("*", 0, 1, 0.0), ("/", 0, 1, 1.0)]).tolist()
    [[6.0, 0.5]]
    """
    found = np.empty((len(table), len(pairs)))
    for p, (sign, i, j, guard) in enumerate(pairs):
        found[:, p] = table[:, i] * table[:, j] if sign == "*" else table[:, i] / (np.abs(table[:, j]) + guard)
    return found
